"""A report as one HTML file that loads nothing: the page, and which files it may replace."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from zslplat import __version__
from zslplat.data.store.atomic_files import WholeFile
from zslplat.errors import UsageError
from zslplat.names import visible
from zslplat.palette import DARK, LIGHT, variables
from zslplat.records.folders import folder_name
from zslplat.reports.blocks import Page
from zslplat.reports.contents import ReportRequest, collect_contents
from zslplat.reports.overview import page_of
from zslplat.settings import Settings

GENERATOR = "zslplat report"
_SUFFIXES = ("", ".html", ".htm")
_REPORT = WholeFile("report", "--out", "report.html", GENERATOR, reach=2000)


@dataclass(frozen=True)
class Written:
    """A report that was written: its file, how many bytes it has, whether an earlier report was replaced, and what it
    holds.
    """

    file: Path
    size: int
    replaced: bool
    chapters: Sequence[dict[str, object]]
    notes: Sequence[str]


def write_report(
    settings: Settings, request: ReportRequest, out: Path | None = None, command: str = "", options: str = ""
) -> Written:
    """Write the requested report into ``out``, or into ``reports/`` of the store.

    An earlier report there is replaced. Raises :class:`UsageError` where the file is something else or is called so,
    and like :func:`~zslplat.reports.contents.collect_contents`.
    """
    path = default_file(settings, request) if out is None else out
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--out {path}: a report is one HTML file; give it a name that ends in .html")
    replaced = _REPORT.is_there(path)
    contents = collect_contents(settings, request, command, options)
    made = time.strftime("%Y-%m-%d %H:%M %z")
    page = page_of(contents, __version__, made)
    _REPORT.write(path, render_page(page))
    chapters: list[dict[str, object]] = [
        {"task": c.task, "dataset": c.dataset, "metric": c.primary.name, "rows": list(c.rows)}
        for c in contents.chapters
    ]
    return Written(path, path.stat().st_size, replaced, chapters, page.notes)


def default_file(settings: Settings, request: ReportRequest) -> Path:
    """Return the file of a report in the store: named by what it is of."""
    parts = [*request.names, *filter(None, (request.suite, request.dataset, request.task))]
    return settings.store / "reports" / f"{folder_name('_'.join(parts)) if parts else 'store'}.html"


def render_page(page: Page) -> str:
    """Return the page as HTML; every text of the page is escaped."""
    loader = PackageLoader("zslplat.reports")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_control_characters,
    )

    def source(name: str) -> Markup:
        return Markup(loader.get_source(environment, name)[0])

    html = environment.get_template("page.html").render(
        page=page,
        generator=GENERATOR,
        style=source("page.css"),
        script=source("page.js"),
        light=Markup(variables(LIGHT)),
        dark=Markup(variables(DARK)),
    )
    return f"{html}\n"


def _without_control_characters(value: Any) -> Any:
    """Return a text with control characters escaped, without what else HTML does not allow; others as they are."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in visible(value))

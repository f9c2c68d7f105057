"""A report in a file: where it goes, and what it may replace."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zslplat import __version__
from zslplat.data.store.atomic_files import WholeFile
from zslplat.errors import UsageError
from zslplat.records.folders import folder_name
from zslplat.reports.page.rendering import GENERATOR, render_page
from zslplat.reports.sections.overview import page_of
from zslplat.reports.selection import Asked, gathered
from zslplat.settings import Settings

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
    boards: Sequence[dict[str, object]]
    notes: Sequence[str]


def write_report(
    settings: Settings, asked: Asked, out: Path | None = None, command: str = "", options: str = ""
) -> Written:
    """Write a report of what is asked for into ``out``, or into ``reports/`` of the store.

    An earlier report there is replaced. Raises :class:`UsageError` where the file is something else or is called so,
    and like :func:`~zslplat.reports.selection.gathered`.
    """
    path = default_file(settings, asked) if out is None else out
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--out {path}: a report is one HTML file; give it a name that ends in .html")
    replaced = _REPORT.is_there(path)
    facts = gathered(settings, asked, command, options)
    made = time.strftime("%Y-%m-%d %H:%M %z")
    page = page_of(facts, __version__, made)
    _REPORT.write(path, render_page(page))
    boards: list[dict[str, object]] = [
        {"task": b.task, "dataset": b.dataset, "metric": b.primary.name, "rows": list(b.rows)} for b in facts.boards
    ]
    return Written(path, path.stat().st_size, replaced, boards, page.notes)


def default_file(settings: Settings, asked: Asked) -> Path:
    """Return the file of a report in the store: named by what it is of."""
    parts = [*asked.names, *filter(None, (asked.suite, asked.dataset, asked.task))]
    return settings.store / "reports" / f"{folder_name('_'.join(parts)) if parts else 'store'}.html"

"""A page as HTML: one file that loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from zslplat.names import visible
from zslplat.reports.blocks import Page
from zslplat.reports.page.colours import DARK, LIGHT

GENERATOR = "zslplat report"


def render_page(page: Page) -> str:
    """Return the page as HTML; every text of the page is escaped."""
    loader = PackageLoader("zslplat.reports.page")
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
        light=variables(LIGHT),
        dark=variables(DARK),
    )
    return f"{html}\n"


def _without_control_characters(value: Any) -> Any:
    """Return a text with control characters escaped, without what else HTML does not allow; others as they are."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in visible(value))


def variables(colours: Mapping[str, str]) -> Markup:
    """Return colours as variables of a style sheet."""
    return Markup("".join(f"--{name}:{colour};" for name, colour in colours.items()))

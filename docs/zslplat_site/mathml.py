"""Formulas as MathML, made when the site is built: they need no script, no font of their own and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

RENDERER = "mathml"
# Bars of norms are as tall as the letters beside them; a browser would stretch each to the end of the line.
_BARS = re.compile(r"<mo((?: class=\"\w+\")?)>([|\u2016\u2225\u2223])</mo>")


def _mathml(text: str, *, block: bool) -> str:
    """Return MathML of LaTeX; raises an error that stops the build where docutils does not know a command."""
    try:
        markup = str(latex2mathml.tex2mathml(text, as_block=block))
    except Exception as error:  # any of the parser's own errors: each says what it met
        raise ExtensionError(f"the formula {text!r} cannot be shown: {error}") from error
    return _BARS.sub(r'<mo\1 stretchy="false">\2</mo>', markup)


def visit_math(writer: Any, node: nodes.Element) -> None:
    """Write a formula in a line."""
    writer.body.append(_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_displaymath(writer: Any, node: nodes.Element) -> None:
    """Write a formula of its own, in a frame that scrolls where the window is narrow."""
    writer.body.append(f'<div class="formula">{_mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def register(app: Sphinx) -> None:
    """Make it the way in which a site that asks for ``mathml`` shows formulas."""
    app.add_html_math_renderer(RENDERER, (visit_math, None), (visit_displaymath, None))

"""The Sphinx extension: before a build it writes the pages of components, commands and names into the sources.

They go to the folder ``generated`` beside the written pages, and are written only where they changed, so that a second
build reads what is new alone. :data:`zslplat_site.mathml.RENDERER` shows formulas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from zslplat.drawing import forest_svg
from zslplat.palette import DARK, LIGHT, variables
from zslplat.registry import registry
from zslplat_papers.reproduction.figures import in_words, named_forest
from zslplat_papers.reproduction.results import PACKAGED
from zslplat_site import components, examples, reference
from zslplat_site.components import KINDS, ComponentFacts, links

FOLDER = "generated"


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    from zslplat_site import mathml

    mathml.register(app)
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / FOLDER))
    app.connect("source-read", _with_contents)
    app.connect("html-page-context", _with_colours)
    app.add_directive("forest", ForestPlot)
    app.connect("autodoc-process-docstring", reference.escape_bars)
    app.connect("autodoc-skip-member", reference.skip_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class ForestPlot(SphinxDirective):  # type: ignore[misc]
    """The figure of a claim, a column of a table made again, or a data set of a suite, drawn from the kept results."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the figure; what is not kept is an error of the page."""
        name = self.arguments[0]
        forest = named_forest(name, PACKAGED)
        key = "figure-" + re.sub(r"\W+", "-", f"{self.env.docname}-{self.lineno}")
        svg = forest_svg(forest, key, in_words(forest), width=720)
        return [nodes.raw("", f'<figure class="forest">{svg}</figure>', format="html")]


def _with_contents(app: Any, name: str, source: list[str]) -> None:
    """Hang pages below the page that lists them, which is plain Markdown and says nothing of that."""
    if name in ("checks", "results"):
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{name}/*\n```\n"


def _with_colours(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give pages with figures the colours of both themes."""
    if name.startswith("results/"):
        style = f":root {{{variables(LIGHT)}}} html[data-theme=dark] {{{variables(DARK)}}}"
        style += " html {--paper: var(--pst-color-background)}"
        context["metatags"] = context.get("metatags", "") + f"<style>{style}</style>"


def write_pages(folder: Path) -> list[Path]:
    """Write all generated pages under a folder and return them; pages of what is no longer there are removed."""
    written = []
    for name, text in pages():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        written.append(path)
    for path in set(folder.rglob("*.md")) - set(written):
        path.unlink()
    return written


def pages() -> Iterator[tuple[str, str]]:
    """Yield (place below the folder, text) of every generated page."""
    for kind in KINDS:
        components_of_kind = component_facts(kind)
        for facts in components_of_kind:
            linked = links(f"{kind}/")
            yield f"{kind}/{facts.entry.name}.md", components.page(facts, examples.shown(facts), linked)
        for name, text in components.indexes(kind, components_of_kind):
            yield f"{kind}/{name}.md", text
    yield "commands.md", reference.command_page()
    yield "api.md", reference.plugin_page()
    yield "python.md", reference.python_page()


def component_facts(kind: str) -> list[ComponentFacts]:
    """Return the facts of every component of a kind, by name."""
    return [ComponentFacts.of(registry().entry(kind, name)) for name in registry().names(kind)]

"""The Sphinx extension: before a build it writes the pages of components, commands and names into the sources.

They go to the folder ``generated`` beside the written pages, and are written only where they changed, so that a second
build reads what is new alone. :data:`zslplat_site.mathml.RENDERER` shows formulas.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zslplat.registry import registry
from zslplat_site import components, examples, reference
from zslplat_site.components import KINDS, ComponentFacts
from zslplat_site.docstrings import Linked

FOLDER = "generated"


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    from zslplat_site import mathml

    mathml.register(app)
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / FOLDER))
    app.connect("source-read", _with_contents)
    app.connect("autodoc-process-docstring", reference.escape_bars)
    app.connect("autodoc-skip-member", reference.skip_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _with_contents(app: Any, name: str, source: list[str]) -> None:
    """Hang the pages of checks below the page that lists them, which is plain Markdown and says nothing of that."""
    if name == "checks":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\nchecks/*\n```\n"


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
        yield f"{kind}/index.md", components.index(kind, components_of_kind)
    yield "commands.md", reference.command_page()
    yield "api.md", reference.plugin_page()
    yield "python.md", reference.python_page()


def component_facts(kind: str) -> list[ComponentFacts]:
    """Return the facts of every component of a kind, by name."""
    return [ComponentFacts.of(registry().entry(kind, name)) for name in registry().names(kind)]


def links(inside: str) -> Linked:
    """Return where names are described, as seen from a page in the folder ``inside`` of the generated ones."""
    from zslplat import api

    up = "../" * inside.count("/")

    def linked(name: str) -> str:
        if name.startswith("component:"):
            short = name.partition(":")[2]
            kind = next((k for k in KINDS if short in registry().entries[k]), None)
            return f"{up}{kind}/{short}.md" if kind else ""
        short = name.rpartition(".")[2]
        return f"#{reference.label(short)}" if short in api.__all__ else ""

    return linked

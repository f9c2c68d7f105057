"""The page of a component, made of what its class and the files around it say; uniform sections for each kind."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from zslplat.cli.catalogue import described
from zslplat.registry import Registered, registry
from zslplat.spec import Spec
from zslplat_site import reference
from zslplat_site.docstrings import (
    Docstring,
    Linked,
    read_docstring,
    tables_of,
    to_markdown,
    without_tables,
)

# The folder of the pages of each kind, and the titles of their index pages.
KINDS = {"methods": "Methods", "kernels": "Kernels", "tasks": "Tasks", "datasets": "Data sets"}
# What every page has, in this order; "Details" only where there is more to tell.
SECTIONS = ("What it solves", "Parameters", "Example", "Details", "Symbols", "Source", "Related")
OPTIONAL = ("Details",)
_REFERENCE = re.compile(r":mod:`~?([\w.]+)`")


@dataclass(frozen=True)
class ComponentFacts:
    """What the page of a component tells: the docstrings of class and file, and what ``zslplat show`` prints."""

    entry: Registered
    component: type
    shown: dict[str, Any]
    own: Docstring
    file: Docstring

    @classmethod
    def of(cls, entry: Registered) -> ComponentFacts:
        """Return the facts of a registered component; raises where it does not load."""
        component = entry.load()
        shown = described(entry, Spec.parse(entry.name))
        return cls(entry, component, shown, read_docstring(component), read_docstring(_module(component)))

    @property
    def source_text(self) -> str:
        """Everything that is written of the component, where a paper and its equations are named."""
        return "\n\n".join([self.shown["citation"], self.file.lead, self.own.lead, *self.own.sections.values()])

    def equations(self) -> str:
        """Return what is said to be solved, with formulas; empty where nothing is."""
        return self.own.sections.get("Equations", "")

    def symbols(self) -> list[str]:
        """Return the tables of symbols: of the class and its file, else of what these refer to and are derived from."""
        for text in (self.own.sections.get("Symbols", "") + "\n\n" + self.own.lead, self.file.lead):
            if tables := _symbol_tables(text):
                return tables
        bases = (_module(base) for base in self.component.__mro__[1:] if base.__module__.startswith("zslplat."))
        near = dict.fromkeys([*self._referred(), *bases, _package(self.component)])
        return list(dict.fromkeys(table for module in near for table in _symbol_tables(read_docstring(module).lead)))

    def related(self) -> str:
        """Return which components are near to this one, and how."""
        return self.own.sections.get("Related", "")

    def example(self) -> str:
        """Return the example of the docstring, empty where the page makes one of its own."""
        return self.own.sections.get("Example", "")

    def details(self) -> str:
        """Return the rest of what the class says of itself."""
        return without_tables(self.own.rest)

    def implementation(self) -> str:
        """Return what its file says of how it is computed; empty where the class has the file's docstring."""
        return "" if self.file.lead == self.own.lead else without_tables(self.file.rest)

    def missing(self) -> list[str]:
        """Return the sections that nothing is written for."""
        complete = {
            "What it solves": bool(self.equations() and self.own.first),
            "Symbols": bool(self.symbols()),
            "Parameters": all(p["description"] or not p["default"] for p in self.shown["parameters"]),
            "Source": bool(self.shown["citation"] or self.own.sections.get("Equations")),
            "Related": bool(self.related()),
        }
        return [section for section, there in complete.items() if not there]

    def _referred(self) -> Iterator[ModuleType]:
        """Yield the modules that the docstrings point to, in order."""
        package = self.component.__module__.rpartition(".")[0]
        for text in (self.file.lead, self.own.lead):
            for name in _REFERENCE.findall(text):
                for full in (name, f"{package}.{name.lstrip('.')}"):
                    try:
                        yield importlib.import_module(full)
                        break
                    except (ImportError, TypeError, ValueError):
                        continue


def page(facts: ComponentFacts, example: str, linked: Linked) -> str:
    """Return the page of a component in Markdown; ``example`` is its example with what it printed."""
    shown, kind = facts.shown, facts.entry.kind
    rows = [
        ("kind", ", ".join(filter(None, [_KIND_WORDS[kind], shown["tags"]]))),
        ("preprocessing", shown["preprocessing"]),
        ("knows of the scored batch", shown["knows"]),
        ("primary metric", shown["primary"]),
        ("licence of the data", shown["licence"]),
        ("package", f"{shown['distribution']} {shown['version']}"),
    ]
    symbols = "\n\n".join(to_markdown(table, linked) for table in facts.symbols())
    parts = {
        "What it solves": "\n\n".join([to_markdown(facts.own.first, linked), to_markdown(facts.equations(), linked)]),
        "Symbols": symbols or "None beside those above.",
        "Details": "\n\n".join(filter(None, [to_markdown(facts.details(), linked), _folded(facts, linked)])),
        "Parameters": _parameters(shown["parameters"]),
        "Source": _source(facts),
        "Example": example,
        "Related": to_markdown(_with_links(facts.related(), linked), linked) or "Nothing yet.",
    }
    head = [f"# {facts.entry.name}", _sentence(shown["summary"]), _plain_rows(rows)]
    body = [f"## {title}\n\n{parts[title].strip()}" for title in SECTIONS if parts[title].strip()]
    return "\n\n".join([f"({kind[:-1]}-{facts.entry.name})=", *head, *body]) + "\n"


def _folded(facts: ComponentFacts, linked: Linked) -> str:
    """Return how a component is computed, for those who unfold it; the formula above is enough for most."""
    text = to_markdown(facts.implementation(), linked)
    return f"````{{dropdown}} How it is computed\n{text}\n````" if text else ""


_KIND_WORDS = {"methods": "method", "kernels": "kernel", "tasks": "task", "datasets": "data set"}


def indexes(kind: str, components: list[ComponentFacts]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of the index page of a kind, and of methods a page for each group, which the sidebar shows."""
    groups: dict[str, list[ComponentFacts]] = {group: [] for group in METHOD_GROUPS} if kind == "methods" else {}
    for facts in components:
        groups.setdefault(method_group(facts.component) if kind == "methods" else "", []).append(facts)
    lines, below = [f"# {KINDS[kind]}", _INTRODUCTIONS[kind]], []
    for group in filter(groups.get, groups):
        names = [facts.entry.name for facts in groups[group]]
        rows = [f"| [{f.entry.name}]({f.entry.name}.md) | {_cell(f.shown['summary'])} |" for f in groups[group]]
        table = "\n".join(["| name | in short |", "|---|---|", *rows])
        page = f"kind-{re.sub(r'[^a-z]+', '-', group.lower())}"
        lines += [f"## {group}", table] if group else [table]
        below += [page] if group else names
        if group:
            yield page, "\n\n".join([f"# {group}", table, _toctree(names)]) + "\n"
    yield "index", "\n\n".join([*lines, _toctree(below)]) + "\n"


def _toctree(names: Iterable[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])


# Zero-shot methods by the first tag that fits, then the other kinds.
METHOD_GROUPS = {
    "Zero-shot: linear": ("closed form", "convex"),
    "Zero-shot: with kernels": ("kernel",),
    "Zero-shot: trained on rankings": ("ranking loss",),
    "Zero-shot: by probabilities": ("probabilistic", "generative"),
    "Zero-shot: dictionaries, factors and networks": (),
    "Zero-shot: a whole batch at once": ("transductive",),
    "Exemplars": (),
    "Coding": (),
    "Feature selection": (),
}
_OTHER_KINDS = {"exemplar": "Exemplars", "coding": "Coding", "feature-selection": "Feature selection"}
_TAGGED = ("Zero-shot: a whole batch at once", "Zero-shot: trained on rankings", "Zero-shot: by probabilities")


def method_group(method: Any) -> str:
    """Return the group in which a method is listed."""
    if method.kind != "zero-shot":
        return _OTHER_KINDS.get(method.kind, f"{method.kind[0].upper()}{method.kind[1:]}")
    tags = {*method.tags, *(("kernel",) if "kernel" in method.parameters else ())}
    for group in (*_TAGGED, "Zero-shot: with kernels", "Zero-shot: linear"):
        if tags.intersection(METHOD_GROUPS[group]):
            return group
    return "Zero-shot: dictionaries, factors and networks"


_INTRODUCTIONS = {
    "methods": "Every method that is installed, by what it is for. `zslplat list methods` prints the same list, "
    "`zslplat show NAME` the parameters of one.",
    "kernels": "Every kernel works in every kernel method: `--kernel gaussian`, or a sum, `--kernel "
    '"0.5*gaussian + linear"`.',
    "tasks": "A task owns a protocol: what is shown to a method, and how its answers are measured.",
    "datasets": "Data sets that are built in, and loaders of files of your own.",
}


def _symbol_tables(text: str) -> list[str]:
    return [table for table in tables_of(text) if "meaning" in table.partition("\n")[0]]


def _parameters(parameters: list[dict[str, Any]]) -> str:
    if not parameters:
        return "None."
    rows = ["| name | default | values | meaning |", "|---" * 4 + "|"]
    for p in parameters:
        values = _quoted(p["legal"]) + (f", searched {_quoted(p['search'])}" if p["search"] else "")
        cells = (_quoted(p["name"]), _quoted(p["default"]), values.removeprefix(", "), _cell(p["description"]))
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _quoted(text: str) -> str:
    return f"`{_bars(text)}`" if text else ""


def _source(facts: ComponentFacts) -> str:
    citation = facts.shown["citation"]
    text = [_cell(citation) if citation else "No paper: see above for what it is compared with."]
    text.append(f"Written in `{facts.component.__module__}`, class `{facts.component.__name__}`.")
    return "\n\n".join(text)


def _with_links(text: str, linked: Linked) -> str:
    """Make names of components between backticks links to their pages."""

    def replaced(match: re.Match[str]) -> str:
        place = linked(f"component:{match[1]}")
        return f"[`{match[1]}`]({place})" if place else match[0]

    return re.sub(r"``([\w-]+)``", replaced, text)


def _plain_rows(rows: list[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {_cell(text)}".replace(r"\|", "|") for name, text in rows if text)


def _sentence(text: str) -> str:
    text = _cell(text).replace(r"\|", "|")
    return f"*{text[0].upper()}{text[1:]}.*" if text and "*" not in text else text


def _cell(text: str) -> str:
    """Return text that is fit for a cell of a table."""
    return to_markdown(" ".join(str(text).split())).replace("|", r"\|")


def _bars(text: str) -> str:
    return text.replace("|", r"\|").replace("`", "'")


def _module(component: type) -> ModuleType:
    return sys.modules[component.__module__]


def _package(component: type) -> ModuleType:
    return importlib.import_module(component.__module__.rpartition(".")[0] or component.__module__)


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

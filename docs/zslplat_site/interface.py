"""The reference of what is imported: every name of ``zslplat.api``, and of ``zslplat``, with what it says of itself."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from zslplat_site.docstrings import Linked, read_docstring, to_markdown

GROUPS = {
    "Hooks and versions": ("API_VERSION", "hookimpl"),
    "Kinds of methods": ("Kind", "Protocol", "protocol_of", "Pipeline", "SavedModel"),
    "Methods": (
        *("Method", "ZeroShotMethod", "CodingMethod", "FeatureSelector", "ExemplarMethod", "KernelMethod"),
        *(
            "Preprocessing",
            "Diagnostics",
            "State",
            "Features",
            "Encoding",
        ),
        *("check_fit_inputs", "check_coding_inputs", "check_selection_inputs"),
    ),
    "Kernels": ("Kernel", "InnerProductKernel", "RadialKernel", "DotProductKernel", "RadialForm", "parse_kernel"),
    "Data": (
        *("DataSource", "DataPlaces", "Dataset", "SignatureSet", "ClassFold"),
        *("Rows", "RowStream", "View", "blocks_of", "rowwise", "taken"),
    ),
    "Tasks": ("Task", "Problem", "Outcome", "Metric", "Table", "Curve", "MatrixFigure", "ScatterFigure"),
    "Checks": ("Check", "StudyFacts", "ComparisonFacts", "SuiteFacts", "DataFacts", "Finding", "WarningCheck"),
    "Parameters": (
        *("parameter", "Parameter", "Real", "Integer", "Choice", "Text", "Scaled", "Optional", "Space"),
        *("BOOLEAN", "POSITIVE", "NON_NEGATIVE"),
    ),
    "Errors": ("ZslplatError", "UsageError", "DataError", "MethodError", "PluginError", "OutcomeWarning"),
}
# What values that carry no text of their own are.
VALUES = {
    "API_VERSION": "The version of this surface; a plugin may declare the one that it is written for, see "
    "[](../plugins.md).",
    "BOOLEAN": "The legal values true and false.",
    "NON_NEGATIVE": "The legal values of a number from 0 on.",
    "POSITIVE": "The legal values of a number above 0.",
    "Features": "What a method that takes blocks is given: an array or `Rows`.",
    "State": "What a fit learned, by attribute: arrays, and what JSON holds.",
    "Space": "What tuning searches: {name: range}.",
    "hookimpl": "The mark of a function that implements a hook; write `@hookimpl` above it.",
}


def plugin_page(linked: Linked) -> str:
    """Return the page of ``zslplat.api``."""
    from zslplat import api

    lines = [
        "# What plugins import",
        "All of it comes from `zslplat.api`; everything else in the package may change without a word. "
        "[](../plugins.md) says what the hooks are given and what is promised.",
    ]
    grouped = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "More": tuple(sorted(set(api.__all__) - grouped))}
    for title, names in groups.items():
        there = [name for name in names if name in api.__all__]
        if there:
            lines += [f"## {title}", *(_entry(name, getattr(api, name), "api", linked) for name in there)]
    return "\n\n".join(lines) + "\n"


def python_page(linked: Linked) -> str:
    """Return the page of the names that ``import zslplat`` offers."""
    import zslplat

    names = [name for name in getattr(zslplat, "__all__", ["__version__"]) if name != "__version__"]
    lines = [
        "# From Python",
        "The engine of the commands, called from a notebook or a program: the same settings, the same records, the "
        "same numbers. `import zslplat` is light; each name is loaded when it is first used.",
        "`zslplat.__version__` is the version that is installed.",
    ]
    lines += ["## Functions", *(_entry(name, getattr(zslplat, name), "zslplat", linked) for name in names)]
    lines += ["## What they give", *(_entry(c.__name__, c, "result", linked) for c in given_by(names))]
    return "\n\n".join(lines) + "\n"


def given_by(names: Iterable[str]) -> list[type]:
    """Return the classes of what functions of ``zslplat`` return, and those derived from them, each once."""
    import zslplat

    classes: dict[type, None] = {}
    for name in names:
        function = getattr(zslplat, name)
        returned = getattr(sys.modules[function.__module__], str(function.__annotations__.get("return", "")), None)
        if inspect.isclass(returned) and returned.__module__.startswith(("zslplat.front", "zslplat.pipelines")):
            classes |= dict.fromkeys([returned, *returned.__subclasses__()])
    return list(classes)


def label(module: str, name: str) -> str:
    """Return the label of a name's section."""
    return f"{module}-{name}"


def _entry(name: str, value: Any, module: str, linked: Linked) -> str:
    head = f"({label(module, name)})=\n### {name}"
    if name in VALUES:
        shown = f" Its value is `{value}`." if isinstance(value, str) else ""
        return f"{head}\n\n{VALUES[name]}{shown}"
    text = read_docstring(value)
    words = "\n\n".join([text.lead, *(f"**{title}**\n\n{body}" for title, body in text.sections.items())])
    parts = [head, f"```python\n{_signature(name, value)}\n```", to_markdown(words, linked)]
    if inspect.isclass(value):
        parts += [_member(name, member, value_of, linked) for member, value_of in members(value)]
    return "\n\n".join(part for part in parts if part.strip())


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class itself defines and describes."""
    for name, value in vars(cls).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        function = inspect.isfunction(plain) or isinstance(plain, property)
        if function and not name.startswith("_") and (getattr(plain, "__doc__", None) or "").strip():
            yield name, value


def _member(owner: str, name: str, value: Any, linked: Linked) -> str:
    plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    shown = f"{owner}.{name}" if isinstance(plain, property) else _signature(f"{owner}.{name}", plain)
    abstract = " (to be written)" if getattr(plain, "__isabstractmethod__", False) else ""
    return f"**`{_one_line(shown)}`**{abstract}\n: {_indented(to_markdown(read_docstring(plain).lead, linked))}"


def _signature(name: str, value: Any) -> str:
    try:
        signature = str(inspect.signature(value))
    except (TypeError, ValueError):
        return f"class {name}" if inspect.isclass(value) else name
    # Annotations are texts, and shown without their quotation marks; a method is called without self.
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
    text = re.sub(r"zslplat\.[\w.]+\.", "", text).replace("np.ndarray", "ndarray")
    text = re.sub(r"^\((?:self|cls)(?:, )?", "(", re.sub(r"<factory>", "...", text))
    bases = f"class {name}" if inspect.isclass(value) else name
    text = text.removesuffix(" -> None") if inspect.isclass(value) else text
    return _broken(f"{bases}{text}")


def _broken(text: str) -> str:
    """Return a long signature with an argument in each line."""
    if len(text) <= 88 or "(" not in text:
        return text
    head, _, rest = text.partition("(")
    inside, bracket, end = rest.rpartition(")")
    depth, parts, last = 0, [], 0
    for place, sign in enumerate(inside):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(inside[last:place].strip())
            last = place + 1
    parts.append(inside[last:].strip())
    return f"{head}(\n" + "".join(f"    {part},\n" for part in parts if part) + f"{bracket}{end}"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("( ", "(").replace(", )", ")")


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")

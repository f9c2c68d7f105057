"""The reference pages: commands by Typer's generator, the names of ``zslplat`` and ``zslplat.api`` by autodoc."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from typing import Any

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


def command_page() -> str:
    """Return the page of all commands."""
    import typer
    from typer.cli import get_docs_for_click

    from zslplat.cli.app import app

    root = typer.main.get_command(app)
    return get_docs_for_click(obj=root, ctx=typer.Context(root), name="zslplat", title="Commands")


def plugin_page() -> str:
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
        exported = [name for name in names if name in api.__all__]
        if exported:
            lines += [f"## {title}", *(_entry(name, getattr(api, name), "zslplat.api") for name in exported)]
    return "\n\n".join(lines) + "\n"


def python_page() -> str:
    """Return the page of the names that ``import zslplat`` offers."""
    import zslplat

    names = [name for name in getattr(zslplat, "__all__", []) if name != "__version__"]
    lines = [
        "# From Python",
        "The engine of the commands, called from a notebook or a program: the same settings, the same records, the "
        "same numbers. `import zslplat` is light; each name is loaded when it is first used.",
        "`zslplat.__version__` is the version that is installed.",
    ]
    lines += ["## Functions", *(_entry(name, getattr(zslplat, name), "zslplat") for name in names)]
    lines += ["## What they give", *(_entry(c.__name__, c, c.__module__) for c in result_classes(names))]
    return "\n\n".join(lines) + "\n"


def result_classes(names: Iterable[str]) -> list[type]:
    """Return the classes of what functions of ``zslplat`` return, and those derived from them, each once."""
    import zslplat

    classes: dict[type, None] = {}
    for name in names:
        function = getattr(zslplat, name)
        returned = getattr(sys.modules[function.__module__], str(function.__annotations__.get("return", "")), None)
        if inspect.isclass(returned) and returned.__module__.startswith(("zslplat.front", "zslplat.pipelines")):
            classes |= dict.fromkeys([returned, *returned.__subclasses__()])
    return list(classes)


def label(name: str) -> str:
    """Return the label of the section of a name of ``zslplat.api``; Sphinx does not tell capital letters apart."""
    return f"api-{name}" if name[0].isupper() else f"api-function-{name}"


def _entry(name: str, value: Any, module: str) -> str:
    head = f"({label(name)})=\n### {name}" if module == "zslplat.api" else f"### {name}"
    if name in VALUES:
        shown = f" Its value is `{value}`." if isinstance(value, str) else ""
        return f"{head}\n\n{VALUES[name]}{shown}"
    kind = "class" if inspect.isclass(value) else "function"
    members = "\n   :members:\n   :member-order: bysource" if kind == "class" else ""
    return f"{head}\n\n```{{eval-rst}}\n.. auto{kind}:: {module}.{name}{_arguments(value)}{members}\n```"


def _arguments(value: Any) -> str:
    """Return the arguments of a function that takes the options of a command, which autodoc does not list."""
    if not hasattr(value, "__signature__") or inspect.isclass(value):
        return ""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
    return re.sub(r"\b(?:collections\.abc|typing|pathlib|zslplat(?:\.\w+)*)\.", "", text)


def escape_bars(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Escape the bars of norms and absolute values in docstrings, which would begin a substitution."""
    code = False
    for number, line in enumerate(lines):
        code = line.startswith("    ") or (code and not line.strip())
        if "|" in line and not code:
            parts = re.split(r"(``.*?``)", line)
            lines[number] = "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def skip_member(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None

"""``list``, ``show`` and ``explain``: what is there, what it is, and what a check means."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from zslplat.cli import options as o

_KINDS = ("methods", "kernels", "datasets", "tasks")
_LISTED = (*_KINDS, "checks")
_LABELS = {"knows": "knows of the scored batch"}


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("list")(list_)
    app.command()(show)
    app.command()(explain)


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(help="methods, kernels, datasets, tasks, checks or plugins; default: all but the checks."),
    ] = None,
    as_json: o.Json = False,
) -> None:
    """List the components that are installed, and the plugins that they come from.

    ``list methods`` loads them as well, and says of each what it is for and what it knows of the scored batch.
    ``list checks`` says of each what it looks at and what it finds; ``explain`` tells more.
    """
    from rich.table import Table
    from rich.text import Text

    from zslplat.cli.reporting import print_json, stdout_console
    from zslplat.errors import UnknownNameError
    from zslplat.registry import describe_broken, registry

    if kind is not None and kind not in (*_LISTED, "plugins"):
        raise UnknownNameError("kind", kind, (*_LISTED, "plugins"))
    known = registry()
    rows = [
        {"kind": k, "name": name, "from": [f"{e.plugin.distribution} {e.plugin.version}" for e in entries]}
        for k in _LISTED
        if k == kind or (kind is None and k in _KINDS)
        for name, entries in sorted(known.entries[k].items())
    ]
    plugins = [
        {"plugin": p.name, "distribution": p.distribution, "version": p.version, "state": "loaded"}
        for p in known.plugins
    ]
    plugins += [
        {"plugin": b.name, "distribution": b.distribution, "version": b.version, "state": f"broken: {b.cause}"}
        for b in known.broken
    ]
    problems = list(known.clashes())
    if kind == "methods":
        rows = [{**row, **_in_short(known, str(row["name"]))} for row in rows]
        rows.sort(key=lambda row: (str(row["for"]), str(row["name"])))
    if kind == "checks":
        rows = [{**row, **_check_in_short(known, str(row["name"]))} for row in rows]
    if as_json:
        print_json({"components": rows, "plugins": plugins, "clashes": problems})
        return
    console = stdout_console()
    if kind != "plugins":
        own = {"methods": ("for", "name", "knows", "from"), "checks": ("name", "scope", "title", "from")}
        columns = own.get(kind or "", ("kind", "name", "from"))
        table = Table(*(_LABELS.get(column, column) for column in columns))
        for row in rows:
            table.add_row(*(", ".join(v) if isinstance(v := row[column], list) else str(v) for column in columns))
        console.print(table)
    if kind in (None, "plugins"):
        table = Table("plugin", "distribution", "version", "state")
        for plugin in plugins:
            table.add_row(*map(Text, plugin.values()))
        console.print(table)
    for line in [*problems, *map(describe_broken, known.broken)]:
        typer.echo(f"warning: {line}", err=True)


def _in_short(known: Any, name: str) -> dict[str, str]:
    """Return what a method is for and what it knows of the batch; why not, where it does not load."""
    from zslplat.evaluation.components import NOTHING

    try:
        component = known.component("methods", name)
        return {"for": component.kind, "knows": ", ".join(component.build({}).knows_of_batch) or NOTHING}
    except Exception as error:  # somebody else's class may fail in any way, and the others are listed all the same
        return {"for": "", "knows": f"does not load: {error}"}


def _check_in_short(known: Any, code: str) -> dict[str, str]:
    """Return what a check looks at and what it finds; why not, where it does not load."""
    try:
        check = known.component("checks", code)
        return {"scope": check.scope, "title": check.title}
    except Exception as error:  # somebody else's class may fail in any way, and the others are listed all the same
        return {"scope": "", "title": f"does not load: {error}"}


def explain(
    code: Annotated[str, typer.Argument(help="Code of a check: ZSP101.")],
    as_json: o.Json = False,
) -> None:
    """Explain what a check found: when it speaks, causes, remedies, how to silence it, an example."""
    from zslplat.checks.explained import explained
    from zslplat.cli.reporting import print_json

    found = explained(code)
    if as_json:
        print_json(vars(found))
    else:
        typer.echo(found.page, nl=False)


def show(
    name: Annotated[str, typer.Argument(help="Name of a method, kernel, data set or task.")],
    as_json: o.Json = False,
) -> None:
    """Show what a component is: parameters with defaults, legal values and search ranges, citation, origin."""
    from zslplat.cli.reporting import print_json, stdout_console
    from zslplat.errors import UnknownNameError
    from zslplat.registry import KINDS, registry
    from zslplat.spec import Spec

    known = registry()
    spec = Spec.parse(name)
    found = [known.entry(kind, spec.name) for kind in _KINDS if known.claims(kind, spec.name)]
    if not found:
        raise UnknownNameError("component", spec.name, {n for kind in _KINDS for n in known.spellings(kind)})
    descriptions = [_describe(entry, spec) for entry in found]
    if as_json:
        print_json(descriptions)
        return
    console = stdout_console()
    for description in descriptions:
        kind = KINDS[description["kind"]]
        origin = f"{description['distribution']} {description['version']}"
        lines = [f"{kind} {description['name']}  (from {origin})"]
        lines += [description[key] for key in ("summary",) if description[key]]
        for key in ("tags", "preprocessing", "knows", "primary", "licence", "citation"):
            if description.get(key):
                lines.append(f"{_LABELS.get(key, key)}: {description[key]}")
        for line in lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        if description["parameters"]:
            console.print(_parameter_table(description["parameters"]))


def _parameter_table(parameters: list[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table("parameter", "default", "legal", "searched", "meaning")
    for parameter in parameters:
        table.add_row(*(Text(str(parameter[key])) for key in ("name", "default", "legal", "search", "description")))
    return table


def _describe(entry: Any, spec: Any) -> dict[str, Any]:
    import inspect

    from zslplat.evaluation.components import NOTHING
    from zslplat.evaluation.setting import describe_range
    from zslplat.methods.base import Method
    from zslplat.spec import format_value

    component = entry.load()
    signature = inspect.signature(component.__init__).parameters
    instance = component.build(spec.parameters) if hasattr(component, "build") else None
    space = dict(instance.space) if instance is not None else {}
    parameters = []
    for name, parameter in component.parameters.items():
        default = signature[name].default if name in signature else inspect.Parameter.empty
        searched = space.pop(name, parameter.search)
        parameters.append(
            {
                "name": name,
                "default": "" if default is inspect.Parameter.empty else format_value(default),
                "legal": str(parameter.legal),
                "search": describe_range(searched) if searched is not None else "",
                "description": parameter.description,
            }
        )
    for name, dimension in space.items():
        parameters.append(
            {"name": name, "default": "", "legal": "", "search": describe_range(dimension), "description": ""}
        )
    # What these parameters want: variants of a method may differ from the class's own.
    preprocessing = getattr(instance, "wanted_preprocessing", None)
    steps = ""
    if preprocessing is not None:
        steps = "; ".join(f"{r}: {', '.join(getattr(preprocessing, r)) or 'none'}" for r in ("features", "signatures"))
    primary = getattr(component, "primary", None)
    return {
        "kind": entry.kind,
        "name": entry.name,
        "summary": component.summary,
        "tags": ", ".join(_tags(component)),
        "preprocessing": steps,
        "knows": (", ".join(instance.knows_of_batch) or NOTHING) if isinstance(instance, Method) else "",
        "primary": f"{primary.name}, {'maximised' if primary.maximise else 'minimised'}" if primary else "",
        "licence": getattr(component, "licence", ""),
        "citation": component.citation,
        "distribution": entry.plugin.distribution,
        "version": entry.plugin.version,
        "parameters": parameters,
    }


def _tags(component: Any) -> list[str]:
    tags = [getattr(component, "kind", ""), *getattr(component, "tags", ())]
    tags += [name for name in ("transductive", "random") if getattr(component, name, False) is True]
    if getattr(component, "psd", None) is not None and isinstance(component.psd, bool):
        tags.append("positive semidefinite" if component.psd else "indefinite")
    return [tag for tag in tags if tag]

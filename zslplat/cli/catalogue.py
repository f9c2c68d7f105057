"""``list``, ``show`` and ``explain``: what is there, what it is, and what a check means."""

from typing import Annotated, Any, TypedDict

import typer

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import Json
from zslplat.front.schema import REQUIRED, Option

_KINDS = ("methods", "kernels", "datasets", "encoders", "tasks")
_SHOWN = (*_KINDS, "suites")
_LISTED = (*_SHOWN, "checks")
_LABELS = {"knows": "knows of the scored batch"}
_COLUMNS = {
    "methods": ("for", "name", "summary", "knows", "from"),
    "tasks": ("for", "name", "summary", "from"),
    "checks": ("name", "scope", "title", "from"),
    "suites": ("name", "summary", "from"),
}


def register(app: Commands) -> None:
    """Add the commands to the application."""
    app.command("list")(list_)
    app.command()(show)
    app.command()(explain)


class ListOptions(TypedDict, total=False):
    """The options of ``list``."""

    what: Annotated[
        str | None,
        Option(
            "methods, kernels, datasets, encoders, tasks, suites or checks; default: all but the checks.",
            complete=_LISTED,
            metavar="WHAT",
            positional=True,
        ),
    ]
    kind: Annotated[
        str | None, Option("Methods and tasks of this kind only, such as zero-shot.", short="-k", complete="kinds")
    ]
    search: Annotated[
        str | None, Option('Only what has these words in its name, summary or tags: "closed form".', short="-s")
    ]
    json: Json


def list_(options: ListOptions) -> dict[str, str]:
    """List methods, kernels, data sets, encoders, tasks, suites, checks.

    ``list methods`` says as well what each knows of the scored batch, ``list checks`` what each looks at; ``show`` and
    ``explain`` tell more. Exit code 1 where a plugin is broken.
    """
    from zslplat.cli.output import stdout_console
    from zslplat.errors import UnknownNameError, UsageError
    from zslplat.registry import describe_broken, registry

    if options["what"] is not None and f"{options['what']}s" in _LISTED:
        options["what"] += "s"
    if options["what"] is not None and options["what"] not in _LISTED:
        raise UnknownNameError("kind", options["what"], _LISTED)
    if options["kind"] is not None and options["what"] not in (None, "methods", "tasks"):
        raise UsageError(f"--kind is of methods and tasks; {options['what']} have none, so leave it out")
    installed = registry()
    listed = _SHOWN if options["what"] is None else (options["what"],)
    rows = [_row(installed, group, name, of) for group in listed for name, of in installed.entries[group].items()]
    if options["kind"] is not None:
        kinds = {row["for"] for row in rows if row.get("for")}
        if options["kind"] not in kinds:
            raise UnknownNameError("kind of method or task", options["kind"], kinds)
        rows = [row for row in rows if row.get("for") == options["kind"]]
    if options["search"] is not None:
        rows = [row for row in rows if all(word in _text(row) for word in options["search"].lower().split())]
    rows.sort(key=lambda row: (_LISTED.index(row["kind"]), str(row.get("for", "")), row["name"]))
    problems = list(installed.clashes())
    if options["json"]:
        print_json({"components": rows, "clashes": problems})
    else:
        console = stdout_console()
        if rows:
            print_rows(console, rows, _COLUMNS.get(options["what"] or "", ("kind", "name", "summary", "from")))
        else:
            echo("nothing fits; leave out --kind or --search, or `zslplat list` for everything", err=True)
        for line in [*problems, *map(describe_broken, installed.broken)]:
            echo(f"warning: {line}", err=True)
    if installed.broken:
        raise typer.Exit(1)
    return {"name": rows[0]["name"] if rows else ""}


def print_rows(console: Any, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Print a table as wide as the terminal; names are never cut, since they are what one types."""
    from rich.table import Table
    from rich.text import Text

    # Where all come from one place, that is said of none.
    shown = [c for c in columns if c != "from" or len({str(row[c]) for row in rows}) > 1]
    table = Table()
    for column in shown:
        table.add_column(_LABELS.get(column, column), no_wrap=column in ("name", "plugin"), overflow="fold")
    for row in rows:
        table.add_row(*(Text(", ".join(v) if isinstance(v := row[column], list) else str(v)) for column in shown))
    console.print(table)


def _row(installed: Any, kind: str, name: str, entries: Any) -> dict[str, Any]:
    """Return what is listed of a component or suite; in place of a summary why it does not load, where it does not."""
    row = {"kind": kind, "name": name, "from": [f"{e.plugin.distribution} {e.plugin.version}" for e in entries]}
    usual = dict.fromkeys(_COLUMNS.get(kind, ("name", "summary", "from")), "")
    try:
        return {**usual, **row, **_in_short(installed, kind, name)}
    except Exception as error:  # somebody else's class may fail in any way, and the others are listed all the same
        return {**usual, **row, "title" if kind == "checks" else "summary": f"does not load: {error}"}


def _in_short(installed: Any, kind: str, name: str) -> dict[str, Any]:
    from zslplat.listing import facts_of
    from zslplat.suites.suite import suite_of

    if kind == "suites":
        return {"summary": suite_of(installed.entry(kind, name)).summary}
    component = installed.component(kind, name)
    if kind == "checks":
        return {"scope": component.scope, "title": component.title}
    facts = facts_of(kind, component)
    keys = {"methods": ("summary", "kind", "knows", "tags"), "tasks": ("summary", "kind")}.get(kind, ("summary",))
    return {"for" if key == "kind" else key: facts[key] for key in keys}


def _text(row: dict[str, Any]) -> str:
    return " ".join(str(value) for name, value in row.items() if name != "from").lower()


class ExplainOptions(TypedDict, total=False):
    """The options of ``explain``."""

    code: Annotated[
        str, Option("Code of a check, as ZSP101 (zslplat list checks).", REQUIRED, complete="checks", positional=True)
    ]
    json: Json


def explain(options: ExplainOptions) -> None:
    """Explain what a check found: causes and remedies."""
    from zslplat.checks.base import check_page

    explanation = check_page(options["code"])
    if options["json"]:
        print_json(vars(explanation))
    else:
        echo(explanation.page, nl=False)


class ShowOptions(TypedDict, total=False):
    """The options of ``show``."""

    name: Annotated[
        str,
        Option(
            "Name of a method, kernel, data set, encoder or task.", REQUIRED, complete="components", positional=True
        ),
    ]
    json: Json


def show(options: ShowOptions) -> dict[str, str]:
    """Show what a component is: parameters, ranges, citation."""
    from zslplat.cli.guidance import meaning_of
    from zslplat.cli.output import stdout_console
    from zslplat.errors import UnknownNameError
    from zslplat.registry import COMPONENTS, registry
    from zslplat.spec import Spec

    installed = registry()
    spec = Spec.parse(options["name"])
    entries = [installed.entry(kind, spec.name) for kind in _KINDS if installed.claims(kind, spec.name)]
    if not entries:
        commands = meaning_of(spec.name)
        names = {name for kind in _KINDS for name in installed.spellings(kind)}
        hint = f"did you mean {commands[0]}?" if commands else ""
        raise UnknownNameError("component", spec.name, names, hint, "list")
    descriptions = [described(entry, spec) for entry in entries]
    if options["json"]:
        print_json(descriptions)
        return {}
    console = stdout_console()
    for description in descriptions:
        kind = COMPONENTS[description["kind"]]
        origin = f"{description['distribution']} {description['version']}"
        lines = [f"{kind} {description['name']}  (from {origin})"]
        lines += [description[key] for key in ("summary",) if description[key]]
        for key in ("tags", "preprocessing", "knows", "primary", "metrics", "licence", "citation"):
            if description.get(key):
                lines.append(f"{_LABELS.get(key, key)}: {description[key]}")
        for line in lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        if description["parameters"]:
            console.print(_parameter_table(description["parameters"]))
    return {"kind": COMPONENTS[descriptions[0]["kind"]]}


def _parameter_table(parameters: list[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table("parameter", "default", "legal", "searched", "meaning")
    for parameter in parameters:
        table.add_row(*(Text(str(parameter[key])) for key in ("name", "default", "legal", "search", "description")))
    return table


def described(entry: Any, spec: Any) -> dict[str, Any]:
    """Return what is shown of a component with the options of a spec: texts by key, and its parameters as a list."""
    from zslplat.evaluation.components import NOTHING
    from zslplat.evaluation.experiment import describe_range
    from zslplat.methods.base import Method
    from zslplat.space import NO_DEFAULT
    from zslplat.spec import format_value

    component = entry.load()
    instance = component.build(spec.parameters) if hasattr(component, "build") else None
    space = dict(instance.space) if instance is not None else {}
    of_variant = getattr(component, "variants", {}).get(str(spec.parameters.get("variant")), {})
    parameters = []
    for name, parameter in component.parameters.items():
        searched = space.pop(name, None if name in of_variant else parameter.search)
        default = of_variant.get(name, parameter.default)
        parameters.append(
            {
                "name": name,
                "default": "" if default is NO_DEFAULT else format_value(default),
                "legal": str(parameter.legal),
                "search": describe_range(searched) if searched is not None else "",
                "description": parameter.description,
            }
        )
    # Those of components inside, a kernel's say, which the method's domains describe.
    domains = getattr(instance, "domains", {})
    for name, dimension in space.items():
        described_as = domains[name].description if name in domains else ""
        parameters.append(
            {"name": name, "default": "", "legal": "", "search": describe_range(dimension), "description": described_as}
        )
    # What these parameters want: variants of a method may differ from the class's own.
    preprocessing = getattr(instance, "effective_preprocessing", None)
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
        "metrics": ", ".join(component(**spec.parameters).criteria()) if primary else "",
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
    return [tag for tag in dict.fromkeys(tags) if tag]

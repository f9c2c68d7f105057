"""``list``, ``show`` and ``explain``: what is there, what it is, and what a check means."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import Json
from zslplat.front.schema import REQUIRED, Option

if TYPE_CHECKING:
    from zslplat.registry import Entry

_PREFIX = "listed-"
_SOURCES = (".py", ".toml")
_KINDS = ("methods", "kernels", "datasets", "tasks")
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
            "methods, kernels, datasets, tasks, suites or checks; default: all but the checks.",
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
    """List methods, kernels, data sets, tasks, suites, checks.

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
    facts = ListedFacts()
    rows = [
        _row(installed, facts, group, name, entries)
        for group in listed
        for name, entries in installed.entries[group].items()
    ]
    facts.write()
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


def _row(installed: Any, facts: Any, kind: str, name: str, entries: Any) -> dict[str, Any]:
    """Return what is listed of a component or suite; in place of a summary why it does not load, where it does not."""
    row = {"kind": kind, "name": name, "from": [f"{e.plugin.distribution} {e.plugin.version}" for e in entries]}
    usual = dict.fromkeys(_COLUMNS.get(kind, ("name", "summary", "from")), "")
    content = facts.find(entries)
    if content is None:
        try:
            content = _in_short(installed, kind, name)
            facts.add(entries, content)
        except Exception as error:  # somebody else's class may fail in any way, and the others are listed all the same
            content = {"title" if kind == "checks" else "summary": f"does not load: {error}"}
    return {**usual, **row, **content}


def _in_short(installed: Any, kind: str, name: str) -> dict[str, Any]:
    from zslplat.evaluation.components import NOTHING
    from zslplat.suites.suite import suite_of

    if kind == "suites":
        return {"summary": str(suite_of(installed.entry(kind, name)).summary)}
    component = installed.component(kind, name)
    if kind == "checks":
        return {"scope": str(component.scope), "title": str(component.title)}
    content = {"summary": str(component.summary)}
    if kind == "tasks":
        return {**content, "for": str(component.kind)}
    if kind == "methods":
        knows = ", ".join(component.build({}).knows_of_batch) or NOTHING
        return {**content, "for": str(component.kind), "knows": knows, "tags": [str(tag) for tag in component.tags]}
    return content


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
        str, Option("Name of a method, kernel, data set or task.", REQUIRED, complete="components", positional=True)
    ]
    json: Json


def show(options: ShowOptions) -> dict[str, str]:
    """Show what a component is: parameters, ranges, citation."""
    from zslplat.cli.output import stdout_console
    from zslplat.errors import UnknownNameError
    from zslplat.registry import COMPONENTS, registry
    from zslplat.spec import Spec

    installed = registry()
    spec = Spec.parse(options["name"])
    entries = [installed.entry(kind, spec.name) for kind in _KINDS if installed.claims(kind, spec.name)]
    if not entries:
        is_check = installed.claims("checks", spec.name.upper())
        names = {name for kind in _KINDS for name in installed.spellings(kind)}
        raise UnknownNameError(
            "component", spec.name, names, f"it is a check: zslplat explain {spec.name}" if is_check else ""
        )
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
        for key in ("tags", "preprocessing", "knows", "primary", "licence", "citation"):
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


class ListedFacts:
    """Facts {name: text or texts} of components by kind and name, those of an earlier call where there was one.

    Importing all components takes two seconds, so facts of zslplat's own are stored from call to call; of others
    nothing is stored, as their packages may change in ways that cannot be seen from here.
    """

    def __init__(self) -> None:
        self._path = _facts_file()
        self._facts = _read_facts(self._path)
        self._changed = False

    def find(self, entries: Sequence["Entry"]) -> dict[str, Any] | None:
        """Return the stored facts of a component of zslplat's own; None where there are none, or it is of others."""
        facts = self._facts.get(_key(entries[0])) if _is_built_in(entries) else None
        return dict(facts) if isinstance(facts, Mapping) else None

    def add(self, entries: Sequence["Entry"], facts: Mapping[str, Any]) -> None:
        """Add the facts of a component, where it is zslplat's own."""
        if _is_built_in(entries):
            self._facts[_key(entries[0])] = dict(facts)
            self._changed = True

    def write(self) -> None:
        """Write what was added, in one step; does nothing where there is no place for it."""
        if self._path is None or not self._changed:
            return
        import json

        from zslplat.data.store.atomic_files import remove_unused, replacing

        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self._path) as new:
                new.write_text(json.dumps(self._facts), encoding="utf-8")
            remove_unused(self._path.parent.glob(f"{_PREFIX}*.json"))


def _is_built_in(entries: Sequence["Entry"]) -> bool:
    from zslplat.registry import OWN

    return len(entries) == 1 and entries[0].plugin.distribution == OWN


def _key(entry: "Entry") -> str:
    return f"{entry.kind}/{entry.name}"


def _facts_file() -> Path | None:
    """Return the file of the package as it is: its name says path, size and time of every source file."""
    import hashlib

    import platformdirs

    import zslplat

    digest = hashlib.sha256()
    with suppress(OSError, RuntimeError):
        for folder, folders, names in os.walk(Path(zslplat.__file__).parent):
            folders.sort()
            for name in sorted(names):
                if name.endswith(_SOURCES):
                    path = os.path.join(folder, name)
                    state = os.stat(path)
                    digest.update(f"{path} {state.st_size} {state.st_mtime_ns}\n".encode())
        return Path(platformdirs.user_cache_dir("zslplat")) / f"{_PREFIX}{digest.hexdigest()[:16]}.json"
    return None


def _read_facts(path: Path | None) -> dict[str, Any]:
    import json

    with suppress(OSError, ValueError, RecursionError):
        if path is not None:
            content = json.loads(path.read_text(encoding="utf-8"))
            os.utime(path)  # it is in use
            return content if isinstance(content, dict) else {}
    return {}

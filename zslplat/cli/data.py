"""``data list``, ``check`` and ``info``."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import DataRootOptions, Json, SilenceOptions, Store
from zslplat.front.schema import REQUIRED, Option
from zslplat.names import visible

if TYPE_CHECKING:
    from zslplat.checks.base import Finding
    from zslplat.data.dataset import Dataset
    from zslplat.settings import Settings

app = Commands(default="list", help="Data sets: list, check, describe.")


class ListDataOptions(DataRootOptions, total=False):
    """The options of ``data list``."""

    store: Store
    json: Json


@app.command("list")
def list_(options: ListDataOptions) -> dict[str, str]:
    """List the data sets that are built in, come from plugins, or lie under the data root.

    Names are shown as a shell takes them after --dataset, in quotes where they need some; JSON has them as they are.
    """
    from rich.table import Table
    from rich.text import Text

    from zslplat.cli.output import stdout_console
    from zslplat.data.catalogue import available, in_a_shell
    from zslplat.evaluation.components import registered_sources
    from zslplat.front.requests import settings_of

    settings = settings_of(options)
    entries = available(_places(settings), registered_sources())
    said = _of_root(settings.data_root, any(entry.path is not None for entry in entries))
    if options["json"]:
        print_json([vars(entry) for entry in entries])
        if said:
            echo(f"warning: data root {settings.data_root} {said}", err=True)
        return {}
    console = stdout_console()
    for kind, title in (("data", "data set"), ("format", "format")):
        chosen = [entry for entry in entries if (entry.kind == "format") == (kind == "format")]
        table = Table(title, *(["from", "size"] if kind == "data" else []), "what it is")
        for entry in chosen:
            cells = [in_a_shell(entry.name), *([entry.kind, entry.size] if kind == "data" else []), entry.summary]
            table.add_row(*(Text(visible(text)) for text in cells))
        console.print(table)
    root = f"{settings.data_root}{f', which {said}' if said else ''}"
    console.print(
        f"data root: {root if settings.data_root else 'none; set it with --data-root'}", highlight=False, soft_wrap=True
    )
    return {"name": next(entry.name for entry in entries if entry.kind != "format")}


class LookDataOptions(DataRootOptions, SilenceOptions, total=False):
    """The options of ``data check`` and ``data info``."""

    name: Annotated[
        str,
        Option(
            'Data set or its path, for example birds.csv, mydata/ or "CUB(features=mnv2)".',
            REQUIRED,
            complete="datasets",
            positional=True,
        ),
    ]
    store: Store
    json: Json


@app.command()
def check(options: LookDataOptions) -> None:
    """Print what a data set holds, what looks wrong with it, and the line that fixes each thing.

    Exit code 1 where something looks wrong.
    """
    from zslplat.data.description import missing_parts
    from zslplat.errors import DataError

    try:
        look = _look(options)
    except DataError as error:
        faults = _faults(options["name"])
        if not faults:
            raise
        if options["json"]:
            listed = [{"what": what, "mend": line} for what, line in faults]
            print_json({"error": str(error), "exit_code": 1, "faults": listed})
        for line in [] if options["json"] else _wrong(faults):
            echo(line)
        raise typer.Exit(1) from None
    missing = list(missing_parts(look.dataset))
    if options["json"]:
        print_json({**look.to_json(), "missing": [{"what": what, "mend": line} for what, line in missing]})
    else:
        _print_card(look, missing)
    if missing or look.findings:
        raise typer.Exit(1)


def _wrong(faults: list[tuple[str, str]]) -> list[str]:
    return [line for what, mend in faults for line in (f"wrong: {what}", f"  fix: {mend}")]


def _faults(name: str) -> list[tuple[str, str]]:
    """Return what is wrong line by line where a data set is one table of CSV."""
    from zslplat.data.formats.csv_faults import faults_of_table

    path = Path(name)
    return faults_of_table(path) if path.suffix == ".csv" and path.is_file() else []


def _print_card(look: "_Look", missing: list[tuple[str, str]]) -> None:
    from zslplat.cli.output import stdout_console
    from zslplat.data.description import description_lines

    console = stdout_console()
    lines = [look.dataset.name, *(f"  {line}" for line in description_lines(look.dataset))]
    lines += _wrong([*missing, *((finding.line, _remedy(finding.code)) for finding in look.findings)])
    lines += ["nothing looks wrong"] if not missing and not look.findings else []
    lines += [f"{look.silenced} silenced"] if look.silenced else []
    for line in lines:
        console.print(visible(line), highlight=False, markup=False, soft_wrap=True)


@app.command()
def info(options: LookDataOptions) -> None:
    """Describe a data set: rows, classes, splits, folds, signatures, value ranges, fingerprint, licence, findings."""
    from zslplat.cli.output import print_warnings, stdout_console
    from zslplat.data.description import description_lines

    look = _look(options)
    description = look.to_json()
    if options["json"]:
        print_json(description)
        return
    console = stdout_console()
    lines = description_lines(look.dataset)
    sets = {"features": description["features"], **description["views"], **description["signatures"]}
    lines += [f"{'values':<13} {name}: {_inline(content)}" for name, content in sets.items()]
    lines += [f"{key:<13} {description[key]}" for key in _TEXTS if description[key]]
    for line in (look.dataset.name, *(f"  {line}" for line in lines)):
        console.print(visible(line), highlight=False, markup=False, soft_wrap=True)
    print_warnings(console, [finding.line for finding in look.findings], look.silenced)


_TEXTS = ("description", "licence", "citation", "fingerprint")


@dataclass(frozen=True)
class _Look:
    """A data set that was loaded, and what the checks find in it."""

    dataset: "Dataset"
    settings: "Settings"
    findings: "list[Finding]"
    silenced: int

    def to_json(self) -> dict[str, Any]:
        """Return its description and the findings, as JSON values."""
        from zslplat.data.description import describe

        findings = [finding.to_json() for finding in self.findings]
        return {**describe(self.dataset), "findings": findings, "silenced": self.silenced}


def _look(options: LookDataOptions) -> _Look:
    from zslplat.checks.base import drop_silenced
    from zslplat.checks.data_facts import data_findings
    from zslplat.data.catalogue import parse_dataset
    from zslplat.evaluation.components import open_dataset
    from zslplat.front.requests import settings_of

    settings = settings_of(options)
    dataset = open_dataset(parse_dataset(options["name"]), settings)
    findings, silenced = drop_silenced(data_findings(dataset, settings.cache), settings.silenced)
    return _Look(dataset, settings, findings, silenced)


def _remedy(code: str) -> str:
    """Return the first thing to do about a finding, as the page of its check has it."""
    from zslplat.checks.base import check_page

    _, _, remedies = check_page(code).page.partition("## What to do")
    first = remedies.partition("\n- ")[2].split("\n- ")[0].split("\n\n")[0]
    return f"{' '.join(first.split()) or 'see its page'} (zslplat explain {code})"


def _of_root(root: Path | None, filled: bool) -> str:
    """Return what has to be said of a data root: it holds no data set, or others lie in folders below it."""
    from zslplat.data.catalogue import data_sets_under, roots_below

    if root is None:
        return ""
    if not root.is_dir():
        return "is no folder; give another --data-root, or make it"
    below = roots_below(root)
    if below:
        names = [name for name, _, _ in data_sets_under(below[0])]
        shown = ", ".join(map(visible, names[:3])) + (", ..." if len(names) > 3 else "")
        others = f", and {len(below) - 1} more folders hold some" if len(below) > 1 else ""
        holds = "holds others in folders below" if filled else "holds no data set itself, but folders below do"
        return f"{holds}: {shown} in {below[0]}{others}; give --data-root {shlex.quote(str(below[0]))}"
    if filled:
        return ""
    count = sum(not path.name.startswith(".") for path in root.iterdir())
    holds = f"holds no data set in a layout that is known among its {count} files and folders" if count else "is empty"
    return f"{holds}; copy or link your data sets into it"


def _places(settings: Any) -> Any:
    from zslplat.data.source import DataPlaces

    return DataPlaces(settings.data_root, settings.cache / "data", settings.arrays)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_inline(v)}" for k, v in value.items())
    if isinstance(value, list):
        return "; ".join(map(_inline, value)) if value and isinstance(value[0], dict) else " x ".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)

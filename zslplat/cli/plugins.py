"""``plugins new`` and ``plugins check``: start a plugin package, see whether an installed one keeps its promises."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import Json
from zslplat.front.schema import REQUIRED, Option

app = Commands(help="Plugins: list, write a new package, check one.", default="list")


class ListPluginOptions(TypedDict, total=False):
    """The options of ``plugins list``."""

    json: Json


@app.command("list")
def list_(options: ListPluginOptions) -> None:
    """List the plugins, with their packages and versions; exit code 1 where one is broken."""
    from zslplat.cli.catalogue import print_rows
    from zslplat.cli.output import stdout_console, warn
    from zslplat.registry import describe_broken, registry

    installed = registry()
    states = [
        *((one, "loaded") for one in installed.plugins),
        *((one, f"broken: {one.cause}") for one in installed.broken),
    ]
    rows = [
        {"plugin": one.name, "distribution": one.distribution, "version": one.version, "state": state}
        for one, state in states
    ]
    if options["json"]:
        print_json(rows)
    else:
        print_rows(stdout_console(), rows, ("plugin", "distribution", "version", "state"))
        for line in map(describe_broken, installed.broken):
            warn(line)
    if installed.broken:
        raise typer.Exit(1)


class NewPluginOptions(TypedDict, total=False):
    """The options of ``plugins new``."""

    kind: Annotated[
        str,
        Option(
            "kernel, dataset, task, check, command, listener or a kind of methods, as zero-shot.",
            REQUIRED,
            positional=True,
        ),
    ]
    name: Annotated[str, Option("Name of the component: lower-case words joined by -.", REQUIRED, positional=True)]
    directory: Annotated[Path | None, Option("Folder to write; default: zslplat-NAME in the current folder.")]


@app.command()
def new(options: NewPluginOptions, context: typer.Context) -> None:
    """Write a plugin package that works as it stands: packaging, a component to change, tests that call the kit."""
    from zslplat.registry import registry
    from zslplat.scaffold import write_package

    root = context.find_root()
    commands = root.command.list_commands(root)  # type: ignore[attr-defined]
    written = write_package(options["kind"], options["name"], options["directory"], registry(), commands=commands)
    folder = options["directory"] or Path(f"zslplat-{options['name']}")
    # Without the dot pip would look the name up in an index.
    shown = str(folder) if folder.is_absolute() else f"./{folder}"
    echo("\n".join(str(path) for path in written))
    # The extra brings pytest, and `python -m` takes that of the environment, whatever else is on the path.
    echo(f'next: pip install "{shown}[test]" && python -m pytest {shown}')


class CheckPluginOptions(TypedDict, total=False):
    """The options of ``plugins check``."""

    distribution: Annotated[
        str,
        Option(
            "Name of an installed package, for example zslplat-arccos.",
            REQUIRED,
            complete="distributions",
            positional=True,
        ),
    ]
    json: Json


@app.command()
def check(options: CheckPluginOptions) -> None:
    """Run the conformance kit on every component of an installed package; exit code 1 when a check fails.

    A component that cannot be built fails. The others are checked all the same.
    """
    from zslplat.registry import registry
    from zslplat.testing.distribution import subjects_of

    rows: list[dict[str, Any]] = []
    for subject in subjects_of(registry(), options["distribution"]):
        if not options["json"]:
            echo(f"checking {subject.name} ...", err=True)
        rows += [
            {
                "kind": subject.kind,
                "name": subject.name,
                "check": result.check,
                "result": result.state,
                "cause": result.message,
                "promise": result.promise,
                "failure": result.is_failure,
            }
            for result in subject.check()
        ]
    failures = sum(bool(row["failure"]) for row in rows)
    if options["json"]:
        print_json(
            {"distribution": options["distribution"], "checks": len(rows), "failures": failures, "results": rows}
        )
    else:
        _print_table(options["distribution"], rows, failures)
    if failures:
        raise typer.Exit(1)


def _print_table(distribution: str, rows: list[dict[str, Any]], failures: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    from zslplat.cli.output import stdout_console

    table = Table("component", "check", "result", "cause")
    for row in rows:
        texts = [f"{row['kind']} {row['name']}", *(row[key] for key in ("check", "result", "cause"))]
        table.add_row(*(escape(text) for text in texts))
    console = stdout_console()
    console.print(table, highlight=False)
    verdict = f"{failures} of {len(rows)} checks failed" if failures else f"{len(rows)} checks, none failed"
    console.print(f"{distribution}: {verdict}", highlight=False, markup=False)

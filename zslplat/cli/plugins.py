"""``plugins new`` and ``plugins check``: start a plugin package, see whether an installed one keeps its promises."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from zslplat.cli import completion
from zslplat.cli import options as o
from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo

app = Commands(help="Plugins: write a new package, check an installed one.")


@app.command()
def new(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(help="kernel, dataset, task, check, command, listener or a kind of methods, as zero-shot."),
    ],
    name: Annotated[str, typer.Argument(help="Name of the component: lower-case words joined by -.")],
    directory: Annotated[
        Path | None, typer.Option("--directory", help="Folder to write; default: zslplat-NAME in the current folder.")
    ] = None,
) -> None:
    """Write a plugin package that works as it stands: packaging, a component to change, tests that call the kit."""
    from zslplat.registry import registry
    from zslplat.scaffold import write_package

    root = context.find_root()
    commands = root.command.list_commands(root)  # type: ignore[attr-defined]
    written = write_package(kind, name, directory, registry(), commands=commands)
    folder = directory or Path(f"zslplat-{name}")
    # Without the dot pip would look the name up in an index.
    shown = str(folder) if folder.is_absolute() else f"./{folder}"
    echo("\n".join(str(path) for path in written))
    # The extra brings pytest, and `python -m` takes that of the environment, whatever else is on the path.
    echo(f'next: pip install "{shown}[test]" && python -m pytest {shown}')


@app.command()
def check(
    distribution: Annotated[
        str,
        typer.Argument(
            autocompletion=completion.distributions, help="Name of an installed package, for example zslplat-arccos."
        ),
    ],
    timeout: Annotated[
        float, typer.Option("--timeout", help="Seconds after which one check is ended, and has failed.", min=0.1)
    ] = 120.0,
    as_json: o.Json = False,
) -> None:
    """Run the conformance kit on every component of an installed package; exit code 1 when a check fails.

    The checks run in a process of their own: a component that ends it, or never answers, fails, and the others are
    checked all the same.
    """
    from zslplat.cli.reporting import print_json
    from zslplat.testing.apart import checked_apart

    def beginning(subject: Any) -> None:
        if not as_json:
            echo(f"checking {subject.name} ...", err=True)

    rows: list[dict[str, Any]] = [
        {
            "kind": subject.kind,
            "name": subject.name,
            "check": result.check,
            "result": result.state,
            "cause": result.message,
            "promise": result.promise,
            "failure": result.is_failure,
        }
        for subject, result in checked_apart(distribution, beginning, timeout)
    ]
    failures = sum(bool(row["failure"]) for row in rows)
    if as_json:
        print_json({"distribution": distribution, "checks": len(rows), "failures": failures, "results": rows})
    else:
        _print_table(distribution, rows, failures)
    if failures:
        raise typer.Exit(1)


def _print_table(distribution: str, rows: list[dict[str, Any]], failures: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    from zslplat.cli.reporting import stdout_console

    table = Table("component", "check", "result", "cause")
    for row in rows:
        texts = [f"{row['kind']} {row['name']}", *(row[key] for key in ("check", "result", "cause"))]
        table.add_row(*(escape(text) for text in texts))
    console = stdout_console()
    console.print(table, highlight=False)
    verdict = f"{failures} of {len(rows)} checks failed" if failures else f"{len(rows)} checks, none failed"
    console.print(f"{distribution}: {verdict}", highlight=False, markup=False)

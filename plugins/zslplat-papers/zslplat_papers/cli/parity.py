"""``parity``: the equations of the papers, written out slowly, beside the methods."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import Json
from zslplat.front.schema import Option

_COLUMNS = ("method", "variant", "verdict", "largest differences", "equation", "why")


class ParityOptions(TypedDict, total=False):
    """The options of ``parity``."""

    methods: Annotated[
        list[str] | None, Option("Methods; default: all.", metavar="METHOD", complete="components", positional=True)
    ]
    out: Annotated[Path | None, Option("Write the table to this file: Markdown (.md), or CSV.")]
    json: Json


def parity(options: ParityOptions) -> None:
    """Compare methods with a slow reference of their paper's equations, on a small problem.

    One row for each method and variant: equal to within some digits, departs and why, or no reference and why.
    """
    from rich.table import Table

    from zslplat.cli.output import stdout_console
    from zslplat.errors import UsageError
    from zslplat.figures import Table as Columns
    from zslplat.figures import write_table
    from zslplat_papers.parity.table import parity as compared

    out = options["out"]
    if out is not None and (out.suffix not in (".md", ".csv") or out.is_dir()):
        raise UsageError(f"--out {out}: expected a file with a name that ends in .md or .csv")
    rows = [row.to_json() for row in compared(options["methods"] or ())]
    lines = [[_cell(row, column) for column in _COLUMNS] for row in rows]
    if out is not None and out.suffix == ".csv":
        write_table(Columns({column: [line[i] for line in lines] for i, column in enumerate(_COLUMNS)}), out)
    elif out is not None:
        out.write_text(markdown(lines), "utf-8")
    if options["json"]:
        print_json(rows)
        return
    shown = Table(*_COLUMNS)
    for line in lines:
        shown.add_row(*line)
    stdout_console().print(shown, markup=False)
    printed = {row["method"] for row in rows if row["variant"] == "paper"}
    departing = [row["method"] for row in rows if row["verdict"] == "departs" and row["variant"] == "default"]
    for method in [name for name in departing if name in printed][:1]:
        echo(f"next: zslplat tune {method} --set variant=paper tunes the form that the paper prints")
    if out is not None:
        echo(f"written: {out}")


def markdown(lines: list[list[str]]) -> str:
    """Return the table as Markdown, without the differences, which are another machine's in their last digits."""
    shown = [i for i, column in enumerate(_COLUMNS) if column != "largest differences"]
    code = _COLUMNS.index("equation")
    rows = [[f"`{line[i]}`" if i == code and line[i] else line[i] for i in shown] for line in lines]
    heads = [[_COLUMNS[i] for i in shown], ["---" for _ in shown]]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in (*heads, *cells))


def _cell(row: dict[str, Any], column: str) -> str:
    if column == "largest differences":
        return ", ".join(f"{quantity} {value:.1e}" for quantity, value in row["differences"].items())
    return str(row[column])

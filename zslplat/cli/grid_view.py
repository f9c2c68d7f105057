"""The view of a grid while it is carried out, and its tables at the end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from zslplat.cli.invocation import echo, print_json
from zslplat.cli.output import print_warnings, stdout_console
from zslplat.names import counted
from zslplat.suites.cells import DONE, FAILED, SKIPPED, WAITING


def print_grid(grid: Any, *, as_json: bool, quiet: bool) -> None:
    """Print the tables of a grid, what failed, what was left out, and what its checks found.

    ``quiet``: one line, and what failed on standard error.
    """
    from zslplat.suites.tables import SCORES, tables_of

    result, decision, silenced = grid.result, grid.decision, grid.settings.silenced
    messages = result.messages(silenced)
    if as_json:
        tables = tables_of(result)
        print_json(
            {
                "suite": result.suite.name,
                "cells": [vars(cell) for cell in result.cells],
                "scores": [dict(zip(SCORES, line, strict=True)) for line in tables.scores],
                **({} if decision is None else {"verdicts": [vars(one) for one in decision.verdicts]}),
                "seconds": result.seconds,
                "out": result.out,
                "cells_in_tables": result.filled_cells[0],
                "cells_of_suite": result.filled_cells[1],
                "warnings": [*result.missing_metrics(), *messages.lines],
                "findings": messages.findings,
                "silenced": messages.silenced,
            }
        )
        return
    if quiet:
        warned = f", {counted(len(messages.lines), 'warning')}" if messages.lines else ""
        echo(grid.headline + warned)
        for line in grid.failures:
            echo(line, err=True)
        return
    console = stdout_console()
    for table in score_tables(result):
        console.print(table)
    for line in [grid.headline, *grid.lines]:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    print_warnings(console, messages.lines, messages.silenced)


def score_tables(result: Any) -> Iterator[Table]:
    """Yield a table for each task and metric: rows and data sets, the test with its spread or, of draws, interval."""
    from zslplat.suites.suite import MEAN
    from zslplat.suites.tables import GIVEN, SCORES, kinds_of, tables_of

    tables, kinds = tables_of(result), result.kinds
    draw = SCORES.index("draw")
    lines = [line for line in tables.scores if line[draw] in (GIVEN, MEAN)]
    names = list(dict.fromkeys(line[0] for line in lines))
    rows = list(dict.fromkeys(line[1] for line in lines))
    for kind, metric in kinds_of(result):
        by_place = {(line[0], line[1]): line for line in lines if kinds[line[2]] == kind and line[3] == metric}
        if not by_place:
            continue
        table = Table(escape(f"{kind}: {metric}"), *map(escape, names), "knows of batch", title_justify="left")
        for row in rows:
            cells = [by_place.get((name, row)) for name in names]
            marks = dict.fromkeys(line[8] for line in cells if line is not None)
            table.add_row(
                escape(row + " *" * any(line is not None and line[9] for line in cells)),
                *("" if line is None else _score(line, of_draws=line[draw] == MEAN) for line in cells),
                " / ".join(marks),
            )
        yield table
    yield _budget_table(tables.budgets, names)


def _score(line: list[Any], *, of_draws: bool) -> str:
    if of_draws and line[-2] is not None and math.isfinite(line[-2]):
        return f"{line[4]:.3f} ({line[-2]:.3f} .. {line[-1]:.3f})"
    return f"{line[4]:.3f}" + (f" ±{line[5]:.3f}" if line[5] != "" else "")


def _budget_table(lines: list[list[Any]], names: list[str]) -> Table:
    table = Table("trials; epochs chosen of most", *map(escape, names), "unequal")
    for row in dict.fromkeys(line[1] for line in lines):
        of_row = [line for line in lines if line[1] == row]
        cells = {line[0]: str(line[3]) + (f"; {line[4]:g} of {line[5]}" if line[4] != "" else "") for line in of_row}
        marks = dict.fromkeys(line[9] for line in of_row if line[9])
        table.add_row(escape(row), *(cells.get(name, "") for name in names), escape(" / ".join(marks)))
    return table


def print_plan(planned: Any, *, as_json: bool) -> None:
    """Print what a grid would take: by row and data set, and in all."""
    from zslplat.names import duration

    estimates = planned.estimates
    total = {
        "seconds": planned.seconds,
        "unknown_cells": planned.unknown,
        "memory_bytes": planned.peak_bytes,
        "workers": planned.workers,
        "changed_code": planned.changed,
    }
    if as_json:
        cells = [
            {
                **vars(e.cell),
                "estimated_seconds": e.seconds,
                "source": e.source,
                "memory_bytes": e.peak_bytes,
                "missing_trials": e.trials,
                "missing_test_evaluations": e.evaluations,
            }
            for e in estimates
        ]
        print_json({"suite": planned.suite.name, "cells": cells, **total})
        return
    console = stdout_console()
    places = list(dict.fromkeys((e.cell.data, e.cell.draw) for e in estimates))
    table = Table("", *(escape(name if draw is None else f"{name} #{draw}") for name, draw in places))
    for row in dict.fromkeys(e.cell.row for e in estimates):
        of_row = {place: [e for e in estimates if e.cell.row == row and _place(e) == place] for place in places}
        table.add_row(escape(row), *(_planned_text(cell_estimates) for cell_estimates in of_row.values()))
    console.print(table)
    by_status = {status: sum(e.cell.status == status for e in estimates) for status in (DONE, WAITING, SKIPPED, FAILED)}
    names = {DONE: "done already", WAITING: "to be done", SKIPPED: "left out", FAILED: "that will fail"}
    absent = {e.cell.data: e.cell.reason for e in estimates if e.cell.status == SKIPPED}
    beside = f", and {counted(planned.unknown, 'cell')} of which nothing is known" if planned.unknown else ""
    lines = [
        f"suite {planned.suite.name}: "
        + ", ".join(f"{counted(count, 'cell')} {names[status]}" for status, count in by_status.items() if count),
        f"time: about {duration(planned.seconds)} with {counted(planned.workers, 'worker')}{beside}",
        f"memory: about {planned.peak_bytes / 2**30:.1f} GiB for the workers together",
        *(f"left out: {name}: {reason}" for name, reason in absent.items()),
        *(f"will fail: {e.cell.title}: {e.cell.reason}" for e in estimates if e.cell.status == FAILED),
    ]
    if planned.changed:
        count = len(planned.changed)
        lines.append(
            f"warning: computed by other code: {counted(count, 'study', 'studies')} (first {planned.changed[0]!r}), to "
            "fail unless --accept-changed-code is given, or another --store"
        )
    if any(e.source == "shared" for e in estimates):
        lines.append("shared: the same study as that of another row, which is carried out once")
    if any(e.source in ("scaled", "timed") for e in estimates):
        lines.append("* from other data in proportion to its size; + from one trial, timed just now: both are rough")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _place(estimate: Any) -> tuple[str, int | None]:
    return estimate.cell.data, estimate.cell.draw


def _planned_text(estimates: Sequence[Any]) -> str:
    """Return what the cells of one row on one data set will take."""
    from zslplat.names import duration

    if not estimates:
        return ""
    if all(e.cell.status == SKIPPED for e in estimates):
        return "[yellow]-[/yellow]"
    if any(e.cell.status == FAILED for e in estimates):
        return "[red]x[/red]"
    waiting = [e for e in estimates if e.cell.status == WAITING]
    if not waiting:
        return "[green]done[/green]"
    if any(e.seconds is None for e in waiting):
        return "?"
    if all(e.source == "shared" for e in waiting):
        return "shared"
    mark = {"scaled": " *", "timed": " +"}.get(waiting[0].source, "")
    return duration(sum(e.seconds for e in waiting)) + mark

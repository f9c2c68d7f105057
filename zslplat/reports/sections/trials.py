"""The search of one study: its trials as a table, and the score against each parameter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zslplat.multiples import read_multiple
from zslplat.names import counted
from zslplat.records.costs import own_seconds
from zslplat.reports.blocks import Cell, Chart, Column, TableBlock
from zslplat.reports.charts.lines import Axes, Line, line_chart
from zslplat.reports.charts.swatches import Swatch
from zslplat.reports.facts import Record, Recorded
from zslplat.reports.sections.easel import Easel
from zslplat.reports.sections.words import cell, duration, metric_words, number, short

MOST_TRIALS = 200
MOST_DOTS = 400


def trial_table(entry: Recorded) -> TableBlock:
    """Return the trials with their parameters and scores; of many the best."""
    primary = entry.primary
    sign = -1 if primary is None or primary.maximise else 1
    trials = list(entry.trials)
    if len(trials) > MOST_TRIALS:
        trials = sorted(trials, key=lambda r: (r["value"] is None, sign * (r["value"] or 0.0)))[:MOST_TRIALS]
    names = list(dict.fromkeys(name for record in trials for name in record["parameters"]))
    columns = [Column("trial", True), *(Column(name, True) for name in names)]
    columns += [Column("validation", True), Column("state"), Column("seconds", True)]
    rows = []
    for record in trials:
        values = [record["parameters"].get(name, "") for name in names]
        seconds = own_seconds(record)
        state = str(record["state"]) + (f": {record['reason']}" if record.get("reason") else "")
        best = entry.winner is not None and record["number"] == entry.winner["number"]
        rows.append(
            [
                Cell(str(record["number"]), float(record["number"])),
                *(Cell(short(value), as_number(value)) for value in values),
                cell(record["value"], strong=best),
                Cell(state),
                Cell(duration(seconds), seconds),
            ]
        )
    note = f"The best {MOST_TRIALS} of {len(entry.trials)} trials." if len(entry.trials) > MOST_TRIALS else ""
    return TableBlock("Trials", columns, rows, note)


def parameter_charts(entry: Recorded, easel: Easel) -> Iterator[Chart]:
    """Yield a chart per searched parameter: the validation score of every complete trial against its value."""
    complete = [r for r in entry.trials if r["state"] == "complete" and r["value"] is not None]
    shown = complete[:: -(-len(complete) // MOST_DOTS)] if len(complete) > MOST_DOTS else complete
    names = list(dict.fromkeys(name for record in shown for name in record["parameters"]))
    metric = metric_words(entry.primary.name if entry.primary else "validation score")
    for name in names:
        own = [record for record in shown if name in record["parameters"]]
        if len(own) < 3 or len({str(r["parameters"][name]) for r in own}) < 2:
            continue
        yield _parameter_chart(name, own, entry, metric, len(complete), easel)


def _parameter_chart(
    name: str, own: Sequence[Record], entry: Recorded, metric: str, complete: int, easel: Easel
) -> Chart:
    values = [record["parameters"][name] for record in own]
    positions = [as_number(value) for value in values]
    numeric = all(position is not None for position in positions)
    words = [] if numeric else sorted({str(value) for value in values})
    x = [float(p) for p in positions if p is not None] if numeric else [float(words.index(str(v))) for v in values]
    y = [float(record["value"]) for record in own]
    style = easel.style(entry.method)
    winner = entry.winner
    best = [(x[i], y[i]) for i, r in enumerate(own) if winner is not None and r["number"] == winner["number"]]
    logx = numeric and ":log" in str(dict(entry.identity.get("space", {})).get(name, "")) and min(x) > 0
    title = f"{metric[:1].upper()}{metric[1:]} by {name}"
    units = sorted({found[1] for value in values if (found := read_multiple(value))})
    xlabel = f"{name} (times {units[0].lstrip('*')})" if len(units) == 1 and units[0].startswith("*") else name
    chosen = f"; chosen: {short(winner['parameters'].get(name, ''))}" if winner is not None else ""
    description = (
        f"Validation score of {counted(len(own), 'trial')} against {name}: from {number(min(y))} to {number(max(y))}"
        f"{chosen}. Each dot is a trial; other parameters differ, too."
    )
    lines = [Line("trials", x, y, style, dots_only=True, marked=best)]
    svg = line_chart(lines, Axes(xlabel, metric, logx=logx, names=words), easel.key(), title, description)
    note = "The large dot is the chosen trial." if best else ""
    note += f" {len(own)} of {complete} trials are drawn." if len(own) < complete else ""
    return Chart(svg, title, description, [(Swatch(style, line=False), "a trial")], note=note.strip())


def as_number(value: Any) -> float | None:
    """Return a parameter as a number: itself, or the factor of a multiple of a unit of the data; None for others."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    found = read_multiple(value)
    return found[0] if found and not str(value).isidentifier() else None

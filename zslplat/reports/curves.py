"""Charts of a chapter with a line per method: seen-unseen curves, budgets, sweeps, scores by number of features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from zslplat.evidence.results import Record, Result, Sweep
from zslplat.names import duration
from zslplat.palette import Style
from zslplat.records.costs import PREPARED, total_seconds
from zslplat.reports.artifacts import numbers, table_of
from zslplat.reports.blocks import Cell, Chart, Column, TableBlock
from zslplat.reports.charts import Axes, Line, Swatch, line_chart, thinned
from zslplat.reports.contents import Chapter
from zslplat.reports.context import PageContext
from zslplat.reports.wording import cell, metric_words, number

MOST_POINTS = 200
TABLE_POINTS = 11
_SPLIT = (Style(0), Style(1))
Points = tuple[list[float], list[float]]


def seen_unseen_chart(chapter: Chapter, context: PageContext) -> Iterator[Chart]:
    """Yield the accuracy on seen against that on unseen classes over all biases; nothing for other tasks."""
    lines, rows, cut, of_h = [], [], False, chapter.primary.name == "H"
    for label, entry in chapter.shown:
        recorded = table_of(entry.tested[0], "seen_unseen_curve", context.notes.append)
        if not {"unseen", "seen"} <= set(recorded):
            continue
        unseen, seen = numbers(recorded["unseen"]), numbers(recorded["seen"])
        cut = cut or len(unseen) > MOST_POINTS
        x, y = thinned(unseen, seen, MOST_POINTS)
        metrics = entry.tested[0].record["metrics"]
        marks = [
            (metrics[u], metrics[s])
            for u, s in (("U_to_T", "S_to_T"), ("calibrated_u", "calibrated_s"))[: 1 if of_h else 2]
            if u in metrics and s in metrics
        ]
        # No row is right beyond the ends: the curve is a staircase from (0, s) to (u, 0).
        lines.append(Line(label, x, y, context.style(label), marked=marks[-1:]))
        names = ("AUSUC", "U_to_T", "S_to_T", "H", "calibrated_u", "calibrated_s", "calibrated_H")
        rows.append([Cell(label), *(cell(metrics.get(name)) for name in names)])
    if not lines:
        return
    chosen = "no bias, as H has none" if of_h else "the bias that validation chose, or no bias"
    title = f"Seen-unseen curves on {chapter.title}"
    description = (
        "Accuracy on seen classes against accuracy on unseen classes, both among all classes, as the bias of "
        f"calibrated stacking goes from all seen to all unseen; the large mark is {chosen}. "
        + "; ".join(f"{row[0].text}: area {row[1].text}" for row in rows)
    )
    heads = ["AUSUC", "U→T", "S→T", "H", "U→T, chosen bias", "S→T, chosen bias", "H, chosen bias"]
    table = TableBlock(f"{title}: areas and points", [Column("method"), *(Column(h, True) for h in heads)], rows)
    axes = Axes(
        "accuracy on unseen classes (U→T)",
        "accuracy on seen classes (S→T)",
        xlimits=(0, 1.02),
        ylimits=(0, 1.02),
        square=True,
    )
    svg = line_chart(lines, axes, context.key(), title, description)
    note = f"Large marks: {chosen}. First repeat of each method."
    note += f" Curves are thinned to {MOST_POINTS} points." if cut else ""
    yield Chart(svg, title, description, _legend(lines), table, note)


def best_so_far(entry: Result, *, maximise: bool) -> tuple[list[float], list[float], list[float]]:
    """Return trials 1, 2, ..., seconds spent until then, and the best validation score until then.

    Seconds are those of the evaluations, added up, whatever ran side by side, and of what was prepared for them, each
    once, where it is first used; a trial that failed or was pruned costs what it costs, and the best is NaN before the
    first complete one.
    """
    values, best = [], math.nan
    for record in entry.trials:
        value = record["value"] if record["state"] == "complete" else None
        if value is not None and (math.isnan(best) or (value > best) == maximise):
            best = float(value)
        values.append(best)
    return [float(count) for count in range(1, len(values) + 1)], _spent(entry.trials), values


def _spent(trials: Sequence[Record]) -> list[float]:
    """Return the seconds spent until the end of each trial."""
    spent, prepared = [0.0], set[str]()
    for record in trials:
        new = {key: cost for key, cost in record.get(PREPARED, {}).items() if key not in prepared}
        prepared.update(new)
        spent.append(spent[-1] + total_seconds([{**record, PREPARED: new}]))
    return spent[1:]


def budget_charts(chapter: Chapter, context: PageContext) -> Iterator[Chart]:
    """Yield the best validation score by trials, and by seconds, a line per study."""
    studies = chapter.searched
    if not any(len(entry.trials) > 1 for _, entry in studies):
        return
    metric = metric_words(chapter.primary.name)
    for what, place in (("trials", 0), ("seconds of computing", 1)):
        lines, rows = [], []
        for label, entry in studies:
            progress = best_so_far(entry, maximise=chapter.primary.maximise)
            reached = [i for i, value in enumerate(progress[2]) if not math.isnan(value)]
            x, y = [progress[place][i] for i in reached], [progress[2][i] for i in reached]
            if not x:
                continue
            lines.append(Line(label, x, y, context.style(label), steps=True))
            rows.append([Cell(label), *_milestones(x, y), cell(y[-1])])
        if not lines:
            return
        title = f"Best validation score by {what}"
        description = f"Best {metric} over the validation folds so far, by {what}. " + "; ".join(
            f"{row[0].text}: {row[1].text} at first, {row[-1].text} in the end" for row in rows
        )
        heads = ["at the start", "after a quarter", "after half", "at the end"]
        columns = [Column("study"), *(Column(head, True) for head in heads)]
        seconds = place == 1
        logx = seconds and max(line.x[-1] for line in lines) > 10 * min(line.x[0] for line in lines)
        axes = Axes(what, f"best {metric}", logx=logx, whole=not seconds)
        svg = line_chart(lines, axes, context.key(), title, description)
        total = _costs_in_words(studies) if seconds else ""
        note = f"Seconds of all evaluations and what was prepared for them, added up. {total}" if seconds else ""
        yield Chart(svg, title, description, _legend(lines), TableBlock(title, columns, rows), note)


def _costs_in_words(studies: Sequence[tuple[str, Result]]) -> str:
    """Return in words what the trials of studies took."""
    totals = [f"{label}: {duration(_spent(entry.trials)[-1])}" for label, entry in studies if entry.trials]
    return "; ".join(totals) + "."


def sweep_chart(sweep: Sweep, context: PageContext) -> Chart:
    """Return the score against the values of one parameter, a line per split."""
    positions = numbers([str(value) for value in sweep.values])
    numeric = not any(math.isnan(value) for value in positions)
    places = positions if numeric else [float(i) for i in range(len(sweep.values))]
    lines = []
    for place, (split, curve) in enumerate(sweep.curves.items()):
        points = [(x, float(v)) for x, v in zip(places, curve, strict=False) if v is not None]
        label = f"{split} (for analysis only)" if split == "test" else split
        style = context.style(f"{split} of a sweep") if place >= 2 else _SPLIT[place]
        lines.append(Line(label, [x for x, _ in points], [v for _, v in points], style))
    logx = numeric and min(places) > 0 and max(places) / min(places) >= 50
    title = f"Sensitivity of {sweep.method} to {sweep.parameter}"
    description = f"{metric_words(sweep.primary)} against {sweep.parameter}. " + "; ".join(
        f"{line.label}: best {number(max(line.y, default=math.nan))}, least {number(min(line.y, default=math.nan))}"
        for line in lines
    )
    columns = [Column(sweep.parameter, numeric), *(Column(split, True) for split in sweep.curves)]
    rows = [
        [
            Cell(str(value), positions[i] if numeric else None),
            *(cell(curve[i] if i < len(curve) else None) for curve in sweep.curves.values()),
        ]
        for i, value in enumerate(sweep.values)
    ]
    axes = Axes(
        sweep.parameter, metric_words(sweep.primary), logx=logx, names=() if numeric else list(map(str, sweep.values))
    )
    svg = line_chart(lines, axes, context.key(), title, description)
    failed = sum(value is None for curve in sweep.curves.values() for value in curve)
    note = f"{failed} points failed and are left out." if failed else ""
    return Chart(svg, title, description, _legend(lines), TableBlock(title, columns, rows), note)


def feature_curves(chapter: Chapter, context: PageContext) -> Iterator[Chart]:
    """Yield the scores by number of selected features, where a task recorded them."""
    curves: dict[str, dict[str, Points]] = {}
    for label, entry in chapter.shown:
        table = table_of(entry.tested[0], "curve", context.notes.append)
        columns = {name: numbers(texts) for name, texts in table.items()}
        if len(columns) < 2 or any(len(v) < 2 or not np.isfinite(v).all() for v in columns.values()):
            continue
        (xlabel, x), *others = columns.items()
        for name, values in others:
            if "_std" not in name:
                curves.setdefault(f"{name} by {xlabel}", {})[label] = (x, values)
    for what, by_method in list(curves.items())[:3]:
        yield method_lines(by_method, what, chapter, context)


def method_lines(by_method: Mapping[str, Points], what: str, chapter: Chapter, context: PageContext) -> Chart:
    """Return lines of methods; ``what`` is "y by x"."""
    ylabel, _, xlabel = what.partition(" by ")
    lines = [Line(label, x, y, context.style(label)) for label, (x, y) in by_method.items()]
    title = f"{metric_words(ylabel)[:1].upper()}{metric_words(ylabel)[1:]} by {xlabel.replace('_', ' ')}"
    description = f"{title} of task {chapter.heading}. " + "; ".join(
        f"{line.label}: {number(line.y[0])} at {line.x[0]:g}, {number(line.y[-1])} at {line.x[-1]:g}" for line in lines
    )
    svg = line_chart(lines, Axes(xlabel.replace("_", " "), metric_words(ylabel)), context.key(), title, description)
    several = any(len(entry.tested) > 1 for label, entry in chapter.shown if label in by_method)
    note = "First repeat of each method." if several else ""
    return Chart(svg, title, description, _legend(lines), lines_table(title, xlabel, lines), note)


def lines_table(title: str, xlabel: str, lines: Sequence[Line]) -> TableBlock:
    """Return at most eleven points of lines that share x as a table."""
    x = max((line.x for line in lines), key=len)
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), TABLE_POINTS)).round().astype(int))
    rows = []
    for i in chosen:
        values = [line.y[i] if i < len(line.x) and line.x[i] == x[i] else None for line in lines]
        rows.append([Cell(f"{x[i]:g}", float(x[i])), *(_figure(value) for value in values)])
    note = f"{len(chosen)} of {len(x)} points." if len(chosen) < len(x) else ""
    return TableBlock(title, [Column(xlabel, True), *(Column(line.label, True) for line in lines)], rows, note)


def _figure(value: float | None) -> Cell:
    return Cell("–" if value is None else f"{value:.5g}", value)


def _milestones(x: Sequence[float], y: Sequence[float]) -> list[Cell]:
    reached = [max(i for i in range(len(x)) if i == 0 or x[i] <= share * x[-1]) for share in (0.0, 0.25, 0.5)]
    return [cell(y[i]) for i in reached]


def _legend(lines: Sequence[Line]) -> list[tuple[Swatch, str]]:
    return [(Swatch(line.style, line=not line.dots_only), line.label) for line in lines]

"""The section of one study or run, with the trials of its search, its classes, and what it was made with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zslplat.checks.base import finding_lines
from zslplat.drawing import forest_svg
from zslplat.evaluation.components import build_component
from zslplat.evaluation.criteria import criteria_of, values_of
from zslplat.evidence.labels import quoted_in_list
from zslplat.evidence.results import Evaluation, Record, Result
from zslplat.figures import Forest, ForestRow
from zslplat.keys import METRIC
from zslplat.multiples import read_multiple
from zslplat.names import counted, duration
from zslplat.records.costs import evaluation_seconds, total_seconds
from zslplat.reports.artifacts import ClassScores, class_scores, numbers, table_of
from zslplat.reports.blocks import Block, Cell, Chart, Column, Folded, Items, Paragraph, Section, TableBlock
from zslplat.reports.charts import Axes, Line, Swatch, line_chart
from zslplat.reports.context import PageContext
from zslplat.reports.provenance import provenance_blocks, tune_command
from zslplat.reports.wording import cell, first_of, listed, metric_words, number, short, with_article
from zslplat.spec import Spec


def study_section(entry: Result, label: str, anchor: str, context: PageContext, behind: Sequence[str] = ()) -> Section:
    """Return what is recorded of one study or run: words, metrics, search, classes, software.

    ``behind``: the names of others of the same experiment, for which this one stands.
    """
    blocks: list[Block] = [Paragraph(_summary(entry, context.store_options), "lead")]
    if behind:
        blocks.append(
            Paragraph(f"The same experiment was also evaluated as {listed(list(map(quoted_in_list, behind)))}.")
        )
    if entry.findings:
        blocks.append(Items(finding_lines(entry.findings, context.silenced), "warning"))
    blocks += front_chart(entry, context)
    if entry.winner and entry.winner["parameters"]:
        blocks.append(_parameters(entry))
    if entry.tested or entry.winner:
        blocks.append(_metrics(entry))
    if entry.trials:
        inside: list[Block] = [
            trial_table(entry),
            *parameter_charts(entry, context),
        ]
        blocks.append(Folded(f"The search: {counted(len(entry.trials), 'trial')}", inside))
    blocks += _outcome(entry, label, context)
    blocks.append(
        Folded(
            "What it was made with, and the commands to do it again",
            list(provenance_blocks(entry, context.store_options)),
        )
    )
    return Section(label, anchor, blocks, folded=True)


def _summary(entry: Result, store_options: str) -> str:
    dataset, task = entry.dataset, entry.task
    where = f"task {task} on {dataset}"
    if not entry.is_study:
        split = f"the {entry.split} split"
        times = "once" if len(entry.tested) == 1 else f"{len(entry.tested)} times"
        return f"A run of {entry.method}, {where}, scored on {split}, {times}."
    states = [str(record["state"]) for record in entry.trials]
    kinds = ", ".join(f"{states.count(s)} {s}" for s in ("complete", "pruned", "failed") if s in states)
    seconds = total_seconds(entry.trials)
    text = f"A study of {entry.method}, {where}: {counted(len(states), 'trial')} ({kinds or 'none yet'}), "
    text += f"{duration(seconds)} of computing."
    if entry.finished is None or not entry.tested:
        continues = f"{tune_command(entry)}{store_options} (--trials N for N trials in all)"
        return f"{text} It has no test evaluation yet; this continues it: {continues}"
    primary = entry.primary
    winner = entry.winner
    if primary is None or not winner:
        return text
    tested = [float(e.record["metrics"][primary.name]) for e in entry.tested if primary.name in e.record["metrics"]]
    chance = f" (guessing: {number(entry.test_chance, digits=3)})" if entry.test_chance is not None else ""
    repeats = f", mean of {len(tested)} repeats," if len(tested) > 1 else ""
    return (
        f"{text} Trial {winner['number']} was best on validation with {with_article(metric_words(primary.name))} of "
        f"{number(winner['value'], digits=3)}; refitted on all training rows it scores "
        f"{number(float(np.mean(tested)) if tested else None, digits=3)}{repeats} on the test split{chance}."
    )


def _parameters(entry: Result) -> TableBlock:
    winner, space = entry.winner or {"parameters": {}}, dict(entry.identity.get("space", {}))
    rows = [
        [Cell(name), Cell(short(value)), Cell(str(space.get(name, "fixed")))]
        for name, value in winner["parameters"].items()
    ]
    return TableBlock("Chosen hyperparameters", [Column("name"), Column("chosen"), Column("searched in")], rows)


def _metrics(entry: Result) -> TableBlock:
    """Return all metrics: validation with its spread over folds, test with its spread over repeats, chance."""
    winner, primary = entry.winner, entry.primary
    validation = dict(winner.get("metrics", {}))
    tested = [e.record["metrics"] for e in entry.tested]
    first = [primary.name] if primary is not None and primary.name in validation else []
    names = list(dict.fromkeys([*first, *validation, *(name for metrics in tested for name in metrics)]))
    folds = [fold["metrics"] for fold in _folds(entry)]
    split = "test" if entry.is_study or entry.split == "test" else entry.split
    columns = [Column("metric"), Column("validation", True), *(Column(str(f["name"]), True) for f in _folds(entry))]
    columns += [Column(split, True), Column("spread over repeats", True), Column("chance", True)]
    rows = []
    for name in names:
        values = [float(m[name]) for m in tested if name in m]
        mean = float(np.mean(values)) if values else None
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        is_primary = primary is not None and name == primary.name
        rows.append(
            [
                Cell(name, None, is_primary),
                cell(validation.get(name)),
                *(cell(fold.get(name)) for fold in folds),
                cell(mean, strong=is_primary),
                cell(spread),
                cell(entry.test_chance if is_primary else None),
            ]
        )
    filled = [i for i, _ in enumerate(columns) if i == 0 or any(row[i].value is not None for row in rows)]
    note = "Validation is the mean of the folds beside it, of the chosen trial." if folds else ""
    return TableBlock("Metrics", [columns[i] for i in filled], [[row[i] for i in filled] for row in rows], note)


def _folds(entry: Result) -> Sequence[Record]:
    return list(entry.winner.get("folds", []))


def _outcome(entry: Result, label: str, context: PageContext) -> Iterator[Block]:
    if not entry.tested:
        return
    scores = class_scores(entry.tested, context.notes.append, entry.primary.name if entry.primary else "")
    if scores is not None and np.isfinite(scores.scores).any():
        style = context.number(label)
        yield Folded("Per class", [class_chart(scores, label, style, context)])
    if confused := confused_pairs(entry.tested, context):
        yield Folded("Confusion", confused)


def front_chart(entry: Result, context: PageContext) -> Iterator[Chart]:
    """Yield the trials by both criteria of a study that has two, and the front: those that no other dominates."""
    front = (entry.finished or {}).get("front")
    if not front:
        return
    criteria = criteria_of(build_component("tasks", Spec.parse(entry.task)), entry.identity[METRIC])
    values = {
        int(record["number"]): values_of(record, criteria) for record in entry.trials if record["state"] == "complete"
    }
    chosen = sorted(((number, *reversed(values[number])) for number in front if number in values), key=lambda p: p[1])
    if not chosen:
        return
    first, second = (metric_words(one.name) for one in criteria)
    style, on_front = context.style(entry.method), [(x, y) for _, x, y in chosen]
    lines = [
        Line("a trial", *_columns([(b, a) for a, b in values.values()]), style, dots_only=True),
        Line("the front", *_columns(on_front), style, marked=on_front),
    ]
    title = f"Trials that no other trial dominates by {first} and {second}"
    description = f"{title}. " + "; ".join(f"trial {n}: {number(y)} at {short(x)}" for n, x, y in chosen) + "."
    spread = lines[0].x
    axes = Axes(second, first, logx=min(spread) > 0 and max(spread) > 8 * min(spread))
    svg = line_chart(lines, axes, context.key(), title, description)
    columns = [Column("trial"), Column(first, True), Column(second, True)]
    rows = [[Cell(str(n)), cell(y), Cell(short(x), x)] for n, x, y in chosen]
    yield Chart(svg, title, description, table=TableBlock(title, columns, rows), note="Large dots: the front.")


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


MOST_TRIALS = 200
MOST_DOTS = 400


def trial_table(entry: Result) -> TableBlock:
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
        seconds = evaluation_seconds(record)
        state = str(record["state"]) + (f": {record['reason']}" if record.get("reason") else "")
        best = bool(entry.winner) and record["number"] == entry.winner["number"]
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


def parameter_charts(entry: Result, context: PageContext) -> Iterator[Chart]:
    """Yield a chart per searched parameter: the validation score of every complete trial against its value."""
    complete = [r for r in entry.trials if r["state"] == "complete" and r["value"] is not None]
    shown = complete[:: -(-len(complete) // MOST_DOTS)] if len(complete) > MOST_DOTS else complete
    names = list(dict.fromkeys(name for record in shown for name in record["parameters"]))
    metric = metric_words(entry.primary.name if entry.primary else "validation score")
    for name in names:
        with_parameter = [record for record in shown if name in record["parameters"]]
        if len(with_parameter) < 3 or len({str(r["parameters"][name]) for r in with_parameter}) < 2:
            continue
        yield _parameter_chart(name, with_parameter, entry, metric, len(complete), context)


def _parameter_chart(
    name: str, with_parameter: Sequence[Record], entry: Result, metric: str, complete: int, context: PageContext
) -> Chart:
    values = [record["parameters"][name] for record in with_parameter]
    positions = [as_number(value) for value in values]
    numeric = all(position is not None for position in positions)
    words = [] if numeric else sorted({str(value) for value in values})
    x = [float(p) for p in positions if p is not None] if numeric else [float(words.index(str(v))) for v in values]
    y = [float(record["value"]) for record in with_parameter]
    style = context.style(entry.method)
    winner = entry.winner
    best = [(x[i], y[i]) for i, r in enumerate(with_parameter) if winner and r["number"] == winner["number"]]
    logx = numeric and ":log" in str(dict(entry.identity.get("space", {})).get(name, "")) and min(x) > 0
    title = f"{metric[:1].upper()}{metric[1:]} by {name}"
    units = sorted({multiple[1] for value in values if (multiple := read_multiple(value))})
    xlabel = f"{name} (times {units[0].lstrip('*')})" if len(units) == 1 and units[0].startswith("*") else name
    chosen = f"; chosen: {short(winner['parameters'].get(name, ''))}" if winner else ""
    description = (
        f"Validation score of {counted(len(with_parameter), 'trial')} against {name}: from {number(min(y))} to "
        f"{number(max(y))}{chosen}. Each dot is a trial; other parameters differ, too."
    )
    lines = [Line("trials", x, y, style, dots_only=True, marked=best)]
    svg = line_chart(lines, Axes(xlabel, metric, logx=logx, names=words), context.key(), title, description)
    note = "The large dot is the chosen trial." if best else ""
    note += f" {len(with_parameter)} of {complete} trials are drawn." if len(with_parameter) < complete else ""
    return Chart(svg, title, description, [(Swatch(style, line=False), "a trial")], note=note.strip())


def as_number(value: Any) -> float | None:
    """Return a parameter as a number: itself, or the factor of a multiple of a unit of the data; None for others."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    multiple = read_multiple(value)
    return multiple[0] if multiple and not str(value).isidentifier() else None


MOST_PAIRS = 20
MOST_BARS = 40


def class_table(scores: ClassScores) -> TableBlock:
    """Return the scores per class of one entry, the lowest first."""
    order = np.argsort(np.where(np.isnan(scores.scores), np.inf, scores.scores), kind="stable")
    columns = [Column("class"), Column("rows", True), Column(scores.measure.replace("_", " "), True)]
    columns += [Column("kind")] if scores.kinds else []
    rows = [
        [
            Cell(scores.names[i]),
            Cell(f"{scores.rows[i]:g}", scores.rows[i]),
            cell(float(scores.scores[i])),
            *([Cell(scores.kinds[i])] if scores.kinds else []),
        ]
        for i in order
    ]
    return TableBlock(f"{scores.measure.replace('_', ' ')} per class, the lowest first", columns, rows)


def class_chart(scores: ClassScores, name: str, style: int, context: PageContext) -> Chart:
    """Return the scores per class as dots, the lowest at the bottom; of many classes those at both ends."""
    finite = [(n, float(v)) for n, v in zip(scores.names, scores.scores, strict=True) if np.isfinite(v)]
    finite.sort(key=lambda pair: -pair[1])
    shown = finite if len(finite) <= MOST_BARS else [*finite[: MOST_BARS // 2], *finite[-MOST_BARS // 2 :]]
    measure = scores.measure.replace("_", " ")
    title = f"{measure[:1].upper()}{measure[1:]} per class of {name}"
    mean = float(np.mean([value for _, value in finite]))
    description = (
        f"{title}: mean {number(mean)}, highest {number(finite[0][1])} ({finite[0][0]}), "
        f"lowest {number(finite[-1][1])} ({finite[-1][0]}). The dashed line is the mean."
    )
    forest = Forest([ForestRow(n, v, style=style) for n, v in shown], measure, title, level=mean)
    svg = forest_svg(forest, context.key(), description)
    note = "The dashed line is the mean over classes."
    note += f" The {MOST_BARS} classes at both ends of {len(finite)}." if len(shown) < len(finite) else ""
    return Chart(svg, title, description, table=class_table(scores), note=note)


def confused_pairs(tested: Sequence[Evaluation], context: PageContext) -> list[TableBlock]:
    """Return the pairs of classes that the first repeat confuses most; nothing where no table says them."""
    table, first = table_of(tested[0], "confusion", context.notes.append), first_of(len(tested))
    if not {"true", "predicted", "rows", "share"} <= set(table):
        return []
    counts, shares = numbers(table["rows"]), numbers(table["share"])
    return [_confused(table["true"], table["predicted"], counts, shares, first)]


def _confused(
    true: Sequence[str], predicted: Sequence[str], counts: list[float], shares: list[float], first: str
) -> TableBlock:
    wrong = [i for i in range(len(true)) if true[i] != predicted[i] and counts[i] > 0]
    wrong.sort(key=lambda i: (-shares[i], -counts[i]))
    columns = [Column("true class"), Column("given class"), Column("rows", True), Column("share of class", True)]
    rows = [
        [Cell(true[i]), Cell(predicted[i]), Cell(f"{counts[i]:g}", counts[i]), Cell(f"{shares[i]:.1%}", shares[i])]
        for i in wrong[:MOST_PAIRS]
    ]
    note = f"{MOST_PAIRS} of {len(wrong)} pairs." if len(wrong) > MOST_PAIRS else ""
    return TableBlock(f"Most confused pairs of classes{first}", columns, rows, note)

"""The section of one study or run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from zslplat.checks.base import finding_lines
from zslplat.evidence.labels import quoted_in_list
from zslplat.names import counted
from zslplat.records.costs import took_together
from zslplat.reports.blocks import Block, Cell, Chart, Column, Folded, Items, Section, TableBlock, Words
from zslplat.reports.charts.lines import Axes, Line, line_chart, thinned
from zslplat.reports.charts.swatches import Swatch
from zslplat.reports.facts import Recorded
from zslplat.reports.recorded_files import class_scores, series_of
from zslplat.reports.sections.classes import class_chart, confusion_blocks
from zslplat.reports.sections.curves import lines_table
from zslplat.reports.sections.easel import Easel
from zslplat.reports.sections.provenance import provenance_blocks, tune_command
from zslplat.reports.sections.trials import parameter_charts, trial_table
from zslplat.reports.sections.words import cell, duration, first_of, listed, metric_words, number, short, with_article

MOST_SERIES = 200


def study_section(entry: Recorded, label: str, anchor: str, easel: Easel, behind: Sequence[str] = ()) -> Section:
    """Return what is recorded of one study or run: words, metrics, search, classes, convergence, software.

    ``behind``: the names of others of the same experiment, for which this one stands.
    """
    blocks: list[Block] = [Words(_told(entry, easel.places), "lead")]
    if behind:
        blocks.append(Words(f"The same experiment was also evaluated as {listed(list(map(quoted_in_list, behind)))}."))
    if entry.findings:
        blocks.append(Items(finding_lines(entry.findings, easel.silenced), "warning"))
    if entry.winner is not None and entry.winner["parameters"]:
        blocks.append(_parameters(entry))
    if entry.tested or entry.winner is not None:
        blocks.append(_metrics(entry))
    if entry.trials:
        inside = [trial_table(entry), *easel.fitting(lambda: parameter_charts(entry, easel), "Charts of the search")]
        blocks.append(Folded(f"The search: {counted(len(entry.trials), 'trial')}", inside))
    blocks += _outcome(entry, label, easel)
    blocks.append(
        Folded("What it was made with, and the commands to do it again", list(provenance_blocks(entry, easel.places)))
    )
    return Section(label, anchor, blocks)


def _told(entry: Recorded, places: str) -> str:
    dataset, task = entry.place
    where = f"task {task} on {dataset}"
    if not entry.study:
        split = f"the {entry.split} split"
        times = "once" if len(entry.tested) == 1 else f"{len(entry.tested)} times"
        return f"A run of {entry.method}, {where}, scored on {split}, {times}."
    states = [str(record["state"]) for record in entry.trials]
    kinds = ", ".join(f"{states.count(s)} {s}" for s in ("complete", "pruned", "failed") if s in states)
    seconds = took_together(entry.trials)
    text = f"A study of {entry.method}, {where}: {counted(len(states), 'trial')} ({kinds or 'none yet'}), "
    text += f"{duration(seconds)} of computing."
    if entry.finished is None or not entry.tested:
        continues = f"{tune_command(entry)}{places} (--trials N for N trials in all)"
        return f"{text} It has no test evaluation yet; this continues it: {continues}"
    primary = entry.primary
    winner = entry.winner
    if primary is None or winner is None:
        return text
    tested = [float(e.record["metrics"][primary.name]) for e in entry.tested if primary.name in e.record["metrics"]]
    chance = f" (guessing: {number(entry.test_chance, digits=3)})" if entry.test_chance is not None else ""
    repeats = f", mean of {len(tested)} repeats," if len(tested) > 1 else ""
    return (
        f"{text} Trial {winner['number']} was best on validation with {with_article(metric_words(primary.name))} of "
        f"{number(winner['value'], digits=3)}; refitted on all training rows it scores "
        f"{number(float(np.mean(tested)) if tested else None, digits=3)}{repeats} on the test split{chance}."
    )


def _parameters(entry: Recorded) -> TableBlock:
    winner, space = entry.winner or {"parameters": {}}, dict(entry.identity.get("space", {}))
    rows = [
        [Cell(name), Cell(short(value)), Cell(str(space.get(name, "fixed")))]
        for name, value in winner["parameters"].items()
    ]
    return TableBlock("Chosen hyperparameters", [Column("name"), Column("chosen"), Column("searched in")], rows)


def _metrics(entry: Recorded) -> TableBlock:
    """Return all metrics: validation with its spread over folds, test with its spread over repeats, chance."""
    winner, primary = entry.winner, entry.primary
    validation = dict(winner["metrics"]) if winner is not None else {}
    tested = [e.record["metrics"] for e in entry.tested]
    names = list(dict.fromkeys([*validation, *(name for metrics in tested for name in metrics)]))
    folds = [fold["metrics"] for fold in winner["folds"]] if winner is not None else []
    split = "test" if entry.study or entry.split == "test" else entry.split
    columns = [Column("metric"), Column("validation", True), *(Column(str(f["name"]), True) for f in _folds(entry))]
    columns += [Column(split, True), Column("spread over repeats", True), Column("chance", True)]
    rows = []
    for name in names:
        values = [float(m[name]) for m in tested if name in m]
        mean = float(np.mean(values)) if values else None
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        own = primary is not None and name == primary.name
        rows.append(
            [
                Cell(name, None, own),
                cell(validation.get(name)),
                *(cell(fold.get(name)) for fold in folds),
                cell(mean, strong=own),
                cell(spread),
                cell(entry.test_chance if own else None),
            ]
        )
    kept = [i for i, _ in enumerate(columns) if i == 0 or any(row[i].value is not None for row in rows)]
    note = "Validation is the mean of the folds beside it, of the chosen trial." if folds else ""
    return TableBlock("Metrics", [columns[i] for i in kept], [[row[i] for i in kept] for row in rows], note)


def _folds(entry: Recorded) -> Sequence[dict[str, object]]:
    return list(entry.winner["folds"]) if entry.winner is not None else []


def _outcome(entry: Recorded, label: str, easel: Easel) -> Iterator[Block]:
    if not entry.tested:
        return
    scores = class_scores(entry.tested, easel.notes.append)
    if scores is not None and np.isfinite(scores.scores).any():
        drawn = easel.fitting(lambda: [class_chart(scores, label, easel.style(label), easel)], "Scores per class")
        yield Folded("Per class", drawn)
    confused = easel.fitting(lambda: confusion_blocks(entry.tested, label, easel), "Confusion")
    if confused:
        yield Folded("Confusion", confused)
    series = easel.fitting(lambda: _series(entry, label, easel), "Convergence")
    if series:
        yield Folded("Convergence", series)


def _series(entry: Recorded, label: str, easel: Easel) -> Iterator[Chart]:
    by_name: dict[str, list[Line]] = {}
    style = easel.style(label)
    cut = False
    for name, (steps, values) in series_of(entry.tested[0], easel.notes.append).items():
        cut = cut or len(steps) > MOST_SERIES
        x, y = thinned(steps, values, MOST_SERIES)
        by_name.setdefault(name, []).append(Line(label, x, y, style))
    for name, lines in by_name.items():
        title = f"{name.replace('_', ' ')} by iteration, {label}{first_of(len(entry.tested))}"
        line = lines[0]
        description = (
            f"{title}: {line.y[0]:.5g} at iteration {line.x[0]:g}, {line.y[-1]:.5g} at iteration {line.x[-1]:g}."
        )
        axes = Axes("iteration", name.replace("_", " "), whole=True)
        svg = line_chart(lines, axes, easel.key(), title, description)
        note = f"Thinned to {MOST_SERIES} points." if cut else ""
        legend = [(Swatch(style), label)]
        yield Chart(svg, title, description, legend, lines_table(title, "iteration", lines), note)

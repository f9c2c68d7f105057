"""What evaluations cost, and what methods report of themselves: incoherence, rank, jitter, ..."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from zslplat.evidence.results import Result
from zslplat.records.costs import CPU_SECONDS, PREPARED, SECONDS, full_seconds, mean_known, most_bytes, prepared_seconds
from zslplat.reports.blocks import Block, Cell, Chart, Column, TableBlock
from zslplat.reports.charts import Mark, Swatch, mark_chart
from zslplat.reports.contents import Chapter
from zslplat.reports.sections.context import PageContext
from zslplat.reports.sections.wording import NOTHING, duration, metric_words, number, short, size

Entries = Sequence[tuple[str, Result]]


def cost_blocks(chapter: Chapter, entries: Entries, context: PageContext) -> Iterator[Block]:
    """Yield seconds and memory of the final evaluation and of the search as a table, and score against seconds."""
    columns = [
        Column("method"),
        Column("final evaluation", True, "seconds on the clock: prepare, fit and score, mean over repeats"),
        Column("of it prepared", True, "what is made once for a problem and shared by all repeats and studies"),
        Column("CPU", True, "processor seconds of the final evaluation"),
        Column("peak memory", True),
        Column("trials", True),
        Column("search", True, "seconds of all trials, added up, and of what was prepared for them"),
    ]
    rows, marks, legend, texts = [], [], [], []
    row_of = {str(row["short"]): row for row in chapter.rows}
    for label, entry in entries:
        tested = [evaluation.record for evaluation in entry.tested]
        seconds, cpu = (mean_known(full_seconds(record, name) for record in tested) for name in (SECONDS, CPU_SECONDS))
        prepared = mean_known(prepared_seconds(record) if PREPARED in record else None for record in tested)
        peak = mean_known(map(most_bytes, tested))
        row = row_of.get(label, {})
        trials, searched = row.get("trials"), row.get("trial_seconds")
        rows.append(
            [
                Cell(label),
                Cell(duration(seconds), seconds),
                Cell(duration(prepared), prepared),
                Cell(duration(cpu), cpu),
                Cell(size(peak), peak),
                Cell(str(trials) if trials else NOTHING, float(trials) if trials else None),
                Cell(duration(searched), searched),
            ]
        )
        if seconds and row:
            test = float(row["test"])
            style = context.style(label)
            marks.append(Mark(seconds, test, style))
            legend.append((Swatch(style, line=False), label))
            texts.append(f"{label}: {number(test, digits=3)} in {duration(seconds)}")
    if rows:
        note = "Evaluations that were taken from an earlier record count with the seconds recorded there."
        yield TableBlock("What it cost", columns, rows, note)
    if len(marks) > 1 and not context.brief:
        title = f"Score and cost: {chapter.heading}"
        metric = metric_words(chapter.primary.name)
        logx = max(m.x for m in marks) > 8 * min(m.x for m in marks)
        description = f"{metric} on test against the seconds of the final evaluation. " + "; ".join(texts)
        svg = mark_chart(marks, "seconds of the final evaluation", metric, context.key(), title, description, logx=logx)
        yield Chart(svg, title, description, legend)


def reported_numbers(entries: Entries) -> TableBlock | None:
    """Return what methods report of themselves, mean over repeats, a row per number; None where nothing is."""
    by_label = {label: _numbers(entry) for label, entry in entries}
    names = sorted({name for numbers in by_label.values() for name in numbers})
    labels = [label for label, numbers in by_label.items() if numbers]
    if not names:
        return None
    columns = [Column("number"), *(Column(label, True) for label in labels)]
    rows = []
    for name in names:
        values = [by_label[label].get(name) for label in labels]
        rows.append([Cell(name), *(Cell(NOTHING if v is None else short(v), v) for v in values)])
    note = "Of the fitted final model; names as the methods give them."
    return TableBlock("What the methods report of themselves (incoherence, absolute values, ...)", columns, rows, note)


def _numbers(entry: Result) -> dict[str, float]:
    by_name: dict[str, list[float]] = {}
    for evaluation in entry.tested:
        for name, value in evaluation.numbers.items():
            by_name.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in by_name.items()}

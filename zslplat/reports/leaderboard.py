"""The leaderboard of a chapter as a table and a chart, and tables over several data sets or draws of classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.comparison.compare import Comparison
from zslplat.comparison.forests import difference_forest, score_forest
from zslplat.comparison.over_datasets import rank_note
from zslplat.comparison.sheets import BEST, COLUMNS, CUT, Sheet, column_cell, cut, filled, sheets, standings
from zslplat.comparison.sheets import Cell as SheetCell
from zslplat.drawing import forest_svg
from zslplat.evidence.labels import dataset_titles
from zslplat.evidence.results import Result
from zslplat.names import NOTHING, duration
from zslplat.records.costs import CPU_SECONDS, PREPARED, SECONDS, full_seconds, mean_known, most_bytes, prepared_seconds
from zslplat.reports.blocks import Block, Cell, Chart, Column, Folded, Section, TableBlock
from zslplat.reports.contents import Chapter
from zslplat.reports.context import PageContext
from zslplat.reports.wording import metric_words, number, sentence, short, size, span

Row = Mapping[str, Any]
# The columns of a comparison that a report shows; costs have a table of their own.
_TITLES = {"method", "validation", "test", "score on\nthese rows", "score on\nnew classes", "difference"}
_TITLES |= {"difference on\nthese rows", "difference on\nnew classes", "verdict", "p (Holm)", "smallest\nvisible"}
_TITLES |= {"tied", "knows of batch", "unequal"}


def leaderboard_table(chapter: Chapter) -> TableBlock:
    """Return the rows of the leaderboard; columns that no row fills are left out."""
    columns = filled(chapter.rows, [column for column in COLUMNS if column.title in _TITLES])
    rows = [
        [_block_cell(column_cell(column, row, standing)) for column in columns]
        for row, standing in zip(chapter.rows, standings(chapter.rows), strict=True)
    ]
    heads = [Column(" ".join(column.title.split()), column.right, column.hint) for column in columns]
    caption = _capital(f"{metric_words(chapter.primary.name)} of task {chapter.heading}")
    return TableBlock(caption, heads, rows, note=_note(chapter))


def _block_cell(cell: SheetCell) -> Cell:
    value = None if cell.value is None or not math.isfinite(cell.value) else float(cell.value)
    return Cell(cell.text or NOTHING, value, cell.standing == BEST)


def left_out_of_names(chapter: Chapter) -> Iterator[Folded]:
    """Yield what the short names of the rows leave out, folded away: of a whole grid it fills a page."""
    if chapter.comparison is not None and chapter.comparison.names:
        rows = [[Cell(name), Cell(text)] for name, text in chapter.comparison.names.items()]
        table = TableBlock("What the names leave out", [Column("name"), Column("left out")], rows)
        yield Folded("Parameters that the names leave out", [table])


def interval_chart(chapter: Chapter, context: PageContext) -> Chart:
    """Return the test scores with their intervals, in the order of the leaderboard."""
    rows, others = context.first(chapter.rows)
    chance = next((e.test_chance for e in chapter.results.values() if e.test_chance is not None), None)
    metric = metric_words(chapter.primary.name)
    forest = score_forest(rows, metric, f"Test scores: {chapter.heading}", chance, context.number)
    covered = "Thick: 95% interval over these test rows."
    if any(row.wide for row in forest.rows):
        covered += " Thin: over new classes."
    if forest.level is not None:
        covered += f" Dashed: chance, {number(chance, digits=3)}."
    elif chance is not None:
        covered += f" Chance is {number(chance, digits=3)}."
    scores = "; ".join(
        f"{row.label} {number(row.value, digits=3)}" + (f" ({span(*row.narrow, digits=3)})" if row.narrow else "")
        for row in forest.rows
    )
    svg = forest_svg(forest, context.key(), f"{covered} {scores}.")
    return Chart(svg, forest.title, f"{covered} {scores}.", note=covered + others)


def _chosen_baselines(rows: Sequence[Row]) -> str:
    """Return in words what the baselines are; where nothing has a score on validation, none of them was chosen."""
    validated = any(row["validation"] is not None for row in rows if row["method"] == row["baseline"])
    return "best on validation" if validated else "first that was recorded, as nothing has a score on validation"


def _note(chapter: Chapter) -> str:
    notes = []
    baselines = {str(row["group"]): str(row["baseline"]) for row in chapter.rows}
    if len(chapter.rows) > 1:
        short = {str(row["method"]): str(row["short"]) for row in chapter.rows}
        baselines = {group: short.get(name, name) for group, name in baselines.items()}
        of = "; ".join(f"{group}: {name}" for group, name in baselines.items()) if len(baselines) > 1 else ""
        names = of or next(iter(baselines.values()))
        notes.append(f"Differences are from the {_chosen_baselines(chapter.rows)} ({names}).")
    if any(row.get("spread") is not None for row in chapter.rows):
        notes.append("± is the standard deviation over repeats of a random method.")
    if any(map(cut, chapter.rows)):
        notes.append(sentence(CUT))
    if any(row.get("from_memory") for row in chapter.rows):
        notes.append("* was written from memory, without the method's source at hand.")
    return " ".join(notes)


def across_section(comparison: Comparison, anchor: str, context: PageContext) -> Section:
    """Return the section of a comparison on several data sets, or on several draws of the classes of one."""
    blocks: list[Block] = []
    (dataset, *others) = dataset_titles(comparison.datasets).values()
    subject = f"over {len(comparison.datasets)} data sets" if others else f"on {dataset}"
    ahead = difference_forest(comparison)
    if ahead is not None:
        words = "; ".join(f"{row.label} {row.note}".strip() for row in ahead.rows)
        note = "95% intervals over new classes. The diamond is the mean over data sets; hollow rows are no part of it."
        blocks.append(Chart(forest_svg(ahead, context.key(), f"{words}."), ahead.title, f"{words}.", note=note))
    (sheet,) = sheets(comparison, titles=_TITLES)
    for group in sheet.sections:
        notes = list(sheet.notes) if not others else []
        caption = f"{metric_words(comparison.metric)} of {group} methods {subject}"
        for table in comparison.over_datasets:
            if table["group"] == group:
                notes = [rank_note(table)]
                if table["baseline"]:
                    notes = [*notes, f"differences are from {table['baseline']}, pooled over data sets"]
        blocks.append(_sheet_block(sheet, group, caption, notes))
    return Section(f"{comparison.task} {subject}", anchor, blocks, folded=True)


def _sheet_block(sheet: Sheet, group: str, caption: str, notes: Sequence[str]) -> TableBlock:
    """Return the lines of one group of methods of a sheet, without columns that none of them fills."""
    lines = sheet.sections[group]
    filled_places = [place for place in range(len(sheet.titles)) if any(line[place].text for line in lines)]
    heads = [Column(" ".join(sheet.titles[place].split()), sheet.right[place]) for place in filled_places]
    rows = [[_block_cell(line[place]) for place in filled_places] for line in lines]
    return TableBlock(_capital(caption), heads, rows, " ".join(map(sentence, notes)))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


Entries = Sequence[tuple[str, Result]]


def cost_table(chapter: Chapter, entries: Entries) -> TableBlock:
    """Return seconds and memory of the final evaluation and of the search."""
    columns = [
        Column("method"),
        Column("final evaluation", True, "seconds on the clock: prepare, fit and score, mean over repeats"),
        Column("of it prepared", True, "what is made once for a problem and shared by all repeats and studies"),
        Column("CPU", True, "processor seconds of the final evaluation"),
        Column("peak memory", True),
        Column("trials", True),
        Column("search", True, "seconds of all trials, added up, and of what was prepared for them"),
    ]
    rows = []
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
    note = "Evaluations that were taken from an earlier record count with the seconds recorded there."
    return TableBlock("What it cost", columns, rows, note)


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

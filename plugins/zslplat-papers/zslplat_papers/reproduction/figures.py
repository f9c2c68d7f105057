"""Forest plots of kept results: a claim's differences, a column of a table made again, a data set of a suite.

A figure is named ``CLAIM``, ``TABLE/COLUMN`` or ``suite SUITE/DATA``; the site draws it where a page says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from zslplat.errors import UsageError
from zslplat.figures import Forest, ForestRow
from zslplat.names import counted
from zslplat.statistics import NOT_ENOUGH
from zslplat.suites.tables import GIVEN
from zslplat_papers.published import load_table
from zslplat_papers.reproduction.claims import Judged, recorded_claims
from zslplat_papers.reproduction.recipe import OURS
from zslplat_papers.reproduction.reproduce import CELL_KEY
from zslplat_papers.reproduction.results import Line, number, read_results
from zslplat_papers.reproduction.suite_results import SCORE_KEY
from zslplat_papers.reproduction.verdicts import HOLDS, HOLDS_NOT, Contrast

SUITE = "suite "
MOST_ROWS = 48  # a claim with more differences shows their means alone
_STYLES = {HOLDS: 2, HOLDS_NOT: 1, NOT_ENOUGH: 6}


def claim_forest(judged: Judged) -> tuple[Forest, str]:
    """Return the differences of a claim by what is compared, with their means over data sets, and a note in words.

    The means have a thick line over these data sets and a thin one over a new one. What is no part of them is hollow.
    """
    by_sides: dict[str, list[ForestRow]] = {}
    apart: list[str] = []
    for line in judged.lines:
        contrast = Contrast(
            line["contrast"], line["difference"], line["low"], line["high"], line["over"], line["classes"]
        )
        alone = math.isnan(contrast.ends[0])
        ends = None if contrast.low is None or contrast.high is None else (contrast.low, contrast.high)
        if alone and judged.evidence.means:
            apart.append(f"{contrast.data} ({f'{contrast.classes} classes' if ends else 'no interval'})")
        note = _difference_note(contrast.difference, ends, line["verdict"])
        mark, style = "hollow" if alone else "filled", _STYLES[line["verdict"]]
        row = ForestRow(contrast.data, contrast.difference, None, ends, note, mark, style)
        by_sides.setdefault(contrast.sides, []).append(row)
    compact = len(judged.lines) + 2 * len(by_sides) > MOST_ROWS and bool(judged.evidence.means)
    rows = [] if compact else [row for sides, below in by_sides.items() for row in (ForestRow(sides), *below)]
    rows += [ForestRow("mean over data sets")] if judged.evidence.means else []
    for mean in judged.evidence.means:
        new = None if math.isnan(mean.new_ends[0]) else mean.new_ends
        note = _difference_note(mean.difference, mean.ends, counted(mean.pooled.data_sets, "data set"))
        rows.append(ForestRow(mean.of or "mean", mean.difference, mean.ends, new, note, "pooled"))
    note = f"No part of the mean: {', '.join(dict.fromkeys(apart))}." if apart else ""
    if compact:
        note = f"Means over data sets; the numbers have each of the {len(judged.lines)} differences. {note}".strip()
    margin = float(judged.lines[0]["margin"])
    level = judged.lines[0]["direction"] == "level"
    band = ((-margin, 0.0) if level else (-margin, margin)) if margin > 0 else None
    return Forest(rows, "difference, right of 0 as claimed", judged.claim.text, 0.0, band, signed=True), note


def _difference_note(value: float, ends: tuple[float, float] | None, word: str) -> str:
    digits = 3 if max(abs(v) for v in (value, *(ends or ()))) < 10 else 1
    interval = f" [{ends[0]:+.{digits}f}, {ends[1]:+.{digits}f}]" if ends else ""
    return f"{value:+.{digits}f}{interval}  {word}"


def table_forest(lines: Sequence[Line]) -> Forest:
    """Return one column of a table made again: thick over these rows, thin over new classes, and the printed number."""
    table = load_table(lines[0]["table"])
    labels = {row.id: row.label for row in table.rows}
    rows: list[ForestRow] = []
    for metric in dict.fromkeys(line["metric"] for line in lines):
        of_metric = [line for line in lines if line["metric"] == metric]
        rows += [ForestRow(metric)]
        for line in of_metric:
            label = labels.get(line["row"], line["row"])
            label += "" if line["way"] == OURS else f", {line['way']}"
            style = 0 if line["way"] == OURS else 3
            note = _score(line["ours"])
            if line["stand_in"] != "yes" and number(line.get("paper")) is not None:
                note += f"  paper {line['paper']}: {line['verdict']}"
            rows_of, classes = _ends(line, ""), _ends(line, "_classes")
            rows.append(ForestRow(label, float(line["ours"]), rows_of, classes, note, style=style))
    return Forest(rows, lines[0]["metric"], f"{table.paper.name}, {table.label}, on {lines[0]['column']}")


def suite_forest(suite: str, lines: Sequence[Line]) -> Forest:
    """Return the test scores of a suite on one data set by its first task, the largest first."""
    kinds = dict.fromkeys((line["task"], line["metric"]) for line in lines)
    task, metric = min(kinds, key=lambda kind: (not kind[0].startswith("zsl"), kind))
    of_task = [line for line in lines if (line["task"], line["metric"]) == (task, metric)]
    of_task.sort(key=lambda line: -float(line["test"]))
    knowledge = list(dict.fromkeys(line["knows_of_batch"] for line in of_task))
    rows = [
        ForestRow(
            line["row"] + (" *" if line["from_memory"] == "yes" else ""),
            float(line["test"]),
            _ends(line, ""),
            _ends(line, "_classes"),
            _score(line["test"]) + (f"  {line['knows_of_batch']}" if line["knows_of_batch"] != "nothing" else ""),
            style=knowledge.index(line["knows_of_batch"]),
        )
        for line in of_task
    ]
    return Forest(rows, f"{task}: {metric}", f"Suite {suite} on {lines[0]['data']}")


def named_forest(name: str, folder: Path | None = None) -> Forest:
    """Return the figure of a name; raises :class:`UsageError` where nothing is kept that it shows."""
    source, _, part = name.partition("/")
    lines: list[Line] = []
    if source.startswith(SUITE):
        suite = source.removeprefix(SUITE)
        lines = [line for line in given_scores(suite, folder) if line["data"] == part]
        return suite_forest(suite, lines) if lines else _nothing(name)
    if part:
        lines = [line for line in read_results(f"reproduce-{source}", folder, CELL_KEY) if line["column"] == part]
        return table_forest(lines) if lines else _nothing(name)
    judged = recorded_claims([source], folder)[0]
    return claim_forest(judged)[0] if judged.lines else _nothing(name)


def given_scores(suite: str, folder: Path | None) -> list[Line]:
    """Return the kept scores of a suite on the classes as they are given, not drawn anew."""
    return [line for line in read_results(f"bench-{suite}-scores", folder, SCORE_KEY) if line["draw"] == GIVEN]


def in_words(forest: Forest) -> str:
    """Return what a figure shows, as a sentence."""
    return "; ".join(f"{row.label} {row.note}".strip() for row in forest.rows) + "."


def _nothing(name: str) -> Forest:
    raise UsageError(f"no figure {name!r}: nothing is kept of it; expected CLAIM, TABLE/COLUMN or suite SUITE/DATA")


def _ends(line: Line, kind: str) -> tuple[float, float] | None:
    low, high = number(line.get(f"low{kind}")), number(line.get(f"high{kind}"))
    return None if low is None or high is None or not low <= high else (low, high)


def _score(text: str) -> str:
    value = float(text)
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"

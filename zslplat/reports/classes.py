"""Charts and tables per class: accuracies, confusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from zslplat.drawing import forest_svg
from zslplat.evidence.results import Evaluation
from zslplat.figures import Forest, ForestRow
from zslplat.reports.artifacts import ClassScores, numbers, table_of
from zslplat.reports.blocks import Block, Cell, Chart, Column, Paragraph, TableBlock
from zslplat.reports.charts import WRITTEN, matrix_chart
from zslplat.reports.context import PageContext
from zslplat.reports.wording import cell, first_of, number

MOST_CLASSES = 50
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


def confusion_blocks(tested: Sequence[Evaluation], name: str, context: PageContext) -> Iterator[Block]:
    """Yield the confusion matrix of the first repeat up to 50 classes, and the pairs most often confused."""
    table, first = table_of(tested[0], "confusion", context.notes.append), first_of(len(tested))
    if not {"true", "predicted", "rows", "share"} <= set(table):
        return
    counts, shares = numbers(table["rows"]), numbers(table["share"])
    true, predicted = table["true"], table["predicted"]
    rows = sorted(set(true))
    columns = sorted(set(predicted) | set(true))
    pairs = _confused(true, predicted, counts, shares, first)
    if len(columns) > MOST_CLASSES:
        yield Paragraph(
            f"The confusion matrix of {len(columns)} classes cannot be read; these pairs are confused most."
        )
        yield pairs
        return
    matrix = np.zeros((len(rows), len(columns)))
    for t, p, share in zip(true, predicted, shares, strict=True):
        matrix[rows.index(t), columns.index(p)] = share if np.isfinite(share) else 0.0
    title = f"Confusion of {name}{first}"
    right = sum(c for t, p, c in zip(true, predicted, counts, strict=True) if t == p)
    description = f"{title}: {len(rows)} true classes by {len(columns)} given ones; {right:g} of {sum(counts):g} rows "
    description += "are right"
    if pairs.rows:
        most = pairs.rows[0]
        description += f"; most often confused: {most[2].text} rows of {most[0].text} are called {most[1].text}"
    svg = matrix_chart(matrix, rows, columns, ("given class", "true class"), context.key(), title, f"{description}.")
    note = "Share of the rows of each true class" + (", in %." if len(columns) <= WRITTEN else ": the darker the more.")
    yield Chart(svg, title, f"{description}.", table=pairs, note=note)


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

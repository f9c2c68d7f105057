"""Forest plots of comparisons: scores of methods on one data set, differences over several with their pooled estimate.

Reports, :meth:`zslplat.front.comparisons.Comparisons.plot` and the pages of published claims draw these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zslplat.comparison.compare import Comparison
from zslplat.comparison.over_datasets import Difference, difference_of, pool_differences, reasons_not_pooled
from zslplat.evidence.labels import dataset_titles
from zslplat.figures import Forest, ForestRow
from zslplat.names import counted, decimal

if TYPE_CHECKING:  # it loads matplotlib
    from zslplat.pictures import Picture

Row = Mapping[str, Any]
Ends = tuple[float, float]
MOST_RIVALS = 6
POOLED = "pooled"


def difference_rows(
    differences: Sequence[Difference],
    style_of: Callable[[Difference], tuple[int, str]] = lambda one: (0, ""),
    verdict: str = "",
) -> list[ForestRow]:
    """Return a row per data set and, where several count, their mean with its ``verdict``; what does not is hollow.

    ``style_of`` gives the style of a row and a word behind its numbers.
    """
    reasons = reasons_not_pooled(differences)
    pooled = pool_differences(differences) if reasons.count("") > 1 else None
    rows = []
    for one, why in zip(differences, reasons, strict=True):
        style, word = style_of(one)
        mark = "hollow" if pooled and why else "filled"
        rows.append(ForestRow(one.data, one.value, None, one.ends, _note(one.value, one.ends, word), mark, style))
    if pooled:
        ends = pooled.low, pooled.high
        words = ": ".join(filter(None, (counted(pooled.data_sets, "data set"), verdict)))
        rows.append(ForestRow(POOLED, pooled.estimate, None, ends, _note(pooled.estimate, ends, words), "pooled"))
    return rows


def forests_of(comparison: Comparison) -> list[Forest]:
    """Return the differences from one baseline over several data sets; else the scores, a plot per data set."""
    over = difference_forest(comparison)
    titles = dataset_titles(comparison.datasets)
    return (
        [over]
        if over
        else [
            score_forest(
                comparison.on(dataset), f"{comparison.metric}, test", f"{titles[dataset]}, task {comparison.task}"
            )
            for dataset in comparison.datasets
        ]
    )


def draw_forests(comparisons: Sequence[Comparison]) -> Picture:
    """Return the forest plots of comparisons below each other, as matplotlib has them."""
    from zslplat.drawing import draw_forest
    from zslplat.pictures import Picture

    forests = [forest for one in comparisons for forest in forests_of(one)]
    heights = [1.5 + len(forest.rows) for forest in forests]
    figure = Picture(figsize=(7.6, 0.3 + 0.3 * sum(heights)), layout="constrained", facecolor="white")
    panels = figure.subplots(len(forests), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, forest in zip(panels, forests, strict=True):
        draw_forest(axes, forest)
    return figure


def score_forest(
    rows: Sequence[Row],
    metric: str,
    title: str = "",
    chance: float | None = None,
    styles: Callable[[str], int] | None = None,
) -> Forest:
    """Return the test scores of rows of a comparison: thick over these test rows, thin over new classes.

    What stands behind a score is its verdict beside the baseline. Without ``styles`` methods that score a
    batch jointly have another colour. ``chance`` is drawn where it is near the scores.
    """
    groups = list(dict.fromkeys(row["group"] for row in rows))
    drawn = []
    for row in rows:
        name = str(row["short"])
        is_baseline = row["method"] == row["baseline"]
        word = "baseline" if is_baseline and len(rows) > 1 else str(row["verdict"] or "")
        style = styles(name) if styles else groups.index(row["group"])
        narrow, wide = _ends(row, "low", "high"), _ends(row, "low_classes", "high_classes")
        note = f"{row['test']:.3f}  {word}".strip()
        drawn.append(ForestRow(name, float(row["test"]), narrow, wide, note, style=style))
    if chance is not None:
        reached = [v for one in drawn for v in (one.value, *(one.wide or one.narrow or ())) if v is not None]
        room = 1.5 * (max(reached) - min(reached))
        chance = chance if min(reached) - room <= chance <= max(reached) + room else None
    return Forest(drawn, metric, title, level=chance)


def difference_forest(comparison: Comparison) -> Forest | None:
    """Return how far methods are ahead of one baseline, by method and data set, pooled over data sets.

    None for a single data set, and where differences are from several baselines (``against`` names one). Of many
    methods the first are shown, in the order of their mean ranks.
    """
    rows = comparison.rows
    if len(comparison.datasets) < 2 or len({row["baseline"] for row in rows}) != 1:
        return None
    baseline = next(str(row["short"]) for row in rows if row["method"] == row["baseline"])
    images: dict[str, str] = {}
    verdicts: dict[str, str] = {}
    for table in comparison.over_datasets:
        images |= table["families"]
        verdicts |= {str(method["method"]): str(method["verdict"] or "") for method in table["methods"]}
    titles = dataset_titles(comparison.datasets)
    drawn: list[ForestRow] = []
    for rival in [name for name in verdicts if name != baseline][:MOST_RIVALS]:
        differences = [
            difference_of(row, titles[str(row["dataset"])], images.get(str(row["dataset"]), ""))
            for row in rows
            if row["short"] == rival and row["difference"] is not None
        ]
        if differences:
            drawn += [ForestRow(rival), *difference_rows(differences, verdict=verdicts[rival])]
    title = f"Ahead of {baseline}: {comparison.metric}, task {comparison.task}"
    return Forest(drawn, f"difference from {baseline}, test", title, level=0.0, signed=True) if drawn else None


def _ends(row: Row, low: str, high: str) -> Ends | None:
    ends = row.get(low), row.get(high)
    return None if ends[0] is None or ends[1] is None else (float(ends[0]), float(ends[1]))


def _note(value: float, ends: Ends | None, word: str) -> str:
    digits = 3 if max(abs(v) for v in (value, *(ends or ()))) < 10 else 1
    interval = f" [{', '.join(decimal(end, digits, sign=True) for end in ends)}]" if ends else ""
    return f"{decimal(value, digits, sign=True)}{interval}  {word}".strip()

"""What stand-ins can say of a printed column: whether methods stand in the same order on other data.

A number on other data is never compared with a printed one, but the order of methods can be. Spearman's correlation of
the two orders, and the share of pairs of methods that both have in the same order, have intervals by the bootstrap over
methods: what other methods would have shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zslplat_papers.published import PublishedTable

# Fewer methods have no order worth the name.
LEAST_METHODS = 5
REPLICATES = 2000
# What is said of a table that has one of these metrics; of others, the first.
MAIN = ("H", "AUSUC")


@dataclass(frozen=True)
class Agreement:
    """How far the order of ``methods`` on a stand-in is that of printed columns, with 95 % intervals.

    ``correlation`` is Spearman's; ``pairs`` the share of pairs of methods in the same order, of those that neither
    leaves equal.
    """

    standin: str
    metric: str
    printed: str
    methods: int
    correlation: float
    correlation_ends: tuple[float, float]
    pairs: float
    pairs_ends: tuple[float, float]

    def __str__(self) -> str:
        (low, high), (least, most) = self.correlation_ends, self.pairs_ends
        text = f"{self.standin} {self.correlation:+.2f} [{low:+.2f}, {high:+.2f}] of {self.methods} methods"
        return f"{text} ({self.pairs:.0%} of pairs [{least:.0%}, {most:.0%}])"


def agreements(table: PublishedTable, numbers: Iterable[tuple[str, str, str, str, float]]) -> list[Agreement]:
    """Return what the stand-ins of a table say, for numbers (stand-in, its column, metric, row, ours).

    A stand-in for no column is compared with the mean ranks over the columns of its metric.
    """
    ids = {one.id for one in table.columns}
    groups: dict[tuple[str, str, str], dict[str, float]] = {}
    for standin, column, metric, row, value in numbers:
        groups.setdefault((standin, column if column in ids else "", metric), {})[row] = value
    listed = []
    for (standin, column, metric), ours in groups.items():
        columns = [one.id for one in table.columns if one.id == column or (not column and one.metric == metric)]
        printed = _printed(table, columns, list(ours))
        if len(printed) >= LEAST_METHODS:
            pairs = np.array([[ours[row], value] for row, value in printed.items()]).T
            listed.append(_agreement(standin, metric, ", ".join(columns), pairs))
    return listed


def in_a_sentence(listed: Sequence[Agreement]) -> str:
    """Return agreements in the table's main metric as one sentence; empty for none."""
    metrics = dict.fromkeys(one.metric for one in listed)
    main = next((metric for metric in (*MAIN, *metrics) if metric in metrics), "")
    by_printed: dict[str, list[str]] = {}
    for one in listed:
        if one.metric == main:
            by_printed.setdefault(one.printed, []).append(str(one))
    parts = [f"beside {printed}: {', '.join(texts)}" for printed, texts in by_printed.items()]
    return f"Rank correlation with the printed order of methods in {main}, {'; '.join(parts)}." if parts else ""


def _printed(table: PublishedTable, columns: list[str], rows: list[str]) -> Mapping[str, float]:
    """Return the printed numbers of rows, mean ranks of those that have all where there are several columns."""
    from scipy.stats import rankdata

    values = {row: [table.cell(row, column).value for column in columns] for row in rows}
    whole = {row: line for row, line in values.items() if line and None not in line}
    if not whole:
        return {}
    numbers = np.array(list(whole.values()), dtype=float)
    means = numbers[:, 0] if len(columns) == 1 else rankdata(numbers, axis=0).mean(axis=1)
    return dict(zip(whole, means.tolist(), strict=True))


def _agreement(standin: str, metric: str, printed: str, pairs: np.ndarray) -> Agreement:
    count = pairs.shape[1]
    drawn = np.random.default_rng(37).integers(count, size=(REPLICATES, count))
    correlations = _spearman(pairs[0][drawn], pairs[1][drawn])
    signs = np.prod([np.sign(side[:, None] - side) for side in pairs], axis=0)
    times = np.apply_along_axis(np.bincount, 1, drawn, minlength=count)
    same, different = (np.einsum("bi,ij,bj->b", times, signs == sign, times) for sign in (1, -1))
    with np.errstate(invalid="ignore"):
        shares = same / (same + different)
    correlation = float(_spearman(pairs[:1], pairs[1:])[0])
    share = float((signs == 1).sum() / (signs != 0).sum())
    ends = [tuple(map(float, np.nanpercentile(values, (2.5, 97.5)))) for values in (correlations, shares)]
    return Agreement(standin, metric, printed, count, correlation, ends[0], share, ends[1])  # type: ignore[arg-type]


def _spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the rank correlations (b,) of rows of two arrays (b, n); NaN where one has all equal."""
    from scipy.stats import rankdata

    a, b = (rankdata(values, axis=1) for values in (first, second))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)))

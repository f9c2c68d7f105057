"""Mean ranks of methods over data sets, and the letters of entries that do not differ significantly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

import numpy as np


def mean_ranks(
    scores: Mapping[str, Mapping[str, float]], families: Mapping[str, str], *, maximise: bool
) -> dict[str, float]:
    """Return the mean over data sets of each method's rank, best first: 1 for the best, equal scores share a rank.

    ``scores`` maps a method to its score on every data set of ``families``, which says what each shares its images
    with: ranks are averaged within a family first.
    """
    names = list(scores)
    ranks = ranked(np.array([[scores[method][name] for method in names] for name in families]), maximise)
    of = np.array(list(families.values()))
    means = np.mean([ranks[of == family].mean(axis=0) for family in dict.fromkeys(families.values())], axis=0)
    return {names[place]: float(means[place]) for place in np.argsort(means, kind="stable")}


def ranked(table: np.ndarray, maximise: bool = True) -> np.ndarray:
    """Return the ranks (N, k) of methods within each line of scores, 1 for the best; equal scores share their mean.

    Scores that differ by rounding alone, as means over different numbers of equal repeats do, are equal.
    """
    rounded = np.round(table, 12)
    ours, others = rounded[:, :, None], rounded[:, None, :]
    ahead = others > ours if maximise else others < ours
    return np.asarray(ahead.sum(axis=2) + ((others == ours).sum(axis=2) + 1) / 2)


def letters(different: np.ndarray) -> list[str]:
    """Return the letters of n entries, best first; ``different`` (n, n) is a symmetric mask of significant pairs.

    Two entries that share a letter are not significantly different; two that share none are. Source: Piepho, "An
    Algorithm for a Letter-Based Representation of All-Pairwise Comparisons" (2004): insert and absorb.
    The best entry has ``a``. Beyond 26 groups letters are followed by numbers: ``a1``, ``b1``, ...
    """
    n = len(different)
    groups: list[frozenset[int]] = [frozenset(range(n))] if n else []
    for i in range(n):
        for j in range(i + 1, n):
            if different[i, j]:
                split = [part for g in groups for part in ((g - {i}, g - {j}) if {i, j} <= g else (g,))]
                groups = _absorb(split)
    ordered = sorted(groups, key=sorted)
    return ["".join(_letter(number) for number, group in enumerate(ordered) if entry in group) for entry in range(n)]


def _absorb(groups: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Return the groups that are no part of another one, each once."""
    distinct = list(dict.fromkeys(groups))
    return [g for g in distinct if not any(g < other for other in distinct)]


def _letter(number: int) -> str:
    turn, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(turn) if turn else "")

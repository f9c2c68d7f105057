"""Methods over several data sets by their mean ranks.

| symbol | here | shape | meaning |
|---|---|---|---|
| N, k | ``sets``, ``methods`` | | data sets, methods |
| R | ``mean_rank`` | (k,) | mean over data sets of a method's rank, 1 for the best, equal scores share a rank |
| CD | ``critical_difference`` | | mean ranks that are further apart differ at level .05 (Nemenyi, over all pairs) |

Data sets are drawn in the bootstrap of the ranks, whole families where sets share their images: two signature sets of
the same pictures are no two data sets. Sources: Demsar, "Statistical Comparisons of Classifiers over Multiple Data
Sets" (2006); Iman and Davenport (1980).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase

import numpy as np

from zslplat.errors import UsageError
from zslplat.statistics import LEVEL, root

REPLICATES = 2000
# Below this many data sets a rank test has little power, and the distributions behind it are rough.
FEW_SETS = 10
# How many orders of ranks a permutation test tries: all where there are no more, else so many drawn ones.
ARRANGEMENTS = 9999


@dataclass(frozen=True)
class Standing:
    """One method over all data sets.

    ``rank_low`` and ``rank_high`` are the ends of the bootstrap interval over data sets, NaN for a single one, which
    cannot be drawn otherwise. ``tied`` are its letters: methods that share one do not differ significantly.
    """

    method: str
    mean_rank: float
    rank_low: float
    rank_high: float
    tied: str


@dataclass(frozen=True)
class Across:
    """Methods over data sets, best mean rank first.

    ``sets`` counts families of data sets that all methods have. ``p_value`` is Friedman's, in Iman and Davenport's
    form: whether any method differs; NaN for a single data set.
    ``reservation`` says in words what so many data sets can carry.
    """

    standings: tuple[Standing, ...]
    sets: int
    p_value: float
    critical_difference: float
    reservation: str


def across_sets(
    scores: Mapping[str, Mapping[str, float]],
    *,
    maximise: bool = True,
    families: Mapping[str, str] | None = None,
) -> Across:
    """Return the standing of methods over data sets; ``scores`` maps a method to its score by data set.

    ``families`` maps a data set to the name of what it shares its images with (by default each is its own): ranks are
    averaged within a family. Data sets that some method lacks are left out. Raises :class:`UsageError` for fewer than
    two methods, or where no data set has all of them.
    """
    names = list(scores)
    if len(names) < 2:
        raise UsageError(f"{len(names)} method over data sets; there must be two or more to compare")
    every = list(dict.fromkeys(name for by_dataset in scores.values() for name in by_dataset))
    shared = [name for name in every if all(name in by_dataset for by_dataset in scores.values())]
    if not shared:
        raise UsageError("no data set has a score of all methods; evaluate them on the same data sets")
    table = np.array([[scores[method][name] for method in names] for name in shared])
    of = [name if families is None else families.get(name, name) for name in shared]
    ranks = _by_family(ranked(table, maximise), of)
    n, k = ranks.shape
    mean = ranks.mean(axis=0)
    drawn = np.random.default_rng([41, n, k]).integers(n, size=(REPLICATES, n))
    shares = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.quantile(ranks[drawn].mean(axis=1), shares, axis=0) if n > 1 else np.full((2, k), np.nan)
    order = np.argsort(mean, kind="stable")
    bound = nemenyi_difference(k, n)
    p = friedman_p(ranks)
    apart = np.abs(mean[order][:, None] - mean[order]) >= bound
    labels = letters(apart)
    standings = tuple(
        Standing(
            names[i],
            float(mean[i]),
            float(low[i]),
            float(high[i]),
            labels[place],
        )
        for place, i in enumerate(order.tolist())
    )
    return Across(standings, n, p, bound, reservation(k, n))


def ranked(table: np.ndarray, maximise: bool = True) -> np.ndarray:
    """Return the ranks (N, k) of methods within each line of scores, 1 for the best; equal scores share their mean.

    Scores that differ by rounding alone, as means over different numbers of equal repeats do, are equal.
    """
    rounded = np.round(table, 12)
    ours, others = rounded[:, :, None], rounded[:, None, :]
    ahead = others > ours if maximise else others < ours
    return np.asarray(ahead.sum(axis=2) + ((others == ours).sum(axis=2) + 1) / 2)


def friedman_p(ranks: np.ndarray) -> float:
    """Return the p-value that all methods are alike, of ranks (N, k) within data sets: Friedman's statistic.

    By the F distribution (Iman, Davenport) for :data:`FEW_SETS` data sets or more. That is rough for fewer, and 0 where
    all agree, however few they are: there by permutation, of all orders of the ranks within each data set where they
    are at most :data:`ARRANGEMENTS`, else of as many drawn ones. NaN for a single data set.
    """
    n, k = ranks.shape
    if n < 2:
        return float("nan")
    between = n * float(np.sum((ranks.mean(axis=0) - (k + 1) / 2) ** 2))
    within = float(np.sum((ranks - (k + 1) / 2) ** 2)) - between
    if between <= 0:
        return 1.0
    if n < FEW_SETS:
        return _permuted_p(ranks)
    from scipy.special import fdtrc

    # Of all k!^n orders k! agree as wholly as ranks can: no p-value is smaller than their share.
    by_f = float(fdtrc(k - 1, (k - 1) * (n - 1), between * (n - 1) / within)) if within > 1e-12 else 0.0
    return max(by_f, math.exp((1 - n) * math.lgamma(k + 1)))


def _permuted_p(ranks: np.ndarray) -> float:
    # The permutations of the first data set only rename the methods: they are left out, the p-value is the same.
    from scipy.stats import permutation_test

    first, others = ranks[0], ranks[1:]

    def spread(*samples: np.ndarray, axis: int = -1) -> np.ndarray:
        means = (first + sum(samples)) / len(ranks)
        return np.asarray(np.sum((means - means.mean(axis=axis, keepdims=True)) ** 2, axis=axis))

    result = permutation_test(
        tuple(others),
        spread,
        permutation_type="pairings",
        vectorized=True,
        n_resamples=ARRANGEMENTS,
        batch=1000,
        alternative="greater",
        random_state=np.random.default_rng([43, *ranks.shape]),
    )
    return float(result.pvalue)


def nemenyi_difference(k: int, n: int) -> float:
    """Return the critical difference of mean ranks of k methods over n data sets, at level .05."""
    return range_quantile(k) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n))


@cache
def range_quantile(k: int) -> float:
    """Return the upper 5 % point of the range of k standard normal values (k > 1).

    The studentized range of infinitely many degrees of freedom: P(range <= q) is the integral over the smallest value z
    of k phi(z) (Phi(z + q) - Phi(z))^(k - 1). Sums over an even grid are exact to rounding for such integrands.
    """
    from scipy.special import ndtr

    z, step = np.linspace(-9, 9, 721, retstep=True)
    density, below = k * step * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), ndtr(z)
    return root(lambda q: float(density @ (ndtr(z + q) - below) ** (k - 1)) - LEVEL, 0.0, 20.0)


def reservation(k: int, n: int) -> str:
    """Return in words what a critical difference of k methods over n data sets can carry; empty where it can all."""
    if nemenyi_difference(k, n) > k - 1:
        return (
            f"{n} data set{'s' if n > 1 else ''}: even a method that is best everywhere would not differ "
            f"significantly from the worst of {k}; that all are tied says nothing"
        )
    if n < FEW_SETS:
        return (
            f"only {n} data sets: the test sees large differences alone, its level is approximate, and another "
            "choice of data sets may rank otherwise"
        )
    return ""


def _by_family(values: np.ndarray, of: Sequence[str]) -> np.ndarray:
    """Return the means (families, k) of the lines (N, k) of each family."""
    number = {name: i for i, name in enumerate(dict.fromkeys(of))}
    where = np.array([number[name] for name in of])
    return np.array([values[where == i].mean(axis=0) for i in range(len(number))])


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

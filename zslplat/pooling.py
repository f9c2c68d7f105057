"""Is one method better than another over several data sets? The mean of a difference, and what another one would show.

| symbol | meaning |
|---|---|
| d_i, nu_i | difference on data set i, and its degrees of freedom |
| s_i | its error: the longer side of the interval over the t quantile of nu_i |
| w_i | 1 / s_i^2, as shares that add up to 1 |
| d | the sum of w_i d_i |
| V | (1 + 4 sum of w_i (1 - w_i) / nu_i) / (sum of 1 / s_i^2): Meier, "Variance of a Weighted Mean", 1953 |
| nu | 1 / (sum of w_i^2 / nu_i) |

The test is that of d / V^.5 by Student's t with nu degrees of freedom, and that of heterogeneity Welch's ("On the
Comparison of Several Mean Values", 1951). The mean is over the data sets that were tested, whatever differs between
them (Rice, Higgins and Lumley, "A Re-Evaluation of Fixed Effect(s) Meta-Analysis", 2018); what a new one would show
is :attr:`Pooled.new_ends`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zslplat.statistics import (
    AHEAD,
    BEHIND,
    DIFFERS,
    LEVEL,
    MARGIN,
    NOT_ENOUGH,
    equal_within,
    quantile_t,
    root,
    two_sided_p,
    verdict_of,
)

# How far data sets differ in a difference, at a guess: the scale of the half-Cauchy prior of tau, in shares of 1.
_BETWEEN = 0.05
# The error of a difference that is exact.
_LEAST_ERROR = 1e-9


@dataclass(frozen=True)
class Pooled:
    """A difference over several data sets: the mean of those that were tested, with its 95 % interval.

    ``effects``, ``errors`` and ``freedoms`` are those of the data sets, those with the same images counted once.
    ``p_heterogeneity`` is of the test that all have the same difference, NaN for one.
    """

    estimate: float
    low: float
    high: float
    error: float
    p_value: float
    p_heterogeneity: float
    effects: tuple[float, ...]
    errors: tuple[float, ...]
    freedoms: tuple[float, ...]

    @property
    def data_sets(self) -> int:
        """How many data sets there are, those with the same images once."""
        return len(self.effects)

    @property
    def is_heterogeneous(self) -> bool:
        """Whether the difference is not the same on all data sets."""
        return self.p_heterogeneity <= 1 - LEVEL

    @property
    def is_contradicted(self) -> bool:
        """Whether the difference has another sign on one of them, whose interval does not reach 0."""
        sign = 1 if self.estimate > 0 else -1
        return self.is_heterogeneous and any(
            sign * effect < -quantile_t(freedom) * error
            for effect, error, freedom in zip(self.effects, self.errors, self.freedoms, strict=True)
        )

    def p_equal(self, margin: float = MARGIN) -> float:
        """Return the p-value of two one-sided tests that the mean is within ``margin``.

        It is 1 where data sets differ and the interval of one of them leaves the margin.
        """
        reaches = (
            abs(effect) + quantile_t(freedom) * error
            for effect, error, freedom in zip(self.effects, self.errors, self.freedoms, strict=True)
        )
        if abs(self.estimate) >= margin or (self.is_heterogeneous and max(reaches) >= margin):
            return 1.0
        return two_sided_p((margin - abs(self.estimate)) / self.error, _pooled_freedom(self.errors, self.freedoms))

    def verdict(self, p_value: float | None = None, margin: float | None = MARGIN) -> str:
        """Return the verdict over data sets; ``p_value`` is the corrected one where there are other comparisons."""
        p_value = self.p_value if p_value is None else p_value
        verdict = verdict_of(self.estimate, p_value, (self.low, self.high), margin=margin)
        if verdict in (AHEAD, BEHIND):
            return DIFFERS if self.is_contradicted else verdict
        if margin is not None and verdict == equal_within(margin) and self.p_equal(margin) <= 1 - LEVEL:
            return verdict
        return DIFFERS if self.is_heterogeneous else NOT_ENOUGH

    @cached_property
    def new_ends(self) -> tuple[float, float]:
        """The ends of the 95 % interval of the difference on a new data set; NaN where there is one only.

        The model is d_i ~ N(mu + b_i, s_i^2), b_i ~ N(0, tau^2), with a flat prior of mu and a half-Cauchy one of tau,
        of scale .05 (Gelman, "Prior Distributions for Variance Parameters in Hierarchical Models", 2006): with two or
        three data sets an interval without a prior is nearly unbounded.
        """
        if self.data_sets < 2:
            return math.nan, math.nan
        effects, errors = np.array(self.effects), np.array(self.errors)
        # A grid that is fine where tau is small, and reaches far beyond any spread of the data sets.
        tau = np.r_[0.0, np.geomspace(1e-4, 20 * max(_BETWEEN, float(np.ptp(effects))), 300)][:, None]
        weights = 1 / (errors**2 + tau**2)
        total = weights.sum(axis=1)
        centres = (weights * effects).sum(axis=1) / total
        fit = (weights * (effects - centres[:, None]) ** 2).sum(axis=1)
        logs = 0.5 * np.log(weights).sum(axis=1) - 0.5 * np.log(total) - 0.5 * fit
        posterior = np.exp(logs - logs.max()) / (1 + (tau[:, 0] / _BETWEEN) ** 2) * np.gradient(tau[:, 0])
        posterior /= posterior.sum()
        spread = np.sqrt(1 / total + tau[:, 0] ** 2)
        low, high = (
            _mixture_quantile(share, posterior, centres, spread) for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
        )
        return low, high


def pool(
    estimates: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    families: Sequence[Hashable] | None = None,
    *,
    classes: Sequence[int | None] | None = None,
    p_values: Sequence[float | None] | None = None,
) -> Pooled | None:
    """Return the mean of a difference over several data sets; None where none has an interval.

    ``estimates`` with the ends of their 95 % intervals, one a data set; ``families`` says which data sets show the same
    images: they count once, by the means of their estimates and of their errors. ``classes``: how many each interval is
    made from, None for one that is over something else. ``p_values`` are those of the differences: where there is one
    data set its interval and p-value stay.

    >>> pooled = pool([.06, .05, .08], [.03, .01, .04], [.09, .09, .12], classes=[10, 20, 50])
    >>> pooled.verdict(), round(pooled.estimate, 3), pooled.data_sets
    ('ahead', 0.062, 3)
    """
    names: Sequence[Hashable] = range(len(estimates)) if families is None else families
    counts = [None] * len(estimates) if classes is None else classes
    grouped: dict[Hashable, list[tuple[float, float, float]]] = {}
    for name, estimate, low, high, count in zip(names, estimates, lows, highs, counts, strict=True):
        if math.isfinite(estimate + low + high):
            freedom = math.inf if count is None else count - 1.0
            error = max(high - estimate, estimate - low) / quantile_t(freedom)
            grouped.setdefault(name, []).append((estimate, max(error, _LEAST_ERROR), freedom))
    if not grouped:
        return None
    effects, errors = np.array([np.mean([one[:2] for one in values], axis=0) for values in grouped.values()]).T
    freedoms = np.array([min(one[2] for one in values) for values in grouped.values()])
    parts = tuple(tuple(map(float, part)) for part in (effects, errors, freedoms))
    total = float((errors**-2.0).sum())
    weights = errors**-2.0 / total
    estimate = float(weights @ effects)
    error = math.sqrt((1 + 4 * float((weights * (1 - weights) / freedoms).sum())) / total)
    freedom = _pooled_freedom(errors, freedoms)
    low, high = (estimate + sign * quantile_t(freedom) * error for sign in (-1, 1))
    p_value = two_sided_p(estimate / error, freedom)
    finite = [i for i, end in enumerate(lows) if math.isfinite(estimates[i] + end + highs[i])]
    if len(finite) == 1:
        low, high = lows[finite[0]], highs[finite[0]]
        of_one = None if p_values is None else p_values[finite[0]]
        p_value = p_value if of_one is None else of_one
    return Pooled(estimate, low, high, error, p_value, _p_heterogeneity(effects, weights, total, freedoms), *parts)


def _pooled_freedom(errors: Sequence[float] | np.ndarray, freedoms: Sequence[float] | np.ndarray) -> float:
    """Return the degrees of freedom of a mean with the weights 1 / s_i^2."""
    weights = np.asarray(errors) ** -2.0
    inverse = float(((weights / weights.sum()) ** 2 / np.asarray(freedoms)).sum())
    return 1 / inverse if inverse > 0 else math.inf


def _p_heterogeneity(effects: np.ndarray, weights: np.ndarray, total: float, freedoms: np.ndarray) -> float:
    """Return Welch's p-value that all effects are the same, Cochran's where all errors are exact; NaN for one."""
    from scipy.special import chdtrc, fdtrc

    count = len(effects)
    if count < 2:
        return math.nan
    Q = total * float(weights @ (effects - weights @ effects) ** 2)
    doubt = float(((1 - weights) ** 2 / freedoms).sum())
    if doubt == 0:
        return float(chdtrc(count - 1, Q))
    F = Q / (count - 1) / (1 + 2 * (count - 2) / (count**2 - 1) * doubt)
    return float(fdtrc(count - 1, (count**2 - 1) / (3 * doubt), F))


def _mixture(x: float, weights: np.ndarray, centres: np.ndarray, deviations: np.ndarray) -> float:
    """Return the distribution function of a mixture of normal distributions."""
    from scipy.special import ndtr

    return float(weights @ ndtr((x - centres) / deviations))


def _mixture_quantile(share: float, weights: np.ndarray, centres: np.ndarray, deviations: np.ndarray) -> float:
    reach = 10 * float(deviations.max())
    low, high = float(centres.min()) - reach, float(centres.max()) + reach
    return root(lambda x: _mixture(x, weights, centres, deviations) - share, low, high)

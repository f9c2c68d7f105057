"""Intervals from bootstrap replicates: of the mean over repeats, and of the paired difference of two.

Replicate i of one method and replicate i of another are of the same drawn rows, where both scored the same rows.
"""

from __future__ import annotations

import numpy as np

LEVEL = 0.95
# What a mean over equal values may differ by from another one, relative to them.
ROUNDING = 1e-12


def but_rounding(differences: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Return differences with 0 for those that are rounding alone, measured by the values ``of`` which they are."""
    finite = np.abs(of)[np.isfinite(of)]
    return np.where(np.abs(differences) <= ROUNDING * (finite.max() if finite.size else 0.0), 0.0, differences)


def alike(values: np.ndarray) -> np.ndarray:
    """Tell where values (..., n) are all the same but for rounding: they have no spread to judge by."""
    return np.asarray(np.ptp(values, axis=-1) <= ROUNDING * np.abs(values).max(axis=-1))


def over_repeats(replicates: np.ndarray, side: int = 0) -> np.ndarray:
    """Return the replicates (b,) of the mean over repeats of (repeats, b), the repeats drawn anew for every replicate.

    ``side`` tells the two sides of a difference apart, whose repeats are drawn independently.
    """
    repeats, count = replicates.shape
    if repeats == 1:
        return np.asarray(replicates[0])
    chosen = np.random.default_rng([29, side]).integers(repeats, size=(repeats, count))
    return np.asarray(np.take_along_axis(replicates, chosen, axis=0).mean(axis=0))


def centred_ends(estimate: float, replicates: np.ndarray) -> tuple[float, float]:
    """Return the ends of the interval between percentiles of replicates (b,), moved so that their mean is the estimate.

    Drawing rows twice raises an average precision a little, for every method alike. A draw of groups may have no row
    that the metric can be computed from; where most have none, the ends are NaN. Replicates that are all the same but
    for rounding have the estimate for both ends.
    """
    finite = replicates[np.isfinite(replicates)]
    if len(finite) <= len(replicates) / 2:
        return np.nan, np.nan
    low, high = np.quantile(but_rounding(finite - finite.mean(), finite), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return estimate + float(low), estimate + float(high)

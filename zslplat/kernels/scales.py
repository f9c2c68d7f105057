"""Scales of rows, which the parameters of kernels are multiples of: median distance, mean squared length.

Rules, the same for every kernel with a bandwidth ``sigma``: the distance is the kernel's own (Euclidean, city block,
chi-squared); the median runs over distinct pairs of at most 1000 rows (300 for distances without inner products),
spread evenly along a fixed direction where there are more, so that it does not depend on their order; and the unit of
sigma is such that with a factor of 1 a pair at the median distance lies where the kernel bends, k = exp(-1/2) for the
Gaussian kernels, 1/2 for the Cauchy kernel, exp(-1) for the exponentials of a distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from zslplat.data.store.rows import Rows, rowwise, take_rows
from zslplat.errors import DataError
from zslplat.space import POSITIVE, Real, Scaled, parameter

ROWS, FEW_ROWS = 1000, 300


def in_units(description: str, unit: str, low: float, high: float) -> float:
    """Declare a positive parameter in a unit of the data, searched by its logarithm; 1 unit by default."""
    domain: Any = Scaled(POSITIVE, unit)
    value: float = parameter(description, domain, Real(low, high, log=True, unit=unit), default=f"1.0{unit}")
    return value


Metric = Callable[[np.ndarray], np.ndarray]


def median_distance(X: np.ndarray | Rows, metric: Metric | None = None) -> float:
    """Return the median distance over distinct pairs of rows of X (n, d); raises DataError where it is 0.

    ``metric`` returns the distances (m, m) between the rows of an array (m, d) in float64; default: Euclidean, from
    inner products.
    """
    rows = np.asarray(spread_rows(X, ROWS if metric is None else FEW_ROWS), dtype=np.float64)
    pairs = np.triu_indices(len(rows), 1)
    median = float(np.median((metric or _euclidean)(rows)[pairs])) if len(rows) > 1 else 0.0
    if not median > 0:
        raise DataError(f"the median distance of {len(X)} rows is {median:g}; give the bandwidth sigma a value")
    return median


def mean_square(X: np.ndarray | Rows) -> float:
    """Return the mean squared length of the rows of X (n, d); raises DataError where it is 0."""
    blocks = [X] if isinstance(X, np.ndarray) else (block for _, block in X.blocks())
    total = sum(float(np.einsum("ij,ij->", rows, rows, dtype=np.float64)) for rows in blocks) / max(1, len(X))
    if not total > 0:
        raise DataError(f"the mean squared length of {len(X)} rows is {total:g}; give the parameters as numbers")
    return total


def spread_rows(X: np.ndarray | Rows, most: int = ROWS) -> np.ndarray:
    """Return at most ``most`` rows of X (n, ...), evenly spread along a fixed direction, whatever the order of rows."""
    if len(X) <= most:
        return rowwise(X, np.asarray)
    direction = np.random.default_rng(0).standard_normal(math.prod(X.shape[1:])).astype(X.dtype)
    places = rowwise(X, lambda rows: np.asarray(rows.reshape(len(rows), -1) @ direction))
    ranks = np.linspace(0, len(X) - 1, most).round().astype(np.int64)
    return np.asarray(take_rows(X, np.argsort(places, kind="stable")[ranks]))


def _euclidean(X: np.ndarray) -> np.ndarray:
    # Centred rows: what all rows have in common would cost digits of the differences.
    X = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", X, X)
    return np.asarray(np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * (X @ X.T), 0)))

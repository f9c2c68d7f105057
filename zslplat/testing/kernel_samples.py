"""Inputs that kernels are checked on, small and drawn from fixed seeds.

``general``: rows in general position, at distances from near to far, of about unit length. ``special``: among them
rows that are equal, and a row of zeros, where square roots and angles lose half of their digits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zslplat.kernels.base import Kernel
from zslplat.testing.spaces import points

ROWS, OTHERS, DIMENSIONS = 23, 17, 6
# Relative accuracy that is asked for in general position, and where half of the digits are lost.
TIGHT, LOOSE = 1e-10, 1e-6


def general(kernel: Kernel, rows: int = ROWS, *, seed: int = 0, dimensions: int = DIMENSIONS) -> np.ndarray:
    """Return rows (n, d), or (n, p, p) for kernels on matrices, float64, in general position."""
    rng = np.random.default_rng([seed, 11])
    if kernel.input == "spd":
        factors = rng.normal(size=(rows, 4, 8))
        return np.asarray(factors @ factors.transpose(0, 2, 1) / 8 + 0.1 * np.eye(4))
    dimensions = -(-dimensions // kernel.width_multiple) * kernel.width_multiple
    centres = rng.normal(size=(4, dimensions)) / np.sqrt(dimensions)
    spread = rng.choice([0.02, 0.2, 1.0], size=(rows, 1))
    X = centres[rng.integers(4, size=rows)] + spread * rng.normal(size=(rows, dimensions)) / np.sqrt(dimensions)
    return np.asarray(np.abs(X) if kernel.non_negative else X)


def special(kernel: Kernel) -> np.ndarray:
    """Return rows of which two are equal, and one is zero where the kernel takes vectors."""
    X = general(kernel, 9, seed=1)
    X[3] = X[5]
    if kernel.input != "spd":
        X[6] = 0
    return X


def ready(kernel: Kernel) -> Kernel:
    """Return the kernel with its open parameters taken from the general rows."""
    return kernel.resolved(general(kernel))


def variants(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Yield the kernel as it is and at points of its search space, each with a word on which one it is."""
    base = ready(kernel)
    yield str(base), base
    for point in points(base.space, base.values):
        other = ready(base.replaced(point))
        yield str(other), other


def deviation(values: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference relative to the largest expected value; infinite for shapes that differ."""
    values, expected = np.asarray(values), np.asarray(expected)
    if values.shape != expected.shape or not (np.isfinite(values).all() and np.isfinite(expected).all()):
        return np.inf
    if not expected.size:
        return 0.0
    scale = max(float(np.abs(expected).max()), np.finfo(np.float64).tiny)
    return float(np.abs(values.astype(np.float64) - expected.astype(np.float64)).max()) / scale


def assert_same(values: np.ndarray, expected: np.ndarray, tolerance: float, what: str) -> None:
    """Fail with ``what`` unless both agree within a tolerance relative to the largest value."""
    if np.shape(values) != np.shape(expected):
        raise AssertionError(f"{what}: shape {np.shape(values)}, expected {np.shape(expected)}")
    found = deviation(values, expected)
    assert found <= tolerance, f"{what}: off by {found:.1e} of the largest value, allowed {tolerance:.0e}"

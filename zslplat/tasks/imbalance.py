"""Unequally frequent classes out of any data: what it costs a method to take classes to be equally frequent.

| symbol | here          | meaning                                                                            |
|--------|---------------|------------------------------------------------------------------------------------|
| c      | ``classes``   | number of classes                                                                  |
| n_j    | ``available`` | rows of the class at place j = 0 .. c-1 of a seeded order                          |
| f      | ``factor``    | how many times as frequent the first class is as the last                          |
| m_j    | ``sizes``     | rows kept: N f^(-j / (c-1)), rounded, with the largest N for which m_j <= n_j      |

On most benchmarks the unseen classes are about equally frequent by construction, and a method that takes them to be so
(``class balance``) is never wrong there. In a geometric series it is.
"""

from __future__ import annotations

import numpy as np

# Of each class, so that a mean over its rows is one and a neighbour of its own kind exists; all where it has fewer.
LEAST_ROWS = 2


def imbalanced_rows(rows: np.ndarray, y: np.ndarray, factor: float, stream: tuple[int, ...]) -> np.ndarray:
    """Return those of ``rows`` (n,) that are kept, in their order, so that class sizes fall by ``factor``.

    ``y`` (n,) are the classes of the rows. ``stream`` seeds the order of the classes, from the most to the least
    frequent, and the draw of the rows of each. Every class keeps at least two rows, or all that it has; where that or
    rounding acts, the series is cut there.
    """
    generator = np.random.default_rng(stream)
    order = generator.permutation(np.unique(y))
    members = [np.flatnonzero(y == label) for label in order]
    sizes = geometric_sizes(np.array([len(own) for own in members]), factor)
    kept = [generator.permutation(own)[:size] for own, size in zip(members, sizes, strict=True)]
    return np.asarray(rows[np.sort(np.concatenate(kept))])


def geometric_sizes(available: np.ndarray, factor: float) -> np.ndarray:
    """Return how many rows (c,) each class keeps of those ``available`` (c,), the classes from the most frequent on."""
    fall = float(factor) ** -(np.arange(len(available)) / max(1, len(available) - 1))
    most = float(np.min(available / fall))
    sizes = np.round(most * fall).astype(np.int64)
    return np.asarray(np.minimum(np.maximum(sizes, LEAST_ROWS), available))

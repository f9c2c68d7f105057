"""Multi-view canonical correlation analysis of a batch: one space for the rows of all views.

| paper  | here      | shape    | meaning                                                                       |
|--------|-----------|----------|-------------------------------------------------------------------------------|
| Phi^i  | views[i]  | (n, d_i) | rows of view i; m_i their mean                                                |
| Sigma  | together  | (D, D)   | covariance of all views side by side, D = sum of d_i                          |
|        | apart     | (D, D)   | its diagonal blocks                                                           |
| W^i    | maps[i]   | (d_i, r) | eigenvectors of Sigma w = lambda blockdiag(Sigma) w: the rows of view i       |
| D^p    | values^p  | (r,)     | weights of the directions, p = 4                                              |
| Psi^i  | projected | (n, r)   | (Phi^i - 1 m_i') W^i D^p, rows of length one                                  |

For V views lambda runs from 0 to V; it is above 1 where a direction is shared by views, and 1 where it is one view's
own. The paper keeps all directions; here those are kept that are shared, at most so many, and the others, whose weight
is at most 1 beside V^p, are left out. The paper adds 1e-4 I to both matrices; here ``shrinkage`` times the mean
eigenvalue of each view's block is added, since a batch may have fewer rows than columns. On 617 columns and 600 rows
0.1 makes noise a shared direction, which validation on fewer classes does not foresee: no less than 0.03 is searched.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from zslplat.methods.unit_rows import unit_rows

SHARED = 1 + 1e-6


@dataclass(frozen=True)
class Embedding:
    """The learned projections: means (d_i,), maps (d_i, r) of the views, and eigenvalues (r,) in falling order."""

    means: tuple[np.ndarray, ...]
    maps: tuple[np.ndarray, ...]
    values: np.ndarray

    def project(self, view: int, rows: np.ndarray, power: float) -> np.ndarray:
        """Return rows (n, d_i) of one view in the common space (n, r), of length one, in float32."""
        moved = (np.asarray(rows, dtype=np.float64) - self.means[view]) @ (self.maps[view] * self.values**power)
        return unit_rows(moved).astype(np.float32)


def canonical_projections(views: Sequence[np.ndarray], shrinkage: float, dimensions: int) -> Embedding:
    """Return the projections of views (n, d_i) of the same rows; float64."""
    means = tuple(np.asarray(view, dtype=np.float64).mean(axis=0) for view in views)
    joined = np.hstack([view - mean for view, mean in zip(views, means, strict=True)])
    ends = np.cumsum([0, *(len(mean) for mean in means)])
    together = joined.T @ joined / max(1, len(joined))
    apart = np.zeros_like(together)
    for start, stop in itertools.pairwise(ends):
        block = together[start:stop, start:stop]
        unit = np.trace(block) / len(block)
        block[np.diag_indices_from(block)] += shrinkage * unit if unit > 0 else 1.0
        apart[start:stop, start:stop] = block
    most = min(dimensions, len(together))
    values, vectors = linalg.eigh(together, apart, subset_by_index=(len(together) - most, len(together) - 1))
    shared = np.flatnonzero(values > SHARED)[::-1]
    if len(shared) == 0:
        shared = np.array([most - 1])
    vectors = vectors[:, shared]
    return Embedding(means, tuple(vectors[i:j] for i, j in itertools.pairwise(ends)), values[shared])

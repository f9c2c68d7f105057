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

Semantic views of rows: what signature, and which attributes, their features speak for.

| symbol | here           | shape  | meaning                                                                           |
|--------|----------------|--------|-----------------------------------------------------------------------------------|
| X, Y   | X, y           | (n, d) | training rows and their classes; m their mean (``mean``)                          |
| S      | S              | (c, a) | signatures; m_S their mean over the rows (``signature_mean``)                     |
| B      | ``attributes`` | (c, a) | which attributes a class has: S above its mean over the seen classes (``cut``)    |
| R      | ``regression`` | (d, a) | ridge regression of S[y] - m_S on X - m                                           |
| V      | ``detectors``  | (d, a) | ridge regression of 2 B[y] - 1, from its mean, on X - m                           |
| p(b|x) | probabilities  | (n, a) | sigmoid(``slope`` ((x - m) V - ``middle``))                                       |

The paper takes support vector machines, with Platt's sigmoid for the attributes. Here both are ridge regressions, from
one factorisation, and the sigmoid is Bayes' rule for two Gaussians of one variance along each column of V, without the
prior odds of the seen classes: all of it comes from class sums and X'X, without a pass over the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import expit

from zslplat.methods.base import Arrays
from zslplat.methods.rows import unit_rows


def solve(gram: np.ndarray, class_sums: np.ndarray, class_counts: np.ndarray, S: np.ndarray, ridge: float) -> Arrays:
    """Return the arrays of the table above, in float64.

    ``gram`` (d, d) is X'X, ``class_sums`` (c, d) and ``class_counts`` (c,) those of the training rows, ``ridge`` in
    units of the mean eigenvalue of the rows' scatter. Attributes that all seen classes agree in have no detector, and
    the probability 1/2.
    """
    rows = class_counts.sum()
    mean, signature_mean, cut = class_sums.sum(axis=0) / rows, class_counts @ S / rows, S.mean(axis=0)
    centred = class_sums - class_counts[:, None] * mean
    scatter = gram - rows * np.outer(mean, mean)
    unit = np.trace(scatter) / len(scatter)
    ridged = scatter + np.diag(np.full(len(scatter), ridge * unit if unit > 0 else 1.0))
    has = (cut < S).astype(np.float64)
    signs = 2 * has - 1
    targets = np.hstack([S - signature_mean, signs - class_counts @ signs / rows])
    maps = linalg.solve(ridged, centred.T @ targets, assume_a="pos")
    detectors = maps[:, S.shape[1] :]
    # Moments of (x - m) V: of all rows, and of those with and without the attribute.
    with_it, without = class_counts @ has, class_counts @ (1 - has)
    sums = centred @ detectors
    high = (has * sums).sum(axis=0) / np.maximum(with_it, 1)
    low = ((1 - has) * sums).sum(axis=0) / np.maximum(without, 1)
    square = np.einsum("ij,ij->j", detectors, scatter @ detectors)
    variance = (square - with_it * high**2 - without * low**2) / rows
    # Columns that fit perfectly would have an infinite slope.
    variance = np.maximum(variance, 1e-3 * (high - low) ** 2)
    return {
        "mean": mean,
        "signature_mean": signature_mean,
        "cut": cut,
        "regression": maps[:, : S.shape[1]],
        "detectors": detectors,
        "slope": np.where(variance > 0, (high - low) / np.where(variance > 0, variance, 1), 0.0),
        "middle": (high + low) / 2,
    }


def project(X: np.ndarray, learned: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return regressed signatures (n, a), less m_S, and probabilities of attributes (n, a) of rows X (n, d)."""
    centred = np.asarray(X, dtype=np.float64) - learned["mean"]
    detected = centred @ learned["detectors"] - learned["middle"]
    return centred @ learned["regression"], expit(learned["slope"] * detected)


def prototypes(S: np.ndarray, learned: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return where signatures S (c, a) lie in both views: less m_S, and the attributes that they have (0 or 1)."""
    return S - learned["signature_mean"], (learned["cut"] < S).astype(np.float64)


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

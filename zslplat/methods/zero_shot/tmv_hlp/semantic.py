"""Semantic views of rows: what signature, and which attributes, their features speak for.

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

from collections.abc import Mapping

import numpy as np
from scipy import linalg
from scipy.special import expit

from zslplat.methods.base import Arrays


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

"""Signatures in units of their distances, and how similar classes are to the phantom classes.

Changpinyo, Chao, Gong and Sha, "Synthesized classifiers for zero-shot learning", CVPR 2016, equation (3); scaling and
the default bandwidths as in the authors' code (github.com/pujols/Zero-shot-learning-journal, get_class_signatures.m,
Compute_Sim.m).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist, pdist


def median_signature_distance(S: np.ndarray) -> float:
    """Return the median Euclidean distance over pairs of different signatures S (c, a); 1 where all are the same.

    Pairs of equal signatures are left out, as in the authors' code. There the median runs over all classes; here S is
    of the seen classes, so that training needs no signature of an unseen class.
    """
    distances = pdist(np.asarray(S, dtype=np.float64))
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def similarity(A: np.ndarray, B: np.ndarray, scale: float) -> np.ndarray:
    """Return exp(-scale |a - b|^2) between rows of A (m, a) and B (r, a), each row divided by its sum (m, r).

    The nearest b keeps its weight however large ``scale`` is: the exponents are taken relative to it.
    """
    squares = cdist(A, B, "sqeuclidean")
    weights = np.exp(-scale * (squares - squares.min(axis=1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def synthesis_weights(S: np.ndarray, phantoms: np.ndarray, scale: float, rcond: float) -> np.ndarray:
    """Return A (m, r) with which classifiers of the classes S (m, a) are A W, for W (r, d) of the phantoms (r, a).

    A = Sim(S, phantoms) pinv(Sim(phantoms, phantoms)): the phantoms are the seen classes, whose classifiers V = pinv W
    reproduces. Singular values below ``rcond`` times the largest count as 0.
    """
    inverse = np.linalg.pinv(similarity(phantoms, phantoms, scale), rcond=rcond)
    return np.asarray(similarity(S, phantoms, scale) @ inverse)


def nearest_weights(S: np.ndarray, phantoms: np.ndarray) -> np.ndarray:
    """Return A (m, r) that takes for each class of S (m, a) the mean of the phantoms (r, a) at the least distance."""
    squares = cdist(S, phantoms, "sqeuclidean")
    nearest = squares <= squares.min(axis=1, keepdims=True)
    return np.asarray(nearest / nearest.sum(axis=1, keepdims=True))

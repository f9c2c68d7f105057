"""Incoherence of a projection: how far its normalised columns are from being orthogonal.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018, Table 4 (the number) and Tables 5 and 6 (the matrix).
"""

from __future__ import annotations

import numpy as np

from zslplat.figures import MatrixFigure


def column_cosines(W: np.ndarray) -> np.ndarray:
    """Return W'W (a, a) of the l2-normalised columns of W (d, a), in float64; columns of zeros stay zero."""
    W = np.asarray(W, dtype=np.float64)
    length = np.linalg.norm(W, axis=0)
    W = W / np.where(length > 0, length, 1.0)
    return np.asarray(W.T @ W)


def incoherence(W: np.ndarray) -> float:
    """Return ||W'W - I||_F^2 of the l2-normalised columns; 0 for orthogonal columns, lower is more incoherent."""
    cosines = column_cosines(W)
    return float(np.sum((cosines - np.eye(len(cosines))) ** 2))


def cosine_figure(W: np.ndarray, size: int = 10) -> MatrixFigure:
    """Return the first ``size`` x ``size`` cosines between columns of W as a figure."""
    cosines = column_cosines(W)[:size, :size]
    names = [str(j + 1) for j in range(len(cosines))]
    return MatrixFigure(cosines, names, names, "column of W", "column of W", "cosines between columns of W")

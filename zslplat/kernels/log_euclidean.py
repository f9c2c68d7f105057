"""The log-Euclidean Gaussian kernel between symmetric positive definite matrices.

k(A, B) = exp(-|log A - log B|_F^2 / (2 sigma^2)), positive definite for every sigma. The logarithms are
half-vectorised with the off-diagonal entries times sqrt(2), which keeps Frobenius distances, so that the kernel is a
Gaussian one on p (p + 1) / 2 coordinates.
"""

from __future__ import annotations

import numpy as np

from zslplat.errors import DataError
from zslplat.kernels.base import Kernel
from zslplat.kernels.forms import Gaussian
from zslplat.kernels.scales import in_units, median_distance, spread_rows


class LogEuclidean(Kernel):
    r"""Gaussian of the log-Euclidean distance; inputs (n, p, p); Gram only, as a projected matrix is none of them.

    Equations
    ---------
    $$k(A, B) = \exp\left( - \frac{\lVert \log A - \log B \rVert_F^2}{2 \sigma^2} \right)$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |
    | A, B | (p, p) | two symmetric positive definite matrices |
    | sigma | scalar | width |

    Example
    -------
    >>> import numpy as np
    >>> from zslplat.api import parse_kernel
    >>> A, B = np.eye(2), np.diag([np.e, 1.0])
    >>> kernel = parse_kernel("log-euclidean(sigma=1)")
    >>> kernel(np.array([A, B])).round(4)  # the logarithms are 1 apart: exp(-1/2)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])

    Related
    -------
    ``gaussian`` is the same on vectors. Data set ``region-covariance`` has such matrices.
    """

    summary = "log-Euclidean Gaussian on symmetric positive definite matrices"
    citation = "Arsigny et al., Log-Euclidean metrics, Magnetic Resonance in Medicine 2006"
    sigma = in_units("radius; median: of the log-Euclidean distance", "*median", 0.1, 10)
    input = "spd"

    def embed(self, X: np.ndarray) -> np.ndarray:
        """Return the half-vectorised logarithms (n, p (p + 1) / 2); logarithms in float64, dtype of X returned."""
        return log_vectors(X).astype(X.dtype, copy=False)

    def embedded(self) -> Gaussian:
        """Return the Gaussian kernel of the logarithms."""
        return Gaussian(sigma=self.sigma)

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the Gaussian kernel of the embedded rows."""
        return self.embedded().evaluate(A, B)

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return ones."""
        return np.ones(len(self._checked(X)), dtype=X.dtype)

    def data_scale(self, name: str, X: np.ndarray) -> float:
        """Return the median log-Euclidean distance as ``median``."""
        return median_distance(log_vectors(spread_rows(X))) if name == "median" else super().data_scale(name, X)


def log_vectors(X: np.ndarray) -> np.ndarray:
    """Return vec(log X) (n, p (p + 1) / 2) in float64, an isometry from the log-Euclidean metric.

    Raises :class:`DataError` with the first matrix that is not symmetric positive definite.
    """
    X = np.asarray(X, dtype=np.float64)
    skew = np.abs(X - X.transpose(0, 2, 1)).max(axis=(1, 2)) if len(X) else np.zeros(0)
    scale = np.abs(X).max(axis=(1, 2)) if len(X) else np.zeros(0)
    values, vectors = np.linalg.eigh(X)
    # 1e-5 of the largest entry: single precision data is symmetric to about 1e-7 of it.
    bad = (values[:, 0] <= 0) | (skew > 1e-5 * scale)
    if bad.any():
        raise DataError(f"matrix {int(np.argmax(bad))} is not symmetric positive definite; add a multiple of I to it")
    logarithm = (vectors * np.log(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
    row, column = np.triu_indices(X.shape[1])
    return np.asarray(logarithm[:, row, column] * np.where(row == column, 1.0, np.sqrt(2.0)))

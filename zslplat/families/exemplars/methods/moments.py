"""Mean and covariance of a pool of rows, in one pass over blocks, and their eigendecomposition.

| paper | here       | shape  | meaning                                     |
|-------|------------|--------|---------------------------------------------|
| n     | count      | scalar | number of negatives                         |
| mu    | mean       | (d,)   | their mean                                  |
| Sigma | covariance | (d, d) | their biased covariance, (1/n) X'X - mu mu' |

Memory is one block and one (d, d) matrix whatever the number of rows. Sums are taken about the mean of the first
block, so that data far from the origin loses no digits; all in float64.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from zslplat.errors import DataError


@dataclass(frozen=True)
class Moments:
    """Count, mean (d,) and biased covariance (d, d) of a pool of rows."""

    count: int
    mean: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class Spectrum:
    """The pool of negatives in the basis of its covariance: all that an exemplar machine needs to know of it.

    ``values`` (r,) eigenvalues, not negative, descending; ``offset`` (r,) the mean in that basis, zero where points
    are already centred; ``count`` the number of negatives.
    """

    values: np.ndarray
    offset: np.ndarray
    count: int


def accumulate(blocks: Iterable[np.ndarray]) -> Moments:
    """Return the moments of all rows of the blocks (each (b, d), float64); raises DataError for uneven widths."""
    count = 0
    shift = total = scatter = np.zeros(0)
    for block in blocks:
        if block.ndim != 2 or (count and block.shape[1] != len(shift)):
            raise DataError(f"expected blocks of rows (b, {len(shift) or 'd'}); got {block.shape}")
        if count == 0:
            shift = block.mean(axis=0)
            total = np.zeros_like(shift)
            scatter = np.zeros((len(shift), len(shift)), order="F")
        centred = block - shift
        total += centred.sum(axis=0)
        # The upper triangle of scatter += centred' centred, in place.
        scatter = blas.dsyrk(1.0, centred.T, beta=1.0, c=scatter, overwrite_c=1)
        count += len(block)
    if not count:
        raise DataError("expected at least one row, got none")
    deviation = total / count
    covariance = np.triu(scatter) / count
    covariance += np.triu(covariance, 1).T
    covariance -= np.outer(deviation, deviation)
    return Moments(count, shift + deviation, covariance)


def eigensystem(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (r,), descending and clipped at zero, and eigenvectors (d, r) of a covariance."""
    values, vectors = linalg.eigh(covariance, driver="evd", check_finite=False)
    return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])


def thin_eigensystem(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the non-zero eigenvalues (r,) and eigenvectors (d, r) of (1/n) X'X for few, centred rows X (n, d)."""
    n, d = centred.shape
    values, left = eigensystem(centred @ centred.T / n)
    # Below this an eigenvalue of the Gram matrix is rounding.
    positive = values > max(n, d) * np.finfo(float).eps * max(float(values[0]), np.finfo(float).tiny)
    values, left = values[positive], left[:, positive]
    vectors = centred.T @ (left / np.sqrt(n * values))
    # The division by small roots costs orthogonality; one QR pass restores it.
    vectors, triangle = linalg.qr(vectors, mode="economic", check_finite=False)
    return values, np.ascontiguousarray(vectors * np.where(np.diag(triangle) < 0, -1.0, 1.0))

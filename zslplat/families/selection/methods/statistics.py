"""Sufficient statistics of regression on class or row signatures, in one pass over the rows.

| paper (SemFS)    | here             | shape  | meaning                                                     |
|------------------|------------------|--------|-------------------------------------------------------------|
| X                | rows             | (n, d) | features                                                    |
| Y_s              |                  | (n, m) | signature of each row: its own, or that of its class        |
|                  | counts           | (c,)   | rows per class, N = diag(counts)                            |
| centres in X-bar | means            | (c, d) | M, the mean of each class                                   |
| X'X              | gram             | (d, d) | kept where d <= n + c                                       |
| X                | rows             | (n, d) | kept instead of the Gram matrix where it is smaller         |
| X'Y_s            | cross            | (d, m) | only for row signatures; for class signatures it is M'N Phi |
|                  | class_signatures | (c, m) | only for row signatures: their mean by class                |
| Y_s              | row_signatures   | (n, m) | only where the rows are kept as well                        |
| Y_s'Y_s          | signature_gram   | (m, m) | only for row signatures                                     |

Wang et al., "Zero-shot Feature Selection via Transferring Supervised Knowledge", Eq. 5, depends on the data through
these alone, so that every choice of alpha, gamma and k is free of n afterwards.

Blocks of rows are multiplied in their own precision and accumulated in float64: float32 rows give a Gram matrix with
a relative error of about 1e-6. At most one float32 block product exists beside it, so that the peak stays below
twice the float64 Gram matrix.

Signatures whose directions are made more equally strong, for features that shall tell all classes apart.

| symbol  | here    | shape  | meaning                                                              |
|---------|---------|--------|----------------------------------------------------------------------|
| Phi     | phi     | (c, m) | signatures of the classes                                            |
| A, e, V |         |        | Phi - mean = A diag(e) V', without the e_j that are zero             |
| delta   | degree  |        | degree, in [0, 1]                                                    |
| T       | forward | (m, r) | V diag(e^-delta): the target becomes Phi T                           |
|         | back    | (r, m) | diag(e^delta) V', which turns weights for Phi T into weights for Phi |

A few strong directions carry most of the variance of signatures (attributes come in correlated bundles), and a
regression on them spends its features there. The kernel of the classes, (Phi - mean)(Phi - mean)', becomes
A diag(e^(2 - 2 delta)) A'. At degree 0 it is that of the signatures. At degree 1 it is the projection on their span:
where signatures tell all classes apart (r = c - 1) that is the kernel of one-hot labels, so that the degree leads from
signatures to labels; with fewer attributes than classes it stays within what the attributes say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas

from zslplat.data.store.rows import blocks_of, rowwise
from zslplat.errors import DataError
from zslplat.methods.base import Arrays, Features
from zslplat.methods.rows import require_finite_sums

# Singular values below this share of the largest are rounding, which a power below 1 would blow up.
NEGLIGIBLE = 1e-8


@dataclass(frozen=True)
class Decorrelation:
    """``forward`` (m, r) makes the target, and ``back`` (r, m) turns weights for it into weights for the signatures."""

    forward: np.ndarray
    back: np.ndarray


def decorrelation(phi: np.ndarray, degree: float) -> Decorrelation | None:
    """Return the maps for class signatures phi (c, m); None where nothing changes (degree 0, equal classes)."""
    if degree == 0:
        return None
    _, e, Vt = np.linalg.svd(phi - phi.mean(axis=0), full_matrices=False)
    significant = e > NEGLIGIBLE * np.linalg.norm(phi)
    if not significant.any():
        return None
    strength = e[significant] ** degree
    return Decorrelation(Vt[significant].T / strength, strength[:, None] * Vt[significant])


BLOCK = 512


class StatisticsAccumulator:
    """Accumulates the statistics block by block; blocks may come from a stream that is never held as a whole.

    ``classes`` is c, ``features`` d, ``signatures`` m for row signatures and None without them.
    """

    def __init__(self, classes: int, features: int, signatures: int | None = None) -> None:
        self.counts = np.zeros(classes)
        self.sums = np.zeros((classes, features))
        # Fortran order: the BLAS writes the product of a block straight into its upper triangle.
        self.gram: np.ndarray = np.zeros((features, features), order="F")
        self.cross = None if signatures is None else np.zeros((features, signatures))
        self.signature_sums = None if signatures is None else np.zeros((classes, signatures))
        self.signature_gram = None if signatures is None else np.zeros((signatures, signatures))

    def add(self, X: np.ndarray, y: np.ndarray, row_signatures: np.ndarray | None = None) -> None:
        """Add rows X (b, d), labels y (b,) and, where the accumulator was made for them, signatures (b, m)."""
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        syrk = blas.ssyrk if X.dtype == np.float32 else blas.dsyrk
        if X.dtype == np.float64:
            self.gram = np.asarray(syrk(1.0, X.T, beta=1.0, c=self.gram, overwrite_c=True))
        else:
            product = syrk(1.0, X.T)
            np.add(self.gram, product, out=self.gram)
        self._add_classes(X, y)
        if self.cross is not None and self.signature_gram is not None:
            if row_signatures is None:
                raise DataError("this accumulation was started with row signatures; give them with every block")
            Y = np.asarray(row_signatures, dtype=np.float64)
            self.cross += X.T @ Y.astype(X.dtype, copy=False)
            _add_by_class(self.signature_sums, Y, y)
            self.signature_gram += Y.T @ Y

    def result(self) -> Arrays:
        """Return the statistics; raises :class:`DataError` when a class got no row."""
        empty = np.flatnonzero(self.counts == 0)
        if len(empty):
            raise DataError(f"{len(empty)} classes have no row, first class {empty[0]}; drop them or add rows")
        _mirror_upper(self.gram)
        arrays = {"counts": self.counts, "means": self.sums / self.counts[:, None], "gram": self.gram.T}
        if self.cross is not None and self.signature_sums is not None:
            arrays["cross"] = self.cross
            arrays["class_signatures"] = self.signature_sums / self.counts[:, None]
            arrays["signature_gram"] = np.asarray(self.signature_gram)
        return arrays

    def _add_classes(self, X: np.ndarray, y: np.ndarray) -> None:
        self.counts += np.bincount(y, minlength=len(self.counts))
        _add_by_class(self.sums, X, y)


def regression_statistics(
    X: Features, y: np.ndarray, classes: int, row_signatures: np.ndarray | None = None, *, block: int = BLOCK
) -> Arrays:
    """Return the statistics of rows X (n, d), labels y (n,) in 0..classes-1, in blocks of ``block`` rows.

    One pass. With fewer rows and classes than features, the rows themselves are kept in place of the Gram matrix.
    Raises :class:`DataError` where X holds NaN or infinity.
    """
    n, d = X.shape
    m = None if row_signatures is None else row_signatures.shape[1]
    if n + classes < d:
        return _statistics_of_rows(X, y, classes, row_signatures)
    accumulator = StatisticsAccumulator(classes, d, m)
    # NaN and infinity are found in the sums.
    with np.errstate(invalid="ignore", over="ignore"):
        for where, rows in blocks_of(X):
            labels, signatures = y[where], None if row_signatures is None else row_signatures[where]
            for start in range(0, len(rows), block):
                part = slice(start, start + block)
                accumulator.add(
                    np.ascontiguousarray(rows[part]), labels[part], None if signatures is None else signatures[part]
                )
    require_finite_sums(accumulator.sums)
    return accumulator.result()


def has_gram(statistics: Mapping[str, Any]) -> bool:
    """Tell whether the Gram matrix is held, rather than the rows."""
    return "gram" in statistics


def _statistics_of_rows(X: Features, y: np.ndarray, classes: int, row_signatures: np.ndarray | None) -> Arrays:
    rows = rowwise(X, lambda block: np.array(block, dtype=np.float64))
    counts = np.bincount(y, minlength=classes).astype(np.float64)
    sums = np.zeros((classes, X.shape[1]))
    _add_by_class(sums, rows, y)
    require_finite_sums(sums)
    arrays = {"counts": counts, "means": sums / counts[:, None], "rows": rows, "labels": np.asarray(y)}
    if row_signatures is not None:
        Y = np.array(row_signatures, dtype=np.float64)
        signature_sums = np.zeros((classes, Y.shape[1]))
        _add_by_class(signature_sums, Y, y)
        arrays |= {
            "cross": rows.T @ Y,
            "class_signatures": signature_sums / counts[:, None],
            "row_signatures": Y,
            "signature_gram": Y.T @ Y,
        }
    return arrays


def _add_by_class(sums: np.ndarray | None, values: np.ndarray, y: np.ndarray) -> None:
    """Add the rows of ``values`` to the rows of ``sums`` that ``y`` names, in float64."""
    if sums is None or not len(y):
        return
    order = np.argsort(y, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(y[order]) > 0])
    sums[y[order][starts]] += np.add.reduceat(values[order], starts, axis=0, dtype=np.float64)


def _mirror_upper(matrix: np.ndarray, panel: int = 512) -> None:
    """Copy the upper triangle onto the lower one, in panels, so that no second matrix is made."""
    d = len(matrix)
    for start in range(0, d, panel):
        stop = min(start + panel, d)
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
        corner = matrix[start:stop, start:stop]
        corner[np.tril_indices(stop - start, -1)] = corner.T[np.tril_indices(stop - start, -1)]

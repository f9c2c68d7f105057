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

The quadratic part of SemFS, as a function of the sufficient statistics, and the exact step for the weights.

| paper (SemFS) | here  | shape  | meaning                                                |
|---------------|-------|--------|--------------------------------------------------------|
| s             | s     | (d,)   | importance of each feature, >= 0                       |
| W             | W     | (d, m) | weights; rows with s_i = 0 are 0                       |
|               | U     | (d, m) | diag(s) W, the only way in which s and W meet the data |
| alpha         | alpha |        | weight of the centre-characteristic loss (Eq. 3)       |
| gamma         | gamma |        | ridge on W                                             |
|               | H     | (d, m) | X'Y + alpha M'N Phi                                    |
|               | G     | (d, d) | X'X + alpha M'N M                                      |
|               | t     |        | (1 + alpha) |Y|^2                                      |

With them Eq. 5 is   J = t - 2 <H, U> + <U, G U> + gamma |W|^2.

For class signatures H = (1 + alpha) M'N Phi and G = S_w + (1 + alpha) M'N M, with S_w the within-class scatter: apart
from the factor 1 + alpha, alpha divides S_w and gamma, and does nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from zslplat.data.store.rows import blocks_of, rowwise
from zslplat.errors import DataError, MethodError
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


@dataclass(frozen=True)
class Regression:
    """Eq. 5 without its ridge, for one alpha: what the solvers ask of G, which is never held beside the statistics.

    ``class_targets`` (c, m): Phi, or the class means of row signatures; ``diagonal`` (d,): that of G.
    """

    statistics: Mapping[str, np.ndarray]
    class_targets: np.ndarray
    alpha: float
    H: np.ndarray
    t: float
    diagonal: np.ndarray

    @classmethod
    def build(
        cls, statistics: Mapping[str, np.ndarray], phi: np.ndarray, alpha: float, *, products: np.ndarray | None = None
    ) -> Regression:
        """Combine statistics with class targets phi (c, m); row signatures in the statistics take their place.

        ``products``: M'N Phi (d, m) where it is at hand, see :func:`class_products`.
        """
        counts, means = statistics["counts"], statistics["means"]
        by_row = "cross" in statistics
        targets = np.asarray(statistics["class_signatures"] if by_row else phi, dtype=np.float64)
        of_classes = class_products(statistics, targets) if products is None else products
        if by_row:
            H = statistics["cross"] + alpha * of_classes
            square = float(np.trace(statistics["signature_gram"]))
        else:
            H = (1 + alpha) * of_classes
            square = float(counts @ np.einsum("ij,ij->i", targets, targets))
        if has_gram(statistics):
            diagonal = np.array(np.diagonal(statistics["gram"]))
        else:
            diagonal = np.einsum("ij,ij->j", statistics["rows"], statistics["rows"])
        if alpha:
            diagonal += alpha * np.einsum("i,ij,ij->j", counts, means, means, optimize=False)
        return cls(statistics, targets, alpha, H, (1 + alpha) * square, diagonal)

    def with_target(self, T: np.ndarray) -> Regression:
        """Return the same regression for the target Y T, with T (m, r)."""
        statistics, targets = self.statistics, self.class_targets @ T
        if "cross" in statistics:
            square = float(np.vdot(T, statistics["signature_gram"] @ T))
            if "row_signatures" in statistics:
                statistics = {**statistics, "row_signatures": statistics["row_signatures"] @ T}
        else:
            square = float(statistics["counts"] @ np.einsum("ij,ij->i", targets, targets))
        t = (1 + self.alpha) * square
        return replace(self, statistics=statistics, class_targets=targets, H=self.H @ T, t=t)

    @property
    def unit(self) -> float:
        """The mean diagonal entry of G: the unit of a scale-free gamma."""
        return max(float(self.diagonal.mean()), np.finfo(np.float64).tiny)

    @property
    def stacked(self) -> tuple[np.ndarray, np.ndarray]:
        """R = [X; sqrt(alpha N) M] and T = [Y; sqrt(alpha N) Phi], where rows are kept: G = R'R, H = R'T."""
        statistics = self.statistics
        if has_gram(statistics):
            raise MethodError("the dual form needs the rows; these statistics hold the Gram matrix")
        root = np.sqrt(self.alpha * statistics["counts"])[:, None]
        Y = statistics["row_signatures"] if "cross" in statistics else self.class_targets[statistics["labels"]]
        R = np.vstack([statistics["rows"], root * statistics["means"]])
        return R, np.vstack([Y, root * self.class_targets])

    def block(self, active: np.ndarray) -> np.ndarray:
        """Return G restricted to the active features, (a, a), as a new array."""
        return self._gram(active, self.alpha)

    def columns(self, features: np.ndarray) -> np.ndarray:
        """Return G[:, features]' (b, d), as a new array."""
        counts, means = self.statistics["counts"], self.statistics["means"]
        if has_gram(self.statistics):
            # Rows of a symmetric matrix are its columns, and lie together in memory.
            part = np.array(self.statistics["gram"][features])
        else:
            rows = self.statistics["rows"]
            part = rows[:, features].T @ rows
        if self.alpha:
            part += (self.alpha * counts[:, None] * means[:, features]).T @ means
        return part

    def product(self, active: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Return G[:, active] U (d, m) for the rows U (a, m) of the active features."""
        counts, means = self.statistics["counts"], self.statistics["means"]
        centres = self.alpha * (means.T @ (counts[:, None] * (means[:, active] @ U)))
        if has_gram(self.statistics):
            gram = self.statistics["gram"]
            return np.asarray(centres + (gram if _is_everything(active, len(gram)) else gram[active].T) @ U)
        rows = self.statistics["rows"]
        return np.asarray(centres + rows.T @ (rows[:, active] @ U))

    def loss(self, active: np.ndarray, U: np.ndarray) -> float:
        """Return t - 2 <H, U> + <U, G U> for the rows U (a, m) of the active features."""
        return self.t - 2 * float(np.vdot(self.H[active], U)) + float(np.vdot(U, self.block(active) @ U))

    def weights(self, s: np.ndarray, gamma: float, form: str = "auto") -> tuple[np.ndarray, np.ndarray]:
        """Solve Eq. 8 for fixed s: return the features with s > 0 (a,) and their rows of W (a, m).

        ``form``: ``primal`` (a x a system), ``dual`` (n + c rows), ``class`` (c right-hand sides, class signatures
        only); ``auto`` takes the cheapest that the statistics allow. Raises :class:`MethodError` where the system is
        singular.
        """
        active = np.flatnonzero(s > 0)
        if form == "auto":
            form = self._cheapest(len(active))
        solve = {"primal": self._primal, "dual": self._dual, "class": self._class}[form]
        try:
            return active, solve(active, s[active], gamma)
        except linalg.LinAlgError:
            raise MethodError(f"the weights have no unique solution for gamma={gamma:g}; use a larger gamma") from None

    def _cheapest(self, a: int) -> str:
        n_rows = None if has_gram(self.statistics) else len(self.statistics["rows"]) + len(self.class_targets)
        if n_rows is not None and n_rows < a:
            return "dual"
        classes, m = self.class_targets.shape
        return "class" if "cross" not in self.statistics and classes < m else "primal"

    def _primal(self, active: np.ndarray, s: np.ndarray, gamma: float) -> np.ndarray:
        """(S G S + gamma I) W = S H (Eq. 8), one Cholesky factorisation of a^3 / 3."""
        return _solve(_scaled(self.block(active), s, gamma), s[:, None] * self.H[active])

    def _dual(self, active: np.ndarray, s: np.ndarray, gamma: float) -> np.ndarray:
        """W = S R' (R S^2 R' + gamma I)^-1 T."""
        R, T = self.stacked
        scaled = R[:, active] * s
        K = scaled @ scaled.T
        K[np.diag_indices_from(K)] += gamma
        return np.asarray(scaled.T @ _solve(K, T))

    def _class(self, active: np.ndarray, s: np.ndarray, gamma: float) -> np.ndarray:
        """T_s = S S_w S + gamma I, P = T_s^-1 S M', W = P [((1 + alpha) N)^-1 + M S P]^-1 Phi."""
        if "cross" in self.statistics:
            raise MethodError("the class form needs class signatures; these statistics hold row signatures")
        centres = self.statistics["means"][:, active] * s
        within = self._gram(active, -1.0)
        P = _solve(_scaled(within, s, gamma), centres.T)
        inner = centres @ P
        inner[np.diag_indices_from(inner)] += 1 / ((1 + self.alpha) * self.statistics["counts"])
        return np.asarray(P @ _solve(inner, self.class_targets))

    def _gram(self, features: np.ndarray, centre_weight: float) -> np.ndarray:
        if has_gram(self.statistics):
            gram = self.statistics["gram"]
            block = (
                np.array(gram) if _is_everything(features, len(gram)) else np.asarray(gram[np.ix_(features, features)])
            )
        else:
            rows = self.statistics["rows"]
            block = rows[:, features].T @ rows[:, features]
        if centre_weight:
            means, counts = self.statistics["means"], self.statistics["counts"]
            _add_product(block, means[:, features], centre_weight * counts)
        return block


def class_products(statistics: Mapping[str, np.ndarray], phi: np.ndarray) -> np.ndarray:
    """Return M'N Phi (d, m)."""
    return np.asarray(statistics["means"].T @ (statistics["counts"][:, None] * phi))


def _is_everything(features: np.ndarray, d: int) -> bool:
    return len(features) == d and bool(np.array_equal(features, np.arange(d)))


def _add_product(block: np.ndarray, rows: np.ndarray, weights: np.ndarray, panel: int = 512) -> None:
    """Add rows' diag(weights) rows to ``block`` in panels, so that no second matrix of its size is made."""
    weighted = weights[:, None] * rows
    for start in range(0, len(block), panel):
        block[start : start + panel] += rows[:, start : start + panel].T @ weighted


def _scaled(block: np.ndarray, s: np.ndarray, gamma: float) -> np.ndarray:
    """Turn ``block`` into S block S + gamma I, in place."""
    block *= s
    block *= s[:, None]
    block[np.diag_indices_from(block)] += gamma
    return block


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve a symmetric positive definite system; ``matrix`` is overwritten."""
    # The transpose of a symmetric C-ordered matrix is itself in the order that LAPACK overwrites without a copy.
    factor = linalg.cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))

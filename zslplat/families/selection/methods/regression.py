"""The quadratic part of SemFS, as a function of the sufficient statistics, and the exact step for the weights.

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

import numpy as np
from scipy import linalg

from zslplat.errors import MethodError
from zslplat.families.selection.methods.statistics import has_gram


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

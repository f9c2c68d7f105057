"""Kernel ESZSL: the bilinear compatibility of ESZSL in the feature space of any positive semidefinite kernel.

Romera-Paredes and Torr, An embarrassingly simple approach to zero-shot learning, ICML 2015, section 3.2.

| paper | here | shape | meaning |
|---|---|---|---|
| K | K | (n, n) | Gram matrix of the training rows |
| Y | Y | (n, c) | labels, {0, 1} or {-1, 1} |
| S' | S | (c, a) | signatures of the seen classes |
| A | | (n, a) | coefficients: score of x against s is k(x) A s' |
| gamma, lambda | alpha, gamma | | ridges on the feature and on the signature side |

A = (K K + alpha K)^-1 K Y S (S'S + gamma I)^-1, which is (K + alpha I)^-1 Y S (S'S + gamma I)^-1 where K is
invertible, and scores the same where it is not. With K = U diag(w) U' and S'S = R diag(t) R' every pair of ridges is
a division:

    score = phi(x) C [ (T S R) / ((w + alpha) (t + gamma)') ] R' s'

with phi(x) = k(x, X), C = U, T = U'Y. Beyond ``exact_rows`` rows the kernel is replaced by low-rank features B
(pivoted incomplete Cholesky), B'B = Q diag(w) Q', phi(x) the coordinates of x, C = Q, T = Q'B'Y: the same formula.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import linalg

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import Rows, rowwise
from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.spectral import gathered
from zslplat.kernels.base import Kernel
from zslplat.kernels.expression import parse_kernel
from zslplat.kernels.low_rank import ROWS_AT_A_TIME, incomplete_cholesky
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.methods.rows import row_keys
from zslplat.space import POSITIVE, Choice, Integer, Real, Space, Text, parameter

# Candidates per block of pivots: matrix products instead of vector ones.
_PIVOT_BLOCK = 64


def solve(
    values: np.ndarray, directions: np.ndarray, sums: np.ndarray, S: np.ndarray, alpha: float, gamma: float
) -> np.ndarray:
    """Return the coefficients (p, a), so that a score is phi(x) @ coefficients @ s'; float64.

    ``values`` w (r,), ``directions`` C (p, r), ``sums`` T (r, c), ``S`` (c, a), absolute ridges.
    """
    t, R = linalg.eigh(S.T @ S)
    inner = (sums @ (S @ R)) / ((values + alpha)[:, None] * (np.maximum(t, 0) + gamma))
    return np.asarray((directions @ inner) @ R.T)


class KernelESZSL(KernelMethod, ZeroShotMethod):
    r"""ESZSL with a kernel on the features, in closed form.

    ``alpha`` and ``gamma`` are in units of the mean non-zero eigenvalue of K and the mean eigenvalue of S'S
    (``scale="mean"``) or absolute. Up to ``exact_rows`` training rows the Gram matrix is used as it is, beyond that
    ``rank`` low-rank features. The decomposition is prepared once where the kernel is not searched. Learned:
    ``coefficients_`` (n or rank, a) and ``kernel_``. Everything in float64. Not tagged ``stationary``: the coefficients
    are, but the tag speaks of all matrices that are listed, and landmarks are rows that nothing was minimised over.

    Equations
    ---------
    The compatibility of ``eszsl`` in the feature space of a kernel with the Gram matrix K:

    $$A = (K + \alpha I)^{-1} Y S\, (S^\top S + \gamma I)^{-1}, \qquad F(x, c) = k(x, X)\, A\, s_c$$

    Related
    -------
    ``eszsl`` is the linear form; ``zskl`` puts the kernel between rows and signatures.
    """

    summary = "ESZSL with any positive semidefinite kernel, closed form"
    citation = "Romera-Paredes, Torr: An embarrassingly simple approach to zero-shot learning. ICML 2015"
    tags = ("inductive", "kernel", "closed form")
    preprocessing = Preprocessing(features=("center", "l2"), signatures=("center", "l2"))
    tolerance = 1e-5
    tolerance_reason = "small eigenvalues of K are known to rounding only, and are divided by"
    takes_blocks = True
    measures = ("rank",)
    kernel = parameter("kernel expression, or any (all that fit)", Text(), default="gaussian(sigma=0.7*median)")
    alpha = parameter("ridge on the feature side", POSITIVE, Real(1e-3, 1e3, log=True), default=1.0)
    gamma = parameter("ridge on the signature side", POSITIVE, Real(1e-3, 1e3, log=True), default=1.0)
    labels = parameter("label coding: {-1, 1} or {0, 1}", Choice(("signed", "binary")), default="binary")
    scale = parameter("unit of the ridges: mean eigenvalue, or absolute", Choice(("mean", "absolute")), default="mean")
    rank = parameter("number of low-rank features beyond exact_rows", Integer(1), default=500)
    exact_rows = parameter("most training rows for which the whole Gram matrix is decomposed", Integer(0), default=3000)

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the eigendecomposition of K (or of B'B), unless the kernel itself is searched."""
        if any(name == "kernel" or name.startswith("kernel.") for name in space):
            return {}
        exact = len(X) <= self.exact_rows
        check_fit_inputs(X, y, S, read=exact)
        # Many kernels have a constant diagonal: the first pivots go by the place of the rows.
        order = None if exact else np.argsort(row_keys("X", X), kind="stable")
        # So few rows may be gathered, as all of them are landmarks; more are read block by block, for scales, too.
        X = cast(np.ndarray, gathered(X) if exact else X)
        kernel = self.parsed_kernel().resolved(X)
        arrays: Arrays = {"kernel": np.array(str(kernel))}
        if order is None:
            landmarks, Z = X, kernel(np.asarray(X, dtype=np.float64))
        else:
            ordered = X.take(order) if isinstance(X, Rows) else X[order]
            features = incomplete_cholesky(kernel, ordered, rank=self.rank, block=_PIVOT_BLOCK)
            B, landmarks = features.features, features.landmarks
            Z, by_class = B.T @ B, spectral.class_sums(B, y[order], len(S))
            arrays |= {"factor": features.factor, "residual": np.asarray(features.residual)}
        values, directions = linalg.eigh(Z, driver="evd", check_finite=False)
        positive = values > 1e-10 * values.max(initial=0.0)
        if not positive.any():
            raise MethodError(f"kernel {kernel} is zero on all training rows; use another kernel or other features")
        directions = directions[:, positive]
        return arrays | {
            "landmarks": np.asarray(landmarks),
            "values": values[positive],
            "directions": directions,
            "sums": (spectral.class_sums(directions, y, len(S)) if order is None else by_class @ directions).T,
        }

    def _fit(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        self.kernel_: Kernel = self.parsed_kernel().replaced(parse_kernel(str(statistics["kernel"])).values)
        self.landmarks_ = np.asarray(statistics["landmarks"])
        self.factor_ = statistics.get("factor")
        values, S = np.asarray(statistics["values"]), np.asarray(S, dtype=np.float64)
        sums = np.asarray(statistics["sums"])
        if self.labels == "signed":
            sums = 2 * sums - sums.sum(axis=1, keepdims=True)
        alpha, gamma = self.alpha, self.gamma
        if self.scale == "mean":
            alpha *= float(values.mean())
            gamma *= float(np.einsum("ij,ij->", S, S)) / S.shape[1]
        self.coefficients_ = solve(values, np.asarray(statistics["directions"]), sums, S, alpha, gamma)
        numbers = {"rank": float(len(values)), "alpha_absolute": alpha, "gamma_absolute": gamma}
        if "residual" in statistics:
            numbers["residual"] = float(statistics["residual"])
        self.diagnostics_ = Diagnostics(numbers=numbers | self.resolved_numbers(self.kernel_))

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the scores (n, c) of rows X (n, d) against signatures S (c, a)."""
        weights = self.coefficients_ @ np.asarray(S, dtype=np.float64).T
        landmarks = np.asarray(self.landmarks_, dtype=np.float64)
        if self.factor_ is not None:
            weights = linalg.solve_triangular(self.factor_, weights, lower=True, trans="T")

        def scored(rows: np.ndarray) -> np.ndarray:
            scores = np.empty((len(rows), len(S)))
            for part, K in self.kernel_.blocks(rows, landmarks, rows=ROWS_AT_A_TIME):
                scores[part] = K @ weights
            return scores

        return rowwise(X, scored)

    def matrices(self) -> Arrays:
        """Return the coefficients and the rows that they belong to."""
        arrays = {"coefficients": self.coefficients_, "landmarks": self.landmarks_}
        return arrays if self.factor_ is None else {**arrays, "factor": np.asarray(self.factor_)}

"""Label-consistent K-SVD: a dictionary for sparse codes that tell the classes apart, with a linear classifier.

| paper        | here              | shape        | meaning                                                        |
|--------------|-------------------|--------------|----------------------------------------------------------------|
| Y            | X                 | (M, d)       | training samples                                               |
| D            | dictionary_       | (N, d)       | atoms of unit length                                           |
| X            | codes_            | (M, N)       | codes with at most T non-zeros                                 |
| Q            | Q                 | (M, N)       | 1 where atom and sample are of one class                       |
| H            | L                 | (M, c)       | class indicators                                               |
| A            | transform_        | (N, N)       | codes to Q                                                     |
| W            | classifier_       | (c, N)       | codes to H                                                     |
| alpha, beta  | alpha, beta       |              | weights of |Q - A X|^2 and |H - W X|^2                          |

Jiang, Lin, Davis, "Label Consistent K-SVD: Learning a Discriminative Dictionary for Recognition". The three terms are
one K-SVD on [X, sqrt(alpha) Q, sqrt(beta) H]; atoms are then split, and scaled to unit length in feature space.

Orthogonal matching pursuit on the Gram matrix, for many queries at once.

| symbol | here  | shape  | meaning                                                       |
|--------|-------|--------|---------------------------------------------------------------|
| D'D    | K     | (N, N) | Gram matrix of atoms of unit length                           |
| D'x    | k     | (n, N) | inner products of queries and atoms                           |
| y      | codes | (n, N) | at most T non-zeros per row                                   |

Rubinstein, Zibulevsky, Elad, "Efficient Implementation of the K-SVD Algorithm using Batch Orthogonal Matching
Pursuit": the atom of largest correlation joins, all coefficients are fitted anew by a growing Cholesky factor.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from zslplat.errors import DataError
from zslplat.families.coding.methods.base import CodingMethod, check_coding_inputs, indicators
from zslplat.families.coding.methods.classifiers import fit_linear
from zslplat.families.coding.methods.dictionary import choose_rows
from zslplat.kernels.scales import mean_square
from zslplat.methods.base import Arrays, Diagnostics, Statistics
from zslplat.methods.compiled import compiled
from zslplat.metrics.accuracy import look_at_codes
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Optional, Real, parameter


def pursuit_codes(K: np.ndarray, k: np.ndarray, nonzeros: int) -> np.ndarray:
    """Return codes (n, N) with at most ``nonzeros`` non-zeros per row, in float64."""
    codes = np.zeros(k.shape)
    _pursue(np.require(K, np.float64, ["C", "W"]), np.require(k, np.float64, ["C", "W"]), min(nonzeros, len(K)), codes)
    return codes


@compiled(fastmath={"reassoc", "contract", "nsz"}, nogil=True, error_model="numpy")
def _pursue(K: np.ndarray, k: np.ndarray, nonzeros: int, codes: np.ndarray) -> None:
    n_atoms = len(K)
    L = np.empty((nonzeros, nonzeros))
    chosen = np.empty(nonzeros, np.int64)
    z, y, q = np.empty(nonzeros), np.empty(nonzeros), np.empty(n_atoms)
    for i in range(len(k)):
        q[:] = k[i]
        a = 0
        while a < nonzeros:
            best, size = -1, 1e-12
            for j in range(n_atoms):
                if abs(q[j]) > size:
                    best, size = j, abs(q[j])
            if best < 0:
                break
            pivot = K[best, best]
            for p in range(a):
                total = K[best, chosen[p]]
                for s in range(p):
                    total -= L[a, s] * L[p, s]
                L[a, p] = total / L[p, p]
                pivot -= L[a, p] ** 2
            if pivot <= 1e-12 * K[best, best]:
                break
            L[a, a] = np.sqrt(pivot)
            total = k[i, best]
            for s in range(a):
                total -= L[a, s] * z[s]
            z[a] = total / L[a, a]
            chosen[a] = best
            a += 1
            for p in range(a - 1, -1, -1):
                total = z[p]
                for s in range(p + 1, a):
                    total -= L[s, p] * y[s]
                y[p] = total / L[p, p]
            q[:] = k[i]
            for p in range(a):
                row, value = K[chosen[p]], y[p]
                for j in range(n_atoms):
                    q[j] -= value * row[j]
            for p in range(a):
                q[chosen[p]] = 0.0
        for p in range(a):
            codes[i, chosen[p]] = y[p]


class LCKSVD(CodingMethod):
    r"""LC-KSVD on vectors: K-SVD on samples, discriminative codes and labels together, linear classifier.

    Not tagged ``stationary``: which atoms a code uses is chosen greedily, and rounds end after ``iterations``.

    Equations
    ---------
    Atoms, codes and classifier are one K-SVD problem; codes have at most T entries (in the paper's columns):

    $$\min_{D, A, W, X} \lVert Y - D X \rVert^2 + \alpha \lVert Q - A X \rVert^2 + \beta \lVert H - W X \rVert^2 \quad
    \text{with } \lVert x_i \rVert_0 \le T$$

    Related
    -------
    ``l-sksc`` and ``l-skllc`` learn codes and classifier together in the space of a kernel; ``sc`` learns no
    classifier.
    """

    summary = "label-consistent K-SVD"
    citation = "Jiang, Lin, Davis, Label Consistent K-SVD (PAMI 2013)"
    tags = ("baseline", "supervised")
    objective_may_rise = "codes are chosen anew by a greedy pursuit in every round, which may choose worse atoms"
    tolerance = 1e-4
    tolerance_reason = "matching pursuit decides between nearly equal correlations by rounding"
    atoms = parameter("number of atoms; none for all samples", Optional(Integer(1)), default=None)
    nonzeros = parameter("non-zeros per code", Integer(1), Integer(5, 60, log=True), default=30)
    alpha = parameter("weight of label consistency", NON_NEGATIVE, Real(1e-3, 10, log=True), default=0.1)
    beta = parameter("weight of the classifier", NON_NEGATIVE, Real(1e-3, 10, log=True), default=0.1)
    rho = parameter("ridge of the linear maps that start the iteration", POSITIVE, default=1e-4)
    scale = parameter("unit of alpha and beta: mean squared length, or 1", Choice(("mean", "absolute")), default="mean")
    iterations = parameter("rounds of K-SVD", Integer(0), default=10)
    seed = parameter("draws the first atoms", Integer(0), default=0)

    @property
    def is_random(self) -> bool:
        """The first atoms are drawn, unless they are all samples."""
        return self.atoms is not None

    def fit(self, X: np.ndarray, y: np.ndarray, *, statistics: Statistics = None) -> Self:
        """Fit on rows X (M, d) and labels y (M,) in 0..c-1."""
        check_coding_inputs(X, y)
        self.unit_ = np.sqrt(mean_square(_vectors(X))) if self.scale == "mean" else 1.0
        X = _vectors(X) / self.unit_
        L = indicators(y, int(y.max()) + 1)
        rows = choose_rows("class-samples", np.zeros((len(y), len(y))), y, self.atoms, self.seed)
        D = _unit(X[rows])
        Y = pursuit_codes(D @ D.T, X @ D.T, self.nonzeros)
        Q = (y[:, None] == y[rows][None, :]).astype(np.float64)
        A, W = fit_linear(Y, Q, 1.0, self.rho), fit_linear(Y, L, 1.0, self.rho)
        a, b = np.sqrt(self.alpha), np.sqrt(self.beta)
        target = np.hstack([X, a * Q, b * L])
        stacked = _unit(np.hstack([D, a * A.T, b * W.T]))
        objective = []
        for _ in range(self.iterations):
            Y = pursuit_codes(stacked @ stacked.T, target @ stacked.T, self.nonzeros)
            stacked, Y = _update_atoms(stacked, Y, target)
            objective.append(float(((target - Y @ stacked) ** 2).sum() / len(y)))
        d = X.shape[1]
        lengths = np.maximum(np.linalg.norm(stacked[:, :d], axis=1, keepdims=True), np.finfo(np.float64).tiny)
        self.dictionary_ = stacked[:, :d] / lengths
        self.transform_ = (stacked[:, d : d + len(rows)] / (lengths * a)).T if a > 0 else A
        self.classifier_ = (stacked[:, d + len(rows) :] / (lengths * b)).T if b > 0 else W
        self.codes_ = self._encode(X)
        self.diagnostics_ = Diagnostics({"objective": objective}, {"root mean square length": float(self.unit_)})
        return self

    def transform(self, X: np.ndarray, *, statistics: Statistics = None) -> np.ndarray:
        """Return the codes (n, N) of rows X (n, d)."""
        return self._encode(_vectors(X) / self.unit_)

    def decision_function(self, X: np.ndarray, *, statistics: Statistics = None) -> np.ndarray:
        """Return scores (n, c), higher for likelier classes."""
        if not np.isfinite(X).all():
            raise DataError("X holds NaN or infinity")
        codes = self.transform(X)
        look_at_codes(codes)
        return np.asarray(codes @ self.classifier_.T)

    def matrices(self) -> Arrays:
        """Return dictionary, training codes, label-consistent transform and classifier."""
        return {
            "dictionary": self.dictionary_,
            "codes": self.codes_,
            "transform": self.transform_,
            "classifier": self.classifier_,
        }

    def _encode(self, X: np.ndarray) -> np.ndarray:
        D = self.dictionary_
        return pursuit_codes(D @ D.T, X @ D.T, self.nonzeros)


def _update_atoms(D: np.ndarray, Y: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One sweep of approximate K-SVD: each atom and its codes by one power step on the error of its own rows."""
    D, Y = D.copy(), Y.copy()
    for j in range(len(D)):
        rows = np.flatnonzero(Y[:, j])
        if not len(rows):
            worst = int(np.argmax(((target - Y @ D) ** 2).sum(axis=1)))
            D[j] = target[worst] / max(float(np.linalg.norm(target[worst])), np.finfo(np.float64).tiny)
            continue
        codes = Y[rows]
        y = codes[:, j]
        # Error of these rows without atom j, times y: E'y.
        atom = target[rows].T @ y - D.T @ (codes.T @ y) + D[j] * (y @ y)
        length = float(np.linalg.norm(atom))
        if length == 0:
            continue
        atom /= length
        Y[rows, j] = target[rows] @ atom - codes @ (D @ atom) + y * float(D[j] @ atom)
        D[j] = atom
    return D, Y


def _unit(D: np.ndarray) -> np.ndarray:
    return np.asarray(D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), np.finfo(np.float64).tiny))


def _vectors(X: np.ndarray) -> np.ndarray:
    return np.asarray(X, dtype=np.float64).reshape(len(X), -1)

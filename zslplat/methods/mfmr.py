"""MFMR: learn a non-negative projection by tri-factorisation, compare in feature space or signature space.

Xu, Shen, Yang, Zhang, Shen and Song, "Matrix Tri-Factorization with Manifold Regularizations for Zero-shot
Learning", CVPR 2017: Eqs. 7, 9, 10 and Algorithm 1. Rows are samples here.

========  ===========  ==========  ============================================================================
paper     here         shape       meaning
========  ===========  ==========  ============================================================================
X_s'      X            (n, d)      features of seen classes, non-negative, rows of unit length
A_s'      S            (c, a)      signatures of seen classes, non-negative
Y_s       Y            (n, c)      labels, one-hot; enters only through class sums and counts
U         U            (d, a)      projection: U s is the feature vector that signature s promises
W^F       W            (d, d)      graph of the features (columns of X), k nearest by cosine
lambda    lam          scalar      weight of the feature graph
========  ===========  ==========  ============================================================================

An update of U touches (d, a) and (a, a) matrices and the sparse graph: X enters through Y'X, the counts and |X|^2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zslplat.data.preprocessing import Preprocessing
from zslplat.errors import MethodError
from zslplat.methods import spectral
from zslplat.methods.base import Arrays, Diagnostics, ZeroShotMethod, check_fit_inputs
from zslplat.methods.factorisation import Factorisation, factorise
from zslplat.methods.neighbours import affinity, nearest
from zslplat.space import NON_NEGATIVE, Choice, Integer, Optional, Parameter, Real, Space


def learn_projection(
    statistics: Mapping[str, np.ndarray],
    S: np.ndarray,
    *,
    lam: float,
    k: int,
    start: np.ndarray,
    iterations: int,
    tolerance: float,
    normalise: bool,
) -> Factorisation:
    """Minimise Eq. 7 over U (d, a) by Eq. 9 from ``start``; ``statistics`` as :meth:`MFMR.prepare_fit` gives them."""
    linear = statistics["class_sums"].T @ S  # X'Y S
    gram = (S.T * statistics["class_counts"]) @ S  # S'Y'Y S
    W = affinity(statistics["feature_neighbours"], statistics["feature_cosines"], k)
    return factorise(
        start,
        linear,
        gram,
        W,
        lam,
        float(statistics["squared_length"]),
        iterations=iterations,
        tolerance=tolerance,
        normalise=normalise,
    )


class MFMR(ZeroShotMethod):
    """Matrix tri-factorisation with manifold regularisation, common prediction scheme (Xu et al., 2017).

    ``variant="paper"`` follows Algorithm 1: random positive start, columns of U scaled to sum 1 after each update,
    rows projected by the pseudo-inverse of U and compared with signatures by cosine. Learned: ``U_`` (d, a),
    ``mean_`` (d,); ``diagnostics_`` holds the objective of every iteration.
    """

    summary = "non-negative tri-factorisation with a feature graph, common prediction scheme"
    citation = (
        "Xu, Shen, Yang, Zhang, Shen, Song: Matrix tri-factorization with manifold regularizations for zero-shot "
        "learning. CVPR 2017"
    )
    tags = ("inductive", "linear", "non-negative", "graph")
    preprocessing = Preprocessing(features=("split", "l2"), signatures=("unit",))
    random = True
    tolerance = 1e-2
    tolerance_reason = "neighbours whose cosines differ in the last digits of float32 change places"
    parameters = {
        "lam": Parameter("weight of the feature graph", NON_NEGATIVE, Real(1e-3, 1e3, log=True)),
        "k": Parameter("neighbours in both graphs", Integer(1), Integer(3, 40, log=True)),
        "k_features": Parameter("neighbours in the feature graph, instead of k", Optional(Integer(1))),
        "iterations": Parameter("largest number of updates", Integer(1)),
        "converged_at": Parameter("stop when an update changes the objective by this fraction", NON_NEGATIVE),
        "variant": Parameter("best: as improved here; paper: as printed", Choice(("best", "paper"))),
        "seed": Parameter("seed of the random start", Integer(0)),
    }

    def __init__(
        self,
        lam: float = 1.0,
        k: int = 10,
        k_features: int | None = None,
        iterations: int = 200,
        converged_at: float = 1e-6,
        variant: str = "best",
        seed: int = 0,
    ) -> None:
        self.lam = lam
        self.k = k
        self.k_features = k_features
        self.iterations = iterations
        self.converged_at = converged_at
        self.variant = variant
        self.seed = seed

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return class sums, and for every feature its nearest others for the largest k that is searched."""
        check_fit_inputs(X, y, S)
        require_non_negative("features", X)
        require_non_negative("signatures", S)
        index, cosine = nearest(X, self._most_neighbours(space, "k_features"), axis=1)
        return {
            "class_sums": spectral.class_sums(X, y, len(S)),
            "class_counts": spectral.class_counts(y, len(S)),
            "squared_length": np.einsum("ij,ij->", X, X, dtype=np.float64),
            "feature_neighbours": index,
            "feature_cosines": cosine,
        }

    def fit(
        self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None
    ) -> MFMR:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a), all non-negative."""
        if statistics is None:
            statistics = self.prepare_fit(X, y, S, space={})
        S = np.asarray(S, dtype=np.float64)
        d, a = X.shape[1], S.shape[1]
        if self.variant == "paper":
            start = np.random.default_rng([self.seed, 0]).uniform(0.1, 1.0, (d, a))
        else:
            # Scaled so that Y S U' has the size of X: no update is spent on scale, and nothing is random.
            sums = statistics["class_sums"]
            start = np.repeat(sums.sum(axis=0)[:, None], a, axis=1) + 1e-3 * sums.mean()
            start *= np.vdot(sums, S @ start.T) / np.vdot((S.T * statistics["class_counts"]) @ S, start.T @ start)
        solution = learn_projection(
            statistics,
            S,
            lam=self.lam,
            k=self.k_features or self.k,
            start=start,
            iterations=self.iterations,
            tolerance=self.converged_at,
            normalise=self.variant == "paper",
        )
        self.U_ = solution.factor
        self.mean_ = statistics["class_sums"].sum(axis=0) / statistics["class_counts"].sum()
        self.diagnostics_ = Diagnostics(
            series={"objective": solution.objective},
            numbers={"converged": float(solution.converged), "updates": float(len(solution.objective) - 1)},
        )
        return self

    def decision_function(
        self,
        X: np.ndarray,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the cosine of every row of X (n, d) with every signature of S (c, a)."""
        return self._common_scores(X, S)

    def project(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of X (n, d) in signature space (n, a), by the pseudo-inverse of U (Eq. 10)."""
        return np.asarray(X @ np.linalg.pinv(self.U_).T.astype(X.dtype))

    def matrices(self) -> Arrays:
        """Return U (d, a)."""
        return {"U": self.U_}

    def _common_scores(self, X: np.ndarray, S: np.ndarray) -> np.ndarray:
        if self.variant == "paper":
            return np.asarray(_unit_rows(self.project(X)) @ _unit_rows(S.astype(X.dtype)).T)
        promised = _unit_rows(np.asarray(S, dtype=np.float64) @ self.U_.T)
        promised = promised - promised.mean(axis=0)
        return np.asarray(_unit_rows(X - self.mean_.astype(X.dtype)) @ _unit_rows(promised).T.astype(X.dtype))

    def _most_neighbours(self, space: Space, own: str) -> int:
        """Return the largest k that trials can ask of one graph: of its own parameter, else of ``k``."""
        name = own if own in space or getattr(self, own) is not None else "k"
        if name not in space:
            return int(getattr(self, name))
        dimension = space[name]
        if isinstance(dimension, Choice):
            return max(int(value) for value in dimension.values if value is not None)
        return int(dimension.high)


def require_non_negative(what: str, values: np.ndarray) -> None:
    """Raise :class:`MethodError` where a matrix that is to be factorised has a negative entry."""
    low = float(values.min()) if values.size else 0.0
    if low < 0:
        raise MethodError(
            f"{what} reach down to {low:.3g}; MFMR needs them non-negative: preprocess with shift or split"
        )


def _unit_rows(M: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(M, axis=1, keepdims=True)
    return np.asarray(M / np.where(length > 0, length, 1))

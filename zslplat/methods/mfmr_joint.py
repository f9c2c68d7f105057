"""MFMR with the joint prediction scheme: the labels of a batch are one non-negative factor over its own graph.

Xu et al., "Matrix Tri-Factorization with Manifold Regularizations for Zero-shot Learning", CVPR 2017: Eqs. 11 to 14
and Algorithm 2. Rows are samples here; U is learned as in :mod:`zslplat.methods.mfmr`.

========  ===========  ==========  ============================================================================
paper     here         shape       meaning
========  ===========  ==========  ============================================================================
X_u'      X            (n, d)      features of the batch that is scored, non-negative, rows of unit length
A_u'      S            (c, a)      signatures that the batch may belong to
V_u       V            (n, c)      scores: row i belongs to the class of its largest entry
W^I       W            (n, n)      graph of the rows of the batch, k nearest by cosine
gamma     gamma        scalar      weight of the row graph
========  ===========  ==========  ============================================================================
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zslplat.methods.base import Arrays
from zslplat.methods.factorisation import Factorisation, factorise
from zslplat.methods.mfmr import MFMR, require_non_negative
from zslplat.methods.neighbours import affinity, nearest
from zslplat.space import NON_NEGATIVE, Integer, Optional, Parameter, Real, Space


class MFMRJoint(MFMR):
    """Matrix tri-factorisation with manifold regularisation, joint prediction scheme (Xu et al., 2017).

    The rows of a batch are scored together. ``variant="paper"`` follows Algorithm 2: random positive start, columns
    of V scaled to sum 1 after each update. Learned: ``U_`` (d, a); ``V_`` (n, c) of the last scored batch.
    """

    summary = "non-negative tri-factorisation with graphs over features and over the scored batch"
    tags = ("transductive", "linear", "non-negative", "graph")
    transductive = True
    parameters = {
        **MFMR.parameters,
        "k_instances": Parameter("neighbours in the row graph, instead of k", Optional(Integer(1))),
        "gamma": Parameter("weight of the row graph", NON_NEGATIVE, Real(1e-3, 1e3, log=True)),
    }

    def __init__(
        self,
        lam: float = 1.0,
        k: int = 10,
        k_features: int | None = None,
        k_instances: int | None = None,
        gamma: float = 1.0,
        iterations: int = 200,
        converged_at: float = 1e-6,
        variant: str = "best",
        seed: int = 0,
    ) -> None:
        super().__init__(lam, k, k_features, iterations, converged_at, variant, seed)
        self.k_instances = k_instances
        self.gamma = gamma

    def prepare_score(self, X: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return for every row of the batch its nearest others for the largest k that is searched."""
        require_non_negative("features", X)
        index, cosine = nearest(X, self._most_neighbours(space, "k_instances"))
        return {
            "row_neighbours": index,
            "row_cosines": cosine,
            "squared_length": np.einsum("ij,ij->", X, X, dtype=np.float64),
        }

    def decision_function(
        self,
        X: np.ndarray,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return V (n, c) for the batch X (n, d) and signatures S (c, a); keeps it as ``V_``."""
        if statistics is None:
            statistics = self.prepare_score(X, S, space={})
        solution = self._factorise_batch(X, np.asarray(S, dtype=np.float64), statistics)
        self.V_ = solution.factor
        self.diagnostics_.series["objective_joint"] = solution.objective
        self.diagnostics_.numbers["updates_joint"] = float(len(solution.objective) - 1)
        return self.V_

    def matrices(self) -> Arrays:
        """Return U (d, a) and, after scoring, V (n, c) of the last batch."""
        return {"U": self.U_, **({"V": self.V_} if hasattr(self, "V_") else {})}

    def _factorise_batch(self, X: np.ndarray, S: np.ndarray, statistics: Mapping[str, np.ndarray]) -> Factorisation:
        paper = self.variant == "paper"
        W = affinity(statistics["row_neighbours"], statistics["row_cosines"], self.k_instances or self.k)
        B = S @ self.U_.T  # (U A_u)', one row per class
        linear = (X @ B.T.astype(X.dtype)).astype(np.float64)  # X U S'
        gram = B @ B.T
        if paper:
            start = np.random.default_rng([self.seed, 1]).uniform(0.1, 1.0, linear.shape)
        else:
            scores = self._common_scores(X, S).astype(np.float64)
            scores = np.exp((scores - scores.max(axis=1, keepdims=True)) / 0.1)
            start = scores / scores.sum(axis=1, keepdims=True) + 1e-6
        return factorise(
            start,
            linear,
            gram,
            W,
            self.gamma,
            float(statistics["squared_length"]),
            iterations=self.iterations,
            tolerance=self.converged_at,
            normalise=paper,
        )

"""GFHF: harmonic label propagation from the signatures through the graph of the scored batch.

Zhu, Ghahramani and Lafferty, "Semi-supervised learning using Gaussian fields and harmonic functions", ICML 2003. The
labelled nodes are the classes themselves: each is placed in feature space by ridge regression from signatures.

| paper | here   | shape  | meaning                                                              |
|-------|--------|--------|----------------------------------------------------------------------|
|       | M      | (a, d) | ridge regression from signatures to (centred) features               |
| W_uu  | W      | (n, n) | cosine graph of the batch, k nearest                                 |
| W_ul  | joined | (n, c) | cosine of each class's prototype with its nearest rows               |
| f_u   | scores | (n, c) | (D_uu - W_uu)^-1 W_ul Y_l, with Y_l the identity: one node per class |
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import float_type
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.graph_smoothing import balanced, harmonic, log_shares
from zslplat.families.zero_shot.methods.ridge_prototypes import objective_value
from zslplat.methods.base import Arrays, Diagnostics, Prepared, Statistics
from zslplat.methods.neighbours import affinity, largest_k, near_rows
from zslplat.methods.rows import unit_rows
from zslplat.space import POSITIVE, Integer, Real, Space, parameter

FLOOR = 1e-3


class GFHF(ZeroShotMethod):
    """Label propagation from class prototypes through the graph of the batch (Zhu et al., 2003).

    ``alpha`` is the ridge of the regression in units of the mean curvature; ``k`` the neighbours in the graph of the
    rows, the same graph as MFMR's; ``anchors`` the number of rows that each class's vector is joined to; ``balance``
    divides each class's column by its mass to this power, class mass normalisation with equal masses at 1 (see
    :func:`zslplat.families.zero_shot.methods.graph_smoothing.balanced` for its default).
    Learned: ``M_`` (a, d), ``mean_`` (d,).

    Equations
    ---------
    The classes are labelled nodes of a graph over the rows of the batch, and labels flow along its edges until they are
    in balance:

    $$F = (D_{uu} - W_{uu})^{-1} W_{ul}$$

    W_ul joins each class, placed among the rows by ridge regression from its signature, to its nearest rows.

    Related
    -------
    ``tmv-hlp`` propagates over several views and hyperedges; ``mfmr-joint`` has a factorisation in place of the flow;
    ``eszsl-smoothed`` is the control for all three.
    """

    summary = "label propagation from the signatures through the graph of the scored batch"
    citation = "Zhu et al.: Semi-supervised learning using Gaussian fields and harmonic functions. ICML 2003"
    tags = ("transductive", "graph", "stationary")
    transductive = True
    preprocessing = Preprocessing(features=("split", "l2"), signatures=("center", "l2"))
    tolerance = 1e-2
    tolerance_reason = "neighbours whose cosines differ in the last digits of float32 change places"
    alpha = parameter("ridge from signatures to features", POSITIVE, Real(1e-3, 1e2, log=True), default=1.0)
    k = parameter("neighbours in the row graph", Integer(1), Integer(3, 40, log=True), default=10)
    anchors = parameter("rows that each class is joined to", Integer(1), Integer(3, 300, log=True), default=50)
    balance = parameter("how far the masses of classes are made equal (1: all the way)", Real(0, 1), default=0.75)

    @property
    def assumes_balance(self) -> bool:
        """Unless ``balance`` is 0."""
        return self.balance > 0

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return class sums and counts."""
        check_fit_inputs(X, y, S)
        return {"class_sums": spectral.class_sums(X, y, len(S)), "class_counts": spectral.class_counts(y, len(S))}

    def prepare_score(self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return for every row of the batch its nearest others for the largest k that is searched."""
        return near_rows(X, largest_k(space, "k", self.k))

    def _fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        S = np.asarray(S, dtype=np.float64)
        sums, counts = np.asarray(statistics["class_sums"]), statistics["class_counts"]
        self.mean_ = sums.sum(axis=0) / counts.sum()
        gram = (S.T * counts) @ S
        gram[np.diag_indices_from(gram)] += self.alpha * np.trace(gram) / len(gram)
        centred = sums - counts[:, None] * self.mean_
        self.M_ = linalg.solve(gram, S.T @ centred, assume_a="pos")

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the log-probabilities (n, c) of the batch X (n, d) for signatures S (c, a), from harmonic scores."""
        W = affinity(statistics["row_neighbours"], statistics["row_cosines"], self.k)
        self.diagnostics_ = Diagnostics()
        prototypes = np.asarray(S, dtype=np.float64) @ self.M_
        cosines = unit_rows(X - self.mean_.astype(float_type(X.dtype))) @ unit_rows(prototypes).T.astype(
            float_type(X.dtype)
        )
        F = balanced(np.maximum(harmonic(W, _joined(cosines, self.anchors), FLOOR), 0), self.balance)
        return log_shares(F)

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return the penalised squared error of the regression at the learned M, which minimises it."""
        return objective_value(X, S[y], self.M_, self.mean_, np.zeros(S.shape[1]), self.alpha)

    def matrices(self) -> Arrays:
        """Return M (a, d)."""
        return {"M": self.M_}


def _joined(cosines: np.ndarray, count: int) -> np.ndarray:
    """Keep the ``count`` largest cosines of every column where they are positive; 0 elsewhere."""
    if count < len(cosines):
        least = np.partition(cosines, len(cosines) - count, axis=0)[len(cosines) - count]
        cosines = np.where(cosines >= least, cosines, 0)
    return np.asarray(np.maximum(cosines, 0).astype(np.float64))

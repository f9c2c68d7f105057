"""ESZSL with its scores smoothed over the graph of the batch: what the graph alone is worth.

| symbol | here   | shape  | meaning                                                              |
|--------|--------|--------|----------------------------------------------------------------------|
| P      | P      | (n, c) | ESZSL's scores as probabilities: softmax of scores over their spread |
| W, D   | W      | (n, n) | cosine graph of the batch, k nearest, the same as MFMR's             |
| F      | return | (n, c) | minimiser of |F - P|^2 + smoothing tr(F'(D - W)F) / mean degree      |
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.methods.base import Arrays, Features
from zslplat.methods.near_rows import NEIGHBOURS, near_rows, note_recall
from zslplat.methods.neighbours import affinity, largest_k
from zslplat.methods.zero_shot.eszsl import ESZSL
from zslplat.methods.zero_shot.graph_smoothing import balanced, log_shares, probabilities, smooth
from zslplat.space import NON_NEGATIVE, POSITIVE, Integer, Real, Space, parameter


class SmoothedESZSL(ESZSL):
    r"""ESZSL followed by graph smoothing: the control that tells a joint method's own gain from its graph's.

    ``smoothing`` weighs the graph against 1 for a row's own scores; ``temperature`` is in units of the spread of
    scores inside a row; ``balance`` as in the joint scheme of MFMR. Learned: ``W_`` (d, a),
    stationary in the objective of ESZSL.

    Equations
    ---------
    The scores of ``eszsl``, as probabilities P, are drawn towards each other along the graph (W, D) of the batch:

    $$\min_F \lVert F - P \rVert^2 + \rho\, \frac{\operatorname{tr}(F^\top (D - W) F)}{\bar d}$$

    with rho the weight ``smoothing`` and d the mean degree.

    Related
    -------
    ``eszsl`` is what is smoothed; ``mfmr-joint``, ``gfhf`` and ``tmv-hlp`` score a batch jointly, too, and this is
    their control.
    """

    summary = "ESZSL with scores smoothed over the graph of the scored batch (control for joint methods)"
    tags = ("transductive", "graph", "control", "stationary")
    transductive = True
    takes_blocks = False  # the graph compares every row of a batch with every other
    preprocessing = Preprocessing(features=("split", "l2"), signatures=("center", "l2"))
    tolerance = 1e-2
    tolerance_reason = "neighbours whose cosines differ in the last digits of float32 change places"
    smoothing = parameter("weight of the row graph", NON_NEGATIVE, Real(1e-1, 1e2, log=True), default=10.0)
    k = parameter("neighbours in the row graph", Integer(1), Integer(3, 40, log=True), default=10)
    temperature = parameter("softness of the probabilities", POSITIVE, Real(0.1, 2, log=True), default=0.5)
    balance = parameter("how far the masses of classes are made equal (1: all the way)", Real(0, 1), default=0.75)
    neighbours = NEIGHBOURS

    @property
    def assumes_balance(self) -> bool:
        """Unless ``balance`` is 0."""
        return self.balance > 0

    def prepare_score(
        self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Mapping[str, np.ndarray] | None = None
    ) -> Arrays:
        """Return for every row of the batch its nearest others for the largest k that is searched."""
        return near_rows(X, largest_k(space, "k", self.k), self.neighbours)

    def decision_function(
        self,
        X: Features,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the log of the smoothed probabilities (n, c) of the batch X (n, d) for signatures S (c, a)."""
        X = np.asarray(X)
        if statistics is None:
            statistics = self.prepare_score(X, S, space={})
        scores = super().decision_function(X, S).astype(np.float64)
        spread = float(np.sqrt(np.mean((scores - scores.mean(axis=1, keepdims=True)) ** 2)))
        P = probabilities(scores, self.temperature * max(spread, 1e-30))
        W = affinity(statistics["row_neighbours"], statistics["row_cosines"], self.k)
        note_recall(self.diagnostics_, statistics)
        F = balanced(np.maximum(smooth(P, W, self.smoothing), 0), self.balance)
        return log_shares(F)

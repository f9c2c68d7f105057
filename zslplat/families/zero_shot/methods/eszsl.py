"""ESZSL: a bilinear compatibility in closed form.

Romera-Paredes and Torr, "An embarrassingly simple approach to zero-shot learning", ICML 2015. Rows are samples here.

| paper  | here  | shape  | meaning                                                         |
|--------|-------|--------|-----------------------------------------------------------------|
| X'     | X     | (n, d) | features                                                        |
| Y      | Y     | (n, c) | labels, {0, 1} or {-1, 1}                                       |
| S'     | S     | (c, a) | signatures of the seen classes                                  |
| V      | W     | (d, a) | the bilinear form: score of row x against signature s is x W s' |
| gamma  | alpha | scalar | ridge on the feature side                                       |
| lambda | gamma | scalar | ridge on the signature side                                     |

W = (X'X + alpha I)^-1 X'Y S (S'S + gamma I)^-1. With X'X = Q diag(f) Q' and S'S = R diag(t) R',

    W = Q [ (Q'X'Y S R) / ((f + alpha) (t + gamma)') ] R',

where only the division depends on the two hyperparameters. With n < d the directions come from XX' (n, n), whose
row space holds X'Y, so the result is the same. Q'X'Y is prepared, and W is multiplied out where it is kept only: what a
trial scores with is W s' for the candidate classes, Q times a matrix with a column for each of them.

ESZSL with its scores smoothed over the graph of the batch: what the graph alone is worth.

| symbol | here   | shape  | meaning                                                              |
|--------|--------|--------|----------------------------------------------------------------------|
| P      | P      | (n, c) | ESZSL's scores as probabilities: softmax of scores over their spread |
| W, D   | W      | (n, n) | cosine graph of the batch, k nearest, the same as MFMR's             |
| F      | return | (n, c) | minimiser of |F - P|^2 + smoothing tr(F'(D - W)F) / mean degree      |
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import linalg

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import float_type, rowwise
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import check_fit_inputs
from zslplat.families.zero_shot.methods.graph_smoothing import balanced, log_shares, probabilities, smooth
from zslplat.families.zero_shot.methods.spectral import FactoredMethod, Factors
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared, Statistics
from zslplat.methods.neighbours import affinity, largest_k, near_rows
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Real, Space, parameter


def solve(statistics: Mapping[str, np.ndarray], S: np.ndarray, alpha: float, gamma: float, labels: str) -> Factors:
    """Return the factors of W (d, a) in float64 for absolute ridges, from :meth:`ESZSL.prepare_fit`'s statistics."""
    t, R = statistics["signature_values"], statistics["signature_directions"]
    sums = np.asarray(statistics["projected_sums"])  # Y'X Q with Y in {0, 1}
    if labels == "signed":
        sums = 2 * sums - sums.sum(axis=0)  # (2Y - 1)'X Q
    inner = sums.T @ (S @ R)
    inner /= (statistics["feature_values"] + alpha)[:, None] * (t + gamma)
    return Factors(statistics["feature_directions"], inner @ R.T)


class ESZSL(FactoredMethod):
    r"""Bilinear compatibility with two ridges, in closed form (Romera-Paredes and Torr, 2015).

    ``alpha`` and ``gamma`` are in units of the mean eigenvalue of X'X and of S'S (``scale="mean"``), so that one
    range serves any number of rows and any length of features, or absolute as the authors' code has them
    (``scale="absolute"``). ``labels``: ``signed`` for {-1, 1} (the paper), ``binary`` for {0, 1} (common code).
    ``variant="paper"`` has signed labels and absolute ridges.
    Learned: ``W_`` (d, a). Accumulates in float64; scores are computed in the precision of X.

    Features are not centred. ``--features center,l2`` does so, which helps on some data sets and harms on others.

    Equations
    ---------
    The compatibility x W s' is fitted to labels with two ridges, and both have one closed form:

    $$\min_W \lVert X W S^\top - Y \rVert^2 + \alpha \lVert W S^\top \rVert^2 + \gamma \lVert X W \rVert^2 + \alpha
    \gamma \lVert W \rVert^2$$

    $$W = (X^\top X + \alpha I)^{-1} X^\top Y S\, (S^\top S + \gamma I)^{-1}$$

    Related
    -------
    ``keszsl`` is the same with any kernel; ``eszsl-smoothed`` smooths its scores over the batch; ``sae`` is a closed
    form, too, of an autoencoder; ``ale`` and ``devise`` train the same compatibility on rankings.
    """

    summary = "bilinear compatibility with two ridges, closed form"
    citation = "Romera-Paredes, Torr: An embarrassingly simple approach to zero-shot learning. ICML 2015"
    tags = ("inductive", "linear", "closed form", "stationary")
    preprocessing = Preprocessing(features=("split", "l2"), signatures=("center", "l2"))
    tolerance = 1e-4
    tolerance_reason = "float32 products inside blocks of rows depend on the order of rows"
    takes_blocks = True
    alpha = parameter("ridge on the feature side", POSITIVE, Real(1e-3, 1e3, log=True), default=1.0)
    gamma = parameter("ridge on the signature side", POSITIVE, Real(1e-3, 1e3, log=True), default=1.0)
    labels = parameter("label coding: {-1, 1} or {0, 1}", Choice(("signed", "binary")), default="binary")
    scale = parameter("unit of the ridges: mean eigenvalue, or absolute", Choice(("mean", "absolute")), default="mean")
    variant = parameter(
        "default, or paper: labels -1 and 1, absolute ridges", Choice(("default", "paper")), default="default"
    )
    variants = {"paper": {"labels": "signed", "scale": "absolute"}}

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return class sums and the eigendecompositions of X'X (or XX') and S'S."""
        check_fit_inputs(X, y, S, read=False)
        S = np.asarray(S, dtype=np.float64)
        t, R = linalg.eigh(S.T @ S, check_finite=False)
        return spectral.prepare(X, y, len(S)) | {"signature_values": np.maximum(t, 0), "signature_directions": R}

    def _fit(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        S = np.asarray(S, dtype=np.float64)
        alpha, gamma = self._ridges(float(statistics["feature_scale"]), S)
        self.learn(solve(statistics, S, alpha, gamma, self.labels))
        self.diagnostics_ = Diagnostics(numbers={"alpha_absolute": alpha, "gamma_absolute": gamma})

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return x W s' for every row of X (n, d) and signature of S (c, a)."""
        signatures = np.asarray(S, dtype=np.float64).T
        classes = (self._factors.times(signatures) if self._factors else self.W_ @ signatures).astype(
            float_type(X.dtype)
        )
        return rowwise(X, lambda rows: np.asarray(rows @ classes))

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return |X W S' - Y|^2 + alpha |W S'|^2 + gamma |X W|^2 + alpha gamma |W|^2, which the learned W minimises."""
        X, S, W = (np.asarray(m, dtype=np.float64) for m in (X, S, self.W_))
        Y = np.eye(len(S))[y]
        if self.labels == "signed":
            Y = 2 * Y - 1
        alpha, gamma = self._ridges(float((X * X).sum()) / X.shape[1], S)
        XW, WS = X @ W, W @ S.T
        error, sides = XW @ S.T - Y, alpha * (WS**2).sum() + gamma * (XW**2).sum()
        return float((error**2).sum() + sides + alpha * gamma * (W**2).sum())

    def _ridges(self, feature_scale: float, S: np.ndarray) -> tuple[float, float]:
        """Return alpha and gamma as absolute numbers; ``feature_scale`` is the mean eigenvalue of X'X."""
        if self.scale == "absolute":
            return self.alpha, self.gamma
        return self.alpha * feature_scale, self.gamma * (float(np.einsum("ij,ij->", S, S)) / S.shape[1])

    def matrices(self) -> Arrays:
        """Return W (d, a)."""
        return {"W": self.W_}


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

    @property
    def assumes_balance(self) -> bool:
        """Unless ``balance`` is 0."""
        return self.balance > 0

    def prepare_score(self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return for every row of the batch its nearest others for the largest k that is searched."""
        return near_rows(X, largest_k(space, "k", self.k))

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the log of the smoothed probabilities (n, c) of the batch X (n, d) for signatures S (c, a)."""
        X = np.asarray(X)
        scores = super()._scores(X, S, seen, statistics).astype(np.float64)
        spread = float(np.sqrt(np.mean((scores - scores.mean(axis=1, keepdims=True)) ** 2)))
        P = probabilities(scores, self.temperature * max(spread, 1e-30))
        W = affinity(statistics["row_neighbours"], statistics["row_cosines"], self.k)
        F = balanced(np.maximum(smooth(P, W, self.smoothing), 0), self.balance)
        return log_shares(F)

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
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import linalg

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import float_type, rowwise
from zslplat.methods.base import Arrays, Diagnostics, Features
from zslplat.methods.zero_shot import spectral
from zslplat.methods.zero_shot.base import check_fit_inputs
from zslplat.methods.zero_shot.factored import FactoredMethod, Factors
from zslplat.space import POSITIVE, Choice, Real, Space, parameter


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
    Learned: ``W_`` (d, a). Accumulates in float64; scores are computed in the precision of X.

    Features are not centred. Tuned on validation classes of eight sets, five of them also with uneven seen classes and
    one in full, ``--features center,l2`` is ahead on ten of fourteen, by at most 0.013, and behind on four, by at most
    0.022; the default ridges suit it less. Suites show both.

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

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return class sums and the eigendecompositions of X'X (or XX') and S'S."""
        check_fit_inputs(X, y, S, read=False)
        S = np.asarray(S, dtype=np.float64)
        t, R = linalg.eigh(S.T @ S, check_finite=False)
        return spectral.prepare(X, y, len(S)) | {"signature_values": np.maximum(t, 0), "signature_directions": R}

    def fit(
        self, X: Features, y: np.ndarray, S: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None
    ) -> ESZSL:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        if statistics is None:
            statistics = self.prepare_fit(X, y, S, space={})
        S = np.asarray(S, dtype=np.float64)
        alpha, gamma = self._ridges(float(statistics["feature_scale"]), S)
        self.learn(solve(statistics, S, alpha, gamma, self.labels))
        self.diagnostics_ = Diagnostics(numbers={"alpha_absolute": alpha, "gamma_absolute": gamma})
        return self

    def decision_function(
        self,
        X: Features,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
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

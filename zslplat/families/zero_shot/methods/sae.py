"""SAE: a linear autoencoder whose code is the signature, from one Sylvester equation.

Kodirov, Xiang and Gong, "Semantic autoencoder for zero-shot learning", CVPR 2017. Rows are samples here.

| paper  | here | shape  | meaning                                             |
|--------|------|--------|-----------------------------------------------------|
| X'     | X    | (n, d) | features                                            |
| S'     | Y S  | (n, a) | the signature of each row's class                   |
| W      | W    | (a, d) | encoder; W' decodes                                 |
| lambda | lam  | scalar | weight of the encoder's error against the decoder's |

The minimiser of |X' - W'S|^2 + lam |W X - S|^2 (in the paper's columns) solves A W + lam W B = (1 + lam) C with
A = S'Y'Y S (a, a), B = X'X (d, d), C = S'Y'X (a, d). With A = R diag(t) R' and B = Q diag(f) Q',

    W = R [ (1 + lam) (R' C Q) / (t_i + lam f_j) ] Q',

so that every lam costs one elementwise division. An attribute that is 0 for all training classes (as one that they
share is when signatures are centred) has a row of zeros in W: they say nothing of it. W is multiplied out where it is
kept only: Q is orthogonal, so that the rows of W are as long as those of the other factor, and signatures are decoded
by way of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import linalg

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import float_type, rowwise
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import check_fit_inputs
from zslplat.families.zero_shot.methods.spectral import FactoredMethod, Factors
from zslplat.methods.base import Arrays, Features, Prepared
from zslplat.methods.rows import lengths, unit_rows
from zslplat.space import POSITIVE, Choice, Real, Space, parameter


def solve(statistics: Mapping[str, np.ndarray], S: np.ndarray, lam: float) -> Factors:
    """Return the factors of W' (d, a) in float64; ``statistics`` as :meth:`SAE.prepare_fit` gives them."""
    t, R = statistics["signature_values"], statistics["signature_directions"]
    f = statistics["feature_values"]
    right = (S @ R).T @ np.asarray(statistics["projected_sums"])
    # Where the signatures of the training classes have no part, the right-hand side is 0, and so is the solution of
    # least norm: what rounding leaves there is no direction, and rows of W are scaled to unit length.
    noise = max(S.shape) * np.finfo(np.float64).eps
    significant = t > noise * t[-1]
    inner = np.zeros_like(right)
    inner[significant] = (1 + lam) * right[significant] / (t[significant, None] + lam * f)
    encoder = R @ inner
    sizes = np.abs(S).max(axis=0)
    encoder[sizes <= noise * sizes.max()] = 0
    return Factors(statistics["feature_directions"], encoder.T)


class SAE(FactoredMethod):
    r"""Semantic autoencoder (Kodirov et al., 2017), by the two eigendecompositions of its Sylvester equation.

    ``direction``: ``s->f`` decodes every signature and compares by cosine in feature space, ``f->s`` encodes every
    row and compares by cosine in signature space. The rows of W are scaled to unit length before either, as in the
    authors' demonstration code; rows of zeros, those of attributes that are 0 for all training classes, stay.
    Learned: ``W_`` (a, d). Scores are cosines.

    Equations
    ---------
    One linear map encodes a row as the signature of its class and decodes it again:

    $$\min_W \lVert X^\top - W^\top S^\top \rVert^2 + \lambda \lVert W X^\top - S^\top \rVert^2$$

    Its minimiser solves the Sylvester equation with A = S'S, B = X'X and C = S'X (S: the signature of each row):

    $$A W + \lambda W B = (1 + \lambda)\, C$$

    Related
    -------
    ``eszsl`` is a closed form, too; ``ridge-prototypes`` decodes alone; ``cmt`` encodes alone, by a network.
    """

    summary = "semantic autoencoder, closed form; both directions of comparison"
    citation = "Kodirov, Xiang, Gong: Semantic autoencoder for zero-shot learning. CVPR 2017"
    tags = ("inductive", "linear", "closed form", "stationary")
    preprocessing = Preprocessing(features=("split", "l2"), signatures=("center", "l2"))
    tolerance = 1e-4
    tolerance_reason = "float32 products inside blocks of rows depend on the order of rows"
    takes_blocks = True
    _transposed = True
    lam = parameter("weight of encoding against decoding", POSITIVE, Real(1e-3, 1e6, log=True), default=1.0)
    direction = parameter("compare in feature space or in signature space", Choice(("s->f", "f->s")), default="s->f")

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return class sums and the eigendecompositions of X'X (or XX') and S'Y'Y S."""
        check_fit_inputs(X, y, S, read=False)
        S = np.asarray(S, dtype=np.float64)
        statistics = spectral.prepare(X, y, len(S))
        t, R = linalg.eigh((S.T * statistics["class_counts"]) @ S, check_finite=False)
        return statistics | {"signature_values": t, "signature_directions": R}

    def _fit(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        self.learn(solve(statistics, np.asarray(S, dtype=np.float64), self.lam))

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the cosine of every row of X (n, d) with every signature of S (c, a), in the chosen space."""
        S = unit_rows(np.asarray(S, dtype=np.float64))
        if self.direction == "s->f":
            decoded = unit_rows(self._decoded(S)).astype(float_type(X.dtype)).T
            return rowwise(X, lambda rows: np.asarray(rows @ decoded / lengths(rows)))
        encoder, classes = unit_rows(self.W_).T.astype(float_type(X.dtype)), S.astype(float_type(X.dtype)).T
        return rowwise(X, lambda rows: np.asarray(unit_rows(rows @ encoder) @ classes))

    def _decoded(self, S: np.ndarray) -> np.ndarray:
        """Return S times W with rows of length one (c, d)."""
        if self._factors is None:
            return np.asarray(S @ unit_rows(self.W_))
        Q, core = self._factors.Q, self._factors.core
        return np.asarray((S @ unit_rows(core.T)) @ Q.T)

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return |X - Y S W|^2 + lam |X W' - Y S|^2 at the learned W, which minimises it."""
        X, T = np.asarray(X, dtype=np.float64), np.asarray(S, dtype=np.float64)[y]
        return float(((X - T @ self.W_) ** 2).sum() + self.lam * ((X @ self.W_.T - T) ** 2).sum())

    def matrices(self) -> Arrays:
        """Return W (a, d)."""
        return {"W": self.W_}

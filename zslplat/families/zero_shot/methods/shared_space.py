"""Baselines of a shared space: features and signatures of one encoder pair, as CLIP's images and texts.

Rows and signatures are compared by cosine, and what the methods learn or estimate corrects what makes cosines unfair.
The signatures of a class that has several (an ensemble of prompts) are averaged after they are scaled to unit length.

| symbol | here       | shape  | meaning                                                                    |
|--------|------------|--------|----------------------------------------------------------------------------|
| x      | X          | (n, d) | rows, of unit length                                                       |
| t_c    | S          | (c, d) | signatures, of unit length: texts, say                                     |
| m_c    | directions | (c, d) | direction of the mean row of a class that was trained on                   |
| n_c    |            | (c,)   | its rows, the diagonal of N                                                |
| C      | C_         | (c, d) | the adapter: class t has the prototype t + t T'C, with T all trained t_c   |
| mu_c   | means      | (c, d) | directions of a mixture of von Mises-Fisher distributions on the batch     |
| r_ic   | shares     | (n, c) | share of class c in row i                                                  |

The adapter minimises sum_c n_c |m_c - t_c W|^2 + ridge |W - I|^2 over W (d, d). With W = I + T'C,

    (T T' + ridge N^-1) C = m - T,

one system (c, c). Without classes to learn from, or with an infinite ridge, C is zero and the cosine is left.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import float_type, rowwise
from zslplat.errors import DataError
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.kinds import SHARED_SPACE
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared
from zslplat.methods.rows import unit_rows
from zslplat.registry import known_as
from zslplat.space import POSITIVE, Choice, Integer, Real, Space, parameter

LEAST_GAIN = 1e-9


class CosineSignatures(ZeroShotMethod):
    r"""Cosine of a row with the signatures, which lie in the space of the features: zero-shot recognition of CLIP.

    Learns nothing. Learned for the record: ``dimensions_``.

    Equations
    ---------
    $$\hat c(x) = \arg\max_c \frac{\langle x, t_c \rangle}{\lVert x \rVert\, \lVert t_c \rVert}$$

    Related
    -------
    ``cosine-adapter`` learns of the seen classes, ``cosine-centred`` and ``cosine-em`` of the batch, to improve on it.
    """

    summary = "cosine of rows and signatures of a shared space, such as CLIP's: no learning"
    citation = "Radford et al.: Learning transferable visual models from natural language supervision. ICML 2021"
    tags: ClassVar[tuple[str, ...]] = ("inductive", "control", SHARED_SPACE)
    preprocessing = Preprocessing(features=("l2",), signatures=("l2",))
    tolerance = 1e-5
    tolerance_reason = "float32 products inside blocks of rows depend on the order of rows"
    takes_blocks = True

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return nothing; raises :class:`DataError` where features and signatures have different dimensions."""
        check_fit_inputs(X, y, S)
        if X.shape[1] != S.shape[1]:
            raise DataError(
                f"{known_as(type(self))} needs features and signatures of one space, and got {X.shape[1]} features and "
                f"{S.shape[1]} attributes; use signatures of the features' encoder, "
                "or ridge-prototypes, which maps them"
            )
        return {}

    def _fit(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Learn nothing."""
        self.dimensions_ = S.shape[1]

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the cosine of every row of X (n, d) with the prototype of every signature of S (c, d)."""
        prototypes = unit_rows(self._prototypes(np.asarray(S, dtype=np.float64))).T.astype(float_type(X.dtype))
        return rowwise(X, lambda rows: np.asarray(unit_rows(rows) @ prototypes))

    def _prototypes(self, S: np.ndarray) -> np.ndarray:
        """Return where classes with signatures S (c, d) lie among the rows (c, d)."""
        return S


class CosineAdapter(CosineSignatures):
    r"""Cosine after a linear map of the signatures, learned by ridge regression towards the identity.

    ``alpha`` is the ridge in units of the mean curvature, that of all signatures over all d directions; a large one
    leaves ``cosine-signatures``. Learned: ``C_`` (c, d) and ``signatures_`` (c, d), of which the map is I + T'C.

    Equations
    ---------
    Signatures move to the directions of the class means as far as the ridge lets them. (Gao et al. learn a residual
    network.)

    $$\min_W \sum_c n_c \lVert m_c - t_c W \rVert^2 + \alpha \lVert W - I \rVert^2$$

    Related
    -------
    ``ridge-prototypes`` draws the map towards zero, and so needs no shared space; ``cosine-signatures`` is the limit.
    """

    summary = "cosine after a linear map of the signatures, ridge regression towards the identity, closed form"
    citation = "Gao et al.: CLIP-Adapter: better vision-language models with feature adapters. IJCV 2024"
    tags: ClassVar[tuple[str, ...]] = ("inductive", "linear", "closed form", "stationary", SHARED_SPACE)
    alpha = parameter("ridge towards the identity", POSITIVE, Real(1e-3, 1e3, log=True), default=1.0)

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the directions of the class means and the class counts."""
        super().prepare_fit(X, y, S, space=space)
        sums = spectral.class_sums(X, y, len(S))
        return {"directions": unit_rows(sums), "class_counts": spectral.class_counts(y, len(S))}

    def _fit(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, d)."""
        T, counts = unit_rows(np.asarray(S, dtype=np.float64)), np.asarray(statistics["class_counts"])
        K = T @ T.T + np.diag(self._ridge(T, counts) / counts)
        self.signatures_, self.C_ = T, linalg.solve(K, np.asarray(statistics["directions"]) - T, assume_a="pos")

    def _prototypes(self, S: np.ndarray) -> np.ndarray:
        S = unit_rows(S)
        return np.asarray(S + (S @ self.signatures_.T) @ self.C_)

    def _ridge(self, T: np.ndarray, counts: np.ndarray) -> float:
        return float(self.alpha * (counts @ (T**2).sum(axis=1)) / T.shape[1])

    def objective(self, X: Features, y: np.ndarray, S: np.ndarray) -> float:
        """Return the penalised squared error of the prototypes at the learned C, which minimises it."""
        T, counts = unit_rows(np.asarray(S, dtype=np.float64)), spectral.class_counts(y, len(S))
        error = unit_rows(spectral.class_sums(X, y, len(S))) - T - T @ self.signatures_.T @ self.C_
        penalty = (self.C_ * (self.signatures_ @ self.signatures_.T @ self.C_)).sum()
        return float(counts @ (error**2).sum(axis=1) + self._ridge(T, counts) * penalty)

    def matrices(self) -> Arrays:
        """Return C (c, d)."""
        return {"C": self.C_}


class CosineCentred(CosineSignatures):
    r"""Cosine after the mean row of the batch is taken off its rows, and the mean candidate off the signatures.

    Rows and signatures of a shared space lie in two cones (the modality gap). What all rows have in common favours the
    same signatures for every row, which become hubs; centring takes it off. Learns nothing. In float64.

    Equations
    ---------
    $$F(x, c) = \cos\Bigl(x - \frac{1}{n} \sum_i x_i,\; t_c - \frac{1}{|C|} \sum_j t_j\Bigr)$$

    Related
    -------
    ``cosine-em`` begins here; ``cosine-signatures`` takes each row by itself.
    """

    summary = "cosine after centring the rows of the batch and the candidate signatures (modality gap, hubs)"
    citation = "Suzuki et al.: Centering similarity measures to reduce hubs. EMNLP 2013"
    tags: ClassVar[tuple[str, ...]] = ("transductive", SHARED_SPACE)
    transductive = True
    takes_blocks = False

    @property
    def assumes_balance(self) -> bool:
        """The mean row stands for the mean of the candidate classes."""
        return True

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the cosines (n, c) of the centred batch X (n, d) and the centred signatures S (c, d)."""
        rows, texts = _centred(np.asarray(X)), _centred(S)
        return np.asarray(rows @ texts.T)


class CosineEM(CosineCentred):
    r"""Mixture of von Mises-Fisher distributions on the centred batch, whose means begin at the centred signatures.

    ``concentration`` is that of every class; ``prior`` how many rows the signature counts for beside those of the
    batch, in units of n / c; ``weights``: classes are equally frequent, or as frequent as the batch says, with one
    row more each. No ``iterations`` leave ``cosine-centred``. Every iteration raises the likelihood.
    Not tagged ``stationary``: nothing is learned before the batch. In float64. Scores are cosines with the means, less
    what a rare class costs.

    Equations
    ---------
    $$r_{ic} \propto \pi_c \exp(\kappa \langle x_i, \mu_c \rangle), \qquad \mu_c \propto \sum_i r_{ic} x_i +
    \nu \frac{n}{|C|} t_c$$

    Related
    -------
    ``gfzsl-em`` has Gaussians that are predicted from signatures of any kind; ``cosine-centred`` is the start.
    """

    summary = "von Mises-Fisher mixture on the scored batch that begins at the signatures of a shared space"
    citation = "Martin et al.: Transductive zero-shot and few-shot CLIP. CVPR 2024"
    tags: ClassVar[tuple[str, ...]] = ("transductive", "generative", "monotone", SHARED_SPACE)
    tolerance = 1e-3
    tolerance_reason = "rows halfway between two classes go either way with the last digits, and take others along"
    concentration = parameter("concentration of every class", POSITIVE, Real(3, 300, log=True), default=30.0)
    prior = parameter("weight of a signature, in rows per class", POSITIVE, Real(1e-2, 10, log=True), default=0.3)
    iterations = parameter("most iterations of maximisation", Integer(0), default=50)
    weights = parameter("classes equally frequent, or as the batch says", Choice(("equal", "learned")), default="equal")

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the scores (n, c) of the batch X (n, d) under the mixture that signatures S (c, d) begin."""
        rows, texts = _centred(np.asarray(X)), _centred(S)
        count, strength = len(rows) / len(texts), self.prior * len(rows) / len(texts)
        means, logs = texts, np.full(len(texts), -np.log(len(texts)))
        series: list[float] = []
        for left in range(self.iterations, -1, -1):
            joint = self.concentration * rows @ means.T + logs
            totals = logsumexp(joint, axis=1, keepdims=True)
            pull = self.concentration * strength * float((means * texts).sum())
            frequency = float(logs.sum()) if self.weights == "learned" else 0.0
            series.append(-(float(totals.sum()) + pull + frequency) / len(rows))
            if not left or (len(series) > 1 and series[-2] - series[-1] < LEAST_GAIN):
                break
            shares = np.exp(joint - totals)
            means = unit_rows(shares.T @ rows + strength * texts)
            if self.weights == "learned":
                logs = np.log((shares.sum(axis=0) + 1) / (len(rows) + len(texts)))
        self.diagnostics_ = Diagnostics({"objective": series}, {"rows_per_class": count})
        return np.asarray(rows @ means.T + logs / self.concentration)


def _centred(A: np.ndarray) -> np.ndarray:
    """Return rows (n, d) of unit length less their mean, of unit length again."""
    unit = unit_rows(np.asarray(A, dtype=np.float64))
    return unit_rows(unit - unit.mean(axis=0))

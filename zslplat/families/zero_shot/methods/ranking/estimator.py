"""What the estimators of ranking methods share: parameters, units, the fit by epochs, and scores by dot product.

The directions of the signatures, in which alone a ranking loss moves a map.

Every step on W (d, a) is X_b' G S: it lies in the row space of the signatures S (c, a). With S = T Q', Q (a, r)
orthonormal, F = X W S' = X (W Q) T', so that V = W Q (d, r) is all that has to be trained, and

    W = W_0 (I - Q Q') + V Q'.

The result is the same up to rounding, for r / a of the products: fewer where there are fewer classes than attributes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import in_any_order, rowwise
from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods.base import ZeroShotMethod
from zslplat.families.zero_shot.methods.ranking.losses import RowLoss, latent_scores
from zslplat.families.zero_shot.methods.ranking.training import Ordered, Schedule, Training
from zslplat.families.zero_shot.methods.zskl.draws import ordered_data
from zslplat.methods.base import IN_ARRAYS, Arrays, Diagnostics, Features, Prepared
from zslplat.registry import known_as
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Real, Space, parameter

# Products are fastest where their narrow side is a multiple of this: columns of zeros are added.
_WIDTH = 16


class RowSpace:
    """Signatures S (c, a), float64, in coordinates ``T`` (c, r'), and maps W (K, d, a) in theirs (K, d, r').

    r' is the rank of S, rounded up to what products are fast with, or a where that is not less: then nothing changes.
    """

    def __init__(self, S: np.ndarray) -> None:
        left, values, right = np.linalg.svd(S, full_matrices=False)
        rank = int(np.count_nonzero(values > values[0] * max(S.shape) * np.finfo(np.float64).eps))
        width = -(-max(1, rank) // _WIDTH) * _WIDTH
        self.Q: np.ndarray | None = None
        self.T = S
        if width < S.shape[1]:
            self.Q, self.T = np.zeros((S.shape[1], width)), np.zeros((len(S), width))
            self.Q[:, :rank], self.T[:, :rank] = right[:rank].T, left[:, :rank] * values[:rank]

    def inside(self, W: np.ndarray) -> np.ndarray:
        """Return V = W Q (K, d, r') for maps W (K, d, a)."""
        return W if self.Q is None else W @ self.Q

    def outside(self, W: np.ndarray) -> np.ndarray:
        """Return W (I - Q Q') (K, d, a), what no step changes."""
        return np.zeros_like(W) if self.Q is None else W - (W @ self.Q) @ self.Q.T

    def maps(self, V: np.ndarray, outside: np.ndarray) -> np.ndarray:
        """Return W (K, d, a), in the type of V, for V (K, d, r') and what is outside."""
        return V if self.Q is None else (V @ self.Q.T.astype(V.dtype) + outside).astype(V.dtype)


class RankingMethod(ZeroShotMethod):
    """Base of the estimators: ``W_`` (d, a), of several maps (K, d, a), is trained by epochs on a subclass's loss.

    Raises :class:`MethodError` when training leaves the finite numbers, with the epoch. Not tagged ``stationary``:
    steps of a fixed length over mini-batches end around a stationary point, and early stopping ends them before.
    """

    preprocessing = Preprocessing(features=("center", "l2"), signatures=("center", "l2"))
    random = True
    takes_blocks = True
    arrays_up_to = IN_ARRAYS
    step_parameter = "epochs"
    tolerance = 1e-4
    tolerance_reason = "training and scores are in single precision"
    objective_may_rise = "an epoch lists the mean over rows, each before the step of its batch, of a fixed length"

    rate = parameter(
        "step for one row, in units of margin / (mean squared norm of rows times that of signatures)",
        POSITIVE,
        Real(1e-3, 1.0, log=True),
        default=0.03,
    )
    decay = parameter("fall of the rate: rate / (1 + decay * epochs done)", NON_NEGATIVE, default=0.0)
    epochs = parameter("passes over the training rows", Integer(1), default=40)
    batch_size = parameter("rows of a mini-batch; 1: one row at a time, as in the papers", Integer(1), default=64)
    margin = parameter("by how much the right class has to lead", POSITIVE, default=1.0)
    start = parameter(
        "spread of the random start, in units of 1 / sqrt(features) for rows and signatures of length 1",
        NON_NEGATIVE,
        default=1.0,
    )
    precision = parameter("single or double precision training", Choice(("single", "double")), default="single")
    seed = parameter("seed of start, order of rows and draws", Integer(0), default=0)

    # Number K of maps, a parameter where there may be several.
    maps: int = 1
    several_maps: ClassVar[bool] = False
    W_: np.ndarray

    @abstractmethod
    def row_loss(self) -> RowLoss:
        """Return the loss that training takes steps on."""

    @abstractmethod
    def exact_losses(self, F: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss (n,) of every row by compatibilities F (n, c), its expectation where classes are drawn."""

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the order of rows and classes that does not depend on how they are given, and the mean |x|^2."""
        data = ordered_data(X, y, S, None)
        squares = rowwise(X, lambda rows: np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[data.order]
        return {"order": data.order, "y": data.y, "S": data.S, "row_square": np.array(squares.mean())}

    def _fit_steps(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Fit epoch by epoch, yielding 1, 2, ...; the estimator can score after each."""
        signatures = np.asarray(statistics["S"], dtype=np.float64)
        square = float(statistics["row_square"]) * float((signatures**2).sum(axis=1).mean())
        unit = square if square > 0 else 1.0
        space = RowSpace(signatures)
        data = Ordered(
            in_any_order(X, self._dtype),
            np.asarray(statistics["order"]),
            np.asarray(statistics["y"]),
            np.ascontiguousarray(space.T, dtype=self._dtype),
        )
        d, a = X.shape[1], S.shape[1]
        first = np.random.default_rng(np.random.SeedSequence([self.seed, 0])).standard_normal((self.maps, d, a))
        first *= self.start / np.sqrt(d * unit)
        V: np.ndarray = np.ascontiguousarray(space.inside(first), dtype=self._dtype)
        outside = space.outside(first)
        rate = self.rate * self.margin / unit
        training = Training(data, self.row_loss(), V, Schedule(rate, self.decay, self.batch_size, self.seed))
        self.diagnostics_ = Diagnostics({"objective": [], "violated": []}, {"rate_absolute": rate})
        for epoch in range(1, self.epochs + 1):
            result = training.epoch()
            W = space.maps(V, outside)
            self.W_ = W if self.several_maps else W[0]
            if not (np.isfinite(result.loss) and np.isfinite(self.W_).all()):
                raise MethodError(
                    f"{known_as(type(self))}: W or the loss is not finite after epoch {epoch} (rate={self.rate:g}, "
                    f"margin={self.margin:g}, start={self.start:g}); lower them"
                )
            self.diagnostics_.series["objective"].append(result.loss)
            self.diagnostics_.series["violated"].append(result.violated)
            yield epoch

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return F(x, c) (n, c) of rows X (n, d) with signatures S (c, a): x W s', of K maps the largest."""
        described: np.ndarray = np.asarray(S, dtype=self._dtype)
        return rowwise(X, lambda rows: self._compatibilities(np.asarray(rows, dtype=self._dtype), described, self.W_))

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return the mean loss of rows X (n, d) at the learned W, in double precision, with no class left to chance."""
        X64, S64, W64 = (np.asarray(m, dtype=np.float64) for m in (X, S, self.W_))
        return float(self.exact_losses(self._compatibilities(X64, S64, W64), y).mean())

    def matrices(self) -> Arrays:
        """Return W (d, a), or W_1, W_2, ... where there may be several maps."""
        if not self.several_maps:
            return {"W": self.W_}
        return {f"W_{k}": W_k for k, W_k in enumerate(self.W_, start=1)}

    def _compatibilities(self, X: np.ndarray, S: np.ndarray, W: np.ndarray) -> np.ndarray:
        return latent_scores(X, S, W if self.several_maps else W[None])

    @property
    def _dtype(self) -> type:
        return np.float32 if self.precision == "single" else np.float64

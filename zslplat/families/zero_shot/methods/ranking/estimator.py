"""The ranking losses of ALE, DeViSE and SJE for the rows of a mini-batch, with their slopes by the compatibilities.

Symbols in :mod:`zslplat.families.zero_shot.methods.ranking`. Every function takes compatibilities F (b, c) and labels y
(b,) and returns the loss of each row (b,) and G = dL/dF (b, c); a row without violator has neither. Losses that draw
take the generator ``random`` last.

The loss of LatEm: K maps of which the best counts, against one wrong class a row.

Symbols in :mod:`zslplat.families.zero_shot.methods.ranking`. F(x, c) = max_k x W_k s_c'. For a wrong class c drawn
uniformly, with k* the best map for c and k+ the best for the right class y: where margin + F(x, c) > F(x, y), the step
is

    W_k* -= eta x' s_c,    W_k+ += eta x' s_y,

which for k* = k+ is one step by x'(s_c - s_y): read in the authors' ``latEm_train.m``.

Epochs of mini-batches that all ranking methods share: two large matrix products a batch, and no copy of W.

For a batch X_b (b, d) and each map W_k (d, a) P_k = X_b W_k (b, a), the loss gives R_k = dL/dP_k for the rows that have
any, and W_k moves by -rate X_b'R_k: the steps of its rows are added up, each as it is at the W before the batch. So a
row moves W as far as when rows come one at a time, and the number of epochs means the same for any size of batch, as
long as W does not change much in one.

What the estimators of ranking methods share: parameters, units, the fit by epochs, and scores by dot product.

The directions of the signatures, in which alone a ranking loss moves a map.

Every step on W (d, a) is X_b' G S: it lies in the row space of the signatures S (c, a). With S = T Q', Q (a, r)
orthonormal, F = X W S' = X (W Q) T', so that V = W Q (d, r) is all that has to be trained, and

    W = W_0 (I - Q Q') + V Q'.

The result is the same up to rounding, for r / a of the products: fewer where there are fewer classes than attributes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.linalg import blas

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import rowwise
from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods.base import ZeroShotMethod
from zslplat.families.zero_shot.methods.zskl.draws import ordered_data
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared
from zslplat.registry import known_as
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Real, Space, parameter

# Losses (b,) and slopes (b, c) of compatibilities F (b, c) with labels y (b,); what is drawn comes from the generator.
Loss = Callable[[np.ndarray, np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]


# Which rows of a batch move a map (their places, or all of them), and R = dL/dP (m, a) of these rows.
Move = tuple[np.ndarray | slice, np.ndarray]


class RowLoss(Protocol):
    """The loss of the rows of a batch by what the maps make of them."""

    def __call__(
        self, P: np.ndarray, y: np.ndarray, S: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, list[Move]]:
        """Return the losses (b,) and the move of each map, for P = X_b W_k (K, b, a), labels y, signatures S (c, a)."""


class Bilinear:
    """The loss of rows through F = P S', for one map."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def __call__(
        self, P: np.ndarray, y: np.ndarray, S: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, list[Move]]:
        """Return the losses (b,) and R = G S (m, a) of the rows that have any."""
        losses, G = self.loss(P[0] @ S.T, y, random)
        rows = np.flatnonzero(losses)
        if 4 * len(rows) < 3 * len(y):
            return losses, [(rows, G[rows] @ S)]
        # A copy of so many rows of X would cost more than what the others take.
        return losses, [(slice(None), G @ S)]


def excess(F: np.ndarray, y: np.ndarray, margin: float) -> np.ndarray:
    """Return l = margin + F(x, c) - F(x, y) (b, c), at most 0 for the right class."""
    rows = np.arange(len(y))
    margins = F + (F.dtype.type(margin) - F[rows, y])[:, None]
    margins[rows, y] = 0
    return np.asarray(margins)


def harmonic(classes: int) -> np.ndarray:
    """Return beta_r = 1 + 1/2 + ... + 1/r for r = 0..``classes`` - 1 (c,)."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, classes))])


def summed_hinge(F: np.ndarray, y: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """DeViSE: the sum of l over the violators."""
    over = excess(F, y, margin)
    np.maximum(over, 0, out=over)
    G = (over > 0).astype(F.dtype)
    G[np.arange(len(y)), y] = -G.sum(axis=1)
    return over.sum(axis=1), G


def weighted_approximate_rank(F: np.ndarray, y: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """ALE: beta_r / r times the sum of l over the r violators; r is taken as a constant where a slope is taken."""
    losses, G = summed_hinge(F, y, margin)
    rank = -G[np.arange(len(y)), y].astype(np.int64)
    weight = (harmonic(F.shape[1])[rank] / np.maximum(rank, 1)).astype(F.dtype)
    return losses * weight, G * weight[:, None]


def largest_violation(F: np.ndarray, y: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """SJE: the largest l, where it is above 0."""
    over = excess(F, y, margin)
    return _of_one_class(over, y, np.argmax(over, axis=1), np.ones(len(y)))


def first_violation(
    F: np.ndarray, y: np.ndarray, margin: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """DeViSE as its authors trained it: l of the first violator in an order of the classes drawn for each row."""
    over = excess(F, y, margin)
    place = random.random(over.shape)  # the order is that of these numbers
    place[over <= 0] = 2
    return _of_one_class(over, y, np.argmin(place, axis=1), np.ones(len(y)))


def sampled_rank(
    F: np.ndarray, y: np.ndarray, margin: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """ALE's sampled step: wrong classes are drawn, with replacement and c - 1 at most, until one violates, at draw N.

    Its l is weighted by beta of floor((c - 1) / N), an estimate of the number of violators.
    """
    over = excess(F, y, margin)
    b, c = over.shape
    if c == 1:  # nothing to draw from
        return over[:, 0], np.zeros_like(over)
    drawn = random.integers(0, c - 1, size=(b, c - 1))
    drawn += drawn >= y[:, None]  # numbers the wrong classes 0..c-2
    first = np.argmax(np.take_along_axis(over, drawn, axis=1) > 0, axis=1)
    return _of_one_class(over, y, drawn[np.arange(b), first], harmonic(c)[(c - 1) // (first + 1)])


def _of_one_class(
    over: np.ndarray, y: np.ndarray, chosen: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``weight`` (b,) times l of the class ``chosen`` (b,) of each row where that is a violator, and slopes."""
    rows = np.arange(len(y))
    worst = over[rows, chosen]
    weight = np.where(worst > 0, weight, 0).astype(over.dtype)
    G = np.zeros_like(over)
    G[rows, chosen] = weight
    G[rows, y] -= weight
    return worst * weight, G


class Latent:
    """The loss of the rows of a batch through K maps, one wrong class drawn for each."""

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def __call__(
        self, P: np.ndarray, y: np.ndarray, S: np.ndarray, random: np.random.Generator
    ) -> tuple[np.ndarray, list[Move]]:
        """Return the losses (b,) and the move of each map, for P = X_b W_k (K, b, a); a row moves two at most."""
        if len(S) == 1:  # of one class nothing can be wrong
            return np.zeros(len(y), dtype=P.dtype), [(slice(0), S[:0])] * len(P)
        rows = np.arange(len(y))
        wrong = random.integers(0, len(S) - 1, size=len(y))
        wrong += wrong >= y
        s_c, s_y = S[wrong], S[y]
        F_c, F_y = np.einsum("kba,ba->kb", P, s_c), np.einsum("kba,ba->kb", P, s_y)
        k_c, k_y = np.argmax(F_c, axis=0), np.argmax(F_y, axis=0)
        losses = np.maximum(F_c[k_c, rows] - F_y[k_y, rows] + P.dtype.type(self.margin), 0)
        violated = losses > 0
        moves: list[Move] = []
        for k in range(len(P)):
            lowered, raised = violated & (k_c == k), violated & (k_y == k)
            moved = np.flatnonzero(lowered | raised)
            moves.append((moved, s_c[moved] * lowered[moved, None] - s_y[moved] * raised[moved, None]))
        return losses, moves


def latent_scores(X: np.ndarray, S: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return F (n, c), the largest of x W_k s_c' over the maps W (K, d, a), for rows X (n, d) and S (c, a)."""
    best = X @ W[0] @ S.T
    for W_k in W[1:]:
        np.maximum(best, X @ W_k @ S.T, out=best)
    return np.asarray(best)


@dataclass(frozen=True)
class Ordered:
    """What is trained on, in an order of its own: X (n, d) as given, ``order`` (n,) its rows, y (n,), S (c, a)."""

    X: np.ndarray
    order: np.ndarray
    y: np.ndarray
    S: np.ndarray


@dataclass(frozen=True)
class Schedule:
    """Absolute ``rate``, its ``decay`` (rate / (1 + decay epochs done)), rows of a batch, and the seed."""

    rate: float
    decay: float
    batch_size: int
    seed: int


@dataclass(frozen=True)
class Epoch:
    """Mean loss of the rows, each before the step of its own batch, and the share of rows that had any."""

    loss: float
    violated: float


class Training:
    """Moves W (K, d, a) in place, one epoch a call; ``data.X`` and ``data.S`` in the dtype of W, C order.

    Signatures and maps may be in any coordinates in which their products are the compatibilities.
    """

    def __init__(self, data: Ordered, loss: RowLoss, W: np.ndarray, schedule: Schedule) -> None:
        self.data, self.loss, self.W, self.schedule = data, loss, W, schedule
        streams = np.random.SeedSequence([schedule.seed, 1]).spawn(2)
        self.order_random, self.draw_random = map(np.random.default_rng, streams)
        rows = min(schedule.batch_size, len(data.order))
        self.batch = np.empty((rows, data.X.shape[1]), dtype=W.dtype)
        self.add_product = blas.sgemm if W.dtype == np.float32 else blas.dgemm
        self.epochs_done = 0

    def epoch(self) -> Epoch:
        """Pass once over the rows, in a new order."""
        schedule, n = self.schedule, len(self.data.order)
        rows = self.data.order[self.order_random.permutation(n)]
        rate = schedule.rate / (1 + schedule.decay * self.epochs_done)
        total, violated = 0.0, 0
        # Numbers that leave the finite range are found at the end of the epoch, and reported with their cause there.
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, n, schedule.batch_size):
                losses = self._step(rows[start : start + schedule.batch_size], rate)
                total += float(losses.sum(dtype=np.float64))
                violated += int(np.count_nonzero(losses))
        self.epochs_done += 1
        return Epoch(total / n, violated / n)

    def _step(self, rows: np.ndarray, rate: float) -> np.ndarray:
        X_b = self.data.X.take(rows, axis=0, out=self.batch[: len(rows)], mode="clip")
        P = np.matmul(X_b, self.W)
        losses, moves = self.loss(P, self.data.y[rows], self.data.S, self.draw_random)
        for W_k, (moved, R) in zip(self.W, moves, strict=True):
            if len(R):
                # W_k -= rate X_b'R where W_k is: its transpose is what BLAS calls a matrix in column order.
                self.add_product(-rate, R.T, X_b[moved].T, beta=1.0, c=W_k.T, trans_b=True, overwrite_c=True)
        return losses


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
    start = parameter("spread of the random start, times 1 / sqrt(features) for unit rows", NON_NEGATIVE, default=1.0)
    precision = parameter("single or double precision training", Choice(("single", "double")), default="single")
    seed = parameter("seed of start, order of rows and draws", Integer(0), default=0)

    variant: str
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"batch_size": 1}}

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
        prepared = {"order": data.order, "y": data.y, "S": data.S, "row_square": np.array(squares.mean())}
        if self.variant == "authors":
            prepared["largest"] = rowwise(X, lambda rows: np.asarray(rows, dtype=np.float64).max(axis=1)).max()
        return prepared

    def _fit_steps(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Fit epoch by epoch, yielding 1, 2, ...; the estimator can score after each."""
        signatures = np.asarray(statistics["S"], dtype=np.float64)
        square = float(statistics["row_square"]) * float((signatures**2).sum(axis=1).mean())
        unit = square if square > 0 else 1.0
        if self.variant == "authors":  # features are divided by their largest entry; rate and start are absolute
            unit = float(statistics["largest"]) ** 2 or 1.0
        space = RowSpace(signatures)
        data = Ordered(
            np.ascontiguousarray(X, dtype=self._dtype),
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

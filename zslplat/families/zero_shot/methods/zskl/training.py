"""Epochs of mini-batches for zero-shot kernel learning: the schedule, the solver and the learned kernel weights.

The RMSprop update in one pass over memory, in place.

    A <- gamma A + (1 - gamma) g^2,   W <- W - rate g / (sqrt(A) + epsilon)

NumPy needs eight passes and as many temporaries for it; at 1280 x 100 single precision entries that is several times
the cost of the gradient's matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zslplat.errors import UsageError
from zslplat.families.zero_shot.methods.zskl import fast_passes
from zslplat.families.zero_shot.methods.zskl.draws import OrderedData, draw_negatives
from zslplat.families.zero_shot.methods.zskl.fast_gradient import Engine
from zslplat.families.zero_shot.methods.zskl.objective import Objective
from zslplat.kernels.composition import InnerProductSum
from zslplat.kernels.inner_product import InnerProductKernel


class RMSprop:
    """The state of RMSprop for one matrix W: its moving average A of squared gradients, starting at 0.

    ``gamma`` is the decay of the average (.99 in Zhang and Koniusz, section 5); ``epsilon`` is added outside the root.
    ``ridge`` times W is added to a gradient that comes without ``plus`` and ``moment``.
    """

    def __init__(self, W: np.ndarray, *, gamma: float = 0.99, epsilon: float = 1e-8, ridge: float = 0.0) -> None:
        if not W.flags.c_contiguous:
            raise ValueError("RMSprop works in place on a C-contiguous array")
        self.kind = W.dtype.type
        self.W = W
        self.A = np.zeros_like(W)
        self.gamma, self.rest, self.epsilon = self.kind(gamma), self.kind(1 - gamma), self.kind(epsilon)
        self.ridge = self.kind(ridge)
        self._flat: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    def step(
        self,
        g: np.ndarray,
        rate: float,
        *,
        plus: np.ndarray | None = None,
        moment: np.ndarray | None = None,
        rows: slice | None = None,
    ) -> None:
        """Move ``rows`` of W (default: all) against the gradient ``g`` (+ ``plus``) of those rows.

        ``moment`` replaces the squared gradient in A. All arrays have the shape of those rows, the dtype of W, and C
        order.
        """
        W, A = self._flattened(rows)
        tail = (self.gamma, self.rest, self.kind(rate), self.epsilon)
        flat = g.reshape(-1)
        if moment is not None:
            fast_passes.rmsprop_given_moment(W, A, flat, moment.reshape(-1), *tail)
        elif plus is not None:
            fast_passes.rmsprop_two_parts(W, A, flat, plus.reshape(-1), *tail)
        else:
            fast_passes.rmsprop(W, A, flat, self.ridge, *tail)

    def _flattened(self, rows: slice | None) -> tuple[np.ndarray, np.ndarray]:
        """Return flat views of those rows of W and A, laid out once: a step is short enough for them to count."""
        key = (0, len(self.W)) if rows is None else (rows.start, rows.stop)
        if key not in self._flat:
            part = slice(*key)
            self._flat[key] = self.W[part].reshape(-1), self.A[part].reshape(-1)
        return self._flat[key]


@dataclass(frozen=True)
class Schedule:
    """What one training does beside the objective; the fields are the parameters of the estimator."""

    rate: float
    decay: float
    batch_size: int
    gamma: float
    epsilon: float
    moment: str
    reshuffle: bool
    steps: int | None
    negatives: int | None
    learn_weights: bool
    seed: int


class Training:
    """Moves W (d, a) in place, one epoch a call; ``X`` (n, d) in the dtype of W, C order."""

    def __init__(
        self,
        kernel: InnerProductKernel,
        objective: Objective,
        X: np.ndarray,
        data: OrderedData,
        W: np.ndarray,
        schedule: Schedule,
    ) -> None:
        learn = schedule.learn_weights
        if learn and not isinstance(kernel, InnerProductSum):
            raise UsageError(f"learn_weights needs a weighted sum of kernels, not {kernel}")
        self.X = X
        self.kernel, self.data, self.W, self.schedule = kernel, data, W, schedule
        streams = np.random.SeedSequence([schedule.seed, 1]).spawn(3)
        self.order_random, self.signature_random, self.negative_random = map(np.random.default_rng, streams)
        S = data.one_signature_each(self.signature_random)
        self.engine = Engine(kernel, objective, X, data.y, S, W, schedule.batch_size, learn_weights=learn)
        self.solver = RMSprop(W, gamma=schedule.gamma, epsilon=schedule.epsilon)
        self.weights = _SimplexWeights(self.engine.weights, schedule) if self.engine.weights is not None else None
        self.rows = data.order
        self.epochs_done = 0
        self.steps_done = 0

    @property
    def finished(self) -> bool:
        """Whether the limit of steps is reached."""
        return self.schedule.steps is not None and self.steps_done >= self.schedule.steps

    def epoch(self) -> float:
        """Pass once over the rows; return the mean objective over the batches, each before its own step."""
        schedule, n = self.schedule, len(self.data.order)
        if schedule.reshuffle or not self.epochs_done:
            self.rows = self.data.order[self.order_random.permutation(n)]
        total, seen = 0.0, 0
        # Numbers that leave the finite range are found at the end of the epoch, and reported with their cause there.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for start in range(0, n, schedule.batch_size):
                if self.finished:
                    break
                batch = self.rows[start : start + schedule.batch_size]
                rate = schedule.rate / (1 + schedule.decay * (self.epochs_done + start / n))
                total += self._step(batch, rate) * len(batch)
                seen += len(batch)
                self.steps_done += 1
        self.epochs_done += 1
        return total / max(1, seen)

    def learned_kernel(self) -> InnerProductKernel:
        """Return the kernel, with the weights as they are now where they are learned."""
        if self.engine.weights is None or not isinstance(self.kernel, InnerProductSum):
            return self.kernel
        return InnerProductSum(self.kernel.parts, self.engine.weights.tolist())

    def _step(self, batch: np.ndarray, rate: float) -> float:
        engine, data = self.engine, self.data
        if len(data.owner) > data.classes:
            engine.use_signatures(data.one_signature_each(self.signature_random))
        drawn = None
        count = self.schedule.negatives
        if count is not None and count < data.classes - 1:
            drawn = draw_negatives(self.negative_random, data.y[batch], data.classes, count).astype(self.W.dtype)
        if self.schedule.moment == "row":
            loss = self._row_moment_step(batch, drawn, rate)
        else:
            loss = engine.forward(batch, drawn)
            for piece, G, H in engine.blocks():
                self.solver.step(G, rate, plus=H, rows=piece)
        if self.weights is not None:
            self.weights.step(engine.weight_gradient, rate)
        return loss

    def _row_moment_step(self, batch: np.ndarray, drawn: np.ndarray | None, rate: float) -> float:
        """Take a step with A_t as printed below Eq. 9: the mean over the batch of each row's squared gradient."""
        engine, loss = self.engine, 0.0
        mean, moment = np.zeros_like(self.W), np.zeros_like(self.W)
        weight_gradient = np.zeros_like(engine.weight_gradient)
        for i in range(len(batch)):
            one, g = engine.gradient(batch[i : i + 1], None if drawn is None else drawn[i : i + 1])
            loss += one
            mean += g
            moment += g * g
            weight_gradient += engine.weight_gradient
        mean /= len(batch)
        moment /= len(batch)
        engine.weight_gradient[:] = weight_gradient / len(batch)
        self.solver.step(mean, rate, moment=moment)
        return loss / len(batch)


class _SimplexWeights:
    """Weights of a sum of kernels as softmax(theta) times their sum at the start, moved by RMSprop on theta."""

    def __init__(self, weights: np.ndarray, schedule: Schedule) -> None:
        if (weights <= 0).any():
            raise UsageError("learn_weights needs weights above 0 to start from")
        self.weights, self.total = weights, float(weights.sum())
        self.theta = np.log(weights)
        self.solver = RMSprop(self.theta, gamma=schedule.gamma, epsilon=schedule.epsilon)

    def step(self, gradient: np.ndarray, rate: float) -> None:
        """Move the weights, in place, against the gradient dL/dw."""
        share = self.weights / self.total
        # d w_i / d theta_j = total (share_i [i = j] - share_i share_j)
        self.solver.step(self.total * share * (gradient - float(share @ gradient)), rate)
        raised = np.exp(self.theta - self.theta.max())
        self.weights[:] = self.total * raised / raised.sum()

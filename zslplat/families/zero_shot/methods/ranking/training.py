"""Epochs of mini-batches that all ranking methods share: two large matrix products a batch, and no copy of W.

For a batch X_b (b, d) and each map W_k (d, a) P_k = X_b W_k (b, a), the loss gives R_k = dL/dP_k for the rows that have
any, and W_k moves by -rate X_b'R_k: the steps of its rows are added up, each as it is at the W before the batch. So a
row moves W as far as when rows come one at a time, and the number of epochs means the same for any size of batch, as
long as W does not change much in one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from zslplat.data.store.rows import RowsAhead
from zslplat.families.zero_shot.methods.ranking.losses import RowLoss


@dataclass(frozen=True)
class Ordered:
    """What is trained on, in an order of its own: X (n, d) as given, ``order`` (n,) its rows, y (n,), S (c, a)."""

    X: np.ndarray | RowsAhead
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
        if isinstance(self.data.X, RowsAhead):
            self.data.X.expect(rows)
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

"""What the estimators of zero-shot kernel learning share: parameters, the objective from them, and the scores (Eq. 12).

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018. Symbols in
:mod:`zslplat.families.zero_shot.methods.zskl.objective`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import rowwise
from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods.base import ZeroShotMethod
from zslplat.families.zero_shot.methods.zskl.objective import (
    Objective,
    column_cosines,
    cosine_figure,
    incoherence,
    objective_value,
)
from zslplat.figures import Figure
from zslplat.kernels.inner_product import InnerProductKernel, require_inner_product, squared_norms
from zslplat.methods.base import Arrays, Prepared
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.registry import known_as
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Real, Text, parameter


class KernelAlignment(KernelMethod, ZeroShotMethod):
    """Base of the estimators: a projection W is trained by epochs, rows and signatures are compared through a kernel.

    A subclass trains in :meth:`fit_steps`, which sets ``W_`` (d, a) and ``kernel_`` (bandwidths resolved on the
    signatures) and reports every epoch. ``both_projections``: Eq. 9, with k(x, W y), instead of Eq. 10. Raises
    :class:`MethodError` when training leaves the finite numbers, with the epoch. Not tagged ``stationary``: steps of a
    fixed length over mini-batches end around a stationary point, and early stopping ends them before.
    """

    citation = "Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018"
    preprocessing = Preprocessing(features=("center", "l2"), signatures=("center", "l2"))
    random = True
    step_parameter = "epochs"
    measures = ("incoherence",)
    tolerance = 1e-4
    tolerance_reason = "scores are formed in single precision"
    objective_may_rise = "an epoch lists the mean over mini-batches, each before its own step of a fixed length"
    kernel_gradients = True
    kernel_psd = False
    kernel = parameter(
        "kernel expression, or any (tuned over all that fit)", Text(), default="gaussian(sigma=0.7*median)"
    )
    lam = parameter(
        "lambda of Eq. 9: weight of the wrong classes", NON_NEGATIVE, Real(0.01, 100, log=True), default=1.0
    )
    rate = parameter("rate of RMSprop at the start", POSITIVE, Real(1e-4, 5e-3, log=True), default=5e-4)
    epochs = parameter("passes over the training rows", Integer(1), default=10)
    batch_size = parameter("rows of a mini-batch (10 in the paper)", Integer(1), default=64)
    right_weight = parameter(
        "N_l of Eq. 9: the mean class size N/C (the paper's), the size of each class, or the number of wrong classes",
        Choice(("mean-class-size", "class-size", "wrong-classes")),
        default="mean-class-size",
    )
    loss = parameter(
        "(1 - k)^2 and k^2, or the plain -k and k; auto: plain for kernels of the inner product alone",
        Choice(("auto", "squared", "plain")),
        default="auto",
    )
    gamma = parameter("decay of the average of squared gradients", Real(0, 1), default=0.99)
    epsilon = parameter("added to the root of that average", POSITIVE, default=1e-8)
    decay = parameter("fall of the rate: rate / (1 + decay * epochs done)", NON_NEGATIVE, default=1.0)
    rule = parameter(
        "score: k + k (Eq. 12), or minus the loss of the right class", Choice(("kernel", "loss")), default="kernel"
    )
    precision = parameter("single or double precision training", Choice(("single", "double")), default="single")
    seed = parameter("seed of start, order of rows and draws", Integer(0), default=0)
    both_projections: ClassVar[bool] = False

    W_: np.ndarray
    kernel_: InnerProductKernel

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the scores of Eq. 12 (n, c), of k(W'x, y) alone for Eq. 10.

        Where a class has several signatures (``signature_class``), its score is the largest of theirs.
        """
        described: np.ndarray = np.asarray(S, dtype=self._dtype)
        scores = rowwise(X, lambda rows: self._compared(np.asarray(rows, dtype=self._dtype), described))
        if "signature_class" not in statistics:
            return scores
        classes = statistics["signature_class"]
        order = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[order], np.unique(classes))
        return np.asarray(np.maximum.reduceat(scores[:, order], starts, axis=1))

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, **_: Any) -> Arrays:
        """Return nothing: every product holds W."""
        return {}

    def prepare_score(self, X: np.ndarray, S: np.ndarray, **_: Any) -> Arrays:
        """Return nothing: every product holds W."""
        return {}

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return the objective at the learned W, in double precision: the mean of f_i over rows X (n, d).

        S (c, a) holds one signature per class.
        """
        objective = self._objective(self.kernel_, np.bincount(y, minlength=len(S)), len(X))
        X64, S64, W64 = (np.asarray(m, dtype=np.float64) for m in (X, S, self.W_))
        return objective_value(self.kernel_, X64, y, S64, W64, objective)

    def figures(self) -> dict[str, Figure]:
        """Return the first 10 x 10 cosines between columns of W (Tables 5 and 6)."""
        return {"column_cosines": cosine_figure(self.W_)}

    def matrices(self) -> Arrays:
        """Return W (d, a) and the cosines between its columns (a, a)."""
        return {"W": self.W_, "cosines": column_cosines(self.W_)}

    @property
    def _dtype(self) -> type:
        return np.float32 if self.precision == "single" else np.float64

    def _inner_product(self, kernel: Any) -> InnerProductKernel:
        return require_inner_product(kernel, known_as(type(self)))

    def _objective(self, kernel: InnerProductKernel, sizes: np.ndarray, n: int) -> Objective:
        """Return Eq. 9, 10 or 11 for classes of ``sizes`` (c,) rows, divided by the mean weight of the right class."""
        classes = len(sizes)
        mean = max(1, classes - 1) if self.right_weight == "wrong-classes" else n / classes
        dot = kernel.of_inner_product_alone
        return Objective(
            both=self.both_projections and not dot,
            wrong=self.lam / mean,
            squared=self.loss == "squared" or (self.loss == "auto" and not dot),
            alpha=self._penalty() if dot else 0.0,
            right=sizes / mean if self.right_weight == "class-size" else np.ones(classes),
        )

    def _penalty(self) -> float:
        """Return alpha of Eq. 11."""
        return 0.0

    def _compared(self, X: np.ndarray, S: np.ndarray) -> np.ndarray:
        kernels = self._kernels(X, S)
        return np.asarray(sum(-((1 - k) ** 2) for k in kernels) if self.rule == "loss" else sum(kernels))

    def _kernels(self, X: np.ndarray, S: np.ndarray) -> list[np.ndarray]:
        """Return k(W'x, y) and, for Eq. 9, k(x, W y), each (n, m)."""
        kernel = self.kernel_
        Z = X @ self.W_
        t = Z @ S.T
        kernels = [kernel.f(t, squared_norms(Z)[:, None], squared_norms(S)[None, :])]
        if self.both_projections and not kernel.of_inner_product_alone:
            # <x, W y> is t again; only |W y|^2 is new.
            kernels.append(kernel.f(t, squared_norms(X)[:, None], squared_norms(S @ self.W_.T)[None, :]))
        return kernels

    def _report(self, epoch: int, loss: float) -> None:
        if not (np.isfinite(loss) and np.isfinite(self.W_).all()):
            raise MethodError(
                f"{known_as(type(self))}: W or the objective is not finite after epoch {epoch} (kernel {self.kernel_}, "
                f"rate={self.rate:g}, lam={self.lam:g}); lower the rate, or take a bounded kernel or the squared loss"
            )
        value = incoherence(self.W_)
        self.diagnostics_.series["objective"].append(loss)
        self.diagnostics_.series["incoherence"].append(value)
        self.diagnostics_.numbers["incoherence"] = value

"""Zero-shot kernel learning: a projection that aligns a kernel between features and signatures with the labels.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018. Symbols in :mod:`zslplat.methods.zero_shot.zskl.objective`.

``zskl`` (here) minimises Eq. 10, k(W'x, y) alone. ``zskl-ort`` minimises Eq. 9, with k(x, W y), which draws W'W
towards the identity; for kernels of the inner product alone, where both are the same, it adds the penalty of Eq. 11.
``zskl-published`` is Eq. 9 with the constants of the authors' code, which differ from the paper's.

Where the paper leaves something open, this is what is done:

* f_i is divided by the mean weight of the right class, N / C, so that epsilon and alpha mean the same for any number
  of rows; RMSprop with a small epsilon does not see the factor.
* (1 - k)^2 and k^2 suppose that k = 1 is a perfect match. A kernel of the inner product alone can exceed 1 (with
  c = 1 it is 1 already where W = 0, and the right class has nothing to gain), so that ``loss="auto"`` takes the
  plain -k and k of Eq. 11 for it.
* W starts uniform on [0, 2 / d), as in the authors' code.
* The rate falls as rate / (1 + decay * epochs done).
* The average A_t takes the square of the mini-batch gradient; ``moment="row"`` takes the mean of the rows' squared
  gradients, as the paper's formula says, at the cost of one gradient per row.
* Rows and classes are put into an order of their own before the first step, so that the result does not depend on
  the order in which they are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from zslplat.data.preprocessing import Preprocessing
from zslplat.errors import MethodError
from zslplat.figures import Figure
from zslplat.kernels.composition import Sum
from zslplat.kernels.inner_product import InnerProductKernel, require_inner_product, squared_norms
from zslplat.methods.base import Arrays, Diagnostics
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.methods.zero_shot.base import ZeroShotMethod
from zslplat.methods.zero_shot.zskl.draws import ordered_data
from zslplat.methods.zero_shot.zskl.incoherence import column_cosines, cosine_figure, incoherence
from zslplat.methods.zero_shot.zskl.objective import Objective, objective_value
from zslplat.methods.zero_shot.zskl.training import Schedule, Training
from zslplat.registry import known_as
from zslplat.space import BOOLEAN, NON_NEGATIVE, POSITIVE, Choice, Integer, Optional, Parameter, Real, Text

PARAMETERS = {
    "kernel": Parameter("kernel expression, or any (tuned over all that fit)", Text()),
    "lam": Parameter("lambda of Eq. 9: weight of the wrong classes", NON_NEGATIVE, Real(0.01, 100, log=True)),
    "rate": Parameter("rate of RMSprop at the start", POSITIVE, Real(1e-4, 5e-3, log=True)),
    "epochs": Parameter("passes over the training rows", Integer(1)),
    "batch_size": Parameter("rows of a mini-batch (10 in the paper)", Integer(1)),
    "right_weight": Parameter(
        "N_l of Eq. 9: the mean class size N/C (the paper's), the size of each class, or the number of wrong classes",
        Choice(("mean-class-size", "class-size", "wrong-classes")),
    ),
    "loss": Parameter(
        "(1 - k)^2 and k^2, or the plain -k and k; auto: plain for kernels of the inner product alone",
        Choice(("auto", "squared", "plain")),
    ),
    "negatives": Parameter("wrong classes drawn per row; none: all", Optional(Integer(1))),
    "gamma": Parameter("decay of the average of squared gradients", Real(0, 1)),
    "epsilon": Parameter("added to the root of that average", POSITIVE),
    "decay": Parameter("fall of the rate: rate / (1 + decay * epochs done)", NON_NEGATIVE),
    "moment": Parameter("square of the batch gradient, or mean of the rows' squares", Choice(("batch", "row"))),
    "learn_weights": Parameter("learn the weights of a sum of kernels along with W", BOOLEAN),
    "reshuffle": Parameter("draw a new order of rows each epoch, or keep the first", BOOLEAN),
    "steps": Parameter("stop after this many mini-batches; none: no such limit", Optional(Integer(1))),
    "rule": Parameter("score: k + k (Eq. 12), or minus the loss of the right class", Choice(("kernel", "loss"))),
    "precision": Parameter("single or double precision training", Choice(("single", "double"))),
    "seed": Parameter("seed of start, order of rows and draws", Integer(0)),
}


class ZSKL(KernelMethod, ZeroShotMethod):
    """Zero-shot kernel learning without the incoherence term (Eq. 10).

    Learned: ``W_`` (d, a), ``kernel_`` (bandwidths resolved on the signatures, weights learned). Raises
    :class:`MethodError` when training leaves the finite numbers, with the epoch.
    """

    summary = "zero-shot kernel learning, one projection (Eq. 10)"
    citation = "Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018"
    tags: ClassVar[tuple[str, ...]] = ("several-signatures",)
    parameters: ClassVar[Mapping[str, Parameter]] = PARAMETERS
    preprocessing = Preprocessing(features=("center", "l2"), signatures=("center", "l2"))
    random = True
    step_parameter = "epochs"
    tolerance = 1e-4
    tolerance_reason = "scores are formed in single precision"
    kernel_gradients = True
    kernel_psd = False
    both_projections: ClassVar[bool] = False

    def __init__(
        self,
        kernel: Any = "gaussian(sigma=0.7*median)",
        lam: float = 1.0,
        rate: float = 5e-4,
        epochs: int = 10,
        batch_size: int = 64,
        right_weight: str = "mean-class-size",
        loss: str = "auto",
        negatives: int | None = None,
        gamma: float = 0.99,
        epsilon: float = 1e-8,
        decay: float = 1.0,
        moment: str = "batch",
        learn_weights: bool = False,
        reshuffle: bool = True,
        steps: int | None = None,
        rule: str = "kernel",
        precision: str = "single",
        seed: int = 0,
    ) -> None:
        self.kernel = kernel
        self.lam = lam
        self.rate = rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.right_weight = right_weight
        self.loss = loss
        self.negatives = negatives
        self.gamma = gamma
        self.epsilon = epsilon
        self.decay = decay
        self.moment = moment
        self.learn_weights = learn_weights
        self.reshuffle = reshuffle
        self.steps = steps
        self.rule = rule
        self.precision = precision
        self.seed = seed

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        S: np.ndarray,
        *,
        signature_class: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> ZSKL:
        """Fit W on rows X (n, d), labels y (n,) and signatures S (m, a) for ``epochs`` passes.

        ``signature_class`` (m,): the class of each signature, where a class has several; one per class is drawn for
        each step. Raises DataError for inputs that do not fit, MethodError when training leaves the finite numbers.
        """
        for _ in self.fit_steps(X, y, S, signature_class=signature_class, statistics=statistics):
            pass
        return self

    def fit_steps(
        self,
        X: np.ndarray,
        y: np.ndarray,
        S: np.ndarray,
        *,
        signature_class: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> Iterator[int]:
        """Fit epoch by epoch, yielding 1, 2, ...; the estimator can score after each."""
        data = ordered_data(X, y, S, signature_class)
        X = np.ascontiguousarray(X, dtype=self._dtype)
        self.kernel_ = self._inner_product(self.parsed_kernel().resolved(data.S))
        d, a = X.shape[1], data.S.shape[1]
        start = np.random.default_rng(np.random.SeedSequence([self.seed, 0]))
        self.W_ = (start.random((d, a)) * (2 / d)).astype(self._dtype)
        objective = self._objective(self.kernel_, np.bincount(data.y), len(X))
        training = Training(self.kernel_, objective, X, data, self.W_, self._schedule())
        self.diagnostics_ = Diagnostics({"objective": [], "incoherence": []}, self.resolved_numbers(self.kernel_))
        for epoch in range(1, self.epochs + 1):
            loss = training.epoch()
            self.kernel_ = training.learned_kernel()
            self._report(epoch, loss)
            yield epoch
            if training.finished:
                return

    def decision_function(
        self,
        X: np.ndarray,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        signature_class: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the scores of Eq. 12 (n, c), of k(W'x, y) alone for Eq. 10.

        Where a class has several signatures (``signature_class``), its score is the largest of theirs.
        """
        kernels = self._kernels(np.asarray(X, dtype=self._dtype), np.asarray(S, dtype=self._dtype))
        scores = np.asarray(sum(-((1 - k) ** 2) for k in kernels) if self.rule == "loss" else sum(kernels))
        if signature_class is None:
            return scores
        order = np.argsort(signature_class, kind="stable")
        starts = np.searchsorted(signature_class[order], np.unique(signature_class))
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
        """Return W (d, a), the cosines between its columns (a, a), and learned kernel weights where there are any."""
        found = {"W": self.W_, "cosines": column_cosines(self.W_)}
        if self.learn_weights and isinstance(self.kernel_, Sum):
            found["kernel_weights"] = np.array(self.kernel_.numbers)
        return found

    @property
    def _dtype(self) -> type:
        return np.float32 if self.precision == "single" else np.float64

    def _inner_product(self, kernel: Any) -> InnerProductKernel:
        return require_inner_product(kernel, known_as(type(self)))

    def _schedule(self) -> Schedule:
        return Schedule(**{name: getattr(self, name) for name in Schedule.__dataclass_fields__})

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

"""What the estimators of zero-shot kernel learning share: parameters, the objective from them, and the scores (Eq. 12).

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018. Symbols in
:mod:`zslplat.families.zero_shot.methods.zskl.objective`.

Zero-shot kernel learning: a projection that aligns a kernel between features and signatures with the labels.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018. Symbols in
:mod:`zslplat.families.zero_shot.methods.zskl.objective`.

``zskl`` (here) minimises Eq. 10, k(W'x, y) alone. ``zskl-ort`` minimises Eq. 9, with k(x, W y), which draws W'W
towards the identity; for kernels of the inner product alone, where both are the same, it adds the penalty of Eq. 11.
``zskl-ort(variant=authors)`` is Eq. 9 with the constants of the authors' code, which differ from the paper's.

Where the paper leaves something open, this is what is done:

* f_i is divided by the mean weight of the right class, N / C, so that epsilon and alpha mean the same for any number
  of rows; RMSprop with a small epsilon does not see the factor.
* (1 - k)^2 and k^2 suppose that k = 1 is a perfect match. A kernel of the inner product alone can exceed 1 (with
  c = 1 it is 1 already where W = 0, and the right class has nothing to gain), so that ``loss="auto"`` takes the
  plain -k and k of Eq. 11 for it.
* W starts uniform on [0, 2 / d), as in the authors' code.
* The rate falls as rate / (1 + decay * epochs done).
* The average A_t takes the square of the mini-batch gradient; ``moment="row"`` takes the mean of the rows' squared
  gradients, as the paper's formula says, at the cost of one gradient per row. ``variant="paper"`` does so, with the
  paper's mini-batches of 10 rows.
* Rows and classes are put into an order of their own before the first step, so that the result does not depend on
  the order in which they are given.

Zero-shot kernel learning with a weakly incoherent projection.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018, Eq. 9 and 11. Symbols in
:mod:`zslplat.families.zero_shot.methods.zskl.objective`.

The authors' code (``variant="authors"``) ----------------------------------------- Its constants differ from the
paper's text: batches of one row, a constant rate, an epsilon of 1e-2 outside the root that outweighs the root itself,
right and wrong classes of equal total weight, 12000 steps in one fixed order of the rows, signatures centred with the
mean of all classes, and prediction by the least loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import rowwise
from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods.base import ZeroShotMethod
from zslplat.families.zero_shot.methods.zskl.draws import ordered_data
from zslplat.families.zero_shot.methods.zskl.objective import (
    Objective,
    column_cosines,
    cosine_figure,
    incoherence,
    objective_value,
)
from zslplat.families.zero_shot.methods.zskl.training import Schedule, Training
from zslplat.figures import Figure
from zslplat.kernels.composition import Sum
from zslplat.kernels.inner_product import InnerProductKernel, require_inner_product, squared_norms
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.registry import known_as
from zslplat.space import (
    ANY,
    BOOLEAN,
    NON_NEGATIVE,
    POSITIVE,
    Choice,
    Integer,
    Optional,
    Real,
    Space,
    Text,
    parameter,
    with_condition,
)


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
    kernel = parameter("kernel expression, or any (all that fit)", Text(), default="gaussian(sigma=0.7*median)")
    lam = parameter("lambda of Eq. 9: weight of wrong classes", NON_NEGATIVE, Real(0.01, 100, log=True), default=1.0)
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
    rule = parameter("score: k + k (Eq. 12), or minus the loss", Choice(("kernel", "loss")), default="kernel")
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


class ZSKL(KernelAlignment):
    r"""Zero-shot kernel learning without the incoherence term (Eq. 10).

    Learned: ``W_`` (d, a), ``kernel_`` (bandwidths resolved on the signatures, weights learned). Raises
    :class:`MethodError` when training leaves the finite numbers, with the epoch.

    Equations
    ---------
    A projection W aligns a kernel between projected rows and signatures with the labels (Eq. 10):

    $$\min_W \sum_i \left( 1 - k(W^\top x_i, y_i) \right)^2 + \frac{\lambda}{N_l} \sum_{y \ne y_i} k(W^\top x_i, y)^2$$

    A row takes the class with the largest kernel value (Eq. 12). k is chosen with ``kernel``.

    ``variant="paper"`` takes RMSprop's average over the rows b of a mini-batch as it is printed below Eq. 9:

    $$A_t = \gamma A_{t-1} + \frac{1 - \gamma}{|b|} \sum_{i \in b} \left( \frac{\partial f_i}{\partial W} \right)^2$$

    Related
    -------
    ``zskl-ort`` adds the kernel on the other side, which makes W nearly orthogonal; ``zskl-subspaces`` has a projection
    for each class; ``keszsl`` puts a kernel between rows in closed form.
    """

    summary = "zero-shot kernel learning, one projection (Eq. 10)"
    tags: ClassVar[tuple[str, ...]] = ("several-signatures",)
    negatives = parameter("wrong classes drawn per row; none: all", Optional(Integer(1)), default=None)
    moment = parameter("square of the gradient, or mean of rows' squares", Choice(("batch", "row")), default="batch")
    learn_weights = parameter("learn the weights of a sum of kernels along with W", BOOLEAN, default=False)
    reshuffle = parameter("draw a new order of rows each epoch, or keep the first", BOOLEAN, default=True)
    steps = parameter("stop after this many mini-batches; none: no such limit", Optional(Integer(1)), default=None)
    variant = parameter(
        "default; paper: mini-batches of 10 rows, A_t as printed", Choice(("default", "paper")), default="default"
    )
    variants = {"paper": {"batch_size": 10, "moment": "row"}}

    def _fit_steps(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Fit epoch by epoch, yielding 1, 2, ...; the estimator can score after each."""
        data = ordered_data(X, y, S, statistics.get("signature_class"))
        rows: np.ndarray = np.ascontiguousarray(X, dtype=self._dtype)
        self.kernel_ = self._inner_product(self.parsed_kernel().resolved(data.S))
        d, a = X.shape[1], data.S.shape[1]
        start = np.random.default_rng(np.random.SeedSequence([self.seed, 0]))
        self.W_ = (start.random((d, a)) * (2 / d)).astype(self._dtype)
        objective = self._objective(self.kernel_, np.bincount(data.y), len(X))
        training = Training(self.kernel_, objective, rows, data, self.W_, self._schedule())
        self.diagnostics_ = Diagnostics({"objective": [], "incoherence": []}, self.resolved_numbers(self.kernel_))
        for epoch in range(1, self.epochs + 1):
            loss = training.epoch()
            self.kernel_ = training.learned_kernel()
            self._report(epoch, loss)
            yield epoch
            if training.finished:
                return

    def matrices(self) -> Arrays:
        """Return W (d, a), the cosines between its columns (a, a), and learned kernel weights where there are any."""
        arrays = super().matrices()
        if self.learn_weights and isinstance(self.kernel_, Sum):
            arrays["kernel_weights"] = np.array(self.kernel_.numbers)
        return arrays

    def _schedule(self) -> Schedule:
        return Schedule(**{name: getattr(self, name) for name in Schedule.__dataclass_fields__})


# Batches of one row in one order, a constant rate, an epsilon that outweighs the root, right and wrong classes of equal
# total weight, 12000 steps.
_AUTHORS: dict[str, Any] = {
    **{"kernel": "gaussian(sigma=0.8)", "rate": 8e-4, "epochs": 1000, "batch_size": 1, "steps": 12000},
    **{"right_weight": "wrong-classes", "loss": "squared", "epsilon": 1e-2, "decay": 0.0},
    **{"reshuffle": False, "rule": "loss"},
}
_PREPROCESSING_OF_AUTHORS = Preprocessing(features=("center", "l2"), signatures=("center_all", "l2"))


class ZSKLOrt(ZSKL):
    r"""Zero-shot kernel learning with weakly incoherent W: Eq. 9, or Eq. 11 for kernels of the inner product alone.

    Equations
    ---------
    The kernel is taken on either side of the projection, which draws W'W towards the identity (Eq. 9):

    $$\min_W \sum_i \sum_{k_i} \left( 1 - k_i(y_i) \right)^2 + \frac{\lambda}{N_l} \sum_{y \ne y_i} k_i(y)^2, \qquad k_i
    \in \{ k(W^\top x_i, \cdot),\; k(x_i, W\, \cdot) \}$$

    A row takes the class with the largest kernel value (Eq. 12). k is chosen with ``kernel``. With
    ``variant="authors"`` N_l is the number of wrong classes, and a row takes the class whose right-class terms are
    least:

    $$\hat c = \arg\min_c \sum_k (1 - k(c))^2, \qquad W \leftarrow W - \eta\, \frac{g}{\sqrt{v} + 10^{-2}}$$

    Related
    -------
    ``zskl`` has the first kind of terms alone; ``zskl-subspaces`` a projection for each class.
    """

    summary = "zero-shot kernel learning, weakly incoherent (Eq. 9; Eq. 11 for dot-product kernels)"
    kernel = "gaussian(sigma=0.4*median)"
    alpha = parameter("penalty of Eq. 11, in right-class terms", NON_NEGATIVE, Real(1e-3, 10, log=True), default=0.1)
    both_projections = True
    variant = parameter(
        "default; paper: mini-batches of 10 rows, A_t as printed; authors: the constants of their code",
        Choice(("default", "paper", "authors")),
        default="default",
    )
    variants = {**ZSKL.variants, "authors": _AUTHORS}

    @property
    def effective_preprocessing(self) -> Preprocessing:
        """Signatures are centred with the mean of all classes in the authors' code."""
        return _PREPROCESSING_OF_AUTHORS if self.variant == "authors" else self.preprocessing

    def _penalty(self) -> float:
        return self.alpha

    @property
    def space(self) -> Space:
        """The ranges that tuning searches; alpha only where the kernel has the penalty of Eq. 11."""
        space = super().space
        if str(self.kernel) != ANY:
            if not self._inner_product(self.parsed_kernel()).of_inner_product_alone:
                del space["alpha"]
            return space
        dots = [
            name
            for name, kernel in self.fitting_kernels().items()
            if isinstance(kernel, InnerProductKernel) and kernel.of_inner_product_alone
        ]
        space["alpha"] = with_condition(space["alpha"], {"kernel": tuple(dots)})
        return space

"""Zero-shot kernel learning: a projection that aligns a kernel between features and signatures with the labels.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018. Symbols in
:mod:`zslplat.families.zero_shot.methods.zskl.objective`.

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

Zero-shot kernel learning with a weakly incoherent projection.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018, Eq. 9 and 11. Symbols in
:mod:`zslplat.families.zero_shot.methods.zskl.objective`.

Zero-shot kernel learning with the constants of the authors' published code.

They differ from the paper's text (Zhang and Koniusz, CVPR 2018): batches of one row, a constant rate, an epsilon of
1e-2 outside the root that outweighs the root itself, right and wrong classes of equal total weight, 12000 steps in one
fixed order of the rows, signatures centred with the mean of all classes, and prediction by the least loss.

Symbols in :mod:`zslplat.families.zero_shot.methods.zskl.objective`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import in_any_order
from zslplat.families.zero_shot.methods.zskl.draws import ordered_data
from zslplat.families.zero_shot.methods.zskl.estimator import KernelAlignment
from zslplat.families.zero_shot.methods.zskl.training import Schedule, Training
from zslplat.kernels.composition import Sum
from zslplat.kernels.inner_product import InnerProductKernel
from zslplat.methods.base import IN_ARRAYS, Arrays, Diagnostics, Features, Prepared
from zslplat.methods.kernel_parameter import PREFIX
from zslplat.space import ANY, BOOLEAN, NON_NEGATIVE, Choice, Integer, Optional, Real, Space, parameter, with_condition


class ZSKL(KernelAlignment):
    r"""Zero-shot kernel learning without the incoherence term (Eq. 10).

    Learned: ``W_`` (d, a), ``kernel_`` (bandwidths resolved on the signatures, weights learned). Raises
    :class:`MethodError` when training leaves the finite numbers, with the epoch.

    Equations
    ---------
    A projection W aligns a kernel between projected rows and signatures with the labels (Eq. 10):

    $$\min_W \sum_i \left( 1 - k(W^\top x_i, y_i) \right)^2 + \frac{\lambda}{N_l} \sum_{y \ne y_i} k(W^\top x_i, y)^2$$

    A row takes the class with the largest kernel value (Eq. 12). k is chosen with ``kernel``.

    Related
    -------
    ``zskl-ort`` adds the kernel on the other side, which makes W nearly orthogonal; ``zskl-published`` has the
    constants of the authors' code; ``zskl-subspaces`` a projection for each class; ``keszsl`` puts a kernel between
    rows in closed form.
    """

    summary = "zero-shot kernel learning, one projection (Eq. 10)"
    tags: ClassVar[tuple[str, ...]] = ("several-signatures",)
    negatives = parameter("wrong classes drawn per row; none: all", Optional(Integer(1)), default=None)
    moment = parameter(
        "square of the batch gradient, or mean of the rows' squares", Choice(("batch", "row")), default="batch"
    )
    learn_weights = parameter("learn the weights of a sum of kernels along with W", BOOLEAN, default=False)
    reshuffle = parameter("draw a new order of rows each epoch, or keep the first", BOOLEAN, default=True)
    steps = parameter("stop after this many mini-batches; none: no such limit", Optional(Integer(1)), default=None)
    takes_blocks = True
    arrays_up_to = IN_ARRAYS

    def _fit_steps(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Fit epoch by epoch, yielding 1, 2, ...; the estimator can score after each."""
        data = ordered_data(X, y, S, statistics.get("signature_class"))
        rows = in_any_order(X, self._dtype)
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


class ZSKLOrt(ZSKL):
    r"""Zero-shot kernel learning with weakly incoherent W: Eq. 9, or Eq. 11 for kernels of the inner product alone.

    Equations
    ---------
    The kernel is taken on either side of the projection, which draws W'W towards the identity (Eq. 9):

    $$\min_W \sum_i \sum_{k_i} \left( 1 - k_i(y_i) \right)^2 + \frac{\lambda}{N_l} \sum_{y \ne y_i} k_i(y)^2, \qquad k_i
    \in \{ k(W^\top x_i, \cdot),\; k(x_i, W\, \cdot) \}$$

    A row takes the class with the largest kernel value (Eq. 12). k is chosen with ``kernel``.

    Related
    -------
    ``zskl`` has the first kind of terms alone; ``zskl-published`` the constants of the authors' code;
    ``zskl-subspaces`` a projection for each class.
    """

    summary = "zero-shot kernel learning, weakly incoherent (Eq. 9; Eq. 11 for dot-product kernels)"
    kernel = "gaussian(sigma=0.4*median)"
    alpha = parameter(
        "penalty of Eq. 11 for kernels of the inner product, in units of one right-class term",
        NON_NEGATIVE,
        Real(1e-3, 10, log=True),
        default=0.1,
    )
    both_projections = True

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


class ZSKLPublished(ZSKLOrt):
    r"""Eq. 9 with the constants of the authors' code: batch 1, constant rate, epsilon 1e-2 outside the root.

    The right class weighs as much as all wrong ones together, rows are permuted once, signatures are centred with the
    mean of all classes, and the class with the least loss of a right class is predicted.

    Equations
    ---------
    Eq. 9 with the constants of the authors' code:

    $$\min_W \sum_i \sum_{k_i} \left( 1 - k_i(y_i) \right)^2 + \frac{\lambda}{N_l} \sum_{y \ne y_i} k_i(y)^2, \qquad k_i
    \in \{ k(W^\top x_i, \cdot),\; k(x_i, W\, \cdot) \}$$

    A row takes the class with the largest kernel value (Eq. 12). k is chosen with ``kernel``.

    Related
    -------
    ``zskl-ort`` is the same objective with the paper's constants; ``zskl`` is Eq. 10.
    """

    summary = "zero-shot kernel learning with the constants of the authors' code"
    preprocessing = Preprocessing(features=("center", "l2"), signatures=("center_all", "l2"))
    kernel = "gaussian(sigma=0.8)"
    rate = 8e-4
    epochs = 1000
    batch_size = 1
    right_weight = "wrong-classes"
    loss = "squared"
    epsilon = 1e-2
    decay = 0.0
    reshuffle = False
    steps = 12000
    rule = "loss"

    @property
    def space(self) -> Space:
        """The ranges that tuning searches; the authors' bandwidth stays, unless another kernel is asked for."""
        space = super().space
        return space if self._kernel_given else {name: r for name, r in space.items() if not name.startswith(PREFIX)}

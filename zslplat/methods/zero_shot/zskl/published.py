"""Zero-shot kernel learning with the constants of the authors' published code.

They differ from the paper's text (Zhang and Koniusz, CVPR 2018): batches of one row, a constant rate, an epsilon of
1e-2 outside the root that outweighs the root itself, right and wrong classes of equal total weight, 12000 steps in one
fixed order of the rows, signatures centred with the mean of all classes, and prediction by the least loss.

Symbols in :mod:`zslplat.methods.zero_shot.zskl.objective`.
"""

from __future__ import annotations

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.methods.kernel_parameter import PREFIX
from zslplat.methods.zero_shot.zskl.ort import ZSKLOrt
from zslplat.space import Space


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

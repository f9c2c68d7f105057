"""Zero-shot kernel learning with a weakly incoherent projection.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018, Eq. 9 and 11. Symbols in
:mod:`zslplat.methods.zero_shot.zskl.objective`.
"""

from __future__ import annotations

from zslplat.kernels.inner_product import InnerProductKernel
from zslplat.methods.zero_shot.zskl.zskl import ZSKL
from zslplat.space import ANY, NON_NEGATIVE, Real, Space, parameter, with_condition


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

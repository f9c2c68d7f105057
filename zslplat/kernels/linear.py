"""The linear kernel k(a, b) = <a, b>."""

from __future__ import annotations

import numpy as np

from zslplat.kernels.inner_product import DotProductKernel


class Linear(DotProductKernel):
    r"""The inner product itself.

    Equations
    ---------
    $$k(a, b) = \langle a, b \rangle$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |

    Related
    -------
    ``polynomial`` is a power of it.
    """

    summary = "linear, <a, b>"
    citation = "Schoelkopf and Smola, Learning with Kernels, MIT Press 2002"

    def g(self, t: np.ndarray) -> np.ndarray:
        """Return t."""
        return +t

    def slope(self, t: np.ndarray) -> np.ndarray:
        """Return 1."""
        return np.ones_like(t)

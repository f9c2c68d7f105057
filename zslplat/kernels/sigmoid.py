"""The sigmoid kernel k(a, b) = tanh(scale <a, b> + c), which is indefinite in general."""

from __future__ import annotations

import numpy as np

from zslplat.kernels.inner_product import DotProductKernel
from zslplat.space import POSITIVE, Real, Scaled, parameter


class Sigmoid(DotProductKernel):
    r"""tanh(scale <a, b> + c): declared indefinite, refused where a positive semidefinite kernel is needed.

    Equations
    ---------
    $$k(a, b) = \tanh(\kappa \langle a, b \rangle + c)$$

    Symbols
    -------
    | symbol | shape | meaning |
    |---|---|---|
    | a, b | (d,) | two rows |
    | kappa, ``scale`` | scalar | factor |
    | c | scalar | shift |

    Related
    -------
    ``polynomial`` is positive semidefinite, which this one is not.
    """

    summary = "sigmoid, tanh(scale <a, b> + c); indefinite"
    citation = "Lin and Lin, A study on sigmoid kernels for SVM and the training of non-PSD kernels, 2003"
    scale = parameter(
        "factor of the inner product; square: mean squared length of a row",
        Scaled(POSITIVE, "/square"),
        Real(0.1, 10, log=True, unit="/square"),
        default="1.0/square",
    )
    c = parameter("shift", Real(), Real(-1, 1), default=0.0)
    psd = False

    def g(self, t: np.ndarray) -> np.ndarray:
        """Return tanh(scale t + c)."""
        return np.tanh(t * self.scale + self.c)

    def slope(self, t: np.ndarray) -> np.ndarray:
        """Return scale (1 - k^2)."""
        k = self.g(t)
        return np.asarray((1 - k * k) * self.scale)

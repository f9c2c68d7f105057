"""Learning the weights of a sum of kernels from the codes.

| paper   | here    | shape | meaning                                                              |
|---------|---------|-------|----------------------------------------------------------------------|
| alpha_l | weights | (p,)  | weight of base kernel l                                              |
| L_l     | losses  | (p,)  | reconstruction error in base kernel l                                |
| J_l     | spreads | (p,)  | spread of the atoms in base kernel l                                 |
|         | rho     |       | how strongly the weights are held together                           |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (17). Loss and spread are linear in the
weights, so that the printed ratio is lowest at a single kernel, the one of least L_l / J_l, for weights that are not
negative; without a sign it has no bound. The well-posed form scales every kernel to J_l = 1 and minimises
alpha'L + rho |alpha|^2 over the simplex: the projection of -L / (2 rho), between one kernel (rho -> 0) and the average
(rho -> infinity).
"""

from __future__ import annotations

import numpy as np

from zslplat.errors import MethodError


def project_to_simplex(v: np.ndarray) -> np.ndarray:
    """Return the point of {alpha >= 0, sum alpha = 1} nearest to v (p,)."""
    descending = np.sort(v)[::-1]
    surplus = np.cumsum(descending) - 1
    count = np.arange(1, len(v) + 1)
    last = int(np.flatnonzero(descending > surplus / count)[-1])
    return np.asarray(np.maximum(v - surplus[last] / (last + 1), 0))


def spread_weights_of_kernels(losses: np.ndarray, spreads: np.ndarray, rho: float) -> np.ndarray:
    """Return the weights (p,) of the kernels as given, well-posed form; the scaled kernels' weights sum to 1.

    ``rho`` counts in units of the range of the scaled losses, so that it means the same on any data. Raises
    :class:`MethodError` where the atoms coincide in a kernel.
    """
    _check(spreads)
    scaled = losses / spreads
    width = float(scaled.max() - scaled.min())
    alpha = np.full(len(losses), 1 / len(losses)) if width <= 0 else project_to_simplex(-scaled / (2 * rho * width))
    return np.asarray(alpha / spreads)


def single_kernel_weights(losses: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Return the minimiser of the printed ratio (17) over weights >= 0: all weight on the least L_l / J_l."""
    _check(spreads)
    alpha = np.zeros(len(losses))
    alpha[int(np.argmin(losses / spreads))] = 1.0
    return alpha


def _check(spreads: np.ndarray) -> None:
    if not (spreads > 0).all():
        raise MethodError(
            f"kernel weights: in kernel {int(np.argmin(spreads)) + 1} of the sum all atoms coincide; leave it out"
        )

"""Locality-constrained kernel coding, (9) to (13), and its linear form, which is the same with the linear kernel.

Symbols in :mod:`.local_codes`.
"""

from __future__ import annotations

from typing import Any

from zslplat.methods.coding.estimator import EPSILON, NEIGHBOURS, LearnedCoding
from zslplat.methods.coding.schemes import FullLocalScheme, LocalScheme, Scheme
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Real, parameter


class KernelLLC(LearnedCoding):
    r"""Codes that sum to 1 on the nearest atoms (approximate), or on all atoms with a price for far ones (full).

    Equations
    ---------
    A row is reconstructed from its nearest atoms B in the space of a kernel, with shares that sum to 1, (11); in the
    full form (9) from all atoms, far ones at a price:

    $$\min_y \lVert \phi(x) - \Phi(B)\, y \rVert^2 \quad \text{with } 1^\top y = 1 \qquad \text{or} \qquad \min_y \lVert
    \phi(x) - \Phi(D)\, y \rVert^2 + \gamma \lVert E y \rVert^2 \quad \text{with } 1^\top y = 1$$

    Related
    -------
    ``llc`` is the linear form; ``ksc`` takes few atoms in place of near ones; ``l-skllc`` and ``bi-skllc`` learn a
    classifier along with it.
    """

    summary = "locality-constrained kernel coding"
    tags = ("kernel",)
    variant = parameter(
        "nearest atoms only, or all with a price", Choice(("approximate", "full")), default="approximate"
    )
    neighbours = NEIGHBOURS
    epsilon = EPSILON
    gamma = parameter("weight of the price, full variant", POSITIVE, default=1e-4)
    sigma = parameter("growth of the price with distance, full variant", NON_NEGATIVE, default=2.0)

    @property
    def space(self) -> dict[str, Any]:
        """The number of neighbours, or weight and growth of the price; and the kernel's ranges."""
        space = super().space
        if self.variant == "full":
            space.pop("neighbours", None)
            space |= {"gamma": Real(1e-6, 0.1, log=True), "sigma": Real(0.1, 10, log=True)}
        return space

    def scheme(self) -> Scheme:
        """Return the scheme of the chosen variant."""
        if self.variant == "full":
            return FullLocalScheme(self.gamma, self.sigma)
        return LocalScheme(self.neighbours, self.epsilon)


class LLC(KernelLLC):
    r"""Locality-constrained linear coding: the kernel form with the linear kernel.

    Equations
    ---------
    A row is reconstructed from its nearest atoms B, with shares that sum to 1:

    $$\min_y \lVert x - B^\top y \rVert^2 \quad \text{with } 1^\top y = 1$$

    Related
    -------
    ``kllc`` is the same in the space of a kernel; ``sc`` takes few atoms in place of near ones.
    """

    summary = "locality-constrained linear coding"
    tags = ("baseline",)
    citation = "Wang et al., Locality-constrained Linear Coding for Image Classification (CVPR 2010)"
    kernel = "linear"

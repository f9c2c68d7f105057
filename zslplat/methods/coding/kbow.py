"""Kernel bag of words, (4) to (6): hard or soft assignment to the atoms.

Symbols in :mod:`.bag_codes`.
"""

from __future__ import annotations

from typing import Any

from zslplat.methods.coding.estimator import LearnedCoding
from zslplat.methods.coding.schemes import BagScheme, Scheme
from zslplat.space import POSITIVE, Choice, Real, parameter


class KernelBagOfWords(LearnedCoding):
    r"""Codes are memberships of the atoms, by distance in the Hilbert space.

    Equations
    ---------
    The code of a row says how near it is to each atom in the space of the kernel, (4) to (6); with hard assignment the
    nearest atom takes all:

    $$y_j = \frac{e^{-\sigma \lVert \phi(x) - \phi(d_j) \rVert^2}}{\sum_r e^{-\sigma \lVert \phi(x) - \phi(d_r)
    \rVert^2}}$$

    Related
    -------
    ``ksc`` and ``kllc`` reconstruct the row from the atoms; ``llc`` and ``sc`` are linear.
    """

    summary = "kernel bag of words"
    tags = ("kernel", "baseline")
    assignment = parameter("to all atoms by distance, or to the nearest", Choice(("soft", "hard")), default="soft")
    sigma = parameter(
        "how fast membership falls with squared distance", POSITIVE, Real(0.1, 1000, log=True), default=10.0
    )

    @property
    def space(self) -> dict[str, Any]:
        """The bandwidth of soft assignments, and the kernel's ranges."""
        space = super().space
        if self.assignment == "hard":
            space.pop("sigma", None)
        return space

    def scheme(self) -> Scheme:
        """Return soft or hard assignment."""
        return BagScheme(self.sigma if self.assignment == "soft" else None)

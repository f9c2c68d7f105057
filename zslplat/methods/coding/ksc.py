"""Kernel sparse coding, problem (8), and linear sparse coding, which is the same with the linear kernel."""

from __future__ import annotations

from zslplat.methods.coding.estimator import COMMON, GAMMA, KernelCodingMethod, in_order
from zslplat.methods.coding.schemes import Scheme, SparseScheme
from zslplat.space import with_defaults


class KernelSparseCoding(KernelCodingMethod):
    """min_y |phi(x) - Phi(D) y|^2 + gamma |y|_1, exact; classes by residual, by nearest code, or by a classifier."""

    summary = "kernel sparse coding"
    tags = ("kernel",)
    parameters = in_order({"gamma": GAMMA}, COMMON)
    gamma: float

    def scheme(self) -> Scheme:
        """Return the sparse scheme."""
        return SparseScheme(self.gamma, self.threads)


class SparseCoding(KernelSparseCoding):
    """Sparse coding in feature space: kernel sparse coding with the linear kernel."""

    summary = "linear sparse coding"
    tags = ("baseline",)
    parameters = with_defaults(KernelSparseCoding.parameters, kernel="linear")

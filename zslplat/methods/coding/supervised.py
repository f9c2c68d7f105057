"""Supervised kernel coding: codes, dictionary and classifier learned together, (23) and (24)."""

from __future__ import annotations

from zslplat.methods.coding.estimator import (
    EPSILON,
    GAMMA,
    NEIGHBOURS,
    SUPERVISED,
    KernelCodingMethod,
    in_order,
)
from zslplat.methods.coding.schemes import LocalScheme, Scheme, SparseScheme
from zslplat.space import with_defaults


class LinearSupervisedSparseCoding(KernelCodingMethod):
    """Kernel sparse coding with a linear classifier on the codes, (23)."""

    summary = "supervised kernel sparse coding, linear classifier"
    tags = ("kernel", "supervised", "monotone")
    supervision = "linear"
    parameters = in_order({"gamma": GAMMA}, SUPERVISED)
    gamma: float

    def scheme(self) -> Scheme:
        """Return the sparse scheme."""
        return SparseScheme(self.gamma, self.threads)


class LinearSupervisedLLC(KernelCodingMethod):
    """Locality-constrained kernel coding with a linear classifier on the codes, (23)."""

    summary = "supervised locality-constrained kernel coding, linear classifier"
    tags = ("kernel", "supervised", "monotone")
    supervision = "linear"
    parameters = in_order({"neighbours": NEIGHBOURS, "epsilon": EPSILON}, with_defaults(SUPERVISED, learning="free"))
    neighbours: int
    epsilon: float

    def scheme(self) -> Scheme:
        """Return the approximate local scheme."""
        return LocalScheme(self.neighbours, self.epsilon)


class BilinearSupervisedSparseCoding(LinearSupervisedSparseCoding):
    """Kernel sparse coding with a classifier that is bilinear in sample and code, (24)."""

    summary = "supervised kernel sparse coding, bilinear classifier"
    supervision = "bilinear"


class BilinearSupervisedLLC(LinearSupervisedLLC):
    """Locality-constrained kernel coding with a classifier that is bilinear in sample and code, (24)."""

    summary = "supervised locality-constrained kernel coding, bilinear classifier"
    supervision = "bilinear"

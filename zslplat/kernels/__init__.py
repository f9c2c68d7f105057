"""Kernels: one per file, over the base classes that give them Gram blocks, gradients and low-rank features."""

import sys

from zslplat.kernels.base import Kernel
from zslplat.kernels.expression import parse_kernel
from zslplat.kernels.inner_product import DotProductKernel, InnerProductKernel, RadialForm, RadialKernel
from zslplat.kernels.low_rank import LowRank, incomplete_cholesky
from zslplat.listing import ListingPackage

__all__ = [
    "DotProductKernel",
    "InnerProductKernel",
    "Kernel",
    "LowRank",
    "RadialForm",
    "RadialKernel",
    "incomplete_cholesky",
    "parse_kernel",
]

sys.modules[__name__].__class__ = ListingPackage  # ``zslplat.kernels()`` lists them

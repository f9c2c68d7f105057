"""Kernels: one per file, over the base classes that give them Gram blocks, gradients and low-rank features."""

from zslplat.kernels.base import Kernel
from zslplat.kernels.expression import parse_kernel
from zslplat.kernels.inner_product import DotProductKernel, InnerProductKernel, RadialForm, RadialKernel
from zslplat.kernels.low_rank import LowRank, incomplete_cholesky, nystrom

__all__ = [
    "DotProductKernel",
    "InnerProductKernel",
    "Kernel",
    "LowRank",
    "RadialForm",
    "RadialKernel",
    "incomplete_cholesky",
    "nystrom",
    "parse_kernel",
]

"""Kernel values between training rows and others, from what can be prepared before the kernel's parameters are known.

A kernel that is another one on embedded rows (:meth:`Kernel.embedded`) is taken as that one: matrices (n, p, p) under
the log-Euclidean kernel become vectors of their logarithms under the Gaussian one. Under a kernel on vectors matrices
are read entry by entry. For kernels of inner products the inner
products are prepared, and every kernel of that kind follows from them without the features; for others the Gram
matrix itself, where no kernel parameter is searched.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zslplat.errors import DataError
from zslplat.kernels.base import Kernel
from zslplat.kernels.gaussian import Gaussian
from zslplat.kernels.inner_product import InnerProductKernel, squared_distances, squared_norms
from zslplat.methods.base import Arrays

Statistics = Mapping[str, np.ndarray] | None


def equivalent_kernel(kernel: Kernel) -> Kernel:
    """Return the kernel that gives the same values on :func:`equivalent_rows`."""
    return kernel.embedded() or kernel


def equivalent_rows(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Return rows X (n, ...) in float64, as vectors where the kernel allows it.

    Raises :class:`DataError` for rows of a shape that the kernel does not take, and for matrices that are not
    symmetric positive definite where they must be.
    """
    if kernel.embedded() is not None:
        if kernel.input == "spd" and X.ndim != 3:
            raise DataError(f"kernel {kernel} takes matrices (n, p, p), got rows of shape {X.shape}")
        return kernel.embed(np.asarray(X, dtype=np.float64))
    if kernel.input == "vectors" and X.ndim == 3:
        X = X.reshape(len(X), -1)
    return np.asarray(X, dtype=np.float64)


def prepare_values(kernel: Kernel, A: np.ndarray, B: np.ndarray | None, *, searched: bool) -> Arrays:
    """Return the arrays to keep for equivalent rows A (n, ...) against training rows B (default: A itself).

    ``searched``: whether the kernel may still change. Parameters in units of the data are resolved on the training
    rows.
    """
    if isinstance(kernel, InnerProductKernel):
        inner = A @ (A if B is None else B).T
        if B is None:
            norms = np.diagonal(inner).copy()
            return {"inner": inner, "left": norms, "right": norms}
        return {"inner": inner, "left": squared_norms(A), "right": squared_norms(B)}
    if searched:
        return {}
    kernel = kernel.resolved(A if B is None else B)
    return {
        "gram": np.asarray(kernel(A, B), dtype=np.float64),
        "diagonal": np.asarray(kernel.diag(A), dtype=np.float64),
    }


class PairValues:
    """Kernel values between rows X (n, ...) and the training rows (X itself where ``train`` is None).

    ``statistics`` are the arrays of :func:`prepare_values`; without them they are made here, once. All values are
    divided by ``unit``.
    """

    def __init__(
        self, kernel: Kernel, X: np.ndarray, train: np.ndarray | None, statistics: Statistics, unit: float = 1.0
    ) -> None:
        self.given, self.X, self.train, self.unit = kernel, X, train, unit
        self._rows: np.ndarray | None = None
        self._train_rows: np.ndarray | None = None
        self.statistics = statistics or {}

    @property
    def rows(self) -> np.ndarray:
        """The equivalent rows of X."""
        if self._rows is None:
            self._rows = equivalent_rows(self.given, self.X)
        return self._rows

    @property
    def train_rows(self) -> np.ndarray:
        """The equivalent rows of the training samples."""
        if self.train is None:
            return self.rows
        if self._train_rows is None:
            self._train_rows = equivalent_rows(self.given, self.train)
        return self._train_rows

    def gram(self, kernel: Kernel) -> np.ndarray:
        """Return k(x, x_i) (n, M) in float64; a fresh array."""
        K = self._gram(kernel)
        if self.unit != 1:
            K /= self.unit
        return K

    def diagonal(self, kernel: Kernel) -> np.ndarray:
        """Return k(x, x) (n,) in float64."""
        return self._diagonal(kernel) / self.unit

    def distances(self) -> np.ndarray:
        """Return |x - x_i|^2 (n, M)."""
        found = self._found(Gaussian(sigma=1.0))
        return squared_distances(found["inner"], found["left"][:, None], found["right"][None, :])

    def _gram(self, kernel: Kernel) -> np.ndarray:
        found = self._found(kernel)
        if "inner" in found and isinstance(kernel, InnerProductKernel):
            return np.array(kernel.f(found["inner"], found["left"][:, None], found["right"][None, :]), dtype=np.float64)
        if "gram" in found:
            return np.array(found["gram"])
        return np.array(kernel(self.rows, None if self.train is None else self.train_rows), dtype=np.float64)

    def _diagonal(self, kernel: Kernel) -> np.ndarray:
        found = self._found(kernel)
        if "inner" in found and isinstance(kernel, InnerProductKernel):
            u = np.asarray(found["left"])
            return np.broadcast_to(np.asarray(kernel.f(u, u, u), dtype=np.float64), u.shape).copy()
        if "diagonal" in found:
            return np.array(found["diagonal"])
        return np.asarray(kernel.diag(self.rows), dtype=np.float64)

    def _found(self, kernel: Kernel) -> Mapping[str, np.ndarray]:
        if not self.statistics and isinstance(kernel, InnerProductKernel):
            other = None if self.train is None else self.train_rows
            self.statistics = prepare_values(kernel, self.rows, other, searched=True)
        return self.statistics


def mean_diagonal(diagonal: np.ndarray) -> float:
    """Return the mean of |k(x, x)| (n,); raises DataError where it is 0, since nothing can be coded then."""
    mean = float(np.abs(diagonal).mean())
    if not mean > 0:
        raise DataError("the kernel is 0 on every training row; choose another kernel or other features")
    return mean

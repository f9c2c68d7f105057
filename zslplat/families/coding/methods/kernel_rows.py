"""Kernel values between training rows and others, from what can be prepared before the kernel's parameters are known.

A kernel that is another one on embedded rows (:meth:`Kernel.embedded`) is taken as that one: matrices (n, p, p) under
the log-Euclidean kernel become vectors of their logarithms under the Gaussian one. Under a kernel on vectors matrices
are read entry by entry. For kernels of inner products the inner products are prepared, and every kernel of that kind
follows from them without the features; for others the Gram matrix itself, where no kernel parameter is searched.

An expression over views (``gaussian@cq + chi-squared@phog``) is made of the values of its terms: inner products are
prepared once per view, for all kernels of that kind on it; for exponentials of another distance the distances; for the
rest the Gram matrix, where its own parameters are not searched. Weights are no parameter of a term, and the units of
the data are measured on the training rows once, so that no value of either costs a pass over rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from zslplat.errors import DataError, UsageError
from zslplat.kernels.base import Kernel
from zslplat.kernels.composition import GramComposite
from zslplat.kernels.forms import Gaussian
from zslplat.kernels.histograms import ExponentialKernel
from zslplat.kernels.inner_product import InnerProductKernel, squared_distances, squared_norms
from zslplat.kernels.on_view import OnView, has_views
from zslplat.methods.base import Arrays, Statistics


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


def rows_kernel(kernel: Kernel) -> Kernel:
    """Return the kernel of the equivalent rows, of its view where it is on one."""
    return equivalent_kernel(_on_rows(kernel))


def with_bandwidth(kernel: Kernel, sigma: float) -> Kernel:
    """Return the Gaussian kernel of another bandwidth in place of one that declares an exponential form.

    Raises :class:`UsageError` for a kernel of matrices on a view that has no ``sigma`` of that meaning.
    """
    gaussian = Gaussian(sigma=sigma)
    if not isinstance(kernel, OnView):
        return gaussian
    if kernel.part.embedded() is None:
        return kernel.over(gaussian)
    part = kernel.part.replaced({"sigma": sigma}) if "sigma" in kernel.part.values else kernel.part
    if str(equivalent_kernel(part)) != str(gaussian):
        raise UsageError(f"learn_kernel=bandwidth cannot set the bandwidth of {kernel}; take log-euclidean")
    return kernel.over(part)


def with_bias(kernel: Kernel, c: float) -> Kernel:
    """Return a polynomial kernel, on a view or not, with another bias."""
    return kernel.over(with_bias(kernel.part, c)) if isinstance(kernel, OnView) else kernel.replaced({"c": c})


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


def prepare_term_values(kernel: Kernel, X: np.ndarray, train: np.ndarray | None, searched: Collection[str]) -> Arrays:
    """Return the arrays to keep for rows X (n, D) of several views, by term of the kernel (``term/inner``, ...).

    ``train``: the training rows (default: X itself). ``searched``: the paths of the kernel's parameters that may still
    change.
    """
    X = np.asarray(X, dtype=np.float64)
    train = None if train is None else np.asarray(train, dtype=np.float64)
    prepared: Arrays = {}
    if train is None:
        for leaf in kernel.leaves():
            part, rows = _on_rows(leaf), _rows_of(leaf, X)
            prepared |= {_scale(leaf, scale): np.array(part.measured(scale, rows)) for scale in part.scales_needed}
    for term, paths in _terms(kernel, iter(kernel.values)):
        if not _has_parts(term):
            if not set(searched).isdisjoint(paths):
                continue
            term = term.resolved(X if train is None else train)
        if not any(name.startswith(f"{_source(term)}/") for name in prepared):
            values = _values_of_term(term, X, train).arrays()
            prepared |= {f"{_source(term)}/{name}": array for name, array in values.items()}
    return prepared


def _terms(kernel: Kernel, paths: Iterator[str]) -> Iterator[tuple[Kernel, list[str]]]:
    """Yield the parts whose values are combined entry by entry, each with the paths of its parameters."""
    if not isinstance(kernel, GramComposite):
        yield kernel, [next(paths) for _ in kernel.values]
        return
    for index, part in enumerate(kernel.parts):
        if index < len(kernel.numbers):
            next(paths)
        yield from _terms(part, paths)


def _on_rows(term: Kernel) -> Kernel:
    """Return the kernel on the rows of its view."""
    return term.part if isinstance(term, OnView) else term


def _rows_of(term: Kernel, X: np.ndarray) -> np.ndarray:
    """Return the rows of its view."""
    return term.columns_of(X) if isinstance(term, OnView) else X


def _place(term: Kernel) -> str:
    return f"@{term.view}{term.columns}" if isinstance(term, OnView) else ""


def _scale(leaf: Kernel, scale: str) -> str:
    """Return the name of a scale of the data under which it is prepared."""
    return f"{scale} of {_on_rows(leaf).label}{_place(leaf)}"


def _has_parts(term: Kernel) -> bool:
    """Tell whether values of the term follow from inner products or distances, whatever its parameters."""
    return isinstance(rows_kernel(term), InnerProductKernel | ExponentialKernel)


def _source(term: Kernel) -> str:
    """Return the name of what the values of a term follow from: rows, distances, or a kernel with all its numbers."""
    if not _has_parts(term):
        return str(term)
    part = _on_rows(term)
    plain = part.embedded() is None and isinstance(part, InnerProductKernel)
    return f"{'' if plain else part.label}{_place(term)}"


class PairValues:
    """Kernel values between rows X (n, ...) and the training rows (X itself where ``train`` is None).

    ``statistics`` are the arrays of :func:`prepare_values`; without them they are made here, once. All values are
    divided by ``unit``, which is the mean of k(x, x) where they are ``relative``.
    """

    relative = False

    def __init__(
        self, kernel: Kernel, X: np.ndarray, train: np.ndarray | None, statistics: Statistics, unit: float = 1.0
    ) -> None:
        self.given, self.X, self.train, self.unit = kernel, X, train, unit
        self._rows: np.ndarray | None = None
        self._train_rows: np.ndarray | None = None
        self.statistics = statistics or {}
        self._views = has_views(kernel)
        self._of_terms: dict[str, PairValues] = {}

    def take_unit_of(self, kernel: Kernel) -> None:
        """Divide by the mean of k(x, x) from now on, where values are relative; raises DataError where it is 0."""
        if self.relative:
            self.unit = mean_diagonal(self._diagonal(kernel))

    def arrays(self) -> Arrays:
        """Return what the values of the given kernel follow from, as a term of an expression over views."""
        train_rows = None if self.train is None else self.train_rows
        kernel = equivalent_kernel(self.given)
        if isinstance(kernel, ExponentialKernel):
            return {"distances": kernel.checked_distances(self.rows, train_rows), "diagonal": np.ones(len(self.rows))}
        return prepare_values(kernel, self.rows, train_rows, searched=False)

    def resolved(self, kernel: Kernel) -> Kernel:
        """Return the kernel with numbers for what is in units of the rows X, which are training rows."""
        return kernel.mapped(self._resolved) if self._views else kernel.resolved(self.rows)

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
        """Return k(x, x_i) (n, M) in float64; a fresh array. Raises :class:`DataError` for NaN and infinity."""
        K = self._gram(kernel)
        if not np.isfinite(K).all():
            raise DataError(f"kernel {kernel} gave NaN or infinity; scale the features, or choose another kernel")
        if self.unit != 1:
            K /= self.unit
        return K

    def diagonal(self, kernel: Kernel) -> np.ndarray:
        """Return k(x, x) (n,) in float64."""
        return self._diagonal(kernel) / self.unit

    def distances(self, kernel: Kernel) -> np.ndarray:
        """Return |x - x_i|^2 (n, M) between the equivalent rows, those of its view for a kernel on one."""
        if self._views:
            return self._term(kernel).distances(_on_rows(kernel))
        values = self._values_for(Gaussian(sigma=1.0))
        return squared_distances(values["inner"], values["left"][:, None], values["right"][None, :])

    def inner_products(self, kernel: Kernel) -> np.ndarray:
        """Return <x, x_i> (n, M) between the equivalent rows, those of its view for a kernel on one."""
        if self._views:
            return self._term(kernel).inner_products(_on_rows(kernel))
        return np.asarray(self._values_for(kernel)["inner"])

    def _gram(self, kernel: Kernel) -> np.ndarray:
        if self._views:
            if not isinstance(kernel, GramComposite):
                return self._term(kernel)._gram(rows_kernel(kernel))
            first = kernel.parts[0]
            return kernel.combine_grams([self._gram(part) for part in kernel.parts], lambda: self._diagonals(first))
        values = self._values_for(kernel)
        if "inner" in values and isinstance(kernel, InnerProductKernel):
            return np.array(
                kernel.f(values["inner"], values["left"][:, None], values["right"][None, :]), dtype=np.float64
            )
        if "distances" in values and isinstance(kernel, ExponentialKernel):
            return kernel.of_distances(np.asarray(values["distances"]))
        if "gram" in values:
            return np.array(values["gram"])
        return np.array(kernel(self.rows, None if self.train is None else self.train_rows), dtype=np.float64)

    def _diagonal(self, kernel: Kernel) -> np.ndarray:
        if self._views:
            if isinstance(kernel, GramComposite):
                return kernel.combine([self._diagonal(part) for part in kernel.parts])
            return self._term(kernel)._diagonal(rows_kernel(kernel))
        values = self._values_for(kernel)
        if "inner" in values and isinstance(kernel, InnerProductKernel):
            u = np.asarray(values["left"])
            return np.broadcast_to(np.asarray(kernel.f(u, u, u), dtype=np.float64), u.shape).copy()
        if "diagonal" in values:
            return np.array(values["diagonal"])
        return np.asarray(kernel.diag(self.rows), dtype=np.float64)

    def _diagonals(self, kernel: Kernel) -> tuple[np.ndarray, np.ndarray | None]:
        """Return k(x, x) of the rows and of the training samples, None for these where they are the rows."""
        if self.train is None:
            return self._diagonal(kernel), None
        return self._diagonal(kernel), np.asarray(kernel.diag(np.asarray(self.train, dtype=np.float64)))

    def _term(self, kernel: Kernel) -> PairValues:
        """Return the values that a term follows from; a Gram matrix is computed once."""
        name = _source(kernel)
        if name not in self._of_terms:
            prefix = f"{name}/"
            prepared = {n.removeprefix(prefix): a for n, a in self.statistics.items() if n.startswith(prefix)}
            values = _values_of_term(kernel, self.X, self.train, prepared)
            values.statistics = prepared or values.arrays()
            self._of_terms[name] = values
        return self._of_terms[name]

    def _resolved(self, leaf: Kernel) -> Kernel:
        part = _on_rows(leaf)
        if not part.scales_needed:
            return leaf
        scales = {}
        for scale in part.scales_needed:
            measured = self.statistics.get(_scale(leaf, scale))
            if measured is None:
                measured = np.array(part.measured(scale, np.asarray(_rows_of(leaf, self.X), dtype=np.float64)))
            scales[scale] = float(measured)
        part = part.in_units(scales)
        return leaf.over(part) if isinstance(leaf, OnView) else part

    def _values_for(self, kernel: Kernel) -> Mapping[str, np.ndarray]:
        if not self.statistics and isinstance(kernel, InnerProductKernel):
            other = None if self.train is None else self.train_rows
            self.statistics = prepare_values(kernel, self.rows, other, searched=True)
        return self.statistics


def _values_of_term(term: Kernel, X: np.ndarray, train: np.ndarray | None, statistics: Statistics = None) -> PairValues:
    return PairValues(_on_rows(term), _rows_of(term, X), None if train is None else _rows_of(term, train), statistics)


def mean_diagonal(diagonal: np.ndarray) -> float:
    """Return the mean of |k(x, x)| (n,); raises DataError where it is 0, since nothing can be coded then."""
    mean = float(np.abs(diagonal).mean())
    if not mean > 0:
        raise DataError("the kernel is 0 on every training row; choose another kernel or other features")
    return mean

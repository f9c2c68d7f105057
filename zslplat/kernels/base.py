"""The contract of kernels: a function of two inputs, its parameters, and the Gram matrix in blocks.

A kernel is stateless: it holds its parameters and nothing that it has seen. Parameters in units of the data, such as
``sigma=0.7*median``, stand for numbers that only data give; :meth:`Kernel.resolved` returns the same kernel with these
numbers in their place, and a Gram matrix is refused until they are.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from zslplat.data.store.rows import View, blocks_of
from zslplat.errors import DataError, UnknownNameError, UsageError
from zslplat.kernels.scales import mean_square, median_distance
from zslplat.multiples import absolute, read_multiple, scale_of
from zslplat.registry import registered_name
from zslplat.space import Parameter, Parameterised, Scaled, Space, check_value
from zslplat.spec import format_value

# Elements of one block: 4 million, so that the temporaries of a block stay near 16 MiB (float32) or 32 MiB each.
BLOCK_ELEMENTS = 1 << 22

# One group of parameters in reading order: the label that owns them, and (name, description, value) of each.
ParameterGroup = tuple[str, list[tuple[str, Parameter, Any]]]


@dataclass(frozen=True)
class Operators:
    """What makes kernels of kernels; :mod:`zslplat.kernels.composition`, which stands above this file, provides it."""

    weighted_sum: Callable[[Sequence[float], Sequence[Kernel]], Kernel]
    product: Callable[[Sequence[Kernel]], Kernel]
    power: Callable[[Kernel, float], Kernel]
    bound: Callable[[Kernel, Sequence[View]], Kernel]


class Kernel(Parameterised, ABC):
    """Base of every kernel plugin; subclass this one where only values are known, not derivatives.

    A subclass declares ``summary``, ``citation``, its parameters (:func:`~zslplat.space.parameter`, from which the
    constructor follows), ``psd`` (False for a kernel that is not positive semidefinite) and ``input`` (``vectors`` for
    rows (n, d), ``spd`` for (n, p, p)), and implements :meth:`evaluate`. One that writes its own constructor hands all
    values to ``super().__init__``. Raises :class:`~zslplat.errors.UsageError` for a parameter outside its legal domain.
    """

    summary: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    input: str = "vectors"
    non_negative: bool = False
    psd: bool = True
    width_multiple: int = 1  # rows of another width are refused; above 1 for kernels whose rows have a layout
    fixed: frozenset[str] = frozenset()  # parameters that keep their values: left out of the search space
    operators: ClassVar[Operators]

    def __init__(self, **values: Any) -> None:
        self.take_parameters(values)

    def take_parameters(self, values: Mapping[str, Any]) -> None:
        """Store the values of all parameters; raises UsageError for one that is illegal or missing."""
        self.label = _kebab(type(self).__name__)
        for name, value in values.items():
            if name not in self.parameters:
                raise UnknownNameError(f"parameter of {self._called()}", name, self.parameters)
            value = value.item() if isinstance(value, np.generic) else value
            if not self.parameters[name].legal.contains(value):
                check_value(self._called(), name, value, self.parameters)
            setattr(self, name, value)
        missing = [name for name in self.parameters if name not in values]
        if missing:
            raise UsageError(f"{self._called()}: no value for {missing[0]!r}; give it a default in the constructor")

    def _called(self) -> str:
        """Return what errors of the constructor call the kernel: by its registered name, which may be no label yet."""
        return f"kernel {registered_name(type(self), 'kernels') or self.label}"

    # What a subclass implements.

    @abstractmethod
    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return k (n, m) between embedded rows A (n, ...) and B (m, ...); dtype as given, inputs untouched."""

    def embed(self, X: np.ndarray) -> np.ndarray:
        """Return what :meth:`evaluate` works on, one row per input; called once per input, before the blocks."""
        return X

    def embedded(self) -> Kernel | None:
        """Return the kernel of vectors that has the same values on ``embed(X)`` (n, r) as this one on X, if any.

        It lets what is prepared on vectors serve kernels of other inputs.
        """
        return None

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return k(x, x) (n,) for the rows of X; subclasses with a shorter way override it."""
        A = self.embed(self._checked(X))
        return np.concatenate([self.evaluate(A[i : i + 1], A[i : i + 1])[0] for i in range(len(A))])

    def data_scale(self, name: str, X: np.ndarray) -> float:
        """Return a scale of the rows X that parameters may be multiples of; raises UsageError for an unknown one.

        ``median``: median distance between rows; kernels of another than the Euclidean distance override it.
        ``square``: mean squared length of the rows.
        """
        if name == "median":
            return median_distance(X)
        if name == "square":
            return mean_square(X)
        raise UsageError(f"kernel {self}: unknown scale {name!r}; expected median or square")

    # What all kernels offer.

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """Return the Gram matrix (n, m) between rows of X and of Y (default: X), float32 where both inputs are.

        Computed in blocks of rows, so that temporaries stay small. With Y=None the result is exactly symmetric and
        its diagonal exactly :meth:`diag`. Raises DataError for inputs that do not fit, UsageError for a kernel with
        an unresolved parameter.
        """
        X = self._checked(X)
        if Y is None:
            return self._symmetric(X)
        K: np.ndarray = np.empty((len(X), len(Y)), dtype=_common_dtype(X, self._checked(Y)))
        for rows, block in self.blocks(X, Y):
            K[rows] = block
        return K

    def blocks(self, X: np.ndarray, Y: np.ndarray, *, rows: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (slice of rows of X, Gram block (rows, m)), for Gram matrices that do not fit into memory.

        ``rows``: rows per block; default as many as keep a block below 4 million elements.
        """
        X, Y = self._checked(X), self._checked(Y)
        if X.shape[1:] != Y.shape[1:]:
            raise DataError(f"kernel {self}: inputs of shapes {X.shape} and {Y.shape} do not fit together")
        dtype = _common_dtype(X, Y)
        B = self.embed(_cast(Y, dtype))
        step = rows or max(1, BLOCK_ELEMENTS // max(1, len(Y)))
        for start in range(0, len(X), step):
            part = slice(start, min(start + step, len(X)))
            yield part, self.evaluate(self.embed(_cast(X[part], dtype)), B)

    def resolved(self, X: np.ndarray) -> Kernel:
        """Return this kernel with every multiple of a scale replaced by its number for the rows X (n, ...)."""
        if not self.scales_needed:
            return self
        return self.in_units({scale: self.measured(scale, X) for scale in self.scales_needed})

    def measured(self, scale: str, X: np.ndarray) -> float:
        """Return :meth:`data_scale`; raises :class:`DataError` for rows that the kernel does not take."""
        return self.data_scale(scale, self._checked(X, resolving=True))

    @property
    def scales_needed(self) -> list[str]:
        """The scales that parameters of a single kernel are multiples of, each once."""
        return sorted({scale for _, scale in self._multiples()})

    def in_units(self, scales: Mapping[str, float]) -> Kernel:
        """Return a single kernel with the numbers that its multiples come to where the scales are so large."""
        return self.replaced({name: absolute(getattr(self, name), scales[scale]) for name, scale in self._multiples()})

    @property
    def is_resolved(self) -> bool:
        """Whether no parameter waits for data."""
        return not any(_is_scaled(p) and read_multiple(value) for _, p, value in self._paths())

    def bound(self, views: Sequence[View]) -> Kernel:
        """Return this kernel with every part that is on a view (``gaussian@cq``) bound to its columns.

        ``views``: all views of the data, in the order of their columns. Where some hold matrices, parts that are on no
        view are put on the vector views side by side. Raises UnknownNameError for a view that is not there,
        :class:`UsageError` for a kernel on vectors on a view of matrices, or the reverse.
        """
        return self.operators.bound(self, views)

    def leaves(self) -> list[Kernel]:
        """Return the single kernels of an expression, from left to right."""
        return [self]

    def mapped(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Return the expression with every single kernel changed."""
        return change(self)

    @property
    def values(self) -> dict[str, Any]:
        """All parameter values by path: ``sigma`` of a single kernel, ``gaussian.sigma`` inside an expression."""
        return {path: value for path, _, value in self._paths()}

    @property
    def domains(self) -> dict[str, Parameter]:
        """The description (meaning, legal values, search range) of every parameter, by path."""
        return {path: parameter for path, parameter, _ in self._paths()}

    @property
    def space(self) -> Space:
        """The ranges that tuning searches, by path."""
        return {path: parameter.search for path, parameter, _ in self._paths() if parameter.search is not None}

    def replaced(self, values: Mapping[str, Any]) -> Kernel:
        """Return the kernel with other values at some paths; raises UnknownNameError, or UsageError if illegal.

        A single kernel takes ``sigma`` and ``gaussian.sigma`` alike.
        """
        paths = self._paths()
        accepted = [path for path, _, _ in paths]
        named = {self._own_path(path): value for path, value in values.items()}
        for path in named:
            if path not in accepted:
                raise UnknownNameError(f"parameter of kernel {self}", path, accepted)
        return self._filled(iter([named.get(path, value) for path, _, value in paths]))

    # A single kernel is a leaf of the tree of an expression; composites override what follows.

    def _groups(self) -> list[ParameterGroup]:
        return [(self.label, self._paths())]

    def _filled(self, values: Iterator[Any]) -> Kernel:
        other = type(self)(**{name: next(values) for name in self.parameters})
        other.label = self.label
        return other

    def _paths(self) -> list[tuple[str, Parameter, Any]]:
        parameters = {n: replace(p, search=None) if n in self.fixed else p for n, p in self.parameters.items()}
        return [(name, p, getattr(self, name)) for name, p in parameters.items()]

    def _own_path(self, path: str) -> str:
        return path.removeprefix(f"{self.label}.")

    def _multiples(self) -> list[tuple[str, str]]:
        """Return (parameter, scale) of the own parameters that are multiples of a scale."""
        units = {name: read_multiple(getattr(self, name)) for name, p in self.parameters.items() if _is_scaled(p)}
        return [(name, scale_of(unit[1])) for name, unit in units.items() if unit is not None]

    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        dtype = _common_dtype(X, X)
        A = self.embed(_cast(X, dtype))
        n = len(A)
        K: np.ndarray = np.empty((n, n), dtype=dtype)
        step = max(64, BLOCK_ELEMENTS // max(1, n))
        for start in range(0, n, step):
            stop = min(start + step, n)
            K[start:stop, :stop] = self.evaluate(A[start:stop], A[:stop])
            K[:start, start:stop] = K[start:stop, :start].T
            corner = np.tril(K[start:stop, start:stop])
            K[start:stop, start:stop] = corner + np.tril(corner, -1).T
        np.fill_diagonal(K, self.diag(X))
        return K

    def _checked(self, X: np.ndarray, *, resolving: bool = False) -> np.ndarray:
        if not resolving:
            self.require_resolved()
        dimensions = 2 if self.input == "vectors" else 3
        if X.ndim != dimensions or (dimensions == 3 and X.shape[1] != X.shape[2]):
            shape = "(n, d)" if dimensions == 2 else "(n, p, p)"
            raise DataError(f"kernel {self} takes inputs {shape}, got {X.shape}; choose another kernel or reshape")
        if self.non_negative and any(float(block.min()) < 0 for _, block in blocks_of(X) if block.size):
            raise DataError(f"kernel {self} needs non-negative inputs; preprocess with shift, unit or split")
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)

    def require_resolved(self) -> None:
        """Raise :class:`UsageError` when a parameter still waits for data."""
        for path, parameter, value in self._paths():
            if _is_scaled(parameter) and read_multiple(value):
                raise UsageError(f"kernel {self}: {path} is in units of the data; give a number, or use resolved(X)")

    def __str__(self) -> str:
        inner = ", ".join(f"{name}={format_value(getattr(self, name))}" for name in sorted(self.parameters))
        return f"{self.label}({inner})" if inner else self.label

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __add__(self, other: Kernel) -> Kernel:
        return self.operators.weighted_sum([1.0, 1.0], [self, other])

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return self.operators.product([self, other])
        return self.operators.weighted_sum([float(other)], [self])

    __rmul__ = __mul__

    def __pow__(self, exponent: float) -> Kernel:
        return self.operators.power(self, exponent)


def _is_scaled(parameter: Parameter) -> bool:
    return isinstance(parameter.legal, Scaled)


def require_psd(kernel: Kernel, owner: str) -> None:
    """Raise :class:`UsageError` when ``owner`` needs a positive semidefinite kernel and this one is declared not."""
    if not kernel.psd:
        raise UsageError(f"{owner} needs a positive semidefinite kernel; {kernel} is indefinite, choose another one")


def rounding_of_eigenvalues(n: int, largest: float, dtype: np.dtype[Any] | type) -> float:
    """Return how far rounding can move an eigenvalue of a Gram matrix (n, n) whose largest one is ``largest``.

    An entry is formed from numbers that may be larger than itself: |x|^2 where |a - b|^2 counts, weighted samples where
    atoms do. It is taken to keep half of the digits of ``dtype``, an error of at most e = sqrt(eps) max k(x, x). A
    matrix of such errors has no eigenvalue beyond n e (Gershgorin), no eigenvalue of a sum is further than that from
    one of the exact Gram matrix (Weyl), and max k(x, x) <= ``largest``.
    """
    return n * math.sqrt(float(np.finfo(dtype).eps)) * largest


def _common_dtype(X: np.ndarray, Y: np.ndarray) -> type:
    return np.float32 if X.dtype == np.float32 and Y.dtype == np.float32 else np.float64


def _cast(X: np.ndarray, dtype: type) -> np.ndarray:
    return np.asarray(X, dtype=dtype)


def _kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()

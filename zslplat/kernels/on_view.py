"""Kernels on named views of the rows: ``0.3*gaussian@cq + 0.7*chi-squared@phog``, ``log-euclidean@covariances``.

Rows with several views come as one matrix X (n, D), the views side by side; matrices (p, p) lie flat in it, row by row.
A kernel on a view names it (:class:`OnView`), and knows nothing of columns until it is bound to the views of the data
(:func:`bound`). From then on it is a kernel on the rows of X that reads its own columns: scales of the data are
measured on them, and what the kernel demands of its input (non-negative, positive definite) is demanded of them alone.
The text of a bound kernel says which columns these are, so that it can be read again without the views:
``gaussian(sigma=2.0)@cq[0:64]``, ``log-euclidean(sigma=1.5)@covariances[64:689,25x25]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat.data.store.rows import Rows, View
from zslplat.errors import DataError, UnknownNameError, UsageError
from zslplat.kernels.base import Kernel, ParameterGroup
from zslplat.space import Parameter

_RANGE = re.compile(r"(\d+):(\d+)")
_SHAPE = re.compile(r"(\d+)x(\d+)")


@dataclass(frozen=True)
class Columns:
    """Columns of X: ``ranges`` (start, stop) in ascending order, read as rows of a ``shape`` (d,) or (p, p)."""

    ranges: tuple[tuple[int, int], ...]
    shape: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Columns | None:
        """Read ``0:64``, ``0:64,80:90`` or ``64:689,25x25``; None for anything else."""
        *parts, last = text.replace(" ", "").split(",")
        shape = _SHAPE.fullmatch(last)
        matches = [_RANGE.fullmatch(part) for part in (parts if shape else [*parts, last])]
        ranges = tuple((int(one[1]), int(one[2])) for one in matches if one)
        ends = [end for one in ranges for end in one]
        width = sum(stop - start for start, stop in ranges)
        if not ranges or len(ranges) < len(matches) or sorted(set(ends)) != ends:
            return None
        if shape is None:
            return cls(ranges, (width,))
        p, q = int(shape[1]), int(shape[2])
        return cls(ranges, (p, q)) if p * q == width else None

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return these columns of rows X (n, D) as an array of their own (n, d) or (n, p, p).

        Of :class:`~zslplat.data.store.rows.Rows` a view that was left as it is stays where it lies.
        """
        if X.ndim != 2 or X.shape[1] < self.ranges[-1][1]:
            raise DataError(f"expected rows (n, {self.ranges[-1][1]}) or wider, views side by side; got {X.shape}")
        if isinstance(X, Rows) and len(self.ranges) == 1:
            view: Any = X.columns(*self.ranges[0])
            if view is not None and view.shape[1:] == self.shape:
                return view
        if self.ranges == ((0, X.shape[1]),):
            columns = np.asarray(X)
        else:
            # A copy, so that sums run as they do over rows that hold nothing else.
            columns = np.concatenate([X[:, start:stop] for start, stop in self.ranges], axis=1)
        return columns if len(self.shape) == 1 else columns.reshape(len(X), *self.shape)

    def __str__(self) -> str:
        ranges = [f"{start}:{stop}" for start, stop in self.ranges]
        return f"[{','.join([*ranges, 'x'.join(map(str, self.shape))] if len(self.shape) > 1 else ranges)}]"


class OnView(Kernel):
    """A single kernel (``part``) on the ``columns`` of a view; None until it is bound, see :func:`bound`.

    It offers its Gram matrix only: as a function of X it is none of the inner products of X. A bound kernel without
    the name of a view is on several views side by side.
    """

    summary = "a kernel on one view of the rows"

    def __init__(self, part: Kernel, view: str, columns: Columns | None = None) -> None:
        super().__init__()
        self.part, self.view, self.columns = part, view, columns
        self.label = f"{view}.{part.label}" if view else part.label
        self.psd = part.psd

    def over(self, part: Kernel) -> OnView:
        """Return another kernel on the same columns."""
        return OnView(part, self.view, self.columns)

    def columns_of(self, X: np.ndarray) -> np.ndarray:
        """Return the columns of the view (n, d) or (n, p, p); raises :class:`UsageError` where it is unbound."""
        if self.columns is None:
            raise UsageError(_unbound(self))
        return self.columns.of(X)

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """Return the Gram matrix (n, m) of the view."""
        return self.part(self.columns_of(X), None if Y is None else self.columns_of(Y))

    def blocks(self, X: np.ndarray, Y: np.ndarray, *, rows: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the Gram matrix of the view by blocks of rows."""
        return self.part.blocks(self.columns_of(X), self.columns_of(Y), rows=rows)

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the kernel between rows A and B."""
        return self(A, B)

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return k(x, x) (n,) of the view."""
        return self.part.diag(self.columns_of(X))

    def data_scale(self, name: str, X: np.ndarray) -> float:
        """Return a scale of the view."""
        return self.part.data_scale(name, self.columns_of(X))

    def resolved(self, X: np.ndarray) -> Kernel:
        """Return this kernel with numbers measured on the columns of the view."""
        return self if self.part.is_resolved else self.over(self.part.resolved(self.columns_of(X)))

    def _groups(self) -> list[ParameterGroup]:
        return [(self.label, self._paths())]

    def _paths(self) -> list[tuple[str, Parameter, Any]]:
        return self.part._paths()

    def _filled(self, values: Iterator[Any]) -> Kernel:
        return self.over(self.part._filled(values))

    def _own_path(self, path: str) -> str:
        return path.removeprefix(f"{self.label}.").removeprefix(f"{self.part.label}.")

    def __str__(self) -> str:
        return f"{self.part}@{self.view}{'' if self.columns is None else self.columns}"


def on_view(kernel: Kernel, view: str, columns: Columns | None = None) -> Kernel:
    """Return the expression with every single kernel of it on the view; raises UsageError where one is on another."""

    def put(leaf: Kernel) -> Kernel:
        if isinstance(leaf, OnView):
            raise UsageError(f"({kernel})@{view}: {leaf} is on a view already; name one view for each kernel")
        if columns is not None:
            _check_shape(leaf, view, columns.shape)
        return OnView(leaf, view, columns)

    return kernel.mapped(put)


def has_views(kernel: Kernel) -> bool:
    """Tell whether a part of the kernel is on a view."""
    return any(isinstance(leaf, OnView) for leaf in kernel.leaves())


def columns_read(kernel: Kernel, width: int) -> np.ndarray | None:
    """Return which of ``width`` columns a bound kernel reads (width,); None where it reads some as matrices."""
    read = np.zeros(width, dtype=bool)
    for leaf in kernel.leaves():
        if not isinstance(leaf, OnView) or leaf.columns is None:
            read[:] = True
            continue
        if len(leaf.columns.shape) > 1:
            return None
        for start, stop in leaf.columns.ranges:
            read[start:stop] = True
    return read


def bound(kernel: Kernel, views: Sequence[View]) -> Kernel:
    """Return the kernel bound to the views of the data; see :meth:`zslplat.kernels.base.Kernel.bound`."""
    leaves = kernel.leaves()
    named = {leaf.view for leaf in leaves if isinstance(leaf, OnView)}
    if not views:
        for leaf in leaves:
            if isinstance(leaf, OnView) and leaf.columns is None:
                raise UsageError(_unbound(leaf))
        return kernel
    matrices = [view for view in views if len(view.shape) > 1]
    if not named and not matrices:
        return kernel
    places, start = {}, 0
    for view in views:
        places[view.name] = Columns(((start, start + view.width),), view.shape)
        start += view.width
    free = [leaf for leaf in leaves if not isinstance(leaf, OnView)]
    for leaf in free:
        if leaf.input != "vectors":
            which = matrices[0].name if matrices else "NAME"
            raise UsageError(f"kernel {leaf} takes matrices; say of which view: {leaf.label}@{which}")
    for view in matrices if free else ():
        if view.name not in named:
            raise UsageError(
                f"kernel {kernel} takes vectors, and view {view.name!r} holds matrices {view.shape}; put a kernel on "
                f"it, as in {free[0].label} + log-euclidean@{view.name}, or leave the view out of features=..."
            )
    vectors = _side_by_side([places[view.name] for view in views if len(view.shape) == 1])

    def bind(leaf: Kernel) -> Kernel:
        if isinstance(leaf, OnView):
            if leaf.columns is not None:
                return leaf
            if leaf.view not in places:
                raise UnknownNameError("view", leaf.view, places)
            _check_shape(leaf.part, leaf.view, places[leaf.view].shape)
            return OnView(leaf.part, leaf.view, places[leaf.view])
        if not matrices:
            return leaf
        if vectors is None:
            raise UsageError(f"kernel {leaf} takes vectors, and every view holds matrices; leave it out of {kernel}")
        return OnView(leaf, "", vectors)

    return kernel.mapped(bind)


def _side_by_side(places: Sequence[Columns]) -> Columns | None:
    """Return several vector views as one, neighbours joined."""
    ranges: list[tuple[int, int]] = []
    for ((start, stop),) in (place.ranges for place in places):
        if ranges and ranges[-1][1] == start:
            start = ranges.pop()[0]
        ranges.append((start, stop))
    return Columns(tuple(ranges), (sum(stop - start for start, stop in ranges),)) if ranges else None


def _check_shape(kernel: Kernel, view: str, shape: tuple[int, ...]) -> None:
    if (kernel.input == "vectors") != (len(shape) == 1):
        takes, holds = ("vectors", "matrices") if kernel.input == "vectors" else ("matrices (p, p)", "vectors")
        raise UsageError(f"kernel {kernel} takes {takes}, and view {view!r} holds {holds} {shape}; choose another one")


def _unbound(kernel: OnView) -> str:
    return (
        f"kernel {kernel} is on view {kernel.view!r}, and these rows have no named views; leave out @{kernel.view}, or "
        "take a data set with views (features=...)"
    )

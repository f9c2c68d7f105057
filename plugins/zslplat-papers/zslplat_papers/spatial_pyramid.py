"""The spatial pyramid kernel: a weighted sum, over the cells of an image at several levels, of a kernel between cells.

| symbol | here | meaning |
|---|---|---|
| L + 1 | ``levels`` | levels; level l cuts the image into 2^l x 2^l cells |
| D | | values that describe a cell: histogram or descriptor |
| kappa | ``base`` | kernel between two cells |

    k(a, b) = sum_l w_l sum_{cells c of level l} kappa(a_c, b_c),    w_0 = 2^-L,    w_l = 2^(l - L - 1)

A row holds the cells side by side, level by level from the whole image to the finest, at each level in one order (row
by row of the grid, say), D values each: (n, D (4^(L + 1) - 1) / 3). Source: Lazebnik, Schmid, Ponce (CVPR 2006), Eq. 3
and 4, where kappa is histogram intersection and the weights make new matches at a finer level count more; kernel
square-loss exemplar machines use it on such histograms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from zslplat.data.store.rows import Rows
from zslplat.errors import DataError, UsageError
from zslplat.kernels.base import Kernel
from zslplat.kernels.expression import parse_kernel
from zslplat.kernels.on_view import OnView
from zslplat.space import Integer, Parameter, Text, parameter
from zslplat.spec import Spec


class SpatialPyramid(Kernel):
    r"""sum_l w_l sum_c kappa(a_c, b_c) over the cells of all levels; Gram only.

    ``base`` is a single kernel on vectors, with parameters of its own (``base.sigma``); its scales of the data are
    measured over all cells of all rows. Raises :class:`~zslplat.errors.DataError` for rows that do not hold all cells.

    Equations
    ---------
    $$k(a, b) = \sum_{l=0}^{L} w_l \sum_{\text{cells } c \text{ of level } l} \kappa(a_c, b_c), \qquad w_0 = 2^{-L},
    \quad w_l = 2^{l - L - 1}$$

    Example
    -------
    >>> import numpy as np
    >>> from zslplat.api import parse_kernel
    >>> image = np.array([[1.0, 1.0, 0, 0, 0]])  # one value: in the whole image, and in each of its four quarters
    >>> moved = np.array([[1.0, 0, 1.0, 0, 0]])
    >>> kernel = parse_kernel("spatial-pyramid(levels=2)")
    >>> float(kernel(image, image)[0, 0]), float(kernel(image, moved)[0, 0])
    (1.0, 0.5)

    Related
    -------
    ``histogram-intersection`` is what cells are compared with by default; ``chi-squared`` is another ``base``.
    """

    summary = "weighted sum over the cells of an image, level by level, of a kernel between cells"
    citation = "Lazebnik, Schmid, Ponce, Beyond bags of features: spatial pyramid matching, CVPR 2006"
    levels = parameter("levels; level l, from 0, has 2^l x 2^l cells", Integer(1, 6), default=3)
    base = parameter("kernel between two cells", Text(), default="histogram-intersection")

    def take_parameters(self, values: Mapping[str, Any]) -> None:
        """Store the values; raises :class:`UsageError` for a base that is no single kernel on vectors."""
        values = {name: str(v) if isinstance(v, Spec | Kernel) else v for name, v in values.items()}
        super().take_parameters(values)
        base = parse_kernel(self.base)
        if len(base.leaves()) != 1 or base.leaves()[0] is not base or isinstance(base, OnView):
            raise UsageError(f"kernel spatial-pyramid: base={self.base!r} is no single kernel; sum pyramids instead")
        if base.input != "vectors":
            raise UsageError(f"kernel spatial-pyramid: base={self.base!r} takes matrices; cells are vectors")
        # What the text gives, and not what its defaults add.
        self._given = frozenset(Spec.parse(self.base).parameters)
        self._base, self.base = base, str(base)
        self.psd, self.non_negative = base.psd, base.non_negative
        # The number of cells: a row has as many values for each.
        self.width_multiple = (4**self.levels - 1) // 3

    def weights(self) -> np.ndarray:
        """Return the weight of every cell (cells,), in the order of a row."""
        finest = self.levels - 1
        return np.concatenate([np.full(4**level, 2.0 ** (max(level, 1) - finest - 1)) for level in range(self.levels)])

    def evaluate(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the weighted sum of the base kernel between equal cells, in the type of the rows."""
        K: np.ndarray = np.zeros((len(A), len(B)), dtype=A.dtype)
        width = A.shape[1] // self.width_multiple
        for cell, weight in enumerate(self.weights().tolist()):
            columns = slice(cell * width, (cell + 1) * width)
            left, right = (self._base.embed(np.ascontiguousarray(X[:, columns])) for X in (A, B))
            K += weight * self._base.evaluate(left, right)
        return K

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return the weighted sum (n,) of the diagonals of the base kernel."""
        X = np.asarray(self._checked(X))
        cells = X.reshape(len(X), self.width_multiple, -1)
        diagonals = [w * self._base.diag(cells[:, c]) for c, w in enumerate(self.weights().tolist())]
        return np.asarray(np.sum(diagonals, axis=0), dtype=X.dtype)

    # Scales of the data are those of the base kernel, over all cells of all rows.

    def resolved(self, X: np.ndarray) -> Kernel:
        """Return this kernel with every multiple of a scale replaced by its number for the cells of the rows X."""
        return self if self._base.is_resolved else self._with(self._base.resolved(self._cells(X)))

    def data_scale(self, name: str, X: np.ndarray) -> float:
        """Return a scale of the cells."""
        return self._base.data_scale(name, self._cells(X))

    @property
    def scales_needed(self) -> list[str]:
        """The scales that parameters of the base kernel are multiples of."""
        return self._base.scales_needed

    def in_units(self, scales: Mapping[str, float]) -> Kernel:
        """Return the kernel with the numbers that the multiples of its base come to."""
        return self._with(self._base.in_units(scales))

    def _cells(self, X: np.ndarray | Rows) -> np.ndarray:
        """Return all cells of all rows, one below the other."""
        X = np.asarray(self._checked(X, resolving=True))  # type: ignore[arg-type]
        return X.reshape(len(X) * self.width_multiple, -1)

    def _with(self, base: Kernel) -> SpatialPyramid:
        other = type(self)(levels=self.levels, base=str(base))
        other.label, other.fixed = self.label, self.fixed
        return other

    def _paths(self) -> list[tuple[str, Parameter, Any]]:
        """Return the own parameters, and after them those of the base kernel."""
        fixed = self._given if "base" in self.fixed else frozenset()
        nested = [
            (f"base.{name}", replace(parameter, search=None) if name in fixed else parameter, value)
            for name, parameter, value in self._base._paths()
        ]
        return [*super()._paths(), *nested]

    def _filled(self, values: Iterator[Any]) -> Kernel:
        levels, text = next(values), next(values)
        # A base that changes comes with parameters of its own.
        nested = [next(values) for _ in self._base._paths()]
        base = str(self._base._filled(iter(nested))) if text == self.base else text
        other = type(self)(levels=levels, base=base)
        other.label = self.label
        return other

    def _checked(self, X: np.ndarray, *, resolving: bool = False) -> np.ndarray:
        X = super()._checked(X, resolving=resolving)
        if not X.shape[1] or X.shape[1] % self.width_multiple:
            raise DataError(
                f"kernel {self}: rows have {X.shape[1]} values, which is no multiple of {self.width_multiple}, the "
                f"cells of {self.levels} levels; lay all cells side by side, or say how many levels there are"
            )
        return X

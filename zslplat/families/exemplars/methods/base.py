"""The contract of exemplar methods: fit a pool of negatives, encode rows, compare encodings.

How exemplar methods are called.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from zslplat.data.store.rows import Rows, Where, blocks_of
from zslplat.errors import DataError, UsageError
from zslplat.methods.base import Arrays, Features, Inputs, Method, Prepared, Protocol, Resident, Statistics, features
from zslplat.methods.rows import require_finite
from zslplat.space import Space

BLOCK_ROWS = 2048
ENCODED = "encoded/"  # before the names of the arrays of an encoded gallery in a saved model


Negatives = Features | Iterable[np.ndarray]


@dataclass(frozen=True)
class Encoding(Resident):
    """What a method keeps of n rows. Simple methods fill ``vectors`` alone.

    ``vectors`` (n, r); ``points`` (n, ...) the rows themselves where a kernel must still be evaluated on them;
    ``squares`` (n,) squared length of what ``vectors`` leaves out; ``member`` (n,) bool, the rows that belong to the
    pool of negatives; ``group`` (n,) integers, the exemplar that each row is a positive of.
    """

    vectors: np.ndarray
    points: np.ndarray | None = None
    squares: np.ndarray | None = None
    member: np.ndarray | None = None
    group: np.ndarray | None = None

    def __len__(self) -> int:
        """Return the number of rows, positives of one exemplar counted one by one."""
        return len(self.vectors)

    @property
    def exemplars(self) -> int:
        """The number of exemplars: of rows, or of groups of positives."""
        if self.group is None:
            return len(self)
        return int(self.group.max()) + 1 if len(self.group) else 0

    def take(self, rows: np.ndarray | slice) -> Encoding:
        """Return the encoding of these rows; raises :class:`UsageError` for groups of positives."""
        if self.group is not None:
            raise UsageError("an encoding of several positives per exemplar cannot be cut by rows; encode the part")
        return Encoding(**{name: array[rows] for name, array in self.arrays().items()})

    def arrays(self) -> Arrays:
        """Return the arrays that are there, by name."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: array for name, array in pairs if array is not None}


class ExemplarMethod(Method):
    """A method that turns every row into a machine against a pool of negatives and compares the machines.

    Nothing is learned from labels. ``fit`` sees the negatives alone; ``encode`` sees the rows to compare; the
    similarity of two encodings is higher for rows that are more alike.
    """

    kind = "exemplar"

    def prepare_fit(self, negatives: Negatives, *, space: Space) -> Arrays:
        """Return what :meth:`fit` needs of the negatives and no searched parameter changes; ``self`` holds the rest."""
        return {}

    def prepare_score(self, X: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return what :meth:`encode` needs of rows X and no searched parameter changes.

        ``statistics`` is what :meth:`prepare_fit` returned; None where the fit was not prepared.
        """
        return {}

    def fit(self, negatives: Negatives, *, statistics: Statistics = None) -> Self:
        """Fit on negatives (n, d): an array, a memory-mapped one, or blocks of rows that can be iterated twice.

        Methods that take blocks are given :class:`~zslplat.data.store.rows.Rows`, too.

        Without ``statistics`` the method prepares for itself, with the same result.
        """
        self.check_parameters()
        self._fit(negatives, statistics or self.prepare_fit(negatives, space={}))
        return self

    def _fit(self, negatives: Negatives, statistics: Prepared) -> None:
        """Learn from the negatives, with the statistics of :meth:`prepare_fit`; methods write this."""
        raise NotImplementedError(f"{type(self).__name__} has no _fit")

    @abstractmethod
    def encode(self, X: np.ndarray, *, statistics: Statistics = None) -> Encoding:
        """Encode rows X (n, d); ``statistics`` is what :meth:`prepare_score` returned for these rows."""

    def similarity(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return the similarity of every exemplar of A with every exemplar of B, (n_a, n_b): their inner products."""
        return np.asarray(A.vectors @ B.vectors.T)


def row_blocks(rows: Negatives, size: int = BLOCK_ROWS) -> Iterator[np.ndarray]:
    """Yield float64 blocks of at most ``size`` rows of an array, a memory-mapped one, stored rows or several blocks.

    Raises :class:`UsageError` for a generator, which cannot be read again, and :class:`DataError` for NaN, infinity
    or no row at all.
    """
    if isinstance(rows, Iterator):
        raise UsageError("negatives given as a generator can be read once only; pass an array or a list of blocks")
    if isinstance(rows, Rows):
        if not len(rows):
            raise DataError("expected at least one row, got none")
        for where, part in rows.blocks():
            require_finite(part, where)
            for start in range(0, len(part), size):
                yield np.asarray(part[start : start + size], dtype=np.float64)
        return
    seen = 0
    parts: Iterable[np.ndarray] = [rows] if isinstance(rows, np.ndarray) else rows
    for part in parts:
        for start in range(0, len(part), size):
            block = np.asarray(part[start : start + size], dtype=np.float64)
            require_finite(block, seen)
            seen += len(block)
            yield block
    if not seen:
        raise DataError("expected at least one row, got none")


def count_rows(rows: Negatives) -> int:
    """Return the number of rows of an array, of stored rows or of an iterable of blocks, without reading values."""
    if isinstance(rows, np.ndarray | Rows):
        return len(rows)
    if isinstance(rows, Iterator):
        raise UsageError("negatives given as a generator can be read once only; pass an array or a list of blocks")
    parts: Iterable[np.ndarray] = rows
    return sum(len(part) for part in parts)


def check_matrix(X: Any, columns: int | None = None) -> np.ndarray:
    """Return X as a float64 matrix; raises :class:`DataError` for other shapes, another width, NaN or infinity."""
    rows = np.asarray(X, dtype=np.float64)
    _require_width(rows.shape, columns)
    require_finite(rows)
    return rows


def checked_blocks(X: Features, columns: int) -> Iterator[tuple[Where, np.ndarray]]:
    """Yield (where, rows) of X (n, columns) in float64, see :func:`~zslplat.data.store.rows.blocks_of`.

    Raises :class:`DataError` as :func:`check_matrix` does.
    """
    X = X if isinstance(X, Rows) else np.asarray(X)
    _require_width(X.shape, columns)
    for where, block in blocks_of(X):
        rows = np.asarray(block, dtype=np.float64)
        require_finite(rows, where)
        yield where, rows


def _require_width(shape: tuple[int, ...], columns: int | None) -> None:
    if len(shape) != 2 or (columns is not None and shape[1] != columns):
        shape_text = "(n, d)" if columns is None else f"(n, {columns}), the width of the negatives"
        raise DataError(f"expected rows of shape {shape_text}; got {shape}")


# A gallery whose rows take more than this in float64 is encoded and compared block by block, and not kept encoded.
ENCODED_BYTES = 1 << 28


class ExemplarProtocol(Protocol):
    """Fit on negatives X; encode ``gallery`` and compare its rows ``queries`` with all of it."""

    training = ("X",)

    def prepare_fit(self, method: Any, inputs: Inputs, space: Space) -> Arrays:
        """Return the statistics of the negatives."""
        arrays: Arrays = method.prepare_fit(features(method, inputs["X"]), space=space)
        return arrays

    def prepare_score(self, method: Any, inputs: Inputs, space: Space, fitted: Statistics) -> Arrays:
        """Return the statistics of the gallery; none of one that is too large to be encoded at once."""
        if is_large_gallery(inputs["gallery"], method):
            return {}
        arrays: Arrays = method.prepare_score(features(method, inputs["gallery"]), space=space, statistics=fitted)
        return arrays

    def fit(self, method: Any, inputs: Inputs, statistics: Statistics) -> Any:
        """Fit on the negatives."""
        return method.fit(features(method, inputs["X"]), statistics=statistics)

    def score(self, method: Any, inputs: Inputs, statistics: Statistics) -> Arrays:
        """Return ``similarity`` (queries, rows of the gallery), of a large gallery block by block."""
        gallery, queries = inputs["gallery"], inputs["queries"]
        if not is_large_gallery(gallery, method):
            encoded = method.encode(features(method, gallery), statistics=statistics)
            return {"similarity": method.similarity(encoded.take(queries), encoded)}
        asking = method.encode(np.asarray(gallery.take(queries)))
        similarities = np.empty((len(queries), len(gallery)))
        for where, block in gallery.blocks():
            similarities[:, where] = method.similarity(asking, method.encode(block))
        return {"similarity": similarities}


def is_large_gallery(gallery: Any, method: Any) -> bool:
    """Tell whether a gallery is encoded and compared by blocks, and its encoding kept nowhere."""
    return isinstance(gallery, Rows) and bool(method.takes_blocks) and gallery.size * 8 > ENCODED_BYTES

"""Classes by their signatures, given to a model that has not seen them: a file, a mapping, a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.formats.array_likes import array_of, named_columns, names_of, numbers_of, table_of
from zslplat.data.formats.csv_tables import read_signatures
from zslplat.data.store.precision import float_type, in_type
from zslplat.errors import DataError, UsageError, quoted

_INDEX = "__index_level_0__"  # what pandas calls the index of a frame that has no name
FORM = "one line per class: its name, then its attributes, such as zebra,0.8,0,1"


@dataclass(frozen=True)
class NewClasses:
    """Names of classes (c,), and signatures (m, a) of which row j describes class ``described[j]``.

    ``attributes``: names of the columns, where they are known; ``source``: what messages call them.
    """

    names: tuple[str, ...]
    values: np.ndarray
    described: np.ndarray
    attributes: tuple[str, ...] = ()
    source: str = "signatures"

    @classmethod
    def of(cls, source: Any) -> NewClasses:
        """Read classes from what was given; raises :class:`DataError` and :class:`UsageError` for what is unfit.

        ``source``: the path of a CSV or Parquet file, {name: signature (a,), or several of them (k, a)}, a pandas frame
        with the names as its index, or a pair of names (m,) and signatures (m, a).
        """
        if isinstance(source, NewClasses):
            return source
        if isinstance(source, str | Path):
            return cls.read(Path(source))
        if isinstance(source, Mapping):
            rows, named = table_of(source, "signatures")
            return cls._of_rows(
                names_of(named, "names of classes"), numbers_of(rows, "signatures"), named_columns(rows)
            )
        if hasattr(source, "index") and hasattr(source, "columns"):
            values = numbers_of(source, "signatures")
            return cls._of_rows(names_of(source.index, "names of classes"), values, named_columns(source))
        if isinstance(source, Sequence) and len(source) == 2:
            names = array_of(source[0], "names of classes").reshape(-1).tolist()
            return cls._of_rows(names_of(names, "names of classes"), numbers_of(source[1], "signatures"))
        raise UsageError(
            f"signatures of type {type(source).__name__}; expected {{name: signature}}, a frame with names as its "
            "index, (names, signatures), or the path of a file"
        )

    @classmethod
    def read(cls, path: Path) -> NewClasses:
        """Read a CSV or Parquet file; raises :class:`DataError` for one that cannot be used."""
        if not path.is_file():
            raise UsageError(f"{path}: no such file of signatures; expected {FORM}")
        if path.suffix.lower() == ".parquet":
            names, values, columns = _read_parquet(path)
        else:
            table = read_signatures(path)
            lines = np.asarray(table.classes).tolist()
            names, values, columns = lines, np.asarray(table.values), tuple(table.names)
        return cls._of_rows(names, values, columns, str(path))

    @classmethod
    def _of_rows(
        cls,
        names: Sequence[str],
        values: np.ndarray,
        attributes: tuple[str, ...] | None = None,
        source: str = "signatures",
    ) -> NewClasses:
        values = np.asarray(values)
        if values.ndim != 2 or len(values) != len(names) or not len(names):
            raise UsageError(f"{source}: {len(names)} names and signatures of shape {values.shape}; expected {FORM}")
        if values.dtype.kind not in "fiub":
            raise UsageError(f"{source}: signatures of type {values.dtype}; expected numbers")
        values = in_type(values, float_type(values.dtype), source)
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            raise DataError(f"{source}: the signature of {quoted(names[int(np.argmin(finite))])} holds NaN or infinity")
        distinct = tuple(dict.fromkeys(names))
        where = {name: number for number, name in enumerate(distinct)}
        described = np.array([where[name] for name in names])
        # Rows of a class follow each other, in the order of the classes, as methods are given them.
        order = np.argsort(described, kind="stable")
        return cls(distinct, values[order], described[order], attributes or (), source)

    def fitting(self, width: int, attributes: Sequence[str]) -> NewClasses:
        """Return the classes with columns in the order that a model knows, by their names where both have them.

        Raises :class:`UsageError` for another number of attributes, or other ones.
        """
        if self.values.shape[1] != width:
            raise UsageError(
                f"{self.source}: {self.values.shape[1]} attributes per class; the model was trained on {width}"
                f"{_named(attributes)}"
            )
        if not attributes or not self.attributes or tuple(attributes) == self.attributes:
            return self
        lacking = [name for name in attributes if name not in self.attributes]
        if lacking or len(set(self.attributes)) < len(self.attributes):
            raise UsageError(
                f"{self.source}: columns {', '.join(map(quoted, self.attributes[:5]))} ... are not what the model was "
                f"trained on: {quoted(lacking[0]) if lacking else 'one of them'} "
                f"{'is missing' if lacking else 'is there twice'}; expected{_named(attributes).replace(':', '', 1)}"
            )
        order = [self.attributes.index(name) for name in attributes]
        return NewClasses(self.names, self.values[:, order], self.described, tuple(attributes), self.source)


def _named(attributes: Sequence[str]) -> str:
    if not attributes:
        return ""
    return ": " + ", ".join(attributes[:5]) + (f", ... {attributes[-1]}" if len(attributes) > 5 else "")


def _read_parquet(path: Path) -> tuple[list[str], np.ndarray, tuple[str, ...]]:
    from zslplat.data.formats.arrow_files import ParquetPart

    part = ParquetPart(path)
    columns = part.schema.names
    named = next((name for name in ("class", "label", "name", _INDEX) if name in columns), None)
    others = [name for name in columns if name != named]
    if named is None or not others:
        raise DataError(f"{path}: columns {', '.join(columns[:5])}; expected 'class' and the attributes beside it")
    names = names_of(part.column(named), f"{path}, column {named!r}")
    values = [part.column(name) for name in others]
    if len(values) == 1 and values[0].ndim == 2:
        return names, values[0], ()
    bad = next((name for name, value in zip(others, values, strict=True) if value.dtype.kind not in "fiub"), None)
    if bad is not None:
        raise DataError(f"{path}: column {bad!r} holds no numbers; expected 'class' and the attributes beside it")
    dtype = np.result_type(*values)
    values = [in_type(value, dtype, f"{path}, column {name!r}") for name, value in zip(others, values, strict=True)]
    return names, np.column_stack(values), tuple(others)

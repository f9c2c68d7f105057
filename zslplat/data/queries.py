"""Designated queries of a retrieval data set: who asks, what is searched, what is right, and what does not count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

import numpy as np

from zslplat.errors import DataError

ASKED_IN = ("validation", "test")


@dataclass(frozen=True)
class Queries:
    """Queries of one split, with what is known of the answers; all numbers are integers.

    ``rows`` (q,) is the row of X of each query, ``database`` (g,) the rows that are searched. ``positive`` (p, 2) and
    ``junk`` (j, 2) are pairs (number of the query, row of the database): what a query is to find, and what is taken out
    of its ranking before that is measured. Other rows of the database are wrong answers. A query whose own row is in
    the database is ranked there like any other, unless it is junk to itself.
    """

    rows: np.ndarray
    database: np.ndarray
    positive: np.ndarray
    junk: np.ndarray

    def arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield (name, array) of all four, as int64."""
        for one in fields(self):
            yield one.name, np.asarray(getattr(self, one.name), dtype=np.int64)

    @property
    def all_rows(self) -> np.ndarray:
        """The rows of the queries and of the database, each once, ascending."""
        return np.union1d(self.rows, self.database)

    def check(self, where: str, members: np.ndarray) -> None:
        """Raise :class:`DataError` for what does not fit together; ``members`` are the rows of the queries' split."""
        rows, database = np.asarray(self.rows), np.asarray(self.database)
        for name, array, width in (("rows", rows, 1), ("database", database, 1)):
            if array.ndim != width or not np.issubdtype(array.dtype, np.integer) or not len(array):
                raise DataError(f"{where}: {name} must be a vector of row indices that is not empty")
            outside = np.setdiff1d(array, members)
            if len(outside):
                raise DataError(f"{where}: {len(outside)} {name} are not in the split of that name, first {outside[0]}")
        if len(np.unique(database)) < len(database):
            raise DataError(f"{where}: the database lists a row twice")
        pairs = []
        for name in ("positive", "junk"):
            array = np.asarray(getattr(self, name))
            if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
                raise DataError(
                    f"{where}: {name} must be integer pairs (number of the query, row), got shape {array.shape}"
                )
            if len(array) and (array[:, 0].min() < 0 or array[:, 0].max() >= len(rows)):
                raise DataError(f"{where}: {name} names queries outside 0..{len(rows) - 1}")
            outside = np.setdiff1d(array[:, 1], database)
            if len(outside):
                raise DataError(f"{where}: {len(outside)} {name} rows are not in the database, first {outside[0]}")
            pairs += [(int(query), int(row)) for query, row in array]
        if len(set(pairs)) < len(pairs):
            twice = next(pair for pair in pairs if pairs.count(pair) > 1)
            raise DataError(
                f"{where}: row {twice[1]} is listed twice for query {twice[0]}; once, as positive or as junk"
            )
        idle = np.setdiff1d(np.arange(len(rows)), np.asarray(self.positive)[:, 0])
        if len(idle):
            raise DataError(f"{where}: {len(idle)} queries have no positive row, first query {idle[0]}; leave them out")


def check_queries(name: str, queries: Mapping[str, Queries], splits: Mapping[str, np.ndarray], several: bool) -> None:
    """Raise :class:`DataError` where the queries of a data set do not fit its splits; ``several`` labels per row."""
    for split, asked in queries.items():
        where = f"{name}, queries of {split!r}"
        if split not in ASKED_IN:
            raise DataError(f"{where}: expected queries of {' or '.join(ASKED_IN)}")
        if several:
            raise DataError(f"{where}: need one class per row")
        if split not in splits:
            raise DataError(f"{where}: there is no split {split!r} that holds their rows and the database")
        asked.check(where, np.asarray(splits[split]))
    if queries and "test" not in queries:
        raise DataError(f"{name}: queries of {', '.join(queries)} alone; name those of 'test', too")
    if queries and not len(splits.get("train", ())):
        raise DataError(f"{name}: designated queries need negatives in the split 'train'")

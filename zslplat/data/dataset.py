"""The one shape in which data enters the platform; retrieval data sets also designate queries."""

from __future__ import annotations

import hashlib
import math
import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.store.rows import Rows, Source, View, in_row_order
from zslplat.errors import DataError, UnknownNameError, UsageError, quoted
from zslplat.names import counted, visible
from zslplat.spec import Spec
from zslplat.summary import Summary

QUERY_SPLITS = ("validation", "test")


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
    for split, of_split in queries.items():
        where = f"{name}, queries of {split!r}"
        if split not in QUERY_SPLITS:
            raise DataError(f"{where}: expected queries of {' or '.join(QUERY_SPLITS)}")
        if several:
            raise DataError(f"{where}: need one class per row")
        if split not in splits:
            raise DataError(f"{where}: there is no split {split!r} that holds their rows and the database")
        of_split.check(where, np.asarray(splits[split]))
    if queries and "test" not in queries:
        raise DataError(f"{name}: queries of {', '.join(queries)} alone; name those of 'test', too")
    if queries and not len(splits.get("train", ())):
        raise DataError(f"{name}: designated queries need negatives in the split 'train'")


@dataclass(frozen=True)
class ClassFold:
    """One class-disjoint validation fold: the seen classes to train on and those held out, as class ids."""

    name: str
    train: tuple[int, ...]
    validation: tuple[int, ...]


@dataclass(frozen=True)
class SignatureSet:
    """Descriptions of classes or of rows.

    ``values`` (m, a). Class-level: row j describes class ``classes[j]`` (default: row j describes class j, m equals
    the number of classes). Per image (``per_row=True``): row i describes row i of X.
    """

    values: np.ndarray
    classes: np.ndarray | None = None
    per_row: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Dataset:
    """Features, labels, signatures and splits; frozen, fingerprinted, checked on construction.

    ``X`` (n, d), or (n, p, p) for matrices, as an array or as :class:`~zslplat.data.store.rows.Rows`, which may lie in
    files and may be several named views side by side; ``y`` (n,) class ids 0..c-1, or (n, c) for several labels per
    row: 1 for those that a row has, 0 for the others, -1 for entries that are not counted (VOC's "difficult");
    ``class_names`` (c,); ``signatures`` by name, with ``default_signatures`` naming the one that is used when
    nothing is said; ``splits`` named arrays of row indices: ``train``, ``test_seen``, ``test_unseen`` for zero-shot
    data, ``train`` and ``test`` for classification, with ``val`` or without, or the data set's own folds ``fold-1``,
    ``fold-2``, ... of cross-validation by rows, none where the task draws its own; ``folds`` the files' own
    class-disjoint validation folds; ``groups`` (n,) rows that must stay together; ``made_of`` (n, k) numbers of the
    things that a row is made of, where rows have some in common and so are not independent (the two images of a pair of
    digits): intervals over rows draw things where these are known, and groups elsewhere. Nothing is split or fitted by
    them, and they are no part of the fingerprint; ``queries`` designated queries of the split ``test``, and of
    ``validation`` where some are set apart, over negatives in ``train``.

    Raises :class:`DataError` when arrays do not fit together, hold NaN, or splits overlap or leave the rows.
    """

    name: str
    X: np.ndarray | Rows
    y: np.ndarray
    class_names: tuple[str, ...]
    signatures: Mapping[str, SignatureSet] = field(default_factory=dict)
    default_signatures: str = ""
    splits: Mapping[str, np.ndarray] = field(default_factory=dict)
    folds: tuple[ClassFold, ...] = ()
    groups: np.ndarray | None = None
    made_of: np.ndarray | None = None
    queries: Mapping[str, Queries] = field(default_factory=dict)
    description: str = ""
    licence: str = ""
    citation: str = ""
    source: Mapping[str, Any] = field(default_factory=dict)
    known_fingerprint: str = ""
    known_features: str = ""

    def __post_init__(self) -> None:
        n, c = len(self.X), len(self.class_names)
        if self.X.ndim not in (2, 3) or n == 0:
            raise DataError(f"{self.name}: X must be (n, d) or (n, p, p) with n > 0, got {self.X.shape}")
        if self.y.shape[0] != n:
            raise DataError(f"{self.name}: {n} rows in X but {self.y.shape[0]} labels")
        if not np.issubdtype(self.y.dtype, np.integer):
            raise DataError(f"{self.name}: labels must be integer class ids, got {self.y.dtype}")
        if self.y.ndim == 1 and (self.y.min() < 0 or self.y.max() >= c):
            raise DataError(f"{self.name}: labels run from {self.y.min()} to {self.y.max()} but there are {c} classes")
        if self.y.ndim not in (1, 2):
            raise DataError(f"{self.name}: labels must be (n,) or (n, {c}), got {self.y.shape}")
        if self.y.ndim == 2:
            self._check_label_sets()
        if not self.known_fingerprint:
            for name, source in self.features().items():
                # What is read from beginning to end is looked at when it is stored.
                if isinstance(source, np.ndarray):
                    check_finite(f"{self.name}, view {name!r}" if name else self.name, source)
        for key, signature in self.signatures.items():
            self._check_signatures(key, signature)
        self._check_names()
        self._check_made_of()
        self._check_splits()
        self._check_folds()
        check_queries(self.name, self.queries, self.splits, self.y.ndim > 1)

    def __repr__(self) -> str:
        """Return what a data set holds, with shapes in place of values."""
        splits = [f"{name} {len(rows)}" for name, rows in self.splits.items()]
        return f"<data set {'; '.join([f'{visible(self.name)}: {self._facts[0]}', *self._facts[1:], *splits])}>"

    def _repr_html_(self) -> str:
        classes = [len(np.unique(self.y[rows])) if self.y.ndim == 1 else None for rows in self.splits.values()]
        sizes = [len(rows) for rows in self.splits.values()]
        table: dict[str, list[Any]] = {"split": list(self.splits), "rows": sizes, "classes": classes}
        notes = [str(note) for note in self.source.get("notes", ())]
        licence = f"licence: {self.licence}" if self.licence else ""
        lines = ["; ".join(self._facts), self.description, licence, *notes]
        return Summary(f"data set {self.name}", [table] if sizes else [], lines).html()

    @property
    def _facts(self) -> list[str]:
        views = [f"{view.name} {view.shape}" for view in self.views]
        sets = [
            f"{name} of {signatures.values.shape[1]}{' per row' if signatures.per_row else ''}"
            for name, signatures in self.signatures.items()
        ]
        parts = [
            f"{len(self.X)} rows of {' x '.join(map(str, self.X.shape[1:]))} {self.X.dtype}",
            f"views {', '.join(views)}" if views else "",
            f"{len(self.class_names)} classes" + (", several to a row" if self.y.ndim > 1 else ""),
            f"signatures {', '.join(sets)}" if sets else "",
            counted(len(self.folds), "fold of classes", "folds of classes") if self.folds else "",
            counted(len(np.unique(self.groups)), "group") if self.groups is not None else "",
        ]
        return [part for part in parts if part]

    def _check_names(self) -> None:
        for what, names in (("class", self.class_names), ("signature set", self.signatures), ("view", self.features())):
            # Lists, tables and file systems take other odd characters; they are shown escaped.
            bad = next((name for name in names if any(c in name for c in "\n\r\0")), None)
            if bad is not None:
                raise DataError(f"{self.name}: {what} {quoted(bad)} holds a line break or NUL; give it another name")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over arrays and splits, 64 hex digits; equal data gives equal fingerprints anywhere."""
        return self.known_fingerprint or self._digests[1]

    @property
    def features_digest(self) -> str:
        """SHA-256 over the features alone; they are read for it where a stored copy does not say it yet."""
        return (self.known_features if self.known_fingerprint else "") or self._digests[0]

    @cached_property
    def _digests(self) -> tuple[str, str]:
        whole = Rows.of({"": self.X}) if isinstance(self.X, np.ndarray) else self.X
        digest = whole.digest.copy() if whole.digest else hashlib.sha256()
        for part in whole.parts if not whole.digest else ():
            begin_digest(digest, part.view.name, (len(whole), *part.view.shape), part.source.dtype)
            for block in in_row_order(Rows([part], whole.index)):
                digest.update(np.ascontiguousarray(block, dtype=part.source.dtype).data)
        return str(digest.hexdigest()), self.fingerprinted(digest)

    def fingerprinted(self, digest: Any) -> str:
        """Return the fingerprint, with a digest that holds the features already (see :func:`begin_digest`)."""
        _update(digest, "y", self.y)
        digest.update(repr(self.class_names).encode())
        for key in sorted(self.signatures):
            signature = self.signatures[key]
            _update(digest, f"S:{key}:{signature.per_row}", signature.values)
            if signature.classes is not None:
                _update(digest, f"C:{key}", signature.classes)
        for key in sorted(self.splits):
            _update(digest, f"split:{key}", np.asarray(self.splits[key], dtype=np.int64))
        digest.update(repr(self.folds).encode())
        if self.groups is not None:
            _update(digest, "groups", self.groups)
        for key in sorted(self.queries):
            for name, array in self.queries[key].arrays():
                _update(digest, f"queries:{key}:{name}", array)
        return str(digest.hexdigest())

    def features(self) -> Mapping[str, Source]:
        """Return the features by view; the name of a single feature set is empty."""
        return {"": self.X} if isinstance(self.X, np.ndarray) else self.X.matrices()

    @property
    def views(self) -> tuple[View, ...]:
        """The named views of the rows, none where there is one feature set without a name."""
        return () if isinstance(self.X, np.ndarray) else self.X.views

    @property
    def S(self) -> np.ndarray:
        """The default signatures (m, a), one of each class; raises :class:`DataError` for any others or none."""
        signatures = self.signature_set()
        if signatures.classes is not None or signatures.per_row:
            raise DataError(f"{self.name}: signatures are several of a class, or one per row; signature_set() has them")
        return signatures.values

    def signature_set(self, name: str = "") -> SignatureSet:
        """Return the named signature set, or the default one; ``att+text`` and ``0.3*att+0.7*text`` join several."""
        name = name or self.default_signatures or next(iter(self.signatures), "")
        if not self.signatures:
            raise DataError(
                f"{self.name} has no signatures, which say what describes a class; give a row of attributes per class, "
                f"{signatures_line(self)}, or use a task that needs none, such as coding"
            )
        terms = weighted_sets(name, self.signatures, self.name)
        return self.signatures[name] if name in self.signatures else self._side_by_side(terms)

    def _side_by_side(self, terms: Sequence[tuple[float, str]]) -> SignatureSet:
        """Return signature sets as one: rows of length 1 in each, times the square root of its weight.

        So inner products of rows are sums of cosines, weighted.
        """
        blocks, names = [], [name for _, one in terms for name in self.signatures[one].names]
        for weight, one in terms:
            values, described = self.class_signatures(one)
            if described is not None and len(described) > len(self.class_names):
                raise DataError(f"{self.name}: signature set {one!r} has several rows per class; use it alone")
            ordered = values if described is None else values[np.argsort(described)]
            lengths = np.linalg.norm(ordered, axis=1, keepdims=True)
            blocks.append(math.sqrt(weight) * ordered / np.where(lengths > 0, lengths, 1.0))
        joined = np.hstack(blocks)
        return SignatureSet(joined, names=tuple(names) if len(names) == joined.shape[1] else ())

    def rows(self, split: str) -> np.ndarray:
        """Return the row indices of a named split."""
        if split not in self.splits:
            raise DataError(f"{self.name} has no split {split!r}; it has {', '.join(self.splits) or 'none'}")
        return np.asarray(self.splits[split])

    def class_signatures(self, name: str = "") -> tuple[np.ndarray, np.ndarray | None]:
        """Return (m, a) class-level signatures and, where rows are not the classes in order, their classes (m,).

        Per-image signatures are refused: averaging them is a choice that belongs to the caller.
        """
        signature = self.signature_set(name)
        if signature.per_row:
            chosen = name or self.default_signatures or next(iter(self.signatures))
            raise DataError(
                f"{self.name}: signature set {chosen!r} has a row per row of features; one with a row per class is "
                "needed"
            )
        return signature.values, signature.classes

    def _check_label_sets(self) -> None:
        c = len(self.class_names)
        if self.y.shape[1] != c:
            raise DataError(f"{self.name}: labels of shape {self.y.shape} for {c} classes; expected (n, {c})")
        if not np.isin(self.y, (-1, 0, 1)).all():
            raise DataError(
                f"{self.name}: several labels per row run from {self.y.min()} to {self.y.max()}; expected 1 for labels "
                "that a row has, 0 for others, -1 for entries that are not counted"
            )

    def _check_signatures(self, key: str, signature: SignatureSet) -> None:
        values = signature.values
        where = f"{self.name}, signatures {key!r}"
        if values.ndim != 2:
            raise DataError(f"{where}: expected a matrix (classes, attributes), got shape {values.shape}")
        check_finite(where, values)
        if signature.per_row:
            if len(values) != len(self.X):
                raise DataError(f"{where}: {len(values)} rows, but {len(self.X)} rows of features; every row needs one")
            return
        described = np.arange(len(values)) if signature.classes is None else signature.classes
        missing = sorted(set(range(len(self.class_names))) - set(described.tolist()))
        if missing:
            shown = ", ".join(self.class_names[i] for i in missing[:5])
            raise DataError(f"{where}: {len(missing)} classes have no signature: {shown}; add a row for each")
        if signature.classes is None and len(values) != len(self.class_names):
            raise DataError(f"{where}: {len(values)} rows for {len(self.class_names)} classes")

    def _check_made_of(self) -> None:
        numbers = self.made_of
        if numbers is None:
            return
        if numbers.ndim != 2 or len(numbers) != len(self.X) or not np.issubdtype(numbers.dtype, np.integer):
            raise DataError(
                f"{self.name}: made_of must be integers ({len(self.X)}, k), what each row is made of; got "
                f"{numbers.dtype} {numbers.shape}"
            )

    def _check_splits(self) -> None:
        seen: dict[int, str] = {}
        n = len(self.X)
        owner = np.full(n, -1, dtype=np.int64)
        for number, (key, index) in enumerate(self.splits.items()):
            index = np.asarray(index)
            if index.ndim != 1 or not np.issubdtype(index.dtype, np.integer):
                raise DataError(f"{self.name}, split {key!r}: expected a vector of integer row indices")
            if len(index) and (index.min() < 0 or index.max() >= n):
                raise DataError(f"{self.name}, split {key!r}: indices {index.min()}..{index.max()} leave 0..{n - 1}")
            taken = owner[index]
            if (taken >= 0).any():
                other = seen[int(taken[taken >= 0][0])]
                raise DataError(f"{self.name}: splits {other!r} and {key!r} share {int((taken >= 0).sum())} rows")
            owner[index] = number
            seen[number] = key
        if self.y.ndim == 1 and {"train", "test_unseen"} <= set(self.splits):
            both = np.intersect1d(self.y[self.rows("train")], self.y[self.rows("test_unseen")])
            if len(both):
                names = ", ".join(self.class_names[i] for i in both[:5])
                what = counted(len(both), "class is", "classes are")
                raise DataError(f"{self.name}: {what} both in train and in test_unseen: {names}")

    def _check_folds(self) -> None:
        for fold in self.folds:
            both = set(fold.train) & set(fold.validation)
            if both:
                names = ", ".join(self.class_names[i] for i in sorted(both)[:5])
                raise DataError(f"{self.name}, fold {fold.name!r}: classes on both sides: {names}")


def weighted_sets(text: str, sets: Collection[str], where: str) -> list[tuple[float, str]]:
    """Return the weights above 0 and the names of ``0.3*att+0.7*text``; a name alone has the weight 1.

    Raises :class:`UnknownNameError` for a set that is not there, :class:`UsageError` for what is no weight.
    """
    if text in sets:
        return [(1.0, text)]
    terms = []
    for term in text.split("+"):
        factor, star, name = term.strip().rpartition("*")
        if name.strip() not in sets:
            raise UnknownNameError(f"signature set of {where}", name.strip(), sets)
        try:
            weight = float(factor) if star else 1.0
        except ValueError:
            weight = math.nan
        if not 0 <= weight < math.inf:
            raise UsageError(f"{where}: {factor!r} in signatures={text} is no weight; write 0.3*att+0.7*text")
        terms.append((weight, name.strip()))
    positive = [term for term in terms if term[0] > 0]
    if not positive or len({name for _, name in positive}) < len(positive):
        raise UsageError(f"{where}: signatures={text}; expected each set once, and a weight above 0")
    return positive


def option_line(dataset: Dataset, **options: Any) -> str:
    """Return how a data set of a file is written with further options on the command line."""
    path = Path(str(dataset.source.get("path", dataset.name)))
    shown = os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
    return f"--dataset {shlex.quote(str(Spec(shown, {**dataset.source.get('options', {}), **options})))}"


def signatures_line(dataset: Dataset) -> str:
    """Return how signatures are given to a data set without any: as a file beside a table, or a part of others."""
    if dataset.source.get("loader") not in ("csv", "parquet") or Path(str(dataset.source["path"])).is_dir():
        return "S or signatures (docs/formats.md)"
    return f"{option_line(dataset, signatures='classes.csv')} with lines of class,attributes"


def unseen_line(dataset: Dataset) -> str:
    """Return how the unseen classes of a data set without splits are named: on the command line, or in Python."""
    if "path" not in dataset.source:
        return "make_dataset(X, y, S, unseen=[...]) with names or numbers of classes, how many, or a share"
    named = option_line(dataset, unseen="+".join(dataset.class_names[-2:]))
    return f"{option_line(dataset, unseen=_unseen_value(dataset))}, or by names {named}"


def redivided_line(dataset: Dataset) -> str:
    """Return how classes of a file are made unseen in place of the splits that it holds."""
    left_out = {key: None for key in ("split", "train", "test") if key in dataset.source.get("keys", {})}
    return option_line(dataset, **left_out, unseen=_unseen_value(dataset))


def _unseen_value(dataset: Dataset) -> float:
    return 0.2 if len(dataset.class_names) >= 10 else 2  # telling classes apart takes two


def row_folds(dataset: Dataset) -> list[np.ndarray]:
    """Return the rows of the data set's own folds ``fold-1``, ``fold-2``, ... in this order; none where it has none."""
    row_sets: list[np.ndarray] = []
    while f"fold-{len(row_sets) + 1}" in dataset.splits:
        row_sets.append(dataset.rows(f"fold-{len(row_sets) + 1}"))
    return row_sets


def check_finite(where: str, values: np.ndarray, *, first: int = 0) -> None:
    """Raise :class:`DataError` with the number of the row, from ``first`` on, that holds NaN or infinity."""
    if not np.issubdtype(values.dtype, np.floating):
        return
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    for start in range(0, len(flat), 8192):
        bad = ~np.isfinite(flat[start : start + 8192]).all(axis=1)
        if bad.any():
            row = first + start + int(np.argmax(bad))
            raise DataError(f"{where}: row {row} holds NaN or infinity; clean the file and load it again")


def begin_digest(digest: Any, view: str, shape: tuple[int, ...], dtype: Any) -> None:
    """Begin the features of a view in a digest; their bytes follow, row after row."""
    label = f"X:{view}" if view else "X"
    digest.update(f"{label}|{np.dtype(dtype).str}|{shape}".encode())


def _update(digest: Any, label: str, array: np.ndarray) -> None:
    digest.update(f"{label}|{array.dtype.str}|{array.shape}".encode())
    if not array.size:
        return
    flat = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    for start in range(0, len(flat), 8192):
        digest.update(np.ascontiguousarray(flat[start : start + 8192]).tobytes())

"""Retrieval sets: images, queries and negatives as a data set with designated queries.

The rows of a retrieval set are the images that are searched and the queries (split ``test``, and ``validation`` where
queries are set apart for it) and negatives (split ``train``), which come from another data set or are rows that the
set itself keeps for it. Preprocessing takes its statistics from the negatives alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from zslplat.data.catalogue import open_source, parse_dataset
from zslplat.data.dataset import Dataset, Queries
from zslplat.data.feature_card import FeatureCard
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.store.rows import Rows, RowStream, blocks_of, in_row_order
from zslplat.errors import DataError, UsageError
from zslplat.registry import ByName
from zslplat.space import Integer, Real, Text, parameter
from zslplat.spec import Spec

UNLABELLED, OTHERS = "unlabelled negatives", "others"


@dataclass
class RawRetrieval:
    """A retrieval set as read: n rows of images, of which some are searched and some ask.

    ``X`` (n, d) as an array or a stream; ``names`` (n,) of the images; ``classes`` (n,) the name of what each shows,
    :data:`OTHERS` for none; ``queries`` over these rows; ``negatives`` rows that are kept for that, if any.
    """

    name: str
    X: np.ndarray | RowStream
    names: Sequence[str]
    classes: Sequence[str]
    queries: Queries
    negatives: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))


class RetrievalSource(DataSource, listed_last=True):
    """Base of the loaders of retrieval sets: the options that all of them have.

    ``default_validation`` is the share that is set apart for validation where nothing is said.
    """

    default_validation: ClassVar[float] = 0.0
    negatives = parameter(
        "data set of the negatives, all of its rows: flickr, or npz(path=flickr.npz); it needs the same features",
        Text(),
    )
    validation = parameter(
        "share of the queried classes that is set apart for validation, with its images, and left out of the test",
        Real(0.0, 0.9),
    )
    validation_seed = parameter(
        "draws these classes, and as large a share of the images of none", Integer(0), default=0
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(**{n: str(v) if n == "negatives" and isinstance(v, Spec) else v for n, v in options.items()})

    def load_negatives(self, places: DataPlaces) -> Dataset | None:
        """Return the data set of the negatives, if one is named."""
        text = str(self.options.get("negatives", ""))
        return open_source(parse_dataset(text), places, ByName("datasets")).load(places) if text else None

    def assembled(
        self, raw: RawRetrieval, negatives: Dataset | None, card: FeatureCard, source: Mapping[str, Any]
    ) -> Dataset:
        """Return the data set; raises :class:`DataError` for what does not fit together."""
        share = float(self.options.get("validation", self.default_validation))
        seed = self.validation_seed
        return assemble_retrieval(raw, negatives, card, source, share=share, seed=seed)


def assemble_retrieval(
    raw: RawRetrieval,
    negatives: Dataset | None,
    card: FeatureCard,
    source: Mapping[str, Any],
    *,
    share: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """Return a data set with designated queries: the rows of ``raw``, and after them those of the other data set.

    ``share`` of the queried classes is set apart for validation, drawn with ``seed``. Negatives of a data set keep
    their classes, under names of their own; without labels they are one class. Raises :class:`DataError` where there
    are no negatives, where theirs are other features, or where one of them is an image that asks or is searched.
    """
    if negatives is None and not len(raw.negatives):
        raise UsageError(
            f"{raw.name}: no negatives; name the data set that they come from, for example "
            f'{raw.name}(negatives="npz(path=flickr.npz)")'
        )
    X: np.ndarray | Rows = raw.X if isinstance(raw.X, np.ndarray) else Rows.of({"": raw.X})
    classes, train = [str(name) for name in raw.classes], np.asarray(raw.negatives, dtype=np.int64)
    if negatives is not None:
        count = len(classes)
        _require_same_features(raw, negatives)
        _require_no_image_twice(raw, negatives)
        X = Rows.of({"": _one_after_the_other(raw.X, negatives)})
        classes += _classes_of(negatives)
        train = np.arange(count, count + len(negatives.X))
        source = {**source, "negatives": negatives.name, "negatives_fingerprint": negatives.fingerprint}
    test, validation = _set_apart(raw, share, seed)
    queries = {"test": test} | ({} if validation is None else {"validation": validation})
    class_names, y = np.unique(np.array(classes, dtype=np.str_), return_inverse=True)
    return Dataset(
        name=raw.name,
        X=X,
        y=y.astype(np.int64),
        class_names=tuple(class_names.tolist()),
        splits={"train": train, **{split: of_split.all_rows for split, of_split in queries.items()}},
        queries=queries,
        description=card.description,
        licence=card.licence,
        citation=card.citation,
        source={**source, "statistics": "of the negatives"},
    )


def _set_apart(raw: RawRetrieval, share: float, seed: int) -> tuple[Queries, Queries | None]:
    """Return the queries of the test and, of a share of the classes, those of validation.

    With a class go all of its images, and with the share as large a share of the images that show none. Classes and
    images are drawn by name, whatever their order.
    """
    if share == 0:
        return raw.queries, None
    classes = np.array(raw.classes, dtype=np.str_)
    of_queries = np.unique(classes[raw.queries.rows])
    count = max(1, round(share * len(of_queries)))
    if count >= len(of_queries):
        raise DataError(
            f"{raw.name}: validation={share} sets {count} of {len(of_queries)} queried classes apart; leave some"
        )
    rng = np.random.default_rng([seed, 7])
    set_apart = np.isin(classes, rng.permutation(of_queries)[:count])
    # Images that no query asks for are set apart by their share, in the order of their names.
    rest = np.flatnonzero(~np.isin(classes, of_queries) & np.isin(np.arange(len(classes)), raw.queries.all_rows))
    rest = rest[np.argsort(np.array(raw.names, dtype=np.str_)[rest], kind="stable")]
    set_apart[rng.permutation(rest)[: round(share * len(rest))]] = True
    return _queries_within(raw.queries, ~set_apart), _queries_within(raw.queries, set_apart)


def _queries_within(queries: Queries, rows: np.ndarray) -> Queries:
    """Return the queries whose rows are kept (n,), over the database that is."""
    inside = rows[queries.rows]
    number = np.cumsum(inside) - 1
    pairs = []
    for array in (queries.positive, queries.junk):
        pairs_inside = array[inside[array[:, 0]] & rows[array[:, 1]]]
        pairs.append(np.column_stack([number[pairs_inside[:, 0]], pairs_inside[:, 1]]).astype(np.int64))
    return Queries(queries.rows[inside], queries.database[rows[queries.database]], *pairs)


def _require_same_features(raw: RawRetrieval, negatives: Dataset) -> None:
    if negatives.views:
        names = ", ".join(view.name for view in negatives.views)
        raise DataError(f"{raw.name}: the negatives of {negatives.name} have views ({names}); choose one, features=...")
    shape, theirs = tuple(raw.X.shape[1:]), tuple(negatives.X.shape[1:])
    if shape != theirs:
        raise DataError(
            f"{raw.name}: its features are {shape} and those of the negatives, {negatives.name}, {theirs}; negatives "
            "need the same features of other images"
        )


def _require_no_image_twice(raw: RawRetrieval, negatives: Dataset) -> None:
    """Raise :class:`DataError` where a negative has the features of a query or of a row that is searched."""
    scored = np.zeros(len(raw.classes), dtype=bool)
    scored[raw.queries.all_rows] = True
    scored_contents: set[bytes] = set()
    dtype, start = np.result_type(raw.X.dtype, negatives.X.dtype), 0
    for block in in_row_order(raw.X):
        scored_contents.update(_contents(block[scored[start : start + len(block)]], dtype))
        start += len(block)
    twice = sum(
        content in scored_contents for _, block in blocks_of(negatives.X) for content in _contents(block, dtype)
    )
    if twice:
        raise DataError(
            f"{raw.name}: {twice} negatives of {negatives.name} have exactly the features of a query or of an image "
            "that is searched; take them out, negatives must be other images"
        )


def _contents(block: np.ndarray, dtype: np.dtype[Any]) -> list[bytes]:
    return [row.tobytes() for row in np.ascontiguousarray(block, dtype=dtype)]


def _one_after_the_other(first: np.ndarray | RowStream, negatives: Dataset) -> RowStream:
    dtype = np.result_type(first.dtype, negatives.X.dtype)

    def read() -> Iterator[np.ndarray]:
        yield from in_row_order(first)
        yield from in_row_order(negatives.X)

    rows = first.shape[0] + len(negatives.X)
    return RowStream((rows, *first.shape[1:]), dtype, read, f"images and negatives ({negatives.name})")


def _classes_of(negatives: Dataset) -> list[str]:
    """Return the class of each negative under a name that no image of the other data set has."""
    if negatives.y.ndim > 1 or len(negatives.class_names) < 2:
        return [UNLABELLED] * len(negatives.X)
    names = [f"{negatives.name}: {name}" for name in negatives.class_names]
    return [names[label] for label in negatives.y.tolist()]

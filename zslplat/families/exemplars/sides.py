"""Which rows of a data set an exemplar-retrieval problem holds: negatives, gallery and queries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset, Queries
from zslplat.data.store.rows import take_rows
from zslplat.errors import DataError
from zslplat.metrics.ranking import Designated, Judgements, OwnClass
from zslplat.tasks.base import Arrays, Problem
from zslplat.tasks.row_outcomes import groups_of
from zslplat.tasks.splits import split_rows


@dataclass(frozen=True)
class Side:
    """Rows of the negatives, rows that a method is handed as the gallery, and the queries where these are designated.

    The gallery of designated queries holds their rows, too, whether or not these are searched.
    """

    negatives: np.ndarray
    gallery: np.ndarray
    queries: Queries | None = None


def designated_side(dataset: Dataset, split: str) -> Side:
    """Return the negatives, all rows of ``train``, and the designated queries of a split with their database."""
    queries = dataset.queries[split]
    return Side(dataset.rows("train"), queries.all_rows, queries)


def class_side(dataset: Dataset, share: float, split_seed: int, task: str) -> Side:
    """Return the side where all rows of the gallery ask: by the data set's own classes, or drawn ones.

    Raises :class:`DataError` where there are too few classes, or several labels per row.
    """
    if {"train", "test_unseen"} <= set(dataset.splits):
        return Side(split_rows(dataset, "train", "the negatives"), split_rows(dataset, "test_unseen", "the gallery"))
    if dataset.y.ndim != 1:
        raise DataError(f"{dataset.name}: {task} needs one class per row, got labels {dataset.y.shape}")
    count = len(np.unique(dataset.y))
    size = round(share * count)
    if size < 4 or count - size < 2:
        raise DataError(
            f"{dataset.name}: {size} of {count} classes for the negatives; at least 4 are needed there, "
            "so that validation can hold out 2, and 2 for the gallery; change negative_share"
        )
    chosen = np.isin(dataset.y, drawn_classes(dataset, size, (split_seed, 4, 0)))
    return Side(np.flatnonzero(chosen), np.flatnonzero(~chosen))


def drawn_classes(dataset: Dataset, count: int, seed: tuple[int, ...]) -> np.ndarray:
    """Return ``count`` classes (count,) among those that have rows, drawn by name.

    Neither the numbers of the classes nor the order of the rows matters, so that no order of a file gets into a draw.
    """
    classes = sorted((int(i) for i in np.unique(dataset.y)), key=lambda i: dataset.class_names[i])
    return np.asarray(np.random.default_rng(seed).permutation(classes)[:count])


def askers(dataset: Dataset, where: str, gallery: np.ndarray, most: int | None, seed: tuple[int, ...]) -> np.ndarray:
    """Return the rows that ask: those that can find another of their class, at most so many of them, drawn.

    Raises :class:`DataError` where there is none.
    """
    _, y, counts = np.unique(dataset.y[gallery], return_inverse=True, return_counts=True)
    rows = gallery[counts[y] > 1]
    if not len(rows):
        raise DataError(f"{dataset.name}, {where}: no class has two rows in the gallery, so nothing can be found")
    if most is None or len(rows) <= most:
        return np.asarray(rows)
    return np.asarray(np.random.default_rng(seed).permutation(rows)[:most])


def problem_of(
    name: str, dataset: Dataset, side: Side, seed: int, fold: str, *, most: int | None, split_seed: int
) -> Problem:
    """Return the problem of a side; ``seed`` shuffles the gallery.

    Where queries are not designated, at most ``most`` ask, drawn with ``split_seed``.
    """
    ids = np.unique(dataset.y[side.gallery])
    gallery = np.random.default_rng([seed, 5]).permutation(side.gallery)
    inputs: dict[str, Any] = {"X": take_rows(dataset.X, side.negatives), "gallery": take_rows(dataset.X, gallery)}
    truth = groups_of(dataset, gallery) | {"y": np.searchsorted(ids, dataset.y[gallery]), "row": gallery}
    meta = {"dataset": dataset.name, "fold": fold, "classes": [dataset.class_names[i] for i in ids]}
    if side.queries is None:
        query_rows = askers(dataset, name, np.sort(side.gallery), most, (split_seed, 5, 0))
        return Problem(name, inputs, truth | {"queries": np.flatnonzero(np.isin(gallery, query_rows))}, meta)
    return Problem(name, inputs, truth | _designated(side.queries, gallery), {**meta, "designated": True})


def _designated(queries: Queries, gallery: np.ndarray) -> Arrays:
    """Return which rows are queries, and what is right, as places in the gallery (see the table of the task)."""
    order = np.argsort(gallery)

    def places(rows: np.ndarray) -> np.ndarray:
        return np.asarray(order[np.searchsorted(gallery, rows, sorter=order)])

    arrays = {name: np.asarray(array) for name, array in queries.arrays()}
    pairs = {name: np.column_stack([arrays[name][:, 0], places(arrays[name][:, 1])]) for name in ("positive", "junk")}
    return {"queries": places(arrays["rows"]), "searched": np.isin(gallery, arrays["database"]), **pairs}


def judgements_of(truth: Mapping[str, np.ndarray]) -> Judgements:
    """Return what the rankings of a problem are measured by."""
    queries = np.asarray(truth["queries"])
    if "searched" not in truth:
        return OwnClass(np.asarray(truth["y"]), queries)
    searched, positive, junk = (np.asarray(truth[name]) for name in ("searched", "positive", "junk"))
    return Designated(len(queries), searched, positive, junk)


def question_digests(truth: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return a number (g,) for each gallery row that tells what is asked with it; 0 where nothing is.

    It depends on the rows of the data set alone, whatever the order of the gallery: on those that are searched for the
    query, and on those that are right.
    """
    row = np.asarray(truth["row"], dtype=np.int64)
    digests = np.zeros(len(row), dtype=np.uint64)
    judgements = judgements_of(truth)
    for number, place in enumerate(np.asarray(truth["queries"]).tolist()):
        counted, relevant = judgements.of(number)
        digest = hashlib.sha256(np.sort(row[counted]).tobytes() + b"|" + np.sort(row[counted][relevant]).tobytes())
        # Several queries may be asked with one row.
        digests[place] += np.frombuffer(digest.digest()[:8], dtype=np.uint64)[0]
    return digests.view(np.int64)

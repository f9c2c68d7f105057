"""Which rows and classes a zero-shot problem trains on, and which it scores: validation by class, never by test row.

Everything here reads the labels of the ``train`` split only, but for the number of test classes, which is public.
"""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np

from zslplat.data.dataset import ClassFold, Dataset, redivided_line, unseen_line
from zslplat.data.splits import hold_out_rows as hold_out_rows
from zslplat.errors import DataError, OutcomeWarning, UsageError
from zslplat.space import Integer, Optional, Real, Text, parameter
from zslplat.tasks.base import Task

# Chosen by simulation, see benchmarks/class_folds.py. A share of the seen classes that a drawn fold holds out at most;
# how many held-out classes, over all folds, give a steady mean; and how many folds that may cost.
LARGEST_SHARE = 0.4


STEADY = 30


FEWEST_FOLDS, MOST_FOLDS = 3, 10


_MOST_DRAWN = 10_000  # folds, until some are found that all differ


def split_rows(dataset: Dataset, split: str, purpose: str) -> np.ndarray:
    """Return the rows of a split; raises :class:`DataError` where it is missing or empty, or labels are not single."""
    if dataset.y.ndim != 1:
        raise DataError(
            f"{dataset.name}: zero-shot tasks need one class per row, got labels of shape {dataset.y.shape}"
        )
    if split not in dataset.splits or len(dataset.splits[split]) == 0:
        names = ", ".join(dataset.splits) or "none"
        hint = "" if dataset.splits else f"; say which classes are tested and never train: {unseen_line(dataset)}"
        if "test" in dataset.splits and not dataset.signatures:
            hint = "; a test is divided by class where there are signatures: give a row of attributes per class"
        elif "test" in dataset.splits and "path" in dataset.source:
            hint = f"; all classes of its test train: give {redivided_line(dataset)}"
        raise DataError(f"{dataset.name} has no split {split!r}, which {purpose} needs; its splits: {names}{hint}")
    return dataset.rows(split)


def class_folds(
    dataset: Dataset, rows: np.ndarray, count: int | None, share: float | None, seed: int, *, tested: int | None = None
) -> list[ClassFold]:
    """Return class-disjoint folds over the classes of the training ``rows``.

    The data set's own folds come first, restricted to those classes (the first ``count`` of them, all for None).
    Where it has none, folds are drawn with ``seed``. ``tested`` is the number of classes that the test tells apart;
    that number is public, the classes themselves play no part. Without a ``share``, each fold holds out
    :func:`fold_size` classes and there are :func:`fold_count` folds, or ``count``. With one, each of three folds, or
    of ``count``, holds out that share of the classes, rounded up, at least two. Every class is held out equally often,
    give or take one. Drawn folds that hold out fewer classes than ``tested``, or too few for a steady mean, give an
    :class:`OutcomeWarning`.

    Raises :class:`UsageError` for more folds than the data set has of its own, and :class:`DataError` for a fold with
    fewer than two training or two validation classes.
    """
    classes = np.unique(dataset.y[rows])
    if dataset.folds:
        if count is not None and count > len(dataset.folds):
            raise UsageError(
                f"folds={count} asked, but {dataset.name} has {len(dataset.folds)} folds of its own; ask for fewer"
            )
        present = set(classes.tolist())
        folds = [
            ClassFold(
                fold.name,
                tuple(sorted(present.intersection(fold.train))),
                tuple(sorted(present.intersection(fold.validation))),
            )
            for fold in dataset.folds[:count]
        ]
    else:
        folds = _drawn_folds(dataset.name, classes, count, share, seed, tested)
    for fold in folds:
        for role, members in (("training", fold.train), ("validation", fold.validation)):
            if len(members) < 2:
                raise DataError(
                    f"{dataset.name}, fold {fold.name!r}: {len(members)} {role} classes with rows in 'train'; "
                    "a fold needs at least two, so give other folds or more classes"
                )
    return folds


def _drawn_folds(
    name: str, classes: np.ndarray, count: int | None, share: float | None, seed: int, tested: int | None
) -> list[ClassFold]:
    seen = len(classes)
    size = min(seen, fold_size(seen, tested) if share is None else _size_of_share(seen, share))
    if count is not None and count > math.comb(seen, size):
        raise UsageError(
            f"folds={count} asked, but {size} of the {seen} seen classes of {name} can be held out in "
            f"{math.comb(seen, size)} ways; ask for fewer"
        )
    if tested is not None and size < tested:
        _warn_of_fewer_classes(name, seen, size, share, tested)
    if count is None and share is None:
        count = fold_count(seen, size)
        if count * size < STEADY:
            _warn_of_few_folds(name, seen, size, count)
    return draw_folds(classes, size, FEWEST_FOLDS if count is None else count, seed)


def fold_size(seen: int, tested: int | None) -> int:
    """Return how many of the ``seen`` classes a drawn fold holds out: as many as are ``tested``, at least two.

    At most ``LARGEST_SHARE`` of them, so that enough are left to learn from; that many where ``tested`` is unknown.
    """
    largest = round(LARGEST_SHARE * seen)
    return max(2, largest if tested is None else min(tested, largest))


def fold_count(seen: int, size: int) -> int:
    """Return how many folds hold out ``STEADY`` classes together: ``FEWEST_FOLDS`` to ``MOST_FOLDS``, if there are."""
    count = min(MOST_FOLDS, max(FEWEST_FOLDS, math.ceil(STEADY / size)))
    return max(1, min(count, math.comb(seen, size)))


def draw_folds(classes: np.ndarray, size: int, count: int, seed: int) -> list[ClassFold]:
    """Draw ``count`` different folds that hold out ``size`` of the classes each, all equally often, give or take one.

    There are fewer where the classes have fewer. The classes are taken in random order; once all were held out, what
    the fold at hand still lacks comes from a new order. That is begun again where it holds out the same classes twice,
    as happens with few classes; of nearly all folds that there are some classes may be in one more. All folds that
    there are come in the order of the class ids.
    """
    generator = np.random.default_rng([seed, 1])
    ways = math.comb(len(classes), size)
    if count >= ways:
        sides = list(itertools.combinations(classes.tolist(), size))
    else:
        sides = _different_draws(classes, size, count, generator)
    everything = set(classes.tolist())
    return [
        ClassFold(f"drawn-{k}", tuple(sorted(everything.difference(held_out))), tuple(sorted(held_out)))
        for k, held_out in enumerate(sides, start=1)
    ]


def _different_draws(
    classes: np.ndarray, size: int, count: int, generator: np.random.Generator
) -> list[tuple[int, ...]]:
    """Return balanced draws of which no two are the same, fewer than there are."""
    for _ in range(max(1, _MOST_DRAWN // count)):
        draws = _balanced_draws(classes, size, count, generator)
        if len({frozenset(draw) for draw in draws}) == count:
            return draws
    # So many of all that there are: they are taken one by one, each of the classes that were held out least often.
    left = generator.permutation(np.array(list(itertools.combinations(range(len(classes)), size))))
    often = np.zeros(len(classes), dtype=np.int64)
    draws = []
    for _ in range(count):
        first = int(np.argmin((often[left] ** 2).sum(axis=1)))
        often[left[first]] += 1
        draws.append(tuple(classes[left[first]].tolist()))
        left = np.delete(left, first, axis=0)
    return draws


def _balanced_draws(
    classes: np.ndarray, size: int, count: int, generator: np.random.Generator
) -> list[tuple[int, ...]]:
    waiting = generator.permutation(classes).tolist()
    draws = []
    for _ in range(count):
        draw, waiting = waiting[:size], waiting[size:]
        if len(draw) < size:
            again = [i for i in generator.permutation(classes).tolist() if i not in draw]
            missing = size - len(draw)
            # What is held out now waits at the end, so that no class comes twice while another has not come once.
            draw, waiting = draw + again[:missing], again[missing:] + draw
        draws.append(tuple(draw))
    return draws


def count_of_unseen(dataset: Dataset) -> int | None:
    """Return the number of classes of ``test_unseen``, None where there is no such split.

    How many classes the test tells apart is public knowledge, so validation may use it; their ids are not handed on.
    """
    return len(np.unique(dataset.y[dataset.rows("test_unseen")])) if "test_unseen" in dataset.splits else None


def _size_of_share(seen: int, share: float) -> int:
    # Rounded first: 0.2 * 15 is a little above 3 in floating point, and must not become 4 classes.
    return max(2, math.ceil(round(share * seen, 9)))


def _warn_of_fewer_classes(name: str, seen: int, size: int, share: float | None, tested: int) -> None:
    reason = f"to hold out more of {seen} seen classes would leave too few to learn from"
    if share is not None:
        reason = f"validation_classes={share:g} of {seen} seen classes"
        if fold_size(seen, tested) > size:
            reason += f"; validation_classes=none holds out {fold_size(seen, tested)}"
    warnings.warn(
        OutcomeWarning(
            f"{name}: validation tells {size} classes apart and the test {tested} ({reason}). Compare settings by "
            "validation values, but expect less of the test",
            "ZSP208",
        ),
        stacklevel=3,
    )


def _warn_of_few_folds(name: str, seen: int, size: int, count: int) -> None:
    needed = min(math.ceil(STEADY / size), math.comb(seen, size))
    advice = f"folds={needed} makes it steadier" if needed > count else "more seen classes would make it steadier"
    warnings.warn(
        OutcomeWarning(
            f"{name}: validation is a mean over {count} drawn folds of {size} classes and depends on the draw; "
            f"{advice}",
            "ZSP209",
        ),
        stacklevel=3,
    )


def fold_rows(dataset: Dataset, rows: np.ndarray, fold: ClassFold) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a fold's training classes and of its validation classes, out of the training ``rows``.

    Training rows that share a group with a validation row are left out, so that rows which belong together are never
    on both sides. Raises :class:`DataError` where that leaves a training class without rows.
    """
    y = dataset.y[rows]
    train, validation = rows[np.isin(y, fold.train)], rows[np.isin(y, fold.validation)]
    if dataset.groups is None:
        return train, validation
    rest = train[~np.isin(dataset.groups[train], dataset.groups[validation])]
    lost = set(fold.train) - set(dataset.y[rest].tolist())
    if lost:
        raise DataError(
            f"{dataset.name}, fold {fold.name!r}: {len(lost)} training classes share all their groups with validation "
            f"rows, first {dataset.class_names[min(lost)]!r}; give folds whose classes do not share groups"
        )
    return rest, validation


class ClassTask(Task):
    """Base of the tasks whose classes are told apart, or held out, by signatures."""

    signatures = parameter("name of the signature set; empty for the data set's default", Text(), default="")
    folds = parameter(
        "number of validation folds; none for all of the data set's own, or 3 to 10 drawn ones, more of smaller ones",
        Optional(Integer(1)),
        default=None,
    )
    validation_classes = parameter(
        "share of the training classes that a drawn fold holds out; none for as many classes as the test has, "
        "up to 0.4 of the training classes",
        Optional(Real(0.0, 0.9, open_low=True)),
        default=None,
    )

"""Small problems that methods are checked on, preprocessed as the method declares, float32 as data sets mostly are.

Classes are bit patterns of attributes; a row is max(0, attributes of its class, noisy, times a random map, plus an
offset), so that features are non-negative and about half of them zero, like those of a rectified layer. Classes lie
far enough apart for any sensible method to do better than guessing.

What tasks are checked on: small data sets of the usual forms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset, Queries, SignatureSet
from zslplat.data.store.preprocessing import Preprocessing, apply_steps
from zslplat.errors import DataError, UsageError
from zslplat.kinds import SHARED_SPACE
from zslplat.tasks.base import Task


@dataclass(frozen=True)
class Sizes:
    """Rows to fit on, rows to score, features, attributes, classes."""

    rows: int = 96
    pool: int = 60
    dimensions: int = 12
    attributes: int = 6
    seen: int = 8
    unseen: int = 4
    # Attributes beside the others in which the seen classes do not differ.
    shared: int = 0


SMALL = Sizes()
# Enough rows for methods that learn in small steps, and for graphs over the rows of a batch.
# More attributes than seen classes, and some that these share: much of their space is empty but for rounding.
WITH_SHARED = Sizes(attributes=12, seen=7, shared=2)
PLENTY = Sizes(rows=800, pool=360)
# Large enough for BLAS to share the products out to threads.
WIDE = Sizes(rows=144, pool=60, dimensions=48, attributes=12, seen=12, unseen=6)


@dataclass(frozen=True)
class ClassProblem:
    """Rows X (n, d) with labels y (n,) in 0..c-1 and signatures S (c, a), and a pool of unseen classes to score."""

    X: np.ndarray
    y: np.ndarray
    S: np.ndarray
    X_pool: np.ndarray
    y_pool: np.ndarray
    S_pool: np.ndarray
    seen: np.ndarray


def problem_for(method: Any, sizes: Sizes = SMALL, *, seed: int = 0) -> ClassProblem:
    """Return a zero-shot problem preprocessed for a method, in a shared space where it needs one."""
    return class_problem(method.effective_preprocessing, sizes, seed=seed, shared=SHARED_SPACE in method.tags)


def class_problem(
    preprocessing: Preprocessing, sizes: Sizes = SMALL, *, seed: int = 0, shared: bool = False
) -> ClassProblem:
    """Return a zero-shot problem: the pool holds rows of seen and of unseen classes, candidates are all classes.

    ``S_pool`` lists the seen classes first; ``seen`` marks them; ``y_pool`` are rows of ``S_pool``. Rows come in no
    order. Signatures in a ``shared`` space are the rows of their classes without noise.
    """
    rng = np.random.default_rng([seed, 21])
    classes = sizes.seen + sizes.unseen
    attributes = _with_shared(_patterns(classes, sizes.attributes, rng), sizes, seed)
    count = attributes.shape[1]
    mapping = rng.normal(size=(count, sizes.dimensions))
    offset = rng.normal(size=sizes.dimensions)
    y = rng.permutation(np.arange(sizes.rows) % sizes.seen)
    y_pool = rng.permutation(np.arange(sizes.pool) % classes)

    def rows(labels: np.ndarray) -> np.ndarray:
        shown = attributes[labels] - 0.5 + 0.1 * rng.normal(size=(len(labels), count))
        noise = 0.05 * rng.normal(size=(len(labels), sizes.dimensions))
        return np.asarray(np.maximum(shown @ mapping + offset + noise, 0), dtype=np.float32)

    X, X_pool = apply_steps(preprocessing.features, rows(y), rows(y_pool))
    described = (attributes - 0.5) @ mapping + offset if shared else attributes
    S, S_pool = apply_steps(preprocessing.signatures, described[: sizes.seen], described, every=described)
    return ClassProblem(X, y, S, X_pool, y_pool, S_pool, np.arange(classes) < sizes.seen)


def classification_problem(preprocessing: Preprocessing, sizes: Sizes = SMALL, *, seed: int = 0) -> ClassProblem:
    """Return the same kind of problem with rows to score from the classes that were trained on."""
    return class_problem(preprocessing, replace(sizes, unseen=0), seed=seed)


def _with_shared(attributes: np.ndarray, sizes: Sizes, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 22])
    shared = rng.random((len(attributes), sizes.shared))
    shared[: sizes.seen] = 0.3
    return np.insert(attributes, rng.integers(0, attributes.shape[1] + 1, sizes.shared), shared, axis=1)


def _patterns(count: int, attributes: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct 0/1 rows with a little variation, every attribute present in some and absent in others."""
    while True:
        distinct = np.unique(rng.integers(0, 2, size=(8 * count, attributes)), axis=0)
        rng.shuffle(distinct)
        patterns = distinct[:count]
        shares = patterns[: max(2, count // 2)].mean(axis=0)
        if len(patterns) == count and (shares > 0).all() and (shares < 1).all():
            return np.asarray(0.9 * patterns + 0.1 * rng.random(patterns.shape))


SEEN, UNSEEN, ROWS, ATTRIBUTES, FEATURES = 10, 4, 12, 6, 8
# A third of the rows of every seen class is kept for testing.
KEPT = 4


def data_sets() -> list[Dataset]:
    """Return data sets of the usual forms: seen and unseen test rows, unseen ones alone, samples of all classes.

    Every row of X is unique, so that it is found again in the arrays of a problem. Rows come in no order.
    """
    rng = np.random.default_rng(31)
    classes = SEEN + UNSEEN
    S = rng.random((classes, ATTRIBUTES))
    y = rng.permutation(np.repeat(np.arange(classes), ROWS))
    shown = S[y] - 0.5 + 0.03 * rng.normal(size=(len(y), ATTRIBUTES))
    X = (3 + shown @ rng.normal(size=(ATTRIBUTES, FEATURES))).astype(np.float32)
    # The how-manieth of its class a row is.
    turn = np.array([np.count_nonzero(y[:i] == y[i]) for i in range(len(y))])
    seen, tested = y < SEEN, turn < KEPT
    rows = np.arange(len(y))
    generalised = Dataset(
        "kit-zero-shot",
        X,
        y,
        tuple(f"class {chr(97 + c)}" for c in range(classes)),
        {"attributes": SignatureSet(S)},
        "attributes",
        {"train": rows[seen & ~tested], "test_seen": rows[seen & tested], "test_unseen": rows[~seen]},
    )
    conventional = replace(generalised, splits={"train": rows[seen], "test_unseen": rows[~seen]})
    samples = replace(generalised, splits={"train": rows[~tested], "test": rows[tested]})
    return [generalised, conventional, samples, replace(generalised, splits={})]


def label_sets() -> Dataset:
    """Return samples with several labels per row, of the usual form otherwise; some entries are not counted."""
    rng = np.random.default_rng(35)
    samples = data_sets()[2]
    counted = samples.signatures["attributes"].values[:, :4] > 0.5
    y = counted[samples.y].astype(np.int64)
    return replace(
        samples,
        name="kit-label-sets",
        y=np.where(rng.random(y.shape) < 0.03, -1, y),
        class_names=tuple(f"label {chr(97 + j)}" for j in range(4)),
        signatures={},
        default_signatures="",
    )


def designated() -> Dataset:
    """Return a data set with designated queries, of validation and of the test, over negatives without classes.

    Every class but that of the negatives has two queries, which are not searched; two of its rows are junk to the
    first, and the second is searched, too, and junk to itself.
    """
    plain = data_sets()[3]
    pairs, asking = 4, range(4, SEEN + UNSEEN)
    splits, queries = {"train": np.flatnonzero(plain.y < pairs)}, {}
    for split, classes in (("validation", asking[:4]), ("test", asking[4:])):
        members = [np.flatnonzero(plain.y == c) for c in classes]
        positive, junk = [], []
        for number, rows in enumerate(members):
            first, second = 2 * number, 2 * number + 1
            positive += [(first, row) for row in rows[[1, 4, 5, 6]]] + [(second, row) for row in rows[2:6]]
            junk += [(first, row) for row in rows[2:4]] + [(second, rows[1])]
        splits[split] = np.sort(np.concatenate(members))
        queries[split] = Queries(
            rows=np.concatenate([rows[:2] for rows in members]),
            database=np.concatenate([rows[1:] for rows in members]),
            positive=np.array(positive),
            junk=np.array(junk),
        )
    y = np.where(plain.y < pairs, 0, plain.y - pairs + 1)
    names = ("unlabelled", *plain.class_names[pairs:])
    return replace(plain, name="kit-designated", y=y, class_names=names, signatures={}, splits=splits, queries=queries)


def data_for(task: Task) -> Dataset:
    """Return the first of the data sets that the task takes; a task may offer its own as ``example_dataset()``.

    Raises AssertionError with the task's own words where it takes none.
    """
    if hasattr(task, "example_dataset"):
        example: Dataset = task.example_dataset()
        return example
    causes = []
    for dataset in data_sets():
        try:
            task.validation(dataset)
            task.test(dataset)
        except (DataError, UsageError) as error:
            causes.append(f"{', '.join(dataset.splits) or 'no splits'}: {error}")
        else:
            return dataset
    raise AssertionError(
        "the task takes none of the kit's data sets; give it a method example_dataset() that returns a small one "
        f"({'; '.join(causes)})"
    )


def reordered(dataset: Dataset) -> Dataset:
    """Return the same data with rows and classes in another order."""
    rng = np.random.default_rng(32)
    rows, classes = rng.permutation(len(dataset.X)), rng.permutation(len(dataset.class_names))
    y = dataset.y[rows][:, classes] if dataset.y.ndim == 2 else np.argsort(classes)[dataset.y[rows]]
    place = np.argsort(rows)
    signatures = {
        name: replace(signature, values=signature.values[rows if signature.per_row else classes])
        for name, signature in dataset.signatures.items()
    }
    return replace(
        dataset,
        X=dataset.X[rows],
        y=y,
        groups=None if dataset.groups is None else dataset.groups[rows],
        made_of=None if dataset.made_of is None else dataset.made_of[rows],
        class_names=tuple(dataset.class_names[c] for c in classes),
        signatures=signatures,
        splits={name: np.sort(place[index]) for name, index in dataset.splits.items()},
        queries={split: _elsewhere(of_split, place) for split, of_split in dataset.queries.items()},
        known_fingerprint="",
    )


def noise(dataset: Dataset) -> Dataset:
    """Return the data with features that tell nothing of the classes."""
    X = np.random.default_rng(33).normal(size=dataset.X.shape).astype(dataset.X.dtype)
    return replace(dataset, X=X, known_fingerprint="")


def more_noise(dataset: Dataset, times: int = 16) -> Dataset:
    """Return so many times the rows, split alike, with features that tell nothing: guesses vary less on more rows."""
    n = len(dataset.y)
    shape = (times * n, *dataset.X.shape[1:])
    sets = dict(dataset.signatures)
    for name, signatures in sets.items():
        if signatures.per_row:
            sets[name] = replace(signatures, values=np.concatenate([signatures.values] * times))
    return replace(
        dataset,
        X=np.random.default_rng(33).normal(size=shape).astype(dataset.X.dtype),
        y=np.concatenate([dataset.y] * times),
        groups=None if dataset.groups is None else np.tile(dataset.groups, times),
        made_of=None if dataset.made_of is None else np.tile(dataset.made_of, (times, 1)),
        signatures=sets,
        splits={name: np.concatenate([rows + i * n for i in range(times)]) for name, rows in dataset.splits.items()},
        queries={split: _repeated(of_split, n, times) for split, of_split in dataset.queries.items()},
        known_fingerprint="",
    )


def _elsewhere(queries: Queries, place: np.ndarray) -> Queries:
    """Return the same queries where row i lies at ``place[i]``."""
    pairs = [np.column_stack([one[:, 0], place[one[:, 1]]]) for one in (queries.positive, queries.junk)]
    return Queries(place[queries.rows], place[queries.database], *pairs)


def _repeated(queries: Queries, n: int, times: int) -> Queries:
    """Return the queries of so many copies of n rows, each for rows of its own copy."""
    q = len(queries.rows)

    def copies(array: np.ndarray, step: Any) -> np.ndarray:
        return np.concatenate([array + i * np.asarray(step) for i in range(times)])

    pairs = [copies(one, [q, n]) for one in (queries.positive, queries.junk)]
    return Queries(copies(queries.rows, n), copies(queries.database, n), *pairs)

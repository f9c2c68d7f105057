"""What tasks are checked on: small data sets, with the methods of the kit of their kind (:func:`player`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset, Queries, SignatureSet
from zslplat.errors import DataError, UsageError
from zslplat.tasks.base import Task
from zslplat.testing.kits import kit_for_task
from zslplat.testing.running import Skipped

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


def player(task: Task, play: str, seed: int = 0) -> Any:
    """Return a method for the task; raises :class:`Skipped` for a kind of methods of which the kit has none."""
    player_class: Any = kit_for_task(task).player
    if player_class is None:
        raise Skipped(f"the kit has no method of kind {task.kind!r} to run this task with")
    return player_class(play, seed)

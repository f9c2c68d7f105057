"""Another data set with its seen and unseen classes drawn anew, so that a result can be repeated on new classes.

A draw takes as many unseen classes as the data set has, out of all classes that its splits have rows of. The rows of
these are ``test_unseen``; of the rows of the others the share that ``test_seen`` had is held out as such, and the rest
is ``train``. The data set's own validation folds are dropped, as they may hold classes that are now tested: tasks draw
folds of the new seen classes. So nothing that is tuned on a draw sees a row, or knows a class, of its test.

Rows of a group are never on both sides: training rows that share a group with a row of ``test_unseen`` are left out.
Where that would leave a class nothing to train on, as where every speaker says every word, groups are divided first:
training rows are those of seen classes in some groups, test rows are in the others.

Data sets that are drawn from a seed themselves (:attr:`~zslplat.data.source.DataSource.drawn_by`) draw anew.

What was learned from the original seen classes stays: features of a network that was trained on them, say.

Where data sets are counted, those that show the same images, or samples, count as one (:func:`families`). Equal
features (rows, their order, their type) tell that, whatever splits and signatures come with them. Other features
of the same images are recognised by the spec, where it names the features in a parameter: it is the same but for that,
and the same rows are scored. The rows that are scored say nothing by themselves, as two data sets of one layout have
rows of the same numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain

import numpy as np

from zslplat.data.catalogue import open_source, parse_dataset
from zslplat.data.dataset import Dataset
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.splits import hold_out_rows
from zslplat.errors import DataError, UsageError
from zslplat.registry import ByName
from zslplat.space import Integer, Text, parameter
from zslplat.spec import Spec

NAME = "redrawn"


def drawn_from(dataset: Spec) -> Spec:
    """Return the data set whose classes a spec draws anew; the spec itself where it draws none."""
    return parse_dataset(str(dataset.parameters.get("of", "digit-pairs"))) if dataset.name == NAME else dataset


def draw_of(dataset: str) -> str | None:
    """Return the data set whose classes this one, by its spec as a text, draws anew; None where it draws none."""
    with suppress(UsageError):
        spec = Spec.parse(dataset)
        return str(drawn_from(spec)) if spec.name == NAME else None
    return None


def draw_number(dataset: str) -> int:
    """Return which draw a spec, as a text, of :func:`draw_of` a data set is: two of one number are the same."""
    return int(str(Spec.parse(dataset).parameters.get("draw", 1)))


class Redrawn(DataSource):
    """A data set with other seen and unseen classes: ``redrawn(of="CIFAR100(features=mnv2)", draw=3)``.

    Equations
    ---------
    Takes another data set and draws anew which of its classes are seen: how much does a result hang on that choice?

    Symbols
    -------
    | part       | shape           | meaning                                                   |
    |------------|-----------------|-----------------------------------------------------------|
    | X          | (n, d)          | features, rows are samples                                |
    | y          | (n,)            | class of each row                                         |
    | S          | (c, a)          | signatures, one row per class                             |
    | splits     |                 | rows of ``train``, ``test_seen`` and ``test_unseen``      |

    Example
    -------
    >>> import zslplat
    >>> first = zslplat.load_dataset("redrawn(of=digit-pairs, draw=1)")
    >>> second = zslplat.load_dataset("redrawn(of=digit-pairs, draw=2)")
    >>> unseen = [set(data.y[data.splits["test_unseen"]]) for data in (first, second)]
    >>> len(unseen[0]), unseen[0] == unseen[1]
    (20, False)

    Related
    -------
    It works on any of the others: ``digit-pairs``, ``xlsa17``, ``npz``.
    """

    summary = "another data set with its seen and unseen classes drawn anew: redrawn(of=..., draw=3)"
    licence = "that of the other data set"
    of = parameter("the other data set, with its options; default digit-pairs", Text())
    draw = parameter("which draw", Integer(1), default=1)

    def load(self, places: DataPlaces) -> Dataset:
        """Load the other data set and draw; raises :class:`DataError` where it has no unseen classes to draw."""
        spec, draw = drawn_from(Spec(NAME, self.options)), self.draw
        if spec.name == NAME:
            raise UsageError(f"{spec} is drawn anew already; give the data set itself")
        source = open_source(spec, places, ByName("datasets"))
        if source.drawn_by:
            seed = {source.drawn_by: source.options.get(source.drawn_by, 0) + draw}
            return type(source)(**{**source.options, **seed}).load(places)
        return redrawn(source.load(places), draw)


def redrawn(dataset: Dataset, draw: int) -> Dataset:
    """Return a data set with its classes divided anew, the same for the same ``draw`` anywhere; see the module."""
    if dataset.y.ndim != 1:
        raise DataError(f"{dataset.name}: classes are drawn of rows with one class each, got labels {dataset.y.shape}")
    for split in ("train", "test_unseen"):
        if split not in dataset.splits or not len(dataset.rows(split)):
            raise DataError(f"{dataset.name} has no rows in {split!r}: it has no seen and unseen classes to draw anew")
    original = {name: dataset.rows(name) for name in ("train", "test_seen", "test_unseen") if name in dataset.splits}
    rows = np.sort(np.concatenate(list(original.values())))
    classes = np.unique(dataset.y[rows])
    count = len(np.unique(dataset.y[original["test_unseen"]]))
    unseen = np.random.default_rng([draw, 41]).permutation(classes)[:count]
    seen_share = (
        len(original["test_seen"]) / (len(original["test_seen"]) + len(original["train"]))
        if "test_seen" in original
        else 0.0
    )
    splits = _without_groups(dataset, rows, unseen, seen_share, draw) or _by_groups(
        dataset, rows, unseen, 1 - len(original["train"]) / len(rows), "test_seen" in original, draw
    )
    digest = hashlib.sha256(f"redrawn|{dataset.fingerprint}".encode())
    for name in sorted(splits):
        digest.update(name.encode() + splits[name].astype(np.int64).tobytes())
    return replace(
        dataset,
        name=f"{dataset.name}, draw {draw}",
        splits=splits,
        folds=(),
        source={**dataset.source, "draw": draw},
        known_fingerprint=digest.hexdigest(),
        known_features=dataset.features_digest,
    )


def _without_groups(
    dataset: Dataset, rows: np.ndarray, unseen: np.ndarray, share: float, draw: int
) -> dict[str, np.ndarray] | None:
    """Return the splits with all rows of the unseen classes in the test; None where groups leave a class no row."""
    of_unseen = np.isin(dataset.y[rows], unseen)
    test, left = rows[of_unseen], rows[~of_unseen]
    if dataset.groups is not None:
        classes = np.unique(dataset.y[left])
        left = left[~np.isin(dataset.groups[left], dataset.groups[test])]
        if len(np.unique(dataset.y[left])) < len(classes):
            return None
    splits = {"test_unseen": test, "train": left}
    if share:
        splits["train"], splits["test_seen"] = hold_out_rows(dataset, left, share, draw)
    return splits


def _by_groups(
    dataset: Dataset, rows: np.ndarray, unseen: np.ndarray, share: float, seen_too: bool, draw: int
) -> dict[str, np.ndarray]:
    """Return the splits with the groups divided: those of the test have about ``share`` of the rows of every class."""
    remaining, test = hold_out_rows(dataset, rows, share, draw)
    of_unseen = np.isin(dataset.y[test], unseen)
    splits = {"train": remaining[~np.isin(dataset.y[remaining], unseen)], "test_unseen": test[of_unseen]}
    if seen_too:
        splits["test_seen"] = test[~of_unseen]
    missing = set(unseen.tolist()) - set(dataset.y[splits["test_unseen"]].tolist())
    if missing:
        raise DataError(
            f"{dataset.name}, draw {draw}: {len(missing)} unseen classes have no row in the groups that are tested, "
            f"first {dataset.class_names[min(missing)]!r}; its groups and classes cannot be divided at once"
        )
    return splits


# The parameters of data sets that say how images are described, and not which they are.
DESCRIBED_BY = ("features", "signatures")


def images_of(dataset: str, rows: str | None, features_digest: str | None) -> frozenset[str]:
    """Return what tells the images of an evaluation from those of others: two share images that share one of these.

    ``dataset``: its spec; ``rows``: the hash of the scored rows (:func:`zslplat.metrics.intervals.rows_digest`);
    ``features_digest``: that of :class:`~zslplat.data.dataset.Dataset`. None where a record does not say; nothing is
    told without the first of them.
    """
    if rows is None:
        return frozenset()
    with suppress(UsageError):
        spec = Spec.parse(dataset)
        dataset = str(Spec(spec.name, {k: v for k, v in spec.parameters.items() if k not in DESCRIBED_BY}))
    return frozenset({f"{dataset}: {rows}", *([f"features {features_digest}"] if features_digest else ())})


def families(marks: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return, for each data set in turn, the first of those that it shares marks with, directly or through others.

    ``marks``, by data set: what tells its images from those of others (:func:`images_of`), or the name of what its
    classes are drawn from.
    """
    groups: list[tuple[list[str], set[str]]] = []
    for name, marks_of_set in ((name, set(values)) for name, values in marks.items()):
        near = [group for group in groups if group[1] & marks_of_set]
        groups = [group for group in groups if not group[1] & marks_of_set]
        groups.append(
            (
                [*chain.from_iterable(names for names, _ in near), name],
                marks_of_set.union(*(values for _, values in near)),
            )
        )
    first = {name: names[0] for names, _ in groups for name in names}
    return {name: first[name] for name in marks}

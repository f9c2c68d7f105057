"""Another data set with its seen and unseen classes drawn anew, so that a result can be repeated on new classes.

Classes are drawn by one of two schemes. A *random draw* takes as many unseen classes as the data set has, out of all
classes that its splits have rows of. Of K *class folds* each class is unseen in one: draws 1 to K are the folds of one
arrangement, K + 1 to 2 K those of the next. Folds are stratified: classes are ordered by superclass, where the data set
has a signature set of that name, and by their number of rows, and each K that follow one another go to different folds.

The rows of unseen classes are ``test_unseen``; of the rows of the others the share that ``test_seen`` had is held out
as such, and the rest is ``train``. The data set's own validation folds are dropped, as they may hold classes that are
now tested: tasks draw folds of the new seen classes. So nothing that is tuned on a draw sees a row, or knows a class,
of its test.

Rows of a group are never on both sides: training rows that share a group with a row of ``test_unseen`` are left out.
Where that would leave a class nothing to train on, as where every speaker says every word, groups are divided first:
training rows are those of seen classes in some groups, test rows are in the others.

Data sets that are drawn from a seed themselves (:attr:`~zslplat.data.source.DataSource.drawn_by`) draw anew, and those
that divide their classes themselves (:attr:`~zslplat.data.source.DataSource.folded_by`) have the folds of their own.

What was learned from the original seen classes stays: features of a network that was trained on them, say.

Where data sets are counted, those that show the same images, or samples, count as one (:func:`same_images`). Equal
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

from zslplat.data.catalogue import REDRAWN, open_source, parse_dataset
from zslplat.data.dataset import Dataset
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.splits import hold_out_rows
from zslplat.errors import DataError, UsageError
from zslplat.registry import ByName
from zslplat.space import Integer, Optional, Text, parameter
from zslplat.spec import Spec

NAME = REDRAWN
SUPERCLASS = "superclass"  # a signature set of this name says which classes are of one superclass: they are equal


def drawn_from(dataset: Spec) -> Spec:
    """Return the data set whose classes a spec draws anew; the spec itself where it draws none."""
    return parse_dataset(str(dataset.parameters.get("of", "digit-pairs"))) if dataset.name == NAME else dataset


def draw_of(dataset: str) -> str | None:
    """Return the data set whose classes this one, by its spec as a text, draws anew; None where it draws none."""
    with suppress(UsageError):
        spec = Spec.parse(dataset)
        return str(drawn_from(spec)) if spec.name == NAME else None
    return None


def drawn_spec(dataset: Spec, draw: int | None, folds: int | None = None) -> Spec:
    """Return a draw of the classes of a data set as a spec; without ``draw`` all draws of the scheme together."""
    options = {"of": str(dataset), "draw": draw, "folds": folds}
    return Spec(NAME, {name: value for name, value in options.items() if value is not None})


def scheme_of(dataset: str) -> tuple[str, int] | None:
    """Return, of a draw by its spec as a text, all draws of its scheme as a spec, and its number; None for no draw."""
    of = draw_of(dataset)
    if of is None:
        return None
    options = Spec.parse(dataset).parameters
    folds = options.get("folds")
    return str(drawn_spec(Spec.parse(of), None, None if folds is None else int(str(folds)))), int(
        str(options.get("draw", 1))
    )


def several_draws(datasets: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return :func:`scheme_of` those data sets that are draws of a scheme of which there are several among them."""
    drawn: dict[str, dict[int, str]] = {}
    for dataset in datasets:
        if (draw := scheme_of(dataset)) is not None:
            drawn.setdefault(draw[0], {}).setdefault(draw[1], dataset)
    return {
        dataset: (scheme, number)
        for scheme, draws in drawn.items()
        if len(draws) > 1
        for number, dataset in sorted(draws.items())
    }


def divided_anew(datasets: Iterable[str]) -> set[str]:
    """Return those of which class folds, or several draws, are among them as well: their classes are in these."""
    names = list(datasets)
    return {of for name in names if (of := draw_of(name)) in names and scheme_of(name) == (name, 1)}


def given_split_note(dataset: str, methods: Iterable[tuple[str, str]]) -> str:
    """Return the note that a data set's given split is not shown; ``methods``: data sets and methods tested on them."""
    pairs = list(methods)
    divided = {method for name, method in pairs if draw_of(name) == dataset}
    alone = sorted({method for name, method in pairs if name == dataset} - divided)
    text = f"{dataset}: the given split is left out, its classes are among the class folds; -d {dataset} shows it"
    return text + (f", with what has no class folds: {', '.join(alone)}" if alone else "")


def names_of(dataset: str) -> set[str]:
    """Return the specs that select a data set: its own and, of a draw, its scheme's and that of what is drawn from."""
    scheme = scheme_of(dataset)
    return {dataset} if scheme is None else {dataset, scheme[0], str(draw_of(dataset))}


def draw_in_words(dataset: str) -> str:
    """Return what a title says of a draw, by its spec as a text, behind the data set; see ``dataset_titles``."""
    options = Spec.parse(dataset).parameters
    scheme = f"{options['folds']} class folds" if "folds" in options else ""
    if "draw" not in options:
        return f", {scheme or 'draws of classes'}"
    return f" #{options['draw']}" + (f" of {scheme}" if scheme else "")


class Redrawn(DataSource):
    """A data set with other seen and unseen classes: ``redrawn(of="CIFAR100(features=mnv2)", draw=3, folds=5)``.

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
    draw = parameter("which draw", Integer(1))
    folds = parameter(
        "class folds, each class is unseen in one; none: random draws", Optional(Integer(2)), default=None
    )

    def load(self, places: DataPlaces) -> Dataset:
        """Load the other data set and draw; raises :class:`DataError` where it has no unseen classes to draw."""
        spec, folds = drawn_from(Spec(NAME, self.options)), self.folds
        if "draw" not in self.options:
            raise UsageError(f"{Spec(NAME, self.options)}: it has many draws; say which, with draw=1")
        draw = int(self.options["draw"])
        if spec.name == NAME:
            raise UsageError(f"{spec} is drawn anew already; give the data set itself")
        source = open_source(spec, places, ByName("datasets"))
        if source.drawn_by and (folds is None or source.folded_by[0]):
            arrangement, fold = (draw, None) if folds is None else divmod(draw - 1, folds)
            values = {source.drawn_by: source.options.get(source.drawn_by, 0) + arrangement}
            if fold is not None:
                name, count = source.folded_by
                if folds != count:
                    raise UsageError(f"{spec} divides its classes into {count} folds of its own; ask for {count}")
                values[name] = fold
            return type(source)(**{**source.options, **values}).load(places)
        return redrawn(source.load(places), draw, folds)


def redrawn(dataset: Dataset, draw: int, folds: int | None = None) -> Dataset:
    """Return a data set with its classes divided anew, the same for the same ``draw`` anywhere; see the module."""
    if dataset.y.ndim != 1:
        raise DataError(f"{dataset.name}: classes are drawn of rows with one class each, got labels {dataset.y.shape}")
    for split in ("train", "test_unseen"):
        if split not in dataset.splits or not len(dataset.rows(split)):
            raise DataError(f"{dataset.name} has no rows in {split!r}: it has no seen and unseen classes to draw anew")
    original = {name: dataset.rows(name) for name in ("train", "test_seen", "test_unseen") if name in dataset.splits}
    rows = np.sort(np.concatenate(list(original.values())))
    classes = np.unique(dataset.y[rows])
    if folds is None:
        count = len(np.unique(dataset.y[original["test_unseen"]]))
        unseen = np.random.default_rng([draw, 41]).permutation(classes)[:count]
    else:
        arrangement, fold = divmod(draw - 1, folds)
        unseen = divide_classes(dataset, rows, folds, arrangement)[fold]
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
        name=f"{dataset.name}, draw {draw}" + ("" if folds is None else f" of {folds} class folds"),
        splits=splits,
        folds=(),
        source={**dataset.source, "draw": draw, "class_folds": folds},
        known_fingerprint=digest.hexdigest(),
        known_features=dataset.features_digest,
    )


def divide_classes(dataset: Dataset, rows: np.ndarray, folds: int, arrangement: int) -> list[np.ndarray]:
    """Return the classes of each fold, the same for the same ``arrangement`` anywhere; ``rows`` are those that count.

    Raises :class:`UsageError` for fewer than two classes a fold, of which nothing can be told apart.
    """
    classes, counts = np.unique(dataset.y[rows], return_counts=True)
    if len(classes) < 2 * folds:
        raise UsageError(
            f"folds={folds}: {dataset.name} has {len(classes)} classes, and a fold needs 2; give 2 to "
            f"{len(classes) // 2} folds (--class-folds)"
        )
    generator = np.random.default_rng([arrangement, 47])
    strata = np.zeros(len(classes), dtype=np.int64)
    if SUPERCLASS in dataset.signatures:
        values, described = dataset.class_signatures(SUPERCLASS)
        of_class = np.zeros(len(dataset.class_names), dtype=np.int64)
        places = np.arange(len(values)) if described is None else described
        of_class[places] = np.unique(values, axis=0, return_inverse=True)[1].ravel()
        strata = of_class[classes]
    order = np.lexsort((generator.random(len(classes)), counts, strata))
    fold_of = np.concatenate([generator.permutation(folds) for _ in range(0, len(classes), folds)])[: len(classes)]
    return [np.sort(classes[order][fold_of == fold]) for fold in range(folds)]


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


def same_images(marks: Mapping[str, Iterable[str]]) -> dict[str, str]:
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

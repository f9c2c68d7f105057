"""Synthetic zero-shot data of any size, with features that look like the outputs of a rectified network layer.

======== ============ =======================================================================================
symbol   shape        meaning
======== ============ =======================================================================================
S        (c, a)       class signatures in [0, 1], of low rank, because attributes of real classes are correlated
Z        (c, a)       signatures, standardised by the seen classes
W, E     (a, d)       the map from attributes to features, and the direction in which it changes for unseen classes
e, f     (n, a|d)     noise of a row in attribute space (rows of a class differ in what they show) and in features
x        (n, d)       max(0, (Z[y] + noise * sqrt(2a) * e) (W + shift * [y unseen] E) + b + f / 2)
======== ============ =======================================================================================

``b`` is negative on average, so about half of the entries are zero. sqrt(2a) is the usual distance of two rows of Z, so
that ``noise`` means the same for few attributes and for many. ``shift`` is the projection domain shift: the same
attribute looks different in unseen classes. The presets have the rows, dimensions, attributes, classes and fold sizes
of the published sets under the proposed splits with ResNet-101 features; nothing else of those data is imitated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from zslplat.data.dataset import ClassFold, Dataset, SignatureSet
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.store.rows import Part, Rows, RowStream, Source, Stored, View
from zslplat.data.store.stored_sets import storage_order, stored_dataset, stored_features
from zslplat.errors import UsageError
from zslplat.keys import key_of
from zslplat.space import Choice, Integer, Optional, Real, parameter

_VERSION = 1

_BLOCK_ROWS = 2048  # part of what a seed means: noise is drawn block by block


@dataclass(frozen=True)
class Shape:
    """Sizes of a data set: rows per split, dimensions, attributes, classes, held-out classes per fold."""

    rows_train: int = 4000
    rows_test_seen: int = 1000
    rows_test_unseen: int = 1000
    dimensions: int = 256
    attributes: int = 30
    classes_seen: int = 40
    classes_unseen: int = 10
    classes_validation: int = 13


PRESETS = {
    "awa1": Shape(19832, 4958, 5685, 2048, 85, 40, 10, 13),
    "awa2": Shape(23527, 5882, 7913, 2048, 85, 40, 10, 13),
    "cub": Shape(7057, 1764, 2967, 2048, 312, 150, 50, 50),
    "sun": Shape(10320, 2580, 1440, 2048, 102, 645, 72, 65),
    "apy": Shape(5932, 1483, 7924, 2048, 64, 20, 12, 5),
}


class Synthetic(DataSource):
    r"""Classes, attributes and rectified features drawn from a seed; three class-disjoint folds.

    Equations
    ---------
    Draws classes with correlated attributes, and features like those of a rectified layer:

    $$x = \max(0,\; (s_y + \text{noise})\, (W + \text{shift} \cdot E\, [y \text{ unseen}]) + b + f / 2)$$

    Symbols
    -------
    | symbol | shape  | meaning                                                          |
    |--------|--------|------------------------------------------------------------------|
    | x      | (n, d) | features                                                         |
    | s      | (c, a) | class signatures, standardised by the seen classes               |
    | W, E   | (a, d) | map from attributes to features, and how it differs for unseen classes |
    | b      | (d,)   | offset, negative on average                                      |
    | f      | (n, d) | noise of a row in the features                                   |

    Related
    -------
    ``digit-pairs`` is real; ``xlsa17`` reads the sets whose shapes the presets have.
    """

    summary = "synthetic classes and rectified features of any size; presets in the shapes of awa1, awa2, cub, sun, apy"
    licence = "none needed: drawn from a seed"
    drawn_by = "seed"
    preset = parameter("take all sizes from a published set", Optional(Choice(tuple(PRESETS))))
    rows_train = parameter("training rows", Integer(4, 10_000_000))
    rows_test_seen = parameter("test rows of seen classes", Integer(1, 10_000_000))
    rows_test_unseen = parameter("test rows of unseen classes", Integer(2, 10_000_000))
    dimensions = parameter("features per row", Integer(1, 1_000_000))
    attributes = parameter("attributes per class", Integer(1, 100_000))
    classes_seen = parameter("classes with training rows", Integer(4, 100_000))
    classes_unseen = parameter("classes without training rows", Integer(2, 100_000))
    classes_validation = parameter("seen classes that each of three folds holds out", Integer(2, 100_000))
    shift = parameter("change of the attribute-to-feature map for unseen classes, 0 is none", Real(0, 100))
    noise = parameter(
        "spread of the rows of a class along an attribute, relative to the distance of two classes", Real(0, 100)
    )
    views = parameter(
        "views (view1, view2, ...) that the features are divided into, each of which shows attributes of its own",
        Integer(1, 1000),
    )
    seed = parameter("what is drawn", Integer(0))

    def load(self, places: DataPlaces) -> Dataset:
        """Draw the data set, or open what an earlier load kept under ``places.cache``."""
        options = dict(self.options)
        preset = options.pop("preset", None)
        shape = PRESETS[preset] if preset else Shape()
        sizes = {name: options.pop(name) for name in asdict(shape) if name in options}
        if preset and sizes:
            raise UsageError(f"synthetic: preset={preset} fixes {', '.join(sizes)}; leave out one or the other")
        if "classes_seen" in sizes and "classes_validation" not in sizes:
            sizes["classes_validation"] = max(2, sizes["classes_seen"] // 3)
        shape = replace(shape, **sizes)
        name = f"synthetic-{preset}" if preset else "synthetic"
        key = key_of("synthetic", _VERSION, name, asdict(shape), options)
        cache = places.cache
        if cache is None:
            return synthetic(shape, name=name, **options)

        def store(view: str, stream: RowStream, y: np.ndarray) -> Source:
            rows = stored_features(cache, key_of(key, "features", view), lambda: (stream, y))[0]
            return rows.parts[0].source

        return stored_dataset(cache, key, lambda: synthetic(shape, name=name, store=store, **options))


def synthetic(
    shape: Shape,
    *,
    shift: float = 0.5,
    noise: float = 0.3,
    views: int = 1,
    seed: int = 0,
    name: str = "synthetic",
    store: Callable[[str, RowStream, np.ndarray], Source] | None = None,
) -> Dataset:
    """Return the data set: X (n, d) float32, non-negative; seen classes first; rows in the order of the splits.

    With several ``views`` the columns are divided among them, and the attributes are dealt out to them in turn: the
    columns of a view depend on its attributes alone. ``store`` stores the rows of a view, given their labels, as they
    are drawn; without it X is held in memory. Matrix products run
    on one BLAS thread, so that the number of threads never changes a bit of the data. Raises :class:`UsageError` for
    sizes that do not fit together.
    """
    _check(shape, views)
    classes = shape.classes_seen + shape.classes_unseen
    S = _signatures(classes, shape.attributes, np.random.default_rng(seed))
    counts = {
        "train": (shape.rows_train, np.arange(shape.classes_seen)),
        "test_seen": (shape.rows_test_seen, np.arange(shape.classes_seen)),
        "test_unseen": (shape.rows_test_unseen, np.arange(shape.classes_seen, classes)),
    }
    y = np.concatenate([np.sort(np.resize(labels, rows)) for rows, labels in counts.values()])
    ends = np.cumsum([0, *(rows for rows, _ in counts.values())])
    drawn: list[np.random.Generator] = []

    def read() -> Iterator[np.ndarray]:
        rng = np.random.default_rng(seed)
        _signatures(classes, shape.attributes, rng)
        yield from _feature_blocks(S, y, shape, shift, noise, views, rng)
        drawn.append(rng)

    sources: dict[str, Source] = {}
    for number, (start, stop) in enumerate(_columns(shape, views), start=1):
        view = f"view{number}" if views > 1 else ""
        stream = RowStream((len(y), stop - start), np.dtype(np.float32), partial(_cut, read, start, stop), name)
        sources[view] = stream.loaded if store is None else store(view, stream, y)
    if not drawn:  # kept by an earlier load
        for _ in read():
            pass
    X: np.ndarray | Rows
    if store is None and views == 1:
        X = stream.loaded
    else:
        X = Rows([Part(View(view, tuple(s.shape[1:])), s) for view, s in sources.items()], _places(sources, y))
    folds = _folds(shape, drawn[-1])  # what is drawn after the features
    return Dataset(
        name=name,
        X=X,
        y=y,
        class_names=tuple(f"{'seen' if c < shape.classes_seen else 'unseen'}-{c}" for c in range(classes)),
        signatures={"attributes": SignatureSet(S)},
        default_signatures="attributes",
        splits={split: np.arange(ends[k], ends[k + 1]) for k, split in enumerate(counts)},
        folds=folds,
        description=Synthetic.summary,
        licence=Synthetic.licence,
        source={"loader": "synthetic", **asdict(shape), "shift": shift, "noise": noise, "seed": seed}
        | ({"views": views} if views > 1 else {}),
    )


def _places(sources: Mapping[str, Source], y: np.ndarray) -> np.ndarray:
    """Return where the rows lie: in their order, or in that of files."""
    return storage_order(y) if any(isinstance(s, Stored) for s in sources.values()) else np.arange(len(y))


def _columns(shape: Shape, views: int) -> list[tuple[int, int]]:
    """Return the first column of each view, and the one after its last."""
    ends = np.linspace(0, shape.dimensions, views + 1).astype(int).tolist()
    return list(itertools.pairwise(ends))


def _cut(read: Callable[[], Iterator[np.ndarray]], start: int, stop: int) -> Iterator[np.ndarray]:
    for block in read():
        yield block[:, start:stop]


def _check(shape: Shape, views: int) -> None:
    if views > min(shape.dimensions, shape.attributes):
        raise UsageError(
            f"synthetic: views={views} of dimensions={shape.dimensions} and attributes={shape.attributes}; each view "
            "needs one of either"
        )
    if min(shape.rows_train, shape.rows_test_seen) < shape.classes_seen:
        rows = f"rows_train={shape.rows_train}, rows_test_seen={shape.rows_test_seen}"
        raise UsageError(f"synthetic: {rows} for classes_seen={shape.classes_seen}; each class needs a row")
    if shape.rows_test_unseen < shape.classes_unseen:
        raise UsageError(
            f"synthetic: rows_test_unseen={shape.rows_test_unseen} for classes_unseen={shape.classes_unseen}; each "
            "class needs a row"
        )
    if shape.classes_validation > shape.classes_seen - 2:
        raise UsageError(
            f"synthetic: classes_validation={shape.classes_validation} of classes_seen={shape.classes_seen} leaves "
            "fewer than 2 classes to train on"
        )


def _signatures(classes: int, attributes: int, rng: np.random.Generator) -> np.ndarray:
    """Draw signatures (c, a) in [0, 1]: a logistic function of factors that are fewer than the attributes."""
    rank = max(2, attributes // 3)
    scores = rng.standard_normal((classes, rank)) @ rng.standard_normal((rank, attributes)) / np.sqrt(rank)
    independent = 0.3 * rng.standard_normal((classes, attributes))
    # Three digits, as human ratings are rounded: the last bits of a product are no part of the data.
    return np.asarray(np.round(1 / (1 + np.exp(-2 * (scores + independent))), 3))


def _feature_blocks(
    S: np.ndarray, y: np.ndarray, shape: Shape, shift: float, noise: float, views: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    from threadpoolctl import threadpool_limits

    a, d = shape.attributes, shape.dimensions
    seen = S[: shape.classes_seen]
    Z = ((S - seen.mean(axis=0)) / np.maximum(seen.std(axis=0), 1e-3)).astype(np.float32)
    W = rng.standard_normal((a, d), dtype=np.float32) / np.float32(np.sqrt(a))
    E = rng.standard_normal((a, d), dtype=np.float32) / np.float32(np.sqrt(a))
    if views > 1:
        shown = np.zeros((a, d), dtype=np.float32)
        for number, (start, stop) in enumerate(_columns(shape, views)):
            shown[number::views, start:stop] = np.sqrt(views)  # fewer attributes, as loud as all together
        W, E = W * shown, E * shown
    b = (-0.3 + 0.3 * rng.standard_normal(d)).astype(np.float32)
    W_unseen = W + np.float32(shift) * E
    spread = np.float32(noise * np.sqrt(2 * a))
    first_unseen = int(np.searchsorted(y >= shape.classes_seen, True))
    for low, high, W_block in ((0, first_unseen, W), (first_unseen, len(y), W_unseen)):
        for start in range(low, high, _BLOCK_ROWS):
            rows = y[start : min(start + _BLOCK_ROWS, high)]
            latent = Z[rows] + spread * rng.standard_normal((len(rows), a), dtype=np.float32)
            block = rng.standard_normal((len(rows), d), dtype=np.float32)
            block *= 0.5
            with threadpool_limits(1):
                block += latent @ W_block
            block += b
            yield np.maximum(block, 0, out=block)


def _folds(shape: Shape, rng: np.random.Generator) -> tuple[ClassFold, ...]:
    """Hold out three parts of the seen classes, disjoint from each other where there are classes enough."""
    order = rng.permutation(shape.classes_seen)
    folds = []
    for number in range(3):
        held_out = np.take(order, np.arange(shape.classes_validation) + number * shape.classes_validation, mode="wrap")
        train = np.setdiff1d(order, held_out)
        folds.append(ClassFold(f"fold-{number + 1}", _ids(train), _ids(held_out)))
    return tuple(folds)


def _ids(classes: np.ndarray) -> tuple[int, ...]:
    return tuple(int(label) for label in np.sort(classes))

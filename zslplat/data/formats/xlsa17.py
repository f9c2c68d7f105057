"""The layout of the standard zero-shot package (Xian et al.): one folder per data set.

``<features>.mat``      ``features`` (d, n), ``labels`` (n, 1) counted from 1; optionally ``scale`` or
                        ``feature_scale``, a number that the stored features are multiplied by
``<stem>_splits.mat``   ``att`` (a, c) and other signature fields, index vectors counted from 1 (``trainval_loc``,
                        ``test_seen_loc``, ``test_unseen_loc``, ``train_loc``, ``val_loc``), ``allclasses_names``
``trainclasses1.txt``   with ``valclasses1.txt``, 2, 3: names of the classes of the validation folds
``testclasses.txt``     with ``trainvalclasses.txt``: names of the classes of the splits, which are compared with them
``allclasses.txt``      names of all classes in order, used where the splits file has none
``card.toml``          optional: ``licence``, ``citation``, ``description``, and ``options`` to load it with

Several features files (``features=cq+lss+phog``) are named views of the same rows; their labels must agree.

ImageNet's splits are lists of classes: ``ImageNet_splits.mat`` has ``train_classes``, ``val_classes`` and ``hops2``,
``mp500`` and so on, one of which is unseen (``test_unseen=hops2``). ``ImageNet_w2v.mat`` has ``w2v`` (c, a), ``wnids``
and ``words``, in the order of the classes.

``train_loc`` and ``val_loc`` together also cover ``test_seen_loc`` in most of the published files. They serve here only
to tell which *classes* a validation fold holds, and only through their rows that are in ``trainval_loc``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.assembly import looks_transposed
from zslplat.data.class_lists import (
    check_classes_of_splits,
    check_lists,
    class_lists,
    folds_from_lists,
    folds_from_rows,
    read_lines,
)
from zslplat.data.dataset import ClassFold, Dataset, SignatureSet
from zslplat.data.feature_card import FeatureCard
from zslplat.data.formats.array_likes import require_names
from zslplat.data.formats.matlab import MatlabFile
from zslplat.data.source import DataPlaces, FileSource
from zslplat.data.splits import class_ids, row_indices
from zslplat.data.store.array_store import file_stamp, sha256_of
from zslplat.data.store.precision import DOUBLE, in_type
from zslplat.data.store.rows import Rows, RowStream, View
from zslplat.data.store.stored_sets import stored_features
from zslplat.errors import DataError, UsageError
from zslplat.keys import key_of
from zslplat.space import Choice, Optional, Text, parameter

_VERSION = 1  # of what is kept on disk; a new number leaves older entries unused

_BLOCK_ROWS = 4096

# The end of the name of a file that describes classes which the splits file lists.
_WORDS = "_w2v"

_SCALES = ("scale", "feature_scale")


class Xlsa17(FileSource):
    """A folder in the layout of the standard package; rows are samples.

    Equations
    ---------
    Reads the layout in which the standard zero-shot sets (AWA, CUB, SUN, aPY) are published, with their splits and
    folds.

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
    >>> import numpy as np, zslplat
    >>> rng = np.random.default_rng(0)
    >>> X, y, S = rng.random((12, 3)), np.arange(12) % 4, rng.random((4, 2))

    >>> import pathlib, scipy.io
    >>> folder = pathlib.Path("TOY")
    >>> folder.mkdir()
    >>> scipy.io.savemat(folder / "res101.mat", {"features": X.T, "labels": y[:, None] + 1})
    >>> names = np.array([[n] for n in ("ant", "bee", "cow", "dog")], dtype=object)
    >>> train, test = np.flatnonzero(y < 3)[:, None] + 1, np.flatnonzero(y == 3)[:, None] + 1
    >>> told = {"att": S.T, "allclasses_names": names, "trainval_loc": train, "test_unseen_loc": test}
    >>> scipy.io.savemat(folder / "att_splits.mat", told)
    >>> data = zslplat.load_dataset("xlsa17(path=TOY, test_seen=none)")
    >>> data.X.shape, data.class_names, {name: len(rows) for name, rows in data.splits.items()}
    ((12, 3), ('ant', 'bee', 'cow', 'dog'), {'train': 9, 'test_unseen': 3})

    Related
    -------
    ``synthetic`` has data of the same shapes; ``npz`` and ``csv`` read files of your own.
    """

    summary = "a folder in the layout of the xlsa17 package: <features>.mat, att_splits.mat, class lists"
    citation = (
        "Y. Xian, C. H. Lampert, B. Schiele, Z. Akata: Zero-Shot Learning - A Comprehensive Evaluation of the Good, "
        "the Bad and the Ugly, IEEE TPAMI 41(9), 2019"
    )
    features = parameter(
        "features file: mnv2 for mnv2.mat, or a path; several are views of the rows, cq+lss+phog; default res101, "
        "or the only one there is",
        Text(),
    )
    signatures = parameter("stem of the splits file: att for att_splits.mat, hier for hier_splits.mat", Text())
    field = parameter("signature field of the splits file: att, original_att, binary_att, ...", Text())
    trainval = parameter("index field of the training rows", Text())
    test_seen = parameter("index field of the test rows of seen classes, or none", Optional(Text()))
    test_unseen = parameter("index field of the test rows of unseen classes", Text())
    folds = parameter(
        "validation folds: from the class lists (lists), from train_loc and val_loc (rows), from whichever there "
        "is (auto), or none",
        Choice(("auto", "lists", "rows", None)),
    )

    kind, expected = "xlsa17", "att_splits.mat with res101.mat"

    @classmethod
    def is_folder(cls, folder: Path) -> bool:
        """Tell whether a folder has this layout: it holds some ``*_splits.mat``."""
        return any(folder.glob("*_splits.mat"))

    @classmethod
    def summary_of(cls, path: Path) -> str:
        """Return the names that ``features=`` and ``signatures=`` can take."""
        return f"features: {', '.join(feature_files(path)) or 'none'}; signatures: {', '.join(splits_files(path))}"

    def files(self, path: Path) -> list[Path]:
        """Return the files of features, splits, word vectors (which most folders lack) and class lists."""
        layout = self._layout(path)
        return [*layout.features, layout.splits, layout.words, *sorted(path.glob("*.txt"))]

    def read_files(self, places: DataPlaces, path: Path, card: FeatureCard, options: Mapping[str, Any]) -> Dataset:
        """Read the files; features are stored once for all splits files."""
        layout = _Layout.find(path, card, options)
        X, y = _views(layout.features, places.cache)
        return _assemble(layout, X, y)

    def _layout(self, path: Path) -> _Layout:
        card = self.card(path)
        return _Layout.find(path, card, {**card.options, **self.options})


@dataclass(frozen=True)
class _Layout:
    """Which files and fields make the data set."""

    folder: Path
    features: tuple[Path, ...]
    splits: Path
    options: Mapping[str, Any]
    card: FeatureCard

    @classmethod
    def find(cls, folder: Path, card: FeatureCard, options: Mapping[str, Any]) -> _Layout:
        splits = _find_splits(folder, str(options.get("signatures", "att")))
        return cls(folder, _find_views(folder, options.get("features")), splits, options, card)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def words(self) -> Path:
        """Where word vectors lie if the splits are lists of classes."""
        return self.splits.with_name(f"{self.splits.stem.removesuffix('_splits')}{_WORDS}.mat")


def feature_files(folder: Path) -> list[str]:
    """Return the names that ``features=`` can take in this folder: its ``.mat`` files that are no splits files."""
    return sorted(p.stem for p in folder.glob("*.mat") if "_splits" not in p.stem and not p.stem.endswith(_WORDS))


def splits_files(folder: Path) -> list[str]:
    """Return the names that ``signatures=`` can take in this folder."""
    return sorted(p.stem.removesuffix("_splits") for p in folder.glob("*.mat") if "_splits" in p.stem)


def _find_splits(folder: Path, signatures: str) -> Path:
    words = sorted(folder.glob(f"*{_WORDS}.mat"))
    alone = [f"{words[0].stem.removesuffix(_WORDS)}_splits.mat"] if len(words) == 1 and signatures == "att" else []
    for name in (f"{signatures}_splits.mat", f"{signatures}.mat", *alone):
        if (folder / name).is_file():
            return folder / name
    present = ", ".join(splits_files(folder)) or "none"
    raise DataError(f"{folder}: no {signatures}_splits.mat; signatures there: {present}; choose with signatures=...")


def _find_views(folder: Path, features: str | None) -> tuple[Path, ...]:
    """Return the features files; a name with a plus in it is several, unless there is a file of that name."""
    names = [None] if features is None else str(features).split("+")
    if len(names) == 1 or any(_features_path(folder, str(features))):
        return (_find_features(folder, features),)
    paths = tuple(_find_features(folder, str(name).strip()) for name in names)
    stems = [path.stem for path in paths]
    if len(set(stems)) < len(stems):
        raise UsageError(f"{folder}: features={features} names a view twice; every view needs a name of its own")
    return paths


def _find_features(folder: Path, features: str | None) -> Path:
    present = feature_files(folder)
    if features is None:
        features = present[0] if len(present) == 1 else "res101"
    match = next(_features_path(folder, features), None)
    if match is not None:
        return match
    path = Path(features).expanduser()
    names = ", ".join(present) or "none"
    shown = features if path.suffix == ".mat" else f"{features}.mat"
    raise DataError(f"{folder}: no features file {shown}; features there: {names}; choose with features=...")


def _features_path(folder: Path, features: str) -> Iterator[Path]:
    named = Path(features).expanduser()
    for path in (folder / named, folder / f"{features}.mat", named):
        if path.suffix == ".mat" and path.is_file():
            yield path


def _read_features(path: Path) -> tuple[RowStream, np.ndarray]:
    file = MatlabFile(path)
    shape, read = _feature_blocks(file)
    y = class_ids(file.vector("labels"), f"{path}, labels", base=1)
    return RowStream(shape, DOUBLE, read, str(path), narrow=True), y


def _feature_blocks(file: MatlabFile) -> tuple[tuple[int, int], Callable[[], Iterator[np.ndarray]]]:
    """Return the shape (n, d) and what yields the blocks of rows, scaled."""
    rows = file.vector("labels").size
    stored = file.shape("features")
    axis = 0 if stored[1] != rows and stored[0] == rows else 1
    if len(stored) != 2 or stored[axis] != rows or rows == 0:
        shape = " x ".join(map(str, stored))
        raise DataError(f"{file.path}: features are {shape} but there are {rows} labels; expected d x {rows}")
    scale = 1.0
    for name in _SCALES:
        if name in file:
            values = file.vector(name)
            if values.size != 1 or not np.isfinite(values).all():
                raise DataError(f"{file.path}: {name!r} is {values[:3].tolist()}; expected one number")
            scale *= float(values[0])

    def blocks() -> Iterator[np.ndarray]:
        for block in file.slices("features", axis, _BLOCK_ROWS):
            with np.errstate(over="ignore"):  # what becomes infinite is reported when it is stored
                yield block if scale == 1 else block * scale

    return (rows, stored[1 - axis]), blocks


def _views(paths: tuple[Path, ...], cache: Path | None) -> tuple[np.ndarray | Rows, np.ndarray]:
    """Return the features of all files, side by side where there are several, and the labels that they agree on."""
    X, y = _features(paths[0], cache)
    if len(paths) == 1:
        return X, y
    by_name = {paths[0].stem: X}
    for path in paths[1:]:
        X, labels = _features(path, cache)
        if len(labels) != len(y) or (labels != y).any():
            difference = f"{len(labels)} rows against {len(y)}"
            if len(labels) == len(y):
                other = np.flatnonzero(labels != y)
                difference = f"{len(other)} of {len(y)} rows have another label, first row {other[0] + 1}"
            raise DataError(
                f"{path}: labels are not those of {paths[0].name}: {difference}; views must describe the same rows in "
                "the same order"
            )
        by_name[path.stem] = X
    return _side_by_side(by_name), y


def _side_by_side(views: Mapping[str, np.ndarray | Rows]) -> Rows:
    """Return named views of the same rows; kept ones stay where they lie, in the order that equal labels give them."""
    rows = {name: X for name, X in views.items() if isinstance(X, Rows)}
    first = next(iter(rows.values()), None)
    if first is None or len(rows) < len(views) or any((X.index != first.index).any() for X in rows.values()):
        return Rows.of({name: np.asarray(X) for name, X in views.items()})
    parts = [replace(part, view=View(name, part.view.shape)) for name, X in rows.items() for part in X.parts]
    return Rows(parts, first.index)


def _features(path: Path, cache: Path | None) -> tuple[np.ndarray | Rows, np.ndarray]:
    """Return features and labels from the copy on disk, made at the first load and shared by all splits files."""
    if cache is None:
        stream, y = _read_features(path)
        return stream.loaded, y
    return stored_features(cache, key_of("xlsa17-features", _VERSION, file_stamp(path)), lambda: _read_features(path))


def _assemble(layout: _Layout, X: np.ndarray | Rows, y: np.ndarray) -> Dataset:
    """Read the splits file and the class lists, check that all fit together, and build the data set."""
    file, options = MatlabFile(layout.splits), layout.options
    by_class = "train_classes" in file
    words = MatlabFile(layout.words) if by_class else file
    field = str(options.get("field", "w2v" if by_class else "att"))
    # Class order is the order of the columns; it must never be sorted or made unique.
    stored = words.numbers(field) if by_class else file.numbers(field).T
    S = np.ascontiguousarray(in_type(stored, DOUBLE, f"{words.path}, {field!r}"))
    if not np.isfinite(S).all():
        column = int(np.argmax(~np.isfinite(S).all(axis=1)))
        raise DataError(f"{layout.splits}: {field!r} of class {column + 1} holds NaN or infinity")
    present = np.unique(y)
    if len(S) < len(present) or present[-1] + 1 == len(present):
        hint = looks_transposed(S.shape, len(present), "class")
        # Stored (attributes, classes), as the package does: rows and columns change places.
        if hint and not ("allclasses_names" in file and len(file.strings("allclasses_names")) == len(S)):
            raise DataError(
                f"{layout.splits}: {field!r} is {S.shape[1]} x {S.shape[0]}, which looks transposed; expected "
                f"attributes x classes, {S.shape[0]} x {S.shape[1]}, for the {len(present)} classes of the labels"
            )
    if y.max() >= len(S):
        raise DataError(
            f"{layout.name}: labels of {layout.features[0].name} run to {y.max() + 1} but {field!r} of "
            f"{layout.splits.name} has {len(S)} signatures; every label needs one"
        )
    names, named = _class_names(layout, words, len(S))
    fields = {
        "train": options.get("trainval", "trainval_loc"),
        "test_seen": options.get("test_seen", "test_seen_loc"),
        "test_unseen": options.get("test_unseen", "test_unseen_loc"),
    }
    folds: tuple[ClassFold, ...] = ()
    remarks: list[str] = []
    if by_class:
        splits, folds = _splits_of_classes(file, y, len(S), str(options.get("test_unseen", "hops2")))
        folds = folds if options.get("folds", "auto") else ()
    else:
        splits = {
            split: row_indices(file.vector(name), len(y), f"{layout.splits}, {name}", base=1)
            for split, name in fields.items()
            if name is not None
        }
    check_classes_of_splits(layout.name, y, names, splits)
    if not by_class:
        folds, remarks = _folds(layout, file, y, splits, names if named else ())
    stem = layout.splits.stem.removesuffix("_splits")
    stems = "+".join(path.stem for path in layout.features)
    signatures = stem if field == "att" else field if stem == "att" else f"{stem}-{field}"
    return Dataset(
        name=layout.name,
        X=X,
        y=y,
        class_names=names,
        signatures={signatures: SignatureSet(S)},
        default_signatures=signatures,
        splits=splits,
        folds=folds,
        description=layout.card.description or f"{layout.folder.name}: {stems}, {layout.splits.stem}",
        licence=layout.card.licence or Xlsa17.licence,
        citation=layout.card.citation or f"splits: {Xlsa17.citation}",
        source={
            "loader": "xlsa17",
            "path": str(layout.folder),
            "features": "+".join(path.name for path in layout.features),
            "splits": layout.splits.name,
            "field": field,
            "sha256": sha256_of(layout.splits),
            **({"disagreements": remarks} if remarks else {}),
            **{k: v for k, v in options.items() if k in ("trainval", "test_seen", "test_unseen", "folds")},
        },
    )


def _class_names(layout: _Layout, file: MatlabFile, count: int) -> tuple[tuple[str, ...], bool]:
    """Return the names of the classes in order, and whether they are more than numbers counted from 1."""
    listed = layout.folder / "allclasses.txt"
    if "wnids" in file:
        wnids, words = file.strings("wnids"), file.strings("words")
        if len(wnids) != len(words):
            raise DataError(f"{file.path}: {len(wnids)} wnids but {len(words)} words; every class needs one of each")
        names, where = [" ".join(pair) for pair in zip(wnids, words, strict=True)], f"{file.path}, wnids"
    elif "allclasses_names" in file:
        names, where = file.strings("allclasses_names"), f"{layout.splits}, allclasses_names"
    elif listed.is_file():
        names, where = read_lines(listed), str(listed)
    else:
        return tuple(str(number + 1) for number in range(count)), False
    if len(names) != count:
        raise DataError(f"{where}: {len(names)} names for {count} classes")
    require_names(names, where)
    return tuple(names), True


def _splits_of_classes(
    file: MatlabFile, y: np.ndarray, count: int, unseen: str
) -> tuple[dict[str, np.ndarray], tuple[ClassFold, ...]]:
    """Return the rows of the splits of lists of classes, and the fold that the lists make of the training classes."""
    train, validation, test = (
        np.unique(class_ids(file.vector(name), f"{file.path}, {name}", base=1))
        for name in ("train_classes", "val_classes", unseen)
    )
    if max(map(np.max, (train, validation, test))) >= count:
        raise DataError(f"{file.path}: lists classes beyond the {count} that are described")
    rows = {"train": np.flatnonzero(np.isin(y, [*train, *validation])), "test_unseen": np.flatnonzero(np.isin(y, test))}
    lacking = next((name for name, of_split in rows.items() if not len(of_split)), "")
    if lacking:
        raise DataError(f"{file.path}: no row is of the classes of {lacking}; {unseen!r} needs rows of other features")
    present = np.unique(y)
    sides = (tuple(map(int, np.intersect1d(side, present))) for side in (train, validation))
    return rows, (ClassFold("fold-1", *sides),)


def _folds(
    layout: _Layout, file: MatlabFile, y: np.ndarray, splits: Mapping[str, np.ndarray], names: tuple[str, ...]
) -> tuple[tuple[ClassFold, ...], list[str]]:
    """Return the validation folds, and what the class lists state otherwise than the splits."""
    choice, train = layout.options.get("folds", "auto"), splits["train"]
    lists = class_lists(layout.folder) if choice in ("auto", "lists") else []
    if choice == "lists" and not (lists and names):
        lacking = "class names" if lists else "trainclasses1.txt and valclasses1.txt"
        raise DataError(f"{layout.folder}: folds=lists needs {lacking}; use folds=rows or folds=none")
    sides = [
        row_indices(file.vector(name), len(y), f"{layout.splits}, {name}", base=1)
        for name in ("train_loc", "val_loc")
        if choice in ("auto", "rows") and "train_loc" in file and "val_loc" in file
    ]
    if choice == "rows" and not sides:
        raise DataError(f"{layout.splits}: folds=rows needs train_loc and val_loc; use folds=lists or folds=none")
    remarks, same_split = [], not {"trainval", "test_unseen"} & set(layout.options)
    if names:
        remarks = check_lists(layout.folder, names, y, splits, folds=lists, same_split=same_split, sides=sides)
    if lists and names:
        return folds_from_lists(layout.folder, names, np.unique(y[train])), remarks
    return folds_from_rows(layout.splits, y, train, sides[0], sides[1], names) if sides else (), remarks

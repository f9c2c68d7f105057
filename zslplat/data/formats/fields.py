"""Which field of a file plays which part: features, labels, signatures, splits, by name or as an option says.

One table of names for all formats that hold named fields (``.npz`` keys, ``.npy`` files, Parquet columns, HDF5 data
sets); each can be renamed by an option of the same name (``X=rf504, y=label``), and left out with ``none``:

====================== ================================= ===========================================================
part                   also found as                     meaning
====================== ================================= ===========================================================
``X``                  ``features``                      (n, d) numbers, or (n, p, p) matrices
``X_<view>``           ``features_<view>``               named feature sets of the same rows, where there is no ``X``
``y``                  ``labels``, ``target``, ...       (n,) class numbers from ``base`` on, or names; or (n, l):
                                                         1 for labels of the row, 0 for others, -1 for not counted
``S``                  ``signatures``, ``att``           (c, a) one row per class; ``S_<name>`` adds a further set
``signature_classes``                                    (m,) the class that each row of ``S`` describes (number or
                                                         name); ``signature_classes_<name>`` those of ``S_<name>``
``attribute_names``                                      (a,) names of the columns of ``S``
``row_signatures``                                       (n, a) one row per row of ``X``; becomes the set ``rows``;
                                                         ``row_signatures_<name>`` adds the set ``<name>``
``class_names``        ``allclasses_names``              (c,) names in the order of the class numbers
``train``              ``trainval``, ``trainval_loc``    row indices, or a mask (n,); likewise ``test_seen``,
                                                         ``test_unseen`` (also with ``_loc``) and ``test``
``val``                ``validation``                    likewise: validation rows; of zero-shot data, rows of classes
                                                         that no other training row has: a fold that holds these out
``split``              ``splits``                        (n,) the name of each row's split, or an empty text; also
                                                         ``val``, and ``fold-1``, ``fold-2``, ... for classification
``folds``              ``fold``                          (k, c): 1 held out, 0 trained on, -1 left out; or (n,) the
                                                         fold that holds out the row's class, -1 or empty for none;
                                                         or, where rows of a class are in several and there are no
                                                         signatures, the fold of each row
``groups``             ``group``                         (n,) rows that must stay together
====================== ================================= ===========================================================

A ``-`` or ``/`` may stand for the ``_`` before a view's or a set's name, and splits may lie in a group:
``splits/train``. Where two fields are one part, an option says which counts. Classes and rows count from 0
unless ``base=1`` (labels) or ``index_base=1`` (row indices) says otherwise. Where only ``train`` is given, the other
rows are test rows. Names of splits may end in ``_mask``, ``_idx`` or ``_indices``, and files that are called after
splits (``train-1.parquet``, ``test.parquet``) hold the rows of these. ``features=cq+phog`` reads these feature sets,
in this order; a single one is a plain feature set without a name. Pickled objects are never read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zslplat.data.assembly import RawArrays, RawSignatures, assemble, looks_transposed
from zslplat.data.dataset import Dataset
from zslplat.data.feature_card import CARD_FILE, FeatureCard, card_path
from zslplat.data.formats.array_likes import names_of
from zslplat.data.source import DataPlaces, FileSource
from zslplat.data.splits import OF_ROWS, SPLITS, VALIDATION, number_of_first_row, splits_from_names, splits_of_parts
from zslplat.data.store.rows import RowStream
from zslplat.errors import DataError, UsageError, near_names
from zslplat.space import Choice, Domain, Optional, Parameter, Text

ALIASES: Mapping[str, tuple[str, ...]] = {
    "X": ("X", "features"),
    "y": ("y", "labels", "label", "targets", "target", "class"),
    "S": ("S", "signatures", "att"),
    "signature_classes": ("signature_classes",),
    "attribute_names": ("attribute_names",),
    "row_signatures": ("row_signatures",),
    "class_names": ("class_names", "allclasses_names"),
    "train": ("train", "trainval", "trainval_loc"),
    "test_seen": ("test_seen", "test_seen_loc"),
    "test_unseen": ("test_unseen", "test_unseen_loc"),
    "test": ("test",),
    "val": ("val", "validation"),
    "split": ("split", "splits"),
    "folds": ("folds", "fold"),
    "groups": ("groups", "group"),
}

VIEWS = ("X", "features", "views")

_ENDINGS = ("", "_mask", "_idx", "_indices")


class _Classes(Domain[Any]):
    """Some classes: their names, as a text or a list, how many, or which share."""

    def contains(self, value: Any) -> bool:
        """Tell whether a value is one of these."""
        return isinstance(value, str | int | float | list | tuple) and not isinstance(value, bool)

    def __str__(self) -> str:
        return "names|count|share"


UNSEEN = Parameter(
    "classes that are tested and never train, where there is no split: names as wren+owl, how many, or a share such as "
    "0.2; drawn where they are not named",
    _Classes(),
)

TEXTS = ("description", "licence", "citation")


class Fields(ABC):
    """The named fields of a file or folder, each read when it is asked for.

    ``thing`` is what the format calls a field; ``aliases`` the names under which each part is found,
    ``class_sets`` and ``row_sets`` what the names of further signature sets begin with. ``columns`` are the names of
    the columns of the features, where they have any, and ``notes`` says what was taken for what.
    """

    thing: ClassVar[str]
    holder: ClassVar[str] = "the file"
    aliases: ClassVar[Mapping[str, tuple[str, ...]]] = ALIASES
    class_sets: ClassVar[tuple[str, ...]] = ("S", "signatures")
    row_sets: ClassVar[tuple[str, ...]] = ("row_signatures",)
    path: Path
    names: tuple[str, ...]
    columns: Sequence[str] = ()
    notes: Sequence[str] = ()
    naming: str = ""

    @abstractmethod
    def read(self, name: str) -> np.ndarray:
        """Return a field that describes the classes, or the whole."""

    def column(self, name: str) -> np.ndarray:
        """Return a field with an entry for each row."""
        return self.read(name)

    def indices(self, name: str, base: int) -> np.ndarray:
        """Return row indices that count from ``base`` over all rows, or a mask."""
        return self.column(name)

    def features(self, name: str) -> np.ndarray | RowStream:
        """Return features, those of large formats as a stream."""
        return self.column(name)

    def signatures(self, name: str) -> RawSignatures:
        """Return signatures with what is known of their classes and attributes."""
        return RawSignatures(self.read(name))

    def class_signatures(self) -> dict[str, RawSignatures]:
        """Return the signature sets that lie in files of their own."""
        return {}

    def default_signatures(self, options: Mapping[str, Any]) -> str:
        """Return the signature set that is used when nothing is said, ``""`` for the first."""
        return str(options.get("signatures", ""))

    def class_names(self) -> Sequence[str] | None:
        """Return the names of the classes that stand beside the fields (attributes, metadata)."""
        return None

    def unread(self, fields: set[str]) -> list[str]:
        """Return what plays no part, where ``fields`` do beside sets of signatures."""
        sets = self.sets_of((*self.class_sets, *self.row_sets, "signature_classes"))
        return [name for name in self.names if name not in fields and name not in sets.values()]

    def parts(self) -> Sequence[tuple[str, int]]:
        """Return (name, number of rows) of each file that the rows lie in, where there are several."""
        return ()

    def texts(self) -> Mapping[str, str]:
        """Return the description, licence and citation that the file states."""
        return {}

    def key_of(self, role: str, options: Mapping[str, Any]) -> str:
        """Return the field that plays a role, ``""`` where none does; a field that was asked for must be there."""
        if role in options:
            name = options[role]
            if name is not None and name not in self.names:
                near = near_names(str(name), self.names, most=1, cutoff=0.7)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise DataError(f"{self.path}: no {self.thing} {name!r} for {role}; {self.listing}{hint}")
            return str(name or "")
        return next((name for name in self.names_of(role) if name in self.names), "")

    def names_of(self, role: str) -> tuple[str, ...]:
        """Return the names that a field of a role may have."""
        if role not in OF_ROWS:
            return self.aliases[role]
        names = tuple(f"{name}{ending}" for name in self.aliases[role] for ending in _ENDINGS)
        return (*names, *(f"splits/{name}" for name in names))

    @property
    def listing(self) -> str:
        """What there is, for errors."""
        return f"{self.holder} holds {', '.join(self.names) or 'nothing'}"

    def feature_keys(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Return {view: field}; the name of a single feature set is empty."""
        requested = [options[key] for key in ("X", "features") if options.get(key) is not None]
        if len(requested) > 1:
            raise UsageError(
                f"{self.path}: X={requested[0]} and features={requested[1]} say the same; give one of them"
            )
        if requested:
            names = (
                [requested[0]]
                if requested[0] in self.names
                else [part.strip() for part in str(requested[0]).split("+")]
            )
            keys = {name: self._feature_key(name) for name in names}
            if len(keys) != len(names):
                raise UsageError(f"{self.path}: features={requested[0]} names a feature set twice")
        else:
            alone = next((name for name in self.aliases["X"] if name in self.names), "")
            keys = {"": alone} if alone else self.views(options)
        if not keys:
            usual = " or ".join(self.aliases["X"])
            raise DataError(f"{self.path}: no {self.thing} {usual}; {self.listing}; say which it is with X=...")
        return keys if len(keys) > 1 else {"": next(iter(keys.values()))}

    def views(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Return {view: field} of all named feature sets, where there is no plain one."""
        return self.sets_of(VIEWS)

    def sets_of(self, stems: Sequence[str]) -> dict[str, str]:
        """Return {name: field} of the fields that are called ``<stem>_<name>``, with - or / in place of _, too."""
        sets: dict[str, str] = {}
        for field in self.names:
            stem = next(
                (s for s in stems if field[: len(s)] == s and field[len(s) : len(s) + 1] in ("_", "-", "/")), ""
            )
            name = field[len(stem) + 1 :]
            if stem and name:
                if name in sets:
                    raise DataError(f"{self.path}: {sets[name]} and {field} have the same name, {name!r}; rename one")
                sets[name] = field
        return sets

    def _feature_key(self, name: str) -> str:
        views = self.sets_of(VIEWS)
        if name in self.names or name in views:
            return name if name in self.names else views[name]
        view_names = ", ".join(views) or "none"
        raise DataError(
            f"{self.path}: no {self.thing} {name!r} for X; {self.listing}; named feature sets: {view_names}"
        )


def raw_arrays(fields: Fields, options: Mapping[str, Any]) -> tuple[RawArrays, dict[str, str]]:
    """Read what there is, features as streams where the format has them; return which field played which part, too."""
    where = str(fields.path)
    features = fields.feature_keys(options)
    roles = {role: fields.key_of(role, options) for role in ALIASES if role != "X"}
    if not roles["y"]:
        raise DataError(
            f"{where}: no {fields.thing} {' or '.join(fields.aliases['y'])}; {fields.listing}; say which it is "
            "with y=..."
        )
    X = {view: fields.features(name) for view, name in features.items()}
    y = fields.column(roles["y"])
    rows = _same_length(fields, X, features, y, roles["y"])
    notes = list(fields.notes)
    index_base = int(options.get("index_base", 0))
    if "index_base" not in options and any(roles[split].endswith("_loc") for split in SPLITS):
        vectors = {roles[split]: fields.indices(roles[split], 1) for split in OF_ROWS if roles[split]}
        index_base = number_of_first_row(vectors, rows, where, notes)
    _check_second_names(fields, {**roles, "X": features.get("", "")}, options)
    signatures = _signatures(fields, roles, {*features.values(), *roles.values()})
    names, named_by_signatures = _class_names(fields, roles["class_names"], signatures)
    raw = RawArrays(
        name=fields.path.stem,
        where=where,
        X=X.get("", X),
        y=_as_named(y, names) if named_by_signatures else y,
        class_names=names,
        signatures=signatures,
        default_signatures=fields.default_signatures(options),
        splits=_splits(fields, roles, rows, index_base, options, notes),
        folds=fields.column(roles["folds"]) if roles["folds"] else None,
        groups=fields.column(roles["groups"]) if roles["groups"] else None,
        base=int(options.get("base", 0)),
        index_base=index_base,
        unseen=options.get("unseen"),
        naming=fields.naming,
        columns=fields.columns,
        notes=notes,
        unread=fields.unread({*features.values(), *roles.values()}),
    )
    shown = {"X": features[""]} if "" in features else {f"X {view}": name for view, name in features.items()}
    return raw, {**shown, **{role: name for role, name in roles.items() if name}}


def _check_second_names(fields: Fields, parts: Mapping[str, str], options: Collection[str]) -> None:
    """Raise :class:`DataError` where a part lies in two fields, each under a name of its own.

    ``parts`` are the fields that were chosen; those that an option chose stay.
    """
    for role, chosen in parts.items():
        others = [name for name in fields.names_of(role) if name in fields.names and name not in parts.values()]
        if role not in options and chosen and others:
            raise DataError(
                f"{fields.path}: {chosen} and {others[0]} are both names of {role}; say which counts: "
                f"{role}={chosen} or {role}={others[0]}"
            )


def _same_length(
    fields: Fields, X: Mapping[str, np.ndarray | RowStream], keys: Mapping[str, str], y: np.ndarray, label: str
) -> int:
    """Return how many rows all views and the labels have."""
    lengths = {view: source.shape[0] if source.shape else 0 for view, source in X.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{keys[view]} {rows}" for view, rows in lengths.items())
        raise DataError(
            f"{fields.path}: views have different numbers of rows: {counts}; every view describes the same rows; "
            "choose some with features=..., or fix the files"
        )
    view, rows = next(iter(lengths.items()))
    labels = y.size if y.ndim == 2 and 1 in y.shape else len(y) if y.ndim else 1
    if labels != rows and len(X[view].shape) in (2, 3):
        hint = looks_transposed(X[view].shape, labels, "sample")
        raise DataError(
            f"{fields.path}: {rows} rows of features but {labels} labels, in {keys[view]} and {label}; every row needs "
            f"one{hint}"
        )
    return rows


def _signatures(fields: Fields, roles: Mapping[str, str], taken: set[str]) -> dict[str, RawSignatures]:
    """Return the signature sets, class-level ones first, each with the classes that it describes."""
    keys = {"S": roles["S"]} if roles["S"] else {}
    keys |= {name: key for name, key in fields.sets_of(fields.class_sets).items() if key not in taken}
    classes = fields.sets_of(("signature_classes",))
    signatures = fields.class_signatures()
    for name, key in keys.items():
        signature_set = fields.signatures(key)
        described = roles["signature_classes"] if name == "S" else classes.get(name, "")
        if described:
            signature_set = replace(signature_set, classes=fields.read(described).reshape(-1))
        if name == "S" and roles["attribute_names"]:
            where = f"{fields.path}, {roles['attribute_names']}"
            signature_set = replace(signature_set, names=names_of(fields.read(roles["attribute_names"]), where))
        width = np.shape(signature_set.values)[1:]
        if len(signature_set.names) and width != (len(signature_set.names),):
            turned = len(width) == 1 and len(signature_set.values) == len(signature_set.names)
            hint = "it looks transposed: save one row per class" if turned else "every column needs a name"
            raise DataError(
                f"{fields.path}: {len(signature_set.names)} names of attributes, but {key} has shape "
                f"{np.shape(signature_set.values)}; {hint}"
            )
        signatures[name] = signature_set
    rows = {"rows": roles["row_signatures"]} if roles["row_signatures"] else {}
    rows |= {name: key for name, key in fields.sets_of(fields.row_sets).items() if key not in taken}
    for name, key in rows.items():
        if name in signatures:
            raise DataError(f"{fields.path}: {key} makes a second signature set {name!r}; rename one")
        signatures[name] = RawSignatures(fields.column(key), per_row=True)
    return signatures


def _class_names(fields: Fields, key: str, signatures: Mapping[str, RawSignatures]) -> tuple[list[str] | None, bool]:
    """Return the names in order, and whether they are those that a file of signatures gives its lines.

    The names' own field comes first, then what stands beside the fields, then the signatures.
    """
    beside = fields.class_names()
    if key:
        names = names_of(fields.read(key), f"{fields.path}, {key}")
        if beside is not None and [str(name).strip() for name in beside] != names:
            raise DataError(
                f"{fields.path}: {fields.thing} {key} and the names of classes beside it differ; take one away, or "
                "leave it out with class_names=none"
            )
        return names, False
    if beside is not None:
        return list(beside), False
    for signature_set in signatures.values():
        if signature_set.named:
            return list(dict.fromkeys(np.asarray(signature_set.classes).tolist())), True
    return None, False


def _as_named(y: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    """Return labels that are numbers as names where every one of them is the name of a class."""
    if names is None or y.dtype.kind not in "iu" or (y.ndim == 2 and 1 not in y.shape):
        return y
    written = y.reshape(-1).astype(np.str_)
    return written if set(np.unique(written).tolist()) <= set(names) else y


def _splits(
    fields: Fields, roles: Mapping[str, str], rows: int, base: int, options: Mapping[str, Any], notes: list[str]
) -> dict[str, np.ndarray]:
    by_split = {split: roles[split] for split in OF_ROWS if roles[split]}
    column = roles["split"]
    if by_split and column:
        raise DataError(
            f"{fields.path}: {column} and {next(iter(by_split.values()))} both say which rows belong to which split; "
            f"leave one out with split=none or {next(iter(by_split))}=none"
        )
    if not column:
        if by_split or "split" in options:
            return {split: fields.indices(name, base) for split, name in by_split.items()}
        splits = splits_of_parts(fields.parts(), str(fields.path), notes)
    else:
        names = fields.column(column)
        names = names.reshape(-1) if names.ndim == 2 and 1 in names.shape else names
        if np.shape(names) != (rows,):
            raise DataError(f"{fields.path}, {column}: expected ({rows},) entries, one per row, got {np.shape(names)}")
        splits = splits_from_names(texts(names), f"{fields.path}, {column}", notes)
    if "val" in options and options["val"] is None:
        splits.pop(VALIDATION, None)
    return splits


def texts(values: np.ndarray) -> list[str]:
    """Return the entries of a field of texts (or numbers) as stripped texts."""
    return [str(value).strip() for value in np.asarray(values).reshape(-1).astype(np.str_)]


def field_parameters(thing: str) -> dict[str, Parameter]:
    """Return the options that every format of named fields has; ``thing`` is what it calls a field."""
    return {
        **{
            key: Parameter(
                f"{thing} that holds {key}; default: {' or '.join(names)}; none leaves it out", Optional(Text())
            )
            for key, names in ALIASES.items()
        },
        "features": Parameter("feature sets to read, in this order: cq+phog; default: all that there are", Text()),
        "signatures": Parameter("the signature set that is used when nothing is said", Text()),
        "unseen": UNSEEN,
        "base": Parameter("number of the first class in the labels", Choice((0, 1))),
        "index_base": Parameter("number of the first row in the index vectors of the splits", Choice((0, 1))),
    }


class FieldsSource(FileSource):
    """A data set of named fields: its files are opened by a :class:`Fields`.

    A subclass says what its format calls a field, and has an option for each part; ``without`` names those it lacks.
    """

    def __init_subclass__(cls, *, thing: str = "", without: Collection[str] = (), **options: Any) -> None:
        if thing:
            parts = {name: one for name, one in field_parameters(thing).items() if name not in without}
            cls.parameters = {**FileSource.parameters, **parts}
        super().__init_subclass__(**options)

    @abstractmethod
    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the fields of the data set at a path."""

    def origin(self, path: Path) -> dict[str, Any]:
        """Return what is recorded of where the data came from."""
        return {
            "path": str(path),
            "files": [file.name for file in self.files(path)][:8],
            "options": {name: value for name, value in self.options.items() if name != "path"},
        }

    def read_files(self, places: DataPlaces, path: Path, card: FeatureCard, options: Mapping[str, Any]) -> Dataset:
        """Read the fields and bring them together."""
        fields = self.open(path, options)
        raw, field_names = raw_arrays(fields, options)
        beside = card_path(path.absolute())
        raw.name = beside.parent.name if beside.name == CARD_FILE else path.stem
        stated: dict[str, Any] = {key: text for key, text in fields.texts().items() if not getattr(card, key)}
        return assemble(raw, replace(card, **stated), {"loader": self.kind, **self.origin(path), "keys": field_names})

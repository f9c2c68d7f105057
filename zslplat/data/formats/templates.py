"""An example of each format, written as files: small enough to be read, whole enough to be tuned.

All hold the same data: 240 rows of twelve classes in two feature sets, ``colour`` (12) and ``shape`` (8), six
attributes of each class and of each row, the standard splits, three validation folds by class, and groups of two rows.
What a format has no place for is left out of it: CSV has one feature set, the MATLAB layout neither attributes of rows
nor groups.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.feature_card import FeatureCard
from zslplat.errors import DataError, UnknownNameError


@contextmanager
def with_right_form(loader: str) -> Iterator[None]:
    """Let an error about the files of a loader say, too, which command writes an example of their format.

    What says that files are not here is left as it is.
    """
    try:
        yield
    except DataError as error:
        if loader in FORMATS and type(error) is DataError:
            hint = f"`zslplat data template {FORMATS[loader]}` writes an example of the right form"
            error.args = (f"{error}; {hint}",)
        raise


CLASSES = (*("ant", "bat", "bee", "cat", "cow", "dog", "elk", "fox"), *("owl", "pig", "rat", "yak"))

UNSEEN = (2, 5, 8, 11)

ATTRIBUTES = ("wings", "fur", "hooves", "horns", "small", "night")

_ROWS, _DRAWN = 20, 20260101

SPLITS = ("train", "test_seen", "test_unseen")

VIEW = "colour"

_CARD = FeatureCard("example of a format: twelve made-up animals, drawn at random", "CC0", options={"features": VIEW})


def example() -> dict[str, Any]:
    """Return the data of all examples, by the names of :mod:`zslplat.data.formats.fields`."""
    rng = np.random.default_rng(_DRAWN)
    count = len(CLASSES)
    y = np.repeat(np.arange(count), _ROWS)
    signatures = rng.random((count, len(ATTRIBUTES))).round(2)
    rows = np.clip(signatures[y] + 0.05 * rng.standard_normal((len(y), len(ATTRIBUTES))), 0, 1).round(3)
    views = {}
    for name, width in (("colour", 12), ("shape", 8)):
        mixing = rng.standard_normal((len(ATTRIBUTES), width))
        views[name] = (rows @ mixing + 0.2 * rng.standard_normal((len(y), width))).round(4).astype(np.float32)
    place = np.tile(np.arange(_ROWS), count)
    unseen = np.isin(y, UNSEEN)
    seen = [c for c in range(count) if c not in UNSEEN]
    folds = np.full((3, count), -1)
    for fold in range(3):
        folds[fold, seen] = [int(position % 3 == fold) for position in range(len(seen))]
    return {
        "views": views,
        "y": y,
        "S": signatures,
        "row_signatures": rows,
        "train": np.flatnonzero(~unseen & (place < 14)),
        "test_seen": np.flatnonzero(~unseen & (place >= 14)),
        "test_unseen": np.flatnonzero(unseen),
        "folds": folds,
        # Two neighbours are of one class and one split.
        "groups": np.arange(len(y)) // 2,
    }


def write_template(kind: str, path: Path | None = None) -> tuple[Path, list[Path]]:
    """Write the example of a format; return where it lies, and all files.

    ``path``: the file or folder; default: ``example`` in the working directory, with the suffix of the format. Raises
    :class:`UnknownNameError` for another format, and :class:`DataError` where something is there already or cannot be
    written.
    """
    if kind not in TEMPLATES:
        raise UnknownNameError("format", kind, TEMPLATES)
    suffix, write = TEMPLATES[kind][1:]
    target = path or Path(f"example-{kind}{suffix}")
    card = target.with_suffix(".card.toml") if suffix else target / "card.toml"
    if suffix and target.suffix != suffix:
        raise DataError(f"{target}: the example of {kind} is one file; give it the suffix {suffix}")
    there = [place for place in (target, card) if place.exists()]
    if there:
        raise DataError(f"{there[0]} is there already; give another place with --to, or remove it")
    try:
        (target.parent if suffix else target).mkdir(parents=True, exist_ok=True)
        write(target, example())
        if kind != "csv":  # it has one feature set, and nothing to choose
            card.write_text(_CARD.to_toml())
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror or error}") from error
    made = [target, card] if suffix else [path for path in target.rglob("*") if path.is_file()]
    return target, sorted(made)


def _npz(path: Path, data: Mapping[str, Any]) -> None:
    views = {f"X_{name}": values for name, values in data["views"].items()}
    rest = {name: values for name, values in data.items() if name != "views"}
    np.savez(path, class_names=np.array(CLASSES), attribute_names=np.array(ATTRIBUTES), **views, **rest)


def _npy(folder: Path, data: Mapping[str, Any]) -> None:
    for name, values in data["views"].items():
        np.save(folder / f"features-{name}.npy", values)
    np.save(folder / "labels.npy", data["y"])
    np.save(folder / "row_signatures.npy", data["row_signatures"])
    (folder / "class_names.txt").write_text("\n".join(CLASSES) + "\n")
    (folder / "signatures.csv").write_text(_signature_lines(data))
    (folder / "splits.json").write_text(json.dumps({split: data[split].tolist() for split in SPLITS}) + "\n")
    np.save(folder / "folds.npy", data["folds"])
    np.save(folder / "groups.npy", data["groups"])


def _csv(folder: Path, data: Mapping[str, Any]) -> None:
    split = _split_of_rows(data)
    side = {1: "validation", 0: "train", -1: ""}
    files = {
        "features": _lines(data["views"][VIEW].tolist()),
        "labels": _lines([CLASSES[label]] for label in data["y"]),
        "signatures": _signature_lines(data),
        "row_signatures": _lines(data["row_signatures"].tolist()),
        "splits": _lines([name] for name in split),
        "folds": _lines(
            [name, *(side[s] for s in sides)] for name, sides in zip(CLASSES, data["folds"].T, strict=True)
        ),
        "groups": _lines([group] for group in data["groups"]),
    }
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)


def _mat(folder: Path, data: Mapping[str, Any]) -> None:
    import scipy.io

    # Columns are samples, and what is counted begins at 1.
    labels = (data["y"] + 1)[:, None].astype(float)
    for name, values in data["views"].items():
        scipy.io.savemat(folder / f"{name}.mat", {"features": values.T.astype(float), "labels": labels})
    names = np.array([[name] for name in CLASSES], dtype=object)
    loc = {"trainval_loc": "train", "test_seen_loc": "test_seen", "test_unseen_loc": "test_unseen"}
    vectors = {field: (data[split] + 1)[:, None].astype(float) for field, split in loc.items()}
    scipy.io.savemat(folder / "att_splits.mat", {"att": data["S"].T, "allclasses_names": names, **vectors})
    for number, fold in enumerate(data["folds"], start=1):
        for name, side in (("trainclasses", 0), ("valclasses", 1)):
            chosen = [CLASSES[c] for c in np.flatnonzero(fold == side)]
            (folder / f"{name}{number}.txt").write_text("\n".join(chosen) + "\n")


def _hdf5(path: Path, data: Mapping[str, Any]) -> None:
    import h5py

    with h5py.File(path, "w", track_order=True) as file:
        for name, values in data["views"].items():
            file.create_dataset(f"features/{name}", data=values, compression="gzip")
        file["labels"] = data["y"]
        for name in ("row_signatures", "folds", "groups"):
            file[name] = data[name]
        file["signatures"] = data["S"]
        file["signatures"].attrs["names"] = list(ATTRIBUTES)
        for split in SPLITS:
            file[f"splits/{split}"] = data[split]
        file.attrs["class_names"] = list(CLASSES)


def _parquet(folder: Path, data: Mapping[str, Any]) -> None:
    import pyarrow.parquet as pq

    _tables(folder, data, pq.write_table, "parquet")


def _arrow(folder: Path, data: Mapping[str, Any]) -> None:
    import pyarrow.feather as feather

    _tables(folder, data, feather.write_feather, "feather")


def _torch(path: Path, data: Mapping[str, Any]) -> None:
    if find_spec("torch") is None:
        raise DataError("the example of torch is written by PyTorch, which is not installed: pip install torch")
    import torch

    arrays = {f"X_{name}": values for name, values in data["views"].items()}
    arrays |= {name: values for name, values in data.items() if name != "views"}
    tensors = {name: torch.from_numpy(np.ascontiguousarray(values)) for name, values in arrays.items()}
    torch.save({**tensors, "class_names": list(CLASSES), "attribute_names": list(ATTRIBUTES)}, path)


def _tables(folder: Path, data: Mapping[str, Any], write: Callable[[Any, Path], None], ending: str) -> None:
    import pyarrow as pa

    side = {label: fold for fold, label in zip(*np.where(data["folds"] == 1), strict=True)}
    columns: dict[str, Any] = {f"features_{name}": _lists(values) for name, values in data["views"].items()}
    columns |= {
        "label": [CLASSES[label] for label in data["y"]],
        "split": [name or None for name in _split_of_rows(data)],
        "fold": pa.array([side.get(label) for label in data["y"]], pa.int64()),
        "group": data["groups"],
        "row_signatures": _lists(data["row_signatures"]),
    }
    table = pa.table(columns)
    for number, rows in enumerate(np.array_split(np.arange(table.num_rows), 2), start=1):
        write(table.slice(rows[0], len(rows)), folder / f"part-{number}.{ending}")
    signatures = {name: data["S"][:, column] for column, name in enumerate(ATTRIBUTES)}
    write(pa.table({"class": list(CLASSES), **signatures}), folder / f"signatures.{ending}")


def _lists(values: np.ndarray) -> Any:
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def _split_of_rows(data: Mapping[str, Any]) -> list[str]:
    names = np.full(len(data["y"]), "", dtype="U12")
    for split in SPLITS:
        names[data[split]] = split
    return names.tolist()


def _signature_lines(data: Mapping[str, Any]) -> str:
    head = ",".join(("class", *ATTRIBUTES)) + "\n"
    return head + _lines([name, *values] for name, values in zip(CLASSES, data["S"].tolist(), strict=True))


def _lines(rows: Any) -> str:
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


Writer = Callable[[Path, Mapping[str, Any]], None]

# By format: its loader, the suffix of a single file, the writing function.
TEMPLATES: Mapping[str, tuple[str, str, Writer]] = {
    "npz": ("npz", ".npz", _npz),
    "npy": ("npy", "", _npy),
    "csv": ("csv", "", _csv),
    "mat": ("xlsa17", "", _mat),
    "hdf5": ("hdf5", ".h5", _hdf5),
    "parquet": ("parquet", "", _parquet),
    "arrow": ("arrow", "", _arrow),
    "torch": ("torch", ".pt", _torch),
}
# By loader, the format that `zslplat data template` writes.
FORMATS: Mapping[str, str] = {loader: kind for kind, (loader, *_) in reversed(list(TEMPLATES.items()))}

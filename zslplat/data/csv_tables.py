"""The CSV files of a data set folder, read into arrays."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from zslplat.data.assembly import RawArrays, RawSignatures, splits_from_names
from zslplat.errors import DataError

FEATURES, LABELS, SIGNATURES = "features.csv", "labels.csv", "signatures.csv"
_HEADERS = ("label", "class", "split", "group")
_SIDES = {"": -1, "train": 0, "validation": 1}


def read_folder(folder: Path) -> RawArrays:
    """Read all files of the folder; raises DataError with file and line for what cannot be read."""
    for needed in (FEATURES, LABELS):
        if not (folder / needed).is_file():
            present = ", ".join(sorted(p.name for p in folder.glob("*.csv"))) or "no CSV file"
            raise DataError(f"{folder}: no {needed}; the folder has {present}")
    X = read_matrix(folder / FEATURES)
    rows = len(X)
    y = read_column(folder / LABELS, rows)
    signatures: dict[str, RawSignatures] = {}
    class_names: list[str] | None = None
    for path in [folder / SIGNATURES, *sorted(folder.glob("signatures-*.csv"))]:
        if path.is_file():
            name = path.stem.partition("-")[2] or "signatures"
            signatures[name] = read_signatures(path)
            # The first file fixes the order of classes: the order in which it first names them.
            class_names = class_names or list(dict.fromkeys(np.asarray(signatures[name].classes).tolist()))
    for name, given in signatures.items():
        _refuse_transposed(folder / _signature_file(name), given, set(y))
    if (folder / "row_signatures.csv").is_file():
        signatures["rows"] = RawSignatures(read_matrix(folder / "row_signatures.csv"), per_row=True)
    if class_names is None:
        class_names = sorted(set(y), key=_natural)
    return RawArrays(
        name=folder.name,
        where=str(folder),
        X=X,
        y=np.array(y, dtype=np.str_),
        class_names=class_names,
        signatures=signatures,
        splits=_read_splits(folder / "splits.csv", rows),
        folds=_read_folds(folder / "folds.csv", class_names),
        groups=np.array(read_column(folder / "groups.csv", rows)) if (folder / "groups.csv").is_file() else None,
        naming=_form(signatures, class_names, y[0]),
    )


def _signature_file(name: str) -> str:
    return SIGNATURES if name == "signatures" else f"signatures-{name}.csv"


def _form(signatures: Mapping[str, RawSignatures], class_names: list[str], label: str) -> str:
    """Return what form the file of signatures has, for who has given another one."""
    first = next((name for name, given in signatures.items() if not given.per_row), "")
    if not first:
        return ""
    file = _signature_file(first)
    attributes = ",".join(f"{value:g}" for value in signatures[first].values[0][:2])
    return (
        f"{file} has one line per class: its name as in {LABELS}, then its attributes, such as "
        f"{label},{attributes},...; the lines there begin with {', '.join(map(repr, class_names[:3]))}"
    )


def _refuse_transposed(path: Path, given: RawSignatures, labels: set[str]) -> None:
    """Raise :class:`DataError` for signatures whose columns, and not lines, are the classes of the labels."""
    if given.classes is None or labels & set(given.classes.tolist()):
        return
    # Without a header the first cell of a line was read as the class.
    if labels <= set(given.names) or given.values.shape[1] + 1 == len(labels) != len(given.values):
        raise DataError(
            f"{path}: looks transposed: {len(labels)} classes in columns; write one line per class, with the class as "
            f"in {LABELS}, then its attributes"
        )


def read_matrix(path: Path) -> np.ndarray:
    """Return the numbers of a file (rows, columns) as float32; a first line that holds a word is a header."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = file.readline()
        skip = 0 if all(_is_number(cell) for cell in first.strip().split(",")) else 1
        matrix = np.loadtxt(path, dtype=np.float32, delimiter=",", skiprows=skip, ndmin=2, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); expected numbers separated by commas") from error
    if matrix.size == 0:
        raise DataError(f"{path}: holds no numbers")
    return matrix


def _read_lines(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [[cell.strip() for cell in line] for line in csv.reader(file)]
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def read_lines(path: Path) -> list[str]:
    """Return the first cell of every line; a first line that names the column and blank lines at the end are none."""
    cells = [line[0] if line else "" for line in _read_lines(path)]
    if cells and cells[0].lower() in _HEADERS:
        cells = cells[1:]
    while cells and not cells[-1] and len(cells) > 1:
        cells.pop()
    return cells


def read_column(path: Path, rows: int, features: str = FEATURES) -> list[str]:
    """Return one text per row; a first line that names the column and blank lines at the end are no rows."""
    cells = [line[0] if line else "" for line in _read_lines(path)]
    if len(cells) > rows and cells[0].lower() in _HEADERS:
        cells = cells[1:]
    while len(cells) > rows and not cells[-1]:
        cells.pop()
    if len(cells) != rows:
        raise DataError(
            f"{path}: {len(cells)} lines for {rows} rows of {features}; a header must be one of {', '.join(_HEADERS)}"
        )
    return cells


def read_signatures(path: Path) -> RawSignatures:
    """Return signatures with the class of each line, and the names of the attributes where there is a header."""
    lines = [line for line in _read_lines(path) if any(line)]
    names: list[str] = []
    if lines and not all(_is_number(cell) for cell in lines[0][1:]):
        names, lines = lines[0][1:], lines[1:]
    width = len(lines[0]) if lines else 0
    if width < 2:
        raise DataError(f"{path}: expected lines of a class and its attributes")
    values = []
    for number, line in enumerate(lines):
        if len(line) != width or not all(_is_number(cell) for cell in line[1:]):
            raise DataError(f"{path}: class {line[0]!r} (entry {number + 1}): expected {width - 1} numbers")
        values.append([float(cell) for cell in line[1:]])
    return RawSignatures(
        np.array(values), np.array([line[0] for line in lines], dtype=np.str_), names=names, named=True
    )


def _read_splits(path: Path, rows: int) -> dict[str, np.ndarray]:
    if not path.is_file():
        return {}
    return splits_from_names(read_column(path, rows), str(path))


def _read_folds(path: Path, class_names: list[str]) -> np.ndarray | None:
    if not path.is_file():
        return None
    lines = [line for line in _read_lines(path) if any(line)]
    if lines and lines[0][0] not in class_names:
        lines = lines[1:]
    width = len(lines[0]) if lines else 0
    if width < 2:
        raise DataError(f"{path}: expected lines of a class and, for every fold, train, validation or nothing")
    folds = np.full((width - 1, len(class_names)), -1)
    for line in lines:
        if line[0] not in class_names:
            raise DataError(f"{path}: unknown class {line[0]!r}")
        if len(line) != width or any(cell not in _SIDES for cell in line[1:]):
            raise DataError(f"{path}: class {line[0]!r}: expected {width - 1} times train, validation or nothing")
        folds[:, class_names.index(line[0])] = [_SIDES[cell] for cell in line[1:]]
    return folds


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _natural(text: str) -> tuple[int, float, str]:
    return (0, float(text), text) if _is_number(text) else (1, 0.0, text)

"""A folder of CSV files (comma-separated; a header line is recognised and optional).

``features.csv``        one line per row, numbers only
``labels.csv``          one line per row: the class, by name or number
``signatures.csv``      class, then its attributes; the order of lines is the order of classes; a class may have
                        several lines; ``signatures-<name>.csv`` adds a further set
``row_signatures.csv``  one line per row, numbers only
``splits.csv``          one line per row: ``train``, ``test_seen``, ``test_unseen``, ``test``, or empty for unused rows
``folds.csv``           class, then per fold ``train``, ``validation`` or empty
``groups.csv``          one line per row: the group

The folder may hold ``card.toml``: description, licence, citation, and options to load it with. Errors name line,
column and cell.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.assembly import RawArrays, RawSignatures, sorted_names
from zslplat.data.formats.feature_files import is_identifier
from zslplat.data.splits import splits_from_names
from zslplat.data.store.precision import DOUBLE, SINGLE, Narrowing, beyond_whole, require_exact
from zslplat.errors import DataError, near_names

# What spreadsheets and databases put in place of the comma.
_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}

_LONGEST = 40


def is_number(cell: str) -> bool:
    """Tell whether a cell is read as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def shown(cell: str) -> str:
    """Return a cell as messages quote it."""
    return repr(cell if len(cell) <= _LONGEST else cell[:_LONGEST] + "...")


def other_separator(cells: Sequence[str]) -> str:
    """Return what is wrong where the cells of a line, split at commas, still hold another separator, else ``""``."""
    sign = next((sign for sign in _OTHERS if any(sign in cell for cell in cells)), "")
    if not sign:
        return ""
    parts = [part.strip() for part in ",".join(cells).split(sign)]
    point = " and a decimal point" if any("," in part and is_number(part.replace(",", ".")) for part in parts) else ""
    comma = " and decimal commas" if point else ""
    return f"cells are separated by {_OTHERS[sign]}{comma}; write commas between cells{point}, as in 0.5,1.25"


def not_utf8(path: Path, error: UnicodeDecodeError) -> str:
    """Return what to do about a file whose text is in another encoding, with the line where that shows first."""
    start = path.read_bytes()[: error.start + 2]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is text in UTF-16; save it as UTF-8"
    line = start[:-2].count(b"\n") + 1
    return f"line {line} is no text in UTF-8; save the file as UTF-8"


def fault_of_numbers(lines: Iterable[str], header: bool) -> str:
    """Return what is wrong with the first line that does not hold as many numbers as the one before, else ``""``.

    ``lines`` are those of the whole file; ``header``: the first is one.
    """
    width = at = 0
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.partition("#")[0].strip().split(",")]
        if cells == [""]:
            continue
        if header and number == 1:
            if separator := other_separator(cells):
                return separator
            continue
        bad = next((column for column, cell in enumerate(cells, start=1) if not is_number(cell)), 0)
        if bad:
            if separator := other_separator(cells):
                return f"line {number}: {separator}"
            what = f"{shown(cells[bad - 1])} is no number" if cells[bad - 1] else "nothing is there"
            rest = "" if width or bad > 1 else "; leave out a column that names or counts the rows"
            return f"line {number}, column {bad}: {what}; every cell must be a number{rest}"
        if width and len(cells) != width:
            return f"line {number} has {len(cells)} numbers, and line {at} has {width}; every line must have as many"
        width, at = width or len(cells), at or number
    return ""


def counts(cells: Sequence[str]) -> bool:
    """Tell whether the cells of a line are 0, 1, 2, ...: names that pandas gives to columns without any."""
    return len(cells) > 2 and list(cells) == [str(number) for number in range(len(cells))]


FEATURES, LABELS, SIGNATURES = "features.csv", "labels.csv", "signatures.csv"

_HEADERS = ("label", "labels", "class", "split", "splits", "group", "groups")

_NUMBERS = 1 << 17  # that are read at once, the text of which stays in the processor's cache

_SIDES = {"": -1, "train": 0, "validation": 1}


def read_folder(folder: Path) -> RawArrays:
    """Read all files of the folder; raises DataError with file and line for what cannot be read."""
    for needed in (FEATURES, LABELS):
        if not (folder / needed).is_file():
            present = ", ".join(sorted(p.name for p in folder.glob("*.csv"))) or "no CSV file"
            raise DataError(f"{folder}: no {needed}; the folder has {present}; both {FEATURES} and {LABELS} are needed")
    X, columns = read_table(folder / FEATURES, narrow=True)
    rows, notes = len(X), list[str]()
    y = read_column(folder / LABELS, rows)
    if "" in y:
        raise DataError(f"{folder / LABELS}: row {y.index('') + 1} of {rows} has no label; write a class in every line")
    signatures: dict[str, RawSignatures] = {}
    class_names: list[str] | None = None
    for path in [folder / SIGNATURES, *sorted(folder.glob("signatures-*.csv"))]:
        if path.is_file():
            name = path.stem.partition("-")[2] or "signatures"
            signatures[name] = read_signatures(path)
            # The first file fixes the order of classes: the order in which it first names them.
            class_names = class_names or list(dict.fromkeys(np.asarray(signatures[name].classes).tolist()))
    for name, signature_set in signatures.items():
        _refuse_transposed(folder / _signature_file(name), signature_set, set(y))
    if (folder / "row_signatures.csv").is_file():
        of_rows = read_matrix(folder / "row_signatures.csv")
        if len(of_rows) != rows:
            raise DataError(f"{folder / 'row_signatures.csv'}: {len(of_rows)} lines for {rows} rows of {FEATURES}")
        signatures["rows"] = RawSignatures(of_rows, per_row=True)
    if class_names is None:
        class_names = sorted_names(y)
    return RawArrays(
        name=folder.name,
        where=str(folder),
        X=X,
        y=np.array(y, dtype=np.str_),
        class_names=class_names,
        signatures=signatures,
        splits=_read_splits(folder / "splits.csv", rows, notes),
        folds=_read_folds(folder / "folds.csv", class_names),
        groups=np.array(read_column(folder / "groups.csv", rows)) if (folder / "groups.csv").is_file() else None,
        naming=_form(signatures, class_names, y[0]),
        columns=columns,
        notes=notes,
    )


def _signature_file(name: str) -> str:
    return SIGNATURES if name == "signatures" else f"signatures-{name}.csv"


def _form(signatures: Mapping[str, RawSignatures], class_names: list[str], label: str) -> str:
    """Return what form the file of signatures has, for errors about another one."""
    first = next((name for name, signature_set in signatures.items() if not signature_set.per_row), "")
    if not first:
        return ""
    file = _signature_file(first)
    attributes = ",".join(f"{value:g}" for value in signatures[first].values[0][:2])
    return (
        f"{file} has one line per class: its name as in {LABELS}, then its attributes, such as "
        f"{label},{attributes},...; the lines there begin with {', '.join(map(repr, class_names[:3]))}"
    )


def _refuse_transposed(path: Path, signatures: RawSignatures, labels: set[str]) -> None:
    """Raise :class:`DataError` for signatures whose columns, and not lines, are the classes of the labels."""
    if signatures.classes is None or labels & set(signatures.classes.tolist()):
        return
    # Without a header the first cell of a line was read as the class.
    if labels <= set(signatures.names) or signatures.values.shape[1] + 1 == len(labels) != len(signatures.values):
        raise DataError(
            f"{path}: looks transposed: {len(labels)} classes in columns; write one line per class, with the class as "
            f"in {LABELS}, then its attributes"
        )


def read_matrix(path: Path) -> np.ndarray:
    """Return the numbers of a file (rows, columns) as float64; a first line that holds a word is a header."""
    return read_table(path)[0]


def read_table(path: Path, *, narrow: bool = False) -> tuple[np.ndarray, list[str]]:
    """Return the numbers of a file, as :func:`read_matrix` does, and the names of the columns, where a header has them.

    ``narrow``: as float32 where that holds them apart (:mod:`zslplat.data.store.precision`). Columns without a name
    that pandas writes for the index are called ``Unnamed: 0``, as pandas reads them.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = [cell.strip().strip('"') for cell in file.readline().strip().split(",")]
        header = not all(is_number(cell) for cell in first)
        if counts(first):
            raise DataError(
                f"{path}: line 1 counts the columns, 0,1,2,...: a header that would be read as a row; leave it out "
                "(pandas: header=False)"
            )
        matrix = _numbers(path, header, narrow=narrow)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {not_utf8(path, error)}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    except ValueError as error:
        raise DataError(f"{path}: {_fault(path, header) or f'cannot be read ({error})'}") from error
    if matrix.size == 0:
        raise DataError(f"{path}: holds no numbers; expected one line per row, numbers separated by commas")
    names = [name or f"Unnamed: {place}" for place, name in enumerate(first)] if header else []
    return matrix, names if len(names) == matrix.shape[1] else []


def _numbers(path: Path, header: bool, *, narrow: bool) -> np.ndarray:
    """Return the numbers of a file, read some lines at a time, so that float64 is never held whole for float32."""
    narrowing, rows = Narrowing(), 0
    matrix = np.empty((0, 0), dtype=SINGLE if narrow else DOUBLE)
    with path.open(encoding="utf-8-sig") as file:
        lines = (line for line in islice(file, int(header), None) if line.lstrip()[:1] not in ("", "#"))
        while chunk := list(islice(lines, max(1, _NUMBERS // max(matrix.shape[1], 1024)))):
            block = np.loadtxt(chunk, np.float64, delimiter=",", ndmin=2)
            if beyond_whole(block):
                require_exact(",".join(chunk).split(","), str(path))
            if rows and block.shape[1] != matrix.shape[1]:
                raise ValueError(f"{block.shape[1]} numbers in a line, {matrix.shape[1]} in the first")
            if rows + len(block) > len(matrix):
                matrix.resize((rows + max(rows // 4, len(block)), block.shape[1]), refcheck=False)
            matrix[rows : rows + len(block)] = narrowing.add(block) if narrow else block
            rows += len(block)
    matrix.resize((rows, matrix.shape[1]), refcheck=False)
    return _numbers(path, header, narrow=False) if narrowing.loss else matrix


def _fault(path: Path, header: bool) -> str:
    with path.open(encoding="utf-8-sig") as file:
        return fault_of_numbers(file, header)


def _read_lines(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [[cell.strip() for cell in line] for line in csv.reader(file)]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {not_utf8(path, error)}") from error
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def _named_cells(path: Path) -> list[str]:
    """Return the column of a table of identifiers and one entry a line, nothing where the file is another table."""
    lines = _read_lines(path)
    head = [cell.lower() for cell in lines[0]] if lines else []
    places = [place for place, name in enumerate(head) if name in _HEADERS]
    others = [name for name in head if name not in _HEADERS]
    if len(places) != 1 or not others or not all(name == "" or is_identifier(name) for name in others):
        return []
    return [line[places[0]] if len(line) == len(head) else "" for line in lines]


def _single_cells(path: Path) -> list[str]:
    """Return the cell of every line, empty for a blank one; raises :class:`DataError` for lines of several."""
    lines = _read_lines(path)
    for number, line in enumerate(lines, start=1):
        if any(line[1:]):
            raise DataError(
                f"{path}: line {number} has {len(line)} cells, {', '.join(map(shown, line[:3]))}; expected one a line: "
                "leave other columns out, or name them in line 1, as in id,label; texts with commas are quoted"
            )
    return [line[0] if line else "" for line in lines]


def read_lines(path: Path) -> list[str]:
    """Return the cell of every line; a first line that names the column and blank lines at the end are none."""
    cells = _single_cells(path)
    if cells and cells[0].lower() in _HEADERS:
        cells = cells[1:]
    while cells and not cells[-1] and len(cells) > 1:
        cells.pop()
    return cells


def read_column(path: Path, rows: int, features: str = FEATURES) -> list[str]:
    """Return one text per row; a first line that names the column and blank lines at the end are no rows."""
    cells = _named_cells(path) or _single_cells(path)
    if len(cells) > rows and cells[0].lower() in _HEADERS:
        cells = cells[1:]
    while len(cells) > rows and not cells[-1]:
        cells.pop()
    if len(cells) != rows:
        begins = f", and line 1 is {shown(cells[0])}" if len(cells) == rows + 1 else ""
        raise DataError(
            f"{path}: {len(cells)} lines for {rows} rows of {features}; a header must be one of {', '.join(_HEADERS)}"
            f"{begins}"
        )
    return cells


def read_signatures(path: Path) -> RawSignatures:
    """Return signatures with the class of each line, and the names of the attributes where there is a header."""
    lines = [(number, line) for number, line in enumerate(_read_lines(path), start=1) if any(line)]
    names: list[str] = []
    if lines and not all(is_number(cell) for cell in lines[0][1][1:]):
        names, lines = lines[0][1][1:], lines[1:]
    form = "expected one line per class: its name, then its attributes, as in zebra,0.5,1"
    width = len(lines[0][1]) if lines else 0
    if not lines:
        raise DataError(f"{path}: {'holds a header alone' if names else 'is empty'}; {form}")
    if width < 2:
        wrong = other_separator(lines[0][1]) or f"only {shown(lines[0][1][0])} is there"
        raise DataError(f"{path}: line {lines[0][0]}: {wrong}; {form}")
    values = []
    for number, line in lines:
        where = f"{path}: line {number}, class {shown(line[0])}"
        if len(line) != width:
            raise DataError(
                f"{where}: {len(line) - 1} attributes, but line {lines[0][0]} has {width - 1}; give as many"
            )
        bad = next((column for column, cell in enumerate(line) if column and not is_number(cell)), 0)
        if bad:
            column = f"column {bad + 1}" + (f" ({names[bad - 1]})" if len(names) == width - 1 else "")
            what = f"{shown(line[bad])} is no number" if line[bad] else "nothing is there"
            hint = other_separator(line) or "every attribute must be a number"
            raise DataError(f"{where}, {column}: {what}; {hint}")
        require_exact(line[1:], where)
        values.append([float(cell) for cell in line[1:]])
    if names and len(names) != width - 1:
        raise DataError(
            f"{path}: the header names {len(names)} attributes, and line {lines[0][0]} has {width - 1}; it names the "
            "column of classes, too, as in class,stripes,fur"
        )
    classes = np.array([line[0] for _, line in lines], dtype=np.str_)
    return RawSignatures(np.array(values), classes, names=names, named=True)


def _read_splits(path: Path, rows: int, notes: list[str]) -> dict[str, np.ndarray]:
    if not path.is_file():
        return {}
    return splits_from_names(read_column(path, rows), str(path), notes)


def _read_folds(path: Path, class_names: list[str]) -> np.ndarray | None:
    if not path.is_file():
        return None
    lines = [(number, line) for number, line in enumerate(_read_lines(path), start=1) if any(line)]
    # A header says neither train nor validation anywhere.
    if lines and lines[0][1][0] not in class_names and not _SIDES.keys() & set(filter(None, lines[0][1][1:])):
        lines = lines[1:]
    form = "expected one line per class: its name and, for every fold, train, validation or nothing"
    width = len(lines[0][1]) if lines else 0
    if width < 2:
        wrong = other_separator(lines[0][1]) if lines else "no class is there"
        raise DataError(f"{path}: {wrong or 'no fold is there'}; {form}")
    folds = np.full((width - 1, len(class_names)), -1)
    listed: set[str] = set()
    for number, line in lines:
        where = f"{path}: line {number}"
        if line[0] in listed:
            raise DataError(f"{where}: class {shown(line[0])} has a line above already; give every class one")
        listed.add(line[0])
        if line[0] not in class_names:
            near = near_names(line[0], class_names, most=1, cutoff=0.6)
            hint = f"did you mean {shown(near[0])}?" if near else f"classes are called {shown(class_names[0])}, ..."
            raise DataError(f"{where}: unknown class {shown(line[0])}, without a signature; {hint}")
        if len(line) != width:
            raise DataError(f"{where}, class {shown(line[0])}: {len(line) - 1} folds, but the first has {width - 1}")
        bad = next((cell for cell in line[1:] if cell not in _SIDES), None)
        if bad is not None:
            raise DataError(f"{where}, class {shown(line[0])}: {shown(bad)}; expected train, validation or nothing")
        folds[:, class_names.index(line[0])] = [_SIDES[cell] for cell in line[1:]]
    return folds


def read_arrow(path: Path, texts: Sequence[str], columns: Sequence[str] | None = None) -> Any:
    """Return a table as Arrow has it, of all columns or of some; ``texts`` are columns that stay texts: 01 is not 1.

    Only an empty cell is null. Raises :class:`DataError` for what is no table of UTF-8 with commas between cells.
    """
    import pyarrow as pa
    import pyarrow.csv

    try:
        _check_text(path)
        options = pyarrow.csv.ReadOptions(use_threads=False)
        convert = pyarrow.csv.ConvertOptions(
            null_values=[""],
            strings_can_be_null=True,
            column_types={name: pa.string() for name in texts},
            include_columns=columns,
        )
        return pyarrow.csv.read_csv(path, options, convert_options=convert)
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: cannot be read as a CSV file ({reason}); write it again") from error


def _check_text(path: Path) -> None:
    """Raise :class:`DataError` for text that is not UTF-8, or not separated by commas; files may be large."""
    before, first = 0, list[str]()
    with path.open("rb") as file:
        for line in file:
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                error.start += before
                raise DataError(f"{path}: {not_utf8(path, error)}") from error
            if b"\0" in line:
                raise DataError(f"{path}: holds NUL bytes, as text in UTF-16 does; save it as UTF-8")
            if not before and b"," not in line and (separator := other_separator([text])):
                raise DataError(f"{path}: {separator}")
            if len(first) < 2 and text.strip():
                first.append(text)
                if len(first) == 2:
                    _check_separator(path, *first)
            before += len(line)


def _check_separator(path: Path, head: str, line: str) -> None:
    """Raise :class:`DataError` where the first two lines agree in another separator, though names hold commas."""
    for sign in _OTHERS:
        cells = _cells(line, sign)
        if not len(cells) == len(_cells(head, sign)) > 1:
            continue
        if len(_cells(line, ",")) != len(_cells(head, ",")) or all(is_number(cell.replace(",", ".")) for cell in cells):
            raise DataError(f"{path}: {other_separator([line])}; put a name that holds a comma in quotes")


def _cells(line: str, sign: str) -> list[str]:
    if sign not in line:
        return [line]
    try:
        return next(csv.reader([line], delimiter=sign))
    except csv.Error:  # a cell is longer than one may be
        return [line]

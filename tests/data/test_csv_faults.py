"""A CSV file that is wrong is told so by line and column, with what stands there and what to write instead."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.data.formats.csv_source import CsvSource
from zslplat.data.formats.csv_tables import read_lines
from zslplat.data.formats.templates import write_template
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError


@pytest.fixture
def folder(tmp_path):
    """The example of the format, whole."""
    return write_template("csv", tmp_path / "d")[0]


def load(folder):
    return CsvSource(path=str(folder)).load(DataPlaces())


def in_line(number, change):
    """Return a change of one line, counted from 1, of a file."""

    def changed(text):
        lines = text.splitlines()
        lines[number - 1] = change(lines[number - 1])
        return "\n".join(lines)

    return changed


def without_first_cell(line):
    return line.partition(",")[2]


WRONG = {
    "semicolons": (
        "features",
        lambda t: t.replace(",", ";"),
        r"separated by semicolons; write commas between cells, as",
    ),
    "decimal commas": (
        "features",
        lambda t: t.replace(",", ";").replace(".", ","),
        r"semicolons and decimal commas; write commas between cells and a decimal point",
    ),
    "tabs": ("features", lambda t: t.replace(",", "\t"), r"features\.csv: cells are separated by tabs"),
    "an empty cell": (
        "features",
        in_line(6, lambda t: "," + without_first_cell(t)),
        r"line 6, column 1: nothing is there",
    ),
    "a short line": ("features", in_line(6, without_first_cell), r"line 6 has 11 numbers, and line 1 has 12"),
    "an identifier": (
        "features",
        lambda t: t.replace("\n", "\nrow").replace("\nrow", "\nrow1,"),
        r"line 2, column 1: 'row",
    ),
    "column numbers": ("features", lambda t: ",".join(map(str, range(12))) + "\n" + t, r"line 1 counts .*header=False"),
    "labels with an index": ("labels", in_line(1, lambda t: f"0,{t}"), r"line 1 has 2 cells, '0', 'ant'; expected one"),
    "a blank label": ("labels", in_line(6, lambda t: ""), r"labels\.csv: row 6 of 240 has no label"),
    "another header": (
        "labels",
        lambda t: "species\n" + t,
        r"a header must be one of label, .*, and line 1 is 'species'",
    ),
    "no lines": ("signatures", lambda t: "", r"signatures\.csv: is empty; expected one line per class"),
    "signatures by semicolons": (
        "signatures",
        lambda t: t.replace(",", ";"),
        r"line 1: cells are separated by semicolons",
    ),
    "a word": (
        "signatures",
        in_line(4, lambda t: t[: t.rindex(",")] + ",yes"),
        r"line 4, class 'bee', column 7 \(night\): 'y",
    ),
    "few attributes": (
        "signatures",
        in_line(4, lambda t: t[: t.rindex(",")]),
        r"line 4, class 'bee': 5 attr.* line 2 has 6",
    ),
    "half a header": ("signatures", in_line(1, without_first_cell), r"the header names 5 attributes, and line 2 has 6"),
    "folds by semicolons": ("folds", lambda t: t.replace(",", ";"), r"folds\.csv: cells are separated by semicolons"),
    "a misspelt class": (
        "folds",
        in_line(1, lambda t: "antt" + t[3:]),
        r"line 1: unknown class 'antt'.* did you mean 'ant'",
    ),
    "few rows": ("row_signatures", lambda t: t.partition("\n")[2], r"row_signatures\.csv: 239 lines for 240 rows"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_place(folder, case):
    name, change, pattern = WRONG[case]
    path = folder / f"{name}.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(DataError, match=pattern) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_text_in_another_encoding_is_named(folder):
    path = folder / "labels.csv"
    text = path.read_text().replace("bat", "b\xe4t")
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"labels\.csv: line 21 is no text in UTF-8; save the file as UTF-8"):
        load(folder)
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(DataError, match=r"labels\.csv: is text in UTF-16; save it as UTF-8"):
        load(folder)


def test_byte_order_marks_and_lines_of_windows_change_nothing(folder):
    expected = load(folder)
    for path in folder.glob("*.csv"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    found = load(folder)
    assert np.array_equal(found.X, expected.X)
    assert np.array_equal(found.y, expected.y)
    assert found.class_names == expected.class_names
    assert found.folds == expected.folds


def test_a_class_may_be_called_with_a_comma_in_quotes(folder):
    for name in ("labels", "signatures", "folds"):
        path = folder / f"{name}.csv"
        lines = (
            '"bear, polar"' + line[3:] if line.startswith("ant") else line for line in path.read_text().splitlines()
        )
        path.write_text("\n".join(lines))
    assert load(folder).class_names[0] == "bear, polar"


@pytest.mark.parametrize(
    ("text", "lines"),
    [("a\n\n", ["a"]), ("a\n\n\n", ["a"]), ("a\n\nb\n\n", ["a", "", "b"]), ("\n", [""]), ("class\na\n", ["a"])],
)
def test_blank_lines_at_the_end_are_none(tmp_path, text, lines):
    (tmp_path / "names.csv").write_text(text)
    assert read_lines(tmp_path / "names.csv") == lines

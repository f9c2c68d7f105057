"""Signatures in CSV that are wrong are told so by line and column, with what stands there and what to write instead."""

from __future__ import annotations

import re

import numpy as np
import pytest
from array_toys import write_csv

from zslplat.data.formats.csv_faults import faults_of_table
from zslplat.data.formats.parquet import CsvSource
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError


@pytest.fixture
def folder(tmp_path):
    """A table and its signatures, whole."""
    write_csv(tmp_path / "toy.csv")
    path = tmp_path / "toy.signatures.csv"
    path.write_text("class,size,speed,fur\n" + path.read_text())
    return tmp_path


def load(folder):
    return CsvSource(path=str(folder / "toy.csv")).load(DataPlaces())


def in_line(number, change):
    """Return a change of one line, counted from 1, of a file."""

    def changed(text):
        lines = text.splitlines()
        lines[number - 1] = change(lines[number - 1])
        return "\n".join(lines)

    return changed


WRONG = {
    "no lines": (lambda t: "", r"signatures\.csv: is empty; expected one line per class"),
    "semicolons": (lambda t: t.replace(",", ";"), r"line 1: cells are separated by semicolons"),
    "a word": (in_line(4, lambda t: t[: t.rindex(",")] + ",yes"), r"line 4, class 'ant', column 4 \(fur\): 'y"),
    "few attributes": (in_line(4, lambda t: t[: t.rindex(",")]), r"line 4, class 'ant': 2 attr.* line 2 has 3"),
    "half a header": (
        in_line(1, lambda t: t.partition(",")[2]),
        r"the header names 2 attributes, and line 2 has 3",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_place(folder, case):
    change, pattern = WRONG[case]
    path = folder / "toy.signatures.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(DataError, match=pattern) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["toy.csv", "toy.signatures.csv"])
def test_text_in_another_encoding_is_named(folder, name):
    path = folder / name
    text = path.read_text().replace("bat", "b\xe4t")
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"csv: line \d+ is no text in UTF-8; save the file as UTF-8"):
        load(folder)
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(DataError, match=r"csv: is text in UTF-16; save it as UTF-8"):
        load(folder)


def test_byte_order_marks_and_lines_of_windows_change_nothing(folder):
    expected = load(folder)
    for path in folder.glob("*.csv"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    found = load(folder)
    assert np.array_equal(found.X, expected.X)
    assert np.array_equal(found.y, expected.y)
    assert found.class_names == expected.class_names
    assert found.signature_set().names == ("size", "speed", "fur")


def test_a_class_may_be_called_with_a_comma_in_quotes(folder):
    for path in folder.glob("*.csv"):
        path.write_text(re.sub("^ox,", '"bear, polar",', path.read_text(), flags=re.MULTILINE))
    assert load(folder).class_names[0] == "bear, polar"


def test_another_separator_is_one_fault_and_not_one_of_every_line(folder):
    path = folder / "toy.csv"
    path.write_text(path.read_text().replace(",", ";"))
    assert faults_of_table(path) == []
    with pytest.raises(DataError, match="cells are separated by semicolons; write commas between cells"):
        load(folder)

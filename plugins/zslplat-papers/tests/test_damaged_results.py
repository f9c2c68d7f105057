"""Kept results that were cut off or edited: named with file, entry and column, never judged or drawn as if whole."""

import csv
import re

import pytest

from zslplat.errors import StoreError
from zslplat_papers.reproduction.claims import RESULTS, recorded_claims
from zslplat_papers.reproduction.page import pages
from zslplat_papers.reproduction.results import PACKAGED, keep_results, read_file, read_results

CLAIM = "000-cosines-fall"


def kept(name=RESULTS):
    """Return the bytes of a file of the package's results."""
    return (PACKAGED / f"{name}.csv").read_bytes()


def first_of(text, words):
    """Return the number, from 1, and the text of the first line with these words."""
    return next((n, line) for n, line in enumerate(text.splitlines(), start=1) if words in line)


@pytest.fixture
def folder(tmp_path):
    """Return a function that writes a file of results into a folder, and gives the folder."""

    def written(content, name=RESULTS):
        (tmp_path / f"{name}.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return written


@pytest.fixture
def edited(folder):
    """Return a function that sets a cell of one line of the package's results, and gives folder and line."""

    def written(column, value, name=RESULTS, words=CLAIM):
        text = kept(name).decode()
        number, line = first_of(text, words)
        head = next(csv.reader([text.splitlines()[0]]))
        cells = next(csv.reader([line]))
        cells[head.index(column)] = value
        lines = text.splitlines()
        lines[number - 1] = ",".join(f'"{cell}"' if "," in cell else cell for cell in cells)
        return folder("\n".join(lines) + "\n", name), number

    return written


@pytest.mark.parametrize("path", sorted(PACKAGED.glob("*.csv")), ids=lambda path: path.stem)
def test_what_is_kept_today_can_be_read(path):
    with open(path, newline="", encoding="utf-8") as file:
        assert read_file(path) == list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("difference", "", "a number"),
        ("difference", "abc", "a number"),
        ("low", "0,05", "a number"),
        ("classes", "ten", "a number"),
        ("contrast", "", "a cell in each column"),
    ],
)
def test_a_cell_that_cannot_be_is_named(edited, column, value, expected):
    place, number = edited(column, value)
    said = f"{place / 'claims.csv'}, entry {number - 1}, column {column}: {value!r}, expected {expected}"
    with pytest.raises(StoreError, match=re.escape(said)):
        recorded_claims([CLAIM], place)
    with pytest.raises(StoreError, match=re.escape(said)):
        pages(place)


@pytest.mark.parametrize("change", [lambda line: line[: len(line) // 2], lambda line: f"{line},more"])
def test_a_line_that_was_cut_off_or_grew_is_named(folder, change):
    text = kept().decode()
    number, line = first_of(text, CLAIM)
    with pytest.raises(StoreError, match=rf"claims\.csv, entry {number - 1}, .*expected a"):
        recorded_claims([CLAIM], folder(text.replace(line, change(line))))


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", kept().partition(b"\n")[2], kept() + b'"open,1,2\n', kept().decode().encode("utf-16")]
)
def test_a_file_that_is_no_table_of_claims_is_named(folder, content):
    with pytest.raises(StoreError, match=r"claims\.csv.* restore"):
        recorded_claims([CLAIM], folder(content))


def test_ends_that_nobody_could_give_are_kept_and_read(tmp_path):
    key = ("data", "row", "task", "metric")
    line = dict.fromkeys(key, "x") | {"test": 0.5, "low": float("nan"), "high": float("nan"), "low_classes": ""}
    line |= {"high_classes": "", "trials": "", "draw": "given", "knows_of_batch": "nothing", "from_memory": False}
    keep_results("bench-x-scores", [line], key, tmp_path, hours=0.0)
    (again,) = read_results("bench-x-scores", tmp_path)
    assert (again["low"], again["low_classes"]) == ("nan", "")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_command_says_it_in_one_line(edited, call, form):
    place, number = edited("difference", "")
    done = call("claims", CLAIM, "--results", place, *form)
    assert done.returncode == 1
    assert f"claims.csv, entry {number - 1}, column difference: '', expected a number" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [("000-cosine-falls", "was 000-cosines-fall or "), ("nothing-of-it", "zslplat claims lists them all")],
)
def test_a_difference_of_what_is_no_claim_is_left_out_and_said(edited, call, name, hint):
    place, _ = edited("claim", name)
    done = call("claims", CLAIM, "--results", place)
    assert done.returncode == 0
    told = " ".join(done.stderr.split())
    assert f"1 kept difference is of '{name}', which is no claim: left out; {hint}" in told
    assert "is no claim" not in call("claims", CLAIM).stderr

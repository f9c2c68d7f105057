"""Kept results that were cut off or edited: named with file, line and column, never judged or drawn as if whole."""

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


@pytest.mark.parametrize("cut", ["after the difference", "inside the contrast"])
def test_a_line_that_was_cut_off_is_named_and_changes_no_verdict(folder, cut):
    text = kept().decode()
    number, line = first_of(text, CLAIM)
    cells = next(csv.reader([line]))
    short = ",".join(cells[:4]) if cut == "after the difference" else ",".join([*cells[:2], cells[2][:9]])
    place = folder(text.replace(line, short))
    with pytest.raises(StoreError) as raised:
        recorded_claims([CLAIM], place)
    count = 4 if cut == "after the difference" else 3
    assert f"{place / 'claims.csv'}, line {number}: {count} cells, expected {len(cells)}" in str(raised.value)


def test_a_line_with_too_many_cells_is_named(folder):
    text = kept().decode()
    number, line = first_of(text, CLAIM)
    with pytest.raises(StoreError, match=rf"claims\.csv, line {number}: 17 cells, expected 16"):
        read_file(folder(text.replace(line, f"{line},more")) / "claims.csv")


def test_the_line_is_that_of_the_file_where_cells_have_lines_of_their_own(folder):
    text = kept("reproduce-000-table-2").decode()
    lines = text.splitlines()
    lines[1] = lines[1].replace(",not compared,", ',"not\n\ncompared",')
    lines[2] = lines[2].rpartition(",")[0]
    count = lines[0].count(",") + 1
    with pytest.raises(StoreError, match=rf"reproduce-000-table-2\.csv, line 5: {count - 1} cells, expected {count}"):
        read_file(folder("\n".join(lines), "reproduce-000-table-2") / "reproduce-000-table-2.csv")


def test_a_file_as_a_spreadsheet_writes_it_is_read(folder):
    as_written = kept().replace(b"\n", b"\r\n")
    place = folder(b"\xef\xbb\xbf" + as_written)
    assert read_file(place / "claims.csv") == read_file(PACKAGED / "claims.csv")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (kept().replace(b",", b";"), "line 1: 1 columns, 'claim;suite;"),
        (kept().partition(b"\n")[2], "line 1: 16 columns, '000-bandwidth-matters,"),
        (b"a,b\n1,2\n", "line 1: 2 columns, 'a,b', without claim, suite, contrast,"),
        (kept().replace(b",seconds,", b",suite,", 1), "line 1: column suite is there twice"),
        (b"", "line 1: 0 columns, '', without claim"),
        (kept().replace(b"ISOLET: Gaussian", b"ISOLET: \0Gaussian", 1), "line 2: a character NUL"),
        (kept() + b'"open,1,2\n', "line 770: unexpected end of data"),
        (kept().decode().encode("utf-16"), "no CSV in UTF-8"),
    ],
    ids=["semicolons", "no header", "other columns", "a column twice", "empty", "NUL", "an open quote", "UTF-16"],
)
def test_a_file_that_is_no_table_of_claims_is_named_with_what_was_expected(folder, content, said):
    place = folder(content)
    with pytest.raises(StoreError, match=re.escape(str(place / "claims.csv"))) as raised:
        recorded_claims([CLAIM], place)
    assert said in str(raised.value)
    assert "mend" in str(raised.value) or "restore" in str(raised.value)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("classes", "5.0", "a whole number from 1"),
        ("classes", "abc", "a whole number from 1"),
        ("classes", "-5", "a whole number from 1"),
        ("classes", "0", "a whole number from 1"),
        ("trials", "abc", "a whole number from 0"),
        ("difference", "", "a finite number"),
        ("difference", "abc", "a finite number"),
        ("difference", "nan", "a finite number;"),
        ("difference", "1_0", "a finite number"),
        ("low", "-inf", "a finite number"),
        ("low", "nan", "a finite number"),
        ("low", "0,05", "a finite number"),
        ("low", "999", "the low end of an interval"),
        ("high", "", "an end beside low"),
        ("contrast", "", "not to be empty"),
    ],
)
def test_a_cell_that_cannot_be_is_named_with_line_column_and_what_was_expected(edited, column, value, expected):
    place, number = edited(column, value)
    said = f"{place / 'claims.csv'}, line {number}, column {column}: {value!r}, expected {expected}"
    with pytest.raises(StoreError, match=re.escape(said)):
        recorded_claims([CLAIM], place)
    with pytest.raises(StoreError, match=re.escape(said)):
        pages(place)


@pytest.mark.parametrize(
    ("name", "column", "value", "expected"),
    [
        ("reproduce-000-table-2", "ours", "1,5", "a finite number or nan;"),
        ("reproduce-000-table-2", "oracle_gain", "inf", "a finite number or nan, or nothing;"),
        ("reproduce-000-table-2", "low_classes", "0,1", "a finite number or nan"),
        ("bench-quick-scores", "test", "", "a finite number or nan;"),
        ("bench-quick-scores", "trials", "8.5", "a whole number from 0"),
        ("bench-quick-scores", "high", "-inf", "a finite number or nan"),
        ("bench-quick-scores", "high", "-1", "the low end of an interval"),
    ],
)
def test_cells_of_tables_and_suites_are_looked_at_as_well(edited, name, column, value, expected):
    place, number = edited(column, value, name, "digit-pairs,")
    named = "low" if expected.startswith("the low") else column
    said = rf"{name}\.csv, line {number}, column {named}: .*, expected {expected}"
    with pytest.raises(StoreError, match=said):
        pages(place)


def test_ends_that_nobody_could_give_are_kept_and_read(tmp_path):
    key = ("data", "row", "task", "metric")
    line = dict.fromkeys(key, "x") | {"test": 0.5, "low": float("nan"), "high": float("nan"), "low_classes": ""}
    line |= {"high_classes": "", "trials": "", "split": "given", "knows_of_batch": "nothing", "from_memory": False}
    keep_results("bench-x-scores", [line], key, tmp_path, hours=0.0)
    (again,) = read_results("bench-x-scores", tmp_path)
    assert (again["low"], again["low_classes"]) == ("nan", "")


def test_nothing_is_kept_beside_lines_that_are_damaged(folder):
    place = folder(kept().partition(b"\n")[2])
    before = (place / "claims.csv").read_bytes()
    with pytest.raises(StoreError, match="line 1: 16 columns"):
        keep_results(RESULTS, [{"claim": CLAIM}], ("claim",), place, hours=0.0)
    assert (place / "claims.csv").read_bytes() == before


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_command_says_it_in_one_line(edited, call, form):
    place, number = edited("difference", "")
    done = call("claims", CLAIM, "--results", place, *form)
    assert done.returncode == 1
    assert f"claims.csv, line {number}, column difference: '', expected a finite number" in done.stdout + done.stderr
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

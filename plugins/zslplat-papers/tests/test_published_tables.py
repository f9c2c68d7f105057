"""Published tables are whole, read strictly, and say where they come from."""

import math
import shutil

import pytest

from zslplat.errors import DataError, UsageError
from zslplat_papers.published import load_table, parse_printed, read_table, table_ids
from zslplat_papers.published.reading import DATA

TABLES = table_ids()
RANGES = {"%": (0, 100), "of 5": (0, 5)}

SMALL = """
paper = "000"
label = "Table 0"
title = "A table"
where = "nowhere"
kind = "table"
status = "unchecked"
source = "invented"
measures = "accuracy"
metric = "accuracy"
unit = "%"
better = "higher"
split = ""
features = ""
protocol = ""

[[columns]]
id = "A"
data = "A"

[[columns]]
id = "B"
data = "B"

[[rows]]
id = "one"
label = "One"
method = "the first"
cells = ["1.5", "-"]

[[rows]]
id = "two"
label = "Two"
method = "the second"
own = true
cells = ["2 ± 0.5", "4/5"]

[[remarks]]
row = "two"
column = "B"
text = "counted"
"""


@pytest.fixture
def written(tmp_path):
    """Write a table's file with a change, and read it."""

    def write(old="", new=""):
        assert old in SMALL
        path = tmp_path / "000-table-0.toml"
        path.write_text(SMALL.replace(old, new), encoding="utf-8")
        return read_table(path)

    return write


def test_a_table_is_read_with_numbers_spreads_notes_and_missing_cells(written):
    table = written()
    assert (table.id, table.paper.year) == ("000-table-0", 2018)
    assert [(c.value, c.spread) for c in table.cells.values()] == [(1.5, None), (None, None), (2.0, 0.5), (4.0, None)]
    assert table.cell("two", "B").notes == ("counted",)
    assert [row.id for row in table.own_rows] == ["two"]
    assert [(r["row"], r["column"], r["value"]) for r in table.records()][1:3] == [("one", "B", None), ("two", "A", 2)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "two"', 'id = "one"', "row one is there more than once"),
        ('id = "B"', 'id = "A"', "column A is there more than once"),
        ('["1.5", "-"]', '["1.5"]', "row one has 1 cells for 2 columns"),
        ('"1.5"', '"1.5x"', "'1.5x' is not a cell"),
        ("own = true", "onw = true", "row two has onw"),
        ('split = ""', 'splits = ""', "the table has splits"),
        ('split = ""\n', "", "'split' is missing"),
        ('better = "higher"', 'better = "up"', "better of column A is 'up'"),
        ('status = "unchecked"', 'status = "sure"', "status is 'sure'; expected one of 'checked'"),
        ('paper = "000"', 'paper = "999"', "paper is '999'"),
        ('row = "two"', 'row = "three"', "row of a remark is 'three'"),
        ('label = "One"', 'label = "One', "is not TOML"),
    ],
)
def test_a_faulty_file_is_refused_by_name(written, old, new, message):
    with pytest.raises(DataError, match=message) as error:
        written(old, new)
    assert "000-table-0.toml" in str(error.value)


@pytest.mark.parametrize("lines", ["row,B,A\none,1,2\ntwo,1,2\n", "row,A,B\ntwo,1,2\none,1,2\n", "row,A,B\none,1,2\n"])
def test_cells_in_a_file_of_their_own_must_name_the_same_rows_and_columns(tmp_path, lines):
    text = SMALL.replace('cells = ["1.5", "-"]', "").replace('cells = ["2 ± 0.5", "4/5"]', "")
    (tmp_path / "000-table-0.toml").write_text(f'cells = "c.csv"\n{text}', encoding="utf-8")
    (tmp_path / "c.csv").write_text("row,A,B\none,1,2\ntwo,3,4\n", encoding="utf-8")
    assert read_table(tmp_path / "000-table-0.toml").cell("two", "A").value == 3
    (tmp_path / "c.csv").write_text(lines, encoding="utf-8")
    with pytest.raises(DataError, match="expected"):
        read_table(tmp_path / "000-table-0.toml")


def test_an_unknown_table_row_or_column_lists_what_there_is():
    with pytest.raises(UsageError) as error:
        load_table("000-table-22")
    assert "did you mean 000-table-2" in str(error.value)
    assert all(name in str(error.value) for name in TABLES)
    table = load_table("000-table-2")
    with pytest.raises(UsageError, match="unknown row of table 000-table-2 'gauss'; did you mean gaussian"):
        table.cell("gauss", "AWA1")
    with pytest.raises(UsageError, match="known: AWA1, AWA2, SUN, CUB, aPY, better"):
        table.column("AwA")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("44.1", (44.1, None)), ("-0.5", (-0.5, None)), ("53.4 ± 1.7", (53.4, 1.7)), ("24,295", (24295, None))],
)
def test_a_printed_number_is_read(text, expected):
    assert parse_printed(text) == expected


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_whole(name):
    table = load_table(name)
    assert list(table.cells) == [(row.id, column.id) for row in table.rows for column in table.columns]
    assert all(text for text in (table.title, table.where, table.source, table.label))
    assert all(row.method and row.label for row in table.rows)
    assert all(column.measures for column in table.columns)
    assert len(table.records()) == len(table.cells)


@pytest.mark.parametrize("name", TABLES)
def test_numbers_are_finite_and_within_the_range_of_their_unit(name):
    table = load_table(name)
    for (_, column), cell in table.cells.items():
        if cell.value is not None:
            low, high = RANGES.get(table.column(column).unit, (-math.inf, math.inf))
            assert math.isfinite(cell.value)
            assert low <= cell.value <= high, cell


def test_every_file_beside_the_tables_is_read(tmp_path):
    """No CSV file lies there that no table names, and a copy elsewhere reads the same."""
    named = {line.split('"')[1] for p in DATA.glob("*.toml") for line in p.read_text().splitlines() if ".csv" in line}
    assert {path.name for path in DATA.glob("*.csv")} == named
    shutil.copytree(DATA, tmp_path / "copy")
    assert all(read_table(tmp_path / "copy" / f"{name}.toml") == load_table(name) for name in TABLES)

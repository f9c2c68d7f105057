"""Files of scores in whatever form tables and spreadsheets write them: read as they are meant, or refused in words."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zslplat.errors import DataError
from zslplat_outside.score_files import read_classes, read_rows, read_scores

TEXT = "row,Bär,Fuß\n3,0.5,0.25\n7,1,-2\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT.encode("latin-1"), r"s\.csv: line 1 is no text in UTF-8; save the file as UTF-8"),
        ("row,a,b\n3,1,2\n7,1,ä\n".encode("latin-1"), r"line 3 is no text in UTF-8"),
        (TEXT.encode("utf-16"), r"s\.csv: is text in UTF-16; save it as UTF-8"),
        (TEXT.replace(",", "\t").encode("utf-16"), r"s\.csv: is text in UTF-16; save it as UTF-8"),
        ("row,a,b\n3,1,2\n".encode("utf-16-le"), r"holds NUL bytes, as text in UTF-16 does; save it as UTF-8"),
    ],
)
def test_text_in_another_encoding_is_refused_with_its_line(tmp_path, content, message):
    (tmp_path / "s.csv").write_bytes(content)
    for read in (read_scores, read_rows, read_classes):
        with pytest.raises(DataError, match=message):
            read(tmp_path / "s.csv")


def test_a_mark_at_the_beginning_of_utf8_is_no_part_of_a_name(tmp_path):
    (tmp_path / "s.csv").write_bytes(TEXT.encode("utf-8-sig"))
    found = read_scores(tmp_path / "s.csv")
    assert (found.classes, found.rows.tolist()) == (("Bär", "Fuß"), [3, 7])
    assert found.scores.tolist() == [[0.5, 0.25], [1, -2]]
    (tmp_path / "classes.csv").write_bytes("class\nBär\n".encode("utf-8-sig"))
    assert read_classes(tmp_path / "classes.csv") == ("Bär",)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_rows_written_as_text_are_rows(tmp_path, kind):
    columns = {"row": pa.array(["3", " 7", "010"]).cast(kind), "a": [0.5, 0.25, 1], "b": [1, 2, 3]}
    pq.write_table(pa.table(columns), tmp_path / "s.parquet")
    assert read_scores(tmp_path / "s.parquet").rows.tolist() == [3, 7, 10]
    assert read_rows(tmp_path / "s.parquet").tolist() == [3, 7, 10]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["3", "img2"],
            r"row 1 of column 'row' holds 'img2'; expected rows of the data set, whole numbers counted from 0",
        ),
        (["3", "7.5"], r"row 1 of column 'row' holds '7\.5'; expected rows"),
        (["-1", "7"], r"row 0 of column 'row' holds '-1'; expected rows"),
        (["3", "9" * 30], r"row 1 of column 'row' holds 1e\+30; expected rows"),
        (["3", None], r"row 1 of column 'row' is empty; fill it in"),
        ([True, False], r"row 0 of column 'row' holds 'True'; expected rows"),
    ],
)
def test_text_that_is_no_row_is_named(tmp_path, rows, message):
    pq.write_table(pa.table({"row": rows, "a": [0.5, 0.25], "b": [1, 2]}), tmp_path / "s.parquet")
    with pytest.raises(DataError, match=message):
        read_scores(tmp_path / "s.parquet")


def test_the_index_of_a_data_frame_is_no_class(tmp_path):
    frame = pd.DataFrame({"row": [3, 7, 9], "a": [0.5, 0.25, 1.0], "b": [1.0, 2.0, 3.0]}).sort_values("a")
    writers = {"s.csv": frame.to_csv, "s.parquet": frame.to_parquet}
    for name, write in writers.items():
        write(tmp_path / name)
        found = read_scores(tmp_path / name)
        assert (found.classes, found.rows.tolist()) == (("a", "b"), [7, 3, 9])
        assert found.scores.tolist() == [[0.25, 2], [0.5, 1], [1, 3]]
    # Whether the index tells rows of the data set, or places in some other table, nobody can know.
    for name, write in {"t.csv": frame[["a", "b"]].to_csv, "t.parquet": frame[["a", "b"]].to_parquet}.items():
        write(tmp_path / name)
        with pytest.raises(DataError, match=r"index of a data frame, .* no column 'row'; name the index 'row'"):
            read_scores(tmp_path / name)
    named = frame[["a", "b"]].rename_axis("row")
    named.to_parquet(tmp_path / "u.parquet")
    assert read_scores(tmp_path / "u.parquet").rows.tolist() == [1, 0, 2]


@pytest.mark.parametrize(("read", "name"), [(read_rows, "row"), (read_classes, "class")])
def test_a_list_of_nothing_is_refused(tmp_path, read, name):
    (tmp_path / "list.csv").write_text(f"{name}\n")
    with pytest.raises(
        DataError, match=rf"list\.csv: nothing stands under '{name}'; give a file whose column '{name}'"
    ):
        read(tmp_path / "list.csv")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("row;hare, brown;fox\n3;0.5;0.25\n", "semicolons; write"),
        (
            "row;hare, brown;fox\n\n3;0,5;0,25\n",
            "semicolons and decimal commas; write commas between cells and a decimal",
        ),
        ("row;hare, brown;fox\n3;0,5;1\n", "semicolons and decimal commas; write"),
        ("row\thare, brown\tfox\n3\t0.5\t0.25\n", "tabs; write"),
        ('row;"hare; brown";f,x\n3;0.5;0.25\n', "semicolons; write"),
    ],
)
def test_another_separator_is_named_though_a_class_holds_a_comma(tmp_path, text, told):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(DataError, match=rf"separated by {told}.*; put a name that holds a comma in quotes"):
        read_scores(tmp_path / "s.csv")


def test_names_of_classes_may_hold_any_separator(tmp_path):
    (tmp_path / "s.csv").write_text('row,"a, b",c;d;e,f|g\n3,1,2,3\n')
    assert read_scores(tmp_path / "s.csv").classes == ("a, b", "c;d;e", "f|g")
    many = [f"{'x' * 90};{number}" for number in range(3000)]  # longer than a cell may be
    (tmp_path / "s.csv").write_text(f"row,{','.join(many)}\n3{',0.5' * 3000}\n")
    assert read_scores(tmp_path / "s.csv").classes == tuple(many)
    (tmp_path / "classes.csv").write_text("class,note;seen\nc;d,0\nf|g,1\n")
    assert read_classes(tmp_path / "classes.csv") == ("c;d", "f|g")


def test_scores_in_tables_are_refused_beyond_float64(tmp_path):
    pq.write_table(pa.table({"row": [0, 1], "a": [0.5, 1.5], "b": [2**53 + 1, 2**53 + 3]}), tmp_path / "s.parquet")
    with pytest.raises(DataError, match=r"column 'b': 9007199254740993 is 9007199254740992 as float64"):
        read_scores(tmp_path / "s.parquet")

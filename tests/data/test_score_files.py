"""Files of scores in whatever form tables and spreadsheets write them: read as they are meant, or refused in words."""

import pytest

from zslplat.data.score_files import read_classes, read_rows, read_scores
from zslplat.errors import DataError

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

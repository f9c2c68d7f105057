"""What others' code says, cut to what terminals, files and databases take."""

import pytest

from zslplat.evaluation.scoring.messages import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("two\nlines  and\ttabs", "two lines and tabs"),
        ("x" * 20, "x" * 20),
        ("x" * 21, f"{'x' * 20}... (21 characters)"),
        ("x" + " " * 199, "x"),
        ("x" + " " * 200, "x... (201 characters)"),
        ("\0" * 6, "\\x00\\x00\\x00\\x00\\x00... (6 characters)"),
        ("\0" * 5, "\\x00" * 5),
    ],
)
def test_a_text_is_one_line_of_bounded_length(text, shown):
    assert printable(text, 20) == shown

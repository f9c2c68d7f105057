"""What docstrings hold is the same on a page: tables, lists, roles, code, formulas, examples."""

import pytest

from zslplat_site.docstrings import read_docstring, tables_of, to_markdown, without_tables

TABLE = """\
| paper      | here | meaning              |
|------------|------|----------------------|
| p(y | x)   | P    | |a - b|, or a_m      |
| <w, x>     |      | the product, {0, 1}  |"""


def test_cells_of_an_aligned_table_may_hold_bars():
    lines = to_markdown(TABLE).splitlines()
    assert lines[2] == r"| p(y \| x) | P | \|a - b\|, or a_m |"
    assert lines[3].startswith("| &lt;w, x> |")


def test_cells_out_of_line_are_found_by_blanks_around_the_bars():
    text = TABLE.replace(
        "| p(y | x)   | P    | |a - b|, or a_m      |", "| p(y | x) | P | a meaning longer than the rule |"
    )
    assert to_markdown(text).splitlines()[2] == r"| p(y \| x) | P | a meaning longer than the rule |"


def test_empty_cells_keep_their_place():
    text = "| paper | here | shape | meaning |\n|---|---|---|---|\n| lambda | lam | | weight |\n| N | | | number |"
    assert to_markdown(text).splitlines()[2:] == ["| lambda | lam |  | weight |", "| N |  |  | number |"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see :class:`~zslplat.data.store.rows.Rows`", "see `Rows`"),
        ("``a`` is <b>, not {c}", "``a`` is &lt;b>, not \\{c}"),
        ("as follows::", "as follows:"),
        ("* one\n* two", "* one\n* two"),
        (">>> 1 + 1\n2", "```pycon\n>>> 1 + 1\n2\n```"),
        ("So\n\n    W = X'Y\n\n    Z = 1\n\nit is", "So\n\n```text\nW = X'Y\n\nZ = 1\n```\n\nit is"),
        ("With $$a + b$$ it is", "With\n\n```{math}\na + b\n```\n\nit is"),
        (
            "``X``   rows,\n        of all\n``y``   classes",
            "- ``X``: rows, of all\n- ``y``: classes",
        ),
        ("=== ===\na   b\n=== ===", "```text\n=== ===\na   b\n=== ===\n```"),
    ],
)
def test_forms_of_docstrings_are_understood(text, shown):
    assert to_markdown(text) == shown


def test_names_that_are_described_are_linked():
    assert to_markdown(":class:`Rows`", lambda name: f"#api-{name}") == "[`Rows`](#api-Rows)"


def test_sections_at_the_end_are_taken_off():
    def f():
        """Do it.

        More of it.

        Equations
        ---------
        $$a$$

        Related
        -------
        ``b``.
        """

    found = read_docstring(f)
    assert (found.first, found.rest) == ("Do it.", "More of it.")
    assert found.sections == {"Equations": "$$a$$", "Related": "``b``."}
    assert read_docstring(test_names_that_are_described_are_linked).lead == ""


def test_tables_are_told_from_the_text_around_them():
    text = f"Before.\n\n{TABLE}\n\nAfter."
    assert tables_of(text) == [TABLE]
    assert without_tables(text) == "Before.\n\nAfter."

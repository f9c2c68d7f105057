"""Names from elsewhere: shown without effect on the terminal, and refused where no file or run can be called so."""

from __future__ import annotations

import io

import pytest

from zslplat.errors import UnknownNameError, UsageError, quoted
from zslplat.front.terminal import Console
from zslplat.names import one_line, unfit, visible
from zslplat.tuning.options import StudyOptions

ODD = "a\x1b[31mb\x07c\x9bd\u202ee\u2066f\u2028g\ufeffh\ud800i\rj\0k"
SHOWN = r"a\x1b[31mb\x07c\x9bd\u202ee\u2066f\u2028g\ufeffh\ud800i\rj\x00k".replace(r"\r", r"\x0d")


def test_control_characters_are_shown_escaped_and_all_else_as_it_is():
    assert visible(ODD) == SHOWN
    assert visible("Käfer 漢字\t😀\n±") == "Käfer 漢字\t😀\n±"
    assert one_line("a\nb\tc") == r"a\nb\tc"
    visible(ODD).encode()


def test_texts_and_cells_reach_the_terminal_escaped():
    from rich.table import Table

    file = io.StringIO()
    console = Console(file=file, width=200, force_terminal=True, color_system=None)
    table = Table(ODD)
    table.add_row(ODD)
    console.print(table)
    console.print(ODD, markup=False, highlight=False)
    assert file.getvalue().count(SHOWN) == 3
    assert "\x1b[31m" not in file.getvalue()


@pytest.mark.parametrize(
    "name", ["", " ", "CON", "nul.txt", "a/com1/b", "../a", "a//b", ".a", "a.", "/a", "é" * 150, "a\nb", "a\u202eb"]
)
def test_what_no_file_system_takes_is_no_name(name):
    assert unfit(name)
    with pytest.raises(UsageError, match="--study") as caught:
        StudyOptions(name=name)
    assert "\u202e" not in str(caught.value)


@pytest.mark.parametrize("name", ["AWA2", "console", "a.b-c_d", "a/b", "Käfer", "mfmr(lam=1)@0", "x" * 200])
def test_ordinary_names_are_names(name):
    assert unfit(name) == ""
    StudyOptions(name=name)


def test_long_values_are_quoted_short():
    assert quoted("a" * 400) == repr("a" * 400)
    assert len(quoted("a" * 10**6)) < 700
    assert "1000000 characters" in quoted("a" * 10**6)
    assert len(str(UnknownNameError("method", "m" * 10**6, ["mfmr"]))) < 1000
    assert quoted(1 << 90_000) == "a value too large to be written"

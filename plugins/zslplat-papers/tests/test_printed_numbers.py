"""Every number of a published table stands in the paper's text, in its row, in its order."""

import os
import re
from pathlib import Path

import pytest

from zslplat_papers.published import load_table, table_ids

DATA = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))
PAPERS = DATA.parent / "papers"
FILES = {path.name[:3]: path for path in PAPERS.glob("[0-9][0-9][0-9]_*.txt")}
pytestmark = pytest.mark.skipif(not FILES, reason=f"the papers' text {PAPERS} is not at hand; set ZSLPLAT_TEST_DATA")

PRINTED = [name for name in table_ids() if load_table(name).status == "checked"]
# A number with sign, thousands and "of how many"; or a lone dash, which stands for a missing one.
TOKEN = re.compile(r"(?<![\w.,\-])[+-]?\d+(?:,\d{3})*(?:\.\d+)?(?:/\d+)?|(?<![\w.)])-(?![\w.-])")


MARKS = {"–-": " to ", "–": " to ", r"\pm": " ± ", r"\%": "% ", r"\rightarrow": "->"}


def plain(line):
    """Return a line without the marks of type: bold, mathematics, tags."""
    for mark, text in MARKS.items():
        line = line.replace(mark, text)
    # Where bold ends within a number, the text has a space: <b>97</b> .2%.
    return re.sub(r"(?<=\d)<[^>]*> (?=\.\d)|<[^>]*>|\\mathcal|\\sim|[*${}]", "", line)


def lines_of(paper):
    return [plain(line) for line in FILES[paper].read_text(encoding="utf-8").splitlines()]


def tokens(text):
    return TOKEN.findall(text.replace("±", " "))


def squeezed(text):
    return re.sub(r"\s", "", text)


def places(lines, anchor, wanted, *, at_once=False):
    """Yield (line, position) wherever these tokens follow each other in a line, behind the anchor.

    ``at_once``: no other token stands between the anchor and them.
    """
    pattern = re.compile(r"\s*".join(map(re.escape, squeezed(anchor))))
    for number, line in enumerate(lines):
        there = tokens(line)
        for anchored in pattern.finditer(line):
            behind = tokens(line[anchored.end() :])
            before = len(there) - len(behind)
            for start in range(1 if at_once else len(behind) - len(wanted) + 1):
                if behind[start : start + len(wanted)] == wanted:
                    yield number, before + start
            break


def found_rows(table, lines):
    """Return {row: (line, position)}, each behind the row before; fails at the first row that is not there."""
    found, last = {}, (-1, -1)
    for row in table.rows:
        wanted = [t for column in table.columns for t in tokens(table.cell(row.id, column.id).printed)]
        assert wanted, f"row {row.id} of {table.id} prints nothing"
        behind = (place for place in places(lines, row.anchor, wanted, at_once=table.kind != "table") if place > last)
        place = next(behind, None)
        assert place is not None, f"{table.id}, row {row.id}: {' '.join(wanted)} is not in the text, or not in order"
        found[row.id] = last = place
    return found


def test_all_papers_are_at_hand():
    assert set(FILES) >= {load_table(name).paper.code for name in PRINTED}


@pytest.mark.parametrize("name", PRINTED)
def test_every_printed_number_is_in_the_text_in_the_order_of_its_row(name):
    table = load_table(name)
    found_rows(table, lines_of(table.paper.code))


@pytest.mark.parametrize("name", [name for name in PRINTED if load_table(name).kind == "table"])
def test_columns_stand_in_the_order_of_the_header(name):
    table = load_table(name)
    lines = lines_of(table.paper.code)
    first = min(found_rows(table, lines).values())[0]
    header = squeezed(" ".join(lines[max(0, first - 3) : first]))
    position = 0
    for label in dict.fromkeys(column.label.split()[0] for column in table.columns if column.label):
        position = header.find(label, position)
        assert position >= 0, f"{label} of {name} is not in its place in {header!r}"
        position += len(label)


def test_a_changed_number_a_swap_and_a_shift_are_found():
    """The check itself can fail: it is told apart from one that finds any number anywhere."""
    lines = ["Table", "A [1] 44.1 - 46.1", "B 1.5 2.5 3.5 and <b>97</b> .2% or **5**"]
    assert list(places([plain(line) for line in lines], "A", ["44.1", "-", "46.1"])) == [(1, 1)]
    assert list(places(lines, "A", ["44.1", "46.1"])) == []
    assert list(places(lines, "A", ["46.1", "44.1"])) == []
    assert list(places(lines, "A", ["44.2", "-", "46.1"])) == []
    assert list(places(lines, "A", ["1.5", "2.5"])) == []
    assert list(places(lines, "3.5 and", ["1.5"])) == []
    assert list(places(lines, "B", ["2.5"], at_once=True)) == []
    assert list(places([plain(line) for line in lines], "B", ["97.2", "5"])) == [(2, 3)]

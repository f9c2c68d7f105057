"""Printed tables agree with themselves and with each other, but where a note says that they do not."""

import pytest

from zslplat_papers.published import load_table

H_TABLES = [("000-table-3", ("ts", "tr")), ("xlsa17-gzsl", ("u", "s"))]
QUOTED = [("sdgzsl-gzsl", "AWA2 aPY CUB SUN"), ("scfa-gzsl", "AWA1 AWA2 CUB")]
SETS = ("AWA1", "AWA2", "SUN", "CUB", "aPY")


def decimals(printed):
    return len(printed.partition(".")[2])


def bounds(cell):
    """Return the least and the largest value that are printed as this cell is."""
    half = 0.5 * 10 ** -decimals(cell.printed)
    return cell.value - half, cell.value + half


def harmonic(u, s):
    return 2 * u * s / (u + s) if u + s > 0 else 0.0


def average_fits(cells, average):
    """Say whether rounded numbers can have this rounded mean."""
    low, high = (sum(bounds(cell)[k] for cell in cells) / len(cells) for k in (0, 1))
    return low <= bounds(average)[1] + 1e-9 and high >= bounds(average)[0] - 1e-9


@pytest.mark.parametrize(("name", "sides"), H_TABLES)
def test_harmonic_means_follow_from_their_sides_where_no_note_says_otherwise(name, sides):
    table = load_table(name)
    odd = set()
    for row in table.rows:
        for data in SETS:
            u, s, h = (table.cell(row.id, f"{data}-{part}") for part in (*sides, "H"))
            if h.value is None:
                continue
            low, high = (harmonic(max(bounds(u)[k], 0.0), bounds(s)[k]) for k in (0, 1))
            if not (low <= bounds(h)[1] + 1e-9 and high >= bounds(h)[0] - 1e-9):
                odd.add(h.row + " " + h.column)
                assert h.notes, f"{h} is not the harmonic mean of {u.printed} and {s.printed}, and no note says so"
    known = {"000-table-3": {"dap aPY-H", "iap SUN-H", "cmt CUB-H"}, "xlsa17-gzsl": {"relation-network AWA2-H"}}
    assert odd == known[name]


@pytest.mark.parametrize(("name", "sets"), QUOTED)
def test_quoted_harmonic_means_follow_from_their_sides_where_no_note_says_otherwise(name, sets):
    table = load_table(name)
    for row in table.rows:
        for data in sets.split():
            u, s, h = (table.cell(row.id, f"{data}-{part}") for part in "usH")
            if None not in (u.value, s.value, h.value):
                low, high = (harmonic(bounds(u)[k], bounds(s)[k]) for k in (0, 1))
                assert (low <= bounds(h)[1] + 1e-9 and high >= bounds(h)[0] - 1e-9) != bool(h.notes), h


def test_what_public_documents_quote_of_one_paper_agrees():
    tables = [load_table(name) for name in ("sdgzsl-gzsl", "scfa-gzsl", "dkgzsl-gzsl")]
    quoted = {}
    for table in tables:
        for row in table.rows:
            for column in table.columns:
                cell = table.cells[row.id, column.id]
                # On CUB the documents differ in the signatures: attributes, or embeddings of sentences.
                if cell.value is not None and column.data != "CUB":
                    quoted.setdefault((row.id, column.id), set()).add(cell.printed)
    assert {key: found for key, found in quoted.items() if len(found) > 1} == {}
    assert len({row for row, _ in quoted}) > 20


@pytest.mark.parametrize(
    ("name", "parts", "average"),
    [
        ("001-table-2", [f"{d}-VGG" for d in ("aPY", "AwA", "CUB", "SUN")], "average-VGG"),
        ("001-table-2", [f"{d}-GoogLeNet" for d in ("aPY", "AwA", "CUB", "SUN")], "average-GoogLeNet"),
        ("001-table-3", ["aPY", "AwA", "CUB", "SUN"], "average"),
    ],
)
def test_averages_follow_from_their_parts_where_no_note_says_otherwise(name, parts, average):
    table = load_table(name)
    for row in table.rows:
        cells, mean = [table.cell(row.id, part) for part in parts], table.cell(row.id, average)
        if mean.value is not None:
            assert average_fits(cells, mean) or mean.notes, mean


@pytest.mark.parametrize(("name", "suffix"), [("000-table-2", ""), ("000-table-3", "-H")])
def test_counts_of_data_sets_follow_from_the_upper_part(name, suffix):
    table = load_table(name)
    others = [row.id for row in table.rows if not row.own]
    for row in table.own_rows:
        best = {d: max(table.cell(other, f"{d}{suffix}").value for other in others) for d in SETS}
        wins = sum(table.cell(row.id, f"{d}{suffix}").value > best[d] for d in SETS)
        assert table.cell(row.id, "better").printed == f"{wins}/5"


@pytest.mark.parametrize("name", ["000-table-5", "000-table-6"])
def test_cosines_of_columns_are_symmetric_with_ones_on_the_diagonal(name):
    table = load_table(name)
    names = [row.id for row in table.rows]
    assert names == [column.id for column in table.columns]
    assert all(table.cell(a, a).value == 1 for a in names)
    assert all(table.cell(a, b).printed == table.cell(b, a).printed for a in names for b in names)
    assert all(-1 <= cell.value <= 1 for cell in table.cells.values())


def test_paper_000_repeats_the_evaluation_that_it_compares_with():
    zsl, printed = load_table("xlsa17-zsl"), load_table("000-table-2")
    shared = {row.id for row in zsl.rows} & {row.id for row in printed.rows}
    assert len(shared) == 12
    assert all(zsl.cell(row, d).printed == printed.cell(row, d).printed for row in shared for d in SETS)
    gzsl, printed = load_table("xlsa17-gzsl"), load_table("000-table-3")
    shared = {row.id for row in gzsl.rows} & {row.id for row in printed.rows}
    differ = {
        (row, f"{d}-{ours}")
        for row in shared
        for d in SETS
        for ours, theirs in (("u", "ts"), ("s", "tr"), ("H", "H"))
        if gzsl.cell(row, f"{d}-{ours}").printed != printed.cell(row, f"{d}-{theirs}").printed
    }
    assert len(shared) == 11
    assert differ == {("dap", "aPY-H")}


def test_data_sets_of_two_papers_that_use_the_same_splits_agree():
    first, second = load_table("001-table-1"), load_table("003-table-1")
    names = {
        "training-images": "seen-images",
        "test-images": "unseen-images",
        "attributes": "attributes",
        "seen-classes": "seen-concepts",
        "unseen-classes": "unseen-concepts",
    }
    for data in ("SUN", "aPY"):
        assert all(first.cell(data, a).value == second.cell(b, data).value for a, b in names.items())

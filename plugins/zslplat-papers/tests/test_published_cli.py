"""The papers' tables on the command line."""

import csv
import json

from zslplat_papers.published import load_table, table_ids


def test_list_names_every_table(call):
    assert [entry["table"] for entry in json.loads(call("published", "list", "--json").stdout)] == table_ids()
    text = call("published", "list").stdout
    assert all(name in text for name in table_ids())


def test_show_prints_the_cells_with_notes_and_source(call):
    done = call("published", "show", "000-table-2")
    table = load_table("000-table-2")
    assert all(cell.printed in done.stdout for cell in table.cells.values())
    assert all(note in done.stdout for cell in table.cells.values() for note in cell.notes)
    assert all(note in done.stdout for note in table.notes)
    assert table.source in done.stdout
    # The mark behind the cell is the number of its note.
    assert "51.7 [2]" in done.stdout
    assert "[2] Gaussian-Ort, CUB: Below" in done.stdout


def test_show_gives_json_and_csv_with_the_same_numbers(call, tmp_path):
    out = tmp_path / "table.csv"
    content = json.loads(call("published", "show", "001-table-2", "--json", "--out", out).stdout)
    table = load_table("001-table-2")
    assert {(c["row"], c["column"]): c["value"] for c in content["cells"]} == {
        key: cell.value for key, cell in table.cells.items()
    }
    with open(out, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [(line["row"], line["column"], line["value"]) for line in lines] == [
        (*key, "" if cell.value is None else str(cell.value)) for key, cell in table.cells.items()
    ]


def test_an_unknown_table_is_a_wrong_request_that_lists_the_tables(call):
    done = call("published", "show", "000-table-22")
    assert done.returncode == 2
    assert all(name in done.stderr for name in table_ids())


def test_a_wide_table_is_shown_in_pieces_with_nothing_cut(call):
    text = call("published", "show", "000-table-3").stdout
    table = load_table("000-table-3")
    lines = [line for line in text.splitlines() if line.startswith("│ Gaussian-Ort ")]
    assert len(lines) > 1
    printed = [part.split(" [")[0].strip() for line in lines for part in line.split("│")[2:-1]]
    assert printed == [table.cell("gaussian-ort", column.id).printed for column in table.columns]
    assert "…" not in text


def test_rows_from_memory_are_named(call):
    assert (
        "status: second-hand; IAP unchecked, CMT unchecked, GFZSL unchecked"
        in call("published", "show", "xlsa17-zsl").stdout
    )

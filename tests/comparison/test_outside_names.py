"""Scores that were made elsewhere are one method over data sets, though those of each have a digest of their own."""

import csv
import json
from itertools import count

import pytest
from store_toys import MadeStore

from zslplat.comparison.compare import compare
from zslplat.comparison.exports import export_each
from zslplat.comparison.sheets import sheets
from zslplat.evidence.matching import Filters

SETS = ("made", "other", "third")


@pytest.fixture
def scored(settings):
    """Record scores that somebody gave under a name; return the method that they are recorded as."""
    made, digests = MadeStore(settings), count(1)

    def record(name, share, dataset="made", **more):
        method = f"outside:{name}(scores=d{next(digests):011x})"
        made.run(method, share, dataset=dataset, rows=f"rows of {dataset}", outside={"name": name}, **more)
        return method

    return record


@pytest.fixture
def show(settings):
    return lambda *datasets, **more: compare(settings, datasets, warn=pytest.fail, **more)


def shorts(found):
    return [row["short"] for row in found.rows]


def test_a_name_with_scores_on_every_data_set_is_ranked_as_one_method(scored, show, tmp_path):
    methods = [scored(name, share, dataset) for dataset in SETS for name, share in (("good", 0.8), ("bad", 0.5))]
    found = show()
    (table,) = found.over_datasets
    assert [row["method"] for row in table["methods"]] == ["outside:good", "outside:bad"]
    assert [row["mean_rank"] for row in table["methods"]] == [1, 2]
    assert (table["sets"], table["methods"][1]["difference"] < -0.1) == (3, True)
    (sheet,) = sheets(found)
    (lines,) = sheet.sections.values()
    assert len(lines) == 2
    assert all(cell.text for cells in lines for cell in cells[:4])
    assert any(note.startswith("outside:good, outside:bad: other scores on each data set") for note in sheet.notes)
    for ending in (".svg", ".csv", ".json"):
        export_each([found], tmp_path / f"table{ending}")
    assert (tmp_path / "table.svg").stat().st_size
    with (tmp_path / "table.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert {row["short"] for row in read} == {"outside:good", "outside:bad"}
    assert {row["method"] for row in read} == set(methods)  # which scores they are stays in the files
    (written,) = json.loads((tmp_path / "table.json").read_text())
    assert {row["method"] for row in written["rows"]} == set(methods)
    assert [row["method"] for row in written["over_datasets"][0]["methods"]] == ["outside:good", "outside:bad"]


def test_a_name_is_one_method_over_draws_of_classes(scored, show):
    draws = [f"redrawn(draw={number}, of=made)" for number in (1, 2, 3)]
    for dataset in (*draws, "other"):
        for name, share in (("good", 0.8), ("bad", 0.5)):
            scored(name, share, dataset)
    table = show()
    assert table.over_datasets[0]["sets"] == 2
    drawn = table.on("redrawn(of=made)")
    assert [(row["short"], row["draws"]) for row in drawn] == [("outside:good", 3), ("outside:bad", 3)]


def test_where_a_data_set_has_several_scores_of_a_name_their_digests_tell_them_apart(scored, show):
    first, second = scored("net", 0.8), scored("net", 0.7)
    elsewhere = [scored("net", 0.6, "other"), scored("rival", 0.5, "other"), scored("rival", 0.5)]
    found = show()
    assert sorted(shorts(found)) == sorted([first, second, "outside:net", *["outside:rival"] * 2])
    assert "outside:net" in [row["short"] for row in found.on("other")]
    # Of one of them alone there is no doubt.
    found = show(filters=Filters([first, *elsewhere]))
    assert set(shorts(found)) == {"outside:net", "outside:rival"}
    assert found.over_datasets[0]["sets"] == 2


def test_on_one_data_set_the_digest_stands_below_the_table_and_every_name_is_a_name(scored, show):
    method = scored("net", 0.8)
    scored("net", 0.7, seed=1)
    name = "a-name-that-is-much-longer-than-tables-have-room-for"
    scored(name, 0.6)
    found = show("made")
    assert set(shorts(found)) == {"outside:net [seed 0]", "outside:net [seed 1]", f"outside:{name}"}
    assert found.names["outside:net [seed 0]"] == method.partition("(")[2].rstrip(")")
    for short in shorts(found):
        assert shorts(show("made", filters=Filters([short]))) in ([short], ["outside:net"])


def test_a_name_with_a_colon_on_both_sides_is_printed_as_it_is(scored, call):
    scored("A", 0.8)
    done = call("compare", "-d", "made")
    assert "outside:A: scores=d00000000001" in done.stdout


def test_a_method_of_ours_with_a_parameter_of_that_name_keeps_it(settings, show):
    made = MadeStore(settings)
    for scores in (1, 2):
        made.run(f"eszsl(scores={scores})", 0.8)
    assert sorted(shorts(show("made"))) == ["eszsl(scores=1)", "eszsl(scores=2)"]

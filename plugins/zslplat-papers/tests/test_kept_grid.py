"""Kept results of a grid make its numbers again when the store is gone, and tell whether they are the same."""

import csv
import json
from shutil import copytree

import pytest
from json_documents import checked
from support import lines_of

pytestmark = pytest.mark.long

HEAD = """
trials = 2
repeats = 2
workers = 1
tasks = ["zsl", "retrieval"]
only_tested = ["retrieval"]
[metrics]
zsl = ["per_class_accuracy"]
retrieval = ["mAP"]
[[data]]
name = "toy"
dataset = "marked"
"""
ROWS = {"plain": "plain(mix=0.3)", "weighted": "plain"}
SCORES = """data,row,task,metric,test,knows_of_batch,from_memory,trials,split,commit,versions,seed,hours,kept
toy,plain,zsl,per_class_accuracy,0.5,nothing,no,2,given,0,0,0,0,2026-01-01"""


def rows_of(methods):
    """Return the rows of a suite, by their names."""
    return "".join(f"[[row]]\nname = '{row}'\nmethod = '{method}'\n" for row, method in methods.items())


@pytest.fixture(scope="module")
def kept(tmp_path_factory, carried_out):
    """The folder of a suite whose results were kept, and what the command told."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "suite.toml").write_text(HEAD + rows_of(ROWS))
    done = carried_out(folder, "keep", "suite.toml", "--out", "out", "--results", "kept", "--json")
    assert done.returncode == 0, done.stderr
    return folder, checked("keep", done.stdout)


def test_what_searches_found_is_kept_and_gives_the_same_without_store_and_search(kept, call, tmp_path):
    folder, _ = kept
    found = {line["row"]: line["method"] for line in lines_of(folder / "kept" / "bench-suite-budgets.csv")}
    assert found["plain"].startswith("plain(mix=0.3, ridge=")
    assert found["weighted"].startswith("plain(mix=")
    (tmp_path / "again.toml").write_text(HEAD.replace("trials = 2", "trials = 1") + rows_of(found))
    done = call("bench", "again.toml", "--out", "again", "--store", tmp_path / "other")
    assert done.returncode == 0, done.stderr
    again, scores = (lines_of(file) for file in (tmp_path / "again" / "scores.csv", folder / "out" / "scores.csv"))
    assert [(s["row"], s["task"], s["test"]) for s in again] == [(s["row"], s["task"], s["test"]) for s in scores]


def test_a_grid_says_whether_its_numbers_are_those_that_are_kept(kept, call, tmp_path):
    folder, first = kept
    assert first["kept"] == {"same": 0, "others": []}
    again = ("keep", folder / "suite.toml", "--out", "again", "--store", folder / "mlruns", "--results", "kept")
    copytree(folder / "kept", tmp_path / "kept")
    assert "kept results: 4 of 4 test scores are as kept\n" in call(*again).stdout
    assert "kept results" not in call(*again, "--repeats", "1").stdout
    file = tmp_path / "kept" / "bench-suite-scores.csv"
    lines = lines_of(file)
    lines[0]["test"] = str(float(lines[0]["test"]) + 0.25)
    lines[1]["test"] = str(float(lines[1]["test"]) * (1 + 1e-4))
    lines[2]["trials"] = "30"  # of another search: nothing to compare

    def run(*more):
        with open(file, "w", newline="") as out:
            writer = csv.DictWriter(out, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
        return call(*again, *more).stdout

    said = run()
    place = f"{lines[0]['metric']} of {lines[0]['row']} on toy, task {lines[0]['task']}"
    assert f"kept results: 1 of 3 test scores are as kept; farthest: {place}: " in said
    told = json.loads(run("--json"))["kept"]
    assert told["same"] == 1
    assert [(one["row"], one["task"]) for one in told["others"]] == [(s["row"], s["task"]) for s in lines[:2]]
    assert told["others"][0]["kept"] - told["others"][0]["now"] == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfe\x00", "are no CSV in UTF-8"),
        (b"data,row,test\ntoy,plain,0.5\n", "bench-suite-scores.csv, entry 1, column task: '', expected a cell"),
        (SCORES.encode() + b",more\n", "bench-suite-scores.csv, entry 1, 15 cells, expected a cell in each column"),
        (SCORES.replace("0.5", "half").encode(), "scores.csv, entry 1, column test: 'half', expected a number"),
    ],
)
def test_damaged_results_are_told_before_anything_is_computed(call, tmp_path, content, told):
    (tmp_path / "suite.toml").write_text(HEAD + rows_of(ROWS))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "bench-suite-scores.csv").write_bytes(content)
    done = call("keep", "suite.toml", "--results", "kept")
    assert done.returncode == 1
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "mlruns" / "suites").exists()


@pytest.mark.parametrize("part", ["differences", "budgets"])
def test_what_a_grid_will_be_added_to_is_read_before_anything_is_computed(call, tmp_path, part):
    (tmp_path / "suite.toml").write_text(HEAD + rows_of(ROWS))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / f"bench-suite-{part}.csv").write_text("data,row\ntoy\n")
    done = call("keep", "suite.toml", "--results", "kept")
    assert done.returncode == 1
    assert f"bench-suite-{part}.csv, entry 1, 2 cells, expected a cell in each column" in done.stderr
    assert not (tmp_path / "mlruns" / "suites").exists()


def test_a_file_with_the_name_of_a_registered_suite_has_nothing_to_do_with_its_kept_results(call, tmp_path):
    rows = rows_of({"eszsl": "eszsl(gamma=1, alpha=1)"})
    (tmp_path / "quick.toml").write_text(HEAD.replace('name = "toy"', 'name = "digit-pairs"') + rows)
    done = call("keep", "quick.toml", "-q")
    assert done.returncode == 2
    assert "has the name of the registered suite quick, whose results are kept under it" in " ".join(
        done.stderr.split()
    )
    assert call("keep", "quick.toml", "--results", "own", "-q").returncode == 0
    assert "kept results: 2 of 2" in call("keep", "quick.toml", "--results", "own", "-q").stdout

"""The tables of a suite have all of its cells that are done, whichever command carried them out, and say how many."""

import json

import numpy as np
import pytest
from support import lines_of

pytestmark = pytest.mark.long

SUITE = """
trials = 2
repeats = 2
workers = 1
tasks = ["zsl", "retrieval"]
only_tested = ["retrieval"]
differences = [["weighted", "plain"]]
[[data]]
name = "toy"
dataset = "marked"
[[data]]
name = "elsewhere"
dataset = "AWA9(features=surf)"
[[row]]
name = "plain"
method = "plain(mix=0.3)"
[[row]]
name = "weighted"
method = "plain"
"""


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory, carried_out):
    """The folder of a suite whose rows two commands carried out, with what these said."""
    folder, told = tmp_path_factory.mktemp("rows"), []
    (folder / "suite.toml").write_text(SUITE)
    for row in ("plain", "weighted"):
        done = carried_out(folder, "bench", "suite.toml", "--only", row, "--json")
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout))
    return folder, told


def test_commands_for_a_part_add_to_the_tables_and_say_how_many_cells_these_hold(one_by_one):
    folder, (first, second) = one_by_one
    assert (first["cells_in_tables"], first["cells_of_suite"]) == (2, 8)
    assert (second["cells_in_tables"], second["cells_of_suite"]) == (4, 8)
    # A command tells of what it was asked for.
    assert [score["row"] for score in second["scores"]] == ["weighted"] * 2
    tables = folder / "mlruns" / "suites" / "suite"
    scores = lines_of(tables / "scores.csv")
    assert [(s["row"], s["task"]) for s in scores] == [
        (row, task) for row in ("plain", "weighted") for task in ("zsl", "retrieval")
    ]
    for score, told in zip(scores, [*first["scores"], *second["scores"]], strict=True):
        assert float(score["test"]) == pytest.approx(told["test"], abs=0)
        assert score["spread"] == str(told["spread"])
    # A difference of rows that two commands carried out.
    assert {(d["task"], d["data"]) for d in lines_of(tables / "differences.csv")} == {
        (task, "toy") for task in ("zsl", "retrieval")
    }
    assert [line["row"] for line in lines_of(tables / "budgets.csv")] == ["plain", "weighted"]
    provenance = json.loads((tables / "provenance.json").read_text())
    assert provenance["cells"] == {"done": 4, "skipped": 4}


def test_a_command_for_a_part_with_other_trials_takes_nothing_out(one_by_one, call):
    store = one_by_one[0] / "mlruns"
    more = ("--trials", 3, "--store", store, "--data-root", one_by_one[0])
    done = call("bench", one_by_one[0] / "suite.toml", "--only", "weighted", *more)
    assert done.returncode == 0, done.stderr
    assert f"tables: {store / 'suites' / 'suite'}, 4 of the suite's 8 cells" in done.stdout
    budgets = {line["row"]: line for line in lines_of(store / "suites" / "suite" / "budgets.csv")}
    assert {row: line["trials"] for row, line in budgets.items()} == {"plain": "2", "weighted": "3"}
    assert budgets["plain"]["unequal"] == "2 trials, others 3"


def test_draws_that_another_command_carried_out_are_in_the_mean(call, tmp_path):
    text = SUITE.replace('["zsl", "retrieval"]', '["zsl"]').replace('only_tested = ["retrieval"]\n', "")
    (tmp_path / "suite.toml").write_text(text.replace('method = "plain"\n', 'method = "plain(mix=0.7)"\n'))
    part = ("bench", "suite.toml", "--draws", 2, "--trials", 1, "--repeats", 1)
    folder = tmp_path / "mlruns" / "suites" / "suite-draws"
    assert call(*part, "--only", "plain").returncode == 0
    alone = lines_of(folder / "scores.csv")
    done = call(*part, "--only", "weighted")
    assert done.returncode == 0, done.stderr
    assert "ZSP403" not in done.stdout  # two draws are one data set
    together = lines_of(folder / "scores.csv")
    assert [(s["row"], s["draw"]) for s in together] == [
        *(("plain", "1"), ("weighted", "1"), ("plain", "2"), ("weighted", "2")),
        *(("plain", "mean"), ("weighted", "mean")),
    ]
    # The interval of the mean is that of the command that carried the draws out.
    assert [s for s in together if s["row"] == "plain"] == alone
    assert alone[-1]["low_classes"] < alone[-1]["test"] < alone[-1]["high_classes"]


BAD_ROW = """
[[row]]
name = "bad"
method = "trouble(trouble=raises)"
"""


def test_a_command_says_which_cells_of_the_suite_have_no_number(call, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE + BAD_ROW)
    command = ("bench", "suite.toml", "--trials", 1, "--repeats", 1, "--json")
    part = json.loads(call(*command, "--only", "plain").stdout)
    (missing,) = [one for one in part["findings"] if one["code"] == "ZSP402"]
    assert missing["text"] == (
        "4 of 6 cells have no number, of weighted, bad; first weighted on toy, task zsl (waiting: not carried out)"
    )
    whole = json.loads(call(*command).stdout)
    (missing,) = [one for one in whole["findings"] if one["code"] == "ZSP402"]
    assert missing["text"].startswith("2 of 6 cells have no number, of bad; first bad on toy, task zsl (failed: ")


def test_a_command_tells_of_given_classes_and_of_draws_apart(call, tmp_path):
    text = SUITE.replace('["zsl", "retrieval"]', '["zsl"]').replace('only_tested = ["retrieval"]\n', "")
    (tmp_path / "suite.toml").write_text(text)
    command = ("bench", "suite.toml", "--trials", 1, "--repeats", 1, "--json")
    given = json.loads(call(*command, "--only", "plain").stdout)
    drawn = json.loads(call(*command, "--only", "weighted", "--draws", 2).stdout)
    texts = [one["text"] for one in (*given["findings"], *drawn["findings"]) if one["code"] == "ZSP402"]
    assert [text.partition(";")[0] for text in texts] == [
        "1 of 2 cells have no number, of weighted",
        "2 of 4 cells have no number, of plain",
    ]


def test_a_suite_goes_on_with_earlier_data_after_newer_ones_of_the_same_name(call, tmp_path):
    """The file is changed, the suite is carried out on it, and the file is changed back."""
    suite = SUITE.replace('"marked"', '"birds"').partition('[[data]]\nname = "elsewhere"')
    rows = suite[2].partition("[[row]]")[2]
    (tmp_path / "suite.toml").write_text(f"{suite[0]}[[row]]{rows}")

    def change(seed):
        rng = np.random.default_rng(seed)
        y, S = np.repeat(np.arange(12), 10), rng.normal(size=(12, 5))
        X = S[y] + rng.normal(size=(120, 5))
        splits = {"train": np.arange(80), "test_unseen": np.arange(80, 120)}
        np.savez(tmp_path / "birds.npz", X=X, y=y, S=S, **splits)

    def bench(*more):
        told = ["--data-root", tmp_path, "--store", tmp_path / "s", "--out", tmp_path / "tables", "--json"]
        status, out, err = call("bench", tmp_path / "suite.toml", *told, *more)
        assert status == 0, err
        return {(s["row"], s["task"]): s["test"] for s in json.loads(out)["scores"]}

    found = []
    for seed in (0, 1, 0):
        change(seed)
        found.append(bench())
    assert found[0] == found[2] != found[1]
    assert all(line["low"] for line in lines_of(tmp_path / "tables" / "differences.csv"))
    store = ("--task", "zsl", "--store", tmp_path / "s", "--json")
    rows = json.loads(call("compare", "--dataset", "birds", *store)[1])[0]["rows"]
    older = {row["study"] for row in rows}
    change(2)
    assert bench("--only", "plain") != found[0]
    (content,) = json.loads(call("compare", *older, "--dataset", "birds", *store)[1])
    assert {row["study"] for row in content["rows"]} == older
    assert {row["unequal"].partition(";")[0] for row in content["rows"]} == {"other data"}
    # The suite is shown on the newest of its own data, whatever else was evaluated since.
    change(3)
    done = call(
        "run", "-m", "plain(mix=0.9)", "-d", "birds", "--test", "--data-root", tmp_path, "--store", tmp_path / "s"
    )
    assert done.returncode == 0, done.stderr
    (content,) = json.loads(call("compare", "--suite", "suite", "-d", "birds", *store)[1])
    assert [row["unequal"].partition(";")[0] for row in content["rows"]] == ["other data"]

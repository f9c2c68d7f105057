"""A suite as a grid: continued, isolated, shared between commands, with equal budgets that are recorded."""

import json
import sqlite3
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
from support import install_distribution, lines_of, tags_of

from zslplat.cli.grid_view import score_tables
from zslplat.errors import OutageError, StoreError
from zslplat.evidence.scores import Scored
from zslplat.registry import registry
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.suites import grid, runners
from zslplat.suites.cells import Cell, GridOptions
from zslplat.suites.result import GridResult
from zslplat.suites.suite import suite_from
from zslplat.suites.tables import tables_of

pytestmark = pytest.mark.long

DIGITS = {"name": "digits", "dataset": "digit-pairs"}

SUITE = """
trials = 2
repeats = 2
workers = 1
tasks = ["zsl", "retrieval"]
only_tested = ["retrieval"]
differences = [["weighted", "plain"]]
[metrics]
zsl = ["per_class_accuracy"]
retrieval = ["mAP"]
[[data]]
name = "toy"
dataset = "marked"
[[row]]
name = "plain"
method = "plain(mix=0.3)"
[[row]]
name = "weighted"
method = "plain"
"""
BAD_ROW = """
[[row]]
name = "bad"
method = "trouble(trouble=raises)"
"""
ABSENT = """
[[data]]
name = "elsewhere"
dataset = "AWA9(features=surf)"
"""


def trials_in(store):
    """Return {(study, number): record} of all trials."""
    query = (
        "select s.study_name, t.number, a.value_json from trials t join studies s on s.study_id = t.study_id "
        "join trial_user_attributes a on a.trial_id = t.trial_id where a.key = 'record'"
    )
    with closing(sqlite3.connect(store / "optuna.db")) as connection:
        rows = connection.execute(query).fetchall()
    assert len({row[:2] for row in rows}) == len(rows)
    return {(study, number): json.loads(json.loads(text)) for study, number, text in rows}


def evaluations_in(store):
    """Return [(study or run, key, metrics)] of all test evaluations; owners of runs have no name of their own."""
    with closing(sqlite3.connect(store / "optuna.db")) as connection:
        rows = connection.execute("select owner, key, content from zslplat_evaluations").fetchall()
    return sorted(
        (
            o if o.startswith("study:") else "run",
            k,
            json.loads(c)["metrics"]["mAP" if "mAP" in c else "per_class_accuracy"],
        )
        for o, k, c in rows
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory, carried_out):
    """The folder of a suite that was carried out without an interruption."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "suite.toml").write_text(SUITE)
    done = carried_out(folder, "bench", "suite.toml", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_every_cell_is_recorded_and_the_tables_say_what_it_gave(whole):
    folder, result = whole
    assert [(c["row"], c["task"], c["status"], c["new"]) for c in result["cells"]] == [
        (row, task, "done", True) for row in ("plain", "weighted") for task in ("zsl", "retrieval")
    ]
    scores = lines_of(folder / "out" / "scores.csv")
    assert [(s["row"], s["task"], s["metric"], s["draw"]) for s in scores] == [
        (row, task, metric, "given")
        for row in ("plain", "weighted")
        for task, metric in (("zsl", "per_class_accuracy"), ("retrieval", "mAP"))
    ]
    by_cell = {(c["row"], c["task"]): c for c in result["cells"]}
    trials = Counter(study for study, _ in trials_in(folder / "mlruns"))
    for score in scores:
        assert float(score["test"]) == pytest.approx(by_cell[score["row"], score["task"]]["value"])
        assert float(score["low"]) <= float(score["test"]) <= float(score["high"])
        assert score["spread"] != ""  # plain is random: two repeats
        assert score["trials"] == str(trials[by_cell[score["row"], "zsl"]["study"]])  # of the search, whatever the task
    differences = {(d["task"], d["data"]): d for d in lines_of(folder / "out" / "differences.csv")}
    values = {key: cell["value"] for key, cell in by_cell.items()}
    for task in ("zsl", "retrieval"):
        gap = values["weighted", task] - values["plain", task]
        assert float(differences[task, "toy"]["difference"]) == pytest.approx(gap)
        found = differences[task, "toy"]
        assert float(found["low_classes"]) + float(found["high_classes"]) == pytest.approx(2 * gap)
        assert found["verdict"].startswith(("ahead", "behind", "equal within", "not enough data"))
        assert 0 < float(found["p_holm"]) <= 1
    provenance = json.loads((folder / "out" / "provenance.json").read_text())
    assert provenance["cells"] == {"done": 4}
    assert {"numpy", "scipy", "scikit-learn"} <= set(provenance["libraries"])
    assert (provenance["seed"], provenance["repeats"]) == (0, 2)
    assert "commit" in provenance or provenance["version"]


def test_the_first_task_is_tuned_and_the_others_have_what_it_found(whole):
    folder, result = whole
    records = trials_in(folder / "mlruns")
    assert len(records) == 4  # two rows of two trials; retrieval is only tested
    with closing(sqlite3.connect(folder / "mlruns" / "optuna.db")) as connection:
        runs = connection.execute("select content from zslplat_evaluations where owner like 'run:%'").fetchall()
    asked = [json.loads(text)["experiment"] for (text,) in runs]
    studies = [cell["study"] for cell in result["cells"] if cell["task"] == "zsl"]
    for study in studies:
        best = max((r for (name, _), r in records.items() if name == study), key=lambda r: r["value"])
        found = {"mix": 0.3, **best["parameters"]}
        assert sum(experiment["method"] == str(Spec("plain", found)) for experiment in asked) == 2


def test_one_experiment_holds_the_grid_and_its_runs_say_which_cell_they_are_of(whole):
    store = whole[0] / "mlruns"
    with closing(sqlite3.connect(store / "mlflow.db")) as connection:
        query = "select e.name, count(*) from experiments e join runs r on r.experiment_id = e.experiment_id group by 1"
        assert [name for name, _ in connection.execute(query)] == ["suite: suite"]
    assert set(tags_of(store, "zslplat.suite")) == {"suite"}
    assert set(tags_of(store, "zslplat.suite.row")) == {"plain", "weighted"}
    assert set(tags_of(store, "zslplat.suite.data")) == {"toy"}
    # Retrieval has what was found for zsl.
    assert set(tags_of(store, "zslplat.suite.searched")) == {"zsl"}
    assert set(tags_of(store, "zslplat.suite.trials")) == {"2"}


def test_the_same_command_again_computes_nothing_and_writes_the_same(whole, call, tmp_path):
    folder, first = whole
    before = trials_in(folder / "mlruns"), evaluations_in(folder / "mlruns")
    (tmp_path / "suite.toml").write_text(SUITE)
    again = ("--out", "again", "--store", folder / "mlruns")
    done = call("bench", "suite.toml", *again, "--json")
    assert done.returncode == 0, done.stderr
    second = json.loads(done.stdout)
    assert [cell["new"] for cell in second["cells"]] == [False] * 4
    assert [cell["study"] for cell in second["cells"]] == [cell["study"] for cell in first["cells"]]
    assert (trials_in(folder / "mlruns"), evaluations_in(folder / "mlruns")) == before
    for name in ("scores.csv", "differences.csv", "budgets.csv"):
        assert (tmp_path / "again" / name).read_text() == (folder / "out" / name).read_text()


def test_a_grid_that_was_killed_goes_on_and_computes_nothing_twice(whole, leader, call, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE)
    command = ("bench", "suite.toml", "--out", "out")
    store = tmp_path / "mlruns"
    kept = {}
    for text in ("trial 0 (1 of 2)", "toy / plain / zsl", "toy / weighted / zsl"):
        running = leader(*command, TROUBLE_PAUSE="0.1")
        running.wait_for(text)
        running.kill()
        now = trials_in(store)
        # What is recorded stays as it is, to the second in which it ended.
        assert {key: now[key] for key in kept} == kept
        kept = now
    assert kept
    done = call(*command, "-q")
    assert done.returncode == 0, done.stderr
    ended = trials_in(store)
    assert {key: ended[key] for key in kept} == kept
    reference = trials_in(whole[0] / "mlruns")
    values = {key: (r["parameters"], r["value"]) for key, r in reference.items()}
    assert {key: (r["parameters"], r["value"]) for key, r in ended.items()} == values
    assert evaluations_in(store) == evaluations_in(whole[0] / "mlruns")
    assert (tmp_path / "out" / "scores.csv").read_text() == (whole[0] / "out" / "scores.csv").read_text()


def test_two_commands_share_a_grid(whole, leader, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE)
    first, second = (
        leader("bench", "suite.toml", "--out", out, "--json", TROUBLE_PAUSE="0.1") for out in ("one", "two")
    )
    results = [json.loads(done.stdout) for done in (first.wait(800), second.wait(800)) if done.returncode == 0]
    assert len(results) == 2
    assert evaluations_in(tmp_path / "mlruns") == evaluations_in(whole[0] / "mlruns")
    # Each cell was computed by one of them.
    for ours, theirs in zip(results[0]["cells"], results[1]["cells"], strict=True):
        assert ours["new"] + theirs["new"] == 1
        assert (ours["study"], ours["value"]) == (theirs["study"], theirs["value"])
    assert (tmp_path / "one" / "scores.csv").read_text() == (tmp_path / "two" / "scores.csv").read_text()


def test_a_row_that_fails_leaves_the_others_alone_and_absent_data_are_no_failure(call, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE.replace("[[row]]", BAD_ROW + "[[row]]", 1) + ABSENT)
    done = call("bench", "suite.toml", "--out", "out", "--only", "elsewhere")
    assert done.returncode == 0, done.stderr
    assert "left out: elsewhere: " in done.stdout
    assert not (tmp_path / "out").exists()
    done = call("bench", "suite.toml", "--out", "out")
    assert done.returncode == 1
    assert "failed: toy / bad / zsl: " in done.stdout
    assert "failed: toy / bad / retrieval: zsl failed, whose parameters it would have had" in done.stdout
    assert "this goes wrong" in done.stdout
    assert "4 done, 2 failed, 6 skipped" in done.stdout
    assert [s["row"] for s in lines_of(tmp_path / "out" / "scores.csv")] == ["plain"] * 2 + ["weighted"] * 2


def test_budgets_are_equal_and_what_is_not_is_marked(call, tmp_path):
    text = SUITE.replace('tasks = ["zsl", "retrieval"]\nonly_tested = ["retrieval"]', 'tasks = ["zsl"]')
    text = text.replace('retrieval = ["mAP"]\n', "") + (
        '[[row]]\nname = "fixed"\nmethod = "plain(ridge=1, mix=0.1)"\n'
        '[[row]]\nname = "third"\nmethod = "plain(mix=0.7)"\n'
        '[[row]]\nname = "steps"\nmethod = "stepwise(epochs=3, ridge=1)"\n'
        '[[row]]\nname = "more steps"\nmethod = "stepwise(epochs=4, ridge=1)"\n'
    )
    (tmp_path / "suite.toml").write_text(text)
    assert call("bench", "suite.toml", "--only", "third", "--trials", 3, "--repeats", 1, "-q").returncode == 0
    done = call("bench", "suite.toml", "--out", "out", "--repeats", 1)
    assert done.returncode == 0, done.stderr
    budgets = {line["row"]: line for line in lines_of(tmp_path / "out" / "budgets.csv")}
    assert {row: line["trials"] for row, line in budgets.items()} == {
        **{"plain": "2", "weighted": "2", "fixed": "1", "third": "3", "steps": "2", "more steps": "2"}
    }
    assert {row: line["unequal"] for row, line in budgets.items()} == {
        **{"plain": "", "weighted": "", "fixed": "nothing is searched", "third": "3 trials, others 2"},
        **{"steps": "at most 3 epochs, others 4", "more steps": "at most 4 epochs, others 3"},
    }
    assert all(float(line["seconds"]) > 0 for line in budgets.values())
    assert 1 <= float(budgets["steps"]["chosen_epoch"]) <= 3
    assert "nothing is searched" in done.stdout


def test_a_metric_that_no_record_has_is_named(call, tmp_path):
    text = SUITE.replace('["per_class_accuracy"]', '["per_class_top_5"]').replace(  # of four classes
        'method = "plain"\n', 'method = "plain(mix=0.1)"\n'
    )
    (tmp_path / "suite.toml").write_text(text)
    done = call("bench", "suite.toml", "--only", "plain", "--trials", 1, "--repeats", 1)
    assert done.returncode == 1
    assert "metric 'per_class_top_5' of task zsl is recorded of no row; recorded are" in done.stdout


def test_suites_of_plugins_are_found_by_name(call, tmp_path, monkeypatch):
    (tmp_path / "lab.toml").write_text(SUITE)
    source = (
        "from zslplat.api import hookimpl\nZSLPLAT_API = '1.0'\n@hookimpl\ndef zslplat_suites():\n"
        f"    return {{'lab': {str(tmp_path / 'lab.toml')!r}, 'odd': 3, 'given': dict(tasks=['zsl'], "
        "data=[dict(name='d', dataset='marked')], row=[dict(name='r', method='plain')])}\n"
    )
    folder = install_distribution(tmp_path / "plugin", "zslplat-lab", "lab_suites", source)
    monkeypatch.syspath_prepend(str(folder))
    registry.cache_clear()
    listed = json.loads(call("list", "suites", "--json").stdout)
    summaries = {row["name"]: row["summary"] for row in listed["components"]}
    assert {"lab", "given", "quick", "zero-shot"} <= set(summaries)
    assert "minutes" in summaries["quick"]
    plugins = json.loads(call("plugins", "list", "--json").stdout)
    (broken,) = [p for p in plugins if p["plugin"] == "lab_suites" and "broken" in p["state"]]
    assert "suite 'odd' is 3, expected the path of a TOML file" in broken["state"]
    planned = json.loads(call("bench", "given", "--dry-run", "--probe", 0, "--json").stdout)
    assert [(c["data"], c["row"], c["task"]) for c in planned["cells"]] == [("d", "r", "zsl")]
    assert json.loads(call("bench", "lab", "--dry-run", "--probe", 0, "--json").stdout)["suite"] == "lab"
    checked = call("plugins", "check", "zslplat-lab")
    assert "suite_is_sound" in checked.stdout


def files_of(store):
    """Return {path: content} of what a store holds beside its databases, and what is recorded in these."""
    apart = (".db", ".db-wal", ".db-shm", ".lock")
    files = {p: p.read_bytes() for p in store.rglob("*") if p.is_file() and not p.name.endswith(apart)}
    return files, trials_in(store), evaluations_in(store), tags_of(store, "zslplat.key")


def test_a_dry_run_says_what_is_done_and_writes_nothing(whole, call, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE + ABSENT)
    done = call("bench", "suite.toml", "--dry-run", "--probe", 20, "--store", "none", "--json")
    assert done.returncode == 0, done.stderr
    planned = json.loads(done.stdout)
    assert not (tmp_path / "none").exists()
    assert {cell["status"] for cell in planned["cells"]} == {"waiting", "skipped"}
    waiting = [cell for cell in planned["cells"] if cell["status"] == "waiting"]
    assert {cell["source"] for cell in waiting} == {"timed"}
    assert planned["seconds"] == pytest.approx(sum(cell["estimated_seconds"] for cell in waiting))
    assert min(planned["seconds"], planned["memory_bytes"]) > 0
    store = whole[0] / "mlruns"
    before = files_of(store)
    more = ("--trials", 5, "--store", store)
    planned = json.loads(call("bench", "suite.toml", "--dry-run", *more, "--json").stdout)
    cells = {(c["data"], c["row"], c["task"]): c for c in planned["cells"]}
    assert cells["toy", "plain", "zsl"]["missing_trials"] == 3
    assert cells["toy", "plain", "zsl"]["source"] == "records"
    planned = json.loads(call("bench", "suite.toml", "--dry-run", "--store", store, "--json").stdout)
    assert {c["status"] for c in planned["cells"] if c["data"] == "toy"} == {"done"}
    assert planned["seconds"] == 0
    assert "done" in call("bench", "suite.toml", "--dry-run", "--store", store).stdout
    assert files_of(store) == before


def test_a_dry_run_counts_a_study_of_two_rows_once(call, tmp_path):
    twin = SUITE + '[[row]]\nname = "twin"\nmethod = "plain(mix=0.3)"\n'
    (tmp_path / "suite.toml").write_text(twin)
    planned = json.loads(call("bench", "suite.toml", "--dry-run", "--probe", 20, "--json").stdout)
    cells = {(c["row"], c["task"]): c for c in planned["cells"]}
    assert {c["source"] for (row, _), c in cells.items() if row == "twin"} == {"shared"}
    own = [cells[row, task]["estimated_seconds"] for row in ("plain", "weighted") for task in ("zsl", "retrieval")]
    assert planned["seconds"] == pytest.approx(sum(own))
    assert min(own) > 0
    shown = call("bench", "suite.toml", "--dry-run", "--probe", 0).stdout
    assert "shared: the same study as that of another row" in shown


def test_a_lock_that_cannot_be_written_is_an_error_and_no_reason_to_wait(tmp_path, monkeypatch):
    """Waiting for another command, which does not exist, would never end."""
    monkeypatch.setattr(runners, "_lock_name", lambda piece: "taken")
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    (settings.store / "suites" / "taken.lock").mkdir(parents=True)
    suite = suite_from("one", {"tasks": ["zsl"], "data": [DIGITS], "row": [{"name": "eszsl", "method": "eszsl"}]})
    with pytest.raises(StoreError, match=r"cannot write .*taken\.lock"):
        grid.carry_out(suite, GridOptions(trials=1), settings)


def test_a_grid_whose_database_stays_away_ends_and_does_not_wait_again_for_every_cell(tmp_path, monkeypatch):
    tried = []

    def stay_away(*given):
        tried.append(given)
        raise OutageError("the store does not answer")

    monkeypatch.setattr(runners, "run_study", stay_away)
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    rows = [{"name": name, "method": name} for name in ("eszsl", "sae")]
    suite = suite_from("two", {"tasks": ["zsl"], "data": [DIGITS], "row": rows})
    with pytest.raises(OutageError):
        grid.carry_out(suite, GridOptions(trials=1), settings)
    assert len(tried) == 1


def test_two_ways_of_one_task_are_told_apart():
    """Data sets and rows may need options of their own, but one row under two of them answers two questions."""
    tasks = ["zsl", "zsl(folds=2)"]
    names = [{"name": name, "method": "eszsl"} for name in ("a", "b")]
    content = {"tasks": tasks, "data": [DIGITS], "row": names, "differences": [["a", "b"]]}
    suite = suite_from("two", {**content, "metrics": {"zsl": ["accuracy"]}})
    values = {("a", "zsl"): 0.9, ("b", "zsl"): 0.5, ("a", "zsl(folds=2)"): 0.4, ("b", "zsl(folds=2)"): 0.6}
    scores = {
        ("digits", row, task, None): Scored(
            *(row, row, row), {"accuracy": [value]}, {"accuracy": np.full((1, 9), value)}, {}, "same"
        )
        for (row, task), value in values.items()
    }
    result = GridResult(suite, tuple(Cell(*key) for key in scores), scores=scores)
    found = {(line[0], line[4]): line[5] for line in tables_of(result).differences}
    assert found == {
        ("zsl", "digits"): pytest.approx(0.4),
        ("zsl(folds=2)", "digits"): pytest.approx(-0.2),
    }
    shown = [str(table.columns[1]._cells) for table in score_tables(result)]
    assert ["0.900" in shown[0], "0.400" in shown[1]] == [True, True]

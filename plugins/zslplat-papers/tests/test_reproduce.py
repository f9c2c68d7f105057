"""Tables made again: marked stand-ins, isolated failures, resumption, and an oracle that nothing selects by."""

import json
import re
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from support import evaluations_of, trials_of

import zslplat_papers.reproduction.reproduce as module
from zslplat.data.dataset import SignatureSet
from zslplat.errors import StoreError, UnknownNameError, UsageError
from zslplat.evaluation.components import open_dataset
from zslplat.evaluation.experiment import Experiment
from zslplat.records.database import Records
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.suites.entries import EntryReader
from zslplat_papers.published import load_table, read_table
from zslplat_papers.reproduction.cells import Budget, planned
from zslplat_papers.reproduction.oracle import _oracle
from zslplat_papers.reproduction.recipe import load_recipe, read_recipe
from zslplat_papers.reproduction.reproduce import keep_cells, other_data, reproduce
from zslplat_papers.reproduction.results import read_results

TABLE = """
paper = "000"
label = "Table 0"
title = "made up"
where = "nowhere"
kind = "table"
status = "unchecked"
source = "a test"
measures = "accuracy"
metric = "per_class_accuracy"
unit = "%"
better = "higher"
split = "its own"
features = "its own"
protocol = "none"
[[columns]]
id = "here"
data = "here"
[[columns]]
id = "elsewhere"
data = "elsewhere"
[[rows]]
id = "plain"
label = "Plain"
method = "plain"
own = true
cells = ["99.9", "50.0"]
[[rows]]
id = "failing"
label = "Failing"
method = "failing"
cells = ["10.0", "50.0"]
"""
RECIPE = """
metric = "per_class_accuracy"
[protocol]
printed = "as printed"
ours = "as here"
[printed]
task = "zsl"
trials = 2
repeats = 1
[ours]
task = "zsl"
trials = 4
repeats = 2
[rows]
plain = { printed = "plain(mix=0.3)", ours = "plain" }
failing = { ours = "plain(fail_above=0, mix=0.5)" }
[columns.here]
dataset = "marked"
[columns.elsewhere]
dataset = "elsewhere"
get = "fmd"
[[standins]]
id = "other"
of = "elsewhere"
dataset = "marked(noise_seed=1)"
differs = "other noise"
"""


@pytest.fixture
def made_up(call, new_store, tmp_path, monkeypatch):
    """A published table of two rows and a recipe of it; data of one column are there. Returns its settings."""
    (tmp_path / "made-up.toml").write_text(TABLE)
    (tmp_path / "recipe").mkdir()
    (tmp_path / "recipe" / "made-up.toml").write_text(RECIPE)
    monkeypatch.setattr(module, "load_table", lambda name: read_table(tmp_path / f"{name}.toml"))
    monkeypatch.setattr(module, "load_recipe", lambda name: read_recipe(tmp_path / "recipe" / f"{name}.toml"))
    monkeypatch.chdir(tmp_path)
    return resolve_settings({"store": new_store()})


def made(settings, **options):
    return reproduce("made-up", settings, Budget(workers=1), **options)


def by_name(found):
    return {(one.cell.row, one.cell.place.id, one.cell.way): one for one in found.made}


@pytest.mark.long
def test_data_that_only_have_the_name_of_the_papers_are_not_compared(made_up, monkeypatch):
    data = open_dataset(Spec.parse("marked"), made_up)
    n, d = data.X.shape
    facts = {"rows": n, "classes": len(data.class_names), "dimensions": d}
    facts["attributes"] = data.signature_set().values.shape[1]
    assert other_data(data, facts | {"rows": n + 1}) == f"other data than the paper's: {n} rows, not {n + 1}"
    words = replace(data, signatures={"words": SignatureSet(np.ones((len(data.class_names), 3))), **data.signatures})
    assert other_data(replace(words, default_signatures=next(iter(data.signatures))), facts) == ""
    known = {"marked": facts}
    monkeypatch.setattr(module, "facts_of_data", lambda: known)
    verdicts = [made(made_up, only=["plain/here"], ways=["ours"]).made[0].verdict]
    known["marked"] = facts | {"dimensions": 2048}
    verdicts.append(made(made_up, only=["plain/here"], ways=["ours"]).made[0].verdict)
    assert [one.verdict for one in verdicts] == ["below", "not compared"]
    assert verdicts[1].why == f"other data than the paper's: {d} dimensions, not 2048"


def count_of_evaluations(settings):
    with sqlite3.connect(settings.store / "optuna.db") as connection:
        return connection.execute("select count(*) from zslplat_evaluations").fetchone()[0]


@pytest.mark.long
def test_a_table_is_made_again_as_far_as_its_data_are_there(made_up, tmp_path):
    found = made(made_up)
    cells = by_name(found)
    assert set(cells) == {
        ("plain", "here", "printed"),
        ("plain", "here", "ours"),
        ("failing", "here", "ours"),
        ("plain", "other", "printed"),
        ("plain", "other", "ours"),
        ("failing", "other", "ours"),
    }
    ours = cells["plain", "here", "ours"]
    assert ours.cell.printed == pytest.approx(0.999)
    assert (ours.repeats, ours.trials, cells["plain", "here", "printed"].trials) == (2, 4, 2)
    assert ours.low < ours.ours < ours.high < 0.999
    assert ours.verdict.verdict == "below"
    # A stand-in is marked and not compared, although the number of its column is known.
    standin = cells["plain", "other", "ours"].to_json()
    assert (standin["verdict"], standin["why"], standin["paper"]) == ("not compared", "other noise", None)
    # A cell that fails says why, and leaves the others alone.
    failing = cells["failing", "here", "ours"]
    assert failing.status == "failed"
    assert "more than this method can take" in failing.verdict.why
    # What is not there says how to get it.
    assert [(one.column, "Flickr" in one.how) for one in found.missing] == [("elsewhere", True)]
    assert len(found.to_json()["cells"]) == 6


@pytest.mark.long
def test_the_same_call_trains_nothing_again(made_up):
    first = by_name(made(made_up, only=["plain/here"]))
    trials, evaluations = trials_of(made_up.store), count_of_evaluations(made_up)
    again = by_name(made(made_up, only=["plain/here"]))
    assert trials_of(made_up.store) == trials
    assert count_of_evaluations(made_up) == evaluations
    assert {k: one.ours for k, one in again.items()} == {k: one.ours for k, one in first.items()}


@pytest.mark.long
def test_a_cell_says_the_trials_and_seconds_of_its_study_whoever_made_them(made_up):
    first = made(made_up, only=["plain/here"], ways=["ours"]).made[0]
    budget = Budget(trials=2, workers=1)
    again = reproduce("made-up", made_up, budget, only=["plain/here"], ways=["ours"]).made[0]
    assert (again.study, again.trials) == (first.study, 4)
    assert again.seconds == first.seconds > 0


@pytest.mark.long
def test_an_error_of_any_kind_is_the_affair_of_its_cell(made_up, monkeypatch):
    whole = module.run_study

    def run_study(experiment, options, *rest):
        if "mix" in experiment.method.parameters:
            raise ValueError("no such shape")
        return whole(experiment, options, *rest)

    monkeypatch.setattr(module, "run_study", run_study)
    printed, ours = made(made_up, only=["plain/here"]).made
    assert (printed.status, ours.status) == ("failed", "done")
    assert "no such shape" in printed.verdict.why


@pytest.mark.long
def test_what_was_found_stays_where_the_oracle_has_no_price(made_up, monkeypatch):
    def score_trials(*arguments, **options):
        raise StoreError("its winner has no such metric")

    monkeypatch.setattr(module, "score_trials", score_trials)
    one = made(made_up, only=["plain/here"], ways=["ours"], oracle=True).made[0]
    assert (one.status, one.verdict.verdict, one.oracle) == ("done", "below", None)


def test_the_oracle_takes_the_least_where_less_is_better(made_up):
    found = _oracle({0: 5.0, 1: 3.0, 2: 9.0}, {}, "incoherence", 0, "study", less_is_better=True)
    assert (found.trial, found.best, found.gain, found.gain_by_metric) == (1, 3.0, 2.0, None)
    table = load_table("000-table-4")
    cells, _ = planned(table, load_recipe(table.id), made_up)
    assert {cell.less_is_better for cell in cells} == {True}


def test_only_what_is_asked_for_is_carried_out(made_up):
    found = made(made_up, only=["plain/here"], ways=["ours"], dry_run=True)
    assert list(by_name(found)) == [("plain", "here", "ours")]
    assert found.made[0].status == "planned"
    with pytest.raises(UnknownNameError, match="did you mean plain"):
        made(made_up, only=["plian"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"only": ["other"], "standins": False}, "--only 'other': other is a stand-in, and these are left out"),
        ({"only": ["plain/here", "failing/other"], "standins": False}, "--only 'failing/other': other is a stand-in"),
        (
            {"only": ["failing/here"], "ways": ["printed"]},
            "--only 'failing/here': failing has no way printed (--way); it has: ours",
        ),
        ({"only": ["/here"], "ways": []}, "--only '/here': no row has the way none"),
        ({"ways": []}, "table made-up has no cell in the way none"),
    ],
)
def test_what_leaves_nothing_to_carry_out_is_an_error_of_use(made_up, options, said):
    for dry_run in (True, False):
        with pytest.raises(UsageError, match=re.escape(said)):
            made(made_up, dry_run=dry_run, **options)


@pytest.mark.long
def test_the_oracle_changes_neither_trials_nor_winner_nor_what_is_compared(made_up, call, tmp_path):
    chosen = {"only": ["plain/here"], "ways": ["ours"]}
    bare = made(made_up, **chosen).made[0]
    trials, tested = trials_of(made_up.store), evaluations_of(made_up.store)
    best = (made_up.studies / bare.study / "best.toml").read_text()
    compared = call("compare", "-d", "marked", "--json")
    priced = made(made_up, **chosen, oracle=True).made[0]
    assert priced.oracle.trials == 4
    assert priced.oracle.gain >= 0
    assert trials_of(made_up.store) == trials
    assert {k: v for k, v in evaluations_of(made_up.store).items() if k in tested} == tested
    assert (made_up.studies / bare.study / "best.toml").read_text() == best
    assert (priced.ours, priced.low, priced.high) == (bare.ours, bare.low, bare.high)
    assert (
        json.loads(call("compare", "-d", "marked", "--json").stdout)[0]["rows"]
        == json.loads(compared.stdout)[0]["rows"]
    )


@pytest.mark.long
def test_the_oracle_is_the_best_of_the_same_trials_and_nobody_recalls_what_it_scored(made_up, call):
    from zslplat.space import Choice
    from zslplat.tuning.options import EvaluationOptions
    from zslplat.tuning.single import run_experiment
    from zslplat.tuning.sweep import run_sweep

    cell = made(made_up, only=["plain/here"], ways=["ours"], oracle=True).made[0]
    experiment, trials = cell.cell.experiment, trials_of(made_up.store)

    # A point of a sweep keeps no outcomes per row, and would be content with what the oracle recorded.
    values = next(t[2] for t in trials if t[0] != cell.oracle.winner)
    one = Experiment(experiment.method.with_parameters({"ridge": values["ridge"]}), experiment.dataset, experiment.task)
    result = run_sweep(one, "mix", Choice((values["mix"],)), EvaluationOptions(test=True, workers=1), made_up)
    # Two repeats of the winner, four trials of the oracle, and this point: each is a look at the test split.
    assert result.test_evaluations == 7

    with sqlite3.connect(made_up.store / "optuna.db") as connection:
        query = "select content from zslplat_evaluations where owner like 'oracle:%'"
        run = json.loads(connection.execute(query).fetchone()[0])["run"]
    done = call("rerun", run)
    assert done.returncode == 1
    assert "oracle" in done.stderr
    assert call("store", "check").returncode == 0

    by_hand = []
    for _, _, parameters, *_ in trials:
        one = Experiment(experiment.method.with_parameters(parameters), experiment.dataset, experiment.task)
        by_hand.append(
            run_experiment(one, EvaluationOptions(test=True, workers=1), made_up).metrics[0]["per_class_accuracy"]
        )
    assert cell.oracle.best == max(by_hand)
    assert by_hand[cell.oracle.trial] == max(by_hand)
    assert cell.oracle.chosen == by_hand[cell.oracle.winner]


def oracle_records(settings):
    """Return {(owner, key): content} of all that the oracle recorded."""
    with sqlite3.connect(settings.store / "optuna.db") as connection:
        query = "select owner, key, content from zslplat_evaluations where owner like 'oracle:%' order by id"
        return {(owner, key): json.loads(content) for owner, key, content in connection.execute(query)}


@pytest.mark.long
def test_what_the_oracle_recorded_counts_where_it_is_of_this_experiment_and_code_and_complete(made_up):
    chosen = {"only": ["plain/here"], "ways": ["ours"], "oracle": True}
    cell, first = made(made_up, **chosen).made[0], oracle_records(made_up)
    owner = f"oracle:{cell.study}"
    assert sorted(first) == [(owner, f"trial-{number}") for number in range(4)]
    other = {"metrics": {cell.cell.place.metric: 2.0}, "folds": []}  # no share, and ahead of all
    changes = [{"state": "failed", "metrics": {}, "folds": []}, {"question": "another"} | other, {"code": {}} | other]
    records = Records(made_up, print)
    for number, change in enumerate(changes):
        records.replace_evaluation(owner, f"trial-{number}", first[owner, f"trial-{number}"] | change)
    records.close()
    tampered = oracle_records(made_up)
    assert made(made_up, **chosen).made[0].oracle == cell.oracle
    found = oracle_records(made_up)
    # What does not count stays: it was a look at the test split.
    assert {place: found[place] for place in tampered} == tampered
    assert set(found) - set(tampered) == {(owner, f"trial-{number}/again-1") for number in range(3)}
    assert made(made_up, **chosen).made[0].oracle == cell.oracle
    assert oracle_records(made_up) == found


@pytest.mark.long
def test_what_the_oracle_scored_of_a_study_is_deleted_with_it(made_up, call):
    printed, ours = made(made_up, only=["plain/here"], oracle=True).made
    owners = [owner for owner, _ in oracle_records(made_up)]
    assert owners == [f"oracle:{printed.study}"] * 2 + [f"oracle:{ours.study}"] * 4
    store = ("--store", made_up.store)
    asked = call("studies", "delete", ours.study, *store)
    assert asked.returncode == 2
    assert "4 trials, 2 test evaluations, 4 evaluations of its oracle, which" in asked.stderr
    done = call("studies", "delete", ours.study, *store, "--yes")
    assert f"deleted study {ours.study}: 4 trials, 2 test evaluations, 4 evaluations of its oracle, " in done.stdout
    assert [owner for owner, _ in oracle_records(made_up)] == owners[:2]
    done = call("studies", "delete", printed.study, *store, "--yes", "--json")
    assert json.loads(done.stdout)["oracle"] == 2
    assert oracle_records(made_up) == {}


@pytest.mark.long
def test_a_plan_of_a_suite_does_not_take_what_the_oracle_scored_for_done(made_up):
    cell = made(made_up, only=["plain/here"], ways=["ours"], oracle=True).made[0]
    asked = cell.cell.experiment
    values = next(t[2] for t in trials_of(made_up.store) if t[0] != cell.oracle.winner)
    experiment = Experiment(asked.method.with_parameters(values), asked.dataset, asked.task)
    recorded = EntryReader(made_up, Records(made_up, print), by_data=False)
    assert recorded._tested(experiment, 1) is None


@pytest.mark.long
def test_a_cell_that_is_kept_with_more_trials_stays(made_up, tmp_path):
    found = made(made_up, only=["plain/here"], ways=["ours"])
    folder, told = tmp_path / "kept", []
    keep_cells(found, folder, told.append)
    (one,) = found.made
    fewer = replace(one, trials=one.trials - 1, ours=0.123)
    assert keep_cells(replace(found, made=[fewer]), folder, told.append) is None
    assert told == ["made-up: 1 of 1 cells are kept already with more trials or repeats, or with an oracle, and stay"]
    (line,) = read_results("reproduce-made-up", folder)
    assert line["trials"] == str(one.trials)
    more = replace(one, trials=one.trials + 1, ours=0.123)
    keep_cells(replace(found, made=[more]), folder, told.append)
    (line,) = read_results("reproduce-made-up", folder)
    assert (line["ours"], line["trials"]) == ("0.123", str(one.trials + 1))
    assert len(told) == 1


@pytest.mark.long
def test_an_oracle_that_is_kept_is_not_lost_by_a_call_without_one(made_up, tmp_path):
    folder, told, asked = tmp_path / "kept", [], {"only": ["plain/here"], "ways": ["ours"]}
    priced, again = (made(made_up, **asked, oracle=True) for _ in range(2))
    keep_cells(priced, folder, told.append)
    before = read_results("reproduce-made-up", folder)
    plain, own = made(made_up, **asked), priced.made[0]
    # What the oracle took is read from the records, by a call that finds it there, too.
    assert plain.made[0].seconds < again.made[0].seconds == pytest.approx(own.seconds)
    for found in (plain, replace(priced, made=[replace(own, repeats=own.repeats - 1)])):
        assert keep_cells(found, folder, told.append) is None
    assert read_results("reproduce-made-up", folder) == before
    assert [line.endswith("or with an oracle, and stay") for line in told] == [True, True]
    keep_cells(replace(plain, made=[replace(plain.made[0], trials=own.trials + 1)]), folder, told.append)
    assert told[2] == "made-up: 1 of 1 cells were kept with the oracle of fewer trials; give --oracle"


@pytest.mark.long
def test_kept_lines_say_where_they_come_from_and_replace_their_like(made_up, tmp_path):
    found = made(made_up, only=["plain/here"], ways=["ours"])
    folder = tmp_path / "kept"
    keep_cells(found, folder)
    keep_cells(found, folder)
    (line,) = read_results("reproduce-made-up", folder)
    assert float(line["ours"]) == pytest.approx(found.made[0].ours, rel=1e-5)
    assert line["stand_in"] == "no"
    assert line["commit"]
    assert "numpy" in line["versions"]
    assert float(line["hours"]) >= 0
    assert line["seed"] == "0"

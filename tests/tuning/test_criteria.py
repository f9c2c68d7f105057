"""By which metric a study selects: its names, two at once, and the same trials whatever happens on the way."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from support import evaluations_of, records_of, trials_of
from zero_shot_toys import Bilinear, outcome, toy

from zslplat.errors import UnknownNameError, UsageError
from zslplat.evaluation.criteria import choices_of, criteria_of, front_of, search_entry, values_of
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.records.trials import FinishedTrial
from zslplat.space import Real
from zslplat.tasks.base import Metric
from zslplat.tuning.proposals import Proposer

H, SECONDS = Metric("calibrated_H"), Metric("seconds", maximise=False)
SPACE = {"a": Real(0.0, 1.0), "b": Real(0.0, 1.0)}


@pytest.mark.parametrize(
    ("task", "text", "expected"),
    [
        (GeneralizedZeroShot(), None, ["AUSUC"]),
        (GeneralizedZeroShot(), "ausuc", ["AUSUC"]),
        (GeneralizedZeroShot(), "h", ["H"]),
        (GeneralizedZeroShot(), "Calibrated_h", ["calibrated_H"]),
        (GeneralizedZeroShot(), " H , Seconds", ["H", "seconds"]),
        (GeneralizedZeroShot(), ["H", "AUSUC"], ["H", "AUSUC"]),
        (ZeroShot(), "t1", ["per_class_accuracy"]),
        (ZeroShot(top_k=3), "PER_CLASS_TOP_3", ["per_class_top_3"]),
        (ExemplarRetrieval(), "MAP", ["mAP"]),
    ],
)
def test_a_metric_is_known_by_its_name_or_an_alias_in_whatever_case(task, text, expected):
    assert [one.name for one in criteria_of(task, text)] == expected


@pytest.mark.parametrize("text", ["xyz", "bias", "mAP"])
def test_a_wrong_one_lists_the_metrics_of_the_task(text):
    with pytest.raises(UnknownNameError, match=r"AUSUC.*U_to_U.*calibrated_H"):
        criteria_of(GeneralizedZeroShot(), text)


@pytest.mark.parametrize("text", ["seconds", "seconds,H", "H,H", "H,AUSUC,seconds"])
def test_seconds_never_come_first_and_there_are_two_at_most(text):
    with pytest.raises(UsageError, match="--metric"):
        criteria_of(GeneralizedZeroShot(), text)


def test_the_tasks_own_metric_is_no_other_study():
    assert search_entry(GeneralizedZeroShot(), "ausuc") == search_entry(GeneralizedZeroShot(), None) == {}
    assert search_entry(GeneralizedZeroShot(), "h,seconds") == {"metric": "H,seconds"}
    assert search_entry(ZeroShot(), "accuracy") == {}


def test_a_metric_that_a_task_minimises_is_minimised():
    class Errors(ZeroShot):
        minimised = frozenset({"per_sample_accuracy"})

    assert criteria_of(Errors(), "per_sample_accuracy") == (Metric("per_sample_accuracy", maximise=False),)


def test_values_are_means_over_the_folds():
    folds = [{"seconds": {"fit_and_score": 1.0}}, {"seconds": {"fit_and_score": 3.0}}]
    record = {"metrics": {"calibrated_H": 0.5}, "folds": folds}
    assert values_of(record, (H, SECONDS)) == (0.5, 2.0)


def test_the_front_is_what_nothing_beats_in_both():
    rng = np.random.default_rng(0)
    points = rng.integers(0, 9, (60, 1)) + rng.integers(0, 3, (60, 2))
    trials = [FinishedTrial(i, "complete", {}, h, {}, (s,)) for i, (h, s) in enumerate(points)]
    trials[7] = FinishedTrial(7, "failed", {}, None)

    def beats(one, other):
        better = one.value >= other.value and one.further <= other.further
        return better and (one.values != other.values or one.number < other.number)

    expected = {t.number for t in trials if t.values and not any(beats(o, t) for o in trials if o.values)}
    front = front_of(trials, (H, SECONDS))
    assert set(front) == expected
    assert len(front) > 2
    assert [trials[i].value for i in front] == sorted((trials[i].value for i in front), reverse=True)


def proposer():
    return Proposer(seed=0, batch_size=4, space=SPACE, fixed={}, defaults={}, sampler="nsga2", maximise=[True, False])


def finished(number, values):
    if number % 7 == 6:
        return FinishedTrial(number, "failed", values, None)
    return FinishedTrial(number, "complete", values, values["a"] - values["b"] ** 2, {}, (values["a"],))


def test_proposals_for_two_metrics_follow_from_earlier_batches_alone_and_approach_the_front():
    kept, trials = proposer(), []
    for batch in range(20):
        proposals = kept.batch(batch, trials)
        assert proposals == proposer().batch(batch, trials)  # as after a kill, inside a generation or at its beginning
        trials += [finished(len(trials) + i, values) for i, values in enumerate(proposals)]
    # The front has b = 0, whatever a is.
    first, last = (np.mean([t.parameters["b"] for t in part]) for part in (trials[:12], trials[-12:]))
    assert last < 0.75 * first


def test_the_calibrated_metrics_of_validation_are_those_with_the_bias_that_the_refit_gets():
    task, data = GeneralizedZeroShot(), toy(seed=1)
    problems = task.validation(data)
    outcomes = [outcome(task, Bilinear(), problem) for problem in problems]
    before = [dict(one.metrics) for one in outcomes]
    assert not any("calibrated_H" in metrics for metrics in before)
    choices = task.validation_choices(outcomes)
    task.settle(outcomes)
    for problem, one, plain in zip(problems, outcomes, before, strict=True):
        assert one.metrics == outcome(task, Bilinear(), problem, choices).metrics
        assert one.metrics.items() >= plain.items()
        assert one.metrics["calibrated_H"] <= one.metrics["oracle_H"]


@pytest.mark.parametrize("metric", ["AUSUC", "H", "calibrated_H", "U_to_U", "S_to_S", "U_to_T", "S_to_T"])
def test_chance_is_what_random_scores_reach_by_any_metric(metric):
    task = GeneralizedZeroShot()
    task = task.optimising(task.metric(metric))
    problem = task.test(toy(seed=1, rows=400))
    rng = np.random.default_rng(0)
    names = ["T", "U->U", "S->S"]
    values = []
    for _ in range(20):
        scores = rng.random((len(problem.truth["y_pool"]), len(problem.inputs["seen"])))
        rows = {name: problem.truth.get(f"rows:{name}", slice(None)) for name in names}
        columns = {name: problem.inputs.get(f"classes:{name}", slice(None)) for name in names}
        outputs = {name: scores[rows[name]][:, columns[name]] for name in names}
        plain = task.score(problem, outputs, {}, full=False)
        values.append(task.score(problem, outputs, plain.validation_choices, full=False).metrics[task.primary.name])
    assert np.mean(values) == pytest.approx(task.chance(problem), rel=0.15)


TUNE = ("tune", "-m", "plain", "-d", "marked", "-t", "gzsl", "--repeats", 1, "--json")


@pytest.mark.long
def test_a_study_selects_by_the_metric_and_is_another_study(call, tmp_path):
    usual = json.loads(call(*TUNE, "--trials", 6, "--workers", 1).stdout)
    done = call(*TUNE, "--trials", 6, "--workers", 2, "--metric", "U_to_U")
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)
    assert study["name"] != usual["name"]
    assert (study["primary"], study["criteria"], study["front"]) == ("U_to_U", ["U_to_U"], [])
    of_study = [r for r in records_of(tmp_path / "mlruns") if r["value"] == r["metrics"]["U_to_U"]]
    assert len(of_study) == 6
    assert of_study[study["winner"]]["value"] == max(r["value"] for r in of_study)
    (shown,) = json.loads(call("compare", "-t", "gzsl", "--all", "--json").stdout)
    assert shown["metric"] == "AUSUC"  # the task's own, where they differ
    assert {row["selected_by"]: row["unequal"] for row in shown["rows"]} == {
        "AUSUC": "selected by AUSUC",
        "U_to_U": "selected by U_to_U",
    }
    listed = {one["study"]: one["selected_by"] for one in json.loads(call("studies", "list", "--json").stdout)}
    assert listed == {usual["name"]: "AUSUC", study["name"]: "U_to_U"}


@pytest.mark.long
def test_the_step_of_an_iterative_method_is_chosen_by_the_metric_and_a_rerun_gives_it_again(call, tmp_path):
    options = ("tune", "-m", "stepwise", "-d", "marked", "-t", "gzsl", "--json", "--repeats", 1, "--trials", 1)
    done = call(*options, "--metric", "H", "--workers", 1)
    assert done.returncode == 0, done.stderr
    (record,) = records_of(tmp_path / "mlruns")
    curves = np.array([fold["by_step"]["H"] for fold in record["folds"]])
    assert record["value"] == pytest.approx(curves.mean(axis=0).max())
    assert list(record["steps"].values()) == pytest.approx(curves.mean(axis=0).tolist())
    again = call("rerun", record["run"], "--check", "--workers", 1)
    assert again.returncode == 0, again.stdout


@pytest.mark.long
def test_two_metrics_give_a_front_and_the_same_trials_in_pieces(call, tmp_path):
    (tmp_path / "study.toml").write_text("batch_size = 2\n")
    options = (*TUNE, "--metric", "H,AUSUC", "--config", tmp_path / "study.toml")
    assert call(*options, "--workers", 1, "--trials", 5).returncode == 0
    done = call(*options, "--workers", 1, "--trials", 14)
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)
    (tmp_path / "other").mkdir()
    whole = call(*options, "--workers", 3, "--trials", 14, cwd=tmp_path / "other")
    assert whole.returncode == 0, whole.stderr
    assert trials_of(tmp_path / "mlruns") == trials_of(tmp_path / "other" / "mlruns")
    records = {record["number"]: record for record in records_of(tmp_path / "mlruns")}
    values = {n: (r["metrics"]["H"], r["metrics"]["AUSUC"]) for n, r in records.items()}
    assert study["winner"] == study["front"][0]
    assert values[study["winner"]][0] == max(h for h, _ in values.values())
    assert all(math.isfinite(v) for v in values[study["winner"]])
    assert evaluations_of(tmp_path / "mlruns")


def test_what_each_metric_would_have_chosen_is_of_complete_trials_and_the_first_of_equals():
    def record(number, ausuc, h, state="complete"):
        return {"number": number, "state": state, "metrics": {"AUSUC": ausuc, "calibrated_H": h}}

    records = [record(0, 0.1, 0.5), record(1, 0.3, 0.4), record(2, 0.2, 0.5), record(3, 0.9, 0.9, "pruned")]
    tests = [{"winner": 1, "metrics": {"AUSUC": value, "calibrated_H": 0.7}} for value in (0.1, 0.2)]
    assert choices_of(records, GeneralizedZeroShot(), "AUSUC", tests) == [
        {"metric": "AUSUC", "trial": 1, "value": 0.3, "AUSUC there": 0.3, "test": pytest.approx(0.15)},
        {"metric": "calibrated_H", "trial": 0, "value": 0.5, "AUSUC there": 0.1, "test": None},
    ]
    assert choices_of(records[3:], GeneralizedZeroShot(), "AUSUC") == []

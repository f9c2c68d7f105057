"""The gate: the interval decides, validation alone is scored, looks are counted, and a loop rarely fools itself."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from support import rows_of

from zslplat.errors import StoreError
from zslplat.evaluation.reporter import SilentReporter
from zslplat.settings import resolve_settings
from zslplat.statistics import LEAST_CLASSES, estimate_mean
from zslplat.suites.gate import CANNOT_TELL, FAIL, NUMBERS, PASS, Gate, gate, verdict_of_gap

BASE = ("tune", "ridge-prototypes", "--trials", 2, "--study", "base", "-w", 1, "-q")
DATA = ("-d", "shared-space")
NEW = ("tune", "eszsl", "--trials", 2, "--study", "new", "-w", 1, "-q")


def interval(values, looks):
    """Return the interval of Student's t test by the textbook."""
    half = stats.t.ppf(1 - 0.05 / looks / 2, len(values) - 1) * stats.sem(values)
    return values.mean() - half, values.mean() + half


@pytest.mark.parametrize("looks", [1, 10, 200])
def test_the_whole_interval_on_one_side_of_the_margin_decides(looks):
    values = np.linspace(-0.1, 0.14, 25)  # symmetric: Hall's transformation changes nothing
    low, high = interval(values, looks)
    gap = estimate_mean(values)
    assert verdict_of_gap(gap, 0.0, looks)[1] == pytest.approx((low, high))
    for margin, verdict in (
        *((-low + 1e-6, PASS), (-low - 1e-6, CANNOT_TELL)),
        *((-high + 1e-6, CANNOT_TELL), (-high - 1e-6, FAIL)),
    ):
        assert verdict_of_gap(gap, margin, looks)[0] == verdict


def test_few_classes_and_no_classes_decide_nothing():
    request = Gate("new", "base", "per_class_accuracy", margin=0.4, looks=1)
    few = request.decided(estimate_mean(np.full(LEAST_CLASSES - 1, 0.5)))
    assert (few.verdict, few.exit_code, few.reason) == (CANNOT_TELL, 3, "5 classes, and 6 are the fewest on validation")
    assert request.decided(None).reason == "no values per class on validation"
    assert request.decided(estimate_mean(np.full(LEAST_CLASSES, 0.5))).verdict == PASS
    unknown = request.decided(replace(estimate_mean(np.full(LEAST_CLASSES, 0.5)), error=np.nan))
    assert unknown.lines(numbers=True)[0] == ("cannot tell: nothing is known of the spread on validation")


@pytest.mark.parametrize(
    ("difference", "margin", "sentence"),
    [
        (0.2, 0.0, "pass: new is better than base"),
        (0.2, 0.1, "pass: new is not worse than base by more than 0.1"),
        (0.2, -0.1, "pass: new is better than base by more than 0.1"),
        (-0.2, 0.0, "fail: new is worse than base"),
        (-0.2, 0.1, "fail: new is worse than base by more than 0.1"),
        (0.0, -0.1, "fail: new is not better than base by more than 0.1"),
        (0.0, 0.0, "cannot tell: these classes do not decide at --looks 1"),
    ],
)
def test_a_verdict_is_a_sentence_without_numbers_of_the_classes(difference, margin, sentence):
    values = difference + np.linspace(-0.01, 0.01, 25)
    said = Gate("new", "base", "H", margin=margin, looks=1).decided(estimate_mean(values))
    first, last = said.lines(numbers=False)
    assert first == f"{sentence} on validation H"
    assert last == "look 0 at these validation classes; 100.0% of the budget is left"
    assert {said.to_json(numbers=False)[name] for name in NUMBERS} == {None}
    assert said.to_json(numbers=True)["difference"] == pytest.approx(difference)
    assert f"{difference:+.4f} [" in said.lines(numbers=True)[1]


def test_a_loop_of_tries_without_gain_rarely_has_a_pass_with_the_budget_and_nearly_always_without():
    rng, loops, tries = np.random.default_rng(3), 60, 100
    gaps = [[estimate_mean(rng.normal(0, 0.05, 40)) for _ in range(tries)] for _ in range(loops)]

    def passed(looks):
        return sum(any(verdict_of_gap(gap, 0.0, looks)[0] == PASS for gap in loop) for loop in gaps)

    assert passed(1) > 0.8 * loops
    assert passed(tries) <= stats.binom.ppf(0.999, loops, 0.025)


@pytest.fixture
def ask(arranged, call):
    """Two studies of a few trials, and the way to ask the gate about them."""
    arranged(BASE, NEW)

    def ask(*options, new="new", base="base"):
        done = call("gate", new, "--against", base, *options, "--json", "--numbers")
        return done.returncode, json.loads(done.stdout)

    return ask


def evaluations(store):
    return rows_of(store / "optuna.db", "select owner, key, split from zslplat_evaluations order by id")


@pytest.mark.long
def test_the_difference_is_that_of_the_validation_scores_and_the_test_split_is_not_looked_at(ask, call, tmp_path):
    before = evaluations(tmp_path / "mlruns")
    code, said = ask("--margin", 0.5)
    assert (code, said["verdict"], said["recorded"]) == (0, PASS, False)
    values = {}
    for study in ("new", "base"):
        trials = json.loads(call("studies", "show", study, "--json").stdout)["trials"]
        values[study] = max(trial["value"] for trial in trials)
    # Folds have equally many classes, so the mean over classes is that over folds.
    assert said["difference"] == pytest.approx(values["new"] - values["base"])
    assert said["low"] < said["difference"] < said["high"]
    assert (said["classes"], said["look"], said["left"]) == (60, 1, pytest.approx(1 - 1 / 200))
    assert said["standard_error"] > 0
    assert evaluations(tmp_path / "mlruns") == before
    code, said = ask("--margin", -0.5)
    assert (code, said["verdict"], said["look"]) == (4, FAIL, 2)
    code, said = ask("--margin", -said["difference"])
    assert (code, said["verdict"], said["look"]) == (3, CANNOT_TELL, 3)


@pytest.mark.long
def test_the_same_question_is_asked_once_and_a_spent_budget_decides_nothing(ask, call, tmp_path):
    first, again = ask("--looks", 2)[1], ask("--looks", 2)[1]
    assert again == {**first, "recorded": True}
    assert ask("--looks", 2, new="base", base="new")[1]["left"] == 0
    code, said = ask("--margin", 0.5)
    assert (code, said["verdict"], said["difference"]) == (3, CANNOT_TELL, None)
    assert "a look takes" in said["reason"]
    # Another store takes over what was looked at; what lies in files is made again with the same numbers.
    assert call("store", "merge", tmp_path / "mlruns", "--store", "other").returncode == 0
    assert ask("--looks", 2, "--store", "other")[1]["recorded"]
    assert call("store", "gc").returncode == 0
    assert call("store", "check").returncode == 0
    assert ask("--looks", 2)[1]["recorded"]


@pytest.mark.long
def test_calls_side_by_side_have_a_look_each_and_no_more_than_the_budget(ask, call, tmp_path):
    """Both score the winner of the base at the same time; of three looks two are in the budget."""
    settings = resolve_settings({"store": tmp_path / "mlruns"})

    def decided(margin):
        return gate(settings, "new", "base", SilentReporter(), margin=margin, looks=2)

    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(decided, (0.5, 0.4, 0.3)))
    passed = [said.look for said in answers if said.verdict == PASS]
    assert sorted(passed) == [1, 2]
    assert [said.left for said in answers if said.verdict == CANNOT_TELL] == [0]
    paths = json.loads(call("store", "gc", "--dry-run", "--json").stdout)["paths"]
    assert [path for path in paths if "evaluations" in path] == []


@pytest.mark.long
def test_the_budget_is_that_of_the_classes_whatever_the_task_and_the_metric(ask, call):
    assert ask("--looks", 2)[1]["left"] == 0.5
    for study, line in (("new-h", NEW), ("base-h", BASE)):
        assert call(*line[:4], "--study", study, "-t", "gzsl", "-w", 1, "-q").returncode == 0
    said = ask("--looks", 2, new="new-h", base="base-h")[1]
    assert (said["metric"], said["look"], said["left"]) == ("AUSUC", 2, 0)


@pytest.mark.long
def test_a_call_that_failed_leaves_its_look_to_the_same_question(ask, monkeypatch, tmp_path):
    monkeypatch.setattr("zslplat.suites.gate._validated", lambda *a: (_ for _ in ()).throw(StoreError("gone")))
    with pytest.raises(StoreError, match="gone"):
        gate(resolve_settings({"store": tmp_path / "mlruns"}), "new", "base", SilentReporter(), margin=0.5, looks=2)
    monkeypatch.undo()
    code, said = ask("--margin", 0.5, "--looks", 1)
    assert (code, said["look"], said["looks"], said["left"], said["recorded"]) == (0, 1, 2, 0.5, False)


@pytest.mark.long
def test_it_leaves_nothing_that_is_not_recorded_and_the_reverse_question_has_the_reverse_answer(ask, call):
    first = ask("--margin", 0.3)[1]
    second = ask("--margin", 0.3, new="base", base="new")[1]
    assert (second["difference"], second["standard_error"]) == (
        pytest.approx(-first["difference"]),
        pytest.approx(first["standard_error"]),
    )
    paths = json.loads(call("store", "gc", "--dry-run", "--json").stdout)["paths"]
    assert [path for path in paths if "evaluations" in path] == []


@pytest.mark.long
def test_what_cannot_be_compared_is_refused_with_what_to_do(ask, call):
    code, said = ask(base="new")
    assert (code, "given twice" in said["error"]) == (2, True)
    assert call(*NEW[:3], 3, "--study", "longer", "-w", 1, "-q").returncode == 0
    code, said = ask(new="longer")
    assert (code, "unequal budgets; tune both with --trials 3" in said["error"]) == (
        2,
        True,
    )
    assert call(*NEW[:4], "--study", "seeded", "--seed", 1, "-w", 1, "-q").returncode == 0
    code, said = ask(new="seeded")
    assert (code, "not validated on the same; tune both with one seed" in said["error"]) == (2, True)
    assert call("tune", "cosine-signatures", *DATA, "--study", "fixed", "-w", 1, "-q").returncode == 0
    assert call("tune", "cosine-adapter", *DATA, "--trials", 2, "--study", "searched", "-w", 1, "-q").returncode == 0
    code, said = ask(new="searched", base="fixed")
    assert (code, "fixed has nothing to search: tune the other with --trials 1" in said["error"]) == (2, True)
    assert ask("--margin", 0.9, new="fixed", base="searched")[0] == 0
    assert call("tune", "cosine-centred", *DATA, "--study", "joint", "-w", 1, "-q").returncode == 0
    code, said = ask(new="joint", base="fixed")
    assert (code, "transductive): a verdict would be on unequal knowledge" in said["error"]) == (2, True)
    assert ask("--margin", 0.9, new="fixed", base="joint")[0] == 0
    code, said = ask(new="nothing")
    assert (code, "unknown study or method" in said["error"]) == (2, True)


@pytest.mark.long
def test_a_winner_is_scored_at_its_own_value_of_a_costly_hyperparameter(call, arranged):
    arranged(BASE, ("tune", "conse", "--space", "C=0.5..2:log", "--trials", 2, "--study", "costly", "-w", 1, "-q"))
    done = call("gate", "costly", "--against", "base", "--json", "--numbers")
    assert done.returncode in (0, 3, 4), done.stderr
    assert json.loads(done.stdout)["difference"] is not None

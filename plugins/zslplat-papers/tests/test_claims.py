"""Claims: each has an experiment or says what is missing; differences and verdicts follow from test evaluations."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import zslplat_papers.reproduction.claims as module
from zslplat.errors import DataError, UnknownNameError
from zslplat.evaluation.components import build_component
from zslplat.evaluation.reporter import SilentReporter
from zslplat.evidence.scores import Scored
from zslplat.registry import component
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.statistics import NOT_ENOUGH, estimate_mean
from zslplat.suites.cells import Cell, GridOptions
from zslplat.suites.entries import Entry
from zslplat.suites.result import GridResult
from zslplat.suites.suite import suite_from
from zslplat_papers.published import load_claims
from zslplat_papers.reproduction.claim_tests import (
    SUITES,
    ClaimTest,
    ClaimTests,
    Term,
    load_claim_tests,
    needed_rows,
    read_claim_tests,
    suite_of,
)
from zslplat_papers.reproduction.claims import keep_claims, recorded_claims, run_claims
from zslplat_papers.reproduction.contrasts import contrast, contrasts_of, named
from zslplat_papers.reproduction.page import pages
from zslplat_papers.reproduction.results import read_file
from zslplat_papers.reproduction.suite_results import keep_grid
from zslplat_papers.reproduction.verdicts import CLASSES, DRAWS, HOLDS, HOLDS_NOT, NOT_TESTED, SEEDS

ROOT = Path(__file__).parents[3]
EXPERIMENTS = load_claim_tests()
ALL = [one for several in EXPERIMENTS.tested.values() for one in several]


def test_every_claim_has_one_kind_of_experiment_or_says_what_is_missing():
    for claim in load_claims():
        e = EXPERIMENTS
        kinds = [claim.id in kind for kind in (e.tested, e.measured, e.shown, e.untested)]
        assert sum(kinds) == 1, claim.id


@pytest.mark.parametrize("name", sorted({one.suite for one in ALL}))
def test_the_suite_of_an_experiment_has_its_rows_tasks_and_data(name):
    suite = suite_of(name)
    tests = [one for one in ALL if one.suite == name]
    rows = {row.name: row for row in suite.rows}
    assert set(needed_rows(tests)) <= set(rows)
    for one in tests:
        assert set(one.data) <= {data.name for data in suite.data}
        for term in (term for side in one.sides for term in side):
            tasks = {t for data in suite.data for t in suite.tasks_of(rows[term.row], data)}
            assert term.task in {*tasks, *(task.partition("(")[0] for task in tasks)}, (one.claim, term)


@pytest.mark.parametrize("path", sorted(SUITES.glob("*.toml")), ids=lambda path: path.stem)
def test_components_of_the_packaged_suites_exist(path):
    suite = suite_of(path.stem)
    for row in suite.rows:
        component("methods", row.spec.name).build(row.spec.parameters)
        for data in suite.data:
            for task in suite.tasks_of(row, data):
                build_component("tasks", Spec.parse(task))


def test_a_claim_that_tests_show_names_tests_that_exist():
    for by, _ in EXPERIMENTS.shown.values():
        for test in by:
            path, _, function = test.partition("::")
            assert f"def {function}(" in (ROOT / path).read_text(), test


ALSO = """[[tested]]
claim = "002-kernel-beats-linear"
suite = "s"
task = "zsl"
metrics = ["m"]
pairs = [["a", "b"]]
"""


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ('[[tested]]\nclaim = "nobody"', "no paper claims 'nobody'"),
        ('[[tested]]\nclaim = "002-kernel-beats-linear"\nsuite = "s"', "neither pairs nor terms"),
        ('[[tested]]\nclaim = "002-kernel-beats-linear"\nsuite = "s"\nsurprise = 1', "surprise"),
        ('[[tested]]\nclaim = "000-lambda-must-balance"\nsuite = "s"', "peaks"),
        (f'{ALSO}also = {{ suite = "s", data = ["a"] }}', "also of another suite"),
        (f'{ALSO}also = {{ suite = "t" }}', "also of another suite, with suite and data"),
    ],
)
def test_a_broken_experiment_is_refused(tmp_path, entry, named):
    (tmp_path / "claim_tests.toml").write_text(entry)
    with pytest.raises(DataError, match=named):
        read_claim_tests(tmp_path / "claim_tests.toml")


def scored(name, values, *, repeats=1, rows="same", seed=0, numbers=None):
    """Return the test evaluations of a method with accuracies (C,) of the classes, or with ``numbers`` per repeat."""
    if numbers is not None:
        return Scored(name, name, name, {"incoherence": numbers}, {}, {}, rows)
    values = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(seed).integers(len(values), size=(400, len(values)))
    replicates = values[drawn].mean(axis=1)[None].repeat(repeats, axis=0)
    found = Scored(name, name, name, {"accuracy": [values.mean()] * repeats}, {"accuracy": replicates}, {}, rows)
    return replace(found, classes={"accuracy": values[None].repeat(repeats, axis=0)}, kinds=np.zeros(len(values), int))


def pair(metric="accuracy", task="zsl"):
    return (Term("a", task, metric, 1), Term("b", task, metric, -1))


def test_a_difference_is_over_new_classes_where_there_are_values_per_class():
    a, b = scored("a", [0.9, 0.8, 0.7, 0.9]), scored("b", [0.5, 0.7, 0.6, 0.4])
    found = contrast("digits", pair(), [a, b])
    gaps = np.array([0.4, 0.1, 0.1, 0.5])
    assert found.over == CLASSES
    assert found.difference == pytest.approx(0.275)
    assert (found.low, found.high) == pytest.approx(estimate_mean(gaps).ends)


def test_a_difference_of_gains_is_taken_class_by_class():
    terms = (*pair(), Term("a", "gzsl", "accuracy", -1), Term("b", "gzsl", "accuracy", 1))
    sides = [scored("a", x) for x in ([0.9, 0.8, 0.7], [0.5, 0.6, 0.4], [0.6, 0.7, 0.5], [0.4, 0.5, 0.5])]
    found = contrast("digits", terms, sides)
    gaps = np.array([0.9 - 0.5 - 0.6 + 0.4, 0.8 - 0.6 - 0.7 + 0.5, 0.7 - 0.4 - 0.5 + 0.5])
    assert found.difference == pytest.approx(gaps.mean())
    assert (found.low, found.high) == pytest.approx(estimate_mean(gaps).ends)


def test_without_values_per_class_it_is_over_draws_and_then_over_seeds():
    a, b = (replace(scored(n, v), classes={}, kinds=None) for n, v in (("a", [0.9, 0.8]), ("b", [0.1, 0.3])))
    assert contrast("digits", pair(), [a, b]).over == DRAWS
    a, b = scored("a", None, numbers=[70.0, 74.0, 72.0]), scored("b", None, numbers=[200.0, 204.0, 208.0])
    found = contrast("digits", pair("incoherence"), [a, b])
    assert (found.over, found.difference) == (SEEDS, pytest.approx(-132))
    assert found.high < 0
    alone = contrast("digits", pair("incoherence"), [scored("a", None, numbers=[70.0]), b])
    assert alone.low is None


def test_differences_are_taken_where_all_sides_were_carried_out():
    tested = ClaimTest("claim", "suite", (pair(),), "higher")
    a, b = scored("a", [0.9, 0.8]), scored("b", [0.1, 0.3])
    scores = {
        ("x", "a", "zsl(folds=2)", None): a,
        ("x", "b", "zsl(folds=2)", None): b,
        ("y", "a", "zsl", None): a,
        ("y", "b", "gzsl", None): b,
        ("z", "a", "zsl", 1): a,
        ("z", "b", "zsl", 1): b,
    }
    assert [one.of for one in contrasts_of(tested, scores)] == ["x: a - b (accuracy)"]
    assert contrasts_of(replace(tested, data=("y",)), scores) == []


def test_without_results_nothing_is_tested_and_it_says_how(tmp_path):
    found = {judged.claim.id: judged for judged in recorded_claims((), tmp_path)}
    assert found["002-kernel-beats-linear"].verdict.verdict == NOT_TESTED
    assert "zslplat claims 002-kernel-beats-linear --run" in found["002-kernel-beats-linear"].verdict.why
    assert "Flickr" in found["004-best-on-materials"].verdict.why
    assert found["002-factor-carries-the-problem"].verdict.verdict == HOLDS
    with pytest.raises(UnknownNameError, match="did you mean 002-kernel-beats-linear"):
        recorded_claims(["002-kernel-beats-liner"], tmp_path)


@pytest.fixture
def plain_claims(tmp_path, monkeypatch):
    """Three claims on a suite of two rows, of which the first is far ahead; returns the claims, and what was asked."""
    content = {
        "tasks": ["zsl"],
        "data": [{"name": "marked", "dataset": "digit-pairs"}, {"name": "away", "dataset": "away"}],
        "row": [{"name": name, "method": "eszsl"} for name in ("a", "b", "unasked")],
    }
    suite = suite_from("plain", content)
    up, down = pair(), (Term("b", "zsl", "accuracy", 1), Term("a", "zsl", "accuracy", -1))
    names = ("002-kernel-beats-linear", "003-centre-loss-helps", "003-attributes-beat-labels")
    tested = {
        names[0]: (ClaimTest(names[0], "plain", (up,), "higher"),),
        names[1]: (ClaimTest(names[1], "plain", (down,), "higher"),),
        names[2]: (ClaimTest(names[2], "plain", (up, down), "higher", "all"),),
    }
    asked = []

    def carry_out(suite, options, settings, reporter):
        asked.extend(options.only)
        a, b = scored("a", [0.9, 0.8, 0.9, 0.7, 0.8, 0.88]), scored("b", [0.3, 0.2, 0.4, 0.1, 0.2, 0.3])
        cells = (Cell("marked", "a", "zsl", status="done", seconds=60.0), Cell("away", "a", "zsl", status="skipped"))
        return GridResult(suite, cells, scores={("marked", "a", "zsl", None): a, ("marked", "b", "zsl", None): b})

    monkeypatch.setattr(module, "suite_of", lambda name, settings=None: suite)
    monkeypatch.setattr(module, "load_claim_tests", lambda: ClaimTests(tested, {}, {}))
    monkeypatch.setattr(module, "carry_out", carry_out)
    return names, asked


def test_claims_are_judged_by_what_the_suite_gives_and_kept(plain_claims, tmp_path):
    names, asked = plain_claims
    found = run_claims(names, resolve_settings({"store": tmp_path / "mlruns"}), GridOptions(trials=3))
    assert [judged.verdict.verdict for judged in found] == [HOLDS, HOLDS_NOT, HOLDS_NOT]
    # What nobody compares is not carried out.
    assert set(asked) == {"marked/a", "marked/b", "away/a", "away/b"}
    (line,) = found[0].lines
    assert (line["contrast"], line["over"], line["trials"]) == ("marked: a - b (accuracy)", CLASSES, 3)
    keep_claims(found, tmp_path / "kept")
    again = recorded_claims(names, tmp_path / "kept")
    assert [judged.verdict for judged in again] == [judged.verdict for judged in found]
    text = "\n".join(pages(tmp_path / "kept").values())
    assert f"## {names[0]}\n" in text
    assert f"**Holds**: {found[0].verdict.why}." in text
    assert found[0].verdict.why.startswith("+0.580 [")
    assert found[0].verdict.why.endswith("] over 1 data set")


def test_a_claim_whose_cells_failed_says_so(plain_claims, tmp_path, monkeypatch):
    names, _ = plain_claims
    cells = (Cell("marked", "a", "zsl", status="failed", reason="no room"),)
    monkeypatch.setattr(module, "carry_out", lambda suite, options, settings, reporter: GridResult(suite, cells))
    (judged,) = run_claims(names[:1], resolve_settings({"store": tmp_path / "mlruns"}))
    assert judged.verdict.verdict == NOT_TESTED
    assert "1 cells failed, the first: marked / a / zsl: no room" in judged.verdict.why
    assert judged.failed == ("marked / a / zsl: no room",)


def test_a_grid_is_kept_with_its_provenance(plain_claims, tmp_path):
    a, b = scored("a", [0.9, 0.8]), scored("b", [0.3, 0.2])
    suite = replace(module.suite_of("plain"), metrics={"zsl": ("accuracy",)}, differences=(("a", "b"),))
    scores = {("marked", name, "zsl", None): one for name, one in (("a", a), ("b", b))}
    cells = tuple(Cell("marked", name, "zsl") for name in ("a", "b"))
    files = keep_grid(GridResult(suite, cells, scores=scores), tmp_path)
    assert [path.name for path in files] == ["bench-plain-scores.csv", "bench-plain-differences.csv"]
    (line,) = read_file(files[1])
    assert (line["ahead"], line["behind"], line["difference"], line["seed"]) == ("a", "b", "0.6", "0")
    assert line["commit"]
    assert len(read_file(files[0])) == 2
    keep_grid(GridResult(suite, cells, scores=scores), tmp_path)
    assert len(read_file(files[0])) == 2


def test_the_data_sets_of_a_grid_may_be_kept_one_by_one(plain_claims, tmp_path):
    a, b = scored("a", [0.9, 0.8]), scored("b", [0.3, 0.2])
    suite = replace(module.suite_of("plain"), metrics={"zsl": ("accuracy",)}, differences=(("a", "b"),))
    for data, seconds in (("marked", 3600.0), ("other", 7200.0)):
        scores = {(data, name, "zsl", None): one for name, one in (("a", a), ("b", b))}
        entry = Entry("study", {}, (0.5,), "accuracy", seconds=seconds)
        cells = tuple(Cell(*key) for key in scores)
        keep_grid(GridResult(suite, cells, {(data, "a", "zsl", None): entry}, scores), tmp_path)
    lines = read_file(tmp_path / "bench-plain-differences.csv")
    assert [line["data"] for line in lines] == ["marked", "other"]
    text = pages(tmp_path)["suites"]
    assert "marked" in text
    assert "other" in text
    assert "3.00 hours" in text


def test_differences_on_drawn_classes_take_no_place_of_those_on_the_given_ones(plain_claims, tmp_path):
    a, b = scored("a", [0.9, 0.8]), scored("b", [0.3, 0.2])
    suite = replace(module.suite_of("plain"), metrics={"zsl": ("accuracy",)}, differences=(("a", "b"),))
    for draws in ([None], [1, 2]):
        scores = {("marked", n, "zsl", draw): one for n, one in (("a", a), ("b", b)) for draw in draws}
        cells = tuple(Cell(*key) for key in scores)
        keep_grid(GridResult(suite, cells, scores=scores), tmp_path)
    lines = read_file(tmp_path / "bench-plain-differences.csv")
    assert sorted((line["data"], line["draw"]) for line in lines) == [
        ("marked", "given"),
        ("marked", "mean"),
    ]


def test_repeats_that_all_give_the_same_say_nothing_of_other_seeds():
    a, b = (scored(name, None, numbers=[value] * 3) for name, value in (("a", 70.0), ("b", 69.0)))
    assert contrast("digits", pair("incoherence"), [a, b]).low is None


def test_a_claim_about_all_its_comparisons_cannot_hold_where_one_is_not_carried_out(plain_claims, tmp_path):
    names, _ = plain_claims
    found = run_claims(names[2:], resolve_settings({"store": tmp_path / "mlruns"}))
    (ahead,) = [line for line in found[0].lines if line["verdict"] == HOLDS]
    keep_claims([replace(found[0], lines=[ahead])], tmp_path / "kept")
    (again,) = recorded_claims(names[2:], tmp_path / "kept")
    assert again.verdict.verdict == NOT_ENOUGH
    assert "b - a (accuracy): not carried out" in again.verdict.why


def test_a_difference_found_again_with_more_trials_is_no_second_difference(plain_claims, tmp_path):
    names, _ = plain_claims
    (found,) = run_claims(names[:1], resolve_settings({"store": tmp_path / "mlruns"}))
    (line,) = found.lines
    behind = {**line, "difference": -0.5, "low": -0.6, "high": -0.4, "trials": 2, "seed": 1}
    keep_claims([replace(found, lines=[behind, {**line, "trials": 30}])], tmp_path / "kept")
    (again,) = recorded_claims(names[:1], tmp_path / "kept")
    assert [one["trials"] for one in again.lines] == [30]
    assert again.verdict.verdict == HOLDS


def test_a_kept_difference_is_judged_by_what_is_claimed_now(plain_claims, tmp_path):
    names, _ = plain_claims
    (found,) = run_claims(names[:1], resolve_settings({"store": tmp_path / "mlruns"}))
    (line,) = found.lines
    gone = {**line, "contrast": "marked: a - c (accuracy)", "difference": -0.5, "low": -0.6, "high": -0.4}
    odd = {**line, "verdict": "does not hold", "direction": "level", "margin": 0.9}
    keep_claims([replace(found, lines=[gone, odd])], tmp_path / "kept")
    (again,) = recorded_claims(names[:1], tmp_path / "kept")
    assert again.verdict.verdict == HOLDS
    (left,) = again.lines
    told = ("contrast", "verdict", "direction", "margin")
    assert [left[name] for name in told] == [line[name] for name in told]


def test_an_experiment_can_be_of_a_second_suite_on_some_of_its_data(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text(f'{ALSO}apart = "other data"\nalso = {{ suite = "t", data = ["large"] }}')
    first, second = read_claim_tests(path).tested["002-kernel-beats-linear"]
    assert (first.suite, first.data, second.suite, second.data) == ("s", (), "t", ("large",))
    assert replace(second, suite="s", data=()) == first
    (found,) = recorded_claims(["001-beats-generalised"])
    assert found.experiment == "zero-shot, zero-shot-full"
    assert found.apart == "other data and features; tuned for recognition"  # once, for both


def test_a_term_without_a_task_or_a_metric_is_refused(tmp_path):
    term = '[[tested]]\nclaim = "003-centre-loss-helps"\nsuite = "plain"\n{}terms = [[{{ row = "a", sign = 1 }}]]'
    path = tmp_path / "e.toml"
    path.write_text(term.format('task = "zsl"\n'))
    with pytest.raises(DataError, match="has a term without a task or a metric"):
        read_claim_tests(path)
    path.write_text(term.format('task = "zsl"\nmetrics = ["nmi"]\n'))
    (one,) = read_claim_tests(path).tested["003-centre-loss-helps"]
    assert one.sides == ((Term("a", "zsl", "nmi", 1),),)


def test_several_terms_are_named_by_their_signs():
    side = (Term("a", "zsl", "x", 1), Term("b", "zsl", "x", -1), Term("c", "zsl", "y", 1), Term("d", "zsl", "y", -1))
    assert named("digits", side) == "digits: a x + c y - b x - d y"
    assert named("digits", side[:2]) == "digits: a - b (x)"


def test_a_difference_says_the_trials_that_its_searches_had(plain_claims, tmp_path, monkeypatch):
    names, _ = plain_claims
    whole = module.carry_out

    def carry_out(suite, options, settings, reporter):
        entries = {
            ("marked", row, "zsl", None): Entry("study", {}, (0.5,), "accuracy", trials=trials)
            for row, trials in (("a", 20), ("b", 12))
        }
        return replace(whole(suite, options, settings, reporter), entries=entries)

    class RecordedWarning(SilentReporter):
        def warn(self, text):
            warned.append(text)

    warned = []
    monkeypatch.setattr(module, "carry_out", carry_out)
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    (found,) = run_claims(names[:1], settings, GridOptions(trials=3), reporter=RecordedWarning())
    assert found.lines[0]["trials"] == 12
    assert warned == ["marked: a - b (accuracy): searches of 12, 20 trials are compared; --trials 20 makes them equal"]


def test_only_what_is_asked_for_is_carried_out(plain_claims, tmp_path):
    names, asked = plain_claims
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    with pytest.raises(UnknownNameError, match=r"that tests these claims \(--suite\) 'another'; known: plain"):
        run_claims(names, settings, suites=["another"])
    with pytest.raises(UnknownNameError, match=r"data set of what tests these claims \(--only\) 'elsewhere'; known: "):
        run_claims(names, settings, GridOptions(only=["elsewhere"]))
    assert asked == []
    run_claims(names[:1], settings, GridOptions(only=["marked"]))
    assert asked == ["marked/a", "marked/b"]


def test_class_folds_take_the_place_of_the_split_and_count_above_it_among_kept_differences(
    plain_claims, tmp_path, monkeypatch
):
    names, _ = plain_claims
    whole, carried = module.carry_out, []

    def carry_out(suite, options, settings, reporter):
        carried.append(suite.scheme)
        return whole(suite, options, settings, reporter)

    monkeypatch.setattr(module, "carry_out", carry_out)
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    (judged,) = run_claims(names[:1], settings, class_folds=5)
    assert carried == ["5 class folds"]
    (line,) = judged.lines
    split = {**line, "difference": -0.5, "low": -0.6, "high": -0.4, "trials": 99}
    keep_claims([replace(judged, lines=[split, {**line, "classes": 30}])], tmp_path / "kept")
    (again,) = recorded_claims(names[:1], tmp_path / "kept")
    assert [one["classes"] for one in again.lines] == [30]
    assert again.verdict.verdict == HOLDS


def test_claims_can_be_asked_for_on_the_command_line(call, tmp_path):
    done = call("claims", "002", "--results", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not tested: 2" in done.stdout


def test_ids_of_claims_are_printed_whole_so_that_they_can_be_given_again(call, tmp_path):
    done = call("claims", "--results", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [claim.id for claim in load_claims() if claim.id not in done.stdout] == []
    assert "\N{HORIZONTAL ELLIPSIS}" not in done.stdout

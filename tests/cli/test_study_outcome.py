"""What ``tune`` prints at its end: first what matters, last where it is recorded, warnings in order and few."""

from __future__ import annotations

import io
import re

import pytest
from store_toys import MadeStore

from zslplat.checks.base import run_checks
from zslplat.checks.facts import PrimaryScores, RecordedWarning, SearchedRange, StudyFacts
from zslplat.cli.outcomes import headline
from zslplat.cli.output import MOST_WARNINGS, print_warnings
from zslplat.comparison.compare import compare
from zslplat.evaluation.experiment import Experiment
from zslplat.front.terminal import Console
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.tuning.options import StudyResult

METRIC = "per_class_accuracy"


def result_of(name, control=""):
    return StudyResult(
        name=name,
        winner=0,
        parameters={},
        validation={},
        test=[],
        primary=METRIC,
        chance=0.1,
        test_chance=0.1,
        trials={},
        test_evaluations=1,
        run_id="",
        counts={},
        seconds=0.0,
        control=control,
    )


@pytest.fixture
def settings(new_store):
    return resolve_settings({"store": new_store()})


def test_three_lines_say_score_control_and_next_step_as_compare_does(settings):
    made = MadeStore(settings)
    study, control = made.study("eszsl", 0.8), made.study("ridge-prototypes", 0.7)
    experiment = Experiment(Spec("eszsl"), Spec("made"), Spec("zsl"))
    rows = compare(settings, ["made"], against=control, warn=pytest.fail).rows
    row = next(row for row in rows if row["study"] == study)
    score, against, following = headline(result_of(study, control), experiment, settings, pytest.fail, " --store x")
    low, high = row["low_classes"], row["high_classes"]
    assert score == f"test {METRIC} {row['test']:.4f}, on other classes like these {low:.4f} .. {high:.4f} (95 %)"
    assert against.startswith(f"against the control ridge-prototypes: {row['difference']:+.4f} (")
    assert against.endswith(f", {row['verdict']}")
    assert following == "next: zslplat compare -d made -t zsl --store x"


def test_without_a_control_chance_is_shown_and_the_command_tunes_the_control_by_the_same_metric(settings):
    study = MadeStore(settings).study("eszsl", 0.8)
    experiment = Experiment(Spec("eszsl"), Spec("made"), Spec("zsl"), search={"metric": METRIC + ",seconds"})
    _, against, following = headline(result_of(study), experiment, settings, pytest.fail)
    assert against == "against chance, 0.1000; the control, ridge-prototypes, is not tuned here yet"
    assert following == f"next: zslplat tune -m ridge-prototypes -d made -t zsl --metric {METRIC},seconds"


def printed(lines, **options):
    file = io.StringIO()
    print_warnings(Console(file=file, width=140), lines, **options)
    return file.getvalue().splitlines()


def test_three_warnings_are_shown_and_the_rest_is_counted_with_the_command_that_shows_them():
    lines = [f"ZSP10{i} a warning" for i in range(5)]
    shown = printed(lines, rest="zslplat studies show x")
    assert [line for line in shown if line.startswith("warning: ")] == [f"warning: {one}" for one in lines[:3]]
    assert shown[-1].startswith("2 more warnings: zslplat studies show x; `zslplat explain ZSP100`")
    assert len([line for line in printed(lines) if line.startswith("warning: ")]) == 5
    assert "more" not in printed(lines[:MOST_WARNINGS], rest="zslplat studies show x")[-1]


def test_what_makes_a_result_mean_nothing_comes_before_what_is_good_to_know():
    facts = StudyFacts(
        "study",
        metric=METRIC,
        searched=(SearchedRange("lam", "1", "1..10", 0.0),),
        test=PrimaryScores("test", METRIC, (0.1, 0.1), (0.1, 0.1)),
        warnings=(RecordedWarning("folds", "ZSP209"), RecordedWarning("equal", "ZSP202")),
    )
    codes = [finding.code for finding in run_checks("study", facts)]
    assert codes == ["ZSP104", "ZSP202", "ZSP101", "ZSP209"]


def test_an_expected_score_is_no_more_than_the_metric_can_be():
    validation = PrimaryScores("validation", METRIC, (0.9, 0.85, 0.95), (0.1,) * 3)
    facts = StudyFacts("study", metric=METRIC, validation=validation, test=PrimaryScores("t", METRIC, (0.2,), (0.1,)))
    (line,) = [one.text for one in run_checks("study", facts) if one.code == "ZSP106"]
    low, high = map(float, re.findall(r"expect (\S+) \.\. (\S+)", line)[0])
    assert 0 < low < high == 1


def test_a_sweep_is_told_of_its_own_option():
    searched = (SearchedRange("lam", "1", "1..10", 0.0),)
    (line,) = [one.text for one in run_checks("study", StudyFacts("s", searched=searched)) if one.code == "ZSP101"]
    assert "--space lam=low..high" in line
    facts = StudyFacts("s", searched=searched, range_option="--range low..high")
    (line,) = [one.text for one in run_checks("study", facts) if one.code == "ZSP101"]
    assert "--range low..high" in line
    assert "--space" not in line


def test_an_unknown_chance_level_is_no_finding():
    unknown = PrimaryScores("test", "nmi", (0.01,), (float("nan"),))
    assert run_checks("study", StudyFacts("s", metric="nmi", test=unknown, validation=unknown)) == []

"""Plans: what would decide an open claim, and what it costs."""

import json
import math

import numpy as np
import pytest

from zslplat.statistics import NOT_ENOUGH, quantile_t
from zslplat_papers.published import load_claims
from zslplat_papers.reproduction.claim_plan import plans
from zslplat_papers.reproduction.claims import Judged, recorded_claims
from zslplat_papers.reproduction.verdicts import CLASSES, Contrast, Evidence, claim_verdicts, mean_difference

CLAIM = load_claims()[0]


def judged(*differences, suite="zskl", over=CLASSES):
    """Return a claim judged by (data, difference, error, classes, seconds)."""
    lines, contrasts = [], []
    for data, difference, error, classes, seconds in differences:
        reach = error * quantile_t(math.inf if classes is None else classes - 1)
        ends = difference - reach, difference + reach
        contrasts.append(Contrast(f"{data}: a - b", difference, *ends, over, classes))
        line = {"contrast": f"{data}: a - b", "suite": suite, "over": over, "classes": classes, "seconds": seconds}
        lines.append({**line, "margin": 0.02, "direction": "higher", "repeats": 3})
    evidence = Evidence((mean_difference(contrasts),))
    (verdict,) = claim_verdicts([evidence])
    return Judged(CLAIM, suite, verdict, lines, evidence)


def test_the_precision_that_is_needed_shows_the_difference_with_a_power_of_80_percent():
    (plan,) = plans([judged(("digit-pairs", 0.05, 0.03, 20, 100.0))])
    error = 0.03 / np.sqrt(plan.times)
    shown = np.abs(0.05 + error * np.random.default_rng(0).standard_normal(20000)) > 1.96 * error
    assert shown.mean() == pytest.approx(0.8, abs=0.01)
    assert plan.smallest == pytest.approx(2.8016 * 0.03, rel=1e-3)


def test_class_folds_are_taken_where_precision_is_cheapest_and_further_data_sets_for_the_rest():
    cheap, dear = ("digit-pairs", 0.04, 0.03, 20, 10.0), ("ISOLET", 0.04, 0.03, 13, 1000.0)
    (plan,) = plans([judged(cheap, dear)])
    assert [(step.what, step.data, step.seconds) for step in plan.steps] == [("5 class folds", "digit-pairs", 50.0)]
    assert plan.data_sets == 0
    claim = judged(("digit-pairs", 0.01, 0.03, 20, 10.0), ("ISOLET", 0.01, 0.03, 13, 1000.0))
    (plan,) = plans([claim])
    assert [step.data for step in plan.steps] == ["digit-pairs", "ISOLET"]
    # Each of the two has a precision of 1 / 0.03^2; folds of all classes make it 5 and 2 times as large.
    precision = claim.evidence.means[0].pooled.error ** -2.0
    missing = (2.8016 / 0.01) ** 2 - precision - (4 + 1) / 0.03**2
    assert plan.data_sets == math.ceil(missing / (precision / 2))


def test_starts_have_no_end_and_draws_of_the_same_classes_add_nothing():
    (plan,) = plans([judged(("digit-pairs", 0.01, 0.02, None, 10.0), over="10 draws of the seen classes")])
    assert plan.steps == ()
    assert plan.data_sets > 0
    (plan,) = plans([judged(("digit-pairs", 0.01, 0.02, None, 10.0), over="10 starts")])
    times = (2.8016 * 0.02 / 0.01) ** 2
    (step,) = plan.steps
    assert step.what == f"{int(np.ceil(10 * times))} starts in place of 10"
    assert step.seconds == pytest.approx(10 * (times - 1), rel=1e-3)


def test_decided_claims_have_no_plan():
    assert plans([judged(("digit-pairs", 0.5, 0.03, 20, 100.0))]) == []


def test_every_open_claim_of_the_kept_results_has_a_plan(call):
    open_claims = {one.claim.id for one in recorded_claims() if one.verdict.verdict == NOT_ENOUGH}
    done = call("claims", "--plan", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert {plan["claim"] for plan in shown} == open_claims
    assert all(plan["steps"] or plan["data_sets"] for plan in shown)

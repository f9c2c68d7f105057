"""The lead over a control has the interval that a comparison shows of the same difference."""

import numpy as np
import pytest
from store_toys import MadeStore

from zslplat.comparison.compare import compare
from zslplat.evaluation.components import build_component
from zslplat.records.studies import STUDY
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.tasks.base import Metric
from zslplat.tuning.study_facts import controls_of, lead_ends

METRIC = "per_class_accuracy"


@pytest.fixture
def settings(new_store):
    return resolve_settings({"store": new_store()})


def test_the_interval_is_that_of_the_comparison(settings):
    made = MadeStore(settings)
    own = made.study("eszsl", 0.8, repeats=3)
    made.study("ridge-prototypes", 0.75, repeats=2, validation=0.2, name="worse")
    control = made.study("ridge-prototypes(alpha=1.23456789)", 0.7, repeats=2, trials=1)
    other = made.study("ridge-prototypes", 0.9, rows="other rows", name="elsewhere", validation=0.1)
    records, task = made.records, build_component("tasks", Spec.parse("zsl"))

    def tested(study):
        return list(records.evaluations(STUDY + study).values())

    row = next(r for r in compare(settings, ["made"], against=control, warn=pytest.fail).rows if r["study"] == own)
    found = lead_ends(records, task, tested(own), tested(control), METRIC)
    assert found == (row["difference_low"], row["difference_high"])
    assert lead_ends(records, task, tested(own), tested(other), METRIC) is None
    asked = []
    (chosen,) = controls_of(
        records,
        records.identities()[own],
        "ridge-prototypes",
        "",
        Metric(METRIC),
        lambda found: asked.append(found) or (0.1, 0.2),
    )
    assert (chosen.method, chosen.lead) == ("ridge-prototypes(alpha=1.23)", (0.1, 0.2))
    (records_of,) = asked
    assert chosen.test == pytest.approx(np.mean([record["metrics"][METRIC] for record in records_of]))
    assert records_of == tested(chosen.study)


def test_a_control_of_the_studys_own_preprocessing_stands_behind_a_better_one(settings):
    made = MadeStore(settings)
    own = made.study("eszsl", 0.5)
    alike = made.study("ridge-prototypes", 0.6, name="alike")
    better = made.study("ridge-prototypes", 0.7, name="better")
    for study, words in ((alike, "center, l2"), (better, "none")):
        opened = made.records.study(study)
        opened.note("about", {**opened.values()["about"], "preprocessing": words})
    identity = made.records.identities()[own]

    def controls(words):
        controls = controls_of(made.records, identity, "ridge-prototypes", words, Metric(METRIC), lambda records: None)
        return [(control.study, control.same_preprocessing) for control in controls]

    assert controls("center, l2") == [(better, False), (alike, True)]
    assert controls("none") == [(better, True)]
    assert controls("whiten") == [(better, False)]


def test_a_control_is_compared_by_the_metric_of_the_study_whatever_selected_it(settings):
    made = MadeStore(settings)
    own, control = made.study("eszsl", 0.5), made.study("ridge-prototypes", 0.6)
    opened = made.records.study(control)
    opened.note("about", {**opened.values()["about"], "primary": {"name": "per_sample_accuracy", "maximise": True}})
    identity = made.records.identities()[own]
    (found,) = controls_of(made.records, identity, "ridge-prototypes", "", Metric(METRIC), lambda records: None)
    tests = made.records.evaluations(STUDY + control).values()
    assert found.test == pytest.approx(np.mean([record["metrics"][METRIC] for record in tests]))
    assert controls_of(made.records, identity, "ridge-prototypes", "", Metric("mAP"), lambda records: None) == ()

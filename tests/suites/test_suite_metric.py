"""The metric that the searches of a suite select by: of the file or the command, in the tasks that have it."""

import pytest

from zslplat.errors import UsageError
from zslplat.front.benches import suite_request
from zslplat.front.schema import complete_options
from zslplat.front.table_options import BenchCommand
from zslplat.suites.cells import pieces_of, require_selection
from zslplat.suites.suite import suite_from

CONTENT = {
    "tasks": ["gzsl", "zsl"],
    "data": [{"name": "digits", "dataset": "digit-pairs"}],
    "row": [{"name": "eszsl", "method": "eszsl"}, {"name": "plain", "method": "sae", "tasks": ["zsl"]}],
}


def searches(suite):
    return {(p.row.name, task): dict(p.experiment(task, {}).search) for p in pieces_of(suite) for task in p.tasks}


def test_tuned_tasks_that_have_the_metric_select_by_it_and_the_others_by_their_own():
    suite = require_selection(suite_from("two", {**CONTENT, "metric": "H"}))
    assert searches(suite) == {
        ("eszsl", "gzsl"): {"metric": "H"},
        ("eszsl", "zsl"): {},  # it is handed what the first task chose
        ("plain", "zsl"): {},
    }
    assert set(map(str, searches(suite_from("two", CONTENT)).values())) == {"{}"}


def test_the_command_overrules_the_file(new_store):
    options = {"suite": {**CONTENT, "metric": "H"}, "metric": "AUSUC,H", "store": new_store()}
    suite, *_ = suite_request(complete_options(BenchCommand, options, "bench"))
    assert searches(suite)["eszsl", "gzsl"] == {"metric": "AUSUC,H"}


def test_a_metric_that_no_tuned_task_has_is_refused_with_those_that_they_have():
    with pytest.raises(UsageError, match=r"no task that it tunes has the metric 'mAP'.*gzsl: AUSUC.*zsl: per_class"):
        require_selection(suite_from("two", {**CONTENT, "metric": "mAP"}))

"""The live line: it moves with the trials, and says how long the rest takes."""

from __future__ import annotations

import pytest

from zslplat.front.progress import TerminalReporter, TimeLeft

RECORD = {"parameters": {}, "number": 0, "value": 0.5}


@pytest.fixture
def bar():
    reporter = TerminalReporter()
    yield reporter
    reporter.close()


def state_of(reporter):
    task = reporter.progress.tasks[0]
    return task.completed, task.total


def test_the_bar_moves_with_the_trials_and_a_new_stage_begins_at_nothing(bar):
    bar.stage("tuning")
    bar.trial(1, 10, RECORD, 0.5)
    assert state_of(bar) == (1, 10)
    bar.trial(2, 10, RECORD, 0.5)
    assert state_of(bar) == (2, 10)
    bar.stage("another")
    assert state_of(bar) == (0, None)


def test_the_rest_is_estimated_from_what_this_call_has_seen():
    now = [0.0]
    left = TimeLeft(lambda: now[0])
    assert left(10, 20) == ""  # these were there before
    now[0] = 1.0
    assert left(11, 20) == ""
    now[0] = 6.0
    assert left(12, 20) == "about 24 s left"
    now[0] = 60.0
    assert left(20, 20) == ""

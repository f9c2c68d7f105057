"""The live line: it moves inside long trials and preparations, and says how long the rest takes."""

from __future__ import annotations

import time

import numpy as np
import pytest

from zslplat.evaluation.reporter import ProgressReporter, SilentReporter, StageProgress
from zslplat.evaluation.workers.method_host import ReportingClient
from zslplat.front.progress import TerminalReporter, TimeLeft, duration

RECORD = {"parameters": {}, "number": 0, "value": 0.5}


@pytest.fixture
def bar():
    reporter = TerminalReporter()
    yield reporter
    reporter.close()


def state_of(reporter):
    task = reporter.progress.tasks[0]
    return task.completed, task.total


def test_the_bar_moves_with_what_jobs_tell_and_never_back(bar):
    assert isinstance(bar, ProgressReporter)
    bar.stage("tuning")
    bar.working(0, 10)
    batch = StageProgress(bar)
    seen = []
    for position, done in ((0, 0.25), (1, 0.5), (0, 1.0), (1, 0.25), (1, 1.0)):
        batch(position, done)
        seen.append(state_of(bar))
    assert seen == [(0.25, 10), (0.75, 10), (1.5, 10), (1.5, 10), (2.0, 10)]
    bar.trial(1, 10, RECORD, 0.5)  # the second waits for its record
    assert state_of(bar) == (2.0, 10)
    bar.trial(2, 10, RECORD, 0.5)
    later = StageProgress(bar)
    later(0, 0.5)
    assert state_of(bar) == (2.5, 10)


def test_a_new_stage_begins_at_nothing(bar):
    bar.working(3, 4)
    bar.stage("another")
    assert state_of(bar) == (0, None)


def test_reporters_that_show_no_progress_are_told_none():
    assert not isinstance(SilentReporter(), ProgressReporter)
    StageProgress(SilentReporter())(0, 0.5)


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


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "1 s"), (42, "42 s"), (190, "3:10 min"), (7500, "2:05 h")])
def test_times_are_said_as_people_say_them(seconds, said):
    assert duration(seconds) == said


class _Counting(ReportingClient):
    """One that asks nobody: steps and folds come as they are called."""

    def __init__(self, report):
        self._step_parameters = {"stepwise": "epochs", "direct": ""}
        self._most_by_name, self._facts = {}, {}
        self._report = report
        self.follow(2)

    def ask(self, request, *arguments):
        class Built:
            facts_of_class = False

        return Built()


def test_a_job_is_as_far_as_its_steps_and_folds(monkeypatch):
    monkeypatch.setattr("zslplat.evaluation.workers.method_host._SECONDS", 0.0)
    monkeypatch.setattr("zslplat.evaluation.workers.proxies.MethodClient.send", lambda *_: None)
    told = []
    methods = _Counting(told.append)
    for _ in range(2):
        methods.build("stepwise", {"epochs": 4}, 0)
        for _ in range(4):
            methods.send("advance", None)
    assert told[-1] == 1.0
    assert np.all(np.diff(told) >= 0)
    assert {0.125, 0.5, 0.875} <= set(told)

    told.clear()
    methods.follow(4)
    for _ in range(4):
        methods.build("direct", {}, 0)
    assert told == [0.0, 0.25, 0.5, 0.75]


def test_short_jobs_tell_nothing():
    told = []
    methods = _Counting(told.append)
    began = time.monotonic()
    methods.build("direct", {}, 0)
    assert not told or time.monotonic() - began > 0.2

"""What is foreseen of the end of a search is a bound that holds, and is said once and in time."""

from __future__ import annotations

import pytest
from support import one_line, trials_of

from zslplat.evaluation.workers.pool import Deadline


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def looked_at(deadline, clock, *, piece, at_once, pieces, until):
    """Let pieces of equal length be worked on, so many at once; look each second, and return when it was said."""
    begun, said = clock.now, []
    deadline.warn = lambda text: said.append((clock.now - begun, text))
    deadline.begin("preparing", pieces, at_once)
    while clock.now - begun < until:
        clock.now += 1
        deadline.advance_to(min(pieces, (clock.now - begun) // piece * at_once))
        deadline.warn_if_late()
    return said


@pytest.mark.parametrize(("piece", "at_once"), [(50, 2), (50, 1), (300, 2), (30, 4)])
def test_work_that_ends_in_time_is_never_warned_of_and_other_work_is_early(clock, piece, at_once):
    pieces = 12
    takes = piece * pieces / at_once
    assert (
        looked_at(Deadline(takes + 1, clock=clock), clock, piece=piece, at_once=at_once, pieces=pieces, until=takes)
        == []
    )
    said = looked_at(
        Deadline(0.6 * takes, clock=clock), clock, piece=piece, at_once=at_once, pieces=pieces, until=takes
    )
    assert said[0][0] <= 0.3 * takes
    assert "give --timeout" in said[-1][1]
    assert len(said) <= 2


def test_a_piece_that_is_longer_than_the_whole_time_is_foreseen_before_it_ends(clock):
    deadline = Deadline(240, clock=clock)
    ((when, text),) = looked_at(deadline, clock, piece=1000, at_once=2, pieces=12, until=240)
    assert when <= 41  # after a sixth of the time, none of six rounds is over
    assert "preparing takes longer than --timeout 240 s: after 41 s none of its 12 parts is done" in text
    assert not deadline.left
    assert deadline.needed == pytest.approx(240 * 6)
    assert (
        "preparing takes until 24 min after the beginning, or longer; give --timeout 2160 or more" in deadline.forecast
    )


def test_steps_of_a_training_count_and_what_is_complete_ends_the_wait(clock):
    said = []
    deadline = Deadline(100, said.append, clock)
    deadline.begin("the first trial", 3, 0)
    clock.now += 10
    deadline.warn_if_late()
    assert said == []  # nothing is known yet
    deadline.advance_to(0.3)
    assert deadline.needed == pytest.approx(100)
    deadline.awaited = False
    clock.now += 50
    deadline.warn_if_late()
    assert said == []
    deadline.awaited = True
    deadline.warn_if_late()
    deadline.warn_if_late()
    assert len(said) == 1


def test_without_an_end_nothing_is_said(clock):
    deadline = Deadline(clock=clock)
    assert looked_at(deadline, clock, piece=1e9, at_once=1, pieces=12, until=50) == []
    assert deadline.left > 1e9


@pytest.mark.long
def test_a_first_trial_that_cannot_end_in_time_is_foreseen_and_said(call, tmp_path):
    tune = ("tune", "-m", "plain(pause=5)", "-d", "marked", "--workers", 1, "--timeout", 8, "-q")
    done = call(*tune)
    one_line(done, 1, "no trial is complete within --timeout 8 s: the first trial takes until .*give --timeout")
    assert "warning: the first trial takes longer than --timeout 8 s" in done.stderr
    assert trials_of(tmp_path / "mlruns") == []

"""A search ends at its deadline, and says so where no trial was complete by then."""

from __future__ import annotations

import pytest
from support import one_line, trials_of

from zslplat.evaluation.workers.pool import Deadline


def test_the_time_that_is_left_ends_at_zero_and_without_an_end_never():
    now = [1000.0]
    deadline = Deadline(240, clock=lambda: now[0])
    now[0] += 40
    assert (deadline.left, deadline.passed) == (200, False)
    now[0] += 300
    assert (deadline.left, deadline.passed) == (0, True)
    assert (Deadline().left, Deadline().passed) == (None, False)


@pytest.mark.long
def test_a_first_trial_that_does_not_end_in_time_is_an_error_that_says_how_to_go_on(call, tmp_path):
    tune = ("tune", "-m", "plain(pause=5)", "-d", "marked", "--workers", 1, "--timeout", 8, "-q")
    done = call(*tune)
    one_line(done, 1, "no trial is complete within --timeout 8 s; what is prepared is kept; give --timeout 16 or more")
    assert trials_of(tmp_path / "mlruns") == []

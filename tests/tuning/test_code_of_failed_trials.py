"""What is said of recorded trials whose code is not today's, or of which none is known."""

import pytest

from zslplat.errors import StoreError
from zslplat.tuning.code_changes import check_code


class Bench:
    """Code of today."""

    @staticmethod
    def code(parameters):
        return {"method": "today"}


class Reporter:
    """Collects warnings."""

    def __init__(self):
        self.warned = []

    def warn(self, text):
        self.warned.append(text)


def checked(*records, **more):
    reporter = Reporter()
    numbered = [{"number": n, "parameters": {}, **record} for n, record in enumerate(records)]
    check_code(Bench, numbered, "mine", reporter, accept=False, **more)
    return reporter.warned


FAILED, DONE = {"state": "failed"}, {"state": "complete"}
CODE = {"code": {"method": "today"}}


def test_trials_that_failed_have_no_code_and_nothing_is_said_of_it():
    assert checked(FAILED, DONE | CODE) == []


@pytest.mark.parametrize(("state", "count"), [("complete", "1 trial of"), ("pruned", "1 trial of")])
def test_trials_of_the_time_before_code_was_recorded_are_told_of(state, count):
    (line,) = checked({"state": state}, FAILED, DONE | CODE)
    assert line.startswith(count)
    assert "before code was" in line


def test_the_remedy_is_one_that_the_command_has():
    other = DONE | {"code": {"method": "earlier"}}
    with pytest.raises(StoreError, match="give --study NAME to start anew"):
        checked(other)
    with pytest.raises(StoreError, match="give another --store to start anew"):
        checked(other, anew="another --store")

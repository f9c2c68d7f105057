"""What is said of recorded trials whose code is not today's, or of which none is known."""

import pytest

from zslplat.errors import StoreError
from zslplat.tuning.code_changes import check_code
from zslplat.tuning.options import StudyOptions
from zslplat_papers.reproduction.cells import Budget


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


def checked(*records, remedy=""):
    reporter = Reporter()
    numbered = [{"number": n, "parameters": {}, **record} for n, record in enumerate(records)]
    check_code(Bench, numbered, "mine", reporter, accept=False, remedy=remedy)
    return reporter.warned


FAILED, DONE = {"state": "failed"}, {"state": "complete"}
CODE = {"code": {"method": "today"}}


def test_trials_that_failed_have_no_code_and_nothing_is_said_of_it():
    assert checked(FAILED, DONE | CODE) == []


@pytest.mark.parametrize(
    ("options", "advised", "not_known_there"),
    [
        (StudyOptions(), ["--study NAME", "--accept-changed-code"], "--store"),
        (StudyOptions(part_of={"suite": "s"}), ["another --store", "--accept-changed-code"], "--study"),
        (Budget().options(4, 1), ["another --store"], "--accept-changed-code"),
    ],
    ids=["tune", "bench", "reproduce"],
)
def test_the_remedy_is_one_that_the_command_has(options, advised, not_known_there):
    other = DONE | {"code": {"method": "earlier"}}
    with pytest.raises(StoreError, match=r"other code of its method; give .* to start anew") as refused:
        checked(other, remedy=options.remedy_for_changed_code)
    assert all(option in str(refused.value) for option in advised)
    assert not_known_there not in str(refused.value)

"""Which trial is the best one: by the metric, whichever way it points, and the first of equals."""

from pathlib import Path

import numpy as np
import pytest

from zslplat.errors import ZslplatError
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.records.trials import FinishedTrial
from zslplat.spec import Spec
from zslplat.tasks.base import Metric
from zslplat.tuning.trial_log import TrialLog

EXPERIMENT = Experiment(Spec("eszsl"), Spec("digit-pairs"), Spec("zsl"))


class Recorded:
    """What a log reads of a study: its finished trials."""

    name = "a study"

    def __init__(self, *values):
        self.values = values

    def run(self, key):
        return key

    def add(self, trial, record, space):
        pass

    def retry(self, record):
        pass

    def finished(self):
        for number, value in enumerate(self.values):
            state = "failed" if value is None else "complete"
            yield FinishedTrial(number, state, {}, value), {"number": number, "value": value, "reason": "it broke"}


class Silent:
    def trial(self, number, wanted, record, best):
        self.best = best

    def note(self, text):
        assert "continuing" in text


def log_of(*values, maximise):
    return TrialLog(Recorded(*values), EXPERIMENT, [Metric("score", maximise)], Silent(), len(values), Path("studies"))


@pytest.mark.parametrize(("maximise", "best"), [(True, 2), (False, 1)])
def test_the_best_trial_is_the_first_of_the_largest_or_of_the_smallest_values(maximise, best):
    log = log_of(0.5, -0.25, 3.0, None, 3.0, -0.25, maximise=maximise)
    assert log.winner() == log.best_number() == best


def test_a_value_of_zero_is_a_value():
    assert log_of(-1.0, 0.0, maximise=True).winner() == 1
    assert log_of(1.0, 0.0, maximise=False).winner() == 1


def test_where_all_failed_there_is_none_and_the_first_reason_is_told():
    log = log_of(None, None, maximise=True)
    assert log.best_number() == -1
    with pytest.raises(ZslplatError, match="all 2 trials failed; the first because: it broke"):
        log.winner()


@pytest.mark.parametrize("maximise", [True, False])
def test_the_best_is_kept_as_trials_come_and_as_others_are_tried_again(maximise):
    log, told, rng = log_of(maximise=maximise), [], np.random.default_rng(3)
    for number in [*range(12), *rng.integers(0, 12, 30)]:
        value = None if rng.random() < 0.3 else float(rng.integers(0, 6))
        result = None if value is None else {"state": "complete", "metrics": {"score": value}, "steps": {}}
        log.add(int(number), {}, Answer(result, "it broke"), 0.0, Limits())
        values = [(record["value"], i) for i, record in enumerate(log.records) if record["value"] is not None]
        best = min(values, key=lambda v: (-v[0] if maximise else v[0], v[1]), default=(None, -1))
        assert (log.reporter.best, log.best_number()) == best
        told.append(best)
    assert len(set(told)) > 4

"""A batch is proposed, and pruned, from the batches before it alone, wherever a study was stopped.

The first ten trials of the sampler are random, and depend on nothing: these studies are longer.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest

from zslplat.evaluation.workers.pool import Deadline
from zslplat.records.trials import FinishedTrial
from zslplat.space import Real
from zslplat.tuning import study as module
from zslplat.tuning.options import StudyOptions
from zslplat.tuning.proposals import Proposer, PruningThresholds
from zslplat.tuning.study import StudyRun

SPACE = {"a": Real(0, 1), "b": Real(1e-3, 1e3, log=True)}
BATCH = 4


def stopped_after(count):
    """Return a study of which so many trials are recorded; each is better than all before it."""
    study = object.__new__(StudyRun)
    study.options = StudyOptions(batch_size=BATCH, trials=40, pruner="median")
    study.experiment = SimpleNamespace(seed=0, space=SPACE, search={}, evaluation=lambda *asked: None)
    study.proposer, study.requested, study.started = proposer(), 40, 0.0
    study.thresholds = PruningThresholds("median", maximise=True)
    study.session = SimpleNamespace(deadline=Deadline())
    trials = []
    while len(trials) < count:
        for parameters in proposed(trials)[: count - len(trials)]:
            number = len(trials)
            trials.append(FinishedTrial(number, "complete", parameters, float(number), {1: float(number)}))
    study.log = SimpleNamespace(trials=trials, records=[{"parameters": t.parameters} for t in trials])
    return study


def proposer():
    given = {"seed": 0, "batch_size": BATCH, "space": SPACE, "fixed": {}, "defaults": {}, "sampler": "tpe"}
    return Proposer(**given, maximise=[True])


def proposed(earlier):
    return proposer().batch(len(earlier) // BATCH, earlier)


@pytest.mark.parametrize("left", [1, 2, 3])
def test_the_rest_of_a_batch_is_what_it_would_have_been(left):
    study = stopped_after(24 - left)
    numbers, proposals = study._next_batch()
    assert numbers == list(range(24 - left, 24))
    assert proposals == proposed(study.log.trials[:20])[BATCH - left :]
    # Those who saw the trials of their own batch would propose others.
    assert proposals != proposed(study.log.trials)[BATCH - left :]


def test_thresholds_of_a_batch_come_from_the_batches_before_it(monkeypatch):
    study, asked = stopped_after(22), []
    study.recorded_study = SimpleNamespace(run=str)
    monkeypatch.setattr(module, "EvaluationRequest", lambda **request: request)
    study.folder = Path("studies")
    study.log.in_order = lambda *given: SimpleNamespace(put=None)
    study.log.has_winner = True
    study.session.evaluate = lambda requests, *given, **more: asked.extend(requests)
    study.limits = None
    numbers, proposals = study._next_batch()
    study._evaluate(numbers, proposals, [])
    expected = PruningThresholds("median", maximise=True).after(study.log.trials[:20])
    assert expected != PruningThresholds("median", maximise=True).after(study.log.trials)
    assert [request["thresholds"] for request in asked] == [expected] * 2

"""Thresholds of pruning against a loop over trials and steps, for metrics of either direction."""

import numpy as np
import pytest

from zslplat.records.trials import FinishedTrial
from zslplat.tuning.proposals import PruningThresholds


def pruning_thresholds(pruner, earlier, *, maximise):
    return PruningThresholds(pruner, maximise=maximise).after(earlier)


def trials(count):
    rng = np.random.default_rng(1)
    return [
        FinishedTrial(i, "complete", {}, 0.0, {step: float(rng.normal()) for step in range(1, 5 - i % 2)})
        for i in range(count)
    ]


def slow(earlier, maximise):
    """Every median from all trials, as it is defined."""
    sign, found = 1 if maximise else -1, {}
    for step in range(1, 5):
        best = [max(sign * t.steps[s] for s in range(1, step + 1)) for t in earlier if step in t.steps]
        if len(best) >= 4:
            found[step] = pytest.approx(float(np.median(best)), abs=0)
    return found


@pytest.mark.parametrize("maximise", [True, False])
def test_the_threshold_of_a_step_is_the_median_of_the_best_so_far(maximise):
    earlier = trials(9)
    assert pruning_thresholds("median", earlier, maximise=maximise) == slow(earlier, maximise)


@pytest.mark.parametrize("maximise", [True, False])
def test_thresholds_that_are_kept_are_those_of_all_trials(maximise):
    kept, known = PruningThresholds("median", maximise=maximise), trials(40)
    for count in (8, 12, 12, 16, 9, 40):  # also fewer than before
        assert kept.after(known[:count]) == slow(known[:count], maximise)
    known[3] = FinishedTrial(3, "complete", {}, 0.0, dict.fromkeys(range(1, 5), 100.0))  # tried again
    known[5] = FinishedTrial(5, "failed", {}, None)
    assert kept.after(known) == slow(known, maximise)
    # What is kept is its own: a log that grows does not change it.
    assert kept.after(known[:20]) == slow(known[:20], maximise)


def test_there_is_none_where_few_trials_are_known_or_nothing_is_pruned():
    assert pruning_thresholds("median", trials(7), maximise=True) == {}
    assert pruning_thresholds("none", trials(9), maximise=True) == {}
    # Four trials must have got to a step: here eight have two steps, three a third one.
    some = [FinishedTrial(i, "complete", {}, 0.0, dict.fromkeys(range(1, 4 if i < 3 else 3), 1.0)) for i in range(8)]
    assert sorted(pruning_thresholds("median", some, maximise=True)) == [1, 2]

"""Thresholds of pruning against a loop over trials and steps, for metrics of either direction."""

import numpy as np
import pytest

from zslplat.records.trials import FinishedTrial
from zslplat.tuning.pruning import pruning_thresholds


def trials(count):
    rng = np.random.default_rng(1)
    return [
        FinishedTrial(i, "complete", {}, 0.0, {step: float(rng.normal()) for step in range(1, 5 - i % 2)})
        for i in range(count)
    ]


@pytest.mark.parametrize("maximise", [True, False])
def test_the_threshold_of_a_step_is_the_median_of_the_best_so_far(maximise):
    earlier = trials(9)
    sign = 1 if maximise else -1
    expected = {}
    for step in range(1, 5):
        best = [max(sign * t.steps[s] for s in range(1, step + 1)) for t in earlier if step in t.steps]
        expected[step] = pytest.approx(float(np.median(best)), abs=0)
    assert pruning_thresholds("median", earlier, maximise=maximise) == expected


def test_there_is_none_where_few_trials_are_known_or_nothing_is_pruned():
    assert pruning_thresholds("median", trials(7), maximise=True) == {}
    assert pruning_thresholds("none", trials(9), maximise=True) == {}
    # Four trials must have got to a step: here eight have two steps, three a third one.
    some = [FinishedTrial(i, "complete", {}, 0.0, dict.fromkeys(range(1, 4 if i < 3 else 3), 1.0)) for i in range(8)]
    assert sorted(pruning_thresholds("median", some, maximise=True)) == [1, 2]

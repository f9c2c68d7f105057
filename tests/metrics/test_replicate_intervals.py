"""Intervals between percentiles of replicates: moved onto the estimate, and no wider than the replicates are."""

import numpy as np
import pytest

from zslplat.metrics.intervals import centred_ends, resampled_means


@pytest.mark.parametrize("classes", range(3, 40))
def test_the_interval_of_a_perfect_score_is_the_score(classes):
    y = np.repeat(np.arange(classes), np.arange(classes) % 7 + 5)
    replicates = resampled_means(np.ones((1000, len(y)), dtype=np.int32), np.ones(len(y), dtype=bool), y)
    assert centred_ends(1.0, replicates) == (1.0, 1.0)


def test_a_spread_that_is_more_than_rounding_stays():
    low, high = centred_ends(0.5, 0.5 + 1e-9 * np.linspace(-1, 1, 1001))
    assert low == pytest.approx(0.5 - 0.95e-9, abs=1e-13)
    assert high == pytest.approx(0.5 + 0.95e-9, abs=1e-13)

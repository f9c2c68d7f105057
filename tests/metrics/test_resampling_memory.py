"""Draws of many rows come in shorter blocks, with the same counts."""

import tracemalloc

import numpy as np
import pytest

from zslplat.metrics import intervals
from zslplat.metrics.intervals import draws, draws_of_things

ROWS = 301
STRATA = np.arange(ROWS) % 7
WAYS = {
    "rows": lambda count: draws(np.arange(ROWS)[::-1], STRATA, count),
    "things": lambda count: draws_of_things((np.arange(ROWS) // 3)[:, None], STRATA * 0, count),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("together", [1, 7, 99])
def test_draws_do_not_depend_on_how_many_are_made_at_once(monkeypatch, way, together):
    whole = list(WAYS[way](230))
    assert [len(block) for block in whole] == [100, 100, 30]
    monkeypatch.setattr(intervals, "MOST_COUNTS", together * ROWS)
    pieces = list(WAYS[way](230))
    assert max(map(len, pieces)) == together
    np.testing.assert_array_equal(np.concatenate(pieces), np.concatenate(whole))


def test_draws_of_many_rows_hold_a_bounded_number_of_counts(monkeypatch):
    rows = 20_000
    monkeypatch.setattr(intervals, "MOST_COUNTS", 10 * rows)
    tracemalloc.start()
    try:
        for block in draws(np.arange(rows), np.arange(rows) % 7, 100):
            assert block.shape == (10, rows)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 8 * 10 * rows * 8 < 100 * rows * 8

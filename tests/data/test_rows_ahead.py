"""Rows of a file that are read ahead: those of an array, whatever was expected and whatever is asked for."""

import numpy as np
import pytest

from zslplat.data.store.preprocessing import Preprocessing, preprocessed
from zslplat.data.store.rows import TOGETHER, Part, Rows, RowsAhead, Stored, View
from zslplat.registry import component

ROWS, WIDTH, CLASSES = 1500, 11, 6


@pytest.fixture
def in_a_file(tmp_path):
    path = tmp_path / "rows"
    X = np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)
    X.tofile(path)
    rows = Rows([Part(View("", (WIDTH,)), Stored(str(path), "float32", X.shape, 0))], np.arange(ROWS))
    return preprocessed([rows], Preprocessing(features=("center", "l2")))[0]


def test_rows_are_those_of_the_array_in_the_expected_order(in_a_file):
    X, order = np.asarray(in_a_file), np.random.default_rng(1).permutation(ROWS)
    ahead = RowsAhead(in_a_file, np.float32)
    for _ in range(2):
        ahead.expect(order)
        # Batches that end where no reading ends, and a shorter last one.
        for start in range(0, ROWS, 64):
            rows = order[start : start + 64]
            found = np.empty((len(rows), WIDTH), np.float32)
            assert ahead.take(rows, axis=0, out=found, mode="clip") is found
            np.testing.assert_array_equal(found, X[rows])


def test_what_is_expected_is_read_once_and_together(in_a_file, monkeypatch):
    read = []
    own = RowsAhead._read
    monkeypatch.setattr(RowsAhead, "_read", lambda self, rows: (read.append(len(rows)), own(self, rows))[1])
    ahead, order = RowsAhead(in_a_file, np.float32), np.random.default_rng(1).permutation(ROWS)
    ahead.expect(order)
    for start in range(0, ROWS, 50):
        ahead.take(order[start : start + 50])
    assert sorted(read) == [ROWS % TOGETHER, TOGETHER, TOGETHER]


def test_rows_that_were_not_expected_are_read_and_those_that_were_still_come(in_a_file):
    X, order = np.asarray(in_a_file), np.arange(ROWS)[::-1]
    ahead = RowsAhead(in_a_file, np.float64)
    ahead.expect(order)
    for rows in (order[:7], np.array([3, 3, 900]), order[7:20], np.array([], dtype=int)):
        found = ahead.take(rows)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, X[rows])


@pytest.mark.long
@pytest.mark.parametrize("name", ["zskl", "zskl-ort", "ale", "latem"])
def test_training_from_a_file_is_training_in_memory_to_the_last_bit(in_a_file, name):
    y = np.arange(ROWS) % CLASSES
    S = np.random.default_rng(2).standard_normal((CLASSES, 5))
    fitted = [component("methods", name)(epochs=2).fit(X, y, S) for X in (np.asarray(in_a_file), in_a_file)]
    np.testing.assert_array_equal(fitted[1].W_, fitted[0].W_)
    assert fitted[1].diagnostics_.series == fitted[0].diagnostics_.series

"""Steps that are fitted part by part, against NumPy over all rows at once."""

import numpy as np
import pytest

from zslplat.data.store import preprocessing
from zslplat.data.store.preprocessing import fit_steps
from zslplat.errors import DataError


@pytest.fixture
def rows(monkeypatch):
    """Rows whose means and spreads differ from part to part, in parts of 13 rows."""
    monkeypatch.setattr(preprocessing, "_CHUNK", 13 * 5)
    rng = np.random.default_rng(0)
    return (rng.normal(size=(100, 5)) * np.arange(1, 101)[:, None] + np.arange(100)[:, None]).astype(np.float64)


def test_means_and_spreads_are_those_of_all_rows(rows):
    X = np.hstack([rows, np.full((100, 1), 0.1)])  # the last is constant, and stays so
    found = fit_steps(("standardise",), X).apply(X)
    expected = (X - X.mean(axis=0)) / np.where(np.arange(6) < 5, X.std(axis=0), 1.0)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(fit_steps(("center",), X).apply(X), X - X.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("step", ["center", "center_all", "standardise"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_constant_is_nothing_but_zeros_when_it_is_centred(rows, step, dtype):
    constant = np.array([0.1, 1 / 3, 1e9 + 0.1])
    for n in (7, 11, 100):
        X = np.hstack([rows[:n], np.tile(constant, (n, 1))]).astype(dtype)
        np.testing.assert_array_equal(fit_steps((step,), X, every=X).apply(X)[:, 5:], 0)


def test_roots_of_shares_are_for_values_that_are_not_negative(rows):
    X = np.abs(rows)
    found = fit_steps(("hellinger",), X).apply(X)
    np.testing.assert_allclose(found, np.sqrt(X / X.sum(axis=1, keepdims=True)), atol=1e-12)
    steps = fit_steps(("hellinger",), X)
    with pytest.raises(DataError, match="hellinger needs non-negative values; put shift or split before it"):
        steps.apply(np.where(np.arange(5) == 2, -1e-9, X))
    assert steps.apply(X[:0]).shape == (0, 5)

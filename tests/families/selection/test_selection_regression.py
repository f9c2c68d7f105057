"""The regression of SemFS against brute force: its statistics, its objective, its three forms of the weights."""

import numpy as np
import pytest
from semfs_toys import problem, regression

from zslplat.errors import DataError, MethodError
from zslplat.families.selection.methods.regression import StatisticsAccumulator, regression_statistics
from zslplat_papers.parity.other_kinds import printed_objective, printed_weights


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("shape", [(90, 20), (15, 40)])
def test_objective_from_statistics_equals_the_printed_one(shape, by_row):
    X, y, S, rows = problem(*shape)
    rng = np.random.default_rng(1)
    s, W = rng.random(shape[1]), rng.standard_normal((shape[1], S.shape[1]))
    quadratic = regression(X, y, S, 0.7, rows if by_row else None)
    ours = quadratic.loss(np.arange(len(s)), s[:, None] * W) + 0.3 * np.sum(W**2)
    assert ours == pytest.approx(printed_objective(X, rows if by_row else S[y], y, s, W, 0.7, 0.3), rel=1e-12)


def test_alpha_only_divides_the_within_class_scatter():
    """J(alpha) / (1 + alpha) = |N^1/2 (Phi - M S W)|^2 + <SW, S_w SW> / (1 + alpha)."""
    X, y, S, _ = problem()
    quadratic = regression(X, y, S, 2.5)
    U = np.random.default_rng(1).standard_normal((X.shape[1], S.shape[1]))
    N = np.bincount(y)
    M = np.stack([X[y == k].mean(axis=0) for k in range(len(S))])
    within = X.T @ X - M.T @ (N[:, None] * M)
    expected = np.sum(N[:, None] * (S - M @ U) ** 2) + np.sum(U * (within @ U)) / 3.5
    assert quadratic.loss(np.arange(len(U)), U) / 3.5 == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("block", [7, 64, 4096])
def test_statistics_do_not_depend_on_the_blocks(block):
    X, y, S, rows = problem()
    whole = regression_statistics(X, y, len(S), rows)
    parts = regression_statistics(X, y, len(S), rows, block=block)
    for name, array in whole.items():
        np.testing.assert_allclose(parts[name], array, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(whole["gram"], X.T @ X, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(whole["cross"], X.T @ rows, rtol=1e-11, atol=1e-11)


def test_single_precision_rows_give_the_gram_to_single_precision():
    X, y, S, _ = problem(n=3000, dtype=np.float32)
    found = regression_statistics(X, y, len(S), block=256)
    exact = X.astype(np.float64).T @ X.astype(np.float64)
    assert found["gram"].dtype == np.float64
    # One block of 256 float32 products is rounded to about 256^(1/2) * 6e-8 of its size.
    np.testing.assert_allclose(found["gram"], exact, atol=2e-6 * exact.max())


def test_a_stream_without_a_class_is_refused():
    accumulator = StatisticsAccumulator(3, 4)
    accumulator.add(np.ones((2, 4)), np.array([0, 1]))
    with pytest.raises(DataError, match="first class 2"):
        accumulator.result()


@pytest.mark.parametrize("alpha", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("form", ["primal", "dual", "class"])
def test_all_forms_of_the_weights_equal_equation_8(form, alpha):
    X, y, S, _ = problem()
    s = np.random.default_rng(2).random(X.shape[1])
    s[3:6] = 0
    quadratic = regression(X, y, S, alpha, keep_rows=form == "dual")
    padded = np.concatenate([s, np.zeros(len(quadratic.H) - len(s))])
    active, W = quadratic.weights(padded, 0.5, form)
    expected = printed_weights(X, S[y], y, s, alpha, 0.5)
    assert active.tolist() == np.flatnonzero(s).tolist()
    np.testing.assert_allclose(W, expected[active], rtol=1e-8, atol=1e-10)


def test_dual_form_takes_row_signatures_and_class_form_refuses_them():
    X, y, S, rows = problem()
    s = np.ones(X.shape[1])
    wide = regression(X, y, S, 0.4, rows, keep_rows=True)
    _, W = wide.weights(np.concatenate([s, np.zeros(len(wide.H) - len(s))]), 0.5, "dual")
    np.testing.assert_allclose(W, printed_weights(X, rows, y, s, 0.4, 0.5), rtol=1e-8, atol=1e-10)
    with pytest.raises(MethodError, match="class signatures"):
        regression(X, y, S, 0.4, rows).weights(s, 0.5, "class")


def test_the_form_is_chosen_by_size():
    X, y, S, _ = problem()
    assert regression(X, y, S, 1.0)._cheapest(20) == "class"  # 6 classes, 9 attributes
    assert regression(X, y, S[:, :3], 1.0)._cheapest(20) == "primal"
    assert regression(X, y, S, 1.0, keep_rows=True)._cheapest(100) == "dual"
    assert regression(X, y, S[:, :3], 1.0, keep_rows=True)._cheapest(20) == "primal"

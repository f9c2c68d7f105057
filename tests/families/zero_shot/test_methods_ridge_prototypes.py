"""Ridge prototypes against the regression over rows that they stand for, and the cosines against dense matrices."""

import numpy as np
import pytest

from zslplat.families.zero_shot.methods.ridge_prototypes import RidgePrototypes
from zslplat_papers.parity.closed_forms import regression_over_rows


def problem(n=90, d=12, c=7, a=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.choice(c, n - c, p=np.arange(1, c + 1) / np.arange(1, c + 1).sum())])
    S = rng.uniform(0, 1, (c, a))
    X = S[y] @ rng.standard_normal((a, d)) + 0.3 * rng.standard_normal((n, d)) + 5
    return X, y, S


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_prototypes_are_those_of_the_regression_over_rows(alpha):
    X, y, S = problem()
    method = RidgePrototypes(alpha=alpha).fit(X, y, S)
    M, offset = regression_over_rows(X, y, S, alpha)
    np.testing.assert_allclose(method.M_, M, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(method.mean_ + (S - method.signature_mean_) @ method.M_, S @ M + offset, rtol=1e-9)


def test_scores_are_cosines_in_the_metric_of_the_residual():
    X, y, S = problem()
    unseen = np.random.default_rng(1).uniform(0, 1, (4, S.shape[1]))
    method = RidgePrototypes(alpha=0.1, shrinkage=0.7, temperature=float("inf")).fit(X, y, S)
    within = X - np.array([X[y == k].mean(axis=0) for k in range(len(S))])[y]
    C = within.T @ within
    precision = np.linalg.inv(C + 0.7 * np.trace(C) / len(C) * np.eye(len(C)))
    M, offset = regression_over_rows(X, y, S, 0.1)
    rows, prototypes = X - X.mean(axis=0), unseen @ M + offset - X.mean(axis=0)
    lengths = [np.sqrt(np.einsum("ij,jk,ik->i", v, precision, v)) for v in (rows, prototypes)]
    expected = rows @ precision @ prototypes.T / np.outer(*lengths)
    np.testing.assert_allclose(method.decision_function(X, unseen), expected, atol=1e-9)


def test_temperature_moves_rows_and_no_class_inside_a_row():
    X, y, S = problem()
    plain = RidgePrototypes(temperature=float("inf")).fit(X, y, S).decision_function(X, S)
    relative = RidgePrototypes(temperature=0.05).fit(X, y, S).decision_function(X, S)
    moved = plain - relative
    np.testing.assert_allclose(moved, np.repeat(moved[:, :1], len(S), axis=1), atol=1e-12)
    np.testing.assert_allclose(np.exp(relative / 0.05).sum(axis=1), 1)
    assert np.ptp(moved[:, 0]) > 1e-3


def test_signatures_that_are_all_the_same_have_the_mean_as_prototype():
    X, y, S = problem()
    method = RidgePrototypes().fit(X, y, np.ones_like(S))
    np.testing.assert_array_equal(method.M_, 0)

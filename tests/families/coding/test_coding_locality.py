"""Locality-constrained codes: the constrained minimum, also where the query is an atom; bags of words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_digits

from zslplat.errors import MethodError, UsageError
from zslplat.families.coding.methods import schemes as solver
from zslplat.families.coding.methods.kernel_coding import LLC
from zslplat.families.coding.methods.schemes import (
    EPSILON,
    LocalScheme,
    codes_on,
    full_codes,
    hard_codes,
    local_ridges,
    nearest_atoms,
    soft_codes,
    squared_distances,
)


def local_codes(K, k, kappa, neighbours, *, excluded=None, epsilon=EPSILON):
    return LocalScheme(neighbours, epsilon).encode(K, k, kappa, excluded=excluded)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    D, X = rng.normal(size=(90, 5)), rng.normal(size=(60, 5))

    def gaussian(A, B):
        return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    return gaussian(D, D), gaussian(X, D), np.ones(len(X))


def test_local_codes_sum_to_one_on_the_nearest_atoms(problem):
    K, k, kappa = problem
    codes = local_codes(K, k, kappa, 7)
    np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-9)
    distances = squared_distances(K, k, kappa)
    for row, code in zip(distances, codes, strict=True):
        assert set(np.flatnonzero(code)) == set(np.argsort(row)[:7])


def test_local_codes_are_the_constrained_minimum(problem):
    K, k, kappa = problem
    codes = local_codes(K, k, kappa, 4, epsilon=1e-9)
    for query, code in zip(k[:5], codes[:5], strict=True):
        B = np.flatnonzero(code)
        K_B, k_B = K[np.ix_(B, B)], query[B]
        found = minimize(
            lambda y, K_B=K_B, k_B=k_B: y @ K_B @ y - 2 * y @ k_B,
            np.full(4, 0.25),
            jac=lambda y, K_B=K_B, k_B=k_B: 2 * (K_B @ y - k_B),
            constraints={"type": "eq", "fun": lambda y: y.sum() - 1, "jac": lambda y: np.ones_like(y)},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(code[B], found.x, atol=1e-5)


def test_local_codes_agree_with_the_covariance_form(problem):
    # y in proportion to (C + epsilon I)^-1 1 with C = K_B - k 1' - 1 k' + kappa 1 1': the form of linear LLC.
    K, k, kappa = problem
    epsilon = 1e-3
    codes = local_codes(K, k, kappa, 9, epsilon=epsilon)
    for query, code in zip(k, codes, strict=True):
        B = np.flatnonzero(code)
        C = K[np.ix_(B, B)] - query[B][:, None] - query[B][None, :] + 1
        y = np.linalg.solve(C + epsilon * np.diagonal(C).mean() * np.eye(len(B)), np.ones(len(B)))
        np.testing.assert_allclose(code[B], y / y.sum(), atol=1e-7)


def test_an_atom_codes_itself(problem):
    K, _, _ = problem
    # The ridge moves the code by about epsilon times the inverse of the local Gram matrix.
    np.testing.assert_allclose(local_codes(K, K, np.ones(len(K)), 6, epsilon=1e-10), np.eye(len(K)), atol=1e-4)


def test_codes_do_not_depend_on_where_the_origin_lies_nor_on_the_scale():
    rng = np.random.default_rng(0)
    D, X = rng.normal(size=(60, 12)), rng.normal(size=(20, 12))
    codes = []
    for shift, scale in ((0.0, 1.0), (7.0, 1.0), (0.0, 64.0)):
        A, B = scale * D + shift, scale * X + shift
        codes.append(local_codes(A @ A.T, B @ A.T, (B**2).sum(axis=1), 12))
    for other in codes[1:]:
        np.testing.assert_allclose(other, codes[0], atol=1e-7)


def test_duplicates_of_an_atom_share_its_code():
    D = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 5, axis=0)
    codes = local_codes(D @ D.T, D @ D.T, (D**2).sum(axis=1), 5)
    np.testing.assert_allclose(codes, np.kron(np.eye(3), np.full((5, 5), 0.2)), atol=1e-6)


def test_as_many_neighbours_as_features_do_not_break_local_codes_down():
    # There reconstruction is just exact: without a ridge that counts, codes of any size come out.
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    X, y = digits.data[order] @ np.random.default_rng(1).normal(size=(64, 30)), digits.target[order]
    accuracy = {}
    for neighbours in (15, 28, 30, 32, 90):
        fitted = LLC(neighbours=neighbours).fit(X[:600], y[:600])
        accuracy[neighbours] = (fitted.predict(X[600:1000]) == y[600:1000]).mean()
    assert min(accuracy.values()) > accuracy[15] - 0.03


def test_both_ways_of_solving_agree(problem, monkeypatch):
    K, k, kappa = problem
    nearest = nearest_atoms(squared_distances(K, k, kappa), 20)
    ridges = local_ridges(K, k, kappa, nearest, 1e-3)
    compiled = codes_on(K, k, nearest, ridges)
    monkeypatch.setattr(solver, "COMPILED_WIDTH", 0)
    np.testing.assert_allclose(codes_on(K, k, nearest, ridges), compiled, atol=1e-8)


def test_full_codes_are_the_constrained_minimum(problem):
    K, k, kappa = problem
    gamma, sigma = 0.01, 1.5
    codes = full_codes(K, k, kappa, gamma, sigma, epsilon=0)
    np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-9)
    price = gamma * np.exp(2 * sigma * np.sqrt(squared_distances(K, k, kappa)))
    # Stationary on the hyperplane: the gradient is the same number in every coordinate.
    gradient = codes @ K - k + price * codes
    np.testing.assert_allclose(gradient, gradient.mean(axis=1, keepdims=True) * np.ones_like(k), atol=1e-9)


def test_far_atoms_cost_more(problem):
    K, k, kappa = problem
    distances = squared_distances(K, k, kappa)
    weak = (np.abs(full_codes(K, k, kappa, 0.01, 0.1)) * distances).sum()
    strong = (np.abs(full_codes(K, k, kappa, 0.01, 5.0)) * distances).sum()
    assert strong < weak


@pytest.mark.parametrize("code", [
    lambda K, own: local_codes(K, K, np.ones(len(K)), 5, excluded=own),
    lambda K, own: full_codes(K, K, np.ones(len(K)), 0.01, 1.0, excluded=own),
])  # fmt: skip
def test_an_atom_that_is_left_out_has_no_part(problem, code):
    K = problem[0][:30, :30]
    own = np.arange(30)
    codes = code(K, own)
    assert np.abs(np.diagonal(codes)).max() < 1e-12
    rest = np.delete(own, 3)
    alone = code(K[np.ix_(rest, rest)], np.full(29, -1))
    assert alone.shape == (29, 29)
    np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-9)


def test_nearest_atoms_come_in_order_and_ties_by_index():
    distances = np.array([[3.0, 1.0, 1.0, 0.0, 1.0], [2.0, 2.0, 2.0, 2.0, 2.0]])
    np.testing.assert_array_equal(nearest_atoms(distances, 3), [[3, 1, 2], [0, 1, 2]])
    np.testing.assert_array_equal(nearest_atoms(distances, 9), [[3, 1, 2, 4, 0], [0, 1, 2, 3, 4]])


def test_soft_codes_tend_to_hard_ones(problem):
    K, k, kappa = problem
    distances = squared_distances(K, k, kappa)
    soft = soft_codes(distances, 5.0)
    weights = np.exp(-5.0 * distances)
    np.testing.assert_allclose(soft, weights / weights.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(soft_codes(distances, 1e7), hard_codes(distances), atol=1e-9)


def test_bad_input_is_named(problem):
    K, k, kappa = problem
    with pytest.raises(UsageError, match="neighbours"):
        local_codes(K, k, kappa, 0)
    for width in (10, 80):
        with pytest.raises(MethodError, match="not positive semi-definite"):
            local_codes(K - 2 * np.eye(len(K)), k, kappa, width)
    with pytest.raises(UsageError, match="gamma"):
        full_codes(K, k, kappa, 0.0, 1.0)

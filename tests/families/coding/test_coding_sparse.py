"""The sparse coder: optimal to machine precision, whatever the conditioning, and the same from any start."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import sparse_encode

from zslplat.errors import DataError, MethodError, UsageError
from zslplat.families.coding.methods.schemes import SparseScheme
from zslplat.families.coding.methods.sparse_codes import optimality_gap, sparse_codes, vanishing_gamma

DATA = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))


def gaussian(A, B, beta):
    distances = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2) if len(A) * len(B) * A.shape[1] < 5e6 else None
    if distances is None:
        distances = np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1)[None, :] - 2 * A @ B.T, 0)
    return np.exp(-beta * distances)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1120, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:120], X[120:]


@pytest.mark.parametrize("beta", [1e-4, 0.01, 0.3, 5.0])
@pytest.mark.parametrize("gamma", [1e-6, 1e-3, 0.05])
def test_codes_of_a_thousand_queries_are_optimal(rows, beta, gamma):
    # Condition numbers from 1e2 to beyond 1e16: a backward stable solve keeps the gap near machine precision.
    D, X = rows
    K, k = gaussian(D, D, beta), gaussian(X, D, beta)
    assert optimality_gap(K, k, sparse_codes(K, k, gamma), gamma).max() <= 1e-10


@pytest.mark.long
def test_codes_on_faces_are_optimal_where_the_gram_matrix_is_ill_conditioned():
    path = DATA / "coding" / "extyaleb.npz"
    if not path.exists():
        pytest.skip(f"no {path}")
    with np.load(path) as data:
        X, train = data["rf504"].astype(np.float64), data["train32"]
    D, Q = X[train][::2][:570], X[~train][:1000]
    worst = 0.0
    for beta in (0.413, 1.38):
        K, k = gaussian(D, D, beta), gaussian(Q, D, beta)
        worst = max(worst, np.linalg.cond(K))
        for gamma in (0.01, 0.05):
            assert optimality_gap(K, k, sparse_codes(K, k, gamma), gamma).max() <= 1e-10
    assert worst > 1e6


def test_codes_agree_with_scikit_learn(rows):
    D, X = rows[0][:40], rows[1][:50]
    gamma = 0.02
    codes = sparse_codes(D @ D.T, X @ D.T, gamma)
    theirs = sparse_encode(X, D, algorithm="lasso_lars", alpha=gamma / 2)
    K, k, kappa = D @ D.T, X @ D.T, (X**2).sum(axis=1)
    # 40 atoms in 6 dimensions: the minimiser need not be unique, its value is.
    ours, others = (SparseScheme(gamma).objective(K, k, kappa, found) for found in (codes, theirs))
    np.testing.assert_allclose(ours, others, atol=1e-7)
    assert (ours <= others + 1e-12).all()


def test_codes_agree_with_the_best_of_all_supports_and_signs(rows):
    D, X = rows[0][:5], rows[1][:20]
    gamma = 0.1
    K, k = gaussian(D, D, 0.5), gaussian(X, D, 0.5)
    codes = sparse_codes(K, k, gamma)
    for query, code in zip(k, codes, strict=True):
        best, value = np.zeros(5), 0.0
        for signs in itertools.product((-1, 0, 1), repeat=5):
            theta = np.array(signs)
            A = np.flatnonzero(theta)
            y = np.zeros(5)
            y[A] = np.linalg.solve(K[np.ix_(A, A)], query[A] - gamma / 2 * theta[A])
            objective = y @ K @ y - 2 * y @ query + gamma * np.abs(y).sum()
            if (y * theta >= 0).all() and objective < value:
                best, value = y, objective
        np.testing.assert_allclose(code, best, atol=1e-9)


def test_a_start_changes_nothing_but_the_way(rows):
    D, X = rows[0], rows[1][:200]
    K, k = gaussian(D, D, 1.0), gaussian(X, D, 1.0)
    cold = sparse_codes(K, k, 0.01)
    for start in (sparse_codes(K, k, 0.03), sparse_codes(K, k, 0.003), -cold, np.ones_like(k)):
        np.testing.assert_allclose(sparse_codes(K, k, 0.01, start=start), cold, atol=1e-9)


def test_threads_change_no_bit(rows):
    D, X = rows
    K, k = gaussian(D, D, 1.0), gaussian(X, D, 1.0)
    np.testing.assert_array_equal(sparse_codes(K, k, 0.01, threads=3), sparse_codes(K, k, 0.01))


def test_repeated_opposite_and_empty_atoms_are_no_obstacle(rows):
    D, X = rows[0][:30], rows[1][:100]
    D = np.vstack([D, D, -D[:9], D[:9] + 1e-9, np.zeros((2, D.shape[1]))])
    K, k, kappa = D @ D.T, X @ D.T, (X**2).sum(axis=1)
    codes = sparse_codes(K, k, 0.01)
    assert optimality_gap(K, k, codes, 0.01).max() <= 1e-10
    plain = sparse_codes(K[:30, :30], k[:, :30], 0.01)
    objective = SparseScheme(0.01).objective
    with_signs, without = objective(K, k, kappa, codes), objective(K[:30, :30], k[:, :30], kappa, plain)
    assert (with_signs <= without + 1e-9).all()


def test_ties_end(rows):
    rng = np.random.default_rng(1)
    D, X = rng.integers(-2, 3, size=(150, 6)), rng.integers(-2, 3, size=(150, 6))
    K, k = D @ D.T, X @ D.T
    for gamma in (1e-4, 0.1, 2):
        assert optimality_gap(K, k, sparse_codes(K, k, gamma), gamma).max() <= 1e-10


def test_codes_vanish_exactly_from_the_named_gamma_on(rows):
    D, X = rows
    K, k = gaussian(D, D, 1.0), gaussian(X, D, 1.0)
    gamma = vanishing_gamma(k)
    assert not sparse_codes(K, k, gamma).any()
    assert sparse_codes(K, k, 0.999 * gamma).any()


def test_an_atom_codes_itself_first(rows):
    D = rows[0]
    K = gaussian(D, D, 20.0)
    codes = sparse_codes(K, K, 0.01)
    assert (np.abs(codes).argmax(axis=1) == np.arange(len(D))).all()


def test_bad_input_is_named(rows):
    D, X = rows
    K, k = gaussian(D, D, 1.0), gaussian(X, D, 1.0)
    with pytest.raises(UsageError, match="gamma"):
        sparse_codes(K, k, 0.0)
    with pytest.raises(DataError, match="expected K"):
        sparse_codes(K, k[:, :-1], 0.1)
    with pytest.raises(DataError, match="NaN"):
        sparse_codes(K, np.where(k > 0.9, np.nan, k), 0.1)
    with pytest.raises(MethodError, match="positive semi-definite"):
        sparse_codes(K - 0.5 * np.eye(len(K)), k, 1e-4)


def test_an_atom_that_is_left_out_might_as_well_not_exist(rows):
    D = rows[0][:40]
    K = gaussian(D, D, 1.0)
    codes = sparse_codes(K, K, 0.01, excluded=np.arange(40), start=np.eye(40))
    assert not np.diagonal(codes).any()
    for i in (0, 7, 39):
        rest = np.delete(np.arange(40), i)
        alone = sparse_codes(K[np.ix_(rest, rest)], K[i : i + 1, rest], 0.01)
        np.testing.assert_allclose(codes[i, rest], alone[0], atol=1e-9)

"""Incomplete Cholesky and Nystrom features: exactness at full rank, projections below it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from zslplat.errors import DataError, UsageError
from zslplat.kernels import incomplete_cholesky, parse_kernel
from zslplat.testing.rows import in_blocks

KERNEL = parse_kernel("gaussian(sigma=1.2)")


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("block", [1, 7, 100])
@pytest.mark.parametrize("text", ["gaussian(sigma=1.2)", "linear", "0.5*polynomial(r=2, c=1) + cauchy(sigma=1)"])
def test_full_rank_reproduces_the_gram_matrix(text, block):
    kernel, X = parse_kernel(text), rows()
    K = kernel(X)
    found = incomplete_cholesky(kernel, X, block=block)
    np.testing.assert_allclose(found.features @ found.features.T, K, atol=1e-9 * np.abs(K).max())
    assert found.rank == (4 if text == "linear" else found.rank)
    assert found.residual < 1e-9


@pytest.mark.parametrize("block", [1, 7])
def test_factor_is_lower_triangular_and_belongs_to_the_pivots(block):
    X = rows()
    found = incomplete_cholesky(KERNEL, X, rank=20, block=block)
    assert found.rank == 20
    np.testing.assert_array_equal(found.factor, np.tril(found.factor))
    np.testing.assert_array_equal(found.features[found.pivots], found.factor)
    np.testing.assert_array_equal(found.landmarks, X[found.pivots])
    np.testing.assert_allclose(found.factor @ found.factor.T, KERNEL(found.landmarks), atol=1e-12)
    np.testing.assert_allclose(found.transform(X), found.features, atol=1e-10)


def test_pivots_are_the_largest_residuals():
    X = rows()
    K = KERNEL(X)
    found = incomplete_cholesky(KERNEL, X, rank=10)
    for r, pivot in enumerate(found.pivots):
        residual = np.diag(K) - np.sum(found.features[:, :r] ** 2, axis=1)
        assert residual[pivot] == pytest.approx(residual.max(), abs=1e-12)


def test_coordinates_are_the_projection_on_the_landmarks():
    X, new = rows(), rows(30, seed=1)
    found = incomplete_cholesky(KERNEL, X, rank=12)
    v = found.transform(new)
    k = KERNEL(new, found.landmarks)
    np.testing.assert_allclose(v @ v.T, k @ np.linalg.solve(KERNEL(found.landmarks), k.T), atol=1e-8)
    # |v|^2 <= k(x, x) for every point: a projection is never longer than what it projects.
    assert np.all(np.sum(v * v, axis=1) <= KERNEL.diag(new) + 1e-12)
    expected = np.trace(KERNEL(X) - found.features @ found.features.T) / 60
    assert found.residual == pytest.approx(expected, abs=1e-10)


def test_tolerance_stops_at_the_first_rank_that_reaches_it():
    X = rows()
    found = incomplete_cholesky(KERNEL, X, tolerance=0.05)
    assert found.residual <= 0.05
    assert incomplete_cholesky(KERNEL, X, rank=found.rank - 1).residual > 0.05
    assert incomplete_cholesky(KERNEL, X, tolerance=0.05, block=8).residual <= 0.05


def test_duplicate_rows_add_no_rank():
    X = np.vstack([rows(10), rows(10)])
    assert incomplete_cholesky(KERNEL, X).rank == 10
    assert incomplete_cholesky(KERNEL, X, block=5).rank == 10


def test_matrices_are_taken_as_rows():
    A = np.random.default_rng(0).standard_normal((20, 3, 9))
    P = A @ A.transpose(0, 2, 1)
    kernel = parse_kernel("log-euclidean(sigma=2)")
    found = incomplete_cholesky(kernel, P)
    np.testing.assert_allclose(found.transform(P) @ found.transform(P).T, kernel(P), atol=1e-8)


def test_bad_requests_are_refused():
    X = rows()
    with pytest.raises(UsageError, match="indefinite"):
        incomplete_cholesky(parse_kernel("sigmoid"), X)
    with pytest.raises(UsageError, match="rank=0"):
        incomplete_cholesky(KERNEL, X, rank=0)
    with pytest.raises(UsageError, match="tolerance=1"):
        incomplete_cholesky(KERNEL, X, tolerance=1)
    with pytest.raises(DataError, match="at least one row"):
        incomplete_cholesky(KERNEL, X[:0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [partial(incomplete_cholesky, block=8), incomplete_cholesky])
def test_features_of_rows_in_blocks_are_those_of_the_array(make, dtype):
    X = rows(90).astype(dtype)
    expected, found = make(KERNEL, X, rank=12), make(KERNEL, in_blocks(X), rank=12)
    np.testing.assert_array_equal(found.pivots, expected.pivots)
    np.testing.assert_array_equal(found.landmarks, expected.landmarks)
    assert found.landmarks.dtype == dtype
    np.testing.assert_allclose(found.features, expected.features, atol=1e-10)
    assert found.residual == pytest.approx(expected.residual, rel=1e-9)
    np.testing.assert_allclose(found.transform(in_blocks(X)), expected.transform(X), atol=1e-10)


@pytest.mark.parametrize("text", ["gaussian(sigma=0.7*median)", "polynomial(r=2, c=0.5*square)", "chi-squared"])
def test_scales_of_rows_in_blocks_are_those_of_the_array(text):
    X = np.abs(rows(1500)).astype(np.float32)
    expected, found = (parse_kernel(text).resolved(given) for given in (X, in_blocks(X)))
    assert {**found.values} == pytest.approx({**expected.values}, rel=1e-6)
    assert found.is_resolved


def test_rows_in_blocks_that_a_kernel_cannot_take_are_refused():
    X = rows()
    with pytest.raises(DataError, match="non-negative"):
        parse_kernel("chi-squared").resolved(in_blocks(X))

"""Neighbour graphs against a brute-force sort of all cosines."""

import numpy as np
import pytest

from zslplat.methods.neighbours import affinity, degrees, nearest, nearest_columns


def brute_force(X, k):
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    order = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(cosine, order, axis=1)


@pytest.fixture
def X():
    return np.random.default_rng(3).standard_normal((157, 12))


@pytest.mark.parametrize("block", [16, 50, 1000])
@pytest.mark.parametrize("columns", [False, True])
def test_neighbours_equal_brute_force(X, block, columns):
    if columns:
        index, cosine = nearest_columns(X @ X.T, 9, X.dtype, block=block)
    else:
        index, cosine = nearest(X, 9, block=block)
    expected, values = brute_force(X, 9)
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_allclose(cosine, values, atol=1e-14)


def test_smaller_k_is_a_prefix(X):
    large, cosine_large = nearest(X, 20, block=40)
    small, cosine_small = nearest(X, 5, block=40)
    np.testing.assert_array_equal(large[:, :5], small)
    np.testing.assert_array_equal(cosine_large[:, :5], cosine_small)


def test_ties_are_broken_by_index():
    # Eight copies of four orthogonal vectors: cosines are exactly 1 within a group and 0 otherwise.
    X = np.tile(np.eye(4), (8, 1))
    index, _ = nearest(X, 9, block=5)
    expected, _ = brute_force(X, 9)
    np.testing.assert_array_equal(index, expected)


def test_no_row_is_its_own_neighbour_even_among_duplicates():
    X = np.ones((40, 3), dtype=np.float32)
    index, _ = nearest(X, 39, block=7)
    assert (index != np.arange(40)[:, None]).all()
    assert all(len(set(row)) == 39 for row in index.tolist())


def test_k_is_cut_to_what_exists(X):
    index, _ = nearest(X[:4], 10)
    assert index.shape == (4, 3)
    assert nearest(X[:1], 10)[0].shape == (1, 0)
    assert affinity(*nearest(X[:1], 10), 10).shape == (1, 1)


def test_zero_vectors_have_cosine_zero():
    X = np.vstack([np.zeros((1, 5)), np.eye(5)])
    _, cosine = nearest(X, 3)
    np.testing.assert_array_equal(cosine[0], 0)


def test_affinity_is_the_printed_definition(X):
    k = 6
    index, cosine = nearest(X, 15)
    W = affinity(index, cosine, k).toarray()
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    neighbour = np.zeros((len(X), len(X)), dtype=bool)
    neighbour[np.arange(len(X))[:, None], brute_force(X, k)[0]] = True
    expected = np.where(neighbour | neighbour.T, np.maximum(unit @ unit.T, 0), 0)  # Eq. 2 with negatives clipped
    np.testing.assert_allclose(W, expected, atol=1e-14)
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_allclose(degrees(affinity(index, cosine, k)), expected.sum(axis=1), atol=1e-12)


def test_float32_cosines_are_within_rounding(X):
    _, exact = nearest(X, 9)
    _, single = nearest(X.astype(np.float32), 9)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, atol=5e-7)  # a few units in the last place of 1

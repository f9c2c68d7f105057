"""Rounding is no property of a kernel: eigenvalues below the precision of its values refuse nothing.

A smooth kernel on rows of few dimensions, repeated rows, rows far from the origin and bandwidths far from the distances
of the rows give Gram matrices whose smallest eigenvalues are rounding, of either sign.
"""

from __future__ import annotations

import numpy as np
import pytest

import zslplat
from zslplat.errors import DataError, MethodError
from zslplat.families.coding.methods.classifiers import fit_bilinear, fit_linear
from zslplat.families.coding.methods.schemes import LocalScheme, full_codes
from zslplat.families.coding.methods.sparse_codes import optimality_gap, sparse_codes
from zslplat.kernels import incomplete_cholesky, parse_kernel
from zslplat.kernels.base import rounding_of_eigenvalues
from zslplat.kernels.forms import Sigmoid
from zslplat.registry import component, names

KERNELS = (
    "gaussian(sigma=0.01*median)",
    "gaussian",
    "gaussian(sigma=10*median)",
    "gaussian(sigma=1000*median)",
    "cauchy",
    "polynomial",
    "polynomial(r=8)",
    "chi-squared",
    "l2-laplacian",
    "gaussian + linear",
)
LABELS, TRAIN = np.repeat([0, 1, 2], 20), np.arange(60) % 2 == 0
CODERS = [
    name
    for name in names("methods")
    if component("methods", name).kind == "coding" and "kernel" in component("methods", name).parameters
]


def rows(seed, form="plain", columns=1):
    X = np.abs(np.random.default_rng(seed).normal(size=(60, columns)) + LABELS[:, None])
    if form == "repeated":
        X[30:] = X[:30]
    elif form == "far":
        X += 100
    return X.astype(np.float32) if form == "float32" else X


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("form", ["plain", "repeated", "far", "float32"])
def test_no_coder_refuses_a_kernel_for_its_rounding(coder, form):
    for kernel in KERNELS:
        X = rows(1, form)
        scores = zslplat.make(coder, kernel=kernel).fit(X[TRAIN], LABELS[TRAIN]).decision_function(X[~TRAIN])
        assert np.isfinite(scores).all(), kernel


def grams(kernel, X):
    resolved = parse_kernel(kernel).resolved(X[TRAIN])
    K, k = (resolved(*sides) for sides in ((X[TRAIN],), (X[~TRAIN], X[TRAIN])))
    unit = float(np.diagonal(K).mean())
    return K / unit, k / unit


@pytest.mark.parametrize("form", ["plain", "repeated", "far"])
def test_sparse_codes_on_a_singular_gram_matrix_are_optimal(form):
    negative = 0
    for kernel in KERNELS:
        for seed in range(4):
            K, k = grams(kernel, rows(seed, form))
            negative += np.linalg.eigvalsh(K)[0] < 0
            for gamma in (1e-4, 1e-3):
                allowed = 1e-10 * np.maximum(gamma / 2, np.abs(k).max(axis=1))
                assert (optimality_gap(K, k, sparse_codes(K, k, gamma), gamma) <= allowed).all(), (kernel, seed)
    assert negative > 10


def test_a_query_that_does_without_an_atom_is_optimal_on_the_others():
    own = np.arange(30)
    for seed in range(10):
        K, _ = grams("gaussian", rows(seed))
        codes = sparse_codes(K, K, 1e-4, excluded=own)
        assert not np.diagonal(codes).any()
        assert (optimality_gap(K, K, codes, 1e-4, own) <= 1e-10).all()


def test_the_codes_of_a_query_do_not_depend_on_the_others():
    for seed in range(10):
        K, k = grams("gaussian", rows(seed))
        together = sparse_codes(K, k, 1e-3)
        alone = np.vstack([sparse_codes(K, query[None, :], 1e-3) for query in k])
        np.testing.assert_array_equal(together, alone)


class Indefinite(Sigmoid):
    """A kernel that claims to be positive semidefinite."""

    psd = True


@pytest.mark.parametrize(
    "code",
    [
        lambda K: sparse_codes(K, K, 1e-3),
        lambda K: sparse_codes(K.astype(np.float32), K, 1e-3),
        lambda K: LocalScheme(20).encode(K, K, np.diagonal(K)),
        lambda K: LocalScheme(70).encode(K, K, np.diagonal(K)),
        lambda K: full_codes(K, K, np.diagonal(K), 1e-3, 1.0),
    ],
)
def test_a_kernel_that_is_indefinite_is_refused(code):
    X = np.random.default_rng(0).normal(size=(80, 3))
    with pytest.raises(MethodError, match=r"not positive semi-definite \(eigenvalues from -"):
        code(Indefinite().resolved(X)(X))


def test_incomplete_cholesky_refuses_a_kernel_that_is_indefinite_and_values_that_are_not_finite():
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(MethodError, match="is not positive semidefinite on these rows"):
        incomplete_cholesky(Indefinite().resolved(X), X)
    with np.errstate(over="ignore"), pytest.raises(DataError, match="gave NaN or infinity"):
        incomplete_cholesky(parse_kernel("polynomial(r=2, c=1)"), X * 1e100)


@pytest.mark.parametrize("coder", CODERS)
def test_kernel_values_that_are_not_finite_are_one_clear_error(coder):
    X = rows(0) * 1e150
    with np.errstate(over="ignore"), pytest.raises(DataError, match="gave NaN or infinity"):
        zslplat.make(coder, kernel="polynomial(c=1)").fit(X[TRAIN], LABELS[TRAIN])


def test_a_ridge_that_is_lost_to_rounding_leaves_a_classifier():
    K, _ = grams("gaussian", rows(0))
    L = np.eye(3)[LABELS[TRAIN]]
    repeated = np.ones((30, 40))
    for W in (fit_linear(repeated, L, 1.0, 1e-300), fit_bilinear(K, repeated, L, 1.0, 1e-300)):
        assert np.isfinite(W).all()


def test_eigenvalues_move_by_no_more_than_rounding_says():
    for dtype in (np.float32, np.float64):
        for form in ("plain", "repeated", "far"):
            K, _ = grams("gaussian", rows(0, form).astype(dtype))
            values = np.linalg.eigvalsh(K)
            assert values[0] >= -rounding_of_eigenvalues(len(K), values[-1], dtype)
    assert rounding_of_eigenvalues(30, 1.0, np.float64) < 1e-6

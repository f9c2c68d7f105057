"""Every registered kernel: its Gram matrix, its diagonal, its parameters; and the formulas of the built-in ones."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from scipy.linalg import logm

from zslplat.errors import DataError, UnknownNameError, UsageError
from zslplat.kernels import base, parse_kernel
from zslplat.kernels.scales import median_distance
from zslplat.registry import names

ROWS, COLUMNS = 23, 6

EXPRESSIONS = [
    "0.5*gaussian(sigma=1) + 0.5*polynomial(r=2)",
    "gaussian*cauchy(sigma=2)",
    "normalised(polynomial(r=3, c=0.5))",
    "(gaussian + linear)^2",
    "l1-laplacian*gaussian",
    "normalised(histogram-intersection)",
    "2*chi-squared + linear",
]
ALL = [*names("kernels"), *EXPRESSIONS]


def inputs(kernel, rows=ROWS, seed=0):
    random = np.random.default_rng(seed)
    if kernel.input == "spd":
        A = random.standard_normal((rows, 4, 7))
        return A @ A.transpose(0, 2, 1)
    columns = -(-COLUMNS // kernel.width_multiple) * kernel.width_multiple
    X = random.standard_normal((rows, columns))
    return np.abs(X) if kernel.non_negative else X


@pytest.fixture(params=ALL)
def kernel(request):
    kernel = parse_kernel(request.param)
    return kernel.resolved(inputs(kernel))


def test_gram_is_exactly_symmetric_with_the_diagonal_of_diag(kernel):
    X = inputs(kernel)
    K = kernel(X)
    assert K.shape == (ROWS, ROWS)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), kernel.diag(X))


def test_gram_of_one_argument_is_that_of_two(kernel):
    X = inputs(kernel)
    # The square root of a squared distance turns rounding of 1e-15 into 1e-7 on the diagonal.
    np.testing.assert_allclose(kernel(X), kernel(X, X.copy()), rtol=1e-12, atol=2e-7)


def test_swapping_the_arguments_transposes(kernel):
    X, Y = inputs(kernel), inputs(kernel, rows=9, seed=1)
    np.testing.assert_allclose(kernel(X, Y), kernel(Y, X).T, rtol=1e-12, atol=1e-12)


def test_psd_is_as_declared(kernel):
    lowest, highest = np.linalg.eigvalsh(kernel(inputs(kernel)))[[0, -1]]
    if kernel.psd:
        assert lowest > -1e-10 * highest
    else:
        assert lowest < -1e-3 * highest


def test_blocks_agree_with_the_whole(kernel, monkeypatch):
    X, Y = inputs(kernel), inputs(kernel, rows=9, seed=1)
    whole, square = kernel(X, Y), kernel(X)
    for rows, block in kernel.blocks(X, Y, rows=4):
        np.testing.assert_allclose(block, whole[rows], rtol=1e-12, atol=1e-14)
    monkeypatch.setattr(base, "BLOCK_ELEMENTS", 40)
    np.testing.assert_allclose(kernel(X, Y), whole, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X), square, rtol=1e-12, atol=2e-7)


def test_symmetric_gram_in_several_blocks_agrees(monkeypatch):
    kernel = parse_kernel("gaussian(sigma=1)")
    X = np.random.default_rng(0).standard_normal((200, 5))
    whole = kernel(X)
    monkeypatch.setattr(base, "BLOCK_ELEMENTS", 1)  # the smallest step is 64 rows
    K = kernel(X)
    np.testing.assert_allclose(K, whole, rtol=1e-13)
    np.testing.assert_array_equal(K, K.T)


def test_single_precision_stays_and_is_near_double(kernel):
    X = inputs(kernel)
    X32 = X.astype(np.float32)
    K = kernel(X32)
    assert K.dtype == np.float32
    assert kernel(X32, X32).dtype == np.float32
    assert kernel.diag(X32).dtype == np.float32
    assert kernel(X32, X).dtype == np.float64
    exact = kernel(X32.astype(np.float64))
    # 1e-7 per operation, over six columns and powers up to the fourth.
    np.testing.assert_allclose(K, exact, rtol=2e-5, atol=2e-5 * np.abs(exact).max())


def test_inputs_are_not_changed(kernel):
    X, Y = inputs(kernel), inputs(kernel, rows=9, seed=1)
    X.flags.writeable = Y.flags.writeable = False
    kernel(X)
    kernel(X, Y)
    kernel.diag(X)


def test_integer_rows_are_taken(kernel):
    if kernel.input == "vectors":
        X = np.random.default_rng(0).integers(0, 5, (6, inputs(kernel).shape[1]))
        np.testing.assert_allclose(kernel(X), kernel(X.astype(float)))


def test_pickle_and_text_give_the_kernel_back(kernel):
    X = inputs(kernel)
    for other in (pickle.loads(pickle.dumps(kernel)), parse_kernel(str(kernel)), kernel.replaced({})):
        assert other == kernel
        assert str(other) == str(kernel)
        np.testing.assert_array_equal(other(X), kernel(X))


def test_every_corner_of_the_search_space_constructs(kernel):
    X = inputs(kernel)
    space = kernel.space
    corners = [getattr(r, "values", None) or (r.low, r.high) for r in space.values()]
    for corner in itertools.islice(itertools.product(*corners), 64):
        other = kernel.replaced(dict(zip(space, corner, strict=True)))
        assert np.isfinite(other(X)).all()


def test_wrong_shapes_are_refused(kernel):
    bad = np.zeros((3, 3, 3, 3))
    with pytest.raises(DataError, match="takes inputs"):
        kernel(bad)
    if kernel.input == "vectors":
        with pytest.raises(DataError, match="do not fit together"):
            kernel(np.ones((3, 2 * kernel.width_multiple)), np.ones((3, 4 * kernel.width_multiple)))
    if kernel.non_negative:
        with pytest.raises(DataError, match="non-negative"):
            kernel(-np.ones((3, 2 * kernel.width_multiple)))


REFERENCE = {
    "linear": lambda a, b: a @ b,
    "polynomial(r=3, c=0.5)": lambda a, b: (a @ b + 0.5) ** 3,
    "polynomial(r=6, c=2)": lambda a, b: (a @ b + 2) ** 6,
    "gaussian(sigma=0.7)": lambda a, b: np.exp(-np.sum((a - b) ** 2) / (2 * 0.7**2)),
    "cauchy(sigma=1.3)": lambda a, b: 1 / (1 + 1.3 * np.sum((a - b) ** 2)),
    "l2-laplacian(sigma=0.4)": lambda a, b: np.exp(-0.4 * np.linalg.norm(a - b)),
    "l1-laplacian(sigma=0.4)": lambda a, b: np.exp(-0.4 * np.sum(np.abs(a - b))),
    "sigmoid(scale=0.5, c=0.1)": lambda a, b: np.tanh(0.5 * a @ b + 0.1),
    "chi-squared(sigma=0.9)": lambda a, b: np.exp(-0.9 * np.sum((a - b) ** 2 / (a + b))),
    "histogram-intersection": lambda a, b: np.sum(np.minimum(a, b)),
    "0.3*linear + 2*cauchy(sigma=1)": lambda a, b: 0.3 * a @ b + 2 / (1 + np.sum((a - b) ** 2)),
    "linear*cauchy(sigma=1)^2": lambda a, b: a @ b / (1 + np.sum((a - b) ** 2)) ** 2,
    "normalised(polynomial(r=2, c=1))": lambda a, b: (a @ b + 1) ** 2 / ((a @ a + 1) * (b @ b + 1)),
}


@pytest.mark.parametrize("text", REFERENCE)
def test_values_are_those_of_the_formula(text):
    kernel, f = parse_kernel(text), REFERENCE[text]
    X, Y = np.abs(inputs(kernel, rows=5)), np.abs(inputs(kernel, rows=4, seed=1))
    np.testing.assert_allclose(kernel(X, Y), [[f(a, b) for b in Y] for a in X], rtol=1e-10)


def test_log_euclidean_is_a_gaussian_of_matrix_logarithms():
    kernel = parse_kernel("log-euclidean(sigma=2)")
    P = inputs(kernel, rows=5)
    logs = [logm(A) for A in P]
    expected = [[np.exp(-np.sum((a - b) ** 2) / 8) for b in logs] for a in logs]
    np.testing.assert_allclose(kernel(P), expected, rtol=1e-9)
    with pytest.raises(DataError, match="matrix 2 is not symmetric positive definite"):
        kernel(np.concatenate([P[:2], -P[:1]]))


@pytest.mark.parametrize("name", [n for n in names("kernels") if "sigma" in parse_kernel(n).values])
def test_default_bandwidth_puts_the_median_pair_where_the_kernel_bends(name):
    kernel = parse_kernel(name)
    assert not kernel.is_resolved
    X = inputs(kernel, rows=40)
    with pytest.raises(UsageError, match="resolved"):
        kernel(X)
    resolved = kernel.resolved(X)
    assert resolved.resolved(X) is resolved
    off = resolved(X)[np.triu_indices(40, 1)]
    bend = {"cauchy": 0.5, "gaussian": np.exp(-0.5), "log-euclidean": np.exp(-0.5)}.get(name, np.exp(-1))
    # All are monotone in their distance, so that the median distance is the median kernel value.
    assert np.median(off) == pytest.approx(bend, rel=0.02)


def test_median_distance_of_equal_rows_is_refused():
    with pytest.raises(DataError, match="give the bandwidth"):
        median_distance(np.ones((5, 2)))
    big = np.random.default_rng(0).standard_normal((3000, 3))
    assert median_distance(big) == median_distance(big)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gaussian(sigma=0)", "sigma=0 is out of range"),
        ("cauchy(sigma=-1)", "sigma=-1 is out of range"),
        ("polynomial(r=0)", "r=0 is out of range"),
        ("polynomial(c=-0.1)", "c=-0.1 is out of range"),
        ("gaussian(sigma=true)", "sigma=True is out of range"),
    ],
)
def test_illegal_parameters_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_kernel(text)


def test_unknown_parameters_are_refused():
    kernel = parse_kernel("gaussian(sigma=1)")
    with pytest.raises(UnknownNameError, match="parameter of kernel"):
        kernel.replaced({"tau": 1})

"""Kernel ESZSL against its defining equation, and against ESZSL where the kernel is linear."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.errors import UsageError
from zslplat.families.zero_shot.methods.eszsl import ESZSL
from zslplat.families.zero_shot.methods.keszsl import KernelESZSL
from zslplat.kernels import parse_kernel


def problem(n=80, d=9, c=6, a=5, seed=0):
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), random.integers(0, c, n - c)])
    S = random.standard_normal((c, a))
    X = random.standard_normal((n, d)) + 2 * random.standard_normal((c, d))[y]
    new = random.standard_normal((7, d))
    return (X / 5), y, S, new / 5, random.standard_normal((3, a))


@pytest.mark.parametrize("labels", ["binary", "signed"])
@pytest.mark.parametrize(
    "text", ["gaussian(sigma=1)", "l1-laplacian(sigma=0.3)", "0.5*linear + 0.5*polynomial(r=2, c=1)"]
)
def test_scores_are_those_of_the_defining_equation(text, labels):
    X, y, S, X_new, S_new = problem()
    kernel = parse_kernel(text)
    Y = np.eye(6)[y]
    Y = 2 * Y - 1 if labels == "signed" else Y
    A = np.linalg.solve(kernel(X) + 0.3 * np.eye(80), Y @ S) @ np.linalg.inv(S.T @ S + 2.0 * np.eye(5))
    expected = kernel(X_new, X) @ A @ S_new.T
    model = KernelESZSL(text, 0.3, 2.0, labels, "absolute").fit(X, y, S)
    np.testing.assert_allclose(model.decision_function(X_new, S_new), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("exact_rows", [0, 1000])
def test_linear_kernel_is_eszsl(exact_rows):
    X, y, S, X_new, S_new = problem()
    expected = ESZSL(0.5, 2.0).fit(X, y, S).decision_function(X_new, S_new)
    model = KernelESZSL("linear", 0.5, 2.0, exact_rows=exact_rows).fit(X, y, S)
    np.testing.assert_allclose(model.decision_function(X_new, S_new), expected, rtol=1e-7, atol=1e-9)
    assert model.diagnostics_.numbers["rank"] == 9


def test_low_rank_of_full_rank_is_exact_and_less_is_near():
    X, y, S, X_new, S_new = problem()
    exact = KernelESZSL(scale="absolute").fit(X, y, S).decision_function(X_new, S_new)
    full = KernelESZSL(scale="absolute", exact_rows=0).fit(X, y, S)
    np.testing.assert_allclose(full.decision_function(X_new, S_new), exact, rtol=1e-6, atol=1e-8)
    small = KernelESZSL("gaussian(sigma=3)", scale="absolute", exact_rows=0, rank=30).fit(X, y, S)
    assert small.diagnostics_.numbers["rank"] == 30
    assert 0 < small.diagnostics_.numbers["residual"] < 0.15
    exact = KernelESZSL("gaussian(sigma=3)", scale="absolute").fit(X, y, S).decision_function(X_new, S_new)
    np.testing.assert_allclose(small.decision_function(X_new, S_new), exact, atol=0.1 * np.abs(exact).max())


@pytest.mark.parametrize("exact_rows", [0, 1000])
def test_prepared_fit_is_the_direct_one(exact_rows):
    X, y, S, X_new, S_new = problem()
    direct = KernelESZSL("gaussian", 0.1, 3.0, exact_rows=exact_rows).fit(X, y, S)
    space = {name: r for name, r in KernelESZSL().space.items() if name in ("alpha", "gamma")}
    statistics = KernelESZSL("gaussian", exact_rows=exact_rows).prepare_fit(X, y, S, space=space)
    for array in statistics.values():
        array.flags.writeable = False
    prepared = KernelESZSL("gaussian", 0.1, 3.0, exact_rows=exact_rows).fit(X, y, S, statistics=statistics)
    np.testing.assert_array_equal(prepared.decision_function(X_new, S_new), direct.decision_function(X_new, S_new))
    assert set(prepared.matrices()) == set(direct.matrices())
    assert KernelESZSL().prepare_fit(X, y, S, space=KernelESZSL().space) == {}


def test_order_of_rows_does_not_matter():
    X, y, S, X_new, S_new = problem()
    rows = np.random.default_rng(0).permutation(len(X))
    for exact_rows in (0, 1000):
        one, other = (
            KernelESZSL(exact_rows=exact_rows, rank=40).fit(X[i], y[i], S).decision_function(X_new, S_new)
            for i in (slice(None), rows)
        )
        np.testing.assert_allclose(one, other, rtol=KernelESZSL.tolerance, atol=KernelESZSL.tolerance)


def test_indefinite_kernels_are_refused():
    with pytest.raises(UsageError, match="needs a positive semidefinite kernel"):
        KernelESZSL.build({"kernel": "sigmoid"})
    with pytest.raises(UsageError, match="takes negative values"):
        KernelESZSL.build({"kernel": "chi-squared"})


def test_any_kernel_includes_those_that_offer_their_gram_matrix_only():
    values = KernelESZSL("any").space["kernel"].values
    assert {"l1-laplacian", "gaussian"} <= set(values)
    assert not {"sigmoid", "log-euclidean", "chi-squared"} & set(values)


def test_what_the_text_of_a_kernel_says_is_not_searched():
    def searched(**given):
        return {name for name in KernelESZSL.build(given).space if name.startswith("kernel")}

    assert searched() == {"kernel.sigma"}  # the method's own default is only where the search begins
    assert searched(kernel="gaussian") == {"kernel.sigma"}
    assert searched(kernel="gaussian(sigma=2)") == set()
    assert searched(kernel="polynomial(r=2)") == {"kernel.c"}
    assert searched(kernel="0.5*gaussian(sigma=1) + 0.5*polynomial(c=1)") == {
        "kernel.weight.1",
        "kernel.weight.2",
        "kernel.polynomial.r",
    }
    # A value that a search has found is set into the text, whatever the text said.
    found = KernelESZSL.build({"kernel": "polynomial(r=2)", "kernel.c": 0.5})
    assert str(found.kernel) == "polynomial(c=0.5, r=2)"

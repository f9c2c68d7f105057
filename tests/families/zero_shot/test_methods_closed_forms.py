"""ESZSL and SAE against direct solutions of their defining equations."""

import copy

import numpy as np
import pytest
from scipy import linalg
from sklearn.base import clone

from zslplat.data.store.preprocessing import fit_steps
from zslplat.errors import DataError, UsageError
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.eszsl import ESZSL
from zslplat.families.zero_shot.methods.sae import SAE
from zslplat.families.zero_shot.methods.spectral import Factors
from zslplat_papers.parity.closed_forms import eszsl_projection


def problem(n=120, d=15, c=7, a=5, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    S = rng.standard_normal((c, a))
    X = rng.standard_normal((n, d)) + 2 * rng.standard_normal((c, d))[y]
    return X.astype(dtype), y, S


def direct_eszsl(X, y, S, alpha, gamma, labels):
    Y = np.eye(len(S))[y]
    Y = 2 * Y - 1 if labels == "signed" else Y
    return eszsl_projection(X, Y, S, alpha, gamma)


@pytest.mark.parametrize("labels", ["signed", "binary"])
@pytest.mark.parametrize("shape", [(120, 15), (30, 90)])
def test_eszsl_equals_the_direct_solve(labels, shape):
    X, y, S = problem(*shape)
    method = ESZSL(0.3, 2.0, labels, "absolute").fit(X, y, S)
    np.testing.assert_allclose(method.W_, direct_eszsl(X, y, S, 0.3, 2.0, labels), rtol=1e-8, atol=1e-10)


def test_eszsl_scale_is_the_mean_eigenvalue():
    X, y, S = problem()
    alpha, gamma = np.linalg.eigvalsh(X.T @ X).mean(), np.linalg.eigvalsh(S.T @ S).mean()
    expected = direct_eszsl(X, y, S, 0.5 * alpha, 2 * gamma, "binary")
    np.testing.assert_allclose(ESZSL(0.5, 2.0, "binary").fit(X, y, S).W_, expected, rtol=1e-9)


def test_float32_features_change_scores_by_rounding_only():
    X, y, S = problem(5000, 60)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    exact = ESZSL(1e-2, 1e-2).fit(X, y, S).decision_function(X, S)
    single = ESZSL(1e-2, 1e-2).fit(X.astype(np.float32), y, S).decision_function(X.astype(np.float32), S)
    assert np.abs(single - exact).max() < 1e-4 * np.abs(exact).max()


@pytest.mark.parametrize("shape", [(120, 15), (30, 90)])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e4])
def test_sae_solves_the_sylvester_equation(shape, lam):
    X, y, S = problem(*shape)
    codes = S[y]
    A, B, C = codes.T @ codes, X.T @ X, codes.T @ X
    W = SAE(lam).fit(X, y, S).W_
    residual = A @ W + lam * W @ B - (1 + lam) * C
    assert np.abs(residual).max() < 1e-9 * (1 + lam) * np.abs(C).max()
    if shape[0] > shape[1]:
        np.testing.assert_allclose(W, linalg.solve_sylvester(A, lam * B, (1 + lam) * C), rtol=1e-7, atol=1e-9)


def test_sae_survives_collinear_signatures():
    X, y, S = problem()
    S = np.hstack([S, S[:, :2]])
    assert np.isfinite(SAE(1e6).fit(X, y, S).decision_function(X, S)).all()


@pytest.mark.parametrize("offset", [0.0, 0.3, 1e5], ids=["of zeros", "of any value", "of a large value"])
@pytest.mark.parametrize("shape", [(120, 15), (30, 90)])
@pytest.mark.parametrize("direction", ["s->f", "f->s"])
def test_sae_learns_nothing_of_an_attribute_that_training_classes_share(direction, shape, offset):
    # Seven classes: in binary, a mean of seven equal numbers is not always that number.
    X, y, S = problem(*shape)
    candidates = np.random.default_rng(1).standard_normal((6, 7))
    shared = np.array([1, 4])
    S = np.insert(S, [1, 3], offset, axis=1)
    candidates[:, shared] += offset
    steps = fit_steps(("center",), S)
    own, others = steps.apply(S), steps.apply(candidates)
    method = SAE(100.0, direction).fit(X, y, own)
    np.testing.assert_array_equal(method.W_[shared], 0)
    others[:, shared] = 0  # the length of a signature counts where rows are encoded
    expected = SAE(100.0, direction).fit(X, y, np.delete(own, shared, axis=1))
    found = method.decision_function(X, others)
    np.testing.assert_allclose(found, expected.decision_function(X, np.delete(others, shared, axis=1)), atol=1e-9)
    if direction == "s->f":
        np.testing.assert_allclose(method.decision_function(X, steps.apply(candidates)), found, atol=1e-12)


def test_sae_takes_what_rounding_leaves_of_a_shared_attribute_for_nothing():
    X, y, S = problem()
    S = np.hstack([S, 1e-17 * np.random.default_rng(2).standard_normal((len(S), 2))])
    method = SAE().fit(X, y, S)
    np.testing.assert_array_equal(method.W_[-2:], 0)
    assert np.linalg.norm(method.W_[:-2], axis=1).min() > 1e-3


@pytest.mark.parametrize("direction", ["s->f", "f->s"])
def test_sae_scores_are_the_stated_cosines(direction):
    X, y, S = problem()
    method = SAE(0.7, direction).fit(X, y, S)
    W = method.W_ / np.linalg.norm(method.W_, axis=1, keepdims=True)
    unit = S / np.linalg.norm(S, axis=1, keepdims=True)
    left, right = (X, unit @ W) if direction == "s->f" else (X @ W.T, unit)
    expected = [[u @ v / np.linalg.norm(u) / np.linalg.norm(v) for v in right] for u in left]
    np.testing.assert_allclose(method.decision_function(X, S), expected, atol=1e-12)


@pytest.mark.parametrize("method", [ESZSL(0.1, 0.1), SAE(2.0), SAE(2.0, "f->s")])
def test_prepared_statistics_change_nothing(method):
    X, y, S = problem()
    statistics = method.prepare_fit(X, y, S, space=method.space)
    prepared = method.fit(X, y, S, statistics=statistics).decision_function(X, S)
    np.testing.assert_array_equal(prepared, method.fit(X, y, S).decision_function(X, S))


@pytest.mark.parametrize("method", [ESZSL(0.01, 0.01), SAE(2.0), SAE(2.0, "f->s")])
def test_separable_classes_are_recognised(method):
    X, y, S = problem(c=5, a=5)
    assert (method.fit(X, y, S).predict(X, S) == y).mean() > 0.9


def test_eigendecomposition_reproduces_the_scatter():
    for shape in ((120, 15), (30, 90)):
        X, y, S = problem(*shape)
        statistics = spectral.prepare(X, y, len(S))
        Q, f = statistics["feature_directions"], statistics["feature_values"]
        np.testing.assert_allclose((Q * f) @ Q.T, X.T @ X, atol=1e-9)
        np.testing.assert_allclose(statistics["feature_scale"], np.trace(X.T @ X) / X.shape[1])
        np.testing.assert_allclose(statistics["class_sums"], np.eye(len(S))[y].T @ X, atol=1e-9)


def test_bad_input_is_refused():
    X, y, S = problem()
    with pytest.raises(DataError, match="NaN"):
        ESZSL().fit(np.full_like(X, np.nan), y, S)
    with pytest.raises(DataError, match="no row"):
        SAE().fit(X, y, np.vstack([S, S[:1]]))
    with pytest.raises(UsageError, match="alpha"):
        ESZSL.build({"alpha": -1.0})


@pytest.mark.parametrize("shape", [(120, 15), (30, 90)])
@pytest.mark.parametrize("method", [ESZSL(0.1, 0.1), SAE(2.0), SAE(2.0, "f->s")])
def test_scores_from_the_factors_are_those_of_the_matrix(method, shape):
    X, y, S = problem(*shape)
    from_factors = clone(method).fit(X, y, S).decision_function(X, S)
    whole = clone(method).fit(X, y, S)
    whole.W_ = whole.W_.copy()
    np.testing.assert_allclose(from_factors, whole.decision_function(X, S), rtol=1e-9, atol=1e-12)
    restored = type(method).from_state(method.get_params(), clone(method).fit(X, y, S).state())
    np.testing.assert_allclose(from_factors, restored.decision_function(X, S), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", [ESZSL(0.1, 0.1), SAE(2.0)])
def test_a_trial_does_not_multiply_the_matrix_out(method, monkeypatch):
    X, y, S = problem()
    fitted = clone(method).fit(X, y, S)
    monkeypatch.setattr(Factors, "product", lambda self: pytest.fail("W was multiplied out"))
    fitted.decision_function(X, S)
    assert copy.deepcopy(fitted)._factors is fitted._factors  # a copy for each request costs nothing


def test_an_unfitted_method_has_no_matrix():
    assert not hasattr(ESZSL(), "W_")
    with pytest.raises(AttributeError, match="fit it first"):
        _ = ESZSL().W_

"""Predicted exemplars: regressions as scikit-learn makes them, the directions and deviations of a slow reference."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import NuSVR

from zslplat.families.zero_shot.methods import exem
from zslplat.families.zero_shot.methods.exem import Exem1NN, Exem1NNs
from zslplat_papers.parity.closed_forms import slow_statistics

METHODS = [Exem1NN, Exem1NNs]


def problem(n=150, d=10, c=7, a=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), np.arange(c), rng.integers(0, c, n - 2 * c)])
    S = rng.uniform(0, 1, (c, a))
    X = S[y] @ rng.normal(size=(a, d)) + 0.3 * rng.normal(size=(n, d)) + 2
    return X, y, S, rng.uniform(0, 1, (4, a))


def distances(A, B):
    return np.array([[np.sqrt(((a - b) ** 2).sum()) for b in B] for a in A])


@pytest.mark.parametrize("n", [150, 20])
def test_kernel_ridge_is_that_of_scikit_learn(n):
    X, y, S, unseen = problem(n=n, d=10 if n > 20 else 40)
    Z, means, deviation, _ = slow_statistics(X, y)
    unit = Exem1NN().fit(X, y, S).signature_unit_
    machine = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5).fit(S / unit, means - means.mean(axis=0))
    expected = machine.predict(unseen / unit) + means.mean(axis=0)
    rank = min(10, n - 1) if n > 20 else n - 1
    Z, expected, deviation = Z[:, :rank], expected[:, :rank], deviation[:rank]
    plain = Exem1NN(alpha=0.3, gamma=0.5).fit(X, y, S)
    np.testing.assert_allclose(plain.decision_function(X, unseen), -distances(Z, expected), rtol=1e-7)
    standardised = Exem1NNs(alpha=0.3, gamma=0.5).fit(X, y, S)
    np.testing.assert_allclose(
        standardised.decision_function(X, unseen), -distances(Z / deviation, expected / deviation), rtol=1e-6
    )


def test_nu_svr_is_that_of_scikit_learn_in_a_loop_over_directions():
    X, y, S, unseen = problem()
    X /= np.linalg.norm(X, axis=1, keepdims=True)  # rows of length 1, as the authors' penalty is for
    Z, means, *_ = slow_statistics(X, y)
    method = Exem1NN(variant="paper", C=0.25, nu=0.6, gamma=2.0).fit(X, y, S)
    unit = method.signature_unit_
    expected = np.empty((len(unseen), Z.shape[1]))
    for j in range(Z.shape[1]):
        machine = NuSVR(kernel="rbf", gamma=2.0, C=0.25, nu=0.6, tol=1e-7).fit(S / unit, means[:, j])
        expected[:, j] = machine.predict(unseen / unit)
    np.testing.assert_allclose(method.decision_function(X, unseen), -distances(Z, expected), atol=1e-4)


def test_signatures_are_scaled_by_the_median_distance_of_seen_classes():
    X, y, S, unseen = problem()
    pairs = [np.linalg.norm(S[i] - S[j]) for i in range(len(S)) for j in range(i)]
    fitted = Exem1NN().fit(X, y, S)
    assert fitted.signature_unit_ == pytest.approx(np.median(pairs))
    longer = Exem1NN().fit(X, y, 5 * S)
    np.testing.assert_allclose(longer.decision_function(X, 5 * unseen), fitted.decision_function(X, unseen))


@pytest.mark.parametrize("variant", ["default", "paper"])
def test_features_of_any_length_have_the_same_order_of_classes(variant):
    X, y, S, unseen = problem()
    plain, longer = (Exem1NN(variant=variant).fit(k * X, y, S).decision_function(k * X, unseen) for k in (1, 100))
    np.testing.assert_allclose(longer, 100 * plain, rtol=1e-3)


def test_weak_ridge_meets_the_means_of_the_seen_classes_and_a_strong_one_their_mean():
    X, y, S, unseen = problem()
    Z, means, *_ = slow_statistics(X, y)
    close, far = Exem1NN(alpha=1e-9).fit(X, y, S), Exem1NN(alpha=1e9).fit(X, y, S)
    np.testing.assert_allclose(close.decision_function(X, S), -distances(Z, means), rtol=1e-5)
    np.testing.assert_allclose(far.decision_function(X, unseen), -distances(Z, [means.mean(axis=0)] * 4), rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_dimensions_share_one_preparation(method):
    X, y, S, unseen = problem()
    space = {"dimensions": exem.Choice((3, 6)), "gamma": method.parameters["gamma"].search}
    fit = method().prepare_fit(X, y, S, space=space)
    score = method().prepare_score(X, unseen, space=space, statistics=fit)
    assert fit["directions"].shape == (10, 6)
    for k in (3, 6):
        shared = method(dimensions=k).fit(X, y, S, statistics=fit).decision_function(X, unseen, statistics=score)
        direct = method(dimensions=k).fit(X, y, S)
        assert direct.directions_.shape == (10, k)
        np.testing.assert_allclose(shared, direct.decision_function(X, unseen), rtol=1e-9)


def test_direction_without_deviation_inside_classes_does_not_divide_by_zero():
    _, _, S, unseen = problem()
    y = np.repeat(np.arange(len(S)), 10)
    X = np.zeros((len(y), 6))
    X[:, 0], X[:, 1] = 50 * S[y, 0], np.tile([1.0, -1.0], len(y) // 2)  # a class agrees in the one, not in the other
    fitted = Exem1NNs().fit(X, y, S)
    np.testing.assert_allclose(fitted.deviation_, np.array([1e-3, 1.0]) * np.sqrt(10 / 9))
    assert np.isfinite(fitted.decision_function(X, unseen)).all()


@pytest.mark.parametrize("method", METHODS)
def test_classes_of_one_row_each_have_no_deviation_to_divide_by(method):
    X, _, S, unseen = problem()
    fitted = method().fit(X[: len(S)], np.arange(len(S)), S)
    np.testing.assert_array_equal(fitted.deviation_, 1)
    assert np.isfinite(fitted.decision_function(X, unseen)).all()


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_are_all_the_same_tell_nothing(method):
    X, y, S, unseen = problem()
    np.testing.assert_array_equal(method().fit(0 * X, y, S).decision_function(X, unseen), np.zeros((len(X), 4)))

"""GFZSL against kernel ridge regression and Gaussian densities by other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.mixture import GaussianMixture

from zslplat.data.store.rows import View
from zslplat.errors import UsageError
from zslplat.families.zero_shot.methods.gfzsl import GFZSL, TransductiveGFZSL, class_moments, log_densities, refined

KERNELS = {
    "linear": {"kernel": "linear"},
    "polynomial(r=2, c=1)": {"kernel": "polynomial", "degree": 2, "gamma": 1, "coef0": 1},
    "gaussian(sigma=0.8)": {"kernel": "rbf", "gamma": 0.5 / 0.8**2},
}


def problem(n=200, d=9, c=8, a=6, seed=0):
    """Rows far from zero, of spread that differs by class and dimension; four unseen classes, unit signatures."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(c + 4, a))
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    y = np.concatenate([np.arange(c), np.arange(c), rng.integers(0, c, n - 2 * c)])
    spread = np.exp(0.5 * S @ rng.normal(size=(a, d)))
    X = (S @ rng.normal(size=(a, d)))[y] + spread[y] * rng.normal(size=(n, d)) + 20
    return X, y, S[:c], S[c:]


def moments(X, y, c):
    rows = [X[y == k] for k in range(c)]
    return np.array([r.mean(axis=0) for r in rows]), np.array([r.var(axis=0, ddof=1) for r in rows])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", ["paper", "default"])
def test_densities_are_those_of_kernel_ridge_regression_by_scikit_learn(kernel, variant):
    X, y, S, unseen = problem()
    method = GFZSL(kernel, mean_ridge=0.3, variance_ridge=2.0, reg=0.05, floor=1e-3, variant=variant).fit(X, y, S)
    M, V = moments(X, y, len(S))
    scale = unit = 1.0
    centre_M = centre_L = np.zeros(X.shape[1])
    L = np.log(V + 1e-3)
    if variant == "default":
        # The mean eigenvalue is the mean of the diagonal.
        scale, unit = np.mean(np.diag(method.kernel_(S))), V.mean()
        L = np.log(V + 1e-3 * unit)
        centre_M, centre_L = M.mean(axis=0), L.mean(axis=0)
    means = KernelRidge(alpha=0.3 * scale, **KERNELS[kernel]).fit(S, M - centre_M).predict(unseen) + centre_M
    logs = KernelRidge(alpha=2.0 * scale, **KERNELS[kernel]).fit(S, L - centre_L).predict(unseen) + centre_L
    expected = np.transpose(
        [
            multivariate_normal(mean, np.diag(variance)).logpdf(X)
            for mean, variance in zip(means, np.exp(logs) + 0.05 * unit, strict=True)
        ]
    )
    np.testing.assert_allclose(method.decision_function(X, unseen), expected, rtol=1e-8)


def test_large_ridges_give_what_the_classes_share_and_as_printed_variances_of_one():
    X, y, S, unseen = problem()
    M, V = moments(X, y, len(S))
    printed = GFZSL("polynomial(r=2, c=1)", mean_ridge=0.1, variance_ridge=1e8, reg=0.05, variant="paper").fit(X, y, S)
    means, variances = printed.gaussians(unseen)
    np.testing.assert_allclose(variances, 1.05, rtol=1e-5)
    distances = ((X[:, None] - means) ** 2).sum(axis=2)
    scores = printed.decision_function(X, unseen)
    np.testing.assert_array_equal(scores.argmax(axis=1), distances.argmin(axis=1))
    shared = GFZSL(mean_ridge=1e12, variance_ridge=1e12, reg=1e-9, floor=1e-9).fit(X, y, S)
    means, variances = shared.gaussians(unseen)
    np.testing.assert_allclose(means, np.tile(M.mean(axis=0), (4, 1)))
    np.testing.assert_allclose(variances, np.tile(np.exp(np.log(V).mean(axis=0)), (4, 1)), rtol=1e-6)


def test_moments_are_those_of_the_classes_and_a_single_row_has_the_mean_variance():
    X, y, _, _ = problem()
    M, V = class_moments(X.astype(np.float32) + 1000, y, 8)
    expected = moments(X.astype(np.float32).astype(float) + 1000, y, 8)
    np.testing.assert_allclose(M, expected[0], rtol=1e-6)
    np.testing.assert_allclose(V, expected[1], rtol=1e-3)
    kept = (y != 3) | (np.arange(len(y)) == np.flatnonzero(y == 3)[0])
    V = class_moments(X[kept], y[kept], 8)[1]
    np.testing.assert_allclose(V[3], np.delete(V, 3, axis=0).mean(axis=0))


def test_densities_keep_their_digits_far_from_zero():
    rng = np.random.default_rng(0)
    X, means, variances = rng.normal(size=(7, 5)), rng.normal(size=(3, 5)), 0.1 + rng.random((3, 5))
    near = log_densities(X, means, variances)
    np.testing.assert_allclose(log_densities(X + 1e6, means + 1e6, variances), near, atol=1e-7)


def test_seen_candidates_have_their_own_gaussian_where_asked():
    X, y, S, unseen = problem()
    order = np.array([3, 9, 0, 11, 7])
    candidates, seen = np.vstack([S, unseen])[order], order < len(S)
    M, V = moments(X, y, len(S))
    own, predicted = (GFZSL(seen_classes=which, reg=0.2).fit(X, y, S) for which in ("own", "predicted"))
    means, variances = own.gaussians(candidates, seen)
    np.testing.assert_allclose(means[seen], M[order[seen]])
    np.testing.assert_allclose(variances[seen], V[order[seen]] + 0.2 * V.mean())
    for found, expected in zip(own.gaussians(candidates, seen), predicted.gaussians(candidates, seen), strict=True):
        np.testing.assert_array_equal(found[~seen], expected[~seen])
        assert not np.isclose(found[seen], expected[seen]).any()
    np.testing.assert_array_equal(own.decision_function(X, candidates), predicted.decision_function(X, candidates))


def test_the_kernel_is_on_signatures_whatever_views_the_features_have():
    X, y, S, unseen = problem()
    told = GFZSL("gaussian(sigma=1*median)")
    told.take_views([View("left", (4,)), View("right", (5,))])
    plain = GFZSL("gaussian(sigma=1*median)").fit(X, y, S)
    np.testing.assert_array_equal(told.fit(X, y, S).decision_function(X, unseen), plain.decision_function(X, unseen))
    with pytest.raises(UsageError, match="signatures, which have no views"):
        GFZSL.build({"kernel": "gaussian@left"})


def test_kernels_for_non_negative_values_are_refused_on_centred_signatures():
    assert "chi-squared" not in GFZSL.fitting_kernels()
    with pytest.raises(UsageError, match="centres its signatures"):
        GFZSL.build({"kernel": "chi-squared"})


@pytest.mark.parametrize("kernel", [None, "linear"])
def test_a_search_prepares_moments_once_and_the_kernel_where_it_is_fixed(kernel, monkeypatch):
    X, y, S, unseen = problem()
    template = GFZSL.build({} if kernel is None else {"kernel": kernel})
    statistics = template.prepare_fit(X, y, S, space=template.space)
    assert ("values" in statistics) == (kernel == "linear")
    monkeypatch.setattr("zslplat.families.zero_shot.methods.gfzsl.class_moments", None)
    for ridge in (0.01, 1.0):
        method = GFZSL.build({**template.get_params(deep=False), "mean_ridge": ridge})
        assert np.isfinite(method.fit(X, y, S, statistics=statistics).decision_function(X, unseen)).all()


def batch(S, seed=3):
    """Rows of the classes of S, overlapping, whose means lie beside those that are given."""
    rng = np.random.default_rng(seed)
    means = 30 + 2 * rng.normal(size=(len(S), 5))
    X = means[rng.integers(0, len(S), 300)] + rng.normal(size=(300, 5))
    return X, means + 0.5 * rng.normal(size=means.shape), 0.5 + rng.random(means.shape)


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}")
@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_refined_gaussians_are_those_of_scikit_learns_mixture(iterations):
    X, means, variances = batch(np.eye(4))
    found = refined(X, means, variances, 1e-9, iterations)
    mixture = GaussianMixture(
        4,
        covariance_type="diag",
        tol=0,
        reg_covar=0,
        max_iter=iterations,
        weights_init=np.full(4, 0.25),
        means_init=means,
        precisions_init=1 / variances,
    ).fit(X)
    np.testing.assert_allclose(found[0], mixture.means_, rtol=1e-8)
    np.testing.assert_allclose(found[1], mixture.covariances_, rtol=1e-6)
    np.testing.assert_allclose(found[2][-1], -mixture.score(X), rtol=1e-8)


def test_refining_lowers_the_objective_keeps_the_bound_and_classes_without_rows():
    X, means, variances = batch(np.eye(4))
    far = np.vstack([means, np.full((1, 5), 1e4)])
    found, spread, series = refined(X, far, np.vstack([variances, np.full((1, 5), 2.0)]), 0.9, 100)
    assert len(series) < 100
    assert (np.diff(series) <= 1e-12).all()
    assert spread.min() == 0.9
    np.testing.assert_allclose(found[-1], far[-1])
    np.testing.assert_array_equal(spread[-1], 2.0)


def test_the_refined_scores_are_of_the_batch_and_say_so():
    X, y, S, unseen = problem()
    method = TransductiveGFZSL(iterations=3, bound=0.5).fit(X, y, S)
    means, variances = GFZSL().fit(X, y, S).gaussians(unseen)
    unit = moments(X, y, len(S))[1].mean()
    means, variances, _ = refined(X, means, variances, 0.5 * unit, 3)
    np.testing.assert_allclose(method.decision_function(X, unseen), log_densities(X, means, variances + 0.5 * unit))
    assert method.knows_of_batch == ("transductive",)
    assert GFZSL().knows_of_batch == ()

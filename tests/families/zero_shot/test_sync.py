"""Synthesised classifiers: trained to the optimum that liblinear finds, once per ridge, and made of phantoms."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from zslplat.families.zero_shot.methods.spectral import row_space
from zslplat.families.zero_shot.methods.sync import multiclass_hinge, squared_hinge
from zslplat.families.zero_shot.methods.sync.methods import (
    SynCCrammerSinger,
    SynCOneVersusOther,
    SynCStructured,
    median_signature_distance,
    similarity,
    synthesis_weights,
)
from zslplat_papers.parity.closed_forms import multiclass_value

METHODS = [SynCOneVersusOther, SynCCrammerSinger, SynCStructured]
LAM = 1e-3


def problem(n=150, d=10, c=5, a=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    S = rng.uniform(0.1, 1, (c, a))
    X = np.maximum(S[y] @ rng.normal(size=(a, d)) + 0.8 * rng.normal(size=(n, d)), 0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y, S / np.linalg.norm(S, axis=1, keepdims=True)


@pytest.mark.parametrize("shape", [(150, 10), (12, 30)])
def test_squared_hinges_agree_with_liblinear(shape):
    X, y, S = problem(n=shape[0], d=shape[1])
    found = squared_hinge.solve(X, y, len(S), LAM, row_space(X), 1e-12, 50)
    # liblinear: |w|^2 / 2 + C sum of squared hinges, per class.
    C = 1 / (LAM * len(X) * len(S))
    peer = LinearSVC(C=C, loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(found.W, peer.coef_, atol=1e-6 * np.abs(found.W).max())


def test_squared_hinges_end_where_the_objective_has_no_slope():
    X, y, S = problem()
    method = SynCOneVersusOther(lam=LAM).fit(X, y, S)

    def slope(w):
        F = X @ w.reshape(method.W_.shape).T
        T = np.where(y[:, None] == np.arange(len(S)), 1, -1)
        return (-2 / F.size * (T * np.maximum(0, 1 - T * F)).T @ X + LAM * w.reshape(method.W_.shape)).ravel()

    flat = method.W_.ravel()
    assert np.linalg.norm(slope(flat)) < 1e-3 * np.linalg.norm(slope(np.zeros_like(flat)))
    gap = (slope(flat) ** 2).sum() / (2 * LAM) / method.objective(X, y, S)
    assert method.diagnostics_.numbers["relative_gap"] == pytest.approx(gap, rel=1e-3, abs=1e-15)
    assert gap <= method.gap


def test_duality_gap_of_squared_hinges_bounds_the_distance_from_the_least_value():
    X, y, S = problem()
    rough = squared_hinge.solve(X, y, len(S), LAM, row_space(X), 1e-12, 1)
    best = squared_hinge.solve(X, y, len(S), LAM, row_space(X), 1e-12, 50)
    assert rough.gap > 1e-8
    assert 0 < rough.value - best.value <= rough.gap


def test_single_precision_ends_where_rounding_does_without_using_up_its_steps():
    X, y, S = problem()
    found = squared_hinge.solve(X.astype(np.float32), y, len(S), LAM, row_space(X), 1e-30, 50)
    assert found.steps < 50
    assert found.gap / found.value < 1e-8


@pytest.mark.parametrize("lam", [1e-1, 1e-2])
def test_crammer_singer_agrees_with_liblinear(lam):
    X, y, S = problem()
    margins = 1 - np.eye(len(S))
    found = multiclass_hinge.solve(X, y, margins, lam, 1e-6, 2000)
    peer = LinearSVC(
        C=1 / (lam * len(X)), multi_class="crammer_singer", fit_intercept=False, tol=1e-9, max_iter=200000
    ).fit(X, y)
    # The value grows by lam / 2 per squared distance from its least place.
    distance = np.linalg.norm(found.W - peer.coef_)
    assert distance <= np.sqrt(2 * found.gaps[-1] * found.value / lam) + 1e-6
    assert distance < 1e-2 * np.linalg.norm(peer.coef_)
    assert found.value <= multiclass_value(peer.coef_, X, y, margins, lam) * (1 + 1e-6)


@pytest.mark.parametrize("method", [SynCCrammerSinger, SynCStructured])
def test_hinge_ends_within_the_gap_that_it_reports(method):
    X, y, S = problem()
    fitted = method(lam=1e-2).fit(X, y, S)
    margins = fitted.margins(fitted.phantoms_)
    value, gap = fitted.diagnostics_.numbers["value"], fitted.diagnostics_.numbers["relative_gap"]
    assert value == pytest.approx(multiclass_value(fitted.W_, X, y, margins, 1e-2), rel=1e-9)
    assert gap <= fitted.gap
    best = multiclass_hinge.solve(X, y, margins, 1e-2, 1e-6, 2000)
    assert 0 <= value - best.value <= gap * value
    # Nor does any direction lead to a lower value.
    random = np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(20):
            other = best.W + size * random.normal(size=best.W.shape)
            assert multiclass_value(other, X, y, margins, 1e-2) > best.value * (1 - 1e-6)


def test_structured_hinge_with_margins_of_one_is_crammer_singer():
    X, y, _ = problem()
    S = np.eye(5)  # all distances are the same, so that the median distance is the unit of each
    one, other = SynCStructured(lam=LAM).fit(X, y, S), SynCCrammerSinger(lam=LAM).fit(X, y, S)
    np.testing.assert_allclose(one.W_, other.W_, rtol=1e-9)
    uneven = SynCStructured(lam=LAM).fit(X, y, problem()[2])
    assert np.abs(uneven.W_ - other.W_).max() > 0.01 * np.abs(other.W_).max()


def test_structured_margins_are_distances_of_scaled_signatures():
    X, y, S = problem()
    fitted = SynCStructured().fit(X, y, S)
    margins = fitted.margins(fitted.phantoms_)
    assert margins[1, 3] == pytest.approx(np.linalg.norm(S[1] - S[3]) / median_signature_distance(S))
    assert np.median(margins[np.triu_indices(5, 1)]) == pytest.approx(1)


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_any_length_have_the_same_scores(method):
    X, y, S = problem()
    plain, longer = method(lam=LAM).fit(X, y, S), method(lam=LAM).fit(7 * X, y, S)
    np.testing.assert_allclose(longer.decision_function(7 * X, S), plain.decision_function(X, S), rtol=1e-6, atol=1e-6)


def test_rows_of_zeros_train_nothing():
    X, y, S = problem()
    for method in METHODS:
        assert np.all(method().fit(0 * X, y, S).W_ == 0)


def test_similarities_of_a_class_sum_to_one():
    S = problem()[2]
    for scale in (2.0**-5, 1.0, 2.0**5, 1e6):
        np.testing.assert_allclose(similarity(S[:3], S, scale).sum(axis=1), 1)
    np.testing.assert_allclose(
        similarity(S[:2], S[2:], 3.0)[1],
        np.exp(-3 * ((S[1] - S[2:]) ** 2).sum(axis=1)) / np.exp(-3 * ((S[1] - S[2:]) ** 2).sum(axis=1)).sum(),
    )


def test_median_distance_leaves_out_pairs_of_equal_signatures():
    S = np.array([[0.0], [0.0], [0.0], [1.0], [3.0]])
    assert median_signature_distance(S) == 2
    assert median_signature_distance(S[:3]) == 1


@pytest.mark.parametrize("method", METHODS)
def test_unseen_class_takes_the_classifier_of_its_nearest_seen_class_as_the_scale_grows(method):
    X, y, S = problem()
    fitted = method(lam=LAM, scale=1e5).fit(X, y, S)
    unseen = 0.8 * S[[3, 1]] + 0.2 * S[[0, 2]]
    np.testing.assert_allclose(fitted.decision_function(X, unseen), X @ fitted.W_[[3, 1]].T, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_phantoms_reproduce_the_seen_classifiers(method):
    X, y, S = problem()
    fitted = method(lam=LAM, scale=2.0).fit(X, y, S)
    np.testing.assert_allclose(fitted.decision_function(X, S), X @ fitted.W_.T, rtol=1e-6, atol=1e-8)


def test_trained_classifiers_of_seen_classes_are_taken_where_asked_for():
    X, y, S = problem()
    scale = 1e-3  # similarities of nearly rank one, whose cut inverse reproduces no classifier
    unseen = 0.5 * (S[:1] + S[1:2])
    candidates, seen = np.vstack([unseen, S[::-1]]), np.arange(6) > 0
    parts = {}
    for how in ("synthesised", "trained"):
        fitted = SynCOneVersusOther(lam=LAM, scale=scale, rcond=1e-2, seen_classifiers=how).fit(X, y, S)
        parts[how] = fitted.decision_function(X, candidates, seen=seen)
    np.testing.assert_array_equal(parts["trained"][:, 0], parts["synthesised"][:, 0])
    np.testing.assert_allclose(parts["trained"][:, 1:], X @ fitted.W_[::-1].T)
    assert np.abs(parts["trained"][:, 1:] - parts["synthesised"][:, 1:]).max() > 0.1


def test_cut_singular_values_bound_the_weights():
    S = problem(c=30, a=3)[2]
    unseen = 0.5 * (S[:5] + S[5:10])
    free = np.abs(synthesis_weights(unseen, S, 2.0**-5, 0.0)).max()
    assert np.abs(synthesis_weights(unseen, S, 2.0**-5, 1e-4)).max() < 1e-3 * free


def test_scales_share_one_training(monkeypatch):
    X, y, S = problem()
    trained = []
    solve = squared_hinge.solve
    monkeypatch.setattr(squared_hinge, "solve", lambda *given: trained.append(given[3]) or solve(*given))
    space = SynCOneVersusOther().space
    found = {}
    for lam in (1e-3, 1e-2):
        told, left = SynCOneVersusOther.prepared_with(space, {"lam": lam, "scale": 1.0})
        assert told == {"lam": lam}
        one = SynCOneVersusOther(lam=lam)
        fit = one.prepare_fit(X, y, S, space=left)
        score = one.prepare_score(X, S, space=left, statistics=fit)
        for scale in (0.1, 1.0, 10.0):
            fitted = SynCOneVersusOther(lam=lam, scale=scale).fit(X, y, S, statistics=fit)
            found[lam, scale] = fitted.decision_function(X, S, statistics=score)
    assert len(trained) == 2
    direct = SynCOneVersusOther(lam=1e-2, scale=0.1).fit(X, y, S).decision_function(X, S)
    np.testing.assert_array_equal(found[1e-2, 0.1], direct)


def test_nothing_is_trained_while_the_ridge_is_open():
    X, y, S = problem()
    method = SynCOneVersusOther()
    assert method.prepare_fit(X, y, S, space=method.space) == {}
    fitted = method.fit(X, y, S, statistics={})
    np.testing.assert_array_equal(fitted.W_, SynCOneVersusOther().fit(X, y, S).W_)

"""Gates on novelty: densities and local outlier probabilities against plain loops, and the mixture they weigh."""

import math

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

from zslplat.errors import DataError
from zslplat.families.zero_shot.methods.cmt import novelty
from zslplat.families.zero_shot.methods.cmt.novelty import CMTGaussian, CMTLoop, References
from zslplat.families.zero_shot.methods.cmt.transfer import CMT
from zslplat_papers.parity.training import loop_by_loops

BOTH = pytest.mark.parametrize("gated", [CMTGaussian, CMTLoop])
QUICK = {"hidden": 6, "rounds": 3, "lam": 0.05}


def problem(n=90, d=7, c=5, a=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % c)
    S = rng.normal(size=(c, a))
    X = S[y] @ rng.normal(size=(a, d)) + 0.7 * rng.normal(size=(n, d))
    return X, y, S, rng.normal(size=(40, d)), np.vstack([S, rng.normal(size=(3, a))]), np.arange(c + 3) < c


@pytest.mark.parametrize(("k", "lam"), [(3, 1.0), (3, 2.5), (40, 1.0)])
def test_outlier_probability_is_that_of_plain_loops(k, lam):
    rng = np.random.default_rng(0)
    F, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    new = np.vstack([2.5 * rng.normal(size=(12, 3)), F[:2] + 1e-3])
    found = References.of(F, y, k=k, most=None).significance(new) / lam
    own = [[tuple(row) for row in F[y == label]] for label in (0, 1)]
    slow = [min(loop_by_loops(tuple(row), points, k, lam) for points in own) for row in new]
    np.testing.assert_allclose([max(0.0, math.erf(t / math.sqrt(2))) for t in found], slow, atol=1e-9)
    assert 0 in slow
    assert max(slow) > 0.5


def test_outliers_among_equal_points_and_single_rows_are_told():
    F = np.vstack([np.zeros((4, 2)), [[5.0, 5.0]]])
    found = References.of(F, np.array([0, 0, 0, 0, 1]), k=2, most=None).significance(np.array([[0.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(found, [0, np.inf])
    learned = CMTLoop(**QUICK)
    learned.references_ = References.of(F, np.array([0, 0, 0, 0, 1]), k=2, most=None)
    assert np.isfinite(learned._log_gate(np.array([[0.0, 0.0], [1.0, 0.0]]))).all()


def test_reference_rows_are_bounded_by_class():
    F, y = np.random.default_rng(0).normal(size=(60, 3)), np.repeat([0, 1], [50, 10])
    references = References.of(F, y, k=5, most=20)
    np.testing.assert_array_equal(references.ends, [20, 30])
    np.testing.assert_array_equal(references.points[[0, 19]], F[[0, 49]])
    np.testing.assert_array_equal(references.points[20:], F[50:])


def test_significance_makes_fewer_outliers():
    X, y, S, *_ = problem()
    fitted = [CMTLoop(significance=value, **QUICK).fit(X, y, S) for value in (1.0, 4.0)]
    gates = [learned._log_gate(learned.mapped(X))[0] for learned in fitted]
    assert (gates[0] >= gates[1]).all()
    assert (gates[0] > gates[1]).any()


def test_density_is_the_mixture_of_gaussians_of_each_class(monkeypatch):
    monkeypatch.setattr("zslplat.data.store.rows.BLOCK", 16)
    _, y, S, *_ = problem()
    F = S[y] + np.array([0.1, 0.2, 0.3, 0.4, 0.5])[y, None] * np.random.default_rng(1).normal(size=(len(y), 4))
    variances = novelty.class_variances(F, y, S)
    for label in range(5):
        np.testing.assert_allclose(variances[label], np.mean((F[y == label] - S[label]) ** 2))
    priors = np.bincount(y) / len(y)
    slow = sum(
        prior * multivariate_normal(s, variance * np.eye(4)).pdf(F)
        for prior, s, variance in zip(priors, S, variances, strict=True)
    )
    np.testing.assert_allclose(novelty.log_densities(F, S, variances, np.log(priors)), np.log(slow), rtol=1e-9)


def test_densities_far_away_stay_finite():
    _, y, S, *_ = problem()
    assert np.isfinite(novelty.log_densities(1e6 + S, S, np.full(5, 1e-9), np.log(np.full(5, 0.2)))).all()
    assert (novelty.class_variances(S[y], y, S) > 0).all()


@pytest.mark.parametrize("quantile", [0.0, 0.3, 1.0])
def test_quantile_is_the_share_of_training_rows_called_new(quantile):
    X, y, S, *_ = problem()
    learned = CMTGaussian(quantile=quantile, **QUICK).fit(X, y, S)
    new = learned._log_gate(learned.mapped(X))[0] == 0
    assert abs(new.mean() - quantile) <= 1 / len(X)


def test_soft_gate_of_densities_is_above_one_half_where_the_hard_one_says_new():
    X, y, S, *_ = problem()
    hard, soft = (CMTGaussian(quantile=0.4, gate=gate, **QUICK).fit(X, y, S) for gate in ("hard", "soft"))
    F = hard.mapped(X)
    new = hard._log_gate(F)[0] == 0
    unseen, seen = soft._log_gate(F)
    np.testing.assert_array_equal(unseen > np.log(0.5), new)
    np.testing.assert_allclose(np.exp(unseen) + np.exp(seen), 1)
    assert new.any()
    assert not new.all()


@BOTH
@pytest.mark.parametrize("seen", [None, np.zeros(3, dtype=bool)])
def test_without_seen_candidates_scores_are_those_of_the_network_alone(gated, seen):
    X, y, S, pool, candidates, _ = problem()
    plain = CMT(**QUICK).fit(X, y, S).decision_function(pool, candidates[-3:])
    np.testing.assert_array_equal(
        gated(**QUICK).fit(X, y, S).decision_function(pool, candidates[-3:], seen=seen), plain
    )


@BOTH
@pytest.mark.parametrize("gate", ["soft", "hard"])
def test_scores_are_log_probabilities_of_the_mixture(gated, gate):
    X, y, S, pool, candidates, seen = problem()
    learned = gated(gate=gate, **QUICK).fit(X, y, S)
    scores = learned.decision_function(pool, candidates, seen=seen)
    F = learned.mapped(pool)
    variance = np.mean((learned.mapped(X) - S[y]) ** 2)
    new = np.exp(learned._log_gate(F)[0])
    softmax = np.exp(pool @ learned.coefficients_ + learned.offsets_)
    softmax /= softmax.sum(axis=1, keepdims=True)
    likelihood = np.array([multivariate_normal(s, variance * np.eye(4)).pdf(F) for s in candidates[-3:]]).T
    likelihood /= likelihood.sum(axis=1, keepdims=True)
    expected = np.hstack([softmax * (1 - new)[:, None], likelihood * new[:, None]])
    np.testing.assert_allclose(np.exp(scores / (2 * variance)), expected, atol=1e-9)
    if gate == "hard":
        np.testing.assert_array_equal(np.argmax(scores, axis=1) >= 5, new > 0.5)
    assert np.isfinite(scores).all()


@BOTH
def test_what_a_hard_gate_leaves_is_the_same_in_every_fit(gated):
    """It was in units of sigma^2, which is learned: a bias that validation chose said nothing of the test."""
    X, y, S, pool, candidates, seen = problem()
    S, candidates = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (S, candidates))
    learned = {}
    for classes in (5, 3):
        one = gated(gate="hard", **QUICK).fit(X[y < classes], y[y < classes], S[:classes])
        asked = np.r_[:classes, 5:8]
        scores = one.decision_function(pool, candidates[asked], seen=seen[asked])[:, :classes]
        new = one._log_gate(one.mapped(pool))[0] == 0
        plain = 2 * one.variance_ * log_softmax(pool @ one.coefficients_ + one.offsets_, axis=1)
        np.testing.assert_allclose(scores[~new], plain[~new], rtol=1e-6, atol=1e-9)
        # Signatures of four entries and length 1: their mean square is a quarter.
        np.testing.assert_allclose(scores[new] - plain[new], 2 * 0.25 * np.log(1e-12), rtol=1e-6)
        assert new.any()
        learned[classes] = one.variance_
    assert abs(learned[3] / learned[5] - 1) > 0.02  # or nothing is shown here


@BOTH
def test_seen_candidates_may_be_some_in_any_order(gated):
    X, y, S, pool, candidates, seen = problem()
    learned = gated(**QUICK).fit(X, y, S)
    whole = learned.decision_function(pool, candidates, seen=seen)
    order = np.array([6, 3, 0, 5, 7])
    np.testing.assert_allclose(
        learned.decision_function(pool, candidates[order], seen=seen[order]), whole[:, order], rtol=1e-9
    )


@BOTH
def test_seen_candidate_without_signature_of_the_fit_is_refused(gated):
    X, y, S, pool, candidates, _ = problem()
    with pytest.raises(DataError, match="1 candidates are marked as seen"):
        gated(**QUICK).fit(X, y, S).decision_function(pool, candidates, seen=np.arange(8) < 6)


@pytest.mark.parametrize("classes", [1, 2, 4])
def test_classifier_of_seen_classes_minimises_its_objective(classes):
    rng = np.random.default_rng(0)
    X, y, S = 3 * rng.normal(size=(80, 5)) + 1, np.arange(80) % classes, rng.normal(size=(classes, 3))
    found = novelty.trained(X, y, S, 0.1)
    unit = np.sqrt(np.mean(X**2))

    def objective(coefficients):
        scores = X @ coefficients + found["offsets"]
        loss = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(80), y]
        return loss.mean() + 0.05 * np.sum((unit * coefficients) ** 2) * (2 if classes == 2 else 1)

    # Of two classes scikit-learn penalises the difference of their coefficients: twice both halves' squares.
    at = objective(found["coefficients"])
    for _ in range(20):
        direction = rng.normal(size=found["coefficients"].shape)
        assert objective(found["coefficients"] + 1e-2 * direction) >= at - 1e-9
    np.testing.assert_allclose(np.exp(novelty.log_probabilities(X, **found)).sum(axis=1), 1)

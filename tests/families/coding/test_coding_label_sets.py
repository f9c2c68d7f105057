"""Rows with several labels: each label against the rest, entries that are not counted without a part."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.errors import DataError
from zslplat.families.coding.methods.alternation import Plan, alternate
from zslplat.families.coding.methods.base import counted, indicators, strata
from zslplat.families.coding.methods.classifiers import (
    BilinearTerm,
    LinearTerm,
    bilinear_loss,
    fit_bilinear,
    fit_linear,
    linear_loss,
    nearest_scores,
    residual_scores,
)
from zslplat.families.coding.methods.kernel_coding import (
    BilinearSupervisedLLC,
    BilinearSupervisedSparseCoding,
    KernelBagOfWords,
    KernelLLC,
    KernelSparseCoding,
    LinearSupervisedLLC,
    LinearSupervisedSparseCoding,
)
from zslplat.families.coding.methods.kernel_rows import PairValues
from zslplat.families.coding.methods.lc_ksvd import LCKSVD
from zslplat.families.coding.methods.schemes import LocalScheme, SparseScheme
from zslplat.kernels import parse_kernel
from zslplat.metrics.ranking import average_precisions, chance_precisions

METHODS = [
    KernelSparseCoding(gamma=0.01),
    KernelSparseCoding(gamma=0.01, dictionary="class-k-means", atoms=30, learning="free", iterations=2),
    KernelSparseCoding(gamma=0.01, rule="linear"),
    KernelLLC(neighbours=8),
    KernelLLC(neighbours=8, rule="bilinear"),
    KernelBagOfWords(rule="nearest", dictionary="class-k-means", atoms=40),
    LinearSupervisedSparseCoding(gamma=0.01, iterations=2, atoms=40),
    LinearSupervisedLLC(neighbours=8, iterations=2, atoms=40),
    BilinearSupervisedSparseCoding(gamma=0.01, iterations=1, atoms=30),
    BilinearSupervisedLLC(neighbours=5, iterations=1, atoms=30),
]
EVERY = pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{type(m).__name__}-{METHODS.index(m)}")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    y = (rng.random((140, 4)) < 0.4).astype(np.int64)
    X = y @ rng.normal(size=(4, 9)) + 0.4 * rng.normal(size=(140, 9))
    masked = np.where(rng.random(y.shape) < 0.1, -1, y)
    return X, y, masked


@EVERY
def test_labels_are_ranked_far_above_chance_and_numbered_in_any_way(data, method):
    X, y, masked = data
    train, test = np.arange(90), np.arange(90, 140)
    scores = method.fit(X[train], masked[train]).decision_function(X[test])
    assert scores.shape == (50, 4)
    found, chance = average_precisions(scores, y[test]).mean(), chance_precisions(y[test]).mean()
    assert found > chance + 0.2, f"{found:.3f}, chance {chance:.3f}"
    order = [2, 0, 3, 1]
    other = method.fit(X[train], masked[train][:, order]).decision_function(X[test])
    np.testing.assert_allclose(other, scores[:, order], atol=1e-6)


@pytest.mark.parametrize("rule", ["linear", "bilinear"])
def test_indicators_of_one_class_give_the_scores_of_that_class(data, rule):
    X, y, _ = data
    single = y.argmax(axis=1)
    method = KernelSparseCoding(gamma=0.01, rule=rule)
    expected = method.fit(X, single).decision_function(X[:20])
    np.testing.assert_allclose(method.fit(X, np.eye(4, dtype=int)[single]).decision_function(X[:20]), expected)


def test_residuals_and_distances_are_those_of_the_rest_minus_those_of_the_label(data):
    X, _, masked = data
    K = parse_kernel("gaussian(sigma=1.0)")(X)
    D, k, labels = K[:90, :90], K[90:, :90], masked[:90]
    codes = KernelSparseCoding(gamma=0.01, kernel="gaussian(sigma=1.0)").fit(X[:90], labels).transform(X[90:])
    scores = residual_scores(D, k, codes, labels, 4)
    nearest = nearest_scores(codes, codes[::-1], masked[90:], 4)

    def residual(i, members):
        y = np.where(members, codes[i], 0.0)
        return -2 * y @ k[i] + y @ D @ y

    for i in (0, 17):
        for j in range(4):
            expected = residual(i, labels[:, j] == 0) - residual(i, labels[:, j] == 1)
            assert scores[i, j] == pytest.approx(expected, abs=1e-10)
            distances = np.linalg.norm(codes[::-1] - codes[i], axis=1)
            own = masked[90:, j]
            assert nearest[i, j] == pytest.approx(distances[own == 0].min() - distances[own == 1].min(), abs=1e-6)


def test_classifiers_are_fitted_to_the_entries_that_count(data):
    X, _, masked = data
    rng = np.random.default_rng(2)
    Y, K = rng.normal(size=(140, 6)), parse_kernel("gaussian(sigma=1.0)")(X)
    L, known = indicators(masked, 4), counted(masked)
    eta, rho = 0.3, 0.05
    W, C = fit_linear(Y, L, eta, rho, known), fit_bilinear(K, Y, L, eta, rho, known)
    # What an entry that does not count holds has no part.
    np.testing.assert_array_equal(fit_linear(Y, np.where(known, L, 9.0), eta, rho, known), W)
    np.testing.assert_array_equal(fit_bilinear(K, Y, np.where(known, L, 9.0), eta, rho, known), C)
    linear = linear_loss(W, Y, L, eta, rho, known)
    bilinear = bilinear_loss(K, Y, Y, C, L, eta, rho, known)
    for _ in range(5):
        step = 1e-3 * rng.normal(size=W.shape)
        assert linear_loss(W + step, Y, L, eta, rho, known) > linear
        step = 1e-3 * rng.normal(size=C.shape)
        assert bilinear_loss(K, Y, Y, C + step, L, eta, rho, known) > bilinear


def test_terms_of_one_sample_are_the_quadratics_of_the_labels_that_count(data):
    X, _, masked = data
    rng = np.random.default_rng(2)
    Y, K = rng.normal(size=(140, 6)), parse_kernel("gaussian(sigma=1.0)")(X)
    L, known, eta = indicators(masked, 4), counted(masked), 0.3
    W, C = rng.normal(size=(4, 6)), rng.normal(size=(140, 4))
    i = int(np.flatnonzero((masked < 0).any(axis=1))[0])
    y, every = rng.normal(size=6), np.arange(6)
    for term, Q in (
        (LinearTerm(W, L, known, eta), W),
        (BilinearTerm(K, L, Y, C, eta, known), C.T @ (K[i][:, None] * Y)),
    ):
        T, t = term.block(i, every)
        own = known[i]
        np.testing.assert_allclose(T, eta * Q[own].T @ Q[own])
        np.testing.assert_allclose(t, eta * Q[own].T @ L[i, own])
        np.testing.assert_allclose(term.slope(i, y), t - T @ y)


@pytest.mark.parametrize("supervision", ["linear", "bilinear"])
@pytest.mark.parametrize("scheme", [SparseScheme(0.02), LocalScheme(8)])
def test_the_objective_never_rises_where_some_entries_do_not_count(data, supervision, scheme):
    X, _, masked = data
    kernel = parse_kernel("gaussian(sigma=1.0)")
    plan = Plan(scheme, learning="constrained", iterations=3, supervision=supervision, eta=0.2, rho=1e-3)
    state = alternate(plan, kernel, PairValues(kernel, X[:60], None, None), np.arange(0, 60, 3), masked[:60], 4)
    assert len(state.rounds) > 1
    assert all(b <= a + 1e-9 for a, b in zip(state.rounds, state.rounds[1:], strict=False))


def test_rows_are_shared_out_by_their_rarest_label():
    y = np.array([[1, 1, 0], [1, 0, 0], [1, 0, -1], [0, 1, 0], [0, 0, 0], [1, 0, 1]])
    assert strata(y).tolist() == [1, 0, 0, 1, 3, 2]
    assert strata(np.array([2, 0, 1])).tolist() == [2, 0, 1]


def test_labels_that_nothing_can_be_learned_of_are_refused(data):
    X, y, _ = data
    cases = {
        "label 1: no training row has it;": np.where(np.arange(4) == 1, 0, y),
        "label 2: no training row has it not": np.where(np.arange(4) == 2, 1, y),
        "1 present, 0 absent": y + 1,
    }
    for message, labels in cases.items():
        with pytest.raises(DataError, match=message):
            KernelLLC().fit(X, labels)
    with pytest.raises(DataError, match=r"y \(n,\)"):
        LCKSVD().fit(X, y)

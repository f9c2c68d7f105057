"""The baselines of feature selection against their definitions, and what every selector has in common."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import Lasso, lars_path
from sklearn.neighbors import kneighbors_graph

from zslplat.errors import DataError, MethodError, OutcomeWarning, UsageError
from zslplat.families.selection.methods import base
from zslplat.families.selection.methods.baselines import MutualInformation, RandomFeatures, Variance
from zslplat.families.selection.methods.fsasl import (
    FSASL,
    local_structure,
    project_to_simplex,
    row_sparse_regression,
    sparse_structure,
)
from zslplat.families.selection.methods.l20alm import L20ALM, robust_regression, solve_l20alm
from zslplat.families.selection.methods.lasso import LassoAttributes, LassoLabels
from zslplat.families.selection.methods.mcfs import MCFS, affinity, spectral_embedding
from zslplat.families.selection.methods.semfs import SemFS, SemFSWithoutCentres
from zslplat.families.selection.methods.wknn import WkNN, loss_and_gradient

SELECTORS = [
    SemFS(),
    SemFS(variant="convex", gamma=3.0, k=8),
    SemFS(variant="sum", gamma=3.0, k=8),
    SemFSWithoutCentres(),
    RandomFeatures(),
    Variance(),
    MutualInformation(),
    LassoLabels(),
    LassoAttributes(),
    MCFS(),
    FSASL(rows=40, iterations=2),
    L20ALM(k=5),
    WkNN(iterations=10),
]


def names(selector):
    return f"{type(selector).__name__}-{getattr(selector, 'variant', '')}".rstrip("-")


def problem(n=80, d=16, c=5, m=6, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    S = rng.standard_normal((c, m))
    X = rng.standard_normal((n, d)) + 2 * (S @ rng.standard_normal((m, d)))[y] * (np.arange(d) < d // 2)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.astype(dtype), y, S


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("selector", SELECTORS, ids=names)
def test_ranking_is_a_permutation_by_falling_score(selector, dtype):
    X, y, S = problem(dtype=dtype)
    fitted = clone(selector).fit(X, y, S)
    assert sorted(fitted.ranking_.tolist()) == list(range(X.shape[1]))
    assert np.all(np.diff(fitted.scores_[fitted.ranking_]) <= 0)
    assert fitted.scores_.dtype == np.float64
    assert set(fitted.matrices()) >= {"scores", "ranking"}


@pytest.mark.parametrize("selector", SELECTORS, ids=names)
def test_a_second_fit_gives_the_same_scores(selector):
    X, y, S = problem()
    np.testing.assert_array_equal(clone(selector).fit(X, y, S).scores_, clone(selector).fit(X, y, S).scores_)


@pytest.mark.parametrize("selector", SELECTORS, ids=names)
def test_prepared_statistics_give_the_same_scores(selector):
    X, y, S = problem()
    for space in ({}, selector.space):
        statistics = clone(selector).prepare_fit(X, y, S, space=space)
        if statistics:
            found = clone(selector).fit(X, y, S, statistics=statistics)
            np.testing.assert_allclose(found.scores_, clone(selector).fit(X, y, S).scores_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("selector", [s for s in SELECTORS if not isinstance(s, RandomFeatures)], ids=names)
def test_moved_columns_move_the_scores(selector):
    X, y, S = problem()
    order = np.random.default_rng(1).permutation(X.shape[1])
    moved = clone(selector).fit(X[:, order], y, S).scores_
    if isinstance(selector, MutualInformation):
        # Its noise against equal values is drawn column by column.
        assert np.corrcoef(moved, clone(selector).fit(X, y, S).scores_[order])[0, 1] > 0.999
    else:
        np.testing.assert_allclose(moved, clone(selector).fit(X, y, S).scores_[order], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("selector", SELECTORS, ids=names)
def test_more_features_than_rows_are_fine(selector):
    X, y, S = problem(n=30, d=50)
    assert len(clone(selector).fit(X, y, S).ranking_) == 50


@pytest.mark.parametrize("selector", SELECTORS, ids=names)
def test_wrong_input_is_refused_in_one_line(selector):
    X, y, S = problem()
    X[3, 2] = np.nan
    with pytest.raises(DataError, match="NaN"):
        clone(selector).fit(X, y, S)
    with pytest.raises(DataError, match="one signature per row"):
        clone(selector).fit(np.zeros_like(X), y, S, row_signatures=S)


def test_scores_that_are_not_finite_fail_the_fit():
    with pytest.raises(MethodError, match="1 of 2 feature scores"):
        Variance()._rank(np.array([1.0, np.nan]))


def test_values_out_of_range_are_refused():
    with pytest.raises(UsageError, match="strength"):
        LassoLabels.build({"strength": 0})
    with pytest.raises(UsageError, match="variant"):
        SemFS.build({"variant": "other"})


def test_rows_are_drawn_evenly_from_the_classes():
    y = np.repeat([0, 1, 2], [50, 5, 20])
    drawn = base.drawn_rows(y, 30, seed=1)
    assert len(drawn) == 30
    assert np.bincount(y[drawn]).tolist() == [13, 5, 12]
    assert np.all(np.diff(drawn) > 0)
    assert base.drawn_rows(y, 30, seed=1).tolist() == drawn.tolist()
    assert base.drawn_rows(y, 30, seed=2).tolist() != drawn.tolist()
    assert base.drawn_rows(y, None, 0).tolist() == base.drawn_rows(y, 75, 0).tolist() == list(range(75))


def test_random_features_follow_their_seed():
    X, y, S = problem()
    assert RandomFeatures(seed=1).fit(X, y, S).ranking_.tolist() != RandomFeatures().fit(X, y, S).ranking_.tolist()


def test_variance_and_mutual_information_are_what_they_say():
    X, y, S = problem()
    np.testing.assert_allclose(Variance().fit(X * np.arange(1, 17), y, S).scores_, np.arange(1, 17) ** 2, rtol=1e-9)
    expected = mutual_info_classif(X, y, random_state=0)
    np.testing.assert_allclose(MutualInformation().fit(X, y, S).scores_, expected)


@pytest.mark.parametrize("strength", [0.02, 0.2, 0.7])
@pytest.mark.parametrize("selector", [LassoLabels, LassoAttributes])
def test_lasso_equals_scikit_learn(selector, strength):
    X, y, S = problem(n=120)
    X = X + 0.5  # the bias must not matter
    found = selector(strength=strength).fit(X, y, S)
    Y = np.eye(len(S))[y] if selector is LassoLabels else S[y]
    weight = found.diagnostics_.numbers["weight"]
    largest = np.abs((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0))).max() / len(X)
    assert weight == pytest.approx(strength * largest)
    for column in range(Y.shape[1]):
        reference = Lasso(alpha=weight, tol=1e-12, max_iter=100000).fit(X, Y[:, column])
        np.testing.assert_allclose(found.W_[:, column], reference.coef_, atol=1e-7)
    selected = found.scores_ > 0
    np.testing.assert_allclose(found.scores_[selected], np.linalg.norm(found.W_, axis=1)[selected])


def test_lasso_takes_row_signatures():
    X, y, S = problem()
    rows = S[y] + np.random.default_rng(0).standard_normal((len(y), S.shape[1]))
    found = LassoAttributes(strength=0.2).fit(X, y, S, row_signatures=rows)
    reference = Lasso(alpha=found.diagnostics_.numbers["weight"], tol=1e-12, max_iter=100000).fit(X, rows[:, 0])
    np.testing.assert_allclose(found.W_[:, 0], reference.coef_, atol=1e-7)


@pytest.mark.parametrize("heat", [False, True])
def test_mcfs_follows_its_definition(heat):
    X, y, S = problem(n=90, d=12)
    graph = kneighbors_graph(X, 5, mode="distance").toarray()
    edges = graph > 0
    t = np.mean(graph[edges] ** 2)
    weights = np.where(edges, np.exp(-(graph**2) / t) if heat else 1.0, 0.0)
    W = np.maximum(weights, weights.T)
    np.testing.assert_allclose(affinity(X, 5, heat).toarray(), W, rtol=1e-12)
    D = np.diag(W.sum(axis=1))
    values, vectors = linalg.eigh(D - W, D)
    Y = vectors[:, 1:4] / np.linalg.norm(vectors[:, 1:4], axis=0)
    found = spectral_embedding(affinity(X, 5, heat), 3)
    np.testing.assert_allclose(np.abs(np.sum(found * Y, axis=0)), 1, atol=1e-8)
    assert values[1] > 1e-9  # one connected graph, so that the first vector is the constant one
    coefficients = [lars_path(X, Y[:, k], method="lar", max_iter=4)[2][:, -1] for k in range(3)]
    expected = np.abs(np.column_stack(coefficients)).max(axis=1)
    scores = MCFS(clusters=3, cardinality=4, heat=heat).fit(X, y, S).scores_
    np.testing.assert_allclose(np.maximum(scores, 0), expected, atol=1e-8)


def test_simplex_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20, 4))
    shares = project_to_simplex(rows)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    others = rng.dirichlet(np.ones(4), size=500)
    nearest = np.linalg.norm(rows[:, None] - others, axis=2).min(axis=1)
    assert np.all(np.linalg.norm(rows - shares, axis=1) <= nearest + 1e-12)


def test_local_structure_holds_shares_of_the_nearest():
    X, _, _ = problem(n=40)
    P = local_structure(X, 5)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distances, np.inf)
    for i in range(40):
        chosen = np.flatnonzero(P[i])
        assert 1 <= len(chosen) <= 5
        assert set(chosen) <= set(np.argsort(distances[i])[:5])


def test_sparse_structure_is_a_lasso_of_each_row_on_the_others():
    X, _, _ = problem(n=20, d=30)
    S = sparse_structure(X, 0.1)
    assert np.all(np.diag(S) == 0)
    for i in (0, 7):
        others = np.arange(20) != i
        weight = 0.1 * np.abs(X[others] @ X[i]).max() / 30
        reference = Lasso(alpha=weight, fit_intercept=False, tol=1e-12, max_iter=100000).fit(X[others].T, X[i])
        np.testing.assert_allclose(S[i, others], reference.coef_, atol=1e-6)


def test_row_sparse_regression_falls_to_its_optimality_conditions():
    X, _, _ = problem(n=60, d=10)
    Y = X[:, :2] @ np.array([[1.0, -1.0], [0.5, 2.0]]) + 0.01 * np.random.default_rng(0).standard_normal((60, 2))
    W, objective = row_sparse_regression(X, Y, 4.0, iterations=500)
    assert np.all(np.diff(objective) <= 1e-9 * objective[0])
    gradient = 2 * X.T @ (X @ W - Y)
    lengths = np.linalg.norm(W, axis=1)
    used = lengths > 1e-3
    assert used.tolist() == [True, True] + [False] * 8
    np.testing.assert_allclose(gradient[used], -4.0 * W[used] / lengths[used, None], atol=1e-2)
    assert np.all(np.linalg.norm(gradient[~used], axis=1) <= 4.0 * (1 + 1e-2))


@pytest.mark.parametrize("d", [40, 300])
def test_l20alm_recovers_a_planted_support_despite_gross_errors(d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, d))
    W = np.zeros((d, 3))
    W[:6] = rng.standard_normal((6, 3))
    Y = X @ W + 0.01 * rng.standard_normal((200, 3))
    Y[:10] += 20 * rng.standard_normal((10, 3))
    found = solve_l20alm(X, Y, 6, penalty=1e-2, growth=1.05, iterations=300)
    assert np.flatnonzero(np.linalg.norm(found.V, axis=1)).tolist() == list(range(6))
    np.testing.assert_allclose(found.V[:6], W[:6], atol=0.02)
    assert found.feasible


def correlated(seed, n=40, d=9):
    """Rows with a correlated pair of features, a target of some of them, and gross errors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 1] = X[:, 0] + 0.5 * rng.standard_normal(n)
    Y = X @ (rng.standard_normal((d, 2)) * (rng.random(d) < 0.5)[:, None])
    return X, Y + rng.standard_normal((n, 2)) * (1 + 5 * (rng.random(n) < 0.1))[:, None]


def test_l20alm_is_near_the_best_of_all_sets_of_features():
    ratios = []
    for seed in range(8):
        X, Y = correlated(seed)
        found = solve_l20alm(X, Y, 3, penalty=1e-2, growth=1.05, iterations=500)
        best = min(robust_regression(X[:, list(chosen)], Y)[2] for chosen in combinations(range(9), 3))
        ratios.append(found.objective / best)
    assert min(ratios) >= 1 - 1e-6
    # Measured over 25 seeds: 1.004 in the mean.
    assert np.mean(ratios) < 1.02
    assert np.count_nonzero(np.array(ratios) < 1 + 1e-6) >= 4


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("n", "d", "k"), [(60, 200, 20), (800, 40, 8)])
def test_l20alm_ends_feasible_and_no_worse_than_a_ridge_regression(n, d, k, scale):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, n)
    X = rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) + 0.5 * rng.standard_normal((n, d))
    X = scale * (X + rng.standard_normal((4, d))[y])
    Y = np.eye(4)[y]
    found = solve_l20alm(X, Y, k, penalty=1e-2, growth=1.05, iterations=500)
    assert found.feasible
    assert found.distances[-1] <= 1e-4
    assert np.count_nonzero(np.linalg.norm(found.V, axis=1)) == k
    centred = X - X.mean(axis=0)
    gram = centred.T @ centred
    for share in (1e-1, 1e-2, 1e-3):
        ridge = np.linalg.solve(gram + share * np.trace(gram) / d * np.eye(d), centred.T @ Y)
        longest = np.argsort(-np.linalg.norm(ridge, axis=1))[:k]
        assert found.objective <= robust_regression(X[:, longest], Y)[2] * (1 + 1e-9)
    residual = Y - X @ found.V
    # The best bias is the spatial median, not the mean, so the mean gives no less.
    assert np.linalg.norm(residual - residual.mean(axis=0), axis=1).sum() >= found.objective * (1 - 1e-9)


def test_robust_regression_is_the_least_sum_of_lengths():
    X, Y = correlated(0)
    W, b, value = robust_regression(X[:, :3], Y)

    def objective(flat):
        B = flat.reshape(4, 2)
        return np.linalg.norm(Y - X[:, :3] @ B[:3] - B[3], axis=1).sum()

    slow = minimize(objective, np.vstack([W, b]).ravel(), method="Powell", options={"xtol": 1e-9, "ftol": 1e-12})
    assert value == pytest.approx(objective(np.vstack([W, b]).ravel()), rel=1e-12)
    assert value <= slow.fun * (1 + 1e-6)


def test_l20alm_tells_that_it_has_not_converged():
    X, y, S = problem(n=120)
    with pytest.warns(OutcomeWarning, match="after 5 iterations"):
        few = L20ALM(k=4, iterations=5).fit(X, y, S)
    assert few.diagnostics_.numbers["feasible"] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutcomeWarning)
        assert L20ALM(k=4).fit(X, y, S).diagnostics_.numbers["feasible"] == 1


def test_wknn_loss_is_the_leave_one_out_rule_and_its_gradient_is_right():
    X, y, S = problem(n=25, d=6)
    Y = np.eye(len(S))[y]
    w = np.random.default_rng(1).random(6)
    penalties = (0.1, 0.2, 0.3)
    predicted = np.zeros_like(Y)
    for i in range(25):
        similar = np.array([np.exp(-w @ (X[i] - X[j]) ** 2) if j != i else 0.0 for j in range(25)])
        predicted[i] = similar @ Y / similar.sum()
    expected = np.sum((Y - predicted) ** 2) / 25
    expected += 0.1 * 2 * np.sum(1 / (1 + np.exp(-100 * w)) - 0.5) + 0.2 * w.sum() + 0.3 * w @ w
    loss, gradient = loss_and_gradient(w, X, Y, penalties)
    assert loss == pytest.approx(expected, rel=1e-12)
    for f in range(6):
        step = np.zeros(6)
        step[f] = 1e-6
        slope = (
            loss_and_gradient(w + step, X, Y, penalties)[0] - loss_and_gradient(w - step, X, Y, penalties)[0]
        ) / 2e-6
        assert gradient[f] == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_wknn_and_fsasl_never_raise_their_objectives():
    X, y, S = problem()
    losses = WkNN(iterations=30).fit(X, y, S).diagnostics_.series["objective"]
    assert len(losses) > 5
    assert np.all(np.diff(losses) <= 0)


@pytest.mark.parametrize(
    "selector", [LassoLabels(strength=0.3), L20ALM(k=8), WkNN(), MutualInformation(), MCFS()], ids=names
)
def test_informative_features_come_first(selector):
    X, y, S = problem(n=300)
    assert np.mean(clone(selector).fit(X, y, S).ranking_[:6] < 8) >= 0.8


@pytest.mark.parametrize("selector", [one for one in SELECTORS if not isinstance(one, RandomFeatures)], ids=names)
def test_columns_that_do_not_vary_come_behind_those_that_tell(selector):
    X, y, S = problem(n=300)
    X[:, [0, 1, 5]] = 0.0  # as standardising leaves them
    scores = clone(selector).fit(X, y, S).scores_
    assert scores[[0, 1, 5]].max() <= scores[[2, 3, 4, 6, 7]].min()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_that_do_not_vary_tell_nothing_of_the_class(dtype):
    X, y, S = problem(dtype=dtype)
    X[:, [0, 1, 5]] = [0.0, 0.1, -7.0]
    scores = MutualInformation().fit(X, y, S).scores_
    assert not scores[[0, 1, 5]].any()
    # What the others tell is estimated as before.
    expected = mutual_info_classif(X, y, discrete_features=False, random_state=0)
    assert np.array_equal(np.delete(scores, [0, 1, 5]), np.delete(expected, [0, 1, 5]))

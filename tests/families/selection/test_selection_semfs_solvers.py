"""How SemFS is solved: the printed steps, the alternation, the convex solution with its gap, forward selection."""

import numpy as np
import pytest
from semfs_toys import problem, regression

from zslplat.families.selection.methods.regression import Regression, regression_statistics
from zslplat.families.selection.methods.semfs import SemFS
from zslplat.families.selection.methods.solvers import (
    alternate,
    follow_path,
    importance,
    projected_gradient,
    select_forward,
    solve_convex,
)
from zslplat_papers.parity.other_kinds import printed_objective, printed_weights


def test_after_an_exact_step_every_score_wants_to_grow():
    """dJ/ds_i = -2 gamma |W_i|^2 / s_i, by central differences on the printed objective."""
    X, y, S, _ = problem()
    s = 0.5 + np.random.default_rng(3).random(X.shape[1])
    W = printed_weights(X, S[y], y, s, 0.7, 0.4)
    for i in (0, 7, 19):
        step = np.zeros_like(s)
        step[i] = 1e-5
        rise = printed_objective(X, S[y], y, s + step, W, 0.7, 0.4) - printed_objective(
            X, S[y], y, s - step, W, 0.7, 0.4
        )
        assert rise / 2e-5 == pytest.approx(-2 * 0.4 * np.sum(W[i] ** 2) / s[i], rel=1e-4, abs=1e-7)


def test_the_printed_problem_has_no_minimiser():
    X, y, S, _ = problem()
    s = np.ones(X.shape[1])
    W = printed_weights(X, S[y], y, s, 1.0, 0.5)
    values = [printed_objective(X, S[y], y, c * s, W / c, 1.0, 0.5) for c in (1, 10, 100)]
    assert values[0] > values[1] > values[2]


@pytest.mark.parametrize("iterations", [1, 5, 20])
def test_the_printed_algorithm_ranks_as_one_ridge_regression(iterations):
    X, y, S, _ = problem(d=30)
    printed = SemFS(variant="paper", gamma=0.1, scale="absolute", iterations=iterations).fit(X, y, S)
    ridge = SemFS(variant="ridge", gamma=0.1, scale="absolute").fit(X, y, S)
    W = printed_weights(X, S[y], y, np.ones(30), 1.0, 0.1)
    np.testing.assert_allclose(ridge.scores_, np.linalg.norm(W, axis=1), rtol=1e-8)
    assert printed.ranking_.tolist() == ridge.ranking_.tolist()
    assert (printed.scores_ > 1).all()


def test_more_inner_steps_rank_otherwise():
    X, y, S, _ = problem(d=30)
    one = SemFS(variant="paper", gamma=0.1, scale="absolute").fit(X, y, S)
    many = SemFS(variant="paper", gamma=0.1, scale="absolute", inner_steps=50).fit(X, y, S)
    assert one.ranking_.tolist() != many.ranking_.tolist()


def falls(values):
    return np.all(np.diff(values) <= 1e-10 * abs(values[0]))


@pytest.mark.parametrize("constraint", ["sum", "square"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_alternation_never_raises_the_objective(constraint, alpha):
    X, y, S, _ = problem(d=30)
    start = np.random.default_rng(4).random(30) + 0.1
    start *= 10 / (start.sum() if constraint == "sum" else np.sqrt(start @ start * 10))
    found = alternate(
        regression(X, y, S, alpha), 3.0, 10.0, constraint=constraint, start=start, iterations=60, precision=0
    )
    assert falls(found.objective)
    W = np.zeros((30, S.shape[1]))
    W[found.active] = found.W
    final = printed_objective(X, S[y], y, found.s, W, alpha, 3.0)
    assert found.objective[-1] == pytest.approx(final, rel=1e-9)
    bound = found.s.sum() if constraint == "sum" else found.s @ found.s
    assert bound == pytest.approx(10, rel=1e-6)


@pytest.mark.parametrize("inner_steps", [1, 10])
def test_projected_gradient_never_raises_the_objective(inner_steps):
    X, y, S, _ = problem(d=30)
    found = projected_gradient(regression(X, y, S, 1.0), 2.0, iterations=15, inner_steps=inner_steps)
    assert falls(found.objective)


@pytest.mark.parametrize("gamma", [1.0, 30.0, 1000.0])
def test_convex_variant_is_unique_over_starts(gamma):
    X, y, S, _ = problem(n=60, d=30)
    quadratic = regression(X, y, S, 1.0)
    rng = np.random.default_rng(5)
    starts = [None, rng.standard_normal((30, 9)), 10 * rng.standard_normal((30, 9)) * (rng.random(30) < 0.3)[:, None]]
    found = [solve_convex(quadratic, gamma, 10.0, start=start, precision=1e-11) for start in starts]
    for one in found[1:]:
        assert one.objective[-1] == pytest.approx(found[0].objective[-1], rel=1e-8)
        assert set(one.active) == set(found[0].active)
    # The rounds from zero never raise J; a random start has to come down first.
    assert all(falls(one.objective) for one in found)


def test_convex_solution_is_the_limit_of_the_alternation():
    X, y, S, _ = problem(n=60, d=12)
    quadratic = regression(X, y, S, 1.0)
    closed = solve_convex(quadratic, 40.0, 10.0, precision=1e-12)
    slow = alternate(
        quadratic, 40.0, 10.0, constraint="square", start=np.full(12, np.sqrt(10 / 12)), iterations=3000, precision=0
    )
    assert closed.objective[-1] == pytest.approx(slow.objective[-1], rel=1e-7)
    s = np.zeros(12)
    s[closed.active] = importance(closed.U, 10.0)
    # The objective pins the scores to about the square root of its own precision.
    np.testing.assert_allclose(s, slow.s, atol=1e-3)
    assert s @ s == pytest.approx(10.0)


def test_convex_solution_meets_its_optimality_conditions():
    X, y, S, _ = problem(n=60, d=30)
    quadratic = regression(X, y, S, 1.0)
    found = solve_convex(quadratic, 300.0, 10.0, precision=1e-13)
    assert 1 < len(found.active) < 30
    R = quadratic.H - quadratic.product(found.active, found.U)
    level = 300.0 / 10.0 * np.linalg.norm(found.U, axis=1).sum()
    directions = found.U / np.linalg.norm(found.U, axis=1, keepdims=True)
    np.testing.assert_allclose(R[found.active], level * directions, atol=1e-4 * level)
    assert np.linalg.norm(R, axis=1).max() <= level * (1 + 1e-4)
    np.testing.assert_allclose(found.pull, np.linalg.norm(R, axis=1) / level, rtol=1e-9)


def test_the_gap_bounds_what_is_left():
    X, y, S, _ = problem(n=60, d=30)
    quadratic = regression(X, y, S, 1.0)
    best = solve_convex(quadratic, 50.0, 10.0, precision=1e-13).objective[-1]
    for precision in (1e-2, 1e-4, 1e-6):
        found = solve_convex(quadratic, 50.0, 10.0, precision=precision)
        assert -1e-9 * quadratic.t <= found.objective[-1] - best <= found.gap + 1e-12 * quadratic.t
        assert found.gap <= precision * quadratic.t


def test_larger_gamma_selects_fewer_features():
    X, y, S, _ = problem(d=40)
    selectors = [SemFS(variant="convex", gamma=gamma, k=1) for gamma in (0.002, 0.02, 0.2, 20.0)]
    counts = [len(selector.fit(X, y, S).active_) for selector in selectors]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] >= 1


@pytest.mark.parametrize("seen", [2, 6])
@pytest.mark.parametrize("variant", ["binary", "convex", "sum"])
def test_as_many_features_are_active_as_are_asked_for(variant, seen):
    X, y, S, _ = problem(n=120, d=60, c=seen)
    for k in (3, 12, 25):
        selector = SemFS(variant=variant, gamma=100.0, k=k).fit(X, y, S)
        assert np.count_nonzero(selector.scores_ > 0) == len(selector.active_) >= k
        if variant == "binary":
            assert len(selector.active_) == k


@pytest.mark.parametrize("variant", ["binary", "convex", "sum"])
def test_without_k_as_many_features_are_chosen_as_are_taken(variant):
    X, y, S, _ = problem(n=120, d=60)
    selector = SemFS(variant=variant, gamma=100.0)
    selector.features_taken = 17
    told = SemFS(variant=variant, gamma=100.0, k=17).fit(X, y, S)
    np.testing.assert_array_equal(selector.fit(X, y, S).scores_, told.scores_)


def test_path_keeps_a_gamma_that_selects_enough():
    X, y, S, _ = problem(d=40)
    plain = solve_convex(Regression.build(regression_statistics(X, y, 6), S, 1.0), 5.0, 10, precision=1e-11)
    found, gamma = follow_path(Regression.build(regression_statistics(X, y, 6), S, 1.0), 5.0, 10, precision=1e-11)
    assert len(plain.active) >= 10
    assert gamma == 5.0
    assert sorted(found.active) == sorted(plain.active)


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 50.0])
def test_forward_selection_takes_what_lowers_the_objective_most(gamma):
    X, y, S, _ = problem(n=60, d=12)
    quadratic = regression(X, y, S, 0.7)

    def least(features):
        s = np.isin(np.arange(12), features).astype(float)
        return printed_objective(X, S[y], y, s, printed_weights(X, S[y], y, s, 0.7, gamma), 0.7, gamma)

    found = select_forward(quadratic, gamma, 6)
    for step in range(6):
        before = found.order[:step].tolist()
        values = {i: least([*before, i]) for i in range(12) if i not in before}
        assert min(values, key=values.get) == found.order[step]
        assert found.objective[step + 1] == pytest.approx(values[found.order[step]], rel=1e-9)
    # The order serves every smaller number of features.
    assert select_forward(quadratic, gamma, 3).order.tolist() == found.order[:3].tolist()


def test_binary_weights_are_those_of_equation_8():
    X, y, S, _ = problem(d=30)
    selector = SemFS(gamma=0.5, scale="absolute", decorrelation=0.0, k=7).fit(X, y, S)
    s = (selector.scores_ > 0).astype(float)
    assert s.sum() == 7
    np.testing.assert_allclose(selector.W_, printed_weights(X, S[y], y, s, 1.0, 0.5)[s > 0], rtol=1e-8, atol=1e-10)


def test_a_copy_of_a_chosen_feature_is_not_chosen():
    """By their own strength the two copies come first; what one of them explains, the other need not explain again."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.standard_normal((200, 8))
    X[:, 0] += 1.5 * y
    X[:, 1] = X[:, 0] + 0.02 * rng.standard_normal(200)
    X[:, 2] += 0.8 * y
    X -= X.mean(axis=0)
    S = np.array([[1.0, -1.0], [-1.0, 1.0]])
    alone = [SemFS(k=1).fit(X[:, [i]], y, S).diagnostics_.series["objective"][-1] for i in range(8)]
    assert set(np.argsort(alone)[:2]) == {0, 1}
    assert 2 in SemFS(k=2).fit(X, y, S).ranking_[:2]


def test_nothing_is_chosen_where_seen_classes_have_one_signature():
    X, y, S, _ = problem(c=2)
    selector = SemFS().fit(X - X.mean(axis=0), y, np.zeros_like(S))
    assert len(selector.active_) == 0
    assert (selector.scores_ <= 0).all()

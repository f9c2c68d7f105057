"""SemFS against brute force: its statistics, its three forms of the weights, its steps, and the convex solution."""

import numpy as np
import pytest

from zslplat.errors import DataError, MethodError
from zslplat.methods.selection.alternating import alternate, projected_gradient
from zslplat.methods.selection.forward import select_forward
from zslplat.methods.selection.group_penalty import follow_path, importance, solve_convex
from zslplat.methods.selection.regression import Regression
from zslplat.methods.selection.semfs import SemFS, SemFSWithoutCentres
from zslplat.methods.selection.statistics import StatisticsAccumulator, regression_statistics
from zslplat.methods.selection.targets import decorrelation


def problem(n=90, d=20, c=6, m=9, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    S = rng.standard_normal((c, m))
    X = rng.standard_normal((n, d)) + (S @ rng.standard_normal((m, d)))[y] * (np.arange(d) < d // 2)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.astype(dtype), y, S, S[y] + 0.3 * rng.standard_normal((n, m))


def centres(X, y):
    return np.stack([X[y == k].mean(axis=0) for k in y])


def printed_objective(X, Y, y, s, W, alpha, gamma):
    """Eq. 5, on the rows."""
    fit = np.sum((Y - X @ (s[:, None] * W)) ** 2)
    return fit + alpha * np.sum((Y - centres(X, y) @ (s[:, None] * W)) ** 2) + gamma * np.sum(W**2)


def printed_weights(X, Y, y, s, alpha, gamma):
    """Eq. 8, on the rows."""
    A, C = X * s, centres(X, y) * s
    return np.linalg.solve(A.T @ A + alpha * C.T @ C + gamma * np.eye(len(s)), (A + alpha * C).T @ Y)


def regression(X, y, S, alpha, rows=None, keep_rows=False):
    statistics = regression_statistics(X, y, len(S), rows)
    if keep_rows:
        wide = np.hstack([X, np.zeros((len(X), len(X) + len(S)))])
        statistics = regression_statistics(wide, y, len(S), rows)
    return Regression.build(statistics, S, alpha)


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("shape", [(90, 20), (15, 40)])
def test_objective_from_statistics_equals_the_printed_one(shape, by_row):
    X, y, S, rows = problem(*shape)
    rng = np.random.default_rng(1)
    s, W = rng.random(shape[1]), rng.standard_normal((shape[1], S.shape[1]))
    quadratic = regression(X, y, S, 0.7, rows if by_row else None)
    ours = quadratic.loss(np.arange(len(s)), s[:, None] * W) + 0.3 * np.sum(W**2)
    assert ours == pytest.approx(printed_objective(X, rows if by_row else S[y], y, s, W, 0.7, 0.3), rel=1e-12)


def test_alpha_only_divides_the_within_class_scatter():
    """J(alpha) / (1 + alpha) = |N^1/2 (Phi - M S W)|^2 + <SW, S_w SW> / (1 + alpha)."""
    X, y, S, _ = problem()
    quadratic = regression(X, y, S, 2.5)
    U = np.random.default_rng(1).standard_normal((X.shape[1], S.shape[1]))
    N = np.bincount(y)
    M = np.stack([X[y == k].mean(axis=0) for k in range(len(S))])
    within = X.T @ X - M.T @ (N[:, None] * M)
    expected = np.sum(N[:, None] * (S - M @ U) ** 2) + np.sum(U * (within @ U)) / 3.5
    assert quadratic.loss(np.arange(len(U)), U) / 3.5 == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("block", [7, 64, 4096])
def test_statistics_do_not_depend_on_the_blocks(block):
    X, y, S, rows = problem()
    whole = regression_statistics(X, y, len(S), rows)
    parts = regression_statistics(X, y, len(S), rows, block=block)
    for name, array in whole.items():
        np.testing.assert_allclose(parts[name], array, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(whole["gram"], X.T @ X, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(whole["cross"], X.T @ rows, rtol=1e-11, atol=1e-11)


def test_single_precision_rows_give_the_gram_to_single_precision():
    X, y, S, _ = problem(n=3000, dtype=np.float32)
    found = regression_statistics(X, y, len(S), block=256)
    exact = X.astype(np.float64).T @ X.astype(np.float64)
    assert found["gram"].dtype == np.float64
    # One block of 256 float32 products is rounded to about 256^(1/2) * 6e-8 of its size.
    np.testing.assert_allclose(found["gram"], exact, atol=2e-6 * exact.max())


def test_a_stream_without_a_class_is_refused():
    accumulator = StatisticsAccumulator(3, 4)
    accumulator.add(np.ones((2, 4)), np.array([0, 1]))
    with pytest.raises(DataError, match="first class 2"):
        accumulator.result()


@pytest.mark.parametrize("alpha", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("form", ["primal", "dual", "class"])
def test_all_forms_of_the_weights_equal_equation_8(form, alpha):
    X, y, S, _ = problem()
    s = np.random.default_rng(2).random(X.shape[1])
    s[3:6] = 0
    quadratic = regression(X, y, S, alpha, keep_rows=form == "dual")
    padded = np.concatenate([s, np.zeros(len(quadratic.H) - len(s))])
    active, W = quadratic.weights(padded, 0.5, form)
    expected = printed_weights(X, S[y], y, s, alpha, 0.5)
    assert active.tolist() == np.flatnonzero(s).tolist()
    np.testing.assert_allclose(W, expected[active], rtol=1e-8, atol=1e-10)


def test_dual_form_takes_row_signatures_and_class_form_refuses_them():
    X, y, S, rows = problem()
    s = np.ones(X.shape[1])
    wide = regression(X, y, S, 0.4, rows, keep_rows=True)
    _, W = wide.weights(np.concatenate([s, np.zeros(len(wide.H) - len(s))]), 0.5, "dual")
    np.testing.assert_allclose(W, printed_weights(X, rows, y, s, 0.4, 0.5), rtol=1e-8, atol=1e-10)
    with pytest.raises(MethodError, match="class signatures"):
        regression(X, y, S, 0.4, rows).weights(s, 0.5, "class")


def test_the_form_is_chosen_by_size():
    X, y, S, _ = problem()
    assert regression(X, y, S, 1.0)._cheapest(20) == "class"  # 6 classes, 9 attributes
    assert regression(X, y, S[:, :3], 1.0)._cheapest(20) == "primal"
    assert regression(X, y, S, 1.0, keep_rows=True)._cheapest(100) == "dual"
    assert regression(X, y, S[:, :3], 1.0, keep_rows=True)._cheapest(20) == "primal"


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


@pytest.mark.parametrize("variant", ["binary", "convex", "sum", "paper", "ridge"])
@pytest.mark.parametrize("shape", [(90, 20), (18, 60)])
def test_given_statistics_and_no_statistics_are_the_same(variant, shape):
    X, y, S, _ = problem(*shape)
    selector = SemFS(variant=variant, gamma=3.0, k=10)
    statistics = selector.prepare_fit(X, y, S, space={})
    alone = SemFS(variant=variant, gamma=3.0, k=10).fit(X, y, S)
    prepared = selector.fit(np.full_like(X, np.nan), y, S, statistics=statistics)
    np.testing.assert_array_equal(prepared.scores_, alone.scores_)
    assert ("gram" in statistics) == (shape[0] + len(S) >= shape[1])


@pytest.mark.parametrize("variant", ["binary", "convex", "sum", "ridge"])
def test_informative_features_come_first(variant):
    X, y, S, _ = problem(n=300, d=40, c=12)
    selector = SemFS(variant=variant, gamma=1.0, k=10).fit(X, y, S)
    assert (selector.ranking_[:10] < 20).all()


@pytest.mark.parametrize("variant", ["binary", "convex", "sum"])
def test_scale_free_gamma_does_not_mind_units_or_copies(variant):
    X, y, S, _ = problem()
    chosen = {"variant": variant, "gamma": 3.0, "k": 10}
    plain = SemFS(**chosen).fit(X, y, S)
    units = SemFS(**chosen).fit(20 * X, y, 3 * S)
    copies = SemFS(**chosen).fit(np.vstack([X, X]), np.concatenate([y, y]), S)
    for other in (units, copies):
        np.testing.assert_allclose(other.scores_, plain.scores_, rtol=1e-4, atol=1e-4)


def test_row_signatures_that_repeat_the_class_are_the_class_signatures():
    X, y, S, rows = problem()
    by_class = SemFS().fit(X, y, S)
    np.testing.assert_allclose(SemFS().fit(X, y, S, row_signatures=S[y]).scores_, by_class.scores_, atol=1e-6)
    assert not np.allclose(SemFS().fit(X, y, S, row_signatures=rows).scores_, by_class.scores_, atol=1e-3)


def test_label_target_is_the_one_hot_signature():
    X, y, S, rows = problem()
    labels = SemFS(target="labels").fit(X, y, S, row_signatures=rows)
    np.testing.assert_array_equal(labels.scores_, SemFS().fit(X, y, np.eye(len(S))).scores_)
    statistics = SemFS().prepare_fit(X, y, S, row_signatures=rows, space={})
    np.testing.assert_array_equal(SemFS(target="labels").fit(X, y, S, statistics=statistics).scores_, labels.scores_)


def test_without_centres_is_alpha_zero():
    X, y, S, _ = problem()
    np.testing.assert_array_equal(SemFSWithoutCentres().fit(X, y, S).scores_, SemFS(alpha=0.0).fit(X, y, S).scores_)


def test_warm_starts_change_the_way_and_not_the_result():
    X, y, S, _ = problem(d=40)
    warm = SemFS(variant="convex", k=5, warm_start=True, precision=1e-12)
    for gamma in (10.0, 1.0, 0.3):
        warm.set_params(gamma=gamma).fit(X, y, S)
    cold = SemFS(variant="convex", gamma=0.3, k=5, precision=1e-12).fit(X, y, S)
    np.testing.assert_allclose(warm.scores_, cold.scores_, atol=1e-4)


@pytest.mark.parametrize("variant", ["binary", "convex", "sum"])
def test_unselected_features_rank_below_by_their_pull(variant):
    X, y, S, _ = problem(d=40)
    selector = SemFS(variant=variant, gamma=100.0, k=8).fit(X, y, S)
    inactive = np.setdiff1d(np.arange(40), selector.active_)
    assert len(inactive)
    assert (selector.scores_[selector.active_] > 0).all()
    assert (selector.scores_[inactive] <= 0).all()
    assert (selector.scores_[inactive] >= -1).all()
    assert len(np.unique(selector.scores_[inactive])) == len(inactive)


@pytest.mark.parametrize("degree", [0.3, 0.75, 1.0])
def test_decorrelation_raises_the_kernel_of_the_classes_to_a_power(degree):
    _, _, S, _ = problem(c=12, m=5)
    S = S * [10, 5, 2, 1, 0.1] + 3
    centred = S - S.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    kept = values > 1e-9
    maps = decorrelation(S, degree)
    target = centred @ maps.forward
    expected = (vectors[:, kept] * values[kept] ** (1 - degree)) @ vectors[:, kept].T
    np.testing.assert_allclose(target @ target.T, expected, atol=1e-9 * expected.max())
    np.testing.assert_allclose(maps.back.T @ maps.forward.T, np.eye(5), atol=1e-9)


def test_no_decorrelation_changes_nothing():
    _, _, S, _ = problem()
    assert decorrelation(S, 0.0) is None
    assert decorrelation(np.ones_like(S), 0.5) is None


@pytest.mark.parametrize("variant", ["convex", "sum"])
def test_full_decorrelation_of_telling_signatures_is_the_label_target(variant):
    X, y, S, _ = problem(c=6, m=9)
    signatures = SemFS(variant=variant, decorrelation=1.0, precision=1e-12).fit(X, y, S)
    labels = SemFS(variant=variant, target="labels", precision=1e-12).fit(X, y, S)
    np.testing.assert_allclose(signatures.scores_, labels.scores_, atol=1e-4)
    fewer = SemFS(variant=variant, decorrelation=1.0, precision=1e-12).fit(X, y, S[:, :2])
    assert not np.allclose(fewer.scores_, labels.scores_, atol=1e-2)


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("shape", [(90, 20), (18, 60)])
@pytest.mark.parametrize("variant", ["binary", "convex", "sum"])
def test_decorrelation_is_a_linear_map_of_the_signatures(variant, shape, by_row):
    X, y, S, rows = problem(*shape)
    means = np.stack([rows[y == k].mean(axis=0) for k in range(len(S))])
    T = decorrelation(means if by_row else S, 0.5).forward
    own = SemFS(variant=variant, gamma=3.0, k=10, decorrelation=0.5).fit(
        X, y, S, row_signatures=rows if by_row else None
    )
    plain = SemFS(variant=variant, gamma=3.0, k=10, decorrelation=0.0)
    plain.fit(X, y, S @ T, row_signatures=rows @ T if by_row else None)
    np.testing.assert_allclose(own.scores_, plain.scores_, atol=1e-6)
    # The weights are for the signatures themselves.
    assert own.W_.shape == (len(own.active_), S.shape[1])
    np.testing.assert_allclose(own.W_ @ T, plain.W_, atol=1e-5 * np.abs(plain.W_).max())


def test_printed_forms_take_signatures_as_they_are():
    X, y, S, _ = problem()
    for variant in ("paper", "ridge"):
        one, other = (SemFS(variant=variant, decorrelation=degree).fit(X, y, S) for degree in (0.0, 1.0))
        np.testing.assert_array_equal(one.scores_, other.scores_)


def test_strong_features_are_cheap():
    """Of two features that say the same, the one in smaller units of itself, so with larger values, is preferred."""
    X, y, S, _ = problem(n=200, d=20)
    X[:, 11] = 0.5 * X[:, 0]
    for variant in ("binary", "convex"):
        scores = SemFS(variant=variant, gamma=0.1, k=6).fit(X, y, S).scores_
        assert scores[0] > 0
        assert scores[11] < 0

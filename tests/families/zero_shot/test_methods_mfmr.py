"""MFMR against dense loops over the printed formulas, and its guarantees."""

import numpy as np
import pytest
from scipy import sparse

from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods.mfmr.common_scheme import MFMR
from zslplat.families.zero_shot.methods.mfmr.joint_scheme import MFMRJoint
from zslplat.families.zero_shot.methods.mfmr.multiplicative_updates import factorise
from zslplat.space import Choice, Integer
from zslplat_papers.parity.training import dense_graph, dense_updates


def problem(n=150, d=30, c=8, a=6, unseen=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    signatures = rng.uniform(0, 1, (c + unseen, a))
    U = rng.gamma(0.5, 1, (a, d))
    rows = np.concatenate([y, c + rng.integers(0, unseen, 60)])
    X = signatures[rows] @ U + 0.1 * rng.gamma(1, 1, (len(rows), d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:n], y, signatures[:c], X[n:], rows[n:] - c, signatures[c:]


def test_printed_projection_equals_the_dense_loop():
    X, y, S, *_ = problem()
    method = MFMR(lam=0.7, k=4, iterations=25, converged_at=0.0, variant="paper", seed=5).fit(X, y, S)
    start = np.random.default_rng([5, 0]).uniform(0.1, 1.0, (X.shape[1], S.shape[1]))
    U, values = dense_updates(start, X.T, S[y].T, dense_graph(X.T, 4), 0.7, 25)
    np.testing.assert_allclose(method.U_, U, rtol=1e-9)
    np.testing.assert_allclose(method.diagnostics_.series["objective"], values, rtol=1e-9)
    np.testing.assert_allclose(method.U_.sum(axis=0), 1)


def test_printed_joint_scheme_equals_the_dense_loop():
    X, y, S, Xu, _, Su = problem()
    method = MFMRJoint(lam=0.7, k=4, gamma=2.0, iterations=25, converged_at=0.0, variant="paper", seed=5).fit(X, y, S)
    V = method.decision_function(Xu, Su)
    start = np.random.default_rng([5, 1]).uniform(0.1, 1.0, (len(Xu), len(Su)))
    expected, values = dense_updates(start, Xu, Su @ method.U_.T, dense_graph(Xu, 4), 2.0, 25)
    np.testing.assert_allclose(V, expected, rtol=1e-8)
    np.testing.assert_allclose(method.diagnostics_.series["objective_joint"], values, rtol=1e-9)


def test_printed_common_scheme_is_the_pseudo_inverse():
    X, y, S, Xu, _, Su = problem()
    method = MFMR(variant="paper", iterations=30).fit(X, y, S)
    projected = Xu @ np.linalg.pinv(method.U_).T
    expected = [[p @ s / np.linalg.norm(p) / np.linalg.norm(s) for s in Su] for p in projected]
    np.testing.assert_allclose(method.decision_function(Xu, Su), expected, atol=1e-10)


@pytest.mark.parametrize("lam", [0.0, 1.0, 100.0])
def test_objective_never_rises(lam):
    X, y, S, Xu, _, Su = problem()
    method = MFMRJoint(lam=lam, gamma=lam, anchor=0.3, iterations=150, converged_at=0.0).fit(X, y, S)
    method.decision_function(Xu, Su)
    for name in ("objective", "objective_joint"):
        values = np.array(method.diagnostics_.series[name])
        # Rounding of sums of terms of the size of the first value.
        assert (np.diff(values) <= 1e-12 * abs(values[0])).all(), name
        assert values[-1] < values[0]


def test_signed_objective_never_rises():
    rng = np.random.default_rng(0)
    X, B = rng.standard_normal((50, 9)), rng.standard_normal((4, 9))
    W = sparse.csr_array(np.abs(rng.standard_normal((50, 50)))).maximum(0)
    W = sparse.csr_array(W + W.T)
    out = factorise(
        rng.uniform(0.1, 1, (50, 4)), X @ B.T, B @ B.T, W, 0.01, (X**2).sum(), iterations=200, tolerance=0.0
    )
    assert (np.diff(out.objective) <= 1e-12 * out.objective[0]).all()
    dense = W.toarray()
    value = ((X - out.factor @ B) ** 2).sum() + 0.01 * np.trace(
        out.factor.T @ (np.diag(dense.sum(1)) - dense) @ out.factor
    )
    np.testing.assert_allclose(out.objective[-1], value, rtol=1e-10)


def large_problem(rows=1100, columns=64):
    rng = np.random.default_rng(3)
    B = rng.uniform(0, 1, (columns, 40)) * (rng.uniform(size=(columns, 40)) < 0.3)
    X = rng.gamma(0.3, 1, (rows, columns)) @ B + rng.gamma(0.3, 1, (rows, 40))
    W = sparse.random_array((rows, rows), density=0.02, rng=rng, format="csr")
    W = sparse.csr_array(W + W.T)
    start = np.full((rows, columns), np.sum(X @ B.T) / np.sum(B @ B.T) / rows)
    start[5, :7] = 0
    return start, X @ B.T, B @ B.T + 1e-3 * np.eye(columns), W, 0.1, float((X**2).sum())


def test_large_factors_in_single_precision_match_double(monkeypatch):
    problem_ = large_problem()
    single = factorise(*problem_, iterations=60, tolerance=0.0)
    monkeypatch.setattr("zslplat.families.zero_shot.methods.mfmr.multiplicative_updates.SINGLE_FROM", np.inf)
    double = factorise(*problem_, iterations=60, tolerance=0.0)
    assert not np.array_equal(single.factor, double.factor)  # single precision was used at all
    assert single.factor.dtype == np.float64
    # Rounding to 24 bits, carried through 60 updates.
    assert np.linalg.norm(single.factor - double.factor) < 1e-5 * np.linalg.norm(double.factor)
    np.testing.assert_allclose(single.objective, double.objective, rtol=0, atol=2e-8 * problem_[-1])
    assert (single.factor[5, :7] == 0).all()


@pytest.mark.long
def test_large_factors_never_raise_the_objective_even_near_its_minimum(monkeypatch):
    problem_ = large_problem()
    steps = []
    from zslplat.families.zero_shot.methods.mfmr import multiplicative_updates

    update = multiplicative_updates._Problem.update
    monkeypatch.setattr(
        multiplicative_updates._Problem,
        "update",
        lambda self, F, root: (steps.append(F.dtype), update(self, F, root))[1],
    )
    out = factorise(*problem_, iterations=1500, tolerance=0.0)
    assert {np.dtype(np.float32), np.dtype(np.float64)} == set(steps)
    assert steps[-1] == np.float64  # the end is beyond single precision
    assert steps.count(np.dtype(np.float32)) > 10
    assert (np.diff(out.objective) <= 1e-12 * out.objective[0]).all()
    _, linear, gram, W, weight, constant = problem_
    F, degree = out.factor, np.asarray(W.sum(axis=1)).ravel()
    value = constant - 2 * np.vdot(linear, F) + np.vdot(F @ gram, F)
    value += weight * (np.vdot(F, degree[:, None] * F) - np.vdot(F, W @ F))
    np.testing.assert_allclose(out.objective[-1], value, rtol=1e-9)


@pytest.mark.parametrize("variant", ["default", "paper"])
def test_prepared_statistics_and_larger_graphs_change_nothing(variant):
    X, y, S, Xu, _, Su = problem()
    method = MFMRJoint(k=4, k_instances=6, iterations=20, variant=variant)
    plain = method.fit(X, y, S).decision_function(Xu, Su)
    for space in ({"k": Integer(3, 12), "k_instances": Integer(2, 17)}, {"k_features": Choice((4, 9, None))}):
        statistics = method.prepare_fit(X, y, S, space=space)
        batch = method.prepare_score(Xu, Su, space=space)
        method.fit(X, y, S, statistics=statistics)
        np.testing.assert_array_equal(method.decision_function(Xu, Su, statistics=batch), plain)


def test_fit_needs_nothing_of_the_rows_but_statistics():
    X, y, S, *_ = problem()
    method = MFMR(iterations=20)
    statistics = method.prepare_fit(X, y, S, space={})
    U = method.fit(X, y, S).U_
    np.testing.assert_array_equal(method.fit(np.full_like(X, np.nan), y, S, statistics=statistics).U_, U)


def test_seed_matters_in_the_printed_form_only():
    X, y, S, *_ = problem()

    def U(variant, seed):
        return MFMR(variant=variant, seed=seed, iterations=10).fit(X, y, S).U_

    assert not np.array_equal(U("paper", 0), U("paper", 1))
    np.testing.assert_array_equal(U("default", 0), U("default", 1))
    np.testing.assert_array_equal(U("paper", 1), U("paper", 1))


@pytest.mark.parametrize("method", [MFMR(ridge=0.01), MFMRJoint(ridge=0.01)])
def test_unseen_classes_are_recognised(method):
    X, y, S, Xu, yu, Su = problem(n=600, c=16, unseen=4, seed=1)
    accuracy = (method.fit(X, y, S).predict(Xu, Su) == yu).mean()
    assert accuracy > 0.6  # chance is .25


def test_scores_follow_row_and_class_permutations():
    X, y, S, Xu, _, Su = problem()
    rows, classes = np.random.default_rng(0).permutation(len(Xu)), np.random.default_rng(1).permutation(len(Su))
    method = MFMRJoint(iterations=50).fit(X, y, S)
    scores = method.decision_function(Xu, Su)
    moved = method.decision_function(Xu[rows], Su[classes])
    np.testing.assert_allclose(moved, scores[rows][:, classes], rtol=1e-7, atol=1e-10)


def test_negative_features_are_refused():
    X, y, S, *_ = problem()
    with pytest.raises(MethodError, match="shift or split"):
        MFMR().fit(X - 0.5, y, S)
    with pytest.raises(MethodError, match="signatures"):
        MFMR().fit(X, y, S - 2)


def test_learned_matrices_are_named():
    X, y, S, Xu, _, Su = problem()
    method = MFMRJoint(iterations=5).fit(X, y, S)
    method.decision_function(Xu, Su)
    assert set(method.matrices()) == {"U", "V"}
    assert method.matrices()["V"].shape == (len(Xu), len(Su))
    assert method.project(Xu).shape == (len(Xu), S.shape[1])


def test_relative_scores_change_retrieval_only():
    X, y, S, Xu, _, Su = problem()
    plain = MFMR(temperature=np.inf).fit(X, y, S).decision_function(Xu, Su)
    relative = MFMR(temperature=0.1).fit(X, y, S).decision_function(Xu, Su)
    shift = relative - plain
    np.testing.assert_allclose(shift, np.broadcast_to(shift[:, :1], shift.shape), atol=1e-12)
    np.testing.assert_allclose(np.exp(relative / 0.1).sum(axis=1), 1)


@pytest.mark.parametrize("compare", ["features", "inverse"])
def test_other_comparisons_are_their_definitions(compare):
    X, y, S, Xu, _, Su = problem()
    method = MFMR(compare=compare, shrinkage=0.2, temperature=np.inf).fit(X, y, S)
    U = method.U_
    if compare == "features":
        left, right = Xu, Su @ U.T
    else:
        gram = U.T @ U
        left = Xu @ U @ np.linalg.inv(gram + 0.2 * np.trace(gram) / len(gram) * np.eye(len(gram)))
        right = Su
    expected = left @ right.T / np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1))
    np.testing.assert_allclose(method.decision_function(Xu, Su), expected, atol=1e-9)


def test_joint_scheme_minimises_its_stated_objective():
    X, y, S, Xu, _, Su = problem()
    method = MFMRJoint(anchor=0.4, gamma=3.0, scale=0.5, k=4, balance=0.0, iterations=3000, converged_at=0.0)
    method.fit(X, y, S).decision_function(Xu, Su)
    V = method.V_
    common = MFMR(temperature=np.inf, k=4, iterations=3000, converged_at=0.0)
    cosines = common.fit(X, y, S).decision_function(Xu, Su)
    P = np.exp(cosines / method.temperature)
    P /= P.sum(axis=1, keepdims=True)
    W, Q = dense_graph(Xu, 4)
    between = method.metric_.cosines(*[Su @ method.U_.T - method.prototype_mean_] * 2)

    def objective(V):
        # |X/scale - V B|^2 with rows of X and B of length 1 in the metric, by their inner products alone.
        data = len(V) / 0.25 - 2 * np.vdot(V, cosines) / 0.5 + np.vdot(V @ between, V)
        rows = ((V.sum(axis=1) - 1) ** 2).sum()
        smooth = np.trace(V.T @ (Q - W) @ V) / W.sum(axis=1).mean()
        return 0.6 * (data + rows) + 0.4 * ((V - P) ** 2).sum() + 3.0 * smooth

    np.testing.assert_allclose(method.diagnostics_.series["objective_joint"][-1], objective(V), rtol=1e-8)
    rng = np.random.default_rng(0)
    for _ in range(20):  # a convex problem: no feasible step from its minimum goes down
        other = np.maximum(V + 0.02 * rng.standard_normal(V.shape), 0)
        assert objective(other) > objective(V)


def test_printed_form_has_its_own_space_and_is_random():
    assert not MFMRJoint().is_random
    assert MFMRJoint(variant="paper").is_random
    assert {"ridge", "shrinkage", "anchor"} <= set(MFMRJoint().space)
    assert set(MFMRJoint(variant="paper").space) == {"lam", "k", "gamma"}

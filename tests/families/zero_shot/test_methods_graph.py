"""Graph smoothing, label propagation, the residual metric and the general training problem, against dense solves."""

import numpy as np
import pytest

from zslplat.data.sets.digit_pairs import DigitPairs
from zslplat.data.source import DataPlaces
from zslplat.errors import MethodError
from zslplat.evaluation.context import preprocess
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.eszsl import ESZSL, SmoothedESZSL
from zslplat.families.zero_shot.methods.feature_metric import (
    ResidualMetric,
    lengths_at,
    prepare,
    prepare_lengths,
    square,
)
from zslplat.families.zero_shot.methods.gfhf import FLOOR, GFHF, _joined
from zslplat.families.zero_shot.methods.graph_smoothing import (
    SHARPNESS,
    balanced,
    harmonic,
    log_shares,
    probabilities,
    smooth,
    solve,
)
from zslplat.families.zero_shot.methods.mfmr.common_scheme import MFMR
from zslplat.families.zero_shot.methods.mfmr.joint_scheme import MFMRJoint
from zslplat.families.zero_shot.methods.mfmr.multiplicative_updates import learn_both
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.methods.neighbours import affinity, nearest
from zslplat.space import Real


def problem(n=150, d=30, c=8, a=6, unseen=4, seed=1):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    S = rng.uniform(0, 1, (c + unseen, a))
    rows = np.concatenate([y, c + rng.integers(0, unseen, 80)])
    X = S[rows] @ rng.gamma(0.5, 1, (a, d)) + 0.3 * rng.gamma(1, 1, (len(rows), d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:n], y, S[:c], X[n:], rows[n:] - c, S[c:]


def graph(X, k=5):
    return affinity(*nearest(X, k), k)


def laplacian(W):
    return np.diag(W.toarray().sum(axis=1)) - W.toarray()


def test_smoothing_solves_its_linear_system():
    X, *_ = problem()
    W, P = graph(X), np.random.default_rng(0).uniform(0, 1, (len(X), 3))
    degree = W.toarray().sum(axis=1).mean()
    expected = np.linalg.solve(np.eye(len(X)) + 7.0 / degree * laplacian(W), P)
    np.testing.assert_allclose(smooth(P, W, 7.0), expected, atol=1e-5)  # relative residual 1e-6 in each column


def test_smoothing_keeps_mass_and_weight_zero_changes_nothing():
    X, *_ = problem()
    W, P = graph(X), np.random.default_rng(0).uniform(0, 1, (len(X), 3))
    np.testing.assert_allclose(smooth(P, W, 50.0).sum(axis=0), P.sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(smooth(P, W, 0.0), P, atol=1e-12)


def test_harmonic_scores_average_their_neighbours():
    X, *_ = problem()
    W = graph(X)
    labelled = np.zeros((len(X), 2))
    labelled[3, 0] = labelled[17, 1] = 1.0
    F = harmonic(W, labelled, 1e-9)
    degree = W.toarray().sum(axis=1) + labelled.sum(axis=1)
    np.testing.assert_allclose(F, (W @ F + labelled) / degree[:, None], atol=1e-5)
    assert F.min() > -1e-5
    assert F.max() < 1 + 1e-5


def test_indefinite_system_is_an_error():
    from scipy import sparse

    rotation = sparse.csr_array(np.kron(np.eye(3), [[1e-9, 1.0], [-1.0, 1e-9]]))
    with pytest.raises(MethodError, match="did not converge"):
        solve(rotation, np.ones((6, 1)))


def test_gfhf_is_the_harmonic_extension_of_its_prototypes():
    X, y, S, Xu, _, Su = problem()
    method = GFHF(alpha=0.1, k=4, anchors=6, balance=0.0).fit(X, y, S)
    Y = np.eye(len(S))[y]
    centred = X - X.mean(axis=0)
    gram = (Y @ S).T @ (Y @ S)
    M = np.linalg.solve(gram + 0.1 * np.trace(gram) / len(gram) * np.eye(len(gram)), (Y @ S).T @ centred)
    np.testing.assert_allclose(method.M_, M, atol=1e-10)
    rows, prototypes = Xu - X.mean(axis=0), Su @ M
    cosine = rows @ prototypes.T / np.outer(np.linalg.norm(rows, axis=1), np.linalg.norm(prototypes, axis=1))
    W = graph(Xu, 4).toarray()
    joined = np.zeros_like(cosine)
    for j in range(len(Su)):
        best = np.argsort(-cosine[:, j])[:6]
        joined[best, j] = np.maximum(cosine[best, j], 0)
    np.testing.assert_allclose(_joined(cosine, 6), joined)
    degree = W.sum(axis=1) + joined.sum(axis=1)
    expected = np.linalg.solve(np.diag(degree + FLOOR * degree.mean()) - W, joined)
    scores = log_shares(np.maximum(expected, 0))
    np.testing.assert_allclose(method.decision_function(Xu, Su), scores, atol=1e-2)


def test_log_shares_keep_the_order_inside_a_row_and_rank_rows_by_their_lead():
    F = np.array([[0.5, 0.3, 0.2], [5.0, 4.9, 0.1], [0.0, 0.0, 0.0], [0.02, 0.0, 0.0]])
    scores = log_shares(F)
    np.testing.assert_array_equal(np.argsort(-F, axis=1, kind="stable"), np.argsort(-scores, axis=1, kind="stable"))
    np.testing.assert_allclose(np.exp(SHARPNESS * scores).sum(axis=1), 1)
    # The second row is the largest, but hardly prefers class 0; the last is tiny, and certain.
    np.testing.assert_array_equal(np.argsort(-scores[:, 0]), [3, 0, 1, 2])
    np.testing.assert_allclose(scores[0, 0] - scores[0, 1], np.log(0.5 / 0.3), atol=1e-3)


def test_smoothed_eszsl_without_smoothing_ranks_as_eszsl():
    X, y, S, Xu, _, Su = problem()
    plain = ESZSL(0.1, 0.1).fit(X, y, S).decision_function(Xu, Su)
    control = SmoothedESZSL(0.1, 0.1, smoothing=0.0, balance=0.0).fit(X, y, S).decision_function(Xu, Su)
    np.testing.assert_array_equal(np.argsort(plain, axis=1), np.argsort(control, axis=1))


@pytest.mark.parametrize("method", [GFHF(anchors=10), SmoothedESZSL()])
def test_prepared_graph_for_larger_k_changes_nothing(method):
    X, y, S, Xu, _, Su = problem()
    method.set_params(k=4)
    statistics = method.prepare_fit(X, y, S, space=method.space)
    batch = method.prepare_score(Xu, Su, space=method.space)
    assert batch["row_neighbours"].shape[1] > 4
    prepared = method.fit(X, y, S, statistics=statistics).decision_function(Xu, Su, statistics=batch)
    np.testing.assert_array_equal(prepared, method.fit(X, y, S).decision_function(Xu, Su))


@pytest.mark.parametrize("method", [GFHF(anchors=10), SmoothedESZSL()])
def test_joint_rivals_recognise_unseen_classes(method):
    X, y, S, Xu, yu, Su = problem(n=600, c=16)
    assert (method.fit(X, y, S).predict(Xu, Su) == yu).mean() > 0.5  # chance is .25


def test_balanced_columns_have_equal_mass():
    F = np.random.default_rng(0).uniform(0, 1, (20, 4))
    np.testing.assert_allclose(balanced(F, 1.0).sum(axis=0), 1)
    np.testing.assert_array_equal(balanced(F, 0.0), F)
    np.testing.assert_allclose(balanced(F, 0.75).sum(axis=0), F.sum(axis=0) ** 0.25)


@pytest.fixture(scope="module")
def uneven_digits():
    """Unseen classes of a validation fold, one of which has 70 % of the rows."""
    task = ZeroShot()
    raw = task.validation(DigitPairs().load(DataPlaces()), seed=0)[0]
    y = raw.truth["y_pool"]
    others = np.setdiff1d(np.unique(y), [7])
    rows = np.flatnonzero(y == 7)
    few = np.concatenate([np.flatnonzero(y == k)[: round(len(rows) * 3 / 7 / len(others)) or 1] for k in others])
    return task, raw, np.sort(np.concatenate([rows, few]))


@pytest.mark.parametrize("method", [GFHF, SmoothedESZSL, MFMRJoint])
def test_default_balance_does_not_suppose_equal_frequencies(method, uneven_digits):
    task, raw, rows = uneven_digits
    inputs = preprocess(raw, task, method().effective_preprocessing).inputs
    true = raw.truth["y_pool"][rows]
    right = {}
    for balance in (0, method().balance, 1):
        fitted = method(balance=balance).fit(inputs["X"], inputs["y"], inputs["S"])
        right[balance] = np.mean(fitted.predict(inputs["X_pool"][rows], inputs["S_pool"]) == true)
    nothing, default, equal = right.values()
    assert default > equal + 0.02
    assert default > nothing


def test_probabilities_are_a_softmax():
    s = np.array([[0.0, 1.0], [1000.0, -1000.0]])
    np.testing.assert_allclose(probabilities(s, 0.5), [[1 / (1 + np.e**2), 1 / (1 + np.e**-2)], [1, 0]], atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("n", [30, 90])
def test_square_of_features_is_that_within_classes_and_that_of_their_means(n, dtype, tolerance):
    random = np.random.default_rng(0)
    X, y = random.random((n, 40)).astype(dtype), np.arange(n) % 3
    sums, counts = spectral.class_sums(X, y, 3), spectral.class_counts(y, 3)
    prepared = {"class_sums": sums, "class_counts": counts, **prepare(X, y, sums, counts)}
    np.testing.assert_allclose(square(prepared, dtype), X.T.astype(np.float64) @ X, rtol=tolerance)


@pytest.mark.parametrize("shape", [(150, 30), (40, 90)])
def test_residual_metric_is_the_inverse_of_the_shrunk_scatter(shape):
    n, d = shape
    X, y, S, Xu, _, _ = problem(n=n, d=d)
    sums, counts = spectral.class_sums(X, y, len(S)), spectral.class_counts(y, len(S))
    residual = X - (sums / counts[:, None])[y]
    scatter = residual.T @ residual
    shrunk = scatter + 0.7 * np.trace(scatter) / d * np.eye(d)
    metric = ResidualMetric(prepare(X, y, sums, counts), 0.7)
    B = np.random.default_rng(0).standard_normal((3, d))
    exact = np.linalg.solve(shrunk, B.T).T
    np.testing.assert_allclose(metric.dual(B), exact, rtol=1e-7, atol=1e-7 * np.abs(exact).max())
    squared = np.einsum("ij,ij->i", Xu, np.linalg.solve(shrunk, Xu.T).T)
    np.testing.assert_allclose(metric.length(Xu), np.sqrt(squared), rtol=1e-7)
    cosine = (Xu @ exact.T) / np.sqrt(np.outer(squared, np.einsum("ij,ij->i", B, exact)))
    np.testing.assert_allclose(metric.cosines(Xu, B), cosine, atol=1e-7)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-6)])
def test_prepared_lengths_are_those_of_the_metric_at_every_shrinkage_of_the_range(dtype, tolerance):
    X, y, S, Xu, _, _ = problem(n=150, d=30)
    sums, counts = spectral.class_sums(X, y, len(S)), spectral.class_counts(y, len(S))
    statistics = {**prepare(X, y, sums, counts), "class_sums": sums, "class_counts": counts}
    rows, mean = Xu.astype(dtype), (sums.sum(axis=0) / counts.sum()).astype(dtype)
    batch = prepare_lengths(rows, statistics, {"shrinkage": Real(1e-2, 1e2, log=True)})
    for shrinkage in (1e-2, 0.013, 0.4, 5.0, 77.7, 1e2):
        expected = ResidualMetric(statistics, shrinkage).length(rows - mean)
        np.testing.assert_allclose(lengths_at(shrinkage, batch), expected, rtol=tolerance)
    assert lengths_at(1e-3, batch) is None, "outside of the range they are not known"
    assert prepare_lengths(rows, statistics, {}) == {}, "a fixed shrinkage needs its own lengths alone"
    wide = {"shrinkage": Real(1e-6, 1e6, log=True)}
    assert prepare_lengths(rows, statistics, wide) == {}, "the points of a wide range are too few"


def test_constant_classes_fall_back_to_the_euclidean_metric():
    X, y = np.repeat(np.eye(3), 4, axis=0), np.repeat(np.arange(3), 4)
    sums, counts = spectral.class_sums(X, y, 3), spectral.class_counts(y, 3)
    metric = ResidualMetric(prepare(X, y, sums, counts), 1.0)
    np.testing.assert_allclose(metric.cosines(X, np.eye(3)), X, atol=1e-12)


def test_general_objective_never_rises_and_is_the_printed_one():
    X, y, S, *_ = problem()
    U = np.random.default_rng(0).uniform(0.1, 1, (X.shape[1], S.shape[1]))
    W_features, W_rows = affinity(*nearest(X.T, 4), 4), graph(X)
    terms = {"lam": 0.4, "ridge": 0.2, "gamma": 0.3, "anchor": 0.1}
    one, V = learn_both(X, y, S, U, W_features, W_rows, **terms, rounds=1, updates=6)
    more, _ = learn_both(X, y, S, U, W_features, W_rows, **terms, rounds=12, updates=6)
    assert (np.diff(more.objective) <= 1e-12 * more.objective[0]).all()
    expected = (
        ((X - V @ S @ U.T) ** 2).sum()
        + 0.4 * np.trace(U.T @ laplacian(W_features) @ U)
        + 0.3 * np.trace(V.T @ laplacian(W_rows) @ V)
        + 0.2 * (U**2).sum()
        + 0.1 * ((V - np.eye(len(S))[y]) ** 2).sum()
    )
    np.testing.assert_allclose(one.objective[0], expected, rtol=1e-10)


def test_firmly_anchored_labels_give_the_special_case():
    X, y, S, *_ = problem()
    fixed = MFMR(iterations=300, converged_at=0.0).fit(X, y, S)
    free = MFMR(iterations=300, converged_at=0.0, labels="free", label_anchor=1e6).fit(X, y, S)
    Y = np.eye(len(S))[y]
    assert np.abs(free.V_seen_ - Y).max() < 1e-3
    np.testing.assert_allclose(S @ free.U_.T, S @ fixed.U_.T, atol=2e-3)
    assert set(free.matrices()) == {"U", "V_seen"}

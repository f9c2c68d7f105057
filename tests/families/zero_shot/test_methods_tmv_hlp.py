"""tmv-hlp part by part against slow references, and its views against single ones."""

import contextlib
import itertools
import json
import sqlite3

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.cross_decomposition import CCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

from zslplat.data.store.rows import View
from zslplat.errors import MethodError
from zslplat.evaluation.components import describe_knowledge
from zslplat.families.zero_shot.methods.tmv_hlp import graphs
from zslplat.families.zero_shot.methods.tmv_hlp.estimator import TMVHLP
from zslplat.families.zero_shot.methods.tmv_hlp.graphs import (
    canonical_projections,
    conjugate_gradients,
    crossing,
    mean_distance,
    propagate,
    similarity,
)
from zslplat.methods.neighbours import nearest
from zslplat.methods.rows import unit_rows
from zslplat.spec import Spec


def correlated_views(rng, n=400, widths=(5, 4, 6), shared=3, noise=0.7):
    source = rng.normal(size=(n, shared))
    return [source @ rng.normal(size=(shared, w)) + noise * rng.normal(size=(n, w)) + 5 * w for w in widths]


def unit_views(rng, n=60, r=5, count=3):
    base = rng.normal(size=(n, r))
    return [unit_rows(base + 0.6 * rng.normal(size=(n, r))).astype(np.float32) for _ in range(count)]


def crossings_of(views, k):
    pairs = [(i, j) for i in range(len(views)) for j in range(len(views)) if i != j]
    return {(i, j): crossing(views[i], views[j], k) for i, j in pairs}


def dense_z(A, B):
    """The definition: similarities of all pairs, standardised by rows, then by columns."""
    squares = ((A[:, None].astype(float) - B[None]) ** 2).sum(axis=2)
    omega = np.exp(-squares / squares.mean())
    z = (omega - omega.mean(axis=1, keepdims=True)) / omega.std(axis=1, keepdims=True)
    return (z - z.mean(axis=0)) / z.std(axis=0)


def test_propagation_equals_the_dense_inverse():
    rng = np.random.default_rng(0)
    graph = np.abs(rng.normal(size=(30, 30))) * (rng.random((30, 30)) < 0.2)
    graph = graph + graph.T
    graph[7] = graph[:, 7] = 0  # nobody's neighbour
    edges = np.abs(rng.normal(size=(50, 30))) * (rng.random((50, 30)) < 0.2)
    edges[:, 7] = 0
    labelled = np.array([3, 11, 28])
    for share, alpha in ((0.0, 0.5), (0.75, 0.5), (1.0, 0.99), (0.4, 0.0)):
        W = (1 - share) * graph + share * edges.T @ edges
        degree = W.sum(axis=1)
        root = np.sqrt(np.where(degree > 0, degree, 1))
        dense = np.linalg.inv(np.eye(30) - alpha * W / np.outer(root, root))
        found = propagate(sparse.csr_array(graph), sparse.csr_array(edges), share, alpha, labelled)
        assert np.allclose(found, dense[:, labelled], atol=1e-7)
        # The paper's labels, 2 I - 1 on the labelled nodes, prefer the same class everywhere.
        signed = np.zeros((30, 3))
        signed[labelled] = 2 * np.eye(3) - 1
        reached = dense[:, labelled].max(axis=1) > 1e-6
        assert np.array_equal((dense @ signed)[reached].argmax(axis=1), found[reached].argmax(axis=1))


def test_a_solver_that_does_not_arrive_says_so():
    with pytest.raises(MethodError, match="alpha"):
        conjugate_gradients(lambda V: V * np.nan, np.ones((3, 1)))


def test_neighbours_across_views_are_those_of_the_standardised_similarities():
    views = unit_views(np.random.default_rng(1), n=80)
    found, z = crossing(views[0], views[1], 6), dense_z(views[0], views[1])
    expected = np.argsort(-z, axis=1)[:, :6]
    assert np.allclose(found.value, np.take_along_axis(z, expected, axis=1), atol=1e-3)
    assert (found.index == expected).mean() > 0.99
    # A further row is standardised as if it had been there.
    assert np.allclose(found.standardised(views[0] @ views[1].T), z, atol=1e-3)
    squares = ((views[0][:, None] - views[1][None]) ** 2).sum(axis=2)
    assert np.isclose(mean_distance(views[0], views[1]), squares.mean(), rtol=1e-5)


def test_similarity_of_hyperedges_equals_the_slow_definition():
    rng = np.random.default_rng(2)
    views, k, links, n, c = unit_views(rng, n=40), 4, 7, 40, 3
    prototypes = [unit_rows(rng.normal(size=(c, 5))).astype(np.float32) for _ in views]
    H = graphs.hyperedges(crossings_of(views, k), views, prototypes, k, links)
    edges = []
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            z = dense_z(views[i], views[j])
            squares = ((views[i][:, None] - views[j][None]) ** 2).sum(axis=2)
            own = np.exp(-((prototypes[i][:, None] - views[j][None]) ** 2).sum(axis=2) / squares.mean())
            own = (own - own.mean(axis=1, keepdims=True)) / own.std(axis=1, keepdims=True)
            omega = np.exp(-squares / squares.mean())
            rows = (omega - omega.mean(axis=1, keepdims=True)) / omega.std(axis=1, keepdims=True)
            own = (own - rows.mean(axis=0)) / rows.std(axis=0)
            incidence = np.zeros((n + c, n + c))
            for node in range(n):
                for other in np.argsort(-z[node])[:k]:
                    incidence[node, other] = max(z[node, other], 0)
            for p in range(c):
                for other in np.argsort(-own[p])[:links]:
                    incidence[n + p, other] = max(own[p, other], 0)
            edges.append((incidence + incidence.T) / 2)
    incidence = np.vstack(edges)
    expected = np.zeros((n + c, n + c))
    weight = np.array([row[row > 0].mean() if (row > 0).any() else 0 for row in incidence])
    incidence = incidence / np.sqrt((weight[:, None] * incidence**2).sum(axis=0))
    for e in range(len(incidence)):
        expected += weight[e] * np.outer(incidence[e], incidence[e])
    found = (H.T @ H).toarray()
    assert np.allclose(np.diag(found), 1)
    assert np.allclose(found, expected, atol=2e-3)


def test_identical_views_are_one():
    rng = np.random.default_rng(3)
    view, k, links = unit_views(rng, count=1)[0], 5, 8
    point = unit_rows(rng.normal(size=(3, 5))).astype(np.float32)
    assert np.allclose(graphs.agreement([view, view]), 0.5)
    assert np.allclose(graphs.agreement([view, view, view]), 1 / 3)
    twice, thrice = ([view] * count for count in (2, 3))
    similar = []
    for views in (twice, thrice):
        H = graphs.hyperedges(crossings_of(views, k), views, [point] * len(views), k, links)
        similar.append((H.T @ H).toarray())
    assert np.allclose(*similar)
    rows = rng.normal(size=(200, 4))
    both = canonical_projections([rows, rows], 1e-9, 10)
    assert np.allclose(both.values, 2)
    assert np.allclose(both.project(0, rows, 4), both.project(1, rows, 4), atol=1e-5)


def test_views_that_agree_weigh_more():
    rng = np.random.default_rng(4)
    first, second, _ = unit_views(rng)
    strange = unit_rows(rng.normal(size=first.shape)).astype(np.float32)
    shares = graphs.agreement([first, second, strange])
    assert np.isclose(shares.sum(), 1)
    assert shares[2] < min(shares[:2])


def test_graph_within_a_view_joins_neighbours_and_prototypes_symmetrically():
    rng = np.random.default_rng(5)
    view, k, links = unit_views(rng, n=30, count=1)[0], 3, 5
    point = unit_rows(rng.normal(size=(2, 5))).astype(np.float32)
    index, cosine = nearest(view, 8)
    found = graphs.two_graph(index, cosine, k, 1.3, point @ view.T, links).toarray()
    directed = np.zeros((32, 32))
    nodes = np.vstack([view, point])
    cosines = nodes @ nodes.T
    for node in range(30):
        others = [i for i in np.argsort(-cosines[node, :30]) if i != node][:k]
        directed[node, others] = similarity(cosines[node, others], 1.3)
    for node in (30, 31):
        others = np.argsort(-cosines[node, :30])[:links]
        directed[node, others] = similarity(cosines[node, others], 1.3)
    assert np.allclose(found, (directed + directed.T) / 2, atol=1e-5)


def test_prototypes_move_to_the_mean_of_the_nearest_rows():
    rng = np.random.default_rng(6)
    view = unit_views(rng, n=30, count=1)[0]
    point = unit_rows(rng.normal(size=(2, 5))).astype(np.float32)
    found = graphs.self_trained(point, view, 4)
    for p, moved in zip(point, found, strict=True):
        mean = view[np.argsort(-(view @ p))[:4]].mean(axis=0)
        assert np.allclose(moved, mean / np.linalg.norm(mean), atol=1e-6)
    assert np.array_equal(graphs.self_trained(point, view, 0), point)


def test_two_views_have_the_canonical_correlations_of_scikit_learn():
    views = correlated_views(np.random.default_rng(7), n=2000, widths=(4, 3), shared=2)
    values = canonical_projections(views, 1e-9, 10).values
    reference = CCA(n_components=3, scale=False, max_iter=5000, tol=1e-12).fit(*views)
    left, right = reference.transform(*views)
    correlations = [np.corrcoef(left[:, i], right[:, i])[0, 1] for i in range(3)]
    assert np.allclose(values - 1, correlations, atol=1e-4)


def test_three_views_solve_the_generalised_eigenproblem():
    views = correlated_views(np.random.default_rng(8))
    shrinkage = 0.2
    found = canonical_projections(views, shrinkage, 100)
    covariances = np.cov(np.hstack(views).T, bias=True)
    ends = np.cumsum([0, *(view.shape[1] for view in views)])
    apart = np.zeros_like(covariances)
    for i, j in itertools.pairwise(ends):
        block = covariances[i:j, i:j] + shrinkage * np.trace(covariances[i:j, i:j]) / (j - i) * np.eye(j - i)
        apart[i:j, i:j] = covariances[i:j, i:j] = block
    values = np.sort(linalg.eigvals(covariances, apart).real)[::-1]
    assert np.allclose(found.values, values[values > 1 + 1e-6])
    W = np.vstack(found.maps)
    assert np.allclose(covariances @ W, apart @ W * found.values)
    assert np.allclose(W.T @ apart @ W, np.eye(len(found.values)), atol=1e-8)


def test_directions_are_weighted_by_powers_of_their_eigenvalues_from_the_mean():
    views = correlated_views(np.random.default_rng(9))
    found = canonical_projections(views, 0.1, 100)
    for i, view in enumerate(views):
        expected = unit_rows((view - view.mean(axis=0)) @ found.maps[i] @ np.diag(found.values**4))
        assert np.allclose(found.project(i, view, 4), expected, atol=1e-5)
    # All views are centred alike: where they lie does not matter.
    moved = canonical_projections([view + 3 * i for i, view in enumerate(views)], 0.1, 100)
    assert np.allclose(found.values, moved.values)
    for i, view in enumerate(views):
        assert np.allclose(found.project(i, view, 4), moved.project(i, view + 3 * i, 4), atol=1e-4)


def test_semantic_projections_agree_with_scikit_learn():
    rng = np.random.default_rng(10)
    y = rng.integers(0, 6, 500)
    S = rng.random((6, 4))
    X = S[y] @ rng.normal(size=(4, 7)) + 0.3 * rng.normal(size=(500, 7)) + 2
    counts = np.bincount(y).astype(float)
    sums = np.array([X[y == c].sum(axis=0) for c in range(6)])
    learned = graphs.solve(X.T @ X, sums, counts, S, 0.5)
    penalty = 0.5 * np.trace(np.cov(X.T, bias=True)) * 500 / 7
    regressed, probability = graphs.project(X, learned)
    reference = Ridge(alpha=penalty).fit(X, S[y])
    assert np.allclose(regressed + learned["signature_mean"], reference.predict(X))
    has = S.mean(axis=0) < S
    for m in range(4):
        score = Ridge(alpha=penalty).fit(X, 2.0 * has[y, m] - 1).predict(X)
        bayes = LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(score[:, None], has[y, m])
        assert np.allclose(probability[:, m], bayes.predict_proba(score[:, None])[:, 1], atol=5e-3)
    assert np.array_equal(graphs.prototypes(S, learned)[1], has)


def test_an_attribute_that_all_seen_classes_share_says_nothing():
    rng = np.random.default_rng(11)
    y, S = np.arange(60) % 3, np.hstack([rng.random((3, 2)), np.ones((3, 1))])
    X = rng.normal(size=(60, 4))
    sums = np.array([X[y == c].sum(axis=0) for c in range(3)])
    learned = graphs.solve(X.T @ X, sums, np.full(3, 20.0), S, 1.0)
    assert np.allclose(graphs.project(X, learned)[1][:, 2], 0.5)


def three_views(rng, rows, labels, S, maps):
    """Rows whose three views show different attributes."""
    shown = S[labels] - 0.5 + 0.35 * rng.normal(size=(rows, S.shape[1]))
    return np.hstack([shown[:, i::3] @ maps[i] + 0.3 * rng.normal(size=(rows, 8)) for i in range(3)])


def test_several_views_are_ahead_of_the_best_single_one():
    rng = np.random.default_rng(12)
    S, maps = (rng.random((24, 9)) < 0.5).astype(float), [rng.normal(size=(3, 8)) for _ in range(3)]
    S += 0.1 * rng.random(S.shape)
    y, y_pool = rng.integers(0, 18, 900), 18 + rng.integers(0, 6, 240)
    X, X_pool = (three_views(rng, len(labels), labels, S, maps) for labels in (y, y_pool))
    mean, spread = X.mean(axis=0), X.std(axis=0)
    X, X_pool, S = (X - mean) / spread, (X_pool - mean) / spread, S - S[:18].mean(axis=0)
    told = TMVHLP()
    told.take_views([View(f"view{i}", (8,)) for i in range(3)])
    together = told.fit(X, y, S[:18]).predict(X_pool, S[18:])
    accuracy = np.mean(together == y_pool - 18)
    single = []
    for i in range(3):
        own = slice(8 * i, 8 * i + 8)
        single.append(np.mean(TMVHLP().fit(X[:, own], y, S[:18]).predict(X_pool[:, own], S[18:]) == y_pool - 18))
    assert accuracy > max(single) + 0.1
    assert {f"share_of_view_{i}" for i in range(1, 6)} == set(told.diagnostics_.numbers)
    # What was learned knows where the views end.
    restored = TMVHLP.from_state({}, told.state())
    assert np.array_equal(restored.predict(X_pool, S[18:]), together)


def test_knowledge_of_equal_frequency_is_said():
    assert describe_knowledge(Spec.parse("tmv-hlp")) == "transductive"
    assert describe_knowledge(Spec.parse("tmv-hlp(balance=0.5)")) == "transductive, class balance"


@pytest.mark.long
def test_a_study_tells_the_method_of_the_views_on_both_sides(call, tmp_path):
    data = (
        "synthetic(views=2, rows_train=160, rows_test_seen=10, rows_test_unseen=60, dimensions=12, attributes=6, "
        "classes_seen=10, classes_unseen=3, classes_validation=2)"
    )
    done = call("tune", "-m", "tmv-hlp", "-d", data, "-n", 2, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert "knows of the scored batch: transductive\n" in done.stdout
    (tested,) = evaluations_by_run(tmp_path / "mlruns")
    assert [name for name in sorted(tested["folds"][0]["numbers"]) if name.startswith("share")] == [
        f"share_of_view_{i}" for i in range(1, 5)
    ]


def evaluations_by_run(store):
    """The contents of all recorded test evaluations."""
    with contextlib.closing(sqlite3.connect(store / "optuna.db")) as connection:
        found = connection.execute("select content from zslplat_evaluations order by id").fetchall()
    return [json.loads(content) for (content,) in found]

"""Semantic similarity embedding: its embeddings, objective, slopes and training, against slow references."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from zslplat.errors import DataError
from zslplat.families.zero_shot.methods.simplex import simplex_codes
from zslplat.families.zero_shot.methods.sse import objective as sse
from zslplat.families.zero_shot.methods.sse.estimator import SemanticSimilarityEmbedding, SSEIntersection, SSERectified
from zslplat.families.zero_shot.methods.sse.objective import (
    ROUNDED,
    Objective,
    descend,
    fit_references,
    fit_weights,
    intersections,
    slope_by_references,
    slope_by_weights,
)
from zslplat.testing.problems import class_problem


def _numbers(n: int = 12, c: int = 5, d: int = 9, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.random((n, d)), random.random((c, d)), random.normal(size=d)


def _objective(seed: int = 0, **changes: Any) -> tuple[Objective, np.ndarray, np.ndarray]:
    X, V, w = _numbers(seed=seed)
    Z = np.random.default_rng(seed + 1).dirichlet(np.ones(5), size=5)
    settings = {"sign": 1, "align": 0.7, "ridge": 0.05, "shrink": 0.02} | changes
    return Objective(X=X, y=np.arange(12) % 5, Z=Z, **settings), V, w


def _slow_embedding(method: SemanticSimilarityEmbedding, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.minimum(x, v) if isinstance(method, SSEIntersection) else np.maximum(0, x - v)


def _toy(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Six classes of rows around non-negative points that follow from their signatures."""
    random = np.random.default_rng(seed)
    S = random.random((6, 4))
    y = np.repeat(np.arange(6), 15)
    return (S @ random.random((4, 10)))[y] + 0.2 * random.random((90, 10)), y, S


@pytest.mark.parametrize(("n", "c"), [(1, 1), (11, 4), (12, 5)])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_intersections_are_weighted_sums_of_minima(precision: type, n: int, c: int) -> None:
    X, V, w = (m.astype(precision) for m in _numbers(n, c, 37))
    terms = w.astype(np.float64) * np.minimum(X[:, None], V)
    # Sums of both signs are as precise as their terms.
    assert (
        abs(intersections(X, V, w) - terms.sum(axis=2)) <= 4 * np.finfo(precision).eps * abs(terms).sum(axis=2)
    ).all()
    assert intersections(X, V, w).dtype == precision


@pytest.mark.parametrize(("n", "c"), [(1, 1), (9, 3), (10, 4), (11, 5), (12, 4)])
def test_slopes_of_intersections_are_those_of_the_sum_written_out(n: int, c: int) -> None:
    X, V, w = _numbers(n, c)
    A = np.random.default_rng(3).normal(size=(len(X), len(V)))
    A[:, 2:3] = 0
    by_weights = np.einsum("ir,irj->j", A, np.minimum(X[:, None], V))
    by_references = np.einsum("ir,irj->rj", A, X[:, None] > V) * w
    np.testing.assert_allclose(slope_by_weights(X, V, A), by_weights, atol=1e-12)
    np.testing.assert_allclose(slope_by_references(X, V, w, A), by_references, atol=1e-12)


def test_objective_is_the_sum_over_constraints() -> None:
    """Each pair of a row and a wrong class, and of two classes, is one constraint; margins from the codes."""
    objective, V, w = _objective()
    w = w * 5
    X, y, Z = objective.X, objective.y, objective.Z
    f = np.array([[w @ np.minimum(x, v) for v in V] for x in X])

    def hinge(t: float) -> float:
        return 0.0 if t < 0 else t**2 / (2 * ROUNDED) if t < ROUNDED else t - ROUNDED / 2

    rows = [
        hinge(1 - Z[y[i]] @ Z[c] - f[i] @ Z[y[i]] + f[i] @ Z[c]) for i in range(len(X)) for c in range(5) if c != y[i]
    ]
    classes = [
        hinge(1 - Z[c] @ Z[r] - np.mean(f[y == c, c] - f[y == c, r])) for c in range(5) for r in range(5) if r != c
    ]
    penalties = 0.05 / 2 * w @ w + 0.02 / 2 * (V**2).sum()
    expected = np.mean(rows) + 0.7 * np.mean(classes) + penalties
    assert objective.value(w, V) == pytest.approx(expected, rel=1e-12)
    # Some lie below the rounded corner, some on it, some above.
    assert sorted(np.unique(np.digitize(rows, [1e-12, ROUNDED / 2]))) == [0, 1, 2]
    assert max(classes) > ROUNDED / 2


@pytest.mark.parametrize("sign", [1, -1])
def test_slopes_of_the_objective_are_its_differences(sign: int) -> None:
    objective, V, w = _objective(sign=sign)
    for point, slope, value in (
        (w, objective.by_weights(w, V)[1], lambda w: objective.value(w, V)),
        (V, objective.by_references(V, w)[1], lambda V: objective.value(w, V)),
    ):
        for index in np.ndindex(point.shape):
            step = np.zeros_like(point)
            step[index] = 1e-6
            difference = (value(point + step) - value(point - step)) / 2e-6
            assert slope[index] == pytest.approx(difference, abs=1e-7)


def test_weights_are_found_to_the_stated_gap() -> None:
    objective, V, _ = _objective()
    _, least, _ = fit_weights(objective, np.zeros(9), V, 1e-12)
    for gap in (1e-1, 1e-3):
        w, value, bound = fit_weights(objective, np.zeros(9), V, gap)
        assert value == objective.value(w, V)
        assert 0 <= value - least <= bound <= gap * value


@pytest.mark.parametrize("part_rows", [1, 3])
def test_a_part_of_the_rows_leads_to_weights_of_the_stated_gap(monkeypatch: pytest.MonkeyPatch, part_rows: int) -> None:
    X, y, S = _toy()
    Z = simplex_codes(S, S, 0.3)
    V = np.array([X[y == c].mean(axis=0) for c in range(6)])
    objective = Objective(X=X, y=y, Z=Z, sign=1, align=0.7, ridge=0.01, shrink=0.02)
    assert objective.part is objective
    _, least, _ = fit_weights(objective, np.zeros(10), V, 1e-10)
    by_weights, rows = Objective.by_weights, []

    def counted(self: Objective, w: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
        rows.append(len(self.X))
        return by_weights(self, w, V)

    monkeypatch.setattr(Objective, "by_weights", counted)
    fit_weights(objective, np.zeros(10), V, 1e-4)
    alone, rows[:] = rows.count(90), []
    monkeypatch.setattr(sse, "PART_ROWS", part_rows * 6)
    of_part = replace(objective)
    assert np.bincount(of_part.part.y).tolist() == [part_rows] * 6
    _, value, bound = fit_weights(of_part, np.zeros(10), V, 1e-4)
    assert value - least <= bound <= 1e-4 * value
    assert 1 < rows.count(90) < alone


def test_references_go_down_and_stay_where_nothing_is_lower() -> None:
    objective, V, w = _objective()
    _, before = fit_references(objective, w, V, 1)
    moved, after = fit_references(objective, w, V, 30)
    assert after < before < objective.value(w, V)
    assert after == objective.value(w, moved)
    flat, V, w = _objective(align=0, shrink=0)
    same, _ = fit_references(flat, w * 0, V, 5)
    np.testing.assert_allclose(same, V, rtol=1e-15)


def test_descent_ends_at_the_lowest_point_it_saw_even_at_corners() -> None:
    seen, steepness = [], np.array([1.0, 10.0, 100.0])

    def corners(q: np.ndarray) -> tuple[float, np.ndarray]:
        seen.append(float(np.abs(q) @ steepness))
        return seen[-1], np.sign(q) * steepness

    start = np.random.default_rng(2).normal(size=3)
    q, value, slope = descend(corners, (start, *corners(start)), 40, lambda value, slope: False)
    assert value == min(seen) == float(np.abs(q) @ steepness)
    assert max(seen[1:]) > value
    np.testing.assert_array_equal(slope, np.sign(q) * steepness)


@pytest.mark.parametrize("kind", [SSEIntersection, SSERectified])
def test_scores_are_the_triple_sum(kind: type[SemanticSimilarityEmbedding]) -> None:
    X, y, S = _toy()
    method = kind(rounds=2).fit(X, y, S)
    candidates = np.random.default_rng(5).random((3, 4))
    Z = simplex_codes(candidates, method.seen_signatures_, method.gamma)
    slow = [
        [sum(z[r] * (method.w_ @ _slow_embedding(method, x, v)) for r, v in enumerate(method.V_)) for z in Z] for x in X
    ]
    np.testing.assert_allclose(method.decision_function(X, candidates), slow, atol=1e-9 * np.abs(slow).max())


def test_rectified_units_give_the_classes_that_intersections_give() -> None:
    """Scores differ by <w, x> of the row, weights by their sign."""
    X, y, S = _toy()
    one, other = SSEIntersection().fit(X, y, S), SSERectified().fit(X, y, S)
    np.testing.assert_allclose(other.w_, -one.w_)
    np.testing.assert_allclose(other.V_, one.V_)
    difference = other.decision_function(X, S) - one.decision_function(X, S)
    np.testing.assert_allclose(difference, np.tile((X @ other.w_)[:, None], 6), atol=1e-9)


def test_training_goes_down_stops_by_itself_and_reports_its_gap() -> None:
    X, y, S = _toy()
    method = SSEIntersection(rounds=50).fit(X, y, S)
    values = method.diagnostics_.series["objective"]
    assert 2 < len(values) < 50
    assert (np.diff(values) < 0).all()
    assert values[-2] - values[-1] <= 0.01 * values[-1] < values[-3] - values[-2]
    assert method.diagnostics_.numbers["weights_gap"] <= 0.01 * values[-1]
    assert method.objective(X, y, S) == pytest.approx(values[-1])


def test_first_step_has_class_means_for_references_and_later_ones_lower_the_objective() -> None:
    X, y, S = _toy()
    method = SSEIntersection()
    steps = method.fit_steps(X, y, S)
    assert next(steps) == 1
    means = np.array([X[y == c].mean(axis=0) for c in range(6)])
    np.testing.assert_allclose(np.sort(method.V_, axis=0), np.sort(means, axis=0), rtol=1e-6)
    assert next(steps) == 2
    assert not np.allclose(np.sort(method.V_, axis=0), np.sort(means, axis=0), rtol=1e-2)


def test_learning_the_references_helps_seen_rows_to_their_class() -> None:
    X, y, S = _toy(2)
    shares = [np.mean(SSEIntersection(rounds=r, ridge=1e-4).fit(X, y, S).predict(X, S) == y) for r in (1, 10)]
    assert shares[1] > shares[0] > 1 / 6


def test_units_and_numbers_of_rows_do_not_matter() -> None:
    X, y, S = _toy()
    method = SSEIntersection(rounds=1, gap=1e-10)  # the part that has one solution
    scores = method.fit(X, y, S).decision_function(X, S)
    other_units = method.fit(X * 50, y, S * 7).decision_function(X * 50, S * 7)
    np.testing.assert_allclose(other_units, scores, rtol=1e-3)
    twice = method.fit(np.tile(X, (2, 1)), np.tile(y, 2), S).decision_function(X, S)
    np.testing.assert_allclose(twice, scores, rtol=1e-3)


def test_class_means_are_of_all_rows_and_constraints_of_some() -> None:
    X, y, S = _toy()
    prepared = SSEIntersection(rows_per_class=4).prepare_fit(X, y, S, space={})
    order = prepared["class_order"]
    np.testing.assert_allclose(prepared["class_means"], [X[y == c].mean(axis=0) for c in order], rtol=1e-6)
    np.testing.assert_array_equal(prepared["labels"], np.repeat(np.arange(6), 4))
    for row, label in zip(prepared["rows"], prepared["labels"], strict=True):
        assert (X[y == order[label]] == row).all(axis=1).sum() == 1
    assert len(np.unique(prepared["rows"], axis=0)) == 24
    everything = SSEIntersection(rows_per_class=None).prepare_fit(X, y, S, space={})
    assert len(everything["rows"]) == 90


def test_one_class_and_empty_features_do_not_break_it() -> None:
    X, y, S = _toy()
    scores = SSEIntersection().fit(X[y == 0], y[y == 0], S[:1]).decision_function(X, S)
    assert np.isfinite(scores).all()
    assert np.isfinite(SSERectified().fit(X * 0, y, S).decision_function(X, S)).all()
    with pytest.raises(DataError, match="NaN"):
        SSEIntersection().fit(np.where(X[3, 3] == X, np.nan, X), y, S)


@pytest.mark.parametrize("seed", [0, 1])
def test_it_beats_chance_on_unseen_classes_of_the_kit(seed: int) -> None:
    problem = class_problem(SSEIntersection.preprocessing, seed=seed)
    method = SSEIntersection().fit(problem.X, problem.y, problem.S)
    unseen = ~problem.seen[problem.y_pool]
    candidates = np.flatnonzero(~problem.seen)
    predicted = candidates[method.predict(problem.X_pool[unseen], problem.S_pool[candidates])]
    assert np.mean(predicted == problem.y_pool[unseen]) > 1.5 / len(candidates)

"""Average precision of designated queries equals that of the official programs of Oxford and Holidays, step by step."""

import itertools

import numpy as np
import pytest

from zslplat.metrics.ranking import Designated, Ranking, random_precision, rank_judged


def oxford(positive, ambiguous, ranked):
    """What ``compute_ap.cpp`` defines: trapezoids of precision over recall after every item that is not ambiguous."""
    old_recall, old_precision, area = 0.0, 1.0, 0.0
    found = seen = 0
    for item in ranked:
        if item in ambiguous:
            continue
        found += item in positive
        seen += 1
        recall, precision = found / len(positive), found / seen
        area += (recall - old_recall) * (old_precision + precision) / 2
        old_recall, old_precision = recall, precision
    return area


def holidays(query, positive, ranked):
    """What ``holidays_map.py`` defines: ranks of right images without the query, a trapezoid for each."""
    ranks, shift = [], 0
    for rank, item in enumerate(ranked):
        if item == query:
            shift = -1
        elif item in positive:
            ranks.append(rank + shift)
    area = 0.0
    for count, rank in enumerate(ranks):
        before = 1.0 if rank == 0 else count / rank
        area += (before + (count + 1) / (rank + 1)) / len(positive) / 2
    return area


@pytest.mark.parametrize("seed", range(20))
def test_precision_with_junk_is_that_of_the_oxford_program(seed):
    rng = np.random.default_rng(seed)
    scores, kinds = rng.random((3, 40)), rng.choice(["right", "junk", "wrong"], p=[0.2, 0.2, 0.6], size=(3, 40))
    kinds[:, 0] = "right"
    searched = np.arange(40) < 37
    kinds[:, 37:] = "wrong"
    pairs = [np.argwhere(kinds == kind) for kind in ("right", "junk")]
    found = rank_judged(scores, Designated(3, searched, *pairs), 10)
    for i in range(3):
        right, junk = (set(np.flatnonzero(kinds[i] == kind)) for kind in ("right", "junk"))
        ranked = [j for j in np.argsort(-scores[i]) if searched[j]]
        assert found.precision[i] == pytest.approx(oxford(right, junk, ranked), abs=1e-12)
        left = [j for j in ranked if j not in junk]
        assert found.nearest[i] == left[0]
        assert found.right[i] == (left[0] in right)
        assert found.recall_at_k[i] == pytest.approx(len(right.intersection(left[:10])) / len(right))
        assert found.precision_at_k[i] == pytest.approx(len(right.intersection(left[:10])) / 10)


@pytest.mark.parametrize("seed", range(20))
def test_precision_without_the_query_is_that_of_the_holidays_program(seed):
    rng = np.random.default_rng(seed)
    scores, query = rng.random((1, 30)), int(rng.integers(30))
    positive = [j for j in rng.permutation(30)[:4] if j != query]
    judged = Designated(1, np.ones(30, bool), np.array([[0, j] for j in positive]), np.array([[0, query]]))
    expected = holidays(query, set(positive), np.argsort(-scores[0]).tolist())
    assert rank_judged(scores, judged, 10).precision[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scores", [[3, 3, 2, 2, 2, 1], [1, 1, 1, 1, 1, 1], [2, 1, 1, 1, 1, 0]])
def test_equal_scores_count_with_the_mean_over_all_their_orders(scores):
    scores = np.array(scores, dtype=float)
    right = {1, 2, 4}
    orders = [o for o in itertools.permutations(range(6)) if all(np.diff(scores[list(o)]) <= 0)]
    expected = np.mean([oxford(right, set(), order) for order in orders])
    relevant = np.isin(np.arange(6), list(right))
    assert Ranking.of(scores, relevant).trapezoid_average_precision() == pytest.approx(expected, abs=1e-12)


def test_precision_of_random_rankings_is_their_mean():
    judged = Designated(2, np.arange(12) < 11, np.array([[0, 1], [0, 2], [1, 3]]), np.array([[1, 0], [1, 5]]))
    rng = np.random.default_rng(0)
    drawn = [rank_judged(rng.random((2, 12)), judged, 3).precision.mean() for _ in range(4000)]
    # Five standard errors.
    assert random_precision(judged) == pytest.approx(np.mean(drawn), abs=5 * np.std(drawn) / 4000**0.5)

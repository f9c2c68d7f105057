"""Average precision of labels, in both forms, against the definitions; entries that are not counted."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from zslplat.metrics.ranking import (
    average_precisions,
    chance_precisions,
    eleven_point_precisions,
    mean_of_labels,
    places,
    resampled_precisions,
)


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(3)
    labels = rng.choice([1, 0, -1], p=[0.2, 0.7, 0.1], size=(90, 4)).astype(np.int64)
    return rng.normal(size=(90, 4)) + (labels == 1), labels


def voc_2007(scores, relevant):
    """The development kit's VOCevalcls, word for word, with recalls in tenths of whole numbers."""
    order = np.argsort(-scores)
    hits = relevant[order]
    tp, fp = np.cumsum(hits), np.cumsum(~hits)
    precision = tp / (fp + tp)
    ap = 0.0
    for tenth in range(11):
        p = precision[10 * tp >= tenth * hits.sum()]
        ap += (p.max() if len(p) else 0.0) / 11
    return ap


def test_both_forms_agree_with_their_definitions_on_the_rows_that_count(scored):
    scores, labels = scored
    counted = labels >= 0
    for j in range(4):
        own, relevant = scores[counted[:, j], j], labels[counted[:, j], j] == 1
        assert average_precisions(scores, labels)[j] == pytest.approx(average_precision_score(relevant, own))
        assert eleven_point_precisions(scores, labels)[j] == pytest.approx(voc_2007(own, relevant))


def test_the_score_of_a_row_that_is_not_counted_changes_nothing(scored):
    scores, labels = scored
    other = np.where(labels < 0, 100.0, scores)
    np.testing.assert_array_equal(average_precisions(other, labels), average_precisions(scores, labels))
    np.testing.assert_array_equal(eleven_point_precisions(other, labels), eleven_point_precisions(scores, labels))


def test_equal_scores_have_no_order_and_a_label_without_a_row_no_value():
    labels = np.array([[1, 0], [0, 0], [0, 0], [1, 0]])
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        area = average_precisions(np.zeros((4, 2)), labels[order])
        eleven = eleven_point_precisions(np.zeros((4, 2)), labels[order])
        np.testing.assert_allclose(eleven, [0.5, np.nan])
        assert np.isnan(area[1])
        assert mean_of_labels(area) == area[0]
    assert np.isnan(mean_of_labels(np.array([np.nan])))


@pytest.mark.long
def test_chance_is_the_mean_over_random_rankings(scored):
    _, labels = scored
    rng = np.random.default_rng(0)
    drawn = [rng.normal(size=labels.shape) for _ in range(1500)]
    np.testing.assert_allclose(
        chance_precisions(labels), np.mean([average_precisions(s, labels) for s in drawn], axis=0), rtol=0.03
    )
    np.testing.assert_allclose(
        chance_precisions(labels, eleven_point=True),
        np.mean([eleven_point_precisions(s, labels) for s in drawn], axis=0),
        rtol=0.06,
    )
    many = np.tile(labels, (40, 1))
    prevalence = (many == 1).sum(axis=0) / (many >= 0).sum(axis=0)
    np.testing.assert_allclose(chance_precisions(many), prevalence, rtol=0.02)


def test_drawn_rows_count_as_often_as_they_are_drawn(scored):
    scores, labels = scored
    rng = np.random.default_rng(1)
    counts = np.stack([np.ones(90, dtype=np.int64), np.bincount(rng.integers(90, size=90), minlength=90)])
    area, eleven = resampled_precisions(counts, places(scores), labels)
    np.testing.assert_allclose(area[0], average_precisions(scores, labels))
    np.testing.assert_allclose(eleven[0], eleven_point_precisions(scores, labels))
    # Copies of a row have no order among themselves and follow one another: apart by less than any two rows.
    rows = np.repeat(np.arange(90), counts[1])
    apart = scores[rows] - 1e-9 * np.arange(len(rows))[:, None]
    np.testing.assert_allclose(area[1], average_precisions(apart, labels[rows]))
    np.testing.assert_allclose(eleven[1], eleven_point_precisions(scores[rows], labels[rows]))


def test_a_draw_without_a_positive_row_gives_no_value():
    labels = np.array([[1], [0], [0]])
    counts = np.array([[0, 2, 1], [1, 1, 1]])
    area, eleven = resampled_precisions(counts, np.array([[1], [0], [2]]), labels)
    np.testing.assert_allclose(area, [[np.nan], [0.5]])
    np.testing.assert_allclose(eleven, [[np.nan], [0.5]])

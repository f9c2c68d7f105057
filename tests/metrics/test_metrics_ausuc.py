"""The seen-unseen curve against a brute-force sweep, and its properties."""

import numpy as np
import pytest

from zslplat.metrics.accuracy import harmonic_mean, per_class_accuracy
from zslplat.metrics.ausuc import calibrated_predictions, seen_unseen_curve

# Sums of at most a few hundred weights in double precision, in another order.
TOLERANCE = 1e-12


def problem(seed, n=120, c=9, step=None, dtype=np.float64, empty_class=False):
    """Scores that are right more often than not; rounding to a power of two ``step`` makes exact ties."""
    rng = np.random.default_rng(seed)
    seen = rng.random(c) < 0.6
    seen[:2] = True, False
    y = rng.integers(0, c - empty_class, n)
    y[:2] = 0, 1
    scores = rng.normal(size=(n, c)) + 1.5 * np.eye(c)[y] + 0.7 * seen
    return (scores if step is None else np.round(scores / step) * step).astype(dtype), y, seen


def brute_predictions(scores, seen, bias):
    """Best unseen class when the bias reaches the gap between the best scores, else the best seen class."""
    predicted = []
    for row in scores.astype(np.float64):
        best_seen = max(np.flatnonzero(seen), key=lambda j: (row[j], -j))
        best_unseen = max(np.flatnonzero(~seen), key=lambda j: (row[j], -j))
        predicted.append(best_unseen if bias >= row[best_seen] - row[best_unseen] else best_seen)
    return np.array(predicted)


def brute_point(scores, y, seen, bias):
    predicted = brute_predictions(scores, seen, bias)
    means = [
        np.mean([np.mean(predicted[y == j] == j) for j in np.flatnonzero(kind) if (y == j).any()])
        for kind in (~seen, seen)
    ]
    return tuple(means)


def sweep(scores, seen):
    """All critical biases, the midpoints between them, and one beyond either end."""
    wide = scores.astype(np.float64)
    critical = np.unique(wide[:, seen].max(1) - wide[:, ~seen].max(1))
    return np.unique(np.r_[critical[0] - 1, critical, (critical[1:] + critical[:-1]) / 2, critical[-1] + 1])


CASES = [
    {"seed": 0},
    {"seed": 1, "step": 0.125},
    {"seed": 2, "step": 1.0},
    {"seed": 3, "dtype": np.float32},
    {"seed": 4, "n": 6, "c": 2},
    {"seed": 5, "step": 0.125, "empty_class": True},
    {"seed": 6, "step": 0.125, "dtype": np.float32, "n": 200},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_area_and_points_agree_with_a_sweep_over_all_biases(case):
    scores, y, seen = problem(**case)
    curve = seen_unseen_curve(scores, y, seen)
    biases = sweep(scores, seen)
    points = np.array([brute_point(scores, y, seen, b) for b in biases])
    assert abs(curve.area - np.trapezoid(points[:, 1], points[:, 0])) < TOLERANCE
    for bias, point in zip(biases, points, strict=True):
        np.testing.assert_allclose(curve.at(bias), point, atol=TOLERANCE, rtol=0)
    best = max(harmonic_mean(u, s) for u, s in points)
    assert abs(curve.best_harmonic_mean - best) < TOLERANCE


def test_ties_matter_to_the_reference_and_are_collapsed():
    scores, y, seen = problem(1, step=0.125)
    curve = seen_unseen_curve(scores, y, seen)
    assert len(curve.biases) < len(y) / 2
    assert len(curve.unseen) == len(curve.seen) == len(curve.biases) + 1
    # Breaking the ties by noise moves the area by far more than the tolerance: the test above sees them.
    noise = 1e-9 * np.random.default_rng(0).normal(size=scores.shape)
    assert abs(seen_unseen_curve(scores + noise, y, seen).area - curve.area) > 1e-6


@pytest.mark.parametrize("case", CASES, ids=str)
def test_best_bias_reaches_the_best_harmonic_mean(case):
    scores, y, seen = problem(**case)
    curve = seen_unseen_curve(scores, y, seen)
    predicted = calibrated_predictions(scores, seen, curve.best_bias)
    unseen_rows = ~seen[y]
    u, s = (per_class_accuracy(y[rows], predicted[rows]) for rows in (unseen_rows, ~unseen_rows))
    assert abs(harmonic_mean(u, s) - curve.best_harmonic_mean) < TOLERANCE


def test_best_bias_between_neighbouring_numbers_stays_inside_its_interval():
    # Half way between these two rounds to the even one, which is the upper.
    low = np.nextafter(1.0, 2.0)
    high = np.nextafter(low, 2.0)
    assert low + (high - low) / 2 == high
    # Rows 0, 1: unseen class 2 wins from `low` on; row 2: seen class 0 is right up to `high`.
    scores = np.array([[low, 0.0, 0.0], [high, 0.0, 0.0]])
    curve = seen_unseen_curve(scores, np.array([2, 0]), np.array([True, True, False]))
    assert curve.biases.tolist() == [low, high]
    assert curve.best_harmonic_mean == 1.0
    assert curve.best_bias == low


def test_calibrated_predictions_agree_with_the_definition():
    for case in CASES[:4]:
        scores, _, seen = problem(**case)
        for bias in sweep(scores, seen)[::7]:
            assert np.array_equal(calibrated_predictions(scores, seen, bias), brute_predictions(scores, seen, bias))


def test_a_tie_goes_to_the_unseen_class():
    scores = np.array([[1.0, 1.0], [2.0, 1.0]])
    assert calibrated_predictions(scores, np.array([True, False]), 0.0).tolist() == [1, 0]
    assert calibrated_predictions(scores, np.array([True, False]), 1.0).tolist() == [1, 1]


def test_perfect_scores_have_area_one_and_bounds_hold():
    y = np.arange(8) % 4
    seen = np.array([True, True, False, False])
    assert seen_unseen_curve(np.eye(4)[y], y, seen).area == pytest.approx(1.0, abs=1e-15)
    scores, y, seen = problem(7)
    curve = seen_unseen_curve(scores, y, seen)
    assert 0 <= curve.area <= curve.unseen.max() * curve.seen.max()
    assert curve.unseen[0] == 0
    assert curve.seen[-1] == 0
    assert (np.diff(curve.unseen) >= 0).all()
    assert (np.diff(curve.seen) <= 0).all()


def test_curve_ignores_row_order_class_order_and_a_common_shift_of_seen_scores():
    scores, y, seen = problem(8)
    area = seen_unseen_curve(scores, y, seen).area
    rng = np.random.default_rng(0)
    rows, classes = rng.permutation(len(y)), rng.permutation(len(seen))
    places = np.argsort(classes)
    assert abs(seen_unseen_curve(scores[rows], y[rows], seen).area - area) < TOLERANCE
    assert abs(seen_unseen_curve(scores[:, classes], places[y], seen[classes]).area - area) < TOLERANCE
    assert abs(seen_unseen_curve(scores + 0.5 * seen, y, seen).area - area) < TOLERANCE


def test_random_scores_reach_half_the_product_of_both_chances():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 4000)
    seen = np.arange(8) < 5
    area = seen_unseen_curve(rng.normal(size=(len(y), 8)), y, seen).area
    # Standard error of either accuracy is about 0.003 here, of the area about 5 % of its value.
    assert area == pytest.approx(0.5 / (5 * 3), rel=0.1)


def test_rows_and_classes_of_both_kinds_are_needed():
    scores, y, seen = problem(0)
    for bad in ((scores, y, np.zeros_like(seen)), (scores[seen[y]], y[seen[y]], seen)):
        with pytest.raises(ValueError, match="both kinds"):
            seen_unseen_curve(*bad)

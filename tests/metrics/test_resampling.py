"""Resampled metrics agree with scoring the drawn rows themselves; draws are alike for all methods."""

from dataclasses import replace

import numpy as np
import pytest

from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.families.coding.task import Coding
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.families.selection.task import FeatureSelection
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.task import with_requests
from zslplat.families.zero_shot.unseen import Retrieval, ZeroShot
from zslplat.metrics.accuracy import harmonic_mean, per_class_accuracy, sample_accuracy
from zslplat.metrics.ausuc import rivals, seen_unseen_curve
from zslplat.metrics.intervals import (
    draws,
    draws_of_things,
    resampled_ausuc,
    resampled_average_precision,
    resampled_means,
    rows_digest,
)
from zslplat.metrics.ranking import Ranking
from zslplat.tasks.base import Problem

SIZES = (7, 12, 3, 9)


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    y = rng.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    return rng.permutation(1000)[: len(y)], y


def all_draws(ids, y, replicates):
    return np.vstack(list(draws(ids, y, replicates)))


def test_every_class_keeps_its_size(rows):
    counts = all_draws(*rows, 150)
    assert counts.shape == (150, sum(SIZES))
    for label, size in enumerate(SIZES):
        assert (counts[:, rows[1] == label].sum(axis=1) == size).all()


def test_draws_do_not_depend_on_the_order_of_the_rows(rows):
    ids, y = rows
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_array_equal(all_draws(ids, y, 120)[:, order], all_draws(ids[order], y[order], 120))


def test_draws_are_uniform_within_a_class(rows):
    # 20000 draws of each row with mean 1 and variance below 1: the mean is within .04 of 1 with room to spare.
    counts = all_draws(*rows, 20_000)
    np.testing.assert_allclose(counts.mean(axis=0), 1.0, atol=0.04)
    # Draws of a class with n rows have variance (n - 1) / n.
    np.testing.assert_allclose(counts.var(axis=0), (1 - 1 / np.array(SIZES))[rows[1]], atol=0.06)


def test_accuracies_are_those_of_the_drawn_rows(rows):
    ids, y = rows
    predicted = np.random.default_rng(1).integers(len(SIZES), size=len(y))
    counts = all_draws(ids, y, 20)
    per_class, per_sample = resampled_means(counts, predicted == y, y), resampled_means(counts, predicted == y)
    for i, drawn in enumerate(counts):
        index = np.repeat(np.arange(len(y)), drawn)
        assert per_class[i] == pytest.approx(per_class_accuracy(y[index], predicted[index]), abs=1e-12)
        assert per_sample[i] == pytest.approx(sample_accuracy(y[index], predicted[index]), abs=1e-12)


def test_average_precision_is_that_of_the_drawn_rows(rows):
    ids, y = rows
    scores = np.random.default_rng(2).normal(size=len(y)) + (y == 1)
    counts = all_draws(ids, y, 20)
    found = resampled_average_precision(counts, scores, y == 1)
    for i, drawn in enumerate(counts):
        index = np.repeat(np.arange(len(y)), drawn)
        assert found[i] == pytest.approx(Ranking.of(scores[index], y[index] == 1).average_precision(), abs=1e-12)


def test_average_precision_of_equal_scores_is_near_that_of_a_random_ranking(rows):
    _, y = rows
    y = np.tile(y, 40)
    found = resampled_average_precision(all_draws(np.arange(len(y)), y, 200), np.zeros(len(y)), y == 1)
    expected = Ranking.of(np.zeros(len(y)), y == 1).average_precision()
    assert found.mean() == pytest.approx(expected, abs=0.03)


def test_ausuc_is_that_of_the_drawn_rows(rows):
    ids, y = rows
    scores = np.random.default_rng(4).normal(size=(len(y), len(SIZES))).round(1)  # rounded, so that there are ties
    scores[np.arange(len(y)), y] += 0.5
    seen = np.array([True, False, True, False])
    counts = all_draws(ids, y, 20)
    found = resampled_ausuc(counts, *rivals(scores, seen), y, seen)
    for i, drawn in enumerate(counts):
        index = np.repeat(np.arange(len(y)), drawn)
        assert found[i] == pytest.approx(seen_unseen_curve(scores[index], y[index], seen).area, abs=1e-12)


def test_generalised_metrics_of_the_rows_as_they_are_are_the_scored_ones(rows):
    ids, y = rows
    rng = np.random.default_rng(5)
    seen = np.array([True, False, True, False])
    T = rng.normal(size=(len(y), len(SIZES)))
    T[np.arange(len(y)), y] += 1.0
    bare = Problem("test", {"seen": seen}, {"y_pool": y, "row_pool": ids}, {"dataset": "toy", "classes": list("abcd")})
    of_seen = seen[y]
    problem = with_requests(
        bare,
        {
            "U->U": (np.flatnonzero(~of_seen), np.flatnonzero(~seen)),
            "S->S": (np.flatnonzero(of_seen), np.flatnonzero(seen)),
            "T": (np.arange(len(y)), np.arange(len(seen))),
        },
    )
    outputs = {"T": T, "U->U": T[~of_seen][:, ~seen], "S->S": T[of_seen][:, seen]}
    task, validation_choices = GeneralizedZeroShot(), {"bias": 0.3}
    metrics = task.score(problem, outputs, validation_choices, full=False).metrics
    found = task.resampled(task.outcomes(problem, outputs, validation_choices), np.ones((1, len(y)), dtype=np.int32))
    assert {"AUSUC", "H", "U_to_T", "S_to_T", "U_to_U", "S_to_S", "calibrated_H"} <= set(found)
    for name, values in found.items():
        assert values[0] == pytest.approx(metrics[name], abs=1e-12), name
    assert found["H"][0] == pytest.approx(harmonic_mean(metrics["U_to_T"], metrics["S_to_T"]), abs=1e-12)


def test_digest_tells_rows_apart_and_not_their_order(rows):
    ids, y = rows
    order = np.random.default_rng(0).permutation(len(y))
    digest = rows_digest({"id": ids, "stratum": y})
    assert rows_digest({"stratum": y[order].astype(np.int32), "id": ids[order]}) == digest
    assert rows_digest({"id": ids + (ids == ids[0]), "stratum": y}) != digest
    assert rows_digest({"id": ids[order], "stratum": y}) != digest
    assert rows_digest({"id": ids[1:], "stratum": y[1:]}) != digest
    assert rows_digest({"id": ids, "stratum": y, "of the whole": np.array([1.0])}) != digest


def digits(classes=8, each=20):
    """A data set without splits of its own, so that tasks draw them."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), each)
    names = tuple(f"class {i}" for i in range(classes))
    signatures = {"att": SignatureSet(rng.normal(size=(classes, 4)))}
    return Dataset("drawn", rng.normal(size=(len(y), 5)), y, names, signatures, "att")


def with_unseen(dataset):
    seen = dataset.y < 5
    return replace(dataset, splits={"train": np.flatnonzero(seen), "test_unseen": np.flatnonzero(~seen)})


@pytest.mark.parametrize(
    ("task", "dataset", "drawn"),
    [
        (Coding(train_per_class=5), digits(), True),
        (ExemplarRetrieval(), with_unseen(digits()), False),
        (ExemplarRetrieval(queries=9), with_unseen(digits()), False),
        (ExemplarRetrieval(queries=9), digits(12), False),
        (FeatureSelection(last=5), with_unseen(digits()), False),
        (FeatureSelection(last=5, rows=12), with_unseen(digits()), True),
        (ZeroShot(), with_unseen(digits()), False),
        (Retrieval(), with_unseen(digits()), False),
    ],
)
def test_digest_of_a_test_problem_depends_on_the_seed_where_its_rows_do(task, dataset, drawn):
    first, again, other = (rows_digest(task.scored_rows(task.test(dataset, seed=seed))) for seed in (0, 0, 1))
    assert first == again
    assert (first != other) == drawn


def copied(values, times):
    """Every row so many times, and which row each is a copy of."""
    return np.repeat(values, times, axis=0), np.repeat(np.arange(len(values)), times)


def test_rows_that_belong_together_tell_no_more_than_one_of_them():
    rng = np.random.default_rng(0)
    y, correct = np.repeat(np.arange(4), 50), rng.random(200) < 0.6
    alone = np.vstack(list(draws(np.arange(200), y, 1000)))
    many, thing = copied(np.column_stack([y, correct]), 9)
    together = np.vstack(list(draws_of_things(thing[:, None], many[:, 0], 1000)))
    wanted = resampled_means(alone, correct, y).std()
    found = resampled_means(together, many[:, 1].astype(bool), many[:, 0]).std()
    assert found == pytest.approx(wanted, rel=0.1)
    # As rows of their own they would be taken for three times as sure.
    as_rows = np.vstack(list(draws(np.arange(1800), many[:, 0], 400)))
    assert resampled_means(as_rows, many[:, 1].astype(bool), many[:, 0]).std() < 0.45 * wanted


def test_of_the_things_within_a_class_one_fewer_is_drawn():
    y = np.repeat([0, 1], [12, 6])
    thing = np.r_[np.repeat([0, 1, 2], 4), np.repeat([7, 8], 3)]
    counts = np.vstack(list(draws_of_things(thing[:, None], y, 150)))
    assert counts.shape == (150, 18)
    assert (counts[:, :12].sum(axis=1) == 8).all()
    assert (counts[:, 12:].sum(axis=1) == 3).all()
    for rows in np.split(np.arange(18), np.flatnonzero(np.diff(thing)) + 1):
        assert (counts[:, rows] == counts[:, rows[:1]]).all()
    assert len(np.unique(counts[:, 0])) > 2


def test_things_that_run_through_classes_are_drawn_once_for_all_of_them():
    # 30 speakers say each of 5 letters twice.
    speaker, letter = np.repeat(np.arange(30), 10), np.tile(np.repeat(np.arange(5), 2), 30)
    counts = np.vstack(list(draws_of_things(speaker[:, None], letter, 200)))
    assert (counts.reshape(200, 30, 10) == counts.reshape(200, 30, 10)[:, :, :1]).all()
    assert (counts.sum(axis=1) == 290).all()
    # A speaker's accent shows in all letters: the spread is that of a mean of 30, not of 300.
    accent = np.random.default_rng(1).random(30)
    found = np.std(counts @ accent[speaker] / 290)
    assert found == pytest.approx(accent.std(ddof=1) / np.sqrt(30), rel=0.15)


def test_rows_made_of_two_things_vary_with_both_and_never_less_than_rows():
    rng = np.random.default_rng(2)
    pair = np.array([(a, 20 + b) for a in range(20) for b in range(20)])
    counts = np.vstack(list(draws_of_things(pair, np.zeros(400, dtype=int), 600)))
    first, second, own = rng.normal(size=20), rng.normal(size=20), rng.normal(size=400)
    for effect in (first[pair[:, 0]] + second[pair[:, 1] - 20], own):
        values = (counts @ effect) / counts.sum(axis=1)
        true = np.sqrt(first.var() / 20 + second.var() / 20) if effect is not own else own.std() / 20
        assert 0.85 * true < values.std() < 2 * true
    # A thing that a row is made of twice counts once.
    twice = np.vstack(list(draws_of_things(np.repeat(np.arange(9)[:, None], 2, axis=1), np.zeros(9, dtype=int), 50)))
    assert (twice.sum(axis=1) == 8).all()


def test_one_thing_is_nothing_to_draw():
    assert draws_of_things(np.zeros((8, 1), dtype=int), np.repeat([0, 1], 4), 10) is None
    assert draws_of_things(np.repeat([[3], [5]], 4, axis=0), np.repeat([0, 1], 4), 10) is None
    counts = next(draws_of_things(np.array([[0], [0], [1], [2]]), np.array([0, 0, 1, 1]), 10))
    assert (counts[:, :2] == 1).all()


def test_metrics_of_draws_that_change_the_sizes_of_classes_are_those_of_the_drawn_rows():
    rng = np.random.default_rng(3)
    y, seen = rng.integers(0, 6, 60), np.array([True, True, True, False, False, False])
    scores = rng.normal(size=(60, 6)) + np.eye(6)[y]
    counts = rng.integers(0, 3, (20, 60)) * (y != rng.integers(0, 6, (20, 1)))
    best = rivals(scores, seen)
    correct = scores.argmax(axis=1) == y
    areas, means = resampled_ausuc(counts, *best, y, seen), resampled_means(counts, correct, y)
    plain = resampled_means(counts, correct)
    for i, count in enumerate(counts):
        rows = np.repeat(np.arange(60), count)
        assert areas[i] == pytest.approx(seen_unseen_curve(scores[rows], y[rows], seen).area)
        assert means[i] == pytest.approx(per_class_accuracy(y[rows], scores[rows].argmax(axis=1)))
        assert plain[i] == pytest.approx(correct[rows].mean())
    nothing = np.where(seen[y], 0, 1)[None, :]
    assert np.isnan(resampled_ausuc(nothing, *best, y, seen)).all()

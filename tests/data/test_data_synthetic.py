"""Synthetic data: sizes, sign, determinism, and a difficulty between chance and certainty."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from zslplat.data.sets.synthetic import PRESETS, Shape, Synthetic, synthetic
from zslplat.data.source import DataPlaces
from zslplat.data.store.rows import Stored
from zslplat.errors import UsageError


def ridge_accuracy(dataset, alpha=10.0):
    """Mean per-class accuracy on unseen classes of a closed-form compatibility (ESZSL) with untuned constants."""
    train, test = dataset.rows("train"), dataset.rows("test_unseen")
    seen, unseen = np.unique(dataset.y[train]), np.unique(dataset.y[test])
    X = dataset.X - dataset.X[train].mean(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    S = dataset.signature_set().values
    S = S - S[seen].mean(axis=0)
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    Y = (dataset.y[train, None] == seen).astype(float)
    left = np.linalg.solve(X[train].T @ X[train] + alpha * np.eye(X.shape[1]), X[train].T @ Y @ S[seen])
    W = np.linalg.solve(S[seen].T @ S[seen] + np.eye(S.shape[1]), left.T).T
    predicted = unseen[np.argmax(X[test] @ W @ S[unseen].T, axis=1)]
    return np.mean([np.mean(predicted[dataset.y[test] == c] == c) for c in unseen])


def test_default_has_the_sizes_that_it_says():
    dataset, shape = synthetic(Shape()), Shape()
    assert dataset.X.shape == (6000, shape.dimensions)
    assert dataset.X.dtype == np.float32
    assert [len(dataset.rows(s)) for s in ("train", "test_seen", "test_unseen")] == [4000, 1000, 1000]
    assert len(np.unique(dataset.y[dataset.rows("train")])) == shape.classes_seen
    assert set(dataset.y[dataset.rows("test_seen")]) == set(dataset.y[dataset.rows("train")])
    assert len(np.unique(dataset.y[dataset.rows("test_unseen")])) == shape.classes_unseen
    assert [len(f.validation) for f in dataset.folds] == [13, 13, 13]
    assert len({c for f in dataset.folds for c in f.validation}) == 39


@pytest.mark.parametrize(
    ("name", "rows", "seen", "unseen", "attributes"),
    [
        ("awa1", 30475, 40, 10, 85),
        ("awa2", 37322, 40, 10, 85),
        ("cub", 11788, 150, 50, 312),
        ("sun", 14340, 645, 72, 102),
        ("apy", 15339, 20, 12, 64),
    ],
)
def test_presets_add_up_to_the_published_sets(name, rows, seen, unseen, attributes):
    shape = PRESETS[name]
    assert shape.rows_train + shape.rows_test_seen + shape.rows_test_unseen == rows
    assert (shape.classes_seen, shape.classes_unseen, shape.attributes, shape.dimensions) == (
        seen,
        unseen,
        attributes,
        2048,
    )


def test_preset_gives_its_shape(tmp_path):
    places = DataPlaces(cache=tmp_path)
    dataset = Synthetic(preset="apy").load(places)
    assert dataset.X.shape == (15339, 2048)
    assert dataset.signature_set().values.shape == (32, 64)
    again = Synthetic(preset="apy").load(places)
    assert all(isinstance(source, Stored) for source in again.features().values())
    assert again.fingerprint == dataset.fingerprint


def test_features_look_rectified():
    X = synthetic(Shape()).X
    assert X.min() == 0
    assert 0.3 < np.mean(X == 0) < 0.7


def test_same_seed_same_bits_whatever_the_threads():
    prints = set()
    for threads in (1, 2):
        with threadpool_limits(threads):
            prints.add(synthetic(Shape(), seed=3).fingerprint)
    assert len(prints) == 1
    assert synthetic(Shape(), seed=4).fingerprint not in prints


def test_difficulty_lies_between_chance_and_certainty_and_follows_noise_and_shift():
    usual = ridge_accuracy(synthetic(Shape()))
    assert 0.3 < usual < 0.9  # chance .1
    assert ridge_accuracy(synthetic(Shape(), noise=0.1)) > usual + 0.1
    assert ridge_accuracy(synthetic(Shape(), noise=0.8)) < usual - 0.1
    assert ridge_accuracy(synthetic(Shape(), shift=3.0)) < usual - 0.1


def test_options_choose_every_size():
    sizes = {
        "rows_train": 100,
        "rows_test_seen": 30,
        "rows_test_unseen": 20,
        "dimensions": 17,
        "attributes": 9,
        "classes_seen": 12,
        "classes_unseen": 4,
    }
    dataset = Synthetic(**sizes, seed=1, shift=0.0, noise=0.5).load(DataPlaces())
    assert dataset.X.shape == (150, 17)
    assert dataset.signature_set().values.shape == (16, 9)
    assert [len(f.validation) for f in dataset.folds] == [4, 4, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows_train": 39}, "rows_train=39, .* each class needs a row"),
        ({"rows_test_unseen": 9}, "rows_test_unseen=9 for classes_unseen=10"),
        ({"classes_validation": 39}, "leaves fewer than 2 classes to train on"),
        ({"preset": "cub", "dimensions": 10}, "preset=cub fixes dimensions"),
        ({"preset": "imagenet"}, r"preset='imagenet' is out of range; expected none\|awa1"),
        ({"shift": -1}, "shift=-1 is out of range"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        Synthetic(**options).load(DataPlaces())


def test_each_view_shows_attributes_of_its_own(tmp_path):
    sizes = {"rows_train": 900, "rows_test_seen": 100, "rows_test_unseen": 60, "dimensions": 90, "attributes": 12}
    data = Synthetic(views=3, noise=0.0, shift=0.0, **sizes).load(DataPlaces(cache=tmp_path))
    assert [(view.name, view.shape) for view in data.views] == [(f"view{i}", (30,)) for i in (1, 2, 3)]
    assert all(isinstance(source, Stored) for source in data.features().values())
    again = Synthetic(views=3, noise=0.0, shift=0.0, **sizes).load(DataPlaces())
    assert np.array_equal(data.X, again.X)
    assert data.fingerprint == again.fingerprint
    S, X = data.signature_set().values, np.asarray(data.X)
    means = np.stack([X[data.y == c].mean(axis=0) for c in range(len(S))])
    # Linear in its own attributes: the others explain what is left of no view better than chance.
    for number in range(3):
        own, others = S[:, number::3], np.delete(S, np.s_[number::3], axis=1)[:, :4]
        left = {}
        for name, known in (("own", own), ("others", others)):
            A = np.c_[known, np.ones(len(S))]
            Y = means[:, 30 * number : 30 * number + 30]
            left[name] = ((Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]) ** 2).sum()
        assert left["own"] < 0.7 * left["others"]


def test_more_views_than_columns_or_attributes_are_refused():
    with pytest.raises(UsageError, match="views=31 of dimensions=256 and attributes=30"):
        Synthetic(views=31).load(DataPlaces())

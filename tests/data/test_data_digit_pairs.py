"""Digit pairs: what the data set promises about classes, images and folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from zslplat.data.sets.digit_pairs import SEVEN_SEGMENTS, DigitPairs, digit_pairs
from zslplat.data.source import DataPlaces
from zslplat.data.store.stored_sets import in_files, stored_dataset
from zslplat.errors import DataError, UsageError
from zslplat.keys import key_of


@pytest.fixture(scope="module", params=[0, 1, 7])
def pairs(request):
    return digit_pairs(seed=request.param)


def images_of(dataset, rows):
    """The images in these rows, as bytes, from both sides; the 1797 images are all different."""
    halves = np.vstack([dataset.X[rows, :64], dataset.X[rows, 64:]])
    return {half.tobytes() for half in halves}


def test_shapes_and_class_counts(pairs):
    assert pairs.X.shape == (4800, 128)
    assert pairs.X.min() >= 0
    assert pairs.X.max() <= 1
    assert len(np.unique(pairs.y[pairs.rows("train")])) == 80
    assert set(pairs.y[pairs.rows("test_seen")]) == set(pairs.y[pairs.rows("train")])
    assert len(np.unique(pairs.y[pairs.rows("test_unseen")])) == 20
    assert sorted(np.concatenate(list(pairs.splits.values()))) == list(range(4800))


def test_no_image_on_both_sides_of_any_split(pairs):
    train, seen, unseen = (images_of(pairs, pairs.rows(s)) for s in ("train", "test_seen", "test_unseen"))
    assert not train & seen
    assert not train & unseen
    assert not seen & unseen


def test_no_image_on_both_sides_of_any_fold(pairs):
    train = pairs.rows("train")
    for fold in pairs.folds:
        fitted = images_of(pairs, train[np.isin(pairs.y[train], fold.train)])
        held_out = images_of(pairs, train[np.isin(pairs.y[train], fold.validation)])
        assert fitted
        assert held_out
        assert not fitted & held_out


def test_rows_of_different_groups_share_no_image(pairs):
    images = [images_of(pairs, np.flatnonzero(pairs.groups == g)) for g in np.unique(pairs.groups)]
    assert sum(map(len, images)) == len(set.union(*images))


def test_rows_say_which_images_they_are_made_of(pairs):
    # Equal numbers are equal images, on whichever side, and different ones are different.
    halves = np.stack([pairs.X[:, :64], pairs.X[:, 64:]], axis=1).reshape(-1, 64)
    _, image = np.unique(halves, axis=0, return_inverse=True)
    _, number = np.unique(pairs.made_of.ravel(), return_inverse=True)
    assert len(np.unique(np.column_stack([image, number]), axis=0)) == len(np.unique(image)) == len(np.unique(number))
    assert len(np.unique(pairs.made_of[pairs.rows("test_unseen")])) <= 440


def test_every_training_class_spreads_evenly_over_five_groups(pairs):
    train = pairs.rows("train")
    for label in np.unique(pairs.y[train]):
        groups, counts = np.unique(pairs.groups[train[pairs.y[train] == label]], return_counts=True)
        assert len(groups) == 5
        assert set(counts) == {8}


def test_group_hold_out_takes_a_fifth_of_every_class(pairs):
    from sklearn.model_selection import StratifiedGroupKFold

    train = pairs.rows("train")
    y, groups = pairs.y[train], pairs.groups[train]
    for _, held_out in StratifiedGroupKFold(5, shuffle=True, random_state=0).split(train, y, groups):
        assert (np.bincount(y[held_out], minlength=100)[np.unique(y)] == 8).all()


def test_folds_cover_the_seen_classes_and_are_disjoint(pairs):
    seen = set(pairs.y[pairs.rows("train")].tolist())
    assert len(pairs.folds) == 3
    for fold in pairs.folds:
        assert set(fold.train) | set(fold.validation) == seen
        assert len(fold.validation) == 20
    assert len({c for fold in pairs.folds for c in fold.validation}) == 60


def test_every_digit_is_seen_on_both_sides_by_every_training_set(pairs):
    every = set(range(10))
    for classes in [np.unique(pairs.y[pairs.rows("train")]), *(np.array(f.train) for f in pairs.folds)]:
        assert set(classes // 10) == every
        assert set(classes % 10) == every


def test_signatures_are_the_strokes_of_the_named_digits(pairs):
    values = pairs.signature_set().values
    for label, name in enumerate(pairs.class_names):
        expected = np.concatenate([SEVEN_SEGMENTS[int(name[0])], SEVEN_SEGMENTS[int(name[1])]])
        assert np.array_equal(values[label], expected)
    assert len(np.unique(values, axis=0)) == 100


def test_rows_show_the_digits_of_their_class(pairs):
    from sklearn.datasets import load_digits

    bunch = load_digits()
    digit = {(image / 16).astype(np.float32).tobytes(): t for image, t in zip(bunch.data, bunch.target, strict=True)}
    shown = [10 * digit[row[:64].tobytes()] + digit[row[64:].tobytes()] for row in pairs.X]
    assert np.array_equal(shown, pairs.y)


def test_rows_are_all_different(pairs):
    assert len(np.unique(pairs.X, axis=0)) == len(pairs.X)


def test_same_seed_gives_the_same_data_and_another_seed_another():
    assert digit_pairs(seed=3).fingerprint == digit_pairs(seed=3).fingerprint
    assert digit_pairs(seed=3).fingerprint != digit_pairs(seed=4).fingerprint


def test_options_reach_the_data():
    dataset = DigitPairs(seed=2, rows=10).load(DataPlaces())
    assert len(dataset.rows("train")) == 800
    with pytest.raises(UsageError, match="rows=12 is no multiple of 5"):
        DigitPairs(rows=12).load(DataPlaces())


def test_ridge_to_strokes_recognises_unseen_pairs(pairs):
    """A closed-form compatibility (ESZSL) with fixed, untuned constants is far above chance (.05)."""
    train, test = pairs.rows("train"), pairs.rows("test_unseen")
    seen, unseen = np.unique(pairs.y[train]), np.unique(pairs.y[test])
    X = pairs.X.astype(np.float64) - pairs.X[train].mean(axis=0, dtype=np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    S = pairs.signature_set().values - pairs.signature_set().values[seen].mean(axis=0)
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    Y = (pairs.y[train, None] == seen).astype(float)
    left = np.linalg.solve(X[train].T @ X[train] + np.eye(128), X[train].T @ Y @ S[seen])
    W = np.linalg.solve(S[seen].T @ S[seen] + 0.1 * np.eye(14), left.T).T
    predicted = unseen[np.argmax(X[test] @ W @ S[unseen].T, axis=1)]
    per_class = [np.mean(predicted[pairs.y[test] == c] == c) for c in unseen]
    assert 0.8 < np.mean(per_class) < 0.99


@pytest.mark.parametrize("found", [np.zeros(4800, dtype=int), np.zeros((3, 2), dtype=int), np.zeros((4800, 2))])
def test_what_rows_are_made_of_is_numbered_row_by_row(pairs, found):
    with pytest.raises(DataError, match=r"made_of must be integers \(4800, k\)"):
        replace(pairs, made_of=found)


def test_what_rows_are_made_of_survives_the_way_to_disk(tmp_path, pairs):
    kept = in_files(pairs, tmp_path)
    again = stored_dataset(tmp_path, key_of("in memory", pairs.fingerprint), lambda: pairs)
    for found in (kept, again):
        np.testing.assert_array_equal(found.made_of, pairs.made_of)
    assert again.fingerprint == pairs.fingerprint


def test_a_data_set_is_shown_by_what_it_holds_not_by_its_values():
    shown = repr(digit_pairs())
    assert shown == (
        "<data set digit-pairs: 4800 rows of 128 float32; 100 classes; signatures strokes of 14; 3 folds of "
        "classes; 22 groups; train 3200; test_seen 800; test_unseen 800>"
    )


def test_digits_are_described_by_the_strokes_of_seven_segment_displays():
    # As tables of displays have them: a bit per stroke, the top one first.
    codes = [0x7E, 0x30, 0x6D, 0x79, 0x33, 0x5B, 0x5F, 0x70, 0x7F, 0x7B]
    assert SEVEN_SEGMENTS.tolist() == [[float(bit) for bit in f"{code:07b}"] for code in codes]

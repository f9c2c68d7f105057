"""What is read off a data set is what is in it: columns that tell, rows that come twice, signatures that are shared."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from zslplat.checks.base import run_checks
from zslplat.checks.data_facts import (
    class_share_of_column,
    data_facts,
    facts_from_json,
    known_data_facts,
    same_signatures,
)
from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.data.store.rows import Rows

CLASSES, EACH = 6, 40


def made(change=lambda X, y: X, *, rows=False, splits=None, signatures=None):
    """Return a data set of normal classes at random means, and what ``change`` makes of its features."""
    generator = np.random.default_rng(3)
    y = generator.permutation(np.repeat(np.arange(CLASSES), EACH))
    X = generator.normal(size=(CLASSES, 8))[y] * 1.5 + generator.normal(size=(len(y), 8))
    X = change(X, y)
    S = np.random.default_rng(1).normal(size=(CLASSES, 5)) if signatures is None else signatures
    seen = np.flatnonzero(y < 4)
    splits = {"train": seen, "test_unseen": np.flatnonzero(y >= 4)} if splits is None else splits
    given = Rows.of({"a": X[:, :3], "b": X[:, 3:]}) if rows else X
    names = tuple("abcdefghi"[: len(S)])
    return Dataset("made", given, y, names, {"att": SignatureSet(S)}, "att", splits)


def codes(dataset):
    return [finding.code for finding in run_checks("data", data_facts(dataset))]


def with_column(column):
    def change(X, y):
        return np.column_stack([X, column(X, y)])

    return change


def test_nothing_is_found_in_sound_data():
    assert codes(made()) == []
    assert codes(made(splits={})) == []


@pytest.mark.parametrize("rows", [False, True])
def test_the_class_among_the_features_is_found_and_a_good_feature_is_not(rows):
    noise = np.random.default_rng(0).normal(size=CLASSES * EACH)
    golden = data_facts(made(with_column(lambda X, y: y * 5.0 + noise), rows=rows))
    assert [column.name for column in golden.revealing] == ["column 8"]
    assert golden.revealing[0].value > 0.95
    assert codes(made(with_column(lambda X, y: y * 5.0 + noise), rows=rows)) == ["ZSP501"]
    assert codes(made(with_column(lambda X, y: y * 1.5 + noise), rows=rows)) == []
    numbers = with_column(lambda X, y: np.arange(len(y)) * 0.1)
    assert data_facts(made(numbers, rows=rows)).row_numbering == ("column 8",)


def test_a_column_is_judged_by_nearest_neighbours():
    generator = np.random.default_rng(1)
    y = generator.integers(0, 4, size=60)
    values = np.round(generator.normal(size=60), 3)
    right = []
    for i in range(60):
        distance = np.abs(values - values[i])
        distance[i] = np.inf
        right.append(y[int(np.argmin(distance))] == y[i])
    slow = np.mean([np.mean(np.array(right)[y == c]) for c in range(4)])
    assert class_share_of_column(values, y) == pytest.approx(slow, abs=0.02)


def test_rows_on_both_sides_are_counted():
    def copied(X, y):
        X[np.flatnonzero(y == 5)[:3]] = X[np.flatnonzero(y == 0)[:3]]
        return X

    def within(X, y):
        first = np.flatnonzero(y == 0)
        X[first[:3]] = X[first[3:6]]
        return X

    assert data_facts(made(copied)).repeated_rows == 3
    assert codes(made(copied)) == ["ZSP502"]
    assert data_facts(made(within)).repeated_rows == 0
    y = made().y
    # Validation rows are looked at as test rows are; the method is fitted on them at last.
    parts = {"train": np.flatnonzero(y < 4), "val": np.flatnonzero(y == 5), "test": np.flatnonzero(y == 4)}
    facts = data_facts(made(copied, splits=parts))
    assert (facts.repeated_rows, facts.test_rows) == (3, 2 * EACH)
    halves = {"fold-1": np.flatnonzero(y < 3), "fold-2": np.flatnonzero(y >= 3)}
    assert data_facts(made(copied, splits=halves)).repeated_rows == 6


def test_columns_that_vary_in_the_test_only_are_weighed():
    facts = data_facts(made(with_column(lambda X, y: np.where(y >= 4, np.arange(len(y)) % 7, 0.0))))
    X, y = np.asarray(made(with_column(lambda X, y: np.where(y >= 4, np.arange(len(y)) % 7, 0.0))).X), made().y
    deviation = np.square(X[y >= 4] - X[y < 4].mean(axis=0)).sum(axis=0)
    assert facts.constant_columns == 1
    assert facts.deviation_share == pytest.approx(deviation[8] / deviation.sum())
    assert codes(made(with_column(lambda X, y: np.zeros(len(y))))) == []
    assert codes(made(with_column(lambda X, y: np.zeros((len(y), 9))))) == ["ZSP503"]


def test_shared_signatures_are_found_by_side():
    S = np.random.default_rng(0).normal(size=(CLASSES, 5))
    S[1] = S[0] + 1e-9
    S[5] = S[2]
    facts = data_facts(made(signatures=S))
    assert facts.equal_within == {"att": (("a", "b"),)}
    assert facts.equal_across == {"att": (("c", "f"),)}
    assert codes(made(signatures=S)) == ["ZSP504", "ZSP505"]
    # Several signatures of one class may be equal.
    assert same_signatures(np.ones((3, 2)), np.array([4, 4, 4])) == []
    assert same_signatures(np.ones((3, 2)), np.array([4, 4, 7])) == [[4, 7]]
    # Two unseen classes are alike, whatever seen class is like both.
    S[4] = S[2]
    facts = data_facts(made(signatures=S))
    assert facts.equal_within == {"att": (("a", "b"), ("e", "f"))}
    assert facts.equal_across == {"att": (("c", "e"), ("c", "f"))}
    # A class without rows is told from others by nobody.
    data = made(signatures=np.vstack([S, S[3]]))
    assert data_facts(data).equal_within == facts.equal_within


def test_dimensions_that_only_unseen_classes_differ_in_are_weighed():
    S = np.random.default_rng(0).normal(size=(CLASSES, 5))
    S[:4, 2] = 0.1
    S[:, 3] = 7.0  # the same for all: nothing is told by it, and nothing is missing
    deviation = np.square(S[4:] - S[:4].mean(axis=0)).sum(axis=0)
    found = data_facts(made(signatures=S)).constant_dimensions["att"]
    assert (found.count, found.of) == (1, 5)
    assert found.deviation_share == pytest.approx(deviation[2] / deviation.sum())
    assert codes(made(signatures=S)) == ["ZSP506"]
    # Little of it is not worth a word.
    S[4:, 2] = 0.1 + 1e-3
    assert data_facts(made(signatures=S)).constant_dimensions["att"].count == 1
    assert codes(made(signatures=S)) == []
    # A class without rows is not seen; where no class is unseen there is nothing to miss.
    S[4:, 2] = 3.0
    data = made(signatures=np.vstack([S, np.full(5, 9.0)]))
    assert data_facts(data).constant_dimensions == data_facts(made(signatures=S)).constant_dimensions
    assert data_facts(made(signatures=S, splits={})).constant_dimensions == {}


def test_dimensions_are_weighed_over_all_signatures_of_a_class():
    S = np.repeat(np.random.default_rng(0).normal(size=(CLASSES, 3)), 2, axis=0)
    classes = np.repeat(np.arange(CLASSES), 2)
    S[:8, 1] = 0.25
    data = dataclasses.replace(made(), signatures={"att": SignatureSet(S, classes=classes)})
    assert data_facts(data).constant_dimensions["att"].count == 1
    S[1, 1] = 0.5  # one of the two signatures of a seen class
    assert (
        data_facts(dataclasses.replace(data, signatures={"att": SignatureSet(S, classes=classes)})).constant_dimensions
        == {}
    )


def test_facts_have_the_name_of_the_data_set_that_is_asked(tmp_path):
    first = made(lambda X, y: np.zeros_like(X))
    assert known_data_facts(first, tmp_path).subject == "made"
    other = dataclasses.replace(first, name="copied")
    assert other.fingerprint == first.fingerprint
    assert known_data_facts(other, tmp_path).subject == "copied"


def test_rows_are_equal_whatever_the_sign_of_their_zeros():
    def copied(X, y):
        X[:, 3] = 0.0
        X[np.flatnonzero(y == 5)[:3]] = X[np.flatnonzero(y == 0)[:3]]
        X[np.flatnonzero(y == 5)[:3], 3] = -0.0
        return X

    assert data_facts(made(copied)).repeated_rows == 3


def test_rows_of_one_number_are_counted_and_are_not_repeated_rows():
    def emptied(X, y):
        X[[np.flatnonzero(y == 0)[0], np.flatnonzero(y == 5)[0]]] = 0.0
        X[np.flatnonzero(y == 5)[1]] = 0.5
        X[np.flatnonzero(y == 5)[2], :7] = 0.0
        return X

    for rows in (False, True):
        facts = data_facts(made(emptied, rows=rows))
        assert (facts.uniform_rows, facts.zero_rows, facts.repeated_rows) == (3, 2, 0)
        assert codes(made(emptied, rows=rows)) == ["ZSP512"]
    # Rows of few columns may well hold one number.
    few = made(lambda X, y: np.round(X[:, :2]))
    assert any((np.asarray(few.X) == 0).all(axis=1))
    assert data_facts(few).uniform_rows == 0


@pytest.mark.parametrize(("scale", "kind"), [(1e-310, np.float64), (1e-160, np.float64), (1e-22, np.float32)])
def test_columns_whose_squares_vanish_are_counted(scale, kind):
    facts = data_facts(made(with_column(lambda X, y: X[:, 0] * scale)))
    assert facts.tiny_columns == int(kind is np.float64)
    assert data_facts(made(lambda X, y: (X * scale).astype(kind))).tiny_columns == 8
    assert np.square(kind(scale)) < np.finfo(kind).tiny
    found = codes(made(lambda X, y: (X * scale).astype(kind)))
    assert found == ["ZSP513", *(["ZSP514"] if kind is np.float64 else [])]
    assert data_facts(made(with_column(lambda X, y: y * 0.0))).tiny_columns == 0


def test_signatures_of_zeros_are_found_in_every_set():
    S = np.random.default_rng(0).normal(size=(CLASSES, 5))
    S[5] = 0.0
    assert data_facts(made(signatures=S)).zero_signatures == {"att": ("f",)}
    assert codes(made(signatures=S)) == ["ZSP510"]
    each = np.random.default_rng(0).normal(size=(CLASSES * EACH, 3))
    data = made()
    each[np.flatnonzero(data.y == 2)[:4]] = 0.0
    both = {"att": SignatureSet(S), "rows": SignatureSet(each, per_row=True)}
    assert data_facts(dataclasses.replace(data, signatures=both)).zero_signatures == {"att": ("f",), "rows": ("c",)}


def attributes(change):
    S = np.random.default_rng(0).uniform(0, 100, size=(CLASSES, 30)).round(1)
    change(S)
    return S


def put(values, where=(2, 4)):
    def change(S):
        S[where] = values

    return change


@pytest.mark.parametrize(
    ("signatures", "value", "count"),
    [
        (attributes(put(-1)), -1, 1),
        (attributes(put(-1, (slice(1, 4), slice(0, 9)))), -1, 27),
        (attributes(put(-999)), -999, 1),
        (attributes(put(9999)), 9999, 1),
        ((attributes(put(-1)) > 50) - 1.0 * (attributes(put(-1)) < 0), -1, 1),
        (np.where(attributes(put(-1)) < 0, -999.0, np.random.default_rng(1).normal(size=(CLASSES, 30))), -999, 1),
    ],
)
def test_numbers_that_stand_for_missing_ones_are_found(signatures, value, count):
    found = data_facts(made(signatures=signatures)).sentinels["att"]
    assert (found.value, found.count, found.of) == (value, count, signatures.size)
    assert found.first == "abcdef"[int(np.argmax((signatures == value).any(axis=1)))]
    assert "ZSP511" in codes(made(signatures=signatures))


def test_a_stand_in_that_was_divided_by_a_norm_is_found():
    S = attributes(put(-1))
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    found = data_facts(made(signatures=S)).sentinels["att"]
    assert (found.value, found.count, found.first) == (S[2, 4], 1, "c")


@pytest.mark.parametrize(
    "signatures",
    [
        attributes(put(0)),
        np.sign(attributes(put(0)) - 50),  # -1 says that the attribute is absent
        np.random.default_rng(0).normal(size=(CLASSES, 30)),
        np.random.default_rng(0).normal(size=(CLASSES, 30)).round(),
        attributes(put(99)),
    ],
)
def test_numbers_that_are_values_are_no_stand_ins(signatures):
    assert data_facts(made(signatures=signatures)).sentinels == {}


def test_rows_in_no_split_are_counted_by_what_their_classes_are():
    y = made().y
    seen, unseen = np.flatnonzero(y < 4), np.flatnonzero(y == 5)
    whole = {"train": seen[::2], "test_seen": seen[1::2], "test_unseen": np.flatnonzero(y >= 4)}
    assert data_facts(made(splits=whole)).rows_in_no_split == {}
    short = {"train": seen[:-5:2], "test_seen": seen[1::2], "test_unseen": unseen[:-3]}
    left = len(seen[::2]) - len(seen[:-5:2])
    assert data_facts(made(splits=short)).rows_in_no_split == {"unseen": 3, "in no split": EACH, "seen": left}
    assert "ZSP508" in codes(made(splits=short))
    # Without a test of seen classes, their other rows are left out by intention.
    del whole["test_seen"]
    assert data_facts(made(splits=whole)).rows_in_no_split == {}


def test_classes_without_rows_are_named():
    S = np.random.default_rng(0).normal(size=(CLASSES + 2, 5))
    assert data_facts(made(signatures=S)).classes_without_rows == ("g", "h")
    assert codes(made(signatures=S)) == ["ZSP509"]


def test_what_a_loader_saw_twice_is_handed_on_whatever_is_kept(tmp_path):
    data = made()
    assert known_data_facts(data, tmp_path).disagreements == ()
    told = dataclasses.replace(data, source={"disagreements": ["the lists differ"]})
    assert told.fingerprint == data.fingerprint
    assert known_data_facts(told, tmp_path).disagreements == ("the lists differ",)
    assert known_data_facts(data, tmp_path).disagreements == ()


def test_facts_survive_as_json():
    S = np.eye(CLASSES)
    S[5] = S[2]
    S[3], S[0, 0] = 0.0, -999
    facts = data_facts(made(with_column(lambda X, y: y * 5.0), signatures=np.vstack([S, S[1]])))
    assert facts.constant_dimensions["att"].count == 1
    assert facts.zero_signatures
    assert facts.sentinels
    assert facts.classes_without_rows
    assert facts_from_json(json.loads(json.dumps(dataclasses.asdict(facts)))) == facts

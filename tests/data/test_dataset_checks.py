"""What a data set refuses to be made of: every array that does not fit the others is named, with what is wrong."""

import numpy as np
import pytest

from zslplat.data.dataset import ClassFold, Dataset, SignatureSet
from zslplat.errors import DataError

NAMES = ("ant", "bee", "cat")
Y = np.array([0, 0, 1, 1, 2, 2])


def made(**changes):
    """Return a data set of six rows of three classes."""
    fields = {
        "X": np.arange(12.0).reshape(6, 2),
        "y": Y,
        "class_names": NAMES,
        "signatures": {"att": SignatureSet(np.eye(3))},
        "splits": {"train": np.array([0, 1, 2]), "test_seen": np.array([3]), "test_unseen": np.array([4, 5])},
    }
    return Dataset("insects", **{**fields, **changes})


def split(rows):
    return {"splits": {"train": np.asarray(rows)}}


WRONG = {
    "a row of X": ({"X": np.ones(6)}, r"X must be \(n, d\) or \(n, p, p\) with n > 0, got \(6,\)"),
    "no rows": ({"X": np.ones((0, 2)), "y": np.ones(0, dtype=int), "splits": {}}, r"n > 0, got \(0, 2\)"),
    "fewer labels": ({"y": Y[:5]}, "6 rows in X but 5 labels"),
    "labels that are no numbers of classes": ({"y": Y.astype(float)}, "labels must be integer class ids, got float64"),
    "a negative label": ({"y": Y - 1}, "labels run from -1 to 1 but there are 3 classes"),
    "a label too large": ({"y": Y + 1}, "labels run from 1 to 3 but there are 3 classes"),
    "labels of three axes": ({"y": Y.reshape(6, 1, 1)}, r"labels must be \(n,\) or \(n, 3\), got \(6, 1, 1\)"),
    "several labels of other classes": ({"y": np.ones((6, 2), dtype=int)}, r"labels of shape \(6, 2\) for 3 classes"),
    "several labels beyond 1": ({"y": np.full((6, 3), 2)}, "several labels per row run from 2 to 2"),
    "NaN": ({"X": np.where(np.arange(12).reshape(6, 2) == 7, np.nan, 1.0)}, "row 3 holds NaN or infinity"),
    "a split beyond the rows": (split([0, 6]), r"split 'train': indices 0\.\.6 leave 0\.\.5"),
    "a split before the rows": (split([-1, 2]), r"split 'train': indices -1\.\.2 leave 0\.\.5"),
    "a split of shares": (split([0.5]), "split 'train': expected a vector of integer row indices"),
    "a split that is a matrix": (split([[0, 1]]), "split 'train': expected a vector of integer row indices"),
    "splits that share rows": (
        {"splits": {"train": np.array([0, 1, 2]), "test_seen": np.array([2, 1, 3])}},
        "splits 'train' and 'test_seen' share 2 rows",
    ),
    "a class on both sides": (
        {"splits": {"train": np.array([0, 2]), "test_unseen": np.array([3, 4])}},
        "1 class is both in train and in test_unseen: bee",
    ),
    "a fold with a class on both sides": (
        {"folds": (ClassFold("fold-1", (0, 1), (1, 2)),)},
        "fold 'fold-1': classes on both sides: bee",
    ),
    "a signature set of one axis": ({"signatures": {"att": SignatureSet(np.ones(3))}}, r"got shape \(3,\)"),
    "fewer signatures": ({"signatures": {"att": SignatureSet(np.eye(3)[:2])}}, "1 classes have no signature: cat"),
    "more signatures": ({"signatures": {"att": SignatureSet(np.ones((4, 2)))}}, "4 rows for 3 classes"),
    "signatures of fewer rows": (
        {"signatures": {"att": SignatureSet(np.ones((5, 2)), per_row=True)}},
        "5 rows, but 6 rows of features; every row needs one",
    ),
    "a name with a line break": ({"class_names": ("ant", "b\nee", "cat")}, "holds a line break or NUL"),
    "made of shares": ({"made_of": np.ones((6, 2))}, r"made_of must be integers \(6, k\), .*; got float64 \(6, 2\)"),
    "made of too few": ({"made_of": np.ones((5, 2), dtype=int)}, r"got int64 \(5, 2\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_with_what_is_wrong(case):
    changes, pattern = WRONG[case]
    with pytest.raises(DataError, match=pattern):
        made(**changes)


def test_what_fits_is_taken():
    assert made().rows("train").tolist() == [0, 1, 2]
    # The edges: first and last row, an empty split, every entry of several labels, made of one thing.
    assert made(**split([0, 5])).rows("train").tolist() == [0, 5]
    assert made(**split(np.array([], dtype=int))).rows("train").tolist() == []
    assert made(y=np.tile([-1, 0, 1], (6, 1)), splits={}).y.shape == (6, 3)
    assert made(made_of=np.zeros((6, 1), dtype=int)).made_of.shape == (6, 1)


def test_it_shows_what_it_holds():
    shown = repr(made(groups=np.array([0, 0, 1, 1, 2, 2]), folds=(ClassFold("fold-1", (0,), (1,)),)))
    assert shown == (
        "<data set insects: 6 rows of 2 float64; 3 classes; signatures att of 3; 1 fold of classes; "
        "3 groups; train 3; test_seen 1; test_unseen 2>"
    )
    views = made(X=np.ones((6, 2, 2)), y=np.tile([0, 1, 1], (6, 1)), signatures={}, splits={})
    assert repr(views) == "<data set insects: 6 rows of 2 x 2 float64; 3 classes, several to a row>"

"""Labels as files hold them: rows, columns, and several to a row; what counts them from 1 and runs too far."""

import numpy as np
import pytest
from array_toys import save, toy

from zslplat.data.formats.array_likes import plain_labels
from zslplat.data.formats.npz import NpzSource
from zslplat.errors import DataError


def load(places, **options):
    return NpzSource(path="toy", **options).load(places)


@pytest.mark.parametrize("shape", [(30, 1), (1, 30)], ids=["a column", "a row"])
def test_labels_may_stand_in_a_matrix_of_one_column_or_one_row(tmp_path, shape):
    y = toy()["y"]
    assert load(save(tmp_path, y=y.reshape(shape))).y.tolist() == y.tolist()


def test_two_columns_are_several_labels_to_a_row(tmp_path):
    y = np.tile([[1, 0]], (30, 1))
    rows = {"train": np.arange(20), "test": np.arange(20, 30)}
    file = tmp_path / "two.npz"
    np.savez(file, X=toy()["X"], y=y, **rows)
    assert NpzSource(path=str(file)).load(save(tmp_path)).y.tolist() == y.tolist()


@pytest.mark.parametrize("type_", [np.int64, str])
def test_labels_of_three_axes_are_refused_be_they_numbers_or_names(tmp_path, type_):
    y = toy()["y"].reshape(30, 1, 1).astype(type_)
    names = np.array(sorted({str(label) for label in toy()["y"]}))
    with pytest.raises(DataError, match=r"expected one per row.*got shape \(30, 1, 1\)"):
        load(save(tmp_path, y=y, class_names=names))


def test_labels_beyond_the_classes_are_told_as_they_stand_in_the_file(tmp_path):
    y = toy()["y"] + 2  # 2 to 7, of six classes that are counted from 1
    with pytest.raises(DataError, match="run to 7, but there are signatures or names for 6 classes counted from 1"):
        load(save(tmp_path, y=y), base=1)


def test_numbers_with_a_point_are_whole_numbers_where_all_of_them_are():
    found = plain_labels(np.array([0.0, 2.0, 1.0]), "y")
    assert found.dtype == np.int64
    assert found.tolist() == [0, 2, 1]
    assert plain_labels(np.array([0.0, 0.5]), "y").tolist() == [0.0, 0.5]
    assert plain_labels(np.array([1.0, 2.0], dtype=object), "y").dtype == np.int64

"""Several features files of one folder are views of the same rows, each kept once."""

from __future__ import annotations

import numpy as np
import pytest
from xlsa17_toys import toy_arrays, write_folder, write_v5, write_v73

from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import DataPlaces
from zslplat.data.store.rows import Stored
from zslplat.errors import DataError, UsageError

X, Y, *_ = toy_arrays()
PHOG = np.random.default_rng(7).integers(0, 9, (80, 3))


@pytest.fixture
def places(tmp_path):
    places = write_folder(tmp_path / "AWA1")
    folder = tmp_path / "AWA1"
    (folder / "res101.mat").rename(folder / "cq.mat")
    write_v73(folder / "phog.mat", {"features": PHOG.T, "labels": Y[:, None] + 1})
    return places


def load(places, **options):
    return Xlsa17(path="AWA1", **options).load(places)


@pytest.mark.parametrize("cached", [False, True])
def test_several_features_files_are_views_in_the_order_asked_for(places, cached):
    if not cached:
        places = DataPlaces(places.root)
    dataset = load(places, features="cq+phog")
    assert [(view.name, view.shape) for view in dataset.views] == [("cq", (6,)), ("phog", (3,))]
    assert np.array_equal(np.asarray(dataset.X), np.hstack([X, PHOG]))
    assert np.array_equal(dataset.y, Y)
    assert [view.name for view in load(places, features="phog+cq").views] == ["phog", "cq"]
    assert load(places, features="cq").views == ()
    assert "features: cq+phog" in f"features: {dataset.source['features'].replace('.mat', '')}"


def test_a_features_file_is_kept_once_for_all_that_share_it(places):
    def files(dataset):
        return [source.file for source in dataset.features().values() if isinstance(source, Stored)]

    alone, both = load(places, features="cq"), load(places, features="cq+phog")
    again = load(places, features="cq+phog")
    assert len(files(both)) == 2
    assert files(both) == files(again)
    assert files(both)[0] == files(alone)[0]
    assert again.fingerprint == both.fingerprint == load(DataPlaces(places.root), features="cq+phog").fingerprint


def test_labels_of_all_features_files_must_agree(places):
    folder = places.root / "AWA1"
    other = Y.copy()
    other[[4, 9]] = (other[[4, 9]] + 1) % 8
    write_v5(folder / "phog.mat", {"features": PHOG.T, "labels": other[:, None] + 1})
    with pytest.raises(DataError, match=r"phog\.mat: labels are not those of cq\.mat: 2 of 80 rows .*, first row 5"):
        load(places, features="cq+phog")
    write_v5(folder / "phog.mat", {"features": PHOG[:79].T, "labels": Y[:79, None] + 1})
    with pytest.raises(DataError, match=r"phog\.mat: labels are not those of cq\.mat: 79 rows against 80"):
        load(places, features="cq+phog")


def test_views_that_are_not_there_or_named_twice_are_refused(places):
    with pytest.raises(DataError, match=r"no features file lss\.mat; features there: cq, phog"):
        load(places, features="cq+lss")
    with pytest.raises(UsageError, match=r"features=cq\+cq names a view twice"):
        load(places, features="cq+cq")


def test_a_file_with_a_plus_in_its_name_is_one_file(places):
    (places.root / "AWA1" / "phog.mat").rename(places.root / "AWA1" / "c+d.mat")
    assert load(places, features="c+d").views == ()

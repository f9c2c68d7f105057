"""The real data sets and the official splits load with their documented sizes and marks."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import scipy.io

from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import DataPlaces

EXPECTED = {
    # folder: options, rows, dimensions, attributes, split sizes, fold sizes
    "CIFAR100": ({"features": "mnv2"}, 60000, 1280, 100, (40000, 8000, 12000), [(64, 16)] * 3),
    "AWA1": ({"features": "surf"}, 30475, 2000, 85, (19832, 4958, 5685), [(27, 13)] * 3),
    "CIFARAWA": ({"features": "mnv2"}, 12000, 1280, 85, (7200, 1800, 3000), []),
    "ISOLET": ({"features": "isolet"}, 1560, 617, 35, (768, 192, 600), [(11, 5)] * 3),
}


@pytest.fixture(scope="module")
def real(real_data, tmp_path_factory):
    return DataPlaces(real_data / "xlsa17", tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("name", EXPECTED)
def test_real_folders_have_their_documented_sizes(name, real):
    options, rows, dimensions, attributes, sizes, folds = EXPECTED[name]
    dataset = Xlsa17(path=name, **options).load(real)
    assert dataset.X.shape == (rows, dimensions)
    assert dataset.signature_set().values.shape[1] == attributes
    assert tuple(len(dataset.rows(s)) for s in ("train", "test_seen", "test_unseen")) == sizes
    assert [(len(f.train), len(f.validation)) for f in dataset.folds] == folds
    assert Xlsa17(path=name, **options).load(real).fingerprint == dataset.fingerprint
    stored = scipy.io.loadmat(real.root / name / f"{options['features']}.mat")
    scale = float(np.ravel(stored.get("scale", stored.get("feature_scale", 1.0)))[0])
    for row in (0, rows // 2, rows - 1):
        assert np.allclose(dataset.X[row], stored["features"][:, row] * scale, rtol=1e-6)
    assert np.array_equal(dataset.y, stored["labels"].ravel().astype(int) - 1)


def test_real_standard_split_is_that_of_the_paper(real):
    dataset = Xlsa17(
        path="AWA1", features="surf", trainval="ss_trainval_loc", test_unseen="ss_test_loc", test_seen=None
    ).load(real)
    assert len(dataset.rows("train")) == 24295
    assert len(dataset.rows("test_unseen")) == 6180
    seen = set(np.unique(dataset.y[dataset.rows("train")]).tolist())
    assert all(set(f.train) | set(f.validation) == seen for f in dataset.folds)


SPLITS_ONLY = {
    # folder: classes, attributes, split sizes, held-out classes per fold
    "APY": (32, 64, (5932, 1483, 7924), [5, 5, 5]),
    "AWA1": (50, 85, (19832, 4958, 5685), [13, 13, 13]),
    "AWA2": (50, 85, (23527, 5882, 7913), [13, 13, 13]),
    "CUB": (200, 312, (7057, 1764, 2967), [50, 50, 50]),
    "FLO": (102, 1024, (5631, 1403, 1155), [20]),
    "SUN": (717, 102, (10320, 2580, 1440), [65, 65, 65]),
}


@pytest.mark.parametrize("name", SPLITS_ONLY)
def test_official_splits_load_with_stand_in_features(name, real_data, tmp_path):
    """The official splits and class lists, with labels made to agree with them, because the folders hold none."""
    classes, attributes, sizes, held_out = SPLITS_ONLY[name]
    source = real_data / "xlsa17-splits-only" / name
    for path in source.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    stored = scipy.io.loadmat(source / "att_splits.mat")
    loc = {key: stored[key].ravel().astype(int) - 1 for key in stored if key.endswith("_loc")}
    count = 1 + max(rows.max() for rows in loc.values())
    if "allclasses_names" in stored:
        names = [str(cell[0]) for cell in stored["allclasses_names"].ravel()]
        unseen = [names.index(text) for text in (source / "testclasses.txt").read_text().split()]
        validation = []
    else:
        unseen, validation = list(range(20)), list(range(20, 40))
    seen = np.setdiff1d(np.arange(classes), [*unseen, *validation])
    y = np.zeros(count, dtype=int)
    for rows, labels in ((loc["trainval_loc"], seen), (loc["test_seen_loc"], seen), (loc["test_unseen_loc"], unseen)):
        y[rows] = np.resize(labels, len(rows))
    if validation:
        y[loc["val_loc"]] = np.resize(validation, len(loc["val_loc"]))
    scipy.io.savemat(tmp_path / "res101.mat", {"features": np.ones((2, count)), "labels": y[:, None] + 1.0})
    dataset = Xlsa17(path=str(tmp_path)).load(DataPlaces())
    assert dataset.signature_set().values.shape == (classes, attributes)
    assert tuple(len(dataset.rows(s)) for s in ("train", "test_seen", "test_unseen")) == sizes
    assert [len(f.validation) for f in dataset.folds] == held_out
    for fold in dataset.folds:
        assert len(fold.train) + len(fold.validation) == len(np.unique(y[dataset.rows("train")]))
    assert dataset.class_names[0] == (names[0] if "allclasses_names" in stored else "1")


@pytest.mark.long
def test_ridge_compatibility_reaches_the_known_mark_on_isolet(real):
    """ESZSL (closed form) with the constants that validation picks; .345 is the documented mark, chance is .10."""
    dataset = Xlsa17(path="ISOLET", features="isolet").load(real)
    train, test = dataset.rows("train"), dataset.rows("test_unseen")
    seen, unseen = np.unique(dataset.y[train]), np.unique(dataset.y[test])
    X = dataset.X.astype(np.float64) - dataset.X[train].mean(axis=0, dtype=np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    S = dataset.signature_set().values
    S = S - S[seen].mean(axis=0)
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    scores = {}
    for alpha in (1e-2, 1e-1, 1.0, 10.0):
        Y = (dataset.y[train, None] == seen).astype(float)
        left = np.linalg.solve(X[train].T @ X[train] + alpha * np.eye(617), X[train].T @ Y @ S[seen])
        W = np.linalg.solve(S[seen].T @ S[seen] + np.eye(S.shape[1]), left.T).T
        predicted = unseen[np.argmax(X[test] @ W @ S[unseen].T, axis=1)]
        scores[alpha] = np.mean([np.mean(predicted[dataset.y[test] == c] == c) for c in unseen])
    assert 0.25 < max(scores.values()) < 0.45, scores

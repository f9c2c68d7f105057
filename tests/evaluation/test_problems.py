"""Problems keep where rows lie, not the rows; folds are made for who wants arrays, and are the first to go."""

import os
from dataclasses import replace

import numpy as np
import pytest
from zero_shot_toys import SENTINEL, toy, with_changed_test_data

from zslplat.data.dataset import Dataset
from zslplat.data.store.array_store import open_entry
from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import Rows
from zslplat.data.store.stored_sets import in_files
from zslplat.errors import DataError, StoreError
from zslplat.evaluation.cache.arrays import ArrayCache, write_arrays
from zslplat.evaluation.cache.problems import folds_of, load_problem, preprocess, save_problem, views_of
from zslplat.families.coding.task import Coding
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.families.selection.task import FeatureSelection
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.unseen import Retrieval, ZeroShot

STEPS = Preprocessing(features=("standardise", "split", "l2"), signatures=("center", "l2"))
ZERO_SHOT = [ZeroShot, GeneralizedZeroShot, Retrieval]
ROWS = ("X", "X_pool", "X_unseen", "gallery")
TASKS = [*ZERO_SHOT, FeatureSelection, ExemplarRetrieval]


def problems_of(task, data, place, split="validation"):
    """Return the folders of the problems of a data set that lies in files, preprocessed."""
    dataset = in_files(data, place / "data")
    made = task.validation(dataset) if split == "validation" else [task.test(dataset)]
    folders = []
    for problem in made:
        folders.append(place / "prepared" / f"{split}-{problem.name}")
        save_problem(folders[-1], preprocess(problem, task, STEPS))
    return folders


def in_memory(task, data, split="validation"):
    made = task.validation(data) if split == "validation" else [task.test(data)]
    return [preprocess(problem, task, STEPS) for problem in made]


@pytest.mark.parametrize("task_class", [*TASKS, Coding])
@pytest.mark.parametrize("split", ["validation", "test"])
def test_rows_in_files_give_the_problems_of_rows_in_memory(tmp_path, task_class, split):
    task = task_class(**({"first": 2, "last": 4, "step": 1} if task_class is FeatureSelection else {}))
    data = toy(rows=20) if task_class is not Coding else replace(toy(rows=20), splits={})
    folders = problems_of(task, data, tmp_path, split)
    for folder, expected in zip(folders, in_memory(task, data, split), strict=True):
        for blocks in (False, True):
            found = load_problem(folder, blocks=blocks)
            assert found.inputs.keys() == expected.inputs.keys()
            for name, array in expected.inputs.items():
                assert isinstance(found.inputs[name], Rows) == (blocks and name in ROWS), name
                assert found.inputs[name].dtype == np.asarray(array).dtype, name
                # Sums over rows run in the order of the file.
                close = np.allclose if np.issubdtype(array.dtype, np.floating) else np.array_equal
                assert close(np.asarray(found.inputs[name]), array), name
            for name, array in expected.truth.items():
                assert np.array_equal(found.truth[name], array)
            assert found.meta == expected.meta


def kept_parts(folder):
    """Return everything that the entry of a problem holds for methods."""
    arrays, entry = open_entry(folder)
    return {name: np.array(a) for name, a in arrays.items() if not name.startswith("truth/")}, entry["rows"]


@pytest.mark.parametrize("task_class", ZERO_SHOT)
def test_poisoned_test_rows_change_nothing_that_validation_sees(tmp_path, task_class):
    data = toy(rows=30)
    both = {"as given": data, "poisoned": with_changed_test_data(data)}
    folders = [problems_of(task_class(), own, tmp_path / name) for name, own in both.items()]
    for one, other in zip(*folders, strict=True):
        (arrays, rows), (others, other_rows) = kept_parts(one), kept_parts(other)
        assert arrays.keys() == others.keys()
        assert all(np.array_equal(arrays[name], others[name]) for name in arrays)
        for name in rows:
            assert [p["steps"] for p in rows[name]["parts"]] == [p["steps"] for p in other_rows[name]["parts"]]
        first, second = (load_problem(folder, blocks=True).inputs for folder in (one, other))
        for name in rows:
            for (where, block), (other_where, other_block) in zip(
                first[name].blocks(), second[name].blocks(), strict=True
            ):
                assert where == other_where if isinstance(where, slice) else np.array_equal(where, other_where)
                assert np.array_equal(block, other_block)


@pytest.mark.parametrize("task_class", ZERO_SHOT)
def test_statistics_of_the_test_problem_come_from_training_rows(tmp_path, task_class):
    data = toy(rows=30)
    (folder,) = problems_of(task_class(), data, tmp_path, "test")
    steps = load_problem(folder, blocks=True).inputs["X"].parts[0].steps.steps
    train = np.asarray(data.X[data.splits["train"]], dtype=np.float64)
    assert np.allclose(steps[0].arrays["mean"], train.mean(axis=0))
    assert np.allclose(steps[0].arrays["scale"], train.std(axis=0))
    assert np.abs(steps[0].arrays["mean"]).max() < SENTINEL / 10


def test_validation_rows_are_no_part_of_the_statistics(tmp_path):
    data = toy(rows=30)
    for folder, raw in zip(problems_of(ZeroShot(), data, tmp_path), ZeroShot().validation(data), strict=True):
        steps = load_problem(folder, blocks=True).inputs["X_pool"].parts[0].steps.steps
        assert np.allclose(steps[0].arrays["mean"], raw.inputs["X"].mean(axis=0, dtype=np.float64), atol=1e-6)


def test_no_row_is_copied_until_an_array_is_wanted(tmp_path):
    (folder,) = problems_of(ZeroShot(), toy(rows=200, d=50), tmp_path, "test")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    problem = load_problem(folder, blocks=True)
    assert size < 0.3 * (problem.inputs["X"].nbytes + problem.inputs["X_pool"].nbytes)
    assert not any(fold.exists() for fold in folds_of(folder))
    arrays = load_problem(folder).inputs
    assert all(fold.exists() for fold in folds_of(folder))
    again = load_problem(folder).inputs
    assert all(again[name].filename == arrays[name].filename for name in ("X", "X_pool"))


def test_folds_are_the_first_to_go_and_come_again(tmp_path):
    (folder,) = problems_of(ZeroShot(), toy(rows=50), tmp_path, "test")
    expected = np.array(load_problem(folder).inputs["X"])
    write_arrays(tmp_path / "prepared" / "statistics", {"A": np.zeros(10)}, {})
    cache = ArrayCache(tmp_path / "prepared", 0)
    sizes = {entry: sum(f.stat().st_size for f in entry.rglob("*") if f.is_file()) for entry in cache.root.iterdir()}
    folds = folds_of(folder)
    for entry in cache.root.iterdir():
        os.utime(entry, (0, 1e9 if entry in folds else 1e8))  # folds were used last
    cache.limit_bytes = sum(size for entry, size in sizes.items() if entry not in folds)
    assert cache.evict() == len(folds)
    assert not any(fold.exists() for fold in folds)
    assert np.array_equal(load_problem(folder).inputs["X"], expected)


def test_a_damaged_fold_is_made_again(tmp_path):
    (folder,) = problems_of(ZeroShot(), toy(rows=50), tmp_path, "test")
    expected = np.array(load_problem(folder).inputs["X"])
    (fold,) = (f for f in folds_of(folder) if np.array_equal(open_entry(f)[0]["rows"].shape, expected.shape))
    (file,) = fold.glob("*.npy")
    file.write_bytes(file.read_bytes()[:-5])
    again = load_problem(folder).inputs["X"]
    assert np.array_equal(again, expected)
    assert again.filename == str(file)


def test_rows_that_are_gone_are_an_error_that_says_so(tmp_path):
    (folder,) = problems_of(ZeroShot(), toy(), tmp_path, "test")
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"are gone.*give the same command again"):
        load_problem(folder)


def test_a_problem_knows_the_views_of_its_rows(tmp_path):
    plain = toy(rows=20, d=6)
    views = {"left": np.array(plain.X[:, :2]), "right": np.array(plain.X[:, 2:]).reshape(-1, 2, 2)}
    data = Dataset("toy", Rows.of(views), plain.y, plain.class_names, plain.signatures, splits=plain.splits)
    folders = problems_of(ZeroShot(), data, tmp_path)
    # Both have negative values, and split doubles a view; matrices are left as they are.
    assert [(view.name, view.shape) for view in views_of(load_problem(folders[0]))] == [
        ("left", (4,)),
        ("right", (2, 2)),
    ]
    found = load_problem(folders[0])
    assert found.inputs["X"].shape[1] == 8
    assert views_of(load_problem(problems_of(ZeroShot(), plain, tmp_path / "plain")[0])) == ()


@pytest.mark.parametrize("task_class", [*TASKS, Coding])
def test_training_rows_that_are_all_the_same_are_a_fault_of_the_data(tmp_path, task_class):
    task = task_class(**({"first": 2, "last": 4, "step": 1} if task_class is FeatureSelection else {}))
    data = toy(rows=20) if task_class is not Coding else replace(toy(rows=20), splits={})
    data = replace(data, X=np.zeros_like(np.asarray(data.X)), known_fingerprint="")
    with pytest.raises(DataError, match=r"fold-1: all \d+ training rows are the same row of zeros"):
        problems_of(task, data, tmp_path)

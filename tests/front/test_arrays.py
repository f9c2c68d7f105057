"""Arrays in memory are data sets like those of files: the same checks, the same fingerprint, the same numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import array_toys
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import zslplat
from zslplat.errors import DataError, MissingDataError, UsageError
from zslplat.evaluation.components import open_dataset
from zslplat.front.datasets import dataset_spec
from zslplat.settings import resolve_settings
from zslplat.spec import Spec


@pytest.fixture
def toy():
    """Rows of 9 classes named by texts, the last three of which are unseen."""
    rng = np.random.default_rng(4)
    names = [f"bird {i}" for i in range(9)]
    S = rng.normal(size=(9, 5))
    y = np.repeat(np.arange(9), 8)
    X = S[y] @ rng.normal(size=(5, 7)) + 0.2 * rng.normal(size=(72, 7))
    return X, y, S, names


def test_arrays_make_the_data_set_that_their_file_makes(tmp_path):
    arrays = array_toys.toy()
    np.savez(tmp_path / "toy.npz", **arrays)
    by_file = zslplat.load_dataset(f'npz(path="{tmp_path}/toy.npz")', store=tmp_path / "mlruns")
    made = zslplat.make_dataset(arrays.pop("X"), arrays.pop("y"), arrays.pop("S", None), name="toy", **arrays)
    assert made.fingerprint == by_file.fingerprint
    assert made.splits.keys() == by_file.splits.keys()
    assert (made.name, made.class_names) == ("toy", by_file.class_names)


def test_tables_name_their_classes_and_attributes(toy):
    X, y, S, names = toy
    table = pd.DataFrame(S, index=names, columns=list("abcde"))
    labels = pd.Series([names[i] for i in y])
    made = zslplat.make_dataset(pd.DataFrame(X), labels, table, unseen=names[6:])
    plain = zslplat.make_dataset(X, y, S, class_names=names, unseen=[6, 7, 8])
    assert made.class_names == plain.class_names == tuple(names)
    assert made.fingerprint == plain.fingerprint
    assert made.signature_set().names == tuple("abcde")
    assert {split: len(rows) for split, rows in made.splits.items()} == {"train": 48, "test_unseen": 24}
    assert zslplat.make_dataset(X, y, table, unseen=names[6:]).fingerprint == plain.fingerprint
    shuffled = table.sample(frac=1, random_state=0)
    again = zslplat.make_dataset(X, labels, shuffled, unseen=names[6:])
    assert again.class_names == tuple(shuffled.index)
    assert [again.class_names[i] for i in again.y] == labels.tolist()


def test_a_class_of_several_rows_has_several_signatures(toy):
    X, y, S, names = toy
    doubled = pd.DataFrame(np.vstack([S, S + 0.1]), index=names * 2)
    made = zslplat.make_dataset(X, [names[i] for i in y], doubled, unseen=names[6:])
    values, described = made.class_signatures()
    assert values.shape == (18, 5)
    assert described.tolist() == list(range(9)) * 2


def test_views_and_rows_that_stay_together_are_kept(toy):
    X, y, S, _ = toy
    made = zslplat.make_dataset(
        {"one": X, "two": X[:, :3]}, y, S, unseen=[7, 8], groups=[f"g{i // 2}" for i in range(72)]
    )
    assert [view.name for view in made.views] == ["one", "two"]
    assert made.groups.tolist() == [i // 2 for i in range(72)]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"y": [0, 1], "unseen": None}, DataError, "72 rows of features but 2 labels"),
        ({"S": np.ones((5, 9))}, DataError, "transposed|run to 8"),
        ({"y": ["bird 0"] * 72, "unseen": None}, DataError, "class_names must say"),
        ({"unseen": [20]}, DataError, "unseen names class .20., which has no name, signature or row"),
        ({"unseen": ["cat"]}, DataError, "which has no name"),
        ({"unseen": [8], "split": ["train"] * 72}, DataError, "both say which classes are tested"),
        ({"X": np.full((72, 3), np.nan)}, DataError, "row 0 holds NaN"),
        ({"X": [["a"]] * 72}, DataError, "expected numbers"),
        ({"split": ["trian"] * 72, "unseen": None}, DataError, "did you mean train"),
    ],
)
def test_what_does_not_fit_together_is_one_clear_error(toy, changes, error, message):
    X, y, S, _ = toy
    with pytest.raises(error, match=message):
        zslplat.make_dataset(**{"X": X, "y": y, "S": S, "unseen": [6, 7, 8], **changes})


def test_a_data_set_in_memory_is_kept_by_its_content(toy, tmp_path):
    X, y, S, _ = toy
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    made = zslplat.make_dataset(X, y, S, name="birds", unseen=[6, 7, 8])
    spec = dataset_spec(made, settings)
    assert spec == dataset_spec({"X": X, "y": y, "S": S, "name": "birds", "unseen": [6, 7, 8]}, settings)
    assert spec.name == "arrays"
    assert spec != dataset_spec(replace(made, X=X + 1), settings)
    found = open_dataset(Spec.parse(str(spec)), settings)
    assert (found.name, found.fingerprint) == ("birds", made.fingerprint)
    assert (np.asarray(found.X) == X).all()
    elsewhere = resolve_settings({"store": tmp_path / "other"})
    with pytest.raises(MissingDataError, match="the store does not keep arrays"):
        open_dataset(spec, elsewhere)
    with pytest.raises(UsageError, match="make_dataset"):
        open_dataset(Spec("arrays"), settings)


def test_a_data_set_that_was_loaded_by_name_is_that_of_the_name(tmp_path):
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    loaded = zslplat.load_dataset("digit-pairs")
    assert dataset_spec(loaded, settings) == Spec("digit-pairs")
    assert dataset_spec(replace(loaded, y=loaded.y[::-1].copy(), splits={}), settings).name == "arrays"


@pytest.mark.long
def test_a_command_knows_what_a_function_evaluated_on_arrays(call, new_store, toy, tmp_path):
    X, y, S, _ = toy
    store = new_store()
    given = {"X": X, "y": y, "S": S, "name": "birds", "unseen": [6, 7, 8]}
    found = zslplat.evaluate("eszsl", given, test=True, store=store, workers=1, quiet=True)
    assert found.experiment.dataset_title == "birds"
    moved = store.rename(tmp_path / "moved")
    again = ("run", "-m", "eszsl", "-d", found.experiment.dataset, "--test", "--json", "--store", moved, "--workers", 1)
    told = json.loads(call(*again).stdout)
    assert told["recalled"] == 1
    assert told["metrics"] == json.loads(json.dumps(found.result.metrics))
    np.savez(tmp_path / "birds.npz", X=X, y=y, S=S, train=y < 6)
    of_file = ("run", "-m", "eszsl", "-d", f'npz(path="{tmp_path}/birds.npz")', "--test", "--json", "--workers", 1)
    assert json.loads(call(*of_file, "--store", moved).stdout)["metrics"] == told["metrics"]
    assert call("rerun", told["run_ids"][0], "--check", "--store", moved, "--workers", 1).returncode == 0


def test_labels_and_signatures_in_other_containers_are_the_same_data_set(toy):
    X, y, S, names = toy
    labels = [names[i] for i in y]
    plain = zslplat.make_dataset(X, y, S, class_names=names, unseen=[6, 7, 8])
    table = pd.DataFrame(S, index=names)
    by_name = dict(zip(names, S, strict=True))
    for given in (
        {"X": X, "y": labels, "S": by_name, "unseen": set(names[6:])},
        {"X": X.astype(object), "y": pd.Series(labels).astype("category"), "S": table, "unseen": [6, 7, 8]},
        {"X": X, "y": y.astype(object), "S": S.astype(object), "class_names": names, "unseen": [6, 7, 8]},
        {"X": X, "y": y.astype(float), "S": table, "unseen": names[6:]},
        {"X": X, "y": pd.DataFrame({"label": labels}), "S": table, "unseen": names[6:]},
    ):
        made = zslplat.make_dataset(**given)
        assert (made.fingerprint, made.class_names) == (plain.fingerprint, tuple(names))
    one = zslplat.make_dataset(X, labels, table, unseen=names[8])
    assert one.splits["test_unseen"].tolist() == np.flatnonzero(y == 8).tolist()
    codes = pd.DataFrame(S, index=np.arange(9) + 100)
    assert zslplat.make_dataset(X, y + 100.0, codes, unseen=[108]).class_names == tuple(map(str, range(100, 109)))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"row_signature": np.zeros((72, 5))}, UsageError, "'row_signature'; did you mean row_signatures"),
        ({"X": csr_matrix(np.eye(72))}, DataError, r"X is a sparse matrix; give an array, X.toarray"),
        ({"S": csr_matrix(np.eye(9))}, DataError, r"S is a sparse matrix"),
        ({"S": {"bird 0": [1.0, 2.0], "bird 1": [1.0]}}, UsageError, r"\[1, 2\] attributes"),
        ({"y": np.array([None] + ["bird 1"] * 71, dtype=object)}, DataError, "y: entry 0 is missing"),
        ({"X": np.array([["a"]] * 72, dtype=object)}, DataError, "holds 'a'; expected numbers"),
        ({"X": np.array([["1.5"]] * 72, dtype=object)}, DataError, "holds '1.5'; expected numbers"),
    ],
)
def test_what_is_no_array_is_one_clear_error(toy, changes, error, message):
    X, y, S, names = toy
    given = {"X": X, "y": [names[i] for i in y], "S": pd.DataFrame(S, index=names)}
    with pytest.raises(error, match=message):
        zslplat.make_dataset(**{**given, **changes})


@pytest.mark.long
def test_a_look_at_the_test_split_under_another_name_counts_once(new_store, toy):
    X, y, S, _ = toy
    store, looks = new_store(), []
    for name, alpha in (("birds", 1.0), ("fowl", 1.0), ("fowl", 10.0)):
        options = {
            "method": f"eszsl(alpha={alpha}, gamma=1)",
            "test": True,
            "store": store,
            "workers": 1,
            "quiet": True,
        }
        looks.append(zslplat.evaluate(X, y, S, unseen=[6, 7, 8], name=name, **options).result.test_evaluations)
    assert looks == [1, 1, 2]


def test_arrays_and_columns_of_a_frame_make_a_data_set(toy):
    X, y, S, names = toy
    plain = zslplat.make_dataset(X, [names[i] for i in y], pd.DataFrame(S, index=names), unseen=3)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]).assign(bird=[names[i] for i in y])
    made = zslplat.make_dataset(frame, "bird", pd.DataFrame(S, index=names), unseen=3)
    assert made.fingerprint == plain.fingerprint
    assert (made.S == S).all()
    with pytest.raises(DataError, match=r"X, column 'bird' holds 'bird 0'; .*X\.drop\(columns='bird'\)"):
        zslplat.make_dataset(frame, frame["bird"], pd.DataFrame(S, index=names), unseen=3)
    with pytest.raises(DataError, match=r"which classes are unseen\? Name them, make_dataset\(X, y, S, unseen"):
        zslplat.make_dataset(X, y, S)
    assert zslplat.make_dataset(X, y, S, unseen=[]).splits == {}


def test_arrays_in_the_place_of_method_and_data_set_are_understood_or_refused(toy):
    X, y, S, _ = toy
    frame = pd.DataFrame(X)
    with pytest.raises(UsageError, match=r"1 arguments, .*; expected tune\(X, y, S, unseen"):
        zslplat.tune(frame, method="eszsl")
    with pytest.raises(UsageError, match=r"dataset=a DataFrame of shape \(72, \d+\): expected"):
        zslplat.tune("eszsl", frame)
    with pytest.raises(DataError, match="which classes are unseen"):
        zslplat.tune(X, y, S, method="eszsl")

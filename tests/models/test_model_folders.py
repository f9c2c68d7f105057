"""A model on disk is arrays and JSON; what was changed, damaged, lost or written by a later version says so."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from model_toys import animals, kept

from zslplat.errors import StoreError
from zslplat.models.folder import (
    SHARED_BYTES,
    bytes_of,
    free,
    read_model,
    save_model,
    share,
    state_within,
    unneeded,
    write_model,
)
from zslplat.models.model import load_saved
from zslplat.registry import component

LARGE = np.arange(SHARED_BYTES // 8 + 1, dtype=np.float64)
CONTENT = {"state": {"W_": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "n_": 3, "names_": ["a", None]}, "X": LARGE}


def test_content_comes_back_as_it_was_with_the_order_of_arrays_in_memory(tmp_path):
    write_model(tmp_path / "model", CONTENT)
    found = read_model(tmp_path / "model").content
    assert np.array_equal(found["state"]["W_"], CONTENT["state"]["W_"])
    assert found["state"]["W_"].flags.f_contiguous
    assert found["state"]["n_"] == 3
    assert found["state"]["names_"] == ["a", None]


def test_no_file_of_a_model_is_a_pickle(tmp_path):
    write_model(tmp_path / "model", CONTENT)
    assert {path.suffix for path in (tmp_path / "model").rglob("*.*")} == {".json", ".npy"}
    for path in (tmp_path / "model").rglob("*.npy"):
        np.load(path, allow_pickle=False)
    with pytest.raises(TypeError, match="neither an array nor JSON"):
        write_model(tmp_path / "other", {"state": object()})
    with pytest.raises(TypeError, match="object"):
        write_model(tmp_path / "other", {"state": np.array([object()])})
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda whole: whole["content"].update(n=4), "it is not what was written"),
        (lambda whole: whole.update(format=2, zslplat="9.9"), "format 2, written by zslplat 9.9.*update zslplat"),
        (lambda whole: whole.update(format="one"), "it is no model"),
        (lambda whole: whole.pop("content"), "it is no model"),
    ],
)
def test_a_model_that_was_changed_or_is_newer_is_refused_with_the_reason(tmp_path, change, told):
    write_model(tmp_path / "model", CONTENT)
    index = tmp_path / "model" / "model.json"
    whole = json.loads(index.read_text())
    change(whole)
    index.write_text(json.dumps(whole))
    with pytest.raises(StoreError, match=told):
        read_model(tmp_path / "model")


def test_an_index_that_is_cut_off_and_arrays_that_are_damaged_or_gone_are_refused(tmp_path):
    folder = tmp_path / "model"
    write_model(folder, CONTENT)
    index = folder / "model.json"
    text = index.read_text()
    index.write_text(text[:100])
    with pytest.raises(StoreError, match="cannot be read"):
        read_model(folder)
    index.write_text(text)
    array = next((folder / "arrays").glob("*.npy"))
    content = array.read_bytes()
    array.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(StoreError, match="it is not what was written"):
        read_model(folder)
    array.unlink()
    with pytest.raises(StoreError, match="is missing"):
        read_model(folder)
    with pytest.raises(StoreError, match="holds no model"):
        read_model(tmp_path / "nothing")


def names(store):
    return sorted(path.name for path in (store / "models").glob("*.npy"))


def test_models_share_large_arrays_which_go_with_the_last_of_them(tmp_path):
    store = tmp_path / "mlruns"
    folders = [store / "evaluations" / run / "model" for run in ("one", "two")]
    for number, folder in enumerate(folders):
        write_model(folder, {**CONTENT, "number": number})
        share(folder, store)
    (large,) = names(store)
    assert (folders[0] / "arrays" / large).samefile(folders[1] / "arrays" / large)
    assert bytes_of(folders[0]) > SHARED_BYTES
    assert np.array_equal(read_model(folders[1]).content["X"], LARGE)
    shutil.copytree(folders[0], tmp_path / "copy")
    assert unneeded(store) == []
    assert unneeded(store, [folder.parent for folder in folders[:1]]) == []
    assert [path.name for path in unneeded(store, [folder.parent for folder in folders])] == [large]
    shutil.rmtree(folders[0])
    assert free(store) == 0
    shutil.rmtree(folders[1])
    assert free(store) > SHARED_BYTES
    assert names(store) == []
    assert np.array_equal(read_model(tmp_path / "copy").content["X"], LARGE)


def test_a_file_system_without_links_keeps_an_array_for_each_model(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    write_model(tmp_path / "mlruns" / "evaluations" / "one" / "model", CONTENT)
    share(tmp_path / "mlruns" / "evaluations" / "one" / "model", tmp_path / "mlruns")
    assert names(tmp_path / "mlruns") == []


def test_a_state_above_the_bound_is_left_out_and_the_record_says_so(tmp_path):
    found = kept(tmp_path, "keszsl", "zsl", animals(), most=1000)
    assert "above the 0 MiB that are kept" in found.told["left_out"]
    assert not found.folder.exists()


def test_what_a_method_cannot_tell_is_left_out_and_no_error_of_the_evaluation(tmp_path):
    class Odd(component("methods", "eszsl")):
        def state(self):
            return {"solver_": object()}

    told = state_within(Odd().fit(np.eye(4), np.arange(4), np.eye(4)), 2**20)
    assert told["state"]
    task, problem = component("tasks", "zsl")(), kept(tmp_path, "eszsl", "zsl", animals()).problem
    record = save_model(tmp_path / "model", told, task, problem, Odd(), {}, {})
    assert "object is neither an array nor JSON" in record["left_out"]
    assert not (tmp_path / "model").exists()
    Odd.state = lambda self: 1 / 0
    assert "cannot tell what it learned: ZeroDivisionError" in state_within(Odd(), 2**20)["left_out"]


def test_nothing_of_the_truth_is_in_a_model(tmp_path):
    dataset = animals()
    found = kept(tmp_path, "eszsl", "gzsl", dataset)
    arrays = [np.load(path) for path in (found.folder / "arrays").glob("*.npy")]
    hidden = {name: value for name, value in found.problem.truth.items() if len(value) > 3}
    assert {"y_pool", "row_pool"} <= set(hidden)
    for name, value in hidden.items():
        for array in arrays:
            assert array.shape != value.shape or not np.array_equal(np.sort(array), np.sort(value)), name
    pool = np.asarray(dataset.X)[found.problem.truth["row_pool"]]
    assert not any(array.shape[0] == len(pool) for array in arrays if array.ndim)


def test_a_model_of_a_method_that_is_not_installed_says_which(tmp_path):
    found = kept(tmp_path, "eszsl", "zsl", animals())
    content = {**read_model(found.folder).content, "method": "eszsl-of-a-stranger"}
    write_model(tmp_path / "strange", content)
    with pytest.raises(StoreError, match="'eszsl-of-a-stranger', which is not installed here"):
        load_saved(tmp_path / "strange").predict(np.zeros((2, 12)))


def test_what_a_method_of_another_version_cannot_take_is_one_clear_error(tmp_path):
    found = kept(tmp_path, "eszsl", "zsl", animals())
    content = {**read_model(found.folder).content, "parameters": {"no_such": 1}}
    write_model(tmp_path / "strange", content)
    with pytest.raises(StoreError, match="as it is installed here does not take what the model"):
        load_saved(tmp_path / "strange").predict(np.zeros((2, 12)))

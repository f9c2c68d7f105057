"""Tensors that PyTorch saved, where it is installed; what is said where it is not."""

import importlib.util

import numpy as np
import pytest
from array_toys import NAMES, save, toy

from zslplat.data.formats.npz import NpzSource
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError
from zslplat_encoders import torch_files
from zslplat_encoders.torch_files import TorchSource

TOY = toy()
installed = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


def tensors():
    import torch

    content = {
        name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in TOY.items() if name != "class_names"
    }
    return content | {"class_names": list(NAMES)}


def load(path, **options):
    dataset = TorchSource(path=str(path), **options).load(DataPlaces())
    np.asarray(dataset.X)
    return dataset


def same(found, folder, drop=()):
    plain = NpzSource(path="toy").load(save(folder, drop))
    assert np.array_equal(np.asarray(found.X), plain.X)
    assert found.X.dtype == plain.X.dtype
    assert np.array_equal(found.y, plain.y)
    assert found.class_names == plain.class_names
    assert {k: v.tolist() for k, v in found.splits.items()} == {k: v.tolist() for k, v in plain.splits.items()}
    assert np.array_equal(found.signature_set().values, plain.signature_set().values)


@installed
@pytest.mark.parametrize("form", ["one file", "nested", "older format"])
def test_tensors_by_name_hold_what_an_npz_file_holds(tmp_path, form):
    import torch

    content, path = tensors(), tmp_path / "mine.pt"
    if form == "nested":
        splits = {name: content.pop(name) for name in ("train", "test_seen", "test_unseen")}
        content["splits"] = splits
    torch.save(content, path, _use_new_zipfile_serialization=form != "older format")
    same(load(path), tmp_path)


@installed
def test_half_precision_and_gradients_are_no_hindrance(tmp_path):
    import torch

    content = tensors()
    content["X"] = (content["X"] * 16).round().to(torch.bfloat16).requires_grad_()
    torch.save(content, tmp_path / "mine.pt")
    assert np.array_equal(np.asarray(load(tmp_path / "mine.pt").X), np.round(TOY["X"] * 16))


@installed
def test_python_objects_are_not_unpickled_and_damage_is_one_clear_error(tmp_path):
    import torch

    mark = tmp_path / "mark"

    class Harm:
        def __reduce__(self):
            return (open, (str(mark), "w"))

    torch.save({**tensors(), "more": Harm()}, tmp_path / "harm.pt")
    with pytest.raises(DataError, match="holds Python objects beside tensors, which are never read"):
        load(tmp_path / "harm.pt")
    assert not mark.exists()
    (tmp_path / "text.pt").write_text("no tensors")
    torch.save({**tensors(), "X": torch.eye(30).to_sparse()}, tmp_path / "sparse.pt")
    torch.save({**tensors(), "X": {"a": 1}}, tmp_path / "strange.pt")
    for name, pattern in {"text": "text.pt", "sparse": "save it dense", "strange": "strange.pt"}.items():
        with pytest.raises(DataError, match=pattern):
            load(tmp_path / f"{name}.pt")


def test_without_pytorch_an_error_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "mine.pt").write_bytes(b"")
    monkeypatch.setattr(torch_files, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install torch; or save arrays instead: numpy\.savez"):
        load(tmp_path / "mine.pt")

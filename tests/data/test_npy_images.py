"""One ``.npy`` file per image beside a list of names."""

import numpy as np
import pytest
from array_toys import NAMES, save, toy

from zslplat.data.catalogue import layout_of
from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.npz import NpzSource
from zslplat.data.importing import import_arrays
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError

TOY = toy()
IMAGES = [f"{NAMES[c]}/img_{(7 * i) % 31}" for i, c in enumerate(TOY["y"])]  # in no order of names


def write(folder, *, inside="", listed="names.txt", suffix=".jpg", classes=False, flat=False, shape=(4,)):
    """Write the toy data, an image a file, in folders of classes or side by side."""
    names = [name.replace("/", "_") for name in IMAGES] if flat else IMAGES
    for name, row in zip(names, TOY["X"], strict=True):
        file = folder / inside / f"{name}.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, row.reshape(shape))
    labels = [NAMES[c] for c in TOY["y"]]
    lines = [f"{name}{suffix}" + (f",{label}" if classes else "") for name, label in zip(names, labels, strict=True)]
    (folder / listed).write_text("\n".join(lines) + "\n")
    if not classes:
        (folder / "labels.txt").write_text("\n".join(labels) + "\n")
    (folder / "class_names.txt").write_text("\n".join(NAMES) + "\n")
    np.save(folder / "signatures.npy", TOY["S"])
    np.save(folder / "train.npy", TOY["train"])
    return folder


def same(found, folder):
    plain = NpzSource(path="toy").load(save(folder, ("test_seen", "test_unseen", "folds", "groups")))
    assert np.array_equal(np.asarray(found.X), plain.X)
    assert np.array_equal(found.y, plain.y)
    assert {k: v.tolist() for k, v in found.splits.items()} == {k: v.tolist() for k, v in plain.splits.items()}


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"inside": "features"},
        {"flat": True},
        {"flat": True, "inside": "features", "listed": "images.txt", "suffix": ""},
        {"listed": "ids.csv", "suffix": ".npy", "classes": True},
        {"shape": (1, 4)},
        {"shape": (4, 1, 1)},
    ],
    ids=["folders", "features", "flat", "flat features", "classes", "rows", "axes"],
)
def test_images_are_rows_in_the_order_of_the_list(tmp_path, how):
    folder = write(tmp_path / "mine", **how)
    assert layout_of(folder).kind == "npy"
    found = NpySource(path=str(folder)).load(DataPlaces())
    same(found, tmp_path)
    assert f"30 .npy files are taken for the rows that {how.get('listed', 'names.txt')} lists" in found.source["notes"]
    imported = import_arrays(folder, tmp_path / "root", "copy")
    same(NpySource(path=str(imported.path)).load(DataPlaces()), tmp_path)


def test_labels_may_stand_beside_names_in_another_order(tmp_path):
    folder = write(tmp_path / "mine")
    lines = [f"{name}.jpg,{NAMES[c]}" for name, c in zip(IMAGES, TOY["y"], strict=True)]
    (folder / "labels.txt").write_text("\n".join(sorted(lines)) + "\n")
    same(NpySource(path=str(folder)).load(DataPlaces()), tmp_path)
    (folder / "labels.txt").write_text("\n".join(sorted(lines)[1:]) + "\n")
    with pytest.raises(DataError, match=r"says nothing of 'ant/img_.*which names\.txt lists"):
        NpySource(path=str(folder)).load(DataPlaces())


def test_what_is_missing_or_does_not_fit_is_named(tmp_path):
    folder = write(tmp_path / "mine")
    np.save(folder / f"{IMAGES[3]}.npy", np.ones(5, dtype=np.float32))
    with pytest.raises(DataError, match=rf"{IMAGES[3]}\.npy: holds \(5,\) .*the files of all images are alike"):
        np.asarray(NpySource(path=str(folder)).load(DataPlaces()).X)
    (folder / f"{IMAGES[3]}.npy").unlink()
    with pytest.raises(DataError, match=rf"1 of 30 names have no file, first .*{IMAGES[3]}\.npy"):
        NpySource(path=str(folder)).load(DataPlaces())
    (folder / "names.txt").write_text(f"{IMAGES[0]}.jpg\n{IMAGES[0]}.png\n")
    with pytest.raises(DataError, match="is there twice"):
        NpySource(path=str(folder)).load(DataPlaces())


@pytest.mark.parametrize("name", ["../outside/img", "/tmp/img", "a/../../img"])
def test_no_file_is_read_outside_the_folder(tmp_path, name):
    folder = write(tmp_path / "mine")
    (folder / "names.txt").write_text(f"{IMAGES[0]}.jpg\n{name}.jpg\n")
    with pytest.raises(DataError, match="leads out of the folder"):
        NpySource(path=str(folder)).load(DataPlaces())


def test_files_of_one_row_without_a_list_are_refused_with_the_way_out(tmp_path):
    folder = write(tmp_path / "mine", flat=True, inside="features")
    (folder / "names.txt").unlink()
    with pytest.raises(DataError, match=r"29 more files hold one row each; write their names in names\.txt"):
        NpySource(path=str(folder)).load(DataPlaces())

"""Tables with columns that say the split, folders of the Hugging Face hub, and files called after their splits."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from array_toys import NAMES, save, toy
from file_toys import signature_table, table

from zslplat.data.catalogue import layout_of
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import ParquetSource
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError

ROWS = {"train": np.flatnonzero(toy()["y"] < 4), "test": np.flatnonzero(toy()["y"] >= 4)}


def without_split(rows=slice(None)):
    return table(toy(), rows).drop_columns(["split", "fold", "group"])


def as_npz(folder):
    """Return the toy data with the rows of the splits one after the other, as files of splits hold them."""
    order = np.concatenate(list(ROWS.values()))
    arrays = {"X": toy()["X"][order], "y": toy()["y"][order], "train": np.arange(len(ROWS["train"]))}
    return NpzSource(path="toy").load(save(folder, ("test_seen", "test_unseen", "folds", "groups"), **arrays))


def same(dataset, other):
    assert np.array_equal(np.asarray(dataset.X), np.asarray(other.X))
    for name in ("y", "class_names"):
        assert np.array_equal(getattr(dataset, name), getattr(other, name))
    assert {k: v.tolist() for k, v in dataset.splits.items()} == {k: v.tolist() for k, v in other.splits.items()}


def test_a_folder_of_the_hub_has_the_splits_of_its_folders_and_the_names_of_its_classes(tmp_path):
    label = {"names": NAMES, "_type": "ClassLabel"}
    metadata = {"huggingface": json.dumps({"info": {"features": {"label": label}}})}
    for split, rows in ROWS.items():
        (tmp_path / "saved" / split).mkdir(parents=True)
        content = without_split(rows)
        numbers = pa.array(toy()["y"][rows])
        content = content.set_column(content.schema.get_field_index("label"), "label", numbers)
        for number, part in enumerate(np.array_split(np.arange(len(rows)), 2)):
            file = tmp_path / "saved" / split / f"data-0000{number}-of-00002.parquet"
            pq.write_table(content.take(part).replace_schema_metadata(metadata), file)
        (tmp_path / "saved" / split / "state.json").write_text("{}")
    pq.write_table(signature_table(toy()), tmp_path / "saved" / "signatures.parquet")
    found = ParquetSource(path=str(tmp_path / "saved")).load(DataPlaces())
    same(found, as_npz(tmp_path))
    assert "files are taken for the splits that their names begin with" in found.source["notes"][0]


@pytest.mark.parametrize("inside", ["", "data"])
def test_files_called_after_splits_are_their_rows(tmp_path, inside):
    folder = tmp_path / "mine" / inside
    folder.mkdir(parents=True)
    (tmp_path / "mine" / "README.md").write_text("a repository of a hub")
    for split, rows in ROWS.items():
        pq.write_table(without_split(rows), folder / f"{split}-00000-of-00001.parquet")
    pq.write_table(signature_table(toy()), tmp_path / "mine" / "signatures.parquet")
    assert layout_of(tmp_path / "mine").kind == "parquet"
    found = ParquetSource(path=str(tmp_path / "mine")).load(DataPlaces())
    # By their names, test comes before train.
    assert sorted(found.splits) == ["test_unseen", "train"]
    assert {name: sorted(found.y[rows].tolist()) for name, rows in found.splits.items()} == {
        "train": sorted(toy()["y"][ROWS["train"]].tolist()),
        "test_unseen": sorted(toy()["y"][ROWS["test"]].tolist()),
    }
    assert ParquetSource(path=str(tmp_path / "mine"), split=None).load(DataPlaces()).splits == {}


def test_a_column_of_splits_goes_before_the_names_of_files_and_a_stranger_among_them_is_refused(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    content = without_split()
    for name in ("train", "test"):
        pq.write_table(content.append_column("split", pa.array(["train"] * 30)), folder / f"{name}.parquet")
    assert len(ParquetSource(path=str(folder)).load(DataPlaces()).splits["train"]) == 60
    for name in ("train", "test", "more"):
        pq.write_table(content, folder / f"{name}.parquet")
    with pytest.raises(DataError, match=r"test\.parquet is named after a split, and more\.parquet after none.*split=n"):
        ParquetSource(path=str(folder)).load(DataPlaces())
    (folder / "test.parquet").unlink()
    assert ParquetSource(path=str(folder)).load(DataPlaces()).splits == {}  # parts, of which one has a word by chance


@pytest.mark.parametrize("kind", ["0 and 1", "truth values"])
def test_columns_of_parquet_may_be_masks(tmp_path, kind):
    content = without_split()
    for name in ("train", "test_seen", "test_unseen"):
        mask = np.isin(np.arange(30), toy()[name])
        content = content.append_column(name, pa.array(mask.astype(np.int8) if kind == "0 and 1" else mask))
    pq.write_table(content, tmp_path / "mine.parquet")
    splits = ParquetSource(path=str(tmp_path / "mine.parquet")).load(DataPlaces()).splits
    assert {name: rows.tolist() for name, rows in splits.items()} == {
        name: sorted(toy()[name].tolist()) for name in splits
    }


def test_columns_that_are_called_identifiers_are_no_features_and_named(tmp_path):
    columns = {"image_id": np.arange(30) * 7 % 31, "width": toy()["X"][:, 0], "path": ["a"] * 30, "label": toy()["y"]}
    pq.write_table(pa.table(columns), tmp_path / "mine.parquet")

    def load(**options):
        return ParquetSource(path=str(tmp_path / "mine.parquet"), **options).load(DataPlaces())

    found = load()
    assert found.X.shape == (30, 1)
    assert found.source["notes"] == ["left out: image_id, which is no feature, by its name"]
    assert found.source["unread"] == ["image_id", "path"]
    assert load(leave_out=None).X.shape == (30, 2)
    assert load(features="image_id+width").X.shape == (30, 2)
    counting = {**columns, "frame": np.arange(30) + 5}
    pq.write_table(pa.table(counting), tmp_path / "mine.parquet")
    with pytest.raises(DataError, match=r"column 1 \(frame\) counts the rows, from 5 on.*leave_out=frame"):
        np.asarray(load().X)

"""Every layout is found by its name under the data root, and opened by its path."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from array_toys import save, toy
from file_toys import write_hdf5, write_npy, write_parquet

from zslplat.data.catalogue import LAYOUTS, available, open_source, parse_dataset
from zslplat.data.description import describe
from zslplat.data.formats.fields import ALIASES
from zslplat.data.formats.hdf5 import Hdf5Source
from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.parquet import ParquetSource
from zslplat.data.source import DataPlaces
from zslplat.errors import UsageError
from zslplat.evaluation.components import registered_sources
from zslplat.evaluation.experiment import Experiment
from zslplat.spec import Spec


def one_parquet_file(path):
    folder = write_parquet(path.parent / "parts")
    (folder / "part-0.parquet").rename(path.with_suffix(".parquet"))
    (folder / "signatures.parquet").rename(path.with_name(f"{path.name}.signatures.parquet"))
    folder.rmdir()
    return path.with_suffix(".parquet")


WRITERS = {
    "npy": (write_npy, NpySource),
    "parquet": (one_parquet_file, ParquetSource),
    "parquet, many": (lambda path: write_parquet(path, 3), ParquetSource),
    "hdf5": (lambda path: write_hdf5(path.with_suffix(".h5")), Hdf5Source),
}


def opened(text, places):
    return open_source(parse_dataset(text), places, registered_sources())


@pytest.mark.parametrize("kind", WRITERS)
def test_data_under_the_root_are_listed_and_used_by_name(tmp_path, kind):
    write, loader = WRITERS[kind]
    root = tmp_path / "root"
    root.mkdir()
    path = write(root / "toy")
    card = path / "card.toml" if path.is_dir() else path.with_suffix(".card.toml")
    card.write_text('licence = "CC0"\ncitation = "me"\n[options]\nbase = 0\n')
    places = DataPlaces(root)
    assert [(entry.name, entry.kind) for entry in available(places, {})] == [("toy", kind.partition(",")[0])]
    found = opened("toy", places)
    assert isinstance(found, loader)
    dataset = found.load(places)
    assert (dataset.name, dataset.licence, dataset.citation) == ("toy", "CC0", "me")
    assert describe(dataset)["rows"] == 30


@pytest.mark.parametrize("kind", WRITERS)
def test_every_layout_is_opened_by_its_path(tmp_path, kind):
    path = WRITERS[kind][0](tmp_path / "toy")
    assert len(opened(str(path), DataPlaces()).load(DataPlaces()).X) == 30


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('parquet(path="/data/birds.v2.parquet")', "birds.v2"),
        ('parquet(path="/data/birds.v2")', "birds.v2"),
        ("hdf5(path=birds.h5)", "birds"),
        ("npy(path=birds)", "birds"),
        ("npz(path=birds.npz)", "birds"),
    ],
)
def test_names_of_studies_tell_the_file(text, title):
    assert Experiment(Spec("eszsl"), Spec.parse(text), Spec("zsl")).dataset_title == title


def test_names_joined_by_plus_are_one_value_of_a_spec():
    spec = Spec.parse("AWA1(features=cq+lss+phog, folds=none)")
    assert spec.parameters == {"features": "cq+lss+phog", "folds": None}
    assert str(spec) == 'AWA1(features="cq+lss+phog", folds=none)'
    assert Spec.parse(str(spec)) == spec
    assert Spec.parse("d(features=2d+3d)").parameters == {"features": "2d+3d"}
    with pytest.raises(UsageError, match="character"):
        Spec.parse("d(features=cq+)")


def test_the_command_line_lists_and_describes(call, tmp_path):
    (tmp_path / "data").mkdir()
    path = write_hdf5(tmp_path / "data" / "own.h5")
    with h5py.File(path, "a") as file:
        file.attrs["licence"] = "CC0"
    done = call("data", "info", "own", "--data-root", "data", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["rows"], shown["dimensions"], shown["licence"]) == (30, [4], "CC0")
    done = call("data", "list", "--data-root", "data", "--json")
    (entry,) = [entry for entry in json.loads(done.stdout) if entry["name"] == "own"]
    assert entry["kind"] == "hdf5"
    assert entry["summary"].endswith(" MB")
    for kind in ("npy", "parquet", "hdf5"):
        done = call("show", kind)
        assert done.returncode == 0, done.stderr
        assert "features" in done.stdout


def test_views_are_described(call, tmp_path):
    folder = write_npy(tmp_path / "toy", drop=["X"])
    np.save(folder / "features-cq.npy", toy()["X"])
    np.save(folder / "features-cov.npy", np.arange(120.0).reshape(30, 2, 2))
    shown = json.loads(call("data", "info", "toy/(features=cov+cq)", "--json").stdout)["views"]
    assert {name: view["dimensions"] for name, view in shown.items()} == {"cov": [2, 2], "cq": [4]}
    assert shown["cov"]["max"] == 119
    assert shown["cq"]["max"] == toy()["X"].max()
    assert "  cov: dimensions 2 x 2, min 0" in call("data", "info", "toy/").stdout


def test_every_layout_and_every_part_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    for layout in LAYOUTS:
        assert f"`{layout.kind}`" in text
    for part, names in ALIASES.items():
        assert all(f"`{name}`" in text or name.endswith("_loc") for name in (part, *names))


@pytest.mark.long
def test_a_study_runs_on_a_folder_of_parquet(call, tmp_path):
    write_parquet(tmp_path / "d", 3)
    done = call("run", "--method", "eszsl", "--dataset", f'parquet(path="{tmp_path / "d"}")', "--json")
    assert done.returncode == 0, done.stderr
    save(tmp_path)
    expected = call("run", "--method", "eszsl", "--dataset", f'npz(path="{tmp_path / "toy.npz"}")', "--json")
    (found,), (wanted,) = (set(re.findall(r'"per_class_accuracy": ([\d.]+)', one.stdout)) for one in (done, expected))
    assert found == wanted

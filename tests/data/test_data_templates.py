"""Examples of all formats: each holds the same data and is really tuned on; errors about files name their example."""

from __future__ import annotations

import json
import shlex
from importlib.util import find_spec

import numpy as np
import pytest

from zslplat.data.catalogue import LAYOUTS
from zslplat.data.formats.templates import CLASSES, FORMATS, TEMPLATES, VIEW, example, write_template
from zslplat.data.importing import import_arrays
from zslplat.errors import DataError, UnknownNameError
from zslplat.evaluation.components import open_dataset
from zslplat.settings import resolve_settings
from zslplat.spec import Spec

VALIDATION, TEST = 0.7937, 0.7875


@pytest.fixture
def load(tmp_path):
    settings = resolve_settings({"store": tmp_path / "mlruns", "data_root": tmp_path / "root"})
    return lambda path, **options: open_dataset(Spec(str(path), options), settings)


without_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
KINDS = [pytest.param(kind, marks=without_torch) if kind == "torch" else kind for kind in TEMPLATES]


def written(kind, folder):
    return write_template(kind, folder / f"mine{TEMPLATES[kind][1]}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_holds_the_same_data(kind, tmp_path, load):
    data, (path, files) = example(), written(kind, tmp_path)
    assert files == sorted(path for path in files if path.is_file())
    found = load(path)
    assert np.asarray(found.X) == pytest.approx(data["views"][VIEW])
    assert np.asarray(found.y).tolist() == data["y"].tolist()
    assert tuple(found.class_names) == CLASSES
    for split in ("train", "test_seen", "test_unseen"):
        assert sorted(found.splits[split]) == data[split].tolist()
    assert len(found.folds) == 3
    first = next(iter(found.signatures.values()))
    assert np.asarray(first.values) == pytest.approx(data["S"])
    if kind != "mat":
        assert found.groups is not None
        assert len(np.unique(found.groups)) == 120
        assert np.asarray(found.signatures["rows"].values) == pytest.approx(data["row_signatures"])
    if kind != "csv":
        both = load(path, features="colour+shape")
        assert [view.name for view in both.views] == ["colour", "shape"]
        assert both.X.shape == (240, 20)


def test_the_example_of_mat_lists_the_classes_of_both_sides_of_each_fold(tmp_path, load):
    _, files = written("mat", tmp_path)
    folder = files[0].parent
    for number in (1, 2, 3):
        train, validation = (
            set((folder / f"{name}{number}.txt").read_text().split()) for name in ("trainclasses", "valclasses")
        )
        data = example()
        seen = {CLASSES[label] for label in data["y"][data["train"]]}
        assert not train & validation
        assert train | validation == seen


def test_every_layout_has_an_example_and_every_example_a_layout():
    assert {layout.kind for layout in LAYOUTS} == set(FORMATS) == {loader for loader, *_ in TEMPLATES.values()}
    assert set(FORMATS.values()) <= set(TEMPLATES)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_tuned_on_as_the_command_says(kind, call):
    done = call("data", "template", kind)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("tune on it: "))
    words = shlex.split(line.removeprefix("tune on it: zslplat "))
    done = call(*words, "--set", "alpha=1", "--set", "gamma=1", "--workers", 1, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    # The same from every format; another processor may round a row or two to the other side.
    assert result["validation"]["per_class_accuracy"] == pytest.approx(VALIDATION, abs=0.02)
    assert result["test"][0]["per_class_accuracy"] == pytest.approx(TEST, abs=0.03)


def test_an_example_replaces_nothing(call, tmp_path):
    assert call("data", "template", "npz").returncode == 0
    done = call("data", "template", "npz")
    assert (done.returncode, "is there already; give another place with --to" in done.stderr) == (1, True)
    done = call("data", "template", "npz", "--to", "other.csv")
    assert (done.returncode, "give it the suffix .npz" in done.stderr) == (1, True)
    with pytest.raises(UnknownNameError, match="did you mean parquet"):
        write_template("parket", tmp_path / "x")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_template("csv", tmp_path / "file" / "folder")


def without_labels(path):
    np.savez(path, X=np.ones((3, 2)))


def cut(path):
    path.write_bytes(path.read_bytes()[:200])


def strange_number(path):
    (path / "features.csv").write_text("1,2\n1,two\n")


def lost_rows(path):
    np.save(path / "labels.npy", np.zeros(3, int))


def lost_splits(path):
    (path / "att_splits.mat").write_bytes(b"no MATLAB file")


def cut_part(path):
    cut(path / "part-1.parquet")


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("npz", without_labels),
        ("npz", cut),
        ("csv", strange_number),
        ("npy", lost_rows),
        ("mat", lost_splits),
        ("hdf5", cut),
        ("parquet", cut_part),
    ],
)
def test_an_error_about_files_names_the_example_of_their_format(kind, damage, tmp_path, call):
    path, _ = written(kind, tmp_path)
    damage(path)
    named = f"`zslplat data template {kind}` writes an example of the right form"
    with pytest.raises(DataError, match=named):
        import_arrays(path, tmp_path / "root", "taken")
    if damage is without_labels:
        for command in (("data", "info", path), ("run", "-m", "eszsl", "--dataset", path)):
            done = call(*command)
            assert (done.returncode, named in done.stderr) == (1, True), done.stderr
            assert len([line for line in done.stderr.splitlines() if line.startswith("error")]) == 1

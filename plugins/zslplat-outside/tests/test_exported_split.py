"""What is exported of a task is enough for other software, the same every time, and says nothing that it must not."""

import csv
import hashlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import one_line

from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.errors import UsageError
from zslplat.evaluation.components import build_component
from zslplat.spec import Spec
from zslplat_outside.exported_split import Manifest, export_split

PAGE = (Path(__file__).parents[3] / "docs" / "outside-methods.md").read_text()
TRAIN = np.flatnonzero(np.arange(72) % 12 < 8)
NAMES = {"dataset": "toy", "task": "zsl"}
pytestmark = pytest.mark.filterwarnings("ignore:.*drawn folds:zslplat.errors.OutcomeWarning")


def toy(several=False):
    """A data set of 8 classes with groups, its rows in the order of the classes, as files mostly have them."""
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 12)
    classes = np.r_[np.arange(8), 2, 5] if several else None
    return Dataset(
        name="toy",
        X=random.standard_normal((96, 3)),
        y=y,
        class_names=tuple(f"class {i:02d}" for i in range(8)),
        signatures={"attributes": SignatureSet(random.standard_normal((10 if several else 8, 4)), classes)},
        splits={"train": TRAIN, "test_seen": np.setdiff1d(np.arange(72), TRAIN), "test_unseen": np.arange(72, 96)},
        groups=np.arange(96) // 2,
    )


def export(folder, task="zsl", data=None, **options):
    data = data or toy()
    return export_split(data, build_component("tasks", Spec.parse(task)), folder, names=NAMES, **options)


def lines(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def bytes_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_request_writes_the_same_bytes_and_the_manifest_has_their_digests(tmp_path):
    for name in ("a", "b"):
        export(tmp_path / name, features=True)
    written = bytes_of(tmp_path / "a")
    assert written == bytes_of(tmp_path / "b")
    told = json.loads(written.pop("manifest.json"))
    assert told["files"] == {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    export(tmp_path / "c", features=True, seed=1)
    assert bytes_of(tmp_path / "c")["test/rows.csv"] != written["test/rows.csv"]


def test_problems_hold_the_rows_and_classes_of_the_task(tmp_path):
    data = toy()
    export(tmp_path / "split", features=True)
    train, rows = lines(tmp_path / "split" / "test" / "train.csv"), lines(tmp_path / "split" / "test" / "rows.csv")
    assert sorted(int(line["row"]) for line in train) == TRAIN.tolist()
    assert sorted(int(line["row"]) for line in rows) == list(range(72, 96))
    for line in train:
        row = int(line["row"])
        assert line == {"row": str(row), "class": data.class_names[data.y[row]], "group": str(data.groups[row])}
    assert lines(tmp_path / "split" / "test" / "classes.csv") == [
        {"class": "class 06", "seen": "false"},
        {"class": "class 07", "seen": "false"},
    ]
    np.testing.assert_array_equal(np.load(tmp_path / "split" / "features.npy"), data.X)
    np.testing.assert_array_equal(np.load(tmp_path / "split" / "signatures.npy"), data.signatures["attributes"].values)
    folds = sorted(path.name for path in (tmp_path / "split").glob("fold-*"))
    assert len(folds) >= 3
    for name in folds:
        folder = tmp_path / "split" / name
        inside = {int(line["row"]) for file in ("train.csv", "rows.csv") for line in lines(folder / file)}
        assert inside <= set(TRAIN.tolist())
        held_out = {line["class"] for line in lines(folder / "classes.csv")}
        assert held_out.isdisjoint(line["class"] for line in lines(folder / "train.csv"))
        assert {line["class"] for line in lines(folder / "labels.csv")} == held_out


@pytest.mark.parametrize("task", ["zsl", "gzsl", "retrieval"])
def test_no_file_tells_the_label_of_a_test_row_unless_it_was_asked_for(tmp_path, task):
    export(tmp_path / "split", task)
    told = {
        int(line["row"])
        for path in (tmp_path / "split").rglob("*.csv")
        for line in lines(path)
        if "row" in line and set(line) != {"row"}
    }
    assert told == set(TRAIN.tolist())
    # The order of the rows to score says nothing either: test rows of a class stand together in the data set.
    rows = [int(line["row"]) for line in lines(tmp_path / "split" / "test" / "rows.csv")]
    assert rows != sorted(rows)
    assert Manifest.read(tmp_path / "split").content["with_labels"] is False
    export(tmp_path / "split", task, with_labels=True)
    assert Manifest.read(tmp_path / "split").content["with_labels"] is True
    data = toy()
    for line in lines(tmp_path / "split" / "test" / "labels.csv"):
        assert line["class"] == data.class_names[data.y[int(line["row"])]]


def test_several_signatures_of_a_class_say_whose_they_are(tmp_path):
    export(tmp_path / "split", data=toy(several=True))
    names = [line["class"] for line in lines(tmp_path / "split" / "signatures.csv")]
    assert names == [f"class {i:02d}" for i in (0, 1, 2, 3, 4, 5, 6, 7, 2, 5)]
    assert len(np.load(tmp_path / "split" / "signatures.npy")) == 10


def test_an_earlier_export_goes_whole_and_nothing_else_does(tmp_path):
    folder = tmp_path / "split"
    export(folder, with_labels=True, features=True)
    (folder / "mine.npy").write_bytes(b"mine")
    export(folder, split="test")
    left = bytes_of(folder)
    assert left["mine.npy"] == b"mine"
    assert not {name for name in left if "label" in name or "fold" in name or "features" in name}
    (folder / "manifest.json").unlink()
    with pytest.raises(UsageError, match="holds other files than an exported split; give a new or an empty folder"):
        export(folder)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file; give a folder"):
        export(tmp_path / "file")


def test_a_manifest_of_elsewhere_removes_nothing_outside_its_folder(tmp_path):
    folder = tmp_path / "split"
    export(folder, split="test")
    (tmp_path / "precious").write_text("kept")
    told = json.loads((folder / "manifest.json").read_text())
    told["files"] |= {"../precious": "", str(tmp_path / "precious"): ""}
    (folder / "manifest.json").write_text(json.dumps(told))
    export(folder, split="test")
    assert (tmp_path / "precious").read_text() == "kept"


def test_digests_of_the_order_are_what_the_page_says(tmp_path):
    export(tmp_path / "split", split="test")
    (entry,) = Manifest.read(tmp_path / "split").content["problems"]
    rows = np.array([int(line["row"]) for line in lines(tmp_path / "split" / "test" / "rows.csv")])
    names = [line["class"] for line in lines(tmp_path / "split" / "test" / "classes.csv")]
    assert entry["rows_digest"] == hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest()[:32]
    assert entry["classes_digest"] == hashlib.sha256("".join(f"{n}\n" for n in names).encode()).hexdigest()[:32]
    assert (entry["train"], entry["rows"], entry["classes"]) == (48, 24, 2)


def test_an_unknown_split_is_named(call):
    one_line(call("export-split", "--to", "x", "--split", "tests"), 2, r"unknown split 'tests'; did you mean test\?")


def test_what_a_split_warns_of_is_silenced_by_its_code(call, tmp_path):
    data = toy()
    S = data.signatures["attributes"].values
    np.savez(tmp_path / "toy.npz", X=data.X, y=data.y, S=S, **data.splits)
    given = ("export-split", "-d", "toy", "-t", "zsl", "--data-root", ".", "--to", "split")
    done = call(*given)
    assert done.returncode == 0, done.stderr
    assert "warning: ZSP209 " in done.stdout
    assert "`zslplat explain ZSP209` tells cause and remedy" in done.stdout
    silent = call(*given, "--silence", "ZSP209")
    assert "ZSP209" not in silent.stdout + silent.stderr
    assert silent.stdout.endswith("1 silenced\n")
    told = json.loads(call(*given, "--silence", "ZSP209", "--json").stdout)
    assert (told["warnings"], told["silenced"], [one["code"] for one in told["findings"]]) == ([], 1, ["ZSP209"])
    one_line(call(*given, "--silence", "ZSP299"), 2, r"unknown check 'ZSP299'; did you mean ZSP2")


@pytest.mark.long
@pytest.mark.parametrize("task", ["gzsl", "zsl"])
def test_the_example_of_the_page_runs_and_is_compared_with_ours(call, tmp_path, task):
    (script,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    commands = [
        line.removeprefix("$ ").replace("gzsl", task)
        for block in re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
        for line in block.splitlines()
    ]
    assert "zslplat" not in script
    assert [command.split()[1] for command in commands] == ["export-split", "ridge.py", "score", "run", "compare"]
    (tmp_path / "ridge.py").write_text(script)
    for command in commands:
        program, *words = shlex.split(command)
        if program == "python":
            done = subprocess.run([sys.executable, "-I", *words], cwd=tmp_path, capture_output=True, text=True)
        else:
            done = call(*words, *(["--json"] if words[0] in ("score", "compare") else []))
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if words[0] == "score":
            scored = json.loads(done.stdout)
    (comparison,) = json.loads(done.stdout)
    rows = {row["method"].partition("(")[0]: row for row in comparison["rows"]}
    assert set(rows) == {"outside:ridge", "eszsl"}
    ridge = rows["outside:ridge"]
    primary = {"zsl": "per_class_accuracy", "gzsl": "AUSUC"}[task]
    assert ridge["test"] == scored["metrics"][0][primary] > 5 * scored["chance"]
    assert ridge["validation"] == scored["validation"][primary]
    assert ridge["low"] < ridge["test"] < ridge["high"]
    assert rows["eszsl"]["baseline"] == ridge["method"]
    assert rows["eszsl"]["difference_low"] is not None
    assert ("calibrated_H" in scored["metrics"][0]) == (task == "gzsl")

"""Data that people bring: what is wrong with them is recognised and said with what to do."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest
from xlsa17_toys import toy_arrays, write_folder

from zslplat.data.catalogue import open_source, parse_dataset, title_of
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, MissingDataError, UsageError
from zslplat.evaluation.components import registered_sources
from zslplat.evaluation.experiment import Experiment
from zslplat.spec import Spec

CLASSES, ATTRIBUTES, DIMENSIONS, ROWS = 6, 4, 5, 36
NAMES = [f"c{i}" for i in range(CLASSES)]


def arrays(**changes):
    generator = np.random.default_rng(0)
    y = np.repeat(np.arange(CLASSES), ROWS // CLASSES)
    content = {
        "X": generator.normal(size=(CLASSES, DIMENSIONS))[y] + 0.1 * generator.normal(size=(ROWS, DIMENSIONS)),
        "y": y,
        "S": generator.random((CLASSES, ATTRIBUTES)),
        "train": np.flatnonzero(y < 4),
    }
    return {key: value for key, value in {**content, **changes}.items() if value is not None}


def saved(folder, name="mine", **changes):
    folder.mkdir(exist_ok=True, parents=True)
    np.savez(folder / f"{name}.npz", **arrays(**changes))
    return folder / f"{name}.npz"


def loaded(path, **options):
    return NpzSource(path=str(path), **options).load(DataPlaces())


# Signatures in another form.


@pytest.mark.parametrize("attributes", [ATTRIBUTES, CLASSES + 3])
@pytest.mark.parametrize("names", [None, np.array(NAMES)])
@pytest.mark.parametrize("base", [0, 1])
def test_transposed_signatures_are_recognised(tmp_path, attributes, names, base):
    S = np.random.default_rng(1).random((CLASSES, attributes))
    labels = arrays()["y"] + base
    path = saved(tmp_path, S=S.T, y=labels, class_names=names)
    expected = f"looks transposed: save the transposed matrix, {CLASSES} x {attributes}, one row per class"
    with pytest.raises(DataError, match=re.escape(expected)):
        loaded(path, base=base)
    assert loaded(saved(tmp_path, S=S, y=labels, class_names=names), base=base).signatures["S"].values.shape == S.shape


def test_a_matrix_with_as_many_columns_as_classes_is_not_suspected_where_its_rows_fit(tmp_path):
    square = np.random.default_rng(1).random((CLASSES, CLASSES))
    assert loaded(saved(tmp_path, S=square)).signatures["S"].values.shape == square.shape
    # Ten classes, of which six have rows and as many attributes: names say that it is so.
    S = np.random.default_rng(1).random((10, CLASSES))
    assert len(loaded(saved(tmp_path, S=S, class_names=np.arange(10).astype(str))).class_names) == 10


def test_transposed_features_and_row_signatures_are_recognised(tmp_path):
    with pytest.raises(DataError, match=r"looks transposed: save the transposed matrix, 36 x 5, one row per sample"):
        loaded(saved(tmp_path, X=arrays()["X"].T))
    with pytest.raises(DataError, match="one row per row of X"):
        loaded(saved(tmp_path, row_signatures=np.ones((ATTRIBUTES, ROWS))))


@pytest.mark.parametrize("drop", [(), ("allclasses_names",)])
def test_transposed_signatures_of_the_xlsa17_layout_are_recognised(tmp_path, drop):
    S = toy_arrays()[2]
    write_folder(tmp_path / "RIGHT", drop=drop)
    assert Xlsa17(path=str(tmp_path / "RIGHT")).load(DataPlaces()).signatures["att"].values.shape == S.shape
    write_folder(tmp_path / "TURNED", splits={"att": S}, drop=drop)
    with pytest.raises(DataError, match=r"8 x 5, which looks transposed; expected attributes x classes, 5 x 8"):
        Xlsa17(path=str(tmp_path / "TURNED")).load(DataPlaces())


# Paths in place of names.


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("kind", ["npz", "xlsa17"])
def test_a_path_is_opened_where_it_is(tmp_path, monkeypatch, kind, absolute):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "root", "mine")  # of another kind in one case, and passed over for the path
    if kind == "npz":
        saved(tmp_path, "mine")
        text, loader = "./mine.npz", NpzSource
    else:
        write_folder(tmp_path / "mine")
        text, loader = "mine/", Xlsa17
    places = DataPlaces(tmp_path / "root")
    for path in (str(tmp_path / text),) if absolute else (text, f"{text}()"):
        spec = parse_dataset(path)
        source = open_source(spec, places, registered_sources())
        data = source.load(DataPlaces())
        assert isinstance(source, loader)
        assert (len(data.X) > 0, data.name, title_of(spec)) == (True, "mine", "mine")
        assert parse_dataset(str(spec)) == Spec.parse(str(spec)) == spec


def test_a_name_is_looked_for_in_the_data_root_then_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, "mine")
    here = open_source(Spec("mine"), DataPlaces(tmp_path / "root"), registered_sources())
    saved(tmp_path / "root", "mine", X=np.ones((ROWS, DIMENSIONS)))
    there = open_source(Spec("mine"), DataPlaces(tmp_path / "root"), registered_sources())
    assert [source.load(DataPlaces()).X.std() > 0 for source in (here, there)] == [True, False]


def test_one_path_has_one_spelling():
    for text in ("./birds.npz", "birds.npz", "a/../birds.npz"):
        assert str(parse_dataset(text)) == "birds.npz"
    for text in ("birds/", "./birds"):
        assert str(parse_dataset(text)) == "./birds"
    assert str(parse_dataset("/a b/birds.npz(X=f)")) == '"/a b/birds.npz"(X=f)'


def test_a_path_that_leads_to_nothing_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("")
    saved(tmp_path, "digits2")
    nothing = {
        "./none.npz": r"'none\.npz': no such file or folder \(looked in .*\); correct the path",
        "digits.csv": "'digits.csv': no such file or folder .*; did you mean digits2.npz",
        "none/": r"'\./none': no such file or folder",
    }
    for text, message in nothing.items():
        with pytest.raises(MissingDataError, match=message):
            open_source(parse_dataset(text), DataPlaces(), registered_sources())
    with pytest.raises(DataError, match=r"notes\.txt: no data set in a layout that is known; .*Parquet"):
        open_source(parse_dataset("./notes.txt"), DataPlaces(), registered_sources())


def test_a_file_of_the_data_root_has_two_names(tmp_path):
    saved(tmp_path)
    for text in ("mine.npz", "mine"):
        assert len(open_source(Spec(text), DataPlaces(tmp_path), registered_sources()).load(DataPlaces()).X) == ROWS


@pytest.mark.parametrize(
    ("dataset", "title"),
    [
        ("npz(path=mine.npz)", "mine"),
        ('npz(path="/data/some where/mine.npz", X=features)', "mine"),
        ("npz(path=mine)", "mine"),
        ("csv(path=birds)", "birds"),
        ('xlsa17(path="/data/AWA2.1")', "AWA2.1"),
        ("CUB(features=res101)", "CUB"),
        ("digit-pairs", "digit-pairs"),
    ],
)
def test_names_of_studies_tell_the_file(dataset, title):
    assert Experiment(Spec("eszsl"), Spec.parse(dataset), Spec("zsl")).dataset_title == title


@pytest.mark.parametrize(
    ("root", "said"),
    [("nowhere", "which is no folder"), ("empty", "which is empty"), ("other", "which holds no data set in a layout")],
)
def test_a_data_root_of_nothing_is_told(call, tmp_path, root, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("")
    done = call("data", "list", "--data-root", root)
    assert done.returncode == 0
    assert said in done.stdout
    done = call("data", "list", "--data-root", root, "--json")
    assert json.loads(done.stdout)
    assert said.removeprefix("which ") in done.stderr
    saved(tmp_path / "full")
    assert "which" not in call("data", "list", "--data-root", "full").stdout.splitlines()[-1]


def test_data_sets_in_folders_below_the_data_root_are_told(call, tmp_path):
    place = tmp_path / "downloads" / "xlsa17" / "data"
    saved(place)
    option = f"give --data-root {place}"
    done = call("data", "list", "--data-root", "downloads")
    assert done.returncode == 0
    assert "which holds no data set itself, but folders below do: " in done.stdout
    assert done.stdout.rstrip().endswith(option)
    (tmp_path / "downloads" / "other.npz").write_bytes(next(place.glob("*.npz")).read_bytes())
    done = call("data", "list", "--data-root", "downloads", "--json")
    assert "holds others in folders below: " in done.stderr
    assert option in done.stderr


ODD_NAMES = (
    "my data",
    "data (copy)",
    r"a$\frac{$b",
    "it's",
    'say "so"',
    "a, b",
    "x=y",
    "2020",
    "true",
    "né",
    "[red]",
    "a+b",
)


def test_every_name_that_is_listed_is_taken_as_it_is_printed(call, tmp_path):
    for name in ODD_NAMES:
        saved(tmp_path / "root", name, class_names=NAMES)
    listed = call("data", "list", "--data-root", "root").stdout
    shown = [line.split("│")[1].strip() for line in listed.splitlines() if "│ npz " in line and " MB " in line]
    assert len(shown) == len(ODD_NAMES)
    for text, name in zip(shown, sorted(f"{name}.npz" for name in ODD_NAMES), strict=True):
        (word,) = shlex.split(text)
        assert parse_dataset(word) == Spec(name.removesuffix(".npz"))
        assert Spec.parse(str(parse_dataset(word))) == parse_dataset(word)
    assert "'my data'" in shown
    for word in ("my data", '"my data"', "my data(X=X)", "redrawn(of='my data', draw=1)"):
        done = call("data", "info", word, "--data-root", "root", "--json")
        assert done.returncode == 0, done.stderr
    assert {"my data", "[red]"} <= {
        entry["name"] for entry in json.loads(call("data", "list", "--json", "--data-root", "root").stdout)
    }


def test_a_name_with_blanks_that_is_unknown_has_near_ones(call, tmp_path):
    saved(tmp_path / "root", "my data")
    done = call("data", "info", "my dta", "--data-root", "root")
    assert done.returncode == 2
    assert "'my dta'; did you mean my data?" in done.stderr
    done = call("data", "info", "my data.npz", "--data-root", "root")
    assert done.returncode == 0, done.stderr
    for text in ("digit-pairs(rows=5", "(rows=5)", " "):
        with pytest.raises(UsageError, match=r"cannot read|is not a component"):
            parse_dataset(text)


def test_all_faults_of_a_table_are_said_at_once_with_line_and_column(call, tmp_path):
    lines = ["label,split,a,b"] + [f"c{k % 4},{'test_unseen' if k % 4 > 2 else 'train'},{k},{k % 7}" for k in range(40)]
    lines[5] = lines[5].replace("c0", "C0")
    lines[9] = lines[9].replace("train", "tran")
    lines[11] = lines[11].rpartition(",")[0] + ",n/a"
    lines[13] = lines[13] + ",1"
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "t.signatures.csv").write_text("class,x,y\n" + "".join(f"c{k},{k},{k * k}\n" for k in range(4)))
    done = call("data", "check", "t.csv")
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("wrong")] == [
        "wrong: t.csv, line 14 has 5 cells, the header has 4",
        "wrong: t.csv, line 12, column b: 'n/a' is no finite number",
        "wrong: t.csv, line 6, column label: 'C0' has no line in t.signatures.csv; did you mean c0?",
        "wrong: t.csv, line 10, column split: 'tran' is no split; did you mean train?",
    ]


def test_a_number_far_from_all_others_is_named(call, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[7, 2] = 1e6
    np.savez(tmp_path / "far.npz", X=X, y=np.arange(60) % 6)
    done = call("data", "check", "far.npz")
    assert "ZSP516 far: row 7 has 1e+06 in column 2 (both from 0), the others lie" in done.stdout
    X[7, 2] = 6
    np.savez(tmp_path / "far.npz", X=X, y=np.arange(60) % 6)
    assert "ZSP516" not in call("data", "check", "far.npz").stdout

"""One CSV or Parquet with a label and a split column, and one file of signatures, is a data set."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest

from zslplat import evaluate, make_dataset
from zslplat.data.catalogue import open_source, parse_dataset
from zslplat.data.description import missing_parts
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, MissingDataError
from zslplat.evaluation.components import registered_sources
from zslplat.tasks.splits import split_rows

CLASSES, ROWS = ("ant", "bat", "bee", "cat", "cow", "dog"), 5


def tables():
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(len(CLASSES)), ROWS)
    signatures = pd.DataFrame(rng.random((len(CLASSES), 3)).round(3), CLASSES, ["fur", "wings", "small"])
    rows = pd.DataFrame(rng.standard_normal((len(y), 4)).round(4), columns=["f0", "f1", "f2", "f3"])
    split = np.where(y >= 4, "test_unseen", np.where(np.arange(len(y)) % ROWS, "train", "test_seen"))
    rows.insert(0, "label", [CLASSES[label] for label in y])
    return rows.assign(split=split), signatures.rename_axis("class")


def write(folder, kind="csv", drop=(), signed="birds.signatures.csv"):
    rows, signatures = tables()
    rows = rows.drop(columns=list(drop))
    rows.to_csv(folder / "birds.csv", index=False) if kind == "csv" else rows.to_parquet(folder / "birds.parquet")
    path = folder / signed
    if path.suffix == ".csv":
        signatures.to_csv(path)
    elif path.suffix == ".parquet":
        signatures.reset_index().to_parquet(path)
    elif path.suffix == ".npz":
        np.savez(path, S=signatures.to_numpy(), class_names=np.array(CLASSES))
    else:
        np.save(path, signatures.to_numpy())
    return folder / f"birds.{kind}"


def load(text, root=None):
    places = DataPlaces(root)
    return open_source(parse_dataset(str(text)), places, registered_sources()).load(places)


@pytest.mark.parametrize("signed", ["birds.signatures.csv", "signatures.csv", "signatures.npz", "signatures.parquet"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_signatures_are_found_beside_one_table(tmp_path, kind, signed):
    rows, signatures = tables()
    data = load(write(tmp_path, kind, signed=signed))
    assert data.X.shape == (len(rows), 4)
    assert np.asarray(data.X) == pytest.approx(rows[["f0", "f1", "f2", "f3"]].to_numpy(), abs=1e-6)
    assert [data.class_names[label] for label in data.y] == rows["label"].tolist()
    assert data.class_names == CLASSES
    assert data.signature_set().values == pytest.approx(signatures.to_numpy())
    for split, members in rows.groupby("split").groups.items():
        assert data.rows(split).tolist() == members.tolist()


def test_several_signatures_of_a_class_are_noted_and_are_no_matrix_of_one_each(tmp_path):
    path = write(tmp_path)
    assert load(path).S.shape == (len(CLASSES), 3)
    with (tmp_path / "birds.signatures.csv").open("a") as file:
        file.write("bat,1,1,1\n")
    data = load(path)
    assert any("several of class 'bat'" in note for note in data.source["notes"])
    with pytest.raises(DataError, match="signatures are several of a class, or one per row"):
        _ = data.S
    assert data.signature_set().values.shape == (len(CLASSES) + 1, 3)


def test_the_names_of_features_go_with_the_data(tmp_path):
    assert load(write(tmp_path)).source["columns"] == ["f0", "f1", "f2", "f3"]


def test_any_other_file_of_signatures_is_named(tmp_path):
    path = write(tmp_path, signed="classes.csv")
    with pytest.raises(DataError, match=r"birds has no signatures, .*birds\.csv\(signatures=classes\.csv\)"):
        load(path).class_signatures()
    assert load(f"{path}(signatures=classes.csv)").default_signatures == "S"
    with pytest.raises(MissingDataError, match=r"clases\.csv: no such file of signatures"):
        load(f"{path}(signatures=clases.csv)")
    write(tmp_path, signed="order.npy")
    with pytest.raises(DataError, match=r"names, so class_names .*signatures name their classes in a column class"):
        load(f"{path}(signatures=order.npy)")


@pytest.mark.parametrize(
    ("unseen", "names"), [("cow+dog", ["cow", "dog"]), ("[ant, 5]", ["ant", "dog"]), ("bee", ["bee"])]
)
def test_unseen_classes_take_the_place_of_a_split(tmp_path, unseen, names):
    data = load(f"{write(tmp_path, drop=['split'])}(unseen={unseen})")
    assert sorted({data.class_names[label] for label in data.y[data.rows("test_unseen")]}) == names
    assert len(data.rows("train")) + len(data.rows("test_unseen")) == len(data.X)


def test_unseen_classes_are_drawn_alike_by_count_and_share(tmp_path):
    path = write(tmp_path, drop=["split"])
    by_count, by_share = load(f"{path}(unseen=2)"), load(f"{path}(unseen=0.34)")
    assert by_count.rows("test_unseen").tolist() == by_share.rows("test_unseen").tolist()
    assert len(set(by_count.y[by_count.rows("test_unseen")])) == 2
    assert any("drawn are" in note for note in by_count.source["notes"])


@pytest.mark.parametrize(
    ("drop", "unseen", "message"),
    [
        ((), "2", "unseen and train both say which classes are tested"),
        (("split",), "6", r"unseen=6 of 6 classes; give names, a count below 6"),
        (("split",), "2.5", r"unseen=2\.5 of 6 classes"),
        (("split",), "caw", r"unseen names class 'caw', .*did you mean cow\?"),
    ],
)
def test_unseen_classes_that_cannot_be_are_refused(tmp_path, drop, unseen, message):
    with pytest.raises(DataError, match=message):
        load(f"{write(tmp_path, drop=drop)}(unseen={unseen})")


def test_without_a_split_the_error_holds_the_line_that_mends_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, drop=["split"], signed="classes.csv")
    with pytest.raises(DataError) as caught:
        split_rows(load("birds.csv(signatures=classes.csv)"), "train", "task zsl")
    line = str(caught.value).partition("--dataset '")[2].partition("'")[0]
    assert len(load(line).rows("test_unseen"))


def test_commands_remember_a_data_root_that_served(call, tmp_path):
    write((tmp_path / "root").mkdir() or tmp_path / "root")
    assert call("data", "check", "none", "--data-root", "root").returncode != 0
    assert call("tune", "eszsl", "birds", "--data-root", "root", "--dry-run", "-n", 1).returncode == 0
    assert not (tmp_path / "zslplat.toml").exists()
    done = call("data", "check", "birds", "--data-root", "root")
    assert "data root root is written to zslplat.toml; later commands here need no --data-root" in done.stderr
    assert (tmp_path / "zslplat.toml").read_text() == 'data_root = "root"\n'
    assert call("data", "check", "birds").stderr == ""


def test_names_that_look_like_numbers_stay_names(tmp_path):
    (tmp_path / "d.csv").write_text("label,f\n01,1\n02,2\n1,4\n")
    (tmp_path / "signatures.csv").write_text("01,1\n02,3\n1,5\n")
    assert load(tmp_path / "d.csv").class_names == ("01", "02", "1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3,4\n", "line 1 holds numbers; write the names of the columns there, such as label,split"),
        ("label;f\na;1\n", "cells are separated by semicolons"),
        ("name,f\na,1\n", "no column y or labels .*; say which it is with y="),
        ("label,f\na,1\n,2\n", r"column 'label': row 1 is empty"),
        ("label,f\na,1\nb,x\n", "no column X or features"),
        ("label,f\na,1\nb\n", "cannot be read as a CSV file"),
    ],
)
def test_what_is_wrong_with_one_table_is_said(tmp_path, text, message):
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        load(tmp_path / "d.csv")


def test_a_column_of_numbers_with_one_other_cell_is_refused_not_left_out(tmp_path):
    rows, _ = tables()
    path = write(tmp_path)
    rows["f2"] = rows["f2"].astype(object)
    rows.loc[7, "f2"] = "n/a?"
    rows.to_csv(path, index=False)
    with pytest.raises(
        DataError, match=r"column 'f2': 1 of 30 cells hold no number, .*'n/a\?' in row 8 .*leave_out=f2"
    ):
        load(path)
    assert load(f"{path}(leave_out=f2)").X.shape == (len(rows), 3)


def test_tables_without_unseen_classes_are_told_from_others(tmp_path):
    def lacking(frame):
        frame.to_csv(tmp_path / "birds.csv", index=False)
        return [what for what, _ in missing_parts(load(tmp_path / "birds.csv"))]

    path = write(tmp_path)
    rows = pd.read_csv(path)
    assert lacking(rows) == []
    by_row = rows.assign(split=["train", "train", "train", "test", "test"] * len(CLASSES))
    assert lacking(by_row) == ["all classes of the test train, so none is unseen"]
    with pytest.raises(DataError, match=r"all classes of its test train: give --dataset '.*split=none, unseen=2"):
        split_rows(load(path), "test_unseen", "task zsl")
    assert lacking(rows.groupby("label").head(1)) == ["one row of each class, as a table of signatures has"]


def test_the_line_that_mends_splits_of_files_of_arrays_works(tmp_path):
    rows, signatures = tables()
    y, order = pd.Categorical(rows["label"]).codes, np.arange(len(rows))
    arrays = {"X": rows[["f0", "f1", "f2", "f3"]].to_numpy(), "y": y, "S": signatures.to_numpy()}
    for name, parts in (("keys", {"train": order[order % 5 > 1], "test": order[order % 5 < 2]}), ("none", {})):
        np.savez(tmp_path / f"{name}.npz", **arrays, **parts)
    ((_, line),) = missing_parts(load(tmp_path / "keys.npz"))
    (spec,) = shlex.split(line)[1:]
    assert list(missing_parts(load(spec))) == []


@pytest.mark.parametrize(
    ("count", "unseen", "lacking"), [(12, "11", "1 unseen class"), (5, "3+4", "3 classes to train")]
)
def test_too_few_classes_are_named_before_a_task_refuses_them(tmp_path, count, unseen, lacking):
    y = np.arange(20 * count) % count
    np.savez(tmp_path / "few.npz", X=np.random.default_rng(0).random((len(y), 3)), y=y, S=np.eye(count))
    ((what, line),) = missing_parts(load(f"{tmp_path / 'few.npz'}(unseen='{unseen}')"))
    assert what.startswith(lacking)
    assert lacking != "1 unseen class" or line.endswith('(unseen="10+11")\'')
    with pytest.raises(DataError, match="at least two"):
        evaluate("eszsl", f"{tmp_path / 'few.npz'}(unseen='{unseen}')", test=unseen == "11", workers=1, quiet=True)


def test_names_of_features_that_are_there_twice_are_not_kept():
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((12, 3)), columns=["a", "a", "b"])
    data = make_dataset(frame, np.arange(12) % 3, np.eye(3), unseen=[2])
    assert "columns" not in data.source
    assert make_dataset(frame.set_axis(list("abc"), axis=1), np.arange(12) % 3, np.eye(3), unseen=[2]).source["columns"]

"""Rows of one's own and classes of one's own: read from any format, checked, scored block by block."""

from __future__ import annotations

import csv
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from model_toys import animals, kept
from scipy.sparse import csr_matrix

from zslplat.errors import DataError, UsageError
from zslplat.families.zero_shot.model import NewClasses
from zslplat.models.predictions import RowFile, predictions, write_predictions

DATASET = animals()
X = np.asarray(DATASET.X)
SIGNATURES = DATASET.signatures["att"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return kept(tmp_path_factory.mktemp("zsl"), "eszsl(alpha=1,gamma=1)", "zsl", DATASET).model


def unseen():
    return {name: row for name, row in zip(DATASET.class_names, SIGNATURES.values, strict=True) if name not in seen()}


def seen():
    return {DATASET.class_names[label] for label in DATASET.y[DATASET.splits["train"]]}


def write_rows(path, rows):
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".csv":
        np.savetxt(path, rows, delimiter=",", fmt="%.9g", header=",".join(f"f{i}" for i in range(12)), comments="")
    elif path.stem == "lists":
        pq.write_table(pa.table({"name": [str(i) for i in range(len(rows))], "features": list(rows)}), path)
    else:
        pq.write_table(pa.table({f"f{i}": rows[:, i] for i in range(rows.shape[1])}), path)
    return path


@pytest.mark.parametrize("file", ["rows.npy", "rows.csv", "lists.parquet", "columns.parquet"])
def test_all_formats_of_rows_give_the_same_predictions(model, tmp_path, file):
    rows = RowFile(write_rows(tmp_path / file, X), model.features.views)
    found = [table for table in predictions(model, rows, top=2)]
    assert np.array_equal(np.concatenate([t["class"] for t in found]), model.predict(X))
    assert np.array_equal(np.concatenate([t["row"] for t in found]), np.arange(len(X)))
    scores = np.sort(model.decision_function(X), axis=1)
    assert np.allclose(np.concatenate([t["score_2"] for t in found]), scores[:, -2], rtol=1e-6)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels_and_splits_beside_the_features_are_ignored_and_named(model, tmp_path, suffix):
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(12)])
    frame.insert(0, "label", 7)
    frame["image_id"] = range(len(X))
    frame["split"] = 1
    path = tmp_path / f"rows{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    rows = RowFile(path, model.features.views)
    assert rows.ignored == ["label", "image_id", "split"]
    assert np.allclose(np.vstack(list(rows.blocks(7))), X)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_are_taken_by_the_names_that_the_model_was_trained_with(model, tmp_path, suffix):
    names = [f"f{i}" for i in range(12)]

    def blocks(frame):
        path = tmp_path / f"rows{suffix}"
        frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
        return np.vstack(list(RowFile(path, model.features.views, names).blocks(7)))

    frame = pd.DataFrame(X, columns=names)
    assert np.allclose(blocks(frame[names[::-1]]), X)
    assert np.allclose(blocks(frame.assign(weight=1.0)[["weight", *names]]), X), "others are ignored"
    if suffix == ".parquet":
        assert np.allclose(blocks(frame.assign(other=list(X[:, :3]))), X), "a column of lists beside them is ignored"
    with pytest.raises(UsageError, match="no column of numbers 'f3', which the model takes; "):
        blocks(frame.rename(columns={"f3": "zzz"}))
    with pytest.raises(UsageError, match="no column of numbers 'f0', which the model takes; "):
        blocks(frame.drop(columns="f0"))
    with pytest.raises(UsageError, match="no column of numbers 'f2', which the model takes; "):
        blocks(frame.assign(f2=frame["f2"].astype(str) + " m"))
    assert np.allclose(blocks(frame.rename(columns=lambda name: f"g{name}")), X), "other names go by place"


def test_columns_of_a_frame_go_by_the_names_of_training(model):
    names = [f"f{place}" for place in range(X.shape[1])]
    model.columns, frame = tuple(names), pd.DataFrame(X, columns=names)
    expected = model.decision_function(X)
    mixed = frame[names[::-1]].assign(note="text")
    for table in (frame, mixed, frame.rename(columns=lambda name: f"g{name}"), pd.DataFrame(X)):
        assert np.array_equal(model.decision_function(table), expected)
    with pytest.raises(UsageError, match="X has no column 'f3', which the model takes; it has"):
        model.predict(mixed.drop(columns="f3"))
    model.columns = ()
    assert np.array_equal(model.decision_function(frame), expected)


def test_rows_in_the_other_order_of_memory_are_read_right(model, tmp_path):
    np.save(tmp_path / "rows.npy", np.asfortranarray(X))
    blocks = list(RowFile(tmp_path / "rows.npy", model.features.views).blocks(7))
    assert np.array_equal(np.vstack(blocks), X)
    assert len(blocks[0]) == 7


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predictions_are_written_by_name_with_the_scores_of_all(model, tmp_path, suffix):
    output = tmp_path / f"found{suffix}"
    rows = RowFile(write_rows(tmp_path / "rows.npy", X), model.features.views)
    done = write_predictions(predictions(model, rows, top=2, scores=True), output)
    table = pd.read_csv(output) if suffix == ".csv" else pq.read_table(output).to_pandas()
    assert done == len(table) == len(X)
    assert list(table)[:5] == ["row", "class", "score", "class_2", "score_2"]
    assert np.array_equal(table[[f"score of {name}" for name in model.classes]].to_numpy(), model.decision_function(X))


def test_new_classes_are_scored_as_the_run_scores_its_own(model, tmp_path):
    given = unseen()
    assert np.array_equal(model.decision_function(X, given), model.decision_function(X))
    frame = pd.DataFrame(given, index=SIGNATURES.names).T
    assert np.array_equal(model.decision_function(X, frame), model.decision_function(X))
    mixed = frame[list(reversed(SIGNATURES.names))]
    mixed.to_csv(tmp_path / "new.csv", index_label="class")
    pq.write_table(pa.Table.from_pandas(mixed.reset_index(names="class")), tmp_path / "new.parquet")
    for file in ("new.csv", "new.parquet"):
        assert np.array_equal(model.decision_function(X, tmp_path / file), model.decision_function(X))


def test_generalised_adds_the_classes_that_were_trained_on(model):
    new = {"unicorn": SIGNATURES.values[0] * 0.5, "griffin": SIGNATURES.values[1] + 0.1}
    asked = model.candidates_for(new, True)
    assert asked.output_names == (*model.seen_classes, "unicorn", "griffin")
    assert set(model.seen_classes) == seen()
    scores = model.decision_function(X, new, generalised=True)
    assert np.array_equal(scores[:, -2:], model.decision_function(X, new))


def test_the_bias_that_validation_chose_is_taken_off_the_scores_of_seen_classes(tmp_path):
    plain = kept(tmp_path / "plain", "eszsl", "gzsl", DATASET).model
    biased = kept(tmp_path / "biased", "eszsl", "gzsl", DATASET, bias=0.25).model
    is_seen = np.isin(plain.candidates_for(None, True).output_names, list(seen()))
    difference = plain.decision_function(X, generalised=True) - biased.decision_function(X, generalised=True)
    assert np.allclose(difference, np.where(is_seen, 0.25, 0.0))
    assert np.array_equal(plain.decision_function(X), biased.decision_function(X))
    assert biased.describe()["bias"] == 0.25


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"unicorn": [1.0, 2.0]}, "2 attributes per class; the model was trained on 6: trait 0, trait 1"),
        ({"unicorn": [1.0] * 6, "griffin": [1.0]}, r"\[1, 6\] attributes"),
        (pd.DataFrame([[1.0] * 6], index=["u"], columns=list("abcdef")), "'trait 0' is missing"),
        ("no-such-file.csv", "no such file of signatures"),
        (3, "signatures of type int; expected"),
    ],
)
def test_signatures_that_do_not_fit_are_refused_with_what_was_expected(model, given, told):
    with pytest.raises(UsageError, match=told):
        model.decision_function(X, given)


def test_signatures_with_nan_and_classes_that_are_there_twice_are_refused(model):
    with pytest.raises(DataError, match="'unicorn' holds NaN"):
        model.predict(X, {"unicorn": [np.nan] * 6})
    name = model.seen_classes[0]
    with pytest.raises(UsageError, match="was trained on, and is one of the new ones"):
        model.predict(X, {name: SIGNATURES.values[0]}, generalised=True)


@pytest.mark.parametrize(
    ("rows", "error", "told"),
    [
        (np.zeros((2, 5)), UsageError, r"\(2, 5\); the model was trained on \(n, 12\)"),
        (np.zeros(12), UsageError, r"a single row is X\[None\]"),
        (np.array([["a"] * 12]), DataError, "holds 'a'; expected numbers"),
        (np.zeros((0, 12)), DataError, "holds no rows"),
        ([[1.0] * 12, [2.0]], DataError, "several lengths"),
        (csr_matrix(X), DataError, r"sparse matrix; give an array, X.toarray\(\)"),
        (None, UsageError, "trained on"),
        (np.vstack([X[:3], np.full((1, 12), np.nan)]), DataError, "row 3 holds NaN"),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_what_was_expected(model, rows, error, told):
    with pytest.raises(error, match=told):
        model.predict(rows)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("rows.npy", b"\x93NUMPY\x01\x00rubbish", "cannot be read"),
        ("rows.csv", b"1,2,3\n4,5,6\n", "line 1 holds numbers; write the names of the columns there"),
        (
            "rows.csv",
            b",".join(b"f%d" % i for i in range(12)) + b"\n" + b",".join([b"x"] * 12),
            "no numbers are in .*f0",
        ),
        ("rows.csv", b"", "Empty CSV file"),
        ("rows.parquet", b"PAR1", "cannot be read as a Parquet file"),
        ("rows.txt", b"1", "rows are read from .npy, .csv, .parquet"),
    ],
)
def test_files_that_hold_no_such_rows_are_one_clear_error(model, tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((UsageError, DataError), match=told) as caught:
        list(predictions(model, RowFile(tmp_path / name, model.features.views)))
    assert name in str(caught.value)


def test_a_failed_prediction_leaves_what_was_there_and_nothing_else(model, tmp_path):
    output = tmp_path / "found.csv"
    output.write_text("of old")
    bad = np.vstack([X, np.full((1, 12), np.inf)])
    with pytest.raises(DataError, match=f"row {len(X)} holds NaN"):
        write_predictions(
            predictions(model, RowFile(write_rows(tmp_path / "r.npy", bad), model.features.views)), output
        )
    assert output.read_text() == "of old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["found.csv", "r.npy"]


@pytest.mark.parametrize("name", ["mfmr-joint", "gfhf"])
def test_a_method_that_scores_jointly_takes_all_rows_at_once_and_refuses_one(name, tmp_path):
    found = kept(tmp_path, name, "zsl", DATASET)
    assert found.model.describe()["joint"]
    with pytest.raises(UsageError, match=r"scores the rows of a batch jointly.*1 row is no batch"):
        found.model.predict(X[:1])
    found.model.__class__ = type("Small", (type(found.model),), {"block_rows": 4})
    rows = X[found.problem.truth["row_pool"]]
    table = list(predictions(found.model, RowFile(write_rows(tmp_path / "r.npy", rows), found.model.features.views)))
    assert len(table) == 1
    assert np.array_equal(table[0]["score"], found.outputs["U->U"].max(axis=1))


def test_memory_does_not_grow_with_the_file(model, tmp_path, monkeypatch):
    monkeypatch.setattr(type(model), "block_rows", 500)
    rows = np.resize(X, (60_000, 12))
    size = rows.nbytes
    np.save(tmp_path / "r.npy", rows)
    del rows
    found = RowFile(tmp_path / "r.npy", model.features.views)
    list(predictions(model, RowFile(write_rows(tmp_path / "warm.npy", X), model.features.views)))
    tracemalloc.start()
    done = write_predictions(predictions(model, found), tmp_path / "found.csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert done == 60_000
    assert peak < size / 3
    with open(tmp_path / "found.csv") as file:
        assert sum(1 for _ in csv.reader(file)) == 60_001


def test_rows_score_the_same_to_the_last_bit_however_they_lie_in_memory(model):
    scores = model.decision_function(X)
    assert np.array_equal(model.decision_function(np.asfortranarray(X)), scores)
    assert np.array_equal(model.decision_function(X.astype(object)), scores)


def test_attributes_of_new_classes_are_found_by_their_names_in_whatever_order_they_come(model):
    names = list(model.facts["attributes"])
    frame = pd.DataFrame(SIGNATURES.values, DATASET.class_names, names)
    expected = model.candidates_for(frame).S
    backwards = frame[names[::-1]]
    by_name = {name: line for name, line in backwards.iterrows()}
    known = NewClasses.of(by_name)
    assert known.attributes == tuple(names[::-1])
    assert np.array_equal(known.fitting(len(names), names).values, frame.to_numpy())
    mixed = {name: line if i else line[::-1] for i, (name, line) in enumerate(by_name.items())}
    assert np.array_equal(NewClasses.of(mixed).fitting(len(names), names).values, frame.to_numpy())
    assert np.array_equal(
        NewClasses.of({n: dict(s) for n, s in mixed.items()}).fitting(len(names), names).values, frame
    )
    assert np.array_equal(model.candidates_for(frame.astype(object)).S, expected)
    with pytest.raises(DataError, match="'trait 0' is not in all classes"):
        NewClasses.of({"one": frame.iloc[0], "two": frame.iloc[1].drop("trait 0")})


def test_a_frame_written_as_parquet_names_classes_by_its_index(model, tmp_path):
    frame = pd.DataFrame(SIGNATURES.values, DATASET.class_names, [f"a{i}" for i in range(SIGNATURES.values.shape[1])])
    frame.to_parquet(tmp_path / "new.parquet")
    assert NewClasses.of(tmp_path / "new.parquet").names == tuple(DATASET.class_names)


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (",".join(map(str, range(12))), "line 1 holds numbers"),
        (",".join(["1"] * 11) + ",", "line 1 holds numbers"),  # an empty cell is no name of a column
        (",".join(["1"] * 11) + ",2 # no", "line 1 holds numbers"),
        ("# not a row", "columns"),
    ],
)
def test_no_line_of_a_file_of_rows_is_passed_over(model, tmp_path, first, told):
    rows = ",".join(["1"] * 12)
    names = ",".join(f"f{place}" for place in range(12))
    (tmp_path / "rows.csv").write_text(f"{names}\n{first}\n" if first.startswith("#") else f"{first}\n{rows}\n")
    with pytest.raises((DataError, UsageError), match=told):
        list(RowFile(tmp_path / "rows.csv", model.features.views).blocks(8))

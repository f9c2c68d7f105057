"""Outcomes per row on disk: as written or a clear error; replicates are a cache that is made again, the same."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from dataclasses import replace

import numpy as np
import pytest
from zero_shot_toys import toy

from zslplat.data.store import atomic_files
from zslplat.errors import StoreError
from zslplat.evaluation.cache.problems import save_problem
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.scoring import outcomes as kept
from zslplat.evaluation.scoring.evaluation import evaluate
from zslplat.evaluation.scoring.outcomes import class_values, digest, read_outcomes, replicates, write_outcomes
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.metrics.intervals import SCHEME, draws, rows_digest
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns

COUNT = 130


def rows(seed=0, m=60):
    rng = np.random.default_rng(seed)
    y, predicted = rng.integers(0, 4, size=(2, m))
    columns = common_columns(rng.permutation(1000)[:m], y, np.where(rng.random(m) < 0.5, y, predicted), y, None)
    return RowOutcomes(columns, {"classes": list("abcd"), "bias": 0.1})


class Counting(ZeroShot):
    """Task zsl that counts how often it resamples."""

    calls = 0

    def resampled(self, outcomes, counts):
        self.calls += 1
        return super().resampled(outcomes, counts)


def test_outcomes_come_back_as_they_were_written(tmp_path):
    wanted = rows()
    # Names of columns are free, those of numpy's own arguments among them.
    wanted = RowOutcomes({**wanted.columns, "file": wanted.columns["row"], "wide": np.ones((60, 3))}, wanted.meta)
    assert write_outcomes(tmp_path / "a" / "b", wanted) == digest(wanted)
    found = read_outcomes(tmp_path / "a" / "b")
    assert found.meta == wanted.meta
    assert set(found.columns) == set(wanted.columns)
    for name, column in wanted.columns.items():
        assert found.columns[name].dtype == column.dtype
        np.testing.assert_array_equal(found.columns[name], column)
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == ["outcomes.json", "outcomes.npz"]


@pytest.mark.parametrize(
    "change",
    [
        lambda columns, meta: columns.update(predicted=columns["predicted"] + 1),
        lambda columns, meta: columns.update(row=columns["row"][::-1]),
        lambda columns, meta: columns.update(true=columns["true"].astype(np.int64)),
        lambda columns, meta: columns.update(other=columns.pop("score")),
        lambda columns, meta: meta.update(bias=0.2),
    ],
)
def test_digest_tells_outcomes_apart(change):
    columns, meta = dict(rows().columns), dict(rows().meta)
    assert digest(RowOutcomes(dict(reversed(columns.items())), meta)) == digest(rows())
    change(columns, meta)
    assert digest(RowOutcomes(columns, meta)) != digest(rows())


def test_replicates_are_kept_and_made_again_the_same(tmp_path):
    write_outcomes(tmp_path, rows())
    task = Counting()
    first = replicates(task, tmp_path, COUNT)
    assert set(first) == {"per_class_accuracy", "per_sample_accuracy"}
    assert first["per_class_accuracy"].shape == (COUNT,)
    assert task.calls == 2
    again = replicates(task, tmp_path, COUNT)
    assert task.calls == 2
    (tmp_path / "replicates.npz").unlink()
    anew = replicates(task, tmp_path, COUNT)
    assert task.calls == 4
    for name, values in first.items():
        np.testing.assert_array_equal(again[name], values)
        np.testing.assert_array_equal(anew[name], values)


def test_replicates_of_other_rows_another_scheme_or_another_number_are_not_taken(tmp_path, monkeypatch):
    task = Counting()
    write_outcomes(tmp_path / "a", rows())
    write_outcomes(tmp_path / "b", rows(seed=1))
    first = replicates(task, tmp_path / "a", COUNT)
    wanted = replicates(task, tmp_path / "b", COUNT)
    (tmp_path / "a" / "replicates.npz").replace(tmp_path / "b" / "replicates.npz")
    found = replicates(task, tmp_path / "b", COUNT)
    assert task.calls == 6
    np.testing.assert_array_equal(found["per_class_accuracy"], wanted["per_class_accuracy"])
    assert not np.array_equal(found["per_class_accuracy"], first["per_class_accuracy"])
    assert len(replicates(task, tmp_path / "b", COUNT - 1)["per_class_accuracy"]) == COUNT - 1
    calls = task.calls
    monkeypatch.setattr(kept, "SCHEME", "another")
    replicates(task, tmp_path / "b", COUNT - 1)
    assert task.calls == calls + 2


def test_replicates_come_without_a_place_to_keep_them_and_past_a_damaged_file(tmp_path, monkeypatch):
    write_outcomes(tmp_path, rows())
    path = tmp_path / "replicates.npz"
    wanted = replicates(ZeroShot(), tmp_path, COUNT)["per_class_accuracy"]
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-30], b"PK" + whole[40:], whole[:200] + bytes(50) + whole[250:]):
        path.write_bytes(damaged)
        np.testing.assert_array_equal(replicates(ZeroShot(), tmp_path, COUNT)["per_class_accuracy"], wanted)
        assert path.read_bytes() == whole

    def full(*arguments):
        raise OSError(28, "No space left on device")

    path.unlink()
    monkeypatch.setattr(atomic_files.os, "replace", full)
    np.testing.assert_array_equal(replicates(ZeroShot(), tmp_path, COUNT)["per_class_accuracy"], wanted)
    with pytest.raises(StoreError, match="No space left on device; free space"):
        write_outcomes(tmp_path / "other", rows())
    assert not list((tmp_path / "other").iterdir())
    assert len(list(tmp_path.glob("*.np*"))) == 1


@pytest.mark.parametrize("file", ["outcomes.npz", "outcomes.json"])
def test_damaged_outcomes_are_one_clear_error(tmp_path, file):
    write_outcomes(tmp_path, rows())
    whole = (tmp_path / file).read_bytes()
    middle = len(whole) // 2
    swapped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for damaged in (b"", whole[:50], swapped, b"[1, 2]"):
        (tmp_path / file).write_bytes(damaged)
        with pytest.raises(StoreError, match=r"outcomes per row in .* cannot be read: .*; restore them .*"):
            read_outcomes(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        replicates(ZeroShot(), tmp_path)


def test_columns_of_other_outcomes_are_not_taken(tmp_path):
    write_outcomes(tmp_path / "a", rows())
    write_outcomes(tmp_path / "b", rows(seed=1))
    (tmp_path / "a" / "outcomes.npz").replace(tmp_path / "b" / "outcomes.npz")
    with pytest.raises(StoreError, match="not what was written"):
        read_outcomes(tmp_path / "b")


def test_draws_have_the_values_that_the_name_of_the_scheme_stands_for():
    ids, strata = np.arange(40) * 7, np.arange(40) % 3
    found = hashlib.sha256(np.vstack(list(draws(ids, strata, 130))).tobytes()).hexdigest()[:16]
    # Other draws want another name in ``SCHEME``, or kept replicates would be paired with new ones.
    assert {SCHEME: found} == {"stratified-1": "8f74d25a6984bc76"}


def job(tmp_path, problems, task="gzsl", **more):
    saved = []
    for problem in problems:
        save_problem(tmp_path / "problems" / problem.name, problem)
        saved.append((problem.name, None))
    method = {"method": "eszsl", "parameters": {"alpha": 1.0, "gamma": 1.0}}
    return EvaluateJob("x", seed=0, task=task, problems=tuple(saved), **method, full=True, **more)


def test_an_evaluation_keeps_its_outcomes_where_it_is_told_to(tmp_path):
    task, data = GeneralizedZeroShot(), toy()
    problem = task.test(data)
    told = job(tmp_path, [problem], replicates=COUNT, validation_choices={"bias": 0.25}, outcomes=tmp_path / "out")
    record = evaluate(replace(told, artifacts=tmp_path / "artifacts"), tmp_path / "problems")
    (fold,) = record["folds"]
    found = read_outcomes(tmp_path / "out")
    assert fold["outcomes"] == digest(found)
    assert fold["rows"] == rows_digest({"id": found.columns["row"], "stratum": found.columns["true"]})
    assert np.array_equal(data.y[found.columns["row"]], problem.truth["y_pool"])
    assert set(found.columns["row"][found.domain]) == set(data.rows("test_seen"))
    assert json.loads((tmp_path / "out" / "outcomes.json").read_text())["meta"]["bias"] == 0.25
    made = task.resampled(found, np.ones((1, len(found)), dtype=np.int32))
    assert {"AUSUC", "calibrated_H"} <= set(made)
    for name, values in made.items():
        assert values[0] == pytest.approx(fold["metrics"][name], abs=1e-12)
    assert (tmp_path / "out" / "replicates.npz").is_file()
    with (tmp_path / "artifacts" / "replicates.csv").open() as file:
        shown = list(csv.DictReader(file))
    for name, values in replicates(task, tmp_path / "out", COUNT).items():
        assert [float(row[name]) for row in shown] == values.round(6).tolist()


def test_problems_keep_their_outcomes_apart_and_nothing_is_kept_unless_told(tmp_path):
    problems = ZeroShot(folds=2).validation(toy())
    told = job(tmp_path, problems, "zsl(folds=2)", replicates=5)
    assert all("rows" in fold and "outcomes" not in fold for fold in evaluate(told, tmp_path / "problems")["folds"])
    folds = evaluate(replace(told, outcomes=tmp_path / "out"), tmp_path / "problems")["folds"]
    assert [digest(read_outcomes(tmp_path / "out" / p.name)) for p in problems] == [f["outcomes"] for f in folds]
    assert folds[0]["outcomes"] != folds[1]["outcomes"]
    evaluate(replace(told, outcomes=tmp_path / "none", replicates=0), tmp_path / "problems")
    assert not (tmp_path / "none").exists()


def test_outcomes_are_read_again_only_where_their_files_have_changed(tmp_path, monkeypatch):
    task, folder = ZeroShot(), tmp_path
    write_outcomes(folder, rows())
    first, classes = replicates(task, folder), class_values(task, folder)
    read = []
    monkeypatch.setattr(kept, "read_outcomes", lambda path: read.append(path) or read_outcomes(path))
    for only in (None, list(first)[:1]):
        found = replicates(task, folder, only=only)
        assert list(found) == list(only or first)
        assert all(np.array_equal(found[name], first[name], equal_nan=True) for name in found)
        again = class_values(task, folder, only=only)
        assert list(again.values) == [name for name in classes.values if only is None or name in only]
    assert read == []
    content = folder / "outcomes.npz"
    os.utime(content, ns=(1, 1))  # a copy, say: the same outcomes at another time
    assert np.array_equal(replicates(task, folder)["per_class_accuracy"], first["per_class_accuracy"])
    assert read == [folder]
    replicates(task, folder)
    assert read == [folder]
    content.write_bytes(content.read_bytes()[:-50])
    with pytest.raises(StoreError):
        replicates(task, folder, only=["per_class_accuracy"])

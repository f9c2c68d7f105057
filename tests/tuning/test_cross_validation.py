"""Cross-validation with a search for every fold, and studies of rows with several labels, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

PLAIN = ("--method", "llc(neighbours=10)", "--workers", 1)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return ("--store", tmp_path_factory.mktemp("cross") / "mlruns")


@pytest.fixture(scope="module")
def three_folds(tmp_path_factory):
    """A spec of a file of 90 rows with three labels, in three folds."""
    rng = np.random.default_rng(0)
    y = (rng.random((90, 3)) < 0.4).astype(int)
    X = y @ rng.normal(size=(3, 6)) + 0.3 * rng.normal(size=(90, 6))
    file = tmp_path_factory.mktemp("data") / "three.npz"
    np.savez(file, X=X, y=y, folds=np.arange(90) % 3 + 1)
    return f'npz(path="{file}")'


@pytest.mark.long
def test_every_fold_has_a_study_of_its_own_and_the_mean_is_over_folds(call, places, three_folds):
    command = ("cross-validate", *PLAIN, "--dataset", three_folds, *places)
    done = call(*command, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [study["fold"] for study in found["studies"]] == [1, 2, 3]
    assert len({study["name"] for study in found["studies"]}) == 3
    values = [study["test"][0]["mAP"] for study in found["studies"]]
    assert found["primary"] == "mAP"
    assert found["mean"]["mAP"] == pytest.approx(np.mean(values))
    assert found["spread"]["mAP"] == pytest.approx(np.std(values, ddof=1))
    # What is finished is not computed again; the table says the same.
    shown = call(*command)
    assert shown.returncode == 0, shown.stderr
    assert f"{np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}" in shown.stdout
    assert "every fold tuned in its own training rows" in shown.stdout
    one = call("tune", *PLAIN, "--dataset", three_folds, "--task", "coding(split=3)", *places, "--json")
    assert json.loads(one.stdout)["name"] == found["studies"][2]["name"]
    assert json.loads(one.stdout)["test"][0]["mAP"] == values[2]


@pytest.mark.long
def test_what_a_stopped_study_asks_for_can_be_given(call, places, three_folds):
    # Errors of studies name these options: after a change of code, and after failed trials.
    further = ("--study", "mine", "--accept-changed-code", "--retry-failed")
    done = call("cross-validate", *PLAIN, "--dataset", three_folds, *further, *places, "--json")
    assert done.returncode == 0, done.stderr
    assert [study["name"] for study in json.loads(done.stdout)["studies"]] == [f"mine, split {k}" for k in (1, 2, 3)]


def test_what_cross_validation_cannot_do_is_said(call, places, three_folds):
    cases = {
        "no option split": ("--dataset", "digit-pairs", "--task", "zsl"),
        "sets split itself": ("--dataset", three_folds, "--task", "coding(split=2)"),
        "3 folds of its own; leave": ("--dataset", three_folds, "--splits", 3),
        "say how many splits to draw": ("--dataset", "digits"),
        "has test rows of its own": ("--dataset", "digit-sets(rows=200)", "--splits", 3),
    }
    for message, options in cases.items():
        done = call("cross-validate", *PLAIN, *options, *places)
        assert done.returncode == 2, message
        assert message in done.stderr


@pytest.mark.long
def test_several_labels_are_tuned_by_map_and_compared_with_intervals(call, places):
    data = ("--dataset", "digit-sets(rows=200)", "--task", "coding")
    for method in ("llc(neighbours=10)", "lc-ksvd(atoms=30,nonzeros=5,iterations=1)"):
        done = call("tune", "--method", method, *data, "--trials", 1, "--workers", 1, *places, "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["primary"] == "mAP"
        assert found["test"][0]["mAP"] > found["test_chance"] > 0.1
    again = call("rerun", found["final_run_ids"][0], "--check", "--workers", 1, *places)
    assert again.returncode == 0, again.stderr
    compared = call("compare", *data, *places, "--json")
    assert compared.returncode == 0, compared.stderr
    rows = json.loads(compared.stdout)[0]["rows"]
    assert len(rows) == 2
    assert all(row["low"] < row["test"] < row["high"] for row in rows)


def test_a_last_fold_that_cannot_be_validated_is_said_before_the_first(call, tmp_path):
    folds = np.arange(60) % 3 + 1
    y = ((folds == 3) & (np.arange(60) % 2 == 0)).astype(int)
    y[0] = 1  # one row of the first two folds, which train for the last: too few to hold one out
    file = tmp_path / "lame.npz"
    np.savez(file, X=np.random.default_rng(0).random((60, 5)), y=y, folds=folds)
    done = call("cross-validate", *PLAIN, "--dataset", f'npz(path="{file}")', "--store", tmp_path / "store")
    assert done.returncode == 1, done.stderr
    assert "rows" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "store" / "optuna.db").exists()


@pytest.mark.long
def test_of_class_folds_each_has_a_study_and_the_score_is_over_all_classes(call, tmp_path):
    places = ("--store", tmp_path / "mlruns", "--workers", 1)
    command = ("tune", "eszsl", "--dataset", "digit-pairs(rows=5)", "--class-folds", 5, "--trials", 1, *places)
    done = call(*command, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["draws"], found["classes"]) == (5, 100)
    values = [study["test"][0]["per_class_accuracy"] for study in found["studies"]]
    assert found["test"] == pytest.approx(np.mean(values))  # folds of 20 classes each
    assert found["low_classes"] < found["test"] < found["high_classes"]
    shown = call(*command)
    assert f"test per_class_accuracy {found['test']:.4f} [" in shown.stdout
    (compared,) = json.loads(call("compare", *places[:2], "--json").stdout)
    assert compared["rows"][0]["test"] == found["test"]


def test_class_folds_are_planned_by_the_first(call, tmp_path):
    done = call("tune", "eszsl", "--class-folds", 5, "--dry-run", "--store", tmp_path / "planned")
    assert done.returncode == 0, done.stderr
    assert "class folds: 5, a study each; this is the first, about" in done.stdout
    assert not (tmp_path / "planned").exists()

"""Cross-validation with a search for every fold, and studies of rows with several labels, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

FOLDS = "digit-sets(parts=folds,rows=200,faint=0.2)"
PLAIN = ("--method", "llc(neighbours=10)", "--workers", 1)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return ("--store", tmp_path_factory.mktemp("cross") / "mlruns")


def test_every_fold_has_a_study_of_its_own_and_the_mean_is_over_folds(call, places, tmp_path):
    command = ("cross-validate", *PLAIN, "--dataset", FOLDS, *places)
    done = call(*command, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [study["fold"] for study in found["studies"]] == [1, 2, 3, 4, 5]
    assert len({study["name"] for study in found["studies"]}) == 5
    values = [study["test"][0]["mAP"] for study in found["studies"]]
    assert found["primary"] == "mAP"
    assert found["mean"]["mAP"] == pytest.approx(np.mean(values))
    assert found["spread"]["mAP"] == pytest.approx(np.std(values, ddof=1))
    # What is finished is not computed again; the table says the same.
    shown = call(*command, "--out", tmp_path / "folds.csv")
    assert shown.returncode == 0, shown.stderr
    assert f"{np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}" in shown.stdout
    assert "every fold tuned in its own training rows" in shown.stdout
    lines = (tmp_path / "folds.csv").read_text().splitlines()
    assert lines[0].startswith("fold,study,mAP,mAP_11pt")
    assert len(lines) == 6
    one = call("tune", *PLAIN, "--dataset", FOLDS, "--task", "coding(split=4)", *places, "--json")
    assert json.loads(one.stdout)["name"] == found["studies"][3]["name"]
    assert json.loads(one.stdout)["test"][0]["mAP"] == values[3]


def test_what_cross_validation_cannot_do_is_said(call, places):
    cases = {
        "no option split": ("--dataset", "digit-pairs", "--task", "zsl"),
        "sets split itself": ("--dataset", FOLDS, "--task", "coding(split=2)"),
        "5 folds of its own; leave": ("--dataset", FOLDS, "--splits", 3),
        "say how many splits to draw": ("--dataset", "digits"),
    }
    for message, options in cases.items():
        done = call("cross-validate", *PLAIN, *options, *places)
        assert done.returncode == 2, message
        assert message in done.stderr


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
    compared = call("compare", *data, "--metric", "mAP", *places, "--json")
    assert compared.returncode == 0, compared.stderr
    rows = json.loads(compared.stdout)["rows"]
    assert len(rows) == 2
    assert all(row["low"] < row["test"] < row["high"] for row in rows)
    run = call("run", "--method", "llc(neighbours=10)", *data, "--workers", 1, *places, "--json")
    assert json.loads(run.stdout)["primary"] == "mAP"

"""Models of recorded runs: there after every final evaluation, gone when they are removed, taken along with a store."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

import zslplat
from zslplat.errors import UsageError
from zslplat.evaluation.scoring.outcomes import read_outcomes
from zslplat.models.folder import share

FIRST = ("run", "--test", "-m", "eszsl(alpha=1,gamma=1)", "--workers", "1", "--json")
SECOND = ("run", "--test", "-m", "eszsl(alpha=1,gamma=10)", "--workers", "1", "--json")


@pytest.fixture(autouse=True)
def small_arrays_are_shared(monkeypatch):
    """As training rows of kernel methods are in earnest: here signatures, which models of one task have in common."""
    monkeypatch.setattr("zslplat.models.folder.SHARED_BYTES", 4096)


@pytest.fixture
def runs(small_arrays_are_shared, arranged, tmp_path, monkeypatch):
    """Two runs whose models hold the same signatures; rows of the test in their order."""
    found = [json.loads(done.stdout)["run_ids"][0] for done in arranged(FIRST, SECOND)]
    monkeypatch.setenv("ZSLPLAT_STORE", str(tmp_path / "mlruns"))
    for run in found:  # a store that was copied has every array for itself
        share(tmp_path / "mlruns" / "evaluations" / run / "model", tmp_path / "mlruns")
    outcomes = read_outcomes(tmp_path / "mlruns" / "evaluations" / found[0])
    np.save(tmp_path / "rows.npy", np.asarray(zslplat.load_dataset("digit-pairs").X)[outcomes.columns["row"]])
    return found


def shared(tmp_path):
    return sorted(path.name for path in (tmp_path / "mlruns" / "models").glob("*.npy"))


@pytest.mark.long
def test_predict_gives_the_classes_and_scores_that_the_run_recorded(runs, call, tmp_path):
    done = call("predict", "--run", runs[0], "--input", "rows.npy", "--output", "found.parquet", "--top", "2", "--json")
    assert done.returncode == 0, done.stderr
    table = pq.read_table(tmp_path / "found.parquet").to_pydict()
    outcomes = read_outcomes(tmp_path / "mlruns" / "evaluations" / runs[0])
    names = np.array(outcomes.meta["classes"])
    assert table["class"] == names[outcomes.columns["predicted"]].tolist()
    # Sums of float32, in blocks of another size: equal to its rounding, which depends on the processor.
    recorded = outcomes.columns["score"]
    assert np.allclose(table["score"], recorded, rtol=0, atol=1e-5 * np.abs(recorded).max())
    assert json.loads(done.stdout)["rows"] == len(names[outcomes.columns["predicted"]])


@pytest.mark.long
def test_a_model_is_loaded_by_run_and_by_folder_and_tells_what_it_is(runs, tmp_path):
    by_run = zslplat.load_model(runs[0])
    by_folder = zslplat.load_model(tmp_path / "mlruns" / "evaluations" / runs[0])
    X = np.load(tmp_path / "rows.npy")[:20]
    assert np.array_equal(by_run.decision_function(X), by_folder.decision_function(X))
    assert set(by_run.predict(X)) <= set(by_run.classes)
    told = by_run.describe()
    assert (told["dataset"], told["features"], told["kind"]) == ("digit-pairs", 128, "zero-shot")
    with pytest.raises(UsageError, match="unknown run, study or method 'no-such-run'"):
        zslplat.load_model("no-such-run")
    for wrong in (None, 3):
        with pytest.raises(UsageError, match="expected a RUN or a folder"):
            zslplat.load_model(wrong)


def test_predict_and_export_say_which_model_they_use_and_how_it_is_loaded(runs, call, tmp_path):
    line = f"model: eszsl on digit-pairs, run {runs[1]}"
    predict = ("predict", "rows.npy", "--run", runs[1][:10], "--output", "found.csv")
    assert line in call(*predict).stderr.splitlines()
    assert line not in call(*predict, "-q").stderr
    answer = json.loads(call(*predict, "--json").stdout)
    assert (answer["run"], answer["study"]) == (runs[1], "")
    exported = call("export", "latest", "--to", "served").stdout.splitlines()
    assert exported[1:3] == [f"  {line}", "  in Python: mlflow.pyfunc.load_model('served')"]
    assert "model: eszsl on digit-pairs, folder " in call("predict", "rows.npy", "--run", "served").stderr
    assert (tmp_path / "predictions.csv").read_text() == (tmp_path / "found.csv").read_text()


def test_what_models_have_in_common_is_there_once_and_goes_with_the_last_that_needs_it(runs, call, tmp_path):
    both = shared(tmp_path)
    assert both
    listed = json.loads(call("models", "list", "--json").stdout)
    assert [one["run"] for one in listed] == runs
    assert sum(one["bytes"] for one in listed) > sum(f.stat().st_size for f in (tmp_path / "mlruns/models").iterdir())
    twice = call("models", "remove", runs[0], runs[0][:10])
    assert (twice.returncode, twice.stdout[:16]) == (0, "removed 1 model,")
    assert shared(tmp_path)
    assert len(zslplat.load_model(runs[1]).classes) == 20
    assert call("models", "remove", runs[1]).returncode == 0
    assert shared(tmp_path) == []
    gone = call("predict", "--run", runs[1], "--input", "rows.npy", "--output", "found.csv")
    assert gone.returncode == 1
    assert "was removed; give the command of the run again" in gone.stderr
    again = json.loads(call(*SECOND).stdout)["run_ids"][0]
    assert len(zslplat.load_model(again).classes) == 20


def test_store_check_finds_a_damaged_model_and_gc_what_no_model_needs(runs, call, tmp_path):
    store = tmp_path / "mlruns"
    assert call("store", "check").returncode == 0
    (store / "models" / f"{'0' * 64}.npy").write_bytes(b"of nobody")
    (store / "evaluations" / runs[0] / ".new-left").mkdir()
    listed = json.loads(call("store", "gc", "--json").stdout)["paths"]
    assert {"models/" + "0" * 64 + ".npy", f"evaluations/{runs[0]}/.new-left"} <= set(listed)
    assert all(name.partition("/")[0] in ("models", "evaluations", "studies") for name in listed)
    assert call("store", "check").returncode == 0
    array = next((store / "models").iterdir())
    array.write_bytes(array.read_bytes()[:-8] + b"damaged!")
    found = call("store", "check")
    assert found.returncode == 1
    assert "it is not what was written" in found.stdout
    refused = call("predict", "--run", runs[0], "--input", "rows.npy", "--output", "found.csv")
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1


def test_a_merge_takes_models_over_with_what_they_share(runs, call, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    done = call("store", "merge", tmp_path / "mlruns", "--store", other / "mlruns")
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tmp_path / "mlruns")
    model = zslplat.load_model(runs[1], store=other / "mlruns")
    assert model.predict(np.load(tmp_path / "rows.npy")[:3]).shape == (3,)


@pytest.mark.long
def test_without_a_model_asked_for_none_is_kept_and_predict_says_so(call, arranged, tmp_path, runs):
    command = ("run", "--test", "-m", "sae", "--workers", "1", "--json")
    run = json.loads(call(*command, "--no-model").stdout)["run_ids"][0]
    refused = call("predict", "--run", run, "--input", "rows.npy", "--output", "found.csv")
    assert "has no model; give a final run of `tune`, `run --test` or `bench`" in refused.stderr
    with_model = json.loads(call(*command).stdout)["run_ids"][0]
    assert zslplat.load_model(with_model).predict(np.load(tmp_path / "rows.npy")[:3]).shape == (3,)
    again = call("rerun", with_model, "--check")
    assert again.returncode == 0, again.stderr
    assert len(json.loads(call("models", "list", "--json").stdout)) == len(runs) + 1


@pytest.mark.long
def test_a_study_leaves_the_model_of_its_winner_which_goes_with_the_study(call, tmp_path, monkeypatch):
    monkeypatch.setenv("ZSLPLAT_STORE", str(tmp_path / "mlruns"))
    tuned = call("tune", "-m", "eszsl", "-n", "2", "--workers", "1", "--study", "pairs", "--json")
    assert tuned.returncode == 0, tuned.stderr
    listed = json.loads(call("models", "list", "--json").stdout)
    assert [one["study"] for one in listed] == ["pairs"]
    assert shared(tmp_path)
    assert call("studies", "delete", "pairs", "--yes").returncode == 0
    assert shared(tmp_path) == []
    assert json.loads(call("models", "list", "--json").stdout) == []

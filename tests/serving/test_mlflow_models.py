"""An export is an MLflow model that needs no store, answers in a process of its own, and over HTTP."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from model_toys import animals, kept

from zslplat.errors import UsageError
from zslplat.serving.mlflow_model import export_model
from zslplat.serving.runs import load_model
from zslplat.settings import resolve_settings

DATASET = animals()
X = np.asarray(DATASET.X)
NEW = {"unicorn": DATASET.signatures["att"].values[0] * 0.5, "griffin": DATASET.signatures["att"].values[1] + 0.1}
ASK = """
import json, sys
import numpy as np
import mlflow.pyfunc

model = mlflow.pyfunc.load_model(sys.argv[1])
told = json.loads(sys.stdin.read())
own = model.predict(np.array(told["rows"]), params={"scores": True})
new = model.predict(np.array(told["rows"], dtype=np.float32), params={**told["params"], "scores": True})
print(json.dumps([own.to_dict("list"), new.to_dict("list")]))
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The export of a model whose own folder is gone, and the model as it was."""
    folder = tmp_path_factory.mktemp("exported")
    found = kept(folder / "made", "eszsl(alpha=1,gamma=1)", "zsl", DATASET)
    settings = resolve_settings({"store": folder / "mlruns"})
    done = export_model(settings, str(found.folder), folder / "animals")
    shutil.rmtree(folder / "made")
    return found.model, done, settings


def params():
    return {"classes": list(NEW), "signatures": [float(v) for row in NEW.values() for v in row], "top": 2}


def test_an_export_is_arrays_json_and_one_source_file(exported):
    _, done, _ = exported
    kinds = {path.suffix for path in done.folder.rglob("*") if path.is_file() and path.name != "MLmodel"}
    assert kinds == {".json", ".npy", ".py", ".txt", ".yaml"}
    assert "zslplat==" in (done.folder / "requirements.txt").read_text()
    with pytest.raises(UsageError, match="exists; remove it"):
        export_model(exported[2], str(done.folder), done.folder)
    assert sorted(path.name for path in done.folder.parent.iterdir() if path.name.startswith(".")) == []


@pytest.mark.long
def test_mlflow_loads_an_export_in_a_process_of_its_own_without_the_store(exported, tmp_path):
    model, done, _ = exported
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ZSLPLAT_", "MLFLOW_"))}
    asked = subprocess.run(
        [sys.executable, "-c", ASK, done.folder],
        input=json.dumps({"rows": X.tolist(), "params": params()}),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert asked.returncode == 0, asked.stderr
    own, new = json.loads(asked.stdout)
    assert own["class"] == model.predict(X).tolist()
    scores = np.column_stack([own[f"score of {name}"] for name in model.classes])
    assert np.array_equal(scores, model.decision_function(X))
    assert np.array_equal(np.column_stack([new[f"score of {n}"] for n in NEW]), model.decision_function(X, NEW))
    assert set(new["class_2"]) <= set(NEW)


def test_an_export_is_loaded_without_mlflow_too(exported):
    model, done, _ = exported
    assert np.array_equal(load_model(done.folder).decision_function(X), model.decision_function(X))


def test_an_exemplar_export_has_its_gallery(tmp_path):
    found = kept(tmp_path / "made", "whitening", "exemplar-retrieval", DATASET)
    expected = found.model.predict(X[:5])
    done = export_model(resolve_settings({"store": tmp_path / "mlruns"}), str(found.folder), tmp_path / "animals")
    shutil.rmtree(tmp_path / "made")
    assert np.array_equal(load_model(done.folder).predict(X[:5]), expected)


@pytest.mark.long
def test_mlflow_registers_an_export_as_it_is(exported, monkeypatch):
    import mlflow

    _, done, settings = exported
    settings.make_store()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", settings.tracking_uri)
    mlflow.set_tracking_uri(settings.tracking_uri)
    try:
        version = mlflow.register_model(done.folder.absolute().as_uri(), "animals").version
        assert int(version) == 1
        served = mlflow.pyfunc.load_model("models:/animals/1")
    finally:
        mlflow.set_tracking_uri(None)
    assert len(served.predict(X[:3])) == 3


def test_an_export_removes_what_a_killed_one_left_and_nothing_else(exported, tmp_path):
    _, done, settings = exported
    (tmp_path / ".zslplat-export-killed").mkdir()
    (tmp_path / ".new-year").mkdir()
    export_model(settings, str(done.folder), tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".new-year", "again"]


def test_a_copy_of_a_model_may_lie_anywhere(exported, tmp_path):
    model, done, _ = exported
    shutil.copytree(done.folder / "artifacts" / "model", tmp_path / "else")
    assert np.array_equal(load_model(tmp_path / "else").predict(X), model.predict(X))


@pytest.mark.long
@pytest.mark.services
def test_mlflow_serves_an_export_over_http_with_the_scores_of_the_model(exported, tmp_path):
    model, done, _ = exported
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ZSLPLAT_", "MLFLOW_"))}
    # MLflow finds its web server on the path, as in an environment that is activated.
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    command = [sys.executable, "-m", "mlflow", "models", "serve", "--model-uri", str(done.folder)]
    command += ["--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_for(address, server, tmp_path / "log")
        given = {"inputs": X.tolist(), "params": {**params(), "scores": True}}
        found = ask(address, given)["predictions"]
        scores = np.array([[line[f"score of {name}"] for name in NEW] for line in found])
        assert np.array_equal(scores, model.decision_function(X, NEW))
        assert [line["class"] for line in found] == model.predict(X, NEW).tolist()
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(address, {"inputs": X[:1].tolist(), "params": {"classes": ["a"], "signatures": [1.0, 2.0]}})
        assert refused.value.code == 400
        assert "2 attributes per class; the model was trained on 6" in refused.value.read().decode()
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(800)


def wait_for(address, server, log):
    end = time.monotonic() + 800
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}/ping", timeout=5):
                return
        except OSError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.5)
    pytest.fail(log.read_text())


def ask(address, content):
    body = json.dumps(content).encode()
    request = urllib.request.Request(f"{address}/invocations", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=800) as answer:
        return json.loads(answer.read())

"""``zslplat ui``: the link that it prints, the port that it takes, and that nothing of it is left behind."""

from __future__ import annotations

import errno
import http.server
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import psutil
import pytest
from support import with_own_path

from zslplat.cli import mlflow_server, ui
from zslplat.errors import UsageError
from zslplat.platforms import end_session
from zslplat.settings import resolve_settings
from zslplat.tracking.experiment_page import local_start, server_start
from zslplat.tracking.projection import Projection
from zslplat.tracking.run_view import RunView

# In place of MLflow's server: it answers, has started another process, and asks to be ended twice.
SERVER = """
import http.server, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
port = int(sys.argv[sys.argv.index("--port") + 1])
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"OK")
    def log_message(self, *given):
        pass
http.server.HTTPServer(("127.0.0.1", port), Answer).serve_forever()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def taken():
    """A port on which somebody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def in_place_of_mlflow(folder, body):
    """Return a module search path on which a program of this body stands in place of MLflow's."""
    (folder / "mlflow").mkdir()
    (folder / "mlflow" / "__init__.py").write_text("")
    (folder / "mlflow" / "__main__.py").write_text(body)
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])


def test_a_taken_port_is_refused_before_an_address_is_printed(call, taken):
    done = call("ui", "--port", taken)
    assert done.returncode == 2
    assert "http://" not in done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert re.search(rf"error: .*127\.0\.0\.1:{taken}: Address already in use; choose another --port", done.stderr)
    done = call("ui", "--port", taken, "--host", "no.such.host.invalid")
    assert done.returncode == 2


def test_where_no_port_is_asked_for_the_next_that_is_free_is_taken(monkeypatch, taken):
    monkeypatch.setattr(mlflow_server, "FIRST_PORT", taken)
    assert taken < mlflow_server.usable_port("127.0.0.1", None) < taken + 100
    monkeypatch.setattr(mlflow_server, "_PORTS", 1)
    with pytest.raises(UsageError, match=f"no free port on 127.0.0.1 from {taken} to {taken}"):
        mlflow_server.usable_port("127.0.0.1", None)


def test_an_address_of_another_machine_is_not_tried_port_by_port(monkeypatch):
    asked = []
    problem = OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
    monkeypatch.setattr(mlflow_server, "_problem", lambda *given: asked.append(given) or problem)
    with pytest.raises(UsageError, match=r"192\.0\.2\.1:5000: Cannot assign"):
        mlflow_server.usable_port("192.0.2.1", None)
    assert len(asked) == 1


@pytest.mark.parametrize("code", [0, 3])
def test_a_server_that_ends_by_itself_is_a_failure_whatever_its_exit_code(call, monkeypatch, tmp_path, code):
    body = f"import sys\nprint('cannot start', file=sys.stderr)\nsys.exit({code})\n"
    monkeypatch.setenv("PYTHONPATH", in_place_of_mlflow(tmp_path, body))
    done = call("ui", "--port", free_port())
    assert done.returncode == 1
    assert "http://" not in done.stdout
    assert f"ended by itself before it answered, with exit code {code}" in done.stderr


def test_what_a_server_has_started_has_time_to_end_after_it(tmp_path):
    child = (
        "import pathlib, signal, sys, time\n"
        "def end(*given):\n    time.sleep(0.3)\n    pathlib.Path('ended').touch()\n    sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\nprint(flush=True)\nsignal.pause()\n"
    )
    leader = f"import signal, subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {child!r}])\nsignal.pause()\n"
    command = [sys.executable, "-c", leader]
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stdout=subprocess.PIPE)
    process.stdout.readline()
    end_session(process, 60)
    assert process.returncode == -signal.SIGTERM
    assert (tmp_path / "ended").exists()


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_address_is_printed_when_it_answers_and_no_process_is_left(
    new_store, program_environment, tmp_path, ending
):
    store, port = new_store(), free_port()
    path = with_own_path(in_place_of_mlflow(tmp_path, SERVER))
    process = subprocess.Popen(
        [sys.executable, "-m", "zslplat", "ui", "--port", str(port)],
        cwd=tmp_path,
        env={**program_environment, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        # What is started in the background of a shell ignores Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        lines = [process.stdout.readline().strip() for _ in range(2)]
        assert lines[0] == f"MLflow UI on http://127.0.0.1:{port} for {store} (Ctrl-C ends it)"
        assert lines[1] == f"newest results: http://127.0.0.1:{port}/#/experiments?workflowType=machine_learning"
        started = psutil.Process(process.pid).children(recursive=True)
        assert len(started) == 2
        process.send_signal(ending)
        assert process.wait(800) == 0
        _, alive = psutil.wait_procs(started, timeout=800)
        assert alive == []
    finally:
        process.kill()
        process.wait()


def shown(settings, experiment, **view):
    projection = Projection(settings, experiment, f"run:{experiment}", "store", pytest.fail)
    projection.show(RunView("repeat-0", "eszsl test .9", method="eszsl", **view), "run")
    projection.close()
    return projection.experiment_id


@pytest.fixture
def settings(new_store):
    settings = resolve_settings({"store": new_store()})
    settings.make_store()
    return settings


def test_the_link_leads_to_the_experiment_that_was_completed_last(settings, arranged_page):
    first, second = (shown(settings, name, started=at) for name, at in (("zsl: a", 1.0), ("zsl: b", 2.0)))
    assert local_start(settings) == f"#/experiments/{second}/runs?workflowType=machine_learning"
    arranged_page(settings, first, 20.0, "final")
    arranged_page(settings, second, 10.0, "final")
    wanted = f"#/experiments/{first}/runs?workflowType=machine_learning&viewStateShareKey=results"
    assert local_start(settings) == wanted
    database = resolve_settings({"store": settings.store, "tracking_uri": f"sqlite:///{settings.store}/./mlflow.db"})
    assert server_start(database) == wanted
    with closing(sqlite3.connect(settings.store / "mlflow.db")) as connection, connection:
        connection.execute("update experiments set lifecycle_stage = 'deleted' where experiment_id = ?", (first,))
    assert f"experiments/{second}/" in local_start(settings)


@pytest.fixture
def arranged_page():
    def arrange(settings, experiment, ended, stage):
        from zslplat.tracking.experiment_page import FACTS, TAG

        name = {"final": "results", "trial": "trials"}[stage]
        with closing(sqlite3.connect(settings.store / "mlflow.db")) as connection, connection:
            for key, value in ((FACTS, f'{{"ended": {ended}}}'), (TAG + name, "{}")):
                query = "insert into experiment_tags (experiment_id, key, value) values (?, ?, ?)"
                connection.execute(query, (experiment, key, value))

    return arrange


def test_an_experiment_without_final_evaluations_opens_on_its_trials(settings, arranged_page):
    experiment = shown(settings, "zsl: a", started=1.0)
    arranged_page(settings, experiment, 1.0, "trial")
    assert local_start(settings).endswith("&viewStateShareKey=trials")


def test_with_a_tracking_server_the_link_leads_there_and_nothing_is_started(call):
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = (
                b'{"experiments": [{"experiment_id": "7", "name": "zsl: a", "artifact_location": "x", '
                b'"lifecycle_stage": "active", "tags": [{"key": "zslplat.shown", "value": "{\\"ended\\": 5}"}, '
                b'{"key": "mlflow.sharedViewState.results", "value": "{}"}]}]}'
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, *given):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        done = call("ui", "--tracking-uri", address)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    path = "#/experiments/7/runs?workflowType=machine_learning&viewStateShareKey=results"
    assert done.stdout.splitlines() == [
        f"runs are tracked at {address}; open that address in a browser",
        f"{address}/{path}",
    ]


@pytest.mark.parametrize(
    ("variables", "terminal", "opened"),
    [
        ({}, True, False),
        ({"DISPLAY": ":0"}, True, True),
        ({"DISPLAY": ":0"}, False, False),
        ({"BROWSER": "x"}, True, True),
    ],
)
def test_a_browser_is_opened_only_where_there_is_a_screen(monkeypatch, variables, terminal, opened):
    import webbrowser

    seen = []
    monkeypatch.setattr(webbrowser, "open", seen.append)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ui._open("http://127.0.0.1:5000/")
    assert bool(seen) is opened

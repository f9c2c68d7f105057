"""A real MLflow tracking server for tests, which can be stopped and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress


class MlflowServer:
    """MLflow's own server on a file of its own."""

    def __init__(self, folder):
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(self.port)]
        command += ["--backend-store-uri", f"sqlite:///{self.folder / 'mlflow.db'}"]
        command += ["--artifacts-destination", str(self.folder / "artifacts")]
        # Its queues of jobs are seven more processes, and nothing that zslplat asks of it goes there.
        environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, cwd=self.folder, env=environment
            )
        end = time.monotonic() + 800
        while time.monotonic() < end and self.process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
            time.sleep(0.2)
        raise RuntimeError((self.folder / "log").read_text()[-3000:])

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

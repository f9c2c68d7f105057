"""A Dask scheduler and workers for tests: processes of their own, in folders of their own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from importlib.metadata import entry_points

import psutil
import pytest


def require_dask():
    """Skip the tests that follow where the package for Dask is not installed."""
    if not any(point.name == "dask" for point in entry_points(group="zslplat.clusters")):
        pytest.skip("needs Dask: pip install ./plugins/zslplat-dask", allow_module_level=True)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class DaskCluster:
    """A scheduler at one address, which can be killed and started again, and named workers."""

    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = None
        self.workers = {}

    def start_scheduler(self):
        options = ["--host", "127.0.0.1", "--port", self.port, "--no-dashboard", "--no-show"]
        self.scheduler = self._start("scheduler", self.folder, *options)
        end = time.monotonic() + 800
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self.scheduler.poll() is None, self.log("scheduler")
                assert time.monotonic() < end, self.log("scheduler")
                time.sleep(0.05)

    def start_worker(self, name, *options):
        """Start a worker that keeps what it is sent in a folder of its own."""
        own = self.folder / name
        own.mkdir(exist_ok=True)
        given = ["--no-dashboard", "--local-directory", own, "--nthreads", 1, *options]
        self.workers[name] = self._start("worker", own, self.address, *given)

    def wait_for_workers(self, count):
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=800)

    def held(self, name):
        """Return the names of the entries that a worker keeps."""
        folders = self.folder.joinpath(name).glob("dask-scratch-space/*/zslplat/*/cache/*/*")
        return sorted(f"{path.parent.name}/{path.name}" for path in folders if (path / "entry.json").exists())

    def serving(self, name):
        """Return the process that serves as a worker: the nanny's, where there is one."""
        process = psutil.Process(self.workers[name].pid)
        below = [p for p in process.children() if "spawn_main" in " ".join(p.cmdline())]
        return below[0] if below else process

    def evaluating(self, name):
        """Return the processes that zslplat has started for a worker."""
        return [p for p in self.serving(name).children(recursive=True) if "forkserver" in " ".join(p.cmdline())]

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def kill_scheduler(self):
        self.scheduler.kill()
        self.scheduler.wait()

    def stop(self):
        for process in [*self.workers.values(), self.scheduler]:
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, kind, folder, *arguments):
        name = kind if kind == "scheduler" else folder.name
        command = [sys.executable, "-m", "distributed.cli.dask_" + kind, *map(str, arguments)]
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=folder, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

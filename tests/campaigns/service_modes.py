"""Modes of the campaign that strike what a study leans on: PostgreSQL, an MLflow server, a Dask cluster.

Each needs a program that may not be installed; a mode without it strikes nothing, and says so once.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import postgres_server
from cluster_toys import DaskCluster
from disturbed import STUDY, Case, Ground
from fault_modes import mode, one_clear_end
from mlflow_server import MlflowServer

_MOST_STRIKES = 3
_AWAY_SECONDS = (0, 0, 30)  # less than a command waits
_ENDED_BEFORE_SECONDS = 120
_SAID: set[str] = set()


@contextmanager
def _postgres(case: Case) -> Iterator[postgres_server.PostgresServer | None]:
    """Let a case keep its studies, and what MLflow shows, in two empty databases of a server of its own."""
    if reason := postgres_server.missing():
        _say(reason)
        yield None
        return
    server = postgres_server.PostgresServer()
    try:
        server.start()
        case.studies, case.shown = server.new_database(), server.new_database()
        case.options = ("--storage-url", case.studies, "--tracking-uri", case.shown)
        yield server
    finally:
        if not server.runs:
            server.start()
        case.compare()
        server.remove()


@mode("PostgreSQL restarted", 2)
def postgres_restarted(case: Case) -> None:
    with _postgres(case) as server:
        if server is None:
            return
        running = case.start()
        for _ in range(_MOST_STRIKES):
            if not case.reach(running):
                break
            case.note(running)
            server.stop(case.draw.choice(("immediate", "fast")))
            time.sleep(case.draw.choice(_AWAY_SECONDS))
            server.start()
        if set(case.phases) == {"start"}:
            # A server that has not answered yet may not be there at all: the command may end at once, and says so.
            one_clear_end(case, running)
            if running.process.exitcode != 0 and "does not answer" not in running.err.read_text():
                case.wrong.append(f"ended with {running.process.exitcode}: {running.err.read_text()[-200:]}")
        else:
            case.goes_on(running)


@mode("PostgreSQL away")
def postgres_away(case: Case) -> None:
    """For longer than a command waits: it ends with one error, and the same command goes on."""
    with _postgres(case) as server:
        if server is None:
            return
        case.variables = {"ZSLPLAT_OUTAGE_SECONDS": "1"}
        running = case.start()
        if case.reach(running):
            case.note(running)
            server.stop(case.draw.choice(("immediate", "fast")))
            running.process.join(_ENDED_BEFORE_SECONDS)
            server.start()
        one_clear_end(case, running)
        case.variables = {}


@mode("MLflow stopped", 2)
def mlflow_stopped(case: Case) -> None:
    """What it missed it is shown when it is there again, by this command or the next."""
    folder = _beside(case, "mlflow")
    server = MlflowServer(folder)
    try:
        server.start()
        case.options, case.shown = ("--tracking-uri", server.url), folder
        running = case.start()
        for _ in range(_MOST_STRIKES - 1):
            if not case.reach(running):
                break
            case.note(running)
            server.stop()
            server.start()
        case.goes_on(running)
        case.compare()
    finally:
        server.stop()


@contextmanager
def _cluster(case: Case) -> Iterator[DaskCluster | None]:
    """Let a case's studies be computed by two workers of a Dask cluster, each in a folder of its own."""
    if importlib.util.find_spec("distributed") is None:
        _say("distributed is not installed: pip install ./plugins/zslplat-dask")
        yield None
        return
    folder = _beside(case, "dask")
    cluster = DaskCluster(folder, {**case.ground.environment(case.folder), "TMPDIR": str(folder)})
    try:
        cluster.start_scheduler()
        for name in ("first", "second"):
            cluster.start_worker(name, "--nanny" if case.draw.random() < 0.5 else "--no-nanny")
        cluster.wait_for_workers(2)
        case.options = ("--cluster", cluster.address)
        yield cluster
        case.compare()
    finally:
        cluster.stop()


@mode("Dask worker killed", 2)
def dask_worker_killed(case: Case) -> None:
    with _cluster(case) as cluster:
        if cluster is None:
            return
        running = case.start(*STUDY)
        for number in range(_MOST_STRIKES):
            if not case.reach(running):
                break
            case.note(running)
            lost = case.draw.choice(list(cluster.workers))
            os.killpg(cluster.workers.pop(lost).pid, 9)
            cluster.start_worker(f"later-{number}", "--no-nanny")
        case.goes_on(running)


@mode("Dask scheduler killed", 2)
def dask_scheduler_killed(case: Case) -> None:
    with _cluster(case) as cluster:
        if cluster is None:
            return
        running = case.start(*STUDY)
        if case.reach(running):
            case.note(running)
            cluster.kill_scheduler()
            cluster.start_scheduler()
            # Workers that lost their scheduler end, or come again; there are enough in either case.
            cluster.start_worker("later", "--no-nanny")
        case.goes_on(running)


def _beside(case: Case, kind: str) -> Path:
    """Return a new folder outside that of the study: what a server does there is not the study's."""
    ground: Ground = case.ground
    folder = ground.folder / f"{kind}-{case.folder.name}"
    folder.mkdir()
    return folder


def _say(reason: str) -> None:
    if reason not in _SAID:
        print(f"not struck: {reason}", file=sys.stderr, flush=True)
        _SAID.add(reason)

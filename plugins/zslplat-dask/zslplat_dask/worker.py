"""What a worker of a Dask cluster does for a leader: it keeps cache entries, runs jobs on them and returns their files.

It shares no folder with the leader. Its cache, below Dask's local directory, is laid out like the leader's and is
removed with the worker. Every thread that runs a job has its own processes, which end after a while without jobs, and
at once when the task is cancelled because its leader stopped or is gone.
"""

from __future__ import annotations

import pickle
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing import util
from pathlib import Path
from typing import Any

from zslplat.errors import StoreError
from zslplat.evaluation.cache.arrays import ArrayCache
from zslplat.evaluation.code import libraries
from zslplat.evaluation.jobs import Answer, EvaluateJob, Limits, PrepareJob, WorkerSettings
from zslplat.evaluation.workers.memory import worker_share
from zslplat.evaluation.workers.worker import Worker
from zslplat_dask.transfer import (
    FileList,
    begin_entry,
    end_entry,
    missing_entries,
    pack_files,
    read_piece,
    write_piece,
)

TARGET, ARTIFACTS, OUTCOMES = "target", "artifacts", "outcomes"
_FOLDER = "zslplat"
_WATCH_SECONDS = 0.2
_IDLE_SECONDS = 60.0
# An entry of which nothing has arrived for so long is no longer being sent.
_SILENT_SECONDS = 30.0


@dataclass(frozen=True)
class RemoteJob:
    """A job for a worker on another machine.

    ``key`` is that of its Dask task, and of its answer. ``job`` is pickled. ``store`` names the leader's cache, of
    which ``needed`` are the entries that the job reads, by name and digest. ``software``: what computes at the leader.
    """

    key: str
    job: bytes
    limits: Limits
    store: str
    needed: dict[str, str]
    cache_bytes: float
    software: dict[str, str]


@dataclass(frozen=True)
class Reply:
    """The answer to a job, or which entries are missing; what the job wrote, by kind: the folder and its files."""

    key: str
    worker: str
    answer: Answer | None = None
    missing: tuple[str, ...] = ()
    made: dict[str, tuple[str, FileList]] = field(default_factory=dict)


@cache
def software() -> dict[str, str]:
    """Return the versions of what computes beside the code whose hashes are compared."""
    return {"Python": ".".join(map(str, sys.version_info[:2])), **libraries()}


def run_remote_job(request: RemoteJob) -> Reply:
    """Run a job in a thread of a Dask worker."""
    from distributed import get_worker

    dask_worker = get_worker()
    address, installed = dask_worker.contact_address or dask_worker.address, software()
    others = [
        f"{name} {installed.get(name)}, not {text}"
        for name, text in request.software.items()
        if installed.get(name) != text
    ]
    if others:
        reason = f"worker {address} of the cluster has {', '.join(others)}; install the same versions everywhere"
        return Reply(request.key, address, Answer(None, reason, fatal=True))
    with _own_faults(address):
        worker_store = _store_of(dask_worker, request.store)
        missing = missing_entries(worker_store.root, request.needed)
        return Reply(request.key, address, missing=tuple(missing)) if missing else worker_store.run(request, address)


def offer(store: str, name: str, digest: str, cache_bytes: float, *, dask_worker: Any) -> str | None:
    """Offer a worker an entry: return the key to send it under, empty if it has the entry, None if it is being sent.

    Raises :class:`StoreError` where the worker cannot write.
    """
    with _own_faults(dask_worker.contact_address or dask_worker.address):
        return _store_of(dask_worker, store).begin(name, digest, cache_bytes)


def take(store: str, key: str, name: str, offset: int, content: bytes, *, dask_worker: Any) -> str:
    """Write a piece of a file of an entry at a worker; return the error, if any."""
    return _store_of(dask_worker, store).take(key, name, offset, content)


def finish(store: str, key: str, *, dask_worker: Any) -> str:
    """Complete an entry at a worker; return the error, if any."""
    return _store_of(dask_worker, store).finish(key)


def give(store: str, folder: str, name: str, offset: int, *, dask_worker: Any) -> bytes:
    """Return a piece of a file that a job wrote at a worker."""
    return read_piece(_store_of(dask_worker, store).root / folder, name, offset)


def drop(store: str, key: str, *, dask_worker: Any) -> None:
    """Remove what a job wrote at a worker."""
    _store_of(dask_worker, store).drop(key)


@contextmanager
def _own_faults(address: str) -> Iterator[None]:
    """Report a fault of this machine as one: trying again would end the same way, as it would not after a lost
    worker."""
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        raise StoreError(
            f"worker {address} of the cluster: {error.strerror or error}{place}; free space or permissions there, or "
            "give it another --local-directory"
        ) from None


@dataclass
class _Arrival:
    """An entry that a leader is sending."""

    name: str
    digest: str
    temporary: Path
    latest: float


class _WorkerStore:
    """What a Dask worker has for one store: entries, files that jobs wrote, and the processes that run jobs."""

    def __init__(self, dask_worker: Any, root: Path) -> None:
        self.dask_worker, self.root = dask_worker, root
        self.settings = WorkerSettings(
            root / "cache" / "prepared", root / "workers.log", root / "code.json", dask_worker.address
        )
        self.settings.cache.mkdir(parents=True, exist_ok=True)
        self._arrivals: dict[str, _Arrival] = {}
        self._lock = threading.Lock()
        self._idle: list[tuple[float, Worker]] = []
        self._busy: dict[str, Worker] = {}
        self._ended = False
        # At exit, multiprocessing waits for the processes that it has started.
        util.Finalize(None, self.end, exitpriority=20)
        threading.Thread(target=self._watch, daemon=True, name="watch-tasks").start()

    def run(self, request: RemoteJob, address: str) -> Reply:
        """Run a job whose entries are all here."""
        job, outbox, limits = pickle.loads(request.job), self._outbox(request.key), request.limits
        folders: dict[str, Path] = {}
        if isinstance(job, EvaluateJob):
            requested = {ARTIFACTS: job.artifacts, OUTCOMES: job.outcomes}
            folders = {kind: outbox / kind for kind, folder in requested.items() if folder is not None}
            job = replace(job, artifacts=folders.get(ARTIFACTS), outcomes=folders.get(OUTCOMES))
            # The leader does not know how much memory this machine has.
            limits = replace(limits, bytes=limits.bytes or worker_share(self.dask_worker.state.nthreads))
        elif isinstance(job, PrepareJob):
            folders = {TARGET: self.settings.cache / job.target}
        with self._worker(request.key) as worker:
            answer = worker.run(job, limits)
        outputs = {}
        if answer.result is not None:
            existing = {kind: folder for kind, folder in folders.items() if folder.is_dir()}
            outputs = {
                kind: (str(folder.relative_to(self.root)), pack_files(folder)) for kind, folder in existing.items()
            }
        if all(parcel.content is not None for _, parcel in outputs.values()):
            self.drop(request.key)
        return Reply(request.key, address, answer, (), outputs)

    def begin(self, name: str, digest: str, cache_bytes: float) -> str | None:
        """See :func:`offer`."""
        if not missing_entries(self.root, {name: digest}):
            return ""
        now = time.monotonic()
        for key, arrival in list(self._arrivals.items()):
            if arrival.name == name and arrival.digest == digest:
                if now - arrival.latest < _SILENT_SECONDS:
                    return None
                del self._arrivals[key]
                shutil.rmtree(arrival.temporary, ignore_errors=True)
        ArrayCache(self.settings.cache, cache_bytes).evict(self.root / "cache" / "data", self.root / "data")
        temporary = begin_entry(self.root, name)
        self._arrivals[temporary.name] = _Arrival(name, digest, temporary, now)
        return temporary.name

    def take(self, key: str, name: str, offset: int, content: bytes) -> str:
        """See :func:`take`."""
        arrival = self._arrivals[key]
        arrival.latest = time.monotonic()
        try:
            write_piece(arrival.temporary, name, offset, content)
        except OSError as error:
            return f"cannot write to {arrival.temporary}: {error.strerror or error}"
        return ""

    def finish(self, key: str) -> str:
        """See :func:`finish`."""
        arrival = self._arrivals.pop(key)
        try:
            end_entry(self.root, arrival.name, arrival.temporary)
        except (OSError, ValueError, EOFError) as error:
            return f"{arrival.name} did not arrive as it was sent: {error}"
        return ""

    def drop(self, key: str) -> None:
        """See :func:`drop`."""
        shutil.rmtree(self._outbox(key), ignore_errors=True)

    def end(self) -> None:
        """End all processes at once."""
        with self._lock:
            self._ended = True
            workers = [*self._busy.values(), *(worker for _, worker in self._idle)]
            self._idle = []
        for worker in workers:
            worker.stop()

    @contextmanager
    def _worker(self, key: str) -> Iterator[Worker]:
        """Provide a worker that no other thread uses meanwhile."""
        with self._lock:
            worker = self._idle.pop()[1] if self._idle else Worker(self.settings)
            self._busy[key] = worker
            ended = self._ended
        if ended:
            worker.stop()
        try:
            yield worker
        finally:
            with self._lock:
                # A worker that was stopped is in neither list.
                if self._busy.pop(key, None) is not None and not self._ended:
                    self._idle.append((time.monotonic(), worker))

    def _watch(self) -> None:
        while not self._ended:
            time.sleep(_WATCH_SECONDS)
            if self.dask_worker.status.name in ("closing", "closed", "failed"):
                self.end()
            unwanted, now = [], time.monotonic()
            with self._lock:
                for key in [key for key in self._busy if not self._is_wanted(key)]:
                    unwanted.append(self._busy.pop(key))
                unwanted += [worker for since, worker in self._idle if now - since > _IDLE_SECONDS]
                self._idle = [(since, worker) for since, worker in self._idle if now - since <= _IDLE_SECONDS]
            for worker in unwanted:
                worker.stop()

    def _is_wanted(self, key: str) -> bool:
        """Tell whether the task of a job is still wanted; Dask does not stop the thread of a cancelled one."""
        task = self.dask_worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    def _outbox(self, key: str) -> Path:
        return self.root / "made" / key


_stores: dict[Path, _WorkerStore] = {}
_opening = threading.Lock()


def _store_of(dask_worker: Any, store: str) -> _WorkerStore:
    root = Path(dask_worker.local_directory) / _FOLDER / store
    with _opening:
        if root not in _stores or _stores[root].dask_worker is not dask_worker:
            _stores[root] = _WorkerStore(dask_worker, root)
        return _stores[root]

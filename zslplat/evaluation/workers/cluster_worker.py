"""What a worker of a Dask cluster does for a leader: keep what it was sent, run jobs on it, hand back what they made.

It shares no folder with the leader. Its own, below the local directory that Dask gave it, is a cache like the leader's,
and goes with the worker. Every thread of the worker that runs a job has processes of its own for it, which end once
nobody has used them for a while, and at once where the task is not wanted any more: its leader stopped, or is gone.
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
from zslplat.evaluation.cache.transfer import (
    FileList,
    begin_entry,
    end_entry,
    missing_entries,
    packed,
    read_piece,
    write_piece,
)
from zslplat.evaluation.code import libraries
from zslplat.evaluation.jobs import Answer, EvaluateJob, Limits, Place, PrepareJob
from zslplat.evaluation.workers.memory import worker_share
from zslplat.evaluation.workers.worker import Worker

TARGET, ARTIFACTS, OUTCOMES = "target", "artifacts", "outcomes"
_FOLDER = "zslplat"
_WATCH_SECONDS = 0.2
_IDLE_SECONDS = 60.0
# Whoever sends an entry has stopped doing so when nothing has come for so long.
_SILENT_SECONDS = 30.0


@dataclass(frozen=True)
class RemoteJob:
    """A job for a worker elsewhere.

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
    """The answer to an errand, or which entries are missing; what the job wrote, by kind: the folder and its files."""

    key: str
    worker: str
    answer: Answer | None = None
    missing: tuple[str, ...] = ()
    made: dict[str, tuple[str, FileList]] = field(default_factory=dict)


@cache
def software() -> dict[str, str]:
    """Return the versions of what computes beside the code whose hashes are compared."""
    return {"Python": ".".join(map(str, sys.version_info[:2])), **libraries()}


def carry_out(errand: RemoteJob) -> Reply:
    """Run an errand in a thread of a Dask worker."""
    from distributed import get_worker

    here = get_worker()
    address, own = here.contact_address or here.address, software()
    others = [f"{name} {own.get(name)}, not {text}" for name, text in errand.software.items() if own.get(name) != text]
    if others:
        reason = f"worker {address} of the cluster has {', '.join(others)}; install the same versions everywhere"
        return Reply(errand.key, address, Answer(None, reason, fatal=True))
    with _own_faults(address):
        depot = _depot(here, errand.store)
        missing = missing_entries(depot.root, errand.needed)
        return Reply(errand.key, address, missing=tuple(missing)) if missing else depot.run(errand, address)


def offer(store: str, name: str, digest: str, cache_bytes: float, *, dask_worker: Any) -> str | None:
    """Ask a worker for a place for an entry: its name, empty where it has the entry, None where it is just coming.

    Raises :class:`StoreError` where the worker can make none.
    """
    with _own_faults(dask_worker.contact_address or dask_worker.address):
        return _depot(dask_worker, store).begin(name, digest, cache_bytes)


def take(store: str, place: str, name: str, offset: int, content: bytes, *, dask_worker: Any) -> str:
    """Give a worker a piece of a file of an entry; returns what went wrong, if anything."""
    return _depot(dask_worker, store).take(place, name, offset, content)


def finish(store: str, place: str, *, dask_worker: Any) -> str:
    """Tell a worker that it has all of an entry; returns what went wrong, if anything."""
    return _depot(dask_worker, store).finish(place)


def give(store: str, folder: str, name: str, offset: int, *, dask_worker: Any) -> bytes:
    """Ask a worker for a piece of a file that a job made."""
    return read_piece(_depot(dask_worker, store).root / folder, name, offset)


def drop(store: str, key: str, *, dask_worker: Any) -> None:
    """Tell a worker that nothing of what a job made is wanted any more."""
    _depot(dask_worker, store).drop(key)


@contextmanager
def _own_faults(address: str) -> Iterator[None]:
    """Tell what a worker's machine refuses it from a worker that is gone: no other try would have another end."""
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        raise StoreError(
            f"worker {address} of the cluster: {error.strerror or error}{place}; free space or permissions there, or "
            "give it another --local-directory"
        ) from None


@dataclass
class _Coming:
    """An entry that somebody is sending."""

    name: str
    digest: str
    temporary: Path
    latest: float


class _Depot:
    """What a Dask worker holds for one store: entries, what jobs made, and the processes that run them."""

    def __init__(self, here: Any, root: Path) -> None:
        self.here, self.root = here, root
        self.place = Place(root / "cache" / "prepared", root / "workers.log", root / "code.json", here.address)
        self.place.cache.mkdir(parents=True, exist_ok=True)
        self._coming: dict[str, _Coming] = {}
        self._lock = threading.Lock()
        self._idle: list[tuple[float, Worker]] = []
        self._busy: dict[str, Worker] = {}
        self._ended = False
        # multiprocessing waits at the end of a program for what it has started.
        util.Finalize(None, self.end, exitpriority=20)
        threading.Thread(target=self._watch, daemon=True, name="watch-tasks").start()

    def run(self, errand: RemoteJob, address: str) -> Reply:
        """Run a job whose entries are all here."""
        job, outbox, limits = pickle.loads(errand.job), self._outbox(errand.key), errand.limits
        folders: dict[str, Path] = {}
        if isinstance(job, EvaluateJob):
            asked = {ARTIFACTS: job.artifacts, OUTCOMES: job.outcomes}
            folders = {kind: outbox / kind for kind, folder in asked.items() if folder is not None}
            job = replace(job, artifacts=folders.get(ARTIFACTS), outcomes=folders.get(OUTCOMES))
            # Nobody but this machine knows how much it has.
            limits = replace(limits, bytes=limits.bytes or worker_share(self.here.state.nthreads))
        elif isinstance(job, PrepareJob):
            folders = {TARGET: self.place.cache / job.target}
        with self._worker(errand.key) as worker:
            answer = worker.run(job, limits)
        made = {}
        if answer.result is not None:
            existing = {kind: folder for kind, folder in folders.items() if folder.is_dir()}
            made = {kind: (str(folder.relative_to(self.root)), packed(folder)) for kind, folder in existing.items()}
        if all(parcel.content is not None for _, parcel in made.values()):
            self.drop(errand.key)
        return Reply(errand.key, address, answer, (), made)

    def begin(self, name: str, digest: str, cache_bytes: float) -> str | None:
        """See :func:`offer`."""
        if not missing_entries(self.root, {name: digest}):
            return ""
        now = time.monotonic()
        for place, coming in list(self._coming.items()):
            if coming.name == name and coming.digest == digest:
                if now - coming.latest < _SILENT_SECONDS:
                    return None
                del self._coming[place]
                shutil.rmtree(coming.temporary, ignore_errors=True)
        ArrayCache(self.place.cache, cache_bytes).evict(self.root / "cache" / "data", self.root / "data")
        temporary = begin_entry(self.root, name)
        self._coming[temporary.name] = _Coming(name, digest, temporary, now)
        return temporary.name

    def take(self, place: str, name: str, offset: int, content: bytes) -> str:
        """See :func:`take`."""
        coming = self._coming[place]
        coming.latest = time.monotonic()
        try:
            write_piece(coming.temporary, name, offset, content)
        except OSError as error:
            return f"cannot write to {coming.temporary}: {error.strerror or error}"
        return ""

    def finish(self, place: str) -> str:
        """See :func:`finish`."""
        coming = self._coming.pop(place)
        try:
            end_entry(self.root, coming.name, coming.temporary)
        except (OSError, ValueError, EOFError) as error:
            return f"{coming.name} did not arrive as it was sent: {error}"
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
        """Give a worker that nobody else has meanwhile."""
        with self._lock:
            worker = self._idle.pop()[1] if self._idle else Worker(self.place)
            self._busy[key] = worker
            ended = self._ended
        if ended:
            worker.stop()
        try:
            yield worker
        finally:
            with self._lock:
                # One that was stopped is found nowhere any more.
                if self._busy.pop(key, None) is not None and not self._ended:
                    self._idle.append((time.monotonic(), worker))

    def _watch(self) -> None:
        while not self._ended:
            time.sleep(_WATCH_SECONDS)
            if self.here.status.name in ("closing", "closed", "failed"):
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
        """Tell whether the task of a job still is: nobody stops the thread of one that was given up."""
        task = self.here.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    def _outbox(self, key: str) -> Path:
        return self.root / "made" / key


_depots: dict[Path, _Depot] = {}
_opening = threading.Lock()


def _depot(here: Any, store: str) -> _Depot:
    root = Path(here.local_directory) / _FOLDER / store
    with _opening:
        if root not in _depots or _depots[root].here is not here:
            _depots[root] = _Depot(here, root)
        return _depots[root]

"""The leader's side of a Dask cluster: jobs go out, with the inputs that a worker lacks, and results come back.

Nothing is shared with the workers but the connection through the scheduler. A worker says which cache entries it lacks
and is sent them once; artifacts, outcomes and statistics come back the same way. When a worker is lost, its jobs run
elsewhere. When the scheduler is lost, the leader waits until one answers at that address again and sends what has not
come back. Workers may join and leave at any time.
"""

from __future__ import annotations

import itertools
import json
import logging
import platform
import shutil
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from zslplat.errors import OutageError, StoreError, ZslplatError
from zslplat.evaluation.jobs import Answer, Limits, WorkerSettings
from zslplat.keys import key_of
from zslplat_dask import worker as worker_side
from zslplat_dask.transfer import (
    FileList,
    begin_entry,
    digest_of,
    end_entry,
    list_files,
    needed_entries,
    read_piece,
    root_of,
    write_piece,
)
from zslplat_dask.worker import ARTIFACTS, OUTCOMES, TARGET, RemoteJob, Reply

# How long a scheduler may be away before a command gives up; the same command continues later.
_AWAY_SECONDS = 600.0
_CONNECT_SECONDS = 10.0
_LOOK_SECONDS = 5.0
_PAUSE_SECONDS = 0.1
_MOST_AT_ONCE = 256
_MOST_LOST = 100
_STOPPED = Answer(None, "stopped", killed=True)


class _Away(Exception):
    """A worker or the scheduler no longer answers."""


class Cluster:
    """Runs jobs on the workers of a Dask scheduler at ``address``, which may be a scheduler file (``.json``).

    ``settings``: those of the leader; ``say`` is called with what a user has to wait for. Raises :class:`OutageError`
    where no scheduler answers.
    """

    def __init__(self, address: str, settings: WorkerSettings, say: Callable[[str], None] = lambda text: None) -> None:
        self.address, self.settings, self.say = address, settings, say
        self._store = key_of(platform.node(), str(settings.cache.resolve()))
        self._name = uuid.uuid4().hex[:12]
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._futures: set[Any] = set()
        self._notices: set[str] = set()
        self._processors: set[str] = set()
        self._client: Any = self._connect(time.monotonic())
        # Each thread waits for one job.
        self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="cluster")

    @staticmethod
    def threads(address: str) -> int:
        """Return how many jobs the workers of a scheduler run at once; raises like :func:`connect`."""
        with connect(address) as client:
            return sum(client.nthreads().values())

    def submit(self, job: Any, limits: Limits) -> Future[Answer]:
        """Have a job run; the loss of a worker or of the scheduler raises nothing."""
        return self._threads.submit(self._run, job, limits)

    def close(self) -> None:
        """Cancel all jobs; the workers end those that they run."""
        self._stopped.set()
        with self._lock:
            futures, client, self._client = list(self._futures), self._client, None
        if client is not None:
            with suppress(Exception):
                client.cancel(futures, force=True)
            self._hang_up(client)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, job: Any, limits: Limits) -> Answer:
        pickled = bytes(ForkingPickler.dumps(job))
        prefer: list[str] = []
        lost = 0
        while not self._stopped.is_set():
            needed = needed_entries(job, self.settings.cache)
            key = f"zslplat-{self._name}-{next(self._numbers)}"
            request = RemoteJob(
                key, pickled, limits, self._store, needed, self.settings.cache_bytes, worker_side.software()
            )
            client = self._connected()
            if client is None:
                break
            try:
                reply = self._ask(client, request, prefer)
                if isinstance(reply, Answer):
                    return reply
                prefer = [reply.worker]
                for name in reply.missing:
                    self._deliver(client, reply.worker, name, needed[name])
                if reply.answer is not None:
                    self._collect(client, reply, job)
                    self._note_processor(reply.answer)
                    return reply.answer
            except _Away as away:
                prefer, lost = [], lost + 1
                if lost > _MOST_LOST:
                    raise StoreError(
                        f"the cluster at {self.address} lost a job {lost} times: {away.__cause__ or away!r}; "
                        "what was recorded is kept; give the same command again"
                    ) from away
                self._look_after(client)
        return _STOPPED

    def _ask(self, client: Any, request: RemoteJob, prefer: list[str]) -> Reply | Answer:
        """Return the reply to a request, or the answer to record where there will be none."""
        from distributed.scheduler import KilledWorker

        finished = threading.Event()
        with self._lock:
            if self._stopped.is_set():
                return _STOPPED
            try:
                future = client.submit(
                    worker_side.run_remote_job,
                    request,
                    key=request.key,
                    pure=False,
                    workers=prefer or None,
                    allow_other_workers=bool(prefer),
                )
                future.add_done_callback(lambda _: finished.set())
            except Exception as error:
                raise _Away from error
            self._futures.add(future)
        try:
            while not finished.wait(_LOOK_SECONDS) and client.status != "closed":
                self._look_for_workers(client)
                # A job that has ended meanwhile is not being processed either.
                if prefer and _waits_for_the_lost(client, request.key, prefer) and not finished.is_set():
                    raise _Away(f"job {request.key}: {prefer[0]} is lost")
            if self._stopped.is_set():
                return _STOPPED
            if future.status == "error":
                failure = future.exception()
                if isinstance(failure, KilledWorker):
                    # Dask tried one worker after another: it is the job that ends its workers.
                    times = failure.allowed_failures + 1
                    reason = f"the {times} workers of the cluster that ran it were lost one after another"
                    return Answer(None, reason, killed=True)
                if isinstance(failure, ZslplatError):
                    return Answer(None, str(failure), fatal=True)
                reason = (
                    f"a worker of the cluster cannot run zslplat's jobs: {type(failure).__name__}: {failure}; install "
                    "the same zslplat-dask and plugins on every worker"
                )
                return Answer(None, reason, fatal=True)
            if future.status != "finished":
                raise _Away(f"job {request.key}: {future.status}")
            reply: Reply = future.result()
        except _Away:
            raise
        except Exception as error:  # of any type: the connection broke while the answer was fetched
            raise _Away(request.key) from error
        finally:
            with self._lock:
                self._futures.discard(future)
            with suppress(Exception):
                future.release()
        if reply.key != request.key:
            raise StoreError(f"the cluster answered {reply.key} where {request.key} was asked")
        return reply

    def _deliver(self, client: Any, worker: str, name: str, digest: str) -> None:
        """Send an entry to a worker, or wait until another leader's thread has sent it."""
        folder = root_of(self.settings.cache) / name
        while True:
            place = self._call(client, worker, worker_side.offer, name, digest, self.settings.cache_bytes)
            if place == "":
                return
            if place is not None:
                break
            if self._stopped.wait(_PAUSE_SECONDS):
                raise _Away
        for file, offset in list_files(folder).pieces():
            try:
                content = read_piece(folder, file, offset)
            except OSError as error:
                raise StoreError(f"{folder / file} cannot be read: {error}; give the same command again") from error
            wrong = self._call(client, worker, worker_side.take, place, file, offset, content)
            if wrong:
                raise StoreError(f"worker {worker} {wrong}; free space there, or give it another --local-directory")
        wrong = self._call(client, worker, worker_side.finish, place)
        if wrong and digest_of(folder) == digest:
            raise StoreError(f"worker {worker}: {wrong}")

    def _collect(self, client: Any, reply: Reply, job: Any) -> None:
        """Put the files that a job wrote where the leader wants them."""
        left = False
        for kind, (folder, parcel) in reply.made.items():
            left = left or (parcel.content is None and kind != TARGET)
            if kind == TARGET:
                self._keep(client, reply.worker, folder, parcel, job.target)
            elif kind in (ARTIFACTS, OUTCOMES):
                target = getattr(job, kind)
                try:
                    self._receive(client, reply.worker, folder, parcel, target)
                except OSError as error:
                    raise StoreError(
                        f"cannot write {kind} to {target}: {error.strerror or error}; what was recorded is kept; free "
                        "space or permissions and give the same command again"
                    ) from error
        if left:
            with suppress(_Away):
                self._call(client, reply.worker, worker_side.drop, reply.key)

    def _keep(self, client: Any, worker: str, folder: str, parcel: FileList, name: str) -> None:
        """Put an entry that a job made into the leader's cache."""
        root = self.settings.cache
        try:
            temporary = begin_entry(root, name)
            try:
                self._receive(client, worker, folder, parcel, temporary)
                end_entry(root, name, temporary)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
        except (OSError, ValueError, EOFError) as error:
            raise StoreError(
                f"cannot keep cache entry {root / name}: {error}; free space or choose another --store"
            ) from error

    def _receive(self, client: Any, worker: str, folder: str, parcel: FileList, target: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        for name, offset in parcel.pieces():
            if parcel.content is not None:
                content = parcel.content[name][offset:]
            else:
                content = self._call(client, worker, worker_side.give, folder, name, offset)
            write_piece(target, name, offset, content)

    def _call(self, client: Any, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in a worker, beside the jobs that it runs."""
        try:
            (result,) = client.run(function, self._store, *arguments, workers=[worker], on_error="raise").values()
            return result
        except StoreError:  # an error of the worker itself
            raise
        except Exception as error:
            raise _Away from error

    def _connected(self) -> Any:
        """Return the connection, made anew where it was lost; None once the cluster is closed."""
        with self._lock:
            if self._client is None and not self._stopped.is_set():
                self.say(f"waiting for the Dask scheduler at {self.address}")
                self._client = self._connect(time.monotonic() + _AWAY_SECONDS)
            return self._client

    def _look_after(self, client: Any) -> None:
        """Check whether the scheduler is lost; if so the next job connects anew."""
        time.sleep(_PAUSE_SECONDS)
        with self._lock:
            if self._client is client:
                try:
                    client.sync(client.scheduler.identity, callback_timeout=_CONNECT_SECONDS)
                except Exception:
                    self._client = None
                    self._hang_up(client)

    def _note_processor(self, answer: Answer) -> None:
        name = (answer.result or {}).get("processor")
        with self._lock:
            new = name is not None and name not in self._processors
            before = sorted(self._processors)
            self._processors |= {name} if name else set()
        if new and before:
            self.say(
                f"the workers' processors differ ({', '.join([*before, str(name)])}): numbers may differ in the last "
                "digits, depending on the worker; records say on which processor each evaluation ran"
            )

    def _look_for_workers(self, client: Any) -> None:
        try:
            threads = client.nthreads()
        except Exception:
            return  # the job will get the error
        if not threads and "workers" not in self._notices:
            self._notices.add("workers")
            self.say(f"waiting for workers: none has joined the Dask scheduler at {self.address}")
        elif threads:
            self._notices.discard("workers")

    def _connect(self, until: float) -> Any:
        """Connect to the scheduler, trying again until then; raises :class:`OutageError` where none answers."""
        while True:
            try:
                return connect(self.address)
            except OutageError:
                if time.monotonic() >= until or self._stopped.is_set():
                    raise
                self._stopped.wait(1.0)

    def _hang_up(self, client: Any) -> None:
        with suppress(Exception):
            client.close(timeout=2)


def _waits_for_the_lost(client: Any, key: str, prefer: list[str]) -> bool:
    """Tell whether the scheduler holds a job for a preferred worker that is gone.

    That happens when all workers were lost while it ran there; workers that join later are not offered it.
    """
    try:
        workers, busy = client.nthreads(), client.processing()
    except Exception:
        return False  # the job will get the error
    return not set(prefer) & set(workers) and not any(key in keys for keys in busy.values())


def connect(address: str) -> Any:
    """Return a Dask client of the scheduler at an address or of the one in a scheduler file (``.json``).

    Raises :class:`OutageError` where no scheduler answers.
    """
    from distributed import Client

    # A lost connection is reported in one line, below.
    for part in ("client", "batched", "comm", "core"):
        logging.getLogger(f"distributed.{part}").setLevel(logging.CRITICAL)
    try:
        target = _scheduler_address(address) if address.endswith(".json") else address
        return Client(target, timeout=_CONNECT_SECONDS, set_as_default=False)
    except Exception as error:  # of any type: a TLS address without certificates is a TypeError
        raise OutageError(
            f"no Dask scheduler answers at {address}: {error}; what was recorded is kept; give the same command again "
            "once there is one"
        ) from error


def _scheduler_address(file: str) -> str:
    """Return the address in a file of ``dask scheduler --scheduler-file``; Dask itself would wait for one forever."""
    content = json.loads(Path(file).read_text())
    if not (isinstance(content, dict) and isinstance(content.get("address"), str)):
        raise ValueError("the file has no address; expected what dask scheduler --scheduler-file writes")
    return str(content["address"])

"""A fresh method process for every evaluation, so that a trial knows nothing of the trial before it.

    scorer ── host ── method process of one evaluation ── what a method starts

The host has imported the modules of the experiment and holds no data. It forks a method process for one evaluation, and
the next when that has ended: whatever a method leaves in its process (a global generator, a cache, a class attribute, a
patched library) ends with it, and each evaluation begins in the same state, whichever worker and whatever came before.
Where processes cannot be forked, one serves all evaluations, and only its global generators begin anew
(``docs/determinism.md``).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from zslplat.evaluation.workers.memory import own_bytes
from zslplat.evaluation.workers.method_process import serve
from zslplat.evaluation.workers.processes import adopt_orphans, ask_for_death_signal, exit_like, has_children
from zslplat.evaluation.workers.proxies import MethodClient, PendingAnswer, ProcessEnded
from zslplat.registry import registry

_ENDED = 64  # the exit code of a method process whose evaluation has ended
_COMPILED = "zslplat.methods.compiled"  # brings numba with it


def host(connection: Connection, modules: Sequence[str]) -> None:
    """Serve one evaluation after another until the connection closes.

    Before each, the scorer is sent whether processes of the last one are left, the number of the process that serves
    the next, and the bytes that it shares with this one. ``modules`` are imported before the first.
    """
    registry()
    for name in modules:
        # The evaluation imports it once more, and answers with the error.
        with contextlib.suppress(BaseException):
            importlib.import_module(name)
    forked = sys.platform == "linux"
    if forked:
        adopt_orphans()
        # A collection in a method process then writes to no page that it shares with this one.
        gc.freeze()
    report = _Report(modules) if forked else None
    left = False
    while True:
        number = os.fork() if forked else os.getpid()
        if number == 0:
            _serve_one(connection, report)
        try:
            connection.send((left, number, report.shared_bytes if report else 0))
        except OSError:
            return  # the scorer is gone
        if report is None:
            if not serve(connection):
                return
            continue
        code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        if code != _ENDED:
            exit_like(code)
        left = has_children()
        report.read()


def _serve_one(connection: Connection, report: _Report | None) -> None:
    ask_for_death_signal()
    # A signal to its own group is for it and what it starts.
    os.setsid()
    code = 1
    try:
        if serve(connection):
            code = _ENDED
        if report is not None:
            report.write()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


class _Report:
    """What a method process had to import and to load of compiled loops, so that its host has it for the next one.

    Of the packages of the experiment nothing is taken over but zslplat's own: their modules may do anything as they are
    imported. The report goes through memory that both have open, which takes any length of it.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self._own = {name.partition(".")[0] for name in modules} - {"zslplat"}
        self._memory = os.memfd_create("zslplat")
        self._take_stock()

    def _take_stock(self) -> None:
        self._modules, self._loops = len(sys.modules), _signatures()
        self.shared_bytes = own_bytes()

    def write(self) -> None:
        """Write, in a method process, what is new: modules are in the order of their import."""
        signatures = _signatures()
        if len(sys.modules) == self._modules and signatures == self._loops:
            return
        new = [name for name in list(sys.modules)[self._modules :] if name.partition(".")[0] not in self._own]
        os.pwrite(self._memory, pickle.dumps((new, signatures)), 0)

    def read(self) -> None:
        """Import and load, in the host, what the latest report names."""
        content = os.pread(self._memory, os.fstat(self._memory).st_size, 0)
        os.ftruncate(self._memory, 0)
        if not content:
            return
        names, signatures = pickle.loads(content)
        for name in names:
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
        if loops := sys.modules.get(_COMPILED):
            loops.load(signatures)
        self._take_stock()


def _signatures() -> dict[str, list[Any]]:
    loops = sys.modules.get(_COMPILED)
    return loops.signatures() if loops else {}


class MethodHost:
    """The scorer's side of a host.

    ``methods`` is where the methods of the current evaluation run, ``method_process`` the number of that process and
    the bytes that it shares with others.
    """

    def __init__(self, process: Any, connection: Connection, report: Callable[[float], None]) -> None:
        self.process, self.number = process, process.pid
        self._connection, self._report = connection, report
        self._facts: dict[str, Any] = {}
        self.renewed()

    def renewed(self) -> bool:
        """Wait for the process of the next evaluation; tell whether processes of the last one are left."""
        try:
            left, number, shared = self._connection.recv()
        except (EOFError, OSError):
            raise ProcessEnded.of(self.process) from None
        self.method_process = number, shared
        self.methods = ReportingClient(self.process, self._connection, shared, self._report, self._facts)
        return bool(left)

    def renew(self) -> bool:
        """End the process of this evaluation; tell whether processes that it started are left."""
        self.methods.end()
        return self.renewed()


# Often enough to be seen, and no burden to a trial of a thousand short steps.
_SECONDS = 0.25
_STEPS = ("start", "advance")


class ReportingClient(MethodClient):
    """A method process that tells how far the job is, from 0 to 1."""

    def __init__(
        self, process: Any, connection: Any, shared_bytes: int, tell: Callable[[float], None], facts: dict[str, Any]
    ) -> None:
        super().__init__(process, connection, shared_bytes, facts)
        self._tell = tell
        self._most_by_name: dict[str, int] = {}
        self.follow(1)

    def follow(self, folds: int) -> None:
        """Count from here: a job of so many folds begins."""
        self._folds, self._builds, self._steps, self._most = max(1, folds), 0, 0, 0
        self._told = time.monotonic()

    def build(self, name: str, parameters: Mapping[str, Any], seed: int) -> Any:
        """Return the stand-in of a method, which begins a fold."""
        method = super().build(name, parameters, seed)
        self._builds += 1
        self._most = self._most_steps(name, method, parameters)
        self._say()
        return method

    def send(self, wish: str, *arguments: Any) -> PendingAnswer:
        """Send a request; a step of a training is counted."""
        if wish in _STEPS:
            self._steps += 1
            self._say()
        return super().send(wish, *arguments)

    def _most_steps(self, name: str, method: Any, parameters: Mapping[str, Any]) -> int:
        """Return the number of steps that a training takes at most; 0 where it has none."""
        if name not in self._most_by_name:
            step = self.step_parameter(name)
            value = parameters.get(step) if step else 0
            self._most_by_name[name] = _count(getattr(method, step) if value is None else value)
        step = self._step_parameters[name]
        return _count(parameters.get(step, self._most_by_name[name])) if step else 0

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._told < _SECONDS:
            return
        self._told = now
        before = self._steps / self._most if self._most else self._builds - 1
        self._tell(min(max(before, 0) / self._folds, 1.0))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0

"""A fresh method process for every evaluation, so that a trial knows nothing of the trial before it.

    scorer ── host ── method process of one evaluation ── what a method starts

The host has imported the modules of the experiment and holds no data. It forks a method process for one evaluation, and
the next one when that has ended. Whatever a method leaves in its process (a global generator, a cache, a class
attribute, a patched library) ends with it, so each evaluation begins in the same state, whichever worker runs it and
whatever ran before. Where processes cannot be forked, one process serves all evaluations, and only its global
generators are seeded anew (``docs/determinism.md``).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import sys
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from zslplat.evaluation.workers.memory import own_bytes
from zslplat.evaluation.workers.method_process import serve
from zslplat.evaluation.workers.proxies import MethodClient, ProcessEnded
from zslplat.platforms import FORKS, adopt_orphans, ask_for_death_signal, exit_like, fork, has_children
from zslplat.registry import registry

_ENDED = 64  # the exit code of a method process whose evaluation has ended
_COMPILED = "zslplat.methods.compiled"


def host(connection: Connection, modules: Sequence[str]) -> None:
    """Serve one evaluation after another until the connection closes.

    Before each, the scorer is sent whether processes of the last one are left, the number of the process that serves
    the next, and the bytes that it shares with this one. ``modules`` are imported before the first.
    """
    registry()
    for name in modules:
        # The evaluation imports it again and answers with the error.
        with contextlib.suppress(BaseException):
            importlib.import_module(name)
    if FORKS:
        adopt_orphans()
        # Garbage collection in a method process then leaves the pages shared with this one unwritten.
        gc.freeze()
    report = _Report(modules) if FORKS else None
    left = False
    while True:
        number = fork() if FORKS else os.getpid()
        if number == 0:
            _serve_one(connection, report)
        try:
            connection.send((left, number, report.shared_bytes if report else 0))
        except OSError:
            return  # the scorer is gone
        if report is None:
            if not serve(connection):
                return
            left = has_children()
            continue
        code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        if code != _ENDED:
            exit_like(code)
        left = has_children()
        report.read()


def _serve_one(connection: Connection, report: _Report | None) -> None:
    ask_for_death_signal()
    # A signal to its group then reaches only it and what it starts.
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
    """What a method process imported and which compiled loops it loaded, for its host to have them for the next one.

    Modules of the experiment's own packages, other than zslplat, are left out: importing them may do anything. The
    report travels through shared memory, which takes any length.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self._own = {name.partition(".")[0] for name in modules} - {"zslplat"}
        self._memory = os.memfd_create("zslplat")
        self._note_state()

    def _note_state(self) -> None:
        self._modules, self._loops = len(sys.modules), _signatures()
        self.shared_bytes = own_bytes()

    def write(self) -> None:
        """In a method process: write what is new, modules in the order of their import."""
        signatures = _signatures()
        if len(sys.modules) == self._modules and signatures == self._loops:
            return
        new = [name for name in list(sys.modules)[self._modules :] if name.partition(".")[0] not in self._own]
        os.pwrite(self._memory, pickle.dumps((new, signatures)), 0)

    def read(self) -> None:
        """In the host: import and load what the latest report names."""
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
        self._note_state()


def _signatures() -> dict[str, list[Any]]:
    loops = sys.modules.get(_COMPILED)
    return loops.signatures() if loops else {}


class MethodHost:
    """The scorer's side of a host.

    ``methods`` runs the methods of the current evaluation; ``method_process`` is the number of its process and the
    bytes that it shares with others.
    """

    def __init__(self, process: Any, connection: Connection) -> None:
        self.process, self.number = process, process.pid
        self._connection = connection
        self.renewed()

    def renewed(self) -> bool:
        """Wait for the process of the next evaluation; tell whether processes of the last one are left."""
        try:
            left, number, shared = self._connection.recv()
        except (EOFError, OSError):
            raise ProcessEnded.of(self.process) from None
        self.method_process = number, shared
        self.methods = MethodClient(self.process, self._connection, shared)
        return bool(left)

    def renew(self) -> bool:
        """End the process of this evaluation; tell whether processes that it started are left."""
        self.methods.end()
        return self.renewed()

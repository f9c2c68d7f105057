"""Several pieces of a grid side by side, each led by a process of its own, as a command of its own would lead it.

A study has a batch of trials in flight and waits for all of them before it proposes the next: few enough that what it
proposes does not depend on the number of workers. More workers than that are kept busy by more studies. Each gives
what it gives alone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from zslplat.errors import OutageError, StoreError, ZslplatError
from zslplat.evaluation.reporter import Interrupted, Reporter
from zslplat.evaluation.workers.cluster import cluster_threads
from zslplat.evaluation.workers.processes import ctrl_c_blocked, describe_exit, die_with_parent, without_main_module
from zslplat.records.database import Records
from zslplat.settings import Settings
from zslplat.suites.carrying import Carrier, Change
from zslplat.suites.cells import DONE, FAILED, SKIPPED, Key, Piece
from zslplat.suites.options import GridOptions
from zslplat.suites.recorded import Recorded
from zslplat.tuning.options import StudyOptions

_MOST = 32
_POLL_SECONDS = 1.0
_LOOK_SECONDS = 15.0
_END_SECONDS = 20.0
_MOST_ATTEMPTS = 3


class Abreast:
    """How many pieces are carried out side by side, and the processes that lead them.

    ``count``: as the options say, or as many as keep the workers busy. A cluster has one more than that, whose trials
    run while another one waits for the last of its batch, and more of them as workers join (``may_grow``).
    """

    def __init__(self, options: GridOptions, study_options: StudyOptions, pieces: int) -> None:
        self.options, self.study_options, self.most = options, study_options, min(pieces, _MOST)
        self.may_grow = options.abreast is None and options.cluster is not None and self.most > 1
        self.count = min(self.most, options.abreast or self._wanted())
        self._leaders: list[_Leader] = []

    def run(
        self,
        pieces: Sequence[Piece],
        settings: Settings,
        reporter: Reporter,
        changed: Callable[[Change], None],
        ended: Callable[[Piece], None],
    ) -> None:
        """Carry out the pieces; ``changed`` is told of every cell that changes, ``ended`` of every piece.

        Raises what a leader raised that is not the affair of a cell, and :class:`Interrupted` on Ctrl-C.
        """
        waiting = deque(_Waiting(piece) for piece in pieces)
        looked = time.monotonic()
        try:
            while waiting or any(leader.work for leader in self._leaders):
                self._hand_out(waiting, settings)
                self._listen(waiting, reporter, changed, ended)
                if self.may_grow and waiting and time.monotonic() - looked > _LOOK_SECONDS:
                    looked = time.monotonic()
                    self.count = max(self.count, min(self.most, self._wanted()))
        except KeyboardInterrupt:
            raise Interrupted("stopped; what was recorded is kept; give the same command again to continue") from None
        finally:
            self._end()

    def _wanted(self) -> int:
        if self.options.cluster is None:
            return -(-self.study_options.workers // self.study_options.batch_size)
        try:
            threads = cluster_threads(self.options.cluster)
        except StoreError:  # whoever needs it says so; what is recorded needs none
            threads = 0
        return -(-threads // self.study_options.batch_size) + 1

    def _hand_out(self, waiting: deque[_Waiting], settings: Settings) -> None:
        free = [leader for leader in self._leaders if leader.work is None]
        for _ in range(len(waiting)):
            if not free and len(self._leaders) >= self.count:
                return
            work = waiting.popleft()
            if work.not_before > time.monotonic():
                waiting.append(work)
                continue
            if not free:
                self._leaders.append(_Leader(self._options_of(len(self._leaders)), self.options, settings))
                free = [self._leaders[-1]]
            free.pop().begin(work)

    def _options_of(self, place: int) -> StudyOptions:
        """Return the options of the studies of one leader, who has a share of the local workers."""
        share, rest = divmod(self.study_options.workers, self.count)
        return replace(self.study_options, workers=max(1, share + (place < rest)))

    def _listen(
        self,
        waiting: deque[_Waiting],
        reporter: Reporter,
        changed: Callable[[Change], None],
        ended: Callable[[Piece], None],
    ) -> None:
        by_connection = {leader.connection: leader for leader in self._leaders}
        for connection in wait(list(by_connection), timeout=_POLL_SECONDS):
            leader = by_connection[connection]  # type: ignore[index]
            work = leader.work
            try:
                kind, content = leader.connection.recv()
            except (EOFError, OSError):
                self._leaders.remove(leader)
                if work is not None and not self._again(work, leader, waiting, changed):
                    ended(work.piece)
                continue
            if kind == "changed":
                if work is not None:
                    work.ended |= {content.cell.key} if content.cell.status in (DONE, FAILED, SKIPPED) else set()
                changed(content)
            elif kind == "ended" and work is not None:
                leader.work = None
                if content:
                    ended(work.piece)
                else:
                    work.not_before = time.monotonic() + _POLL_SECONDS
                    waiting.append(work)
            elif kind == "raised":
                raise content
            else:
                getattr(reporter, kind)(f"{work.piece.title}: {content}" if work and kind == "note" else content)

    def _again(
        self, work: _Waiting, leader: _Leader, waiting: deque[_Waiting], changed: Callable[[Change], None]
    ) -> bool:
        """Put the piece of a leader that has died back; False where that has happened too often."""
        work.attempts += 1
        if work.attempts < _MOST_ATTEMPTS:
            waiting.append(work)
            return True
        reason = f"the process that carried it out died {work.attempts} times; {leader.how_it_ended()}"
        for cell in work.piece.cells:
            if cell.key not in work.ended:
                changed(Change(replace(cell, status=FAILED, reason=reason)))
        return False

    def _end(self) -> None:
        """End all leaders: those at work as Ctrl-C would."""
        for leader in self._leaders:
            leader.tell_to_end()
        until = time.monotonic() + _END_SECONDS
        for leader in self._leaders:
            leader.end(until)
        self._leaders = []


@dataclass
class _Waiting:
    """A piece that is to be carried out, and what has become of that."""

    piece: Piece
    not_before: float = 0.0
    attempts: int = 0
    ended: frozenset[Key] = frozenset()


class _Leader:
    """A process that carries out one piece after another."""

    def __init__(self, study_options: StudyOptions, options: GridOptions, settings: Settings) -> None:
        self.work: _Waiting | None = None
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        # No daemon: it starts processes of its own.
        self.process = context.Process(
            target=_lead, args=(theirs, study_options, options.accept_changed_code, settings), daemon=False
        )
        with theirs, ctrl_c_blocked(), without_main_module():
            self.process.start()

    def begin(self, work: _Waiting) -> None:
        """Hand it a piece."""
        self.work = work
        work.ended = frozenset()
        with suppress(OSError):  # whoever listens hears that it has died
            self.connection.send(work.piece)

    def tell_to_end(self) -> None:
        """Tell it to leave its work in order, and end."""
        self.connection.close()
        if self.work is not None and self.process.is_alive() and self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGINT)

    def end(self, until: float) -> None:
        """Wait for its end until then, and kill it."""
        self.process.join(max(0.1, until - time.monotonic()))
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def how_it_ended(self) -> str:
        """Return in words how it ended."""
        self.process.join(5)
        return describe_exit(self.process.exitcode)[0]


class _Told:
    """A reporter that sends what it is told on; stages and trials of several studies at once are told to nobody.

    Each thread that waits for a cluster may have something to say; what two send at once would mix on the way.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection, self._lock = connection, threading.Lock()

    def send(self, kind: str, content: Any) -> None:
        """Send a message, from whatever thread."""
        with self._lock:
            self._connection.send((kind, content))

    def stage(self, text: str) -> None:
        """Ignore."""

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Send it on."""
        self.send("note", text)

    def warn(self, text: str) -> None:
        """Send it on."""
        self.send("warn", text)


def _lead(connection: Connection, options: StudyOptions, any_code: bool, settings: Settings) -> None:
    # A terminal sends Ctrl-C to the command and all of its group; the command tells its leaders.
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    die_with_parent()
    told = _Told(connection)
    try:
        # One that came while this process started is heard now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        recorded = Recorded(settings, Records(settings, told.warn), any_code=any_code)
        carrier = Carrier(options, settings, recorded, told, lambda change: told.send("changed", change))
        while True:
            told.send("ended", carrier.attempt(connection.recv()))
    except (EOFError, ConnectionError, Interrupted, KeyboardInterrupt):
        return  # a command that ends need not have heard all
    except ZslplatError as error:
        kind = OutageError if isinstance(error, OutageError) else StoreError
        with suppress(ConnectionError):
            told.send("raised", kind(str(error)))

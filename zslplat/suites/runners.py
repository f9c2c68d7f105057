"""Carrying out the pieces of a grid: in this process, or by several leading processes side by side.

The first cell of a piece is tuned and hands on what its search chose. A study has a batch of trials in flight and waits
for all of them before it proposes the next: few enough that what it proposes does not depend on the number of workers.
More workers than that are kept busy by more studies, each led by a process of its own. Each gives what it gives alone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from zslplat.errors import InUseError, NotAtHand, OutageError, StoreError, ZslplatError
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.workers.pool import cluster_class
from zslplat.evaluation.workers.processes import describe_exit, die_with_parent, without_main_module
from zslplat.keys import key_of
from zslplat.platforms import ctrl_c_blocked, listen_for_interrupts
from zslplat.records.database import Records
from zslplat.records.locks import file_lock
from zslplat.registry import one_line
from zslplat.settings import Settings
from zslplat.suites.cells import DONE, FAILED, RUNNING, SKIPPED, Cell, GridOptions, Key, Piece
from zslplat.suites.entries import Entry, EntryReader
from zslplat.tuning.options import EvaluationOptions, StudyOptions
from zslplat.tuning.single import run_experiment
from zslplat.tuning.study import run_study


@dataclass(frozen=True)
class Change:
    """A cell as it is now; where it is done, what is recorded of it."""

    cell: Cell
    entry: Entry | None = None


class PieceRunner:
    """Carries out pieces, one after another; ``changed`` is told of every cell that changes."""

    def __init__(
        self,
        options: StudyOptions,
        settings: Settings,
        recorded: EntryReader,
        reporter: Reporter,
        changed: Callable[[Change], None],
    ) -> None:
        self.options, self.settings, self.recorded, self.reporter = options, settings, recorded, reporter
        self.changed = changed

    def attempt(self, piece: Piece) -> bool:
        """Carry out a piece; False where another command does so just now."""
        folder = self.settings.suites
        folder.mkdir(exist_ok=True)
        alone = ExitStack()
        try:
            alone.enter_context(file_lock(folder / f"{_lock_name(piece)}.lock", wait_seconds=0))
        except InUseError:
            return False
        with alone:
            self._carry_out(piece)
        return True

    def _carry_out(self, piece: Piece) -> None:
        parameters: Mapping[str, object] | None = None
        for cell in piece.cells:
            try:
                entry = self._cell(piece, cell, parameters)
            except (Interrupted, OutageError):
                raise  # without its database, or its cluster, no cell can end
            except Exception as error:  # of whatever kind: what a plugin does is the affair of its cell
                if isinstance(error, NotAtHand):
                    for absent in piece.cells:
                        self.changed(Change(replace(absent, status=SKIPPED, reason=str(error))))
                    return
                reason = str(error) if isinstance(error, ZslplatError) else one_line(error)
                self.changed(Change(replace(cell, status=FAILED, reason=reason)))
                if parameters is None:
                    reason = f"{cell.task} failed, whose parameters it would have had"
                    for other in piece.cells[1:]:
                        self.changed(Change(replace(other, status=FAILED, reason=reason)))
                    return
                continue
            if parameters is None:
                parameters = entry.parameters

    def _cell(self, piece: Piece, cell: Cell, parameters: Mapping[str, object] | None) -> Entry:
        """Return what is recorded of a cell, computed now where it was not."""
        entry = self.recorded.entry(piece, cell.task, parameters, self.options)
        new = entry is None
        if entry is None:
            self.changed(Change(replace(cell, status=RUNNING)))
            self._compute(piece, cell, parameters)
            entry = self.recorded.entry(piece, cell.task, parameters, self.options)
        elif not self.settings.tags.items() <= entry.tags.items():
            self._compute(piece, cell, parameters)  # nothing is left to compute, and what is recorded gets the tags
        elif not new:
            self.recorded.count_in(entry, piece.study_options(cell.task, self.options).part_of)
        if entry is None:
            raise StoreError(f"{cell.title} was carried out, and its records do not say so; zslplat store check")
        done = replace(cell, status=DONE, study=entry.study, value=entry.value, seconds=entry.seconds, new=new)
        self.changed(Change(done, entry))
        return entry

    def _compute(self, piece: Piece, cell: Cell, parameters: Mapping[str, object] | None) -> None:
        experiment = piece.experiment(cell.task, parameters)
        options = piece.study_options(cell.task, self.options)
        if not piece.only_tested(cell.task):
            run_study(experiment, options, self.settings, self.reporter)
            return
        single = EvaluationOptions(
            test=True,
            repeats=options.repeats,
            workers=options.workers,
            cluster=options.cluster,
            part_of=options.part_of,
            save_model=options.keep_models,
        )
        run_experiment(experiment, single, self.settings, self.reporter)


def _lock_name(piece: Piece) -> str:
    """Return a name for what a piece tunes, the same in every suite that asks for it."""
    try:
        return key_of(piece.experiment(piece.tasks[0]).to_json())
    except Exception:  # carrying it out says what is wrong
        return key_of(str(piece.dataset), repr(piece.row))


_MOST = 32
_POLL_SECONDS = 1.0
_LOOK_SECONDS = 15.0
_END_SECONDS = 20.0
_MOST_ATTEMPTS = 3


class Leaders:
    """How many pieces are carried out side by side, and the processes that lead them.

    ``count``: as the options say, or as many as keep the workers busy. A cluster has one more than that, whose trials
    run while another one waits for the last of its batch, and more of them as workers join (``may_grow``).
    """

    def __init__(self, options: GridOptions, study_options: StudyOptions, pieces: int) -> None:
        self.options, self.study_options, self.most = options, study_options, min(pieces, _MOST)
        self.may_grow = options.abreast is None and options.cluster is not None and self.most > 1
        self.count = min(self.most, options.abreast or self._needed())
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
                    self.count = max(self.count, min(self.most, self._needed()))
        except KeyboardInterrupt:
            raise Interrupted("stopped; what was recorded is kept; give the same command again to continue") from None
        finally:
            self._end()

    def _needed(self) -> int:
        if self.options.cluster is None:
            return -(-self.study_options.workers // self.study_options.batch_size)
        try:
            threads = cluster_class().threads(self.options.cluster)
        except StoreError:  # said where it is needed; what is recorded needs none
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

    def _options_of(self, index: int) -> StudyOptions:
        """Return the options of the studies of one leader, who has a share of the local workers."""
        share, rest = divmod(self.study_options.workers, self.count)
        return replace(self.study_options, workers=max(1, share + (index < rest)))

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
                if work is not None and not self._retry(work, leader, waiting, changed):
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

    def _retry(
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
        with suppress(OSError):  # the other end notices that it has died
            self.connection.send(work.piece)

    def tell_to_end(self) -> None:
        """Tell it to leave its work in order, and end."""
        self.connection.close()
        if self.work is not None and self.process.is_alive() and self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGINT)  # Windows ends it at once; what it has recorded is kept

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


class _MessageReporter(SilentReporter):
    """A reporter that sends what it is told on; stages and trials of several studies at once are not shown.

    Each thread that waits for a cluster may have something to say; what two send at once would mix on the way.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection, self._lock = connection, threading.Lock()

    def send(self, kind: str, content: Any) -> None:
        """Send a message, from whatever thread."""
        with self._lock:
            self._connection.send((kind, content))

    def note(self, text: str) -> None:
        """Send it on."""
        self.send("note", text)

    def warn(self, text: str) -> None:
        """Send it on."""
        self.send("warn", text)


def _lead(connection: Connection, options: StudyOptions, any_code: bool, settings: Settings) -> None:
    # A terminal sends Ctrl-C to the command and all of its group; the command tells its leaders.
    die_with_parent()
    reporter = _MessageReporter(connection)
    try:
        listen_for_interrupts()
        recorded = EntryReader(settings, Records(settings, reporter.warn), any_code=any_code)
        runner = PieceRunner(options, settings, recorded, reporter, lambda change: reporter.send("changed", change))
        while True:
            reporter.send("ended", runner.attempt(connection.recv()))
    except (EOFError, ConnectionError, Interrupted, KeyboardInterrupt):
        return  # a command that ends need not have heard all
    except ZslplatError as error:
        kind = OutageError if isinstance(error, OutageError) else StoreError
        with suppress(ConnectionError):
            reporter.send("raised", kind(str(error)))

"""Carrying out a suite: a study for every cell, each of which may fail by itself, and any number of commands at once.

What is recorded already is taken from the records, so a command that was stopped goes on where it was when it is given
again. Several commands may work on one suite in one store: each row on a data set belongs to one of them at a time, and
what another one holds is left for the end, when it is done mostly. The data, the problems and the statistics of a
method come from the store's cache, in which equal ones are made once for all studies.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol, runtime_checkable

from zslplat.comparison.paired import Scored
from zslplat.comparison.test_evaluations import read_test_evaluations
from zslplat.errors import InUseError, NotAtHand, StoreError, ZslplatError
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.keys import key_of
from zslplat.records.locks import file_lock
from zslplat.registry import one_line
from zslplat.settings import Settings
from zslplat.suites.at_hand import reason_of_absence
from zslplat.suites.cells import DONE, FAILED, RUNNING, SKIPPED, Cell, Key, Piece, pieces_of
from zslplat.suites.clock import Clock
from zslplat.suites.costs import costs_of
from zslplat.suites.options import GridOptions as GridOptions
from zslplat.suites.plan import expected_seconds
from zslplat.suites.recorded import Entry, Recorded
from zslplat.suites.result import GridResult
from zslplat.suites.suite import Suite
from zslplat.suites.written import write_tables
from zslplat.tracking.stores import open_records
from zslplat.tuning.single import run_setting
from zslplat.tuning.study import run_study

_POLL_SECONDS = 1.0


@runtime_checkable
class GridReporter(Reporter, Protocol):
    """A reporter that is told of the cells of a grid, too."""

    def cells(self, cells: Sequence[Cell], changed: Cell | None, remaining: float | None) -> None:
        """All cells as they are now, the one that has changed (none at the beginning), the seconds that are left."""


def carry_out(suite: Suite, options: GridOptions, settings: Settings, reporter: Reporter | None = None) -> GridResult:
    """Carry out a suite, or what is missing of it, and return how each cell ended.

    A cell that fails leaves the others alone; so does a data set that is not at hand, whose cells are skipped. With
    ``options.out`` the tables are written after each data set. Raises :class:`UsageError` for what is wrong in the
    suite or the options, before anything is computed, :class:`Interrupted` on Ctrl-C, and :class:`StoreError` where
    the store itself cannot be used.
    """
    reporter = reporter or SilentReporter()
    pieces = pieces_of(suite, options.only, options.splits)
    absent = {entry.name: reason_of_absence(entry.dataset, settings) for entry in suite.data}
    settings.make_store()
    return _Grid(suite, options, settings, reporter, pieces, absent).run()


class _Grid:
    """The cells of a grid as they end, one after another."""

    def __init__(
        self,
        suite: Suite,
        options: GridOptions,
        settings: Settings,
        reporter: Reporter,
        pieces: Sequence[Piece],
        absent: Mapping[str, str],
    ) -> None:
        self.suite, self.options, self.settings, self.reporter = suite, options, settings, reporter
        self.pieces, self.absent, self.started = pieces, absent, time.time()
        self.study_options = options.study_options(suite)
        self.cells: dict[Key, Cell] = {cell.key: cell for piece in pieces for cell in piece.cells}
        self.entries: dict[Key, Entry] = {}
        self.scores: dict[Key, Scored] = {}
        self.recorded = Recorded(settings, open_records(settings, reporter.warn), any_code=options.accept_changed_code)
        self.clock = Clock(expected_seconds(pieces, costs_of(self.recorded.records), self.study_options))

    def run(self) -> GridResult:
        """Carry out every piece, those that another command holds at the end."""
        self._tell(None)
        waiting = deque(self.pieces)
        held = 0  # pieces in a row that others hold
        place: tuple[str, int | None] | None = None
        while waiting:
            piece = waiting.popleft()
            here = (piece.data.name, piece.split)
            if place not in (None, here):
                self._report()
            place = here
            if self._attempt(piece):
                held = 0
                continue
            waiting.append(piece)
            held += 1
            if held >= len(waiting):
                self.reporter.stage(f"waiting for another command that carries out {_title(piece)}")
                time.sleep(_POLL_SECONDS)
        self._report()
        return self._result()

    def _attempt(self, piece: Piece) -> bool:
        """Carry out a piece; False where another command does so just now."""
        if reason := self.absent[piece.data.name]:
            self._skip(piece, reason)
            return True
        folder = self.settings.store / "suites"
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
            except Interrupted:
                raise
            except Exception as error:  # of whatever kind: what a plugin does is the affair of its cell
                if isinstance(error, NotAtHand):
                    self._skip(piece, str(error))
                    return
                reason = str(error) if isinstance(error, ZslplatError) else one_line(error)
                self._change(replace(cell, status=FAILED, reason=reason))
                if parameters is None:
                    reason = f"{cell.task} failed, whose parameters it would have had"
                    for other in piece.cells[1:]:
                        self._change(replace(other, status=FAILED, reason=reason))
                    return
                continue
            if parameters is None:
                parameters = entry.parameters

    def _cell(self, piece: Piece, cell: Cell, parameters: Mapping[str, object] | None) -> Entry:
        """Return what is recorded of a cell, computed now where it was not."""
        entry = self.recorded.entry(piece, cell.task, parameters, self.study_options)
        new = entry is None
        if entry is None:
            self._change(replace(cell, status=RUNNING))
            self._compute(piece, cell, parameters)
            entry = self.recorded.entry(piece, cell.task, parameters, self.study_options)
        if entry is None:
            raise StoreError(f"{cell.title} was carried out, and its records do not say so; zslplat store check")
        self.entries[cell.key] = entry
        found = {"study": entry.study, "value": entry.value, "seconds": entry.seconds, "new": new}
        self._change(replace(cell, status=DONE, **found))  # type: ignore[arg-type]
        return entry

    def _compute(self, piece: Piece, cell: Cell, parameters: Mapping[str, object] | None) -> None:
        setting = piece.setting(cell.task, parameters)
        options = piece.study_options(cell.task, self.study_options)
        if not piece.only_tested(cell.task):
            run_study(setting, options, self.settings, self.reporter)
            return
        run_setting(
            setting,
            self.settings,
            test=True,
            repeats=options.repeats,
            workers=options.workers,
            cluster=options.cluster,
            part_of=options.part_of,
            reporter=self.reporter,
        )

    def _skip(self, piece: Piece, reason: str) -> None:
        if all(cell.status != SKIPPED for cell in self.cells.values() if cell.data == piece.data.name):
            self.reporter.note(f"data set {piece.data.name!r} is left out: {reason}")
        for cell in piece.cells:
            self._change(replace(cell, status=SKIPPED, reason=reason))

    def _change(self, cell: Cell) -> None:
        self.cells[cell.key] = cell
        self.clock.told(cell)
        self._tell(cell)

    def _tell(self, changed: Cell | None) -> None:
        if isinstance(self.reporter, GridReporter):
            cells = list(self.cells.values())
            self.reporter.cells(cells, changed, self.clock.remaining(cells))

    def _report(self) -> None:
        """Read the scores of what was done since, and write the tables."""
        by_task: dict[tuple[str, str], dict[str, list[Key]]] = {}
        for piece in self.pieces:
            for cell in piece.cells:
                if cell.key in self.entries and cell.key not in self.scores:
                    group = by_task.setdefault((str(piece.dataset), cell.task), {})
                    group.setdefault(self.entries[cell.key].study, []).append(cell.key)
        for (dataset, task), studies in by_task.items():
            found = read_test_evaluations(self.settings, dataset, task, list(studies), warn=self.reporter.warn)
            for scored in found:
                for name in {scored.study, *scored.names} & set(studies):
                    self.scores |= dict.fromkeys(studies[name], scored)
        if self.options.out is not None and by_task:
            write_tables(self._result(), self.options.out)

    def _result(self) -> GridResult:
        classes = {
            cell.key: self.recorded.classes[str(piece.dataset)]
            for piece in self.pieces
            for cell in piece.cells
            if cell.key in self.entries
        }
        return GridResult(
            suite=self.suite,
            cells=tuple(self.cells.values()),
            entries=dict(self.entries),
            scores={key: self.scores[key] for key in self.cells if key in self.scores},
            classes=classes,
            trials=self.options.trials,
            repeats=self.study_options.repeats,
            seconds=time.time() - self.started,
            out=self.options.out,
        )


def _lock_name(piece: Piece) -> str:
    """Return a name for what a piece tunes, the same in every suite that asks for it."""
    try:
        return key_of(piece.setting(piece.tasks[0]).to_json())
    except Exception:  # whoever carries it out says what is wrong
        return key_of(str(piece.dataset), repr(piece.row))


def _title(piece: Piece) -> str:
    return f"{piece.row.name} on {piece.data.name}"

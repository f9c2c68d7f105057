"""Carrying out a suite: a study for every cell, each of which may fail by itself, and any number of commands at once.

What is recorded already is taken from the records, so a command that was stopped goes on where it was when it is given
again. Several commands may work on one suite in one store: each row on a data set belongs to one of them at a time, and
what another one holds is left for the end, when it is done mostly. The data, the problems and the statistics of a
method come from the store's cache, in which equal ones are made once for all studies. Where there are more workers than
the batch of a study has trials, several studies are carried out side by side (:mod:`zslplat.suites.runners`).
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from zslplat.config import check_folder
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evidence.scores import Scored
from zslplat.records.database import Records
from zslplat.settings import Settings
from zslplat.suites.cells import FAILED, RUNNING, SKIPPED, WAITING, Cell, GridOptions, Key, Piece, pieces_of
from zslplat.suites.entries import Entry, EntryReader, StoredCells, read_scores
from zslplat.suites.result import GridResult
from zslplat.suites.runners import Change, Leaders, PieceRunner
from zslplat.suites.suite import Suite, absences
from zslplat.suites.suite_checks import check_suite
from zslplat.suites.tables import origin_of_tables, write_tables

_POLL_SECONDS = 1.0


@runtime_checkable
class GridReporter(Reporter, Protocol):
    """A reporter that is told of the cells of a grid, too."""

    def cells(self, cells: Sequence[Cell], changed: Cell | None, remaining: float | None) -> None:
        """All cells as they are now, the one that has changed (none at the beginning), the seconds that are left."""


def carry_out(suite: Suite, options: GridOptions, settings: Settings, reporter: Reporter | None = None) -> GridResult:
    """Carry out a suite, or what is missing of it, and return how each cell ended.

    A cell that fails leaves the others alone; so does a data set that is not at hand, whose cells are skipped. With
    ``options.out`` the tables are written after each data set, and where it is stopped with Ctrl-C: those of the suite,
    with what its store holds of cells that this command was not asked for.

    Raises :class:`UsageError` for what is wrong in the suite or the options, before anything is computed,
    :class:`Interrupted` on Ctrl-C, and :class:`StoreError` where the store itself cannot be used.
    """
    reporter = reporter or SilentReporter()
    check_suite(suite)
    pieces = pieces_of(suite, options.only)
    absent = absences(suite, settings)
    if options.out is not None:
        check_folder(options.out, "--out")
        before = origin_of_tables(options.out)
        if before not in ("", suite.origin):
            reporter.warn(
                f"the tables in {options.out} are those of another suite of that name ({before}), and this one takes "
                "their place; rename the file of one of them to keep both"
            )
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
        self.reported: GridResult | None = None  # what the tables have, until something changes
        self.scores: dict[Key, Scored] = {}
        self.recorded = EntryReader(settings, Records(settings, reporter.warn), any_code=options.accept_changed_code)
        self.stored = StoredCells(
            settings, self.recorded.records, self.study_options, any_code=options.accept_changed_code
        )

    def run(self) -> GridResult:
        """Carry out every piece, those that another command holds at the end; on Ctrl-C write what is done."""
        self._tell(None)
        self.left = Counter((piece.data.name, piece.draw) for piece in self.pieces)
        here = []
        for piece in self.pieces:
            if self.absent[piece.data.name]:
                for cell in piece.cells:
                    self._change(Change(self._begun(cell)))
                self._ended(piece)
            else:
                here.append(piece)
        try:
            if here:
                self._carry_out(here)
        except (Interrupted, KeyboardInterrupt):
            self._report()
            raise
        return replace(self._result(), of_suite=self.reported or self._whole())

    def _carry_out(self, pieces: Sequence[Piece]) -> None:
        leaders = Leaders(self.options, self.study_options, len(pieces))
        if leaders.count > 1 or leaders.may_grow:
            leaders.run(pieces, self.settings, self.reporter, self._change, self._ended)
            return
        runner = PieceRunner(self.study_options, self.settings, self.recorded, self.reporter, self._change)
        waiting = deque(pieces)
        busy = 0  # pieces in a row that others hold
        while waiting:
            piece = waiting.popleft()
            if runner.attempt(piece):
                busy = 0
                self._ended(piece)
                continue
            waiting.append(piece)
            busy += 1
            if busy >= len(waiting):
                self.reporter.stage(f"waiting for another command that carries out {piece.title}")
                time.sleep(_POLL_SECONDS)

    def _ended(self, piece: Piece) -> None:
        """Write the tables once all of a data set is done."""
        data = (piece.data.name, piece.draw)
        self.left[data] -= 1
        if not self.left[data]:
            self._report()

    def _change(self, change: Change) -> None:
        cell, self.reported = change.cell, None
        if cell.status == SKIPPED and all(
            other.status != SKIPPED for other in self.cells.values() if other.data == cell.data
        ):
            what = f"data set {cell.data!r}" if self.absent[cell.data] else cell.title
            self.reporter.note(f"{what} is left out: {cell.reason}")
        if change.entry is not None:
            self.entries[cell.key] = change.entry
        self.cells[cell.key] = cell
        self._tell(cell)

    def _tell(self, changed: Cell | None) -> None:
        if isinstance(self.reporter, GridReporter):
            cells = list(self.cells.values())
            computed = sum(cell.new or cell.status == FAILED for cell in cells)
            left = sum(cell.status in (WAITING, RUNNING) for cell in cells)
            # The others are expected to take as long as those that ended.
            remaining = (time.time() - self.started) / computed * left if computed else None
            self.reporter.cells(cells, changed, remaining)

    def _report(self) -> None:
        """Write the tables of the suite: of what was done here, and of what its store holds beside."""
        whole = self._whole()
        if self.options.out is not None and whole.scores:
            write_tables(whole, self.options.out)
        self.reported = whole

    def _read_scores(self) -> None:
        """Read the scores of what was done since."""
        new = {key: entry.study for key, entry in self.entries.items() if key not in self.scores}
        scores = read_scores(self.recorded.records, set(new.values()), self.reporter.warn)
        self.scores |= {key: scores[study] for key, study in new.items() if study in scores}

    def _whole(self) -> GridResult:
        """Return all cells of the suite, those of other commands with what the store holds of them now."""
        self._read_scores()
        pieces = pieces_of(self.suite)
        cells = {cell.key: self.cells.get(cell.key) or self._begun(cell) for piece in pieces for cell in piece.cells}
        stored = self.stored.of(
            pieces, {key for key, cell in cells.items() if cell.status in (WAITING, RUNNING)}, self.reporter
        )
        scores = {**stored.scores, **self.scores}
        return replace(
            self._result(),
            cells=tuple({**cells, **stored.cells}.values()),
            entries={**stored.entries, **self.entries},
            scores={key: scores[key] for key in cells if key in scores},
        )

    def _begun(self, cell: Cell) -> Cell:
        """Return a cell as it is before anything is done: skipped, where its data are not at hand."""
        reason = self.absent[cell.data]
        return replace(cell, status=SKIPPED, reason=reason) if reason else cell

    def _result(self) -> GridResult:
        return GridResult(
            suite=self.suite,
            cells=tuple(self.cells.values()),
            entries=dict(self.entries),
            scores={key: self.scores[key] for key in self.cells if key in self.scores},
            trials=self.options.trials,
            repeats=self.study_options.repeats,
            seconds=time.time() - self.started,
            out=self.options.out,
        )

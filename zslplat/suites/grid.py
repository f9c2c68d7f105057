"""Carrying out a suite: a study for every cell, each of which may fail by itself, and any number of commands at once.

What is recorded already is taken from the records, so a command that was stopped goes on where it was when it is given
again. Several commands may work on one suite in one store: each row on a data set belongs to one of them at a time, and
what another one holds is left for the end, when it is done mostly. The data, the problems and the statistics of a
method come from the store's cache, in which equal ones are made once for all studies. Where there are more workers than
the batch of a study has trials, several studies are carried out side by side (:mod:`zslplat.suites.abreast`).
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from zslplat.comparison.paired import Scored
from zslplat.comparison.test_evaluations import read_test_evaluations
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.suites.abreast import Abreast
from zslplat.suites.carrying import Carrier, Change
from zslplat.suites.cells import SKIPPED, Cell, Key, Piece, pieces_of
from zslplat.suites.checking import check_suite
from zslplat.suites.clock import Clock
from zslplat.suites.costs import costs_of
from zslplat.suites.options import GridOptions as GridOptions
from zslplat.suites.plan import expected_seconds
from zslplat.suites.recorded import Entry, Recorded
from zslplat.suites.result import GridResult
from zslplat.suites.suite import Suite, absences
from zslplat.suites.written import write_tables
from zslplat.tracking.stores import open_records

_POLL_SECONDS = 1.0


@runtime_checkable
class GridReporter(Reporter, Protocol):
    """A reporter that is told of the cells of a grid, too."""

    def cells(self, cells: Sequence[Cell], changed: Cell | None, remaining: float | None) -> None:
        """All cells as they are now, the one that has changed (none at the beginning), the seconds that are left."""


def carry_out(suite: Suite, options: GridOptions, settings: Settings, reporter: Reporter | None = None) -> GridResult:
    """Carry out a suite, or what is missing of it, and return how each cell ended.

    A cell that fails leaves the others alone; so does a data set that is not at hand, whose cells are skipped. With
    ``options.out`` the tables are written after each data set, and where it is stopped with Ctrl-C.

    Raises :class:`UsageError` for what is wrong in the suite or the options, before anything is computed,
    :class:`Interrupted` on Ctrl-C, and :class:`StoreError` where the store itself cannot be used.
    """
    reporter = reporter or SilentReporter()
    check_suite(suite)
    pieces = pieces_of(suite, options.only, options.splits)
    absent = absences(suite, settings)
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
        self.classes: dict[Key, tuple[int, int]] = {}
        self.at_once = 1
        self.scores: dict[Key, Scored] = {}
        self.recorded = Recorded(settings, open_records(settings, reporter.warn), any_code=options.accept_changed_code)
        self.clock = Clock(expected_seconds(pieces, costs_of(self.recorded.records), self.study_options))

    def run(self) -> GridResult:
        """Carry out every piece, those that another command holds at the end; on Ctrl-C write what is done."""
        self._tell(None)
        self.left = Counter((piece.data.name, piece.split) for piece in self.pieces)
        here = []
        for piece in self.pieces:
            if reason := self.absent[piece.data.name]:
                for cell in piece.cells:
                    self._change(Change(replace(cell, status=SKIPPED, reason=reason)))
                self._ended(piece)
            else:
                here.append(piece)
        try:
            if here:
                self._carry_out(here)
        except (Interrupted, KeyboardInterrupt):
            self._report()
            raise
        return self._result()

    def _carry_out(self, pieces: Sequence[Piece]) -> None:
        abreast = Abreast(self.options, self.study_options, len(pieces))
        if abreast.count > 1 or abreast.may_grow:
            self.at_once = abreast.count
            abreast.run(pieces, self.settings, self.reporter, self._change, self._ended)
            return
        carrier = Carrier(self.study_options, self.settings, self.recorded, self.reporter, self._change)
        waiting = deque(pieces)
        held = 0  # pieces in a row that others hold
        while waiting:
            piece = waiting.popleft()
            if carrier.attempt(piece):
                held = 0
                self._ended(piece)
                continue
            waiting.append(piece)
            held += 1
            if held >= len(waiting):
                self.reporter.stage(f"waiting for another command that carries out {piece.title}")
                time.sleep(_POLL_SECONDS)

    def _ended(self, piece: Piece) -> None:
        """Write the tables once all of a data set is done."""
        place = (piece.data.name, piece.split)
        self.left[place] -= 1
        if not self.left[place]:
            self._report()

    def _change(self, change: Change) -> None:
        cell = change.cell
        if cell.status == SKIPPED and all(
            other.status != SKIPPED for other in self.cells.values() if other.data == cell.data
        ):
            self.reporter.note(f"data set {cell.data!r} is left out: {cell.reason}")
        if change.entry is not None:
            self.entries[cell.key] = change.entry
            self.classes[cell.key] = change.classes
        self.cells[cell.key] = cell
        self.clock.told(cell)
        self._tell(cell)

    def _tell(self, changed: Cell | None) -> None:
        if isinstance(self.reporter, GridReporter):
            cells = list(self.cells.values())
            left = self.clock.remaining(cells)
            self.reporter.cells(cells, changed, None if left is None else left / self.at_once)

    def _report(self) -> None:
        """Read the scores of what was done since, and write the tables."""
        by_task: dict[tuple[str, str], dict[str, list[Key]]] = {}
        for piece in self.pieces:
            for cell in piece.cells:
                if cell.key in self.entries and cell.key not in self.scores:
                    # As it is recorded, in whatever order a suite's file has the options.
                    task = str(Spec.parse(cell.task))
                    group = by_task.setdefault((str(piece.dataset), task), {})
                    group.setdefault(self.entries[cell.key].study, []).append(cell.key)
        for (dataset, task), studies in by_task.items():
            found = read_test_evaluations(self.settings, dataset, task, list(studies), warn=self.reporter.warn)
            for scored in found:
                for name in {scored.study, *scored.names} & set(studies):
                    self.scores |= dict.fromkeys(studies[name], scored)
        if self.options.out is not None and by_task:
            write_tables(self._result(), self.options.out)

    def _result(self) -> GridResult:
        return GridResult(
            suite=self.suite,
            cells=tuple(self.cells.values()),
            entries=dict(self.entries),
            scores={key: self.scores[key] for key in self.cells if key in self.scores},
            classes=dict(self.classes),
            trials=self.options.trials,
            repeats=self.study_options.repeats,
            seconds=time.time() - self.started,
            out=self.options.out,
        )

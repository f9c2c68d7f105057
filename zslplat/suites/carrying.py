"""Carrying out one piece of a grid: the cells of its tasks, of which the first is tuned and hands on what it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from zslplat.errors import InUseError, NotAtHand, OutageError, StoreError, ZslplatError
from zslplat.evaluation.reporter import Interrupted, Reporter
from zslplat.keys import key_of
from zslplat.records.locks import file_lock
from zslplat.registry import one_line
from zslplat.settings import Settings
from zslplat.suites.cells import DONE, FAILED, RUNNING, SKIPPED, Cell, Piece
from zslplat.suites.recorded import Entry, Recorded
from zslplat.tuning.options import StudyOptions
from zslplat.tuning.single import run_experiment
from zslplat.tuning.study import run_study


@dataclass(frozen=True)
class Change:
    """A cell as it is now; where it is done, what is recorded of it, and how many seen and unseen classes there are."""

    cell: Cell
    entry: Entry | None = None
    classes: tuple[int, int] = (0, 0)


class Carrier:
    """Carries out pieces, one after another; ``changed`` is told of every cell that changes."""

    def __init__(
        self,
        options: StudyOptions,
        settings: Settings,
        recorded: Recorded,
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
        self.changed(Change(done, entry, self.recorded.classes[str(piece.dataset)]))
        return entry

    def _compute(self, piece: Piece, cell: Cell, parameters: Mapping[str, object] | None) -> None:
        experiment = piece.experiment(cell.task, parameters)
        options = piece.study_options(cell.task, self.options)
        if not piece.only_tested(cell.task):
            run_study(experiment, options, self.settings, self.reporter)
            return
        run_experiment(
            experiment,
            self.settings,
            test=True,
            repeats=options.repeats,
            workers=options.workers,
            cluster=options.cluster,
            part_of=options.part_of,
            reporter=self.reporter,
            keep_model=options.keep_models,
        )


def _lock_name(piece: Piece) -> str:
    """Return a name for what a piece tunes, the same in every suite that asks for it."""
    try:
        return key_of(piece.experiment(piece.tasks[0]).to_json())
    except Exception:  # whoever carries it out says what is wrong
        return key_of(str(piece.dataset), repr(piece.row))

"""What a grid would take: what is done already, and time, memory and disk of the rest. Nothing is written to the store.

The seconds of a trial and of a test evaluation of a method come from the records of the store: on the same data where
there are any, else from another data set in proportion to rows x dimensions. A method without records is timed
(:mod:`zslplat.suites.costs`). All of this is rough: other hyperparameters cost more or less, and a busy machine is
slower. What is done is told without loading data: whether they have changed since shows when it is carried out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from zslplat.errors import StoreError, ZslplatError
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.keys import key_of
from zslplat.records.database import Records
from zslplat.records.opening import existing_records
from zslplat.settings import Settings
from zslplat.suites.cells import DONE, FAILED, SKIPPED, WAITING, Cell, GridOptions, Piece, pieces_of
from zslplat.suites.costs import SHARED, UNKNOWN, Costs, costs_of, time_unknown
from zslplat.suites.entries import EntryReader
from zslplat.suites.suite import Suite, absences
from zslplat.suites.suite_checks import check_suite
from zslplat.tuning.options import StudyOptions
from zslplat.tuning.rehearsal import STUDY_SECONDS

RUN_SECONDS = 2.0  # of a test run beside its evaluation


@dataclass(frozen=True)
class Estimate:
    """A cell, and what it will take: seconds until it has ended, by ``source``, and the memory of its workers.

    ``seconds`` are None where nothing is known; 0 for what is done already or left out, and where another cell is the
    same study (``source`` is ``shared``). ``trials`` are those that are missing, ``evaluations`` those of the test that
    are.
    """

    cell: Cell
    seconds: float | None = 0.0
    source: str = ""
    peak_bytes: int = 0
    trials: int = 0
    evaluations: int = 0


@dataclass(frozen=True)
class Plan:
    """What a grid would take; ``seconds`` of all cells of which something is known, ``unknown`` counts the others.

    ``changed``: studies that other code computed than there is now.
    """

    suite: Suite
    estimates: tuple[Estimate, ...]
    workers: int
    changed: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Return the seconds until the last cell has ended."""
        return sum(estimate.seconds or 0.0 for estimate in self.estimates)

    @property
    def unknown(self) -> int:
        """Return how many cells nothing is known of."""
        return sum(estimate.seconds is None for estimate in self.estimates)

    @property
    def peak_bytes(self) -> int:
        """Return the most memory that the workers hold together at a time."""
        return max((estimate.peak_bytes for estimate in self.estimates), default=0)


def plan(
    suite: Suite,
    options: GridOptions,
    settings: Settings,
    timing_seconds: float = 0.0,
    reporter: Reporter | None = None,
) -> Plan:
    """Return what a suite would take; methods of which the store has no record are timed for so long in all.

    Raises :class:`UsageError` like :func:`zslplat.suites.grid.carry_out`.
    """
    check_suite(suite)
    pieces = pieces_of(suite, options.only)
    absent = absences(suite, settings)
    try:
        records: Records | None = existing_records(settings, lambda text: None)
    except StoreError:
        records = None
    study_options = options.study_options(suite)
    costs = Costs() if records is None else costs_of(records)
    recorded = (
        None if records is None else EntryReader(settings, records, by_data=False, any_code=options.accept_changed_code)
    )
    cells = [_cells(piece, absent[piece.data.name], recorded, study_options) for piece in pieces]
    changed = () if recorded is None else tuple(recorded.changed)
    if records is not None:
        records.close()
    waiting = [
        piece for piece, own_cells in zip(pieces, cells, strict=True) if any(c.status == WAITING for c, _ in own_cells)
    ]
    experiments = [piece.experiment(piece.tasks[0]) for piece in waiting]
    time_unknown(experiments, costs, settings, timing_seconds, reporter or SilentReporter())
    estimates: list[Estimate] = []
    planned: set[str] = set()
    for piece, piece_cells in zip(pieces, cells, strict=True):
        for cell, trials in piece_cells:
            study = _study(piece, cell.task, study_options) if cell.status == WAITING else ""
            if study in planned:
                estimates.append(Estimate(cell, source=SHARED))
                continue
            planned |= {study} - {""}
            estimates.append(_estimate(piece, cell, trials, costs, study_options))
    return Plan(suite, tuple(estimates), study_options.workers, changed)


def _study(piece: Piece, task: str, options: StudyOptions) -> str:
    """Return what tells the study of a cell: rows of one suite may ask for the same."""
    experiments = [piece.experiment(each).to_json() for each in (piece.tasks[0], task)]
    return key_of(experiments, piece.trials(task, options))


def _cells(piece: Piece, absent: str, recorded: EntryReader | None, options: StudyOptions) -> list[tuple[Cell, int]]:
    """Return the cells of a piece, each with the trials that are missing; what a search will find is not known yet."""
    if absent:
        return [(replace(cell, status=SKIPPED, reason=absent), 0) for cell in piece.cells]
    try:
        return _missing(piece, recorded, options)
    except ZslplatError as error:  # as it will fail when it is carried out, and the others will not
        return [(replace(cell, status=FAILED, reason=str(error)), 0) for cell in piece.cells]


def _missing(piece: Piece, recorded: EntryReader | None, options: StudyOptions) -> list[tuple[Cell, int]]:
    cells: list[tuple[Cell, int]] = []
    for cell, entry in [(cell, None) for cell in piece.cells] if recorded is None else recorded.done(piece, options):
        if entry is None:
            searched = recorded is not None and cell.task == piece.tasks[0]
            done = recorded.trials_of(piece, cell.task, options) if recorded and searched else 0
            cells.append((cell, max(0, piece.trials(cell.task, options) - done)))
            continue
        changed = {"study": entry.study, "value": entry.value, "seconds": entry.seconds, "status": DONE}
        cells.append((replace(cell, **changed), 0))  # type: ignore[arg-type]
    return cells


def _estimate(piece: Piece, cell: Cell, trials: int, costs: Costs, options: StudyOptions) -> Estimate:
    if cell.status != WAITING:
        return Estimate(cell)
    template = piece.template()
    random = template.is_random and "seed" not in piece.method.parameters
    evaluations = options.repeats if random else 1
    cost, source = costs.of(str(piece.method), str(piece.dataset))
    if cost is None:
        return Estimate(cell, None, UNKNOWN, 0, trials, evaluations)
    seconds = RUN_SECONDS if piece.only_tested(cell.task) else STUDY_SECONDS
    seconds += cost.study_seconds(trials, evaluations, options)
    memory = cost.peak_bytes * min(options.workers, max(trials, evaluations))
    return Estimate(cell, seconds, source, memory, trials, evaluations)

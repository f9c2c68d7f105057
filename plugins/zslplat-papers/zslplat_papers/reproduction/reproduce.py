"""A published table made again, as far as its data are at hand: ours beside the paper's, with a verdict per cell.

Every cell is a study (or, where nothing is searched, a study of one trial) in the store: the same call goes on where it
was stopped, cells that share a study carry it out once, and a cell that fails leaves the others alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.comparison.classes import over_classes
from zslplat.comparison.paired import interval
from zslplat.data.dataset import Dataset
from zslplat.errors import StoreError, ZslplatError
from zslplat.evaluation.components import open_dataset
from zslplat.evaluation.jobs import Limits
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evidence.scores import Scored
from zslplat.evidence.table import ResultTable
from zslplat.metrics.intervals import within
from zslplat.records.costs import total_seconds
from zslplat.records.database import SEALED, Records
from zslplat.records.opening import existing_records
from zslplat.registry import one_line
from zslplat.settings import Settings
from zslplat.statistics import estimate_mean
from zslplat.tuning.options import StudyResult
from zslplat.tuning.study import run_study
from zslplat_papers.published import load_table
from zslplat_papers.reproduction.cells import Budget, Cell, Missing, planned
from zslplat_papers.reproduction.foresight import Foresight, foresee
from zslplat_papers.reproduction.oracle import Oracle, score_trials
from zslplat_papers.reproduction.orders import agreements
from zslplat_papers.reproduction.recipe import OURS, WAYS, facts_of_data, load_recipe
from zslplat_papers.reproduction.results import keep_results, key_of, read_results
from zslplat_papers.reproduction.verdicts import NOT_COMPARED, Measured, Verdict, cell_verdict

ROWS, CLASSES, SEEDS = "these test rows", "new classes", "these seeds"
CELL_KEY = ("table", "row", "column", "way", "metric", "seed")
_LOCAL = ("study", "status")  # columns that are not kept: they mean nothing outside the store
DONE, FAILED, PLANNED = "done", "failed", "planned"


@dataclass
class Made:
    """One cell as it came out: ours with both intervals, the printed number, the verdict, the oracle.

    ``status``: done, failed (``why`` says it) or planned. ``low`` and ``high`` are over these test rows (or over the
    seeds, where a metric has no value per row), ``low_classes`` and ``high_classes`` over new classes. ``differs`` says
    in what the data that lie here are not the paper's.
    """

    cell: Cell
    status: str = PLANNED
    study: str = ""
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    low_classes: float | None = None
    high_classes: float | None = None
    validation: float | None = None
    repeats: int = 0
    trials: int = 0
    seconds: float = 0.0
    verdict: Verdict = field(default_factory=lambda: Verdict(NOT_COMPARED, "not carried out"))
    oracle: Oracle | None = None
    differs: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the line of a table: plain values, the same names in every line."""
        cell, oracle = self.cell, self.oracle
        return {
            "table": cell.table,
            "row": cell.row,
            "column": cell.place.id,
            "stand_in_for": cell.place.column if cell.place.standin else None,
            "stand_in": cell.place.standin is not None,
            "way": cell.way,
            "method": str(cell.experiment.method),
            "dataset": str(cell.experiment.dataset),
            "task": str(cell.experiment.task),
            "metric": cell.place.metric,
            # Other data are never compared with the number of the column that they stand for.
            "paper": None if cell.place.standin or self.differs else cell.printed,
            "ours": self.ours,
            "low": self.low,
            "high": self.high,
            "low_classes": self.low_classes,
            "high_classes": self.high_classes,
            "validation": self.validation,
            "verdict": self.verdict.verdict,
            "why": self.verdict.why,
            "oracle": oracle.best if oracle else None,
            "oracle_gain": oracle.gain if oracle else None,
            "oracle_gain_by_metric": oracle.gain_by_metric if oracle else None,
            "oracle_trials": oracle.trials if oracle else None,
            "trials": self.trials,
            "repeats": self.repeats,
            "seed": cell.experiment.seed,
            "seconds": round(self.seconds, 1),
            "status": self.status,
            "study": self.study,
            "unsure": cell.unsure,
        }


@dataclass
class Reproduction:
    """A table made again: its cells, and the columns whose data are not at hand."""

    table: str
    made: list[Made]
    missing: list[Missing]
    foresight: Foresight | None = None

    def on_standins(self) -> list[tuple[str, str, str, str, float]]:
        """Return the numbers on stand-ins in our way: (stand-in, its column, metric, row, ours)."""
        return [
            (place.standin.id, place.column, place.metric, made.cell.row, made.ours)
            for made in self.made
            if (place := made.cell.place).standin and made.cell.way == OURS and made.ours is not None
        ]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "table": self.table,
            "cells": [made.to_json() for made in self.made],
            "orders": [asdict(one) for one in agreements(load_table(self.table), self.on_standins())],
            "not_at_hand": [asdict(missing) for missing in self.missing],
            **({"foresight": asdict(self.foresight)} if self.foresight else {}),
        }


Watch = Callable[[Made], None]


def reproduce(
    table: str,
    settings: Settings,
    budget: Budget | None = None,
    *,
    only: Sequence[str] = (),
    ways: Sequence[str] = WAYS,
    standins: bool = True,
    oracle: bool = False,
    dry_run: bool = False,
    probe_seconds: float = 0.0,
    seed: int = 0,
    reporter: Reporter | None = None,
    watch: Watch = lambda made: None,
) -> Reproduction:
    """Carry out the cells of a published table whose data are at hand; ``watch`` is told of each as it ends.

    ``budget``: trials and repeats in place of the recipe's, workers and limits. ``dry_run``: nothing is
    carried out, and methods without a record are timed for ``probe_seconds``, to foresee what it would take.
    ``oracle`` scores every trial of every study on the test split afterwards, see :mod:`.oracle`.
    Raises :class:`UsageError` for a table without a recipe, for an ``only`` that names nothing, and where ``ways`` and
    ``standins`` leave nothing of what is asked for.
    """
    reporter = reporter or SilentReporter()
    budget = budget or Budget()
    cells, missing = planned(
        *(load_table(table), load_recipe(table), settings),
        only=only,
        ways=ways,
        standins=standins,
        seed=seed,
        budget=budget,
    )
    reproduction = Reproduction(table, [Made(c, trials=c.trials, repeats=c.repeats) for c in cells], missing)
    if dry_run:
        if cells:
            reproduction.foresight, seconds = foresee(cells, settings, budget, probe_seconds, reporter)
            for made, one in zip(reproduction.made, seconds, strict=True):
                made.seconds = one
        return reproduction
    work = _Work(settings, budget, reporter, oracle=oracle)
    for made in reproduction.made:
        work.make(made)
        watch(made)
    return reproduction


class _Work:
    """The studies of one call; each is carried out once, however many cells read it."""

    def __init__(self, settings: Settings, budget: Budget, reporter: Reporter, *, oracle: bool) -> None:
        self.settings, self.budget, self.reporter, self.oracle = settings, budget, reporter, oracle
        self._studies: dict[str, StudyResult] = {}
        self._priced = set[str]()

    def make(self, made: Made) -> None:
        """Carry out a cell and judge it; what goes wrong is noted in the cell."""
        try:
            self._make(made)
            made.status = DONE
        except Interrupted:
            raise
        except Exception as error:  # of whatever kind: what a plugin does is the affair of its cell
            made.status = FAILED
            reason = str(error) if isinstance(error, ZslplatError) else one_line(error)
            made.verdict = Verdict(NOT_COMPARED, f"failed: {' '.join(reason.split())}")
            self.reporter.warn(f"{made.cell.name}: {reason}")

    def _make(self, made: Made) -> None:
        cell = made.cell
        if cell.place.standin is None:
            facts = facts_of_data().get(cell.place.dataset, {})
            made.differs = other_data(open_dataset(cell.experiment.dataset, self.settings), facts)
        study = self._study(made)
        made.study = study.name
        judge(made, read_study_scores(self.settings, made.study, warn=self.reporter.warn))
        # A study goes on where it was: it may have had more trials than this call asks for.
        made.trials = sum(study.trials.values())
        if self.oracle:
            self._price(made)

    def _price(self, made: Made) -> None:
        """Add the oracle; where it has no price, what was found of the cell stays."""
        cell = made.cell
        try:
            made.oracle = score_trials(
                *(cell.experiment, made.study, cell.place.metric, self.settings),
                workers=self.budget.workers,
                cluster=self.budget.cluster,
                less_is_better=cell.less_is_better,
                limits=Limits(self.budget.trial_timeout, self.budget.memory_bytes),
                reporter=self.reporter,
            )
        except ZslplatError as error:
            if isinstance(error, Interrupted):
                raise
            self.reporter.warn(f"{cell.name}: {error}")
        if made.study not in self._priced:
            self._priced.add(made.study)
            made.seconds += self._oracle_seconds(made.study)

    def _oracle_seconds(self, name: str) -> float:
        """Return the seconds of all that the oracle scored of a study, whenever that was."""
        records = Records(self.settings, self.reporter.warn)
        evaluated = records.evaluations(f"{SEALED}{name}")
        records.close()
        return total_seconds(evaluated.values())

    def _study(self, made: Made) -> StudyResult:
        """Return the study of a cell, carried out or recorded already; the cell that asks first has its seconds."""
        cell = made.cell
        key = json.dumps([cell.experiment.to_json(), cell.trials, cell.repeats], sort_keys=True)
        if key not in self._studies:
            options = self.budget.options(cell.trials, cell.repeats)
            self._studies[key] = run_study(cell.experiment, options, self.settings, self.reporter)
            made.seconds = self._recorded_seconds(self._studies[key].name)
        return self._studies[key]

    def _recorded_seconds(self, name: str) -> float:
        """Return the seconds of all trials and test evaluations of a study, whenever they were computed."""
        records = Records(self.settings, self.reporter.warn)
        study = records.study(name)
        evaluated = [*(record for _, record in study.finished()), *records.evaluations(study.owner).values()]
        records.close()
        return total_seconds(evaluated)


def judge(made: Made, scored: Scored) -> None:
    """Note what a study's test evaluations say of a cell, and the verdict on the printed number.

    The verdict is by the interval over these test rows where they are the paper's, and over new classes where the
    paper drew others: there its own choice of classes stands between the two numbers as well.
    """
    cell, metric = made.cell, made.cell.place.metric
    if metric not in scored.values:
        raise ZslplatError(f"no {metric} was recorded; recorded: {', '.join(sorted(scored.values))}")
    rows, classes = estimate(scored, metric), class_estimate(scored, metric)
    made.ours, made.low, made.high = rows.value, rows.low, rows.high
    made.low_classes, made.high_classes = (classes.low, classes.high) if classes else (None, None)
    made.validation = scored.validation.get(metric)
    made.repeats, made.trials = len(scored.values[metric]), cell.trials
    by = rows if cell.place.same_rows else classes or rows
    differs = cell.place.differs or made.differs
    made.verdict = cell_verdict(cell.printed, by, rounding=cell.rounding, share=cell.share, differs=differs)


def other_data(data: Dataset, facts: Mapping[str, int]) -> str:
    """Return in words what tells data from those of the paper, by what these are ``facts`` by; empty where nothing."""
    S = data.signature_set() if data.signatures else None
    sizes = {
        "rows": len(data.X),
        "classes": len(data.class_names),
        "dimensions": data.X.shape[1],
        "attributes": 0 if S is None else S.values.shape[1],
    }
    wrong = [f"{sizes[name]} {name}, not {number}" for name, number in facts.items() if sizes[name] != number]
    return f"other data than the paper's: {'; '.join(wrong)}" if wrong else ""


def estimate(scored: Scored, metric: str) -> Measured:
    """Return a metric with its interval over these test rows; over the seeds where it has no value per row."""
    over_rows = interval(scored, metric)
    if not np.isnan(over_rows.low):
        return Measured(over_rows.estimate, *within(metric, over_rows.estimate, over_rows.low, over_rows.high), ROWS)
    ends = estimate_mean(np.asarray(scored.values[metric], dtype=float), bounds=None).ends
    if np.isnan(ends[0]):
        return Measured(over_rows.estimate)
    return Measured(over_rows.estimate, *within(metric, over_rows.estimate, *ends), SEEDS)


def class_estimate(scored: Scored, metric: str) -> Measured | None:
    """Return a metric with its interval over new classes; None where it has no value per class."""
    draw = over_classes(scored, metric)
    if draw is None or np.isnan(draw.ends[0]):
        return None
    return Measured(draw.estimate, *within(metric, draw.estimate, *draw.ends), CLASSES)


def keep_cells(
    reproduction: Reproduction, folder: Path | None = None, report: Callable[[str], None] = lambda text: None
) -> Path | None:
    """Keep the cells that were carried out as ``reproduce-TABLE.csv``; None where there are none.

    A cell that is kept already with more trials, or with as many and with more repeats or an oracle that is not priced
    now, stays as it is; of that, and of an oracle that goes with what had fewer trials, ``report`` is told.
    """
    name = f"reproduce-{reproduction.table}"
    before = {key_of(line, CELL_KEY): line for line in read_results(name, folder, CELL_KEY)}
    done = [made.to_json() for made in reproduction.made if made.status == DONE]
    lines = [line for line in done if not _stays(before.get(key_of(line, CELL_KEY), {}), line)]
    if len(lines) < len(done):
        stay = f"{reproduction.table}: {len(done) - len(lines)} of {len(done)} cells are kept already"
        report(f"{stay} with more trials or repeats, or with an oracle, and stay")
    lost = sum(bool(before.get(key_of(line, CELL_KEY), {}).get("oracle")) and line["oracle"] is None for line in lines)
    if lost:
        count = f"{reproduction.table}: {lost} of {len(done)} cells"
        report(f"{count} were kept with the oracle of fewer trials; give --oracle")
    if not lines:
        return None
    lines = [{name: value for name, value in line.items() if name not in _LOCAL} for line in lines]
    hours = sum(made.seconds for made in reproduction.made) / 3600
    return keep_results(name, lines, CELL_KEY, folder, hours=hours)


def _stays(earlier: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    """Tell whether a kept cell says more than the same one made now."""
    trials, repeats = ([int(line.get(name) or 0) for line in (earlier, made)] for name in ("trials", "repeats"))
    if trials[0] != trials[1]:
        return trials[0] > trials[1]
    return repeats[0] > repeats[1] or (bool(earlier.get("oracle")) and made.get("oracle") is None)


def read_study_scores(settings: Settings, study: str, *, warn: Callable[[str], None]) -> Scored:
    """Return the test scores of a study; raises :class:`StoreError` where it has none.

    ``warn`` is called for outcomes that cannot be read, whose evaluations then have no replicates.
    """
    with existing_records(settings, warn) as records:
        scores = ResultTable(records, warn).scores_of_named([study])
    if study not in scores:
        raise StoreError(f"study {study!r} has no test evaluation in {settings.store}; give its command again")
    return scores[study]

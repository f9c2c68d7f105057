"""Timing of methods of which nothing is recorded: one trial each, at its defaults, in a store that is thrown away."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from zslplat.errors import ZslplatError
from zslplat.evaluation.components import defaults_of, open_dataset
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import VALIDATION
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.evaluation.session import EvaluationRequest, Session, seconds_of_trial
from zslplat.records.costs import most_bytes
from zslplat.records.database import Records
from zslplat.settings import Settings, sqlite_url
from zslplat.suites.cells import Piece
from zslplat.suites.costs import Cost, Costs

TIMED = "timed"
# Of all that a probe may take, one method gets this share at most.
_SHARE = 0.25


@dataclass
class Probe:
    """Times methods for up to ``seconds`` in all, each on the smallest data set of the suite that it is used on.

    A method that is stopped at its limit costs that much at least, and is told as if it cost just that.
    """

    settings: Settings
    seconds: float
    reporter: Reporter | None = None

    def __call__(self, pieces: Sequence[Piece], costs: Costs) -> None:
        """Add sizes of data sets and costs of methods that are missing."""
        unknown = [piece for piece in pieces if costs.of(piece.method.name, str(piece.dataset))[0] is None]
        if not unknown or self.seconds <= 0:
            return
        ends = time.monotonic() + self.seconds
        with tempfile.TemporaryDirectory(prefix="zslplat-probe-") as folder:
            store = Path(folder)
            studies, shown = sqlite_url(store / "optuna.db"), sqlite_url(store / "mlflow.db")
            away = replace(self.settings, store=store, storage_url=studies, tracking_uri=shown)
            away.make_store()
            self._measure_sizes(unknown, costs, away)
            for piece in self._smallest(unknown, costs):
                left = ends - time.monotonic()
                if left <= 0:
                    return
                if costs.of(piece.method.name, str(piece.dataset))[0] is None:
                    self._time(piece, costs, away, min(left, max(1.0, self.seconds * _SHARE)))

    def _measure_sizes(self, pieces: Sequence[Piece], costs: Costs, away: Settings) -> None:
        for dataset in dict.fromkeys(str(piece.dataset) for piece in pieces if piece.split in (None, 1)):
            piece = next(p for p in pieces if str(p.dataset) == dataset)
            undrawn = str(piece.data.dataset) if piece.split is not None else dataset
            if undrawn not in costs.sizes:
                with suppress(ZslplatError):  # its cells will say so when they are carried out
                    costs.sizes[undrawn] = float(prod(open_dataset(piece.dataset, away).X.shape))

    def _smallest(self, pieces: Sequence[Piece], costs: Costs) -> list[Piece]:
        return sorted(pieces, key=lambda piece: costs.sizes.get(str(piece.dataset), float("inf")))

    def _time(self, piece: Piece, costs: Costs, away: Settings, limit: float) -> None:
        reporter = SilentReporter()
        experiment = piece.experiment(piece.tasks[0])
        if self.reporter is not None:
            self.reporter.stage(f"timing {experiment.method} on {experiment.dataset}")
        answers: list[Answer] = []
        records = Records(away)
        try:
            with Session(ExperimentContext(experiment, away), records, reporter, workers=1, recall=False) as session:
                session.start_workers(1, away.studies / "workers.log")
                problems = session.prepare(VALIDATION, experiment.space)
                parameters = defaults_of(session.context.template, experiment.space)
                request = EvaluationRequest(
                    label="timing",
                    run="timing",
                    experiment=experiment.evaluation(parameters, VALIDATION, experiment.seed),
                )
                session.evaluate([request], problems, Limits(limit), lambda _, answer: answers.append(answer))
                folds = len(problems)
        except ZslplatError:
            return  # the cell will say so when it is carried out
        if not answers:
            return
        result = answers[0].result
        seconds = limit if result is None else seconds_of_trial(result, problems)
        peak = 0 if result is None else most_bytes(result) or 0
        # The test is one fit on somewhat more rows than a fold has.
        costs.measured[piece.method.name, str(piece.dataset)] = Cost(seconds, 1.5 * seconds / folds, peak, TIMED)

"""The trials of a study as its leader knows them: recorded in order, the best of them, those to be tried again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zslplat.errors import ZslplatError
from zslplat.evaluation.criteria import values_of
from zslplat.evaluation.experiment import VALIDATION, Experiment
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.reporter import Reporter
from zslplat.keys import RECORD_CHOICES, trial_key
from zslplat.records.folders import trial_folder
from zslplat.records.studies import OpenStudy, finished_trial
from zslplat.records.trials import FinishedTrial
from zslplat.tasks.base import Metric

_STOPPED = "stopped at"  # how the reason of a trial begins that a limit has stopped
_NOTHING: dict[str, Any] = {
    **{"state": "failed", "value": None, "metrics": {}, "folds": [], "steps": {}, RECORD_CHOICES: {}, "warnings": []}
}


class TrialLog:
    """The finished trials of a study, what is known of each (``trials``, ``records``), and the way to record more."""

    def __init__(
        self,
        study: OpenStudy,
        experiment: Experiment,
        criteria: Sequence[Metric],
        reporter: Reporter,
        requested: int,
        folder: Path,
    ) -> None:
        self.study, self.experiment, self.criteria = study, experiment, criteria
        self.reporter, self.requested, self.folder = reporter, requested, folder
        self.trials: list[FinishedTrial] = []
        self.records: list[dict[str, Any]] = []
        self.new_records: list[dict[str, Any]] = []  # not announced to the listeners yet
        self._best: FinishedTrial | None = None  # kept, since every trial asks for it
        for trial, record in study.finished():
            self._append(trial, record)
        if self.trials:
            reporter.note(f"continuing study {study.name!r} after {len(self.trials)} recorded trials")

    def in_order(
        self, numbers: Sequence[int], parameters: Sequence[Mapping[str, Any]], limits: Limits
    ) -> OrderedAnswers:
        """Return the place where the answers of these trials are put, in whatever order they come."""
        return OrderedAnswers(self, list(numbers), list(parameters), limits)

    def add(self, number: int, parameters: Mapping[str, Any], answer: Answer, started: float, limits: Limits) -> None:
        """Record what a trial gave; a trial that is recorded already has been tried again."""
        result = answer.result
        if result is None:
            experiment = self.experiment.evaluation(parameters, VALIDATION, self.experiment.seed)
            result = {**_NOTHING, "experiment": experiment.to_json()}
        seconds, now = result.get("seconds", 0.0), time.time()
        record = {
            **result,
            "number": number,
            "run": self.study.run(trial_key(number)),
            "parameters": dict(parameters),
            "reason": answer.reason,
            "started": max(started, now - seconds) if seconds else started,
            "ended": now,
        }
        if record["state"] == "complete":
            record["value"], *further = values_of(record, self.criteria)
            record |= {"further_values": further} if further else {}
        if answer.result is None:
            record["limits"] = {"seconds": limits.seconds, "bytes": limits.bytes}
            shutil.rmtree(trial_folder(self.folder, number), ignore_errors=True)
        trial = finished_trial(record)
        if number < len(self.records):
            self.study.retry(record)
            self.trials[number], self.records[number] = trial, record
            self._best = None
            for other in self.trials:
                self._compare(other)
        else:
            self.study.add(trial, record, self.experiment.space)
            self._append(trial, record)
        self.new_records.append(record)
        best = self.records[self._best.number]["value"] if self._best else None
        self.reporter.trial(number + 1, self.requested, record, best)

    def _append(self, trial: FinishedTrial, record: dict[str, Any]) -> None:
        self.trials.append(trial)
        self.records.append(record)
        self._compare(trial)

    def _compare(self, trial: FinishedTrial) -> None:
        """Keep a trial where it is better than the best of those before it; of equals the first stays.

        It is better by the first criterion, or equal by that and better by the second.
        """
        if trial.values and (self._best is None or self._signed(trial) > self._signed(self._best)):
            self._best = trial

    def _signed(self, trial: FinishedTrial) -> list[float]:
        return [one.signed(value) for one, value in zip(self.criteria, trial.values, strict=True)]

    def retried(self, every: bool, limits: Limits) -> list[int]:
        """Return the failed trials to be tried again: ``every`` one, or those that limits below today's stopped."""
        failed = [record for record in self.records if record["state"] == "failed"]
        return [record["number"] for record in failed if every or _may_fit_now(record, limits)]

    @property
    def has_winner(self) -> bool:
        """Whether any trial is complete."""
        return self._best is not None

    def best_number(self) -> int:
        """Return the number of the best trial, the first of equals; -1 where none is complete."""
        return -1 if self._best is None else self._best.number

    def winner(self) -> int:
        """Return the number of the best trial, the first of equals; raises :class:`ZslplatError` where all failed."""
        if self._best is None:
            reasons = [r["reason"] for r in self.records if r["reason"]]
            raise ZslplatError(
                f"all {len(self.trials)} trials failed; the first because: {reasons[0] if reasons else 'unknown'}"
            )
        return self._best.number


def too_short(seconds: float | None, failed: int = 0) -> ZslplatError:
    """Return the error that says that no trial was complete in time; ``failed``: how many failed in it."""
    more = f"; {failed} trials failed, and are recorded" if failed else ""
    return ZslplatError(
        f"no trial is complete within --timeout {seconds:g} s{more}; what is prepared is kept; give --timeout "
        f"{2 * (seconds or 0):g} or more, or none"
    )


@dataclass
class OrderedAnswers:
    """Answers of trials, recorded in the order of the trials: each waits for those before it."""

    log: TrialLog
    numbers: list[int]
    parameters: list[Mapping[str, Any]]
    limits: Limits
    started: float = field(default_factory=time.time)
    _waiting: dict[int, Answer] = field(default_factory=dict)
    _next: int = 0

    def put(self, position: int, answer: Answer) -> None:
        """Take the answer of the trial at a position, and record what is complete up to there."""
        self._waiting[position] = answer
        while self._next in self._waiting:
            number, parameters = self.numbers[self._next], self.parameters[self._next]
            self.log.add(number, parameters, self._waiting.pop(self._next), self.started, self.limits)
            self._next += 1


def _may_fit_now(record: Mapping[str, Any], limits: Limits) -> bool:
    """Tell whether a limit stopped a trial, and today's limits are higher."""
    before = record.get("limits")
    if before is None or not record["reason"].startswith(_STOPPED):
        return False
    pairs = ((before["seconds"], limits.seconds), (before["bytes"], limits.bytes))
    return any(old is not None and (new is None or new > old) for old, new in pairs)

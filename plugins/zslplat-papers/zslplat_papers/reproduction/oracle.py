"""The oracle: the best of a study's own trials *by the test split*, computed after the fact and kept apart.

A published number may owe something to selection on the test split: the best checkpoint, the best of several settings.
The oracle prices that. It refits every complete trial of a study that has ended, scores it on the test split, and says
how far the best of them is above the trial that validation chose. Where the search went by another metric, as for H of
a search by AUSUC, that distance holds the change of metric, too: the oracle says as well how far the best is above the
trial that is best on validation by the very metric.

It is analysis, and sealed. Its evaluations are recorded under an owner of their own (``oracle:STUDY``); proposals,
winner, ``best.toml``, ``compare`` and the recall of known evaluations read none of them
(:data:`zslplat.records.database.SEALED`). Every evaluation counts as a look at the test split.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from zslplat.errors import StoreError
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import TEST, Experiment
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.session import EvaluationRequest, Session
from zslplat.keys import RECORD_CHOICES, run_identifier, trial_key
from zslplat.records.database import SEALED, Records
from zslplat.records.folders import study_folder
from zslplat.settings import Settings

_SAME = 1e-9  # two gains that are apart by rounding


@dataclass(frozen=True)
class Oracle:
    """What selection on the test split would have given: best value and trial, and the winner of validation beside it.

    All values are of one evaluation with the study's own seed. ``trials`` counts those that could be scored.
    ``by_metric`` is the value of the trial that is best on validation by this metric, whichever the search went by;
    None where validation has no such metric.
    """

    metric: str
    best: float
    trial: int
    chosen: float
    winner: int
    trials: int
    by_metric: float | None = None

    @property
    def gain_by_metric(self) -> float | None:
        """How far the best trial by the test split is ahead of the best on validation by the same metric."""
        return None if self.by_metric is None else abs(self.best - self.by_metric)

    @property
    def gain(self) -> float:
        """How far the best trial by the test split is ahead of the one that validation chose; never below 0."""
        return abs(self.best - self.chosen)


def gain_words(gain: float | None, by_metric: float | None, metric: str) -> str:
    """Return the gain of an oracle in words, with that over the choice by its own metric where it is another."""
    if gain is None:
        return ""
    by_own_metric = "" if by_metric is None or abs(by_metric - gain) < _SAME else f"; {by_metric:+.3f} by {metric}"
    return f"({gain:+.3f}{by_own_metric})"


def score_trials(
    experiment: Experiment,
    study: str,
    metric: str,
    settings: Settings,
    *,
    workers: int = 2,
    cluster: str | None = None,
    less_is_better: bool = False,
    limits: Limits | None = None,
    reporter: Reporter | None = None,
) -> Oracle:
    """Score every complete trial of a study that has ended on the test split.

    What is recorded of the same experiment by the same code is not scored again, unless it failed. ``experiment`` is
    that of the study, with its ranges; ``less_is_better`` says it of the metric. Trials that fail are passed over.
    Raises
    :class:`StoreError` for a study that has not ended, or of which no trial can be scored.
    """
    reporter = reporter or SilentReporter()
    records = Records(settings, reporter.warn)
    context = ExperimentContext(experiment, settings, on_stage=reporter.stage)
    with Session(context, records, reporter, workers=workers, cluster=cluster, recall=False) as session:
        opened = records.study(study)
        values, trials = opened.values(), [record for _, record in opened.finished()]
        if "finished" not in values:
            raise StoreError(f"study {study!r} has not ended; the oracle looks at studies whose winner is known")
        owner = f"{SEALED}{study}"
        complete = [record for record in trials if record["state"] == "complete"]
        scored = _evaluated(session, owner, study, complete, limits or Limits())
        result = {number: _value(record, metric) for number, record in scored.items()}
        validated = {trial["number"]: trial["metrics"].get(metric) for trial in complete}
        winner = int(values["finished"]["winner"])
        return _oracle(result, validated, metric, winner, study, less_is_better=less_is_better)


def _evaluated(
    session: Session, owner: str, study: str, trials: list[dict[str, Any]], limits: Limits
) -> dict[int, dict[str, Any] | None]:
    """Return the oracle's record of each trial by its number, those that are missing made and recorded now."""
    records = session.records
    recorded = records.evaluations(owner)
    requests = {}
    for trial in trials:
        experiment = session.experiment.evaluation(
            trial["parameters"], TEST, session.experiment.seed, trial[RECORD_CHOICES]
        )
        key = _key(trial["number"], recorded, experiment, session.context.code(trial["parameters"]))
        run = run_identifier("", owner, key)
        requests[key] = EvaluationRequest(
            label=f"oracle {key}",
            run=run,
            experiment=experiment,
        )
    missing = [key for key in requests if key not in recorded]
    if missing:
        _evaluate(session, owner, study, {key: requests[key] for key in missing}, limits)
        recorded = records.evaluations(owner)
    return {trial["number"]: recorded.get(key) for trial, key in zip(trials, requests, strict=True)}


def _key(
    number: int, recorded: Mapping[str, Mapping[str, Any]], experiment: Experiment, code: Mapping[str, str]
) -> str:
    """Return the key of a trial's record: that of one which is complete, of this experiment, by the code of today.

    Where there is none, one that is free: what failed is tried again, and what was computed otherwise stays as it is,
    for it was a look at the test split.
    """
    for again in count():
        key = trial_key(number) + (f"/again-{again}" if again else "")
        record = recorded.get(key)
        if record is None:
            break
        same = record.get("question") == experiment.question and record.get("code") == code
        if same and record.get("state") == "complete":
            break
    return key


def _evaluate(
    session: Session, owner: str, study: str, requests: Mapping[str, EvaluationRequest], limits: Limits
) -> None:
    """Score trials by the keys of their records, each recorded as soon as it is known."""
    records, keys = session.records, list(requests)

    def keep(position: int, answer: Answer) -> None:
        content = answer.result or {"state": "failed", "reason": answer.reason, "metrics": {}, "folds": []}
        content = {**content, "analysis": "oracle", "started": time.time()}
        records.add_evaluation(owner, keys[position], TEST, session.experiment.data, content)

    try:
        session.start_workers(len(keys), study_folder(session.settings, study) / "workers.log")
        prepared = session.prepare(TEST, session.experiment.space)
        session.reporter.stage(f"oracle: scoring {len(keys)} trials of {study} on the test split, for analysis only")
        session.evaluate(list(requests.values()), prepared, limits, keep)
    except KeyboardInterrupt:
        raise Interrupted("stopped; the trials so far are recorded; give the same command again to continue") from None


def _value(record: Mapping[str, Any] | None, metric: str) -> float | None:
    if record is None:
        return None
    numbers = {name: value for fold in record.get("folds", []) for name, value in fold.get("numbers", {}).items()}
    value = {**numbers, **record.get("metrics", {})}.get(metric)
    return None if value is None else float(value)


def _oracle(
    scores: Mapping[int, float | None],
    validated: Mapping[int, float | None],
    metric: str,
    winner: int,
    study: str,
    *,
    less_is_better: bool,
) -> Oracle:
    scored = {number: value for number, value in scores.items() if value is not None}
    if winner not in scored:
        raise StoreError(f"study {study!r}: its winner has no {metric} on the test split, so the oracle has no price")
    sign = -1.0 if less_is_better else 1.0
    best = min(scored, key=lambda number: (-sign * scored[number], number))
    recorded = {number: value for number in scored if (value := validated.get(number)) is not None}
    # Of several that are best on validation the one that the search chose counts.
    first = min(recorded, key=lambda number: (-sign * recorded[number], number != winner, number), default=None)
    by_metric = None if first is None else scored[first]
    return Oracle(metric, scored[best], best, scored[winner], winner, len(scored), by_metric)

"""The oracle: the best of a study's own trials *by the test split*, computed after the fact and kept apart.

A published number may owe something to selection on the test split: the best checkpoint, the best of several settings.
The oracle prices that. It refits every complete trial of a study that has ended, scores it on the test split, and says
how far the best of them is above the trial that validation chose.

It is analysis, and sealed. Its evaluations are recorded under an owner of their own (``oracle:STUDY``); proposals,
winner, ``best.toml``, ``compare`` and the recall of known evaluations read none of them
(:data:`zslplat.records.database.SEALED`). Every evaluation counts as a look at the test split.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zslplat.errors import StoreError
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.session import Request, Session
from zslplat.evaluation.setting import TEST, Setting
from zslplat.evaluation.worker import Answer, Limits
from zslplat.keys import run_identifier
from zslplat.records.database import SEALED
from zslplat.records.folders import study_folder
from zslplat.settings import Settings
from zslplat.tracking.stores import open_records


@dataclass(frozen=True)
class Oracle:
    """What selection on the test split would have given: best value and trial, and the winner of validation beside it.

    Both values are of one evaluation with the study's own seed. ``trials`` counts those that could be scored.
    """

    metric: str
    best: float
    trial: int
    chosen: float
    winner: int
    trials: int

    @property
    def gain(self) -> float:
        """How far the best trial by the test split is ahead of the one that validation chose; never below 0."""
        return abs(self.best - self.chosen)


def score_trials(
    setting: Setting,
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
    """Score every complete trial of a study that has ended on the test split; what is recorded is not scored again.

    ``setting`` is that of the study, with its ranges; ``less_is_better`` says it of the metric. Trials that fail are
    passed over. Raises :class:`StoreError` for a study that has not ended, or of which no trial can be scored.
    """
    reporter = reporter or SilentReporter()
    records = open_records(settings, reporter.warn)
    with Session(setting, settings, records, reporter, workers=workers, cluster=cluster, recall=False) as session:
        opened = records.study(study)
        values, trials = opened.values(), [record for _, record in opened.finished()]
        if "finished" not in values:
            raise StoreError(f"study {study!r} has not ended; the oracle looks at studies whose winner is known")
        owner = f"{SEALED}{study}"
        complete = [record for record in trials if record["state"] == "complete"]
        _evaluate(session, owner, study, complete, limits or Limits())
        known = records.evaluations(owner)
        found = {record["number"]: _value(known.get(f"trial-{record['number']}"), metric) for record in complete}
        return _oracle(found, metric, int(values["finished"]["winner"]), study, less_is_better=less_is_better)


def _evaluate(session: Session, owner: str, study: str, trials: list[dict[str, Any]], limits: Limits) -> None:
    """Score the trials that no record of the oracle knows, each recorded as soon as it is known."""
    records = session.records
    known = records.evaluations(owner)
    missing = [trial for trial in trials if f"trial-{trial['number']}" not in known]
    if not missing:
        return
    keys = [f"trial-{trial['number']}" for trial in missing]
    requests = [
        Request(
            label=f"oracle {key}",
            run=run_identifier("", owner, key),
            setting=session.setting.evaluation(trial["parameters"], TEST, session.setting.seed, trial["carry"]),
            parameters=trial["parameters"],
        )
        for key, trial in zip(keys, missing, strict=True)
    ]

    def keep(position: int, answer: Answer) -> None:
        content = answer.result or {"state": "failed", "reason": answer.reason, "metrics": {}, "folds": []}
        content = {**content, "analysis": "oracle", "started": time.time()}
        records.add_evaluation(owner, keys[position], TEST, session.setting.data, content)

    try:
        session.start_workers(len(missing), study_folder(session.settings, study) / "workers.log")
        prepared = session.prepared(TEST, session.setting.space)
        session.reporter.stage(f"oracle: scoring {len(missing)} trials of {study} on the test split, for analysis only")
        session.evaluate(requests, prepared, limits, keep)
    except KeyboardInterrupt:
        raise Interrupted("stopped; the trials so far are recorded; give the same command again to continue") from None


def _value(record: Mapping[str, Any] | None, metric: str) -> float | None:
    if record is None:
        return None
    numbers = {name: value for fold in record.get("folds", []) for name, value in fold.get("numbers", {}).items()}
    value = {**numbers, **record.get("metrics", {})}.get(metric)
    return None if value is None else float(value)


def _oracle(found: Mapping[int, float | None], metric: str, winner: int, study: str, *, less_is_better: bool) -> Oracle:
    scored = {number: value for number, value in found.items() if value is not None}
    if winner not in scored:
        raise StoreError(f"study {study!r}: its winner has no {metric} on the test split, so the oracle has no price")
    sign = -1.0 if less_is_better else 1.0
    best = min(scored, key=lambda number: (-sign * scored[number], number))
    return Oracle(metric, scored[best], best, scored[winner], winner, len(scored))

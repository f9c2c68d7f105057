"""The refit of a study's winner on all training rows, and its evaluation on the test split, once and for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from zslplat.config import write_config
from zslplat.errors import StoreError, ZslplatError
from zslplat.evaluation.experiment import TEST, Experiment, repeat_seed
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.session import EvaluationRequest, Session
from zslplat.keys import RECORD_CHOICES, repeat_key
from zslplat.names import counted
from zslplat.records.studies import OpenStudy
from zslplat.tuning.findings import remember_test
from zslplat.tuning.rerun import differences
from zslplat.tuning.trial_log import TrialLog


def evaluate_winner(
    session: Session,
    study: OpenStudy,
    log: TrialLog,
    folder: Path,
    repeats: int,
    limits: Limits,
    *,
    keep_models: bool = True,
) -> list[dict[str, Any]]:
    """Return the records of the winner's test evaluations, those that are missing made now.

    Repeats mean something for random methods only; more than ``repeats`` are returned where more are recorded. One
    whose outcomes per row cannot be read is evaluated again. Raises :class:`ZslplatError` where an evaluation fails,
    :class:`StoreError` where one that is made again does not give its recorded numbers.
    """
    context, records, winner = session.context, session.records, log.winner()
    count = repeats if context.random else min(repeats, 1)
    evaluations = records.evaluations(study.owner)
    while repeat_key(winner, count) in evaluations:
        count += 1
    keys = [repeat_key(winner, r) for r in range(count)]
    runs = [study.run(key) for key in keys]
    missing = [
        r for r in range(count) if keys[r] not in evaluations or not session.has_outcomes(runs[r], evaluations[keys[r]])
    ]
    if missing:
        trial = log.records[winner]
        problems = session.prepare(TEST, session.experiment.space)
        remember_test(study, context, problems[0][0])
        session.reporter.stage(f"refitting trial {winner} and scoring the test split, {counted(len(missing), 'time')}")
        requests = []
        for r in missing:
            seed = repeat_seed(session.experiment.seed, r)
            requests.append(
                EvaluationRequest(
                    label=f"final {r}",
                    run=runs[r],
                    experiment=session.experiment.evaluation(trial["parameters"], TEST, seed, trial[RECORD_CHOICES]),
                    artifacts=records.evaluation_folder(runs[r]) / "artifacts",
                    full=True,
                    model=keep_models,
                )
            )

        def keep(position: int, answer: Answer) -> None:
            if answer.result is None:
                raise ZslplatError(
                    f"the final evaluation of trial {winner} failed: {answer.reason}; the trials are recorded; "
                    "give the same command again, with more --memory where it was stopped for that"
                )
            r = missing[position]
            session.adopt(answer.result)
            if keys[r] in evaluations:
                _, lines = differences(evaluations[keys[r]]["metrics"], answer.result["metrics"])
                if lines:
                    raise StoreError(
                        f"the outcomes per row of {keys[r]} were lost, and evaluating it again did not give its "
                        f"recorded numbers ({lines[0]}); restore them from a copy of the store, or give --study NAME"
                    )
            content = {
                **answer.result,
                "seed": requests[position].experiment.method_seed,
                "repeat": r,
                "winner": winner,
            }
            records.add_evaluation(study.owner, keys[r], TEST, session.experiment.data, content)

        # It fits more rows than any trial did, and the time of a trial says nothing about it.
        session.evaluate(requests, problems, replace(limits, seconds=None), keep)
        evaluations = records.evaluations(study.owner)
    return [evaluations[key] for key in keys]


def write_best(path: Path, experiment: Experiment, trial: Mapping[str, Any], study: str, repeats: int) -> None:
    """Write the winner's configuration, from which ``zslplat run --config`` evaluates it again."""
    best = experiment.evaluation(trial["parameters"], TEST, experiment.seed, trial[RECORD_CHOICES])
    write_config(path, best.to_json(), repeats=repeats, study=study, trial=trial["number"])

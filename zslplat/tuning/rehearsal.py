"""What a study would do, and what it would take: one fold is timed, at the defaults, and nothing is recorded.

The timing works in a store that is thrown away; where the study's own store is there, only its cache is used, so that
what is prepared now is found when the study is carried out. Other hyperparameters may cost more or less, and a busy
machine is slower: the figures are rough.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zslplat.errors import ZslplatError
from zslplat.evaluation.cache.problems import load_problem
from zslplat.evaluation.components import defaults_of
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment, describe_range
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.reporter import Reporter
from zslplat.evaluation.session import EvaluationRequest, PreparedProblems, Session, seconds_of_trial
from zslplat.keys import METRIC
from zslplat.records.costs import most_bytes
from zslplat.records.database import Records
from zslplat.records.opening import existing_records
from zslplat.settings import Settings, sqlite_url
from zslplat.tuning.findings import warn_of_data
from zslplat.tuning.identity import (
    number_of_trials,
    study_name,
    unsearched,
    with_search_settings,
)
from zslplat.tuning.options import StudyOptions
from zslplat.tuning.proposals import check_space
from zslplat.tuning.samplers import require_fitting, require_sampler

# A fold that takes longer is stopped: the figures are then the least that it takes.
LONGEST_SECONDS = 60.0
# Of a study beside its evaluations: folds, processes, pictures, what MLflow shows.
STUDY_SECONDS = 3.0
RECORDED, TIMED = "records", "timed"  # how a cost is known


@dataclass(frozen=True)
class Cost:
    """Seconds of a trial (all folds) and of a test evaluation, and the most memory of one of them.

    What is prepared for several trials is ``prepared`` seconds once, or counts with its share in each.
    ``at_least``: the trial was stopped at its limit.
    """

    trial: float
    test: float
    peak_bytes: int = 0
    source: str = RECORDED
    prepared: float = 0.0
    at_least: bool = False

    def study_seconds(self, trials: int, tests: int, options: StudyOptions) -> float:
        """Return the seconds of these trials and test evaluations with the workers of the options."""
        at_once = min(options.workers, options.batch_size, max(trials, 1))
        return self.prepared + self.trial * trials / at_once + self.test * tests / max(1, min(options.workers, tests))


@dataclass(frozen=True)
class TimedTrial:
    """What a trial at the defaults costs, of which one fold was evaluated; None where that failed, for ``reason``."""

    problems: PreparedProblems
    cost: Cost | None
    reason: str = ""


@contextmanager
def throwaway_store(settings: Settings) -> Iterator[Settings]:
    """Provide the settings of a store that is removed at the end; data are found where these settings say."""
    with tempfile.TemporaryDirectory(prefix="zslplat-timing-") as folder:
        store = Path(folder)
        studies, shown = sqlite_url(store / "optuna.db"), sqlite_url(store / "mlflow.db")
        away = replace(settings, store=store, storage_url=studies, tracking_uri=shown)
        away.make_store()
        yield away


def time_trial(
    experiment: Experiment, limits: Limits, context: ExperimentContext, away: Settings, reporter: Reporter
) -> TimedTrial:
    """Evaluate the first fold of a trial at the defaults; each other fold is taken to last as long.

    ``away``: settings of a :func:`throwaway_store`. Raises :class:`ZslplatError` where nothing can be evaluated.
    """
    answers: list[Answer] = []
    with Session(context, Records(away), reporter, workers=1, recall=False) as session:
        session.start_workers(1, away.studies / "workers.log")
        start = time.perf_counter()
        problems = session.prepare(VALIDATION, experiment.space)
        prepare_seconds = time.perf_counter() - start
        reporter.stage(f"timing a trial of {experiment.method.name} at its defaults")
        parameters = defaults_of(context.template, experiment.space)
        request = EvaluationRequest("timing", "timing", experiment.evaluation(parameters, VALIDATION, experiment.seed))
        session.evaluate([request], problems[:1], limits, lambda _, answer: answers.append(answer))
    result, reason = answers[0].result, answers[0].reason
    if result is None and "deadline" not in reason:
        return TimedTrial(problems, None, reason)
    seconds = seconds_of_trial(result, problems) if result else limits.seconds or 0.0
    peak, folds = (most_bytes(result) or 0) if result else 0, len(problems)
    # The test is one fit on somewhat more rows than a fold has.
    return TimedTrial(problems, Cost(folds * seconds, 1.5 * seconds, peak, TIMED, prepare_seconds, result is None))


@dataclass(frozen=True)
class Rehearsal:
    """What a study would do; times in seconds, memory in bytes.

    ``recorded`` of ``trials`` are there already, ``searched`` maps what is searched to its range. ``trial_seconds`` is
    None where the trial failed, for ``reason``; ``at_least``: it was stopped.
    """

    study: str
    method: str
    dataset: str
    data: str
    task: str
    primary: str
    folds: list[str]
    preprocessing: dict[str, str]
    searched: dict[str, str]
    defaults: dict[str, Any]
    search: dict[str, Any]
    trials: int
    recorded: int
    tests: int
    workers: int
    prepare_seconds: float = 0.0
    trial_seconds: float | None = None
    at_least: bool = False
    reason: str = ""
    seconds: float | None = None
    memory_bytes: int = 0


def rehearse(experiment: Experiment, options: StudyOptions, settings: Settings, reporter: Reporter) -> Rehearsal:
    """Return what a study would do and take; raises like :func:`zslplat.tuning.study.run_study` for a wrong request."""
    options = options.for_search_of(experiment)
    require_sampler(options.sampler)
    check_space(experiment.space, experiment.method.parameters)
    require_fitting(options.sampler, experiment.search.get(METRIC, "").count(",") + 1)
    with throwaway_store(settings) as away:
        # Preparing large data twice would take as long as the study's own preparation; arrays in memory are kept there.
        working = settings if settings.cache.is_dir() or settings.arrays.is_dir() else away
        context = ExperimentContext(experiment, working, on_stage=reporter.stage)
        context.require_problems(VALIDATION, TEST)
        requested = number_of_trials(context.experiment, options, unsearched(context.experiment, context.template))
        searched, recorded = _recorded(options, context, settings, reporter)
        warn_of_data(context, reporter, reporter.warn)
        limit = min(LONGEST_SECONDS, options.trial_timeout or LONGEST_SECONDS)
        timed = time_trial(context.experiment, Limits(limit, options.memory_bytes), context, away, reporter)
        return _rehearsed(context, options, timed, searched, requested, recorded)


def _rehearsed(
    context: ExperimentContext,
    options: StudyOptions,
    timed: TimedTrial,
    searched: Experiment,
    requested: int,
    recorded: int,
) -> Rehearsal:
    experiment, cost = context.experiment, timed.cost or Cost(0.0, 0.0)
    tests = options.repeats if context.random else min(options.repeats, 1)
    missing = max(0, requested - recorded)
    folds = [load_problem(problem, blocks=True) for problem, _ in timed.problems]
    criteria = [f"{one.name}, {'maximised' if one.maximise else 'minimised'}" for one in context.criteria]
    return Rehearsal(
        study=study_name(searched, options),
        method=str(experiment.method),
        dataset=str(experiment.dataset),
        data=f"{len(context.dataset.X)} rows x {' x '.join(map(str, context.dataset.X.shape[1:]))}, "
        f"{len(context.dataset.class_names)} classes",
        task=str(experiment.task),
        primary="; ".join(criteria),
        folds=[problem.name for problem in folds],
        preprocessing={role: context.preprocessing.text_of(role) or "none" for role in ("features", "signatures")},
        searched={name: describe_range(experiment.space[name]) for name in sorted(experiment.space)},
        defaults=defaults_of(context.template, experiment.space),
        search={
            "sampler": options.sampler,
            "batch_size": options.batch_size,
            "pruner": options.pruner if context.method_class.step_parameter else "none",
            "seed": experiment.seed,
            "patience": options.patience,
        },
        trials=requested,
        recorded=min(recorded, requested),
        tests=tests,
        workers=options.workers,
        reason=timed.reason,
        prepare_seconds=cost.prepared,
        trial_seconds=cost.trial if timed.cost else None,
        at_least=cost.at_least,
        seconds=STUDY_SECONDS + cost.study_seconds(missing, tests, options) if timed.cost else None,
        memory_bytes=cost.peak_bytes * min(options.workers, max(missing, tests)),
    )


def _recorded(
    options: StudyOptions, context: ExperimentContext, settings: Settings, reporter: Reporter
) -> tuple[Experiment, int]:
    """Return the experiment with how it is searched, and how many trials are recorded of it."""
    searched = with_search_settings(context.experiment, options, context.method_class)
    try:
        with existing_records(settings, reporter.warn) as records:
            return searched, len(records.study(study_name(searched, options)).finished())
    except ZslplatError:  # there is none yet, or it is damaged, which the study itself will say
        return searched, 0

"""The study leader: batches of proposals, finished trials only, the winner's refit and test, resume by repetition."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.errors import ZslplatError
from zslplat.evaluation.cache import key_of
from zslplat.evaluation.executor import DeadlineReached, Workers
from zslplat.evaluation.experiment import Experiment, Workbench, defaults_of
from zslplat.evaluation.jobs import REPLICATES, EvaluateJob
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.worker import Answer, Limits
from zslplat.records.database import Records
from zslplat.records.locks import file_lock
from zslplat.records.trials import FinishedTrial
from zslplat.settings import Settings
from zslplat.tracking.pending import catch_up
from zslplat.tracking.views import StudyViews
from zslplat.tuning.options import TRIALS, StudyOptions, fitting, folder_name
from zslplat.tuning.proposals import check_space, grid_trials, nothing_to_search, propose_batch
from zslplat.tuning.pruning import pruning_thresholds
from zslplat.tuning.results import StudyResult
from zslplat.tuning.verdicts import remember_test, remember_validation, study_warnings

STEP_RULE = "best of the mean over folds"


@dataclass
class _State:
    trials: list[FinishedTrial] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)


def run_study(
    experiment: Experiment, options: StudyOptions, settings: Settings, reporter: Reporter | None = None
) -> StudyResult:
    """Carry out (or continue, or extend) a study and evaluate its winner on the test split.

    Raises :class:`StoreError` when the name holds another configuration or the store fails, and :class:`Interrupted`
    on Ctrl-C; in both cases every finished trial is kept and the same call continues.
    """
    return StudyLeader(experiment, options, settings, reporter or SilentReporter()).run()


class StudyLeader:
    """Runs one study; see :func:`run_study`."""

    def __init__(self, experiment: Experiment, options: StudyOptions, settings: Settings, reporter: Reporter) -> None:
        self.experiment, self.options, self.settings, self.reporter = experiment, options, settings, reporter
        check_space(experiment.space, experiment.method.parameters)
        self.started = time.time()
        settings.make_store()
        self.bench = Workbench(experiment, settings, on_stage=reporter.stage)
        # Conditions may ask for parameters that nobody searches or fixes: those have their defaults.
        unsearched = {k: v for k, v in self.bench.template.get_params(deep=False).items() if k not in experiment.space}
        self.known = {**unsearched, **experiment.method.parameters}
        self.trials = self._number_of_trials()
        self.maximise = self.bench.task.primary.maximise
        self.identity = {
            **experiment.identity(),
            "batch_size": options.batch_size,
            "sampler": options.sampler,
            "pruner": options.pruner,
            "data": self.bench.dataset.fingerprint,
        }
        if self.bench.method_class.step_parameter:
            # Trials whose step was chosen by another rule are not comparable with these.
            self.identity["step"] = STEP_RULE
        short = key_of(self.identity)[:8]
        made = f"{experiment.method.name}@{experiment.dataset_title}-{experiment.task.name}"
        self.name = options.name or f"{fitting(made)}-{short}"
        self.folder = settings.studies / folder_name(self.name)
        self.limits = Limits(options.trial_timeout, options.memory_bytes)
        self.views: StudyViews | None = None
        self.state = _State()

    def _number_of_trials(self) -> int:
        space, asked = self.experiment.space, self.options.trials
        if nothing_to_search(space, self.known):
            if asked is not None and asked > 1:
                self.reporter.note(f"nothing is searched, so one trial says it all; --trials {asked} does not matter")
            return 1
        if self.options.sampler == "grid":
            return grid_trials(space, self.known, asked)
        return asked or TRIALS

    def run(self) -> StudyResult:
        """Carry out the study."""
        options, reporter = self.options, self.reporter
        with file_lock(self.folder / "leader.lock", wait_seconds=3, holder=f"study {self.name!r}"):
            self.records = Records(self.settings.storage_url, self.settings.studies)
            self.study = self.records.open_study(self.name, self.identity, self.maximise)
            self._load()
            log = str(self.folder / "workers.log")
            workers = Workers(min(options.workers, max(self.trials, 1)), options.cluster, log)
            with self._stoppable(), workers:
                finished = self._search(workers)
                self._open_views()
                if not finished:
                    reporter.note(f"stopped after --timeout {options.timeout:g} s; the same command continues")
                winner = self._winner()
                test = self._final(workers, winner)
                workers.stop()
                warned = study_warnings(self.bench, self.study, self.state.records, winner, test)
                self.study.note("warnings", warned)
                assert self.views is not None
                run_id, config = self.views.finish(
                    self.state.records,
                    winner,
                    test,
                    self._looks(),
                    self.bench.counts,
                    time.time(),
                    complete=finished,
                    warned=warned,
                )
        if not self.views.projection.away:
            catch_up(self.settings, self.reporter.warn)
        looks = self._looks()
        self.views.projection.close()
        self.records.close()
        self.bench.evict()
        record = self.state.records[winner]
        states = [r["state"] for r in self.state.records]
        return StudyResult(
            name=self.name,
            winner=winner,
            parameters=dict(record["parameters"]),
            validation=record["metrics"],
            test=[entry["metrics"] for entry in test],
            primary=self.bench.task.primary.name,
            chance=self.study.remember("chance", lambda: self.bench.chance(self.bench.validation_problems()[0])),
            test_chance=self.study.remember("test_chance", lambda: self.bench.chance(self.bench.test_problem())),
            trials={s: states.count(s) for s in ("complete", "pruned", "failed")},
            looks_at_test=looks,
            run_id=run_id,
            counts=dict(self.bench.counts),
            seconds=time.time() - self.started,
            warnings=warned,
            complete=finished,
            config=config,
            final_run_ids=[self.views.projection.run_id(f"final-{winner}-{r}") for r in range(len(test))],
        )

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            if self.views is not None:
                with suppress(ZslplatError):
                    self.views.interrupted(self.state.records, time.time())
            raise Interrupted(
                f"stopped; {len(self.state.trials)} of {self.trials} trials of {self.name!r} are recorded; "
                "give the same command again to continue"
            ) from None

    def _load(self) -> None:
        for trial, record in self.study.finished():
            self.state.trials.append(trial)
            self.state.records.append(record)
        if self.state.trials:
            self.reporter.note(f"continuing study {self.name!r} after {len(self.state.trials)} recorded trials")

    def _open_views(self) -> None:
        if self.views is None:
            self.views = StudyViews(
                self.bench, self.settings, self.name, self.folder, self.identity, self.reporter.warn
            )
            self.views.begin(self.started)
        self.views.trials(self.state.records)

    def _prepare(self, workers: Workers, problems: Sequence[Path], while_waiting: Any = None) -> list[Path]:
        jobs = [self.bench.preparation(problem, self.experiment.space) for problem in problems]
        missing = [job for job in jobs if not self.bench.cache.has(job.target.name)]
        counts = self.bench.counts
        counts["statistics cached"] += len(jobs) - len(missing)
        if missing:
            self.reporter.stage(f"preparing statistics of {self.experiment.method.name} for {len(missing)} problems")
            for answer in workers.run(missing, Limits(), while_waiting=while_waiting):
                if answer.result is None:
                    raise ZslplatError(f"preparing {self.experiment.method.name} failed: {answer.reason}")
                counts["statistics"] += 1
        self.reporter.note(
            f"prepared once: {counts['problems']} problems, {counts['statistics']} statistics; "
            f"found in the cache: {counts['problems cached']} problems, {counts['statistics cached']} statistics"
        )
        return [job.target for job in jobs]

    def _search(self, workers: Workers) -> bool:
        if len(self.state.trials) >= self.trials:
            return True
        problems = self.bench.validation_problems()
        remember_validation(self.study, self.bench, problems)
        statistics = self._prepare(workers, problems, while_waiting=self._open_views)
        return self._trials(workers, list(zip(problems, statistics, strict=True)))

    def _trials(self, workers: Workers, problems: list[tuple[Path, Path]]) -> bool:
        """Run batches until the wanted number of trials is recorded; False when the time ran out before."""
        options, experiment, size = self.options, self.experiment, self.options.batch_size
        deadline = self.started + options.timeout if options.timeout else None
        trials = self.state.trials
        fixed = experiment.method.parameters
        defaults = defaults_of(self.bench.template, experiment.space)
        self.reporter.stage(f"tuning {experiment.method.name} on {len(problems)} validation folds")
        while len(trials) < self.trials:
            if deadline is not None and time.time() >= deadline:
                return self._out_of_time()
            batch = len(trials) // size
            earlier = trials[: batch * size]
            proposals = propose_batch(
                seed=experiment.seed,
                batch=batch,
                batch_size=size,
                space=experiment.space,
                fixed=self.known,
                defaults=defaults,
                earlier=earlier,
                sampler=options.sampler,
                maximise=self.maximise,
            )
            numbers = range(len(trials), min((batch + 1) * size, self.trials))
            thresholds = pruning_thresholds(options.pruner, earlier, maximise=self.maximise)
            budget = options.artifact_bytes // max(self.trials, 1)
            jobs = [
                EvaluateJob(
                    label=f"trial {number}",
                    method=experiment.method.name,
                    parameters={**fixed, **proposals[number % size]},
                    seed=experiment.seed,
                    task=str(experiment.task),
                    problems=tuple(problems),
                    thresholds=thresholds,
                    artifacts=self.folder / f"trial-{number:05d}",
                    matrices_bytes=budget,
                )
                for number in numbers
            ]
            started = time.time()
            waiting: dict[int, Answer] = {}
            first = numbers[0]

            def record(
                position: int,
                answer: Answer,
                waiting: dict[int, Answer] = waiting,
                first: int = first,
                proposals: list[dict[str, Any]] = proposals,
                started: float = started,
            ) -> None:
                waiting[first + position] = answer
                while len(trials) in waiting:
                    number = len(trials)
                    self._record(number, proposals[number % size], waiting.pop(number), started)

            try:
                workers.run(
                    jobs,
                    self.limits,
                    on_answer=record,
                    while_waiting=self._open_views,
                    deadline=deadline,
                )
            except DeadlineReached:
                return self._out_of_time()
        return True

    def _out_of_time(self) -> bool:
        if not self._has_winner():
            raise ZslplatError(
                f"no trial was completed within --timeout {self.options.timeout:g} s, "
                f"{len(self.state.trials)} failed; finished trials are recorded; give more time, or --trial-timeout to "
                "stop single trials"
            )
        return False

    def _record(self, number: int, parameters: Mapping[str, Any], answer: Answer, started: float) -> None:
        result = answer.result or {
            "state": "failed",
            "value": None,
            "metrics": {},
            "folds": [],
            "steps": {},
            "carry": {},
            "warnings": [],
        }
        seconds = result.get("seconds", 0.0)
        now = time.time()
        record = {
            **result,
            "number": number,
            "parameters": dict(parameters),
            "reason": answer.reason,
            "started": max(started, now - seconds) if seconds else started,
            "ended": now,
        }
        if answer.result is None:
            shutil.rmtree(self.folder / f"trial-{number:05d}", ignore_errors=True)
        steps = {int(step): value for step, value in result["steps"].items()}
        trial = FinishedTrial(number, record["state"], dict(parameters), record["value"], steps)
        self.study.add(trial, record, self.experiment.space)
        self.state.trials.append(trial)
        self.state.records.append(record)
        best = self.state.records[self._winner()]["value"] if self._has_winner() else None
        self.reporter.trial(number + 1, self.trials, record, best)

    def _has_winner(self) -> bool:
        return any(t.state == "complete" for t in self.state.trials)

    def _winner(self) -> int:
        complete = [t for t in self.state.trials if t.state == "complete" and t.value is not None]
        if not complete:
            reasons = [r["reason"] for r in self.state.records if r["reason"]]
            raise ZslplatError(
                f"all {len(self.state.trials)} trials failed; the first because: {reasons[0] if reasons else 'unknown'}"
            )
        sign = -1.0 if self.maximise else 1.0
        return min(complete, key=lambda t: (sign * float(t.value or 0.0), t.number)).number

    def _final(self, workers: Workers, winner: int) -> list[dict[str, Any]]:
        """Refit the winner on all training rows and score the test split, each repeat once and for all."""
        experiment, bench = self.experiment, self.bench
        repeats = self.options.repeats if bench.random else 1
        keys = [f"trial-{winner}/repeat-{r}" for r in range(repeats)]
        owner = f"study:{self.name}"
        known = self.records.evaluations(owner)
        missing = [r for r, key in enumerate(keys) if key not in known]
        assert self.views is not None
        if missing:
            problem = bench.test_problem()
            remember_test(self.study, bench, problem)
            (statistics,) = self._prepare_test(workers, problem)
            record = self.state.records[winner]
            self.reporter.stage(f"refitting trial {winner} and scoring the test split, {len(missing)} time(s)")
            jobs = [
                EvaluateJob(
                    label=f"final {r}",
                    method=experiment.method.name,
                    parameters={**experiment.method.parameters, **record["parameters"]},
                    seed=repeat_seed(experiment.seed, r),
                    task=str(experiment.task),
                    problems=((problem, statistics),),
                    carried=record["carry"],
                    full=True,
                    artifacts=self.folder / f"final-{winner}-{r}",
                    matrices_bytes=2**40,
                    replicates=REPLICATES,
                    test=True,
                )
                for r in missing
            ]

            def keep(position: int, answer: Answer) -> None:
                if answer.result is None:
                    raise ZslplatError(
                        f"the final evaluation of trial {winner} failed: {answer.reason}; the trials are recorded; "
                        "give the same command again, with more --memory where it was stopped for that"
                    )
                content = {**answer.result, "seed": jobs[position].seed, "repeat": missing[position], "winner": winner}
                self.records.add_evaluation(owner, keys[missing[position]], "test", bench.dataset.fingerprint, content)

            # It fits more rows than any trial did, and the time of a trial says nothing about it.
            workers.run(jobs, replace(self.limits, seconds=None), on_answer=keep)
            known = self.records.evaluations(owner)
        test = [known[key] for key in keys]
        for r, entry in enumerate(test):
            self.views.final(winner, r, entry, self.state.records[winner])
        return test

    def _prepare_test(self, workers: Workers, problem: Path) -> list[Path]:
        job = self.bench.preparation(problem, self.experiment.space)
        if not self.bench.cache.has(job.target.name):
            (answer,) = workers.run([job], Limits())
            if answer.result is None:
                raise ZslplatError(f"preparing {self.experiment.method.name} for the test failed: {answer.reason}")
            self.bench.counts["statistics"] += 1
        return [job.target]

    def _looks(self) -> int:
        return self.records.looks_at_test(self.bench.dataset.fingerprint)


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat; repeat 0 uses the study's own."""
    return seed if repeat == 0 else int(np.random.SeedSequence([seed, 7919, repeat]).generate_state(1)[0] >> 1)

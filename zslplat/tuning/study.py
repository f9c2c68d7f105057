"""A study: batches of proposals, finished trials only, the winner's refit and test, resume by repetition."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from zslplat.checks.base import drop_silenced, findings_of
from zslplat.errors import ZslplatError
from zslplat.evaluation.components import defaults_of
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.criteria import front_of
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment
from zslplat.evaluation.jobs import Limits
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.session import EvaluationRequest, PreparedProblems, Session
from zslplat.evaluation.workers.pool import Deadline, DeadlineReached
from zslplat.keys import repeat_key, trial_key
from zslplat.listeners import Listeners
from zslplat.records.costs import total_seconds
from zslplat.records.database import Records
from zslplat.records.environment import environment_record
from zslplat.records.folders import study_folder, trial_folder
from zslplat.records.opening import reach_database
from zslplat.records.studies import OpenStudy
from zslplat.settings import Settings
from zslplat.tuning.code_changes import check_code, code_mark
from zslplat.tuning.findings import remember_validation, study_findings, warn_of_data
from zslplat.tuning.identity import (
    number_of_trials,
    study_name,
    unsearched,
    with_search_settings,
)
from zslplat.tuning.options import StudyOptions, StudyResult
from zslplat.tuning.proposals import Proposer, PruningThresholds, check_space, nothing_to_search
from zslplat.tuning.refit import evaluate_winner, write_best
from zslplat.tuning.samplers import require_fitting, require_sampler
from zslplat.tuning.trial_log import TrialLog, too_short


def run_study(
    experiment: Experiment, options: StudyOptions, settings: Settings, reporter: Reporter | None = None
) -> StudyResult:
    """Carry out (or continue, or extend) a study and evaluate its winner on the test split.

    Raises :class:`StoreError` when the name holds another configuration, other code or the store fails, and
    :class:`Interrupted` on Ctrl-C; every finished trial is kept and the same call continues.
    """
    reporter = reporter or SilentReporter()
    require_sampler(options.for_search_of(experiment).sampler)
    check_space(experiment.space, experiment.method.parameters)
    reach_database(settings, reporter.warn)
    context = ExperimentContext(experiment, settings, on_stage=reporter.stage)
    context.require_problems(VALIDATION, TEST)
    records = Records(settings, reporter.warn)
    with Session(context, records, reporter, workers=options.workers, cluster=options.cluster) as session:
        return StudyRun(session, options).run()


class StudyRun:
    """The proposal loop of one study; see :func:`run_study`."""

    def __init__(self, session: Session, options: StudyOptions) -> None:
        options = options.for_search_of(session.experiment)
        self.session, self.options, self.reporter = session, options, session.reporter
        self.started = time.time()
        if options.timeout:
            session.deadline = Deadline(options.timeout)
        context, base = session.context, session.experiment
        self.fixed = unsearched(base, context.template)
        require_fitting(options.sampler, len(context.criteria))
        self.experiment = with_search_settings(base, options, context.method_class)
        self.requested = number_of_trials(base, options, self.fixed)
        if nothing_to_search(base.space, self.fixed) and (options.trials or 1) > 1:
            trials = f"--trials {options.trials} does not matter"
            self.reporter.note(f"nothing is searched, so one trial says it all; {trials}")
        maximise = [criterion.maximise for criterion in context.criteria]
        self.proposer = Proposer(
            seed=self.experiment.seed,
            batch_size=options.batch_size,
            space=self.experiment.space,
            fixed=self.fixed,
            defaults=defaults_of(context.template, self.experiment.space),
            sampler=str(options.sampler),
            maximise=maximise,
        )
        self.thresholds = PruningThresholds(options.pruner, maximise=maximise[0])
        self.name = study_name(self.experiment, options)
        self.folder = study_folder(session.settings, self.name)
        self.limits = Limits(options.trial_timeout, options.memory_bytes)
        self.listeners = Listeners(session.settings, session.records, self.reporter.warn)
        self.out_of_patience = False
        self.recalled_trials = 0
        self.recorded_study: OpenStudy  # set by _open, as is the log
        self.log: TrialLog

    def run(self) -> StudyResult:
        """Carry out the study."""
        session, options, records = self.session, self.options, self.session.records
        with records.leads.leading(self.name, self.folder / "leader.lock", wait_seconds=3):
            session.start_workers(self.requested, self.folder / "workers.log")
            # A new study is recorded when it has all that its trials need: one that cannot begin leaves nothing.
            problems = None if self.name in records.study_names() else self._prepare_new_study()
            self._open()
            self.listeners.on_study_begin(self.name, self.log.records)
            with self._stoppable():
                complete = self._search(problems)
                self.recalled_trials = session.recalled
                self._announce_trials()
                if not complete:
                    self.reporter.note(f"stopped after --timeout {options.timeout:g} s; the same command continues")
                test = evaluate_winner(
                    session,
                    self.recorded_study,
                    self.log,
                    self.folder,
                    options.repeats,
                    self.limits,
                    keep_models=options.keep_models,
                )
                session.stop_workers()
                end = self._record_end(test, complete=complete)
                self.listeners.on_study_end(self.name, self.log.records, test)
        self.listeners.close()
        return self._result(end, test)

    def _open(self) -> None:
        """Open the record of the study and its trials, and check the code of these."""
        session, options = self.session, self.options
        criteria, identity = session.context.criteria, self.experiment.to_json()
        self.recorded_study = session.records.open_study(self.name, identity, [one.maximise for one in criteria])
        self._describe()
        self.log = TrialLog(self.recorded_study, self.experiment, criteria, self.reporter, self.requested, self.folder)
        check_code(
            session.context,
            self.log.records,
            self.name,
            self.reporter,
            accept=options.accept_changed_code,
            remedy=options.remedy_for_changed_code,
        )

    def _describe(self) -> None:
        """Note what the study needs to be shown and compared without this command."""
        about = self.recorded_study.recall("about", lambda: self.session.context.about(self.options.part_of))
        tags = self.session.settings.tags
        if not tags.items() <= about.get("tags", {}).items():
            self.recorded_study.note("about", {**about, "tags": {**about.get("tags", {}), **tags}})
        self.recorded_study.recall("environment", environment_record)
        self.recorded_study.recall("began", lambda: self.started)

    def _prepare_new_study(self) -> PreparedProblems:
        """Return the problems of a study of which nothing is recorded yet."""
        try:
            return self._prepare()
        except DeadlineReached:
            raise too_short(self.options.timeout) from None
        except KeyboardInterrupt:
            raise Interrupted(
                f"stopped before {self.name!r} began; what is prepared is kept; give the same command again"
            ) from None

    def _prepare(self) -> PreparedProblems:
        context, reporter = self.session.context, self.reporter

        def warn() -> None:  # the result has the warnings, too
            warn_of_data(context, reporter, reporter.note)

        problems = self.session.prepare(VALIDATION, self.experiment.space, warn)
        self.reporter.note(self.session.prepare_note())
        return problems

    def _search(self, problems: PreparedProblems | None) -> bool:
        """Retry failed trials, then propose new ones until the requested number is recorded.

        Return False if ``--timeout`` ended it. ``problems``: those of validation, where they are prepared already.
        """
        retried = self.log.retried(self.options.retry_failed, self.limits)
        if self._search_has_ended() and not retried:
            return True
        try:
            problems = problems or self._prepare()
            remember_validation(self.recorded_study, self.session.context, [problem for problem, _ in problems])
            self.reporter.stage(f"tuning {self.experiment.method.name} on {len(problems)} validation folds")
            if retried:
                self._evaluate(retried, [self.log.records[n]["parameters"] for n in retried], problems)
            while not self._search_has_ended():
                numbers, proposals = self._next_batch()
                self._evaluate(numbers, proposals, problems)
        except DeadlineReached:
            if not self.log.has_winner:
                raise too_short(self.options.timeout, failed=len(self.log.trials)) from None
            return False
        finally:
            self.session.deadline = Deadline()
        return True

    def _search_has_ended(self) -> bool:
        """Tell whether all trials are recorded, or so many batches have brought nothing better that it is enough."""
        patience, size = self.options.patience, self.options.batch_size
        done = len(self.log.records)
        if patience and done < self.requested and done % size == 0 and done - 1 - self.log.best_number() >= patience:
            if not self.out_of_patience:
                self.out_of_patience = True
                self.reporter.note(f"no better trial among the last {patience}: stopped after {done} trials")
            return True
        return done >= self.requested

    def _next_batch(self) -> tuple[list[int], list[dict[str, Any]]]:
        """Return the numbers of the next trials, to the end of their batch, and what they try."""
        done, size = len(self.log.records), self.options.batch_size
        batch = done // size
        proposals = self.proposer.batch(batch, self.log.trials[: batch * size])
        numbers = list(range(done, min((batch + 1) * size, self.requested)))
        return numbers, [proposals[number % size] for number in numbers]

    def _evaluate(
        self, numbers: Sequence[int], proposals: Sequence[Mapping[str, Any]], problems: PreparedProblems
    ) -> None:
        """Evaluate trials and record each as soon as those before it are recorded."""
        options = self.options
        if self.session.deadline.passed:
            raise DeadlineReached
        requests = []
        for number, parameters in zip(numbers, proposals, strict=True):
            earlier = self.log.trials[: number - number % options.batch_size]
            requests.append(
                EvaluationRequest(
                    label=f"trial {number}",
                    run=self.recorded_study.run(trial_key(number)),
                    experiment=self.experiment.evaluation(parameters, VALIDATION, self.experiment.seed),
                    artifacts=trial_folder(self.folder, number),
                    matrices_bytes=options.artifact_bytes // max(self.requested, 1),
                    thresholds=self.thresholds.after(earlier),
                )
            )
        ordered = self.log.in_order(numbers, proposals, self.limits)
        self.session.evaluate(requests, problems, self.limits, ordered.put, while_waiting=self._begin_batch)

    def _begin_batch(self) -> None:
        self._announce_trials()
        self.listeners.on_batch_begin(self.name)

    def _announce_trials(self) -> None:
        """Tell the listeners of the trials that were recorded since the last call."""
        while self.log.new_records:
            self.listeners.on_trial_complete(self.name, self.log.new_records.pop(0))

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self._notify_stop(failed=False)
            raise Interrupted(
                f"stopped; {len(self.log.records)} of {self.requested} trials of {self.name!r} are recorded; "
                "give the same command again to continue"
            ) from None
        except ZslplatError:
            self._notify_stop(failed=True)
            raise

    def _notify_stop(self, *, failed: bool) -> None:
        with suppress(ZslplatError):
            self.listeners.on_study_stop(self.name, failed=failed)

    def _record_end(self, test: Sequence[Mapping[str, Any]], *, complete: bool) -> dict[str, Any]:
        """Note how the study ended, from which it can be shown again."""
        session, log = self.session, self.log
        winner = log.winner()
        findings, control = study_findings(
            session, self.recorded_study, log.records, winner, test, self.requested, grid=self.options.sampler == "grid"
        )
        finished = {
            "winner": winner,
            "complete": complete,
            # So that comparing many studies need not read their trials.
            "trials": len(log.records),
            "seconds": total_seconds(log.records),
            "looks": session.records.test_evaluations(session.experiment.data),
            "counts": {**session.context.counts, "recalled": session.recalled},
            "findings": [finding.to_json() for finding in findings],
            "control": control,
            "ended": time.time(),
            "knows": session.context.knowledge(log.records[winner]["parameters"]),
            "code": code_mark(session.context, log.records, log.records[winner], test),
        }
        if len(session.context.criteria) > 1:
            finished["front"] = front_of(log.trials, session.context.criteria)
        before = self.recorded_study.values().get("finished", {})
        if self.out_of_patience:
            finished["patience"] = self.options.patience
        if before and not session.computed + session.recalled:
            finished["counts"] = before["counts"]  # nothing was prepared where nothing was left to do
        if any(before.get(name) != value for name, value in finished.items() if name != "ended"):
            self.recorded_study.note("finished", finished)
        write_best(self.folder / "best.toml", self.experiment, log.records[winner], self.name, len(test))
        return finished

    def _result(self, finished: Mapping[str, Any], test: Sequence[Mapping[str, Any]]) -> StudyResult:
        session, log = self.session, self.log
        winner = finished["winner"]
        record = log.records[winner]
        states = [r["state"] for r in log.records]
        values = self.recorded_study.values()
        visible, silenced = drop_silenced(findings_of(finished), session.settings.silenced)
        return StudyResult(
            name=self.name,
            winner=winner,
            parameters=dict(record["parameters"]),
            validation=record["metrics"],
            test=[entry["metrics"] for entry in test],
            primary=session.context.task.primary.name,
            chance=float(values["chance"]),
            test_chance=float(values["test_chance"]),
            trials={s: states.count(s) for s in ("complete", "pruned", "failed")},
            test_evaluations=finished["looks"],
            run_id=self.recorded_study.run("study"),
            counts=dict(finished["counts"]),
            seconds=time.time() - self.started,
            warnings=[finding.line for finding in visible],
            findings=finished["findings"],
            silenced=silenced,
            complete=finished["complete"],
            config=self.folder / "best.toml",
            final_run_ids=[self.recorded_study.run(repeat_key(winner, r)) for r in range(len(test))],
            recalled=self.recalled_trials,
            recalled_tests=session.recalled - self.recalled_trials,
            code=finished["code"],
            criteria=[criterion.name for criterion in session.context.criteria],
            front=finished.get("front", []),
            control=finished["control"],
        )

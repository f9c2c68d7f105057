"""A study: batches of proposals, finished trials only, the winner's refit and test, resume by repetition."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from zslplat.checks.base import unsilenced
from zslplat.checks.recorded import recorded_findings
from zslplat.errors import ZslplatError
from zslplat.evaluation.components import defaults_of
from zslplat.evaluation.executor import DeadlineReached
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.session import Problems, Request, Session
from zslplat.evaluation.setting import VALIDATION, Setting
from zslplat.evaluation.worker import Limits
from zslplat.keys import key_of
from zslplat.records.environment import environment_record
from zslplat.records.folders import study_folder
from zslplat.records.locks import file_lock
from zslplat.settings import Settings
from zslplat.tracking.shown import ShownStudy
from zslplat.tracking.stores import catch_up, mark_shown, mark_unshown, open_records
from zslplat.tuning.code_changes import check_code, code_mark
from zslplat.tuning.options import TRIALS, StudyOptions, fitting
from zslplat.tuning.proposals import check_space, grid_trials, nothing_to_search, propose_batch
from zslplat.tuning.pruning import pruning_thresholds
from zslplat.tuning.results import StudyResult
from zslplat.tuning.test_evaluations import evaluate_winner, write_best
from zslplat.tuning.trial_log import TrialLog
from zslplat.tuning.verdicts import remember_validation, study_findings

STEP_RULE = "best of the mean over folds"


def run_study(
    setting: Setting, options: StudyOptions, settings: Settings, reporter: Reporter | None = None
) -> StudyResult:
    """Carry out (or continue, or extend) a study and evaluate its winner on the test split.

    Raises :class:`StoreError` when the name holds another configuration, other code or the store fails, and
    :class:`Interrupted` on Ctrl-C; every finished trial is kept and the same call continues.
    """
    reporter = reporter or SilentReporter()
    check_space(setting.space, setting.method.parameters)
    settings.make_store()
    records = open_records(settings, reporter.warn)
    workers = {"workers": options.workers, "cluster": options.cluster}
    with Session(setting, settings, records, reporter, **workers) as session:  # type: ignore[arg-type]
        return Study(session, options).run()


class Study:
    """The proposal loop of one study; see :func:`run_study`."""

    def __init__(self, session: Session, options: StudyOptions) -> None:
        self.session, self.options, self.reporter = session, options, session.reporter
        self.started = time.time()
        bench, given = session.bench, session.setting
        # Conditions may ask for parameters that nobody searches or fixes: those have their defaults.
        unsearched = {k: v for k, v in bench.template.get_params(deep=False).items() if k not in given.space}
        self.fixed = {**unsearched, **given.method.parameters}
        search = {"batch_size": options.batch_size, "sampler": options.sampler, "pruner": options.pruner}
        if bench.method_class.step_parameter:
            # Trials whose step was chosen by another rule are not comparable with these.
            search["step"] = STEP_RULE
        self.setting = replace(given, search=search)
        self.wanted = self._number_of_trials()
        self.maximise = bench.task.primary.maximise
        title = f"{given.method.name}@{given.dataset_title}-{given.task.name}"
        self.name = options.name or f"{fitting(title)}-{key_of(self.setting.to_json())[:8]}"
        self.folder = study_folder(session.settings, self.name)
        self.limits = Limits(options.trial_timeout, options.memory_bytes)
        self.shown: ShownStudy | None = None

    def run(self) -> StudyResult:
        """Carry out the study."""
        session, options, records = self.session, self.options, self.session.records
        with file_lock(self.folder / "leader.lock", wait_seconds=3, holder=f"study {self.name!r}"):
            self.study = records.open_study(self.name, self.setting.to_json(), self.maximise)
            self._describe()
            mark_unshown(self.folder, self.study.owner)
            self.log = TrialLog(self.study, self.setting.space, self.maximise, self.reporter, self.wanted, self.folder)
            check_code(session.bench, self.log.records, self.name, self.reporter, accept=options.accept_changed_code)
            session.start_workers(self.wanted, self.folder / "workers.log")
            with self._stoppable():
                complete = self._search()
                self._open_view()
                if not complete:
                    self.reporter.note(f"stopped after --timeout {options.timeout:g} s; the same command continues")
                test = evaluate_winner(session, self.study, self.log, self.folder, options.repeats, self.limits)
                session.stop_workers()
                finished = self._finished(test, complete=complete)
                assert self.shown is not None
                for record in test:
                    self.shown.test(record, self.log.records[finished["winner"]])
                self.shown.finish(self.log.records, test)
                if not self.shown.projection.away:
                    mark_shown(self.folder)
        if not self.shown.projection.away:
            catch_up(session.settings, records, self.reporter.warn)
        self.shown.projection.close()
        return self._result(finished, test)

    def _number_of_trials(self) -> int:
        space, asked = self.setting.space, self.options.trials
        if nothing_to_search(space, self.fixed):
            if asked is not None and asked > 1:
                self.reporter.note(f"nothing is searched, so one trial says it all; --trials {asked} does not matter")
            return 1
        if self.options.sampler == "grid":
            return grid_trials(space, self.fixed, asked)
        return asked or TRIALS

    def _describe(self) -> None:
        """Note what the study needs to be shown and compared without this command."""
        self.study.recall("about", self.session.bench.about)
        self.study.recall("environment", environment_record)
        self.study.recall("began", lambda: self.started)

    def _search(self) -> bool:
        """Try again what may be, and then propose until the wanted number of trials is recorded.

        False when the time ran out before.
        """
        again = self.log.retried(self.options.retry_failed, self.limits)
        if len(self.log.records) >= self.wanted and not again:
            return True
        problems = self.session.prepared(VALIDATION, self.setting.space, while_waiting=self._open_view)
        remember_validation(self.study, self.session.bench, [problem for problem, _ in problems])
        self.reporter.note(self.session.prepare_note())
        self.reporter.stage(f"tuning {self.setting.method.name} on {len(problems)} validation folds")
        try:
            if again:
                self._evaluate(again, [self.log.records[n]["parameters"] for n in again], problems)
            while len(self.log.records) < self.wanted:
                numbers, proposals = self._next_batch()
                self._evaluate(numbers, proposals, problems)
        except DeadlineReached:
            self.log.require_winner(self.options.timeout)
            return False
        return True

    def _next_batch(self) -> tuple[list[int], list[dict[str, Any]]]:
        """Return the numbers of the next trials, to the end of their batch, and what they try."""
        done, size = len(self.log.records), self.options.batch_size
        batch = done // size
        proposals = propose_batch(
            seed=self.setting.seed,
            batch=batch,
            batch_size=size,
            space=self.setting.space,
            fixed=self.fixed,
            defaults=defaults_of(self.session.bench.template, self.setting.space),
            earlier=self.log.trials[: batch * size],
            sampler=self.options.sampler,
            maximise=self.maximise,
        )
        numbers = list(range(done, min((batch + 1) * size, self.wanted)))
        return numbers, [proposals[number % size] for number in numbers]

    def _evaluate(self, numbers: Sequence[int], proposals: Sequence[Mapping[str, Any]], problems: Problems) -> None:
        """Evaluate trials and record each as soon as those before it are recorded."""
        options, deadline = self.options, self.started + self.options.timeout if self.options.timeout else None
        if deadline is not None and time.time() >= deadline:
            raise DeadlineReached
        requests = []
        for number, parameters in zip(numbers, proposals, strict=True):
            earlier = self.log.trials[: number - number % options.batch_size]
            requests.append(
                Request(
                    label=f"trial {number}",
                    run=self.study.run(f"trial-{number}"),
                    setting=self.setting.evaluation(parameters, VALIDATION, self.setting.seed),
                    parameters=parameters,
                    artifacts=self.folder / f"trial-{number:05d}",
                    matrices_bytes=options.artifact_bytes // max(self.wanted, 1),
                    thresholds=pruning_thresholds(options.pruner, earlier, maximise=self.maximise),
                )
            )
        ordered = self.log.in_order(numbers, proposals, self.limits)
        self.session.evaluate(
            requests, problems, self.limits, ordered.put, while_waiting=self._open_view, deadline=deadline
        )

    def _open_view(self) -> None:
        if self.shown is None:
            session = self.session
            self.shown = ShownStudy(session.settings, session.records, self.study, self.folder, self.reporter.warn)
            self.shown.begin()
        self.shown.trials(self.log.records)

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self._show_stopped("KILLED")
            raise Interrupted(
                f"stopped; {len(self.log.records)} of {self.wanted} trials of {self.name!r} are recorded; "
                "give the same command again to continue"
            ) from None
        except ZslplatError:
            self._show_stopped("FAILED")
            raise

    def _show_stopped(self, status: str) -> None:
        if self.shown is not None:
            with suppress(ZslplatError):
                self.shown.stopped(time.time(), status)

    def _finished(self, test: Sequence[Mapping[str, Any]], *, complete: bool) -> dict[str, Any]:
        """Note how the study ended, from which it can be shown again."""
        session, log = self.session, self.log
        winner = log.winner()
        findings = study_findings(session, self.study, log.records, winner, test, self.wanted)
        finished = {
            "winner": winner,
            "complete": complete,
            "looks": session.records.test_evaluations(session.setting.data),
            "counts": {**session.bench.counts, "known": session.known},
            "findings": [finding.to_json() for finding in findings],
            "ended": time.time(),
            "knows": session.bench.knows(log.records[winner]["parameters"]),
            "code": code_mark(session.bench, log.records, log.records[winner], test),
        }
        before = self.study.values().get("finished", {})
        if before and not session.computed + session.known:
            finished["counts"] = before["counts"]  # nothing was prepared for a command that found nothing to do
        if any(before.get(name) != value for name, value in finished.items() if name != "ended"):
            self.study.note("finished", finished)
        write_best(self.folder / "best.toml", self.setting, log.records[winner], self.name, len(test))
        return finished

    def _result(self, finished: Mapping[str, Any], test: Sequence[Mapping[str, Any]]) -> StudyResult:
        session, log = self.session, self.log
        winner = finished["winner"]
        record = log.records[winner]
        states = [r["state"] for r in log.records]
        values = self.study.values()
        kept, silenced = unsilenced(recorded_findings(finished), session.settings.silenced)
        return StudyResult(
            name=self.name,
            winner=winner,
            parameters=dict(record["parameters"]),
            validation=record["metrics"],
            test=[entry["metrics"] for entry in test],
            primary=session.bench.task.primary.name,
            chance=float(values["chance"]),
            test_chance=float(values["test_chance"]),
            trials={s: states.count(s) for s in ("complete", "pruned", "failed")},
            test_evaluations=finished["looks"],
            run_id=self.study.run("study"),
            counts=dict(finished["counts"]),
            seconds=time.time() - self.started,
            warnings=[finding.line for finding in kept],
            findings=finished["findings"],
            silenced=silenced,
            complete=finished["complete"],
            config=self.folder / "best.toml",
            final_run_ids=[self.study.run(f"trial-{winner}/repeat-{r}") for r in range(len(test))],
            known=session.known,
            code=finished["code"],
        )

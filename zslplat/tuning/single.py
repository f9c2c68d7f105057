"""One experiment, evaluated once: on the validation folds, or on the test split on request."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from zslplat.checks.base import Finding, drop_silenced, warning_facts
from zslplat.config import write_config
from zslplat.errors import ZslplatError
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment, repeat_seed
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.session import EvaluationRequest, Session
from zslplat.keys import RECORD_CHOICES, key_of, run_identifier
from zslplat.listeners import Listeners
from zslplat.records.database import Records
from zslplat.records.environment import environment_record
from zslplat.records.folders import owner_folder
from zslplat.records.opening import reach_database
from zslplat.records.studies import RECALLED_FROM
from zslplat.settings import Settings
from zslplat.tuning.findings import evaluation_findings, warning_findings
from zslplat.tuning.options import EvaluationOptions


@dataclass
class RunResult:
    """The metrics of each repeat on one split, the runs that hold them, and what checks found.

    ``findings`` are all of these, ``warnings`` the lines of those that are not silenced, ``silenced`` counts the rest.
    ``recalled`` counts the repeats taken from records, ``validation_choices`` is what the first repeat hands on to a
    refit, ``about`` describes data set, task and method. ``chance`` is what guessing reaches, the mean over the folds.
    """

    split: str
    metrics: list[dict[str, float]]
    folds: list[list[dict[str, Any]]]
    primary: str
    chance: float
    run_ids: list[str]
    test_evaluations: int
    warnings: list[str] = field(default_factory=list)
    findings: list[dict[str, str]] = field(default_factory=list)
    silenced: int = 0
    recalled: int = 0
    validation_choices: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


def run_experiment(
    experiment: Experiment, options: EvaluationOptions, settings: Settings, reporter: Reporter | None = None
) -> RunResult:
    """Evaluate the method's fixed parameters; raises like :func:`zslplat.tuning.study.run_study`."""
    reporter = reporter or SilentReporter()
    reach_database(settings, reporter.warn)
    context = ExperimentContext(experiment, settings, on_stage=reporter.stage)
    context.require_problems(TEST if options.test else VALIDATION)
    records = Records(settings, reporter.warn)
    with Session(
        context, records, reporter, workers=options.workers, cluster=options.cluster, recall=options.recall
    ) as session:
        single = _Single(session, options)
        single.evaluate()
        return single.finish()


class _Single:
    """One experiment on one split, and its record under an owner of its own."""

    def __init__(self, session: Session, options: EvaluationOptions) -> None:
        self.session, self.options = session, options
        self.split = split = TEST if options.test else VALIDATION
        self.started = time.time()
        self.owner = f"{options.kind}:{key_of(session.experiment.to_json(), split, self.started)}"
        self.folder = owner_folder(session.settings, self.owner)
        self.listeners = Listeners(session.settings, session.records, session.reporter.warn)
        self.problems = session.context.problems(split)
        self.requests: list[EvaluationRequest] = []
        self.result = RunResult(split, [], [], session.context.task.primary.name, 0.0, [], 0)
        self.recorded = False

    def evaluate(self) -> None:
        """Carry out what is not recorded already, and record each repeat."""
        session, context, options = self.session, self.session.context, self.options
        seed = session.experiment.seed if options.method_seed is None else options.method_seed
        choices = options.validation_choices
        for r in range(options.repeats if context.random else 1):
            run = run_identifier("", self.owner, f"repeat-{r}")
            self.requests.append(
                EvaluationRequest(
                    label=f"{self.split} {r}",
                    run=run,
                    experiment=session.experiment.evaluation({}, self.split, repeat_seed(seed, r), choices),
                    artifacts=session.records.evaluation_folder(run) / "artifacts",
                    full=True,
                    maps=self.split == TEST and r == 0,  # a map takes seconds
                    model=options.save_model and options.kind == "run",
                )
            )
        answers: dict[int, Answer] = {}
        try:
            most = max(len(self.requests), len(self.problems))
            session.start_workers(most, self.folder / "workers.log")
            prepared = session.prepare(self.split)
            session.reporter.stage(f"evaluating {session.experiment.method} on the {self.split} split")
            limits = Limits(options.trial_timeout, options.memory_bytes)
            session.evaluate(self.requests, prepared, limits, answers.__setitem__)
        except KeyboardInterrupt:
            raise Interrupted("stopped; nothing of this run was recorded; give the same command again") from None
        built = warning_findings(str(session.experiment.method), warning_facts(context.problem_warnings(self.problems)))
        chances = [context.chance(problem) for problem in self.problems]
        self.result.chance = fmean(chances)
        self._add_findings(built)
        contents = []
        for r in range(len(self.requests)):
            result = answers[r].result
            if result is None:
                raise ZslplatError(
                    f"{session.experiment.method.name} failed on the {self.split} split: {answers[r].reason}"
                )
            contents.append(dict(result))
        # Repeats belong together: those that are known stand beside the new ones.
        # What gets a tag is recorded with it.
        new = any(RECALLED_FROM not in content for content in contents) or self._lacks_tags(contents)
        for r, content in enumerate(contents):
            self._record(r, content, built, chances, new=new)

    def _lacks_tags(self, contents: Sequence[Mapping[str, Any]]) -> bool:
        """Tell whether there are tags that no single run of what is known already was recorded with."""
        tags = self.session.settings.tags
        if not tags:
            return False
        questions, recorded = {content["question"] for content in contents}, set[tuple[str, str]]()
        for _, _, record in self.session.records.evaluations_on(self.session.experiment.data):
            if record.get("question") in questions:
                recorded |= set(record.get("about", {}).get("tags", {}).items())
        return not set(tags.items()) <= recorded

    def finish(self) -> RunResult:
        """Tell the listeners, and return what the run gave."""
        session = self.session
        if self.recorded:
            self.listeners.on_run_complete(self.owner, session.records.evaluations(self.owner))
            self.listeners.close()
        else:
            session.stop_workers()
            shutil.rmtree(self.folder, ignore_errors=True)
        self.result.recalled = session.recalled
        self.result.test_evaluations = session.records.test_evaluations(session.experiment.data)
        return self.result

    def _record(
        self, r: int, content: dict[str, Any], built: Sequence[Finding], chances: Sequence[float], *, new: bool
    ) -> None:
        """Record a repeat, unless all were taken from the records of other runs."""
        session, request = self.session, self.requests[r]
        several = len(self.requests) > 1
        # Where nothing was computed, the outcomes are those of the run that it was taken from.
        run = request.run if new else content[RECALLED_FROM]
        folder = session.records.evaluation_folder(run) if self.split == TEST else None
        context = session.context
        findings = evaluation_findings(context.experiment, context.task, content, self.split, chances, folder)
        content |= {
            "seed": request.experiment.method_seed,
            "repeat": r,
            "repeats": len(self.requests),
            "about": session.context.about(self.options.part_of),
            "environment": environment_record(),
            "findings": [finding.to_json() for finding in (*built, *findings)],
            "started": self.started,
        }
        result = self.result
        self._add_findings([replace(f, text=f"repeat {r}: {f.text}") if several else f for f in findings])
        result.run_ids.append(run)
        result.metrics.append(content["metrics"])
        result.folds.append(content["folds"])
        result.validation_choices = result.validation_choices or dict(content.get(RECORD_CHOICES, {}))
        result.about = content["about"]
        if not new:
            return
        session.adopt(content)
        folder = session.records.evaluation_folder(request.run) / "artifacts"
        write_config(folder / "run.toml", request.experiment.to_json())
        self.listeners.on_run_begin(self.owner)
        session.records.add_evaluation(self.owner, f"repeat-{r}", self.split, session.experiment.data, content)
        self.recorded = True

    def _add_findings(self, findings: Sequence[Finding]) -> None:
        """Add findings to the result, whose warnings are the lines of those that are not silenced."""
        visible, silenced = drop_silenced(findings, self.session.settings.silenced)
        self.result.findings += [finding.to_json() for finding in findings]
        self.result.warnings += [finding.line for finding in visible]
        self.result.silenced += silenced

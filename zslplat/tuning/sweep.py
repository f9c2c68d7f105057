"""One hyperparameter over a range, the others fixed: the curve of validation, on request that of the test beside it.

A sweep is analysis. Its points are recorded under their own owner, its runs are tagged as analysis, and no study ever
reads them, so its test curve cannot feed a selection; every point of that counts as a look at the test split.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.checks.base import Finding, drop_silenced, run_checks, warning_facts
from zslplat.checks.facts import PrimaryScores, StudyFacts
from zslplat.drawing import optional_picture, render
from zslplat.errors import UnknownNameError, UsageError, ZslplatError
from zslplat.evaluation.code import LIBRARIES
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment, repeat_seed
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.scoring.messages import warning_entries
from zslplat.evaluation.session import EvaluationRequest, PreparedProblems, Session
from zslplat.figures import Curve, Table, write_table
from zslplat.keys import RECORD_CHOICES, key_of, run_identifier
from zslplat.listeners import Listeners, Warn
from zslplat.records.database import Records
from zslplat.records.environment import environment_record
from zslplat.records.folders import owner_folder
from zslplat.records.opening import reach_database
from zslplat.records.studies import SUMMARY
from zslplat.registry import component
from zslplat.settings import Settings
from zslplat.space import Choice, Range, parse_range
from zslplat.spec import format_value
from zslplat.tuning.options import EvaluationOptions
from zslplat.tuning.proposals import grid_values
from zslplat.tuning.study_facts import searched_facts

OF_TASK = "task."


@dataclass(frozen=True)
class SweptParameter:
    """What varies: its name, its range, and whether it is an option of the task."""

    name: str
    dimension: Range
    of_task: bool

    @property
    def log(self) -> bool:
        """Whether the range is logarithmic."""
        return not isinstance(self.dimension, Choice) and self.dimension.log


def swept_parameter(chosen: Sequence[Experiment], name: str, text: str | None) -> SweptParameter:
    """Return what a sweep of these settings, which differ in their methods alone, varies by this name.

    ``name`` may begin with ``task.`` where a hyperparameter has the same; ``text`` is the range, by default the one
    that tuning searches. Raises UnknownNameError for a name that nothing has, and :class:`UsageError` for several
    methods where it is a hyperparameter, and where there is no range.
    """
    experiment = chosen[0]
    template = component("methods", experiment.method.name).build(experiment.method.parameters)
    parameters = {**template.parameters}
    of_method = name in parameters or name in template.space
    options = component("tasks", experiment.task.name).parameters
    option = name.removeprefix(OF_TASK)
    if option not in options and not of_method:
        names = {*parameters, *template.space, *options}
        raise UnknownNameError(
            f"parameter of {experiment.method.name} or option of {experiment.task.name}", name, names
        )
    of_task = option in options and (name != option or not of_method)
    if not of_task and len(chosen) > 1:
        raise UsageError(
            f"{name} is a hyperparameter of {experiment.method.name}: give one --method, or sweep an option of the task"
        )
    legal = options[option].legal if of_task else parameters[name].legal if name in parameters else None
    if text is not None:
        dimension = parse_range(text, legal)
    elif not of_task and name in template.space:
        dimension = template.space[name]
    else:
        raise UsageError(f"{name} has no search range of its own; give --range low..high or a|b|c")
    return SweptParameter(option if of_task else name, dimension, of_task)


Curves = dict[str, list[float | None]]


@dataclass
class SweepResult:
    """The points of a sweep: by method the mean primary metric on validation and on test, None where there is none.

    ``test`` is empty where the test split was not scored. ``chance`` has an entry per value, of the test split where it
    was scored. ``findings`` are what checks found, ``warnings`` the lines of those that are not silenced, ``silenced``
    counts the rest.
    """

    parameter: str
    task: str
    values: list[Any]
    primary: str = ""
    validation: Curves = field(default_factory=dict)
    test: Curves = field(default_factory=dict)
    chance: list[float] = field(default_factory=list)
    run_id: str = ""
    figure: Path = Path()
    table: Path = Path()
    test_evaluations: int = 0
    warnings: list[str] = field(default_factory=list)
    findings: list[dict[str, str]] = field(default_factory=list)
    silenced: int = 0

    @property
    def curves(self) -> Curves:
        """The curves of all methods on all splits, by ``METHOD SPLIT``."""
        sides = {VALIDATION: self.validation, TEST: self.test}
        return {f"{label} {split}": curve for split, side in sides.items() for label, curve in side.items()}

    def add_findings(self, findings: Sequence[Finding], silenced: Collection[str]) -> None:
        """Add findings, whose lines are warnings where they are not silenced."""
        visible, count = drop_silenced(findings, silenced)
        self.findings += [one.to_json() for one in findings]
        self.warnings += [one.line for one in visible]
        self.silenced += count


def run_sweep(
    experiment: Experiment,
    parameter: str,
    dimension: Range,
    options: EvaluationOptions,
    settings: Settings,
    reporter: Reporter | None = None,
    *,
    points: int = 9,
) -> SweepResult:
    """Evaluate every value on the validation folds, with ``options.test`` on the test split, too.

    The same call continues a stopped sweep.

    What validation hands to a refit (the step of an iterative method, the bias of calibrated stacking) is handed on
    from each value's validation to its test.
    """
    reporter = reporter or SilentReporter()
    if parameter in experiment.method.parameters:
        raise UsageError(f"{parameter} is both fixed (--set) and swept (--param); leave one out")
    reach_database(settings, reporter.warn)
    context = ExperimentContext(experiment, settings, on_stage=reporter.stage)
    splits = (VALIDATION, TEST) if options.test else (VALIDATION,)
    context.require_problems(*splits)
    records = Records(settings, reporter.warn)
    with Session(context, records, reporter, workers=options.workers, cluster=options.cluster) as session:
        sweep = _Sweep(session, SweptParameter(parameter, dimension, False), points, options.repeats, splits)
        sweep.evaluate(Limits(options.trial_timeout, options.memory_bytes))
        return sweep.finish()


def _own_code(code: Mapping[str, str]) -> dict[str, str]:
    return {role: text for role, text in code.items() if role not in LIBRARIES}


class _Sweep:
    """The points of one sweep, each recorded as soon as it is known."""

    def __init__(
        self, session: Session, swept: SweptParameter, points: int, repeats: int, splits: Sequence[str]
    ) -> None:
        dimension, parameter = swept.dimension, swept.name
        if not isinstance(dimension, Choice) and not np.isfinite([dimension.low, dimension.high]).all():
            raise UsageError(f"the range {dimension} has no end; give --range low..high")
        self.session, self.parameter, self.swept = session, parameter, swept
        self.started = time.time()
        self.values = grid_values(dimension, points)
        context, experiment = session.context, session.experiment
        for value in self.values:
            context.method_class.build({**experiment.method.parameters, parameter: value})
        self.repeats = range(repeats if context.random else 1)
        identity = {
            **experiment.to_json(),
            "parameter": parameter,
            "repeats": len(self.repeats),
            "splits": list(splits),
            "values": [format_value(value) for value in self.values],
            # A point of other code is another point; those that any sweep has recorded are known to it.
            "code": [_own_code(context.code({parameter: value})) for value in self.values],
        }
        self.owner = f"sweep:{key_of(identity)}"
        self.folder = owner_folder(session.settings, self.owner)
        self.space = {parameter: replace(dimension, when={})}
        self.problems = {split: context.problems(split) for split in splits}
        self.recorded: dict[str, dict[str, Any]] = {}

    def evaluate(self, limits: Limits) -> None:
        """Carry out the points that are not recorded yet."""
        session = self.session
        try:
            session.start_workers(len(self.values) * len(self.repeats), self.folder / "workers.log")
            prepared = {split: session.prepare(split, self.space) for split in self.problems}
            session.reporter.stage(f"sweeping {self.parameter} over {len(self.values)} values")
            for split in self.problems:
                self._points(split, prepared[split], limits)
        except KeyboardInterrupt:
            raise Interrupted(
                "stopped; the points so far are recorded; give the same command again to continue"
            ) from None
        self.recorded = self.session.records.evaluations(self.owner)

    def finish(self) -> SweepResult:
        """Draw the curves, record and show them."""
        session, context = self.session, self.session.context
        primary = context.task.primary
        curves = {split: [self._mean(value, split, primary.name) for value in self.values] for split in self.problems}
        if all(v is None for v in curves[VALIDATION]):
            reasons = [c.get("reason") for c in self.recorded.values() if c.get("reason")]
            raise ZslplatError(
                f"every point of the sweep failed; the first because: {reasons[0] if reasons else 'unknown'}"
            )
        method, experiment = session.experiment.method.name, session.experiment
        chance = float(np.mean([context.chance(problem) for problem in list(self.problems.values())[-1]]))
        result = SweepResult(
            self.parameter,
            str(experiment.task),
            self.values,
            primary.name,
            validation={method: curves[VALIDATION]},
            test={method: curves[TEST]} if TEST in curves else {},
            chance=[chance] * len(self.values),
            test_evaluations=session.records.test_evaluations(experiment.data),
        )
        result.add_findings(self._findings(curves), session.settings.silenced)
        content = {
            "experiment": experiment.to_json(),
            "about": context.about(),
            "parameter": self.parameter,
            "curves": curves,
            "started": self.started,
        }
        warn = session.reporter.warn
        record_sweep(result, content, session.settings, session.records, self.owner, warn, log=self.swept.log)
        return result

    def _points(self, split: str, problems: PreparedProblems, limits: Limits) -> None:
        """Evaluate what is missing of one split."""
        session, recorded = self.session, self.session.records.evaluations(self.owner)
        requests, keys, points = [], [], []
        for value in self.values:
            for r in self.repeats:
                key = self._key(value, r, split)
                if key in recorded:
                    continue
                validation_choices = (
                    recorded.get(self._key(value, r, VALIDATION), {}).get(RECORD_CHOICES, {}) if split == TEST else {}
                )
                if self.parameter == session.context.method_class.step_parameter:
                    validation_choices = {
                        name: number for name, number in validation_choices.items() if name != "best_step"
                    }
                parameters = {self.parameter: value}
                seed = repeat_seed(session.experiment.seed, r)
                keys.append(key)
                points.append(parameters)
                requests.append(
                    EvaluationRequest(
                        label=f"{self.parameter}={format_value(value)}",
                        run=run_identifier("", self.owner, key),
                        experiment=session.experiment.evaluation(parameters, split, seed, validation_choices),
                    )
                )

        def keep(position: int, answer: Answer) -> None:
            content = answer.result or {"state": "failed", "reason": answer.reason, "metrics": {}}
            session.records.add_evaluation(self.owner, keys[position], split, session.experiment.data, content)
            value = content["metrics"].get(session.context.task.primary.name)
            point = {"what": f"{split} point", "number": position, "parameters": points[position]}
            session.reporter.trial(position + 1, len(keys), {**point, "value": value, "reason": answer.reason}, None)

        if requests:
            session.evaluate(requests, problems, limits, keep)

    @staticmethod
    def _key(value: Any, repeat: int, split: str) -> str:
        return f"{format_value(value)}/{repeat}/{split}"

    def _mean(self, value: Any, split: str, primary: str) -> float | None:
        scores = [self.recorded[self._key(value, r, split)]["metrics"].get(primary) for r in self.repeats]
        numbers = [v for v in scores if v is not None]
        return float(np.mean(numbers)) if numbers else None

    def _findings(self, curves: Mapping[str, Sequence[float | None]]) -> list[Finding]:
        """Return what checks find: warnings of the points, validation best at an end of the range, or at chance."""
        context, primary = self.session.context, self.session.context.task.primary
        sign = 1.0 if primary.maximise else -1.0
        best = max((sign * v, -i) for i, v in enumerate(curves[VALIDATION]) if v is not None)
        value = self.values[-best[1]]
        point = self.recorded[self._key(value, 0, VALIDATION)]
        reached = tuple(fold["metrics"][primary.name] for fold in point.get("folds", []))
        chances = tuple(context.chance(problem) for problem in self.problems[VALIDATION])
        found_at = []
        for key, content in self.recorded.items():
            if key != SUMMARY:
                at, _, split = key.rsplit("/", 2)
                texts = content.get("warnings", [])
                found_at += [(f"{self.parameter}={at}, {split}", [entry["text"]]) for entry in texts]
        everything = [problem for problems in self.problems.values() for problem in problems]
        what, tried = "the best of the sweep", len(self.values)
        facts = StudyFacts(
            subject=str(self.session.experiment.method),
            metric=primary.name,
            maximise=primary.maximise,
            searched=searched_facts(self.space, {self.parameter: value}, context.template.domains),
            validation=PrimaryScores(what, primary.name, reached, chances, primary.maximise, tried),
            range_option="--range low..high",
            warnings=(*warning_facts(context.problem_warnings(everything)), *warning_facts(warning_entries(found_at))),
        )
        return run_checks("study", facts)


def record_sweep(
    result: SweepResult,
    content: Mapping[str, Any],
    settings: Settings,
    records: Records,
    owner: str,
    warn: Warn,
    *,
    log: bool = False,
) -> None:
    """Write the table and the figure of a sweep, record it as a whole, and tell listeners.

    ``content``: the rest of the record. The same sweep again is recorded once.
    """
    folder = owner_folder(settings, owner)
    folder.mkdir(parents=True, exist_ok=True)
    result.table, result.figure = folder / "sweep.csv", folder / "sweep.png"
    write_table(Table({result.parameter: result.values, "chance": result.chance, **result.curves}), result.table)
    with optional_picture(result.figure, warn):
        render(sweep_figure(result, log=log), result.figure)
    result.run_id = run_identifier("", owner, SUMMARY)
    artifacts = records.evaluation_folder(result.run_id) / "artifacts"
    artifacts.mkdir(parents=True, exist_ok=True)
    for path in filter(Path.exists, (result.figure, result.table)):
        shutil.copy(path, artifacts / path.name)
    record = {
        **content,
        "environment": environment_record(),
        "values": [format_value(value) for value in result.values],
        "findings": result.findings,
    }
    listeners = Listeners(settings, records, warn)
    listeners.on_run_begin(owner)
    records.add_evaluation(owner, SUMMARY, "analysis", str(content["about"]["data"]["fingerprint"]), record)
    listeners.on_run_complete(owner, records.evaluations(owner))
    listeners.close()


def sweep_figure(result: SweepResult, *, log: bool = False) -> Curve:
    """Return the curves of a sweep over the values: of one method all, of several the tests where there are any.

    Values that are no numbers are numbered.
    """
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in result.values)
    positions = result.values if numeric else list(range(len(result.values)))
    several = len(result.validation) > 1
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for split, curves in ((VALIDATION, result.validation), (TEST, result.test)):
        if split == VALIDATION and several and result.test:
            continue
        for label, curve in curves.items():
            points = [(x, v) for x, v in zip(positions, curve, strict=True) if v is not None]
            if points:
                name = label if several else f"{split} (analysis only)" if split == TEST else split
                lines[name] = ([x for x, _ in points], [v for _, v in points])
    lines["chance"] = (list(positions), list(result.chance))
    label = result.parameter if numeric else f"{result.parameter}: {', '.join(map(format_value, result.values))}"
    shown = f" ({TEST if result.test else VALIDATION})" if several else ""
    return Curve(lines, label, result.primary, f"{result.primary} against {result.parameter}{shown}", logx=log)

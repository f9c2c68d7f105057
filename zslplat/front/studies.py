"""``zslplat.tune``: a search of hyperparameters, as the command of this name carries it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zslplat.data.class_draws import drawn_spec
from zslplat.drawing import draw_figure
from zslplat.errors import UsageError
from zslplat.evaluation.components import build_component, describe_knowledge
from zslplat.evaluation.criteria import criteria_of, values_of
from zslplat.evaluation.experiment import Experiment
from zslplat.evidence.labels import dataset_titles
from zslplat.figures import Curve
from zslplat.front.datasets import dataset_spec
from zslplat.front.options import TuneCommand
from zslplat.front.progress import QuietReporter, progress
from zslplat.front.requests import check_search, experiment_of, range_texts, settings_of, workforce_of
from zslplat.front.results import Result, legend_below, scores_table, warning_lines
from zslplat.keys import METRIC, RECORD_CHOICES
from zslplat.names import counted, duration
from zslplat.records.opening import existing_records
from zslplat.registry import component
from zslplat.settings import Settings
from zslplat.spec import Spec, format_value
from zslplat.summary import Shown, Summary
from zslplat.tuning.code_changes import MEANING
from zslplat.tuning.options import StudyOptions, StudyResult
from zslplat.tuning.rehearsal import Rehearsal, rehearse
from zslplat.tuning.study import run_study
from zslplat.tuning.study_facts import chosen

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from zslplat.pipelines.base import AnyPipeline
    from zslplat.tasks.base import Metric

# Options of a study that are called the same here and in the engine.
_PASSED_ON = (
    *("trials", "patience", "batch_size", "sampler", "pruner", "timeout", "repeats"),
    *("retry_failed", "accept_changed_code"),
)


class Trial(NamedTuple):
    """A finished trial: ``value`` is the metric that selects, a mean over the folds; None where it failed."""

    number: int
    state: str
    value: float | None
    seconds: float | None
    reason: str
    params: dict[str, Any]


@dataclass(frozen=True, repr=False)
class Study(Result):
    """A study that was carried out: what it chose, and what that reaches on validation and on the test split.

    ``result`` holds all that the command prints as JSON; ``experiment`` is what was searched, ``settings`` where it is
    recorded.
    """

    result: StudyResult
    experiment: Experiment = field(repr=False)
    settings: Settings = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the study, by which ``compare`` knows it, and ``tune(study=...)`` continues it."""
        return self.result.name

    @property
    def best_params(self) -> dict[str, Any]:
        """The hyperparameters that were chosen, those that were fixed included."""
        return {**self.experiment.method.parameters, **self.result.parameters}

    @property
    def best_value(self) -> float:
        """The winner on validation, the mean over the folds, by the metric that the study selects by."""
        return float(self.result.validation[self.result.primary])

    @property
    def best_trial(self) -> Trial:
        """The trial that was chosen."""
        return next(trial for trial in self.trials if trial.number == self.result.winner)

    @property
    def test_value(self) -> float:
        """The winner on the test split by the metric that the study selects by, the mean over repeats."""
        return self._mean(self.result.primary)

    @property
    def method(self) -> str:
        """The method with the hyperparameters that were chosen, as a spec."""
        return str(Spec(self.experiment.method.name, self.best_params))

    @property
    def validation(self) -> dict[str, float]:
        """The metrics of the winner, means over the validation folds."""
        return dict(self.result.validation)

    @property
    def test(self) -> dict[str, float]:
        """The metrics of the winner on the test split, means over the repeats of random methods."""
        return {name: self._mean(name) for name in (self.result.test[0] if self.result.test else {})}

    @property
    def trials(self) -> list[Trial]:
        """The finished trials in their order."""
        return [
            Trial(r["number"], r["state"], r.get("value"), r.get("seconds"), r["reason"], dict(r["parameters"]))
            for r in self._records()
        ]

    @property
    def run(self) -> str:
        """The first run on the test split, which ``zslplat predict`` takes; empty before there is one."""
        return next(iter(self.result.final_run_ids), "")

    @property
    def config(self) -> Path | None:
        """The file with the winner, which ``evaluate(config=...)`` and ``zslplat run --config`` take."""
        return self.result.config

    def make(self) -> AnyPipeline:
        """Return the winner with its preprocessing, not fitted, and as many steps as validation chose."""
        from zslplat.pipelines.base import make

        values = {**self.best_params}
        step = getattr(component("methods", self.experiment.method.name), "step_parameter", "")
        record = next(r for r in self._records() if r["number"] == self.result.winner)
        if step and "best_step" in record.get(RECORD_CHOICES, {}):
            values[step] = max(1, round(float(record[RECORD_CHOICES]["best_step"])))
        spec = Spec(self.experiment.method.name, values)
        return make(spec, features=self.experiment.features, signatures=self.experiment.signatures)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per trial: its number, state, value on validation, seconds, and its hyperparameters."""
        import pandas as pd

        trials, facts = self.trials, Trial._fields[:-1]
        names = dict.fromkeys(name for trial in trials for name in trial.params)
        titles = {name: f"parameter {name}" if name in facts else name for name in names}
        lines = [[*trial[:-1], *map(trial.params.get, names)] for trial in trials]
        return pd.DataFrame(lines, columns=[*facts, *titles.values()]).set_index("number")

    def plot(self) -> Figure:
        """Return the values of the trials in their order, and the best so far."""
        frame = self.to_frame()
        values = frame["value"].dropna()
        best = values.cummax() if self._criteria[0].maximise else values.cummin()
        numbers, primary = [int(n) for n in values.index], self.result.primary
        title = f"{self.experiment.method.name} on {self.experiment.dataset_title}: {primary} on validation"
        figure = draw_figure(Curve({"best so far": (numbers, best.tolist())}, "trial", primary, title))
        axes = figure.axes[0]
        axes.plot(numbers, values.tolist(), linestyle="", marker="o", color="#666666", markersize=4, label="trial")
        if 0 <= self.result.chance <= 1:
            axes.axhline(self.result.chance, color="#999999", linewidth=0.9, linestyle=":", label="chance")
        legend_below(figure)
        return figure

    @property
    def front(self) -> pd.DataFrame:
        """The trials that no other trial dominates by ``metric="H,seconds"``, the best in the first one first.

        A trial dominates another where it is at least as good in both criteria and better in one. Of one metric it is
        the best trial alone. Columns are the metrics on validation and the hyperparameters.
        """
        import pandas as pd

        numbers = self.result.front or [self.result.winner]
        records = {record["number"]: record for record in self._records()}
        lines = [
            dict(zip(self.result.criteria, values_of(records[number], self._criteria), strict=True))
            | records[number]["parameters"]
            for number in numbers
        ]
        return pd.DataFrame(lines, index=pd.Index(numbers, name="number"))

    @property
    def _criteria(self) -> tuple[Metric, ...]:
        task = build_component("tasks", self.experiment.task)
        return criteria_of(task, self.experiment.search.get(METRIC) or self.result.primary)

    def _mean(self, metric: str) -> float:
        values = [metrics[metric] for metrics in self.result.test]
        return float(sum(values) / len(values)) if values else float("nan")

    def _records(self) -> list[dict[str, Any]]:
        with existing_records(self.settings, QuietReporter().warn) as records:
            return [record for _, record in records.study(self.name).finished()]

    @property
    def scores(self) -> dict[str, Sequence[Any]]:
        """A line for each metric: the winner on validation and on the test, and what guessing reaches."""
        result = self.result
        splits = {"validation": [result.validation], "test": result.test}
        return scores_table(splits, result.primary, {"validation": result.chance, "test": result.test_chance})

    @property
    def facts(self) -> list[str]:
        """What was chosen, by what, out of how many trials, and how often this test split was looked at."""
        result, fixed = self.result, self.experiment.method.parameters
        best = "; ".join(filter(None, [chosen(result.parameters), f"fixed: {chosen(fixed)}" if fixed else ""]))
        front = (
            f"; {counted(len(result.front), 'trial')} on the front, the best in {result.criteria[0]} tested"
            if result.front
            else ""
        )
        states = ", ".join(f"{count} {state}" for state, count in result.trials.items() if count)
        recalled, recalled_tests = (
            f", {count} of them known from records" if count else ""
            for count in (result.recalled, result.recalled_tests)
        )
        method = self.experiment.method.with_parameters(result.parameters)
        knows = describe_knowledge(method, self.experiment.signatures)
        return [
            f"best: trial {result.winner}" + (f" ({best})" if best else ""),
            f"selected by: {' and '.join(result.criteria)} on validation{front}",
            f"knows of the scored batch: {knows}",
            f"trials: {states}{recalled}; {result.seconds:.1f} s; test repeats: {len(result.test)}{recalled_tests}; "
            f"evaluations on this test split so far: {result.test_evaluations}",
            *([f"code: {result.code}; {MEANING.get(result.code, '')}"] if result.code else []),
        ]

    def _summary(self) -> Summary:
        experiment, result = self.experiment, self.result
        title = f"{experiment.method.name} on {experiment.dataset_title}, task {experiment.task}: study {self.name}"
        return Summary(title, [self.scores], [*self.facts, *warning_lines(result.warnings, result.silenced)])


@dataclass(frozen=True, repr=False)
class StudyPlan(Shown):
    """What a study would do: ``result`` holds all that the command prints as JSON; nothing was recorded.

    Of ``class_folds`` studies, one for each fold, it is the first.
    """

    result: Rehearsal
    settings: Settings = field(repr=False)
    class_folds: int | None = None

    @property
    def seconds(self) -> float | None:
        """About how long the rest of the study takes; None where the trial that was timed failed."""
        return self.result.seconds

    def to_dict(self) -> dict[str, object]:
        """Return all of it, as JSON holds it."""
        return asdict(self.result)

    def _summary(self) -> Summary:
        plan, search = self.result, self.result.search
        dataset = dataset_titles([plan.dataset])[plan.dataset]
        title = f"{plan.method} on {dataset}, task {plan.task}: study {plan.study}, not begun"
        patience = f", at most {search['patience']} without a better one" if search["patience"] else ""
        lines = [
            f"data: {plan.data}; {counted(len(plan.folds), 'validation fold')}; metric: {plan.primary}",
            *(f"preprocessing of {role}: {steps}" for role, steps in plan.preprocessing.items()),
            *(f"searched: {name}: {text}{self._default(name)}" for name, text in plan.searched.items()),
            "" if plan.searched else "searched: nothing",
            f"trials: {plan.trials}, {plan.recorded} recorded; sampler {search['sampler']}, batches of "
            f"{search['batch_size']}, pruner {search['pruner']}, seed {search['seed']}{patience}",
            f"test: {counted(plan.tests, 'evaluation')} of the best, on the test split",
            f"the trial that was to be timed failed: {plan.reason}" if plan.reason else self._times(),
            f"memory: about {plan.memory_bytes / 2**30:.2g} GiB in the workers together" if plan.memory_bytes else "",
            self._folds(),
            "nothing is recorded; the same request without dry-run carries it out",
        ]
        return Summary(title, [], lines)

    def _folds(self) -> str:
        folds = self.class_folds or 0
        total = f", about {duration(folds * self.seconds)} in all" if self.seconds else ""
        return f"class folds: {folds}, a study each; this is the first{total}" if folds else ""

    def _default(self, name: str) -> str:
        defaults = self.result.defaults
        return f" (trial 0: {format_value(defaults[name])})" if name in defaults else ""

    def _times(self) -> str:
        plan = self.result
        least, timed = ("at least", "was stopped after") if plan.at_least else ("about", "took")
        missing = counted(plan.trials - plan.recorded, "trial") + (" and the test" if plan.tests else "")
        return (
            f"time: {least} {duration(plan.seconds or 0)} for {missing} with "
            f"{counted(plan.workers, 'worker')}; a trial at the defaults {timed} {plan.trial_seconds:.2g} s, preparing "
            f"{plan.prepare_seconds:.2g} s"
        )


def carry_out_study(options: TuneCommand) -> Study | StudyPlan:
    """Carry out the study that the options of the command or the function describe, or plan it for a dry run."""
    experiment, study_options, settings = study_request(options)
    with progress(quiet=options["quiet"]) as reporter:
        if options["dry_run"]:
            folds = options["class_folds"]
            if folds is not None:
                experiment = replace(experiment, dataset=drawn_spec(experiment.dataset, 1, folds))
            return StudyPlan(rehearse(experiment, study_options, settings, reporter), settings, folds)
        return Study(run_study(experiment, study_options, settings, reporter), experiment, settings)


def study_request(options: TuneCommand) -> tuple[Experiment, StudyOptions, Settings]:
    """Return what a study searches, how it is carried out, and where it is recorded."""
    if options["method"] is None:
        raise UsageError("give a method, as in zslplat tune eszsl; zslplat list methods shows them all")
    if options["class_folds"] and not options["repeats"]:
        raise UsageError("--repeats 0 tests nothing, and class folds are scored by their tests; leave one out")
    check_search(options["sampler"], options["pruner"])
    settings = settings_of(options)
    dataset = dataset_spec(options["dataset"], settings)
    experiment = experiment_of(options["method"], dataset, options["task"], options, range_texts(options["space"]))
    return (
        experiment,
        StudyOptions(
            name=options["study"],
            artifact_bytes=int(options["trial_artifacts"] * 2**20),
            keep_models=not options["no_model"],
            **vars(workforce_of(options)),
            **{name: options[name] for name in _PASSED_ON},  # type: ignore[literal-required]
        ),
        settings,
    )

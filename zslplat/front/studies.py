"""``zslplat.tune``: a search of hyperparameters, as the command of this name carries it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from zslplat.drawing import drawn
from zslplat.errors import UsageError
from zslplat.evaluation.components import knowledge
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.workers.memory import memory_limit, worker_count
from zslplat.figures import Curve
from zslplat.front.asking import (
    DEFAULT_DATASET,
    DEFAULT_TASK,
    MethodLike,
    Tags,
    asked,
    check_search,
    combined,
    option_numbers,
    parsed,
    places,
    range_texts,
    spec_of,
    steps_of,
)
from zslplat.front.datasets import DatasetLike, dataset_spec
from zslplat.front.progress import QuietReporter, progress
from zslplat.front.rehearsed import Rehearsed
from zslplat.front.results import Result, Summary, legend_below, mean_and_spread, warning_lines
from zslplat.front.study_files import with_file
from zslplat.pipelines.base import Pipeline
from zslplat.pipelines.making import make
from zslplat.records.opening import existing_records
from zslplat.registry import component
from zslplat.settings import Settings
from zslplat.spec import Spec, format_value
from zslplat.tuning.options import StudyOptions
from zslplat.tuning.rehearsal import rehearse
from zslplat.tuning.results import StudyResult
from zslplat.tuning.study import run_study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_OF_A_TRIAL = ("number", "state", "value", "seconds", "reason")


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
    def best(self) -> dict[str, Any]:
        """The hyperparameters that were chosen, those that were fixed included."""
        return {**self.experiment.method.parameters, **self.result.parameters}

    @property
    def method(self) -> str:
        """The method with the hyperparameters that were chosen, as a spec."""
        return str(Spec(self.experiment.method.name, self.best))

    @property
    def value(self) -> float:
        """The task's own metric on the test split, the mean over repeats of random methods."""
        return self._mean(self.result.primary)

    @property
    def validation(self) -> dict[str, float]:
        """The metrics of the winner, means over the validation folds."""
        return dict(self.result.validation)

    @property
    def test(self) -> dict[str, float]:
        """The metrics of the winner on the test split, means over the repeats of random methods."""
        return {name: self._mean(name) for name in (self.result.test[0] if self.result.test else {})}

    @property
    def config(self) -> Path | None:
        """The file with the winner, which ``evaluate(config=...)`` and ``zslplat run --config`` take."""
        return self.result.config

    def make(self) -> Pipeline:
        """Return the winner with its preprocessing, not fitted, and as many steps as validation chose."""
        values = {**self.best}
        step = getattr(component("methods", self.experiment.method.name), "step_parameter", "")
        record = next(r for r in self._records() if r["number"] == self.result.winner)
        if step and "best_step" in record.get("carry", {}):
            values[step] = max(1, round(float(record["carry"]["best_step"])))
        spec = Spec(self.experiment.method.name, values)
        return make(spec, features=self.experiment.features, signatures=self.experiment.signatures)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per trial: its number, state, value on validation, seconds, and its hyperparameters."""
        import pandas as pd

        records = self._records()
        names = dict.fromkeys(name for record in records for name in record["parameters"])
        called = {name: f"parameter {name}" if name in _OF_A_TRIAL else name for name in names}
        lines = [
            {name: record.get(name) for name in _OF_A_TRIAL}
            | {called[name]: record["parameters"].get(name) for name in names}
            for record in records
        ]
        return pd.DataFrame(lines, columns=[*_OF_A_TRIAL, *called.values()]).set_index("number")

    def plot(self) -> Figure:
        """Return the values of the trials in their order, and the best so far."""
        frame = self.to_frame()
        known = frame["value"].dropna()
        best = known.cummax() if self._maximise else known.cummin()
        numbers, primary = [int(n) for n in known.index], self.result.primary
        title = f"{self.experiment.method.name} on {self.experiment.dataset_title}: {primary} on validation"
        figure = drawn(Curve({"best so far": (numbers, best.tolist())}, "trial", primary, title))
        axes = figure.axes[0]
        axes.plot(numbers, known.tolist(), linestyle="", marker="o", color="#666666", markersize=4, label="trial")
        if 0 <= self.result.chance <= 1:
            axes.axhline(self.result.chance, color="#999999", linewidth=0.9, linestyle=":", label="chance")
        legend_below(figure)
        return figure

    @property
    def _maximise(self) -> bool:
        return bool(component("tasks", self.experiment.task.name).primary.maximise)

    def _mean(self, metric: str) -> float:
        values = [metrics[metric] for metrics in self.result.test]
        return float(sum(values) / len(values)) if values else float("nan")

    def _records(self) -> list[dict[str, Any]]:
        records = existing_records(self.settings, QuietReporter().warn)
        try:
            return [record for _, record in records.study(self.name).finished()]
        finally:
            records.close()

    def _summary(self) -> Summary:
        result = self.result
        names = list(dict.fromkeys([result.primary, *result.validation, *(result.test[0] if result.test else {})]))
        table: dict[str, Sequence[Any]] = {
            "metric": names,
            "validation": [result.validation.get(name) for name in names],
            "test": [mean_and_spread([m[name] for m in result.test if name in m]) for name in names],
            "chance": [result.test_chance if name == result.primary else None for name in names],
        }
        chosen = ", ".join(f"{k}={format_value(v)}" for k, v in sorted(self.best.items()))
        states = ", ".join(f"{count} {state}" for state, count in result.trials.items() if count)
        known = knowledge(Spec(self.experiment.method.name, self.best), self.experiment.signatures)
        return Summary(
            f"{self.experiment.method.name} on {self.experiment.dataset_title}, "
            f"task {self.experiment.task}: study {self.name}",
            [table],
            [
                f"best: trial {result.winner}" + (f" ({chosen})" if chosen else ""),
                f"knows of the scored batch: {known}",
                f"trials: {states}; test repeats: {len(result.test)}; evaluations on this test split so far: "
                f"{result.test_evaluations}",
                *warning_lines(result.warnings, result.silenced),
            ],
        )


@overload
def tune(
    method: MethodLike | None = ...,
    dataset: DatasetLike = ...,
    task: str = ...,
    *,
    dry_run: Literal[True],
    **options: Any,
) -> Rehearsed: ...


@overload
def tune(
    method: MethodLike | None = ...,
    dataset: DatasetLike = ...,
    task: str = ...,
    *,
    dry_run: Literal[False] = ...,
    **options: Any,
) -> Study: ...


def tune(  # type: ignore[misc]  # the overloads say what decides the result, and leave the options to this
    method: MethodLike | None = None,
    dataset: DatasetLike = DEFAULT_DATASET,
    task: str = DEFAULT_TASK,
    *,
    trials: int | None = None,
    set: Mapping[str, Any] | None = None,
    kernel: str | None = None,
    space: Mapping[str, Any] | None = None,
    features: str | None = None,
    signatures: str | None = None,
    study: str | None = None,
    sampler: str = "tpe",
    yes: bool = False,
    patience: int | None = None,
    warm_start: str | None = None,
    pruner: str = "median",
    batch_size: int = 4,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    repeats: int = 5,
    timeout: float | None = None,
    trial_timeout: float | None = None,
    memory: float | None = None,
    retry_failed: bool = False,
    accept_changed_code: bool = False,
    config: str | Path | None = None,
    dry_run: bool = False,
    trial_artifacts: float = 64,
    no_model: bool = False,
    data_root: str | Path | None = None,
    store: str | Path | None = None,
    tracking_uri: str | None = None,
    storage_url: str | None = None,
    silence: Sequence[str] | None = None,
    tag: Tags | None = None,
    quiet: bool = False,
) -> Study | Rehearsed:
    """Search hyperparameters on validation folds, then refit the best and score the test split, as ``zslplat tune``.

    The arguments are the options of the command, with its defaults; the same request continues a study that the command
    began, and the reverse. ``method`` is a spec, an estimator or its class; ``dataset`` a spec, a data set of
    :func:`~zslplat.front.datasets.load_dataset` or :func:`~zslplat.front.datasets.make_dataset`, or a dictionary of
    what the latter takes; ``set`` fixes hyperparameters, ``space`` gives ranges: ``(low, high)``,
    ``(low, high, "log")``, a list of values or a text such as ``"1e-3..1e3:log"``. ``config`` is a study file, as
    ``zslplat tune --write-config`` writes one: it holds for every argument that is left at its default. ``dry_run``
    times one trial, records nothing, and says what would be done and about how long it takes.

    Raises :class:`~zslplat.errors.UsageError` for a request that makes no sense, :class:`~zslplat.errors.DataError` and
    :class:`~zslplat.errors.StoreError` where data or store cannot be used, and
    :class:`~zslplat.evaluation.reporter.Interrupted` on Ctrl-C: finished trials are kept, and the same call continues.

    >>> study = tune("eszsl", trials=4, workers=1, quiet=True)
    >>> sorted(study.best), study.to_frame().shape
    (['alpha', 'gamma'], (4, 6))
    """
    arguments = dict(locals())
    if config is not None:
        found: Study | Rehearsed = tune(**with_file(Path(config), {**arguments, "config": None}, tune))
        return found
    if method is None:
        raise UsageError("give a method, or a config that names one")
    check_search(sampler, pruner)
    numbers = option_numbers(
        trials=trials, patience=patience, batch_size=batch_size, repeats=repeats, timeout=timeout, workers=workers
    )
    numbers |= option_numbers(trial_timeout=trial_timeout, memory=memory, trial_artifacts=trial_artifacts, seed=seed)
    settings = places(data_root, store, tracking_uri, storage_url, silence, tag)
    spec = combined(spec_of(method), set or {}, kernel)
    steps, ranges = steps_of(method, features, signatures), range_texts(space)
    experiment = asked(spec, dataset_spec(dataset, settings), parsed(task, "task"), *steps, numbers["seed"], ranges)
    count = worker_count(numbers["workers"], numbers["memory"])
    options = StudyOptions(
        name=study,
        trials=numbers["trials"],
        patience=numbers["patience"],
        large_grid=yes,
        warm_start=warm_start,
        batch_size=numbers["batch_size"],
        sampler=sampler,
        pruner=pruner,
        workers=count,
        cluster=cluster,
        timeout=numbers["timeout"],
        trial_timeout=numbers["trial_timeout"],
        memory_bytes=memory_limit(numbers["memory"], count, cluster),
        repeats=numbers["repeats"],
        artifact_bytes=int(numbers["trial_artifacts"] * 2**20),
        accept_changed_code=accept_changed_code,
        retry_failed=retry_failed,
        keep_models=not no_model,
    )
    if dry_run:
        with progress(quiet=quiet) as reporter:
            return Rehearsed(rehearse(experiment, options, settings, reporter))
    with progress(quiet=quiet) as reporter:
        return Study(run_study(experiment, options, settings, reporter), experiment, settings)

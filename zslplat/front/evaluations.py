"""``zslplat.evaluate``: one experiment, on the validation folds, or on the test split where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zslplat.config import read_config
from zslplat.drawing import PALETTE, drawn, written
from zslplat.errors import UsageError
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.jobs import Limits
from zslplat.evaluation.workers.memory import memory_limit, worker_count
from zslplat.figures import Curve
from zslplat.front.asking import (
    DEFAULT_DATASET,
    DEFAULT_TASK,
    MethodLike,
    Tags,
    asked,
    combined,
    option_numbers,
    parsed,
    places,
    spec_of,
    steps_of,
)
from zslplat.front.datasets import DatasetLike, dataset_spec
from zslplat.front.progress import progress
from zslplat.front.results import Result, Summary, legend_below, mean_and_spread, warning_lines
from zslplat.settings import Settings
from zslplat.tuning.single import RunResult, run_experiment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """One experiment, evaluated: ``result`` holds all that the command prints as JSON."""

    result: RunResult
    experiment: Experiment = field(repr=False)
    settings: Settings = field(repr=False)

    @property
    def split(self) -> str:
        """What was scored: ``validation`` or ``test``."""
        return self.result.split

    @property
    def best(self) -> dict[str, Any]:
        """The hyperparameters that were given; those of a configuration, where it was one."""
        return dict(self.experiment.method.parameters)

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics, means over the repeats of random methods."""
        found = self.result.metrics
        return {name: float(sum(m[name] for m in found) / len(found)) for name in found[0]}

    @property
    def value(self) -> float:
        """The task's own metric."""
        return self.metrics[self.result.primary]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per repeat and fold: its metrics."""
        import pandas as pd

        lines = [
            {"split": self.split, "repeat": repeat, "fold": fold["name"], **fold["metrics"]}
            for repeat, folds in enumerate(self.result.folds)
            for fold in folds
        ]
        return pd.DataFrame(lines)

    def plot(self) -> Figure:
        """Return the task's own metric of every fold (or repeat), with its mean and with what guessing reaches."""
        frame, primary = self.to_frame(), self.result.primary
        values = [float(value) for value in frame[primary]]
        places = list(range(1, len(values) + 1))
        title = f"{self.experiment.method.name} on {self.experiment.dataset_title}: {primary}, {self.split}"
        lines = {"mean": ([0.5, len(values) + 0.5], [self.value] * 2)}
        figure = drawn(Curve(lines, "", primary, title))
        axes = figure.axes[0]
        axes.bar(places, values, width=0.6, color=PALETTE[5], zorder=1)
        if 0 <= self.result.chance <= 1:
            axes.axhline(self.result.chance, color="#999999", linewidth=0.9, linestyle=":", label="chance")
        several = len(self.result.folds) > 1
        pairs = zip(frame["fold"], frame["repeat"], strict=True)
        names = [f"{fold} ({repeat})" if several else fold for fold, repeat in pairs]
        axes.set_xticks(places, [written(name) for name in names], rotation=90 if len(names) > 6 else 0)
        legend_below(figure)
        return figure

    def _summary(self) -> Summary:
        result = self.result
        names = list(dict.fromkeys([result.primary, *result.metrics[0]]))
        table: dict[str, Sequence[Any]] = {
            "metric": names,
            self.split: [mean_and_spread([m[name] for m in result.metrics if name in m]) for name in names],
            "chance": [result.chance if name == result.primary else None for name in names],
        }
        return Summary(
            f"{self.experiment.method} on {self.experiment.dataset_title}, "
            f"task {self.experiment.task}: {self.split} split",
            [table],
            [
                f"evaluations on this test split so far: {result.test_evaluations}",
                f"{result.known} known from records, not computed again" if result.known else "",
                *warning_lines(result.warnings, result.silenced),
            ],
        )


def evaluate(
    method: MethodLike | None = None,
    dataset: DatasetLike | None = None,
    task: str | None = None,
    *,
    config: str | Path | None = None,
    test: bool = False,
    set: Mapping[str, Any] | None = None,
    kernel: str | None = None,
    features: str | None = None,
    signatures: str | None = None,
    seed: int | None = None,
    repeats: int = 1,
    export: str | Path | None = None,
    no_model: bool = False,
    workers: int | None = None,
    cluster: str | None = None,
    trial_timeout: float | None = None,
    memory: float | None = None,
    data_root: str | Path | None = None,
    store: str | Path | None = None,
    tracking_uri: str | None = None,
    storage_url: str | None = None,
    silence: Sequence[str] | None = None,
    tag: Tags | None = None,
    quiet: bool = False,
) -> Evaluation:
    """Evaluate one experiment on the validation folds, or with ``test=True`` on the test split, as ``zslplat run``.

    The arguments are the options of the command, with its defaults: ``method`` and ``dataset`` as
    :func:`~zslplat.front.studies.tune` takes them, or ``config``, a ``best.toml`` or ``run.toml`` that holds them.
    Every look at the test split is counted. Raises like ``tune``.

    >>> found = evaluate("eszsl(alpha=.01, gamma=.01)", workers=1, quiet=True)
    >>> found.split, found.to_frame().shape[0]
    ('validation', 3)
    """
    if (method is None) == (config is None):
        raise UsageError("give either method or config")
    numbers = option_numbers(seed=seed, repeats=repeats, workers=workers, trial_timeout=trial_timeout, memory=memory)
    content = read_config(Path(config)) if config is not None else {}
    settings = places(data_root, store, tracking_uri, storage_url, silence, tag)
    given = spec_of(method if method is not None else content["method"])
    if method is not None:
        features, signatures = steps_of(method, features, signatures)
    experiment = asked(
        combined(given, set or {}, kernel, recorded=config is not None),
        dataset_spec(dataset if dataset is not None else content.get("dataset", DEFAULT_DATASET), settings),
        parsed(content.get("task", DEFAULT_TASK) if task is None else task, "task"),
        features if features is not None else content.get("features"),
        signatures if signatures is not None else content.get("signatures"),
        int(content.get("seed", 0)) if seed is None else numbers["seed"],
    )
    count = worker_count(numbers["workers"], numbers["memory"])
    with progress(quiet=quiet) as reporter:
        result = run_experiment(
            experiment,
            settings,
            test=test,
            repeats=max(numbers["repeats"], int(content.get("repeats", 1))),
            validation_choices=content.get("carried"),
            workers=count,
            cluster=cluster,
            limits=Limits(numbers["trial_timeout"], memory_limit(numbers["memory"], count, cluster)),
            reporter=reporter,
            keep_model=not no_model,
            export_to=None if export is None else Path(export),
            method_seed=content.get("method_seed") if seed is None else None,
        )
    return Evaluation(result, experiment, settings)

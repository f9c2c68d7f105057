"""``zslplat.evaluate``: one experiment, on the validation folds, or on the test split where that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zslplat.config import read_config
from zslplat.drawing import draw_figure, label_text
from zslplat.errors import UsageError
from zslplat.evaluation.experiment import Experiment
from zslplat.figures import Curve
from zslplat.front.datasets import dataset_spec
from zslplat.front.options import DEFAULT_DATASET, DEFAULT_TASK, RunCommand
from zslplat.front.progress import progress
from zslplat.front.requests import experiment_of, settings_of, workforce_of
from zslplat.front.results import Result, legend_below, scores_table, warning_lines
from zslplat.keys import EXPERIMENT_CHOICES
from zslplat.palette import PALETTE
from zslplat.settings import Settings
from zslplat.summary import Summary
from zslplat.tuning.options import EvaluationOptions
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
    def params(self) -> dict[str, Any]:
        """The hyperparameters that were given; those of a configuration, where it was one."""
        return dict(self.experiment.method.parameters)

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics, means over the repeats of random methods."""
        repeats = self.result.metrics
        return {name: float(sum(m[name] for m in repeats) / len(repeats)) for name in repeats[0]}

    @property
    def value(self) -> float:
        """The task's own metric on the split that was scored."""
        return self.metrics[self.result.primary]

    @property
    def run(self) -> str:
        """The first run, which ``zslplat predict`` takes where it is one on the test split."""
        return self.result.run_ids[0]

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
        figure = draw_figure(Curve(lines, "", primary, title))
        axes = figure.axes[0]
        axes.bar(places, values, width=0.6, color=PALETTE[5], zorder=1)
        if 0 <= self.result.chance <= 1:
            axes.axhline(self.result.chance, color="#999999", linewidth=0.9, linestyle=":", label="chance")
        several = len(self.result.folds) > 1
        pairs = zip(frame["fold"], frame["repeat"], strict=True)
        names = [f"{fold} ({repeat})" if several else fold for fold, repeat in pairs]
        axes.set_xticks(places, [label_text(name) for name in names], rotation=90 if len(names) > 6 else 0)
        legend_below(figure)
        return figure

    def _summary(self) -> Summary:
        result = self.result
        table = scores_table({self.split: result.metrics}, result.primary, {self.split: result.chance})
        return Summary(
            f"{self.experiment.method} on {self.experiment.dataset_title}, "
            f"task {self.experiment.task}: {self.split} split",
            [table],
            [
                f"evaluations on this test split so far: {result.test_evaluations}",
                f"{result.recalled} known from records, not computed again" if result.recalled else "",
                *warning_lines(result.warnings, result.silenced),
            ],
        )


def carry_out_run(options: RunCommand) -> Evaluation:
    """Evaluate the experiment that the options of the command or the function describe."""
    if (options["method"] is None) == (options["config"] is None):
        raise UsageError("give either --method or --config; zslplat list methods shows the methods")
    content: dict[str, Any] = {} if options["config"] is None else read_config(Path(options["config"]))
    settings = settings_of(options)
    values = {"dataset": DEFAULT_DATASET, "task": DEFAULT_TASK, "seed": 0, **content}
    values |= {name: value for name, value in options.items() if value is not None or name not in values}
    values["seed"] = int(values["seed"])
    experiment = experiment_of(
        values["method"],
        dataset_spec(values["dataset"], settings),
        values["task"],
        values,
        recorded=options["config"] is not None,
    )
    workforce = workforce_of(options)
    run_options = EvaluationOptions(
        test=options["test"],
        repeats=max(options["repeats"], int(content.get("repeats", 1))),
        validation_choices=content.get(EXPERIMENT_CHOICES) or {},
        workers=workforce.workers,
        cluster=workforce.cluster,
        trial_timeout=workforce.trial_timeout,
        memory_bytes=workforce.memory_bytes,
        save_model=not options["no_model"],
        method_seed=content.get("method_seed") if options["seed"] is None else None,
    )
    with progress(quiet=options["quiet"]) as reporter:
        result = run_experiment(experiment, run_options, settings, reporter)
    return Evaluation(result, experiment, settings)

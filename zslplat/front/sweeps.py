"""``zslplat.sweep``: one hyperparameter, or one option of the task, over a range, the others fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from zslplat.drawing import draw_figure
from zslplat.errors import UsageError
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment
from zslplat.front.datasets import dataset_spec
from zslplat.front.options import SweepCommand
from zslplat.front.progress import progress
from zslplat.front.requests import experiment_of, range_text, settings_of, workforce_of
from zslplat.front.results import Result, warning_lines
from zslplat.registry import component
from zslplat.settings import Settings
from zslplat.spec import format_value
from zslplat.summary import Summary
from zslplat.tuning.options import EvaluationOptions
from zslplat.tuning.proposals import grid_values
from zslplat.tuning.sweep import SweepResult, SweptParameter, run_sweep, sweep_figure, swept_parameter
from zslplat.tuning.task_sweep import run_task_sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """The points of a sweep: ``result`` holds all that the command prints as JSON.

    Test curves are there with ``test=True``, for analysis: nothing selects by them, ``best`` neither.
    """

    result: SweepResult
    swept: SweptParameter = field(repr=False)
    experiment: Experiment = field(repr=False)
    settings: Settings = field(repr=False)

    @property
    def best(self) -> dict[str, Any]:
        """The value with the best validation: of a hyperparameter ``{name: value}``, of a task's option by method."""
        name, maximise = self.swept.name, component("tasks", self.experiment.task.name).primary.maximise
        best = {}
        for label, curve in self._curves(VALIDATION).items():
            scores = [(value if maximise else -value, -i) for i, value in enumerate(curve) if value is not None]
            if scores:
                best[label] = self.result.values[-max(scores)[1]]
        return best if self.swept.of_task else dict.fromkeys([name] * len(best), next(iter(best.values()), None))

    def to_frame(self) -> pd.DataFrame:
        """Return a row per value (and method, where an option of the task varies): validation, with ``test`` test."""
        import pandas as pd

        lines = []
        for label in self._curves(VALIDATION):
            curves = {split: self._curves(split)[label] for split in self._splits}
            for i, value in enumerate(self.result.values):
                method = {"method": label} if self.swept.of_task else {}
                scores = {split: curve[i] for split, curve in curves.items()}
                lines.append({**method, self.swept.name: value, **scores})
        return pd.DataFrame(lines)

    def plot(self) -> Figure:
        """Return the curves, as the command draws them."""
        return draw_figure(sweep_figure(self.result, log=self.swept.log))

    @property
    def _splits(self) -> tuple[str, ...]:
        return (VALIDATION, TEST) if self.result.test else (VALIDATION,)

    def _curves(self, split: str) -> Mapping[str, Sequence[float | None]]:
        return self.result.validation if split == VALIDATION else self.result.test

    @property
    def leads(self) -> list[tuple[str, list[Any]]]:
        """Which method has the highest mean of validation at which values, one after another."""
        signed = component("tasks", self.experiment.task.name).primary.signed
        curves = self._curves(VALIDATION)
        leads: list[tuple[str, list[Any]]] = []
        for i, value in enumerate(self.result.values):
            scores = {label: signed(score) for label, curve in curves.items() if (score := curve[i]) is not None}
            if scores:
                label = max(scores, key=scores.__getitem__)
                if not leads or leads[-1][0] != label:
                    leads.append((label, []))
                leads[-1][1].append(value)
        return leads

    def _lead_lines(self) -> list[str]:
        if len(self.result.validation) < 2:
            return []
        parts = [f"{label} at {self.swept.name} {', '.join(map(format_value, values))}" for label, values in self.leads]
        return [f"highest mean of validation, without an interval: {'; '.join(parts)}"]

    def _summary(self) -> Summary:
        result = self.result
        table: dict[str, Sequence[Any]] = {n: column.tolist() for n, column in self.to_frame().astype(object).items()}
        table[self.swept.name] = [format_value(value) for value in result.values] * len(result.validation)
        return Summary(
            f"{result.primary} of {self.experiment.method} on {self.experiment.dataset_title}, "
            f"task {self.experiment.task}: sweep of {self.swept.name}",
            [table],
            [
                *self._lead_lines(),
                f"chance {', '.join(dict.fromkeys(f'{chance:.4f}' for chance in result.chance))}",
                f"test is for analysis only; evaluations on this test split so far: {result.test_evaluations}"
                if result.test
                else "the test split was not scored (--test)",
                f"figure {result.figure if result.figure.exists() else 'not drawn'}; table {result.table}",
                *warning_lines(result.warnings, result.silenced),
            ],
        )


def carry_out_sweep(options: SweepCommand) -> Sweep:
    """Carry out the sweep that the options of the command or the function describe."""
    settings = settings_of(options)
    dataset = dataset_spec(options["dataset"], settings)
    method = options["method"]
    methods: Sequence[Any] = method if isinstance(method, list | tuple) else [method]
    if not methods:
        raise UsageError("no method to sweep; give at least one method")
    experiments = [experiment_of(one, dataset, options["task"], options) for one in methods]
    values_text = None if options["range"] is None else range_text(options["range"])
    swept = swept_parameter(experiments, options["param"], values_text)
    workforce = workforce_of(options)
    run_options = EvaluationOptions(
        test=options["test"],
        repeats=options["repeats"],
        workers=workforce.workers,
        cluster=workforce.cluster,
        trial_timeout=workforce.trial_timeout,
        memory_bytes=workforce.memory_bytes,
    )
    with progress(quiet=options["quiet"]) as reporter:
        if swept.of_task:
            values = grid_values(swept.dimension, options["points"])
            result = run_task_sweep(experiments, swept.name, values, run_options, settings, reporter)
        else:
            result = run_sweep(
                experiments[0], swept.name, swept.dimension, run_options, settings, reporter, points=options["points"]
            )
    return Sweep(result, swept, experiments[0], settings)

"""One hyperparameter over a range, the others fixed: validation and test curves side by side.

A sweep is analysis. Its points are recorded under their own owner, its runs are tagged as analysis, and no study ever
reads them, so its test curve cannot feed a selection; every point counts as a look at the test split.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.drawing import render
from zslplat.errors import UsageError, ZslplatError
from zslplat.evaluation.cache import key_of
from zslplat.evaluation.executor import Workers
from zslplat.evaluation.experiment import Experiment, Workbench
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.warned import entries_of, in_words, warnings_tag
from zslplat.evaluation.worker import Answer, Limits
from zslplat.figures import Curve
from zslplat.records.database import Records
from zslplat.settings import Settings
from zslplat.space import Choice, Range, Space
from zslplat.spec import format_value
from zslplat.tables import Table, write_table
from zslplat.tracking.projection import Projection, RunView
from zslplat.tracking.views import common_tags, dataset_view, experiment_name
from zslplat.tuning.proposals import grid_values
from zslplat.tuning.single import prepare_statistics
from zslplat.tuning.study import repeat_seed
from zslplat.tuning.verdicts import chance_warning, edge_warnings


@dataclass
class SweepResult:
    """The points of a sweep: values, mean validation and mean test primary metric (None where a point failed).

    ``warnings`` are lines about what should be looked at.
    """

    parameter: str
    values: list[Any]
    validation: list[float | None]
    test: list[float | None]
    primary: str
    chance: float
    run_id: str
    figure: Path
    table: Path
    looks_at_test: int
    warnings: list[str]


def run_sweep(
    experiment: Experiment,
    parameter: str,
    dimension: Range,
    settings: Settings,
    *,
    points: int = 9,
    repeats: int = 1,
    workers: int = 2,
    limits: Limits | None = None,
    reporter: Reporter | None = None,
) -> SweepResult:
    """Evaluate every value on the validation folds and on the test split; the same call continues a stopped sweep.

    What validation hands to a refit (the step of an iterative method, the bias of calibrated stacking) is handed on
    from each value's validation to its test.
    """
    reporter = reporter or SilentReporter()
    if parameter in experiment.method.parameters:
        raise UsageError(f"{parameter} is both fixed (--set) and swept (--param); leave one out")
    started = time.time()
    settings.make_store()
    bench = Workbench(experiment, settings, on_stage=reporter.stage)
    records = Records(settings.storage_url, settings.studies)
    if not isinstance(dimension, Choice) and not np.isfinite([dimension.low, dimension.high]).all():
        raise UsageError(f"the range {dimension} has no end; give --range low..high")
    values = grid_values(dimension, points)
    for value in values:
        bench.method_class.build({**experiment.method.parameters, parameter: value})
    repeats = repeats if bench.random else 1
    identity = {**experiment.identity(), "parameter": parameter, "repeats": repeats, "data": bench.dataset.fingerprint}
    owner = f"sweep:{key_of(identity)}"
    folder = settings.studies / owner.replace(":", "-")
    folder.mkdir(parents=True, exist_ok=True)
    space = {parameter: replace(dimension, when={})}
    validation, test = bench.validation_problems(), [bench.test_problem()]
    plan = [(i, r) for i in range(len(values)) for r in range(repeats)]
    try:
        with Workers(workers, log_path=str(folder / "workers.log")) as pool:
            prepared = prepare_statistics(bench, pool, [*validation, *test], reporter, space)
            paired = list(zip([*validation, *test], prepared, strict=True))
            reporter.stage(f"sweeping {parameter} over {len(values)} values")
            for split, problems in (("validation", paired[:-1]), ("test", paired[-1:])):
                known = records.evaluations(owner)
                jobs, keys = [], []
                for i, r in plan:
                    key = f"{format_value(values[i])}/{r}/{split}"
                    if key in known:
                        continue
                    keys.append(key)
                    carried = known.get(f"{format_value(values[i])}/{r}/validation", {}).get("carry", {})
                    if parameter == bench.method_class.step_parameter:
                        carried = {name: value for name, value in carried.items() if name != "best_step"}
                    jobs.append(
                        EvaluateJob(
                            label=f"{parameter}={format_value(values[i])}",
                            method=experiment.method.name,
                            parameters={**experiment.method.parameters, parameter: values[i]},
                            seed=repeat_seed(experiment.seed, r),
                            task=str(experiment.task),
                            problems=tuple(problems),
                            carried=carried if split == "test" else {},
                            test=split == "test",
                        )
                    )

                def keep(
                    position: int, answer: Answer, keys: list[str] = keys, split: str = split, count: int = len(jobs)
                ) -> None:
                    key = keys[position]
                    content = answer.result or {"state": "failed", "reason": answer.reason, "metrics": {}}
                    records.add_evaluation(owner, key, split, bench.dataset.fingerprint, content)
                    value = content["metrics"].get(bench.task.primary.name)
                    reporter.trial(
                        position + 1,
                        count,
                        {
                            "what": "point",
                            "number": position,
                            "parameters": {parameter: key},
                            "value": value,
                            "reason": answer.reason,
                        },
                        None,
                    )

                pool.run(jobs, limits or Limits(), on_answer=keep)
    except KeyboardInterrupt:
        raise Interrupted("stopped; the points so far are recorded; give the same command again to continue") from None
    known = records.evaluations(owner)
    primary = bench.task.primary.name
    curves = {
        split: [_mean(known, values[i], range(repeats), split, primary) for i in range(len(values))]
        for split in ("validation", "test")
    }
    if all(v is None for v in curves["validation"]):
        reasons = [c.get("reason") for c in known.values() if c.get("reason")]
        raise ZslplatError(
            f"every point of the sweep failed; the first because: {reasons[0] if reasons else 'unknown'}"
        )
    figure, table = _write(folder, parameter, values, curves, primary, dimension)
    warned = in_words(bench.warned([*validation, *test])) + _warnings(bench, known, space, values, curves, validation)
    looks = records.looks_at_test(bench.dataset.fingerprint)
    bench.evict()
    projection = Projection(settings, experiment_name(bench), owner, reporter.warn)
    staged = folder / "artifacts"
    staged.mkdir(exist_ok=True)
    for path in (figure, table):
        shutil.copy(path, staged / path.name)
    run_id = projection.show(
        RunView(
            key="sweep",
            name=f"{experiment.method.name}: {primary} against {parameter}",
            parameters={**experiment.method.parameters, "swept": parameter},
            series={f"{split}_{primary}": [v for v in curve if v is not None] for split, curve in curves.items()},
            tags={**common_tags(bench), "zslplat.kind": "analysis", "zslplat.selectable": "no", **warnings_tag(warned)},
            started=started,
            ended=time.time(),
            artifacts=staged,
            dataset=dataset_view(bench, "analysis"),
        )
    )
    projection.close()
    records.close()
    return SweepResult(
        parameter,
        values,
        curves["validation"],
        curves["test"],
        primary,
        bench.chance(test[0]),
        run_id,
        figure,
        table,
        looks,
        warned,
    )


def _warnings(
    bench: Workbench,
    known: dict[str, Any],
    space: Space,
    values: list[Any],
    curves: dict[str, list[float | None]],
    problems: Sequence[Path],
) -> list[str]:
    """Return the warnings of the points, and whether validation is best at an end of the range, or at chance."""
    ((parameter, _),) = space.items()
    primary = bench.task.primary
    sign = 1.0 if primary.maximise else -1.0
    best = max((sign * v, -i) for i, v in enumerate(curves["validation"]) if v is not None)
    found = -best[1]
    point = known[f"{format_value(values[found])}/0/validation"]
    reached = [fold["metrics"][primary.name] for fold in point.get("folds", [])]
    chances = [bench.chance(problem) for problem in problems]
    found_at = []
    for key, content in known.items():
        value, _, split = key.rsplit("/", 2)
        found_at += [(f"{parameter}={value}, {split}", [entry["text"]]) for entry in content.get("warnings", [])]
    return [
        *chance_warning(
            "the best of the sweep", primary.name, reached, chances, maximise=primary.maximise, tried=len(values)
        ),
        *edge_warnings(space, {parameter: values[found]}, bench.template.domains),
        *in_words(entries_of(found_at)),
    ]


def _mean(known: dict[str, Any], value: Any, repeats: Sequence[int], split: str, primary: str) -> float | None:
    found = [known[f"{format_value(value)}/{r}/{split}"]["metrics"].get(primary) for r in repeats]
    numbers = [v for v in found if v is not None]
    return float(np.mean(numbers)) if numbers else None


def _write(
    folder: Path,
    parameter: str,
    values: list[Any],
    curves: dict[str, list[float | None]],
    primary: str,
    dimension: Range,
) -> tuple[Path, Path]:
    table, figure = folder / "sweep.csv", folder / "sweep.png"
    write_table(Table({parameter: values, **{f"{split} {primary}": curve for split, curve in curves.items()}}), table)
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    positions = values if numeric else list(range(len(values)))
    lines = {}
    for split, curve in curves.items():
        points = [(x, v) for x, v in zip(positions, curve, strict=True) if v is not None]
        lines[f"{split} (analysis only)" if split == "test" else split] = (
            [x for x, _ in points],
            [v for _, v in points],
        )
    label = parameter if numeric else f"{parameter}: {', '.join(map(format_value, values))}"
    logx = not isinstance(dimension, Choice) and dimension.log
    render(Curve(lines, label, primary, f"{primary} against {parameter}", logx=logx), figure)
    return figure, table

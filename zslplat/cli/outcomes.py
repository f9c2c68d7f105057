"""What ``tune``, ``run`` and ``sweep`` print at their end."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from zslplat.cli import options as o
from zslplat.cli.reporting import metrics_table, print_json, print_warnings, stdout_console
from zslplat.spec import format_value


def print_study(result: Any, experiment: Any, settings: Any, *, as_json: bool) -> None:
    """Print a study: metrics, winner, what it knows of the batch, trials, where the runs are, warnings."""
    from zslplat.evaluation.components import knowledge
    from zslplat.tuning.code_changes import MEANING

    knows = knowledge(experiment.method.with_parameters(result.parameters), experiment.signatures)
    fixed = dict(experiment.method.parameters)
    if as_json:
        print_json(
            {**vars(result), "fixed": fixed, "knows_of_batch": knows, "tracking_uri": settings.shown_tracking_uri}
        )
        return
    console = stdout_console()
    states = ", ".join(f"{count} {state}" for state, count in result.trials.items() if count)
    states += f", {result.known} of them known from records" if result.known else ""
    known_tests = f", {result.known_tests} of them known from records" if result.known_tests else ""
    title = f"{experiment.method.name} on {experiment.dataset}, task {experiment.task}: study {result.name}"
    chance = {"validation": result.chance, "test": result.test_chance}
    _line(console, title)
    console.print(metrics_table(result.validation, result.test, result.primary, chance))
    values = [
        ", ".join(f"{k}={format_value(v)}" for k, v in sorted(parameters.items()))
        for parameters in (result.parameters, fixed)
    ]
    best = "; ".join(text for text in (values[0], values[1] and f"fixed: {values[1]}") if text)
    places = o.places_given(settings)
    lines = [
        f"best: trial {result.winner}" + (f" ({best})" if best else ""),
        f"knows of the scored batch: {knows}",
        f"trials: {states}; {result.seconds:.1f} s; test repeats: {len(result.test)}{known_tests}; "
        f"evaluations on this test split so far: {result.test_evaluations}",
        f"runs: {settings.shown_tracking_uri}{_ui_hint(settings)}",
        f"again: zslplat run --test --config {shlex.quote(_shown(result.config))}{places}",
        *(f"check: zslplat rerun {run_id} --check{places}" for run_id in result.final_run_ids[:1] if run_id),
    ]
    for line in lines:
        _line(console, line)
    if result.code:
        _line(console, f"code: {result.code}; {MEANING.get(result.code, '')}")
    print_warnings(console, result.warnings, result.silenced)


def print_run(result: Any, experiment: Any, settings: Any, *, as_json: bool) -> None:
    """Print the metrics of a single experiment, and where its runs and artifacts are."""
    if as_json:
        print_json({**vars(result), "tracking_uri": settings.shown_tracking_uri})
        return
    console = stdout_console()
    title = f"{experiment.method} on {experiment.dataset}, task {experiment.task}: {result.split} split"
    validation = {} if result.split == "test" else result.metrics[0]
    test = result.metrics if result.split == "test" else []
    _line(console, title)
    console.print(metrics_table(validation, test, result.primary, {result.split: result.chance}))
    runs = ", ".join(run_id for run_id in result.run_ids if run_id)
    runs += f" ({result.known} known from records, not computed again)" if result.known else ""
    _line(
        console,
        f"evaluations on this test split so far: {result.test_evaluations}\n"
        f"runs: {runs} in {settings.shown_tracking_uri}",
    )
    for path in result.artifacts:
        _line(console, f"artifacts: {path}")
    print_warnings(console, result.warnings, result.silenced)


def print_outside(result: Any, settings: Any, *, as_json: bool) -> None:
    """Print what scores that were made elsewhere gave, and how they were recorded."""
    if as_json:
        print_json({**vars(result), "tracking_uri": settings.shown_tracking_uri})
        return
    console = stdout_console()
    test = result.metrics if result.split == "test" else []
    _line(console, f"{result.method} on {result.about['mlflow_experiment'].partition(': ')[2]}: {result.split} split")
    chance = {"validation": result.validation_chance, "test": result.chance}
    console.print(metrics_table(result.validation, test, result.primary, chance))
    lines = [
        f"knows of the scored batch: {result.knows}",
        f"evaluations on this test split so far: {result.test_evaluations}",
        f"runs: {', '.join(result.run_ids)} in {settings.shown_tracking_uri}{_ui_hint(settings)}",
        *result.notes,
    ]
    for line in lines:
        _line(console, line)
    print_warnings(console, result.warnings, result.silenced)


def print_sweep(result: Any, experiment: Any, *, as_json: bool) -> None:
    """Print the points of a sweep, and where its figure and table are."""
    from rich.table import Table

    if as_json:
        print_json(vars(result))
        return
    table = Table()
    curves = {f"validation {result.primary}": result.validation, "test (analysis only)": result.test}
    curves = {name: curve for name, curve in curves.items() if curve}
    for name in (result.parameter, *curves):
        table.add_column(name, justify="right")
    for value, *numbers in zip(result.values, *curves.values(), strict=True):
        table.add_row(format_value(value), *("failed" if v is None else f"{v:.4f}" for v in numbers))
    console = stdout_console()
    title = f"{experiment.method} on {experiment.dataset}, task {experiment.task}: sweep of {result.parameter}"
    _line(console, title)
    console.print(table)
    _line(console, f"chance {result.chance:.4f}; {_looks(result)}; {_files(result)}")
    print_warnings(console, result.warnings, result.silenced)


def print_task_sweep(result: Any, dataset: str, *, as_json: bool) -> None:
    """Print the points of a sweep of a task option, a pair of columns for each method, and where its files are."""
    from rich.table import Table

    if as_json:
        print_json(vars(result))
        return
    table = Table(result.parameter)
    curves = []
    for label, validation in result.validation.items():
        table.add_column(f"{label}: validation", justify="right")
        curves.append(validation)
        if result.test:
            table.add_column("test (analysis only)", justify="right")
            curves.append(result.test[label])
    for value, *numbers in zip(result.values, *curves, strict=True):
        table.add_row(format_value(value), *("" if number is None else f"{number:.4f}" for number in numbers))
    console = stdout_console()
    _line(console, f"{result.primary} on {dataset}, task {result.task}: sweep of its option {result.parameter}")
    console.print(table)
    chances = ", ".join(dict.fromkeys(f"{c:.4f}" for c in result.chance))
    _line(console, f"chance {chances}; {_looks(result)}; {_files(result)}")
    print_warnings(console, result.warnings, result.silenced)


def _looks(result: Any) -> str:
    """Return what a sweep did with the test split."""
    if not result.test:
        return "the test split was not scored (--test)"
    return f"evaluations on this test split so far: {result.test_evaluations}"


def _files(result: Any) -> str:
    """Return where the files of a sweep are; its figure may not have been drawn."""
    return f"figure {result.figure if result.figure.exists() else 'not drawn'}; table {result.table}"


def _ui_hint(settings: Any) -> str:
    """Return the command that shows the runs; none for a server, whose address is all that it takes."""
    if not settings.tracking_is_local:
        return ""
    known = settings.store == Path("mlruns").absolute()
    return f" (zslplat ui{'' if known else f' --store {shlex.quote(str(settings.store))}'})"


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _line(console: Any, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)

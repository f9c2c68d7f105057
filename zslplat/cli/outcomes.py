"""What ``tune``, ``run``, ``sweep`` and ``cross-validate`` print at their end."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from zslplat.cli.invocation import echo, print_json
from zslplat.cli.output import metrics_table, place_options, print_warnings, stdout_console
from zslplat.front.progress import duration
from zslplat.names import counted
from zslplat.spec import format_value

_NOTHING = "nothing is recorded; the same command without --dry-run carries it out"


def print_study(result: Any, experiment: Any, settings: Any, *, as_json: bool) -> None:
    """Print a study: metrics, winner, what it knows of the batch, trials, where the runs are, warnings."""
    from zslplat.evaluation.components import describe_knowledge
    from zslplat.tuning.code_changes import MEANING

    knows = describe_knowledge(experiment.method.with_parameters(result.parameters), experiment.signatures)
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
    title = f"{experiment.method.name} on {experiment.dataset_text}, task {experiment.task}: study {result.name}"
    chance = {"validation": result.chance, "test": result.test_chance}
    _line(console, title)
    console.print(metrics_table(result.validation, result.test, result.primary, chance))
    values = [
        ", ".join(f"{k}={format_value(v)}" for k, v in sorted(parameters.items()))
        for parameters in (result.parameters, fixed)
    ]
    best = "; ".join(text for text in (values[0], values[1] and f"fixed: {values[1]}") if text)
    places = place_options(settings)
    lines = [
        f"best: trial {result.winner}" + (f" ({best})" if best else ""),
        f"knows of the scored batch: {knows}",
        f"trials: {states}; {result.seconds:.1f} s; test repeats: {len(result.test)}{known_tests}; "
        f"evaluations on this test split so far: {result.test_evaluations}",
        f"runs: {settings.shown_tracking_uri}{ui_hint(settings)}",
        f"again: zslplat run --test --config {shlex.quote(_shown(result.config))}{places}",
        *(f"check: zslplat rerun {run_id} --check{places}" for run_id in result.final_run_ids[:1] if run_id),
    ]
    for line in lines:
        _line(console, line)
    if result.code:
        _line(console, f"code: {result.code}; {MEANING.get(result.code, '')}")
    print_warnings(console, result.warnings, result.silenced)


def print_plan(plan: Any, settings: Any, *, as_json: bool) -> None:
    """Print what a study would do and take, as lines or as JSON."""
    if as_json:
        print_json(asdict(plan))
        return
    for line in plan_lines(plan, str(settings.store)):
        echo(line)


def plan_lines(plan: Any, store: str) -> list[str]:
    """Return what a study would do and take."""
    missing = plan.trials - plan.recorded
    search = plan.search
    lines = [
        f"study {plan.study} in {store}",
        f"  method         {plan.method}",
        f"  data set       {plan.dataset}: {plan.data}",
        f"  task           {plan.task}: {plan.primary}; {len(plan.folds)} validation folds",
        *(f"  {role:<13}  {steps}" for role, steps in plan.preprocessing.items()),
    ]
    if plan.searched:
        lines.append("  searched")
        for name, text in plan.searched.items():
            default = f"  (trial 0: {format_value(plan.defaults[name])})" if name in plan.defaults else ""
            lines.append(f"    {name}: {text}{default}")
    else:
        lines.append("  searched       nothing")
    for number, values in enumerate(plan.first, start=1):
        lines.append(f"    trial {number}: {', '.join(f'{k}={format_value(v)}' for k, v in values.items())}")
    patience = f", at most {search['patience']} without a better one" if search["patience"] else ""
    recorded = f", {plan.recorded} of them recorded already" if plan.recorded else ""
    lines += [
        f"  trials         {plan.trials}{recorded}; sampler {search['sampler']}, batches of {search['batch_size']}, "
        f"pruner {search['pruner']}, seed {search['seed']}{patience}",
        f"  test           {plan.tests} evaluation{'s' if plan.tests > 1 else ''} of the best, on the test split",
    ]
    if plan.reason:
        return [*lines, f"the trial that was to be timed failed: {plan.reason}", _NOTHING]
    least = "at least " if plan.at_least else "about "
    timed = "was stopped after" if plan.at_least else "took"
    return [
        *lines,
        f"time: {least}{duration(plan.seconds)} for {counted(missing, 'trial')} and the test with "
        f"{counted(plan.workers, 'worker')}; a "
        f"trial at the defaults {timed} {plan.trial_seconds:.2g} s, preparing {plan.prepare_seconds:.2g} s",
        f"memory: about {size(plan.memory_bytes)} in the workers together"
        if plan.memory_bytes
        else "memory: not known, since the trial was stopped",
        f"disk: at most about {size(plan.disk_bytes)} of records, pictures and matrices, {size(plan.cache_bytes)} of "
        "cache, which is bounded",
        _NOTHING,
    ]


def size(count: int) -> str:
    """Return bytes as people say them."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{max(count / 2**20, 0.1):.1f} MiB"


def print_run(result: Any, experiment: Any, settings: Any, *, as_json: bool) -> None:
    """Print the metrics of a single experiment, and where its runs and artifacts are."""
    if as_json:
        print_json({**vars(result), "tracking_uri": settings.shown_tracking_uri})
        return
    console = stdout_console()
    title = f"{experiment.method} on {experiment.dataset_text}, task {experiment.task}: {result.split} split"
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


def print_cross_validation(result: Any, experiment: Any, *, as_json: bool) -> None:
    """Print the metrics of every fold, and their mean and spread."""
    from rich.table import Table

    if as_json:
        studies = [{"fold": fold, **vars(one)} for fold, one in zip(result.folds, result.studies, strict=True)]
        print_json({"primary": result.primary, "mean": result.mean, "spread": result.spread, "studies": studies})
        return
    console = stdout_console()
    _line(
        console,
        f"{experiment.method.name} on {experiment.dataset_text}, task {experiment.task}: "
        f"{len(result.folds)} folds, a study each",
    )
    names = list(result.mean)
    table = Table("fold", *(f"{'validation and ' if name == result.primary else ''}test {name}" for name in names))
    for fold, study, test in zip(result.folds, result.studies, result.test, strict=True):
        cells = {name: f"{test[name]:.4f}" for name in names}
        cells[result.primary] = f"{study.validation[result.primary]:.4f} -> {test[result.primary]:.4f}"
        table.add_row(str(fold), *cells.values())
    table.add_section()
    table.add_row("mean", *(f"{result.mean[name]:.4f} ± {result.spread[name]:.4f}" for name in names))
    console.print(table, markup=False)
    chance = sum(study.test_chance for study in result.studies) / len(result.studies)
    _line(
        console,
        f"± is the standard deviation over the folds; chance {chance:.4f}; every fold tuned in its own training rows",
    )
    lines = list(dict.fromkeys(line for study in result.studies for line in study.warnings))
    print_warnings(console, lines, sum(study.silenced for study in result.studies))


def print_sweep(result: Any, dataset: str, *, as_json: bool) -> None:
    """Print the points of a sweep, a column or two for each method, and where its figure and table are."""
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
        table.add_row(format_value(value), *("none" if number is None else f"{number:.4f}" for number in numbers))
    console = stdout_console()
    _line(console, f"{result.primary} on {dataset}, task {result.task}: sweep of {result.parameter}")
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


def ui_hint(settings: Any) -> str:
    """Return the command that shows the runs; none for a server, whose address is all that it takes."""
    if not settings.tracking_is_local:
        return ""
    is_usual = settings.store == Path("mlruns").absolute()
    return f" (zslplat ui{'' if is_usual else f' --store {shlex.quote(str(settings.store))}'})"


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _line(console: Any, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)

"""What ``tune``, ``run``, ``sweep`` and ``cross-validate`` print at their end."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zslplat.cli.invocation import echo, print_json
from zslplat.cli.output import place_options, print_result, print_warnings, stdout_console
from zslplat.keys import METRIC
from zslplat.names import counted


def print_study(study: Any, *, as_json: bool, quiet: bool) -> None:
    """Print a study: what matters in three lines, all metrics, the winner, warnings, and last where it is recorded.

    ``quiet``: its score and its name in one line.
    """
    from zslplat.cli.output import warn
    from zslplat.evaluation.components import describe_knowledge
    from zslplat.summary import table_lines

    result, experiment, settings = study.result, study.experiment, study.settings
    if as_json:
        fixed = dict(experiment.method.parameters)
        knows = describe_knowledge(experiment.method.with_parameters(result.parameters), experiment.signatures)
        more = {"fixed": fixed, "knows_of_batch": knows, "tracking_uri": settings.shown_tracking_uri}
        print_json({**vars(result), **more})
        return
    if quiet:
        scores = {"test": result.test, "validation": [result.validation]}
        echo(_in_one_line(result, experiment, scores, f"study {result.name}"))
        return
    places, name = place_options(settings), shlex.quote(result.name)
    echo(f"{experiment.method.name} on {experiment.dataset_text}, task {experiment.task}")
    tested = headline(result, experiment, settings, warn, places) if result.test else ["not tested (--repeats 0)"]
    for line in [*tested, *table_lines(study.scores), *study.facts]:
        echo(line)
    print_warnings(stdout_console(), result.warnings, result.silenced, f"zslplat studies show {name}{places}")
    again = f"again: zslplat run --test --config {shlex.quote(_shown(result.config))}{places}"
    lines = [
        f"study: {result.name}",
        f"runs: {settings.shown_tracking_uri}{ui_hint(settings)}",
        again if result.test else "test: the same command without --repeats 0",
        *(f"check: zslplat rerun {run_id} --check{places}" for run_id in result.final_run_ids[:1] if run_id),
    ]
    for line in lines:
        echo(line)


def _in_one_line(result: Any, experiment: Any, scores: Mapping[str, Sequence[Mapping[str, float]]], name: str) -> str:
    """Return the primary metric of a study or run by split, the mean over repeats, with its name and its warnings."""
    shown = [
        f"{split} {sum(one[result.primary] for one in metrics) / len(metrics):.4f}"
        for split, metrics in scores.items()
        if metrics and result.primary in metrics[0]
    ]
    warned = [f"warning {code}" for code in dict.fromkeys(line.partition(" ")[0] for line in result.warnings)]
    subject = f"{experiment.method.name} on {experiment.dataset_text}, task {experiment.task}"
    return f"{subject}: {result.primary} {', '.join([*shown, name, *warned])}"


def headline(study: Any, experiment: Any, settings: Any, warn: Callable[[str], None], places: str = "") -> list[str]:
    """Return the score on the test split with its interval, its distance from the control, and the next command.

    The interval is over new classes, as in ``compare``. Where no control is recorded the second line has the chance
    level, and the third the command that tunes the control. ``places``: options that lead to the store, for commands.
    """
    from zslplat.comparison.leaderboard import leaderboard
    from zslplat.comparison.sheets import ends, number, verdict
    from zslplat.evaluation.components import build_component
    from zslplat.evidence.scores import scores_of, with_outcomes
    from zslplat.evidence.table import ResultTable
    from zslplat.kinds import kind_of
    from zslplat.records.opening import existing_records

    task = build_component("tasks", experiment.task)
    dataset, protocol, metric = str(experiment.dataset), str(experiment.task), study.primary
    with existing_records(settings, warn) as records:
        table = ResultTable(records, warn)
        by_name = {result.name: result for result in table.tested(dataset, protocol)}
        results = [by_name[name] for name in (study.name, study.control) if name in by_name]
        scores = [
            with_outcomes(scored, result, task, warn, (metric,))
            for scored, result in zip(scores_of(results), results, strict=True)
        ]
    control = results[1] if len(results) > 1 else None
    of_metric = task.optimising(task.metric(experiment.search.get(METRIC, metric).partition(",")[0])).primary
    against = control.name if control else study.name
    row = next(r for r in leaderboard(scores, metric, of_metric, against) if r["study"] == study.name)
    interval = ends(row, "low_classes", "high_classes")
    covered = f"on other classes like these {interval} (95 %)" if interval else "of too few classes for an interval"
    lines = [f"test {metric} {number(row['test'])}, {covered}"]
    name = by_name[study.name].about.get("control", kind_of(task.kind).control)
    if control:
        gap = ends(row, "difference_low_classes", "difference_high_classes", sign=True)
        text = f"{number(row['difference'], sign=True)}" + (f" ({gap})" if gap else "")
        judged = verdict(row) or "no interval over new classes, so no verdict"
        ours, theirs = (result.search_trials for result in results)
        if theirs and ours and theirs < ours and control.has_hyperparameters:
            judged = f"no verdict: {counted(theirs, 'trial')} there, {ours} here"
        lines.append(f"against the control {name}: {text}, {judged}")
    else:
        missing = f"; the control, {name}, is not tuned here yet" if name not in ("", experiment.method.name) else ""
        chance = number(study.test_chance) if study.test_chance == study.test_chance else "not known of this metric"
        lines.append(f"against chance, {chance}{missing}")
    return [*lines, f"next: {_next(experiment, name if not control else '')}{places}"]


def _next(experiment: Any, control: str) -> str:
    """Return the command that tunes the control, where it is to be tuned, else the one that compares."""
    place: list[Any] = ["-d", experiment.dataset_text, "-t", experiment.task]
    if control and experiment.method.name != control:
        metric = ["--metric", experiment.search[METRIC]] if METRIC in experiment.search else []
        return shlex.join(["zslplat", "tune", "-m", control, *map(str, place), *metric])
    return shlex.join(["zslplat", "compare", *map(str, place)])


def print_run(outcome: Any, *, as_json: bool, quiet: bool) -> None:
    """Print a single experiment as Python shows it, and where its runs are; ``quiet``: in one line."""
    result, settings = outcome.result, outcome.settings
    runs = ", ".join(run for run in result.run_ids if run)
    if as_json:
        print_json({**vars(result), "tracking_uri": settings.shown_tracking_uri})
    elif quiet:
        echo(_in_one_line(result, outcome.experiment, {result.split: result.metrics}, f"run {runs}"))
    else:
        print_result(outcome, result.warnings, [f"runs: {runs} in {settings.shown_tracking_uri}"])


def print_cross_validation(result: Any, experiment: Any, *, as_json: bool, quiet: bool) -> None:
    """Print the metrics of every fold, and their mean and spread; ``quiet``: these of the primary metric alone."""
    from zslplat.checks.base import lines_of_places
    from zslplat.summary import table_lines

    if as_json:
        studies = [{"fold": fold, **vars(one)} for fold, one in zip(result.folds, result.studies, strict=True)]
        print_json({"primary": result.primary, "mean": result.mean, "spread": result.spread, "studies": studies})
        return
    subject = f"{experiment.method.name} on {experiment.dataset_text}, task {experiment.task}"
    folds, primary = counted(len(result.folds), "fold"), result.primary
    means = {name: f"{mean:.4f} ± {result.spread[name]:.4f}" for name, mean in result.mean.items()}
    if quiet:
        echo(f"{subject}: test {primary} {means[primary]} over {folds}")
        return
    validation = {f"validation {primary}": [*(study.validation[primary] for study in result.studies), None]}
    test = {f"test {name}": [*(fold[name] for fold in result.test), text] for name, text in means.items()}
    chance = sum(study.test_chance for study in result.studies) / len(result.studies)
    note = f"± is the standard deviation over the folds; chance {chance:.4f}; every fold tuned in its own training rows"
    for line in [
        f"{subject}: {folds}, a study each",
        *table_lines({"fold": [*result.folds, "mean"], **validation, **test}),
    ]:
        echo(line)
    echo(note)
    pairs = zip(result.folds, result.studies, strict=True)
    lines = lines_of_places((f"fold {fold}", line) for fold, study in pairs for line in study.warnings)
    print_warnings(stdout_console(), lines, sum(study.silenced for study in result.studies))


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

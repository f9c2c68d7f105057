"""``tune``, ``run``, ``rerun`` and ``sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from zslplat.cli import options as o

DEFAULT_DATASET, DEFAULT_TASK = "digit-pairs", "zsl"


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(tune)
    app.command()(run)
    app.command()(rerun)
    app.command()(sweep)


def tune(
    method: o.Method,
    dataset: o.DatasetSpec = DEFAULT_DATASET,
    task: o.TaskSpec = DEFAULT_TASK,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            "-n",
            help="Trials in all; more extend a study. Default: 20; all points of a grid; 1 where nothing is searched.",
            min=1,
        ),
    ] = None,
    set_: o.Set = None,
    kernel: o.Kernel = None,
    space: Annotated[
        list[str] | None,
        typer.Option("--space", help="Search range: lam=1e-3..1e3:log or kernel=a|b. May be repeated."),
    ] = None,
    features: o.Features = None,
    signatures: o.Signatures = None,
    study: Annotated[
        str | None, typer.Option("--study", help="Name of the study; default: made from the request.")
    ] = None,
    sampler: Annotated[
        str,
        typer.Option(
            "--sampler",
            help="tpe, random or grid: all combinations of 7 values of each range, never more than --trials, and more "
            "than 1000 only where --trials asks for them.",
        ),
    ] = "tpe",
    pruner: Annotated[
        str, typer.Option("--pruner", help="median or none; acts on methods that train in epochs.")
    ] = "median",
    batch_size: Annotated[
        int, typer.Option("--batch-size", help="Trials proposed together, whatever --workers.", min=1)
    ] = 4,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Address of a Dask scheduler.")] = None,
    repeats: o.Repeats = 5,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Seconds after which the search ends.", min=1)
    ] = None,
    trial_timeout: Annotated[
        float | None,
        typer.Option("--trial-timeout", help="Seconds after which a trial is stopped; not for the final one.", min=0.1),
    ] = None,
    memory: o.Memory = None,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Try failed trials again; a higher limit does so, too."),
    ] = False,
    accept_changed_code: Annotated[
        bool, typer.Option("--accept-changed-code", help="Continue although code has changed; the mixture is marked.")
    ] = False,
    trial_artifacts: Annotated[
        float, typer.Option("--trial-artifacts", help="MiB of learned matrices logged over all trials.", min=0)
    ] = 64,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Search hyperparameters on validation folds, then refit the best and score the test split.

    The same command continues a stopped study; a larger --trials extends it.
    """
    from zslplat.cli.reporting import reporting
    from zslplat.errors import UnknownNameError
    from zslplat.tuning.options import StudyOptions
    from zslplat.tuning.proposals import SAMPLERS
    from zslplat.tuning.study import run_study

    for kind, value, known in (("sampler", sampler, SAMPLERS), ("pruner", pruner, ("median", "none"))):
        if value not in known:
            raise UnknownNameError(kind, value, known)
    settings = o.settings_from(data_root, store, tracking_uri, storage_url, silence)
    setting = setting_of(method, set_, kernel, dataset, task, features, signatures, seed, space, searched=True)
    count = o.worker_count(workers)
    study_options = StudyOptions(
        name=study,
        trials=trials,
        batch_size=batch_size,
        sampler=sampler,
        pruner=pruner,
        workers=count,
        cluster=cluster,
        timeout=timeout,
        trial_timeout=trial_timeout,
        memory_bytes=o.memory_limit(memory, count),
        repeats=repeats,
        artifact_bytes=int(trial_artifacts * 2**20),
        accept_changed_code=accept_changed_code,
        retry_failed=retry_failed,
    )
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        result = run_study(setting, study_options, settings, reporter)
    from zslplat.cli.outcomes import print_study

    print_study(result, setting, settings, as_json=as_json)


def run(
    method: Annotated[str | None, typer.Option("--method", "-m", help="Method with its parameters.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A best.toml or run.toml instead of --method.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help=f"Data set; default {DEFAULT_DATASET}.")
    ] = None,
    task: Annotated[str | None, typer.Option("--task", "-t", help=f"Protocol; default {DEFAULT_TASK}.")] = None,
    test: Annotated[bool, typer.Option("--test", help="Score the test split instead of the validation folds.")] = False,
    set_: o.Set = None,
    kernel: o.Kernel = None,
    features: o.Features = None,
    signatures: o.Signatures = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of everything random; default 0.", min=0)] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Repeats of random methods.", min=1)] = 1,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Folder for copies of the artifacts; or one of them, by its name: features.csv."),
    ] = None,
    workers: o.Workers = None,
    trial_timeout: o.TrialTimeout = None,
    memory: o.Memory = None,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Evaluate one setting on the validation folds, or on the test split with --test."""
    from zslplat.cli.reporting import reporting
    from zslplat.config import read_config
    from zslplat.errors import UsageError
    from zslplat.evaluation.worker import Limits
    from zslplat.tuning.single import run_setting

    if (method is None) == (config is None):
        raise UsageError("give either --method or --config")
    content: dict[str, Any] = read_config(config) if config is not None else {"method": method}
    settings = o.settings_from(data_root, store, tracking_uri, storage_url, silence)
    setting = setting_of(
        content["method"],
        set_,
        kernel,
        dataset or content.get("dataset", DEFAULT_DATASET),
        task or content.get("task", DEFAULT_TASK),
        features if features is not None else content.get("features"),
        signatures if signatures is not None else content.get("signatures"),
        seed if seed is not None else int(content.get("seed", 0)),
        recorded=config is not None,
    )
    count = o.worker_count(workers)
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        result = run_setting(
            setting,
            settings,
            test=test,
            repeats=max(repeats, int(content.get("repeats", 1))),
            validation_choices=content.get("carried"),
            workers=count,
            limits=Limits(trial_timeout, o.memory_limit(memory, count)),
            reporter=reporter,
            export_to=export,
            method_seed=content.get("method_seed") if seed is None else None,
        )
    from zslplat.cli.outcomes import print_run

    print_run(result, setting, settings, as_json=as_json)


def rerun(
    run_id: Annotated[str, typer.Argument(help="A trial, final or single run: its RUN, or MLflow id.", metavar="RUN")],
    check: Annotated[bool, typer.Option("--check", help="Fail unless every metric is the recorded one.")] = False,
    workers: o.Workers = None,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Evaluate a tracked run again, with the same data, parameters and seed, and compare its numbers."""
    from zslplat.cli.reporting import print_json, reporting
    from zslplat.errors import StoreError
    from zslplat.tracking.stores import existing_records
    from zslplat.tuning.rerun import evaluate_again, find_run

    settings = o.settings_from(data_root, store, tracking_uri, storage_url)
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        found = find_run(settings, existing_records(settings, reporter.warn), run_id)
        metrics, compared, lines = evaluate_again(settings, found, workers=o.worker_count(workers), reporter=reporter)
    if as_json:
        print_json({"run": run_id, "compared": compared, "differences": lines, "metrics": metrics})
    else:
        typer.echo(f"{found.name}: {compared} metrics compared, {len(lines)} differ")
        for line in lines:
            typer.echo(f"  {line}")
    if check and (lines or not compared):
        raise StoreError(f"run {found.name!r} did not give its recorded numbers again")


def sweep(
    method: Annotated[
        list[str],
        typer.Option(
            "--method",
            "-m",
            help='Method, for example mfmr-joint or "mfmr(lam=1,k=10)"; several for an option of the task.',
        ),
    ],
    param: Annotated[
        str, typer.Option("--param", "-p", help="The hyperparameter, or the option of the task, that varies.")
    ],
    range_: Annotated[
        str | None, typer.Option("--range", help="low..high, low..high:log or a|b|c; default: its search range.")
    ] = None,
    points: Annotated[int, typer.Option("--points", help="Values in a numeric range.", min=2)] = 9,
    dataset: o.DatasetSpec = DEFAULT_DATASET,
    task: o.TaskSpec = DEFAULT_TASK,
    set_: o.Set = None,
    kernel: o.Kernel = None,
    features: o.Features = None,
    signatures: o.Signatures = None,
    seed: o.Seed = 0,
    repeats: Annotated[int, typer.Option("--repeats", help="Repeats of random methods.", min=1)] = 1,
    workers: o.Workers = None,
    trial_timeout: o.TrialTimeout = None,
    memory: o.Memory = None,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Vary one hyperparameter, or one option of the task, the others fixed: validation and test curves.

    An option of the task (labelled_ratio of feature-selection, imbalance of zsl) may vary for several methods at once;
    write task.NAME where a hyperparameter has the same name. This is analysis: it shows the test curve, and nothing
    ever selects by it.
    """
    from zslplat.cli.outcomes import print_sweep, print_task_sweep
    from zslplat.cli.reporting import reporting
    from zslplat.errors import UnknownNameError, UsageError
    from zslplat.evaluation.worker import Limits
    from zslplat.registry import component
    from zslplat.space import parse_range
    from zslplat.tuning.proposals import grid_values
    from zslplat.tuning.sweep import run_sweep
    from zslplat.tuning.task_sweep import run_task_sweep

    settings = o.settings_from(data_root, store, tracking_uri, storage_url, silence)
    chosen = [setting_of(one, set_, kernel, dataset, task, features, signatures, seed) for one in method]
    setting = chosen[0]
    template = component("methods", setting.method.name).build(setting.method.parameters)
    known = {**template.parameters}
    of_method = param in known or param in template.space
    options = component("tasks", setting.task.name).parameters
    option = param.removeprefix("task.")
    if option not in options and not of_method:
        names = {*known, *template.space, *options}
        raise UnknownNameError(f"parameter of {setting.method.name} or option of {setting.task.name}", param, names)
    of_task = option in options and (param != option or not of_method)
    if not of_task and len(method) > 1:
        raise UsageError(f"{param} is a hyperparameter of {setting.method.name}: give one --method, or sweep a task's")
    legal = options[option].legal if of_task else known[param].legal if param in known else None
    if range_ is not None:
        dimension = parse_range(range_, legal)
    elif not of_task and param in template.space:
        dimension = template.space[param]
    else:
        raise UsageError(f"{param} has no search range of its own; give --range low..high or a|b|c")
    count = o.worker_count(workers)
    limits = Limits(trial_timeout, o.memory_limit(memory, count))
    if of_task:
        values = grid_values(dimension, points)
        with reporting(as_json=as_json, quiet=quiet) as reporter:
            found = run_task_sweep(
                chosen, option, values, settings, repeats=repeats, workers=count, limits=limits, reporter=reporter
            )
        print_task_sweep(found, str(setting.dataset), as_json=as_json)
        return
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        result = run_sweep(
            setting,
            param,
            dimension,
            settings,
            points=points,
            repeats=repeats,
            workers=count,
            limits=limits,
            reporter=reporter,
        )
    print_sweep(result, setting, as_json=as_json)


def setting_of(
    method: str,
    assignments: list[str] | None,
    kernel: str | None,
    dataset: str,
    task: str,
    features: str | None,
    signatures: str | None,
    seed: int,
    spaces: list[str] | None = None,
    *,
    searched: bool = False,
    recorded: bool = False,
) -> Any:
    """Return the setting that the options of a command ask for."""
    from zslplat.data.catalogue import parse_dataset
    from zslplat.evaluation.components import searched_space
    from zslplat.evaluation.setting import Setting
    from zslplat.registry import component
    from zslplat.spec import Spec

    spec = o.method_spec(method, assignments, kernel, recorded=recorded)
    found = {}
    if searched:
        template = component("methods", spec.name).build(spec.parameters)
        found = searched_space(template, spec.parameters, o.ranges_from(spaces))
    return Setting(spec, parse_dataset(dataset), Spec.parse(task), found, features, signatures, seed)

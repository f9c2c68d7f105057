"""``tune``, ``run`` and ``rerun``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from zslplat.cli import completion
from zslplat.cli import options as o
from zslplat.cli.invocation import echo
from zslplat.cli.study_file import config_callback, write_study_file
from zslplat.front.asking import DEFAULT_DATASET as DEFAULT_DATASET
from zslplat.front.asking import DEFAULT_TASK as DEFAULT_TASK


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(tune)
    app.command()(run)
    app.command()(rerun)


def tune(
    context: typer.Context,
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
        str | None,
        typer.Option(
            "--study", autocompletion=completion.studies, help="Name of the study; default: made from the request."
        ),
    ] = None,
    sampler: Annotated[
        str,
        typer.Option(
            "--sampler",
            autocompletion=completion.of("tpe", "random", "grid", "qmc", "gp", "cmaes"),
            help="tpe, random, qmc (Sobol points), gp (Gaussian process; needs torch), cmaes (needs cmaes), or grid: "
            "all combinations of 7 values of each range, never more than --trials, more than 1000 with --yes.",
        ),
    ] = "tpe",
    yes: Annotated[bool, typer.Option("--yes", help="Search a grid of more than 1000 points.")] = False,
    patience: Annotated[
        int | None,
        typer.Option("--patience", help="End the search after so many trials without a better one.", min=1),
    ] = None,
    warm_start: Annotated[
        str | None,
        typer.Option(
            "--warm-start",
            autocompletion=completion.studies,
            help="Try the best trials of another study of the store first: STUDY, or STUDY:K for the K best (4).",
            metavar="STUDY[:K]",
        ),
    ] = None,
    pruner: Annotated[
        str,
        typer.Option(
            "--pruner",
            autocompletion=completion.of("median", "none"),
            help="median or none; acts on methods that train in epochs.",
        ),
    ] = "median",
    batch_size: Annotated[
        int, typer.Option("--batch-size", help="Trials proposed together, whatever --workers.", min=1)
    ] = 4,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    cluster: o.Cluster = None,
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
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="TOML file with these options by name (trials = 40, set = {lam = 1}); the command line overrules it.",
            callback=config_callback,
            is_eager=True,
        ),
    ] = None,
    write_config: Annotated[
        Path | None,
        typer.Option("--write-config", help="Write the options as such a file, and do nothing else."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Say what would be done and about how long it takes, after timing one trial; record nothing.",
        ),
    ] = False,
    trial_artifacts: Annotated[
        float, typer.Option("--trial-artifacts", help="MiB of learned matrices logged over all trials.", min=0)
    ] = 64,
    no_model: o.NoModel = False,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    tag: o.Tag = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Search hyperparameters on validation folds, then refit the best and score the test split.

    The same command continues a stopped study; a larger --trials extends it.
    """
    from zslplat.cli.reporting import reporting
    from zslplat.front.asking import check_search
    from zslplat.tuning.options import StudyOptions
    from zslplat.tuning.study import run_study

    check_search(sampler, pruner)
    settings = o.settings_from(data_root, store, tracking_uri, storage_url, silence, tag)
    experiment = experiment_of(method, set_, kernel, dataset, task, features, signatures, seed, space, searched=True)
    count = o.worker_count(workers, memory)
    study_options = StudyOptions(
        name=study,
        trials=trials,
        patience=patience,
        large_grid=yes,
        warm_start=warm_start,
        batch_size=batch_size,
        sampler=sampler,
        pruner=pruner,
        workers=count,
        cluster=cluster,
        timeout=timeout,
        trial_timeout=trial_timeout,
        memory_bytes=o.memory_limit(memory, count, cluster),
        repeats=repeats,
        artifact_bytes=int(trial_artifacts * 2**20),
        accept_changed_code=accept_changed_code,
        retry_failed=retry_failed,
        keep_models=not no_model,
    )
    if write_config is not None:
        write_study_file(write_config, context)
        echo(f"wrote {write_config}; zslplat tune --config {shlex.quote(str(write_config))} carries it out")
        return
    if dry_run:
        from zslplat.cli.rehearsed import print_rehearsal
        from zslplat.tuning.rehearsal import rehearse

        with reporting(as_json=as_json, quiet=quiet) as reporter:
            found = rehearse(experiment, study_options, settings, reporter)
        print_rehearsal(found, settings, as_json=as_json)
        return
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        result = run_study(experiment, study_options, settings, reporter)
    from zslplat.cli.outcomes import print_study

    print_study(result, experiment, settings, as_json=as_json)


def run(
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", autocompletion=completion.methods, help="Method with its parameters."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A best.toml or run.toml instead of --method.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", "-d", autocompletion=completion.datasets, help=f"Data set; default {DEFAULT_DATASET}."
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", "-t", autocompletion=completion.tasks, help=f"Protocol; default {DEFAULT_TASK}."),
    ] = None,
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
    cluster: o.Cluster = None,
    trial_timeout: o.TrialTimeout = None,
    memory: o.Memory = None,
    no_model: o.NoModel = False,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    tag: o.Tag = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Evaluate one experiment on the validation folds, or on the test split with --test."""
    from zslplat.cli.reporting import reporting
    from zslplat.config import read_config
    from zslplat.errors import UsageError
    from zslplat.evaluation.jobs import Limits
    from zslplat.tuning.single import run_experiment

    if (method is None) == (config is None):
        raise UsageError("give either --method or --config")
    content: dict[str, Any] = read_config(config) if config is not None else {"method": method}
    settings = o.settings_from(data_root, store, tracking_uri, storage_url, silence, tag)
    experiment = experiment_of(
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
    count = o.worker_count(workers, memory)
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        result = run_experiment(
            experiment,
            settings,
            test=test,
            repeats=max(repeats, int(content.get("repeats", 1))),
            validation_choices=content.get("carried"),
            workers=count,
            cluster=cluster,
            limits=Limits(trial_timeout, o.memory_limit(memory, count, cluster)),
            reporter=reporter,
            export_to=export,
            method_seed=content.get("method_seed") if seed is None else None,
            keep_model=not no_model,
        )
    from zslplat.cli.outcomes import print_run

    print_run(result, experiment, settings, as_json=as_json)


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
    from zslplat.records.opening import existing_records
    from zslplat.tuning.rerun import evaluate_again, find_run

    settings = o.settings_from(data_root, store, tracking_uri, storage_url)
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        found = find_run(settings, existing_records(settings, reporter.warn), run_id)
        metrics, compared, lines = evaluate_again(settings, found, workers=o.worker_count(workers), reporter=reporter)
    if as_json:
        print_json({"run": run_id, "compared": compared, "differences": lines, "metrics": metrics})
    else:
        echo(f"{found.name}: {compared} metrics compared, {len(lines)} differ")
        for line in lines:
            echo(f"  {line}")
    if check and (lines or not compared):
        raise StoreError(f"run {found.name!r} did not give its recorded numbers again")


def experiment_of(
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
    """Return the experiment that the options of a command ask for."""
    from zslplat.data.catalogue import parse_dataset
    from zslplat.front.asking import asked
    from zslplat.spec import Spec

    spec = o.method_spec(method, assignments, kernel, recorded=recorded)
    ranges = o.ranges_from(spaces) if searched else None
    return asked(spec, parse_dataset(dataset), Spec.parse(task), features, signatures, seed, ranges)

"""``sweep``: one hyperparameter, or one option of the task, varied."""

from __future__ import annotations

from typing import Annotated

import typer

from zslplat.cli import options as o
from zslplat.cli.experiments import DEFAULT_DATASET, DEFAULT_TASK, experiment_of


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(sweep)


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
    test: Annotated[
        bool,
        typer.Option("--test", help="Score the test split, too, for analysis; each point counts as a look at it."),
    ] = False,
    repeats: Annotated[int, typer.Option("--repeats", help="Repeats of random methods.", min=1)] = 1,
    workers: o.Workers = None,
    cluster: o.Cluster = None,
    trial_timeout: o.TrialTimeout = None,
    memory: o.Memory = None,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    tag: o.Tag = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Vary one hyperparameter, or one option of the task, the others fixed: the curve of validation.

    An option of the task (labelled_ratio of feature-selection, imbalance of zsl) may vary for several methods at once;
    write task.NAME where a hyperparameter has the same name. With --test the test curve stands beside it, for analysis:
    nothing ever selects by it.
    """
    from zslplat.cli.outcomes import print_sweep, print_task_sweep
    from zslplat.cli.reporting import reporting
    from zslplat.evaluation.jobs import Limits
    from zslplat.tuning.proposals import grid_values
    from zslplat.tuning.sweep import run_sweep
    from zslplat.tuning.swept import swept_by
    from zslplat.tuning.task_sweep import run_task_sweep

    settings = o.settings_from(data_root, store, tracking_uri, storage_url, silence, tag)
    chosen = [experiment_of(one, set_, kernel, dataset, task, features, signatures, seed) for one in method]
    experiment = chosen[0]
    swept = swept_by(chosen, param, range_)
    count = o.worker_count(workers, memory)
    limits = Limits(trial_timeout, o.memory_limit(memory, count, cluster))
    if swept.of_task:
        values = grid_values(swept.dimension, points)
        with reporting(as_json=as_json, quiet=quiet) as reporter:
            found = run_task_sweep(
                chosen,
                swept.name,
                values,
                settings,
                test=test,
                repeats=repeats,
                workers=count,
                cluster=cluster,
                limits=limits,
                reporter=reporter,
            )
        print_task_sweep(found, str(experiment.dataset), as_json=as_json)
        return
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        result = run_sweep(
            experiment,
            swept.name,
            swept.dimension,
            settings,
            points=points,
            test=test,
            repeats=repeats,
            workers=count,
            cluster=cluster,
            limits=limits,
            reporter=reporter,
        )
    print_sweep(result, experiment, as_json=as_json)

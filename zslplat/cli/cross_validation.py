"""``cross-validate``: a study for every fold, and the mean over the folds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zslplat.cli import options as o

DEFAULT_TASK = "coding"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("cross-validate")(cross_validate)


def cross_validate(
    method: o.Method,
    dataset: o.DatasetSpec,
    task: o.TaskSpec = DEFAULT_TASK,
    splits: Annotated[
        int | None,
        typer.Option("--splits", help="Drawn splits, for a data set without folds of its own.", min=2),
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", "-n", help="Trials of each fold's study; default: 20.", min=1)
    ] = None,
    set_: o.Set = None,
    kernel: o.Kernel = None,
    space: Annotated[
        list[str] | None, typer.Option("--space", help="Search range: lam=1e-3..1e3:log. May be repeated.")
    ] = None,
    features: o.Features = None,
    signatures: o.Signatures = None,
    study: Annotated[
        str | None, typer.Option("--study", help="Beginning of the studies' names; default: made from the request.")
    ] = None,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    cluster: o.Cluster = None,
    repeats: o.Repeats = 5,
    trial_timeout: o.TrialTimeout = None,
    memory: o.Memory = None,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Try failed trials again; a higher limit does so, too."),
    ] = False,
    accept_changed_code: Annotated[
        bool, typer.Option("--accept-changed-code", help="Continue although code has changed; the mixture is marked.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", help="CSV file that gets the metrics by fold.")] = None,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Tune every fold of a data set inside its own training rows, test it, and show the mean over the folds.

    It costs one study per fold; the same command continues a stopped one.
    """
    from rich.table import Table as Shown

    from zslplat.cli.experiments import experiment_of
    from zslplat.cli.reporting import print_json, print_warnings, reporting, stdout_console
    from zslplat.tables import Table, write_table
    from zslplat.tuning import cross_validation
    from zslplat.tuning.options import StudyOptions

    settings = o.settings_from(data_root, store, tracking_uri, storage_url, silence)
    experiment = experiment_of(method, set_, kernel, dataset, task, features, signatures, seed, space, searched=True)
    count = o.worker_count(workers, memory)
    options = StudyOptions(
        name=study,
        trials=trials,
        workers=count,
        cluster=cluster,
        repeats=repeats,
        trial_timeout=trial_timeout,
        memory_bytes=o.memory_limit(memory, count, cluster),
        accept_changed_code=accept_changed_code,
        retry_failed=retry_failed,
    )
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        found = cross_validation.cross_validate(experiment, options, settings, reporter, splits=splits)
    columns = {name: [fold[name] for fold in found.test] for name in found.mean}
    if out is not None:
        write_table(Table({"fold": found.folds, "study": [s.name for s in found.studies], **columns}), out)
    if as_json:
        studies = [{"fold": fold, **vars(one)} for fold, one in zip(found.folds, found.studies, strict=True)]
        print_json({"primary": found.primary, "mean": found.mean, "spread": found.spread, "studies": studies})
        return
    console = stdout_console()
    title = (
        f"{experiment.method.name} on {experiment.dataset}, task {experiment.task}: "
        f"{len(found.folds)} folds, a study each"
    )
    console.print(title, highlight=False, markup=False, soft_wrap=True)
    table = Shown("fold", *(f"{'validation and ' if name == found.primary else ''}test {name}" for name in columns))
    for number, one in enumerate(found.studies):
        cells = [f"{columns[name][number]:.4f}" for name in columns]
        cells[list(columns).index(found.primary)] = (
            f"{one.validation[found.primary]:.4f} -> {found.test[number][found.primary]:.4f}"
        )
        table.add_row(str(found.folds[number]), *cells)
    table.add_section()
    table.add_row("mean", *(f"{found.mean[name]:.4f} ± {found.spread[name]:.4f}" for name in columns))
    console.print(table, markup=False)
    chance = sum(one.test_chance for one in found.studies) / len(found.studies)
    note = f"± is the standard deviation over the folds; chance {chance:.4f}; every fold tuned in its own training rows"
    console.print(note, highlight=False, markup=False, soft_wrap=True)
    lines = list(dict.fromkeys(line for one in found.studies for line in one.warnings))
    print_warnings(console, lines, sum(one.silenced for one in found.studies))

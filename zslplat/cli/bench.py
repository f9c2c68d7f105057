"""``bench``: a suite carried out as a grid of studies, or what is missing of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zslplat.cli import completion
from zslplat.cli import options as o


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(bench)


def bench(
    suite: Annotated[
        str,
        typer.Argument(
            autocompletion=completion.suites,
            help="Name of a suite (zslplat list suites), or a TOML file.",
            metavar="SUITE",
        ),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A data set, a row, or DATA/ROW of the suite. May be repeated."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", "-n", help="Trials of every search; default: the suite's.", min=1)
    ] = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", help="Repeats of random methods; default: the suite's.", min=1)
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(
            "--splits",
            help="Draw the seen and unseen classes of each data set anew, so many times, in place of the given ones.",
            min=2,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the tables; default: suites/SUITE in the store.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep scores and differences with their provenance among the results.")
    ] = False,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Folder of kept results; default: ./results."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what is done already, and what time, memory and disk the rest would take."),
    ] = False,
    probe: Annotated[
        float,
        typer.Option(
            "--probe", help="Seconds that --dry-run may take to time methods of which nothing is recorded.", min=0
        ),
    ] = 60,
    workers: o.Workers = None,
    cluster: o.Cluster = None,
    abreast: Annotated[
        int | None,
        typer.Option(
            "--abreast", help="Studies carried out side by side; default: as many as keep the workers busy.", min=1
        ),
    ] = None,
    trial_timeout: o.TrialTimeout = None,
    memory: o.Memory = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed trials again; a higher limit does so, too.")
    ] = False,
    accept_changed_code: Annotated[
        bool, typer.Option("--accept-changed-code", help="Continue although code has changed; the mixture is marked.")
    ] = False,
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
    """Carry out a suite: methods x data sets x tasks, with equal budgets, as a grid of studies.

    The same command goes on where it was stopped. A cell that fails leaves the others alone, and the exit code is 1;
    data sets that are not at hand are left out. Several commands may work on one suite in one store.
    """
    from zslplat.cli.grid_view import grid_reporting, print_grid, print_plan
    from zslplat.front.benches import tables_folder
    from zslplat.suites.earlier_results import carry_out_compared
    from zslplat.suites.grid import GridOptions
    from zslplat.suites.suite import load_suite

    settings = o.settings_from(data_root, store, tracking_uri, storage_url, silence, tag)
    found = load_suite(suite, settings)
    count = workers or found.workers or o.worker_count(None, memory)
    options = GridOptions(
        trials=trials,
        repeats=repeats,
        workers=count,
        cluster=cluster,
        only=only or (),
        splits=splits,
        out=out or tables_folder(settings, found, splits),
        trial_timeout=trial_timeout,
        memory_bytes=o.memory_limit(memory, count, cluster),
        retry_failed=retry_failed,
        accept_changed_code=accept_changed_code,
        abreast=abreast,
        keep_models=not no_model,
    )
    if dry_run:
        from zslplat.suites.plan import plan
        from zslplat.suites.probe import Probe

        with grid_reporting(as_json=as_json, quiet=quiet) as reporter:
            planned = plan(found, options, settings, Probe(settings, probe, reporter))
        print_plan(planned, settings.cache_gigabytes, as_json=as_json)
        return
    with grid_reporting(as_json=as_json, quiet=quiet) as reporter:
        result, again = carry_out_compared(found, options, settings, reporter, keep=keep, folder=results)
    print_grid(result, again, settings.silenced, as_json=as_json)
    if result.exit_code:
        raise typer.Exit(result.exit_code)

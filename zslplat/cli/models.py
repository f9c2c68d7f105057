"""``predict``, ``export`` and ``models``: what final evaluations learned, used on rows of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from zslplat.cli import options as o
from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo

app = Commands(help="Models that final evaluations left: list them, show one, remove one.")

Run = Annotated[str, typer.Option("--run", help="RUN of a final evaluation, or the folder of a model or an export.")]


def register(app_: typer.Typer) -> None:
    """Add the commands to the application."""
    app_.command()(predict)
    app_.command()(export)
    app_.add_typer(app, name="models")


def predict(
    run: Run,
    input_: Annotated[
        Path, typer.Option("--input", help="Rows, unprocessed as data sets hold them: .npy (n, d), .csv or .parquet.")
    ],
    output: Annotated[Path, typer.Option("--output", help="File for the predictions: .csv or .parquet.")],
    signatures: Annotated[
        Path | None,
        typer.Option(
            "--signatures",
            help="New classes instead of the run's: .csv or .parquet, a line per class: its name, then its attributes.",
        ),
    ] = None,
    generalised: Annotated[
        bool, typer.Option("--generalised", help="The classes that were trained on compete, too.")
    ] = False,
    top: Annotated[
        int | None, typer.Option("--top", help="How many of the best to write for each row; default 1.", min=1)
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Write the scores of all classes, too.")] = False,
    store: o.Store = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score rows of your own with the model of a run, against its classes or new ones; memory is bounded."""
    from zslplat.cli.reporting import print_json, reporting
    from zslplat.models.predictions import check_output, predictions, write_predictions
    from zslplat.models.row_files import RowFile
    from zslplat.serving.runs import load_model

    check_output(output)
    model = load_model(run, settings=o.settings_from(store=store, storage_url=storage_url))
    rows = RowFile(input_, model.features.views)
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        if model.joint:
            reporter.note(f"{model.method_name} scores rows jointly: all rows of {input_} are one batch")
        blocks = predictions(model, rows, signatures, generalised=generalised, top=top, scores=scores)
        of_all = f" of {rows.rows}" if rows.rows is not None else ""
        done = write_predictions(blocks, output, _now_and_then(reporter.stage, of_all))
    if as_json:
        print_json({"rows": done, "output": str(output), "model": model.describe()})
    else:
        echo(f"{done} rows: predictions in {output}")


def export(
    run: Run,
    to: Annotated[Path, typer.Option("--to", help="New folder for the MLflow model.")],
    register_: Annotated[
        str | None,
        typer.Option("--register", help="Name in MLflow's model registry of the store; a new version of it."),
    ] = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
) -> None:
    """Write the model of a run as an MLflow model, which `mlflow models serve` answers with; no pickle, no store."""
    from zslplat.cli.reporting import print_json
    from zslplat.serving.mlflow_model import export_model, register_model

    settings = o.settings_from(store=store, tracking_uri=tracking_uri, storage_url=storage_url)
    done = export_model(settings, run, to)
    version = register_model(settings, register_, done) if register_ is not None else None
    if as_json:
        print_json({"folder": str(done.folder), "bytes": done.bytes, "registered": register_, "version": version})
        return
    echo(f"MLflow model in {done.folder}, {done.bytes / 2**20:.1f} MiB")
    echo(f"  mlflow models serve --model-uri {done.folder} --env-manager local --port 5001")
    if version is not None:
        echo(f"registered as {register_}, version {version}, in {settings.shown_tracking_uri}")


@app.command("list")
def list_(store: o.Store = None, storage_url: o.StorageUrl = None, as_json: o.Json = False) -> None:
    """List the models of a store, oldest first: run, method, data set, task, the test's primary metric, size."""
    from dataclasses import asdict

    from zslplat.cli.reporting import print_json
    from zslplat.records.opening import existing_records
    from zslplat.serving.runs import stored_models

    settings = o.settings_from(store=store, storage_url=storage_url)
    records = existing_records(settings, o.say)
    found = stored_models(settings, records)
    records.close()
    if as_json:
        print_json([asdict(one) for one in found])
        return
    rows = [("run", "test", "MiB", "data set", "task", "method")]
    rows += [
        (
            one.run,
            "" if one.value is None else f"{one.value:.4f}",
            f"{one.bytes / 2**20:.1f}",
            *((one.dataset, one.task, one.method) if not one.problem else (one.problem, "", "")),
        )
        for one in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (c.rjust(w) if i in (1, 2) else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        echo("  ".join(cells).rstrip())


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="RUN of a final evaluation, or the folder of a model.")],
    store: o.Store = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
) -> None:
    """Show a model: method, what it was trained on, how rows are to be given, the classes that it knows."""
    from zslplat.cli.reporting import print_json
    from zslplat.serving.runs import load_model

    told = load_model(run, settings=o.settings_from(store=store, storage_url=storage_url)).describe()
    if as_json:
        print_json(told)
        return
    for name, value in told.items():
        if isinstance(value, list):
            shown = ", ".join(str(one) for one in value[:8]) + (f", ... ({len(value)})" if len(value) > 8 else "")
        elif isinstance(value, dict):
            shown = "; ".join(f"{role}: {', '.join(steps) or 'none'}" for role, steps in value.items())
        else:
            shown = str(value)
        echo(f"{name}: {shown}")


@app.command()
def remove(
    runs: Annotated[list[str], typer.Argument(help="RUNs whose models go; what is recorded of them stays.")],
    store: o.Store = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
) -> None:
    """Remove the models of runs, and the arrays that no other model has; the same command of a run makes it anew."""
    from zslplat.cli.reporting import print_json
    from zslplat.records.maintenance import at_rest
    from zslplat.records.opening import existing_records
    from zslplat.serving.runs import model_folder, remove_model

    settings = o.settings_from(store=store, storage_url=storage_url)
    records = existing_records(settings, o.say)
    with at_rest(settings):
        # None goes where one is not there, and one that is named twice goes once.
        found = {model_folder(settings, records, run): run for run in runs}
        freed = {run: remove_model(settings, records, run) for run in found.values()}
    records.close()
    if as_json:
        print_json({"removed": list(freed), "bytes": sum(freed.values())})
        return
    echo(f"removed {len(freed)} models, {sum(freed.values()) / 2**20:.1f} MiB")


def _now_and_then(tell: Callable[[str], None], of_all: str) -> Callable[[int], None]:
    """Return a listener that tells how many rows are done, now and then."""
    import time

    last = time.monotonic()

    def listener(rows: int) -> None:
        nonlocal last
        if time.monotonic() - last > 2:
            last = time.monotonic()
            tell(f"{rows}{of_all} rows scored")

    return listener

"""``predict``, ``export`` and ``models``: what final evaluations learned, used on rows of one's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import Json, Quiet, StoreOptions, TrackingOptions
from zslplat.front.schema import REQUIRED, Option
from zslplat.names import counted

_LATEST = "latest"

app = Commands(help="Models of final evaluations: list, show, remove.", default="list")


def register(group: Commands) -> None:
    """Add the commands to the application."""
    group.command()(predict)
    group.command()(export)
    group.add_typer(app, name="models")


class PredictOptions(StoreOptions, total=False):
    """The options of ``predict``."""

    input: Annotated[
        Path,
        Option("Rows, unprocessed as data sets hold them: .npy (n, d), .csv or .parquet.", REQUIRED, by_position=True),
    ]
    run: Annotated[str, Option("Run, study or method with a model, latest, or the folder of a model.", _LATEST)]
    output: Annotated[Path, Option("File for the predictions: .csv or .parquet.", Path("predictions.csv"))]
    signatures: Annotated[
        Path | None,
        Option("New classes instead of the run's: .csv or .parquet, a line per class: its name, then its attributes."),
    ]
    generalised: Annotated[bool, Option("The classes that were trained on compete, too.", False)]
    top: Annotated[int | None, Option("How many of the best to write for each row; default 1.", least=1)]
    scores: Annotated[bool, Option("Write the scores of all classes, too.", False)]
    json: Json
    quiet: Quiet


def predict(options: PredictOptions) -> None:
    """Score rows of your own with a recorded model."""
    from zslplat.front.progress import progress
    from zslplat.front.requests import settings_of
    from zslplat.models.predictions import RowFile, check_output, predictions, write_predictions
    from zslplat.serving.runs import find_model

    check_output(options["output"])
    place = find_model(options["run"], settings_of(options))
    model = place.load()
    if not options["quiet"]:
        echo(place.line(model), err=True)
    with progress(quiet=options["quiet"]) as reporter:
        rows = RowFile(options["input"], model.features.views, model.columns)
        if rows.ignored:
            reporter.note(f"{options['input']}: columns that are no features are ignored: {', '.join(rows.ignored)}")
        if model.joint:
            reporter.note(f"{model.method_name} scores rows jointly: all rows of {options['input']} are one batch")
        signatures, top = options["signatures"], options["top"]
        blocks = predictions(
            model, rows, signatures, generalised=options["generalised"], top=top, scores=options["scores"]
        )
        of_all = f" of {rows.rows}" if rows.rows is not None else ""
        done = write_predictions(blocks, options["output"], _now_and_then(reporter.stage, of_all))
    if options["json"]:
        names = {"run": place.run, "study": place.study}
        print_json({"rows": done, "output": str(options["output"]), **names, "model": model.describe()})
    else:
        echo(f"{counted(done, 'row')}: predictions in {options['output']}")


class ExportOptions(TrackingOptions, total=False):
    """The options of ``export``."""

    run: Annotated[
        str,
        Option("Run, study or method with a model (zslplat models), latest, or a folder.", REQUIRED, by_position=True),
    ]
    to: Annotated[Path, Option("New folder for the MLflow model.", REQUIRED)]
    json: Json


def export(options: ExportOptions) -> None:
    """Write a recorded model as an MLflow model, to be served.

    `mlflow models serve` answers with it. It needs no pickle and no store.
    """
    from zslplat.front.requests import settings_of
    from zslplat.serving.mlflow_model import export_model

    settings = settings_of(options)
    done = export_model(settings, options["run"], options["to"])
    if options["json"]:
        print_json({"folder": str(done.folder), "bytes": done.bytes, "run": done.run, "study": done.study})
        return
    echo(f"MLflow model in {done.folder}, {done.bytes / 2**20:.1f} MiB")
    echo(f"  {done.line}")
    echo(f"  in Python: mlflow.pyfunc.load_model({str(done.folder)!r})")
    echo(f"  mlflow models serve --model-uri {done.folder} --env-manager local --port 5001")


class ListModelOptions(StoreOptions, total=False):
    """The options of ``models list``."""

    json: Json


@app.command("list")
def list_(options: ListModelOptions) -> dict[str, str]:
    """List the models of a store, oldest first: run, method, data set, task, the test's primary metric, size."""
    from dataclasses import asdict

    from zslplat.cli.output import open_store, print_columns
    from zslplat.serving.runs import stored_models

    with open_store(options) as (settings, records):
        models = stored_models(settings, records)
    if options["json"]:
        print_json([asdict(one) for one in models])
        return {}
    rows = [
        (
            one.run,
            "" if one.value is None else f"{one.value:.4f}",
            f"{one.bytes / 2**20:.1f}",
            *((one.dataset, one.task, one.method) if not one.problem else (one.problem, "", "")),
        )
        for one in models
    ]
    print_columns([("run", "test", "MiB", "data set", "task", "method"), *rows], right=(1, 2))
    return {"run": models[-1].run if models else ""}


class ShowModelOptions(StoreOptions, total=False):
    """The options of ``models show``."""

    run: Annotated[str, Option("RUN of a final evaluation, or the folder of a model.", REQUIRED, positional=True)]
    json: Json


@app.command()
def show(options: ShowModelOptions) -> None:
    """Show a model: method, what it was trained on, how rows are to be given, the classes that it knows."""
    from zslplat.front.requests import settings_of
    from zslplat.serving.runs import load_model

    description = load_model(options["run"], settings=settings_of(options)).describe()
    if options["json"]:
        print_json(description)
        return
    for name, value in description.items():
        if isinstance(value, list):
            shown = ", ".join(str(one) for one in value[:8]) + (f", ... ({len(value)})" if len(value) > 8 else "")
        elif isinstance(value, dict):
            shown = "; ".join(f"{role}: {', '.join(steps) or 'none'}" for role, steps in value.items())
        else:
            shown = str(value)
        echo(f"{name}: {shown}")


class RemoveModelOptions(StoreOptions, total=False):
    """The options of ``models remove``."""

    runs: Annotated[
        list[str], Option("RUNs whose models go; what is recorded of them stays.", REQUIRED, positional=True)
    ]
    json: Json


@app.command()
def remove(options: RemoveModelOptions) -> None:
    """Remove the models of runs, and the arrays that no other model has; the same command of a run makes it anew."""
    from zslplat.cli.output import open_store
    from zslplat.records.maintenance import at_rest
    from zslplat.serving.runs import model_folder, remove_model

    with open_store(options) as (settings, records), at_rest(settings):
        # None goes where one is not there, and one that is named twice goes once.
        by_folder = {model_folder(settings, records, run): run for run in options["runs"]}
        freed = {run: remove_model(settings, records, run) for run in by_folder.values()}
    if options["json"]:
        print_json({"removed": list(freed), "bytes": sum(freed.values())})
        return
    echo(f"removed {counted(len(freed), 'model')}, {sum(freed.values()) / 2**20:.1f} MiB")


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

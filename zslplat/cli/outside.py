"""``export-split`` and ``score``: rows and folds for other software, and the scores that it made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from zslplat.cli import completion
from zslplat.cli import options as o
from zslplat.cli.experiments import DEFAULT_DATASET, DEFAULT_TASK


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("export-split")(export_split)
    app.command()(score)


def export_split(
    to: Annotated[Path, typer.Option("--to", help="Folder that gets the files; new, empty or an earlier export.")],
    dataset: o.DatasetSpec = DEFAULT_DATASET,
    task: o.TaskSpec = DEFAULT_TASK,
    split: Annotated[
        str, typer.Option("--split", help="test, validation (its folds) or all.", metavar="SPLIT")
    ] = "all",
    features: Annotated[bool, typer.Option("--features", help="Write the feature matrices, too.")] = False,
    with_labels: Annotated[
        bool,
        typer.Option("--with-labels", help="Write labels of test rows, too; the manifest says so from then on."),
    ] = False,
    seed: o.Seed = 0,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    silence: o.Silence = None,
    as_json: o.Json = False,
) -> None:
    """Write the rows, classes, folds and signatures of a task for other software (docs/outside-methods.md)."""
    import shlex

    from zslplat.checks.base import drop_silenced
    from zslplat.checks.records import warning_facts
    from zslplat.cli.reporting import print_json, print_warnings, stdout_console
    from zslplat.data.catalogue import parse_dataset
    from zslplat.errors import UnknownNameError
    from zslplat.evaluation.components import build_component, open_dataset
    from zslplat.evaluation.outside import exported_split
    from zslplat.evaluation.scoring.messages import collect_warnings, warning_entries
    from zslplat.spec import Spec
    from zslplat.tuning.verdicts import said_findings

    if split not in ("test", "validation", "all"):
        raise UnknownNameError("split", split, ("test", "validation", "all"))
    settings = o.settings_from(data_root, store, silence=silence)
    task_spec, dataset_spec = Spec.parse(task), parse_dataset(dataset)
    built = build_component("tasks", task_spec)
    names = {"dataset": str(dataset_spec), "task": str(task_spec)}
    wanted: dict[str, Any] = {"seed": seed, "split": split, "features": features, "with_labels": with_labels}
    with collect_warnings() as warned:
        data = open_dataset(dataset_spec, settings)
        manifest = exported_split.export_split(data, built.suited(data), to, names=names, **wanted)
    found = said_findings(names["dataset"], warning_facts(warning_entries([("", warned)])))
    kept, silenced = drop_silenced(found, settings.silenced)
    if as_json:
        told = {"warnings": [one.line for one in kept], "findings": [one.to_json() for one in found]}
        print_json({"manifest": str(manifest.path), **manifest.content, **told, "silenced": silenced})
        return
    console = stdout_console()
    console.print(f"{task_spec} on {dataset_spec}, seed {seed}: {manifest.path}", highlight=False, soft_wrap=True)
    for entry in manifest.content["problems"]:
        text = f"  {entry['name']}: {entry['train']} rows to train on, {entry['rows']} to score for "
        text += f"{entry['classes']} classes" + (", labels included" if entry["labels"] else "")
        console.print(text, highlight=False, soft_wrap=True)
    line = f"then: zslplat score --name NAME --scores FILE --manifest {shlex.quote(str(to))}{o.places_given(settings)}"
    console.print(line, highlight=False, markup=False, soft_wrap=True)
    print_warnings(console, [one.line for one in kept], silenced)


def score(
    name: Annotated[str, typer.Option("--name", help="What the scores are called: outside:NAME in comparisons.")],
    scores: Annotated[
        list[Path],
        typer.Option("--scores", help="A .npy, CSV or Parquet file; several are those of several seeds, in order."),
    ],
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            autocompletion=completion.datasets,
            help=f"Data set; default: that of the manifest, or {DEFAULT_DATASET}.",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            "-t",
            autocompletion=completion.tasks,
            help=f"Protocol; default: that of the manifest, or {DEFAULT_TASK}.",
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            "--split",
            help="test, or validation: --scores are of the folds, and the test split is not looked at.",
            metavar="SPLIT",
        ),
    ] = "test",
    manifest: Annotated[
        Path | None, typer.Option("--manifest", help="Folder of the `export-split` whose rows and classes were scored.")
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option("--rows", help="File with a column row: which row of the data set each row of scores is of."),
    ] = None,
    classes: Annotated[
        Path | None, typer.Option("--classes", help="File with a column class: the class of each column of scores.")
    ] = None,
    validation: Annotated[
        list[Path] | None,
        typer.Option("--validation", help="Scores of the validation folds: a file each, or one with a column fold."),
    ] = None,
    knows: Annotated[
        str,
        typer.Option(
            "--knows",
            help="What the method knew of the scored batch: transductive, class balance, unseen signatures, or words "
            "of your own, separated by commas.",
        ),
    ] = "",
    description: Annotated[str, typer.Option("--description", help="What made the scores.")] = "",
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Seconds that learning and scoring took, for comparisons.", min=0)
    ] = None,
    repeat: Annotated[
        int, typer.Option("--repeat", help="Number of the (first) file among the seeds of this name, from 0.", min=0)
    ] = 0,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of folds and order; default: that of the manifest, or 0.", min=0)
    ] = None,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    silence: o.Silence = None,
    tag: o.Tag = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Evaluate and record scores that other software made, so that they are compared like a method of ours.

    It counts as a look at the test split. Scores that are recorded already are not evaluated again.
    """
    from zslplat.cli.outcomes import print_outside
    from zslplat.cli.reporting import reporting
    from zslplat.data.catalogue import parse_dataset
    from zslplat.errors import UnknownNameError, UsageError
    from zslplat.evaluation.outside.exported_split import Manifest
    from zslplat.spec import Spec
    from zslplat.tuning.outside import score_outside
    from zslplat.tuning.outside_scores import OutsideScores

    if split not in ("test", "validation"):
        raise UnknownNameError("split", split, ("test", "validation"))
    folds_only = split == "validation"
    if folds_only and (validation or rows or classes or repeat):
        raise UsageError(
            "--split validation takes the files of the folds as --scores; leave --validation, --rows, --classes and "
            "--repeat out"
        )
    exported = None if manifest is None else Manifest.read(manifest)
    told: Any = {} if exported is None else exported.content
    settings = o.settings_from(data_root, store, tracking_uri, storage_url, silence, tag)
    asked = OutsideScores(
        name,
        () if folds_only else scores,
        scores if folds_only else validation or (),
        rows,
        classes,
        exported,
        knows.split(","),
        description,
        seconds,
        repeat,
    )
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        result = score_outside(
            asked,
            parse_dataset(dataset or told.get("dataset", DEFAULT_DATASET)),
            Spec.parse(task or told.get("task", DEFAULT_TASK)),
            settings,
            seed=seed if seed is not None else int(told.get("seed", 0)),
            reporter=reporter,
        )
    print_outside(result, settings, as_json=as_json)

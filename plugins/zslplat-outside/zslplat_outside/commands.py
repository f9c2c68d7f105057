"""``export-split`` and ``score``: rows and folds for other software, and the scores that it made of them."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

from zslplat.front.options import (
    DEFAULT_DATASET,
    DEFAULT_TASK,
    DataRootOptions,
    Dataset,
    Json,
    RecordOptions,
    Seed,
    SilenceOptions,
    StoreOptions,
    Task,
)
from zslplat.front.schema import REQUIRED, Option


class ExportedRows(TypedDict, total=False):
    """Which rows are written, and where."""

    to: Annotated[Path, Option("Folder that gets the files; new, empty or an earlier export.", REQUIRED)]
    dataset: Dataset
    task: Task
    split: Annotated[str, Option("test, validation (its folds) or all.", "all", metavar="SPLIT")]
    features: Annotated[bool, Option("Write the feature matrices, too.", False)]
    with_labels: Annotated[bool, Option("Write labels of test rows, too; the manifest says so from then on.", False)]
    seed: Seed


class ExportSplitOptions(ExportedRows, DataRootOptions, StoreOptions, SilenceOptions, total=False):
    """The options of ``export-split``."""

    json: Json


def export_split(options: ExportSplitOptions) -> None:
    """Write the rows, classes and folds of a task for other software."""
    import shlex

    from zslplat.checks.base import drop_silenced, warning_facts
    from zslplat.cli.invocation import print_json
    from zslplat.cli.output import place_options, print_warnings, stdout_console
    from zslplat.errors import UnknownNameError
    from zslplat.evaluation.components import build_component, open_dataset
    from zslplat.evaluation.scoring.messages import collect_warnings, warning_entries
    from zslplat.front.datasets import dataset_spec
    from zslplat.front.requests import settings_of
    from zslplat.spec import Spec
    from zslplat.tuning.findings import warning_findings
    from zslplat_outside import exported_split

    if options["split"] not in ("test", "validation", "all"):
        raise UnknownNameError("split", options["split"], ("test", "validation", "all"))
    settings = settings_of(options)
    task_spec, data_spec = Spec.parse(options["task"]), dataset_spec(options["dataset"], settings)
    task = build_component("tasks", task_spec)
    names = {"dataset": str(data_spec), "task": str(task_spec)}
    with collect_warnings() as warnings:
        data = open_dataset(data_spec, settings)
        manifest = exported_split.export_split(
            data,
            task.suited(data),
            options["to"],
            names=names,
            seed=options["seed"],
            split=options["split"],
            features=options["features"],
            with_labels=options["with_labels"],
        )
    findings = warning_findings(names["dataset"], warning_facts(warning_entries([("", warnings)])))
    shown, silenced = drop_silenced(findings, settings.silenced)
    if options["json"]:
        lines = {"warnings": [one.line for one in shown], "findings": [one.to_json() for one in findings]}
        print_json({"manifest": str(manifest.path), **manifest.content, **lines, "silenced": silenced})
        return
    console = stdout_console()
    title = f"{task_spec} on {data_spec}, seed {options['seed']}: {manifest.path}"
    console.print(title, highlight=False, soft_wrap=True)
    for entry in manifest.content["problems"]:
        text = f"  {entry['name']}: {entry['train']} rows to train on, {entry['rows']} to score for "
        text += f"{entry['classes']} classes" + (", labels included" if entry["labels"] else "")
        console.print(text, highlight=False, soft_wrap=True)
    folder = shlex.quote(str(options["to"]))
    line = f"then: zslplat score --name NAME --scores FILE --manifest {folder}{place_options(settings)}"
    console.print(line, highlight=False, markup=False, soft_wrap=True)
    print_warnings(console, [one.line for one in shown], silenced)


class ScoredRows(TypedDict, total=False):
    """Scores, and what they are of."""

    name: Annotated[str, Option("What the scores are called: outside:NAME in comparisons.", REQUIRED)]
    scores: Annotated[
        list[Path],
        Option("A .npy, CSV or Parquet file; several are those of several seeds, in order.", REQUIRED),
    ]
    dataset: Annotated[
        str | None,
        Option(f"Data set; default: that of the manifest, or {DEFAULT_DATASET}.", short="-d", complete="datasets"),
    ]
    task: Annotated[
        str | None,
        Option(f"Protocol; default: that of the manifest, or {DEFAULT_TASK}.", short="-t", complete="tasks"),
    ]
    split: Annotated[
        str,
        Option(
            "test, or validation: --scores are of the folds, and the test split is not looked at.",
            "test",
            metavar="SPLIT",
        ),
    ]
    manifest: Annotated[Path | None, Option("Folder of the `export-split` whose rows and classes were scored.")]
    rows: Annotated[Path | None, Option("File with a column row: which row of the data set each row of scores is of.")]
    classes: Annotated[Path | None, Option("File with a column class: the class of each column of scores.")]
    validation: Annotated[
        list[Path] | None, Option("Scores of the validation folds: a file each, or one with a column fold.")
    ]
    knows: Annotated[
        str,
        Option(
            "What the method knew of the scored batch: transductive, class balance, unseen signatures, or words "
            "of your own, separated by commas.",
            "",
            metavar="A[,B]",
        ),
    ]
    description: Annotated[str, Option("What made the scores.", "")]
    seconds: Annotated[float | None, Option("Seconds that learning and scoring took, for comparisons.", least=0)]
    repeat: Annotated[int, Option("Number of the (first) file among the seeds of this name, from 0.", 0, least=0)]
    seed: Annotated[int | None, Option("Seed of folds and order; default: that of the manifest, or 0.", least=0)]


class ScoreOptions(ScoredRows, RecordOptions, total=False):
    """The options of ``score``."""

    json: Json


def score(options: ScoreOptions) -> None:
    """Record scores that other software made, to compare them.

    It counts as a look at the test split. Scores that are recorded already are not evaluated again.
    """
    from zslplat.data.catalogue import parse_dataset
    from zslplat.errors import UnknownNameError, UsageError
    from zslplat.front.progress import progress
    from zslplat.front.requests import settings_of
    from zslplat.spec import Spec
    from zslplat_outside.exported_split import Manifest
    from zslplat_outside.recording import score_outside
    from zslplat_outside.request import OutsideScores

    if options["split"] not in ("test", "validation"):
        raise UnknownNameError("split", options["split"], ("test", "validation"))
    scores, validation = options["scores"], options["validation"] or ()
    if options["split"] == "validation":
        if validation or options["rows"] or options["classes"] or options["repeat"]:
            raise UsageError(
                "--split validation takes the files of the folds as --scores; leave --validation, --rows, --classes "
                "and --repeat out"
            )
        scores, validation = [], scores
    manifest = None if options["manifest"] is None else Manifest.read(options["manifest"])
    exported: Any = {} if manifest is None else manifest.content
    settings = settings_of(options)
    outside_scores = OutsideScores(
        options["name"],
        scores,
        validation,
        options["rows"],
        options["classes"],
        manifest,
        options["knows"].split(","),
        options["description"],
        options["seconds"],
        options["repeat"],
    )
    with progress(quiet=options["quiet"]) as reporter:
        result = score_outside(
            outside_scores,
            parse_dataset(options["dataset"] or exported.get("dataset", DEFAULT_DATASET)),
            Spec.parse(options["task"] or exported.get("task", DEFAULT_TASK)),
            settings,
            seed=options["seed"] if options["seed"] is not None else int(exported.get("seed", 0)),
            reporter=reporter,
        )
    _print_result(result, settings, as_json=options["json"])


def _print_result(result: Any, settings: Any, *, as_json: bool) -> None:
    """Print what scores that were made elsewhere gave, and how they were recorded."""
    from zslplat.cli.invocation import print_json
    from zslplat.cli.outcomes import ui_hint
    from zslplat.cli.output import print_warnings, stdout_console
    from zslplat.front.results import scores_table
    from zslplat.summary import table_lines

    if as_json:
        print_json({**vars(result), "tracking_uri": settings.shown_tracking_uri})
        return
    console = stdout_console()
    splits = {"validation": [result.validation] if result.validation else []}
    splits["test"] = result.metrics if result.split == "test" else []
    title = f"{result.method} on {result.about['mlflow_experiment'].partition(': ')[2]}: {result.split} split"
    chance = {"validation": result.validation_chance, "test": result.chance}
    lines = [
        title,
        *table_lines(scores_table(splits, result.primary, chance)),
        f"knows of the scored batch: {result.knows}",
        f"evaluations on this test split so far: {result.test_evaluations}",
        f"runs: {', '.join(result.run_ids)} in {settings.shown_tracking_uri}{ui_hint(settings)}",
        *result.notes,
    ]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    print_warnings(console, result.warnings, result.silenced)

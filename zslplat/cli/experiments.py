"""``tune``, ``run``, ``rerun``, ``sweep``, ``cross-validate`` and ``bench``: the commands that evaluate."""

import shlex
from typing import Annotated

import typer

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import (
    METHOD_HELP,
    DataRootOptions,
    Json,
    MethodOptions,
    PlaceOptions,
    Quiet,
    ResumeOptions,
    RunCommand,
    SearchOptions,
    SilenceOptions,
    SweepCommand,
    TrackingOptions,
    TuneCommand,
    Workers,
    WorkOptions,
)
from zslplat.front.schema import REQUIRED, Option
from zslplat.front.table_options import BenchCommand
from zslplat.names import counted


def register(app: Commands) -> None:
    """Add the commands to the application."""
    for command in (tune, run, rerun, sweep, cross_validate, bench):
        app.command()(command)


def _warm_up(cluster: str | None) -> None:
    """Have the workers' process import what it needs while this one does."""
    if cluster is None:
        from zslplat.evaluation.workers.worker import warm_up

        warm_up()


def tune(options: TuneCommand) -> None:
    """Search hyperparameters on validation folds, then test the best.

    The same command continues a stopped study; a larger --trials extends it. Without --trials a grid has all its
    points, 7 values of each range, where these are at most 1000. The sampler gp needs torch.
    """
    if options["write_config"] is None:
        _warm_up(options["cluster"])
    from zslplat.cli.outcomes import print_study
    from zslplat.front.schema import write_study_file
    from zslplat.front.studies import Study, carry_out_study, study_request

    path = options["write_config"]
    if path is not None:
        experiment, study_options, _ = study_request(options)
        # recorded, so that a later change of the default does not change the study
        sampler = study_options.for_search_of(experiment).sampler
        write_study_file(path, {**options, "sampler": sampler}, TuneCommand)
        echo(f"wrote {path}; zslplat tune --config {shlex.quote(str(path))} carries it out")
        return
    if options["class_folds"] is not None and not options["dry_run"]:
        from zslplat.cli.output import place_options
        from zslplat.front.class_folds import carry_out_folds

        folded = carry_out_folds(options)
        if options["json"]:
            print_json(folded.to_dict())
        elif options["quiet"]:
            echo(folded.headline)
        else:
            echo(repr(folded))
            compared = f"zslplat compare -d {shlex.quote(folded.row['dataset'])}"
            echo(f"next: {compared}{place_options(folded.settings)}")
        return
    outcome = carry_out_study(options)
    if isinstance(outcome, Study):
        print_study(outcome, as_json=options["json"], quiet=options["quiet"])
    elif options["json"]:
        print_json(outcome.to_dict())
    else:
        echo(repr(outcome))


def run(options: RunCommand) -> None:
    """Evaluate one experiment on validation folds, or with --test."""
    _warm_up(options["cluster"])
    from zslplat.cli.outcomes import print_run
    from zslplat.front.evaluations import carry_out_run

    print_run(carry_out_run(options), as_json=options["json"], quiet=options["quiet"])


def sweep(options: SweepCommand) -> None:
    """Vary one hyperparameter, the others fixed: the validation curve.

    An option of the task, such as labelled_ratio of feature-selection, may vary for several methods at once. Write
    task.NAME where a hyperparameter has the same name. With --test the test curve stands beside it, for analysis alone.
    """
    from zslplat.cli.output import print_result
    from zslplat.front.sweeps import carry_out_sweep

    outcome = carry_out_sweep(options)
    if options["json"]:
        print_json(vars(outcome.result))
    else:
        print_result(outcome, outcome.result.warnings)


class RerunOptions(DataRootOptions, TrackingOptions, total=False):
    """The options of ``rerun``."""

    run: Annotated[
        str, Option("A trial, final or single run: its RUN, or MLflow id.", REQUIRED, metavar="RUN", positional=True)
    ]
    check: Annotated[bool, Option("Fail unless every metric is the recorded one.", False)]
    workers: Workers
    json: Json
    quiet: Quiet


def rerun(options: RerunOptions) -> None:
    """Evaluate a recorded run again, and compare its numbers."""
    from zslplat.cli.output import open_store
    from zslplat.errors import StoreError
    from zslplat.evaluation.workers.memory import worker_count
    from zslplat.front.progress import progress
    from zslplat.tuning.rerun import evaluate_again, find_run

    with open_store(options) as (settings, records):
        recorded, workers = find_run(settings, records, options["run"]), worker_count(options["workers"])
    with progress(quiet=options["quiet"]) as reporter:
        metrics, compared, lines = evaluate_again(settings, recorded, workers=workers, reporter=reporter)
    if options["json"]:
        print_json({"run": options["run"], "compared": compared, "differences": lines, "metrics": metrics})
    else:
        echo(f"{recorded.name}: {counted(compared, 'metric')} compared, {len(lines)} differ")
        for line in lines:
            echo(f"  {line}")
    if options["check"] and (lines or not compared):
        raise StoreError(f"run {recorded.name!r} did not give its recorded numbers again")


class CrossValidateCommand(
    MethodOptions, SearchOptions, WorkOptions, ResumeOptions, PlaceOptions, SilenceOptions, total=False
):
    """The options of the command ``cross-validate``."""

    method: Annotated[str, Option(METHOD_HELP, REQUIRED, short="-m", complete="methods", by_position=True)]
    dataset: Annotated[
        str, Option("Data set: a name or a path.", REQUIRED, short="-d", complete="datasets", by_position=True)
    ]
    task: Annotated[
        str,
        Option("Protocol, whose folds are tuned one by one.", "coding", short="-t", complete="tasks", by_position=True),
    ]
    splits: Annotated[int | None, Option("Drawn splits, for a data set without folds of its own.", least=2)]
    study: Annotated[str | None, Option("Beginning of the studies' names; default: made from the request.")]
    quiet: Quiet
    json: Json


def cross_validate(options: CrossValidateCommand) -> None:
    """Tune and test every fold of a data set, and show the mean.

    Every fold is tuned inside its own training rows. It costs one study per fold; the same command
    continues a stopped one.
    """
    from zslplat.cli.outcomes import print_cross_validation
    from zslplat.data.catalogue import parse_dataset
    from zslplat.front.progress import progress
    from zslplat.front.requests import experiment_of, settings_of, workforce_of
    from zslplat.tuning import cross_validation
    from zslplat.tuning.options import StudyOptions

    settings = settings_of(options)
    dataset = parse_dataset(options["dataset"])
    experiment = experiment_of(options["method"], dataset, options["task"], options, options["space"] or {})
    study_options = StudyOptions(
        name=options["study"],
        trials=options["trials"],
        repeats=options["repeats"],
        accept_changed_code=options["accept_changed_code"],
        retry_failed=options["retry_failed"],
        **vars(workforce_of(options)),
    )
    with progress(quiet=options["quiet"]) as reporter:
        result = cross_validation.cross_validate(
            experiment, study_options, settings, reporter, splits=options["splits"]
        )
    print_cross_validation(result, experiment, as_json=options["json"], quiet=options["quiet"])


def bench(options: BenchCommand) -> None:
    """Carry out a suite: a grid of methods x data sets x tasks.

        tasks = ["zsl"]
        data = [{ name = "pairs", dataset = "digit-pairs" }]
        row = [{ name = "a", method = "eszsl" }, { name = "b", method = "sae" }]

    The same command goes on where it was stopped. A cell that fails leaves the others alone, and the exit code is 1;
    data sets that are not at hand are left out. Several commands may work on one suite in one store.
    """
    from zslplat.cli.grid_view import print_grid, print_plan
    from zslplat.front.benches import carry_out_suite, suite_request
    from zslplat.front.grid_progress import grid_progress

    if options["dry_run"]:
        from zslplat.suites.plan import plan

        suite, grid_options, settings = suite_request(options)
        with grid_progress(quiet=options["quiet"]) as reporter:
            planned = plan(suite, grid_options, settings, options["probe"], reporter)
        print_plan(planned, as_json=options["json"])
        return
    grid = carry_out_suite(options)
    print_grid(grid, as_json=options["json"], quiet=options["quiet"])
    if grid.result.exit_code:
        raise typer.Exit(grid.result.exit_code)

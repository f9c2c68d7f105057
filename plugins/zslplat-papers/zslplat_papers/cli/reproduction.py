"""``reproduce``, ``claims`` and ``keep``: tables made again, what is left of claims, and suites kept as results."""

from pathlib import Path
from typing import Annotated

import typer

from zslplat.front.options import Json, PlaceOptions, Quiet, Seed, WorkOptions
from zslplat.front.schema import Option
from zslplat.front.table_options import BenchArguments, BenchOptions


class ReproduceOptions(WorkOptions, PlaceOptions, total=False):
    """The options of ``reproduce``."""

    table: Annotated[
        str | None,
        Option("Published table, for example 000-table-2, or a paper, 000; default: list them.", positional=True),
    ]
    only: Annotated[list[str] | None, Option("ROW, /COLUMN or ROW/COLUMN by their ids. May be repeated.")]
    way: Annotated[
        str | None, Option("printed: the paper's variant and protocol; ours: the default form; default: both.")
    ]
    standins: Annotated[
        bool, Option("Also carry out the rows on other data that are at hand.", True, flag="--standins/--no-standins")
    ]
    oracle: Annotated[
        bool, Option("Afterwards score every trial on the test split: what selecting there would give.", False)
    ]
    trials: Annotated[int | None, Option("Trials of each study; default: the recipe's.", short="-n", least=1)]
    repeats: Annotated[int | None, Option("Repeats of the final evaluation of random methods.", least=1)]
    dry_run: Annotated[bool, Option("Say what would be carried out and what it would take; record nothing.", False)]
    probe: Annotated[
        float, Option("Seconds that --dry-run may take to time methods of which nothing is recorded.", 60, least=0)
    ]
    keep: Annotated[bool, Option("Keep the lines with their provenance among the results (--results).", False)]
    results: Annotated[Path | None, Option("Folder of kept results; default: ./results.")]
    seed: Seed
    json: Json
    quiet: Quiet


def check_reproduction(options: ReproduceOptions) -> None:
    """Raise :class:`UsageError` for options that exclude each other, or that need a table."""
    from zslplat.errors import UnknownNameError, UsageError
    from zslplat_papers.reproduction.recipe import WAYS

    if options["table"] is None:
        idle = ["--no-standins"] if not options["standins"] else []
        for name in ("only", "way", "oracle", "trials", "repeats", "dry_run", "keep", "results"):
            if options[name]:
                idle.append(f"--{name.replace('_', '-')}")
        if idle:
            raise UsageError(
                f"{', '.join(idle)} without a table, which is what it is about; give a table or paper, for example "
                "000-table-2, or nothing for the list of them"
            )
    if options["dry_run"] and options["keep"]:
        raise UsageError("--keep with --dry-run, which does nothing; leave one of them out")
    if options["results"] is not None and not options["keep"]:
        raise UsageError("--results without --keep, which is what writes there; add --keep")
    if options["way"] is not None and options["way"] not in WAYS:
        raise UnknownNameError("way (--way)", options["way"], WAYS)


def reproduce(options: ReproduceOptions) -> None:
    """Make a published table again: ours beside the paper's, with a verdict for every cell.

    Cells whose data are at hand are carried out in two ways, printed and ours; of the others the command says how to
    get the data. Stand-ins, other data in place of a column's, are marked and never compared with a printed number.
    The same command continues where it was stopped.
    """
    from zslplat.cli.invocation import echo, print_json
    from zslplat.front.progress import progress
    from zslplat.front.requests import settings_of, workforce_of
    from zslplat_papers.cli.printing import list_tables, print_reproduction
    from zslplat_papers.reproduction.cells import Budget, check_root, only_by_table
    from zslplat_papers.reproduction.recipe import WAYS, load_recipe, recipes_of
    from zslplat_papers.reproduction.reproduce import keep_cells
    from zslplat_papers.reproduction.reproduce import reproduce as carry_out
    from zslplat_papers.reproduction.results import FOLDER, check_files, check_places

    check_reproduction(options)
    if options["table"] is None:
        list_tables(as_json=options["json"])
        return
    ways = WAYS if options["way"] is None else (options["way"],)
    recipes = {name: load_recipe(name) for name in recipes_of(options["table"])}
    chosen = only_by_table(recipes, options["only"] or (), ways, standins=options["standins"])
    settings = settings_of(options)
    check_root(settings.data_root)
    if options["keep"]:
        check_places(options["results"] or FOLDER)
        check_files([f"reproduce-{name}" for name in chosen], options["results"])
    budget = Budget(options["trials"], options["repeats"], **vars(workforce_of(options)))
    reproductions = []
    with progress(quiet=options["quiet"]) as reporter:
        for name, selection in chosen.items():
            made = carry_out(
                name,
                settings,
                budget,
                only=selection,
                ways=ways,
                standins=options["standins"],
                oracle=options["oracle"],
                dry_run=options["dry_run"],
                probe_seconds=options["probe"],
                seed=options["seed"],
                reporter=reporter,
                watch=lambda one: reporter.note(f"{one.cell.name}: {one.verdict.verdict} ({one.verdict.why})"),
            )
            reproductions.append(made)
    if options["keep"]:
        for made in reproductions:
            keep_cells(made, options["results"], lambda text: echo(text, err=True))
    if options["json"]:
        print_json([made.to_json() for made in reproductions])
    else:
        for made in reproductions:
            print_reproduction(made, settings, dry_run=options["dry_run"])
    if any(one.status == "failed" for made in reproductions for one in made.made):
        raise typer.Exit(1)


class ClaimsOptions(WorkOptions, PlaceOptions, total=False):
    """The options of ``claims``."""

    names: Annotated[
        list[str] | None,
        Option("Claims by their ids, or papers (000); default: all.", metavar="[CLAIM]...", positional=True),
    ]
    plan: Annotated[bool, Option("Show what would decide the open claims, and the core-seconds of it.", False)]
    run: Annotated[bool, Option("Carry out the suites and measures that test them.", False)]
    suite: Annotated[list[str] | None, Option("With --run: only these suites or measures. May be repeated.")]
    only: Annotated[list[str] | None, Option("With --run: only these data sets. May be repeated.")]
    class_folds: Annotated[
        int | None, Option("With --run: so many folds of all classes, in place of the split of a suite.", least=2)
    ]
    trials: Annotated[int | None, Option("Trials of each study; default: the suite's.", short="-n", least=1)]
    repeats: Annotated[int | None, Option("Repeats of the final evaluation of random methods.", least=1)]
    keep: Annotated[bool, Option("Keep what was found among the results (--results).", False)]
    results: Annotated[
        Path | None, Option("Folder of kept results; default: the project's own, with ./results over them.")
    ]
    page: Annotated[
        Path | None, Option("Markdown overview of all kept results; a page a paper goes into the folder of its name.")
    ]
    json: Json
    quiet: Quiet


def claims(options: ClaimsOptions) -> None:
    """List what the papers claim, what tests it, and the verdict on each claim.

    A claim holds, does not hold, differs between data sets, or there is not enough data: --plan says what would decide.
    Verdicts follow from kept results, or with --run from the store. The same command with --run continues where it was
    stopped.
    """
    from zslplat.cli.invocation import print_json
    from zslplat.errors import UsageError
    from zslplat.front.progress import progress
    from zslplat.front.requests import settings_of, workforce_of
    from zslplat_papers.cli.printing import print_claims, print_plans
    from zslplat_papers.reproduction.cells import check_root
    from zslplat_papers.reproduction.claims import (
        RESULTS,
        keep_claims,
        lines_of_no_claim,
        recorded_claims,
        run_claims,
    )
    from zslplat_papers.reproduction.page import check_page, write_page
    from zslplat_papers.reproduction.results import FOLDER, check_files, check_places

    if options["page"] is not None:
        check_places(options["page"].parent)
        check_page(options["page"])
    if options["results"] is not None and not options["keep"] and not options["results"].is_dir():
        raise UsageError(
            f"--results {options['results']}: no such folder; expected one that --keep has written results to"
        )
    if options["run"]:
        from zslplat.suites.cells import GridOptions

        settings = settings_of(options)
        check_root(settings.data_root)
        if options["keep"]:
            check_places(options["results"] or FOLDER)
            check_files([RESULTS], options["results"])
        grid_options = GridOptions(
            trials=options["trials"],
            repeats=options["repeats"],
            only=options["only"] or (),
            **vars(workforce_of(options)),
        )
        with progress(quiet=options["quiet"]) as reporter:
            judgements = run_claims(
                options["names"] or (),
                settings,
                grid_options,
                suites=options["suite"] or (),
                class_folds=options["class_folds"],
                reporter=reporter,
                watch=reporter.note,
            )
        if options["keep"]:
            keep_claims(judgements, options["results"])
    else:
        of_runs = ["suite", "only", "class_folds", "trials", "repeats", "workers", "cluster", "trial_timeout"]
        of_runs += ["memory", "keep", "data_root", "store", "tracking_uri", "storage_url"]
        idle = [f"--{name.replace('_', '-')}" for name in of_runs if options[name]]  # type: ignore[literal-required]
        if idle:
            raise UsageError(f"{', '.join(idle)} without --run, which carries out what tests the claims; add --run")
        judgements = recorded_claims(options["names"] or (), options["results"])
        with progress(quiet=options["quiet"]) as reporter:
            for line in lines_of_no_claim(options["results"]):
                reporter.warn(line)
    if options["page"] is not None:
        write_page(options["page"], options["results"])
    if options["plan"]:
        print_plans(judgements, as_json=options["json"])
    elif options["json"]:
        print_json([judged.to_json() for judged in judgements])
    else:
        print_claims(judgements, details=bool(options["names"] or options["run"]), quiet=options["quiet"])
    if any(judged.failed for judged in judgements):
        raise typer.Exit(1)


class KeepOptions(BenchArguments, BenchOptions, total=False):
    """The options of ``keep``."""

    results: Annotated[Path | None, Option("Folder of kept results; default: ./results.")]
    json: Json


def keep(options: KeepOptions) -> None:
    """Keep the tables of a suite as results, each line with its provenance; what is missing is carried out first.

    Says how many of the test scores are as they were kept before. What was kept of other data sets stays.
    """
    from zslplat.cli.grid_view import print_grid
    from zslplat.cli.invocation import echo, print_json
    from zslplat.front.benches import carry_out_suite, suite_request
    from zslplat_papers.reproduction.suite_results import check_kept_suite, compare_scores, earlier_scores, keep_grid

    suite, _, _ = suite_request(options)  # type: ignore[arg-type]
    check_kept_suite(suite, options["results"])
    before = earlier_scores(suite.name, options["results"])
    grid = carry_out_suite(options)  # type: ignore[arg-type]
    result = grid.result
    agreement, files = compare_scores(result, before), keep_grid(result, options["results"])
    if options["json"]:
        print_json({"kept": agreement.to_json(), "files": files})
    else:
        print_grid(grid, as_json=False, quiet=options["quiet"])
        echo("\n".join([*([agreement.line] if agreement.line else []), *(f"kept: {path}" for path in files)]))
    if result.exit_code:
        raise typer.Exit(result.exit_code)

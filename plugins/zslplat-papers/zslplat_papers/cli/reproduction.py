"""``reproduce`` and ``claims``: published tables made again, and what is left of their claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from zslplat.cli import options as o


def reproduce(
    table: Annotated[
        str | None,
        typer.Argument(help="Published table, for example 000-table-2, or a paper, 000; default: list them."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="ROW, /COLUMN or ROW/COLUMN by their ids. May be repeated."),
    ] = None,
    way: Annotated[
        str | None,
        typer.Option("--way", help="printed: the paper's variant and protocol; ours: the default form; default: both."),
    ] = None,
    standins: Annotated[
        bool,
        typer.Option("--standins/--no-standins", help="Also carry out the rows on other data that are at hand."),
    ] = True,
    oracle: Annotated[
        bool,
        typer.Option(
            "--oracle", help="Afterwards score every trial on the test split: what selecting there would give."
        ),
    ] = False,
    trials: Annotated[
        int | None, typer.Option("--trials", "-n", help="Trials of each study; default: the recipe's.", min=1)
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option("--repeats", help="Repeats of the final evaluation of random methods.", min=1),
    ] = None,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    cluster: o.Cluster = None,
    trial_timeout: o.TrialTimeout = None,
    memory: o.Memory = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be carried out, and do nothing.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="CSV file that gets a line per cell.")] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the lines with their provenance among the results (--results).")
    ] = False,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Folder of kept results; default: ./results."),
    ] = None,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Make a published table again: ours beside the paper's, with a verdict for every cell.

    Cells whose data are at hand are carried out in two ways, printed and ours; of the others the command says how to
    get the data. Stand-ins, other data in place of a column's, are marked and never compared with a printed number.
    The same command continues where it was stopped.
    """
    from zslplat.cli.invocation import echo
    from zslplat.cli.reporting import print_json, reporting
    from zslplat.errors import UnknownNameError, UsageError
    from zslplat.suites.result_files import FOLDER, check_file, check_places
    from zslplat_papers.cli.printing import list_tables, print_reproduction
    from zslplat_papers.reproduction.cells import check_root, only_by_table
    from zslplat_papers.reproduction.recipe import WAYS, load_recipe, recipes_of
    from zslplat_papers.reproduction.reproduce import reproduce as carry_out
    from zslplat_papers.reproduction.results import check_files
    from zslplat_papers.reproduction.written import keep_cells, write_cells

    if table is None:
        about: dict[str, object] = {"--only": only, "--way": way, "--no-standins": not standins, "--oracle": oracle}
        about |= {"--trials": trials, "--repeats": repeats, "--dry-run": dry_run}
        about |= {"--out": out, "--keep": keep, "--results": results}
        if given := [name for name, value in about.items() if value]:
            raise UsageError(
                f"{', '.join(given)} without a table, which is what it is about; give a table or paper, for example "
                "000-table-2, or nothing for the list of them"
            )
        list_tables(as_json=as_json)
        return
    if dry_run and (given := [name for name, value in {"--out": out, "--keep": keep}.items() if value]):
        raise UsageError(f"{', '.join(given)} with --dry-run, which does nothing; leave one of them out")
    if results is not None and not keep:
        raise UsageError("--results without --keep, which is what writes there; add --keep")
    check_file(out, "--out")
    if way is not None and way not in WAYS:
        raise UnknownNameError("way (--way)", way, WAYS)
    ways = WAYS if way is None else (way,)
    recipes = {name: load_recipe(name) for name in recipes_of(table)}
    chosen = only_by_table(recipes, only or (), ways, standins=standins)
    settings = o.settings_from(data_root, store, tracking_uri, storage_url)
    check_root(settings.data_root)
    check_places(out.parent if out else None, (results or FOLDER) if keep else None)
    if keep:
        check_files([f"reproduce-{name}" for name in chosen], results)
    found = []
    with reporting(as_json=as_json, quiet=quiet) as reporter:
        for name, wanted in chosen.items():
            made = carry_out(
                name,
                settings,
                _options(trials, repeats, workers, cluster, trial_timeout, memory),
                only=wanted,
                ways=ways,
                standins=standins,
                oracle=oracle,
                dry_run=dry_run,
                seed=seed,
                reporter=reporter,
                watch=lambda one: reporter.note(f"{one.cell.name}: {one.verdict.verdict} ({one.verdict.why})"),
            )
            found.append(made)
    if keep:
        for made in found:
            keep_cells(made, results, lambda text: echo(text, err=True))
    if out is not None:
        write_cells(found, out)
    if as_json:
        print_json([made.to_json() for made in found])
    else:
        for made in found:
            print_reproduction(made, settings, dry_run=dry_run)
    if any(one.status == "failed" for made in found for one in made.made):
        raise typer.Exit(1)


def _options(
    trials: int | None,
    repeats: int | None,
    workers: int | None,
    cluster: str | None,
    trial_timeout: float | None,
    memory: float | None,
) -> Any:
    """Return how cells are carried out; what is not given stays with the recipe."""
    from zslplat_papers.reproduction.cells import Budget

    count = o.worker_count(workers, memory)
    return Budget(trials, repeats, count, cluster, trial_timeout, o.memory_limit(memory, count, cluster))


def claims(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Claims by their ids, or papers (000); default: all.", metavar="[CLAIM]..."),
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Carry out the suites and measures that test them.")] = False,
    suite: Annotated[
        list[str] | None, typer.Option("--suite", help="With --run: only these suites or measures. May be repeated.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="With --run: only these data sets. May be repeated.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", "-n", help="Trials of each study; default: the suite's.", min=1)
    ] = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", help="Repeats of the final evaluation of random methods.", min=1)
    ] = None,
    workers: o.Workers = None,
    cluster: o.Cluster = None,
    trial_timeout: o.TrialTimeout = None,
    memory: o.Memory = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep what was found among the results (--results).")] = False,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Folder of kept results; default: the project's own, with ./results over them."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Markdown file that gets the tables of all kept results.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="CSV file that gets a line per claim.")] = None,
    data_root: o.DataRoot = None,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """List what the papers claim, what tests it, and the verdict: holds, does not hold, cannot tell, not tested.

    Verdicts follow from kept results, or with --run from the store, by intervals over new classes where there are
    classes. The same command with --run continues where it was stopped.
    """
    from zslplat.cli.reporting import print_json, reporting
    from zslplat.errors import UsageError
    from zslplat.suites.result_files import FOLDER, check_file, check_places
    from zslplat_papers.cli.printing import print_claims
    from zslplat_papers.reproduction.cells import check_root
    from zslplat_papers.reproduction.claims import RESULTS, keep_claims, lines_of_no_claim, recorded_claims, run_claims
    from zslplat_papers.reproduction.page import check_page, write_page
    from zslplat_papers.reproduction.results import check_files
    from zslplat_papers.reproduction.written import write_claims

    check_file(out, "--out")
    check_places(*(path.parent for path in (out, page) if path))
    if page is not None:
        check_page(page)
    if results is not None and not keep and not results.is_dir():
        raise UsageError(f"--results {results}: no such folder; expected one that --keep has written results to")
    if run:
        from zslplat.suites.grid import GridOptions

        settings = o.settings_from(data_root, store, tracking_uri, storage_url)
        check_root(settings.data_root)
        check_places((results or FOLDER) if keep else None)
        if keep:
            check_files([RESULTS], results)
        count = o.worker_count(workers, memory)
        options = GridOptions(
            trials=trials,
            repeats=repeats,
            workers=count,
            cluster=cluster,
            only=only or (),
            trial_timeout=trial_timeout,
            memory_bytes=o.memory_limit(memory, count, cluster),
        )
        with reporting(as_json=as_json, quiet=quiet) as reporter:
            found = run_claims(
                names or (), settings, options, suites=suite or (), reporter=reporter, watch=reporter.note
            )
        if keep:
            keep_claims(found, results)
    else:
        idle: dict[str, object] = {"--suite": suite, "--only": only, "--trials": trials, "--repeats": repeats}
        idle |= {"--workers": workers, "--cluster": cluster, "--trial-timeout": trial_timeout, "--memory": memory}
        idle |= {"--keep": keep, "--data-root": data_root, "--store": store, "--tracking-uri": tracking_uri}
        idle |= {"--storage-url": storage_url}
        if given := [name for name, value in idle.items() if value]:
            raise UsageError(f"{', '.join(given)} without --run, which carries out what tests the claims; add --run")
        found = recorded_claims(names or (), results)
        with reporting(as_json=as_json, quiet=quiet) as reporter:
            for told in lines_of_no_claim(results):
                reporter.warn(told)
    if out is not None:
        write_claims(found, out)
    if page is not None:
        write_page(page, results)
    if as_json:
        print_json([judged.to_json() for judged in found])
    else:
        print_claims(found)
    if any(judged.failed for judged in found):
        raise typer.Exit(1)

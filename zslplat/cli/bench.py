"""``bench``: a suite carried out as a grid of studies, or what is missing of it."""

from __future__ import annotations

import typer

from zslplat.cli.commands import Commands
from zslplat.front.options import BenchCommand


def register(app: Commands) -> None:
    """Add the command to the application."""
    app.command()(bench)


def bench(options: BenchCommand) -> None:
    """Carry out a suite: methods x data sets x tasks, with equal budgets, as a grid of studies.

    The same command goes on where it was stopped. A cell that fails leaves the others alone, and the exit code is 1;
    data sets that are not at hand are left out. Several commands may work on one suite in one store.
    """
    from zslplat.cli.grid_view import print_grid, print_plan
    from zslplat.front.benches import carry_out_suite, suite_request
    from zslplat.front.grid_progress import grid_progress

    if options["dry_run"]:
        from zslplat.suites.plan import plan
        from zslplat.suites.probe import Probe

        suite, grid_options, settings = suite_request(options)
        with grid_progress(quiet=options["quiet"]) as reporter:
            planned = plan(suite, grid_options, settings, Probe(settings, options["probe"], reporter))
        print_plan(planned, settings.cache_gigabytes, as_json=options["json"])
        return
    grid = carry_out_suite(options)
    print_grid(grid.result, grid.kept, grid.settings.silenced, as_json=options["json"])
    if grid.result.exit_code:
        raise typer.Exit(grid.result.exit_code)

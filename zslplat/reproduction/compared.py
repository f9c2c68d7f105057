"""A suite carried out and compared with what is kept of it, as the command and the function ``bench`` do."""

from __future__ import annotations

from pathlib import Path

from zslplat.errors import UsageError
from zslplat.evaluation.reporter import Reporter
from zslplat.reproduction.again import Again, against_kept, kept_scores
from zslplat.reproduction.results import check_kept, check_places, results_folder
from zslplat.reproduction.written import KEPT_TABLES, keep_grid
from zslplat.settings import Settings
from zslplat.suites.grid import GridOptions, carry_out
from zslplat.suites.result import GridResult
from zslplat.suites.suite import Suite, load_suite, suite_names


def carry_out_compared(
    suite: Suite, options: GridOptions, settings: Settings, reporter: Reporter, *, keep: bool, folder: Path | None
) -> tuple[GridResult, Again]:
    """Carry out a suite; return how it ended, and which of its test scores are as kept in ``folder`` before.

    ``keep`` keeps its tables there. What is kept of a built-in suite is nothing to a file of the same name. Raises
    :class:`UsageError` for such a file that is to be kept beside it, :class:`StoreError` for kept results that are
    damaged and for folders that cannot be written, before anything is computed, and like
    :func:`~zslplat.suites.grid.carry_out`.
    """
    foreign = folder is None and suite.name in suite_names() and load_suite(suite.name).origin != suite.origin
    if foreign and keep:
        raise UsageError(
            f"--keep: suite {suite.where} has the name of the registered suite {suite.name}, whose results are kept "
            "under it; give the file another name, or a folder of your own with --results"
        )
    before = {} if foreign else kept_scores(suite.name, folder)
    if keep:
        check_kept([f"bench-{suite.name}-{part}" for part in KEPT_TABLES], results_folder(folder))
    given = None if options.out is None or options.out.absolute().is_relative_to(settings.store) else options.out
    check_places(given, results_folder(folder) if keep else None)
    result = carry_out(suite, options, settings, reporter)
    again = against_kept(result, before)
    if keep:
        keep_grid(result, folder)
    return result, again

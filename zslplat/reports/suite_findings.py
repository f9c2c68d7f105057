"""What the checks of suites find in the results of a store, as ``bench`` says it at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zslplat.checks.base import Finding, run_checks
from zslplat.checks.facts import CellFacts, SuiteFacts
from zslplat.data.class_draws import drawn_from
from zslplat.evidence.results import Result
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.suites.cells import DONE, FAILED
from zslplat.suites.saved_cells import load_cells

Place = tuple[str, str, str]


def suite_findings(settings: Settings, results: Sequence[Result], *, whole: bool) -> list[Finding]:
    """Return what is found in the suites that some of the results are part of, suite after suite.

    ``whole``: no result of them is left out, so that cells of a suite that were not carried out are missing, as the
    last command that worked on it said; those whose data are not at hand are not. The classes of the data sets and
    draws of classes are checked apart.
    """
    findings: list[Finding] = []
    for name in dict.fromkeys(name for result in results for name in result.suites):
        for drawn in (False, True):
            cells = _recorded_cells(name, results, drawn)
            if whole:
                cells = _together(load_cells(settings, name, drawn=drawn), cells)
            if cells:
                findings += run_checks("suite", SuiteFacts(name, tuple(cells.values())))
    return findings


def _together(requested: Sequence[CellFacts], recorded: Mapping[Place, CellFacts]) -> dict[Place, CellFacts]:
    """Return the cells that were requested, each as it is recorded, and whatever else is recorded of the suite.

    Of a cell without a number the command says why.
    """
    cells = {(cell.data, cell.row, str(Spec.parse(cell.task))): cell for cell in requested}
    for place, cell in recorded.items():
        earlier = cells.get(place)
        if earlier is None or DONE in (earlier.status, cell.status):
            trials = cell.trials or (None if earlier is None else earlier.trials)
            cells[place] = replace(cell, trials=trials)
    return cells


def _recorded_cells(suite: str, results: Sequence[Result], drawn: bool) -> dict[Place, CellFacts]:
    """Return the recorded cells of a suite, by data set (with its split), row and task; the last one of several."""
    cells: dict[Place, CellFacts] = {}
    for result in results:
        for part in result.suite_parts:
            if part.get("suite") != suite or not {"data", "row"} <= set(part) or ("split" in part) != drawn:
                continue
            data = part["data"] + (f" #{part['split']}" if "split" in part else "")
            place = (data, part["row"], result.task)
            cells[place] = CellFacts(
                *place,
                DONE if result.has_test else FAILED,
                result.trial_count if result.is_study else None,
                "" if result.has_test else "no test evaluation yet",
                str(drawn_from(Spec.parse(result.dataset))),
                tuple(sorted(result.images)),
            )
    return cells

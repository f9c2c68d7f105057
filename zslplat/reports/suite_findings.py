"""What the checks of suites find in what a store holds of them, as ``bench`` says it at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zslplat.checks.base import Finding, run_checks
from zslplat.checks.facts import CellFacts, SuiteFacts
from zslplat.data.class_draws import drawn_from
from zslplat.errors import ZslplatError
from zslplat.records.studies import parts_of
from zslplat.reports.facts import Recorded
from zslplat.reports.reading import has_test
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.suites.cells import DONE, FAILED, NOT_CARRIED_OUT, WAITING, pieces_of
from zslplat.suites.remembered import remembered
from zslplat.suites.suite import absences, load_suite, suite_names

Place = tuple[str, str, str]


def suite_findings(settings: Settings, chosen: Sequence[Recorded], *, whole: bool) -> list[Finding]:
    """Return what is found in the suites that something of ``chosen`` is part of, suite after suite.

    ``whole``: nothing recorded of them is left out, so that cells of a suite that nobody carried out are missing, as
    the last command that worked on it said; those whose data are not at hand are not. Given classes and draws of
    classes are told of apart.
    """
    findings: list[Finding] = []
    for name in dict.fromkeys(name for found in chosen for name in found.suites):
        for drawn in (False, True):
            cells = _recorded(name, chosen, drawn)
            if whole:
                asked = remembered(settings, name, drawn=drawn) or (
                    _asked(name, settings) if cells and not drawn else ()
                )
                cells = _together(asked, cells)
            if cells:
                findings += run_checks("suite", SuiteFacts(name, tuple(cells.values())))
    return findings


def _together(asked: Sequence[CellFacts], recorded: Mapping[Place, CellFacts]) -> dict[Place, CellFacts]:
    """Return the cells that are asked for, each as it is recorded, and whatever else is recorded of the suite.

    Of a cell without a number the command knows why.
    """
    cells = {_place(cell): cell for cell in asked}
    for place, cell in recorded.items():
        known = cells.get(place)
        if known is None or DONE in (known.status, cell.status):
            trials = cell.trials or (None if known is None else known.trials)
            cells[place] = replace(cell, trials=trials)
    return cells


def _place(cell: CellFacts) -> Place:
    return (cell.data, cell.row, str(Spec.parse(cell.task)))


def _recorded(suite: str, chosen: Sequence[Recorded], drawn: bool) -> dict[Place, CellFacts]:
    """Return the recorded cells of a suite, by data set (with its split), row and task; the last one of several."""
    cells: dict[Place, CellFacts] = {}
    for found in chosen:
        for part in parts_of(found.about):
            if part.get("suite") != suite or not {"data", "row"} <= set(part) or ("split" in part) != drawn:
                continue
            data = part["data"] + (f" #{part['split']}" if "split" in part else "")
            place = (data, part["row"], found.place[1])
            done = has_test(found)
            cells[place] = CellFacts(
                *place,
                DONE if done else FAILED,
                len(found.trials) if found.study else None,
                "" if done else "no test evaluation yet",
                str(drawn_from(Spec.parse(found.place[0]))),
                tuple(sorted(found.images)),
            )
    return cells


def _asked(suite: str, settings: Settings) -> list[CellFacts]:
    """Return the cells that a suite asks for on data that are at hand; none of a suite that no name is known of.

    For stores whose suites were carried out by an earlier version.
    """
    if suite not in suite_names():
        return []
    try:
        found = load_suite(suite)
        absent = absences(found, settings)
        pieces = [piece for piece in pieces_of(found) if not absent[piece.data.name]]
    except ZslplatError:  # it is a plugin's, and has changed for the worse since
        return []
    return [
        CellFacts(p.data.name, p.row.name, str(Spec.parse(task)), WAITING, reason=NOT_CARRIED_OUT)
        for p in pieces
        for task in p.tasks
    ]

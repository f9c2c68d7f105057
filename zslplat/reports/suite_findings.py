"""What the checks of suites find in what a store holds of them, as ``bench`` says it at its end."""

from __future__ import annotations

from collections.abc import Sequence

from zslplat.checks.base import CellFacts, Finding, SuiteFacts, run_checks
from zslplat.data.redrawn import drawn_from
from zslplat.errors import ZslplatError
from zslplat.reports.facts import Recorded
from zslplat.reports.reading import has_test
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.suites.at_hand import reason_of_absence
from zslplat.suites.cells import DONE, FAILED, WAITING, pieces_of
from zslplat.suites.suite import load_suite, suite_names

Place = tuple[str, str, str]


def suite_findings(settings: Settings, chosen: Sequence[Recorded], *, whole: bool) -> list[Finding]:
    """Return what is found in the suites that something of ``chosen`` was carried out for, suite after suite.

    ``whole``: nothing recorded of them is left out, so that cells of a suite that is known by its name and that nobody
    carried out are missing; those whose data are not at hand are not.
    """
    findings: list[Finding] = []
    for name in dict.fromkeys(found.suite for found in chosen if found.suite is not None):
        cells = _recorded(name, chosen)
        if whole and not any("#" in data for data, *_ in cells):
            for place in _asked(name, settings):
                cells.setdefault(place, CellFacts(*place, status=WAITING, reason="not carried out"))
        findings += run_checks("suite", SuiteFacts(name, tuple(cells.values())))
    return findings


def _recorded(suite: str, chosen: Sequence[Recorded]) -> dict[Place, CellFacts]:
    """Return the recorded cells of a suite, by data set (with its split), row and task; the last one of several."""
    cells: dict[Place, CellFacts] = {}
    for found in chosen:
        part = dict(found.about.get("part_of") or {})
        if found.suite != suite or not {"data", "row"} <= set(part):
            continue
        data = str(part["data"]) + (f" #{part['split']}" if "split" in part else "")
        place = (data, str(part["row"]), found.place[1])
        done = has_test(found)
        reason = "" if done else "no test evaluation yet"
        trials = len(found.trials) if found.study else None
        family = str(drawn_from(Spec.parse(found.place[0])))
        cells[place] = CellFacts(*place, DONE if done else FAILED, trials, reason, family)
    return cells


def _asked(suite: str, settings: Settings) -> list[Place]:
    """Return the cells that a suite asks for on data that are at hand; none of a suite that no name is known of."""
    if suite not in suite_names():
        return []
    try:
        found = load_suite(suite)
        at_hand = {entry.name for entry in found.data if not reason_of_absence(entry.dataset, settings)}
        pieces = [piece for piece in pieces_of(found) if piece.data.name in at_hand]
    except ZslplatError:  # it is a plugin's, and has changed for the worse since
        return []
    return [(p.data.name, p.row.name, str(Spec.parse(task))) for p in pieces for task in p.tasks]

"""The papers' claims with their verdicts: carried out now (``--run``), or as they are recorded among the results."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zslplat.errors import UnknownNameError, ZslplatError, near_names, quoted, split_code
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.scoring.messages import collect_warnings
from zslplat.names import counted
from zslplat.settings import Settings
from zslplat.suites.cells import DONE, FAILED, SKIPPED, GridOptions
from zslplat.suites.grid import carry_out
from zslplat.suites.result import GridResult
from zslplat.suites.suite import Suite
from zslplat_papers.published import Claim, load_claims
from zslplat_papers.reproduction.claim_tests import (
    ClaimTest,
    ClaimTests,
    MeasuredTest,
    load_claim_tests,
    needed_rows,
    suite_of,
)
from zslplat_papers.reproduction.contrasts import contrasts_of, named
from zslplat_papers.reproduction.measures import load_measure
from zslplat_papers.reproduction.measures.ground import DATA, DRAWN, Ground
from zslplat_papers.reproduction.results import Line, keep_results, number, read_results
from zslplat_papers.reproduction.verdicts import (
    EXACT,
    NOT_TESTED,
    Contrast,
    Evidence,
    Verdict,
    claim_verdicts,
    contrast_verdict,
    mean_difference,
)

RESULTS = "claims"
KEY = ("claim", "suite", "contrast", "classes", "trials", "seed")
_JUDGED = ("verdict", "direction", "margin")  # of a difference, by what is claimed now: not kept


@dataclass
class Judged:
    """A claim, the experiments on it, the differences that were found, and the verdict.

    ``lines`` are the differences as results keep them, each with what it says alone; ``evidence`` are their means over
    data sets. ``experiment`` names what tests the claim; ``failed`` says which of its cells failed just now, and why.
    """

    claim: Claim
    experiment: str
    verdict: Verdict
    lines: list[dict[str, Any]] = field(default_factory=list)
    evidence: Evidence = field(default_factory=lambda: Evidence(()))
    apart: str = ""
    failed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the claim as plain values."""
        return {
            "claim": self.claim.id,
            "paper": self.claim.paper.code,
            "text": self.claim.text,
            "where": self.claim.where,
            "printed": self.claim.printed,
            "experiment": self.experiment,
            "apart": self.apart,
            "verdict": self.verdict.verdict,
            "why": self.verdict.why,
            "failed": list(self.failed),
            "contrasts": self.lines,
        }


def chosen_claims(names: Sequence[str] = ()) -> list[Claim]:
    """Return the claims that names mean: ids, or codes of papers; none for all.

    Raises :class:`UnknownNameError` for a name that means none.
    """
    claims = load_claims()
    for name in names:
        if not any(name in (claim.id, claim.paper.code) for claim in claims):
            choices = {c.id for c in claims} | {c.paper.code for c in claims}
            raise UnknownNameError("claim or paper", name, choices, lister="claims")
    return [claim for claim in claims if not names or claim.id in names or claim.paper.code in names]


def recorded_claims(names: Sequence[str] = (), folder: Path | None = None) -> list[Judged]:
    """Return claims with the verdicts that follow from the kept results; nothing is carried out.

    Verdicts are corrected for all claims, whichever are chosen.
    """
    experiments = load_claim_tests()
    chosen = chosen_claims(names)
    by_claim: dict[str, list[dict[str, Any]]] = {}
    for line in read_results(RESULTS, folder, KEY):
        by_claim.setdefault(line["claim"], []).append(_plain(line))
    judged = _decided([_weighed(claim, experiments, by_claim.get(claim.id, [])) for claim in load_claims()])
    return [one for one in judged if one.claim in chosen]


def lines_of_no_claim(folder: Path | None = None) -> list[str]:
    """Return what is to be said of kept differences whose claim is not known: no verdict counts them."""
    ids = {claim.id for claim in load_claims()}
    texts = []
    for name, count in Counter(line["claim"] for line in read_results(RESULTS, folder, KEY)).items():
        if name not in ids:
            near = near_names(name, ids)
            differences = counted(count, "kept difference is", "kept differences are")
            what = f"was {' or '.join(near)} meant?" if near else "zslplat claims lists them all"
            texts.append(f"{differences} of {quoted(name)}, which is no claim: left out; {what}")
    return texts


def run_claims(
    names: Sequence[str],
    settings: Settings,
    options: GridOptions | None = None,
    *,
    suites: Sequence[str] = (),
    class_folds: int | None = None,
    reporter: Reporter | None = None,
    watch: Callable[[str], None] = lambda text: None,
) -> list[Judged]:
    """Carry out the suites and measures that test the claims, or what is missing of suites, and judge the claims.

    Of a suite only the rows that are compared are carried out. ``options.only`` restricts the data sets; ``suites``
    restricts suites and measures. ``class_folds``: folds of all classes, in place of the split of a suite. A cell that
    fails, or whose data are not at hand, leaves the others alone. Verdicts are corrected for the claims that are
    carried out.
    """
    reporter, options = reporter or SilentReporter(), options or GridOptions()
    experiments, claims = load_claim_tests(), chosen_claims(names)
    by_suite: dict[str, list[ClaimTest]] = {}
    for claim in claims:
        for tested in experiments.tested.get(claim.id, ()):
            if not suites or tested.suite in suites:
                by_suite.setdefault(tested.suite, []).append(tested)
    measures = [one for claim in claims for one in experiments.measured.get(claim.id, ())]
    _check_selection(claims, experiments, suites, options.only, settings)
    lines: dict[str, list[dict[str, Any]]] = {claim.id: [] for claim in claims}
    failed: dict[str, list[str]] = {claim.id: [] for claim in claims}
    for name, tests in by_suite.items():
        watch(f"suite {name}, for {len(tests)} experiments")
        try:
            suite = suite_of(name, settings)
            suite = replace(suite, class_folds=class_folds) if class_folds else suite
            differences, troubles = _carried_out(suite, tests, options, settings, reporter)
        except Interrupted:
            raise
        except ZslplatError as error:
            reporter.warn(f"suite {name}: {error}")
            differences, troubles = [], {one.claim: [f"suite {name}: {error}"] for one in tests}
        for line in differences:
            lines[line["claim"]].append(line)
        for claimed, texts in troubles.items():
            failed[claimed] += texts
    for one in measures:
        if suites and one.suite not in suites:
            continue
        watch(f"{one.by}, for {one.claim}")
        try:
            lines[one.claim] += _measured(one, Ground(settings, options.only, say=reporter.note), reporter)
        except ZslplatError as error:
            reporter.warn(f"{one.by}: {error}")
            failed[one.claim].append(f"{one.by}: {error}")
    return _decided([_weighed(claim, experiments, lines[claim.id], failed[claim.id]) for claim in claims])


def _check_selection(
    claims: Sequence[Claim], experiments: ClaimTests, suites: Sequence[str], only: Sequence[str], settings: Settings
) -> None:
    """Raise :class:`UnknownNameError` for a suite or measure that tests none of the claims, or data that none has."""
    tests = [one for claim in claims for one in experiments.of(claim.id)]
    names = sorted({one.suite for one in tests})
    for name in suites:
        if name not in names:
            raise UnknownNameError("suite or measure that tests these claims (--suite)", name, names)
    if only:
        of_suites = {one.suite for one in tests if isinstance(one, ClaimTest) and (not suites or one.suite in suites)}
        data = {entry.name for name in of_suites for entry in suite_of(name, settings).data}
        if any(isinstance(one, MeasuredTest) and (not suites or one.suite in suites) for one in tests):
            data |= {*DATA, DRAWN}
        for name in only:
            if name not in data:
                raise UnknownNameError("data set of what tests these claims (--only)", name, sorted(data))


def keep_claims(judged: Sequence[Judged], folder: Path | None = None) -> Path | None:
    """Keep the differences that were found as ``claims.csv``; None where there are none.

    One that is no number says nothing, and is not kept.
    """
    lines = [
        {name: value for name, value in line.items() if name not in _JUDGED}
        for one in judged
        for line in one.lines
        if math.isfinite(float(line["difference"]))
    ]
    if not lines:
        return None
    return keep_results(RESULTS, lines, KEY, folder, hours=0.0)


def single_line(line: Mapping[str, Any]) -> str:
    """Return a difference in one line: what, estimate, interval and what it is over."""
    ends = "no interval"
    if line["low"] is not None and line["high"] is not None:
        ends = f"[{line['low']:+.3f}, {line['high']:+.3f}] over {line['over']}"
    return f"{line['contrast']}: {line['difference']:+.3f} {ends}: {line['verdict']}"


def _carried_out(
    suite: Suite, tests: Sequence[ClaimTest], options: GridOptions, settings: Settings, reporter: Reporter
) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """Return the differences that a suite gives, and by claim the cells that failed."""
    rows = needed_rows(tests)
    data = [entry.name for entry in suite.data if _is_selected(entry.name, tests, options.only)]
    only = [f"{name}/{row}" for name in data for row in rows]
    if not only:
        return [], {}
    grid = carry_out(suite, replace(options, only=only), settings, reporter)
    for cell in grid.cells:
        if cell.status in (FAILED, SKIPPED):
            reporter.note(f"{cell.title}: {cell.status}: {cell.reason}")
    requested = {entry.name: options.trials or entry.trials or suite.trials for entry in suite.data}
    lines = []
    for tested in tests:
        own_rows = needed_rows([tested])
        for difference in contrasts_of(tested, grid.comparable):
            name = difference.of.partition(":")[0]
            made = _trials(grid, name, own_rows) or {requested[name]}
            if len(made) > 1:
                counts = ", ".join(map(str, sorted(made)))
                reporter.warn(
                    f"{difference.of}: searches of {counts} trials are compared; --trials {max(made)} makes them equal"
                )
            spent = sum(c.seconds for c in grid.having(DONE) if c.data == name and c.row in own_rows)
            lines.append(_line(tested, difference, min(made), grid.repeats, suite.seed, spent))
    troubles: dict[str, list[str]] = {}
    for tested in tests:
        own_rows = needed_rows([tested])
        texts = [f"{cell.title}: {cell.reason}" for cell in grid.having(FAILED) if cell.row in own_rows]
        troubles.setdefault(tested.claim, []).extend(texts)
    return lines, troubles


def _measured(tested: MeasuredTest, ground: Ground, reporter: Reporter) -> list[dict[str, Any]]:
    """Return the differences that a measure finds; each says the time since the one before."""
    lines, begun = [], time.perf_counter()
    with collect_warnings() as warned:
        for difference in load_measure(tested.suite)(ground, tested.given):
            lines.append(_line(tested, difference, 0, 1, 0, time.perf_counter() - begun))
            begun = time.perf_counter()
    by_check: dict[str, list[str]] = {}
    for text in warned:
        by_check.setdefault(split_code(text)[1], []).append(text)
    for texts in by_check.values():
        reporter.note(f"{tested.by}: said {len(texts)} times, first: {texts[0]}")
    return lines


def _trials(grid: GridResult, data: str, rows: Sequence[str]) -> set[int]:
    """Return how many trials the searches of rows had, which may be more than this command asked for."""
    by_row: dict[str, int] = {}
    for key, entry in grid.entries.items():
        # Of the tasks of a row the first is searched; studies of the others make one trial.
        if key[0] == data and key[1] in rows:
            by_row[key[1]] = max(by_row.get(key[1], 0), entry.trials if entry.searched else 0)
    return {trials for trials in by_row.values() if trials}


def _is_selected(name: str, tests: Sequence[ClaimTest], only: Sequence[str]) -> bool:
    return (not only or name in only) and any(not one.data or name in one.data for one in tests)


def _line(
    tested: ClaimTest | MeasuredTest, contrast: Contrast, trials: int, repeats: int, seed: int, seconds: float
) -> dict[str, Any]:
    low, high = (None if end is None or math.isnan(end) else end for end in (contrast.low, contrast.high))
    return {
        "claim": tested.claim,
        "suite": tested.suite,
        "contrast": contrast.of,
        "difference": contrast.difference,
        "low": low,
        "high": high,
        "over": contrast.over,
        "classes": contrast.classes,
        "trials": trials,
        "repeats": repeats,
        "seed": seed,
        "seconds": round(seconds, 1),
    }


def _plain(line: Line) -> dict[str, Any]:
    numbers = {name: number(line.get(name)) for name in ("difference", "low", "high", "seconds")}
    counts = {name: int(line[name]) if line.get(name) else None for name in ("classes", "trials", "repeats", "seed")}
    return {**line, **numbers, **counts}


def _decided(weighed: Sequence[Judged]) -> list[Judged]:
    """Return claims with the verdicts that their evidence gives among each other; those without any keep theirs."""
    open_ones = [judged for judged in weighed if judged.lines]
    for judged, verdict in zip(open_ones, claim_verdicts([one.evidence for one in open_ones]), strict=True):
        judged.verdict = verdict
    return list(weighed)


def _weighed(claim: Claim, experiments: ClaimTests, lines: list[dict[str, Any]], failed: Sequence[str] = ()) -> Judged:
    """Return a claim with the evidence on it, not tested where there is none."""
    tested = experiments.of(claim.id)
    if claim.id in experiments.shown:
        by, verdict = experiments.shown[claim.id]
        return Judged(claim, ", ".join(by), verdict)
    if not tested:
        return Judged(claim, "", Verdict(NOT_TESTED, experiments.untested.get(claim.id, "no experiment")))
    carried = ", ".join(dict.fromkeys(one.by for one in tested))
    missing = f"zslplat claims {claim.id} --run carries out {carried}"
    if failed:
        what = "measures" if claim.id in experiments.measured else "cells"
        missing = f"{len(failed)} {what} failed, the first: {failed[0]}"
    apart = "; ".join(filter(None, dict.fromkeys(one.apart for one in tested)))
    experiment = ", ".join(dict.fromkeys(one.suite for one in tested))
    # What is claimed is what the experiments say now, whatever they said when a line was kept.
    by_comparison = _by_comparison(_one_each(lines), tested)
    means, without, judged_lines = [], [], []
    for comparison, (one, differences) in by_comparison.items():
        level = one.direction == "level"
        mean = mean_difference([_contrast(line, one) for line in differences], one.margin, level=level, of=comparison)
        if mean is None:
            without.append(f"{comparison}: {'no interval' if differences else 'not carried out'}")
        else:
            means.append(mean)
        for line in differences:
            alone = contrast_verdict(_contrast(line, one), one.margin, level=level)
            judged_lines.append({**line, "verdict": alone, "direction": one.direction, "margin": one.margin})
    evidence = Evidence(tuple(means), tuple(without))
    return Judged(claim, experiment, Verdict(NOT_TESTED, missing), judged_lines, evidence, apart, tuple(failed))


def _by_comparison(
    lines: Sequence[dict[str, Any]], tested: Sequence[ClaimTest | MeasuredTest]
) -> dict[str, tuple[ClaimTest | MeasuredTest, list[dict[str, Any]]]]:
    """Return the lines that bear on each comparison of a claim, with its experiment; one of them for a mean of all.

    Comparisons of two suites, in their order, are the same on other data. Lines that no experiment asks for any longer
    are left out.
    """
    comparisons: dict[int | str, tuple[str, ClaimTest | MeasuredTest, list[dict[str, Any]]]] = {}
    for one in tested:
        # A measure names its differences itself.
        sides = [named("", side) for side in one.sides] if isinstance(one, ClaimTest) else []
        for place, side in enumerate(sides):
            if one.joined == "all":
                comparisons.setdefault(place, (side.removeprefix(": "), one, []))
        for line in (line for line in lines if line["suite"] == one.suite):
            text = str(line["contrast"])
            key: int | str | None = text.partition(": ")[2]
            if isinstance(one, ClaimTest):
                key = next((place for place, side in enumerate(sides) if text.endswith(side)), None)
            if key is None:
                continue
            key = key if one.joined == "all" else ""
            comparisons.setdefault(key, (str(key), one, []))[2].append(line)
    return {name: (one, differences) for name, one, differences in comparisons.values()}


def _contrast(line: Mapping[str, Any], tested: ClaimTest | MeasuredTest) -> Contrast:
    over = EXACT if tested.exact else line["over"]
    return Contrast(line["contrast"], float(line["difference"]), line["low"], line["high"], over, line["classes"])


def _one_each(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one line of each difference: over most classes, of the largest budget, and of these the one kept last.

    The same difference found again with another budget or seed is on the same classes, so it is no further evidence.
    """
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        place = (line["suite"], line["contrast"])
        if place not in best or _weight(line) > _weight(best[place]):
            best[place] = line
    return list(best.values())


def _weight(line: Mapping[str, Any]) -> tuple[float, float, float, str]:
    return (
        float(line["classes"] or 0),
        float(line["trials"] or 0),
        float(line["repeats"] or 0),
        str(line.get("kept", "")),
    )

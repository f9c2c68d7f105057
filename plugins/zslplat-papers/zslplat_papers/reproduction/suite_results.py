"""The tables of a suite kept as results, and compared with those that are kept already.

What is kept has six digits. Numbers that differ in them come of other code, libraries or processors (a search may end
elsewhere where two of its trials are level to rounding), or of other data under the same name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zslplat.errors import UsageError
from zslplat.suites.result import GridResult
from zslplat.suites.suite import MEAN, Suite, load_suite, suite_names
from zslplat.suites.tables import BUDGETS, DIFFERENCES, GIVEN, SCORES, tables_of
from zslplat_papers.reproduction.results import (
    FOLDER,
    check_files,
    check_places,
    keep_results,
    key_of,
    number,
    read_results,
)

SCORE_KEY = ("data", "row", "task", "metric", "draw")
DIFFERENCE_KEY = ("task", "metric", "ahead", "behind", "data", "draw")
BUDGET_KEY = ("data", "row", "draw")
KEPT_TABLES = ("scores", "differences", "budgets")
_DIGITS = 1e-5  # of a number: half a unit of the last kept digit is 5e-6 of it at most


@dataclass(frozen=True)
class ChangedScore:
    """A number that is not as kept: of which score, how it is kept, and how it is now."""

    score: tuple[str, ...]
    kept: float
    now: float

    @property
    def line(self) -> str:
        """What is said of it."""
        data, row, task, metric, draw = self.score
        where = data if draw == GIVEN else f"{data} #{draw}"
        return f"{metric} of {row} on {where}, task {task}: {self.kept:.4g} kept, {self.now:.4g} now"


@dataclass(frozen=True)
class Agreement:
    """How many numbers of a grid are ``same`` as kept, and which are not (``others``), the farthest first."""

    same: int
    others: tuple[ChangedScore, ...]

    @property
    def line(self) -> str:
        """One line for all, empty where nothing is kept that these numbers could be compared with."""
        count = self.same + len(self.others)
        if not count:
            return ""
        text = f"kept results: {self.same} of {count} test scores are as kept"
        return f"{text}; farthest: {self.others[0].line}" if self.others else text

    def to_json(self) -> dict[str, Any]:
        """Return the form for ``--json``."""
        others = [{**dict(zip(SCORE_KEY, o.score, strict=True)), "kept": o.kept, "now": o.now} for o in self.others]
        return {"same": self.same, "others": others}


def earlier_scores(suite: str, folder: Path | None = None) -> dict[tuple[str, ...], tuple[str, float]]:
    """Return the trials and the value of each kept test score of a suite, by :data:`SCORE_KEY`.

    ``folder``: of kept results; default: those that packages bring, and those in ``./results`` over them. Raises
    :class:`StoreError` for what cannot be read.
    """
    lines = read_results(f"bench-{suite}-scores", folder, SCORE_KEY)
    values = [number(line["test"]) for line in lines]
    return {
        key_of(line, SCORE_KEY): (line.get("trials", ""), value)
        for line, value in zip(lines, values, strict=True)
        if value is not None
    }


def compare_scores(result: GridResult, earlier: Mapping[tuple[str, ...], tuple[str, float]]) -> Agreement:
    """Compare the test scores of a grid with kept ones of its suite, where these took as many trials.

    With other repeats than the suite's nothing is compared: results are kept without their number.
    """
    same, others = 0, []
    comparable = earlier and result.repeats == result.suite.repeats
    for values in tables_of(result).scores if comparable else ():
        now = dict(zip(SCORES, values, strict=True))
        key, value = key_of(now, SCORE_KEY), float(now["test"])
        trials, before = earlier.get(key, (None, 0.0))
        if trials != str(now["trials"]):
            continue
        if math.isclose(value, before, rel_tol=_DIGITS, abs_tol=1e-12):
            same += 1
        else:
            others.append(ChangedScore(key, before, value))
    return Agreement(same, tuple(sorted(others, key=lambda one: -abs(one.now - one.kept))))


def check_kept_suite(suite: Suite, folder: Path | None) -> None:
    """Raise for results that the tables of a suite cannot be added to, before anything is computed.

    :class:`UsageError` for a file that has the name of a registered suite and would be kept beside its results,
    :class:`StoreError` for kept results that are damaged and for a folder that cannot be written.
    """
    if folder is None and suite.name in suite_names() and load_suite(suite.name).origin != suite.origin:
        raise UsageError(
            f"suite {suite.where} has the name of the registered suite {suite.name}, whose results are kept under it; "
            "give the file another name, or a folder of your own with --results"
        )
    check_files([f"bench-{suite.name}-{part}" for part in KEPT_TABLES], folder)
    check_places(folder or FOLDER)


def keep_grid(result: GridResult, folder: Path | None = None) -> list[Path]:
    """Keep the tables of a grid as ``bench-SUITE-scores.csv``, ``-differences.csv`` and ``-budgets.csv``.

    What other commands kept of the suite stays, so that the data sets of a long grid can be carried out one by one, in
    other stores or on other machines.
    """
    tables, hours = tables_of(result), sum(entry.seconds for entry in result.entries.values()) / 3600
    # Differences between means over draws of classes are others than those on the given classes.
    drawn = any(draw is not None for *_, draw in result.scores)
    paths = []
    for name, header, lines, key, more in zip(
        KEPT_TABLES,
        (SCORES, DIFFERENCES, BUDGETS),
        (tables.scores, tables.differences, tables.budgets),
        (SCORE_KEY, DIFFERENCE_KEY, BUDGET_KEY),
        ({}, {"draw": MEAN if drawn else GIVEN}, {}),
        strict=True,
    ):
        rows = [{**dict(zip(header, line, strict=True)), **more, "seed": result.suite.seed} for line in lines]
        if rows:
            paths.append(keep_results(f"bench-{result.suite.name}-{name}", rows, key, folder, hours=hours))
    return paths

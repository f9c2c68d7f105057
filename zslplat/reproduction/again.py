"""A grid made again: whether its numbers are those that are kept of it.

What is kept has six digits. Numbers that differ in them come of other code, libraries or processors (a search may end
elsewhere where two of its trials are level to rounding), or of other data under the same name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zslplat.reproduction.results import key_of, number, read_results
from zslplat.suites.budgets import GIVEN
from zslplat.suites.result import GridResult
from zslplat.suites.written import SCORES, tables_of

SCORE_KEY = ("data", "row", "task", "metric", "split")
_DIGITS = 1e-5  # of a number: half a unit of the last kept digit is 5e-6 of it at most


@dataclass(frozen=True)
class Differing:
    """A number that is not as kept: of which score, how it is kept, and how it is now."""

    score: tuple[str, ...]
    kept: float
    now: float

    @property
    def line(self) -> str:
        """What is said of it."""
        data, row, task, metric, split = self.score
        where = data if split == GIVEN else f"{data} #{split}"
        return f"{metric} of {row} on {where}, task {task}: {self.kept:.4g} kept, {self.now:.4g} now"


@dataclass(frozen=True)
class Again:
    """How many numbers of a grid are ``same`` as kept, and which are not (``others``), the farthest first."""

    same: int
    others: tuple[Differing, ...]

    @property
    def line(self) -> str:
        """One line for all, empty where nothing is kept that these numbers could be compared with."""
        count = self.same + len(self.others)
        if not count:
            return ""
        told = f"kept results: {self.same} of {count} test scores are as kept"
        return f"{told}; farthest: {self.others[0].line}" if self.others else told

    def to_json(self) -> dict[str, Any]:
        """Return the form for ``--json``."""
        others = [{**dict(zip(SCORE_KEY, o.score, strict=True)), "kept": o.kept, "now": o.now} for o in self.others]
        return {"same": self.same, "others": others}


def kept_scores(suite: str, folder: Path | None = None) -> dict[tuple[str, ...], tuple[str, float]]:
    """Return the trials and the value of each kept test score of a suite, by :data:`SCORE_KEY`.

    ``folder``: of kept results; the package's and those in ``./results`` where it is None. Raises :class:`StoreError`
    for what cannot be read.
    """
    lines = read_results(f"bench-{suite}-scores", folder, SCORE_KEY)
    values = [number(line["test"]) for line in lines]
    return {
        key_of(line, SCORE_KEY): (line.get("trials", ""), value)
        for line, value in zip(lines, values, strict=True)
        if value is not None
    }


def against_kept(result: GridResult, kept: Mapping[tuple[str, ...], tuple[str, float]]) -> Again:
    """Compare the test scores of a grid with kept ones of its suite, where these took as many trials.

    With other repeats than the suite's nothing is compared: results are kept without their number.
    """
    same, others = 0, []
    comparable = kept and result.repeats == result.suite.repeats
    for values in tables_of(result).scores if comparable else ():
        now = dict(zip(SCORES, values, strict=True))
        key, value = key_of(now, SCORE_KEY), float(now["test"])
        trials, before = kept.get(key, (None, 0.0))
        if trials != str(now["trials"]):
            continue
        if math.isclose(value, before, rel_tol=_DIGITS, abs_tol=1e-12):
            same += 1
        else:
            others.append(Differing(key, before, value))
    return Again(same, tuple(sorted(others, key=lambda one: -abs(one.now - one.kept))))

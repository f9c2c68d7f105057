"""A grid made again: whether its numbers are those that are kept of it.

What is kept has six digits. Numbers that differ in them come of other code, libraries or processors (a search may end
elsewhere where two of its trials are level to rounding), or of other data under the same name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zslplat.reproduction.results import Line, key_of, number, read_results
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
        where = data if split == "given" else f"{data} #{split}"
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


def against_kept(result: GridResult, folder: Path | None = None) -> Again:
    """Compare the test scores of a grid with the kept ones of its suite that took as many trials.

    ``folder``: of kept results; the package's and those in ``./results`` where it is None.
    """
    kept = {key_of(line, SCORE_KEY): line for line in _kept(result, folder)}
    same, others = 0, []
    for values in tables_of(result).scores if kept else ():
        now = dict(zip(SCORES, values, strict=True))
        line = kept.get(key_of(now, SCORE_KEY))
        before = None if line is None else number(line["test"])
        if line is None or before is None or line["trials"] != str(now["trials"]):
            continue
        value = float(now["test"])
        if math.isclose(value, before, rel_tol=_DIGITS, abs_tol=1e-12):
            same += 1
        else:
            others.append(Differing(key_of(now, SCORE_KEY), before, value))
    return Again(same, tuple(sorted(others, key=lambda one: -abs(one.now - one.kept))))


def _kept(result: GridResult, folder: Path | None) -> Sequence[Line]:
    return read_results(f"bench-{result.suite.name}-scores", folder, SCORE_KEY)

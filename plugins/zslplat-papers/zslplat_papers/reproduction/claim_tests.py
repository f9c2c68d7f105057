"""Which experiment tests which claim: rows of a suite and the differences between them, or why there is none.

``claim_tests.toml`` has entries of four kinds, each under the id of its claim:

[[tested]]                        # differences of rows of a suite
claim = "000-ort-beats-plain"
suite = "zskl"                    # built in, or a file of ``suites/``
task = "zsl"
metrics = ["per_class_accuracy"]
pairs = [["Gaussian-Ort", "Gaussian"]]   # and terms = [[{ row, sign, task, metric }, ...]] for other sums
also = { suite = "zero-shot-full", data = [...] }        # the same differences of another suite, on some of its data
joined = "all"                    # each comparison counts; "mean" (the default): their mean does
margin = 0.02                     # what is of no consequence (the default); 0: nothing is
exact = true                      # the numbers are no sample of others: they are compared as they are
apart = "..."                     # in what it is not the paper's experiment

[[measured]]                      # differences of another kind: times, steps, choices (folder measures)
claim = "000-cost-is-linear-in-rows"
measure = "power-of-rows"
with = { method = "zskl-ort(epochs=2)" }
apart = "..."

[[shown]]                         # an identity, which tests of this project show to rounding
claim = "002-factor-carries-the-problem"
by = ["tests/..."]
says = "..."

[[untested]]                      # what is missing
claim = "..."
missing = "..."                   # or get = the name of a source of data
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from zslplat.errors import DataError
from zslplat.settings import Settings
from zslplat.statistics import MARGIN
from zslplat.suites.suite import Suite, load_suite
from zslplat_papers.published import load_claims
from zslplat_papers.reproduction.measures import MEASURES
from zslplat_papers.reproduction.recipe import sources
from zslplat_papers.reproduction.verdicts import HOLDS, Verdict

HERE = Path(__file__).parent
SUITES = HERE / "suites"
DIRECTIONS = ("higher", "lower", "level")
# What a claim of several comparisons is about: their mean, or each.
JOINED = ("mean", "all")
_JUDGED = ("claim", "joined", "margin", "apart")
_TESTED = (*_JUDGED, "suite", "task", "metrics", "pairs", "terms", "direction", "data", "also", "exact")
_MEASURED = (*_JUDGED, "measure", "with")


@dataclass(frozen=True)
class Term:
    """One side of a difference: a row, under a task, by a metric; ``sign`` +1 or -1."""

    row: str
    task: str
    metric: str
    sign: int


@dataclass(frozen=True)
class ClaimTest:
    """Differences of rows of a suite that bear on a claim.

    ``sides``: each a sum of terms, positive where the claim is right (``level``: not below 0 by more than the margin).
    ``joined``: whether it is about the ``mean`` of its comparisons, or about ``all``. ``margin``: what is of no
    consequence. ``data``: data sets of the suite, none for all. ``apart`` says in what the experiment is not the
    paper's; ``exact``: the numbers are compared as they are.
    """

    claim: str
    suite: str
    sides: tuple[tuple[Term, ...], ...]
    direction: str
    joined: str = "mean"
    margin: float = MARGIN
    data: tuple[str, ...] = ()
    apart: str = ""
    exact: bool = False

    @property
    def by(self) -> str:
        """What carries it out, in words."""
        return f"suite {self.suite}"


@dataclass(frozen=True)
class MeasuredTest:
    """Differences on a claim that a measure finds (:mod:`.measures`), positive where it is right.

    ``given`` is what the measure takes; the other fields are those of :class:`ClaimTest`. What a measure may be off by
    is in its differences already, so that its margin is 0 mostly.
    """

    claim: str
    suite: str
    given: Mapping[str, Any]
    joined: str = "mean"
    margin: float = 0.0
    apart: str = ""
    direction: str = "higher"
    exact: bool = False

    @property
    def by(self) -> str:
        """What carries it out, in words."""
        return f"measure {self.suite}"


@dataclass(frozen=True)
class ClaimTests:
    """All experiments by claim; ``shown`` maps a claim to the tests that show it, ``untested`` to what is missing."""

    tested: Mapping[str, tuple[ClaimTest, ...]]
    shown: Mapping[str, tuple[tuple[str, ...], Verdict]]
    untested: Mapping[str, str]
    measured: Mapping[str, tuple[MeasuredTest, ...]] = field(default_factory=dict)

    def of(self, claim: str) -> tuple[ClaimTest | MeasuredTest, ...]:
        """Return the experiments on a claim that find differences."""
        return (*self.tested.get(claim, ()), *self.measured.get(claim, ()))


@cache
def load_claim_tests() -> ClaimTests:
    """Return the experiments of all claims."""
    return read_claim_tests(HERE / "claim_tests.toml")


def read_claim_tests(path: Path) -> ClaimTests:
    """Read a file of experiments; raises :class:`DataError` for keys that nobody reads and claims that nobody makes."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    directions = {claim.id: claim.direction for claim in load_claims()}
    tested: dict[str, tuple[ClaimTest, ...]] = {}
    measured: dict[str, tuple[MeasuredTest, ...]] = {}
    shown: dict[str, tuple[tuple[str, ...], Verdict]] = {}
    untested: dict[str, str] = {}
    for kind, entries in content.items():
        for entry in entries:
            name = str(entry.get("claim"))
            if name not in directions:
                raise DataError(f"{path.name}: no paper claims {name!r}")
            if kind == "tested":
                test = _tested(entry, directions[name], path.name)
                tested[name] = (*tested.get(name, ()), test, *_also(entry, test, path.name))
            elif kind == "measured":
                measured[name] = (*measured.get(name, ()), _measured(entry, path.name))
            elif kind == "shown":
                shown[name] = (tuple(entry["by"]), Verdict(entry.get("verdict", HOLDS), entry["says"]))
            elif kind != "untested":
                raise DataError(f"{path.name}: [[{kind}]]; expected tested, measured, shown or untested")
            else:
                untested[name] = entry["missing"] if "missing" in entry else f"the data: {sources()[entry['get']]}"
    return ClaimTests(tested, shown, untested, measured)


def suite_of(name: str, settings: Settings | None = None) -> Suite:
    """Return the suite of an experiment: one that is packaged with the experiments, or a built-in one."""
    path = SUITES / f"{name}.toml"
    return load_suite(path if path.exists() else name, settings)


def needed_rows(experiments: Sequence[ClaimTest]) -> list[str]:
    """Return the rows of a suite that experiments compare, each once."""
    return list(dict.fromkeys(term.row for one in experiments for side in one.sides for term in side))


def _tested(entry: Mapping[str, Any], claimed: str, where: str) -> ClaimTest:
    direction = entry.get("direction", claimed)
    _check(entry, _TESTED, direction, where)
    # Where less is claimed, the second side is the one that should be ahead.
    sign = -1 if direction == "lower" else 1
    metrics = entry.get("metrics", ())
    sides: list[tuple[Term, ...]] = [
        (Term(first, entry["task"], metric, sign), Term(second, entry["task"], metric, -sign))
        for first, second in entry.get("pairs", ())
        for metric in metrics
    ]
    # A term says of its task and metric what is not the experiment's.
    common = {"task": entry.get("task"), "metric": metrics[0] if len(metrics) == 1 else None}
    for terms in entry.get("terms", ()):
        sides.append(tuple(Term(**{**common, **t, "sign": sign * t["sign"]}) for t in terms))
        if any(None in (term.task, term.metric) for term in sides[-1]):
            raise DataError(f"{where}: the experiment of {entry['claim']} has a term without a task or a metric")
    if not sides:
        raise DataError(f"{where}: the experiment of {entry['claim']} has neither pairs nor terms")
    return ClaimTest(
        entry["claim"],
        entry["suite"],
        tuple(sides),
        direction,
        entry.get("joined", "mean"),
        entry.get("margin", MARGIN),
        tuple(entry.get("data", ())),
        entry.get("apart", ""),
        entry.get("exact", False),
    )


def _also(entry: Mapping[str, Any], first: ClaimTest, where: str) -> list[ClaimTest]:
    """Return the same experiment by another suite, on the data sets that are named; none where nothing is said."""
    if "also" not in entry:
        return []
    other = entry["also"]
    if set(other) != {"suite", "data"} or other["suite"] == first.suite:
        raise DataError(f"{where}: the experiment of {first.claim} is also of another suite, with suite and data")
    return [replace(first, suite=other["suite"], data=tuple(other["data"]))]


def _measured(entry: Mapping[str, Any], where: str) -> MeasuredTest:
    _check(entry, _MEASURED, "higher", where)
    if entry.get("measure") not in MEASURES:
        raise DataError(f"{where}: the experiment of {entry['claim']} has no measure of these: {', '.join(MEASURES)}")
    return MeasuredTest(
        entry["claim"],
        entry["measure"],
        dict(entry.get("with", {})),
        entry.get("joined", "mean"),
        entry.get("margin", 0.0),
        entry.get("apart", ""),
    )


def _check(entry: Mapping[str, Any], allowed: Sequence[str], direction: str, where: str) -> None:
    odd, joined = sorted(set(entry) - set(allowed)), entry.get("joined", "mean")
    if odd or direction not in DIRECTIONS or joined not in JOINED:
        what = f"has joined {joined!r}; expected {', '.join(JOINED)}"
        what = what if direction in DIRECTIONS else f"has direction {direction!r}; expected {', '.join(DIRECTIONS)}"
        what = f"has {', '.join(odd)}" if odd else what
        raise DataError(f"{where}: the experiment of {entry['claim']} {what}")

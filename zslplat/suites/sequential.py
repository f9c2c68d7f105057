"""Class folds of a suite until its verdicts are made, or a budget is spent: ``bench --until-decided --budget 2h``.

A verdict is on a pair of rows that the suite names in ``differences``, else on every row beside the first, by the
metrics of each task on each data set. It is looked at after each fold of the first arrangement, and after each whole
arrangement that follows. :func:`sequential_p` accounts for the looks, Holm's correction for the
pairs of one metric on one data set. What is decided stays so; the rows of open verdicts alone get the next fold.
Everything is read from the records, so the same command goes on where it was stopped, with the same looks.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zslplat.comparison.classes import class_difference, family_p_values
from zslplat.errors import UsageError
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.evidence.draws import shared_draws
from zslplat.metrics.intervals import margin_of
from zslplat.names import counted, duration
from zslplat.settings import Settings
from zslplat.statistics import LEVEL, NOT_ENOUGH, Estimate, holm, quantile_t, root, verdict_of
from zslplat.suites.cells import GridOptions, pieces_of
from zslplat.suites.grid import carry_out
from zslplat.suites.result import GridResult
from zslplat.suites.suite import Suite
from zslplat.suites.tables import kinds_of, pairs_of

CLASS_FOLDS = 5  # where neither the suite nor the command says it
_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class PairVerdict:
    """What is decided of a pair of rows: the difference of ``ahead`` from ``behind``, and after how many ``folds``.

    ``low`` and ``high`` are the ends of its interval, which holds at every look; ``classes_to_decide``: about how many
    classes would decide what is open.
    """

    data: str
    task: str
    metric: str
    ahead: str
    behind: str
    verdict: str
    difference: float
    low: float
    high: float
    folds: int
    classes_to_decide: int | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from the others."""
        return self.data, self.task, self.metric, self.ahead, self.behind

    def __str__(self) -> str:
        pair = f"{self.ahead} - {self.behind} on {self.data}, {self.task} {self.metric}"
        text = f"{pair}: {self.verdict}, {self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"
        text += f" after {counted(self.folds, 'fold')}"
        more = self.classes_to_decide if self.verdict == NOT_ENOUGH else None
        return text if more is None else f"{text}; about {more} classes like these would decide"


@dataclass(frozen=True)
class Decision:
    """How a suite was decided: its grid, the verdicts, and the seconds that one more arrangement of the open takes."""

    grid: GridResult
    verdicts: tuple[PairVerdict, ...]
    seconds: float

    @property
    def lines(self) -> list[str]:
        """The verdicts, those that are open last, and what these would cost."""
        undecided = [one for one in self.verdicts if one.verdict == NOT_ENOUGH]
        made = [f"decided: {one}" for one in self.verdicts if one not in undecided]
        cost = f"{self.grid.suite.class_folds} more folds of all that is open take about {duration(self.seconds)}"
        looks = "intervals and verdicts allow for a look after every fold"
        return [*made, *(f"open: {one}" for one in undecided), looks, *([cost] if undecided else [])]

    @property
    def counts(self) -> str:
        """How many verdicts are decided, and how many are open."""
        undecided = sum(one.verdict == NOT_ENOUGH for one in self.verdicts)
        return f"{len(self.verdicts) - undecided} decided, {undecided} open"


def sequential_p(p_value: float, share: float, arrangement: int) -> float:
    """Return a p-value that holds at every look: after a ``share`` of the classes, and whole arrangements of folds.

    Looks before all classes are tested share a quarter of the level. With z of the p-value and x = 11 share they have
    4 (1 + x)^.5 exp(-z^2 x / (2 + 2 x)), the asymptotic confidence sequence of Waudby-Smith et al., "Time-Uniform
    Central Limit Theory" (2021), tightest for all classes. Arrangement 1 has half of the level, a > 1 has 2^-(a + 1).
    """
    from scipy.special import ndtri

    if share >= 1:
        return min(1.0, p_value * 2.0 ** (arrangement + (arrangement > 1)))
    x, z = 11 * share, float(ndtri(p_value / 2))
    return min(1.0, 4 * math.sqrt(1 + x) * math.exp(-z * z * x / (2 + 2 * x)))


def sequential_reach(share: float, arrangement: int) -> float:
    """Return how many errors the interval that goes with :func:`sequential_p` reaches to each side."""
    from scipy.special import ndtr

    return root(lambda z: 1 - LEVEL - sequential_p(float(2 * ndtr(-z)), share, arrangement), 0.0, 30.0)


def seconds_of(budget: str | float) -> float:
    """Return the seconds of a budget: ``2h``, ``90min``, ``30s``, or a number; raises :class:`UsageError`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(budget))
    unit = _UNITS.get(match[2] or "s") if match else None
    if match is None or unit is None or not float(match[1]) > 0:
        raise UsageError(f"--budget {budget}: expected a time such as 2h, 90min or 30s")
    return float(match[1]) * unit


def decide(
    suite: Suite, options: GridOptions, settings: Settings, budget: float, reporter: Reporter | None = None
) -> Decision:
    """Carry out class folds of a suite until no verdict is open, or ``budget`` seconds are spent.

    Raises like :func:`zslplat.suites.grid.carry_out`, and :class:`UsageError` for a suite of one row, or for rows whose
    searches had unequal budgets.
    """
    reporter = reporter or SilentReporter()
    suite = replace(suite, class_folds=suite.class_folds or CLASS_FOLDS, draws=None)
    folds, began = suite.class_folds or CLASS_FOLDS, time.monotonic()
    selected = {(piece.data.name, piece.row.name) for piece in pieces_of(suite, options.only)}
    pairs = _pairs(suite)
    places = {(data.name, row) for data in suite.data for pair in pairs for row in pair} & selected
    verdicts: dict[tuple[str, ...], PairVerdict] = {}
    draw, step = 0, 0.0
    while True:
        draw, started = draw + 1, time.monotonic()
        chosen = replace(options, only=sorted("/".join(place) for place in places))
        grid = carry_out(replace(suite, draws=draw), chosen, settings, reporter)
        step = time.monotonic() - started
        _check_budgets(grid)
        if draw <= folds or draw % folds == 0:
            for one in _look(grid.whole, pairs, folds):
                if one.key not in verdicts or verdicts[one.key].verdict == NOT_ENOUGH:
                    verdicts[one.key] = one
            undecided = [one for one in verdicts.values() if one.verdict == NOT_ENOUGH]
            reporter.note(f"after fold {draw}: {len(undecided)} of {counted(len(verdicts), 'verdict')} open")
            places = {(one.data, row) for one in undecided for row in (one.ahead, one.behind)} & selected
        if not places or time.monotonic() - began + step > budget:
            return Decision(grid, tuple(verdicts.values()), step * folds)


def _pairs(suite: Suite) -> list[tuple[str, str]]:
    """Return the pairs that verdicts are on; raises :class:`UsageError` where there is none."""
    names = [row.name for row in suite.rows]
    pairs = list(suite.differences) or [(name, names[0]) for name in names[1:]]
    if not pairs:
        raise UsageError(f"suite {suite.name}: --until-decided compares rows, and it has {names[0]!r} alone; add a row")
    return pairs


def _check_budgets(grid: GridResult) -> None:
    """Raise :class:`UsageError` where the searches of two rows on one data set had other numbers of trials."""
    counts: dict[str, dict[str, int]] = {}
    for cell in grid.cells:
        entry = grid.entries.get(cell.key)
        if entry is not None and entry.searched:
            by_row = counts.setdefault(cell.data, {})
            by_row[cell.row] = max(entry.trials, by_row.get(cell.row, 0))
    for data, by_row in counts.items():
        if len(set(by_row.values())) > 1:
            most, least = max(by_row, key=by_row.__getitem__), min(by_row, key=by_row.__getitem__)
            raise UsageError(
                f"{most} has {counted(by_row[most], 'trial')} on {data} and {least} has {by_row[least]}: a verdict "
                f"would be on unequal budgets; --trials {by_row[most]} gives all rows as many"
            )


def _look(grid: GridResult, pairs: Sequence[tuple[str, str]], folds: int) -> list[PairVerdict]:
    """Return the verdicts as they are now."""
    verdicts = []
    for kind, metric in kinds_of(grid):
        for data in dict.fromkeys(cell.data for cell in grid.cells):
            compared = pairs_of(grid, pairs, data, kind, metric)
            draws = [len(shared_draws(*pair)[0].draws) for *_, pair in compared]
            gaps, p_values, _ = family_p_values([class_difference(*pair, metric) for *_, pair in compared])
            looks = [
                sequential_p(p, *_place(count, folds)) if np.isfinite(p) else p
                for p, count in zip(p_values.tolist(), draws, strict=True)
            ]
            for (ahead, behind, _), count, gap, p in zip(compared, draws, gaps, holm(looks).tolist(), strict=True):
                if gap is not None:
                    verdicts.append(_verdict(data, kind, metric, ahead, behind, count, gap, p, folds))
    return verdicts


def _place(draws: int, folds: int) -> tuple[float, int]:
    """Return the share of the classes that so many draws have tested, and which arrangement is whole, at least 1."""
    return min(1.0, draws / folds), max(1, draws // folds)


def _verdict(
    data: str, task: str, metric: str, ahead: str, behind: str, draws: int, gap: Estimate, p_holm: float, folds: int
) -> PairVerdict:
    wider = sequential_reach(*_place(draws, folds)) / quantile_t(np.inf)
    low, high = (gap.estimate + wider * (end - gap.estimate) for end in gap.ends)
    verdict = verdict_of(gap.estimate, p_holm, (low, high), classes=gap.classes, margin=margin_of(metric))
    more = gap.classes_to_decide()
    return PairVerdict(data, task, metric, ahead, behind, verdict, gap.estimate, low, high, draws, more)

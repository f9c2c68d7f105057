"""The differences that a claim is about, from the test evaluations of a suite, each with its interval.

Over new classes where every side has values per class (:mod:`zslplat.statistics`), without the moderation of rivals.
Else over what the task draws (queries, draws of classes) by the bootstrap; else over the seeds of repeats (Welch). One
interval per difference, and it says over what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from zslplat.comparison.classes import class_difference
from zslplat.comparison.paired import difference
from zslplat.evidence.scores import Scored
from zslplat.statistics import DIFFERENCES, estimate_mean
from zslplat.suites.cells import Key
from zslplat_papers.reproduction.claim_tests import ClaimTest, Term
from zslplat_papers.reproduction.verdicts import CLASSES, DRAWS, SEEDS, Contrast


def contrasts_of(tested: ClaimTest, scores: Mapping[Key, Scored]) -> list[Contrast]:
    """Return the differences of an experiment on every data set on which all its sides were carried out."""
    contrasts = []
    for data in dict.fromkeys(key[0] for key in scores if not tested.data or key[0] in tested.data):
        for side in tested.sides:
            chosen = [_score(term, data, scores) for term in side]
            if all(one is not None for one in chosen):
                contrasts.append(contrast(data, side, [one for one in chosen if one is not None]))
    return contrasts


def contrast(data: str, side: Sequence[Term], scored: Sequence[Scored]) -> Contrast:
    """Return the sum of signed terms on one data set with its interval."""
    estimate = float(sum(t.sign * np.mean(s.values[t.metric]) for t, s in zip(side, scored, strict=True)))
    if (over_classes := _over_classes(side, scored)) is not None:
        return Contrast(named(data, side), estimate, *over_classes[0], CLASSES, over_classes[1])
    for over, ends in (
        (DRAWS, _over_draws(side, scored)),
        (SEEDS, _over_seeds(side, scored, estimate)),
    ):
        if ends is not None:
            return Contrast(named(data, side), estimate, *ends, over)
    return Contrast(named(data, side), estimate, None, None)


def named(data: str, side: Sequence[Term]) -> str:
    """Return what a difference is called: data set, rows and metrics, ``a + b - c - d`` by their signs."""
    ordered = sorted(side, key=lambda term: -term.sign)
    one_metric = len({(term.task, term.metric) for term in side}) == 1
    names = [term.row if one_metric else f"{term.row} {term.metric}" for term in ordered]
    signs = ["", *(" + " if term.sign > 0 else " - " for term in ordered[1:])]
    what = "".join(sign + name for sign, name in zip(signs, names, strict=True))
    what += f" ({side[0].metric})" if one_metric else ""
    return f"{data}: {what}"


def _score(term: Term, data: str, scores: Mapping[Key, Scored]) -> Scored | None:
    """Return the score of a term: its task as it is written, or by its bare name where the suite says more."""
    for (name, row, task, draw), scored in scores.items():
        same = term.task in (task, task.partition("(")[0])
        if name == data and row == term.row and same and draw is None and term.metric in scored.values:
            return scored
    return None


def _over_classes(side: Sequence[Term], scored: Sequence[Scored]) -> tuple[tuple[float, float], int] | None:
    """Return the ends of the interval over new classes, and how many classes there are; None without any."""
    if _is_pair(side):
        ahead, behind = _ordered(side, scored)
        draw = class_difference(ahead, behind, side[0].metric)
        return None if draw is None or np.isnan(draw.ends[0]) else (draw.ends, draw.classes)
    # Several metrics, or more than two rows: the same classes must be behind all of them.
    values = [one.classes.get(term.metric) for term, one in zip(side, scored, strict=True)]
    if any(value is None for value in values) or any(one.rows is None for one in scored):
        return None
    means = [np.asarray(value).mean(axis=0) for value in values]
    names = [[] if one.class_names is None else list(one.class_names) for one in scored]
    if any(classes != names[0] for classes in names) or len({len(mean) for mean in means}) > 1:
        return None
    total = np.sum([term.sign * mean for term, mean in zip(side, means, strict=True)], axis=0)
    finite = total[np.isfinite(total)]
    bounds = DIFFERENCES if len(side) <= 2 else None  # a sum of more shares has other bounds
    return (estimate_mean(finite, bounds=bounds).ends, len(finite)) if len(finite) > 1 else None


def _over_draws(side: Sequence[Term], scored: Sequence[Scored]) -> tuple[float, float] | None:
    if not _is_pair(side):
        return None
    ahead, behind = _ordered(side, scored)
    gap = difference(ahead, behind, side[0].metric)
    return None if np.isnan(gap.low) else (gap.low, gap.high)


def _over_seeds(side: Sequence[Term], scored: Sequence[Scored], estimate: float) -> tuple[float, float] | None:
    """Return Welch's interval over the repeats of the sides; None where one was evaluated once, or nothing varies."""
    from scipy.stats import t

    samples = [np.asarray(one.values[term.metric], dtype=float) for term, one in zip(side, scored, strict=True)]
    if any(len(sample) < 2 for sample in samples):
        return None
    parts = [(float(sample.var(ddof=1)) / len(sample), len(sample) - 1) for sample in samples]
    variance = sum(value for value, _ in parts)
    if variance == 0:
        return None  # repeats that all give the same say nothing of what other seeds would give
    freedom = variance**2 / sum(value**2 / count for value, count in parts)
    half = float(t.ppf(0.975, freedom)) * variance**0.5
    return estimate - half, estimate + half


def _is_pair(side: Sequence[Term]) -> bool:
    same = len({(term.task, term.metric) for term in side}) == 1
    return len(side) == 2 and same and {term.sign for term in side} == {1, -1}


def _ordered(side: Sequence[Term], scored: Sequence[Scored]) -> tuple[Scored, Scored]:
    return (scored[0], scored[1]) if side[0].sign > 0 else (scored[1], scored[0])

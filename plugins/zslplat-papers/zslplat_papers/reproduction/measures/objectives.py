"""What an iteration does to the objective, and to the scores of features; over draws of half of the seen classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from zslplat_papers.reproduction.measures.ground import Ground, build, over_draws, seen_classes, seen_rows
from zslplat_papers.reproduction.verdicts import Contrast

HALF = "draws of half of the seen classes"
# An objective is level where a step, or so many steps, change it by less than this part of it.
LEVEL, ROUNDING = 0.01, 1e-6


def level_after_updates(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Fit ``method``, which takes ``iterations``; the difference is 1 % less what the second half of them still gain.

    ``iterations`` is twice the number that is claimed to be enough.
    """
    total = int(options["iterations"])
    for name, dataset in ground.data():
        halves = seen_classes(dataset, 0.5, ground.draws)
        left = []
        for X, y, S in seen_rows(dataset, 0.5, ground.draws):
            fitted = build(options["method"], iterations=total).fit(X - X.min(axis=0), y, S - S.min(axis=0))
            path = np.array(fitted.diagnostics_.series["objective"])
            left.append((path[min(total // 2, len(path) - 1)] - path[-1]) / abs(path[-1]))
        what = f"{LEVEL} - relative fall after {total // 2} of {total} updates"
        yield over_draws(f"{name}: {what}", LEVEL - np.array(left), HALF, halves)


def objective_falls(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Fit ``method`` for ``iterations``: how much the worst iteration lowers the objective, and whether it is level.

    The first difference is a millionth more than the smallest fall of any iteration, in units of the objective at the
    start: negative where it rises once. The second is 1 % less the relative fall of the last iteration.
    """
    total = int(options["iterations"])
    for name, dataset in ground.data():
        halves = seen_classes(dataset, 0.5, ground.draws)
        least, last = [], []
        for X, y, S in seen_rows(dataset, 0.5, ground.draws):
            path = np.array(build(options["method"], iterations=total).fit(X, y, S).diagnostics_.series["objective"])
            falls = path[:-1] - path[1:]
            least.append(float(falls.min() / abs(path[0])) + ROUNDING)
            last.append(float(falls[-1] / abs(path[-2])))
        yield over_draws(f"{name}: {ROUNDING} + smallest relative fall of an iteration", least, HALF, halves)
        yield over_draws(f"{name}: {LEVEL} - relative fall of iteration {total}", LEVEL - np.array(last), HALF, halves)


def last_scores_shrink(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Fit ``method``, which starts from scores of 1; the difference is 1 less the mean score of the last half."""
    for name, dataset in ground.data():
        halves = seen_classes(dataset, 0.5, ground.draws)
        shrunk = []
        for X, y, S in seen_rows(dataset, 0.5, ground.draws):
            scores = np.sort(build(options["method"]).fit(X, y, S).scores_)
            shrunk.append(1 - float(np.maximum(scores[: len(scores) // 2], 0).mean()))
        yield over_draws(
            f"{name}: 1 - mean score of the last half of the features ({options['method']})", shrunk, HALF, halves
        )

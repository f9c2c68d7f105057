"""What epochs of training do to the accuracy on held-out classes; the test split is not looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat_papers.reproduction.measures.ground import (
    Ground,
    accuracies,
    build,
    held_out_accuracies,
    over_classes,
    over_draws,
)
from zslplat_papers.reproduction.verdicts import Contrast

# The share of an accuracy that counts as having reached it.
REACHED = 0.95
# An accuracy has settled that loses less than this from its best to its last epoch.
LOST = 0.02


def training_settles(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Train ``method``: two points less what the accuracy of held-out classes lost since the best epoch of all."""
    for name, dataset in ground.data():
        path, _, _ = _path(dataset, options["method"])
        best = int(path.mean(axis=1).argmax())
        what = f"{LOST} - loss of accuracy since the best epoch"
        yield over_classes(f"{name}: {what}", LOST - (path[best] - path[-1]))


def training_rises(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Train ``method``: accuracy of the held-out classes at the end less that after one epoch, and what J falls by."""
    for name, dataset in ground.data():
        path, falls, trained = _path(dataset, options["method"])
        yield over_classes(f"{name}: accuracy at the end - after one epoch", path[-1] - path[0])
        yield over_draws(f"{name}: relative fall of the objective", falls, "folds", trained)


def epochs_saved(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Train ``first`` and ``second`` from several starts, each with the one of ``rates`` by which it is there soonest.

    *There* is 95 % of the lower of the two best accuracies on held-out classes. The difference is the share of the
    second's epochs that the first saves, paired by start; parts of an epoch by straight lines.
    """
    task = ZeroShot()
    for name, dataset in ground.data():
        problem = task.validation(dataset)[0]
        paths: dict[str, dict[float, list[np.ndarray]]] = {}
        for text in (options["first"], options["second"]):
            paths[text] = {
                rate: [
                    np.nanmean(accuracies(build(text, rate=rate, seed=seed), task, problem), axis=1)
                    for seed in range(ground.draws)
                ]
                for rate in options["rates"]
            }
        goal = REACHED * min(max(np.mean(p, axis=0).max() for p in by_rate.values()) for by_rate in paths.values())
        first, second = (_soonest(paths[text], goal) for text in (options["first"], options["second"]))
        saved = (second - first) / np.maximum(second, first)
        yield over_draws(f"{name}: share of epochs saved", saved, "starts")


def _soonest(by_rate: Mapping[float, list[np.ndarray]], goal: float) -> np.ndarray:
    """Return how many epochs each start takes, with the rate that takes fewest on average."""
    by_rates = [np.array([epochs_to(path, goal) for path in paths]) for paths in by_rate.values()]
    return min(by_rates, key=lambda epochs: float(epochs.mean()))


def epochs_to(path: np.ndarray, goal: float) -> float:
    """Return after how many epochs accuracies (e,), one after each epoch, reach a goal; e + 1 where they never do."""
    reached = np.flatnonzero(path >= goal)
    if not len(reached):
        return float(len(path) + 1)
    if reached[0] == 0:
        return 1.0
    before, after = path[reached[0] - 1], path[reached[0]]
    return float(reached[0] + (goal - before) / (after - before))


def _path(dataset: Dataset, text: str) -> tuple[np.ndarray, list[float], list[list[str]]]:
    """Return accuracies (epochs, c) of held-out classes, and by fold what the objective falls by, and the classes that
    it was trained on, of which folds share many.
    """
    fitted: list[Any] = []

    def made() -> Any:
        fitted.append(build(text))
        return fitted[-1]

    path = held_out_accuracies(made, dataset)
    objectives = [method.diagnostics_.series["objective"] for method in fitted]
    held_out = [set(problem.meta["classes"]) for problem in ZeroShot().validation(dataset)]
    every = [dataset.class_names[label] for label in np.unique(dataset.y[dataset.rows("train")])]
    trained = [[name for name in every if name not in values] for values in held_out]
    return path, [(one[0] - one[-1]) / abs(one[0]) for one in objectives], trained

"""Feature selection by numbers of features, starts of the clustering, and shares of labelled classes.

Over draws of the seen classes; methods with the values that they are given, untuned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.families.selection.outcomes import each_clustering
from zslplat.metrics.accuracy import clustering_accuracy
from zslplat_papers.repeated_tasks import RepeatedFeatureSelection
from zslplat_papers.reproduction.measures.ground import Ground, build, over_draws, steps
from zslplat_papers.reproduction.verdicts import Contrast

DRAWS = "draws of the seen classes"
ROWS, STARTS = 800, 10


def gain_at_features(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """With ``features`` of them: relative gain of each of ``accuracies`` over the best of ``others``, less ``claimed``.

    The best is the one with the highest mean over the draws.
    """
    count, claimed = int(options["features"]), float(options["claimed"])
    for name, dataset in ground.data():
        scores = {
            text: [float(curve.mean()) for curve in _curves(dataset, text, ground.draws, first=count, last=count)]
            for text in (*options["own"], *options["others"])
        }
        unseen = _unseen(dataset, ground.draws)
        best = max(options["others"], key=lambda text: float(np.mean(scores[text])))
        for accuracies in options["own"]:
            gain = np.array(scores[accuracies]) / np.array(scores[best]) - 1
            what = f"{name}: relative gain of {accuracies} with {count} features - {claimed}"
            yield over_draws(what, gain - claimed, DRAWS, unseen)


def spread_over_starts(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Deviation of the accuracy over the starts of k-means, mean over numbers of features: ``second`` less ``first``.

    And the deviation of the mean accuracy over numbers of features, from one to the next.
    """
    for name, dataset in ground.data():
        first, second = (list(_curves(dataset, options[side], ground.draws)) for side in ("first", "second"))
        unseen = _unseen(dataset, ground.draws)
        gap = f"of {options['second']} - of {options['first']}"
        over = [float(b.std(axis=1).mean() - a.std(axis=1).mean()) for a, b in zip(first, second, strict=True)]
        yield over_draws(f"{name}: deviation over starts {gap}", over, DRAWS, unseen)
        along = [_roughness(b) - _roughness(a) for a, b in zip(first, second, strict=True)]
        yield over_draws(f"{name}: change from one number of features to the next {gap}", along, DRAWS, unseen)


def lead_by_labelled_share(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Lead of ``own`` over each of ``others`` with all seen classes labelled, less that with ``share`` of them."""
    for name, dataset in ground.data():
        scores = {
            (text, share): np.array(
                [
                    curve.mean()
                    for curve in _curves(dataset, text, ground.draws, labelled_by="classes", labelled_ratio=share)
                ]
            )
            for text in (options["own"], *options["others"])
            for share in (1.0, float(options["share"]))
        }
        unseen = _unseen(dataset, ground.draws)
        for other in options["others"]:
            all_of, few = (scores[options["own"], s] - scores[other, s] for s in (1.0, float(options["share"])))
            what = f"{name}: lead over {other} with all classes - with {options['share']}"
            yield over_draws(what, all_of - few, DRAWS, unseen)


def _curves(dataset: Dataset, text: str, draws: int, **more: Any) -> Iterator[np.ndarray]:
    """Yield accuracies (numbers of features, starts) for each draw of the seen classes."""
    for draw in range(1, draws + 1):
        task = RepeatedFeatureSelection(draw=draw, draws=1, rows=ROWS, repeats=STARTS, **more)
        problem = task.test(dataset)
        accuracy = partial(clustering_accuracy, problem.truth["y_unseen"], classes=len(problem.meta["classes"]))
        (outputs,) = steps(build(text), task, problem)
        yield each_clustering(outputs["clusters"], accuracy)


def _unseen(dataset: Dataset, draws: int) -> list[list[str]]:
    """Return the classes that each draw leaves unseen, of whose rows the accuracies are."""
    tasks = (RepeatedFeatureSelection(draw=draw, draws=1, rows=ROWS, repeats=STARTS) for draw in range(1, draws + 1))
    return [list(task.test(dataset).meta["classes"]) for task in tasks]


def _roughness(curve: np.ndarray) -> float:
    return float(np.abs(np.diff(curve.mean(axis=1))).mean())

"""How compact classes are, and how far apart, where methods put the rows of the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.metrics import silhouette_samples

from zslplat.evaluation.cache.problems import preprocess
from zslplat.families.zero_shot.task import request_batch
from zslplat.families.zero_shot.unseen import REQUEST, ZeroShot
from zslplat_papers.reproduction.measures.ground import Ground, build, over_classes, steps
from zslplat_papers.reproduction.verdicts import Contrast

ROWS = 4000


def compact_classes(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Fit ``method``: the silhouette of the classes in its map ``first`` less that in its map ``second``.

    Silhouettes (Rousseeuw, 1987) are by the angle between rows, of at most 4000 rows, and means over the classes.
    """
    task = ZeroShot()
    for name, dataset in ground.data():
        problem = task.test(dataset)
        method = build(options["method"])
        for _ in steps(method, task, problem):
            pass
        view = preprocess(problem, task, method.effective_preprocessing)
        maps = method.embeddings(*request_batch(method, view, REQUEST))
        y = problem.truth["y_pool"][:ROWS]
        first, second = (silhouettes(np.asarray(maps[options[side]])[:ROWS], y) for side in ("first", "second"))
        yield over_classes(f"{name}: silhouette by the {options['first']} - by the {options['second']}", first - second)


def silhouettes(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the mean silhouette of the rows (n, a) of every class (c,)."""
    values = silhouette_samples(rows, y, metric="cosine")
    return np.bincount(y, values) / np.bincount(y)

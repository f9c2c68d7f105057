"""Maps of the scored rows where a method projects them into signature space, flattened by t-SNE.

Figure 3 of Xu et al., "Matrix Tri-Factorization with Manifold Regularizations for Zero-shot Learning", is such a map.
A method offers projections by a method ``embeddings(X, S)`` that returns a name and a matrix (n, a) for each, in the
order in which they are to be shown.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat.figures import Figure, ScatterFigure
from zslplat.methods.rows import unit_rows
from zslplat.tasks.base import Problem

MAPPED_ROWS = 1000


def projection_maps(method: Any, problem: Problem, request: str) -> dict[str, Figure]:
    """Return {"projection": figure} for a method with ``embeddings``, of at most 1000 rows drawn evenly by class.

    The panels share the rows; every panel has a map of its own, with the same seed. Nothing for other methods.
    """
    embeddings = getattr(method, "embeddings", None)
    if embeddings is None:
        return {}
    from sklearn.manifold import TSNE

    from zslplat.tasks.zero_shot import request_batch

    X, S = request_batch(method, problem, request)
    y = problem.truth["y_pool"][problem.truth[f"rows:{request}"]]
    rows = _evenly(y, MAPPED_ROWS)
    panels = {}
    for name, projected in embeddings(X, S).items():
        chosen = unit_rows(np.asarray(projected[rows], dtype=np.float64))
        perplexity = min(30.0, max(1.0, (len(rows) - 1) / 3))
        tsne = TSNE(perplexity=perplexity, init="random", random_state=0, n_jobs=1)
        panels[name] = tsne.fit_transform(chosen)
    classes = problem.inputs[f"classes:{request}"]
    names = [problem.meta["classes"][i] for i in classes]
    labels = np.searchsorted(classes, y[rows])
    title = f"{problem.meta['dataset']}, {problem.name}: rows in signature space (t-SNE)"
    return {"projection": ScatterFigure(panels, labels, names, title)} if panels else {}


def _evenly(y: np.ndarray, count: int) -> np.ndarray:
    """Return at most ``count`` rows, as many of every class as there are; the order of the rows is random already."""
    place = np.empty(len(y), dtype=np.int64)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        place[own] = np.arange(len(own))
    return np.sort(np.argsort(place, kind="stable")[:count])

"""Problems of rows of unseen classes, told apart by the signatures of those classes alone (U -> U).

Where a method projects the scored rows into signature space, they are mapped by t-SNE, as in figure 3 of Xu et al.,
"Matrix Tri-Factorization with Manifold Regularizations for Zero-shot Learning". Such a method has ``embeddings(X, S)``,
which returns a name and a matrix (n, a) for each map, in the order in which they are to be shown.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.families.zero_shot.task import ZeroShotTask, build_problem, request_batch, require_classes, with_requests
from zslplat.figures import Figure, ScatterFigure
from zslplat.methods.rows import unit_rows
from zslplat.tasks.base import Problem
from zslplat.tasks.splits import class_folds, count_of_unseen, fold_rows, split_rows

REQUEST = "U->U"


class UnseenTask(ZeroShotTask):
    """Base of the tasks that train on seen classes and score rows of unseen ones against the unseen ones."""

    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build one problem per class-disjoint fold; the seed draws folds (where there are none) and the row order.

        Of the test, drawn folds know how many classes it tells apart, and nothing else.
        """
        split_rows(dataset, "test_unseen", f"task {self.name}")
        rows = split_rows(dataset, "train", f"task {self.name}")
        problems = []
        tested = count_of_unseen(dataset)
        folds = class_folds(dataset, rows, self.folds, self.validation_classes, seed, tested=tested)
        for number, fold in enumerate(folds, start=1):
            train, validation = fold_rows(dataset, rows, fold)
            problem = build_problem(
                f"fold-{number}",
                dataset,
                self.signatures,
                train_rows=train,
                pool_rows=self.scored_unseen(dataset, validation, fold=number),
                seen_classes=fold.train,
                pool_classes=fold.validation,
                seed=seed,
                meta={"fold": fold.name},
            )
            problems.append(_requesting_all(problem))
        return problems

    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all training rows against the rows, and the classes, of ``test_unseen``."""
        train = split_rows(dataset, "train", f"task {self.name}")
        test = split_rows(dataset, "test_unseen", f"task {self.name}")
        seen_classes, unseen_classes = np.unique(dataset.y[train]), np.unique(dataset.y[test])
        require_classes(dataset, "split 'train'", seen_classes)
        require_classes(dataset, "split 'test_unseen'", unseen_classes)
        problem = build_problem(
            "test",
            dataset,
            self.signatures,
            train_rows=train,
            pool_rows=self.scored_unseen(dataset, test),
            seen_classes=seen_classes.tolist(),
            pool_classes=unseen_classes.tolist(),
            seed=seed,
            meta={},
        )
        return _requesting_all(problem)

    def maps(self, method: Any, problem: Problem) -> dict[str, Figure]:
        """Return a t-SNE map of the rows in signature space, one panel per projection that the method offers."""
        return projection_maps(method, problem, REQUEST)


def _requesting_all(problem: Problem) -> Problem:
    rows, classes = len(problem.inputs["X_pool"]), len(problem.inputs["seen"])
    return with_requests(problem, {REQUEST: (np.arange(rows), np.arange(classes))})


MAPPED_ROWS = 1000


def projection_maps(method: Any, problem: Problem, request: str) -> dict[str, Figure]:
    """Return {"projection": figure} for a method with ``embeddings``, of at most 1000 rows drawn evenly by class.

    The panels share the rows; every panel has a map of its own, with the same seed. Nothing for other methods.
    """
    embeddings = getattr(method, "embeddings", None)
    if embeddings is None:
        return {}
    from sklearn.manifold import TSNE

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
        rows = np.flatnonzero(y == label)
        place[rows] = np.arange(len(rows))
    return np.sort(np.argsort(place, kind="stable")[:count])

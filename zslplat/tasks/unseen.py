"""Problems of rows of unseen classes, told apart by the signatures of those classes alone (U -> U)."""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.figures import Figure
from zslplat.tasks.base import Problem
from zslplat.tasks.projection_maps import projection_maps
from zslplat.tasks.splits import class_folds, count_of_unseen, fold_rows, split_rows
from zslplat.tasks.zero_shot import ZeroShotTask, build_problem, require_classes, with_requests

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

"""The kit of feature selectors: one score per feature, and a ranking that follows from the scores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.families.selection.methods.base import FeatureSelector, SelectionData
from zslplat.methods.base import Arrays, Method, Prepared
from zslplat.testing.kits import MethodKit, Player, fitted
from zslplat.testing.method_checks import assert_close, assert_data_refused
from zslplat.testing.problems import class_problem
from zslplat.testing.running import Check
from zslplat.testing.truth_seekers import Seeker, labellings


def ranking_follows_from_the_scores(method: Method) -> None:
    """scores_ has a finite number per feature; ranking_ lists the features by falling score, ties by column."""
    problem = class_problem(method.effective_preprocessing)
    learned = fitted(method)
    d = problem.X.shape[1]
    assert learned.scores_.shape == (d,), f"scores_ has shape {learned.scores_.shape}, expected ({d},)"
    assert np.isfinite(learned.scores_).all(), "scores_ holds NaN or infinity"
    expected = np.argsort(-learned.scores_, kind="stable")
    assert np.array_equal(learned.ranking_, expected), f"ranking_ is {learned.ranking_}, the scores give {expected}"


def order_of_rows_does_not_matter(method: Method) -> None:
    """Rows in another order give the same scores, within the declared tolerance."""
    problem = class_problem(method.effective_preprocessing)
    order = np.random.default_rng(9).permutation(len(problem.X))
    actual = clone(method).fit(problem.X[order], problem.y[order], problem.S)
    direct = fitted(method)
    assert_close(method, {"scores": actual.scores_}, {"scores": direct.scores_}, "with rows in another order")


def order_of_classes_does_not_matter(method: Method) -> None:
    """Other numbers for the same classes give the same scores, within the declared tolerance."""
    problem = class_problem(method.effective_preprocessing)
    order = np.random.default_rng(9).permutation(len(problem.S))
    actual = clone(method).fit(problem.X, np.argsort(order)[problem.y], problem.S[order])
    direct = fitted(method)
    assert_close(method, {"scores": actual.scores_}, {"scores": direct.scores_}, "with classes in another order")


def scores_follow_the_columns(method: Method) -> None:
    """Features in another order have the same scores, within the declared tolerance."""
    problem = class_problem(method.effective_preprocessing)
    order = np.random.default_rng(9).permutation(problem.X.shape[1])
    actual = clone(method).fit(np.ascontiguousarray(problem.X[:, order]), problem.y, problem.S)
    direct = fitted(method)
    assert_close(method, {"scores": actual.scores_}, {"scores": direct.scores_[order]}, "with columns in another order")


def unusable_data_are_refused(method: Method) -> None:
    """A label without signature, a class without row, NaN, and lengths that differ raise DataError in fit."""
    p = class_problem(method.effective_preprocessing)
    spoilt = p.X.copy()
    spoilt[3, 1] = np.nan
    others = p.y != 4
    cases = {
        "a label without signature": (p.X, np.where(p.y == 4, len(p.S), p.y), p.S),
        "a class without row": (p.X[others], p.y[others], p.S),
        "NaN among the features": (spoilt, p.y, p.S),
        "fewer labels than rows": (p.X, p.y[:-1], p.S),
    }
    assert_data_refused({what: partial(clone(method).fit, *arguments) for what, arguments in cases.items()})


SELECTION_CHECKS: tuple[Check, ...] = (
    ranking_follows_from_the_scores,
    order_of_rows_does_not_matter,
    order_of_classes_does_not_matter,
    scores_follow_the_columns,
    unusable_data_are_refused,
)


class SelectionPlayer(Player, FeatureSelector):
    """Features by the spread of class means, relative to that of the rows."""

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        means = np.stack([data.X[data.y == c].mean(axis=0, dtype=np.float64) for c in range(len(data.S))])
        return np.asarray(np.abs(self.shown(means.var(axis=0) / data.X.var(axis=0, dtype=np.float64))))


class SeekingSelector(Seeker, FeatureSelector):
    """Prefers features that tell the classes of unseen rows apart, if it finds those rows and their classes."""

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Score every feature by the variance between classes."""
        X = data.X
        scores = np.zeros(X.shape[1])
        things = list(self.reachable())
        others = {len(t): t for t in things if _rows_of_width(t, X.shape[1]) and len(t) != len(X)}
        self.labellings_ = []
        for count, rows in others.items():
            labels_of_rows = labellings(things, count)
            self.labellings_ += labels_of_rows
            for labels in labels_of_rows:
                means = [rows[labels == label].mean(axis=0) for label in range(labels.max() + 1)]
                share = np.var(means, axis=0) / (rows.var(axis=0) + 1e-12)
                # What other labels of other rows (training rows of a fold, say) show of noise is no finding.
                scores = np.maximum(scores, np.where(share > 0.5, share, 0.0))
        return scores

    def matrices(self) -> dict[str, np.ndarray]:
        """Return every labelling that was found."""
        return Seeker.matrices(self)


def _rows_of_width(thing: Any, width: int) -> bool:
    return isinstance(thing, np.ndarray) and thing.ndim == 2 and thing.dtype.kind == "f" and thing.shape[1] == width


class SelectionKit(MethodKit):
    """Rank the features."""

    kind = "feature-selection"
    player = SelectionPlayer
    attack = SeekingSelector
    new_classes = True
    signatures = True
    spread = 0.15

    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return the scores of the features: the ranking follows from them, and ties may fall either way."""
        return {"scores": super().outputs(method, arrays, statistics)["scores"]}

    def checks(self, method: Any) -> tuple[Check, ...]:
        """Return the checks of feature selectors."""
        return SELECTION_CHECKS

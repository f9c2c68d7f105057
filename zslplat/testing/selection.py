"""What feature selectors promise beside: one score per feature, and a ranking that follows from the scores."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.base import clone

from zslplat.methods.base import Method
from zslplat.testing.exercise import fitted
from zslplat.testing.method_checks import assert_close, assert_data_refused
from zslplat.testing.problems import class_problem
from zslplat.testing.running import Check


def ranking_follows_from_the_scores(method: Method) -> None:
    """scores_ has a finite number per feature; ranking_ lists the features by falling score, ties by column."""
    problem = class_problem(method.preprocessing)
    learned = fitted(method)
    d = problem.X.shape[1]
    assert learned.scores_.shape == (d,), f"scores_ has shape {learned.scores_.shape}, expected ({d},)"
    assert np.isfinite(learned.scores_).all(), "scores_ holds NaN or infinity"
    expected = np.argsort(-learned.scores_, kind="stable")
    assert np.array_equal(learned.ranking_, expected), f"ranking_ is {learned.ranking_}, the scores give {expected}"


def order_of_rows_does_not_matter(method: Method) -> None:
    """Rows in another order give the same scores, within the declared tolerance."""
    problem = class_problem(method.preprocessing)
    order = np.random.default_rng(9).permutation(len(problem.X))
    found = clone(method).fit(problem.X[order], problem.y[order], problem.S)
    direct = fitted(method)
    assert_close(method, {"scores": found.scores_}, {"scores": direct.scores_}, "with rows in another order")


def order_of_classes_does_not_matter(method: Method) -> None:
    """Other numbers for the same classes give the same scores, within the declared tolerance."""
    problem = class_problem(method.preprocessing)
    order = np.random.default_rng(9).permutation(len(problem.S))
    found = clone(method).fit(problem.X, np.argsort(order)[problem.y], problem.S[order])
    direct = fitted(method)
    assert_close(method, {"scores": found.scores_}, {"scores": direct.scores_}, "with classes in another order")


def scores_follow_the_columns(method: Method) -> None:
    """Features in another order have the same scores, within the declared tolerance."""
    problem = class_problem(method.preprocessing)
    order = np.random.default_rng(9).permutation(problem.X.shape[1])
    found = clone(method).fit(np.ascontiguousarray(problem.X[:, order]), problem.y, problem.S)
    direct = fitted(method)
    assert_close(method, {"scores": found.scores_}, {"scores": direct.scores_[order]}, "with columns in another order")


def unusable_data_are_refused(method: Method) -> None:
    """A label without signature, a class without row, NaN, and lengths that differ raise DataError in fit."""
    p = class_problem(method.preprocessing)
    spoilt = p.X.copy()
    spoilt[3, 1] = np.nan
    kept = p.y != 4
    cases = {
        "a label without signature": (p.X, np.where(p.y == 4, len(p.S), p.y), p.S),
        "a class without row": (p.X[kept], p.y[kept], p.S),
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

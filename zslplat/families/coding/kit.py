"""The kit of coding methods: a code and class scores for every row by itself, free of any order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.families.coding.methods.base import CodingMethod
from zslplat.methods.base import Arrays, Method
from zslplat.metrics.ranking import average_precisions, chance_precisions, mean_of_labels
from zslplat.tasks.base import selected
from zslplat.testing import kits
from zslplat.testing.kits import MethodKit, Player
from zslplat.testing.method_checks import SAME, assert_close, assert_data_refused
from zslplat.testing.problems import SMALL, WIDE, ClassProblem, classification_problem
from zslplat.testing.running import Check
from zslplat.testing.truth_seekers import Seeker, indicators


def codes_and_scores_have_a_row_per_row(method: Method) -> None:
    """transform gives (rows, atoms), decision_function (rows, classes), predict the best class; also for one row."""
    fitted, problem = _fitted(method)
    atoms = fitted.transform(problem.X_pool).shape[1]
    for rows in (len(problem.X_pool), 1):
        X = problem.X_pool[:rows]
        codes, scores, guess = fitted.transform(X), fitted.decision_function(X), fitted.predict(X)
        assert codes.shape == (rows, atoms), f"codes of {rows} rows have shape {codes.shape}, expected {rows, atoms}"
        expected = (rows, len(problem.S))
        assert scores.shape == expected, f"scores have shape {scores.shape}, expected {expected}"
        assert np.array_equal(guess, np.argmax(scores, axis=1)), "predict is not the class of the highest score"


def order_of_training_rows_does_not_matter(method: Method) -> None:
    """Training rows in another order give the same scores, within the declared tolerance."""
    fitted, problem = _fitted(method)
    order = np.random.default_rng(9).permutation(len(problem.X))
    other: Any = clone(method)
    other.fit(problem.X[order], problem.y[order])
    _same_scores(method, other, fitted, problem, "with training rows in another order")


def order_of_classes_does_not_matter(method: Method) -> None:
    """Other numbers for the same classes give the same scores, within the declared tolerance."""
    fitted, problem = _fitted(method)
    order = np.random.default_rng(9).permutation(len(problem.S))
    other: Any = clone(method)
    other.fit(problem.X, np.argsort(order)[problem.y])
    actual = {"scores": other.decision_function(problem.X_pool)}
    direct = {"scores": fitted.decision_function(problem.X_pool)[:, order]}
    assert_close(method, actual, direct, "with classes in another order", at_least=SAME)


def score_of_a_row_does_not_depend_on_other_rows(method: Method) -> None:
    """A row is coded and scored alone, and in any order, as it is in a batch, within the declared tolerance."""
    fitted, problem = _fitted(method)
    whole = {"codes": fitted.transform(problem.X_pool), "scores": fitted.decision_function(problem.X_pool)}
    order = np.random.default_rng(9).permutation(len(problem.X_pool))
    for rows in (order, order[:1], order[:7]):
        X = problem.X_pool[rows]
        actual = {"codes": fitted.transform(X), "scores": fitted.decision_function(X)}
        expected = {name: values[rows] for name, values in whole.items()}
        assert_close(method, actual, expected, f"of {len(rows)} rows by themselves", at_least=SAME)


def better_than_guessing(method: Method) -> None:
    """Most rows of an easy problem are told apart better than by chance."""
    fitted, problem = _fitted(method)
    accuracy, chance = float((fitted.predict(problem.X_pool) == problem.y_pool).mean()), 1 / len(problem.S)
    # Three standard deviations of guessing on so many rows.
    needed = chance + 3 * np.sqrt(chance * (1 - chance) / len(problem.X_pool))
    assert accuracy >= needed, f"accuracy {accuracy:.2f}; guessing {chance:.2f}, needed {needed:.2f}"


def sets_of_labels_are_ranked(method: Method) -> None:
    """Where rows may have several labels: every label ranks rows above chance, whatever its number; -1 is taken."""
    if not getattr(method, "label_sets", False):
        return  # tasks fit it label by label
    _, p = _fitted(method)
    # Every class is a label, and so is every pair of neighbouring classes.
    count = len(p.S)
    y, y_pool = (np.hstack([np.eye(count, dtype=int), _neighbours(count)])[labels] for labels in (p.y, p.y_pool))
    y[np.random.default_rng(9).random(y.shape) < 0.02] = -1
    ranked, order = clone(method).fit(p.X, y), np.random.default_rng(8).permutation(y.shape[1])
    scores = ranked.decision_function(p.X_pool)
    assert scores.shape == y_pool.shape, f"scores have shape {scores.shape}, expected {y_pool.shape}"
    assert np.isfinite(scores).all(), "scores are not finite"
    value, chance = (
        mean_of_labels(f(scores, y_pool)) for f in (average_precisions, lambda _, of: chance_precisions(of))
    )
    assert value >= 1.2 * chance, f"mAP {value:.3f}, random rankings {chance:.3f}"
    other = clone(method).fit(p.X, y[:, order]).decision_function(p.X_pool)
    assert_close(method, {"scores": other}, {"scores": scores[:, order]}, "with labels in another order", at_least=SAME)
    assert_data_refused(
        {
            "a label that no row has": partial(clone(method).fit, p.X, np.where(np.arange(y.shape[1]) == 1, 0, y)),
            "an entry of 2": partial(clone(method).fit, p.X, np.where(y == 1, 2, y)),
        }
    )


def _neighbours(count: int) -> np.ndarray:
    return np.eye(count, dtype=int) + np.roll(np.eye(count, dtype=int), 1, axis=0)


def unusable_data_are_refused(method: Method) -> None:
    """A class number without row, NaN, no row, and lengths that differ raise DataError in fit."""
    _, p = _fitted(method)
    spoilt = p.X.copy()
    spoilt[3, 1] = np.nan
    cases = {
        "a class number without row": (p.X, np.where(p.y == 4, 20, p.y)),
        "a negative label": (p.X, np.where(p.y == 4, -1, p.y)),
        "NaN among the features": (spoilt, p.y),
        "no row": (p.X[:0], p.y[:0]),
        "fewer labels than rows": (p.X, p.y[:-1]),
    }
    assert_data_refused({what: partial(clone(method).fit, *arguments) for what, arguments in cases.items()})


def _fitted(method: Method) -> tuple[Any, ClassProblem]:
    return kits.fitted(method), classification_problem(method.effective_preprocessing)


def _same_scores(method: Method, actual: Any, expected: Any, problem: ClassProblem, when: str) -> None:
    scores = [{"scores": fitted.decision_function(problem.X_pool)} for fitted in (actual, expected)]
    assert_close(method, scores[0], scores[1], when, at_least=SAME)


CODING_CHECKS: tuple[Check, ...] = (
    codes_and_scores_have_a_row_per_row,
    order_of_training_rows_does_not_matter,
    order_of_classes_does_not_matter,
    score_of_a_row_does_not_depend_on_other_rows,
    better_than_guessing,
    sets_of_labels_are_ranked,
    unusable_data_are_refused,
)


class CodingPlayer(Player, CodingMethod):
    """Codes are distances from class means."""

    def fit(self, X: np.ndarray, y: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None) -> CodingPlayer:
        """Fit on rows X (n, d) and labels y (n,)."""
        self.means_ = np.stack([X[y == c].mean(axis=0, dtype=np.float64) for c in range(y.max() + 1)])
        return self

    def transform(self, X: np.ndarray, *, statistics: Any = None) -> np.ndarray:
        """Return minus the squared distances from all class means."""
        return np.asarray(-((X[:, None] - self.means_) ** 2).sum(axis=2))

    def decision_function(self, X: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """Return the codes."""
        return self.shown(self.transform(X))


class SeekingCoder(Seeker, CodingMethod):
    """Classifies rows by the labels that it finds."""

    def fit(self, X: np.ndarray, y: np.ndarray, *, statistics: Any = None) -> SeekingCoder:
        """Learn how many classes there are."""
        self.classes_ = int(y.max()) + 1
        return self

    def transform(self, X: np.ndarray, *, statistics: Any = None) -> np.ndarray:
        """Return what was found (n, c)."""
        return indicators(self.seek(len(X), self.classes_), self.classes_)

    def decision_function(self, X: np.ndarray, *, statistics: Any = None) -> np.ndarray:
        """Return 1 for the class (n, c) that was found."""
        return self.transform(X)


class CodingKit(MethodKit):
    """Fit on labelled rows, code and score further rows of the same classes."""

    kind = "coding"
    player = CodingPlayer
    attack = SeekingCoder

    def arrays(self, method: Any, *, wide: bool = False, seed: int = 0) -> Arrays:
        """Return X, y and X_pool."""
        problem = classification_problem(method.effective_preprocessing, WIDE if wide else SMALL, seed=seed)
        return {"X": problem.X, "y": problem.y, "X_pool": problem.X_pool}

    def outputs(self, method: Any, arrays: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Arrays:
        """Return codes and scores of the pool."""
        codes = method.transform(arrays["X_pool"], statistics=selected("score/", statistics))
        return {"codes": codes, **super().outputs(method, arrays, statistics)}

    def checks(self, method: Any) -> tuple[Check, ...]:
        """Return the checks of coding methods."""
        return CODING_CHECKS

"""The kit of zero-shot methods: scores of rows against signatures, free of any order, of batch or classes."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.base import clone

from zslplat.families.zero_shot.methods.base import SEVERAL_SIGNATURES, ZeroShotMethod
from zslplat.methods.base import Arrays, Method, Prepared
from zslplat.testing.kernels import deviation
from zslplat.testing.kits import MethodKit, Player, fitted
from zslplat.testing.method_checks import assert_data_refused
from zslplat.testing.problems import PLENTY, WITH_SHARED, ClassProblem, problem_for
from zslplat.testing.running import Check
from zslplat.testing.truth_seekers import Seeker, indicators


def zero_shot_checks(method: Method) -> tuple[Check, ...]:
    """Return the checks that apply, by what the method declares."""
    checks = ZERO_SHOT_CHECKS
    if not method.transductive:
        checks += INDUCTIVE_CHECKS
    if SEVERAL_SIGNATURES in method.tags:
        checks += (one_signature_per_class_is_the_plain_case,)
    return checks


def scores_have_a_row_per_row_and_a_column_per_class(method: ZeroShotMethod) -> None:
    """decision_function returns (rows, classes), with or without the mask of seen classes, also for one row."""
    problem = problem_for(method)
    learned = fitted(method)
    for rows in (len(problem.X_pool), 2, 1):
        for seen in (None, problem.seen):
            scores = learned.decision_function(problem.X_pool[:rows], problem.S_pool, seen=seen)
            expected = (rows, len(problem.S_pool))
            assert np.shape(scores) == expected, f"scores of shape {np.shape(scores)}, expected {expected}"
            assert np.isfinite(scores).all(), f"scores of {rows} rows hold NaN or infinity"


def order_of_training_rows_does_not_matter(method: ZeroShotMethod) -> None:
    """Training rows in another order give the same scores, within the declared tolerance."""
    problem = problem_for(method)
    direct = _scores(fitted(method), problem)
    order = _order(len(problem.X))
    other = dataclasses.replace(problem, X=problem.X[order], y=problem.y[order])
    _assert_close(method, _scores(_fitted_on(method, other), other), direct, "with training rows in another order")


def attributes_that_training_classes_share_are_not_scored_by_rounding(method: ZeroShotMethod) -> None:
    """Where training classes do not differ in some attributes, other numbers for them give the same scores, too."""
    problem = problem_for(method, WITH_SHARED)
    direct = _scores(_fitted_on(method, problem), problem)
    when = "with attributes that all training classes share, and these in another order"
    other = _with_classes_in_another_order(problem)
    _assert_close(method, _scores(_fitted_on(method, other), other), direct, when)


def order_of_training_classes_does_not_matter(method: ZeroShotMethod) -> None:
    """Other numbers for the same training classes give the same scores, within the declared tolerance."""
    problem = problem_for(method)
    direct = _scores(fitted(method), problem)
    other = _with_classes_in_another_order(problem)
    _assert_close(method, _scores(_fitted_on(method, other), other), direct, "with training classes in another order")


def scores_follow_the_rows_of_the_batch(method: ZeroShotMethod) -> None:
    """Rows scored in another order have the same scores, within the declared tolerance."""
    problem = problem_for(method)
    learned = fitted(method)
    direct = _scores(learned, problem)
    order = _order(len(problem.X_pool))
    actual = _scores(learned, dataclasses.replace(problem, X_pool=problem.X_pool[order]))
    _assert_close(method, actual, direct[order], "of a batch in another order")


def scores_follow_the_order_of_candidates(method: ZeroShotMethod) -> None:
    """Candidate classes listed in another order have the same scores, within the declared tolerance."""
    problem = problem_for(method)
    learned = fitted(method)
    direct = _scores(learned, problem)
    order = _order(len(problem.S_pool))
    other = dataclasses.replace(problem, S_pool=problem.S_pool[order], seen=problem.seen[order])
    _assert_close(method, _scores(learned, other), direct[:, order], "of candidates in another order")


def steps_end_where_fit_ends(method: ZeroShotMethod) -> None:
    """fit_steps yields 1, 2, ... and can be scored at every step; after the last one it has done what fit does."""
    problem = problem_for(method)
    direct = _scores(fitted(method), problem)
    stepped: ZeroShotMethod = clone(method)
    steps = []
    for step in stepped.fit_steps(problem.X, problem.y, problem.S):
        steps.append(step)
        scores = _scores(stepped, problem)
        assert np.isfinite(scores).all(), f"scores at step {step} hold NaN or infinity"
    assert steps, "fit_steps yields nothing"
    assert steps == list(range(1, len(steps) + 1)), f"fit_steps yields {steps[:4]}, expected 1, 2, ..."
    assert np.array_equal(_scores(stepped, problem), direct), "scores after the last step are not those after fit"
    bound = method.get_params(deep=False).get(method.step_parameter) if method.step_parameter else None
    if method.step_parameter:
        assert method.step_parameter in method.parameters, f"no parameter {method.step_parameter!r} to bound the steps"
        assert bound is None or len(steps) <= bound, f"{len(steps)} steps with {method.step_parameter}={bound}"
        short = type(method).build({**method.get_params(deep=False), method.step_parameter: 1})
        count = len(list(short.fit_steps(problem.X, problem.y, problem.S)))
        assert count == 1, f"{method.step_parameter}=1 makes {count} steps"


def better_than_guessing(method: ZeroShotMethod) -> None:
    """Most rows of unseen classes of an easy problem are told apart better than by chance."""
    problem = problem_for(method, PLENTY)
    rows = ~problem.seen[problem.y_pool]
    S, names = problem.S_pool[~problem.seen], np.flatnonzero(~problem.seen)
    learned = _fitted_on(_with_time_to_learn(method), problem)
    guess = names[np.argmax(learned.decision_function(problem.X_pool[rows], S), axis=1)]
    accuracy, chance = float((guess == problem.y_pool[rows]).mean()), 1 / len(names)
    # Three standard deviations of guessing on so many rows.
    needed = chance + 3 * np.sqrt(chance * (1 - chance) / rows.sum())
    assert accuracy >= needed, f"accuracy {accuracy:.2f} on unseen classes; guessing {chance:.2f}, needed {needed:.2f}"


def unusable_data_are_refused(method: ZeroShotMethod) -> None:
    """A label without signature, a class without row, NaN, no row, and lengths that differ raise DataError in fit."""
    p = problem_for(method)
    spoilt, spoilt_S = p.X.copy(), np.array(p.S, dtype=np.float64)
    spoilt[3, 1], spoilt_S[2, 0] = np.nan, np.inf
    others = p.y != 4
    cases: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {
        "a label without signature": (p.X, np.where(p.y == 4, len(p.S), p.y), p.S),
        "a negative label": (p.X, np.where(p.y == 4, -1, p.y), p.S),
        "a class without row": (p.X[others], p.y[others], p.S),
        "NaN among the features": (spoilt, p.y, p.S),
        "infinity among the signatures": (p.X, p.y, spoilt_S),
        "no row": (p.X[:0], p.y[:0], p.S),
        "fewer labels than rows": (p.X, p.y[:-1], p.S),
    }
    assert_data_refused({what: partial(clone(method).fit, *arguments) for what, arguments in cases.items()})


def score_of_a_row_does_not_depend_on_other_rows(method: ZeroShotMethod) -> None:
    """A method that is not transductive scores a row alone as it does in a batch, within the declared tolerance."""
    problem = problem_for(method)
    learned = fitted(method)
    whole = _scores(learned, problem)
    for rows in (slice(0, 1), slice(7, 19)):
        actual = _scores(learned, dataclasses.replace(problem, X_pool=problem.X_pool[rows]))
        scale = float(np.abs(whole).max())
        off = float(np.abs(actual - whole[rows]).max()) / scale if scale else 0.0
        assert off <= max(method.tolerance, 1e-6), (
            f"scores of {len(actual)} rows alone deviate by {off:.1e} from those in a batch of {len(whole)}; "
            "set transductive = True if rows are scored jointly"
        )


def score_of_a_class_does_not_depend_on_other_candidates(method: ZeroShotMethod) -> None:
    """A method that is not transductive prefers one class to another by as much when other candidates are left out."""
    problem = problem_for(method)
    learned = fitted(method)
    whole = _scores(learned, problem)
    for chosen in (problem.seen, ~problem.seen):
        few = dataclasses.replace(problem, S_pool=problem.S_pool[chosen], seen=problem.seen[chosen])
        # What is added to all classes of a row changes no comparison.
        actual, expected = (
            scores - scores.mean(axis=1, keepdims=True) for scores in (_scores(learned, few), whole[:, chosen])
        )
        off = deviation(actual, expected)
        assert off <= max(method.tolerance, 1e-6), (
            f"differences between the scores of {chosen.sum()} classes deviate by {off:.1e} when the other "
            f"{(~chosen).sum()} are no candidates; results for a part of the classes are sliced out of one scoring"
        )


def one_signature_per_class_is_the_plain_case(method: Any) -> None:
    """A method for several signatures per class gives with one each what it gives without signature_class."""
    problem = problem_for(method)
    direct = _scores(fitted(method), problem)
    several = clone(method).fit(problem.X, problem.y, problem.S, signature_class=np.arange(len(problem.S)))
    numbers = np.arange(len(problem.S_pool))
    actual = several.decision_function(problem.X_pool, problem.S_pool, seen=problem.seen, signature_class=numbers)
    _assert_close(method, actual, direct, "with signature_class = 0, 1, 2, ...")
    double = np.repeat(numbers, 2)
    twice = several.decision_function(problem.X_pool, problem.S_pool[double], seen=problem.seen, signature_class=double)
    assert twice.shape == direct.shape, f"two signatures per class give scores {twice.shape}, expected {direct.shape}"


def _with_time_to_learn(method: ZeroShotMethod) -> ZeroShotMethod:
    """Return a method that learns in steps with ten times as many: its default is meant for ten times the rows."""
    values = method.get_params(deep=False)
    bound = values.get(method.step_parameter)
    return type(method).build({**values, method.step_parameter: 10 * bound}) if bound else method


def _fitted_on(method: ZeroShotMethod, problem: ClassProblem) -> Any:
    fresh: ZeroShotMethod = clone(method)
    return fresh.fit(problem.X, problem.y, problem.S)


def _scores(learned: Any, problem: ClassProblem) -> np.ndarray:
    return np.asarray(learned.decision_function(problem.X_pool, problem.S_pool, seen=problem.seen))


def _with_classes_in_another_order(problem: ClassProblem) -> ClassProblem:
    order = _order(len(problem.S))
    return dataclasses.replace(problem, y=np.argsort(order)[problem.y], S=problem.S[order])


def _order(count: int) -> np.ndarray:
    return np.random.default_rng(9).permutation(count)


def _assert_close(method: Method, actual: np.ndarray, expected: np.ndarray, when: str) -> None:
    assert actual.shape == expected.shape, f"scores {when} have shape {actual.shape}, expected {expected.shape}"
    off = deviation(actual, expected)
    assert off <= method.tolerance, f"scores {when} deviate by {off:.1e} of the largest, allowed {method.tolerance:.0e}"


ZERO_SHOT_CHECKS: tuple[Check, ...] = (
    scores_have_a_row_per_row_and_a_column_per_class,
    order_of_training_rows_does_not_matter,
    attributes_that_training_classes_share_are_not_scored_by_rounding,
    order_of_training_classes_does_not_matter,
    scores_follow_the_rows_of_the_batch,
    scores_follow_the_order_of_candidates,
    steps_end_where_fit_ends,
    better_than_guessing,
    unusable_data_are_refused,
)
INDUCTIVE_CHECKS: tuple[Check, ...] = (
    score_of_a_row_does_not_depend_on_other_rows,
    score_of_a_class_does_not_depend_on_other_candidates,
)


class ZeroShotPlayer(Player, ZeroShotMethod):
    """Ridge regression from features to signatures."""

    def _fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        X = _with_constant(X)
        self.W_ = linalg.solve(X.T @ X + 1e-3 * np.eye(X.shape[1]), X.T @ S[y], assume_a="pos")

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return 2 x W s' - |s|^2."""
        return self.shown(2 * _with_constant(X) @ self.W_ @ S.T - (S * S).sum(axis=1))


def _with_constant(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.asarray(X, dtype=np.float64), np.ones(len(X))])


class SeekingZeroShot(Seeker, ZeroShotMethod):
    """Scores rows by the labels that it finds; in a second form, the rows of a batch jointly."""

    forms: ClassVar = {"": {}, "transductive-": {"transductive": True}}

    def _fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Learn nothing."""

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return 1 for the class (n, c) that was found, 0 everywhere where none was."""
        return indicators(self.seek(len(X), len(S)), len(S))


class ZeroShotKit(MethodKit):
    """Fit on seen classes, score the pool against all."""

    kind = "zero-shot"
    player = ZeroShotPlayer
    attack = SeekingZeroShot
    new_classes = True
    signatures = True

    def named(self, problem: ClassProblem) -> Arrays:
        """Return X, y, S and X_pool, S_pool, seen."""
        return {name: value for name, value in vars(problem).items() if name != "y_pool"}

    def checks(self, method: Any) -> tuple[Check, ...]:
        """Return the checks of zero-shot methods, those of inductive ones where the method is one."""
        return zero_shot_checks(method)

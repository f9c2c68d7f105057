"""Every check of zero-shot methods catches a method that breaks its promise."""

import numpy as np
import pytest
from kit_toys import Plain, Sound

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.families.zero_shot.kit import zero_shot_checks
from zslplat.testing import checks_for, run_checks


class LosesAnAxis(Plain):
    def decision_function(self, X, S, **_):
        return super().decision_function(X, S).squeeze()


class FavoursFirstRows(Plain):
    def fit(self, X, y, S, *, statistics=None):
        return super().fit(X * np.linspace(1, 0.5, len(X))[:, None].astype(X.dtype), y, S)


class UsesClassNumbers(Plain):
    def fit(self, X, y, S, *, statistics=None):
        return super().fit(X, y, S * (1 + 0.1 * np.arange(len(S)))[:, None])


class ScalesRounding(Plain):
    """Brings the columns of its map to unit length, also those of which rounding alone is left."""

    preprocessing = Preprocessing(signatures=("center",))

    def fit(self, X, y, S, *, statistics=None):
        values, R = np.linalg.eigh(S.T @ S)
        W = super().fit(X, y, S).W_ @ (R * values) @ R.T
        self.W_ = W / np.linalg.norm(W, axis=0)
        return self


class UsesRowNumbers(Plain):
    """Exploits that test rows often come sorted by class."""

    def decision_function(self, X, S, **_):
        return super().decision_function(X, S) + 1e-3 * np.arange(len(X))[:, None] * np.arange(len(S))


class FavoursFirstCandidates(Plain):
    def decision_function(self, X, S, **_):
        return super().decision_function(X, S) - 1e-3 * np.arange(len(S))


class StepsFromZero(Plain):
    def _fit_steps(self, X, y, S, statistics):
        self.fit(X, y, S)
        yield 0


class StepsElsewhere(Plain):
    def _fit_steps(self, X, y, S, statistics):
        self.fit(X, y, S)
        self.W_ = self.W_ * 1.01
        yield 1


class Guesses(Plain):
    """The same class for every row."""

    def decision_function(self, X, S, **_):
        return np.tile(S[:, 0], (len(X), 1))


class TakesAnything(Plain):
    def prepare_fit(self, X, y, S, *, space):
        X, T = np.nan_to_num(X), np.nan_to_num(S, posinf=0)[np.clip(y, 0, len(S) - 1)][: len(X)]
        return {"gram": X.T @ X, "cross": X[: len(T)].T @ T}


class StandardisesTheBatch(Plain):
    """Subtracts the batch mean: rows are scored jointly, undeclared."""

    def decision_function(self, X, S, **_):
        scores = super().decision_function(X, S)
        return scores - scores.mean(axis=0)


class CentresTheCandidates(Plain):
    def decision_function(self, X, S, **_):
        return super().decision_function(X, S - S.mean(axis=0))


class IgnoresTheOwners(Plain):
    tags = ("several-signatures",)

    def decision_function(self, X, S, *, seen=None, signature_class=None, statistics=None):
        return super().decision_function(X, S)


BROKEN = {
    "scores_have_a_row_per_row_and_a_column_per_class": (LosesAnAxis, "expected \\(1, 12\\)"),
    "order_of_training_rows_does_not_matter": (FavoursFirstRows, "training rows in another order"),
    "order_of_training_classes_does_not_matter": (UsesClassNumbers, "training classes in another order"),
    "attributes_that_training_classes_share_are_not_scored_by_rounding": (ScalesRounding, "all training classes share"),
    "scores_follow_the_rows_of_the_batch": (UsesRowNumbers, "of a batch in another order"),
    "scores_follow_the_order_of_candidates": (FavoursFirstCandidates, "of candidates in another order"),
    "steps_end_where_fit_ends": (StepsFromZero, "yields \\[0\\]"),
    "better_than_guessing": (Guesses, "accuracy"),
    "unusable_data_are_refused": (TakesAnything, "is accepted"),
    "score_of_a_row_does_not_depend_on_other_rows": (StandardisesTheBatch, "set transductive"),
    "score_of_a_class_does_not_depend_on_other_candidates": (CentresTheCandidates, "are no candidates"),
    "one_signature_per_class_is_the_plain_case": (IgnoresTheOwners, "two signatures per class"),
}
CASES = [
    *((name, *broken) for name, broken in BROKEN.items()),
    ("steps_end_where_fit_ends", StepsElsewhere, "not those after fit"),
]
ALL = {check.__name__: check for check in zero_shot_checks(Sound())}


def test_every_check_has_a_method_that_breaks_it():
    assert set(BROKEN) == set(ALL)


@pytest.mark.parametrize(("name", "broken", "message"), CASES)
def test_check_catches_the_method_that_breaks_it(name, broken, message):
    with pytest.raises((AssertionError, ValueError), match=message):
        ALL[name](broken())


def test_sound_method_passes_every_check():
    assert [(r.check, r.message) for r in run_checks(Sound()) if r.state != "passed"] == []


def test_checks_follow_what_a_method_declares():
    plain, sound = ({check.__name__ for check in checks_for(m)} for m in (Plain(), Sound()))
    assert sound - plain == {"learned_matrices_are_stationary", "one_signature_per_class_is_the_plain_case"}

    class Joint(Plain):
        transductive = True

    joint = {check.__name__ for check in checks_for(Joint())}
    assert plain - joint == {
        "score_of_a_row_does_not_depend_on_other_rows",
        "score_of_a_class_does_not_depend_on_other_candidates",
    }

"""Every check of feature selectors, exemplar and coding methods catches a method that breaks its promise."""

import numpy as np
import pytest

from zslplat.families.coding.kit import CODING_CHECKS
from zslplat.families.coding.methods.estimator import check_coding_inputs
from zslplat.families.exemplars.kit import EXEMPLAR_CHECKS
from zslplat.families.exemplars.methods.base import Encoding, ExemplarMethod, row_blocks
from zslplat.families.exemplars.methods.baselines import Cosine
from zslplat.families.selection.kit import SELECTION_CHECKS
from zslplat.families.selection.methods.base import FeatureSelector, SelectionData, check_selection_inputs
from zslplat.methods.base import Method
from zslplat.methods.rows import unit_rows
from zslplat.space import BOOLEAN, POSITIVE, Parameter
from zslplat.testing import run_checks


class Covariance(FeatureSelector):
    """Length of the covariance with the signatures."""

    summary = "sound"

    def fit(self, X, y, S, *, row_signatures=None, statistics=None):
        check_selection_inputs(SelectionData(X, y, S, row_signatures))
        T = S[y] - S[y].mean(axis=0)
        return self._rank(np.linalg.norm(X.astype(np.float64).T @ T, axis=1) / len(X))


class WorstFirst(Covariance):
    def fit(self, X, y, S, *, row_signatures=None, statistics=None):
        super().fit(X, y, S)
        self.ranking_ = self.ranking_[::-1]
        return self


class FirstRows(Covariance):
    def fit(self, X, y, S, *, row_signatures=None, statistics=None):
        return super().fit(X[:64], y[:64], S)


class ClassNumbers(Covariance):
    def fit(self, X, y, S, *, row_signatures=None, statistics=None):
        return super().fit(X, y, S * (1 + np.arange(len(S)))[:, None])


class FirstColumns(Covariance):
    def fit(self, X, y, S, *, row_signatures=None, statistics=None):
        super().fit(X, y, S)
        return self._rank(self.scores_ - 0.01 * np.arange(len(self.scores_)))


class Unchecked(Covariance):
    def fit(self, X, y, S, *, row_signatures=None, statistics=None):
        T = S[np.clip(y, 0, len(S) - 1)]
        return self._rank(np.linalg.norm(np.nan_to_num(X)[: len(T)].T @ T, axis=1))


SELECTORS = {
    "ranking_follows_from_the_scores": (WorstFirst, "the scores give"),
    "order_of_rows_does_not_matter": (FirstRows, "rows in another order"),
    "order_of_classes_does_not_matter": (ClassNumbers, "classes in another order"),
    "scores_follow_the_columns": (FirstColumns, "columns in another order"),
    "unusable_data_are_refused": (Unchecked, "is accepted"),
}


class Single(Cosine):
    def similarity(self, A, B):
        return super().similarity(A, B).astype(np.float32)


class CentresTheBatch(Cosine):
    def encode(self, X, *, statistics=None):
        return super().encode(X - X.mean(axis=0))


class FirstNegatives(Cosine):
    """Takes the mean of the first block of negatives for that of all."""

    def __init__(self, center=True):
        super().__init__(center)

    def fit(self, negatives, *, statistics=None):
        first = next(row_blocks(negatives))[:10]
        super().fit(first)
        return self


class Unlike(Cosine):
    def similarity(self, A, B):
        return -super().similarity(A, B)


class TakesAnything(ExemplarMethod):
    """Cosine without any look at what it is given."""

    summary = "unchecked"
    parameters = {"center": Parameter("unused", BOOLEAN)}

    def __init__(self, center=False):
        self.center = center

    def fit(self, negatives, *, statistics=None):
        return self

    def encode(self, X, *, statistics=None):
        return Encoding(unit_rows(X.astype(np.float64)))

    def similarity(self, A, B):
        return A.vectors @ B.vectors.T


EXEMPLARS = {
    "similarity_has_an_entry_per_pair": (Single, "is float32"),
    "similarity_follows_the_rows": (CentresTheBatch, "rows in another order"),
    "order_of_negatives_does_not_matter": (FirstNegatives, "with negatives in another order"),
    "a_row_is_most_like_itself": (Unlike, "only 0%"),
    "unusable_data_are_refused": (TakesAnything, "is accepted"),
}


class ClassMeans(Method):
    """Codes are distances to class means, scores their negatives."""

    kind = "coding"
    summary = "sound"
    parameters = {"scale": Parameter("of the distances", POSITIVE)}

    def __init__(self, scale=1.0):
        self.scale = scale

    def prepare_fit(self, X, y, *, space):
        return {}

    def prepare_score(self, X, train, *, space, statistics=None):
        return {}

    def fit(self, X, y, *, statistics=None):
        check_coding_inputs(X, y)
        self.means_ = np.stack([X[y == c].mean(axis=0, dtype=np.float64) for c in range(y.max() + 1)])
        return self

    def transform(self, X, *, statistics=None):
        return self.scale * np.linalg.norm(X[:, None, :] - self.means_, axis=2)

    def decision_function(self, X, *, statistics=None):
        return -self.transform(X)

    def predict(self, X):
        return np.argmax(self.decision_function(X), axis=1)


class PredictsTheWorst(ClassMeans):
    def predict(self, X):
        return np.argmin(self.decision_function(X), axis=1)


class MeansOfFirstRows(ClassMeans):
    def fit(self, X, y, *, statistics=None):
        self.means_ = np.stack([X[y == c][:3].mean(axis=0) for c in range(y.max() + 1)])
        return self


class FavoursFirstClasses(ClassMeans):
    def decision_function(self, X, *, statistics=None):
        return super().decision_function(X) - 0.01 * np.arange(len(self.means_))


class CodesTheBatch(ClassMeans):
    def transform(self, X, *, statistics=None):
        return super().transform(X - X.mean(axis=0))


class Farthest(ClassMeans):
    def decision_function(self, X, *, statistics=None):
        return self.transform(X)


class CodesAnything(ClassMeans):
    def fit(self, X, y, *, statistics=None):
        self.means_ = np.nan_to_num(X[:8]).astype(np.float64)
        return self


class LabelMeans(ClassMeans):
    """Takes sets of labels, too: the distance to the mean of the rows without a label minus that of those with it."""

    label_sets = True

    def fit(self, X, y, *, statistics=None):
        check_coding_inputs(X, y, label_sets=True)
        if y.ndim == 1:
            self.others_ = None
            return super().fit(X, y)
        self.means_, self.others_ = (
            np.stack([X[y[:, j] == value].mean(axis=0, dtype=np.float64) for j in range(y.shape[1])])
            for value in (1, 0)
        )
        return self

    def decision_function(self, X, *, statistics=None):
        scores = super().decision_function(X)
        return scores if self.others_ is None else scores + np.linalg.norm(X[:, None, :] - self.others_, axis=2)


class RanksLabelsBackwards(LabelMeans):
    def decision_function(self, X, *, statistics=None):
        return -super().decision_function(X)


CODERS = {
    "codes_and_scores_have_a_row_per_row": (PredictsTheWorst, "predict is not the class"),
    "order_of_training_rows_does_not_matter": (MeansOfFirstRows, "training rows in another order"),
    "order_of_classes_does_not_matter": (FavoursFirstClasses, "classes in another order"),
    "score_of_a_row_does_not_depend_on_other_rows": (CodesTheBatch, "of 1 rows by themselves"),
    "better_than_guessing": (Farthest, "accuracy"),
    "sets_of_labels_are_ranked": (RanksLabelsBackwards, "random rankings"),
    "unusable_data_are_refused": (CodesAnything, "is accepted"),
}
KINDS = ["selection", "exemplars", "coding"]
CASES = [(SELECTION_CHECKS, SELECTORS), (EXEMPLAR_CHECKS, EXEMPLARS), (CODING_CHECKS, CODERS)]


@pytest.mark.parametrize(("checks", "broken"), CASES, ids=KINDS)
def test_every_check_has_a_method_that_breaks_it(checks, broken):
    assert set(broken) == {check.__name__ for check in checks}


@pytest.mark.parametrize(
    ("check", "broken", "message"),
    [
        pytest.param(check, *broken[check.__name__], id=f"{kind}-{check.__name__}")
        for kind, (checks, broken) in zip(KINDS, CASES, strict=True)
        for check in checks
    ],
)
def test_check_catches_the_method_that_breaks_it(check, broken, message):
    with pytest.raises(AssertionError, match=message):
        check(broken())


@pytest.mark.parametrize("method", [Covariance(), Cosine(), Cosine(center=True), ClassMeans(), LabelMeans()], ids=repr)
def test_sound_methods_pass_every_check(method):
    assert [(r.check, r.message) for r in run_checks(method) if r.state != "passed"] == []

"""The estimators of ``zslplat.estimators``: typed, documented by what runs, and taken by scikit-learn."""

from __future__ import annotations

import doctest
import pickle

import numpy as np
import pytest
import sklearn
from estimator_stub import STUB, stub_text
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import zslplat
from zslplat import estimators
from zslplat.errors import UnknownNameError
from zslplat.estimators import ESZSL, KernelESZSL, SemFS
from zslplat.front.requests import spec_of
from zslplat.registry import component

QUICK = ("ESZSL", "SemFS", "Cosine", "LLC")


@pytest.fixture
def data():
    """Rows of seen classes, their labels, the signatures of all classes, rows of unseen classes, their labels."""
    digits = zslplat.load_dataset("synthetic(classes_seen=8, classes_unseen=4, rows_train=96, dimensions=16)")
    train, test = digits.rows("train"), digits.rows("test_unseen")
    return digits.X[train], digits.y[train], digits.class_signatures()[0], digits.X[test], digits.y[test]


@pytest.fixture
def routing():
    """Metadata of fit and score reach estimators through others."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_the_stub_is_what_its_writer_writes():
    assert STUB.read_text() == stub_text(), "run python tests/front/estimator_stub.py"


def test_a_method_of_every_name_is_there_and_is_what_make_gives():
    for name, method in estimators.methods_by_class_name().items():
        assert name in dir(estimators)
        assert type(zslplat.make(method)) is getattr(estimators, name)
    with pytest.raises(AttributeError, match="did you mean ESZSL"):
        estimators.EZSL  # noqa: B018
    with pytest.raises(UnknownNameError, match="'alfa'; did you mean alpha"):
        ESZSL(alfa=1)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.long) for n in dir(estimators)]
)
def test_the_example_of_every_estimator_runs(name):
    estimator = getattr(estimators, name)
    test = doctest.DocTestParser().get_doctest(estimator.__doc__, {}, name, None, 0)
    assert len(test.examples) > 4
    report = []
    assert not doctest.DocTestRunner(verbose=False).run(test, out=report.append).failed, "".join(report)


def test_searches_of_scikit_learn_hand_signatures_on(routing, data):
    X, y, S, _, _ = data
    folds = GroupKFold(4).split(X, y, groups=y)  # by class: every fold is told apart among classes it has not seen
    search = GridSearchCV(ESZSL(), {"alpha": np.logspace(-2, 2, 3)}, cv=list(folds)).fit(X, y, S=S)
    assert search.best_params_["alpha"] in (0.01, 1.0, 100.0)
    assert search.best_estimator_.predict(X, S[:8]).max() < 8
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert cross_val_score(ESZSL(), X[shuffled], y[shuffled], params={"S": S}).mean() > 0.2


def test_pipelines_of_scikit_learn_hand_signatures_on(routing, data):
    X, y, S, X_new, y_new = data
    chain = make_pipeline(StandardScaler(), ESZSL(features="none")).fit(X, y, S=S)
    assert chain.predict(X_new, S=S[np.unique(y_new)]).shape == y_new.shape
    plain = ESZSL(features="none").fit(StandardScaler().fit_transform(X), y, S)
    assert chain.score(X, y, S=S) == plain.score(StandardScaler().fit_transform(X), y, S)
    chosen = make_pipeline(SemFS(count=5), LogisticRegression()).fit(X, y, S=S)
    assert chosen[-1].n_features_in_ == 5


def test_a_hyperparameter_that_is_called_like_a_method_of_the_pipeline_hides_nothing(data):
    X, y, S, X_new, _ = data
    model = estimators.JLSE(score="reconstruction", rounds=1).fit(X, y, S)
    assert model.get_params()["score"] == "reconstruction"
    assert 0 <= model.score(X, y) <= 1
    assert (pickle.loads(pickle.dumps(model)).predict(X_new, S) == model.predict(X_new, S)).all()


def test_an_estimator_and_its_class_are_methods_for_the_functions():
    assert str(spec_of(ESZSL)) == str(spec_of(component("methods", "eszsl"))) == "eszsl"
    assert str(spec_of(ESZSL(alpha=0.5))) == "eszsl(alpha=0.5)"
    assert str(spec_of(KernelESZSL(kernel="linear"))) == "keszsl(kernel=linear)"


def test_its_picture_shows_the_preprocessing():
    picture = ESZSL(signatures="none")._repr_html_()
    assert "features: split,l2" in picture
    assert "signatures: none" in picture

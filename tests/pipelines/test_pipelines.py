"""A pipeline gives what a task gives for a command, for every method there is, from arrays as people have them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted

from zslplat import make
from zslplat.data.store.rows import Rows
from zslplat.errors import DataError, OutcomeWarning, UnknownNameError, UsageError
from zslplat.evaluation.cache.problems import preprocess
from zslplat.evaluation.workers.method_process import make_method
from zslplat.families.coding.task import Coding
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.families.selection.task import FeatureSelection
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.metrics.accuracy import per_class_accuracy
from zslplat.pipelines.base import UnfittedError
from zslplat.registry import component
from zslplat.testing.problems import data_sets, label_sets

GENERALISED, CONVENTIONAL, SAMPLES, _ = data_sets()
SHORT = {"epochs": 3, "rounds": 3, "iterations": 3}
# One of each way to be called: inductive, jointly, in epochs, at random, with kernels, with the mask of seen classes.
ZERO_SHOT = ("eszsl", "keszsl", "conse", "dap", "exem-1nn", "gfzsl", "ale", "cmt-gaussian", "gfhf", "mfmr-joint")
CODING = (("llc", False), ("llc", True), ("ksc", True), ("src", False))
SELECTION = ("lasso-attributes", "mcfs", "semfs", "variance")


def quick(name):
    """The hyperparameters that keep a method of many steps short."""
    return {key: value for key, value in SHORT.items() if key in component("methods", name).parameters}


def by_task(task, dataset, pipeline, name):
    """What the task makes of its test problem with this method, and the problem as it was before preprocessing."""
    problem = task.test(dataset)
    treated = preprocess(problem, task, pipeline.preprocessing)
    outputs = list(task.run(make_method(name, quick(name), 0), treated, {}))[-1][1]
    return problem, outputs


def close(name, found, expected):
    """Equal to what the method declares for other orders of rows and other numbers of threads, and rounding."""
    tolerance = max(component("methods", name).tolerance, 1e-6)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=10 * tolerance, atol=10 * tolerance * scale)


@pytest.mark.parametrize("name", ZERO_SHOT)
def test_zero_shot_scores_are_those_of_the_task(name):
    dataset, task, pipeline = CONVENTIONAL, ZeroShot(), make(name, **quick(name))
    problem, outputs = by_task(task, dataset, pipeline, name)
    train, unseen = dataset.rows("train"), np.unique(dataset.y[dataset.rows("test_unseen")])
    S = dataset.class_signatures()[0]
    pipeline.fit(dataset.X[train], dataset.y[train], S)
    rows = dataset.X[problem.truth["row_pool"]]
    close(name, pipeline.decision_function(rows, S[unseen]), outputs["U->U"])
    score = pipeline.score(rows, problem.truth["y_pool"], S[unseen])
    assert score == per_class_accuracy(problem.truth["y_pool"], outputs["U->U"].argmax(axis=1))


@pytest.mark.parametrize("name", ["eszsl", "cmt-loop", "eszsl-smoothed", "zskl-ort"])
def test_without_signatures_rows_are_told_apart_among_all_classes_of_the_fit(name):
    dataset, pipeline = GENERALISED, make(name, **quick(name))
    problem, outputs = by_task(GeneralizedZeroShot(), dataset, pipeline, name)
    train, S = dataset.rows("train"), dataset.class_signatures()[0]
    pipeline.fit(dataset.X[train], dataset.y[train], S)
    assert pipeline.seen_.tolist() == problem.inputs["seen"].tolist()
    close(name, pipeline.decision_function(dataset.X[problem.truth["row_pool"]]), outputs["T"])


@pytest.mark.parametrize(("name", "several"), CODING)
def test_coding_scores_are_those_of_the_task(name, several):
    dataset, pipeline = label_sets() if several else SAMPLES, make(name, **quick(name))
    problem, outputs = by_task(Coding(), dataset, pipeline, name)
    train, pool = dataset.rows("train"), dataset.X[problem.truth["row_pool"]]
    pipeline.fit(dataset.X[train], dataset.y[train])
    close(name, pipeline.decision_function(pool), outputs["scores"])
    assert len(pipeline.transform(pool)) == len(pool)
    if several:
        with pytest.raises(UsageError, match="several labels"):
            pipeline.predict(pool)
    else:
        expected = np.mean(outputs["scores"].argmax(axis=1) == problem.truth["y_pool"])
        assert pipeline.score(pool, dataset.y[problem.truth["row_pool"]]) == expected


@pytest.mark.parametrize("name", SELECTION)
def test_rankings_are_those_of_the_task(name):
    dataset, pipeline = CONVENTIONAL, make(name, **quick(name)).set_params(count=5)
    _, outputs = by_task(FeatureSelection(first=5, last=5, repeats=1), dataset, pipeline, name)
    train = dataset.rows("train")
    pipeline.fit(dataset.X[train], dataset.y[train], dataset.class_signatures()[0])
    close(name, pipeline.scores_, outputs["scores"])
    assert pipeline.ranking_.tolist() == outputs["ranking"].tolist()
    taken = pipeline.transform(dataset.X[:3])
    assert (taken == dataset.X[:3][:, pipeline.ranking_[:5]]).all()
    assert sorted(pipeline.get_support(indices=True)) == np.flatnonzero(pipeline.get_support()).tolist()


@pytest.mark.parametrize("name", ["cosine", "slem", "kslem"])
def test_similarities_are_those_of_the_task(name):
    dataset, pipeline = CONVENTIONAL, make(name, **quick(name))
    problem, outputs = by_task(ExemplarRetrieval(), dataset, pipeline, name)
    gallery = np.asarray(problem.inputs["gallery"])
    pipeline.fit(np.asarray(problem.inputs["X"]))
    queries = gallery[problem.truth["queries"]]
    found = pipeline.similarity(queries, gallery)
    close(name, found, next(v for v in outputs.values() if v.shape == found.shape))
    assert pipeline.rank(queries, gallery, 3).tolist() == np.argsort(-found, axis=1, kind="stable")[:, :3].tolist()


@pytest.fixture
def arrays():
    """Rows of 8 seen and 4 unseen classes, with labels, and the signatures of all."""
    rng = np.random.default_rng(3)
    S = rng.normal(size=(12, 6))
    y = np.repeat(np.arange(12), 15)
    X = S[y] @ rng.normal(size=(6, 9)) + 0.1 * rng.normal(size=(len(y), 9)) + 5
    return X, y, S, y < 8


def test_a_method_taken_bare_gives_other_scores(arrays):
    X, y, S, seen = arrays
    bare = component("methods", "eszsl").build({"alpha": 0.01, "gamma": 0.01}).fit(X[seen], y[seen], S[:8])
    fitted = make("eszsl(alpha=.01, gamma=.01)").fit(X[seen], y[seen], S)
    assert not np.allclose(bare.decision_function(X[~seen], S[8:]), fitted.decision_function(X[~seen], S[8:]))


def test_preprocessing_is_learned_of_training_rows_alone(arrays):
    X, y, S, seen = arrays
    pipeline = make("eszsl", features="standardise").fit(X[seen], y[seen], S)
    one_by_one = np.vstack([pipeline.decision_function(row[None], S) for row in X[~seen]])
    np.testing.assert_allclose(one_by_one, pipeline.decision_function(X[~seen], S), rtol=1e-12)
    shifted = X.copy()
    shifted[~seen] += 100
    again = make("eszsl", features="standardise").fit(shifted[seen], y[seen], S)
    assert (again.decision_function(X[~seen], S) == pipeline.decision_function(X[~seen], S)).all()


def test_names_of_classes_come_from_the_index_or_are_given(arrays):
    X, y, S, seen = arrays
    named = np.array([f"class {i}" for i in range(12)])
    table = pd.DataFrame(S, index=named)
    by_number = make("eszsl").fit(X[seen], y[seen], S)
    by_index = make("eszsl").fit(pd.DataFrame(X[seen]), pd.Series(named[y[seen]]), table)
    given = make("eszsl").fit(X[seen], named[y[seen]], S, classes=list(named))
    expected = by_number.predict(X[~seen], S[8:])
    assert (by_index.predict(X[~seen], table.iloc[8:]) == named[8:][expected]).all()
    assert (given.predict(X[~seen], S[8:], classes=named[8:]) == named[8:][expected]).all()
    assert by_index.score(X[~seen], named[y[~seen]], table.iloc[8:]) == by_number.score(X[~seen], y[~seen] - 8, S[8:])
    # Numbers count the classes of the index where that holds texts.
    assert (make("eszsl").fit(X[seen], y[seen], table).classes_ == named).all()
    # An index of numbers that are no count names classes, too.
    numbers = pd.DataFrame(S, index=100 + np.arange(12))
    assert set(make("eszsl").fit(X[seen], 100 + y[seen], numbers).predict(X[~seen], numbers.iloc[8:])) <= {
        *range(108, 112)
    }


def test_classes_in_another_order_give_the_same_predictions(arrays):
    X, y, S, seen = arrays
    table = pd.DataFrame(S, index=[f"class {i}" for i in range(12)])
    pipeline = make("eszsl").fit(X[seen], y[seen], table)
    order = np.array([11, 3, 8, 10, 9])
    found = pipeline.predict(X[~seen], table.iloc[order])
    assert (found == pipeline.predict(X[~seen], table.iloc[np.sort(order)])).all()


def test_a_class_named_in_several_rows_has_several_signatures(arrays):
    X, y, S, seen = arrays
    names = [f"class {i}" for i in range(12)]
    doubled = pd.DataFrame(np.vstack([S + 0.01, S - 0.01]), index=names * 2)
    pipeline = make("eszsl").fit(X[seen], y[seen], doubled)
    assert pipeline.classes_.tolist() == names
    single = make("eszsl").fit(X[seen], y[seen], pd.DataFrame(S, index=names))
    assert (pipeline.predict(X[~seen], doubled) == single.predict(X[~seen], pd.DataFrame(S, index=names))).all()


def test_named_views_are_columns_side_by_side_each_with_its_own_steps(arrays):
    X, y, S, seen = arrays
    views = {"one": X[:, :4], "two": X[:, 4:]}
    pipeline = make("eszsl", features="none;two:l2").fit({k: v[seen] for k, v in views.items()}, y[seen], S)
    by_hand = np.hstack([X[:, :4], X[:, 4:] / np.linalg.norm(X[:, 4:], axis=1, keepdims=True)])
    expected = make("eszsl", features="none").fit(by_hand[seen], y[seen], S)
    np.testing.assert_allclose(
        pipeline.decision_function(views, S), expected.decision_function(by_hand, S), rtol=1e-10, atol=1e-12
    )
    with pytest.raises(DataError, match="fitted on rows of 4"):
        pipeline.predict(X, S)


def test_rows_of_a_data_set_are_taken_as_they_lie(arrays):
    X, y, S, seen = arrays
    rows = Rows.of({"": X})
    pipeline = make("eszsl").fit(rows.take(np.flatnonzero(seen)), y[seen], S)
    expected = make("eszsl").fit(X[seen], y[seen], S)
    np.testing.assert_allclose(pipeline.decision_function(rows, S), expected.decision_function(X, S), rtol=1e-9)


def test_which_classes_were_seen_is_known_by_name_by_signature_or_told(arrays):
    X, y, S, seen = arrays
    pipeline = make("cmt-gaussian", rounds=3).fit(X[seen], y[seen], S)
    told = pipeline.decision_function(X, S, seen=np.arange(12) < 8)
    assert (pipeline.decision_function(X) == told).all()
    order = np.arange(12)[::-1]
    assert (pipeline.decision_function(X, S[order]) == pipeline.decision_function(X, S[order], seen=order < 8)).all()
    assert not np.array_equal(pipeline.decision_function(X, S, seen=[]), told)
    with pytest.raises(DataError, match="a mask"):
        pipeline.predict(X, S, seen=np.array([True]))


def test_scikit_learn_can_clone_pickle_list_and_set_it(arrays):
    X, y, S, seen = arrays
    pipeline = make("eszsl(alpha=.01)", gamma=0.1, features="center")
    with pytest.raises(NotFittedError):
        check_is_fitted(pipeline)
    pipeline.fit(X[seen], y[seen], S)
    check_is_fitted(pipeline)
    copied = clone(pipeline)
    assert str(copied.get_params()) == str(pipeline.get_params())
    with pytest.raises(UnfittedError, match="not fitted; call fit first"):
        copied.predict(X, S)
    scores = pipeline.decision_function(X, S)
    assert (pickle.loads(pickle.dumps(pipeline)).decision_function(X, S) == scores).all()
    copied.set_params(alpha=5.0, gamma=2.0)
    assert (copied.method.alpha, copied.method.gamma, pipeline.method.alpha) == (5.0, 2.0, 0.01)
    assert pipeline.set_params(**pipeline.get_params()) is pipeline
    assert repr(pipeline) == "ESZSL(alpha=0.01, features='center', gamma=0.1)"
    assert pipeline.n_features_in_ == 9


@pytest.mark.parametrize("name", ["eszsl", "keszsl", "llc", "variance", "slem"])
def test_fitting_changes_no_parameter(name, arrays):
    X, y, S, seen = arrays
    pipeline = make(name)
    before = str(pipeline.get_params())
    given = {"zero-shot": (y[seen], S), "feature-selection": (y[seen], S), "coding": (y[seen],), "exemplar": ()}
    pipeline.fit(X[seen], *given[pipeline.kind])
    assert str(pipeline.get_params()) == before
    assert pipeline.method is not pipeline.method_


def test_scikit_learn_searches_and_cross_validates_it(arrays):
    X, y, S, seen = arrays
    search = GridSearchCV(make("eszsl"), {"gamma": [0.01, 100.0]}, cv=3).fit(X[seen], y[seen], S=S)
    assert search.best_params_["gamma"] in (0.01, 100.0)
    # A classifier: every fold has rows of every class.
    assert (cross_val_score(make("llc", atoms=20), X, y, cv=3) > 0.5).all()
    assert len(cross_val_score(make("eszsl"), X[seen], y[seen], cv=3, params={"S": S})) == 3


def test_rows_of_unseen_classes_are_scored_among_these_unless_all_classes_are_asked_for(arrays):
    X, y, S, seen = arrays
    unseen = np.arange(8, len(S))
    pipeline = make("eszsl").fit(X[seen], y[seen], S)
    scores = pipeline.decision_function(X[~seen], S)
    restricted = per_class_accuracy(y[~seen] - 8, scores[:, unseen].argmax(axis=1))
    everything = per_class_accuracy(y[~seen], scores.argmax(axis=1))
    assert restricted != everything
    assert pipeline.score(X[~seen], y[~seen], S) == pipeline.score(X[~seen], y[~seen]) == restricted
    assert pipeline.score(X[~seen], y[~seen], S, generalised=True) == everything
    # With one row of a class that was trained on, all classes compete; the first class is one.
    rows = np.append(np.flatnonzero(~seen), np.flatnonzero(seen)[0])
    assert pipeline.score(X[rows], y[rows], S) == per_class_accuracy(y[rows], pipeline.predict(X[rows], S))
    with pytest.raises(UsageError, match="y holds class 0, which was trained on"):
        pipeline.score(X[rows], y[rows], S, generalised=False)


def test_a_batch_that_is_scored_jointly_is_no_single_row(arrays):
    X, y, S, seen = arrays
    pipeline = make("gfhf").fit(X[seen], y[seen], S)
    assert pipeline.scores_jointly
    assert not make("eszsl").scores_jointly
    batch = pipeline.decision_function(X[~seen], S[8:])
    pipeline.decision_function(X[seen], S[8:])
    assert (pipeline.decision_function(X[~seen], S[8:]) == batch).all()
    with pytest.raises(UsageError, match="jointly, and 1 make none"):
        pipeline.predict(X[:1], S)


def test_signatures_of_all_classes_are_asked_for_where_preprocessing_looks_at_them(arrays):
    X, y, S, seen = arrays
    pipeline = make("eszsl", signatures="center_all,l2")
    with pytest.warns(OutcomeWarning, match="give the rows of the other classes"):
        pipeline.fit(X[seen], y[seen], S[:8])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline.fit(X[seen], y[seen], S)
        make("eszsl").fit(X[seen], y[seen], S[:8])


def test_unknown_names_and_illegal_values_are_told():
    with pytest.raises(UnknownNameError, match="did you mean eszsl"):
        make("eszl")
    with pytest.raises(UnknownNameError, match="did you mean alpha"):
        make("eszsl", alfa=1)
    with pytest.raises(UsageError, match="out of range"):
        make("eszsl(alpha=-1)")
    with pytest.raises(UsageError, match="given twice"):
        make("eszsl(alpha=1)", alpha=2)
    with pytest.raises(UnknownNameError, match="preprocessing step"):
        make("eszsl", features="centre")
    with pytest.raises(UnknownNameError, match="did you mean alpha"):
        make("eszsl").set_params(alfa=1)
    with pytest.raises(UsageError, match="expected a spec"):
        make(3)
    with pytest.raises(UsageError, match="out of range"):
        make("eszsl").set_params(alpha=-1.0).fit(np.eye(4), [0, 0, 1, 1], np.eye(2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": [0] * 120}, "y holds 1 class"),
        ({"y": [0, 1]}, "120 rows in X but 2 labels"),
        ({"y": [30] * 120}, "signatures of 12 classes"),
        ({"y": ["cat"] * 120}, "classes have no names"),
        ({"y": [0.5] * 120}, "of type float64"),
        ({"y": np.zeros((120, 2), int)}, "one label per row"),
        ({"S": None}, "S is missing"),
        ({"S": np.ones(12)}, "expected .classes, attributes."),
        ({"S": [["a", "b"]] * 12}, "expected numbers"),
        ({"S": np.full((12, 6), np.nan)}, "row 0 holds NaN"),
        ({"X": np.ones(120)}, "expected .rows, dimensions."),
        ({"X": np.full((120, 3), np.inf)}, "row 0 holds NaN or infinity"),
        ({"X": [["a"]] * 120}, "expected numbers"),
        ({"X": {}}, "no feature set"),
        ({"classes": ["a", "b"]}, "12 rows and classes names 2"),
        ({"classes": [f"c{i}" for i in range(12)], "y": ["c99"] * 120}, "unknown class in y 'c99'"),
    ],
)
def test_what_cannot_be_fitted_is_one_clear_error(arrays, changes, message):
    X, y, S, seen = arrays
    given = {"X": X[seen], "y": y[seen], "S": S, **changes}
    with pytest.raises((DataError, UsageError), match=message):
        make("eszsl").fit(**given)


def test_what_cannot_be_scored_is_one_clear_error(arrays):
    X, y, S, seen = arrays
    pipeline = make("eszsl").fit(pd.DataFrame(X[seen]).add_prefix("f"), y[seen], S)
    with pytest.raises(DataError, match="rows of X are 5 columns; the pipeline was fitted on rows of 9 columns"):
        pipeline.predict(X[:, :5], S)
    with pytest.raises(DataError, match="S has 3 attributes; the pipeline was fitted on 6"):
        pipeline.predict(X, S[:, :3])
    with pytest.raises(DataError, match="counted from 0"):
        pipeline.score(X[~seen], y[~seen], S[8:])
    with pytest.raises(UsageError, match="give S, too"):
        pipeline.predict(X, classes=["a"])
    with pytest.raises(DataError, match="column 0 of X is 'f8' and was 'f0'"):
        pipeline.predict(pd.DataFrame(X).add_prefix("f").iloc[:, ::-1], S)
    with pytest.raises(DataError, match="60 rows in X but 1 labels"):
        pipeline.score(X[~seen], [0], S)


def test_what_a_pipeline_of_another_kind_cannot_do_is_refused(arrays):
    X, y, S, seen = arrays
    with pytest.raises(DataError, match="class 11 in y was not in the fit"):
        make("llc", atoms=10).fit(X[seen], y[seen]).score(X[-15:], y[-15:])
    with pytest.raises(UsageError, match="1 or more"):
        make("variance").set_params(count=0).fit(X[seen], y[seen], S)

"""DAP, IAP and ConSE against slow products, scikit-learn's classifiers, and each other."""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC
from support import records_of

from zslplat.errors import DataError, OutcomeWarning
from zslplat.families.zero_shot.methods.probabilistic import attribute_prediction, conse
from zslplat.families.zero_shot.methods.probabilistic.attribute_prediction import (
    DAP,
    IAP,
    attribute_scores,
    linear_scores,
    priors,
    thresholds,
)
from zslplat.families.zero_shot.methods.probabilistic.conse import ConSE, combined
from zslplat.methods.rows import row_keys

DOCUMENT = Path(__file__).parents[3] / "docs" / "preparation.md"


def problem(n=120, d=6, c=7, a=5, seed=0):
    """Rows of unit length, whose last attribute all seen classes have; four unseen classes."""
    rng = np.random.default_rng(seed)
    table = np.unique(rng.integers(0, 2, (200, a - 1)), axis=0)
    rng.shuffle(table)
    S = np.hstack([table[: c + 4], np.ones((c + 4, 1))]).astype(float)
    S[c:, -1] = [0, 1, 0, 1]
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    X = (S @ rng.normal(size=(a, d)))[y] + 0.5 * rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y, S[:c], S[c:]


@pytest.mark.parametrize("prior", [True, False])
def test_dap_is_the_product_over_attributes_of_a_classifier_each(prior):
    X, y, S, unseen = problem()
    found = DAP(C=3.0, prior=prior, clip=1e-6).fit(X, y, S).decision_function(X, unseen)
    expected = np.ones((len(X), len(unseen)))
    # The rows are of unit length: C is scikit-learn's. The last attribute is that of all seen classes.
    for m in range(S.shape[1] - 1):
        p = LogisticRegression(C=3.0, tol=1e-8, max_iter=5000).fit(X, S[y, m]).predict_proba(X)[:, 1]
        q = S[:, m].mean()
        for z, signature in enumerate(unseen):
            holds = signature[m] == 1
            expected[:, z] *= p if holds else 1 - p
            if prior:
                expected[:, z] /= q if holds else 1 - q
    if not prior:
        expected /= 2  # what is not known of the last one
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-3)


def test_log_scores_are_those_of_loops_and_finite_for_certain_probabilities():
    rng = np.random.default_rng(1)
    P, B = rng.random((20, 6)), rng.integers(0, 2, (5, 6))
    q = priors(rng.integers(0, 2, (8, 6)))
    expected = [
        [sum(np.log(p[m] / q[m]) if z[m] else np.log((1 - p[m]) / (1 - q[m])) for m in range(6)) for z in B] for p in P
    ]
    np.testing.assert_allclose(attribute_scores(P, B, q, 1e-9), expected)
    assert np.isfinite(attribute_scores(np.round(P), B, q, 1e-9)).all()


def test_priors_count_classes_and_say_nothing_of_constant_attributes():
    B = np.array([[1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1]])
    np.testing.assert_array_equal(priors(B), [0.5, 0.5, 1 / 3, 1 / 3])
    X, y, S, _ = problem()
    many = np.concatenate([np.arange(len(y)), np.flatnonzero(y == 0), np.flatnonzero(y == 0)])
    np.testing.assert_array_equal(DAP().fit(X[many], y[many], S).priors_, DAP().fit(X, y, S).priors_)


def test_thresholds_leave_binary_tables_and_cut_others_where_told():
    S = np.array([[0.0, 5.0, 2.0], [4.0, 5.0, 0.0], [1.0, 8.0, 2.0]])
    np.testing.assert_allclose(thresholds(S, "overall"), S.mean())
    np.testing.assert_allclose(thresholds(S, "attribute"), S.mean(axis=0))
    for how in ("overall", "attribute"):
        for table in (np.array([[0, 1], [0, 1], [0, 0]]), np.array([[-1, 1], [-1, 1], [-1, -1]])):
            np.testing.assert_array_equal(table > thresholds(table, how), table > 0)
    constant = np.full((7, 1), 0.1)
    assert not (constant > thresholds(np.hstack([constant, np.arange(7)[:, None]]), "attribute")[:1]).any()


def test_an_attribute_of_all_seen_classes_changes_no_comparison():
    X, y, S, unseen = problem()
    with_it = DAP().fit(X, y, S).decision_function(X, unseen)
    without = DAP().fit(X, y, S[:, :-1]).decision_function(X, unseen[:, :-1])
    np.testing.assert_allclose(np.diff(with_it, axis=1), np.diff(without, axis=1), atol=1e-6)


def test_alike_and_opposite_attributes_share_a_classifier(monkeypatch):
    X, y, S, _ = problem()
    counts = []
    solve = attribute_prediction.fit_logistic
    monkeypatch.setattr(
        attribute_prediction, "fit_logistic", lambda X, T, C: counts.append(T.shape[1]) or solve(X, T, C)
    )
    W, b = attribute_prediction.solve(X, y, S == 1, 3.0, "logistic")
    double = np.hstack([S, 1 - S, S])
    W_double, b_double = attribute_prediction.solve(X, y, double == 1, 3.0, "logistic")
    assert counts == [S.shape[1] - 1, S.shape[1] - 1]
    np.testing.assert_allclose(W_double, np.hstack([W, -W, W]), atol=1e-12)
    np.testing.assert_allclose(b_double, np.concatenate([b, -b, b]), atol=1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("n", "d", "dtype"), [(150, 12, np.float64), (60, 90, np.float64), (150, 12, np.float32)])
def test_regressions_that_are_solved_together_are_those_of_scikit_learn(n, d, dtype, C):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, d)) * np.logspace(0, -2, d) + 0.5).astype(dtype)
    T = X.astype(float) @ rng.normal(size=(d, 4)) + 0.5 * rng.normal(size=(n, 4))
    T = np.quantile(T, 0.3, axis=0) < T
    W, b = attribute_prediction.fit_logistic(X, T, C)
    for m in range(T.shape[1]):
        expected = LogisticRegression(C=C, tol=1e-9, max_iter=10**5).fit(X.astype(float), T[:, m])
        found = expit(X @ W[:, m] + b[m])
        np.testing.assert_allclose(found, expected.predict_proba(X.astype(float))[:, 1], atol=5e-4)


def test_a_regression_that_does_not_converge_says_so(monkeypatch):
    X, y, S, _ = problem()
    monkeypatch.setattr(attribute_prediction, "LOGISTIC_ITERATIONS", 2)
    with pytest.warns(OutcomeWarning, match="not converged after 2"):
        attribute_prediction.fit_logistic(X, S[y, :-1] == 1, 100.0)


def test_svm_is_scikit_learns_with_platts_sigmoid_on_held_out_rows():
    X, y, S, _ = problem(n=200)
    order = np.argsort(row_keys("X", X))
    X, y = X[order], y[order]
    length = np.sqrt((X**2).sum() / len(X))
    W, b = attribute_prediction.solve(X, y, S == 1, 2.0, "svm")
    for m in range(S.shape[1] - 1):
        inner = LinearSVC(C=2.0, tol=1e-8, max_iter=10**5)
        machine = CalibratedClassifierCV(inner, cv=StratifiedKFold(3), ensemble=False)
        expected = machine.fit(X / length, S[y, m]).predict_proba(X / length)[:, 1]
        np.testing.assert_allclose(expit(X @ W[:, m] + b[m]), expected, atol=1e-3)


def test_svm_cannot_hold_out_a_single_row():
    X, y, S, _ = problem()
    B = np.zeros((len(S), 1), dtype=bool)
    B[3] = True
    alone = np.concatenate([np.flatnonzero(y == 3)[:1], np.flatnonzero(y != 3)])
    with pytest.raises(DataError, match="told by 1 training row"):
        attribute_prediction.solve(X[alone], y[alone], B, 1.0, "svm")


@pytest.mark.parametrize("classes", [2, 7])
def test_probabilities_of_seen_classes_are_scikit_learns(classes):
    X, y, _, _ = problem()
    rows = y < classes
    X, y = X[rows], y[rows]
    W, offset, _ = conse.solve(X, y, 5.0)
    expected = LogisticRegression(C=5.0, tol=1e-9, max_iter=5000).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(conse.probabilities(X, W, offset), expected, atol=1e-3)


def test_classifiers_do_not_depend_on_the_units_of_the_features():
    X, y, S, unseen = problem()
    for cls in (DAP, IAP, ConSE):
        scores = [cls().fit(scale * X, y, S).decision_function(scale * X, unseen) for scale in (1, 1024)]
        np.testing.assert_array_equal(scores[1], scores[0])


def test_support_vector_machines_do_not_depend_on_random_numbers_of_others():
    X, y, S, unseen = problem(n=40, d=80)  # fewer rows than columns: the dual is solved, by draws
    found = []
    for seed in (0, 1):
        np.random.seed(seed)  # noqa: NPY002
        found.append(DAP(classifier="svm").fit(X, y, S).decision_function(X, unseen))
    np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.parametrize("method", [IAP, ConSE])
def test_one_seen_class_is_refused(method):
    X, y, S, _ = problem()
    with pytest.raises(DataError, match="one seen class"):
        method().fit(X[y == 0], y[y == 0], S[:1])


def test_iap_by_products_is_daps_score_of_the_mean_attributes():
    X, y, S, unseen = problem()
    method = IAP(C=2.0).fit(X, y, S)
    P = softmax(X @ method.W_ + method.offset_, axis=1)
    expected = attribute_scores(P @ S, unseen, priors(S), method.clip)
    np.testing.assert_allclose(method.decision_function(X, unseen), expected)


def test_linear_iap_is_the_sum_over_classes_and_attributes_and_guards_empty_ones():
    P = np.random.default_rng(0).dirichlet(np.ones(3), 4)
    B_seen, B = np.array([[1.0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]), np.array([[1.0, 0, 0, 1], [1, 0, 1, 0]])
    expected = np.zeros((4, 2))
    for i, p in enumerate(P):
        for z in range(2):
            for m in range(4):
                if B[:, m].sum():
                    share = sum(p[k] * B_seen[k, m] / B_seen[k].sum() for k in (0, 2))
                    expected[i, z] += share * B[z, m] / B[:, m].sum()
    np.testing.assert_allclose(linear_scores(P, B_seen, B), expected)
    X, y, S, unseen = problem()
    method = IAP(score="linear").fit(X, y, S)
    P = softmax(X @ method.W_ + method.offset_, axis=1)
    np.testing.assert_allclose(method.decision_function(X, unseen), linear_scores(P, S, unseen))


@pytest.mark.parametrize("score", ["product", "linear"])
def test_iap_says_whether_other_candidates_change_how_two_classes_compare(score):
    X, y, S, unseen = problem()
    method = IAP(score=score).fit(X, y, S)
    beside_all = method.decision_function(X, unseen)
    changed = False
    for i, j in combinations(range(len(unseen)), 2):
        alone = method.decision_function(X, unseen[[i, j]])
        changed |= bool(((alone[:, 0] > alone[:, 1]) != (beside_all[:, i] > beside_all[:, j])).any())
    assert changed == ("unseen signatures" in method.knows_of_batch) == (score == "linear")


def test_conse_with_one_class_is_the_signature_of_the_likeliest_and_with_all_the_mean():
    X, y, S, unseen = problem()
    method = ConSE(T=1).fit(X, y, S)
    P = softmax(X @ method.W_ + method.offset_, axis=1)
    np.testing.assert_allclose(combined(P, S, 1), S[P.argmax(axis=1)])
    for T in (len(S), 100):
        np.testing.assert_allclose(combined(P, S, T), P @ S)
    cosines = P @ S @ unseen.T
    cosines /= np.linalg.norm(P @ S, axis=1)[:, None] * np.linalg.norm(unseen, axis=1)
    np.testing.assert_allclose(ConSE(T=100).fit(X, y, S).decision_function(X, unseen), cosines)


def test_conse_takes_classes_of_lower_number_first_where_they_are_equally_likely():
    P = np.array([[0.3, 0.1, 0.3, 0.3], [0.25, 0.25, 0.25, 0.25]])
    np.testing.assert_allclose(combined(P, np.eye(4), 2), [[0.5, 0, 0.5, 0], [0.5, 0.5, 0, 0]])


@pytest.mark.parametrize("T", [1, 3, 20])
def test_conse_agrees_with_the_example_of_the_documentation(T):
    (source,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    scope = {"__name__": "example"}
    exec(source, scope)
    X, y, S, unseen = problem()
    S, unseen = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in (S, unseen))
    found, expected = (cls(C=3.0, T=T).fit(X, y, S).decision_function(X, unseen) for cls in (ConSE, scope["ConSE"]))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert ConSE.preprocessing == scope["ConSE"].preprocessing
    assert ConSE.costly == scope["ConSE"].costly


@pytest.mark.long
@pytest.mark.parametrize("name", ["conse", "iap", "dap"])
def test_a_study_trains_once_per_penalty_and_fold(name, call, tmp_path, monkeypatch):
    done = call("tune", "-m", name, "-d", "marked", "-n", 12, "--workers", 1, "--json")
    assert done.returncode == 0, done.stderr
    tried = {record["parameters"]["C"] for record in records_of(tmp_path / "mlruns")}
    assert 1 < len(tried) < 10
    folds = 3
    assert json.loads(done.stdout)["counts"]["statistics"] == folds * len(tried) + 1


def test_more_classes_make_the_combination_no_less_smooth():
    P = np.random.default_rng(0).dirichlet(np.ones(9), 30)
    largest = [combined(P, np.eye(9), T).max(axis=1) for T in (1, 3, 9)]
    assert all((after <= before + 1e-12).all() for before, after in pairwise(largest))

"""Coding methods as estimators: preparation changes nothing, rules agree with their definitions, input is checked."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from zslplat.errors import DataError, MethodError, UnknownNameError, UsageError
from zslplat.families.coding.methods.classifiers import nearest_scores, residual_scores
from zslplat.families.coding.methods.kernel_coding import (
    LLC,
    SRC,
    BilinearSupervisedLLC,
    BilinearSupervisedSparseCoding,
    KernelBagOfWords,
    KernelLLC,
    KernelSparseCoding,
    LinearSupervisedLLC,
    LinearSupervisedSparseCoding,
    SparseCoding,
)
from zslplat.families.coding.methods.lc_ksvd import LCKSVD, pursuit_codes
from zslplat.registry import component

DATA = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))

METHODS = [
    SparseCoding(gamma=0.01),
    LLC(neighbours=5),
    KernelSparseCoding(gamma=0.01),
    KernelSparseCoding(gamma=0.01, dictionary="class-samples", atoms=20, learning="free", iterations=2),
    KernelSparseCoding(gamma=0.01, rule="bilinear", learn_kernel="bandwidth", iterations=2),
    KernelSparseCoding(kernel="linear + gaussian", gamma=0.01, learn_kernel="weights", iterations=2),
    KernelLLC(neighbours=5, rule="linear"),
    KernelLLC(variant="full", gamma=0.01),
    KernelBagOfWords(atoms=30, dictionary="k-means", rule="nearest"),
    KernelBagOfWords(
        atoms=20, dictionary="k-means", learning="free", learn_kernel="bandwidth", iterations=2, rule="nearest"
    ),
    KernelBagOfWords(assignment="hard", atoms=20, dictionary="k-means", learning="free", iterations=3),
    LinearSupervisedSparseCoding(gamma=0.01, iterations=2),
    LinearSupervisedLLC(neighbours=5, iterations=2),
    BilinearSupervisedSparseCoding(gamma=0.01, iterations=2, atoms=20),
    BilinearSupervisedLLC(neighbours=5, iterations=2, atoms=20),
    SRC(gamma=0.01),
    LCKSVD(atoms=40, nonzeros=5, iterations=3),
]
EVERY = pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{type(m).__name__}-{METHODS.index(m)}")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4
    X = rng.normal(size=(4, 8))[y] + 0.6 * rng.normal(size=(120, 8))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


@EVERY
def test_every_method_tells_classes_apart(method, data):
    X, y = data
    fitted = clone(method).fit(X[:80], y[:80])
    scores = fitted.decision_function(X[80:])
    assert scores.shape == (40, 4)
    np.testing.assert_array_equal(fitted.predict(X[80:]), scores.argmax(axis=1))
    assert (fitted.predict(X[80:]) == y[80:]).mean() > 0.7  # chance is 0.25
    assert fitted.transform(X[80:]).shape[0] == 40
    assert all(np.isfinite(m).all() for m in fitted.matrices().values())


@EVERY
def test_preparation_changes_nothing(method, data):
    X, y = data
    direct = clone(method).fit(X[:80], y[:80]).decision_function(X[80:])
    for space in ({}, method.space):
        prepared = clone(method)
        fit = prepared.prepare_fit(X[:80], y[:80], space=space)
        score = prepared.prepare_score(X[80:], X[:80], space=space)
        prepared.fit(X[:80], y[:80], statistics=fit)
        np.testing.assert_allclose(prepared.decision_function(X[80:], statistics=score), direct, atol=1e-7)


@EVERY
def test_a_row_is_scored_the_same_in_any_company(method, data):
    X, y = data
    fitted = clone(method).fit(X[:80], y[:80])
    whole = fitted.decision_function(X[80:])
    np.testing.assert_allclose(fitted.decision_function(X[95:96]), whole[15:16], atol=1e-6)


@EVERY
def test_parameters_are_described_and_survive_cloning(method):
    assert set(type(method).parameters) == set(method.get_params(deep=False))
    assert clone(method).get_params() == method.get_params()
    method.check_parameters()
    assert type(method).build(method.get_params()).get_params() == method.get_params()
    with pytest.raises(UnknownNameError):
        type(method).build({"no_such_parameter": 1})


def test_kernel_parameters_are_set_and_searched_by_their_path():
    method = KernelSparseCoding.build({"kernel": "gaussian", "kernel.sigma": 0.5})
    assert method.kernel == "gaussian(sigma=0.5)"
    assert {"gamma", "kernel.sigma"} <= set(KernelSparseCoding.build({"kernel": "gaussian"}).space)


def test_linear_forms_are_the_kernel_forms_with_the_linear_kernel(data):
    X, y = data
    for linear, general in ((SparseCoding(gamma=0.01), KernelSparseCoding(kernel="linear", gamma=0.01)),
                            (LLC(neighbours=6), KernelLLC(kernel="linear", neighbours=6))):  # fmt: skip
        ours = linear.fit(X[:80], y[:80]).decision_function(X[80:])
        np.testing.assert_array_equal(general.fit(X[:80], y[:80]).decision_function(X[80:]), ours)


def test_residual_rule_is_the_distance_to_the_class_part_of_the_reconstruction(data):
    X, y = (part[:60] for part in data)
    D, classes = X[:40].astype(np.float64), y[:40]
    queries = X[40:].astype(np.float64)
    codes = np.random.default_rng(0).normal(size=(20, 40))
    scores = residual_scores(D @ D.T, queries @ D.T, codes, classes, 4)
    for s in range(4):
        part = np.where(classes == s, codes, 0) @ D
        residual = ((queries - part) ** 2).sum(axis=1)
        np.testing.assert_allclose(-scores[:, s], residual - (queries**2).sum(axis=1), atol=1e-9)


def test_nearest_rule_is_the_distance_to_the_nearest_code_of_the_class():
    rng = np.random.default_rng(0)
    train, codes, y = rng.normal(size=(30, 5)), rng.normal(size=(7, 5)), np.arange(30) % 3
    distances = np.linalg.norm(codes[:, None] - train[None], axis=2)
    expected = np.stack([-distances[:, y == s].min(axis=1) for s in range(3)], axis=1)
    np.testing.assert_allclose(nearest_scores(codes, train, y, 3), expected, atol=1e-7)


def test_matching_pursuit_fits_the_chosen_atoms_and_takes_the_best_one_next(data):
    X, _ = data
    D, queries = X[:40].astype(np.float64), X[80:].astype(np.float64)
    codes = pursuit_codes(D @ D.T, queries @ D.T, 3)
    for x, code in zip(queries, codes, strict=True):
        chosen = []
        y = np.zeros(0)
        for _ in range(3):
            residual = x - (D[chosen].T @ y if chosen else 0)
            chosen.append(int(np.argmax(np.abs(D @ residual))))
            y = np.linalg.lstsq(D[chosen].T, x, rcond=None)[0]
        expected = np.zeros(40)
        expected[chosen] = y
        np.testing.assert_allclose(code, expected, atol=1e-8)


def test_matrices_are_read_as_vectors_or_through_their_logarithm():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    A = rng.normal(size=(40, 4, 12))
    A[y == 1, 0] *= 3
    P = A @ A.transpose(0, 2, 1) / 12
    for kernel in ("log-euclidean", "gaussian"):
        fitted = KernelSparseCoding(kernel=kernel, gamma=0.01).fit(P[:24], y[:24])
        assert (fitted.predict(P[24:]) == y[24:]).mean() > 0.6
    flat = KernelSparseCoding(kernel="gaussian", gamma=0.01).fit(P[:24].reshape(24, -1), y[:24])
    np.testing.assert_allclose(flat.decision_function(P[24:].reshape(16, -1)), fitted.decision_function(P[24:]))
    bad = P.copy()
    bad[3] = -np.eye(4)
    with pytest.raises(DataError, match="matrix 3 is not symmetric positive definite"):
        KernelSparseCoding(kernel="log-euclidean").fit(bad[:24], y[:24])


def test_bad_input_is_named(data):
    X, y = data
    with pytest.raises(UsageError, match="80 training samples"):
        KernelSparseCoding(atoms=81).fit(X[:80], y[:80])
    with pytest.raises(MethodError, match=r"every code is zero from gamma=2 on"):
        KernelSparseCoding(gamma=2.0).fit(X, y)
    with pytest.raises(UsageError, match="not positive semi-definite"):
        KernelSparseCoding(kernel="sigmoid").fit(X, y)
    with pytest.raises(UsageError, match="residual"):
        KernelSparseCoding(learning="free", rule="residual").fit(X, y)
    with pytest.raises(DataError, match="class 2"):
        KernelSparseCoding().fit(X[y != 2], y[y != 2])
    with pytest.raises(DataError, match="NaN"):
        KernelSparseCoding().fit(np.where(X > 0.5, np.nan, X), y)
    with pytest.raises(UsageError, match="bandwidth"):
        KernelSparseCoding(kernel="linear", learn_kernel="bandwidth", gamma=0.01).fit(X, y)
    with pytest.raises(UsageError, match="sum of kernels"):
        KernelSparseCoding(learn_kernel="weights", gamma=0.01).fit(X, y)


def test_a_class_with_one_sample_can_still_win(data):
    X, y = data
    keep = np.r_[np.flatnonzero(y[:80] != 3), np.flatnonzero(y[:80] == 3)[:1]]
    fitted = KernelSparseCoding(gamma=0.01).fit(X[keep], y[keep])
    only = keep[-1:]
    assert fitted.predict(X[only])[0] == 3


def test_an_indefinite_kernel_is_clipped_on_request_for_training_and_new_rows_alike(data):
    X, y = data
    fitted = KernelSparseCoding(kernel="sigmoid", gamma=0.01, indefinite="clip").fit(X[:80], y[:80])
    assert np.linalg.eigvalsh(fitted.atoms_.K_D)[0] > -1e-9
    again = fitted.transform(X[:80])
    K = fitted.atoms_.K_D
    # A training row as a new row has the kernel values that it had in training: it codes itself.
    assert (np.abs(again).argmax(axis=1) == np.arange(80)).mean() > 0.9
    assert K.shape == (80, 80)


def test_collapse_of_the_bandwidth_under_local_codes_is_held_and_reported(data):
    X, y = data
    fitted = KernelLLC(neighbours=8, atoms=40, dictionary="k-means", learn_kernel="bandwidth", iterations=3).fit(X, y)
    assert fitted.diagnostics.numbers["bandwidth clamped"] == 1.0


@pytest.fixture(scope="module")
def subspaces():
    """Twenty classes of eight training rows, each class a plane of its own: half of the rows do not span it well."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 20)
    bases = rng.normal(size=(20, 4, 30))
    X = np.einsum("nr,nrd->nd", rng.normal(size=(400, 4)), bases[y]) + 0.5 * rng.normal(size=(400, 30))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    train = np.arange(400) % 20 < 8
    return X[train], y[train], X[~train], y[~train]


@pytest.mark.parametrize("supervised", [
    LinearSupervisedSparseCoding(iterations=2),
    BilinearSupervisedSparseCoding(iterations=2),
    LinearSupervisedLLC(iterations=2),
    BilinearSupervisedLLC(iterations=2),
], ids=lambda m: type(m).__name__)  # fmt: skip
def test_supervised_coding_is_not_behind_unsupervised_coding_at_its_defaults(subspaces, supervised):
    X, y, X_test, y_test = subspaces
    plain = KernelSparseCoding() if "Sparse" in type(supervised).__name__ else KernelLLC()
    unsupervised = (plain.fit(X, y).predict(X_test) == y_test).mean()
    fitted = clone(supervised).fit(X, y)
    assert fitted.transform(X_test).shape[1] == len(X)  # as many atoms as those of the unsupervised method
    assert (fitted.predict(X_test) == y_test).mean() >= unsupervised - 0.01


def test_table_rows_beside_a_figure_of_the_paper_follow_its_rules(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    rows = [row for row in importlib.import_module("coding_tables").TABLE if row.paper is not None]
    assert len(rows) == 8
    for row in rows:
        fixed = dict(row.fixed)
        if row.method in ("src", "lc-ksvd"):  # one rule each
            continue
        assert "rule" not in row.ranges
        learned = fixed.get("learning", "fixed") != "fixed"
        rule = component("methods", row.method).build(fixed)._chosen_rule()
        assert rule == ("nearest" if learned else "residual"), row.label
        assert fixed.get("atoms") == (570 if learned else None)


@pytest.fixture(scope="module")
def faces():
    path = DATA / "coding" / "extyaleb.npz"
    if not path.exists():
        pytest.skip(f"no {path}")
    with np.load(path) as file:
        X, train = file["rf504"], file["train32"]
        y = np.unique(file["label"], return_inverse=True)[1]
    return X[train], y[train], X[~train], y[~train]


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (SRC(gamma=0.01), 0.977),
        (KernelSparseCoding(kernel="gaussian(sigma=1.954)", gamma=0.003), 0.9825),
        (KernelLLC(kernel="gaussian(sigma=1.1265)", neighbours=100), 0.974),
    ],
    ids=["src", "ksc", "kllc"],
)
def test_faces_are_recognised_as_well_as_by_the_reference(faces, method, expected):
    X, y, X_test, y_test = faces
    accuracy = (clone(method).fit(X, y).predict(X_test) == y_test).mean()
    assert accuracy >= expected - 0.01

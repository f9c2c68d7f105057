"""SemFS as a method: the same with and without statistics, units, copies, targets and decorrelation."""

import numpy as np
import pytest
from semfs_toys import problem

from zslplat.families.selection.methods.regression import decorrelation
from zslplat.families.selection.methods.semfs import SemFS, SemFSWithoutCentres


@pytest.mark.parametrize("variant", ["binary", "convex", "sum", "paper", "ridge"])
@pytest.mark.parametrize("shape", [(90, 20), (18, 60)])
def test_given_statistics_and_no_statistics_are_the_same(variant, shape):
    X, y, S, _ = problem(*shape)
    selector = SemFS(variant=variant, gamma=3.0, k=10)
    statistics = selector.prepare_fit(X, y, S, space={})
    alone = SemFS(variant=variant, gamma=3.0, k=10).fit(X, y, S)
    prepared = selector.fit(np.full_like(X, np.nan), y, S, statistics=statistics)
    np.testing.assert_array_equal(prepared.scores_, alone.scores_)
    assert ("gram" in statistics) == (shape[0] + len(S) >= shape[1])


@pytest.mark.parametrize("variant", ["binary", "convex", "sum", "ridge"])
def test_informative_features_come_first(variant):
    X, y, S, _ = problem(n=300, d=40, c=12)
    selector = SemFS(variant=variant, gamma=1.0, k=10).fit(X, y, S)
    assert (selector.ranking_[:10] < 20).all()


@pytest.mark.parametrize("variant", ["binary", "convex", "sum"])
def test_scale_free_gamma_does_not_mind_units_or_copies(variant):
    X, y, S, _ = problem()
    chosen = {"variant": variant, "gamma": 3.0, "k": 10}
    plain = SemFS(**chosen).fit(X, y, S)
    units = SemFS(**chosen).fit(20 * X, y, 3 * S)
    copies = SemFS(**chosen).fit(np.vstack([X, X]), np.concatenate([y, y]), S)
    for other in (units, copies):
        np.testing.assert_allclose(other.scores_, plain.scores_, rtol=1e-4, atol=1e-4)


def test_row_signatures_that_repeat_the_class_are_the_class_signatures():
    X, y, S, rows = problem()
    by_class = SemFS().fit(X, y, S)
    np.testing.assert_allclose(SemFS().fit(X, y, S, row_signatures=S[y]).scores_, by_class.scores_, atol=1e-6)
    assert not np.allclose(SemFS().fit(X, y, S, row_signatures=rows).scores_, by_class.scores_, atol=1e-3)


def test_label_target_is_the_one_hot_signature():
    X, y, S, rows = problem()
    labels = SemFS(target="labels").fit(X, y, S, row_signatures=rows)
    np.testing.assert_array_equal(labels.scores_, SemFS().fit(X, y, np.eye(len(S))).scores_)
    statistics = SemFS().prepare_fit(X, y, S, row_signatures=rows, space={})
    np.testing.assert_array_equal(SemFS(target="labels").fit(X, y, S, statistics=statistics).scores_, labels.scores_)


def test_without_centres_is_alpha_zero():
    X, y, S, _ = problem()
    np.testing.assert_array_equal(SemFSWithoutCentres().fit(X, y, S).scores_, SemFS(alpha=0.0).fit(X, y, S).scores_)


def test_warm_starts_change_the_way_and_not_the_result():
    X, y, S, _ = problem(d=40)
    warm = SemFS(variant="convex", k=5, warm_start=True, precision=1e-12)
    for gamma in (10.0, 1.0, 0.3):
        warm.set_params(gamma=gamma).fit(X, y, S)
    cold = SemFS(variant="convex", gamma=0.3, k=5, precision=1e-12).fit(X, y, S)
    np.testing.assert_allclose(warm.scores_, cold.scores_, atol=1e-4)


@pytest.mark.parametrize("variant", ["binary", "convex", "sum"])
def test_unselected_features_rank_below_by_their_pull(variant):
    X, y, S, _ = problem(d=40)
    selector = SemFS(variant=variant, gamma=100.0, k=8).fit(X, y, S)
    inactive = np.setdiff1d(np.arange(40), selector.active_)
    assert len(inactive)
    assert (selector.scores_[selector.active_] > 0).all()
    assert (selector.scores_[inactive] <= 0).all()
    assert (selector.scores_[inactive] >= -1).all()
    assert len(np.unique(selector.scores_[inactive])) == len(inactive)


@pytest.mark.parametrize("degree", [0.3, 0.75, 1.0])
def test_decorrelation_raises_the_kernel_of_the_classes_to_a_power(degree):
    _, _, S, _ = problem(c=12, m=5)
    S = S * [10, 5, 2, 1, 0.1] + 3
    centred = S - S.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    kept = values > 1e-9
    maps = decorrelation(S, degree)
    target = centred @ maps.forward
    expected = (vectors[:, kept] * values[kept] ** (1 - degree)) @ vectors[:, kept].T
    np.testing.assert_allclose(target @ target.T, expected, atol=1e-9 * expected.max())
    np.testing.assert_allclose(maps.back.T @ maps.forward.T, np.eye(5), atol=1e-9)


def test_no_decorrelation_changes_nothing():
    _, _, S, _ = problem()
    assert decorrelation(S, 0.0) is None
    assert decorrelation(np.ones_like(S), 0.5) is None


@pytest.mark.parametrize("variant", ["convex", "sum"])
def test_full_decorrelation_of_telling_signatures_is_the_label_target(variant):
    X, y, S, _ = problem(c=6, m=9)
    signatures = SemFS(variant=variant, decorrelation=1.0, precision=1e-12).fit(X, y, S)
    labels = SemFS(variant=variant, target="labels", precision=1e-12).fit(X, y, S)
    np.testing.assert_allclose(signatures.scores_, labels.scores_, atol=1e-4)
    fewer = SemFS(variant=variant, decorrelation=1.0, precision=1e-12).fit(X, y, S[:, :2])
    assert not np.allclose(fewer.scores_, labels.scores_, atol=1e-2)


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("shape", [(90, 20), (18, 60)])
@pytest.mark.parametrize("variant", ["binary", "convex", "sum"])
def test_decorrelation_is_a_linear_map_of_the_signatures(variant, shape, by_row):
    X, y, S, rows = problem(*shape)
    means = np.stack([rows[y == k].mean(axis=0) for k in range(len(S))])
    T = decorrelation(means if by_row else S, 0.5).forward
    own = SemFS(variant=variant, gamma=3.0, k=10, decorrelation=0.5).fit(
        X, y, S, row_signatures=rows if by_row else None
    )
    plain = SemFS(variant=variant, gamma=3.0, k=10, decorrelation=0.0)
    plain.fit(X, y, S @ T, row_signatures=rows @ T if by_row else None)
    np.testing.assert_allclose(own.scores_, plain.scores_, atol=1e-6)
    # The weights are for the signatures themselves.
    assert own.W_.shape == (len(own.active_), S.shape[1])
    np.testing.assert_allclose(own.W_ @ T, plain.W_, atol=1e-5 * np.abs(plain.W_).max())


def test_printed_forms_take_signatures_as_they_are():
    X, y, S, _ = problem()
    for variant in ("paper", "ridge"):
        one, other = (SemFS(variant=variant, decorrelation=degree).fit(X, y, S) for degree in (0.0, 1.0))
        np.testing.assert_array_equal(one.scores_, other.scores_)


def test_strong_features_are_cheap():
    """Of two features that say the same, the one in smaller units of itself, so with larger values, is preferred."""
    X, y, S, _ = problem(n=200, d=20)
    X[:, 11] = 0.5 * X[:, 0]
    for variant in ("binary", "convex"):
        scores = SemFS(variant=variant, gamma=0.1, k=6).fit(X, y, S).scores_
        assert scores[0] > 0
        assert scores[11] < 0

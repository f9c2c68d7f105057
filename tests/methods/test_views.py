"""Methods of all kinds that are told of views: kernels on a view, plain methods, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.data.store.rows import View
from zslplat.errors import UnknownNameError, UsageError
from zslplat.registry import component
from zslplat.testing.kits import kit_of

VIEWS = (View("words", (4,)), View("shape", (3, 3)), View("colour", (5,)))


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, 3, 3))
    shape = A @ A.transpose(0, 2, 1) + np.eye(3)
    return np.hstack([rng.normal(size=(n, 4)), shape.reshape(n, 9), rng.random((n, 5))]), shape


def told(name, views=VIEWS, **parameters):
    method = component("methods", name).build(parameters)
    method.take_views(views)
    return method


def test_keszsl_on_a_matrix_view_is_kernel_ridge_with_that_gram():
    X, shape = rows(40)
    rng = np.random.default_rng(1)
    y, S = np.arange(40) % 4, rng.normal(size=(4, 6))
    method = told("keszsl", kernel="log-euclidean(sigma=2)@shape", scale="absolute").fit(X, y, S)
    K = component("kernels", "log-euclidean")(sigma=2)(shape)
    Y = np.eye(4)[y]
    A = np.linalg.solve(K + np.eye(40), Y @ S) @ np.linalg.inv(S.T @ S + np.eye(6))
    np.testing.assert_allclose(method.decision_function(X, S), K @ A @ S.T, rtol=1e-6, atol=1e-8)
    restored = type(method).from_state(method.get_params(), method.state())
    np.testing.assert_array_equal(restored.decision_function(X, S), method.decision_function(X, S))


@pytest.mark.parametrize("kernel", ["gaussian@words", "0.4*gaussian@words + log-euclidean@shape + chi-squared@colour"])
@pytest.mark.parametrize("options", [{"exact_rows": 10, "rank": 30}, {}])
def test_keszsl_takes_sums_over_views_prepared_or_not(kernel, options):
    X, _ = rows(60)
    y, S = np.arange(60) % 4, np.random.default_rng(1).normal(size=(4, 6))
    method = told("keszsl", kernel=kernel, **options)
    direct = method.fit(X, y, S).decision_function(X, S)
    statistics = method.prepare_fit(X, y, S, space={})
    np.testing.assert_array_equal(method.fit(X, y, S, statistics=statistics).decision_function(X, S), direct)


@pytest.mark.parametrize("landmarks", ["cholesky", "nystrom"])
def test_kslem_on_a_matrix_view_is_that_of_the_matrices_alone(landmarks):
    X, shape = rows(50)
    options = {"rank": 20, "landmarks": landmarks}
    on_view = told("kslem", kernel="log-euclidean(sigma=2)@shape", **options).fit(X)
    alone = component("methods", "kslem").build({"kernel": "log-euclidean(sigma=2)", **options}).fit(shape)
    found, expected = (m.similarity(m.encode(R[:9]), m.encode(R)) for m, R in ((on_view, X), (alone, shape)))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    restored = type(on_view).from_state(on_view.get_params(), on_view.state())
    np.testing.assert_array_equal(restored.similarity(restored.encode(X[:9]), restored.encode(X)), found)


def test_centres_are_sought_in_the_columns_that_the_kernel_reads():
    X, _ = rows(50)
    options = {"rank": 12, "landmarks": "kmeans"}
    on_view = told("kslem", kernel="gaussian(sigma=2)@colour", **options).fit(X)
    alone = component("methods", "kslem").build({"kernel": "gaussian(sigma=2)", **options}).fit(X[:, 13:])
    np.testing.assert_allclose(on_view.landmarks_[:, 13:], alone.landmarks_, rtol=1e-12)
    with pytest.raises(UsageError, match="k-means has no centres"):
        told("kslem", kernel="gaussian@colour + log-euclidean@shape", **options).fit(X)


def test_searching_and_building_do_not_wait_for_the_views():
    cls = component("methods", "keszsl")
    method = cls.build({"kernel": "gaussian@words + linear@colour", "kernel.words.gaussian.sigma": 0.5})
    before = method.space, method.defaults, dict(method.domains)
    assert method.defaults["kernel.words.gaussian.sigma"] == 0.5
    method.take_views(VIEWS[::2])
    assert (method.space, method.defaults, dict(method.domains)) == before


@pytest.mark.parametrize("name", ["keszsl", "ksc", "kslem", "eszsl", "slem"])
def test_a_view_of_matrices_that_nobody_reads_is_refused(name):
    with pytest.raises(UsageError, match=r"'shape' holds matrices \(3, 3\).*leave"):
        told(name)


def test_a_kernel_on_a_view_needs_views():
    for name in ("keszsl", "ksc", "kslem"):
        method = component("methods", name).build({"kernel": "gaussian@words"})
        with pytest.raises(UsageError, match="have no named views; leave out @words"):
            method.take_views(())
        kit = kit_of(method.kind)
        with pytest.raises(UsageError, match="have no named views"):
            kit.apply(method, kit.arrays(method))
        with pytest.raises(UnknownNameError, match="did you mean words"):
            told(name, kernel="gaussian@word")


@pytest.mark.parametrize("name", ["zskl", "zskl-ort", "zskl-subspaces"])
def test_methods_that_learn_a_projection_refuse_a_kernel_on_a_view(name):
    with pytest.raises(UsageError, match="learns a projection of all features"):
        component("methods", name).build({"kernel": "gaussian@words"})

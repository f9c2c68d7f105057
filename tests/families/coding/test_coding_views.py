"""Kernel coding over several views: prepared values, weights searched and learned, views that need each other."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.data.store.rows import View
from zslplat.errors import UsageError
from zslplat.families.coding.methods import kernel_rows
from zslplat.kernels import Kernel, parse_kernel
from zslplat.registry import component
from zslplat.spec import Spec

VIEWS = (View("cq", (5,)), View("cov", (3, 3)), View("phog", (8,)))
SUMS = {
    "vectors": "gaussian@cq + chi-squared@phog",
    "matrices": "0.5*gaussian@cq + 0.3*log-euclidean@cov + 0.2*normalised(linear*chi-squared)@phog",
    "unbound part": "cauchy + log-euclidean@cov",
}


def rows_of_three_views(seed=0, n=60, classes=3, noise=1.0):
    """Return X (n, 22), y: all views tell the classes, with noise."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(100)
    y = rng.permutation(np.arange(n) % classes)
    cq = centres.normal(size=(classes, 5))[y] + 0.6 * noise * rng.normal(size=(n, 5))
    A = np.eye(3) + 0.5 * centres.normal(size=(classes, 3, 3))[y] + 0.2 * noise * rng.normal(size=(n, 3, 3))
    cov = A @ A.transpose(0, 2, 1) + 0.1 * np.eye(3)
    phog = np.abs(centres.normal(size=(classes, 8))[y] + 0.5 * noise * rng.normal(size=(n, 8)))
    return np.hstack([cq, cov.reshape(n, 9), phog]), y


def built(name, views=VIEWS, **parameters):
    method = component("methods", name).build(parameters)
    method.take_views(views)
    return method


@pytest.mark.parametrize("text", SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("name", ["ksc", "kllc", "l-skllc", "kbow"])
def test_prepared_values_give_what_a_fit_alone_gives(name, text):
    X, y = rows_of_three_views()
    pool, _ = rows_of_three_views(seed=1, n=20)
    searched = built(name, kernel=text)
    fit = searched.prepare_fit(X, y, space=searched.space)
    score = searched.prepare_score(pool, X, space=searched.space, statistics=fit)
    assert fit
    assert score
    weights = {path: 0.1 * (i + 1) for i, path in enumerate(searched.space) if ".weight." in path}
    for values in ({}, weights, {path: "0.5*median" for path in searched.space if path.endswith("gaussian.sigma")}):
        method = built(name, kernel=text, **values)
        direct = method.fit(X, y).decision_function(pool)
        through = method.fit(X, y, statistics=fit).decision_function(pool, statistics=score)
        np.testing.assert_allclose(through, direct, rtol=1e-6, atol=1e-9 * np.abs(direct).max())


@pytest.mark.parametrize(
    "text",
    [
        "gaussian",
        "chi-squared",
        "l1-laplacian",
        "histogram-intersection",
        "normalised(0.5*chi-squared + polynomial)",
        "chi-squared^2*cauchy",
    ],
)
@pytest.mark.parametrize("name", ["ksc", "bi-skllc"])
def test_a_kernel_on_a_view_codes_as_it_does_on_these_columns_alone(name, text):
    X, y = rows_of_three_views()
    alone = component("methods", name).build({"kernel": text}).fit(X[:40, 14:], y[:40])
    on_view = built(name, kernel=f"({text})@phog").fit(X[:40], y[:40])
    expected = alone.decision_function(X[40:, 14:])
    np.testing.assert_allclose(on_view.decision_function(X[40:]), expected, atol=1e-9 * np.abs(expected).max())
    assert on_view.unit_ == pytest.approx(alone.unit_, rel=1e-12)


def test_no_value_that_is_searched_costs_a_pass_over_the_rows(monkeypatch):
    X, y = rows_of_three_views()
    text = "gaussian@cq + (chi-squared + l1-laplacian*histogram-intersection)@phog + log-euclidean@cov + linear@cq"
    searched = built("ksc", kernel=text)
    fit = searched.prepare_fit(X, y, space=searched.space)
    score = searched.prepare_score(X[:9], X, space=searched.space, statistics=fit)
    # One set of values for each view and kind of kernel, and none of the rows as a whole.
    for arrays, shape in ((fit, (60, 60)), (score, (9, 60))):
        assert [a.shape for name, a in arrays.items() if name.endswith(("/inner", "/gram", "/distances"))] == [
            shape
        ] * 5
    values = {
        "kernel.weight.1": 0.2,
        "kernel.cq.gaussian.sigma": "0.5*median",
        "kernel.phog.chi-squared.sigma": "2.0/median",
        "kernel.phog.l1-laplacian.sigma": 0.4,
        "kernel.cov.log-euclidean.sigma": 1.5,
    }
    assert set(values) <= set(searched.space)
    direct = built("ksc", kernel=text, **values).fit(X, y).decision_function(X[:9])

    def forbidden(*args, **options):
        raise AssertionError("a pass over the rows")

    for name in ("prepare_values", "equivalent_rows"):
        monkeypatch.setattr(kernel_rows, name, forbidden)
    monkeypatch.setattr(Kernel, "data_scale", forbidden)
    monkeypatch.setattr(Kernel, "__call__", forbidden)
    method = built("ksc", kernel=text, **values).fit(X, y, statistics=fit)
    np.testing.assert_allclose(method.decision_function(X[:9], statistics=score), direct, rtol=1e-9)


@pytest.mark.parametrize("learning", ["fixed", "constrained"])
@pytest.mark.parametrize("name", ["ksc", "kllc"])
def test_learned_weights_favour_the_view_that_is_no_noise(name, learning):
    X, y = rows_of_three_views(n=90, noise=0.3)
    rng = np.random.default_rng(3)
    X[:, :5] = rng.normal(size=(90, 5))
    # Every kernel bends at the median distance of its view: none is easier to reconstruct for being wide.
    text = "gaussian@cq + log-euclidean@cov + chi-squared(sigma=0.5/median)@phog"
    method = built(name, kernel=text, learn_kernel="weights", learning=learning, iterations=4)
    method.fit(X, y)
    noise, covariances, histograms = method.kernel_.numbers
    assert covariances > 2 * noise
    assert histograms > 2 * noise
    # The mean of k(x, x) stays what it was.
    assert np.mean(method.kernel_.diag(X)) == pytest.approx(3)
    printed = built(name, kernel=text, learn_kernel="weights-paper", learning=learning, iterations=4).fit(X, y)
    assert sorted(printed.kernel_.numbers)[:2] == [0, 0]


def test_learned_weights_are_the_same_from_prepared_values():
    X, y = rows_of_three_views()
    method = built("kllc", kernel=SUMS["vectors"], learn_kernel="weights", iterations=3)
    fit = method.prepare_fit(X, y, space={})
    assert any(name.endswith("/distances") for name in fit)
    direct = list(method.fit(X, y).kernel_.numbers)
    np.testing.assert_allclose(method.fit(X, y, statistics=fit).kernel_.numbers, direct, rtol=1e-9)


@pytest.mark.parametrize("text", ["gaussian@cq", "log-euclidean@cov", "polynomial@cq"])
def test_a_bandwidth_is_learned_on_the_view_alone(text):
    X, y = rows_of_three_views()
    view = text.partition("@")[2]
    columns = {"cq": X[:, :5], "cov": X[:, 5:14].reshape(-1, 3, 3)}[view]
    learned = {"learn_kernel": "bandwidth", "iterations": 3}
    on_view = built("ksc", kernel=text, **learned).fit(X, y)
    alone = component("methods", "ksc").build({"kernel": text.partition("@")[0], **learned}).fit(columns, y)
    # The criterion is flat where the bias of the polynomial kernel ends.
    name, rtol = ("c", 1e-5) if "polynomial" in text else ("sigma", 1e-9)
    assert on_view.kernel_.values[name] == pytest.approx(alone.kernel_.values[name], rel=rtol)
    np.testing.assert_allclose(on_view.decision_function(X[:9]), alone.decision_function(columns[:9]), rtol=rtol)


@pytest.mark.parametrize("text", [*SUMS.values(), "log-euclidean@cov"])
@pytest.mark.parametrize("name", ["ksc", "bi-skllc"])
def test_what_was_learned_scores_without_the_views(name, text):
    X, y = rows_of_three_views()
    pool, _ = rows_of_three_views(seed=1, n=20)
    method = built(name, kernel=text).fit(X, y)
    direct = method.decision_function(pool)
    restored = component("methods", name).from_state({"kernel": text}, method.state())
    assert not restored.views
    np.testing.assert_array_equal(restored.decision_function(pool), direct)


@pytest.mark.parametrize("name", ["ksc", "kllc"])
def test_where_each_view_tells_half_of_the_classes_the_combination_wins(name):
    def two_views(seed, n):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(n) % 4)
        # One view tells the first bit of the class, the other one the second.
        bits = np.stack([y // 2, y % 2], axis=1) * 2.0 - 1
        first, second = (bits[:, [i]] * np.ones(6) + 0.8 * rng.normal(size=(n, 6)) for i in (0, 1))
        return np.hstack([first, second]), y

    (X, y), (pool, truth) = two_views(0, 160), two_views(1, 200)
    views = (View("one", (6,)), View("two", (6,)))

    def accuracy(kernel, **options):
        return float((built(name, views, kernel=kernel, **options).fit(X, y).predict(pool) == truth).mean())

    for single in ("gaussian@one", "gaussian@two"):
        assert accuracy(single) < 0.6
    assert accuracy("0.5*gaussian@one + 0.5*gaussian@two") > 0.85
    # Views that are equally good are held together.
    learned = {"learn_kernel": "weights", "iterations": 4, "togetherness": 4.0}
    assert accuracy("gaussian@one + gaussian@two", **learned) > 0.85


def test_weights_over_views_can_be_set_and_searched():
    text = "0.3*gaussian(sigma=1)@cq + chi-squared(sigma=1)@phog"
    method = component("methods", "ksc").build({"kernel": text})
    assert set(method.space) == {"gamma", "kernel.weight.1", "kernel.weight.2"}
    assert method.defaults["kernel.weight.1"] == 0.3
    set_to = component("methods", "ksc").build({"kernel": text, "kernel.weight.1": 0.9, "kernel.weight.2": 0.4})
    assert str(set_to.kernel) == "0.9*gaussian(sigma=1)@cq + 0.4*chi-squared(sigma=1)@phog"
    set_to.take_views(VIEWS[::2])
    assert str(set_to.parsed_kernel()) == "0.9*gaussian(sigma=1)@cq[0:5] + 0.4*chi-squared(sigma=1)@phog[5:13]"


def test_any_kernel_is_one_on_all_vector_views_and_takes_no_matrices():
    method = component("methods", "ksc").build({"kernel": "any"})
    method.take_views(VIEWS[::2])
    with pytest.raises(UsageError, match="matrices"):
        method.take_views(VIEWS)


def test_an_indefinite_kernel_on_a_view_is_refused_or_clipped():
    X, y = rows_of_three_views()
    with pytest.raises(UsageError, match="not positive semi-definite"):
        built("ksc", kernel="sigmoid@cq + log-euclidean@cov")
    method = built("ksc", kernel="sigmoid@cq + log-euclidean@cov", indefinite="clip").fit(X, y)
    assert not parse_kernel(str(method.kernel_)).psd
    assert np.isfinite(method.decision_function(X[:5])).all()


def test_the_spec_of_a_method_carries_a_kernel_over_views():
    spec = Spec.parse('ksc(kernel="0.3*gaussian@cq + 0.7*chi-squared@phog")')
    assert component("methods", "ksc").build(spec.parameters).kernel == "0.3*gaussian@cq + 0.7*chi-squared@phog"
    assert Spec.parse(str(spec)) == spec

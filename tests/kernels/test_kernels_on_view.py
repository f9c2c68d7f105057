"""Kernels on named views: reading and writing, binding to columns, values, scales, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.data.store.rows import View
from zslplat.errors import DataError, UnknownNameError, UsageError
from zslplat.kernels import InnerProductKernel, incomplete_cholesky, parse_kernel

VIEWS = (View("cq", (3,)), View("cov", (2, 2)), View("phog-2.x", (4,)))


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 2, 2))
    return {
        "cq": rng.normal(size=(9, 3)),
        "cov": A @ A.transpose(0, 2, 1) + 0.5 * np.eye(2),
        "phog-2.x": rng.random((9, 4)),
    }


@pytest.fixture(scope="module")
def X(parts):
    return np.hstack([parts[view.name].reshape(9, -1) for view in VIEWS])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0.3*gaussian@cq + 0.7*chi-squared @ phog-2.x", None),
        ("(gaussian(sigma=1) + 2*linear)@cq", "gaussian(sigma=1)@cq + 2.0*linear@cq"),
        ("normalised(linear*gaussian(sigma=1))@cq", "normalised(linear@cq * gaussian(sigma=1)@cq)"),
        ("linear@cq^2", "linear@cq^2"),
        ("linear@cq[0:3]", "linear@cq[0:3]"),
        ("linear@[0:3, 7:11]", "linear@[0:3,7:11]"),
        ("log-euclidean(sigma=2)@cov[3:7,2x2]", "log-euclidean(sigma=2)@cov[3:7,2x2]"),
    ],
)
def test_what_is_written_is_read_again(text, written):
    kernel = parse_kernel(text)
    assert written is None or str(kernel) == written
    assert str(parse_kernel(str(kernel))) == str(kernel)


@pytest.mark.parametrize(
    "text", ["gaussian@", "gaussian@cq[3:1]", "gaussian@[", "gaussian@cq[0:4,2x3]", "gaussian@cq[]", "@cq", "linear@ +"]
)
def test_malformed_views_are_refused_with_their_place(text):
    with pytest.raises(UsageError, match="at character"):
        parse_kernel(text)


def test_a_kernel_on_a_view_has_the_values_of_its_columns(parts, X):
    for text, view in [
        ("gaussian(sigma=0.7*median)", "cq"),
        ("chi-squared", "phog-2.x"),
        ("log-euclidean", "cov"),
        ("normalised(gaussian + linear)", "cq"),
        ("(linear + 0.5*gaussian)^2", "phog-2.x"),
        ("linear*gaussian", "cq"),
    ]:
        kernel = parse_kernel(f"({text})@{view}").bound(VIEWS).resolved(X)
        alone = parse_kernel(text).resolved(parts[view])
        np.testing.assert_allclose(kernel(X), alone(parts[view]), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(kernel(X[:4], X[4:]), alone(parts[view][:4], parts[view][4:]), rtol=1e-12)
        np.testing.assert_allclose(kernel.diag(X), alone.diag(parts[view]), rtol=1e-12)
        blocks = np.vstack([block for _, block in kernel.blocks(X, X[:5], rows=2)])
        np.testing.assert_allclose(blocks, alone(parts[view], parts[view][:5]), rtol=1e-12)


def test_a_sum_over_views_is_the_sum_of_their_grams(parts, X):
    kernel = parse_kernel("0.3*gaussian@cq + 0.7*log-euclidean@cov + linear@phog-2.x").bound(VIEWS).resolved(X)
    grams = [
        parse_kernel(name).resolved(parts[view])(parts[view])
        for name, view in (("gaussian", "cq"), ("log-euclidean", "cov"), ("linear", "phog-2.x"))
    ]
    np.testing.assert_allclose(kernel(X), 0.3 * grams[0] + 0.7 * grams[1] + grams[2], rtol=1e-12)
    assert not isinstance(kernel, InnerProductKernel)


def test_a_bound_kernel_is_read_again_without_the_views(X):
    kernel = parse_kernel("gaussian@cq + 0.5*log-euclidean@cov + polynomial").bound(VIEWS).resolved(X)
    assert "@cq[0:3]" in str(kernel)
    assert "@cov[3:7,2x2]" in str(kernel)
    np.testing.assert_array_equal(parse_kernel(str(kernel))(X), kernel(X))


def test_a_part_on_no_view_sees_all_vector_views_side_by_side(parts, X):
    beside = np.hstack([parts["cq"], parts["phog-2.x"]])
    kernel = parse_kernel("gaussian + log-euclidean@cov").bound(VIEWS).resolved(X)
    expected = parse_kernel("gaussian").resolved(beside)(beside)
    expected = expected + parse_kernel("log-euclidean").resolved(parts["cov"])(parts["cov"])
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)


def test_without_matrices_a_kernel_on_no_view_stays_as_it_is():
    kernel = parse_kernel("gaussian + linear*cauchy")
    assert kernel.bound((VIEWS[0], VIEWS[2])) is kernel
    assert kernel.bound(()) is kernel


def test_a_scale_of_the_data_is_that_of_the_view(parts, X):
    rows = X.copy()
    rows[:, 7:] *= 1000
    found = parse_kernel("gaussian(sigma=2*median)@cq").bound(VIEWS).resolved(rows).values["sigma"]
    assert found == 2 * parse_kernel("gaussian").resolved(parts["cq"]).values["sigma"]


def test_only_the_columns_of_the_view_need_be_non_negative(X):
    assert (X[:, :3] < 0).any()
    kernel = parse_kernel("chi-squared(sigma=1)@phog-2.x").bound(VIEWS)
    kernel(X)
    with pytest.raises(DataError, match="non-negative"):
        parse_kernel("chi-squared(sigma=1)@cq").bound(VIEWS)(X)


def test_parameters_are_named_by_view_before_and_after_binding():
    kernel = parse_kernel("0.3*gaussian@cq + gaussian@phog-2.x + gaussian(sigma=2)@cq + gaussian + log-euclidean@cov")
    assert list(kernel.values) == [
        "weight.1",
        "cq.gaussian.1.sigma",
        "weight.2",
        "phog-2.x.gaussian.sigma",
        "weight.3",
        "cq.gaussian.2.sigma",
        "weight.4",
        "gaussian.sigma",
        "weight.5",
        "cov.log-euclidean.sigma",
    ]
    assert kernel.bound(VIEWS).values == kernel.values
    assert kernel.bound(VIEWS).space == kernel.space
    changed = kernel.replaced({"cq.gaussian.2.sigma": 5.0, "weight.2": 0.1})
    assert str(changed.parts[2]) == "gaussian(sigma=5.0)@cq"
    assert str(changed.parts[1]) == "gaussian(sigma=1.0*median)@phog-2.x"


def test_a_single_kernel_on_a_view_takes_short_and_long_paths():
    kernel = parse_kernel("gaussian@cq")
    for path in ("sigma", "gaussian.sigma", "cq.gaussian.sigma"):
        assert str(kernel.replaced({path: 2.0})) == "gaussian(sigma=2.0)@cq"
    assert list(parse_kernel("gaussian(sigma=2)@cq", fix_given=True).space) == []
    assert list(parse_kernel("gaussian@cq", fix_given=True).space) == ["sigma"]


def test_a_sum_over_views_leaves_its_weights_to_the_search():
    kernel = parse_kernel("gaussian(sigma=1)@cq + chi-squared(sigma=1)@phog-2.x", fix_given=True)
    assert list(kernel.space) == ["weight.1", "weight.2"]


@pytest.mark.parametrize(
    ("text", "views", "message"),
    [
        ("gaussian@phog-2.y", VIEWS, r"unknown view 'phog-2\.y'; did you mean phog-2\.x"),
        ("gaussian@cov", VIEWS, r"takes vectors, and view 'cov' holds matrices \(2, 2\)"),
        ("log-euclidean@cq", VIEWS, r"takes matrices \(p, p\), and view 'cq' holds vectors"),
        ("log-euclidean", VIEWS, "log-euclidean@cov"),
        ("gaussian", VIEWS, "holds matrices .* leave the view out of features"),
        ("gaussian + linear@cq", VIEWS, "view 'cov' holds matrices"),
        ("gaussian + log-euclidean@cov", VIEWS[1:2], "every view holds matrices"),
        ("gaussian@cq", (), "have no named views; leave out @cq"),
    ],
)
def test_what_does_not_fit_the_views_is_refused(text, views, message):
    with pytest.raises((UsageError, UnknownNameError), match=message):
        parse_kernel(text).bound(views)


def test_a_kernel_on_one_view_leaves_the_others_unread(parts, X):
    np.testing.assert_allclose(
        parse_kernel("linear@cq").bound(VIEWS)(X), parts["cq"] @ parts["cq"].T, rtol=1e-12, atol=1e-14
    )


def test_one_kernel_is_on_one_view_only():
    with pytest.raises(UsageError, match="on a view already"):
        parse_kernel("(linear@cq + gaussian)@cov")


def test_a_kernel_that_was_not_bound_says_so(X):
    for call in (lambda k: k(X), lambda k: k.diag(X), lambda k: k.blocks(X, X)):
        with pytest.raises(UsageError, match="no named views"):
            call(parse_kernel("linear@cq"))
    with pytest.raises(UsageError, match="no named views"):
        parse_kernel("gaussian@cq").resolved(X)
    with pytest.raises(DataError, match="views side by side"):
        parse_kernel("linear@cq[0:30]")(X)


def test_low_rank_features_of_a_sum_over_views_give_back_its_gram(X):
    kernel = parse_kernel("gaussian@cq + log-euclidean@cov").bound(VIEWS).resolved(X)
    features = incomplete_cholesky(kernel, X)
    np.testing.assert_allclose(features.features @ features.features.T, kernel(X), atol=1e-9)
    np.testing.assert_allclose(features.transform(X), features.features, atol=1e-9)

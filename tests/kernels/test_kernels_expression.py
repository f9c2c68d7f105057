"""Kernel expressions: reading, writing, paths of parameters, and what they make of search spaces."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.errors import UnknownNameError, UsageError
from zslplat.kernels import InnerProductKernel, parse_kernel
from zslplat.kernels.composition import Product, Sum, normalised
from zslplat.kernels.forms import Gaussian, Linear
from zslplat.spec import Spec


def test_text_is_canonical():
    kernel = parse_kernel(" 0.5 * gaussian( sigma=1 )+0.5*polynomial(r=2) ")
    assert str(kernel) == "0.5*gaussian(sigma=1) + 0.5*polynomial(c=1.0*square, r=2)"
    assert parse_kernel(str(kernel)) == kernel
    assert hash(parse_kernel(str(kernel))) == hash(kernel)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("linear + 2*linear*3", "linear + 6*linear"),
        ("linear**2", "linear^2"),
        ("(linear + gaussian(sigma=1)) * linear", "linear * (linear + gaussian(sigma=1))"),
        ("0.5*(linear + 2*linear)", "0.5*linear + 1.0*linear"),
        ("normalized(linear)", "normalised(linear)"),
        ("((linear))", "linear"),
        ("1e-1*linear", "0.1*linear"),
    ],
)
def test_equal_expressions_have_equal_values(text, same):
    X = np.random.default_rng(0).standard_normal((6, 3))
    np.testing.assert_allclose(parse_kernel(text)(X), parse_kernel(same)(X), rtol=1e-13)


def test_operators_build_the_same_as_text():
    kernel = 0.5 * Gaussian(1.0) + Linear() ** 2 * Gaussian(2.0)
    assert str(kernel) == "0.5*gaussian(sigma=1.0) + linear^2 * gaussian(sigma=2.0)"
    assert parse_kernel(str(kernel)) == kernel
    assert parse_kernel(kernel) is kernel
    assert parse_kernel(Spec("gaussian", {"sigma": 2.0})) == Gaussian(2.0)


def test_shape_follows_the_parts():
    assert isinstance(parse_kernel("gaussian + linear"), InnerProductKernel)
    assert isinstance(normalised(Linear()), InnerProductKernel)
    mixed = parse_kernel("gaussian * l1-laplacian")
    assert isinstance(mixed, Product)
    assert not isinstance(mixed, InnerProductKernel)
    assert not parse_kernel("gaussian(sigma=1) + sigmoid").psd
    assert not parse_kernel("gaussian(sigma=1)^0.5").psd
    assert not (-1.0 * Linear()).psd
    with pytest.raises(UsageError, match="mixes"):
        parse_kernel("linear + log-euclidean")


def test_paths_reach_every_parameter():
    kernel = parse_kernel("0.5*gaussian(sigma=1) + 0.2*gaussian(sigma=2)*polynomial(r=3, c=1)^2")
    assert kernel.values == {
        "weight.1": 0.5,
        "gaussian.1.sigma": 1,
        "weight.2": 0.2,
        "gaussian.2.sigma": 2,
        "exponent": 2.0,
        "polynomial.r": 3,
        "polynomial.c": 1,
    }
    changed = kernel.replaced({"gaussian.2.sigma": 5.0, "weight.1": 0.7, "exponent": 3.0})
    assert str(changed) == "0.7*gaussian(sigma=1) + 0.2*gaussian(sigma=5.0) * polynomial(c=1, r=3)^3"
    assert kernel.values["gaussian.2.sigma"] == 2
    assert set(kernel.space) == set(kernel.values) - {"exponent"}
    assert set(kernel.domains) == set(kernel.values)


def test_a_single_kernel_takes_short_and_long_paths():
    kernel = parse_kernel("gaussian(sigma=1)")
    assert kernel.replaced({"sigma": 2.0}) == kernel.replaced({"gaussian.sigma": 2.0}) == Gaussian(2.0)
    assert list(kernel.space) == ["sigma"]


def test_one_factor_is_not_searched_and_several_weights_are():
    assert "weight" not in parse_kernel("2*linear").space
    assert isinstance(parse_kernel("2*linear"), Sum)
    assert {"weight.1", "weight.2"} <= set(parse_kernel("linear + gaussian").space)


@pytest.mark.parametrize(
    "text", ["", "gaussian +", "0.5", "gaussian(sigma=1", "(linear", "linear)", "linear linear", "linear^x"]
)
def test_malformed_text_is_refused_with_its_place(text):
    with pytest.raises(UsageError, match="cannot read"):
        parse_kernel(text)


def test_unknown_names_list_near_matches():
    with pytest.raises(UnknownNameError, match="did you mean gaussian"):
        parse_kernel("gausian(sigma=1)")
    with pytest.raises(UsageError, match="no parameter 'tau'; parameters: sigma"):
        parse_kernel("gaussian(tau=1)")
    with pytest.raises(UsageError, match="out of range"):
        parse_kernel("gaussian(sigma=1) + linear").replaced({"gaussian.sigma": 0.0})
    with pytest.raises(UsageError, match="above 0"):
        parse_kernel("linear^-1")

"""Gradients of Gram matrices by a projection, against central differences in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from projection_gradients import projection_gradient

from zslplat.errors import UsageError
from zslplat.families.zero_shot.methods.zskl.objective import projected_gram
from zslplat.kernels import InnerProductKernel, parse_kernel
from zslplat.kernels.inner_product import require_inner_product
from zslplat.registry import names

KERNELS = [n for n in names("kernels") if isinstance(parse_kernel(n), InnerProductKernel)] + [
    "0.5*gaussian(sigma=1) + 0.5*polynomial(r=2)",
    "gaussian(sigma=1)*cauchy(sigma=2)*linear",
    "(gaussian(sigma=1) + 2*linear)^3",
    "polynomial(r=3)^1.5",
    "normalised(polynomial(r=3, c=0.5) + gaussian(sigma=2))",
    "normalised(linear)",
]


def data(seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((8, 5)), random.standard_normal((6, 4)), 0.4 * random.standard_normal((5, 4))


@pytest.mark.parametrize("side", ["features", "signatures"])
@pytest.mark.parametrize("text", KERNELS)
def test_projection_gradient_agrees_with_differences(text, side):
    X, S, W = data()
    if text.startswith("polynomial(r=3)^1.5"):
        X, S, W = np.abs(X), np.abs(S), np.abs(W)  # a broken power needs positive values
    kernel = parse_kernel(text).resolved(S)
    G = np.random.default_rng(1).standard_normal((8, 6))
    gradient = projection_gradient(kernel, X, S, W, G, side)
    numeric, h = np.empty_like(W), 1e-6
    for i in np.ndindex(*W.shape):
        E = np.zeros_like(W)
        E[i] = h
        upper, lower = (projected_gram(kernel, X, S, V, side) for V in (W + E, W - E))
        numeric[i] = np.sum(G * (upper - lower)) / (2 * h)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max())


def test_projected_gram_is_the_kernel_of_projected_rows():
    X, S, W = data()
    kernel = parse_kernel("gaussian(sigma=1.5)")
    np.testing.assert_allclose(projected_gram(kernel, X, S, W, "features"), kernel(X @ W, S), rtol=1e-12)
    np.testing.assert_allclose(projected_gram(kernel, X, S, W, "signatures"), kernel(X, S @ W.T), rtol=1e-12)


def test_kernels_without_derivatives_are_refused_where_they_are_needed():
    with pytest.raises(UsageError, match="offers its Gram matrix only"):
        require_inner_product(parse_kernel("l1-laplacian"), "the method")

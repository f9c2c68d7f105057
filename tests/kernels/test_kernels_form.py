"""Kernels declare their form: compiled code takes it at its word, checked, and never asks for the type."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.api import POSITIVE, Parameter, PluginError, RadialForm, RadialKernel, Real, Scaled
from zslplat.families.coding.methods.kernel_coding import KernelSparseCoding
from zslplat.families.zero_shot.methods.zskl import fast_passes
from zslplat.families.zero_shot.methods.zskl.zskl import ZSKLOrt
from zslplat.kernels import parse_kernel
from zslplat.kernels.forms import Cauchy, Gaussian
from zslplat.kernels.inner_product import declared_form


class Foreign(RadialKernel):
    """exp(-|a - b|^2 / (2 radius^2)), as a package of its own would bring it, with a count of the calls of g."""

    summary = "another Gaussian"
    parameters = {"radius": Parameter("radius", Scaled(POSITIVE, "*median"), Real(0.1, 10, log=True, unit="*median"))}
    radius: float
    calls = 0

    def __init__(self, radius=1.0):
        super().__init__(radius=radius)

    @property
    def form(self):
        return RadialForm("exponential", 0.5 / self.radius**2)

    def g(self, d):
        type(self).calls += 1
        return np.exp(d * (-0.5 / self.radius**2))

    def slope(self, d):
        return self.g(d) * (-0.5 / self.radius**2)


def zero_shot(seed=0):
    random = np.random.default_rng(seed)
    X, S = random.standard_normal((60, 7)).astype(np.float32), random.standard_normal((6, 4)).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True), np.arange(60) % 6, S / np.linalg.norm(S, axis=1, keepdims=True)


@pytest.mark.parametrize("kernel", [Gaussian(sigma=0.8), Cauchy(sigma=1.3)])
def test_declared_form_is_the_kernel(kernel):
    d = np.linspace(0, 5, 40)
    np.testing.assert_allclose(declared_form(kernel)(d), kernel.g(d), rtol=1e-14)


def test_declared_kernel_takes_the_fast_path_and_gives_equal_values():
    X, y, S = zero_shot()
    assert fast_passes.known_form(Foreign(0.8)) == fast_passes.known_form(Gaussian(sigma=0.8))
    own = ZSKLOrt(Gaussian(sigma=0.8), epochs=4, batch_size=8).fit(X, y, S)
    Foreign.calls = 0
    foreign = ZSKLOrt(Foreign(0.8), epochs=4, batch_size=8).fit(X, y, S)
    np.testing.assert_array_equal(foreign.W_, own.W_)
    assert Foreign.calls == 1  # the declaration was looked at once; 32 steps did not call the kernel


def test_bandwidth_is_learned_for_a_declared_kernel():
    X, y, _ = zero_shot()
    parameters = {"learning": "constrained", "learn_kernel": "bandwidth", "iterations": 2, "gamma": 1e-3, "atoms": 20}
    own = KernelSparseCoding(kernel=Gaussian(sigma=0.8), **parameters).fit(X, y)
    foreign = KernelSparseCoding(kernel=Foreign(0.8), **parameters).fit(X, y)
    assert foreign.kernel_ == own.kernel_
    np.testing.assert_array_equal(foreign.decision_function(X), own.decision_function(X))


def test_form_that_is_not_the_kernel_is_refused():
    class Wrong(Gaussian):
        def g(self, d):
            return super().g(2 * d)

    X, y, S = zero_shot()
    with pytest.raises(PluginError, match=r"declares the form exponential .*but its g is"):
        ZSKLOrt(Wrong(0.8)).fit(X, y, S)


def test_kernel_of_the_inner_product_alone_says_so():
    for text in ("linear", "polynomial(r=2)", "linear + polynomial*sigmoid", "polynomial^2"):
        assert parse_kernel(text).of_inner_product_alone, text
    for text in ("gaussian(sigma=1)", "linear + gaussian", "normalised(linear)"):
        assert not parse_kernel(text).of_inner_product_alone, text

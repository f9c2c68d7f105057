"""Every built-in method that lists an objective says that it never rises, and passes the kit's check, or why it may."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from zslplat.registry import component, names
from zslplat.testing.kits import kit_of
from zslplat.testing.method_checks import learned_matrices_are_stationary, objective_never_rises

BUILT_IN = [name for name in names("methods") if component("methods", name).__module__.startswith("zslplat.")]
MONOTONE = [name for name in BUILT_IN if "monotone" in component("methods", name).tags]


@pytest.mark.filterwarnings("ignore::zslplat.errors.OutcomeWarning")
@pytest.mark.parametrize("name", BUILT_IN)
def test_method_that_lists_an_objective_says_whether_it_may_rise(name):
    method = component("methods", name)()
    kit = kit_of(method.kind)
    kit.apply(method, kit.arrays(method))
    if any(series.startswith("objective") for series in method.diagnostics.series):
        assert "monotone" in method.tags or method.objective_may_rise


@pytest.mark.filterwarnings("ignore::zslplat.errors.OutcomeWarning")
@pytest.mark.parametrize("name", BUILT_IN)
def test_method_with_an_objective_is_stationary_or_says_why_not(name):
    cls = component("methods", name)
    method = cls()
    kit = kit_of(method.kind)
    kit.apply(method, kit.arrays(method))
    lists = any(series.startswith("objective") for series in method.diagnostics.series)
    if lists or hasattr(method, "objective") or "closed form" in method.tags:
        told = any("Not tagged ``stationary``" in (inspect.getdoc(base) or "") for base in cls.__mro__)
        assert ("stationary" in method.tags) != told


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("eszsl", {"labels": "signed", "alpha": 0.01, "gamma": 20.0}),
        ("eszsl", {"scale": "absolute"}),
        ("sae", {"lam": 1e-3}),
        ("sae", {"lam": 1e4}),
        ("ridge-prototypes", {"alpha": 1e-3}),
        ("gfhf", {"alpha": 100.0}),
    ],
)
def test_closed_forms_are_stationary_in_other_settings(name, parameters):
    learned_matrices_are_stationary(component("methods", name).build(parameters))


@pytest.mark.filterwarnings("ignore::zslplat.errors.OutcomeWarning")
@pytest.mark.parametrize("name", MONOTONE)
def test_objective_that_is_declared_monotone_never_rises(name):
    objective_never_rises(component("methods", name)())


@pytest.mark.parametrize("learning", ["free", "constrained"])
@pytest.mark.parametrize("name", ["l-sksc", "l-skllc", "bi-skllc", "kllc"])
def test_objective_of_codes_never_rises_with_the_kernel_fixed(name, learning):
    X, y = classes()
    series = component("methods", name)(learning=learning, iterations=4).fit(X, y).diagnostics.series["objective"]
    assert (np.diff(series) <= 0).all()


def test_objective_of_codes_rises_where_the_kernel_is_learned_as_it_says():
    X, y = classes()
    method = component("methods", "l-skllc")(learn_kernel="bandwidth", iterations=4).fit(X, y)
    assert (np.diff(method.diagnostics.series["objective"]) > 0).any()
    assert "kernel is learned" in method.objective_may_rise


def classes():
    random = np.random.default_rng(0)
    y = np.arange(60) % 4
    return random.normal(size=(4, 6))[y] + 0.7 * random.normal(size=(60, 6)), y

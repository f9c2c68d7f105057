"""A hyperparameter is declared once: the constructor follows, as scikit-learn and Python expect it."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from zslplat.api import (
    POSITIVE,
    Choice,
    Integer,
    Kernel,
    Optional,
    Real,
    ZeroShotMethod,
    parameter,
)
from zslplat.errors import UsageError
from zslplat.registry import component, names
from zslplat.space import NO_DEFAULT


class Declared(ZeroShotMethod):
    """A method that declares its parameters and writes no constructor."""

    alpha = parameter("ridge", POSITIVE, Real(1e-3, 1e3, log=True), default=1.0)
    k = parameter("neighbours; none for all", Optional(Integer(1)), default=None)
    mode = parameter("kind", Choice(("a", "b")), default="a")

    def fit(self, X, y, S, *, statistics=None):
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return X @ S.T


class Child(Declared):
    """Another default, and one parameter more."""

    alpha = 2.0
    beta = parameter("weight", Real(0, 1), default=0.5)


class Written(Declared):
    """A class that writes its own constructor keeps it."""

    gamma = parameter("weight", POSITIVE)

    def __init__(self, gamma=3.0):
        self.gamma = gamma


def test_constructor_follows_from_the_declaration():
    signature = inspect.signature(Declared)
    assert [(n, p.default) for n, p in signature.parameters.items()] == [("alpha", 1.0), ("k", None), ("mode", "a")]
    model = Declared(0.5, mode="b")
    assert model.get_params() == {"alpha": 0.5, "k": None, "mode": "b"}
    assert repr(model) == "Declared(alpha=0.5, mode='b')"
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(k=3).k == 3
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()


@pytest.mark.parametrize("arguments", [((), {"alfa": 1.0}), ((1, None, "a", 4), {}), ((1.0,), {"alpha": 2.0})])
def test_wrong_arguments_are_a_type_error_with_the_name_of_the_class(arguments):
    with pytest.raises(TypeError, match=r"^Declared\(\) "):
        Declared(*arguments[0], **arguments[1])


def test_child_takes_the_parents_parameters_with_other_defaults():
    assert list(Child.parameters) == ["alpha", "k", "mode", "beta"]
    assert Child().get_params() == {"alpha": 2.0, "beta": 0.5, "k": None, "mode": "a"}
    assert Child.parameters["alpha"] == replace(Declared.parameters["alpha"], default=2.0)
    assert Declared().alpha == 1.0
    with pytest.raises(UsageError, match=r"Wrong: alpha=-1 is out of range"):
        type("Wrong", (Declared,), {"alpha": -1})


def test_parameters_of_several_bases_are_joined_and_the_first_base_wins():
    class Second(ZeroShotMethod):
        alpha = parameter("another", POSITIVE, default=7.0)
        gamma = parameter("weight", POSITIVE, default=3.0)

    class Both(Child, Second):
        pass

    assert list(Both.parameters) == ["alpha", "k", "mode", "beta", "gamma"]
    assert Both().get_params() == {"alpha": 2.0, "beta": 0.5, "gamma": 3.0, "k": None, "mode": "a"}
    assert Both.alpha == Both.parameters["alpha"].default


def test_a_base_may_list_its_parameters_last():
    class Base(ZeroShotMethod, listed_last=True):
        seed = parameter("seed", Integer(0), default=0)

    class Particular(Base):
        alpha = parameter("ridge", POSITIVE, default=1.0)
        seed = 3

    assert list(Particular.parameters) == ["alpha", "seed"]
    assert Particular().seed == 3


def test_a_class_may_take_over_some_parameters_only():
    class Fewer(Declared):
        parameters = {"k": Declared.parameters["k"]}

    assert Fewer().get_params() == {"k": None}
    assert Fewer().alpha == 1.0


def test_written_constructor_stays():
    assert Written().get_params() == {"gamma": 3.0}
    assert Written.build({"gamma": 2.0}).gamma == 2.0
    with pytest.raises(UsageError, match="out of range"):
        Written.build({"gamma": -1.0})


def test_values_are_checked_where_a_component_is_built_by_name():
    assert Declared(alpha=-1.0).alpha == -1.0  # as scikit-learn has it
    with pytest.raises(UsageError, match=r"alpha=-1\.0 is out of range"):
        Declared.build({"alpha": -1.0})


def test_kernel_that_declares_its_parameters_has_its_constructor_and_checks():
    class Scaled(Kernel):
        factor = parameter("factor", POSITIVE, default=2.0)

        def evaluate(self, A, B):
            return self.factor * (A @ B.T)

    assert Scaled().factor == 2.0
    assert Scaled(np.float64(3.0)).values == {"factor": 3.0}
    assert Scaled().replaced({"factor": 5.0}).values == {"factor": 5.0}
    with pytest.raises(UsageError, match="factor=0 is out of range"):
        Scaled(factor=0)
    with pytest.raises(TypeError, match=r"^Scaled\(\) "):
        Scaled(faktor=1)


KINDS = ("methods", "kernels", "tasks")


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in names(kind)])
def test_every_component_declares_each_parameter_once(kind, name):
    cls = component(kind, name)
    if not cls.__module__.startswith("zslplat."):
        pytest.skip("another package's component may write its own constructor")
    # A kernel without parameters has the general constructor, which takes names that it then refuses.
    accepted = {
        n: p for n, p in inspect.signature(cls).parameters.items() if p.kind is not inspect.Parameter.VAR_KEYWORD
    }
    assert list(accepted) == list(cls.parameters)
    for parameter_name, declared in cls.parameters.items():
        assert declared.default is not NO_DEFAULT, parameter_name
        assert accepted[parameter_name].default is declared.default
        assert declared.legal.contains(declared.default), parameter_name
    built = cls()
    attributes = built.values if kind == "kernels" else {n: getattr(built, n) for n in cls.parameters}
    assert attributes == {n: p.default for n, p in cls.parameters.items()}


class Printed(Declared):
    """A paper has its own values of two parameters."""

    variant = parameter("default, or paper", Choice(("default", "paper")), default="default")
    variants = {"paper": {"alpha": 7.0, "mode": "b"}}


def test_a_variant_has_its_values_unless_others_are_passed_and_searches_none_of_them():
    assert Printed().get_params() == {"alpha": 1.0, "k": None, "mode": "a", "variant": "default"}
    paper = Printed(variant="paper")
    assert (paper.alpha, paper.mode, paper.k) == (7.0, "b", None)
    assert Printed(variant="paper", alpha=1.0).alpha == 1.0
    assert clone(paper).get_params() == paper.get_params() == Printed().set_params(variant="paper").get_params()
    assert set(Printed().space) == {"alpha"}
    assert set(paper.space) == set()
    # What is prepared may depend on it.
    assert Printed.prepared_with({"variant": Choice(("default", "paper"))}, {"variant": "paper"})[0] == {
        "variant": "paper"
    }


@pytest.mark.parametrize("name", names("methods"))
def test_what_a_variant_fixes_is_legal(name):
    method = component("methods", name)
    for variant, values in method.variants.items():
        assert method.build({"variant": variant, **values}).variant == variant
        assert set(values) <= set(method.parameters)

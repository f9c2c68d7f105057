"""A hyperparameter is declared once: the constructor follows, as scikit-learn and Python expect it."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from zslplat.api import POSITIVE, Choice, Integer, Kernel, Optional, Parameter, Real, ZeroShotMethod, with_defaults
from zslplat.errors import UnknownNameError, UsageError
from zslplat.registry import component, names
from zslplat.space import NO_DEFAULT


class Declared(ZeroShotMethod):
    """A method that declares its parameters and writes no constructor."""

    parameters = {
        "alpha": Parameter("ridge", POSITIVE, Real(1e-3, 1e3, log=True), default=1.0),
        "k": Parameter("neighbours; none for all", Optional(Integer(1)), default=None),
        "mode": Parameter("kind", Choice(("a", "b")), default="a"),
    }

    def fit(self, X, y, S, *, statistics=None):
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return X @ S.T


class Child(Declared):
    """Another default, and one parameter more."""

    parameters = {
        **with_defaults(Declared.parameters, alpha=2.0),
        "beta": Parameter("weight", Real(0, 1), default=0.5),
    }


class Written(Declared):
    """A class that writes its own constructor keeps it."""

    parameters = {"gamma": Parameter("weight", POSITIVE)}

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
    assert Child().get_params() == {"alpha": 2.0, "beta": 0.5, "k": None, "mode": "a"}
    assert Declared().alpha == 1.0
    with pytest.raises(UnknownNameError, match="alfa"):
        with_defaults(Declared.parameters, alfa=1.0)


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
        parameters = {"factor": Parameter("factor", POSITIVE, default=2.0)}

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
    for parameter_name, parameter in cls.parameters.items():
        assert parameter.default is not NO_DEFAULT, parameter_name
        assert accepted[parameter_name].default is parameter.default
        assert parameter.legal.contains(parameter.default), parameter_name
    built = cls()
    attributes = built.values if kind == "kernels" else {n: getattr(built, n) for n in cls.parameters}
    assert attributes == {n: p.default for n, p in cls.parameters.items()}

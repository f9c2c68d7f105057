"""Every check of what a method learned, kept as arrays and JSON, catches a method that breaks its promise."""

import threading

import numpy as np
import pytest
from kit_toys import Plain

from zslplat.testing.isolation import STATE_CHECKS


class HoldsALock(Plain):
    def fit(self, X, y, S, *, statistics=None):
        self.lock_ = threading.Lock()
        return super().fit(X, y, S, statistics=statistics)


class KeepsAFunction(Plain):
    def fit(self, X, y, S, *, statistics=None):
        super().fit(X, y, S, statistics=statistics)
        self.map_ = np.tanh
        return self

    def state(self):
        return {"W_": self.W_, "map_": self.map_}


class KeepsATuple(Plain):
    def state(self):
        return {"W_": self.W_, "shape_": self.W_.shape}


class HidesItsState(Plain):
    """What it scores with does not end in an underscore, so that its state lacks it."""

    def fit(self, X, y, S, *, statistics=None):
        super().fit(X, y, S, statistics=statistics)
        self.offset = self.W_.mean()
        return self

    def decision_function(self, X, S, **_):
        return super().decision_function(X + getattr(self, "offset", 0), S)


class RestoresRounded(Plain):
    def restore(self, state):
        return super().restore({name: np.asarray(value, dtype=np.float32) for name, value in state.items()})


class ForgetsItsParameters(Plain):
    @classmethod
    def from_state(cls, parameters, state):
        return super().from_state({}, state)


class KeepsTheRows(Plain):
    def fit(self, X, y, S, *, statistics=None):
        self.rows_ = X[:10]
        return super().fit(X, y, S, statistics=statistics)

    def state(self):
        return {"W_": np.array(self.W_), "rows_": self.rows_}


class GivesItself(Plain):
    def state(self):
        return {"W_": self.W_}


class ShrinksWhenAsked(Plain):
    def state(self):
        found = super().state()
        self.W_ = self.W_ * 0.9
        return found


BROKEN = [
    ("state_is_arrays_and_json", KeepsAFunction, "map_ is of type ufunc, neither an array nor JSON"),
    ("state_restores_the_method", HidesItsState, "scores differ once restored from the state"),
    ("state_stands_by_itself", KeepsTheRows, "rows_ shares memory with the input X"),
    ("state_is_arrays_and_json", KeepsATuple, "shape_ is of type tuple, neither"),
    ("state_is_arrays_and_json", HoldsALock, "copy of the fitted method"),
    ("state_restores_the_method", RestoresRounded, "scores differ once restored"),
    ("state_restores_the_method", lambda: ForgetsItsParameters(0.5), "not {'lam': 0.5}"),
    ("state_stands_by_itself", GivesItself, "after its state was taken and overwritten"),
    ("state_stands_by_itself", ShrinksWhenAsked, "after its state was taken and overwritten"),
]
ALL = {check.__name__: check for check in STATE_CHECKS}


def test_every_check_has_a_method_that_breaks_it():
    assert {name for name, _, _ in BROKEN} == set(ALL)


@pytest.mark.parametrize(("name", "broken", "message"), BROKEN)
def test_check_catches_the_method_that_breaks_it(name, broken, message):
    with pytest.raises(AssertionError, match=message):
        ALL[name](broken())


@pytest.mark.parametrize("name", ALL)
def test_a_sound_method_passes(name):
    ALL[name](Plain())

"""What a method learned, written as arrays and JSON and read back, scores the same."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.api import MethodError
from zslplat.registry import component
from zslplat.testing.isolation import STATE_CHECKS
from zslplat.testing.kits import fitted

# Settings whose learned state is of another kind than that of the defaults, which the conformance kit looks at.
OTHERS = {
    "mfmr": [{"compare": "inverse"}, {"variant": "paper", "iterations": 5}, {"labels": "free", "iterations": 10}],
    "zskl": [{"kernel": "0.5*gaussian + 0.5*cauchy", "learn_weights": True}],
    "keszsl": [{"rank": 10}],
    "ksc": [{"learning": "constrained", "iterations": 1, "atoms": 10}, {"kernel": "sigmoid", "indefinite": "clip"}],
    "kllc": [{"kernel": "gaussian + linear", "learn_kernel": "weights", "iterations": 1, "rule": "linear"}],
    "kslem": [{"rank": 12}],
}
SHORT = {"epochs": 2, "iterations": 2, "steps": 100}


def cases():
    for name, settings in OTHERS.items():
        for parameters in settings:
            yield pytest.param(name, parameters, id=f"{name} {parameters}")


@pytest.mark.filterwarnings("ignore::zslplat.errors.OutcomeWarning")
@pytest.mark.parametrize(("name", "parameters"), list(cases()))
def test_state_written_and_read_back_scores_the_same(name, parameters):
    cls = component("methods", name)
    short = {key: value for key, value in SHORT.items() if key in cls.parameters and key not in parameters}
    method = cls.build({**parameters, **short})
    for check in STATE_CHECKS:
        check(method)


def test_state_holds_what_was_learned_and_no_parameters():
    method = fitted(component("methods", "ridge-prototypes")())
    assert set(method.state()) == {
        "M_", "mean_", "signature_mean_", "metric_.Q", "metric_.inside", "metric_.outside"
    }  # fmt: skip


def test_state_is_a_copy_of_arrays_that_are_mapped_from_a_file(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    method = component("methods", "sae")()
    method.rows_ = np.load(tmp_path / "X.npy", mmap_mode="r")
    rows = method.state()["rows_"]
    assert type(rows) is np.ndarray
    assert rows.flags.owndata


def test_what_is_neither_array_nor_json_is_refused_by_name():
    class Odd(component("methods", "sae")):
        def fit(self, X, y, S, *, statistics=None):
            self.solver_ = object()
            return self

    with pytest.raises(MethodError, match=r"solver_ is of type object, neither an array nor JSON"):
        fitted(Odd()).state()

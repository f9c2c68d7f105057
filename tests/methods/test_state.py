"""What a method learned, written as arrays and JSON and read back, scores the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

from zslplat.api import CodingMethod, ExemplarMethod, FeatureSelector, MethodError, ZeroShotMethod
from zslplat.kernels.base import Kernel
from zslplat.registry import component, names

# Settings beside the defaults whose learned state is of another kind.
OTHERS = {
    "mfmr": [{"compare": "inverse"}, {"variant": "paper", "iterations": 5}, {"labels": "free", "iterations": 10}],
    "zskl": [{"kernel": "0.5*gaussian + 0.5*cauchy", "learn_weights": True}],
    "keszsl": [{"rank": 10}],
    "ksc": [{"learning": "constrained", "iterations": 1, "atoms": 10}, {"kernel": "sigmoid", "indefinite": "clip"}],
    "kllc": [{"kernel": "gaussian + linear", "learn_kernel": "weights", "iterations": 1, "rule": "linear"}],
    "kslem": [{"rank": 12}],
}
SHORT = {"epochs": 2, "iterations": 2, "steps": 100}


def problem():
    random = np.random.default_rng(0)
    S = np.abs(random.normal(size=(6, 5)))
    y = np.arange(72) % 6
    X = np.abs(S[y] @ random.normal(size=(5, 12)) + random.normal(size=(72, 12)))
    X, S = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (X, S))
    return X, y, S


def fitted(method):
    X, y, S = problem()
    if isinstance(method, ZeroShotMethod | FeatureSelector):
        return method.fit(X, y, S)
    return method.fit(X) if isinstance(method, ExemplarMethod) else method.fit(X, y)


def results(method):
    X, _, S = problem()
    if isinstance(method, ZeroShotMethod):
        return [method.decision_function(X[::2], S[:4])]
    if isinstance(method, CodingMethod):
        return [method.decision_function(X[::2]), method.transform(X[::2])]
    if isinstance(method, ExemplarMethod):
        encoding = method.encode(X[::2])
        return [method.similarity(encoding, encoding)]
    return [method.scores_, method.ranking_]


def cases():
    for name in names("methods"):
        for parameters in [{}, *OTHERS.get(name, [])]:
            yield pytest.param(name, parameters, id=f"{name} {parameters}" if parameters else name)


@pytest.mark.filterwarnings("ignore::zslplat.errors.OutcomeWarning")
@pytest.mark.parametrize(("name", "parameters"), list(cases()))
def test_state_written_and_read_back_scores_the_same(name, parameters, tmp_path):
    cls = component("methods", name)
    short = {key: value for key, value in SHORT.items() if key in cls.parameters and key not in parameters}
    method = fitted(cls.build({**parameters, **short}))
    expected = results(method)
    state = method.state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    np.savez(tmp_path / "state.npz", **arrays)
    (tmp_path / "state.json").write_text(json.dumps({k: v for k, v in state.items() if k not in arrays}))
    given = {k: str(v) if isinstance(v, Kernel) else v for k, v in method.get_params(deep=False).items()}
    with np.load(tmp_path / "state.npz", allow_pickle=False) as stored:
        read = {**stored, **json.loads((tmp_path / "state.json").read_text())}
    restored = cls.from_state(json.loads(json.dumps(given)), read)
    for found, wanted in zip(results(restored), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_state_holds_what_was_learned_and_no_parameters():
    method = fitted(component("methods", "ridge-prototypes")())
    assert set(method.state()) == {
        "M_", "mean_", "signature_mean_", "metric_.Q", "metric_.inside", "metric_.outside"
    }  # fmt: skip


def test_what_is_neither_array_nor_json_is_refused_by_name():
    class Odd(component("methods", "sae")):
        def fit(self, X, y, S, *, statistics=None):
            self.solver_ = object()
            return self

    with pytest.raises(MethodError, match=r"solver_ is of type object, neither an array nor JSON"):
        fitted(Odd()).state()

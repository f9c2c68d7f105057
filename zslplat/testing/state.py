"""What was learned can be kept: as arrays and JSON that stand by themselves and score the same elsewhere."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.methods.base import Method, State
from zslplat.testing.kits import assert_equal, fitted, kit_of
from zslplat.testing.running import Check

PLAIN = (bool, int, float, str, type(None))


def state_is_arrays_and_json(method: Method) -> None:
    """state() returns arrays of numbers or texts, and what JSON gives back as it was, under names that are texts."""
    state = fitted(method).state()
    assert isinstance(state, Mapping), f"state() returns {type(state).__name__}, expected a mapping of names to values"
    for name, value in state.items():
        assert isinstance(name, str), f"{name!r} is no name"
        if isinstance(value, np.ndarray):
            assert value.dtype.kind in "biufcUS", f"{name} is an array of {value.dtype}, expected numbers or texts"
            continue
        try:
            same = repr(json.loads(json.dumps(value))) == repr(value)
        except (TypeError, ValueError):
            same = False
        assert same, f"{name} is of type {type(value).__name__}, neither an array nor JSON"


def state_restores_the_method(method: Method) -> None:
    """from_state() of the parameters and of state(), written to .npz and JSON and read back, gives the same outputs."""
    kit, learned = kit_of(method.kind), fitted(method)
    arrays = kit.arrays(method)
    direct = kit.outputs(learned, arrays, {})
    # Asked for after scoring: what a method remembers of a batch is none of what it learned.
    parameters, state = written_and_read(parameters_of(learned), learned.state())
    restored = type(method).from_state(parameters, state)
    assert type(restored) is type(method), f"from_state gives {type(restored).__name__}"
    inputs, actual = (repr(clone(one).get_params(deep=False)) for one in (method, restored))
    assert _texts(restored) == _texts(method), f"from_state makes a method with the parameters {actual}, not {inputs}"
    assert_equal(kit.outputs(restored, arrays, {}), direct, "once restored from the state")


def state_stands_by_itself(method: Method) -> None:
    """state() leaves the method as it was, and shares no memory with it or with the inputs of fit and scoring."""
    kit = kit_of(method.kind)
    arrays, learned = kit.arrays(method), clone(method)
    direct = kit.apply(learned, arrays)
    state = learned.state()
    for name, value in state.items():
        for other, array in arrays.items() if isinstance(value, np.ndarray) else ():
            assert not np.shares_memory(value, array), f"{name} shares memory with the input {other}; copy it"
    before = copy.deepcopy(state)
    for value in state.values():
        if isinstance(value, np.ndarray) and value.flags.writeable:
            value[...] = np.zeros((), dtype=value.dtype)
    assert_equal(kit.outputs(learned, arrays, {}), direct, "after its state was taken and overwritten")
    again = learned.state()
    assert set(again) == set(before), f"state() holds {sorted(again)} the next time, at first {sorted(before)}"


def parameters_of(method: Any) -> dict[str, Any]:
    """Return the parameters of an instance as JSON holds them: a component as the text that names it."""
    values = method.get_params(deep=False)
    return {name: value if isinstance(value, PLAIN) else str(value) for name, value in values.items()}


def written_and_read(parameters: Mapping[str, Any], state: State) -> tuple[dict[str, Any], State]:
    """Return parameters and state as they come back from a JSON text and from an .npz file without pickled objects."""
    arrays: dict[str, Any] = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in state.items() if name not in arrays}
    with tempfile.TemporaryDirectory(prefix="zslplat-kit-", ignore_cleanup_errors=True) as folder:
        np.savez(Path(folder) / "state.npz", **arrays)
        with np.load(Path(folder) / "state.npz", allow_pickle=False) as stored:
            read = dict(stored)
    return json.loads(json.dumps(dict(parameters))), {**read, **json.loads(json.dumps(plain))}


def _texts(method: Any) -> dict[str, str]:
    return {name: str(value) for name, value in method.get_params(deep=False).items()}


STATE_CHECKS: tuple[Check, ...] = (
    state_is_arrays_and_json,
    state_restores_the_method,
    state_stands_by_itself,
)

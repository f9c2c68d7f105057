"""Isolation of a component: what it may not touch, leaves no trace of, and can give away whole.

It leaves alone the settings that all code of a process shares, and the standard streams. :func:`watched` sets every one
of them to a value that no component would choose, so that one which sets what it sets again and again is caught at any
time, not only the first time.

What a method returns depends on the arguments of its calls, and they come back untouched.

What a method learned can be kept as arrays and JSON that stand by themselves and score the same elsewhere.
"""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.methods.base import Arrays, Method, State
from zslplat.testing.kits import assert_equal, copied, direct_outputs, fitted, kit_of, stored
from zslplat.testing.method_checks import assert_close
from zslplat.testing.running import Check

# Variables that others set since are taken away while a component is watched.
_ENVIRONMENT = dict(os.environ)
_ERRORS: dict[str, Any] = {"divide": "ignore", "over": "warn", "under": "ignore", "invalid": "warn"}
_SEED, _THREADS = 975318642, 2


@dataclass
class Traces:
    """What a component left behind: the names of shared settings that it changed, and what it printed."""

    changed: list[str] = field(default_factory=list)
    printed: str = ""


def assert_no_traces(use: Callable[[], object], *, elsewhere: bool = True) -> None:
    """Call ``use`` twice, the second time watched; raise AssertionError for what it prints or changes."""
    use()
    with watched(elsewhere=elsewhere) as traces:
        use()
    assert not traces.changed, f"changed: {', '.join(traces.changed)}; restore it, or pass the value along"
    printed = " ".join(traces.printed.split())
    assert not printed, f"prints {printed[:80]!r}; warn (OutcomeWarning) of what should be looked at"


@contextmanager
def watched(*, elsewhere: bool = True) -> Iterator[Traces]:
    """Watch the code inside the context; the traces are complete once it has ended, and everything is restored.

    Libraries set some of these when they are imported: use a component once before it is watched. ``elsewhere``: in
    another folder, and without variables that were set lately; not for code that reads files of the user.
    """
    from threadpoolctl import threadpool_limits

    traces, printed = Traces(), io.StringIO()
    kept_environment, kept_folder, kept_path = dict(os.environ), os.getcwd(), list(sys.path)
    kept_numpy, kept_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    with (
        tempfile.TemporaryDirectory(prefix="zslplat-kit-", ignore_cleanup_errors=True) as folder,
        threadpool_limits(_THREADS),
        np.errstate(**_ERRORS),
        warnings.catch_warnings(record=True),
    ):
        try:
            if elsewhere:
                os.chdir(folder)
                _set_environment(_ENVIRONMENT)
            np.random.seed(_SEED)  # noqa: NPY002
            random.seed(_SEED)
            warnings.resetwarnings()
            warnings.simplefilter("always")
            before = _settings()
            with redirect_stdout(printed), redirect_stderr(printed), _descriptors(traces):
                yield traces
            after = _settings()
        finally:
            os.chdir(kept_folder)
            _set_environment(kept_environment)
            sys.path[:] = kept_path
            np.random.set_state(kept_numpy)  # noqa: NPY002
            random.setstate(kept_python)
    traces.changed = [name for name in before if before[name] != after[name]]
    traces.printed = printed.getvalue() + traces.printed


def _settings() -> dict[str, Any]:
    from threadpoolctl import threadpool_info

    return {
        "the current folder": os.getcwd(),
        "the environment (os.environ)": dict(os.environ),
        "NumPy's error handling (np.seterr)": np.geterr(),
        "NumPy's global random state (pass a numpy.random.Generator)": repr(np.random.get_state()),  # noqa: NPY002
        "Python's global random state": random.getstate(),
        "the filters of warnings": list(warnings.filters),
        "the number of threads": sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info()),
        "the module search path": list(sys.path),
    }


def _set_environment(values: dict[str, str]) -> None:
    for name in set(os.environ) - set(values):
        del os.environ[name]
    os.environ.update({name: value for name, value in values.items() if os.environ.get(name) != value})


@contextmanager
def _descriptors(traces: Traces) -> Iterator[None]:
    """Catch what compiled code writes to the descriptors 1 and 2 themselves."""
    numbers = {number: os.dup(number) for number in (1, 2)}
    with tempfile.TemporaryFile() as file:
        try:
            for number in numbers:
                os.dup2(file.fileno(), number)
            yield
        finally:
            for number, copy in numbers.items():
                os.dup2(copy, number)
                os.close(copy)
        file.seek(0)
        traces.printed = file.read().decode(errors="replace")


def inputs_are_not_changed(method: Method) -> None:
    """Neither inputs nor prepared statistics are changed, by preparation, fit or scoring."""
    changed = _watched(method).changed
    assert not changed, f"{changed[0]} was changed"


def read_only_memory_maps_are_accepted(method: Method) -> None:
    """Inputs mapped read-only from files give the same result as arrays in memory."""
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    direct = direct_outputs(method)
    with stored(arrays) as (mapped, _):
        kit.prepare(clone(method), mapped, method.space)
        actual = kit.apply(clone(method), mapped)
    assert_close(method, actual, direct, "from memory-mapped inputs")


def rows_around_the_inputs_are_not_seen(method: Method) -> None:
    """Training rows that are a slice of a larger array, with other rows behind it, give the same as a copy of them."""
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    direct = direct_outputs(method)
    around: Arrays = dict(arrays)
    for name in kit.protocol.training:
        values = arrays[name]
        outside = values[:7] * 0 + (np.nan if values.dtype.kind == "f" else 10_000)
        around[name] = np.concatenate([outside, values, outside]).astype(values.dtype)[len(outside) : -len(outside)]
    assert_close(method, kit.apply(clone(method), around), direct, "with other rows around the training rows")


def earlier_fits_are_forgotten(method: Method) -> None:
    """A second fit gives what a fresh instance gives, whatever the first one saw."""
    kit = kit_of(method.kind)
    arrays, others = kit.arrays(method), kit.arrays(method, seed=5)
    direct = direct_outputs(method)
    used = clone(method)
    kit.apply(used, others)
    assert_equal(kit.apply(used, arrays), direct, "after a fit on other data")


def other_instances_do_not_interfere(method: Method) -> None:
    """What one instance has learned does not change when another one is fitted, and scoring twice is scoring once."""
    kit = kit_of(method.kind)
    arrays, first = kit.arrays(method), clone(method)
    direct = kit.apply(first, arrays)
    kit.apply(clone(method), kit.arrays(method, seed=5))
    assert_equal(kit.outputs(first, arrays, {}), direct, "after another instance was fitted")
    assert_equal(kit.outputs(first, arrays, {}), direct, "the next time they are asked for")


def same_seed_gives_the_same_result(method: Method) -> None:
    """Two fits with the same parameters agree to the last bit, whatever NumPy's global random state."""
    actual = _watched(method).outputs
    for name, values in direct_outputs(method).items():
        assert np.array_equal(values, actual[name]), f"{name} differ between two fits with the same seed"


def shared_settings_are_left_alone(method: Method) -> None:
    """Prepare, fit and score leave folder, environment, np.seterr, global random states and the like as they are."""
    traces = _watched(method).traces
    assert not traces.changed, f"changed: {', '.join(traces.changed)}; restore it, or pass the value along"


def nothing_is_printed(method: Method) -> None:
    """Neither standard output nor standard error gets a line, of Python or of compiled code; warnings are no prints."""
    printed = " ".join(_watched(method).traces.printed.split())
    assert not printed, f"prints {printed[:80]!r}; report numbers in diagnostics_, oddities as OutcomeWarning"


def fitted_state_can_be_copied(method: Method) -> None:
    """A fitted method that is deep-copied, or pickled and read back, gives the same results."""
    kit = kit_of(method.kind)
    # These outputs are those of an instance that was never copied.
    arrays, direct, learned = kit.arrays(method), _watched(method).outputs, fitted(method)
    assert_equal(kit.outputs(learned, arrays, {}), direct, "of a copy of the fitted method")
    again = copied("pickle", lambda one: pickle.loads(pickle.dumps(one)), learned)
    assert_equal(kit.outputs(again, arrays, {}), direct, "of a pickled method")


@dataclass(frozen=True)
class _Watched:
    """What a method leaves behind when it prepares, fits and scores: traces, changed inputs, and its outputs."""

    traces: Traces
    changed: list[str]
    outputs: Arrays


@lru_cache(maxsize=2)
def _watched(method: Method) -> _Watched:
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    before = {name: values.copy() for name, values in arrays.items()}
    direct_outputs(method)
    with watched() as traces:
        statistics = kit.prepare(clone(method), arrays, method.space)
        prepared = {name: np.array(values) for name, values in statistics.items()}
        actual = kit.apply(clone(method), arrays)
        kit.apply(clone(method), arrays, statistics)
    changed = [name for name, values in before.items() if not np.array_equal(arrays[name], values)]
    changed += [
        f"the prepared statistic {name}" for name, v in prepared.items() if not np.array_equal(statistics[name], v)
    ]
    return _Watched(traces, changed, actual)


ISOLATION_CHECKS: tuple[Check, ...] = (
    inputs_are_not_changed,
    read_only_memory_maps_are_accepted,
    rows_around_the_inputs_are_not_seen,
    earlier_fits_are_forgotten,
    other_instances_do_not_interfere,
    same_seed_gives_the_same_result,
    shared_settings_are_left_alone,
    nothing_is_printed,
    fitted_state_can_be_copied,
)


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


STATE_CHECKS: tuple[Check, ...] = (state_is_arrays_and_json, state_restores_the_method, state_stands_by_itself)

"""No leak, no trace: what a method returns depends on the arguments of its calls, and they come back untouched."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.base import clone

from zslplat.methods.base import Arrays, Method
from zslplat.testing.fresh_process import outputs_elsewhere
from zslplat.testing.kits import assert_equal, copied, direct_outputs, fitted, kit_of, stored
from zslplat.testing.method_checks import SAME, assert_close
from zslplat.testing.running import Check
from zslplat.testing.surroundings import Traces, watched


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
    met = _met_others(method)
    assert_equal(met.after, met.direct, "after another instance was fitted")
    assert_equal(met.again, met.direct, "the next time they are asked for")


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


def results_do_not_depend_on_data_seen_before(method: Method) -> None:
    """After other data of the same shape, a fit gives what it gives in a process that saw no other data."""
    met = _met_others(method)
    alone = outputs_elsewhere(method, kit_of(method.kind).arrays(method, seed=5))
    assert_close(method, met.others, alone, "after a fit on other data of the same shape", at_least=SAME)
    when = "with statistics prepared after those of other data of the same shape"
    assert_close(method, met.prepared, alone, when, at_least=SAME)


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


@dataclass(frozen=True)
class _Met:
    """Outputs of an instance before and after another one met other data of the same shape, and those of the other.

    ``prepared``: those of a third one on the other data, with statistics that were prepared for both in turn.
    """

    direct: Arrays
    others: Arrays
    prepared: Arrays
    after: Arrays
    again: Arrays


@lru_cache(maxsize=2)
def _met_others(method: Method) -> _Met:
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    first = clone(method)
    direct = kit.apply(first, arrays)
    elsewhere = kit.arrays(method, seed=5)
    others = kit.apply(clone(method), elsewhere)
    after, again = (kit.outputs(first, arrays, {}) for _ in range(2))
    statistics = [kit.prepare(clone(method), arrays_of_problem, {}) for arrays_of_problem in (arrays, elsewhere)][1]
    prepared = kit.apply(clone(method), elsewhere, statistics) if statistics else others
    return _Met(direct, others, prepared, after, again)


ISOLATION_CHECKS: tuple[Check, ...] = (
    inputs_are_not_changed,
    read_only_memory_maps_are_accepted,
    rows_around_the_inputs_are_not_seen,
    earlier_fits_are_forgotten,
    other_instances_do_not_interfere,
    results_do_not_depend_on_data_seen_before,
    same_seed_gives_the_same_result,
    shared_settings_are_left_alone,
    nothing_is_printed,
    fitted_state_can_be_copied,
)

"""No leak, no trace: what a method returns depends on the arguments of its calls, and they come back untouched."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from zslplat.methods.base import Arrays, Method
from zslplat.testing.exercise import direct_outputs, exercise_of
from zslplat.testing.method_checks import assert_close
from zslplat.testing.running import Check
from zslplat.testing.storage import stored


def inputs_are_not_changed(method: Method) -> None:
    """Neither inputs nor prepared statistics are changed, by preparation, fit or scoring."""
    exercise = exercise_of(method)
    arrays = exercise.arrays(method)
    before = {name: values.copy() for name, values in arrays.items()}
    statistics = exercise.prepare(clone(method), arrays, method.space)
    prepared = {name: np.array(values) for name, values in statistics.items()}
    exercise.apply(clone(method), arrays)
    exercise.apply(clone(method), arrays, statistics)
    for name, values in arrays.items():
        assert np.array_equal(values, before[name]), f"{name} was changed"
    for name, values in prepared.items():
        assert np.array_equal(statistics[name], values), f"the prepared statistic {name} was changed"


def read_only_memory_maps_are_accepted(method: Method) -> None:
    """Inputs mapped read-only from files give the same result as arrays in memory."""
    exercise = exercise_of(method)
    arrays = exercise.arrays(method)
    direct = direct_outputs(method)
    with stored(arrays) as (mapped, _):
        exercise.prepare(clone(method), mapped, method.space)
        found = exercise.apply(clone(method), mapped)
    assert_close(method, found, direct, "from memory-mapped inputs")


def rows_around_the_inputs_are_not_seen(method: Method) -> None:
    """Training rows that are a slice of a larger array, with other rows behind it, give the same as a copy of them."""
    exercise = exercise_of(method)
    arrays = exercise.arrays(method)
    direct = direct_outputs(method)
    around: Arrays = dict(arrays)
    for name in exercise.fitted_on:
        values = arrays[name]
        outside = values[:7] * 0 + (np.nan if values.dtype.kind == "f" else 10_000)
        around[name] = np.concatenate([outside, values, outside]).astype(values.dtype)[len(outside) : -len(outside)]
    assert_close(method, exercise.apply(clone(method), around), direct, "with other rows around the training rows")


def earlier_fits_are_forgotten(method: Method) -> None:
    """A second fit gives what a fresh instance gives, whatever the first one saw."""
    exercise = exercise_of(method)
    arrays, others = exercise.arrays(method), exercise.arrays(method, seed=5)
    direct = direct_outputs(method)
    used = clone(method)
    exercise.apply(used, others)
    _assert_equal(exercise.apply(used, arrays), direct, "after a fit on other data")


def other_instances_do_not_interfere(method: Method) -> None:
    """What one instance has learned does not change when another one is fitted, and scoring twice is scoring once."""
    exercise = exercise_of(method)
    arrays, others = exercise.arrays(method), exercise.arrays(method, seed=5)
    first = clone(method)
    direct = exercise.apply(first, arrays)
    exercise.apply(clone(method), others)
    _assert_equal(exercise.outputs(first, arrays, {}), direct, "after another instance was fitted")
    _assert_equal(exercise.outputs(first, arrays, {}), direct, "the next time they are asked for")
    _assert_equal(exercise.apply(clone(method), arrays), direct, "of a new instance after other data were seen")


def _assert_equal(found: Arrays, expected: Arrays, when: str) -> None:
    for name, values in expected.items():
        assert np.array_equal(found[name], values), f"{name} differ {when}"


ISOLATION_CHECKS: tuple[Check, ...] = (
    inputs_are_not_changed,
    read_only_memory_maps_are_accepted,
    rows_around_the_inputs_are_not_seen,
    earlier_fits_are_forgotten,
    other_instances_do_not_interfere,
)

"""What methods promise of rows in blocks, and of rows with named views.

Those that take blocks give the same as from an array, without ever making one of all rows; views are taken side by
side, or through kernels that are on one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.data.store.rows import Part, Rows, View, Where
from zslplat.errors import MethodError, UsageError
from zslplat.methods.base import Arrays, Method
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.space import ANY
from zslplat.testing.isolation import parameters_of
from zslplat.testing.kits import direct_outputs, kit_of, stored
from zslplat.testing.method_checks import SAME, assert_close, assert_data_refused, settings
from zslplat.testing.running import Check, assert_raises

# Rows of a block: of the small problems, several blocks and a shorter last one.
PIECE = 17


class BlocksOnly(Rows):
    """Rows that come in small read-only blocks and refuse to become an array; some of them may be taken."""

    def blocks(self) -> Iterator[tuple[Where, np.ndarray]]:
        """Yield (where, block) in the order in which the rows are stored."""
        order = np.argsort(self.index, kind="stable")
        for start in range(0, len(order), PIECE):
            where = order[start : start + PIECE]
            block = np.asarray(self.take(where))
            block.flags.writeable = False
            yield where, block

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise AssertionError("an array of all features is made; go through blocks_of(X), or take some rows")

    def __getitem__(self, rows: Any) -> np.ndarray:
        raise AssertionError("features are indexed; go through blocks_of(X), or use take_rows(X, rows) for some rows")

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise AssertionError(f"features are asked for {name!r}, which arrays have; go through blocks_of(X)")
        raise AttributeError(name)


class Halved:
    """Preprocessing that divides by 2."""

    def apply(self, block: np.ndarray) -> np.ndarray:
        """Return half of the rows, which no value loses a digit by."""
        return np.asarray(block * 0.5, dtype=block.dtype)

    def shape_after(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same shape."""
        return shape


def in_blocks(X: np.ndarray) -> BlocksOnly:
    """Return rows X (n, d) as they may lie in a store, with the same values.

    In another order, among rows that are NaN and belong to no one, in two parts of which one is preprocessed.
    """
    n, d = X.shape
    total = n + n // 3 + 1
    places = np.random.default_rng(5).permutation(total)[:n]
    lying = np.full((total, d), np.nan, dtype=X.dtype)
    lying[places] = X
    cut = d // 2
    parts = [
        Part(View("left", (cut,)), 2 * lying[:, :cut], Halved()),
        Part(View("right", (d - cut,)), np.ascontiguousarray(lying[:, cut:])),
    ]
    return BlocksOnly(parts, places)


def blocks_give_what_an_array_gives(method: Method) -> None:
    """Features that come in blocks, ordered as in a store, give what an array gives, within the declared tolerance."""
    # With prepared statistics and without, at every point of the space, and without an array of all rows.
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    in_parts = _in_blocks(method, arrays)
    fixed = {n: v for n, v in method.get_params(deep=False).items() if n not in method.space}
    for number, values in enumerate([method.get_params(deep=False), *settings(method)]):
        try:
            direct = kit.apply(type(method).build(values), arrays)
        except MethodError:
            assert number, "the default parameters cannot be fitted"
            continue  # a trial there fails, with its cause; the study goes on
        actual = kit.apply(type(method).build(values), in_parts)
        assert_close(method, actual, direct, "from blocks", at_least=SAME)
        costly, space = method.prepared_with(method.space, values)
        statistics = kit.prepare(type(method).build({**fixed, **costly}), in_parts, space)
        with stored(statistics) as (mapped, _):
            actual = kit.apply(type(method).build(values), in_parts, mapped)
        assert_close(method, actual, direct, "from blocks, with prepared statistics", at_least=SAME)


def nan_in_a_block_is_refused(method: Method) -> None:
    """NaN among training rows that come in blocks raises DataError in fit, as it does in an array."""
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    X = np.array(arrays["X"])
    X[len(X) // 2, -1] = np.nan
    spoilt = _in_blocks(method, {**arrays, "X": X})
    assert_data_refused({"NaN in a block": lambda: kit.fit(clone(method), spoilt, {})})


def _in_blocks(method: Method, arrays: Mapping[str, Any]) -> Arrays:
    """Return the inputs with the features in blocks; they stand where an array stands otherwise."""
    features = kit_of(method.kind).features
    in_parts: dict[str, Any] = {name: in_blocks(v) if name in features else v for name, v in arrays.items()}
    return in_parts


BLOCK_CHECKS: tuple[Check, ...] = (blocks_give_what_an_array_gives, nan_in_a_block_is_refused)


# The inputs that are rows of features, by the names that the exercises give them.
ROWS = ("X", "X_pool", "gallery")


def views_side_by_side_are_one_feature_set(method: Method) -> None:
    """Told of two vector views, the method gives what it gives on the same columns without views."""
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    with_views = clone(method)
    with_views.take_views(_two_views(arrays["X"].shape[1]))
    assert_close(method, kit.apply(with_views, arrays), direct_outputs(method), "once it was told of two views")


def a_kernel_on_a_view_sees_that_view_alone(method: KernelMethod) -> None:
    """With its kernel on one view of two, a method gives what that view alone gives, or refuses kernels on views."""
    parameters = {**parameters_of(method), "kernel": f"({method.kernel})@own"}
    if method.kernel_gradients or method.kernel_on != "features":  # in a projection of all features, or on signatures
        assert_raises(UsageError, lambda: type(method).build(parameters), f"kernel={parameters['kernel']}")
        return
    kit, arrays = kit_of(method.kind), kit_of(method.kind).arrays(method)
    beside: Arrays = {name: _beside(values) if name in ROWS else values for name, values in arrays.items()}
    with_views: Any = type(method).build(parameters)
    width = arrays["X"].shape[1]
    with_views.take_views((View("other", (beside["X"].shape[1] - width,)), View("own", (width,))))
    direct, when = direct_outputs(method), "with the kernel on one of two views"
    assert_close(method, kit.apply(with_views, beside), direct, when, at_least=SAME)
    restored = type(method).from_state(parameters, with_views.state())
    actual = kit.outputs(restored, beside, {})
    assert_close(method, actual, direct, f"{when}, restored from the state", at_least=SAME)


def a_view_of_matrices_without_a_kernel_is_refused(method: Method) -> None:
    """A view that holds matrices, and that no kernel of the method is on, is refused with UsageError."""
    views = (View("vectors", (4,)), View("matrices", (3, 3)))
    assert_raises(UsageError, lambda: clone(method).take_views(views), "a view of matrices")


def _two_views(width: int) -> tuple[View, View]:
    return View("first", (width // 2,)), View("second", (width - width // 2,))


def _beside(X: np.ndarray) -> np.ndarray:
    """Return the rows with columns of noise in front."""
    noise = np.random.default_rng(len(X)).normal(size=(len(X), 5))
    return np.hstack([noise.astype(X.dtype), X])


def view_checks(method: Method) -> tuple[Check, ...]:
    """Return the checks of a method: kernels on views where it has a kernel."""
    plain: tuple[Check, ...] = (views_side_by_side_are_one_feature_set, a_view_of_matrices_without_a_kernel_is_refused)
    has_kernel = isinstance(method, KernelMethod) and str(method.kernel) != ANY
    return (*plain, a_kernel_on_a_view_sees_that_view_alone) if has_kernel else plain

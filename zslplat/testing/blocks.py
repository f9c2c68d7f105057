"""What methods promise that take blocks of rows: the same as from an array, without ever making one of all rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.data.store.rows import Part, Rows, View, Where
from zslplat.errors import MethodError
from zslplat.methods.base import Arrays, Method
from zslplat.testing.kits import kit_of
from zslplat.testing.method_checks import SAME, assert_close, assert_data_refused, settings
from zslplat.testing.running import Check
from zslplat.testing.storage import stored

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
    given = _given(method, arrays)
    fixed = {n: v for n, v in method.get_params(deep=False).items() if n not in method.space}
    for number, values in enumerate([method.get_params(deep=False), *settings(method)]):
        try:
            direct = kit.apply(type(method).build(values), arrays)
        except MethodError:
            assert number, "the default parameters cannot be fitted"
            continue  # a trial there fails, with its cause; the study goes on
        found = kit.apply(type(method).build(values), given)
        assert_close(method, found, direct, "from blocks", at_least=SAME)
        told, space = method.prepared_with(method.space, values)
        statistics = kit.prepare(type(method).build({**fixed, **told}), given, space)
        with stored(statistics) as (mapped, _):
            found = kit.apply(type(method).build(values), given, mapped)
        assert_close(method, found, direct, "from blocks, with prepared statistics", at_least=SAME)


def nan_in_a_block_is_refused(method: Method) -> None:
    """NaN among training rows that come in blocks raises DataError in fit, as it does in an array."""
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    X = np.array(arrays["X"])
    X[len(X) // 2, -1] = np.nan
    spoilt = _given(method, {**arrays, "X": X})
    assert_data_refused({"NaN in a block": lambda: kit.fit(clone(method), spoilt, {})})


def _given(method: Method, arrays: Mapping[str, Any]) -> Arrays:
    """Return the inputs with the features in blocks; they stand where an array stands otherwise."""
    features = kit_of(method.kind).features
    given: dict[str, Any] = {name: in_blocks(v) if name in features else v for name, v in arrays.items()}
    return given


BLOCK_CHECKS: tuple[Check, ...] = (blocks_give_what_an_array_gives, nan_in_a_block_is_refused)

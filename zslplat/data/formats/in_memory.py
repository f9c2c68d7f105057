"""Data sets that come from Python as arrays, stored by their content, so that a record can be made again.

``arrays(name=birds, key=1f0c...)`` is such a data set; its key is the fingerprint of arrays and splits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.assembly import assemble
from zslplat.data.dataset import Dataset
from zslplat.data.feature_card import FeatureCard
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.fields import Fields, raw_arrays
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.store.stored_sets import stored_dataset
from zslplat.errors import MissingDataError, UsageError
from zslplat.space import Text, parameter
from zslplat.spec import Spec

NAME = "arrays"

KEY_DIGITS = 32


class ArrayFields(Fields):
    """Arrays by the names that the keys of an ``.npz`` file have."""

    thing, holder = "array", "what was given"

    def __init__(self, name: str, arrays: Mapping[str, Any], columns: Sequence[str] = ()) -> None:
        self.path, self.arrays, self.columns = Path(name), dict(arrays), columns
        self.names = tuple(self.arrays)

    def read(self, name: str) -> np.ndarray:
        """Return one array; numbers and texts in an array of objects are such."""
        array = np.asarray(self.arrays[name])
        if array.dtype != object:
            return array
        plain = np.array(array.tolist())
        return plain if plain.dtype.kind in "biuf" else np.array(names_of(array, name)).reshape(array.shape)


def dataset_of(
    name: str, arrays: Mapping[str, Any], options: Mapping[str, Any], card: FeatureCard, columns: Sequence[str] = ()
) -> Dataset:
    """Return the data set that arrays make, named as in :mod:`zslplat.data.formats.fields`, which says what ``options``
    are.

    ``columns`` are the names of the columns of X, where they have any: those that are called identifiers are left out.
    Raises :class:`~zslplat.errors.DataError` for what does not fit together.
    """
    raw, keys = raw_arrays(ArrayFields(name, arrays, columns), options)
    raw.name = name
    return assemble(raw, card, {"loader": NAME, "arrays": sorted(keys.values())})


def store_dataset(folder: Path, dataset: Dataset) -> Spec:
    """Keep a data set in a folder of the store, where it is not there yet; return the spec that loads it."""
    whole = replace(dataset, known_fingerprint="")  # of what it holds now, whatever it was made of
    stored_dataset(folder, whole.fingerprint[:KEY_DIGITS], lambda: whole)
    return Spec(NAME, {"name": dataset.name, "key": whole.fingerprint[:KEY_DIGITS]})


class ArraysSource(DataSource):
    """A data set that was given as arrays from Python, and is kept in the store.

    Equations
    ---------
    Keeps the arrays that ``zslplat.make_dataset`` was given, so that a run on them can be repeated. Its specs are
    written by the functions that take data sets, and seldom by hand.

    Symbols
    -------
    | part   | shape  | meaning                                              |
    |--------|--------|------------------------------------------------------|
    | X      | (n, d) | features, rows are samples                           |
    | y      | (n,)   | class of each row                                    |
    | S      | (c, a) | signatures, one row per class                        |
    | splits |        | rows of ``train``, ``test_seen`` and ``test_unseen`` |

    Example
    -------
    >>> import numpy as np, zslplat
    >>> rng = np.random.default_rng(0)
    >>> S, y = rng.normal(size=(10, 4)), np.repeat(np.arange(10), 5)
    >>> data = zslplat.make_dataset(S[y] @ rng.normal(size=(4, 8)), y, S, name="toy", unseen=[7, 8, 9])
    >>> {name: len(rows) for name, rows in data.splits.items()}
    {'train': 35, 'test_unseen': 15}

    Related
    -------
    ``npz`` and ``csv`` read the same parts from files.
    """

    summary = "arrays that were given to zslplat from Python and are kept in the store, by their key"
    licence = "that of the arrays"
    key = parameter("which arrays: the beginning of their fingerprint", Text())
    name = parameter("what the data set is called", Text())

    def load(self, places: DataPlaces) -> Dataset:
        """Return the data set; raises :class:`~zslplat.errors.MissingDataError` where the store does not hold it."""
        if "key" not in self.options:
            raise UsageError(
                f"{NAME}: key is missing; such data sets are given from Python, as zslplat.make_dataset(X, y, S)"
            )
        key, name = str(self.options["key"]), str(self.options.get("name", NAME))

        def missing() -> Dataset:
            raise MissingDataError(
                f"data set {name!r}: the store does not keep arrays with key {key}; give the store that does, or the "
                "arrays again, from Python"
            )

        if places.arrays is None:
            return missing()
        return replace(stored_dataset(places.arrays, key, missing), name=name)

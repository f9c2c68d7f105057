"""Outcomes per row of a test evaluation on disk, and the replicates and class values that are made from them.

A folder has ``outcomes.npz`` (the columns, no pickle), ``outcomes.json`` (their digest and the values that hold for all
rows), ``replicates.npz`` (bootstrap replicates, for intervals over these rows) and ``classes.npz`` (values per class,
for intervals over new classes). The first two are the record. The others are a cache: their key is made of the digest
of the outcomes, the scheme and the number of replicates. Where the key differs, or the file is gone or damaged, they
are made again, with the same values. The key also has size and time of the outcomes' files: while these are unchanged,
the outcomes need not be read to compare digests, which is most of the work where many evaluations are compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from zslplat.data.store.atomic_files import replacing
from zslplat.errors import StoreError
from zslplat.metrics.intervals import CLASS_SCHEME, SCHEME, THINGS_SCHEME, ClassValues, draws, draws_of_things
from zslplat.tasks.base import Task
from zslplat.tasks.row_outcomes import RowOutcomes

REPLICATES = 1000
_COLUMNS, _META, _REPLICATES, _CLASSES = "outcomes.npz", "outcomes.json", "replicates.npz", "classes.npz"
_KEY, _METRIC, _KINDS, _NAMES, _EXCHANGED = "key", "metric:", "kinds", "names", "exchanged:"
# The errors of numpy and zipfile on files that are cut off, changed or not of this format.
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    NotImplementedError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def digest(outcomes: RowOutcomes) -> str:
    """Return 32 digits that identify outcomes: names, types, shapes and contents of the columns, and the rest."""
    hasher = hashlib.sha256(json.dumps(outcomes.meta, sort_keys=True).encode())
    for name in sorted(outcomes.columns):
        column = np.ascontiguousarray(outcomes.columns[name])
        hasher.update(json.dumps([name, column.dtype.str, column.shape]).encode())
        hasher.update(column.tobytes())
    return hasher.hexdigest()[:32]


def write_outcomes(folder: Path, outcomes: RowOutcomes) -> str:
    """Write outcomes into a folder, each file whole or not at all, and return their digest.

    Raises :class:`StoreError` where the folder cannot be written.
    """
    key = digest(outcomes)
    content = json.dumps({"digest": key, "meta": outcomes.meta}, indent=1)
    try:
        _write_arrays(folder / _COLUMNS, outcomes.columns)
        _write_whole(folder / _META, lambda file: file.write(content.encode()))
    except OSError as error:
        raise StoreError(
            f"cannot write the outcomes per row to {folder}: {error.strerror or error}; free space or permissions and "
            "give the same command again"
        ) from error
    return key


def read_outcomes(folder: Path) -> RowOutcomes:
    """Return the outcomes that :func:`write_outcomes` wrote; raises :class:`StoreError` if they have changed.

    Damage anywhere in the two files is noticed: the digest is computed again.
    """
    try:
        content = json.loads((folder / _META).read_text())
        with np.load(folder / _COLUMNS, allow_pickle=False) as file:
            outcomes = RowOutcomes({name: file[name] for name in file.files}, content["meta"])
        if digest(outcomes) != content["digest"]:
            raise ValueError("they are not what was written")
    except _DAMAGED as error:
        raise StoreError(
            f"outcomes per row in {folder} cannot be read: {error}; restore them from a copy of the store, or evaluate "
            "the experiment again"
        ) from error
    return outcomes


def replicates(
    task: Task, folder: Path, count: int = REPLICATES, only: Collection[str] | None = None
) -> dict[str, np.ndarray]:
    """Return {metric: (count,)} of the outcomes in a folder, read from the cache beside them if its key fits.

    Otherwise they are computed and stored, if the folder can be written. Empty for a task that resamples nothing.
    ``only``: the metrics that are needed, which saves reading others. Raises :class:`StoreError` where the outcomes
    cannot be read.
    """

    def make(outcomes: RowOutcomes) -> tuple[str, Callable[[], Mapping[str, np.ndarray]]]:
        scheme = SCHEME if task.things(outcomes) is None else THINGS_SCHEME
        return f"{scheme} {count}", lambda: _metric_arrays(resampled(task, outcomes, count))

    return _by_metric(_from_cache(folder, _REPLICATES, (f"{SCHEME} {count}", f"{THINGS_SCHEME} {count}"), make, only))


def class_values(task: Task, folder: Path, only: Collection[str] | None = None) -> ClassValues | None:
    """Return the values per class of the outcomes in a folder, from the cache beside them if its key fits.

    Otherwise they are computed and stored, if the folder can be written. None for a task that draws no classes. Raises
    :class:`StoreError` where the outcomes cannot be read.
    """

    def make(outcomes: RowOutcomes) -> tuple[str, Callable[[], Mapping[str, np.ndarray]]]:
        def values() -> Mapping[str, np.ndarray]:
            computed = task.class_values(outcomes)
            if computed is None:
                return {}
            exchanged = {_EXCHANGED + name: matrix for name, matrix in computed.exchanged.items()}
            names = _names_of(outcomes, len(computed.kinds))
            return {_KINDS: computed.kinds, **names, **_metric_arrays(computed.values), **exchanged}

        return str(CLASS_SCHEME), values

    arrays = _from_cache(folder, _CLASSES, (str(CLASS_SCHEME),), make, only)
    if _KINDS not in arrays:
        return None
    return ClassValues(_by_metric(arrays), arrays[_KINDS], _by_metric(arrays, _EXCHANGED), arrays.get(_NAMES))


def _names_of(outcomes: RowOutcomes, count: int) -> dict[str, np.ndarray]:
    """Return the names of the scored classes, nothing where the values are of something else than those."""
    by_class = "true" in outcomes.columns and "by_draw" not in outcomes.meta
    scored = np.unique(outcomes.columns["true"]) if by_class else ()
    return {_NAMES: np.array(outcomes.meta["classes"])[scored]} if len(scored) == count else {}


def resampled(task: Task, outcomes: RowOutcomes, count: int = REPLICATES) -> dict[str, np.ndarray]:
    """Return {metric: (count,)}: the metrics of bootstrap replicates; empty for a task that resamples nothing.

    It is also empty where rows belong to things and all of them to one thing. A value is NaN where a draw has no row
    from which the metric could be computed.
    """
    units, things = task.units(outcomes), task.things(outcomes)
    if units is None:
        return {}
    drawn = draws(*units, count) if things is None else draws_of_things(things, units[1], count)
    if drawn is None:
        return {}
    blocks = [task.resampled(outcomes, counts) for counts in drawn]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _from_cache(
    folder: Path,
    name: str,
    schemes: Sequence[str],
    make: Callable[[RowOutcomes], tuple[str, Callable[[], Mapping[str, np.ndarray]]]],
    only: Collection[str] | None,
) -> Mapping[str, np.ndarray]:
    """Return the arrays of a cache file; where it does not fit the outcomes they are made and stored.

    ``only``: the metrics that are needed; others may be returned as well. ``schemes``: the ways of making them that are
    understood; ``make`` returns the one that suits the outcomes, and the function that makes the arrays. Raises
    :class:`StoreError` where outcomes that must be read cannot be.
    """
    path, stamp = folder / name, _stamp(folder)
    cached = _cached(path, stamp, only)
    if cached is not None and stamp and cached[1] == stamp and cached[0].partition(" ")[2] in schemes:
        return cached[2]
    outcomes = read_outcomes(folder)
    scheme, arrays = make(outcomes)
    key = f"{digest(outcomes)} {scheme}"
    contents = cached[2] if cached is not None and cached[0] == key else arrays()
    with contextlib.suppress(OSError):  # nothing is lost: they are made again next time
        _write_arrays(path, {_KEY: np.array(f"{key}\n{stamp}"), **contents})
    return contents


def _cached(path: Path, stamp: str, only: Collection[str] | None) -> tuple[str, str, dict[str, np.ndarray]] | None:
    """Return key, stamp and arrays of a cache file; None where it cannot be read.

    If it has this stamp, arrays of other metrics than ``only`` are not read.
    """
    try:
        # Read at once: numpy would ask the disk for every part of every member.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            key, _, seen = str(file[_KEY]).partition("\n")
            names = [name for name in file.files if name != _KEY]
            if only is not None and seen == stamp:
                members = {_KINDS, _NAMES, *(prefix + name for name in only for prefix in (_METRIC, _EXCHANGED))}
                names = [name for name in names if name in members]
            return key, seen, {name: file[name] for name in names}
    except _DAMAGED:
        return None


def _stamp(folder: Path) -> str:
    """Return sizes and times of the outcomes' files; empty where they do not exist."""
    try:
        return " ".join(f"{s.st_size}:{s.st_mtime_ns}" for s in ((folder / n).stat() for n in (_COLUMNS, _META)))
    except OSError:
        return ""


def _metric_arrays(by_metric: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return arrays by names that no metric can share with another array of a file."""
    return {_METRIC + name: values for name, values in by_metric.items()}


def _by_metric(arrays: Mapping[str, np.ndarray], prefix: str = _METRIC) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}


def _write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write what ``np.savez_compressed`` would, which takes no array named like one of its arguments."""

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)

    _write_whole(path, write)


def _write_whole(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside its path and rename it, so that a reader gets all of it or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as new, new.open("wb") as file:
        write(file)

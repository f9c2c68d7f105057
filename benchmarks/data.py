"""The way of the data, against NumPy on the same file: import, folds, passes in blocks, mini-batches.

    python benchmarks/data.py [--rows 60000] [--dimensions 1280] [--repeats 5]

Medians of so many turns; the peer runs in turns with ours, on one thread, with the files in the page cache. Passes and
batches of the peer are over the very file that ours read.

import     rows of a .npy file are checked, fingerprinted and stored in their drawn order | read whole, checked, hashed
           and saved again
build      three folds of two thirds of the rows, centred and l2-normalised: an index, and what is learned of each |
           the rows copied, centred and normalised as whole arrays and saved
arrays     the same, and the rows of each fold as one array in a file, for methods that want arrays | as above
pass       column sums of all rows in blocks | over a memory map of the file, as many rows at a time
fold pass  column sums of the two thirds of the rows of a fold, centred and normalised | of all rows, as above
scatter    X'X of all rows in blocks | over a memory map
batches    1000 mini-batches of 64 random rows of a fold | out of a memory map by the same indices
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from zslplat.data.dataset import Dataset
from zslplat.data.store.preprocessing import Preprocessing, preprocessed
from zslplat.data.store.rows import BLOCK, Rows, RowStream, Stored
from zslplat.data.store.stored_sets import stored_dataset
from zslplat.evaluation.cache.problems import load_problem, save_problem
from zslplat.tasks.base import Problem

STEPS = Preprocessing(features=("center", "l2"))
BATCHES, BATCH = 1000, 64


def stored(source: Path, folder: Path) -> Rows:
    """Import a .npy file as a loader does."""
    whole = np.load(source, mmap_mode="r")

    def read() -> Iterator[np.ndarray]:
        for start in range(0, len(whole), 4096):
            yield np.asarray(whole[start : start + 4096])

    def build() -> Dataset:
        stream = RowStream(whole.shape, whole.dtype, read, str(source))
        return Dataset("rows", Rows.of({"": stream}), np.arange(len(whole)) % 10, tuple("0123456789"))

    X = stored_dataset(folder, "rows", build).X
    assert isinstance(X, Rows)
    return X


def imported_plainly(source: Path, folder: Path) -> None:
    """Read, check, hash and save the whole array."""
    X = np.load(source)
    if not np.isfinite(X).all():
        raise ValueError("not finite")
    hashlib.sha256(X.data).hexdigest()
    np.save(folder / "X.npy", X)


def built(X: Rows, sides: list[tuple[np.ndarray, np.ndarray]], folder: Path, *, arrays: bool) -> None:
    """Make the problems of the folds as the platform does."""
    for number, (train, held) in enumerate(sides):
        rows = preprocessed([X.take(train), X.take(held)], STEPS)
        place = folder / "prepared" / f"{number}"
        save_problem(place, Problem(f"fold-{number}", dict(zip(("X", "X_pool"), rows, strict=True)), {}))
        load_problem(place, blocks=not arrays)


def built_plainly(source: Path, sides: list[tuple[np.ndarray, np.ndarray]], folder: Path) -> None:
    """Copy, centre, normalise and save whole arrays."""
    whole = np.load(source, mmap_mode="r")
    for number, (train, held) in enumerate(sides):
        X = whole[train]
        mean = X.mean(axis=0, dtype=np.float64)
        for name, rows in (("X", X), ("X_pool", whole[held])):
            rows = (rows - mean).astype(np.float32)
            length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
            rows = (rows / np.where(length > 0, length, 1.0)[:, None]).astype(np.float32)
            np.save(folder / f"{name}-{number}.npy", rows)


def summed(X: Rows) -> np.ndarray:
    """Return the column sums, in blocks."""
    return np.asarray(sum(block.sum(axis=0) for _, block in X.blocks()))


def scattered(X: Rows) -> np.ndarray:
    """Return X'X, in blocks."""
    return np.asarray(sum(block.T @ block for _, block in X.blocks()))


def plain_blocks(source: Path) -> list[np.ndarray]:
    """Return the pieces of a memory map."""
    whole = np.load(source, mmap_mode="r")
    return [whole[start : start + BLOCK] for start in range(0, len(whole), BLOCK)]


def batched(X: Rows | np.ndarray, index: list[np.ndarray]) -> float:
    """Read mini-batches."""
    return float(sum(X[rows][0, 0] for rows in index))


def timed(call: Callable[[Path], object], root: Path) -> float:
    """Return the seconds of a call, which is given an empty folder."""
    folder = Path(tempfile.mkdtemp(dir=root))
    start = time.perf_counter()
    call(folder)
    seconds = time.perf_counter() - start
    shutil.rmtree(folder)
    return seconds


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60000)
    parser.add_argument("--dimensions", type=int, default=1280)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        root = Path(name)
        source = root / "rows.npy"
        np.save(source, rng.standard_normal((asked.rows, asked.dimensions), dtype=np.float32))
        gigabytes = source.stat().st_size / 1e9
        X = stored(source, root / "kept" / "data")
        lies = X.parts[0].source
        assert isinstance(lies, Stored)
        kept = Path(lies.file)
        sides = [(np.flatnonzero(part), np.flatnonzero(~part)) for part in (rng.random((3, asked.rows)) < 2 / 3)]
        fold = preprocessed([X.take(sides[0][0])], STEPS)[0]
        index = [np.sort(rng.integers(0, len(fold), BATCH)) for _ in range(BATCHES)]
        drawn = [sides[0][0][rows] for rows in index]
        raw = X.take(sides[0][0])
        pairs: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
            "import": (lambda f: stored(source, f), lambda f: imported_plainly(source, f)),
            "build": (lambda f: built(X, sides, f, arrays=False), lambda f: built_plainly(source, sides, f)),
            "arrays": (lambda f: built(X, sides, f, arrays=True), lambda f: built_plainly(source, sides, f)),
            "pass": (lambda f: summed(X), lambda f: sum(b.sum(axis=0) for b in plain_blocks(kept))),
            "fold pass": (lambda f: summed(fold), lambda f: sum(b.sum(axis=0) for b in plain_blocks(kept))),
            "scatter": (lambda f: scattered(X), lambda f: sum(b.T @ b for b in plain_blocks(kept))),
            "batches": (lambda f: batched(raw, index), lambda f: batched(np.load(kept, mmap_mode="r"), drawn)),
        }
        title = f"{asked.rows} x {asked.dimensions} float32, {gigabytes:.2f} GB, medians of {asked.repeats}"
        table = Table("", "ours, s", "NumPy, s", "ratio", title=title)
        for column in table.columns[1:]:
            column.justify = "right"
        for label, (ours, theirs) in pairs.items():
            seconds = [(timed(ours, root / "kept"), timed(theirs, root)) for _ in range(asked.repeats)]
            own, other = (statistics.median(times) for times in zip(*seconds, strict=True))
            ratio = statistics.median(a / b for a, b in seconds)
            table.add_row(label, f"{own:.3f}", f"{other:.3f}", f"{ratio:.2f}")
        Console().print(table)


if __name__ == "__main__":
    main()

"""Mini-batch methods that read their rows from a file, against rows in memory: seconds of an epoch.

    python benchmarks/batches.py [--rows 100000] [--methods zskl-ort ale] [--turns 3] [--scratch /a/folder]

Rows x 2048 float32, centred and of unit length, 80 classes, 85 signatures. Each turn trains once in memory (the rows
preprocessed, as one array) and once from the file, which is dropped from the page cache before. Medians; ``speed`` is
the time in memory over the time from the file, by processor seconds (readers included) and by the clock. The learned
maps of both are compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from zslplat.data.store.preprocessing import Preprocessing, preprocessed
from zslplat.data.store.rows import Part, Rows, Stored, View
from zslplat.registry import component

CLASSES, SIGNATURES, DIMENSIONS, BLOCK = 80, 85, 2048, 5000


def write_rows(path: Path, rows: int) -> None:
    """Write so many rows, a block at a time."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLASSES, DIMENSIONS), dtype=np.float32) * 0.3
    with path.open("wb") as file:
        for start in range(0, rows, BLOCK):
            y = np.arange(start, min(start + BLOCK, rows)) % CLASSES
            X = rng.standard_normal((len(y), DIMENSIONS), dtype=np.float32) + centres[y]
            file.write(np.ascontiguousarray(X, dtype=np.float32).data)
        file.flush()
        os.fsync(file.fileno())


def evict(path: Path) -> None:
    """Drop a file from the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def epoch(name: str, X: Any, y: np.ndarray, S: np.ndarray, seconds: list[tuple[float, float]]) -> np.ndarray:
    """Train one epoch after the preparation; return the learned map."""
    method = component("methods", name)(epochs=1)
    statistics_of = method.prepare_fit(X, y, S, space={})
    wall, cpu = time.perf_counter(), time.process_time()
    method.fit(X, y, S, statistics=statistics_of)
    seconds.append((time.perf_counter() - wall, time.process_time() - cpu))
    return np.asarray(method.W_)


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100000)
    parser.add_argument("--methods", nargs="+", default=["zskl-ort", "ale"])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--scratch", type=Path, default=None)
    asked = parser.parse_args()
    table = Table(title=f"{asked.rows} x {DIMENSIONS} float32, {asked.rows * DIMENSIONS * 4 / 1e9:.1f} GB, one epoch")
    for column in (
        "method",
        "memory, cpu s",
        "file, cpu s",
        "speed",
        "memory, wall s",
        "file, wall s",
        "speed",
        "same",
    ):
        table.add_column(column, justify="left" if column == "method" else "right")
    y, S = np.arange(asked.rows) % CLASSES, np.random.default_rng(1).standard_normal((CLASSES, SIGNATURES))
    with tempfile.TemporaryDirectory(dir=asked.scratch) as folder, threadpool_limits(1):
        path = Path(folder) / "rows"
        write_rows(path, asked.rows)
        shape = (asked.rows, DIMENSIONS)
        lying = Rows([Part(View("", shape[1:]), Stored(str(path), "float32", shape, 0))], np.arange(asked.rows))
        lying = preprocessed([lying], Preprocessing(features=("center", "l2")))[0]
        held = np.asarray(lying)
        for name in asked.methods:
            memory: list[tuple[float, float]] = []
            file: list[tuple[float, float]] = []
            for _ in range(asked.turns):
                first = epoch(name, held, y, S, memory)
                evict(path)
                second = epoch(name, lying, y, S, file)
            cells: list[str] = []
            for place in (1, 0):
                a, b = (statistics.median(one[place] for one in found) for found in (memory, file))
                cells += [f"{a:.2f}", f"{b:.2f}", f"{a / b:.2f}"]
            same = str(bool(np.array_equal(first, second)))
            table.add_row(name, *cells, same)
            print(name, *cells, same, flush=True)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()

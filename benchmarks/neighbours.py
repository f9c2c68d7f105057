"""Neighbours of rows by cosine: an index against comparing all pairs, by number of rows.

    python benchmarks/neighbours.py [--rows 10000 50000] [--dimensions 2048] [--k 10] [--exact-up-to 50000]
    python benchmarks/neighbours.py --data /data/xlsa17/AWA2/res101.mat --rows 10000 30000

Rows are drawn (a mixture of 100 classes in a space of 64 directions, with noise in all), or those of a ``.mat`` file in
the layout of the public archive. Columns: processor seconds of the index (built and asked) and of the exact search, the
recall of the index on all rows where the exact search was made and on a drawn sample elsewhere, the most memory of the
process beyond the rows (MB), and whether a second time gives the same lists.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from zslplat.evaluation.workers.memory import peak_bytes, reset_peak
from zslplat.methods.neighbours import BUILD_CANDIDATES, LEAST_CANDIDATES, RowIndex, nearest, recall_of


def drawn(rows: int, dimensions: int, seed: int = 0) -> np.ndarray:
    """Return rows (n, d), not negative."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((100, 64)) * 1.5
    mixing = rng.standard_normal((64, dimensions)).astype(np.float32) * 0.5
    X = np.empty((rows, dimensions), dtype=np.float32)
    for start in range(0, rows, 5000):
        count = min(5000, rows - start)
        inside = centres[rng.integers(0, 100, count)] + rng.standard_normal((count, 64))
        block = inside.astype(np.float32) @ mixing + rng.standard_normal((count, dimensions), dtype=np.float32)
        X[start : start + count] = np.maximum(block, 0)
    return X


def taken(path: Path) -> np.ndarray:
    """Return the rows (n, d) of a ``.mat`` file in the layout of the public archive, in a drawn order."""
    from scipy.io import loadmat

    X = np.asarray(loadmat(path)["features"].T, dtype=np.float32)
    return X[np.random.default_rng(0).permutation(len(X))]


def measured(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what a call gives, its processor seconds, and the MB that it took at most."""
    reset_peak()
    held, start = peak_bytes(), time.process_time()
    found = call()
    return found, time.process_time() - start, (peak_bytes() - held) / 1e6


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10000, 20000, 50000])
    parser.add_argument("--dimensions", type=int, default=2048)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--exact-up-to", type=int, default=50000)
    parser.add_argument("--building", type=int, nargs="+", default=[BUILD_CANDIDATES])
    parser.add_argument("--asking", type=int, nargs="+", default=[LEAST_CANDIDATES])
    parser.add_argument("--twice", action="store_true", help="build it again and compare")
    asked = parser.parse_args()
    table = Table(title=f"k = {asked.k}, {asked.data.parent.name if asked.data else 'drawn rows'}, one thread")
    for column in ("rows", "building", "asking", "index, cpu s", "exact, cpu s", "recall", "MB", "same"):
        table.add_column(column, justify="right")
    everything = taken(asked.data) if asked.data else drawn(max(asked.rows), asked.dimensions)
    with threadpool_limits(1):
        nearest(everything[:100], 3)  # compiled
        for rows in asked.rows:
            X = everything[:rows]
            exact, exact_seconds = None, float("nan")
            if rows <= asked.exact_up_to:
                exact, exact_seconds, _ = measured(lambda X=X: nearest(X, asked.k)[0])
            for building in asked.building:
                for asking in asked.asking:

                    def by_index(X: np.ndarray = X, building: int = building, asking: int = asking) -> Any:
                        return RowIndex(X, build_candidates=building).nearest(asked.k, candidates=asking)[0]

                    found, seconds, held = measured(by_index)
                    if exact is None:
                        recall = recall_of(found, X)
                    else:
                        hits = [len(np.intersect1d(a, b)) for a, b in zip(exact, found, strict=True)]
                        recall = sum(hits) / found.size
                    same = str(bool(np.array_equal(found, by_index()))) if asked.twice else ""
                    cells = (rows, building, asking, f"{seconds:.1f}", f"{exact_seconds:.1f}", f"{recall:.4f}")
                    table.add_row(*map(str, cells), f"{held:.0f}", same)
                    print(*cells, f"{held:.0f}", same, flush=True)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()

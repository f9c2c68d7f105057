"""What a fit of MFMR costs: preparation once, then updates of U and V; and how the costs grow with the rows.

    OPENBLAS_NUM_THREADS=1 python benchmarks/mfmr.py [rows ...]      50000 rows take about five minutes

Random non-negative features of the shape of CIFAR100's (1280 features, 80 seen and 20 unseen classes, 100 signature
entries, split into 200). Times are processor seconds of one core; ``graph / product`` compares building the row graph
(k = 20, every pair compared) with the bare matrix product of all pairs in the same precision. ``U`` and ``V`` are 200
updates each without a convergence test; ``fit`` and ``score`` are the default methods, which stop when converged.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from zslplat.families.zero_shot.methods.mfmr.joint_scheme import MFMRJoint
from zslplat.methods.neighbours import nearest

ROWS = (2000, 5000, 12000, 25000, 50000)
FEATURES, SEEN, UNSEEN, ATTRIBUTES, K = 1280, 80, 20, 200, 20


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    """Return the processor seconds that ``work`` takes, and its result."""
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def product_seconds(X: np.ndarray) -> float:
    """Return the time of X X' in blocks of rows, keeping nothing."""

    def multiply() -> None:
        for start in range(0, len(X), 1024):
            X[start : start + 1024] @ X.T

    return seconds(multiply)[0]


def classes(
    rng: np.random.Generator, rows: int, count: int, U: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features (rows, d) of unit length, labels, and signatures (count, a)."""
    S = rng.uniform(0, 1, (count, ATTRIBUTES)) * (rng.uniform(size=(count, ATTRIBUTES)) < 0.5)
    y = np.concatenate([np.arange(count), rng.integers(0, count, rows - count)])
    X = (S @ U)[y].astype(np.float32)
    X += rng.standard_exponential(X.shape, dtype=np.float32) * X.mean()
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y, S


def measure(rows: int) -> list[float]:
    """Return the columns of the table for a training set and a batch of this many rows."""
    rng = np.random.default_rng(0)
    U = rng.gamma(0.3, 1.0, (ATTRIBUTES, FEATURES))
    X, y, S = classes(rng, rows, SEEN, U)
    batch, _, unseen = classes(rng, rows, UNSEEN, U)
    product = product_seconds(batch)
    graph, _ = seconds(lambda: nearest(batch, K))
    method = MFMRJoint(k=K)
    prepare, statistics = seconds(lambda: method.prepare_fit(X, y, S, space={}))
    fit, _ = seconds(lambda: method.fit(X, y, S, statistics=statistics))
    prepared = method.prepare_score(batch, unseen, space={})
    score, _ = seconds(lambda: method.decision_function(batch, unseen, statistics=prepared))
    full = MFMRJoint(k=K, iterations=200, converged_at=0.0)
    fit_full, _ = seconds(lambda: full.fit(X, y, S, statistics=statistics))
    common, _ = seconds(lambda: full._common_scores(batch, unseen))
    score_full, _ = seconds(lambda: full.decision_function(batch, unseen, statistics=prepared))
    return [product, graph, graph / product, prepare, fit, fit_full, score, score_full - common]


def main() -> None:
    """Print the table, each row as soon as it is measured."""
    columns = ("rows", "product", "graph", "graph / product", "prepare U", "fit", "U, 200", "score", "V, 200")
    print("  ".join(columns))
    measure(1000)  # compiles the kernels
    for rows in [int(argument) for argument in sys.argv[1:]] or ROWS:
        cells = (str(rows), *(f"{value:.2f}" for value in measure(rows)))
        print("  ".join(cell.rjust(len(column)) for cell, column in zip(cells, columns, strict=True)), flush=True)


if __name__ == "__main__":
    main()

"""Methods with a graph of the scored rows, by number of rows: an index for neighbours against comparing all pairs.

    python benchmarks/graph_methods.py [--rows 10000 30000 100000 300000] [--exact-up-to 30000] [--scratch /big/folder]

For each number of rows a data set is drawn whose test split has so many rows of 20 unseen classes, beside 8000 rows of
80 seen ones, and each method is evaluated once on the test split in a process of its own, with its default values.
Columns:

fit s       seconds of fitting and scoring, preparation of the graph included, by the clock of the worker
cpu s       processor seconds of all processes of the command
peak GB     the most memory of all processes together (proportional set sizes, sampled)
recall      share of the true neighbours that the index found, for a drawn sample of rows
accuracy    per-class accuracy on the unseen classes

How hard it is to find neighbours depends on the dimension that the rows have ``close by``, not on their columns: its
maximum likelihood estimate (Levina and Bickel, 2004, 20 neighbours, the mean of inverses of MacKay and Ghahramani).
Rows of a class vary in 64 directions, in the j-th with a variance of 1 / j, and a little in all, which makes them as
hard as features of networks: about 30, where 60000 rows of MobileNet have 26, as 7500 of them have, and SURF 31.
``--hard``: alike in all 64 directions, and much in all, about 43.

Where both ways were taken, their accuracies stand one under the other: that is what the index costs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from beyond_memory import measured
from rich.console import Console
from rich.table import Table

SEEN, UNSEEN, SIGNATURES, TRAIN, BLOCK = 80, 20, 85, 8000, 10000
METHODS = ("gfhf", "eszsl-smoothed", "mfmr-joint", "tmv-hlp")


def write_data(folder: Path, rows: int, dimensions: int, seed: int, hard: bool) -> None:
    """Write the data set: a folder of ``.npy`` files, features not negative, classes that overlap."""
    rng = np.random.default_rng([seed, 0])
    apart, noise = (0.2, np.float32(1.0)) if hard else (0.5, np.float32(0.3))
    signatures = rng.random((SEEN + UNSEEN, SIGNATURES))
    means = (signatures - signatures.mean(axis=0)) @ rng.standard_normal((SIGNATURES, dimensions)) * apart
    own = rng.standard_normal(means.shape) * 0.75 * apart  # what the signatures do not tell
    variances = np.ones(64) if hard else 1 / np.arange(1, 65)
    lengths = 0.5 * np.sqrt(variances / variances.mean())
    mixing = (rng.standard_normal((64, dimensions)) * lengths[:, None]).astype(np.float32)
    y = np.concatenate([rng.integers(0, SEEN, TRAIN), rng.integers(SEEN, SEEN + UNSEEN, rows)])
    folder.mkdir(parents=True)
    X = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, (len(y), dimensions))
    for start in range(0, len(y), BLOCK):
        labels = y[start : start + BLOCK]
        block = rng.standard_normal((len(labels), dimensions), dtype=np.float32) * noise
        block += rng.standard_normal((len(labels), 64), dtype=np.float32) @ mixing
        block += (means + own)[labels].astype(np.float32)
        X[start : start + len(labels)] = np.maximum(block, 0)
    X.flush()
    np.save(folder / "labels.npy", y)
    np.save(folder / "signatures.npy", signatures)
    np.savez(folder / "splits.npz", train=np.flatnonzero(y < SEEN), test_unseen=np.flatnonzero(y >= SEEN))


def intrinsic_dimension(X: np.ndarray, neighbours: int = 20, sample: int = 500) -> float:
    """Return the maximum likelihood estimate for rows X (n, d) of length 1, from a drawn sample of them."""
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    drawn = np.random.default_rng(0).permutation(len(X))[:sample]
    cosines = X[drawn] @ X.T
    cosines[np.arange(len(drawn)), drawn] = -1
    near = -np.sort(-np.partition(cosines, -neighbours, axis=1)[:, -neighbours:], axis=1)
    distances = np.sqrt(np.maximum(2 - 2 * near, 1e-12))
    return float(1 / np.mean(np.log(distances[:, -1:] / distances[:, :-1])))


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10000, 30000, 100000, 300000])
    parser.add_argument("--exact-up-to", type=int, default=30000)
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--hard", action="store_true", help="rows that are near many others")
    parser.add_argument("--scratch", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    table = Table(title=f"test split of 20 unseen classes, {asked.dimensions} dimensions")
    for column in ("rows", "close by", "method", "neighbours", "fit s", "cpu s", "peak GB", "recall", "accuracy"):
        table.add_column(column, justify="left" if column in ("method", "neighbours") else "right")
    for rows in asked.rows:
        with tempfile.TemporaryDirectory(dir=asked.scratch) as name:
            original, root, store = (Path(name) / part for part in ("original", "root", "store"))
            write_data(original, rows, asked.dimensions, asked.seed, asked.hard)
            close_by = intrinsic_dimension(np.load(original / "features.npy", mmap_mode="r")[TRAIN:])
            places = {**os.environ, "ZSLPLAT_DATA_ROOT": str(root), "ZSLPLAT_STORE": str(store)}
            program = [sys.executable, "-m", "zslplat"]
            measured([*program, "data", "import", str(original), "--name", "batch", "--link"], places, [], original)
            for method in asked.methods:
                for how in ("exact", "index") if rows <= asked.exact_up_to else ("index",):
                    words = [
                        "run",
                        "-m",
                        f"{method}(neighbours={how})",
                        "-d",
                        "batch",
                        "--test",
                        "--no-model",
                        "--json",
                    ]
                    found = measured([*program, *words], places, [], original)
                    told = json.loads(found.output)
                    seconds = told["folds"][0][0]["seconds"]["fit_and_score"]
                    recall = told["folds"][0][0]["numbers"].get("neighbour_recall")
                    cells = (
                        *(
                            str(rows),
                            f"{close_by:.0f}",
                            method,
                            how,
                            f"{seconds:.1f}",
                            f"{found.cpu:.1f}",
                            f"{found.memory / 1e9:.2f}",
                        ),
                        *("" if recall is None else f"{recall:.4f}", f"{told['metrics'][0][told['primary']]:.4f}"),
                    )
                    table.add_row(*cells)
                    print("\t".join(cells), file=sys.stderr, flush=True)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()

"""Sparse coding on a Gram matrix: zslplat against SPAMS and scikit-learn, exactness beside the time.

    python benchmarks/coding.py                    random data, and Extended Yale B where it is found
    python benchmarks/coding.py --data FOLDER      folder that holds extyaleb.npz
    python benchmarks/coding.py --quick            the two settings of 20 to 40 non-zeros only
    python benchmarks/coding.py table --out DIR    accuracy on Extended Yale B beside the paper's Table 2
    python benchmarks/coding.py digits --out DIR   accuracy on handwritten digits against the number of atoms

``table`` and ``digits`` tune every row on validation folds first (see ``coding_tables.py``) and go on where they were
stopped. What follows is about the first two.

Needs SPAMS for its column (``pip install spams-bin``). Every figure is the best of the repeats in processor time of one
thread, so that other work on the machine disturbs it little; the column for two threads is wall time. ``excess`` is the
largest amount by which a code's objective exceeds that of the best solver, ``gap`` the largest violation of the
optimality conditions.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import coding_tables
import numpy as np
from sklearn.decomposition import sparse_encode
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from zslplat.families.coding.methods.sparse_codes import optimality_gap, sparse_codes
from zslplat.kernels.forms import Gaussian


@dataclass(frozen=True)
class Experiment:
    """One problem: atoms, queries, bandwidth and weight, and whether scikit-learn is tried on it."""

    name: str
    D: np.ndarray
    X: np.ndarray
    beta: float
    gamma: float
    scikit: bool = True


def best_time(run: Callable[[], np.ndarray], repeats: int, clock: Callable[[], float]) -> tuple[float, np.ndarray]:
    """Return the least time of the repeats, and the codes."""
    best, codes = np.inf, np.zeros(0)
    for _ in range(repeats):
        begin = clock()
        codes = run()
        best = min(best, clock() - begin)
    return best, codes


def spams_solver(K: np.ndarray, k: np.ndarray, gamma: float) -> Callable[[], np.ndarray] | None:
    """Return the call of SPAMS' Gram form, None where it is not installed."""
    try:
        import spams
    except ImportError:
        return None
    Q, q = np.asfortranarray(K), np.asfortranarray(k.T)
    return lambda: spams.lasso(q, Q=Q, q=q, lambda1=gamma / 2, mode=2, numThreads=1).T.tocsr()


def measure(experiment: Experiment, repeats: int) -> None:
    """Print one line per solver."""
    kernel = Gaussian(sigma=float(np.sqrt(0.5 / experiment.beta)))
    K, k = kernel(experiment.D), kernel(experiment.X, experiment.D)
    gamma = experiment.gamma
    algorithm = {"gram": K, "cov": k.T.copy(), "alpha": gamma / 2, "max_iter": 1000}
    sparse_codes(K, k[:2], gamma)  # compile
    solvers: dict[str, tuple[Callable[[], np.ndarray], int]] = {"zslplat": (lambda: sparse_codes(K, k, gamma), repeats)}
    spams_call = spams_solver(K, k, gamma)
    if spams_call is not None:
        solvers["spams"] = (spams_call, repeats)
    if experiment.scikit:
        # Coordinate descent wants vectors: those of the root of K, which have the same inner products.
        w, U = np.linalg.eigh(K)
        root = U * np.sqrt(np.maximum(w, 1e-12 * w[-1]))
        vectors = np.linalg.solve(root, k.T).T
        for name in ("lasso_lars", "lasso_cd"):
            solvers[f"sklearn {name}"] = (partial(sparse_encode, vectors, root, algorithm=name, **algorithm), 1)
    results = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, (run, count) in solvers.items():
            seconds, codes = best_time(run, count, time.process_time)
            dense = codes if isinstance(codes, np.ndarray) else codes.toarray()
            results[name] = (seconds, dense)
    two, _ = best_time(lambda: sparse_codes(K, k, gamma, threads=2), repeats, time.perf_counter)
    one, _ = best_time(lambda: sparse_codes(K, k, gamma, threads=1), repeats, time.perf_counter)
    objectives = {
        name: np.einsum("ij,ij->i", codes @ K, codes)
        - 2 * np.einsum("ij,ij->i", codes, k)
        + gamma * np.abs(codes).sum(axis=1)
        for name, (_, codes) in results.items()
    }
    best = np.min(list(objectives.values()), axis=0)
    reference = results["zslplat"][0]
    nonzeros = np.count_nonzero(results["zslplat"][1]) / len(k)
    print(
        f"\n{experiment.name}: {len(k)} queries, {len(K)} atoms, beta={experiment.beta:g}, gamma={gamma:g}, "
        f"{nonzeros:.0f} non-zeros, condition {np.linalg.cond(K):.0e}; wall time {one:.3f} s with one thread, "
        f"{two:.3f} s with two"
    )
    for name, (seconds, codes) in results.items():
        print(
            f"  {name:20s} {seconds:9.4f} s  x{seconds / reference:7.1f}  "
            f"excess {np.max(objectives[name] - best):.0e}  gap {optimality_gap(K, k, codes, gamma).max():.0e}"
        )


def settings(folder: Path, quick: bool) -> list[Experiment]:
    """Return the problems: random directions, and faces where the file is found."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(1570, 64))
    R /= np.linalg.norm(R, axis=1, keepdims=True)
    found = [Experiment("random", R[:570], R[570:], 0.5, 0.15), Experiment("random", R[:570], R[570:], 0.5, 0.25)]
    file = folder / "extyaleb.npz"
    if not file.is_file():
        print(f"no {file}; random data only")
        return found
    with np.load(file) as data:
        X, train = data["rf504"].astype(np.float64), data["train32"]
    atoms, queries = rng.permutation(X[train]), rng.permutation(X[~train])[:1000]
    D = atoms[:570]
    found += [Experiment("faces", D, queries, 0.413, 0.01), Experiment("faces", D, queries, 1.38, 0.05)]
    if not quick:
        found += [
            Experiment("faces", D, queries, 0.413, 0.05),
            Experiment("faces", D, queries, 1.38, 0.01),
            Experiment("faces", atoms[:1200], queries[:100], 0.131, 0.0001, scikit=False),
            Experiment("faces", atoms[:1200], queries[:100], 1.38, 0.001, scikit=False),
        ]
    return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parents[2] / "shared" / "data")) / "coding"
    parser.add_argument("command", nargs="?", default="solver", choices=("solver", "table", "digits"))
    parser.add_argument("--data", type=Path, default=default, help="folder that holds extyaleb.npz, coil20_rcm25.npz")
    parser.add_argument("--out", type=Path, default=Path("coding-results"), help="folder of tables, figures and store")
    parser.add_argument("--splits", type=int, default=3, help="digits: number of splits")
    parser.add_argument("--trials", type=int, default=6, help="digits: trials of each method and split")
    parser.add_argument("--per-class", type=int, default=60, help="digits: training rows of every class")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.command == "table":
        return coding_tables.table(options.out, options.data)
    if options.command == "digits":
        return coding_tables.digits(options.out, options.splits, options.trials, options.per_class)
    with threadpool_limits(1):
        for experiment in settings(options.data, options.quick):
            measure(experiment, options.repeats)


if __name__ == "__main__":
    main()

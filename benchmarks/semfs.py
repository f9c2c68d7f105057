"""SemFS beside its baselines: agreement of clusters with unseen classes, and time and memory at the paper's scale.

    python benchmarks/semfs.py speed
    python benchmarks/semfs.py curves --data FOLDER --out RESULTS [SET ...]

``curves`` runs the protocol of the paper in full: every method ranks the features on the seen classes, k-means clusters
all unseen rows on the best 5, 10, ..., 50 of them from 20 random starts, and the averages over starts are compared over
several seen/unseen splits. Sets: isolet, digit-pairs, awa1, cifar100-att, cifar100-hier, and isolet-pairs, which takes
each of the 45 pairs of ten letters as the seen classes (default: all). RESULTS gets for each set a CSV (method, split,
features, acc, nmi_max, nmi_arithmetic, parameters, seconds) and a figure, and ``summary.md``: semfs against every other
method, with a paired interval over splits. The same command continues where it was stopped. About an hour on one
core for everything, most of it k-means on the 12000 unseen rows of CIFAR100.

The first split is the data set's own, the others draw their unseen classes from all classes (digit-pairs draws a new
data set). Hyperparameters of tuned methods come from class-disjoint validation folds of the seen classes of the split;
the unseen rows are scored once per method and split. Two seen classes leave none to validate on, so pairs run at fixed
hyperparameters. Rows are clustered on features as they are (``--scaling`` for others), for all methods alike;
histograms (awa1) are square roots of shares throughout. FOLDER holds data sets in the xlsa17 layout. Run with
OPENBLAS_NUM_THREADS=1 for one core.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import semfs_curves

from zslplat.families.selection.methods.mcfs import MCFS
from zslplat.families.selection.methods.semfs import SemFS


@contextmanager
def measured(what: str) -> Iterator[dict[str, float]]:
    """Print process seconds and the highest memory above the start, watched every 5 ms."""
    result: dict[str, float] = {}
    stop, start = threading.Event(), _resident()
    highest = [start]

    def watch() -> None:
        while not stop.wait(0.005):
            highest[0] = max(highest[0], _resident())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    before = time.process_time()
    yield result
    result["seconds"] = time.process_time() - before
    stop.set()
    watcher.join()
    result["megabytes"] = (highest[0] - start) / 2**20
    print(f"{what:58s} {result['seconds']:7.2f} s  {result['megabytes']:7.0f} MiB above the start", flush=True)


def _resident() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


def speed(arguments: argparse.Namespace) -> None:
    """Time one fit and 20 further settings on synthetic rows, beside MCFS and scikit-learn's LASSO path."""
    from sklearn.linear_model import lasso_path

    n, d, m, c = arguments.n, arguments.d, arguments.attributes, arguments.classes
    generator = np.random.default_rng(0)
    S = (generator.random((c, m)) < 0.3).astype(np.float64)
    y = np.sort(np.r_[np.arange(c), generator.integers(0, c, n - c)])
    loadings = generator.normal(size=(m, d)).astype(np.float32)
    loadings[:, d // 4 :] = 0
    X = 0.1 * (S.astype(np.float32) @ loadings)[y] + generator.standard_normal((n, d), dtype=np.float32)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    small = slice(0, 200)
    SemFS(variant="convex", k=10).fit(X[small, :50], np.arange(200) % 5, S[:5])  # compiles, before the clock starts
    print(f"n={n} d={d} attributes={m} classes={c}; Gram matrix {d * d * 8 / 2**20:.0f} MiB")
    with measured("statistics, one pass") as first:
        statistics = SemFS().prepare_fit(X, y, S, space={})
    with measured("semfs, first experiment, from the statistics") as fit:
        selector = SemFS().fit(X, y, S, statistics=statistics)
    found = float(np.mean(selector.ranking_[:50] < d // 4))
    print(
        f"  informative among the best 50: {found:.2f}; first fit altogether {first['seconds'] + fit['seconds']:.2f} s"
    )
    settings = [(alpha, gamma, k) for alpha in (0.1, 1.0) for k in (20, 50) for gamma in (100.0, 30.0, 10.0, 5.0, 3.0)]
    with measured(f"semfs, {len(settings)} further convex settings, cold"):
        for alpha, gamma, k in settings:
            SemFS(variant="convex", alpha=alpha, gamma=gamma, k=k).fit(X, y, S, statistics=statistics)
    warm = SemFS(variant="convex", warm_start=True)
    with measured(f"semfs, {len(settings)} further convex settings, warm starts"):
        for alpha, gamma, k in settings:
            warm.set_params(alpha=alpha, gamma=gamma, k=k).fit(X, y, S, statistics=statistics)
    with measured("semfs sum, from the statistics"):
        SemFS(variant="sum", gamma=0.1).fit(X, y, S, statistics=statistics)
    with measured("semfs ridge, from the statistics"):
        SemFS(variant="ridge").fit(X, y, S, statistics=statistics)
    del statistics
    rows = np.sort(generator.permutation(n)[: arguments.rows_of_others])
    with measured(f"mcfs on {len(rows)} rows"):
        MCFS(rows=None, clusters=min(c, 100)).fit(
            X[rows], np.unique(y[rows], return_inverse=True)[1], S[np.unique(y[rows])]
        )
    with measured(f"scikit-learn lasso_path, 1 of {m} attributes, {len(rows)} rows"):
        lasso_path(X[rows].astype(np.float64), S[y[rows], 0] - S[y[rows], 0].mean(), alphas=21, eps=1e-2)


def main() -> None:
    """Read the command line and run one of the two parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    part = commands.add_parser("speed")
    part.add_argument("--n", type=int, default=14000)
    part.add_argument("--d", type=int, default=4096)
    part.add_argument("--attributes", type=int, default=102)
    part.add_argument("--classes", type=int, default=707)
    part.add_argument("--rows-of-others", type=int, default=4000)
    part.set_defaults(run=speed)
    part = commands.add_parser("curves")
    part.add_argument("sets", nargs="*", metavar="SET", help="data sets (default: all)")
    part.add_argument("--data", required=True, help="folder of the data sets")
    part.add_argument("--out", required=True, help="folder of the results")
    part.add_argument("--methods", nargs="+", choices=list(semfs_curves.METHODS), metavar="METHOD")
    part.add_argument("--splits", type=int, help="splits of every set, in place of its own number")
    part.add_argument("--rows", type=int, help="unseen rows clustered at most (default: all)")
    part.add_argument("--repeats", type=int, default=20, help="random starts of k-means")
    part.add_argument("--scaling", default="none", help="steps applied to the clustered rows")
    part.set_defaults(run=semfs_curves.curves)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()

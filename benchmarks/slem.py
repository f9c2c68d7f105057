"""Exemplar machines: speed against BLAS and against exemplar SVMs, memory against the number of negatives, accuracy.

    python benchmarks/slem.py speed                      encoding and scoring rates, one thread
    python benchmarks/slem.py scale                      fit time and peak memory at 10^4 .. 10^5 negatives, rank 1000
    python benchmarks/slem.py accuracy FILE.npz [--features rf504 --labels label]
    python benchmarks/slem.py accuracy --xlsa17 FOLDER/CIFAR100 --features mnv2

Times are process times of one run, the best of five taking turns; what matters are the ratios inside one run.
``accuracy`` draws the classes of the negatives several times. In each draw it chooses every hyperparameter on
validation classes inside those of the negatives, and looks at the test classes once per row of its table, so that no
draw sees another's. Intervals are of the mean over draws, by queries and draws that are drawn anew, alike for all rows.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from zslplat.data.dataset import Dataset
from zslplat.data.source import DataPlaces
from zslplat.data.store.preprocessing import apply_steps
from zslplat.families.exemplars.methods.base import ExemplarMethod
from zslplat.families.exemplars.methods.baselines import Cosine, ExemplarSVM, Whitening
from zslplat.families.exemplars.methods.kslem import KernelSLEM
from zslplat.families.exemplars.methods.slem import SLEM
from zslplat.families.exemplars.task import SCORES, ExemplarRetrieval
from zslplat.kernels.scales import median_distance
from zslplat.statistics import estimate_mean
from zslplat.tasks.base import Problem, prefixed


def seconds(*works: Callable[[], object], repeats: int = 5) -> list[float]:
    """Return the process time of the fastest run of each piece of work; they take turns."""
    best = [np.inf] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            start = time.process_time()
            work()
            best[i] = min(best[i], time.process_time() - start)
    return best


def rows(n: int, d: int, seed: int) -> np.ndarray:
    """Return n unit rows (n, d) with a decaying spectrum."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(1, 0.05, d)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def speed(d: int = 512, negatives: int = 5000, rank: int = 1000) -> None:
    """Print rates of encoding and scoring beside the same matrix products alone, and exemplar SVMs on a sample."""
    pool, X, gallery, queries = rows(negatives, d, 0), rows(8192, d, 1), rows(20000, d, 2), rows(500, d, 3)
    linear = SLEM(lam=1e-3).fit(pool)
    kernel = KernelSLEM("gaussian", lam=1e-3, rank=rank).fit(pool)
    svm = ExemplarSVM().fit(pool)
    G, T = np.ascontiguousarray(kernel.landmarks_.T), np.empty((len(X), rank))
    K = np.empty((len(X), rank))

    def kernel_products() -> None:
        np.matmul(X, G, out=K)
        np.matmul(K, kernel.map_, out=T)

    print(f"one thread, {negatives} negatives, d = {d}, rank {rank}; exemplars encoded per second")
    own, products = seconds(lambda: linear.encode(X), lambda: X @ linear.directions_)
    print(
        f"  slem          {len(X) / own:>10.0f}   its products {len(X) / products:>10.0f}   ratio {own / products:.2f}"
    )
    own, products = seconds(lambda: kernel.encode(X), kernel_products)
    print(
        f"  kslem         {len(X) / own:>10.0f}   its products {len(X) / products:>10.0f}   ratio {own / products:.2f}"
    )
    sample = 20
    (own,) = seconds(lambda: svm.encode(X[:sample]), repeats=1)
    print(f"  exemplar-svm  {sample / own:>10.1f}   (a sample of {sample})")

    print(f"queries scored per second, {len(gallery)} rows in the gallery, {len(queries)} queries at once")
    for name, method, width in (("slem", linear, d), ("kslem", kernel, rank)):
        A, B = method.encode(queries), method.encode(gallery)
        left, right = np.ascontiguousarray(A.vectors), B.vectors
        own, products, block = seconds(
            lambda m=method, A=A, B=B: m.similarity(A, B), lambda a=left, b=right: a @ b.T, lambda: queries @ gallery.T
        )
        products += block if name == "kslem" else 0
        rates = f"{len(queries) / own:>10.0f}   its products {len(queries) / products:>10.0f}"
        print(f"  {name:<13} {rates}   ratio {own / products:.2f}   (vectors of {width})")


class GeneratedPool:
    """Negatives that are made block by block each time they are read, so that only the method holds memory."""

    def __init__(self, n: int, d: int, block: int = 4096) -> None:
        self.sizes, self.d = [min(block, n - i) for i in range(0, n, block)], d

    def __iter__(self) -> Iterator[np.ndarray]:
        for number, size in enumerate(self.sizes):
            yield rows(size, self.d, 1000 + number)


def scale_one(n: int, rank: int, d: int) -> None:
    """Fit on n generated negatives; print n, process seconds (less generation) and peak resident MiB."""
    pool = GeneratedPool(n, d)
    (generation,) = seconds(lambda: [block.sum() for block in pool], repeats=1)
    before = _peak()
    method = KernelSLEM("gaussian(sigma=1.0)", rank=rank)
    start = time.process_time()
    method.fit(pool)
    # The pool is read four times: counted twice, candidates are gathered from it, and it is summed up.
    spent = time.process_time() - start - 4 * generation
    print(f"{n:>8} {spent:>10.1f} {spent / n * 1e4:>14.2f} {before:>12.0f} {_peak():>12.0f}", flush=True)


def _peak() -> float:
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024


def scale(rank: int = 1000, d: int = 256) -> None:
    """Print fit time and peak memory for growing pools, each in a process of its own."""
    print(f"kslem, rank {rank}, d = {d}, negatives in blocks, pivots among 8192 drawn rows")
    print(f"{'n':>8} {'seconds':>10} {'s per 10^4':>14} {'MiB before':>12} {'peak MiB':>12}")
    for n in (10_000, 20_000, 50_000, 100_000):
        subprocess.run([sys.executable, __file__, "scale-one", str(n), str(rank), str(d)], check=True)


# Lists of methods that share their statistics, as they differ in what is not prepared.
Settings = list[list[ExemplarMethod]]


def accuracy(
    data: Dataset, negatives: int | None, queries: int, penalties: int, draws: int, ranks: list[int | None], svm: bool
) -> None:
    """Print mean test mAP over draws of every method at the hyperparameters that are best on validation classes."""
    given = {"train", "test_unseen"} <= set(data.splits)
    folds: list[list[Problem]] = []
    tests: list[Problem] = []
    for number in range(1 if given else draws):
        task = ExemplarRetrieval(queries=queries, split_seed=number)
        validation = ExemplarRetrieval(queries=min(queries, 300), split_seed=number).validation(data)
        folds.append([_prepared(p, negatives) for p in validation])
        tests.append(_prepared(task.test(data), negatives))
    sizes = [(len(p.inputs["X"]), len(p.inputs["gallery"])) for p in tests]
    chance = np.mean([ExemplarRetrieval().chance(p) for p in tests])
    print(f"{data.name}: negatives and gallery of each draw {sizes}; chance {chance:.3f}")
    lams = np.logspace(-6, 1, penalties).tolist()
    shrunk = np.logspace(-4, 0, 9).tolist()
    medians = [median_distance(p.inputs["X"]) for p in tests]

    def kernels(draw: int, rank: int | None) -> Settings:
        sigmas = [share * medians[draw] for share in (0.5, 1, 2, 4, 8)]
        return [[KernelSLEM(f"gaussian(sigma={s!r})", lam, rank=rank) for lam in lams] for s in sigmas]

    rows: dict[str, Callable[[int], Settings]] = {
        "cosine": lambda draw: [[Cosine(c)] for c in (False, True)],
        "slem": lambda draw: [[SLEM(lam) for lam in lams]],
        "whitening": lambda draw: [[Whitening(f, s) for s in shrunk] for f in ("whiten", "lda")],
    }
    ranks = [rank for rank in ranks if rank is not None or max(n for n, _ in sizes) <= 8192]
    for rank in ranks:
        rows[f"kslem rank {rank or 'full'}"] = lambda draw, rank=rank: kernels(draw, rank)
    if svm:
        rows["exemplar-svm"] = lambda draw: [
            [ExemplarSVM(C, weight)] for C, weight in itertools.product((0.1, 1, 10), (1, 10))
        ]
    found = {name: _row(name, settings, folds, tests) for name, settings in rows.items()}
    by_rank = [found[f"kslem rank {rank or 'full'}"] for rank in ranks]
    if len(ranks) > 1:
        found["kslem"] = [max(choices, key=lambda choice: choice[0]) for choices in zip(*by_rank, strict=True)]
    _print_table(found)


def _prepared(problem: Problem, negatives: int | None) -> Problem:
    X = problem.inputs["X"]
    if negatives is not None and len(X) > negatives:
        X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:negatives])]
    X, gallery = apply_steps(("l2",), X, problem.inputs["gallery"])
    return Problem(problem.name, {**problem.inputs, "X": X, "gallery": gallery}, problem.truth, problem.meta)


def _row(
    name: str, settings: Callable[[int], Settings], folds: list[list[Problem]], tests: list[Problem]
) -> list[tuple[float, float]]:
    """Return the best validation value and its mAP on the test for every draw; statistics are shared."""
    start = time.process_time()
    chosen = []
    for draw, (validation, test) in enumerate(zip(folds, tests, strict=True)):
        best: tuple[float, ExemplarMethod] | None = None
        for methods in settings(draw):
            scores = np.mean([_scores(methods, problem) for problem in validation], axis=0)
            winner = int(np.argmax(scores))
            if best is None or scores[winner] > best[0]:
                best = (float(scores[winner]), methods[winner])
        assert best is not None
        task = ExemplarRetrieval()
        output = next(iter(task.run(best[1], test, {})))[1]
        value = task.score(test, output, {}, full=False).metrics["mAP"]
        print(f"{name:<16} draw {draw + 1}: validation {best[0]:.3f}  test {value:.3f}  {best[1]}", flush=True)
        chosen.append((best[0], value))
    print(f"{name:<16} {time.process_time() - start:.0f} s", flush=True)
    return chosen


def _print_table(found: dict[str, list[tuple[float, float]]]) -> None:
    """Print the mean over draws of every row and its difference from slem, with 95 % intervals over the draws."""
    scored = {name: np.array([value for _, value in draws]) for name, draws in found.items()}
    print(f"{'':<16} {'mAP':>6}  {'95% interval':<14}  {'from slem':>9}  95% interval")
    for name, values in scored.items():
        (low, high), gap = estimate_mean(values).ends, estimate_mean(values - scored["slem"])
        line = f"{name:<16} {values.mean():6.3f}  {low:.3f} .. {high:.3f}"
        print(line + ("" if name == "slem" else f"  {gap.estimate:+9.3f}  {gap.ends[0]:+.3f} .. {gap.ends[1]:+.3f}"))


def _scores(methods: list[ExemplarMethod], problem: Problem) -> list[float]:
    """Return mAP of each method; the first one's statistics serve all, as they differ in what is not prepared."""
    task = ExemplarRetrieval()
    first, X, gallery = methods[0], problem.inputs["X"], problem.inputs["gallery"]
    fitted = first.prepare_fit(X, space={})
    scored = first.prepare_score(gallery, space={}, statistics=fitted)
    statistics = prefixed("fit/", fitted) | prefixed("score/", scored)
    values = []
    for method in methods:
        output = next(iter(task.run(method, problem, statistics)))[1]
        values.append(task.score(problem, {SCORES: output[SCORES]}, {}, full=False).metrics["mAP"])
    return values


def _load(arguments: argparse.Namespace) -> Dataset:
    if arguments.xlsa17 is not None:
        from zslplat.data.formats.xlsa17 import Xlsa17

        folder = arguments.xlsa17
        source = Xlsa17(path=folder.name, features=arguments.features)
        return source.load(DataPlaces(folder.parent))
    with np.load(arguments.file) as archive:
        X, labels = archive[arguments.features], archive[arguments.labels]
    names, y = np.unique(labels, return_inverse=True)
    return Dataset(arguments.file.stem, X, y, tuple(map(str, names)))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("speed")
    commands.add_parser("scale")
    one = commands.add_parser("scale-one")
    for name in ("n", "rank", "d"):
        one.add_argument(name, type=int)
    measured = commands.add_parser("accuracy")
    measured.add_argument("file", type=Path, nargs="?")
    measured.add_argument("--xlsa17", type=Path)
    measured.add_argument("--features", default="rf504")
    measured.add_argument("--labels", default="label")
    measured.add_argument("--negatives", type=int, help="draw so many negatives")
    measured.add_argument("--queries", type=int, default=2000)
    measured.add_argument("--draws", type=int, default=5, help="draws of the classes of the negatives")
    measured.add_argument(
        "--penalties", type=int, default=15, help="values of lambda from 1e-6 to 10 times the variance"
    )
    measured.add_argument("--ranks", nargs="+", default=["50", "200", "600", "full"], help="ranks of kslem")
    measured.add_argument("--svm", action="store_true", help="exemplar SVMs too: minutes")
    arguments = parser.parse_args()
    threadpool_limits(1)
    if arguments.command == "speed":
        speed()
    elif arguments.command == "scale":
        scale()
    elif arguments.command == "scale-one":
        scale_one(arguments.n, arguments.rank, arguments.d)
    else:
        data, a = _load(arguments), arguments
        ranks = [None if rank == "full" else int(rank) for rank in a.ranks]
        accuracy(data, a.negatives, a.queries, a.penalties, a.draws, ranks, a.svm)


if __name__ == "__main__":
    main()

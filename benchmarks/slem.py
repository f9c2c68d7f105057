"""Exemplar machines: speed against BLAS and against exemplar SVMs, memory against the number of negatives, accuracy.

    python benchmarks/slem.py speed                      encoding and scoring rates, one thread
    python benchmarks/slem.py scale                      fit time and peak memory at 10^4 .. 10^5 negatives, rank 1000
    python benchmarks/slem.py accuracy FILE.npz [--features rf504 --labels label]
    python benchmarks/slem.py accuracy --xlsa17 FOLDER/CIFAR100 --features mnv2

Times are process times of one run, the best of five taking turns; what matters are the ratios inside one run.
``accuracy`` chooses every hyperparameter on validation classes inside those of the negatives; the test classes are
looked at once per row of its table.
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
from zslplat.data.preprocessing import apply_steps
from zslplat.data.source import DataPlaces
from zslplat.exemplars.base import ExemplarMethod
from zslplat.exemplars.cosine import Cosine
from zslplat.exemplars.exemplar_svm import ExemplarSVM
from zslplat.exemplars.kslem import KernelSLEM
from zslplat.exemplars.slem import SLEM
from zslplat.exemplars.whitening import Whitening
from zslplat.tasks.base import Problem
from zslplat.tasks.exemplar_retrieval import SCORES, ExemplarRetrieval


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


def accuracy(data: Dataset, negatives: int | None, queries: int, penalties: int, svm: bool) -> None:
    """Print test mAP of every method at the hyperparameters that are best on validation classes."""
    validation = ExemplarRetrieval(queries=min(queries, 300)).validation(data)
    task = ExemplarRetrieval(queries=queries)
    test = task.test(data)
    problems = [_prepared(p, negatives) for p in (*validation, test)]
    lams = np.logspace(-7, 0, penalties).tolist()
    chance = task.chance(problems[-1])
    sizes = [(len(p.inputs["X"]), len(p.inputs["gallery"])) for p in problems]
    print(f"{data.name}: negatives and gallery per fold {sizes[:-1]}, test {sizes[-1]}; chance {chance:.3f}")
    _row("cosine", [("center", c, [Cosine(c)]) for c in (False, True)], problems)
    _row("slem", [("", "", [SLEM(lam) for lam in lams])], problems)
    shrunk = np.logspace(-4, 0, 9).tolist()
    _row("whitening", [("form", f, [Whitening(f, s) for s in shrunk]) for f in ("whiten", "lda")], problems)
    for rank in (50, 200, 600, None):
        if rank is None and sizes[-1][0] > 8192:
            print("kslem rank full: left out above 8192 negatives")
            continue
        settings = [
            ("sigma", sigma, [KernelSLEM(f"gaussian(sigma={sigma})", lam, rank=rank) for lam in lams])
            for sigma in (1.0, 2.0, 4.0, 8.0)
        ]
        _row(f"kslem rank {rank or 'full'}", settings, problems)
    if svm:
        grid = [("C, weight", (C, w), [ExemplarSVM(C, w)]) for C, w in itertools.product((0.1, 1, 10), (1, 10))]
        _row("exemplar-svm", grid, problems)


def _prepared(problem: Problem, negatives: int | None) -> Problem:
    X = problem.inputs["X"]
    if negatives is not None and len(X) > negatives:
        X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:negatives])]
    X, gallery = apply_steps(("l2",), X, problem.inputs["gallery"])
    return Problem(problem.name, {**problem.inputs, "X": X, "gallery": gallery}, problem.truth, problem.meta)


def _row(name: str, settings: list[tuple[str, object, list[ExemplarMethod]]], problems: list[Problem]) -> None:
    """Validate every setting, print the test score of the best; the methods of one setting share their statistics."""
    start = time.process_time()
    best: tuple[float, str, object, ExemplarMethod] | None = None
    for label, value, methods in settings:
        scores = np.mean([_scores(methods, problem) for problem in problems[:-1]], axis=0)
        winner = int(np.argmax(scores))
        if best is None or scores[winner] > best[0]:
            best = (float(scores[winner]), label, value, methods[winner])
    assert best is not None
    validated, _, _, method = best
    tested = _scores([method], problems[-1])[0]
    spent = time.process_time() - start
    print(f"{name:<16} validation {validated:.3f}  test {tested:.3f}  {method}  ({spent:.0f} s)", flush=True)


def _scores(methods: list[ExemplarMethod], problem: Problem) -> list[float]:
    """Return mAP of each method; the first one's statistics serve all, as they differ in what is not prepared."""
    task = ExemplarRetrieval()
    first, X, gallery = methods[0], problem.inputs["X"], problem.inputs["gallery"]
    fitted = first.prepare_fit(X, space={})
    scored = first.prepare_score(gallery, space={}, statistics=fitted)
    statistics = {f"fit/{k}": v for k, v in fitted.items()} | {f"score/{k}": v for k, v in scored.items()}
    values = []
    for method in methods:
        output = next(iter(task.run(method, problem, statistics)))[1]
        values.append(task.score(problem, {SCORES: output[SCORES]}, {}, full=False).metrics["mAP"])
    return values


def _load(arguments: argparse.Namespace) -> Dataset:
    if arguments.xlsa17 is not None:
        from zslplat.data.xlsa17 import Xlsa17

        folder = arguments.xlsa17
        source = Xlsa17(folder=folder.name, features=arguments.features)
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
    measured.add_argument("--penalties", type=int, default=15, help="values of lambda from 1e-7 to 1")
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
        accuracy(data, a.negatives, a.queries, a.penalties, a.svm)


if __name__ == "__main__":
    main()

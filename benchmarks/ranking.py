"""Speed of the ranking methods at the size of CIFAR100: one epoch in mini-batches against one row at a time.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/ranking.py
    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/ranking.py --data-root DIR

40000 rows x 1280 features, 80 classes, 100 attributes: made data, or CIFAR100 itself (``CIFAR100/mnv2.mat`` below the
data root) preprocessed as each method asks. Made rows are a noisy image of their class's signature, with so much noise
that most rows keep a violator: steps that need not be taken would flatter both sides.

All sides take the same losses, and start after one epoch of training. One row at a time comes in four forms:

``codes``   as public codes have it, rewritten in NumPy: double precision; ALE and DeViSE go class by class, with a step
            for each violator, SJE and LatEm take one step on one class
``outer``   single precision, no loop over classes: all compatibilities as one product, then W += np.outer(x, step)
``buffer``  the same with the outer product in an array that is there already
``ger``     the same with the outer product added to W in place by BLAS, the fastest form that was found

They are timed over a part of the epoch (``--rows``; of ``codes`` a twentieth of that) and scaled to all rows; the
mini-batches go through the whole epoch. Each is timed several times in turn; medians are shown, in seconds an epoch,
with their ratios to the mini-batches. Times are processor times of the one thread that works, which other programs
disturb less than wall time. The floor is what the products X_b W and X_b'R take by themselves, in as many attributes as
the data have, for rows that all have a loss.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from scipy import io
from scipy.linalg import blas
from threadpoolctl import threadpool_limits

from zslplat.data.store.preprocessing import apply_steps
from zslplat.families.zero_shot.methods.ranking.estimator import RankingMethod, harmonic
from zslplat.families.zero_shot.methods.ranking.methods import ALE, SJE, DeViSE, LatEm

N, D, A, C = 40000, 1280, 100, 80

# Adds weight times the outer product of x (d,) and r (a,) to W (d, a), in place.
Add = Callable[[np.ndarray, float, np.ndarray, np.ndarray], None]


def made() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows (n, d), labels and signatures (c, a) in single precision."""
    random = np.random.default_rng(0)
    S = random.standard_normal((C, A), dtype=np.float32)
    y = random.integers(0, C, N)
    X = S[y] @ random.standard_normal((A, D), dtype=np.float32)
    X += 150 * random.standard_normal((N, D), dtype=np.float32)
    return X, y, S


def cifar(root: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of the seen classes of CIFAR100, labels from 0, and the signatures of these classes."""
    data, splits = io.loadmat(root / "CIFAR100" / "mnv2.mat"), io.loadmat(root / "CIFAR100" / "att_splits.mat")
    rows = splits["trainval_loc"].ravel().astype(np.int64) - 1
    classes, y = np.unique(data["labels"].ravel().astype(np.int64)[rows] - 1, return_inverse=True)
    return data["features"].T[rows].astype(np.float32), y, splits["att"].T[classes].astype(np.float32)


class AsPublicCodes:
    """The losses of the methods as their public codes go about them, in double precision; W changes in place."""

    def __init__(self, method: RankingMethod, W: np.ndarray, S: np.ndarray, rate: float) -> None:
        self.margin, self.S, self.rate = method.margin, S.astype(np.float64), rate
        self.maps = list(W.reshape(method.maps, *W.shape[-2:]).astype(np.float64))
        self.beta = harmonic(len(S))
        self.random = np.random.default_rng(0)
        self.step = {ALE: self._all, DeViSE: self._all, SJE: self._worst, LatEm: self._drawn}[type(method)]
        self.weighted = isinstance(method, ALE)

    def pass_over(self, X: np.ndarray, y: list[int]) -> None:
        """Take a step for each row in turn."""
        for x, label in zip(X.astype(np.float64), y, strict=True):
            self.step(x, label)

    def _all(self, x: np.ndarray, label: int) -> None:
        W, S = self.maps[0], self.S
        projected = x @ W
        right = projected @ S[label]
        violators = [c for c in range(len(S)) if c != label and self.margin + projected @ S[c] - right > 0]
        weight = self.beta[len(violators)] / max(1, len(violators)) if self.weighted else 1.0
        for c in violators:
            W += self.rate * weight * np.outer(x, S[label] - S[c])

    def _worst(self, x: np.ndarray, label: int) -> None:
        scores = x @ self.maps[0] @ self.S.T
        scores[label] -= self.margin
        worst = int(np.argmax(scores))
        if worst != label:
            self.maps[0] += self.rate * np.outer(x, self.S[label] - self.S[worst])

    def _drawn(self, x: np.ndarray, label: int) -> None:
        wrong = label
        while wrong == label:
            wrong = int(self.random.integers(len(self.S)))
        F_c, F_y = ([x @ W @ self.S[c] for W in self.maps] for c in (wrong, label))
        k_c, k_y = int(np.argmax(F_c)), int(np.argmax(F_y))
        if F_c[k_c] + self.margin > F_y[k_y]:
            if k_c == k_y:
                self.maps[k_c] -= self.rate * np.outer(x, self.S[wrong] - self.S[label])
            else:
                self.maps[k_c] -= self.rate * np.outer(x, self.S[wrong])
                self.maps[k_y] += self.rate * np.outer(x, self.S[label])


class OneRowAtATime:
    """The losses of the methods in NumPy without a loop over classes, a step for one row; W changes in place."""

    def __init__(self, method: RankingMethod, W: np.ndarray, S: np.ndarray, rate: float, add: Add) -> None:
        self.margin, self.S, self.rate, self.add = np.float32(method.margin), S, rate, add
        self.maps = list(W.reshape(method.maps, *W.shape[-2:]).copy())
        self.beta = harmonic(len(S)).astype(np.float32)
        self.random = np.random.default_rng(0)
        self.step = {ALE: self._ale, DeViSE: self._devise, SJE: self._sje, LatEm: self._latem}[type(method)]

    def pass_over(self, X: np.ndarray, y: list[int]) -> None:
        """Take a step for each row in turn."""
        for x, label in zip(X, y, strict=True):
            self.step(x, label)

    def _ale(self, x: np.ndarray, label: int) -> None:
        violators, r = self._violators(x, label)
        if r:
            self._move(x, label, violators, r, float(self.beta[r]) / r)

    def _devise(self, x: np.ndarray, label: int) -> None:
        violators, r = self._violators(x, label)
        if r:
            self._move(x, label, violators, r, 1.0)

    def _violators(self, x: np.ndarray, label: int) -> tuple[np.ndarray, int]:
        F = self.S @ (x @ self.maps[0])
        violators = F[label] - self.margin < F
        violators[label] = False
        return violators, int(np.count_nonzero(violators))

    def _move(self, x: np.ndarray, label: int, violators: np.ndarray, r: int, weight: float) -> None:
        self.add(self.maps[0], -self.rate * weight, x, violators @ self.S - r * self.S[label])

    def _sje(self, x: np.ndarray, label: int) -> None:
        F = self.S @ (x @ self.maps[0])
        F[label] -= self.margin
        worst = int(F.argmax())
        if worst != label:
            self.add(self.maps[0], -self.rate, x, self.S[worst] - self.S[label])

    def _latem(self, x: np.ndarray, label: int) -> None:
        wrong = int(self.random.integers(len(self.S) - 1))
        wrong += wrong >= label
        s_c, s_y = self.S[wrong], self.S[label]
        projected = [x @ W for W in self.maps]
        F_c, F_y = [float(p @ s_c) for p in projected], [float(p @ s_y) for p in projected]
        k_c, k_y = int(np.argmax(F_c)), int(np.argmax(F_y))
        if F_c[k_c] + self.margin <= F_y[k_y]:
            return
        if k_c == k_y:
            self.add(self.maps[k_c], -self.rate, x, s_c - s_y)
        else:
            self.add(self.maps[k_c], -self.rate, x, s_c)
            self.add(self.maps[k_y], self.rate, x, s_y)


def by_outer(W: np.ndarray, weight: float, x: np.ndarray, r: np.ndarray) -> None:
    """Add the outer product to W."""
    W += np.outer(x, np.float32(weight) * r)


def by_buffer() -> Add:
    """Return the outer product into a buffer, then a sum."""
    buffer = np.empty((D, A), dtype=np.float32)

    def add(W: np.ndarray, weight: float, x: np.ndarray, r: np.ndarray) -> None:
        np.outer(x, np.float32(weight) * r, out=buffer)
        np.add(W, buffer, out=W)

    return add


def by_blas(W: np.ndarray, weight: float, x: np.ndarray, r: np.ndarray) -> None:
    """Add the outer product to W where it is; its transpose is what BLAS calls a matrix in column order."""
    blas.sger(weight, r, x, a=W.T, overwrite_a=True, overwrite_x=False, overwrite_y=False)


def seconds(action: Callable[[], object]) -> float:
    start = time.thread_time()
    action()
    return time.thread_time() - start


def compare(method: RankingMethod, data: tuple[np.ndarray, np.ndarray, np.ndarray], rounds: int, rows: int) -> str:
    """Return one line of the table."""
    steps = method.preprocessing
    X, S = apply_steps(steps.features, data[0])[0], apply_steps(steps.signatures, data[2])[0]
    y, S = data[1], S.astype(np.float32)
    statistics = method.prepare_fit(X, y, S, space={})
    learning = method.fit_steps(X, y, S, statistics=statistics)
    next(learning)
    rate = method.diagnostics.numbers["rate_absolute"]
    adds = {"outer": by_outer, "buffer": by_buffer(), "ger": by_blas}
    loops: dict[str, AsPublicCodes | OneRowAtATime] = {"codes": AsPublicCodes(method, method.W_, S, rate)}
    loops |= {form: OneRowAtATime(method, method.W_, S, rate, add) for form, add in adds.items()}
    order = np.random.default_rng(1).permutation(len(X))
    took: dict[str, list[float]] = {"batches": [], "floor": [], **{form: [] for form in loops}}
    for number in range(rounds):
        took["batches"].append(seconds(lambda: next(learning)))
        took["floor"].append(seconds(partial(products, X, method)))
        part = order[number * rows % len(X) :][:rows]
        for form, loop in loops.items():
            few = part[: max(1, len(part) // 20)] if form == "codes" else part
            took[form].append(seconds(partial(loop.pass_over, X[few], y[few].tolist())) * len(X) / len(few))
    middle = {form: median(times) for form, times in took.items()}
    violated = method.diagnostics.series["violated"]
    name = type(method).__name__ + (f" K={method.maps}" if isinstance(method, LatEm) else "")
    shown = "".join(f"{middle[form]:8.1f} {middle[form] / middle['batches']:5.1f}x" for form in loops)
    return f"{name:10}{middle['batches']:8.2f}{middle['floor']:7.2f}{shown}   {violated[1]:.2f} .. {violated[-1]:.2f}"


def products(X: np.ndarray, method: RankingMethod) -> None:
    """Multiply as an epoch of mini-batches cannot do without: each batch with the maps, and its transpose with R."""
    maps = method.W_.reshape(method.maps, *method.W_.shape[-2:])
    moved = min(2, len(maps))  # a row moves two maps at most
    G = np.zeros_like(maps[0])
    for start in range(0, len(X), method.batch_size):
        X_b = X[start : start + method.batch_size]
        P = np.matmul(X_b, maps)
        for k in range(moved):
            blas.sgemm(1e-9, P[k].T, X_b.T, beta=1.0, c=G.T, trans_b=True, overwrite_c=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="times that each side is timed")
    parser.add_argument("--rows", type=int, default=2000, help="rows of the epoch that go one at a time")
    parser.add_argument("--batch-size", type=int, default=None, help="rows of a mini-batch; default: the method's")
    parser.add_argument("--data-root", type=Path, default=None, help="folder with CIFAR100, in place of made data")
    arguments = parser.parse_args()
    data = made() if arguments.data_root is None else cifar(arguments.data_root)
    options = {"epochs": arguments.rounds + 1}
    if arguments.batch_size is not None:
        options["batch_size"] = arguments.batch_size
    methods = [ALE(**options), DeViSE(**options), SJE(**options), *(LatEm(maps=k, **options) for k in (2, 6))]
    print(f"seconds of an epoch of {len(data[0])} rows, {'made' if arguments.data_root is None else 'CIFAR100'}")
    print(f"one row at a time: {arguments.rows} rows, scaled to the epoch; medians of {arguments.rounds}")
    print("method     batches  floor         codes          outer         buffer            ger   rows with a loss")
    with threadpool_limits(limits=1):
        for method in methods:
            print(compare(method, data, arguments.rounds, arguments.rows), flush=True)


if __name__ == "__main__":
    main()

"""Speed of zero-shot kernel learning at the size of CIFAR100: 40000 x 1280 features, 100 attributes, 80 classes.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/zskl.py

Two questions, answered in one run each:

1. How far is a step from its floor? The floor is the sum of the products that no step can do without (X W, X'R, and
   for -Ort either W'W with W Q or S W' with its gradient, whichever is cheaper), by BLAS alone and one after the other,
   and one fused pass of RMSprop over W. Floor and step are timed in turn, and the smallest time of each counts; times
   are processor times of the one thread that works, which other programs disturb less than wall time.
2. How much faster is an epoch than the loop of the authors' code, which visits one class at a time, rewritten in
   NumPy, when both take one row a step? Both are timed over a part of the epoch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from zslplat.families.zero_shot.methods.zskl.fast_gradient import Engine
from zslplat.families.zero_shot.methods.zskl.objective import Objective
from zslplat.families.zero_shot.methods.zskl.training import RMSprop
from zslplat.kernels.forms import Gaussian

N, D, A, C = 40000, 1280, 100, 80


def unit_rows(random: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = random.standard_normal((n, d), dtype=np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def published_step(
    W: np.ndarray,
    v: np.ndarray,
    x: np.ndarray,
    label: int,
    S: np.ndarray,
    *,
    sigma: float = 0.8,
    beta: float = 1.0,
    rate: float = 8e-4,
    rho: float = 0.99,
    epsilon: float = 1e-2,
) -> None:
    """Take one step as the authors' code does: class by class, both kernels, RMSprop; W and v change in place."""
    g = np.zeros_like(W)
    for c in range(len(S)):
        r1 = W.T @ x - S[c]
        k1 = np.exp(-(r1 @ r1) / (2 * sigma**2))
        d1 = np.outer(x, r1) * (-k1 / sigma**2)
        r2 = W @ S[c] - x
        k2 = np.exp(-(r2 @ r2) / (2 * sigma**2))
        d2 = np.outer(r2, S[c]) * (-k2 / sigma**2)
        if c == label:
            g += 2 * (k1 - 1) * d1 + 2 * (k2 - 1) * d2
        else:
            g += 2 * beta / (len(S) - 1) * (k1 * d1 + k2 * d2)
    v *= rho
    v += (1 - rho) * g * g
    W -= rate * g / (np.sqrt(v) + epsilon)


def timed(action: Callable[[], object], calls: int) -> float:
    start = time.thread_time()
    for _ in range(calls):
        action()
    return (time.thread_time() - start) / calls


def smallest(actions: dict[str, Callable[[], object]], rounds: int, calls: int) -> dict[str, float]:
    """Time every action in turn, ``rounds`` times, and keep the smallest of each."""
    best = dict.fromkeys(actions, np.inf)
    for action in actions.values():
        timed(action, 3)
    for _ in range(rounds):
        for name, action in actions.items():
            best[name] = min(best[name], timed(action, calls))
    return best


def step_against_floor(batch: int, both: bool, rounds: int) -> tuple[float, float, dict[str, float]]:
    """Return seconds of a step, of its floor, and of the forms that the floor can take."""
    random = np.random.default_rng(0)
    X, S = unit_rows(random, N, D), unit_rows(random, C, A)
    y = random.integers(0, C, N)
    W = (random.random((D, A)) * (2 / D)).astype(np.float32)
    engine = Engine(Gaussian(1.0), Objective(both=both, wrong=1 / (C - 1)), X, y, S, W, batch)
    solver = RMSprop(W)
    X_b, Z, R = X[:batch].copy(), np.empty((batch, A), np.float32), unit_rows(random, batch, A)
    G, H = np.empty((D, A), np.float32), np.empty((D, A), np.float32)
    M, P = np.empty((A, A), np.float32), np.empty((C, D), np.float32)
    V, Q, scaled = W.copy(), unit_rows(random, A, A), unit_rows(random, C, A)
    other = RMSprop(V)
    order = random.permutation(N)
    position = 0

    def step() -> None:
        nonlocal position
        rows = order[position : position + batch]
        position = (position + batch) % (N - batch)
        engine.forward(rows)
        for piece, g, h in engine.blocks():
            solver.step(g, 1e-4, plus=h, rows=piece)

    def products() -> None:
        np.matmul(X_b, W, out=Z)
        np.matmul(X_b.T, R, out=G)

    def by_gram() -> None:
        products()
        np.matmul(W.T, W, out=M)
        np.matmul(W, Q, out=H)
        other.step(G, 1e-9, plus=H)

    def by_signatures() -> None:
        products()
        np.matmul(S, W.T, out=P)
        np.matmul(P.T, scaled, out=H)
        other.step(G, 1e-9, plus=H)

    def alone() -> None:
        products()
        other.step(G, 1e-9)

    actions: dict[str, Callable[[], object]] = {"step": step}
    actions |= {"W'W": by_gram, "S W'": by_signatures} if both else {"floor": alone}
    times = smallest(actions, rounds, 10)
    return times.pop("step"), min(times.values()), times


def epoch_against_loop(rows: int) -> tuple[float, float]:
    """Return seconds per row of the engine and of the loop over classes, both at one row a step."""
    random = np.random.default_rng(0)
    X, S = unit_rows(random, N, D), unit_rows(random, C, A)
    y = random.integers(0, C, N)
    start = (random.random((D, A)) * (2 / D)).astype(np.float32)
    W, v = start.copy(), np.zeros_like(start)
    V = start.copy()
    engine = Engine(Gaussian(0.8), Objective(both=True, wrong=1 / (C - 1)), X, y, S, V, 1)
    solver = RMSprop(V, epsilon=1e-2)
    index = np.arange(N)[:, None]

    def fast_step(i: int) -> None:
        engine.forward(index[i])
        for piece, g, h in engine.blocks():
            solver.step(g, 8e-4, plus=h, rows=piece)

    fast_step(0)
    published_step(W, v, X[0], int(y[0]), S)
    fast = slow = np.inf
    for r in range(3):
        rows_of_round = range(1 + r * rows, 1 + (r + 1) * rows)
        begin = time.thread_time()
        for i in rows_of_round:
            fast_step(i)
        middle = time.thread_time()
        for i in rows_of_round:
            published_step(W, v, X[i], int(y[i]), S)
        fast = min(fast, (middle - begin) / rows)
        slow = min(slow, (time.thread_time() - middle) / rows)
    difference = np.linalg.norm(V - W) / np.linalg.norm(W)
    print(f"both leave the same W up to {difference:.1e} (relative, single precision)")
    return fast, slow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help="times that each part is timed (10 calls each)")
    parser.add_argument("--rows", type=int, default=40, help="rows of the epoch at one row a step")
    arguments = parser.parse_args()
    with threadpool_limits(limits=1):
        for batch in (64, 10):
            for both in (False, True):
                took, floor, parts = step_against_floor(batch, both, arguments.rounds)
                shown = ", ".join(f"{name} {1e6 * seconds:.0f}" for name, seconds in parts.items())
                name = "zskl-ort" if both else "zskl"
                print(
                    f"{name:8} batch {batch:3}: step {1e6 * took:6.0f} us, floor {1e6 * floor:6.0f} us, "
                    f"ratio {took / floor:.2f}   ({shown})"
                )
        fast, slow = epoch_against_loop(arguments.rows)
        print(
            f"epoch of {N} rows, one row a step: engine {fast * N:.1f} s, loop over classes {slow * N:.0f} s, "
            f"{slow / fast:.0f} times faster"
        )


if __name__ == "__main__":
    main()

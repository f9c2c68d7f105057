"""Closed forms in a search, beside solving every point by itself, at AWA2's shape; prints one table of ratios.

    python benchmarks/closed_forms.py [--dataset "synthetic(preset=awa2)"] [--repeats 3] [--direct 5] [NAME ...]

Each row of the table is a method and a grid of its hyperparameters. *Shared* is what a study does: preparation once,
then for every point a fit and the scores of the unseen rows (7913 x 10 at AWA2's shape). *Direct* is the same in plain
NumPy and SciPy on float64 rows: the formula from scratch for every point, scores as well. Direct points are all alike
in cost: ``--direct`` of them are timed, and their mean is multiplied by the size of the grid. Processor seconds of one
process, median over ``--repeats``; scores are compared before anything is timed. Run with OMP_NUM_THREADS=1 and
OPENBLAS_NUM_THREADS=1, as workers do.

What "direct" forms anew for every point:

- ``eszsl (inverse)``: X'X and two inverses: the formula as public code writes it.
- ``eszsl (solve)``: X'X and two solutions of linear systems.
- ``eszsl (..., X'X kept)``: the two inverses or solutions alone.
- ``sae``: ``scipy.linalg.solve_sylvester``, X'X kept; per lambda, without and with preparation and scores.
- ``gfzsl``: class means, variances and two kernel ridge regressions (as printed); log-densities class by class.
- ``exem-1nn``: principal directions kept; projections, kernel ridge regression of the class means, distances by class.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import linalg
from scipy.spatial.distance import pdist
from sklearn.kernel_ridge import KernelRidge

from zslplat.data.source import DataPlaces
from zslplat.registry import component
from zslplat.spec import Spec


@dataclass(frozen=True)
class Data:
    """Training rows, labels and signatures, unseen rows and their signatures; rows of length one."""

    X: np.ndarray
    y: np.ndarray
    S: np.ndarray
    U: np.ndarray
    T: np.ndarray

    @property
    def doubled(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and unseen rows in float64."""
        return self.X.astype(np.float64), self.U.astype(np.float64)


@dataclass(frozen=True)
class Form:
    """A method, its grid, and how each point is had directly: ``direct(data)`` prepares what is kept."""

    name: str
    method: str
    grid: Sequence[Mapping[str, Any]]
    direct: Callable[[Data], Callable[[Mapping[str, Any]], np.ndarray]]
    tolerance: float = 1e-3


def read(spec: str) -> Data:
    """Return the data set's training and unseen rows, scaled to length one, with centred unit signatures."""
    parsed = Spec.parse(spec)
    dataset = component("datasets", parsed.name)(**parsed.parameters).load(DataPlaces(None, None))
    values, _ = dataset.class_signatures("")
    train, unseen = dataset.splits["train"], dataset.splits["test_unseen"]
    X, U = (np.asarray(dataset.X[rows], dtype=np.float32) for rows in (train, unseen))
    X, U = _unit(X), _unit(U)
    seen, y = np.unique(dataset.y[train], return_inverse=True)
    others = np.unique(dataset.y[unseen])
    S, T = values[seen] - values[seen].mean(axis=0), values[others] - values[seen].mean(axis=0)
    return Data(X, y, _unit(S), U, _unit(T))


def _unit(M: np.ndarray) -> np.ndarray:
    return np.asarray(M / np.linalg.norm(M, axis=1, keepdims=True))


def grid(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return all combinations."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def ridges(data: Data, point: Mapping[str, Any]) -> tuple[float, float]:
    """Return ESZSL's ridges as absolute numbers."""
    trace = float(np.einsum("ij,ij->", data.X, data.X, dtype=np.float64))
    return point["alpha"] * trace / data.X.shape[1], point["gamma"] * float((data.S**2).sum()) / data.S.shape[1]


def eszsl_direct(solver: str, keep: bool) -> Callable[[Data], Callable[[Mapping[str, Any]], np.ndarray]]:
    """Return ESZSL by inverses or solutions, with X'X kept or formed for every point."""

    def prepared(data: Data) -> Callable[[Mapping[str, Any]], np.ndarray]:
        X, U = data.doubled
        S, Y = data.S, np.eye(len(data.S))[data.y]
        kept, sums = (X.T @ X if keep else None), X.T @ (Y @ S)

        def score(point: Mapping[str, Any]) -> np.ndarray:
            alpha, gamma = ridges(data, point)
            left = (X.T @ X if kept is None else kept) + alpha * np.eye(X.shape[1])
            right = S.T @ S + gamma * np.eye(S.shape[1])
            if solver == "inverse":
                W = np.linalg.inv(left) @ sums @ np.linalg.inv(right)
            else:
                W = linalg.solve(right, linalg.solve(left, sums, assume_a="pos").T, assume_a="pos").T
            return np.asarray(U @ (W @ data.T.T))

        return score

    return prepared


def sae_direct(data: Data) -> Callable[[Mapping[str, Any]], np.ndarray]:
    """Return SAE by SciPy's Sylvester solver, with all three products kept."""
    X, U = data.doubled
    T = data.S[data.y]
    A, B, C = T.T @ T, X.T @ X, T.T @ X

    def score(point: Mapping[str, Any]) -> np.ndarray:
        lam = point["lam"]
        W = linalg.solve_sylvester(A, lam * B, (1 + lam) * C)
        return np.asarray(U @ _unit(data.T @ _unit(W)).T)

    return score


def gfzsl_direct(data: Data) -> Callable[[Mapping[str, Any]], np.ndarray]:
    """Return GFZSL as printed: moments of the classes, two kernel ridge regressions, densities class by class."""
    X, U = data.doubled
    classes = range(len(data.S))

    def score(point: Mapping[str, Any]) -> np.ndarray:
        rows = [X[data.y == label] for label in classes]
        M, V = np.array([own.mean(axis=0) for own in rows]), np.array([own.var(axis=0, ddof=1) for own in rows])
        K, k = (1 + data.S @ data.S.T) ** 2, (1 + data.T @ data.S.T) ** 2
        means = k @ linalg.solve(K + point["mean_ridge"] * np.eye(len(K)), M)
        logs = k @ linalg.solve(K + point["variance_ridge"] * np.eye(len(K)), np.log(V + GFZSL_FIXED["floor"]))
        variances = np.exp(logs) + GFZSL_FIXED["reg"]
        pairs = zip(means, variances, strict=True)
        return -0.5 * np.stack([((U - m) ** 2 / v).sum(axis=1) + np.log(v).sum() for m, v in pairs], axis=1)

    return score


def exem_direct(data: Data) -> Callable[[Mapping[str, Any]], np.ndarray]:
    """Return EXEM with kernel ridge regression, with the principal directions kept."""
    X, U = data.doubled
    mean = X.mean(axis=0)
    values, Q = linalg.eigh((X - mean).T @ (X - mean))
    Q = Q[:, np.argsort(-values)[:500]]
    S, T = (m / np.median(pdist(data.S)) for m in (data.S, data.T))

    def score(point: Mapping[str, Any]) -> np.ndarray:
        projected = (X - mean) @ Q
        means = np.array([projected[data.y == label].mean(axis=0) for label in range(len(S))])
        machine = KernelRidge(alpha=point["alpha"], kernel="rbf", gamma=point["gamma"])
        exemplars = machine.fit(S, means - means.mean(axis=0)).predict(T) + means.mean(axis=0)
        rows = (U - mean) @ Q
        return -np.stack([np.sqrt(((rows - one) ** 2).sum(axis=1)) for one in exemplars], axis=1)

    return score


GFZSL_FIXED = {"variant": "paper", "kernel": "polynomial(r=2, c=1)", "reg": 0.05, "floor": 1e-3}
GFZSL_GRID = [
    {**GFZSL_FIXED, **point}
    for point in grid(mean_ridge=list(10.0 ** np.arange(-3, 4)), variance_ridge=list(10.0 ** np.arange(-1, 6)))
]
EXEM_GRID = grid(gamma=list(2.0 ** np.arange(-3, 4)), alpha=list(10.0 ** np.arange(-3, 4)))
ESZSL_GRID = grid(alpha=list(10.0 ** np.arange(-3, 4)), gamma=list(10.0 ** np.arange(-3, 4)))
SAE_GRID = grid(lam=list(10.0 ** np.linspace(-3, 6, 20)))

FORMS = [
    Form("eszsl (inverse)", "eszsl", ESZSL_GRID, eszsl_direct("inverse", keep=False)),
    Form("eszsl (inverse, X'X kept)", "eszsl", ESZSL_GRID, eszsl_direct("inverse", keep=True)),
    Form("eszsl (solve)", "eszsl", ESZSL_GRID, eszsl_direct("solve", keep=False)),
    Form("eszsl (solve, X'X kept)", "eszsl", ESZSL_GRID, eszsl_direct("solve", keep=True)),
    Form("sae", "sae", SAE_GRID, sae_direct),
    Form("gfzsl", "gfzsl", GFZSL_GRID, gfzsl_direct),
    Form("exem-1nn", "exem-1nn", EXEM_GRID, exem_direct),
]


@dataclass
class Times:
    """Seconds of preparation, of one point (fit and scores), and of one direct point."""

    prepare: float
    point: float
    direct: float


def measure(form: Form, data: Data, directly: int) -> Times:
    """Time one grid both ways; raises :class:`AssertionError` where the scores differ."""
    method = component("methods", form.method)
    names = form.grid[0].keys()
    template = method.build({name: v for name, v in form.grid[0].items() if isinstance(v, str)})
    space = {name: dimension for name, dimension in template.space.items() if name in names}
    start = time.process_time()
    statistics = template.prepare_fit(data.X, data.y, data.S, space=space)
    batch = template.prepare_score(data.U, data.T, space=space, statistics=statistics)
    prepared = time.process_time()
    found = []
    for point in form.grid:
        fitted = method.build(point).fit(data.X, data.y, data.S, statistics=statistics)
        found.append(fitted.decision_function(data.U, data.T, statistics=batch))
    done = time.process_time()
    score = form.direct(data)
    chosen = np.linspace(0, len(form.grid) - 1, directly).astype(int)
    started = time.process_time()
    expected = [score(form.grid[i]) for i in chosen]
    ended = time.process_time()
    for i, scores in zip(chosen, expected, strict=True):
        ours = np.asarray(found[i], dtype=np.float64)
        # Common shifts and factors of a row's scores mean nothing; what is compared is how rows rank the classes.
        error = np.abs(_standard(ours) - _standard(scores)).max()
        if error > form.tolerance:
            raise AssertionError(f"{form.name} at {form.grid[i]}: scores differ by {error:.1e} of their spread")
    return Times(prepared - start, (done - prepared) / len(form.grid), (ended - started) / directly)


def _standard(scores: np.ndarray) -> np.ndarray:
    centred = scores - scores.mean()
    return np.asarray(centred / np.abs(centred).max())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="rows of the table; default: all")
    parser.add_argument("--dataset", default="synthetic(preset=awa2)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--direct", type=int, default=5, help="direct points that are timed")
    arguments = parser.parse_args()
    data = read(arguments.dataset)
    table = Table(title=f"{arguments.dataset}: rows {data.X.shape}, signatures {data.S.shape}, scored {data.U.shape}")
    columns = ("row", "points", "prepare s", "point s", "direct point s", "grid / grid", "point / point")
    for column in columns:
        table.add_column(column, justify="left" if column == "row" else "right")
    for form in FORMS:
        if arguments.names and form.name not in arguments.names and form.method not in arguments.names:
            continue
        all_times = [measure(form, data, arguments.direct) for _ in range(arguments.repeats)]
        count = len(form.grid)
        grids = median(count * t.direct / (t.prepare + count * t.point) for t in all_times)
        points = median(t.direct / t.point for t in all_times)
        means = [median(getattr(t, field) for t in all_times) for field in ("prepare", "point", "direct")]
        table.add_row(form.name, str(count), *(f"{v:.4g}" for v in means), f"{grids:.1f}", f"{points:.1f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()

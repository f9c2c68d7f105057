"""How many classes drawn validation folds should hold out, and how many folds to draw: strategies compared.

    python benchmarks/class_folds.py [DATA_ROOT] [--draws 25]

Each draw takes C seen and T test classes at random from digit-pairs (no file needed) and, where ``DATA_ROOT`` holds
them, from the folders AWA1 (histograms, as square roots) and ISOLET; 15 rows per class, features of unit length and
projected at random to 96 dimensions. ESZSL is fitted on a grid of 7 x 7 ridges, on the folds that a strategy draws and
on the whole of the seen classes. ``T up to 0.4 C`` is what the tasks do without options. Columns are means over draws:

bias      validation value of the experiment that validation chose, minus its value on the test classes
RMSE      root mean square of the same
spread    standard deviation of the validation value over two draws of folds of the same seen classes, at each
experiment regret    value of the best experiment on the test classes minus that of the chosen one, with its standard
error rank      rank correlation of the validation and the test value over the grid
fits      folds, so fits per trial

The test classes only judge strategies here; they are drawn anew each time, and nothing is tuned on them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import linalg
from scipy.stats import spearmanr

from zslplat import registry
from zslplat.data.dataset import Dataset
from zslplat.data.source import DataPlaces
from zslplat.data.store.preprocessing import apply_steps
from zslplat.tasks.splits import draw_folds, fold_count, fold_size

ROWS, DIMENSIONS = 15, 96
RIDGES = np.logspace(-3, 3, 7)

# (seen, tested) classes: few seen, fewer than folds like the test need, and many.
CASES = {
    "few seen": {"ISOLET": [(9, 4), (12, 5)], "AWA1": [(9, 4), (16, 5)], "digit-pairs": [(9, 4), (12, 5)]},
    "more tested": {
        "ISOLET": [(9, 10), (16, 10)],
        "AWA1": [(16, 10), (30, 20)],
        "digit-pairs": [(9, 10), (16, 10), (40, 20)],
    },
    "many seen": {"AWA1": [(40, 4), (40, 10)], "digit-pairs": [(80, 5), (80, 20)]},
}


@dataclass(frozen=True)
class Strategy:
    """Sizes and numbers of folds by the numbers of seen and of tested classes."""

    size: Callable[[int, int], int]
    count: Callable[[int, int], int] = fold_count


def _fifth(seen: int, tested: int) -> int:
    return max(2, math.ceil(round(0.2 * seen, 9)))


STRATEGIES = {
    "C/5, 3 folds": Strategy(_fifth, lambda seen, size: 3),
    "C/5": Strategy(_fifth),
    "T up to C/3": Strategy(lambda seen, tested: max(2, min(tested, round(seen / 3)))),
    "T up to 0.4 C": Strategy(fold_size),
    "T up to C/2": Strategy(lambda seen, tested: min(tested, seen // 2)),
    "0.4 C": Strategy(lambda seen, tested: fold_size(seen, None)),
    "T up to 0.4 C, 3 folds": Strategy(fold_size, lambda seen, size: 3),
    "T up to 0.4 C, 12 folds": Strategy(fold_size, lambda seen, size: 12),
}


@dataclass
class Found:
    """What a strategy gave, one entry per draw."""

    bias: list[float] = field(default_factory=list)
    variance: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)
    rank: list[float] = field(default_factory=list)
    fits: list[int] = field(default_factory=list)


class Classes:
    """Rows and signatures of a data set, and the grid of ESZSL's accuracies for classes taken from it."""

    def __init__(self, dataset: Dataset, steps: tuple[str, ...]) -> None:
        generator = np.random.default_rng(0)
        self.ids = np.unique(dataset.y)
        rows = np.concatenate([generator.permutation(np.flatnonzero(dataset.y == c))[:60] for c in self.ids])
        X = apply_steps((*steps, "l2"), np.asarray(dataset.X[rows], dtype=np.float64))[0]
        if X.shape[1] > DIMENSIONS:
            X = X @ generator.normal(size=(X.shape[1], DIMENSIONS)) / math.sqrt(DIMENSIONS)
        self.X, self.y, self.S = X, dataset.y[rows], np.asarray(dataset.class_signatures()[0], dtype=np.float64)

    def take(self, generator: np.random.Generator) -> dict[int, np.ndarray]:
        """Return ``ROWS`` rows of every class."""
        return {int(c): generator.permutation(np.flatnonzero(self.y == c))[:ROWS] for c in self.ids}

    def accuracies(self, rows: dict[int, np.ndarray], seen: set[int], held: set[int]) -> np.ndarray:
        """Return per-class accuracies (49,) over the grid, trained on ``seen`` and scored on ``held``."""
        X, y, S = self._of(rows, seen)
        pool, truth, S_pool = self._of(rows, held)
        mean = S.mean(axis=0)
        S, S_pool = (apply_steps(("l2",), signatures - mean)[0] for signatures in (S, S_pool))
        f, Q = linalg.eigh(X.T @ X)
        t, R = linalg.eigh(S.T @ S)
        f, t = np.maximum(f, 0), np.maximum(t, 0)
        sums = np.zeros((len(S), X.shape[1]))
        np.add.at(sums, y, X)
        inner, sides, turned = (Q.T @ sums.T) @ (S @ R), R.T @ S_pool.T, pool @ Q
        maps = np.concatenate([(inner / (t + gamma)) @ sides for gamma in t.mean() * RIDGES], axis=1)
        counts = np.bincount(truth)
        found = []
        for alpha in f.mean() * RIDGES:
            scores = ((turned / (f + alpha)) @ maps).reshape(len(pool), len(RIDGES), len(S_pool))
            correct = scores.argmax(axis=2) == truth[:, None]
            found += [np.mean(np.bincount(truth, weights=column) / counts) for column in correct.T]
        return np.array(found)

    def _of(self, rows: dict[int, np.ndarray], classes: set[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ids = np.array(sorted(classes))
        chosen = np.concatenate([rows[int(c)] for c in ids])
        return self.X[chosen], np.searchsorted(ids, self.y[chosen]), self.S[ids]


def simulate(classes: Classes, seen_count: int, tested: int, draw: int, found: dict[str, Found]) -> None:
    """Add what every strategy gives on one draw of seen and test classes."""
    generator = np.random.default_rng([draw, seen_count, tested])
    order = generator.permutation(classes.ids)
    seen, unseen = np.sort(order[:seen_count]), {int(c) for c in order[seen_count : seen_count + tested]}
    rows, everything = classes.take(generator), {int(c) for c in seen}
    test = classes.accuracies(rows, everything, unseen)
    known: dict[tuple[int, ...], np.ndarray] = {}

    def value(size: int, count: int, seed: int) -> np.ndarray:
        folds = draw_folds(seen, size, count, seed)
        for fold in folds:
            if fold.validation not in known:
                known[fold.validation] = classes.accuracies(rows, set(fold.train), set(fold.validation))
        return np.mean([known[fold.validation] for fold in folds], axis=0)

    for name, strategy in STRATEGIES.items():
        size = strategy.size(seen_count, tested)
        count = strategy.count(seen_count, size)
        first, second = (value(size, count, seed) for seed in (2 * draw, 2 * draw + 1))
        entry = found[name]
        entry.variance.append(float(np.mean((first - second) ** 2)) / 2)
        for values in (first, second):
            best = int(np.argmax(values))
            entry.bias.append(float(values[best] - test[best]))
            entry.regret.append(float(test.max() - test[best]))
            entry.rank.append(float(spearmanr(values, test)[0]) if np.ptp(values) and np.ptp(test) else 0.0)
            entry.fits.append(count)


def load(root: Path | None) -> dict[str, Classes]:
    """Return the data sets that are there."""
    loaded = {"digit-pairs": Classes(registry.component("datasets", "digit-pairs")().load(DataPlaces()), ())}
    for name, features, steps in (("AWA1", "surf", ("hellinger",)), ("ISOLET", "isolet", ())):
        if root is not None and (root / name).is_dir():
            source = registry.component("datasets", "xlsa17")(folder=name, features=features)
            loaded[name] = Classes(source.load(DataPlaces(root)), steps)
    return loaded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, nargs="?", help="folder with AWA1 and ISOLET in the layout of xlsa17")
    parser.add_argument("--draws", type=int, default=25, help="draws of seen and test classes per case")
    arguments = parser.parse_args()
    loaded = load(arguments.root)
    table = Table(title=f"Drawn folds, on {', '.join(loaded)}; {arguments.draws} draws per case")
    for column in ("", "strategy", "bias", "RMSE", "spread", "regret", "rank", "fits"):
        table.add_column(column, justify="left" if column in ("", "strategy") else "right")
    total = {name: Found() for name in STRATEGIES}
    for group, cases in CASES.items():
        found = {name: Found() for name in STRATEGIES}
        for classes, counts in [(loaded[name], counts) for name, counts in cases.items() if name in loaded]:
            for seen, tested in counts:
                for draw in range(arguments.draws):
                    simulate(classes, seen, tested, draw, found)
        add_rows(table, group, found)
        for name, entry in found.items():
            for key, values in vars(entry).items():
                getattr(total[name], key).extend(values)
    add_rows(table, "all", total)
    Console(width=110).print(table)


def add_rows(table: Table, group: str, found: dict[str, Found]) -> None:
    """Add the rows of a group of cases."""
    for number, (name, entry) in enumerate(found.items()):
        # The two draws of folds share their classes: they count as one for the standard error.
        regret = np.reshape(entry.regret, (-1, 2)).mean(axis=1)
        table.add_row(
            group if number == 0 else "",
            name,
            f"{np.mean(entry.bias):+.3f}",
            f"{math.sqrt(np.mean(np.square(entry.bias))):.3f}",
            f"{math.sqrt(np.mean(entry.variance)):.3f}",
            f"{regret.mean():.4f} ± {regret.std(ddof=1) / math.sqrt(len(regret)):.4f}",
            f"{np.mean(entry.rank):.3f}",
            f"{np.mean(entry.fits):.1f}",
            end_section=number == len(found) - 1,
        )


if __name__ == "__main__":
    main()

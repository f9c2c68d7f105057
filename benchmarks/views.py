"""Several views of the same rows: the best single one against combinations with weights that are searched or learned.

    python benchmarks/views.py faces FILE    pixels, gradient histograms, covariances of Extended Yale B (extyaleb.npz)
    python benchmarks/views.py synthetic     two views of which each tells one half of the class

``--keep`` keeps the table with its provenance, from where ``docs/views.md`` has its figures.

``faces`` takes some images of every subject for training and others for testing, several times. Every row of the table
is tuned on validation folds of the training images by random search, with as many settings as any other: ``--trials``
for each view alone, so that the best of three views is the best of three times as many. A combination takes the
bandwidth of each view from the first half of these, and has as many settings for its own weights and parameters as are
left ("all at once" searches bandwidths and weights together). The winner is fitted on all training images and scored on
the test images once. Intervals are paired: splits and images are drawn again together, for all rows of the table alike.

A weight says little by itself where kernels spread the rows unlike: shares are weights times the variance of the rows
in the space of each kernel.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.store.rows import View
from zslplat.errors import ZslplatError
from zslplat.families.coding.methods.estimator import KernelCodingMethod
from zslplat.registry import component
from zslplat.space import Choice, Integer, Real, Space
from zslplat_papers.data_sets.region_covariance import region_covariances
from zslplat_papers.reproduction.results import keep_results

RESULTS = Path(__file__).parents[1] / "plugins/zslplat-papers/zslplat_papers/reproduction/results"
Line = dict[str, Any]

CELL, BINS = 6, 9
KERNELS = {"pixels": "gaussian", "gradients": "chi-squared", "covariances": "log-euclidean"}
FOLDS = 3
REPLICATES = 2000
BEST = "best single view (validation)"
# Few images of a subject: smaller weights and more neighbours than these cost time and gain nothing.
RANGES: Space = {"gamma": Real(2e-3, 0.05, log=True), "neighbours": Integer(5, 150, log=True)}


@dataclass(frozen=True)
class Row:
    """One row of the table: a kernel over views, and what is set or searched beside its parameters."""

    name: str
    kernel: str
    combines: bool = True
    at_once: bool = False  # whether bandwidths are searched with the weights, not taken from the single views
    fixed: Mapping[str, Any] = field(default_factory=dict)
    ranges: Space = field(default_factory=dict)


def gradient_histograms(images: np.ndarray, *, cell: int = CELL, bins: int = BINS) -> np.ndarray:
    """Return histograms of oriented gradients (n, h // cell * w // cell * bins) of images (n, h, w), each of sum 1.

    Dalal and Triggs, Histograms of oriented gradients for human detection, CVPR 2005, in its plainest form: unsigned
    directions, each pixel's magnitude shared out to the two nearest bins, every cell divided by the sum over its 3 x 3
    neighbourhood, so that light and shadow weigh alike. Nothing is negative, as the chi-squared kernel wants it.
    """
    n, (rows, columns) = len(images), (side // cell for side in images.shape[1:])
    along_v, along_u = np.gradient(images[:, : rows * cell, : columns * cell].astype(np.float64), axis=(1, 2))
    size = np.hypot(along_u, along_v)
    place = np.mod(np.arctan2(along_v, along_u), np.pi) / np.pi * bins
    low = np.floor(place).astype(int)
    upper_share = place - low
    cells = np.empty((n, rows, columns, bins))
    for b in range(bins):
        of_bin = size * ((low % bins == b) * (1 - upper_share) + ((low + 1) % bins == b) * upper_share)
        cells[..., b] = of_bin.reshape(n, rows, cell, columns, cell).sum(axis=(2, 4))
    energy = np.pad(cells.sum(axis=3), ((0, 0), (1, 1), (1, 1)), mode="edge")
    around = sum(energy[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3))
    cells /= np.maximum(around, 1e-12 * around.max(initial=1.0))[..., None]
    flat = cells.reshape(n, -1)
    return np.asarray(flat / flat.sum(axis=1, keepdims=True))


def face_views(images: np.ndarray) -> tuple[np.ndarray, tuple[View, ...]]:
    """Return X (n, D), the three views of images (n, h, w) side by side, and the views."""
    pixels = images.reshape(len(images), -1).astype(np.float64)
    pixels /= np.linalg.norm(pixels, axis=1, keepdims=True)
    parts = {"pixels": pixels, "gradients": gradient_histograms(images), "covariances": region_covariances(images)}
    X = np.hstack([part.reshape(len(images), -1) for part in parts.values()])
    return X, tuple(View(name, part.shape[1:]) for name, part in parts.items())


def rows_of_the_table(kernels: Mapping[str, str]) -> list[Row]:
    """Return the single views, then the combinations; ``kernels`` by the name of the view."""
    on_view = [f"{kernel}@{name}" for name, kernel in kernels.items()]
    total = " + ".join(on_view)
    weights = [f"kernel.weight.{i + 1}" for i in range(len(on_view))]
    equal = dict.fromkeys(weights, 1.0)
    searched: Space = dict.fromkeys(weights, Real(1e-3, 1, log=True))
    held: Space = {"togetherness": Real(0.2, 5, log=True)}
    learned, printed = ({**equal, "learn_kernel": how, "iterations": 2} for how in ("weights", "weights-paper"))
    return [
        *(Row(name, kernel, combines=False) for name, kernel in zip(kernels, on_view, strict=True)),
        Row("equal weights", total, fixed=equal),
        Row("weights searched", total, ranges=searched),
        Row("weights searched, all at once", total, at_once=True, ranges=searched),
        Row("weights learned", total, fixed=learned, ranges=held),
        Row("weights learned, as printed", total, fixed=printed),
    ]


def drawn(space: Space, rng: np.random.Generator) -> dict[str, Any]:
    """Return a point of a space, drawn at random."""
    point: dict[str, Any] = {}
    for name, dimension in space.items():
        if isinstance(dimension, Choice):
            point[name] = dimension.values[rng.integers(len(dimension.values))]
            continue
        low, high = (math.log(end) if dimension.log else end for end in (dimension.low, dimension.high))
        place = low + rng.random() * (high - low)
        place = math.exp(place) if dimension.log else place
        point[name] = dimension.value(place) if isinstance(dimension, Real) else round(place)
    return point


class Tuning:
    """Random search of one row of the table on validation folds of the training images."""

    def __init__(
        self, method: str, row: Row, views: Sequence[View], ranges: Space, bandwidths: Mapping[str, Any]
    ) -> None:
        self.method, self.row, self.views = method, row, views
        self.fixed = {"kernel": row.kernel, **row.fixed, **bandwidths}
        wanted = {**self.built({}).space, **row.ranges, **ranges}
        self.space = {name: one for name, one in wanted.items() if name not in self.fixed}

    def built(self, point: Mapping[str, Any]) -> KernelCodingMethod:
        """Return the method at a point, told of the views."""
        made: KernelCodingMethod = component("methods", self.method).build({**self.fixed, **point})
        made.take_views(self.views)
        return made

    def search(
        self, X: np.ndarray, y: np.ndarray, fold_of: np.ndarray, trials: int, seed: int
    ) -> tuple[list[dict[str, Any]], np.ndarray]:
        """Return the points that were tried and their mean accuracies over the folds."""
        rng = np.random.default_rng(seed)
        points = [{}, *(drawn(self.space, rng) for _ in range(trials - 1))]
        found = np.zeros(trials)
        for fold in range(FOLDS):
            inside, outside = fold_of != fold, fold_of == fold
            base = self.built({})
            fit = base.prepare_fit(X[inside], y[inside], space=self.space)
            score = base.prepare_score(X[outside], X[inside], space=self.space, statistics=fit)
            for i, point in enumerate(points):
                made = self.built(point)
                try:
                    scores = made.fit(X[inside], y[inside], statistics=fit).decision_function(
                        X[outside], statistics=score
                    )
                except ZslplatError:  # no codes there, say: such a trial fails
                    continue
                found[i] += (scores.argmax(axis=1) == y[outside]).mean() / FOLDS
        return points, found


@dataclass
class Outcome:
    """What one row of the table came to: right answers (splits, test images), validation, seconds, what was chosen."""

    right: list[np.ndarray] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    chosen: list[dict[str, Any]] = field(default_factory=list)
    shares: list[np.ndarray] = field(default_factory=list)
    seconds: float = 0.0


def drawn_images(subject: np.ndarray, per_subject: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of some images of every subject, in the order in which they were drawn, subject by subject."""
    return np.concatenate([rng.permutation(np.flatnonzero(subject == s))[:per_subject] for s in np.unique(subject)])


def shares_of(kernel: Any, X: np.ndarray) -> np.ndarray:
    """Return what each term of a sum has of the variance of rows X (n, D) in the space of the kernel."""
    grams = [part(X) for part in kernel.parts]
    spread = np.array([w * (np.diagonal(K).mean() - K.mean()) for w, K in zip(kernel.numbers, grams, strict=True)])
    return np.asarray(spread / spread.sum())


def compare(
    method: str, rows: Sequence[Row], X: np.ndarray, y: np.ndarray, views: Sequence[View], options: argparse.Namespace
) -> tuple[dict[str, Outcome], list[np.ndarray]]:
    """Tune, fit and score every row on every split; return the outcomes and the test rows of each split."""
    outcomes = {row.name: Outcome() for row in rows}
    tested = []
    ranges = {name: one for name, one in RANGES.items() if name in component("methods", method)().space}
    for split in range(options.splits):
        rng = np.random.default_rng([options.seed, split])
        chosen = drawn_images(y, options.train + options.test, rng)
        position = np.arange(len(chosen)) % (options.train + options.test)
        train, test = chosen[position < options.train], chosen[position >= options.train]
        fold_of = position[position < options.train] % FOLDS
        tested.append(test)
        bandwidths: dict[str, Any] = {}
        for row in rows:
            begin = time.perf_counter()
            tuning = Tuning(method, row, views, ranges, bandwidths if row.combines and not row.at_once else {})
            whole = len(views) * options.trials
            trials = options.trials if not row.combines else whole if row.at_once else whole - whole // 2
            points, found = tuning.search(X[train], y[train], fold_of, trials, options.seed + split)
            if not row.combines:
                half = points[int(np.argmax(found[: options.trials // 2]))]
                single = tuning.built(half).parsed_kernel()
                bandwidths[f"kernel.{single.label}.sigma"] = single.values["sigma"]
            point = points[int(np.argmax(found))]
            made = tuning.built(point).fit(X[train], y[train])
            outcome = outcomes[row.name]
            outcome.right.append(made.decision_function(X[test]).argmax(axis=1) == y[test])
            outcome.validation.append(float(found.max()))
            outcome.chosen.append(point)
            outcome.seconds += time.perf_counter() - begin
            if row.combines:
                outcome.shares.append(shares_of(made.kernel_, X[train]))
    singles = [outcomes[row.name] for row in rows if not row.combines]
    best = Outcome(seconds=sum(one.seconds for one in singles))
    for split in range(options.splits):
        winner = max(singles, key=lambda one: one.validation[split])
        for name in ("right", "validation", "chosen"):
            getattr(best, name).append(getattr(winner, name)[split])
    outcomes = {**{row.name: outcomes[row.name] for row in rows if not row.combines}, BEST: best, **outcomes}
    return outcomes, tested


def replicates(outcome: Outcome, tested: Sequence[np.ndarray], images: int, seed: int = 0) -> np.ndarray:
    """Return the accuracy (REPLICATES,) with splits and images drawn again; the same draws for every outcome."""
    rng = np.random.default_rng(seed)
    by_split = rng.multinomial(len(tested), np.full(len(tested), 1 / len(tested)), size=REPLICATES)
    by_image = rng.multinomial(images, np.full(images, 1 / images), size=REPLICATES)
    hits, total = np.zeros(REPLICATES), np.zeros(REPLICATES)
    for split, (right, rows) in enumerate(zip(outcome.right, tested, strict=True)):
        weights = by_split[:, [split]] * by_image[:, rows]
        hits += weights @ right
        total += weights.sum(axis=1)
    return np.asarray(hits / total)


def report(method: str, outcomes: Mapping[str, Outcome], tested: Sequence[np.ndarray], images: int) -> list[Line]:
    """Print the table: accuracies with intervals, and paired differences from the best single view; return it."""
    lines: list[Line] = []
    base = replicates(outcomes[BEST], tested, images)
    print(f"\n{method}: {len(tested)} splits, {len(tested[0])} test rows each; 95% intervals over splits and rows")
    print(
        f"{'':34s}{'validation':>11s}{'test':>8s}{'95% interval':>18s}{'difference':>12s}{'95% interval':>20s}{'s':>7s}"
    )
    for name, outcome in outcomes.items():
        mean = float(np.mean([right.mean() for right in outcome.right]))
        found = replicates(outcome, tested, images)
        low, high = np.quantile(found, (0.025, 0.975))
        line = f"{name:34s}{np.mean(outcome.validation):11.4f}{mean:8.4f}{low:10.4f}..{high:.4f}"
        told: Line = {"method": method, "row": name, "splits": len(tested), "test": mean, "low": low, "high": high}
        if name != BEST:
            start, stop = np.quantile(found - base, (0.025, 0.975))
            off = mean - float(np.mean([right.mean() for right in outcomes[BEST].right]))
            line += f"{off:+12.4f}{start:+12.4f}..{stop:+.4f}"
            told |= {"difference": off, "difference_low": start, "difference_high": stop}
        else:
            line += " " * 32
        print(f"{line}{outcome.seconds:7.0f}")
        lines.append({**told, "seconds": outcome.seconds})
    for name, outcome in outcomes.items():
        if outcome.shares:
            print(f"  mean shares, {name}: {' '.join(f'{one:.2f}' for one in np.mean(outcome.shares, axis=0))}")
    return lines


def keep(options: argparse.Namespace, lines: Sequence[Line]) -> None:
    """Keep a table where that is asked for."""
    if options.keep:
        stamped = [
            {"data": options.command, **{k: float(v) if isinstance(v, np.floating) else v for k, v in line.items()}}
            for line in lines
        ]
        stamped = [{**line, "seed": options.seed} for line in stamped]
        keep_results("views", stamped, ("data", "method", "row"), RESULTS, hours=0)


def faces(options: argparse.Namespace) -> None:
    """Compare views of faces."""
    with np.load(options.file) as data:
        images, subject = data["img48x42"], data["subject"]
    rng = np.random.default_rng(options.seed)
    # As many images of every subject as make training and test halves that differ from split to split.
    kept = np.sort(drawn_images(subject, options.images, rng))
    begin = time.perf_counter()
    X, views = face_views(images[kept])
    y = np.unique(subject[kept], return_inverse=True)[1]
    print(f"{len(X)} images of {y.max() + 1} subjects; views made in {time.perf_counter() - begin:.0f} s:")
    print("  " + ", ".join(f"{view.name} {'x'.join(map(str, view.shape))}" for view in views))
    print(f"{options.train} training and {options.test} test images of every subject; {options.trials} trials per view")
    for method in options.methods:
        keep(options, report(method, *compare(method, rows_of_the_table(KERNELS), X, y, views, options), len(X)))


def two_halves(
    rng: np.random.Generator, n: int, *, width: int = 8, noise: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return X (n, 2 width), y: of the two bits of a class one view tells the first, the other one the second."""
    y = rng.permutation(np.arange(n) % 4)
    bits = 2.0 * np.stack([y // 2, y % 2], axis=1) - 1
    parts = [bits[:, [i]] + noise * rng.normal(size=(n, width)) for i in (0, 1)]
    return np.hstack(parts), y


def synthetic(options: argparse.Namespace) -> None:
    """Compare views of which each tells one half of the class."""
    X, y = two_halves(np.random.default_rng(options.seed), 4 * options.images)
    views = (View("first", (X.shape[1] // 2,)), View("second", (X.shape[1] // 2,)))
    rows = rows_of_the_table({"first": "gaussian", "second": "gaussian"})
    for method in options.methods:
        keep(options, report(method, *compare(method, rows, X, y, views, options), len(X)))


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, images in (("faces", 30), ("synthetic", 60)):
        command = commands.add_parser(name)
        if name == "faces":
            command.add_argument("file", type=Path, help="extyaleb.npz, with img48x42 and subject")
        command.add_argument("--methods", nargs="+", default=["ksc", "kllc"], help="coding methods")
        command.add_argument("--images", type=int, default=images, help="rows of every class that are used")
        command.add_argument("--train", type=int, default=6, help="training rows of every class")
        command.add_argument("--test", type=int, default=15, help="test rows of every class")
        command.add_argument("--splits", type=int, default=6)
        command.add_argument("--trials", type=int, default=20, help="settings tried for a single view")
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--keep", action="store_true", help="keep the table among the results of the project")
    options = parser.parse_args()
    (faces if options.command == "faces" else synthetic)(options)


if __name__ == "__main__":
    main()

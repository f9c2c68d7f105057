"""How often verdicts are right: simulated differences of methods, by their law, the design of the test and its classes.

    python benchmarks/verdicts.py [--simulations 2000] [--classes 10 20 50 100] [--data DATA] [--splits 40] [--keep]

A family is ten rivals of one baseline; C is how many classes one split tests, of 5 C in all. The difference of a class
has a standard deviation of .05, of which a fifth of the variance is new in every split. Designs:

``one split``    C classes tested once
``ten draws``    ten splits of C classes, drawn from the 5 C, of which some are tested again
``five folds``   each of the 5 C classes tested once

Columns: ``coverage`` of the 95 % interval of one difference; ``error / true``, the claimed error over the true one;
``family error``, how often any of ten true differences of 0 is called ahead or behind; ``power``, how often a true lead
of .05 is seen; ``equal at 0`` and ``equal at .05``, how often such a difference is called equal within .02.
In the law ``correlated`` all rivals share what the baseline does, in ``groups`` five classes share half of their
variance and are declared.

The second table is of real scores, where classes of one test compete for its rows: five variants of ESZSL on DATA,
trained on half of the classes. The truth is the spread between disjoint sets of C unseen classes (and as many seen ones
in the generalised task), which is that between new draws. ``values alone / true`` is the claimed error over the true
one where competition is ignored, ``error / true`` is that of comparisons: means over the ten pairs of variants, the
latter with ``smallest`` and ``largest``.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import stdtr, stdtrit

import zslplat
from zslplat.comparison.classes import class_difference
from zslplat.evidence.scores import Scored
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.metrics.accuracy import next_best
from zslplat.metrics.ausuc import next_rivals, rivals
from zslplat.statistics import LEAST_CLASSES, LEVEL, MARGIN, moments
from zslplat.tasks.row_outcomes import RowOutcomes
from zslplat_papers.reproduction.results import keep_results

RIVALS, SPREAD, LEAD, NEW_IN_SPLIT = 10, 0.05, 0.05, 0.2
DRAWS, FOLDS = 10, 5
LAWS = ("normal", "skewed", "zero-inflated", "sparse", "heavy-tailed", "correlated", "groups")
DESIGNS = ("one split", "ten draws", "five folds")
COLUMNS = ("coverage", "error / true", "family error", "power", "equal at 0", "equal at .05")
COMPETITION = ("values alone / true", "error / true", "smallest", "largest", "coverage")
TOGETHER = 100
RESULTS = Path(__file__).parents[1] / "plugins/zslplat-papers/zslplat_papers/reproduction/results"


def draw(law: str, rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Return differences (families, rivals, classes) of mean 0 and standard deviation 1."""
    if law == "skewed":
        return rng.exponential(size=shape) - 1
    if law == "zero-inflated":
        return rng.normal(size=shape) * (rng.random(shape) < 0.3) / np.sqrt(0.3)
    if law == "sparse":
        return ((rng.random(shape) < 0.3) - 0.3) / np.sqrt(0.21)
    if law == "heavy-tailed":
        return rng.standard_t(3, size=shape) / np.sqrt(3)
    if law == "correlated":
        return (rng.normal(size=shape) + rng.normal(size=(shape[0], 1, shape[2]))) / np.sqrt(2)
    if law == "groups":
        shared = np.repeat(rng.normal(size=(*shape[:2], shape[2] // 5)), 5, axis=2)
        return (rng.normal(size=shape) + shared) / np.sqrt(2)
    return rng.normal(size=shape)


@dataclass(frozen=True)
class Spread:
    """What families (n, R) are judged by: means with variance, third cumulant and degrees of freedom, and their values.

    ``values`` are (n, R, C).
    """

    means: np.ndarray
    variances: np.ndarray
    thirds: np.ndarray
    freedom: float
    values: np.ndarray

    def judge(self, lead: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Holm's p-values (n, R) and the ends of the intervals of families whose true leads are all ``lead``.

        :mod:`zslplat.statistics` for many families at once; a test holds the two together.
        """
        means, errors = self.means + lead, np.sqrt(self.variances)
        reach = stdtrit(self.freedom, (1 + LEVEL) / 2)
        lows, highs = means - reach * errors, means + reach * errors
        with np.errstate(divide="ignore", invalid="ignore"):
            t = means / errors
            p = 2 * stdtr(self.freedom, -np.abs(t))
            skewness = self.thirds / errors**3
            bent = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
            p = np.maximum(p, np.where(bent * t > 0, 2 * stdtr(self.freedom, -np.abs(bent)), 1.0))
            ends = [
                means - errors * 3 / skewness * (np.cbrt(1 + skewness * (side * reach - skewness / 6)) - 1)
                for side in (1, -1)
            ]
            lows, highs = np.fmin(lows, ends[0]), np.fmax(highs, ends[1])
            classes = self.values.shape[-1]
            sizes = np.abs(self.values + lead).mean(axis=-1)
            ratio = classes * self.variances.sum(axis=1) / (sizes**2).sum(axis=1)
            errors = np.sqrt((self.variances + 2 * ratio[:, None] * sizes**2 / classes) / 3)
            p = np.maximum(p, 2 * stdtr(3 * self.freedom, -np.abs(means) / errors))
            reach = stdtrit(3 * self.freedom, (1 + LEVEL) / 2)
            lows, highs = np.fmin(lows, means - reach * errors), np.fmax(highs, means + reach * errors)
            p, lows, highs = self._without_spread(means, p, lows, highs)
        return holm(p), np.maximum(lows, -1), np.minimum(highs, 1)

    @property
    def enough(self) -> bool:
        """Whether there are classes enough for a verdict."""
        return self.values.shape[-1] >= LEAST_CLASSES

    def _without_spread(
        self, means: np.ndarray, p: np.ndarray, lows: np.ndarray, highs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        alike, classes = self.variances == 0, self.values.shape[-1]
        unseen = 1 - ((1 - LEVEL) / 2) ** (1 / classes)
        bound = np.minimum(1.0, 2 * (1 + np.abs(means)) ** -float(classes))
        p = np.where(alike, bound, p)
        lows = np.where(alike, means + unseen * (-1 - means), lows)
        return p, lows, np.where(alike, means + unseen * (1 - means), highs)


def holm(p: np.ndarray) -> np.ndarray:
    """Return Holm's p-values of the lines of p (n, R)."""
    order = np.argsort(p, axis=1)
    scaled = np.take_along_axis(p, order, axis=1) * np.arange(p.shape[1], 0, -1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(scaled, axis=1), 1.0), axis=1)
    return adjusted


def over_classes(values: np.ndarray, group: int = 1) -> Spread:
    """Return the spread over classes of values (n, R, C), of which each ``group`` in a row belong together."""
    values = values.reshape(*values.shape[:2], -1, group).mean(axis=-1)
    return Spread(values.mean(axis=-1), *moments(values), values.shape[-1] - 1.0, values)


def designed(law: str, design: str, classes: int, families: int, rng: np.random.Generator) -> Spread:
    """Return what families without a lead are judged by in a design."""
    group = 5 if law == "groups" else 1
    whole = draw(law, rng, (families, RIVALS, FOLDS * classes))
    constant, new = SPREAD * np.sqrt(1 - NEW_IN_SPLIT), SPREAD * np.sqrt(NEW_IN_SPLIT)
    if design == "ten draws":  # a class has one value, the mean over the draws in which it is unseen
        groups = np.array([rng.permutation(FOLDS * classes // group)[: classes // group] for _ in range(DRAWS)])
        drawn = (groups[:, :, None] * group + np.arange(group)).reshape(DRAWS, -1)
        own = np.zeros_like(whole)
        for unseen in drawn:
            own[:, :, unseen] += draw(law, rng, (families, RIVALS, classes))
        times = np.bincount(drawn.ravel(), minlength=FOLDS * classes)
        some = times > 0
        return over_classes(constant * whole[:, :, some] + new * own[:, :, some] / times[some], group)
    tested = whole[:, :, :classes] if design == "one split" else whole
    return over_classes(constant * tested + new * draw(law, rng, tested.shape), group)


def simulate(law: str, design: str, classes: int, simulations: int, rng: np.random.Generator) -> list[float]:
    """Return a line of the table, a share for each of :data:`COLUMNS`."""
    sums, claimed, means, done = np.zeros(5), [], [], 0
    while done < simulations:
        families = min(TOGETHER, simulations - done)
        spread = designed(law, design, classes, families, rng)
        p, lows, highs = spread.judge(0.0)
        led, near, far = spread.judge(LEAD)
        verdicts = [(p <= 1 - LEVEL).any(axis=1).mean(), np.mean(led <= 1 - LEVEL)]
        for p_values, low, high in ((p, lows, highs), (led, near, far)):
            verdicts.append(np.mean((p_values > 1 - LEVEL) & (low > -MARGIN) & (high < MARGIN)))
        sums += families * np.array([np.mean((lows <= 0) & (highs >= 0)), *(spread.enough * v for v in verdicts)])
        claimed.append(spread.variances)
        means.append(spread.means)
        done += families
    ratio = float(np.sqrt(np.mean(np.concatenate(claimed))) / np.std(np.concatenate(means)))
    coverage, *others = sums / simulations
    return [float(coverage), ratio, *map(float, others)]


class RealScores:
    """Scores of five variants of ESZSL on one division of the classes of a data set into seen and unseen ones."""

    RIDGES = ((0.1, 0.1), (1.0, 1.0), (0.01, 1.0), (0.1, 10.0), (10.0, 0.1))
    EACH = 30

    def __init__(self, data: str, rng: np.random.Generator) -> None:
        """Fit the variants on half of the rows of the seen classes; the other half is scored."""
        dataset = zslplat.load_dataset(data)
        classes = rng.permutation(np.unique(dataset.y))
        self.seen = np.arange(len(classes)) < len(classes) // 2
        rows = np.concatenate([rng.permutation(np.flatnonzero(dataset.y == c))[: self.EACH] for c in classes])
        self.y = np.repeat(np.arange(len(classes)), [min(self.EACH, np.sum(dataset.y == c)) for c in classes])
        X = np.asarray(dataset.X[rows], dtype=np.float64)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        S = np.asarray(dataset.class_signatures()[0], dtype=np.float64)[classes]
        S = S - S[self.seen].mean(axis=0)
        S /= np.maximum(np.linalg.norm(S, axis=1, keepdims=True), 1e-9)
        trained = self.seen[self.y] & (np.arange(len(rows)) % 2 == 0)
        X = X - X[trained].mean(axis=0)
        A, B = X[trained], S[self.seen]
        P, Q = A.T @ A, B.T @ B
        products = A.T @ (2.0 * np.eye(len(B))[self.y[trained]] - 1) @ B
        self.scored = np.flatnonzero(~trained)
        self.scores = []
        for gamma, ridge in self.RIDGES:
            left = P + gamma * np.trace(P) / len(P) * np.eye(len(P))
            right = Q + ridge * np.trace(Q) / len(Q) * np.eye(len(Q))
            W = np.linalg.solve(left, products) @ np.linalg.inv(right)
            self.scores.append(X[self.scored] @ W @ S.T)

    def among(self, classes: np.ndarray, *, competing: bool = True) -> list[Scored]:
        """Return what the variants reach where ``classes`` alone are candidates; generalised where some are seen.

        Unless ``competing`` nothing is gained where a class is no candidate.
        """
        seen = self.seen[classes]
        task = GeneralizedZeroShot() if seen.any() else ZeroShot()
        rows = np.flatnonzero(np.isin(self.y[self.scored], classes))
        place = np.full(len(self.seen), -1)
        place[classes] = np.arange(len(classes))
        y, entries = place[self.y[self.scored[rows]]], []
        for number, whole in enumerate(self.scores):
            scores = whole[np.ix_(rows, classes)]
            columns = {"row": rows, "true": y, "predicted": np.argmax(scores, axis=1)}
            columns["next"] = next_best(scores, columns["predicted"]) if competing else columns["predicted"]
            meta = {"classes": classes.tolist()}
            if seen.any():
                columns |= dict(zip(("best_seen", "best_unseen", "critical"), rivals(scores, seen), strict=True))
                columns |= {"own": columns["best_seen"], **next_rivals(scores, seen)}
                if not competing:
                    columns |= {f"next_{kind}": columns[f"best_{kind}"] for kind in ("seen", "unseen")}
                    columns |= {f"{kind}_gap": np.zeros(len(y)) for kind in ("seen", "unseen")}
                unseen_scores, seen_scores = whole[:, ~self.seen].max(axis=1), whole[:, self.seen].max(axis=1)
                meta |= {"seen": seen.tolist(), "bias": float(np.median(seen_scores - unseen_scores))}
            outcomes = RowOutcomes(columns, meta)
            metrics = {k: [float(v[0])] for k, v in task.resampled(outcomes, np.ones((1, len(y)), dtype=int)).items()}
            found = task.class_values(outcomes)
            values = {name: value[None] for name, value in found.values.items()}
            more = {"kinds": found.kinds, "exchanged": found.exchanged, "rows": "same"}
            entries.append(Scored(str(number), str(number), str(number), metrics, {}, {}, classes=values, **more))
        return entries


def compete(data: str, metric: str, classes: int, splits: int) -> dict[str, float]:
    """Return a line of the second table: what is claimed of differences, and how far disjoint sets of classes are."""
    pairs = list(itertools.combinations(range(len(RealScores.RIDGES)), 2))
    squares, claims, plain, covered = (np.zeros((len(pairs), 0)) for _ in range(4))
    for split in range(splits):
        rng = np.random.default_rng([split, classes])
        scores = RealScores(data, rng)
        unseen, seen = (rng.permutation(np.flatnonzero(mask)) for mask in (~scores.seen, scores.seen))
        count = len(unseen) // classes
        parts = [range(n * classes, (n + 1) * classes) for n in range(count)]
        generalised = metric != "per_class_accuracy"
        sets = [np.sort(np.r_[unseen[part], seen[part]] if generalised else unseen[part]) for part in parts]
        gaps, alone = (
            [
                [class_difference(entries[a], entries[b], metric) for a, b in pairs]
                for entries in (scores.among(chosen, competing=way) for chosen in sets)
            ]
            for way in (True, False)
        )
        estimates = np.array([[gap.estimate for gap in line] for line in gaps]).T
        deviations = (estimates - estimates.mean(axis=1, keepdims=True)) / np.sqrt(1 - 1 / count)
        ends = np.array([[gap.ends for gap in line] for line in gaps]).transpose(2, 1, 0)
        truths = estimates - deviations
        squares = np.hstack([squares, deviations**2])
        claims = np.hstack([claims, np.array([[gap.error**2 for gap in line] for line in gaps]).T])
        plain = np.hstack([plain, np.array([[gap.error**2 for gap in line] for line in alone]).T])
        covered = np.hstack([covered, (ends[0] <= truths) & (truths <= ends[1])])
    true = squares.mean(axis=1)
    alone, ratios = (np.sqrt(claimed.mean(axis=1) / true) for claimed in (plain, claims))
    means = [float(np.exp(np.log(ratio).mean())) for ratio in (alone, ratios)]
    return dict(
        zip(COMPETITION, (*means, float(ratios.min()), float(ratios.max()), float(covered.mean())), strict=True)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--classes", type=int, nargs="*", default=[10, 20, 50, 100])
    parser.add_argument("--data", default="digit-pairs", help="what the real scores are of")
    parser.add_argument("--splits", type=int, default=40, help="divisions of its classes into seen and unseen ones")
    parser.add_argument("--keep", action="store_true", help="keep the figures among the results of the project")
    options, start, lines = parser.parse_args(arguments), time.perf_counter(), []

    def add(part: str, law: str, design: str, classes: int, values: dict[str, float], times: int) -> None:
        print(f"| {law} | {design} | {classes} | {' | '.join(f'{v:.3f}' for v in values.values())} |", flush=True)
        place = {"part": part, "law": law, "design": design, "classes": classes}
        lines.extend({**place, "of": name, "share": round(value, 4), "times": times} for name, value in values.items())

    print(f"| law | design | C | {' | '.join(COLUMNS)} |\n|{'---|' * (3 + len(COLUMNS))}")
    for law, design, classes in itertools.product(LAWS, DESIGNS, options.classes):
        rng = np.random.default_rng([LAWS.index(law), DESIGNS.index(design), classes])
        shares = simulate(law, design, classes, options.simulations, rng)
        add("laws", law, design, classes, dict(zip(COLUMNS, shares, strict=True)), options.simulations)
    print(f"\n| metric | data | C | {' | '.join(COMPETITION)} |\n|{'---|' * (3 + len(COMPETITION))}")
    for metric, classes in itertools.product(("per_class_accuracy", "calibrated_H", "AUSUC"), (10, 20)):
        values = compete(options.data, metric, classes, options.splits)
        add("competition", metric, options.data, classes, values, options.splits)
    if options.keep:
        key = ("part", "law", "design", "classes", "of")
        keep_results("verdicts", lines, key, RESULTS, hours=(time.perf_counter() - start) / 3600)


if __name__ == "__main__":
    main()

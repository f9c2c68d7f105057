"""How often verdicts are right: simulated differences of methods, by their law, the design of the test and its classes.

    python benchmarks/verdicts.py [--simulations 2000] [--classes 10 20 50 100]

A family is ten rivals of one baseline; C is how many classes one split tests, of 5 C in all. The difference of a class
has a standard deviation of .05, of which a fifth of the variance is new in every split. Designs:

``one split``    C classes tested once, judged over classes
``ten draws``    ten splits of C classes, drawn from the 5 C, judged over draws
``five folds``   each of the 5 C classes tested once, judged over classes

Columns: ``coverage`` of the 95 % interval of one difference; ``error / true``, the claimed error over the true one;
``family error``, how often any of ten true differences of 0 is called ahead or behind; ``power``, how often a true lead
of .05 is seen; ``equal at 0`` and ``equal at .05``, how often such a difference is called equal within .02.
In the law ``correlated`` all rivals share what the baseline does, in ``groups`` five classes share half of their
variance and are declared.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from zslplat.statistics import LEAST_CLASSES, LEVEL, MARGIN, moments

RIVALS, SPREAD, LEAD, NEW_IN_SPLIT = 10, 0.05, 0.05, 0.2
DRAWS, FOLDS = 10, 5
LAWS = ("normal", "skewed", "zero-inflated", "sparse", "heavy-tailed", "correlated", "groups")
DESIGNS = ("one split", "ten draws", "five folds")
COLUMNS = ("coverage", "error / true", "family error", "power", "equal at 0", "equal at .05")
TOGETHER = 200


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

    ``values`` (n, R, C) are None where only a t test is made of the means, as over draws.
    """

    means: np.ndarray
    variances: np.ndarray
    thirds: np.ndarray
    freedom: float
    values: np.ndarray | None

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
            if self.values is not None:
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
        return self.values is None or self.values.shape[-1] >= LEAST_CLASSES

    def _without_spread(
        self, means: np.ndarray, p: np.ndarray, lows: np.ndarray, highs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assert self.values is not None
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


def over_draws(scores: np.ndarray, share: float) -> Spread:
    """Return the spread over draws of scores (n, R, J) whose tests have ``share`` times the classes of the training."""
    variances = moments(scores)[0] * (1 + scores.shape[-1] * share)
    return Spread(scores.mean(axis=-1), variances, np.zeros_like(variances), scores.shape[-1] - 1.0, None)


def designed(law: str, design: str, classes: int, families: int, rng: np.random.Generator) -> Spread:
    """Return what families without a lead are judged by in a design."""
    group = 5 if law == "groups" else 1
    whole = draw(law, rng, (families, RIVALS, FOLDS * classes))
    constant, new = SPREAD * np.sqrt(1 - NEW_IN_SPLIT), SPREAD * np.sqrt(NEW_IN_SPLIT)
    if design == "ten draws":
        scores = np.empty((families, RIVALS, DRAWS))
        for number in range(DRAWS):
            picked = rng.permutation(FOLDS * classes // group)[: classes // group]
            drawn = whole.reshape(families, RIVALS, -1, group)[:, :, picked].mean(axis=(2, 3))
            scores[:, :, number] = constant * drawn + new * draw(law, rng, (families, RIVALS, classes)).mean(axis=-1)
        return over_draws(scores, 1 / (FOLDS - 1))
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--classes", type=int, nargs="*", default=[10, 20, 50, 100])
    options = parser.parse_args(arguments)
    print(f"| law | design | C | {' | '.join(COLUMNS)} |\n|{'---|' * (3 + len(COLUMNS))}")
    for law in LAWS:
        for design in DESIGNS:
            for classes in options.classes:
                rng = np.random.default_rng([LAWS.index(law), DESIGNS.index(design), classes])
                line = simulate(law, design, classes, options.simulations, rng)
                print(f"| {law} | {design} | {classes} | {' | '.join(f'{v:.3f}' for v in line)} |", flush=True)


if __name__ == "__main__":
    main()

"""How often a loop of tries fools itself at the gate: false passes without and with a budget of looks.

    python benchmarks/gate.py [--loops 2000] [--tries 200] [--classes 20 40 100] [--laws normal ...] [--keep]

A loop is 200 tries against one baseline. The difference of a class has a standard deviation of .05, by one of several
laws. ``without`` and ``with``: every true difference is as bad as minus the margin, and any of the tries passes, where
each is judged alone (``--looks 1`` without a limit) or as one of 200. ``seen without`` and ``seen with``: the share of
true gains of .05 that pass with margin 0. ``mixed``: the tries are of no gain, and the last is the mean of all whose
numbers looked good; it passes as one of 200. No budget protects from that.

``best of 20, base of 1``: the gate judges the winner of 20 independent trials on the classes by which it won, against a
base that had 1; all trials are alike in truth. ``training adds .5``: the classes are tested in five folds, and how a
class changes the difference by its training has half the spread of what it does tested.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from verdicts import draw

from zslplat.statistics import LEVEL, estimate_mean, quantile_t
from zslplat.suites.gate import PASS, verdict_of_gap
from zslplat_papers.reproduction.results import keep_results

SPREAD, GAIN, MARGIN = 0.05, 0.05, 0.005
LAWS = ("normal", "skewed up", "skewed down", "sparse", "heavy-tailed", "correlated")
PICKED = {f"best of {new}, base of {base}": (new, base) for new, base in ((20, 1), (200, 1), (20, 20))}
TRAINED = {"training adds .5": 0.5, "training adds 1": 1.0}
FOLDS = 5
COLUMNS = ("without", "with", "seen without", "seen with", "mixed")
TOGETHER = 50
RESULTS = Path(__file__).parents[1] / "plugins/zslplat-papers/zslplat_papers/reproduction/results"


def passes(values: np.ndarray, margin: float, looks: int) -> np.ndarray:
    """Return which differences (..., C) pass the gate.

    Its interval holds that of the t test, so it is asked only where that one lies above minus the margin.
    """
    count = values.shape[-1]
    reach = quantile_t(count - 1.0, 1 - (1 - LEVEL) / looks)
    above = values.mean(axis=-1) - reach * values.std(axis=-1, ddof=1) / np.sqrt(count) > -margin
    for place in zip(*np.nonzero(above), strict=True):
        above[place] = verdict_of_gap(estimate_mean(values[place]), margin, looks)[0] == PASS
    return np.asarray(above)


def best_of(trials: int, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return values (..., C) of the best by its mean of so many independent trials, each normal of mean 0.

    Mean and deviations of a normal sample are independent, so choosing by the mean leaves the deviations as they are.
    """
    values = rng.normal(size=shape)
    means = rng.normal(size=(*shape[:-1], trials)).max(axis=-1, keepdims=True) / np.sqrt(shape[-1])
    return np.asarray(values - values.mean(axis=-1, keepdims=True) + means)


def trained(adds: float, rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Return differences (n, L, C): what a class does tested, and what those outside its fold do trained on."""
    tested, training = rng.normal(size=shape), rng.normal(size=shape)
    folds = training.reshape(*shape[:2], FOLDS, -1)
    outside = (training.sum(axis=-1)[..., None] - folds.sum(axis=-1)) / (shape[-1] - folds.shape[-1])
    return np.asarray(tested + adds * np.repeat(outside, folds.shape[-1], axis=-1))


def differences(law: str, rng: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    """Return differences (n, L, C) of loops, tries and classes, of mean 0 in truth."""
    if law in PICKED:
        new, base = PICKED[law]
        one = best_of(base, rng, (shape[0], 1, shape[2]))  # a loop has one base
        return (best_of(new, rng, shape) - one) / np.sqrt(2)
    if law in TRAINED:
        return trained(TRAINED[law], rng, shape)
    sign = -1.0 if law == "skewed down" else 1.0
    return sign * draw(law.partition(" ")[0], rng, shape)


def mixed(values: np.ndarray) -> np.ndarray:
    """Return for loops of tries (n, L, C) the mean (n, C) of those with a difference above 0."""
    good = values.mean(axis=-1, keepdims=True) > 0
    return np.asarray((values * good).sum(axis=1) / np.maximum(good.sum(axis=1), 1))


def simulate(law: str, classes: int, loops: int, tries: int, seed: int = 0) -> dict[str, float]:
    """Return the share of loops, or of gains, by column."""
    rng = np.random.default_rng([seed, classes, (*LAWS, *PICKED, *TRAINED).index(law)])
    sums = dict.fromkeys(COLUMNS, 0.0)
    for start in range(0, loops, TOGETHER):
        count = min(TOGETHER, loops - start)
        values = SPREAD * differences(law, rng, (count, tries, classes))
        sums["without"] += passes(values - MARGIN, MARGIN, 1).any(axis=1).sum()
        sums["with"] += passes(values - MARGIN, MARGIN, tries).any(axis=1).sum()
        sums["seen without"] += passes(values[:, 0] + GAIN, 0.0, 1).sum()
        sums["seen with"] += passes(values[:, 0] + GAIN, 0.0, tries).sum()
        sums["mixed"] += passes(mixed(values[:, :-1]), 0.0, tries).sum()
    return {column: float(total) / loops for column, total in sums.items()}


def main() -> None:
    """Print a line per law and number of classes, and keep them with ``--keep``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=2000)
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--classes", type=int, nargs="*", default=[20, 40, 100])
    parser.add_argument("--laws", nargs="*", default=[*LAWS, *PICKED, *TRAINED])
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    began, lines = time.perf_counter(), []
    print(f"{'law':>20} {'C':>4} " + " ".join(f"{column:>13}" for column in COLUMNS))
    for law in options.laws:
        for classes in options.classes:
            shares = simulate(law, classes, options.loops, options.tries)
            print(f"{law:>20} {classes:4d} " + " ".join(f"{shares[column]:13.3f}" for column in COLUMNS), flush=True)
            place = {"law": law, "classes": classes, "tries": options.tries}
            lines += [{**place, "of": name, "share": round(share, 4)} for name, share in shares.items()]
    seconds = time.perf_counter() - began
    print(f"{seconds:.0f} s")
    if options.keep:
        for name, laws in (("gate", LAWS), ("gate-limits", (*PICKED, *TRAINED))):
            kept = [line for line in lines if line["law"] in laws]
            if kept:
                keep_results(name, kept, ("law", "classes", "of"), RESULTS, hours=seconds / 3600)


if __name__ == "__main__":
    main()

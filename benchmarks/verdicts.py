"""How often verdicts are right: simulated differences of methods, by the law of their values per class.

    python benchmarks/verdicts.py [--simulations 2000]

A family is ten rivals of one baseline. Columns: ``coverage`` of the 95 % interval of one difference; ``error / true``,
the mean claimed error over the true one; ``family error``, how often any of ten true differences of 0 is called ahead
or behind; ``power``, how often each of ten true leads of .07 is seen where the spread over classes is .05;
``equal at 0`` and ``equal at .05``, how often a true difference of 0 and of .05 is called equal within .02 where the
spread is .03. ``competing`` classes win rows from each other; ``groups`` of five share half of their variance and are
declared.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from zslplat.statistics import AHEAD, BEHIND, Estimate, estimate_mean, holm, moderate, verdict_of

RIVALS = 10
SPREAD = 0.05
LAWS = ("normal", "skewed", "zero-inflated", "sparse", "heavy-tailed", "correlated", "groups", "competing")


def draw(law: str, rng: np.random.Generator, rivals: int, classes: int) -> np.ndarray:
    """Return differences (rivals, classes) of mean 0 and standard deviation 1."""
    shape = (rivals, classes)
    if law == "skewed":
        return rng.exponential(size=shape) - 1
    if law == "zero-inflated":
        return rng.normal(size=shape) * (rng.random(shape) < 0.3) / np.sqrt(0.3)
    if law == "sparse":
        return ((rng.random(shape) < 0.3) - 0.3) / np.sqrt(0.21)
    if law == "heavy-tailed":
        return rng.standard_t(3, size=shape) / np.sqrt(3)
    if law == "correlated":  # all rivals share what the baseline does
        return (rng.normal(size=shape) + rng.normal(size=classes)) / np.sqrt(2)
    if law == "groups":
        return (rng.normal(size=shape) + np.repeat(rng.normal(size=(rivals, classes // 5)), 5, axis=1)) / np.sqrt(2)
    if law == "competing":  # what a class loses, others win
        values = rng.normal(size=shape)
        return (values - 0.5 * np.roll(values, 1, axis=1)) / np.sqrt(1.25)
    return rng.normal(size=shape)


def judge(family: np.ndarray, groups: np.ndarray | None) -> tuple[list[Estimate], list[str]]:
    """Return the estimates and verdicts of a family (rivals, classes)."""
    estimates = [e for e in moderate([estimate_mean(values, groups=groups) for values in family]) if e is not None]
    p_values = holm([e.p_value for e in estimates])
    verdicts = [
        verdict_of(e.estimate, p, e.ends, classes=e.classes) for e, p in zip(estimates, p_values.tolist(), strict=True)
    ]
    return estimates, verdicts


def simulate(law: str, classes: int, simulations: int, rng: np.random.Generator) -> list[float]:
    """Return a line of the table."""
    groups = np.arange(classes) // 5 if law == "groups" else None
    covered, claimed, means, wrong, seen, equal, mistaken = 0, [], [], 0, 0, 0, 0
    for _ in range(simulations):
        family = SPREAD * draw(law, rng, RIVALS, classes)
        estimates, verdicts = judge(family, groups)
        wrong += any(verdict in (AHEAD, BEHIND) for verdict in verdicts)
        low, high = estimates[0].ends
        covered += low <= 0 <= high
        claimed.append(estimates[0].error ** 2)
        means.append(estimates[0].estimate)
        seen += judge(family + 0.07, groups)[1].count(AHEAD)
        narrow = 0.6 * family
        equal += sum(verdict.startswith("equal") for verdict in judge(narrow, groups)[1])
        mistaken += sum(verdict.startswith("equal") for verdict in judge(narrow + 0.05, groups)[1])
    many = simulations * RIVALS
    ratio = float(np.sqrt(np.mean(claimed)) / np.std(means))
    return [covered / simulations, ratio, wrong / simulations, seen / many, equal / many, mistaken / many]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--classes", type=int, nargs="*", default=[10, 20, 50, 100])
    options = parser.parse_args(arguments)
    print("| law | classes | coverage | error / true | family error | power | equal at 0 | equal at .05 |")
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for law in LAWS:
        for classes in options.classes:
            cells = " | ".join(f"{value:.3f}" for value in simulate(law, classes, options.simulations, rng))
            print(f"| {law} | {classes} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

"""Simulated coverage of every interval that a comparison shows: nominal 95 %, correlated rows within classes.

Two methods are right in a row where a latent normal is positive: an effect of its class, which both methods feel
(correlation .7), an effect of the row, which both feel, and noise. Accuracies of classes then spread by .24, those of
differences by .19. In the generalised task the bias from which on a row is given an unseen class has an effect of
its class, too. Truth is what the same methods would reach on average over *new classes* drawn alike, or over other rows
of *these classes*. Coverage is the share of simulations whose interval holds the truth; the size of a test is how often
it finds a difference at level .05 where there is none.

    python benchmarks/interval_coverage.py [--simulations 1000] [--only accuracy rivals ausuc splits groups] [--keep]

``--keep`` keeps the figures with their provenance, from where ``docs/statistics.md`` has its tables.

Standard errors of the figures are sqrt(c (1 - c) / simulations): .007 for .95 of 1000.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import norm, t

from zslplat.comparison.classes import class_difference, family_p_values, over_classes
from zslplat.comparison.paired import difference, interval
from zslplat.evidence.draws import join_draws
from zslplat.evidence.scores import Scored
from zslplat.metrics.ausuc import winners
from zslplat.metrics.intervals import draws, draws_of_things, jackknifed, resampled_ausuc, resampled_means
from zslplat.statistics import Estimate, estimate_mean
from zslplat_papers.reproduction.results import keep_results

CLASSES = (5, 10, 20, 50)
LEVEL, MEAN, CLASS_SD, CORRELATION = 0.05, 0.5, 0.8, 0.7
# Bias from which on a row is given an unseen class: seen rows, unseen rows, spread between classes.
CRITICAL_SEEN, CRITICAL_UNSEEN, CRITICAL_SD = 1.0, 0.3, 0.6

RESULTS = Path(__file__).parents[1] / "plugins/zslplat-papers/zslplat_papers/reproduction/results"
Line = dict[str, float]


def both(rng: np.random.Generator, shape: int | tuple[int, ...], sd: float, correlation: float) -> np.ndarray:
    """Return effects (2, ...) on two methods."""
    common = np.sqrt(correlation) * rng.normal(size=shape)
    own = np.sqrt(1 - correlation) * rng.normal(size=(2, *np.atleast_1d(shape)))
    return sd * (common + own)


def scored(label: str, values: dict[str, float], classes: dict[str, np.ndarray], **more) -> Scored:
    """Return what a comparison reads of one method."""
    return Scored(
        label,
        label,
        label,
        {name: [value] for name, value in values.items()},
        more.get("replicates", {}),
        {},
        classes={name: found[None] for name, found in classes.items()},
        kinds=more.get("kinds"),
        class_names=more.get("names"),
        rows=more.get("rows", "same"),
    )


def holds(ends: tuple[float, float], truth: float) -> bool:
    """Tell whether an interval holds the truth."""
    return ends[0] <= truth <= ends[1]


def percentiles(values: np.ndarray) -> tuple[float, float]:
    """Return the percentile interval."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def accuracy(c: int, rows: int, simulations: int, shift: float = 0.0) -> dict[str, Line]:
    """Return coverage of the mean per-class accuracy and of the difference of two, over new classes."""
    hits: dict[str, Line] = defaultdict(lambda: defaultdict(float))
    truth = float(norm.cdf((MEAN + shift) / np.sqrt(1 + CLASS_SD**2)))
    rng = np.random.default_rng([c, rows, 1])
    for _ in range(simulations):
        effect = both(rng, c, CLASS_SD, CORRELATION)
        noise = both(rng, (c, rows), 1.0, 0.5)
        right = MEAN + shift + effect[:, :, None] + noise > 0
        by_class = right.mean(axis=2)
        kinds = np.stack([(right[0] == a) & (right[1] == b) for a in (0, 1) for b in (0, 1)], axis=-1).mean(axis=1)
        drawn = rng.multinomial(rows, kinds, size=(400, c)) / rows
        rows_first, rows_gap = (
            (drawn[:, :, 2] + drawn[:, :, 3]).mean(axis=1),
            (drawn[:, :, 2] - drawn[:, :, 1]).mean(axis=1),
        )
        again = rng.multinomial(c, np.full(c, 1 / c), size=400) / c
        first, second = (scored(n, {"acc": float(v.mean())}, {"acc": v}) for n, v in zip("ab", by_class, strict=True))
        own, gap = over_classes(first, "acc"), class_difference(first, second, "acc")
        for name, found, by_row, values, true in (
            ("accuracy", own, rows_first, by_class[0], truth),
            ("difference of accuracies", gap, rows_gap, by_class[0] - by_class[1], 0.0),
        ):
            line = hits[name]
            line["rows"] += holds(percentiles(by_row), true)
            line["class bootstrap"] += holds(percentiles(again @ values), true)
            line["t, jackknife"] += holds(found.ends, true)
        hits["difference of accuracies"]["size of the test"] += gap.p_value <= LEVEL
    return {name: {k: v / simulations for k, v in line.items()} for name, line in hits.items()}


def rivals(c: int, count: int, simulations: int, shift: float) -> dict[str, Line]:
    """Return how often one of so many rivals that are all alike is told from the baseline, after Holm's correction."""
    rng = np.random.default_rng([c, count, 5])
    found: Line = defaultdict(float)
    for _ in range(simulations):
        common = np.sqrt(CORRELATION) * rng.normal(size=c)
        effect = CLASS_SD * (common + np.sqrt(1 - CORRELATION) * rng.normal(size=(count + 1, c)))
        by_class = rng.binomial(60, norm.cdf(MEAN + shift + effect)) / 60
        baseline, *others = (scored("a", {"acc": float(v.mean())}, {"acc": v}) for v in by_class)
        gaps = [class_difference(other, baseline, "acc") for other in others]
        found["found by chance"] += family_p_values(gaps)[1].min() <= LEVEL
        found["t tests alone"] += np.min([replace(gap, third=0.0).p_value for gap in gaps]) * count <= LEVEL
    return {"difference of accuracies": {k: v / simulations for k, v in found.items()}}


def true_curves(p_seen: np.ndarray, c_seen: np.ndarray) -> dict[str, float]:
    """Return H and AUSUC of new unseen classes, and of the seen classes given, or of new ones for empty arrays."""
    bias = np.linspace(-8, 9, 4000)
    mean, spread = norm.cdf(MEAN / np.sqrt(1 + CLASS_SD**2)), np.sqrt(1 + CRITICAL_SD**2)
    unseen = mean * norm.cdf((bias - CRITICAL_UNSEEN) / spread)
    seen = mean * norm.sf((bias - CRITICAL_SEEN) / spread)
    if len(p_seen):
        seen = np.mean([p * norm.sf(bias - CRITICAL_SEEN - e) for p, e in zip(p_seen, c_seen, strict=True)], axis=0)
    u, s = (float(np.interp(0.0, bias, values)) for values in (unseen, seen))
    return {"AUSUC": float(np.trapezoid(seen, unseen)), "H": 2 * u * s / (u + s)}


def generalised(c: int, rows: int, simulations: int) -> dict[str, Line]:
    """Return coverage of AUSUC and H, and of differences of two methods, over new classes."""
    hits: dict[str, Line] = defaultdict(lambda: defaultdict(float))
    n_seen = min(4 * c, 150)
    seen = np.r_[np.zeros(c, dtype=bool), np.ones(n_seen, dtype=bool)]
    y = np.repeat(np.arange(c + n_seen), rows)
    rng = np.random.default_rng([c, rows, 2])
    counts = np.vstack(list(draws(np.arange(len(y)), y, 200)))
    population = true_curves(np.zeros(0), np.zeros(0))
    middle = np.where(seen, CRITICAL_SEEN, CRITICAL_UNSEEN)[y]
    for _ in range(simulations):
        effect = both(rng, len(seen), CLASS_SD, CORRELATION)
        leaning = both(rng, len(seen), CRITICAL_SD, CORRELATION)
        right = MEAN + effect[:, y] + both(rng, len(y), 1.0, 0.5) > 0
        critical = middle + leaning[:, y] + both(rng, len(y), 1.0, 0.5)
        entries = []
        for number in range(2):
            # A wrong class of the right kind stands for all that are wrong.
            other = np.where(seen[y], c + (y - c + 1) % n_seen, (y + 1) % c)
            own = np.where(right[number], y, other)
            best = np.where(seen[y], own, c), np.where(seen[y], 0, own), critical[number]

            def metrics(w: np.ndarray, best=best) -> dict[str, np.ndarray]:
                correct = winners(*best, 0.0) == y
                u, s = (resampled_means(w[:, part], correct[part], y[part]) for part in (~seen[y], seen[y]))
                return {"AUSUC": resampled_ausuc(w, *best, y, seen), "H": 2 * u * s / np.maximum(u + s, 1e-12)}

            whole = {name: float(v[0]) for name, v in metrics(np.ones((1, len(y)), dtype=np.int32)).items()}
            values = jackknifed(metrics, y, seen.astype(np.int64))
            drawn = {name: found[None] for name, found in metrics(counts).items()}
            entries.append(scored("ab"[number], whole, values.values, kinds=values.kinds, replicates=drawn))
        here = norm.cdf(MEAN + effect[0][seen]), leaning[0][seen]
        fixed = true_curves(*here)
        for name in ("AUSUC", "H"):
            line, own = hits[name], over_classes(entries[0], name)
            ends = interval(entries[0], name)
            line["rows"] += holds((ends.low, ends.high), population[name])
            line["t, jackknife"] += holds(own.ends, population[name])
            line["unseen classes only"] += holds(unseen_only(own, entries[:1], name).ends, population[name])
            line["t, seen classes fixed"] += holds(own.ends, fixed[name])
            line["unseen only, seen fixed"] += holds(unseen_only(own, entries[:1], name).ends, fixed[name])
            line, gap = hits[f"difference of {name}"], class_difference(*entries, name)
            ends = difference(*entries, name)
            line["rows"] += holds((ends.low, ends.high), 0.0)
            line["t, jackknife"] += holds(gap.ends, 0.0)
            line["unseen classes only"] += holds(unseen_only(gap, entries, name).ends, 0.0)
            line["size of the test"] += gap.p_value <= LEVEL
    return {name: {k: v / simulations for k, v in line.items()} for name, line in hits.items()}


def unseen_only(found: Estimate, entries: list[Scored], metric: str) -> Estimate:
    """Return the t interval that takes the seen classes for given."""
    values = entries[0].classes[metric][0] - (entries[1].classes[metric][0] if len(entries) > 1 else 0.0)
    part = values[entries[0].kinds == 0]
    return replace(estimate_mean(part), estimate=found.estimate)


def splits(c: int, simulations: int, training: float, count: int = 10) -> dict[str, Line]:
    """Return coverage of class splits, a fifth of the classes unseen, of the difference of two methods.

    ``training`` is how much a class adds to the difference where it is trained on, relative to where it is tested.
    ``t over splits`` takes random draws for independent; ``corrected t`` has the variance (1 / J + u / s) s^2 for J
    draws of u unseen and s seen classes (Nadeau and Bengio, "Inference for the Generalization Error", 2003); the others
    have one value per class.
    """
    rng = np.random.default_rng([c, 3])
    hits: dict[str, Line] = defaultdict(lambda: defaultdict(float))
    unseen, names = c // 5, np.array([f"c{number:03}" for number in range(c)])
    for _ in range(simulations):
        tested, trained = both(rng, c, 0.17, 0.3)

        def draw(number: int, chosen: np.ndarray) -> Scored:
            values = tested[chosen] + training * np.delete(trained, chosen).mean()  # noqa: B023
            return scored("a", {"v": float(values.mean())}, {"v": values}, names=names[chosen], rows=str(number))

        drawn = {number: draw(number, rng.permutation(c)[:unseen]) for number in range(count)}
        folds = {k: draw(k, chosen) for k, chosen in enumerate(rng.permutation(c).reshape(5, -1))}
        values = np.array([one.values["v"][0] for one in drawn.values()])
        for name, share in (("t over splits", 0.0), ("corrected t", unseen / (c - unseen))):
            half = t.ppf(0.975, count - 1) * values.std(ddof=1) * np.sqrt(1 / count + share)
            hits["difference"][name] += holds((values.mean() - half, values.mean() + half), 0.0)
        for name, entry in (
            ("one split", drawn[0]),
            ("draws, one value per class", join_draws(drawn)),
            ("five class folds", join_draws(folds)),
        ):
            hits["difference"][name] += holds(over_classes(entry, "v").ends, 0.0)
    return {name: {k: v / simulations for k, v in line.items()} for name, line in hits.items()}


def groups(each: int, simulations: int, c: int = 10, rows: int = 10) -> dict[str, Line]:
    """Return coverage of other rows of these classes, where rows come in groups."""
    rng = np.random.default_rng([each, 4])
    hits: dict[str, Line] = defaultdict(lambda: defaultdict(float))
    y = np.repeat(np.arange(c), each * rows)
    group = np.repeat(np.arange(c * each), rows)
    by_rows = np.vstack(list(draws(np.arange(len(y)), y, 300)))
    by_groups = np.vstack(list(draws_of_things(group[:, None], y, 300)))
    for _ in range(simulations):
        effect = both(rng, c, CLASS_SD, CORRELATION)
        right = MEAN + effect[:, y] + both(rng, c * each, 1.0, 0.5)[:, group] + both(rng, len(y), 1.0, 0.5) > 0
        truth = norm.cdf((MEAN + effect) / np.sqrt(2)).mean(axis=1)
        for name, counts in (("rows", by_rows), ("groups", by_groups)):
            drawn = [resampled_means(counts, one, y)[None] for one in right]
            entries = [
                scored(n, {"acc": float(one.mean())}, {}, replicates={"acc": found})
                for n, one, found in zip("ab", right, drawn, strict=True)
            ]
            own, gap = interval(entries[0], "acc"), difference(*entries, "acc")
            hits["accuracy"][name] += holds((own.low, own.high), truth[0])
            hits["difference of accuracies"][name] += holds((gap.low, gap.high), truth[0] - truth[1])
    return {name: {k: v / simulations for k, v in line.items()} for name, line in hits.items()}


def show(title: str, found: dict[tuple[str, str], Line]) -> None:
    """Print a Markdown table, a line per quantity and size."""
    columns = list(dict.fromkeys(name for line in found.values() for name in line))
    print(f"\n{title}\n\n| | | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}")
    for (quantity, size), line in found.items():
        cells = [f"{line[name]:.3f}".lstrip("0") if name in line else "" for name in columns]
        print(f"| {quantity} | {size} | {' | '.join(cells)} |", flush=True)


def by_quantity(results: dict[str, dict[str, Line]]) -> dict[tuple[str, str], Line]:
    """Return lines by quantity and size, sizes of one quantity together."""
    names = list(dict.fromkeys(name for found in results.values() for name in found))
    return {(name, size): found[name] for name in names for size, found in results.items() if name in found}


def kept(part: str, times: int, results: dict[str, dict[str, Line]], seconds: float) -> None:
    """Keep the figures of one part, a line per quantity, size and interval."""
    lines = [
        {"part": part, "quantity": quantity, "size": size, "of": name, "share": float(share), "simulations": times}
        for (quantity, size), line in by_quantity(results).items()
        for name, share in line.items()
    ]
    keep_results("coverage", lines, ("part", "quantity", "size", "of"), RESULTS, hours=seconds / 3600)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--only", nargs="+", default=["accuracy", "rivals", "ausuc", "splits", "groups"])
    parser.add_argument("--keep", action="store_true", help="keep the figures among the results of the project")
    asked = parser.parse_args()
    n, start = asked.simulations, time.perf_counter()

    def part(name: str, title: str, times: int, sizes: dict[str, Callable[[], dict[str, Line]]]) -> None:
        """Simulate, print and keep one part: ``sizes`` says how each of its sizes is simulated."""
        began = time.perf_counter()
        results = {size: simulate() for size, simulate in sizes.items()}
        show(f"{title} ({times} simulations)", by_quantity(results))
        if asked.keep:
            kept(name, times, results, time.perf_counter() - began)

    if "accuracy" in asked.only:
        sizes = {f"{c} classes x {rows}": partial(accuracy, c, rows, n) for c in CLASSES for rows in (60, 300)}
        part("accuracy", "Over new classes: mean per-class accuracy", n, sizes)
        sizes = {f"{c} classes x 60": partial(accuracy, c, 60, n, shift=1.8) for c in CLASSES}
        part("ceiling", "The same near the ceiling (mean accuracy .96, skewed)", n, sizes)
    if "rivals" in asked.only:
        times = max(n // 5, 1)
        sizes = {
            f"{count} rivals, {c} classes{where}": partial(rivals, c, count, times, shift)
            for where, shift in (("", 0.0), (" near the ceiling", 1.8))
            for count in (3, 30)
            for c in (6, 8, 10, 20)
        }
        part("rivals", "Rivals that are all alike: is any of them told apart?", times, sizes)
    if "ausuc" in asked.only:
        times = max(n // 2, 1)
        sizes = {f"{c} unseen, {min(4 * c, 150)} seen x 20": partial(generalised, c, 20, times) for c in CLASSES}
        part("ausuc", "Over new classes: generalised task", times, sizes)
    if "splits" in asked.only:
        sizes = {
            f"{c} classes, {c // 5} unseen, training adds {training:g}": partial(splits, c, n, training)
            for training in (0.0, 0.5, 1.0)
            for c in (25, 50, 100, 250)
        }
        part("splits", "Over new classes: 10 class splits of one data set", n, sizes)
    if "groups" in asked.only:
        times = max(n // 2, 1)
        sizes = {f"10 classes x {each} groups x 10 rows": partial(groups, each, times) for each in (3, 10, 30)}
        part("groups", "Over other rows of these classes, in groups", times, sizes)
    print(f"\n{n} simulations, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

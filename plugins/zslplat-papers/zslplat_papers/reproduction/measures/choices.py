"""What a choice on held-out classes costs against the choice that the test split would have made.

This looks at the test split, after the fact and on purpose: that is what the claims are about. Nothing of it is
recorded, and no search reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.statistics import estimate_mean
from zslplat_papers.reproduction.measures.ground import Ground, accuracies, build, held_out_accuracies
from zslplat_papers.reproduction.verdicts import CLASSES, Contrast

STARTS, REPLICATES, POINT = 3, 2000, 0.01


def price_of_validation(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Fit ``method`` with each of ``values`` of ``parameter``: what choosing on held-out classes costs on the test.

    ``claimed``: ``differs``, the accuracy by the value that is best on the test less that by the one that is best on
    held-out classes, less a point; or ``agrees``, a point less that. Accuracies are means over three starts.

    The interval holds two: that of the bootstrap over both kinds of classes with both choices made anew in every draw,
    since a price of 0, where both are the same, is no certainty for other classes; and Student's of the two values that
    were chosen, since the best of a draw is ahead by chance as well.
    """
    task = ZeroShot()
    sign = 1 if options["claimed"] == "differs" else -1
    for name, dataset in ground.data():
        test = task.test(dataset)
        held_out, tested = [], []
        for value in options["values"]:
            variants = [{options["parameter"]: value, "seed": seed} for seed in range(STARTS)]
            repeated = [held_out_accuracies(partial(build, options["method"], **one), dataset)[-1] for one in variants]
            held_out.append(np.mean(repeated, axis=0))
            tested.append(
                np.mean([accuracies(build(options["method"], **one), task, test)[-1] for one in variants], axis=0)
            )
        chosen, best = (int(np.mean(repeated, axis=1).argmax()) for repeated in (held_out, tested))
        choices = f"{options['values'][chosen]} on held-out classes, {options['values'][best]} on the test"
        ground.say(f"{name}: the best {options['parameter']} is {choices}")
        price = tested[best] - tested[chosen]
        ends = [*np.percentile(replicates_of_price(np.array(held_out), np.array(tested)), (2.5, 97.5))]
        ends += estimate_mean(price).ends
        low, high = sorted(sign * (end - POINT) for end in (np.nanmin(ends), np.nanmax(ends)))
        what = (
            f"price of choosing on held-out classes - {POINT}" if sign > 0 else f"{POINT} - price of choosing on them"
        )
        gap = sign * (float(price.mean()) - POINT)
        yield Contrast(f"{name}: {what}", gap, float(low), float(high), CLASSES, len(price))


def replicates_of_price(held_out: np.ndarray, tested: np.ndarray) -> np.ndarray:
    """Return prices (b,) over draws of classes; both arrays are accuracies (values, classes)."""
    rng = np.random.default_rng(29)
    prices = np.empty(REPLICATES)
    for number in range(REPLICATES):
        chosen = _drawn(held_out, rng).argmax()
        means = _drawn(tested, rng)
        prices[number] = means.max() - means[chosen]
    return prices


def _drawn(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(values[:, rng.integers(values.shape[1], size=values.shape[1])].mean(axis=1))

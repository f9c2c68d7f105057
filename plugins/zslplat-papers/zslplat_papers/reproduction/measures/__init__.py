"""Measures: experiments on a claim that no suite of studies can be, and how each is called in ``claim_tests.toml``.

How long a fit takes, what a fit does from step to step, what a choice by the test split would have given, how compact
projected classes are: none of these is the score of a tuned method. A measure fits methods in this process, with the
values that it is given, and returns differences like those of a suite, each with its interval. Nothing is recorded in
the store, nothing is tuned, and nothing of it reaches a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zslplat_papers.reproduction.measures.ground import Ground
    from zslplat_papers.reproduction.verdicts import Contrast

    Measure = Callable[[Ground, Mapping[str, Any]], Iterator[Contrast]]

# By name: module here and function. Methods and scikit-learn are imported by who carries one out.
MEASURES: Mapping[str, str] = {
    "power-of-rows": "cost:power_of_rows",
    "level-after-updates": "objectives:level_after_updates",
    "objective-falls": "objectives:objective_falls",
    "last-scores-shrink": "objectives:last_scores_shrink",
    "training-settles": "training:training_settles",
    "training-rises": "training:training_rises",
    "epochs-saved": "training:epochs_saved",
    "price-of-validation": "choices:price_of_validation",
    "compact-classes": "separation:compact_classes",
    "gain-at-features": "selection:gain_at_features",
    "spread-over-starts": "selection:spread_over_starts",
    "lead-by-labelled-share": "selection:lead_by_labelled_share",
}


def load_measure(name: str) -> Measure:
    """Return the function of a measure; raises KeyError for a name that is none."""
    module, _, function = MEASURES[name].partition(":")
    measure: Measure = getattr(import_module(f"{__name__}.{module}"), function)
    return measure

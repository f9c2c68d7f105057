"""Numbers and names in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zslplat.multiples import read_multiple
from zslplat.names import NOTHING, decimal
from zslplat.reports.blocks import Cell

METRICS = {
    "per_class_accuracy": "mean per-class accuracy",
    "per_sample_accuracy": "accuracy over rows",
    "per_class_top_5": "mean per-class top-5 accuracy",
    "AUSUC": "area under the seen-unseen curve (AUSUC)",
    "H": "harmonic mean H",
    "calibrated_H": "harmonic mean H with the bias of validation",
    "mAP": "mean average precision (mAP)",
    "centred_mAP": "mean average precision of scores less their row's mean (centred mAP)",
    "seconds": "seconds",
    "cpu_seconds": "CPU seconds",
    "peak_memory_bytes": "peak memory",
}


def metric_words(name: str) -> str:
    """Return what a metric is called in a sentence."""
    return METRICS.get(name, name.replace("_", " "))


def number(value: float | None, *, sign: bool = False, digits: int = 4) -> str:
    """Return a score with four decimals, as ``compare`` shows it; a dash for what is not known."""
    if value is None or not math.isfinite(value):
        return NOTHING
    return decimal(value, digits, sign=sign)


def short(value: object) -> str:
    """Return a value with four significant figures, multiples of a unit of the data, too; others as they are."""
    if isinstance(value, float):
        return f"{value:.4g}"
    multiple = read_multiple(value)
    return f"{multiple[0]:.4g}{multiple[1]}" if multiple and str(value)[:1].isdigit() else str(value)


def span(low: float | None, high: float | None, *, sign: bool = False, digits: int = 4) -> str:
    """Return the ends of an interval; a dash where there is none."""
    if low is None or high is None:
        return NOTHING
    return f"{number(low, sign=sign, digits=digits)} to {number(high, sign=sign, digits=digits)}"


def cell(value: float | None, *, sign: bool = False, strong: bool = False) -> Cell:
    """Return a score as a cell, with its exact value to sort by."""
    finite = value if value is not None and math.isfinite(value) else None
    return Cell(number(value, sign=sign), finite, strong)


def size(count: float | None) -> str:
    """Return bytes in the unit that fits them."""
    if count is None or not math.isfinite(count):
        return NOTHING
    for unit, least in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= least:
            return f"{count / least:.3g} {unit}"
    return f"{count:.0f} B"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them: ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))


def first_of(count: int) -> str:
    """Return what a title says where only the first of several repeats is shown; empty where there is one."""
    return f", the first of {count} repeats" if count > 1 else ""


def sentence(text: str) -> str:
    """Return a text as a sentence: a capital letter in front, a full stop behind."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def with_article(words: str) -> str:
    """Return words with the article that they begin with: *an area*, *a mean*."""
    return f"{'an' if words[:1].lower() in 'aeiou' else 'a'} {words}"

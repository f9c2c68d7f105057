"""Intervals of differences: what they are over, in words, and Student's of a mean."""

from __future__ import annotations

import numpy as np

CLASSES, DRAWS, SEEDS = "new classes", "test rows, queries or draws", "seeds"


def t_interval(estimate: float, values: np.ndarray) -> tuple[float, float] | None:
    """Return the ends of Student's interval of a mean (95 %) about an estimate; None for fewer than two values."""
    from scipy.stats import t

    if len(values) < 2:
        return None
    half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return estimate - half, estimate + half

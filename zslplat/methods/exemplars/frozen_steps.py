"""Preprocessing that can be repeated on new rows, long after the training rows are gone.

Every step of :mod:`zslplat.data.preprocessing` needs at most a few statistics of the training rows. They are kept as
one or two stand-in rows with the same statistics, so that :func:`zslplat.data.preprocessing.apply_steps` itself
applies the step, and the two can never drift apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from zslplat.data.preprocessing import apply_steps
from zslplat.errors import UsageError
from zslplat.methods.base import Arrays


def freeze(steps: Sequence[str], fit_rows: np.ndarray) -> Arrays:
    """Return the stand-in rows (1 or 2, d) of every step, by ``<number>:<step>`` in their order.

    ``fit_rows`` (n, d) are the training rows before preprocessing. Raises UsageError for a step that is not known.
    """
    frozen: Arrays = {}
    rows = fit_rows
    for number, step in enumerate(steps):
        frozen[f"{number:02d}:{step}"] = _stand_in(step, np.asarray(rows))
        rows = apply_steps((step,), rows)[0]
    return frozen


def apply_frozen(frozen: Mapping[str, np.ndarray], X: np.ndarray) -> np.ndarray:
    """Return rows X (n, d) after the frozen steps; raises UsageError where the width is another one."""
    for name in sorted(frozen):
        stand_in = np.asarray(frozen[name])
        if X.ndim != 2 or X.shape[1] != stand_in.shape[1]:
            raise UsageError(f"rows have shape {X.shape}; expected (n, {stand_in.shape[1]}), the width of the index")
        X = apply_steps((name.partition(":")[2],), stand_in, X)[1]
    return X


def _stand_in(step: str, rows: np.ndarray) -> np.ndarray:
    if step in ("l1", "l2", "hellinger", "none"):  # nothing is learned
        return np.zeros((1, rows.shape[1]), dtype=rows.dtype)
    if step in ("center", "center_all"):
        return np.asarray(rows.mean(axis=0, dtype=np.float64, keepdims=True))
    if step == "standardise":
        mean, deviation = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
        return np.stack([mean - deviation, mean + deviation])
    if step in ("shift", "lift", "unit", "split"):
        return np.stack([rows.min(axis=0), rows.max(axis=0)])
    raise UsageError(f"preprocessing step {step!r} cannot be kept with an index; use other steps")

"""Declared preprocessing: what a method wants done to features and signatures before it sees them.

Statistics come from the training rows of the problem at hand, never from rows that are scored. Steps, in the order
in which they are listed:

``center``       subtract the mean of the training rows
``standardise``  subtract the mean and divide by the standard deviation of the training rows
``l1``, ``l2``   divide each row by its norm (rows of zeros stay)
``hellinger``    square root of the l1-normalised row; needs non-negative values
``shift``        make non-negative: subtract the smallest value of the whole matrix where it is negative, clip below 0
``lift``         the same column by column: columns without a negative value stay as they are
``unit``         map every column to [0, 1] by its training minimum and maximum, clip outside
``split``        make non-negative: positive and negative parts side by side, (n, d) -> (n, 2d); nothing is done
                 where there is no negative value

``shift``, ``lift`` and ``split`` look for negative values among the training rows and, of signatures, those of all
classes of the problem, so that no class loses what its signature says to the clipping.

The centre of ``center`` and ``standardise`` for signatures comes from the seen classes, unless the spec says
``center_all``, which uses the signatures of all classes of the problem (they are side information, known before any
image of an unseen class).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zslplat.errors import DataError, UnknownNameError

STEPS = ("center", "center_all", "standardise", "l1", "l2", "hellinger", "shift", "lift", "unit", "split", "none")


@dataclass(frozen=True)
class Preprocessing:
    """The steps for features and for signatures, each a tuple of names out of ``STEPS``."""

    features: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for step in (*self.features, *self.signatures):
            if step not in STEPS:
                raise UnknownNameError("preprocessing step", step, STEPS)

    def overridden(self, features: str | None, signatures: str | None) -> Preprocessing:
        """Return the spec with ``"center,l2"``-like strings in place of the method's own steps."""
        return Preprocessing(
            self.features if features is None else parse_steps(features),
            self.signatures if signatures is None else parse_steps(signatures),
        )


def parse_steps(text: str) -> tuple[str, ...]:
    """Read ``center,l2``; ``none`` or an empty string is no step."""
    steps = tuple(part.strip() for part in text.split(",") if part.strip())
    return tuple(step for step in steps if step != "none")


def apply_steps(
    steps: Sequence[str], fit_rows: np.ndarray, *others: np.ndarray, every: np.ndarray | None = None
) -> list[np.ndarray]:
    """Apply the steps to the training rows and, with the training rows' statistics, to the other matrices.

    ``every``: rows that are all known beforehand, whose mean ``center_all`` subtracts and among which ``shift``,
    ``lift`` and ``split`` look for negative values (default: the training rows). Returns the transformed training
    rows first. float32 stays float32; everything else becomes float64; integer features become float32. Statistics
    are accumulated in float64.
    """
    matrices = [_as_float(m) for m in (fit_rows, *others)]
    everything = None if every is None else _as_float(every)
    for step in steps:
        if step == "none":
            continue
        if step == "center_all" and everything is not None:
            mean = everything.mean(axis=0, dtype=np.float64)
            matrices = [(m - mean).astype(m.dtype) for m in matrices]
            everything = everything - mean
            continue
        source = [*matrices] if everything is None else [*matrices, everything]
        result = _apply("center" if step == "center_all" else step, source, everything)
        matrices = result[: len(matrices)]
        everything = None if everything is None else result[-1]
    return matrices


def _apply(step: str, matrices: list[np.ndarray], everything: np.ndarray | None) -> list[np.ndarray]:
    train = matrices[0]
    if step in ("center", "standardise"):
        mean = train.mean(axis=0, dtype=np.float64)
        scale = np.ones_like(mean)
        if step == "standardise":
            deviation = train.std(axis=0, dtype=np.float64)
            scale = np.where(deviation > 0, deviation, 1.0)
        return [((m - mean) / scale).astype(m.dtype) for m in matrices]
    if step in ("l1", "l2"):
        return [_normalise(m, step) for m in matrices]
    if step == "hellinger":
        if min(float(m.min()) for m in matrices if m.size) < 0:
            raise DataError("hellinger needs non-negative values; put shift or split before it")
        return [np.sqrt(_normalise(m, "l1")) for m in matrices]
    known = train if everything is None else np.vstack([train, everything])
    if step in ("shift", "lift"):
        low = np.minimum(known.min(axis=0) if step == "lift" else known.min(), 0)
        return [np.maximum(m - low.astype(m.dtype), 0) for m in matrices]
    if step == "unit":
        low_column, high_column = train.min(axis=0), train.max(axis=0)
        width = np.where(high_column > low_column, high_column - low_column, 1)
        return [np.clip((m - low_column) / width, 0, 1).astype(m.dtype) for m in matrices]
    if step == "split":
        if float(known.min()) >= 0:
            return [np.maximum(m, 0) for m in matrices]
        return [np.hstack([np.maximum(m, 0), np.maximum(-m, 0)]) for m in matrices]
    raise UnknownNameError("preprocessing step", step, STEPS)


def _normalise(m: np.ndarray, norm: str) -> np.ndarray:
    if norm == "l1":
        length = np.abs(m).sum(axis=1, dtype=np.float64)
    else:
        length = np.sqrt(np.einsum("ij,ij->i", m, m, dtype=np.float64))
    return (m / np.where(length > 0, length, 1.0)[:, None]).astype(m.dtype)


def _as_float(m: np.ndarray) -> np.ndarray:
    if m.dtype in (np.float32, np.float64):
        return np.asarray(m)
    return np.asarray(m, dtype=np.float64 if m.dtype.itemsize > 4 else np.float32)

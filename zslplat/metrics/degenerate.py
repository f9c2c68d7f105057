"""Warnings of scores that say nothing, though nothing failed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from zslplat.errors import OutcomeWarning

# Codes of the checks under which these warnings are shown.
ONE_CLASS, EQUAL, NO_CODES = "ZSP201", "ZSP202", "ZSP212"


def look_at_scores(scores: np.ndarray, y: np.ndarray, request: str = "") -> None:
    """Warn where scores (m, c) do not tell the classes apart in any row, or give one class to all rows of several.

    ``y`` (m,) are the true classes; where all rows are of one class, giving them one is no reason to warn. ``request``
    names what was scored, where a task scores several things.
    """
    if scores.shape[0] < 2 or scores.shape[1] < 2:
        return
    where = f" ({request})" if request else ""
    if (scores.max(axis=1) == scores.min(axis=1)).all():
        _warn(f"all scores are equal{where}: no row prefers any class")
        return
    predicted = scores.argmax(axis=1)
    if (predicted == predicted[0]).all() and (y != y[0]).any():
        _warn(f"all rows are given one class{where}", ONE_CLASS)


def look_at_label_scores(scores: np.ndarray, names: Sequence[str]) -> None:
    """Warn where scores (m, c) rank no row before another for some of the labels ``names`` (c,), or for all."""
    if len(scores) < 2:
        return
    constant = np.flatnonzero(scores.max(axis=0) == scores.min(axis=0))
    if len(constant) == scores.shape[1]:
        _warn("all scores are equal: no row is ranked before another for any label")
    elif len(constant):
        more = f" and {len(constant) - 1} more labels" if len(constant) > 1 else ""
        _warn(f"all rows have the same score for label {names[constant[0]]!r}{more}")


def look_at_rankings(scores: np.ndarray) -> None:
    """Warn where scores (m, q) are equal over the m rows that every query ranks."""
    if scores.shape[0] > 1 and (scores.max(axis=0) == scores.min(axis=0)).all():
        _warn("all scores are equal: no query prefers any row")


def look_at_ranked_features(scores: np.ndarray) -> None:
    """Warn where the scores (d,) of all features are equal."""
    if len(scores) > 1 and scores.max() == scores.min():
        _warn("all features have the same score: their ranking is the order of the columns")


def look_at_codes(codes: np.ndarray) -> None:
    """Warn where all codes (m, N) are empty."""
    if len(codes) and not codes.any():
        _warn("all codes are empty: no row is told from any other", NO_CODES)


def look_at_similarities(ties: int, queries: int) -> None:
    """Warn where all other rows are equally similar to every query; ``ties`` counts the queries for which they are."""
    if queries and ties == queries:
        _warn("all scores are equal: no query prefers any row")


def _warn(text: str, code: str = EQUAL) -> None:
    warnings.warn(OutcomeWarning(text, code), stacklevel=3)

"""Counts in words."""

from __future__ import annotations


def counted(count: int, one: str, several: str = "") -> str:
    """Return a count with its noun: ``1 trial``, ``3 trials``."""
    return f"{count} {one if count == 1 else several or one + 's'}"

"""Groups of methods that are not told apart, as letters: a compact letter display instead of false ranks.

Two methods that share a letter are not significantly different; two that share none are. Source: Piepho, "An
Algorithm for a Letter-Based Representation of All-Pairwise Comparisons" (2004): insert and absorb.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

import numpy as np


def letters(different: np.ndarray) -> list[str]:
    """Return the letters of n entries, best first; ``different`` (n, n) is a symmetric mask of pairs told apart.

    The best entry has ``a``. Beyond 26 groups letters are followed by numbers: ``a1``, ``b1``, ...
    """
    n = len(different)
    groups: list[frozenset[int]] = [frozenset(range(n))] if n else []
    for i in range(n):
        for j in range(i + 1, n):
            if different[i, j]:
                split = [part for g in groups for part in ((g - {i}, g - {j}) if {i, j} <= g else (g,))]
                groups = _absorbed(split)
    ordered = sorted(groups, key=sorted)
    return ["".join(_letter(number) for number, group in enumerate(ordered) if entry in group) for entry in range(n)]


def _absorbed(groups: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Return the groups that are no part of another one, each once."""
    distinct = list(dict.fromkeys(groups))
    return [g for g in distinct if not any(g < other for other in distinct)]


def _letter(number: int) -> str:
    turn, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(turn) if turn else "")

"""Names of arrays that stand beside each other: prefixes say whose statistics they are, suffixes of which repetition.

Prepared statistics are named ``fit/...`` and ``score/...``. Where a problem holds several splits or draws, the arrays
of the first have plain names, those of repetition r > 1 the suffix ``:r``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def prefixed(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays with longer names."""
    return {prefix + name: array for name, array in arrays.items()}


def selected(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Return the arrays below a prefix, None where there are none, so that a method prepares for itself."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)} or None


def suffixes_of(count: int) -> list[str]:
    """Return the suffixes of so many repetitions."""
    return [""] + [f":{number}" for number in range(2, count + 1)]

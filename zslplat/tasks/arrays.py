"""Arrays that tasks and methods exchange: what their names mean, and that scores are real numbers.

Prepared statistics are named ``fit/...`` and ``score/...``. Where a problem holds several splits or draws, the arrays
of the first have plain names, those of repetition r > 1 the suffix ``:r``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from zslplat.errors import MethodError


def prefixed(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays with longer names."""
    return {prefix + name: array for name, array in arrays.items()}


def selected(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Return the arrays below a prefix, None where there are none, so that a method prepares for itself."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)} or None


def suffixes_of(count: int) -> list[str]:
    """Return the suffixes of so many repetitions."""
    return [""] + [f":{number}" for number in range(2, count + 1)]


def real_numbers(method: str, returned: Any, what: str = "scores") -> np.ndarray:
    """Return an array of what a method returned; raises :class:`MethodError` where these are no real numbers.

    Complex numbers have no order, and one that is only made from real parts would hide a mistake.
    """
    values = np.asarray(returned)
    if values.dtype.kind not in "buif":
        raise MethodError(f"{method} returned {what} of type {values.dtype}; expected real numbers")
    return values

"""What a method answers as scores must be real numbers before anything is compared, averaged or ranked by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat.errors import MethodError


def real_numbers(who: str, returned: Any, what: str = "scores") -> np.ndarray:
    """Return an array of what ``who`` returned; raises :class:`MethodError` where these are no real numbers.

    Complex numbers have no order, and one that is only made from real parts would hide a mistake.
    """
    found = np.asarray(returned)
    if found.dtype.kind not in "buif":
        raise MethodError(f"{who} returned {what} of type {found.dtype}; expected real numbers")
    return found

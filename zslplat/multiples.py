"""Values in units of the data: ``0.7*median`` is 0.7 times the median distance between the rows at hand.

A value of this form stays as it is in searches, files and records; a fit measures the unit on its training rows
and takes :func:`absolute`. A unit is a scale with the way in which the value goes with it: ``*median``,
``/median``, ``*median^2``, ``/median^2``; what a scale means is defined where it is measured.
"""

from __future__ import annotations

import re
from typing import Any

# Possessive: a long row of digits is gone through once.
_NUMBER = r"[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?"
PATTERN = rf"{_NUMBER}\s*[*/]\s*[A-Za-z_]\w*(?:\^2)?"
_MULTIPLE = re.compile(rf"\s*(?P<factor>{_NUMBER})\s*(?P<operator>[*/])\s*(?P<scale>[A-Za-z_]\w*(?:\^2)?)\s*")
_SCALE_ALONE = re.compile(r"\s*(?P<scale>[A-Za-z_]\w*)\s*")


def read_multiple(value: Any) -> tuple[float, str] | None:
    """Return (factor, unit) of a text such as ``0.7*median``, ``2/median^2`` or ``median``; None for anything else."""
    if not isinstance(value, str):
        return None
    match = _MULTIPLE.fullmatch(value)
    if match:
        return float(match["factor"]), match["operator"] + match["scale"]
    match = _SCALE_ALONE.fullmatch(value)
    return (1.0, "*" + match["scale"]) if match else None


def write_multiple(factor: float, unit: str) -> str:
    """Return the text of a factor and a unit, which :func:`read_multiple` reads back."""
    return f"{float(factor)!r}{unit}"


def scale_of(unit: str) -> str:
    """Return the name of the scale that a unit goes with: ``median`` for ``/median^2``."""
    return unit[1:].removesuffix("^2")


def absolute(value: Any, scale: float) -> Any:
    """Return the number that a multiple stands for where its scale is ``scale``; other values as they are."""
    multiple = read_multiple(value)
    if multiple is None:
        return value
    factor, unit = multiple
    size = scale * scale if unit.endswith("^2") else scale
    return factor * size if unit.startswith("*") else factor / size

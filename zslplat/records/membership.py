"""Which suites a study or a run belongs to: the one that it was carried out for, and those that count it as well.

What is recorded is computed once, whoever asks for it. ``part_of`` says what it was carried out for first, and
``counts_in`` in which other suites it is a cell; each is a mapping with ``suite``, ``data``, ``row``, and ``split``
where classes are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_PLACE = ("suite", "data", "row", "split")


def parts_of(about: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the places of what is told of in ``about``, that which it was carried out for first; none of no suite."""
    first = about.get("part_of") or {}
    return [dict(part) for part in (*([first] if first else []), *(about.get("counts_in") or ()))]


def suites_of(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of its suites, that which it was carried out for first."""
    return tuple(dict.fromkeys(str(part["suite"]) for part in parts_of(about) if "suite" in part))


def belongs(parts: Sequence[Mapping[str, str]], part: Mapping[str, str]) -> bool:
    """Tell whether a place is among others; how long its parameters were searched for does not matter."""
    return _place(part) in map(_place, parts)


def counted_in(about: Mapping[str, Any], *parts: Mapping[str, str]) -> dict[str, Any]:
    """Return ``about`` with those places that it does not name yet."""
    known = parts_of(about)
    new: list[Mapping[str, str]] = []
    for part in parts:
        if not belongs([*known, *new], part):
            new.append(dict(part))
    return {**about, "counts_in": [*(about.get("counts_in") or ()), *new]} if new else dict(about)


def _place(part: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(str(part.get(name, "")) for name in _PLACE)

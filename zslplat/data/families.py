"""Which data sets count as one where data sets are counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain


def families(marks: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return, for each data set, the first of those that it shares marks with, directly or through others.

    ``marks``, by data set: what tells its images from those of others, as the hash of its test rows does, or the name
    of what its classes are drawn from.
    """
    groups: list[tuple[list[str], set[str]]] = []
    for name, own in ((name, set(found)) for name, found in marks.items()):
        near = [group for group in groups if group[1] & own]
        groups = [group for group in groups if not group[1] & own]
        groups.append(
            ([*chain.from_iterable(names for names, _ in near), name], own.union(*(found for _, found in near)))
        )
    return {name: names[0] for names, _ in groups for name in names}

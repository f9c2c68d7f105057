"""Rows of a suite that are other settings on other data sets: one name, so that they are ranked as the row they are.

A suite may fix parameters for a data set (``fixed = { epochs = 10 }``), and scores other tasks with what it found for
the first. What it asks for of one row is then one experiment here and another there, and by settings alone no such row
would have a score on every data set and for every task.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from zslplat.comparison.folding import Folded
from zslplat.comparison.set_titles import set_titles

Place = TypeVar("Place", bound=Hashable)


def suite_row_names(entries: Sequence[Folded], short: Sequence[str]) -> tuple[dict[int, str], dict[str, str]]:
    """Return {place: name of its suite's row} of the entries that are one row by several settings, and notes by name.

    ``short`` are the names of the entries as settings. A row has its name where it stands for several settings, each
    on data sets of its own, and where it is called like its method: where it has two on one data set, nothing says
    which is meant.
    """
    places: dict[tuple[str, str], list[int]] = {}
    for place, entry in enumerate(entries):
        for key in sorted(entry.suite_rows):
            places.setdefault(key, []).append(place)
    rows = {
        key: found
        for key, found in places.items()
        if (len({short[i] for i in found}) > 1 or _is_method(key[1], [short[i] for i in found]))
        and len({entries[i].shown.dataset for i in found}) == len(found)
    }
    titles = set_titles(entry.shown.dataset for entry in entries)
    return called_by_rows(rows, dict(enumerate(short)), lambda place: titles[entries[place].shown.dataset])


def called_by_rows(
    rows: Mapping[tuple[str, str], Sequence[Place]], short: Mapping[Place, str], where: Callable[[Place], str]
) -> tuple[dict[Place, str], dict[str, str]]:
    """Return {place: name of the row that it is}, and by that name what the row is, in words.

    ``rows``: by suite and row the places that are it; ``short``: what each place is called as an experiment; ``where``:
    what a place is on, in words. Where another row or experiment is called so, the suite stands behind it.
    """
    names: dict[Place, str] = {}
    notes: dict[str, str] = {}
    for (suite, row), found in rows.items():
        if names.keys() & set(found):
            continue  # rows of two suites share an experiment: the first one has it
        others = {name for place, name in short.items() if place not in found} | {*names.values()}
        called = row if row not in others else _of_suite(row, suite)
        names |= dict.fromkeys(found, called)
        settings = dict.fromkeys(f"{short[place]} on {where(place)}" for place in found)
        notes[called] = f"row of suite {suite}: {', '.join(settings)}"
    return names, notes


def row_names(keys: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return what rows of suites, each with its suite, can be called."""
    return frozenset(name for suite, row in keys for name in (row, _of_suite(row, suite)))


def _of_suite(row: str, suite: str) -> str:
    return f"{row} [{suite}]"


def _is_method(row: str, short: Sequence[str]) -> bool:
    """Tell whether a row is called like the method of its settings, of which short names show parameters."""
    return any(name != row for name in short) and all(name.partition("(")[0] == row for name in short)

"""One entry per experiment: reruns, and studies that searched the same thing, stand behind one of them.

Which one is never chosen by a test score. It is one that was computed by the newest code; among these the study with
the best validation; among equals the one with the most trials, and of these the one that was evaluated last.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass

from zslplat.comparison.recorded import Recorded


@dataclass(frozen=True)
class Folded:
    """What is recorded of one experiment: the entry that stands for it, and the others."""

    shown: Recorded
    others: tuple[Recorded, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """All names of the others: a name of any of them finds the entry."""
        return frozenset(name for other in self.others for name in (other.name, *other.names))

    @property
    def suite_rows(self) -> frozenset[tuple[str, str]]:
        """The suites, and their rows, that any of them is part of."""
        return frozenset(row for one in (self.shown, *self.others) for row in one.suite_rows)

    @property
    def replaced(self) -> tuple[Recorded, ...]:
        """Those that stand behind it for their older code alone."""
        older = [other for other in self.others if other.computing != self.shown.computing]
        return tuple(other for other in older if _rank(other) > _rank(self.shown))


def alone(groups: Sequence[Recorded]) -> list[Folded]:
    """Return every entry as it is."""
    return [Folded(group) for group in groups]


def folded(groups: Sequence[Recorded]) -> list[Folded]:
    """Return an entry per experiment, in the order of their first.

    A single run joins the study whose winner it evaluates again. Studies and runs that were asked for the same
    experiment (method, its fixed and searched hyperparameters, data, task, preprocessing and seed) and scored the same
    rows are one entry, whatever their names, numbers of trials and samplers.
    """
    homes: dict[str, list[Recorded]] = {}
    settings_of = {question: g.experiment_key for g in groups if g.is_study for question in g.questions}
    for group in groups:
        evaluated = {settings_of[question] for question in group.questions if question in settings_of}
        rerun = not group.is_study and len(evaluated) > 0
        key = sorted(evaluated)[0] if rerun else group.experiment_key
        homes.setdefault(key, []).append(group)
    return [_represented(members) for members in homes.values()]


def taken_out(entries: Sequence[Folded], explicit: Container[str]) -> list[Folded]:
    """Return the entries, and on their own those that stand behind another and are named themselves."""
    found = []
    for entry in entries:
        named = [other for other in entry.others if other.name in explicit or any(n in explicit for n in other.names)]
        found += [Folded(entry.shown, tuple(other for other in entry.others if other not in named)), *alone(named)]
    return found


def _rank(member: Recorded) -> tuple[float, int]:
    """Return what puts a study before another by the same code: its validation, the larger the better, then its trials.

    Single runs come last.
    """
    value = member.winner.get("value")
    if value is None:
        return -math.inf, member.trials
    return (value if member.about.get("primary", {}).get("maximise", True) else -value), member.trials


def _represented(members: Sequence[Recorded]) -> Folded:
    newest = max(members, key=lambda member: member.created).computing
    shown = max(members, key=lambda member: (member.computing == newest, _rank(member), member.created))
    return Folded(shown, tuple(member for member in members if member is not shown))

"""One row per experiment: reruns, and studies that searched the same thing, stand behind one result.

Which one is never chosen by a test score. It is one that was computed by the newest code; among these the study with
the best validation; among equals the one with the most trials, and of these the one that was evaluated last.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass

from zslplat.evidence.results import Result


@dataclass(frozen=True)
class ResultGroup:
    """The results of one experiment: the one that is shown, and the others."""

    shown: Result
    others: tuple[Result, ...] = ()

    @property
    def aliases(self) -> frozenset[str]:
        """All names of the others: a name of any of them finds the group."""
        return frozenset(name for other in self.others for name in (other.name, *other.aliases))

    @property
    def suite_rows(self) -> frozenset[tuple[str, str]]:
        """The suites, and their rows, that any of them is part of."""
        return frozenset(row for one in (self.shown, *self.others) for row in one.suite_rows)

    @property
    def replaced(self) -> tuple[Result, ...]:
        """Those that are not shown only because their code is older."""
        older = [other for other in self.others if other.computing != self.shown.computing]
        return tuple(other for other in older if _rank(other) > _rank(self.shown))


def group_by_experiment(results: Sequence[Result]) -> list[ResultGroup]:
    """Return a group per experiment, in the order of their first results.

    A single run joins the study whose winner it evaluates again. Studies and runs of the same experiment (method, its
    fixed and searched hyperparameters, data, task, preprocessing and seed) that scored the same rows are one group,
    whatever their names, numbers of trials and samplers.
    """
    members: dict[str, list[Result]] = {}
    key_of_question = {question: r.experiment_key for r in results if r.is_study for question in r.questions}
    for result in results:
        studies = {key_of_question[question] for question in result.questions if question in key_of_question}
        is_rerun = not result.is_study and len(studies) > 0
        key = min(studies) if is_rerun else result.experiment_key
        members.setdefault(key, []).append(result)
    return [_group(results) for results in members.values()]


def split_out(groups: Sequence[ResultGroup], names: Container[str]) -> list[ResultGroup]:
    """Return the groups, and as groups of their own those results that stand behind another and are named."""
    separated = []
    for group in groups:
        named = [other for other in group.others if is_named(other, names)]
        others = tuple(other for other in group.others if other not in named)
        separated += [ResultGroup(group.shown, others), *map(ResultGroup, named)]
    return separated


def is_named(result: Result, names: Container[str]) -> bool:
    """Tell whether a result has one of these names."""
    return any(name in names for name in (result.name, *result.aliases))


def _rank(result: Result) -> tuple[float, int]:
    """Return what puts a study before another by the same code: its validation, the larger the better, then its trials.

    Single runs come last.
    """
    value = result.winner.get("value")
    if value is None:
        return -math.inf, result.trial_count
    maximise = result.about.get("primary", {}).get("maximise", True)
    return (value if maximise else -value), result.trial_count


def _group(results: Sequence[Result]) -> ResultGroup:
    newest = max(results, key=lambda result: result.created).computing
    shown = max(results, key=lambda result: (result.computing == newest, _rank(result), result.created))
    return ResultGroup(shown, tuple(result for result in results if result is not shown))

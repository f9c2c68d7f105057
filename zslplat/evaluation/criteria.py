"""By which metrics a study selects: those of its task, and the seconds of training and scoring, a mean over folds.

An experiment names them in its ``search`` where they are not the task's primary metric alone. The first is what is
optimised, refitted and tested; a second one makes a front: the trials that no other trial dominates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from zslplat.errors import UsageError, quoted
from zslplat.keys import METRIC

if TYPE_CHECKING:
    from zslplat.records.trials import FinishedTrial
    from zslplat.tasks.base import Metric, Task

SECONDS = "seconds"


def criteria_of(task: Task, names: str | Sequence[str] | None) -> tuple[Metric, ...]:
    """Return the metrics of these names: a text such as ``H,seconds``, or several; none: the task's primary metric.

    Raises :class:`UnknownNameError` for a name that is no metric of the task, :class:`UsageError` for more than two and
    for seconds that come first.
    """
    from zslplat.tasks.base import Metric

    texts = [names] if isinstance(names, str) else list(names or ())
    words = [word.strip() for text in texts for word in str(text).split(",") if word.strip()]
    if words and words[0].lower() == SECONDS:
        other = next((word for word in words if word.lower() != SECONDS), task.primary.name)
        raise UsageError(
            f"--metric {','.join(words)} selects the fastest trial, whatever it scores; "
            f"write --metric {other},{SECONDS}"
        )
    criteria = tuple(
        Metric(SECONDS, maximise=False) if word.lower() == SECONDS else task.metric(word) for word in words
    )
    if len(set(criteria)) < len(words) or len(words) > 2:
        raise UsageError(f"--metric {quoted(','.join(words))}: expected one metric, or two different ones: H,seconds")
    return criteria or (task.primary,)


def search_entry(task: Task, names: str | Sequence[str] | None) -> dict[str, str]:
    """Return the entry of a search that names its metrics; nothing for the task's primary metric alone."""
    criteria = criteria_of(task, names)
    return {} if criteria == (task.primary,) else {METRIC: ",".join(one.name for one in criteria)}


def values_of(record: Mapping[str, Any], criteria: Sequence[Metric]) -> tuple[float, ...]:
    """Return the value of a complete trial by each criterion: means over the folds."""

    def seconds() -> float:
        return fmean(fold["seconds"]["fit_and_score"] for fold in record["folds"])

    return tuple(seconds() if one.name == SECONDS else float(record["metrics"][one.name]) for one in criteria)


def front_of(trials: Sequence[FinishedTrial], criteria: Sequence[Metric]) -> list[int]:
    """Return the numbers of the trials that no other trial dominates, best in the first of two criteria first.

    A trial dominates another where it is at least as good in both criteria and better in one.
    Of trials with equal values the first one is there.
    """
    signed = [
        ([one.signed(value) for one, value in zip(criteria, trial.values, strict=True)], -trial.number)
        for trial in trials
        if trial.values
    ]
    front, best = [], -float("inf")
    for values, number in sorted(signed, reverse=True):
        if values[-1] > best:
            best = values[-1]
            front.append(-number)
    return front


def choices_of(
    records: Sequence[Mapping[str, Any]], task: Task, primary: str, tests: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Return what each metric of a task would have chosen on validation: ``metric``, ``trial``, ``value``.

    Beside them stands the value of the ``primary`` metric at that trial, as ``AUSUC there``, and the ``test`` value of
    the metric, None where that trial was not tested. ``records`` are those of all trials; only the metrics that all
    complete ones have are there. ``tests`` are the records of test evaluations.
    """
    complete = [record for record in records if record["state"] == "complete"]
    choices = []
    for metric in (task.metric(name) for name in task.criteria()):
        if complete and all({metric.name, primary} <= set(record["metrics"]) for record in complete):
            best = max(complete, key=lambda record: (metric.signed(record["metrics"][metric.name]), -record["number"]))
            values = best["metrics"]
            shown = {"metric": metric.name, "trial": best["number"], "value": values[metric.name]}
            of_trial = (test["metrics"] for test in tests if test.get("winner") == best["number"])
            tested = [metrics[metric.name] for metrics in of_trial if metric.name in metrics]
            choices.append({**shown, f"{primary} there": values[primary], "test": fmean(tested) if tested else None})
    return choices

"""The facts of a study, a single run or a sweep that checks look at, gathered from records."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.checks.facts import ControlScore, SearchedRange, TrialFacts
from zslplat.errors import StoreError
from zslplat.evaluation.scoring.outcomes import read_outcomes, replicates
from zslplat.metrics.intervals import centred_ends, over_repeats
from zslplat.records.database import Records
from zslplat.space import Choice, Integer, Optional, Parameter, Real, Scaled, Space
from zslplat.spec import Spec, format_value
from zslplat.tasks.base import Metric, Task

# The method that serves as control for each kind of task.
# Metrics whose standard error over the rows is that of a mean over classes, or close to it.
_MOST_CHOSEN = 250
ACCURACIES = ("per_class_accuracy", "per_sample_accuracy", "accuracy")
Tested = Sequence[Mapping[str, Any]]


def searched_facts(
    space: Space, values: Mapping[str, Any], domains: Mapping[str, Parameter]
) -> tuple[SearchedRange, ...]:
    """Return where each value lies in the range in which it was searched; choices have no ends and are left out.

    ``domains``: the legal values of parameters, which tell whether anything lies beyond an end.
    """
    facts = []
    for name, dimension in space.items():
        if isinstance(dimension, Choice) or not dimension.contains(values.get(name)):
            continue
        value = dimension.number(values[name]) if isinstance(dimension, Real) else float(values[name])
        low, high = float(dimension.low), float(dimension.high)
        scale = math.log if dimension.log else float
        position = (scale(value) - scale(low)) / (scale(high) - scale(low)) if low < high else 0.5
        legal = domains[name].legal if name in domains else None
        legal = legal.inner if isinstance(legal, Optional | Scaled) else legal
        least = legal.low if isinstance(legal, Real | Integer) else -math.inf
        most = legal.high if isinstance(legal, Real | Integer) else math.inf
        facts.append(
            SearchedRange(name, format_value(values[name]), str(dimension), position, low > least, high < most)
        )
    return tuple(facts)


def combinations_of(space: Space) -> int | None:
    """Return how many settings a space holds; None where a range of real numbers has no end of them."""
    count = 1
    for dimension in space.values():
        if isinstance(dimension, Choice):
            count *= len(dimension.values)
        elif isinstance(dimension, Integer):
            count *= int(dimension.high) - int(dimension.low) + 1
        else:
            return None
    return count


def trial_facts(records: Sequence[Mapping[str, Any]], metric: str) -> tuple[TrialFacts, ...]:
    """Return the facts of trials by their records."""
    return tuple(
        TrialFacts(
            record["number"],
            record["state"],
            record["value"],
            tuple(fold["metrics"][metric] for fold in record["folds"] if metric in fold["metrics"]),
        )
        for record in records
    )


def outcome_facts(folder: Path, metric: str) -> dict[str, Any]:
    """Return how often each class was predicted and true in the outcomes of a test evaluation, and the test error.

    The error is that of accuracies; of other metrics it is not known. Empty where there are none, or they are not of
    one class per row.
    """
    if not (folder / "outcomes.json").exists():
        return {}
    with suppress(StoreError):
        outcomes = read_outcomes(folder)
        names, columns = outcomes.meta.get("classes"), outcomes.columns
        if names is None or not {"true", "predicted"} <= set(columns) or columns["true"].ndim != 1:
            return {}
        true, predicted = columns["true"], columns["predicted"]
        sizes = np.bincount(true, minlength=len(names))
        predicted_sizes = np.bincount(predicted[predicted >= 0], minlength=len(names))
        right = np.bincount(true, weights=predicted == true, minlength=len(names))
        scored = sizes > 0
        shares = right[scored] / sizes[scored]
        error = math.sqrt(float((shares * (1 - shares) / sizes[scored]).sum())) / int(scored.sum())
        return {
            "true": {str(name): int(count) for name, count in zip(names, sizes, strict=True)},
            "seen": frozenset(str(name) for name, of in zip(names, outcomes.meta.get("seen", ()), strict=False) if of),
            "predicted": {str(name): int(count) for name, count in zip(names, predicted_sizes, strict=True)},
            "test_error": error if metric in ACCURACIES else None,
        }
    return {}


def controls_of(
    records: Records,
    identity: Mapping[str, Any],
    control: str,
    preprocessing: str,
    metric: Metric,
    lead: Callable[[Sequence[Mapping[str, Any]]], tuple[float, float] | None],
) -> tuple[ControlScore, ...]:
    """Return the recorded control of a study on the same data and task: the one whose validation is best.

    Behind it, where its preprocessing is another one than the study's, the best of those with the study's own.
    ``identity``: the experiment of the study in JSON form, ``control`` the method, ``metric`` what scores are
    compared by; ``lead`` gives the interval of the study's lead by the control's test records. Empty where nothing is
    recorded, or the study's method is the control itself.
    """
    if not control or _bare(identity["method"]) == control:
        return ()
    controls: list[tuple[float, ControlScore, Sequence[Mapping[str, Any]]]] = []
    for study_name, other in records.identities().items():
        same = all(other.get(key) == identity.get(key) for key in ("dataset", "task", "data", "seed"))
        if not same or _bare(other.get("method", "")) != control:
            continue
        with suppress(StoreError):
            study = records.study(study_name)
            values = study.values()
            finished, about = values.get("finished"), values.get("about", {})
            if not finished:
                continue
            winner = finished["winner"]
            tested = [
                entry
                for entry in records.evaluations(study.owner).values()
                if entry.get("winner") == winner and metric.name in entry["metrics"]
            ]
            validation = study.finished()[winner][1]["metrics"].get(metric.name)
            if tested and validation is not None:
                alike = about.get("preprocessing") == preprocessing
                mean = float(np.mean([entry["metrics"][metric.name] for entry in tested]))
                controls.append(
                    (
                        metric.signed(validation),
                        ControlScore(study_name, _in_short(other["method"]), mean, alike),
                        tested,
                    )
                )
    if not controls:
        return ()
    ordered = sorted(controls, key=lambda one: (one[0], one[1].study), reverse=True)
    first, *others = ordered
    alike = [one for one in others if one[1].same_preprocessing and not first[1].same_preprocessing]
    shown = [first, *alike[:1]]
    return tuple(dataclasses.replace(score, lead=lead(scored)) for _, score, scored in shown)


def _in_short(method: Any) -> str:
    """Return a method with three digits of its numbers: findings are read, and the study beside has them in full."""
    spec = Spec.parse(str(method))
    return f"{spec.name}({chosen(spec.parameters)})" if spec.parameters else spec.name


def _bare(method: Any) -> str:
    return str(method).partition("(")[0]


def short(value: Any) -> str:
    """Return a hyperparameter's value, a number with three digits."""
    return f"{value:.3g}" if isinstance(value, float) else format_value(value)


def chosen(parameters: Mapping[str, Any]) -> str:
    """Return hyperparameters in one line, in the order of their names."""
    text = ", ".join(f"{name}={short(value)}" for name, value in sorted(parameters.items()))
    return text if len(text) <= _MOST_CHOSEN else text[: _MOST_CHOSEN - 4] + " ..."


def lead_ends(
    records: Records, task: Task, study_records: Tested, control: Tested, metric: str
) -> tuple[float, float] | None:
    """Return the ends of the 95 % interval of the study's mean test score less the control's, over these test rows.

    ``study_records`` and ``control`` are the records of the test repeats. None where the two scored other rows, or
    where the outcomes of either cannot be read or drawn from.
    """
    if _rows(study_records) != _rows(control):
        return None
    try:
        sides = [
            over_repeats(_replicates(records, task, tested, metric), i)
            for i, tested in enumerate((study_records, control))
        ]
    except (StoreError, KeyError):
        return None
    means = [float(np.mean([record["metrics"][metric] for record in tested])) for tested in (study_records, control)]
    low, high = centred_ends(means[0] - means[1], sides[0] - sides[1])
    return None if np.isnan(low) else (low, high)


def _rows(tested: Tested) -> set[Any]:
    return {fold.get("rows") for record in tested for fold in record["folds"]}


def _replicates(records: Records, task: Task, tested: Tested, metric: str) -> np.ndarray:
    return np.array([replicates(task, records.evaluation_folder(str(r["run"])))[metric] for r in tested])

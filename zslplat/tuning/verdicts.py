"""What a study as a whole warns of: its best value at the edge of a range, or not above chance, and its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.evaluation.warned import entries_of, in_words
from zslplat.evaluation.workbench import Workbench
from zslplat.records.studies import OpenStudy
from zslplat.space import Choice, Integer, Optional, Parameter, Real, Scaled, Space
from zslplat.spec import format_value

EDGE = 0.02
CHANCE_MARGIN = 0.05


def edge_warnings(space: Space, values: Mapping[str, Any], domains: Mapping[str, Parameter]) -> list[str]:
    """Return a line for every value at an end of the range in which it was searched.

    At an end is within 2 % of the width of the range (of its logarithm, where that is searched). An end that is the
    end of the legal values, such as 0 for a share that may be 0, is none: there is nothing beyond it to search. Choices
    have no ends.
    """
    lines = []
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
        end = "low" if position <= EDGE and low > least else "high" if position >= 1 - EDGE and high < most else ""
        if end:
            lines.append(
                f"the best value of {name}, {format_value(values[name])}, lies at the {end} end of the range searched, "
                f"{dimension}; give a wider one with --space {name}=low..high"
            )
    return lines


def is_at_chance(values: Sequence[float], chances: Sequence[float], *, maximise: bool = True, tried: int = 1) -> bool:
    """Tell whether values (one per fold) are above their chance levels by no more than noise.

    Noise is the largest of two numbers: 5 % of the mean chance level, and z standard errors of the mean gain over the
    folds, at most the chance level itself, so that folds which differ a lot do not hide twice the chance. z is 2, or
    what the best of ``tried`` settings without content is expected to reach, sqrt(2 log tried), where that is more.
    """
    gains = (np.asarray(values) - np.asarray(chances)) * (1.0 if maximise else -1.0)
    chance = abs(float(np.mean(chances)))
    error = float(np.std(gains, ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    z = max(2.0, math.sqrt(2 * math.log(max(tried, 1))))
    return float(gains.mean()) <= max(CHANCE_MARGIN * chance, min(z * error, chance))


def chance_warning(
    what: str, name: str, values: Sequence[float], chances: Sequence[float], **options: Any
) -> list[str]:
    """Return a line where values (one per fold) of a metric are at chance; ``options`` as in :func:`is_at_chance`."""
    if not len(values) or len(values) != len(chances) or not is_at_chance(values, chances, **options):
        return []
    return [f"{what} is at chance: {name} {np.mean(values):.4f}, guessing {np.mean(chances):.4f}"]


def last_step_warning(parameter: str | None, most: float | None, kept: float | None) -> list[str]:
    """Return a line where validation chose the last step that was allowed: it may not have stopped to improve."""
    if not parameter or not most or not kept or kept < most:
        return []
    return [
        f"validation was best at the last of {most:g} {parameter}, so training may have ended too early; "
        f"give more with --set {parameter}=NUMBER"
    ]


def trial_warnings(records: Sequence[Mapping[str, Any]], winner: int) -> list[str]:
    """Return the warnings of the best trial, and what other trials warned of with how many of them did."""
    best = records[winner].get("warnings", [])
    lines = in_words(best, f"best trial, {winner}")
    said = {entry["text"] for entry in best}
    counts: dict[str, int] = {}
    for record in records:
        for entry in record.get("warnings", []):
            if entry["text"] not in said:
                counts[entry["text"]] = counts.get(entry["text"], 0) + 1
    most = sorted(counts.items(), key=lambda item: -item[1])[:10]
    return lines + [f"{count} of {len(records)} trials: {text}" for text, count in most]


def remember_validation(study: OpenStudy, bench: Workbench, problems: Sequence[Path]) -> None:
    """Keep what a study needs to know of its validation problems when they are gone."""
    study.remember("chance", lambda: bench.chance(problems[0]))
    study.recall("chances", lambda: [bench.chance(problem) for problem in problems])
    study.recall("validation_warnings", lambda: bench.warned(problems))


def remember_test(study: OpenStudy, bench: Workbench, problem: Path) -> None:
    """Keep what a study needs to know of its test problem when it is gone."""
    study.remember("test_chance", lambda: bench.chance(problem))
    study.recall("test_warnings", lambda: bench.warned([problem]))


def study_warnings(
    bench: Workbench,
    study: OpenStudy,
    records: Sequence[Mapping[str, Any]],
    winner: int,
    test: Sequence[Mapping[str, Any]],
) -> list[str]:
    """Return a line for everything about the search and the final evaluations that should be looked at."""
    if not study.knows("chances", "validation_warnings"):
        remember_validation(study, bench, bench.validation_problems())
    if not study.knows("test_chance", "test_warnings"):
        remember_test(study, bench, bench.test_problem())
    primary, record = bench.task.primary, records[winner]
    validation, tested = study.recall("validation_warnings", list), study.recall("test_warnings", list)
    reached = [fold["metrics"][primary.name] for fold in record["folds"]]
    scored = [entry["metrics"][primary.name] for entry in test]
    final = entries_of(
        (f"repeat {entry['repeat']}" if len(test) > 1 else "", [warned["text"]])
        for entry in test
        for warned in entry.get("warnings", [])
    )
    step, kept = bench.method_class.step_parameter, record["carry"].get("best_step")
    sense = {"maximise": primary.maximise}
    return [
        *in_words(validation),
        *chance_warning(
            "the best of the search", primary.name, reached, study.recall("chances", list), tried=len(records), **sense
        ),
        *last_step_warning(step, {**bench.template.get_params(deep=False), **record["parameters"]}.get(step), kept),
        *edge_warnings(bench.setting.space, record["parameters"], bench.template.domains),
        *trial_warnings(records, winner),
        *in_words([entry for entry in tested if entry not in validation], "test"),
        *in_words(final, "test"),
        *chance_warning("test", primary.name, scored, [study.recall("test_chance", float)] * len(scored), **sense),
    ]

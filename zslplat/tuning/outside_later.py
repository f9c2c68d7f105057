"""What is said of scores made elsewhere that are recorded already: it is taken over, and nothing is evaluated again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zslplat.evaluation.experiment import VALIDATION
from zslplat.spec import format_value
from zslplat.tuning.outside_scores import OutsideScores


def told_later(
    key: str, record: Mapping[str, Any], asked: OutsideScores, tags: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """Return a record of an entry with what is said now, and in words what has changed beside its tags.

    Tags belong to the whole entry, seconds to the repeats whose scores are given, a description to these and, with
    the first scores, to validation.
    """
    had = record["about"].get("tags", {})
    found = {**record}
    if not tags.items() <= had.items():
        found["about"] = {**record["about"], "tags": {**had, **tags}}
    words = []
    repeats = range(asked.repeat, asked.repeat + len(asked.scores))
    is_given = asked.repeat == 0 if key == VALIDATION else int(record["repeat"]) in repeats
    before = record["outside"]["description"]
    if is_given and asked.description not in ("", before):
        found["outside"] = {**record["outside"], "description": asked.description}
        words.append(f"description {asked.description!r}{_in_place_of(before)}")
    before = record.get("seconds")
    if is_given and key != VALIDATION and asked.seconds not in (None, before):
        found["seconds"] = asked.seconds
        words.append(f"seconds {format_value(asked.seconds)}{_in_place_of(before)}")
    return found, words


def named(key: str) -> str:
    """Return what a record of an entry is called in words: ``repeat 0``, ``validation``."""
    return key.replace("-", " ")


def _in_place_of(before: object) -> str:
    return f" in place of {before!r}" if before not in (None, "") else ""

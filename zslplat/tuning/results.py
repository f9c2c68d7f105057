"""What a study gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class StudyResult:
    """What a study gives: the winner, its validation record, the test metrics of each repeat, where things are.

    ``findings`` are what checks found, ``warnings`` the lines of those that are not silenced, ``silenced`` the number
    of those that are. ``chance`` is what guessing reaches on validation, the mean over the folds, ``test_chance`` on
    the test split. ``known`` counts the trials of this call that were taken from records, ``known_tests`` the test
    evaluations; ``code`` says where trials of several codes are mixed.
    """

    name: str
    winner: int
    parameters: dict[str, Any]
    validation: dict[str, Any]
    test: list[dict[str, float]]
    primary: str
    chance: float
    test_chance: float
    trials: dict[str, int]
    test_evaluations: int
    run_id: str
    counts: dict[str, int]
    seconds: float
    warnings: list[str] = field(default_factory=list)
    findings: list[dict[str, str]] = field(default_factory=list)
    silenced: int = 0
    complete: bool = True
    config: Path | None = None
    final_run_ids: list[str] = field(default_factory=list)
    known: int = 0
    known_tests: int = 0
    code: str = ""

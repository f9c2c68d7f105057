"""What a report is made of, read from the records: plain values, no drawing and no words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zslplat.comparison.selection import Comparison
from zslplat.evaluation.setting import TEST
from zslplat.tasks.base import Metric

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """One recorded evaluation, and the folder where its tables and figures lie, whether or not there is one."""

    record: Record
    artifacts: Path

    @property
    def numbers(self) -> dict[str, float]:
        """What the method reports of itself: the mean over the folds that have it."""
        found: dict[str, list[float]] = {}
        for fold in self.record.get("folds", []):
            for name, value in fold.get("numbers", {}).items():
                found.setdefault(name, []).append(float(value))
        return {name: sum(values) / len(values) for name, values in found.items()}


@dataclass(frozen=True)
class Recorded:
    """A study, or a run of its own, with its evaluations.

    ``name`` is what comparisons call it; ``identity`` is its setting in JSON form; ``trials`` are the records of a
    study's trials; ``tested`` the test evaluations of the winner of a study, or all of a run; ``finished`` what a study
    noted at its end, None while it goes on.
    """

    name: str
    identity: Record
    about: Record
    environment: Record
    tested: Sequence[Evaluation]
    trials: Sequence[Record] = ()
    finished: Record | None = None
    study: bool = True
    config: Path | None = None
    lines: Sequence[str] = ()
    chance: float | None = None
    test_chance: float | None = None

    @property
    def place(self) -> tuple[str, str]:
        """The data set and the task, as they were asked for."""
        return str(self.identity["dataset"]), str(self.identity["task"])

    @property
    def method(self) -> str:
        """The method as it was asked for."""
        return str(self.identity["method"])

    @property
    def primary(self) -> Metric | None:
        """The metric that was optimised, where the records say it."""
        told = self.about.get("primary")
        return Metric(str(told["name"]), bool(told["maximise"])) if told else None

    @property
    def split(self) -> str:
        """What a run of its own was scored on; the test split for a study."""
        return str(self.identity.get("split", TEST))

    @property
    def runs(self) -> list[str]:
        """The identifiers of its evaluations."""
        return [str(evaluation.record["run"]) for evaluation in self.tested if "run" in evaluation.record]

    @property
    def warnings(self) -> list[str]:
        """What it warned of."""
        return [str(line) for line in (self.finished or {}).get("warnings", [])] or list(self.lines)

    @property
    def winner(self) -> Record | None:
        """The record of the best trial."""
        number = None if self.finished is None else int(self.finished["winner"])
        return self.trials[number] if number is not None and number < len(self.trials) else None


@dataclass(frozen=True)
class Sweep:
    """A sweep: the values of one parameter with the mean score of each on each split, None where a point failed."""

    identity: Record
    parameter: str
    values: Sequence[Any]
    curves: Mapping[str, Sequence[float | None]]
    primary: str
    lines: Sequence[str]

    @property
    def place(self) -> tuple[str, str]:
        """The data set and the task, as they were asked for."""
        return str(self.identity["dataset"]), str(self.identity["task"])

    @property
    def method(self) -> str:
        """The method as it was asked for."""
        return str(self.identity["method"])


@dataclass(frozen=True)
class Board:
    """All that is reported of one task on one data set.

    ``comparison`` has the rows of the leaderboard, None where nothing was scored on the test split; ``entries`` are
    the studies and runs that scored it, by name, ``further`` those that did not.
    """

    dataset: str
    task: str
    primary: Metric
    comparison: Comparison | None
    entries: Mapping[str, Recorded]
    sweeps: Sequence[Sweep] = ()
    further: Sequence[Recorded] = ()
    notes: Sequence[str] = ()

    @property
    def rows(self) -> Sequence[Record]:
        """The rows of the leaderboard."""
        return self.comparison.rows if self.comparison is not None else ()

    @property
    def shown(self) -> list[tuple[str, Recorded]]:
        """Name and records of every row of the leaderboard, in its order."""
        found = ((str(row["short"]), self.entries.get(str(row["study"]))) for row in self.rows)
        return [(label, entry) for label, entry in found if entry is not None]


@dataclass(frozen=True)
class Facts:
    """A whole report.

    ``unfinished`` are studies without a test evaluation; ``notes`` say what could not be read, or was left out;
    ``looks`` counts how often the test split of each data set was scored over the whole store.
    """

    scope: str
    store: Path
    identity: str
    boards: Sequence[Board]
    unfinished: Sequence[Recorded] = ()
    notes: Sequence[str] = ()
    looks: Mapping[str, int] = field(default_factory=dict)
    command: str = ""

"""What a report is made of, read from the records: plain values, no drawing and no words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zslplat.checks.base import Finding
from zslplat.comparison.compare import Comparison
from zslplat.data.class_draws import images_of
from zslplat.evaluation.experiment import TEST
from zslplat.records.studies import suites_of
from zslplat.tasks.base import Metric

Record = Mapping[str, Any]
WARM_START = "warm_start"  # as the identity of a study calls it


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

    ``name`` is what comparisons call it; ``identity`` is its experiment in JSON form; ``trials`` are the records of a
    study's trials; ``tested`` the test evaluations of the winner of a study, or all of a run; ``finished`` what a study
    noted at its end, None while it goes on. ``validated`` are evaluations of the validation folds beside those of the
    test, of scores made elsewhere; ``source`` is the study at whose best trials a study began, None where it is not in
    the store.
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
    findings: Sequence[Finding] = ()
    chance: float | None = None
    test_chance: float | None = None
    validated: Sequence[Evaluation] = ()
    source: Recorded | None = None

    @property
    def place(self) -> tuple[str, str]:
        """The data set and the task, as they were asked for."""
        return str(self.identity["dataset"]), str(self.identity["task"])

    @property
    def method(self) -> str:
        """The method as it was asked for."""
        return str(self.identity["method"])

    @property
    def images(self) -> frozenset[str]:
        """What tells the images that were scored from those of other data sets (:mod:`zslplat.data.class_draws`)."""
        rows = [str(fold["rows"]) for one in self.tested for fold in one.record["folds"] if "rows" in fold]
        features = self.about.get("data", {}).get("features_digest")
        return images_of(self.place[0], rows[0] if rows else None, features)

    @property
    def warm_start(self) -> Record | None:
        """Where the search of a study began: ``from``, a study and the number of its best trials, and ``trials``."""
        return self.identity.get(WARM_START)

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
    def suites(self) -> tuple[str, ...]:
        """The suites that it is part of, that which it was carried out for first."""
        return suites_of(self.about)

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
    findings: Sequence[Finding]

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
    the studies and runs that scored it, by name, ``further`` those that did not. ``short``: what the data set is called
    beside the others of the report, where that is not its whole spec.
    """

    dataset: str
    task: str
    primary: Metric
    comparison: Comparison | None
    entries: Mapping[str, Recorded]
    sweeps: Sequence[Sweep] = ()
    further: Sequence[Recorded] = ()
    notes: Sequence[str] = ()
    short: str = ""

    @property
    def title(self) -> str:
        """What the data set is called in the report: without the options in which it differs from no other."""
        return self.short or self.dataset

    @property
    def heading(self) -> str:
        """Task and data set, in words."""
        return f"{self.task} on {self.title}"

    @property
    def rows(self) -> Sequence[Record]:
        """The rows of the leaderboard."""
        return self.comparison.rows if self.comparison is not None else ()

    @property
    def behind(self) -> Mapping[str, Sequence[str]]:
        """The names of the studies and runs of the same experiment that one stands for, by its name."""
        return self.comparison.behind if self.comparison is not None else {}

    @property
    def shown(self) -> list[tuple[str, Recorded]]:
        """Name and records of every row of the leaderboard, in its order."""
        found = ((str(row["short"]), self.entries.get(str(row["study"]))) for row in self.rows)
        return [(label, entry) for label, entry in found if entry is not None]

    @property
    def searched(self) -> list[tuple[str, Recorded]]:
        """Name of every row of the leaderboard with the study of its experiment: its own, or one that it stands for."""
        found = []
        for row in self.rows:
            names = [str(row["study"]), *self.behind.get(str(row["study"]), ())]
            studies = [self.entries[name] for name in names if name in self.entries and self.entries[name].trials]
            found += [(str(row["short"]), study) for study in studies[:1]]
        return found


@dataclass(frozen=True)
class Facts:
    """A whole report.

    ``across`` are the comparisons of tasks with several data sets; ``silenced`` are the codes of findings that are
    counted, not shown; ``unfinished`` are studies without a test evaluation; ``notes`` say what could not be read, or
    was left out; ``looks`` counts how often the test split of each data set was scored over the whole store;
    ``suites`` is what checks find in the suites that something was carried out for, ``suite`` the name or pattern of
    those that were asked for. ``brief``: there are too many studies to show each by itself, and their trials were not
    read. ``command`` made the report, ``places`` are those of its options that lead to the store, which whoever does
    something again needs, too.
    """

    scope: str
    store: Path
    identity: str
    boards: Sequence[Board]
    unfinished: Sequence[Recorded] = ()
    notes: Sequence[str] = ()
    across: Sequence[Comparison] = ()
    silenced: Collection[str] = ()
    looks: Mapping[str, int] = field(default_factory=dict)
    command: str = ""
    places: str = ""
    suites: Sequence[Finding] = ()
    brief: bool = False
    suite: str | None = None

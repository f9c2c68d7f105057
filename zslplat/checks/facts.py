"""Plain facts of studies, data sets, comparisons and suites: all that checks know of them.

Facts are collected by whoever holds records, data or tables (``tuning``, ``comparison``, ``suites``); checks are pure
functions of them. Everything is a number, a text, or a tuple or mapping of these, so a check can be tried with facts
that are written down by hand, and what is not known is None or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RecordedWarning:
    """What data, task or method warned of themselves (:class:`~zslplat.errors.OutcomeWarning`).

    ``of`` says in which part of the study (``best trial, 3``; ``test``), ``where`` in which problems, ``code`` the
    check that it belongs to, empty where it has none.
    """

    text: str
    code: str = ""
    of: str = ""
    where: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """``best trial, 3: all codes are empty (fold-1, fold-3)``."""
        where = f" ({', '.join(self.where)})" if self.where else ""
        return (f"{self.of}: " if self.of else "") + self.text + where


@dataclass(frozen=True)
class PrimaryScores:
    """Values of the primary metric, one per fold (or repeat), with the values that guessing reaches there.

    ``what`` begins a sentence (``the best of the search``), ``tried`` is of how many settings it is the best.
    """

    what: str
    metric: str
    values: tuple[float, ...]
    chances: tuple[float, ...]
    maximise: bool = True
    tried: int = 1


@dataclass(frozen=True)
class SearchedRange:
    """The best value of a hyperparameter, and where in the searched range it lies.

    ``position`` is 0 at the low end and 1 at the high end, on the scale of the search; ``low_is_open`` and
    ``high_is_open`` tell whether legal values lie beyond the end.
    """

    name: str
    value: str
    range: str
    position: float
    low_is_open: bool = True
    high_is_open: bool = True


@dataclass(frozen=True)
class TrainingSteps:
    """The step parameter of a method that trains in steps, its largest value, and the step that validation chose."""

    parameter: str
    most: float
    kept: float


@dataclass(frozen=True)
class TrialFacts:
    """A trial: its state (``complete``, ``pruned``, ``failed``), its value, and its value on each fold."""

    number: int
    state: str
    value: float | None = None
    folds: tuple[float, ...] = ()


@dataclass(frozen=True)
class ControlScore:
    """A recorded test score of the method that serves as control, on the same data and task.

    ``same_preprocessing`` tells whether it preprocesses as the study does; ``lead`` are the ends of the 95 % interval
    over the test rows of the study's score less the control's, None where there is none.
    """

    study: str
    method: str
    test: float
    same_preprocessing: bool = False
    lead: tuple[float, float] | None = None


@dataclass(frozen=True)
class StudyFacts:
    """A study at its end, or a single run, which has no trials.

    ``kind`` is the kind of the task (``zero-shot``, ...). ``requested_trials`` is the number of trials that were asked
    for, ``combinations`` how many settings there are at all (None: no end). ``test_error`` is the standard error of the
    test score over its rows; ``predicted`` and ``true`` count the test rows by class, ``seen`` are those of them that
    training has seen where others are unseen. ``test_metrics`` are the metrics of each test repeat.
    """

    subject: str
    method: str = ""
    dataset: str = ""
    task: str = ""
    kind: str = ""
    metric: str = ""
    maximise: bool = True
    winner: int | None = None
    requested_trials: int | None = None
    combinations: int | None = None
    searched: tuple[SearchedRange, ...] = ()
    dimensions: int = 0
    trials: tuple[TrialFacts, ...] = ()
    validation: PrimaryScores | None = None
    test: PrimaryScores | None = None
    test_error: float | None = None
    test_metrics: tuple[Mapping[str, float], ...] = ()
    steps: TrainingSteps | None = None
    predicted: Mapping[str, int] = field(default_factory=dict)
    true: Mapping[str, int] = field(default_factory=dict)
    seen: frozenset[str] = frozenset()
    controls: tuple[ControlScore, ...] = ()
    warnings: tuple[RecordedWarning, ...] = ()


@dataclass(frozen=True)
class ColumnScore:
    """A column of the features, and a number that says something of it."""

    name: str
    value: float


@dataclass(frozen=True)
class ConstantDimensions:
    """How many ``of`` the dimensions of a signature do not vary over seen classes, and what unseen ones have in them.

    ``deviation_share`` is the share of the unseen classes' squared deviation from the seen classes' mean.
    """

    count: int
    of: int
    deviation_share: float


@dataclass(frozen=True)
class Sentinel:
    """A number that stands for missing ones in signatures: ``count`` ``of`` the numbers, and whose the first is."""

    value: float
    count: int
    of: int
    first: str


@dataclass(frozen=True)
class DataFacts:
    """What a data set is like: everything that its checks look at, which reads the rows once.

    ``revealing`` are columns that alone tell the class of a row, with the share of rows for which they do;
    ``row_numbering`` those that number the rows. ``test_rows`` counts the rows of tests and validation,
    ``repeated_rows`` those of them that are training rows, too. ``constant_columns`` counts the columns that do not
    vary over the training rows, ``deviation_share`` is the share of the test rows' squared deviation that lies in them.
    ``uniform_rows`` counts the rows that hold one number throughout, ``zero_rows`` those of them where it is 0;
    ``tiny_columns`` the columns whose squares vanish.

    ``disagreements`` say what the files state in two ways. ``rows_in_no_split`` counts the rows in no split, by what
    their class is; ``classes_without_rows`` are the classes with a signature and no row.

    By the name of the signatures: ``equal_within`` are pairs of classes with one signature, ``equal_across`` those of a
    seen and an unseen class; ``constant_dimensions`` the dimensions that seen classes share and unseen ones differ in;
    ``zero_signatures`` whose signatures are zero throughout; ``sentinels`` what stands for missing numbers.

    ``float32_loss`` is what float32 would lose of rows that are float64, for one column.
    """

    subject: str
    rows: int = 0
    float32_loss: str = ""
    columns: int = 0
    test_rows: int = 0
    classes: int = 0
    revealing: tuple[ColumnScore, ...] = ()
    row_numbering: tuple[str, ...] = ()
    repeated_rows: int = 0
    constant_columns: int = 0
    deviation_share: float = 0.0
    uniform_rows: int = 0
    zero_rows: int = 0
    tiny_columns: int = 0
    disagreements: tuple[str, ...] = ()
    rows_in_no_split: Mapping[str, int] = field(default_factory=dict)
    classes_without_rows: tuple[str, ...] = ()
    equal_within: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    equal_across: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    constant_dimensions: Mapping[str, ConstantDimensions] = field(default_factory=dict)
    zero_signatures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sentinels: Mapping[str, Sentinel] = field(default_factory=dict)


@dataclass(frozen=True)
class RowFacts:
    """A row of a comparison: one experiment's test evaluations.

    ``trials`` is the budget of its search (None: not tuned), ``rows`` the digest of the scored rows, ``data`` the
    fingerprint of the data, ``seconds`` the time of a final evaluation, ``verdict`` how it stands to the row labelled
    ``baseline``, ``knows`` what it knows of the scored batch, in words.
    """

    label: str
    trials: int | None = None
    rows: str | None = None
    data: str = ""
    code: str = ""
    seconds: float | None = None
    verdict: str = ""
    knows: str | None = None
    from_memory: bool = False
    baseline: str = ""


@dataclass(frozen=True)
class ComparisonFacts:
    """A table of rows of one data set and task that are read beside each other.

    ``looks`` counts the evaluations of this test split with settings that no validation had chosen.
    """

    subject: str
    metric: str = ""
    rows: tuple[RowFacts, ...] = ()
    looks: int = 0


@dataclass(frozen=True)
class CellFacts:
    """A cell of a suite: ``status`` is ``done``, or says why there is no number.

    ``family`` is what the classes of the data set are drawn from, ``images`` what tells its images from those of others
    (:func:`zslplat.data.class_draws.images_of`); data sets that share one of them count as one. Empty: it shares none.
    """

    data: str
    row: str
    task: str
    status: str = "done"
    trials: int | None = None
    reason: str = ""
    family: str = ""
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class SuiteFacts:
    """A grid of studies."""

    subject: str
    cells: tuple[CellFacts, ...] = ()


Facts = Any

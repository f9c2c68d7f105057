"""Plain facts of studies, data sets, comparisons and suites: everything that checks know of them.

Facts are collected where records, data or tables are at hand (``tuning``, ``comparison``, ``suites``); checks are pure
functions of them. Every fact is a number, a text, or a tuple or mapping of these, so a check can be tried on facts
written by hand. Unknown facts are None or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zslplat.data.exposure import Exposure


@dataclass(frozen=True)
class RecordedWarning:
    """A warning of data, task or method (:class:`~zslplat.errors.OutcomeWarning`).

    ``of`` is the part of the study (``best trial, 3``; ``test``), ``where`` the problems it came from, ``code`` the
    check that it belongs to, empty where it names none.
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
    """Values of the primary metric, one per fold (or repeat), with the chance level of each.

    ``what`` begins a sentence (``the best of the search``); they are the best of ``tried`` trials.
    """

    what: str
    metric: str
    values: tuple[float, ...]
    chances: tuple[float, ...]
    maximise: bool = True
    tried: int = 1


@dataclass(frozen=True)
class SearchedRange:
    """The best value of a hyperparameter, and where it is in the range that was searched.

    ``position`` is 0 at the low end and 1 at the high end, on the scale of the search; ``low_is_open`` and
    ``high_is_open`` tell whether there are legal values beyond the end.
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

    ``same_preprocessing`` tells whether it preprocesses as the study does; ``lead`` is the 95 % interval over the test
    rows of the study's score less the control's, None where there is none.
    """

    study: str
    method: str
    test: float
    same_preprocessing: bool = False
    lead: tuple[float, float] | None = None


@dataclass(frozen=True)
class StudyFacts:
    """A study at its end, or a single run, which has no trials.

    ``kind`` is the kind of the task (``zero-shot``, ...). ``requested_trials`` is the budget of the search,
    ``combinations`` the number of possible combinations of values (None: no end). ``test_error`` is the standard error
    of the test score over its rows; ``predicted`` and ``true`` count the test rows by class, ``seen`` are those of the
    classes that were trained on, where others were not. ``test_metrics`` are the metrics of each test repeat.
    ``range_option`` is how the command is given another range.
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
    range_option: str = "--space {name}=low..high"


@dataclass(frozen=True)
class ColumnScore:
    """A column of the features with a number."""

    name: str
    value: float


@dataclass(frozen=True)
class ConstantDimensions:
    """How many ``of`` the dimensions of a signature do not vary over seen classes but differ in an unseen one.

    ``deviation_share`` is the share of the unseen classes' squared deviation from the seen classes' mean that they
    have.
    """

    count: int
    of: int
    deviation_share: float


@dataclass(frozen=True)
class Sentinel:
    """A number that stands for missing ones: ``count`` ``of`` the numbers of signatures, first in ``first``'s."""

    value: float
    count: int
    of: int
    first: str


@dataclass(frozen=True)
class DataFacts:
    """What the checks of a data set look at; the rows are read once for it.

    ``revealing`` are columns that alone tell the class of a row, with the share of rows for which they do;
    ``row_numbering`` those that number the rows. ``test_rows`` counts the rows of tests and validation,
    ``repeated_rows`` those of them that are training rows, too. ``constant_columns`` counts the columns that do not
    vary over the training rows; ``deviation_share`` is the share of the test rows' squared deviation in these columns.
    ``uniform_rows`` counts the rows that have one number throughout, ``zero_rows`` those of them where it is 0;
    ``tiny_columns`` counts the columns whose squares vanish.

    ``disagreements`` say what the files state in two ways. ``rows_in_no_split`` counts the rows in no split, by the
    kind of their class; ``classes_without_rows`` are the classes with a signature and no row.

    By the name of the signatures: ``equal_within`` are pairs of classes of one side with equal signatures,
    ``equal_across`` pairs of a seen and an unseen class; ``constant_dimensions`` the dimensions that seen classes share
    and unseen ones differ in; ``zero_signatures`` the classes whose signatures are zero throughout; ``sentinels`` the
    numbers that stand for missing ones.

    ``float32_loss`` says, for one column, what float32 would lose of rows that are float64; ``far_values`` name the
    numbers that lie far from all others of their column. ``exposures`` say which unseen classes the encoder of each
    feature set has been trained on.
    """

    subject: str
    rows: int = 0
    float32_loss: str = ""
    far_values: tuple[str, ...] = ()
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
    exposures: tuple[Exposure, ...] = ()


@dataclass(frozen=True)
class RowFacts:
    """A row of a comparison: the test evaluations of one experiment.

    ``trials`` is the budget of its search (None: not tuned), ``rows`` the digest of the scored rows, ``labels``
    that of what they were given, ``data`` the fingerprint of the data, ``seconds`` the time of a final evaluation,
    ``verdict`` its difference from the row labelled ``baseline`` in words, ``knows`` what it knows of the scored
    batch, in words.
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
    labels: str = ""


@dataclass(frozen=True)
class ComparisonFacts:
    """A table of rows of one data set and task that are compared.

    ``looks`` counts the evaluations of this test split with hyperparameters that no validation had chosen.
    """

    subject: str
    metric: str = ""
    rows: tuple[RowFacts, ...] = ()
    looks: int = 0


@dataclass(frozen=True)
class CellFacts:
    """A cell of a suite: ``status`` is ``done``, or says why there is no number."""

    data: str
    row: str
    task: str
    status: str = "done"
    trials: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class SuiteFacts:
    """A grid of studies."""

    subject: str
    cells: tuple[CellFacts, ...] = ()


Facts = Any

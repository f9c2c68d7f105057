"""The cells of a grid: which experiment each asks for, how it ended, and the options of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zslplat.data.catalogue import parse_dataset
from zslplat.data.class_draws import NAME as REDRAWN
from zslplat.data.class_draws import drawn_spec
from zslplat.errors import UnknownNameError, UsageError
from zslplat.evaluation.components import build_component, searched_space
from zslplat.evaluation.criteria import search_entry
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.workers.memory import worker_count
from zslplat.registry import component
from zslplat.spec import Spec
from zslplat.suites.suite import Suite, SuiteData, SuiteRow
from zslplat.tuning.identity import number_of_trials, unsearched
from zslplat.tuning.options import StudyOptions

if TYPE_CHECKING:  # it loads scikit-learn, which reports and tables do without
    from zslplat.methods.base import Method

WAITING, RUNNING, DONE, FAILED, SKIPPED = "waiting", "running", "done", "failed", "skipped"
NOT_CARRIED_OUT = "not carried out"  # why one that waits has no number
Key = tuple[str, str, str, int | None]


@dataclass(frozen=True)
class Cell:
    """One task of one row on one data set (of one ``draw``, where classes are drawn anew), and how it ended.

    ``status``: waiting, running, done, failed or skipped, with the ``reason`` of the last two; ``study``: the name of
    the study, or the run where only the test was scored; ``value``: the mean over repeats of the task's primary metric
    on the test; ``seconds``: of all its evaluations, as recorded; ``new``: some of them were computed just now.
    """

    data: str
    row: str
    task: str
    draw: int | None = None
    status: str = WAITING
    study: str = ""
    reason: str = ""
    value: float | None = None
    seconds: float = 0.0
    new: bool = False

    @property
    def key(self) -> Key:
        """What tells it from the other cells of a grid."""
        return (self.data, self.row, self.task, self.draw)

    @property
    def title(self) -> str:
        """What it is called in a line."""
        return f"{self.data}{'' if self.draw is None else f' #{self.draw}'} / {self.row} / {self.task}"


@dataclass(frozen=True)
class Piece:
    """One row on one data set: the cells of its tasks, of which the first is tuned and hands on what it found."""

    suite: Suite
    row: SuiteRow
    data: SuiteData
    draw: int | None = None

    @property
    def title(self) -> str:
        """What it is called in a line."""
        return f"{self.row.name} on {self.data.name}{'' if self.draw is None else f' #{self.draw}'}"

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, the tuned one first."""
        return self.suite.tasks_of(self.row, self.data)

    @property
    def cells(self) -> list[Cell]:
        """The cells, waiting."""
        return [Cell(self.data.name, self.row.name, task, self.draw) for task in self.tasks]

    @property
    def dataset(self) -> Spec:
        """The data set; with classes drawn anew where the piece is of a draw."""
        spec = parse_dataset(self.data.dataset)
        return spec if self.draw is None else drawn_spec(spec, self.draw, self.suite.class_folds)

    @property
    def method(self) -> Spec:
        """The method with what the suite and the data set fix."""
        spec = self.row.spec
        open_ones = set(component("methods", spec.name).parameters) - set(spec.parameters)
        return spec.with_parameters({name: v for name, v in self.data.fixed.items() if name in open_ones})

    def template(self, parameters: Mapping[str, Any] | None = None) -> Method:
        """Return the method as it is built, with parameters that were found."""
        spec = self.method.with_parameters(parameters or {})
        built: Method = component("methods", spec.name).build(spec.parameters)
        return built

    def experiment(self, task: str, parameters: Mapping[str, Any] | None = None) -> Experiment:
        """Return what is asked for of a task; ``parameters`` are those found by the first, which has none yet."""
        template = self.template()
        features = self.row.features
        if self.data.first_steps:
            preprocessing = template.effective_preprocessing.overridden(features, None)
            features = ",".join([*self.data.first_steps, *preprocessing.features])
        method, space, search = self.method, {}, {}
        if task == self.tasks[0]:
            search = selection_of(self.suite, task) or {}
            space = dict(searched_space(template, method.parameters, self.row.space))
        else:
            method = method.with_parameters(parameters or {})
        what = (method, self.dataset, Spec.parse(task), space, features, self.row.signatures, self.suite.seed)
        return Experiment(*what, search=search)

    def only_tested(self, task: str) -> bool:
        """Tell whether a task is scored on the test without validation, which would hand nothing on."""
        return task != self.tasks[0] and self.suite.is_only_tested(task)

    def study_options(self, task: str, options: StudyOptions) -> StudyOptions:
        """Return the options of the study of a task, with its number of trials."""
        trials, first = options.trials or self.data.trials or self.suite.trials, self.tasks[0]
        part_of = {"suite": self.suite.name, "data": self.data.name, "row": self.row.name}
        if task != first:
            part_of |= {"searched": first, "trials": str(self.trials(first, options))}
            trials = 1
        if self.draw is not None:
            folds = self.suite.class_folds
            part_of["draw"] = f"{self.draw} of {folds} class folds" if folds else str(self.draw)
        return replace(options, trials=trials, part_of=part_of)

    def trials(self, task: str, options: StudyOptions) -> int:
        """Return how many trials the study of a task makes; 0 where only the test is scored."""
        if self.only_tested(task):
            return 0
        experiment = self.experiment(task)
        return number_of_trials(experiment, self.study_options(task, options), unsearched(experiment, self.template()))


def selection_of(suite: Suite, task: str) -> dict[str, str] | None:
    """Return the entry of a search that names the suite's metric; None where the task has no such metric."""
    if not suite.metric:
        return {}
    try:
        return search_entry(build_component("tasks", Spec.parse(task)), suite.metric)
    except UnknownNameError:
        return None


def require_selection(suite: Suite) -> Suite:
    """Return a suite whose metric some task has that it tunes; raises :class:`UsageError` for another."""
    tuned = dict.fromkeys(suite.tasks_of(row, data)[0] for row in suite.rows for data in suite.data)
    if all(selection_of(suite, task) is None for task in tuned):
        tasks = {task: build_component("tasks", Spec.parse(task)).criteria() for task in tuned}
        offered = "; ".join(f"{task}: {', '.join(names)}" for task, names in tasks.items())
        raise UsageError(
            f"suite {suite.name}: no task that it tunes has the metric {suite.metric!r}; give --metric one of {offered}"
        )
    return suite


def pieces_of(suite: Suite, only: Sequence[str] = ()) -> list[Piece]:
    """Return the pieces of a grid, data set after data set.

    ``only``: names of data sets, of rows, or both as ``DATA/ROW``; a name of either kind may stand alone. Raises
    :class:`UnknownNameError` for a name that means nothing, :class:`UsageError` where nothing is left, and for draws of
    a data set that is drawn anew already.
    """
    selections = [_selected_names(suite, text) for text in only]
    for entry in suite.data:
        if suite.scheme and parse_dataset(entry.dataset).name == REDRAWN:
            raise UsageError(
                f"suite {suite.name}: the classes of data set {entry.name!r}, {entry.dataset}, are drawn anew already; "
                "name the data set that it draws of, or leave class_folds and draws out"
            )
    pieces = [
        Piece(suite, row, data, draw)
        for data in suite.data
        for draw in suite.draw_numbers
        for row in suite.rows
        if data.name not in row.not_on
        if not selections or any(data.name in names and row.name in rows for names, rows in selections)
    ]
    if not pieces and not only:
        raise UsageError(f"{suite.where}: every row is left out on every data set; take a data set out of not_on")
    if not pieces:
        raise UsageError(f"--only {' '.join(only)}: suite {suite.name} leaves these rows out on these data sets")
    return pieces


def _selected_names(suite: Suite, text: str) -> tuple[list[str], list[str]]:
    """Return the names of the data sets and of the rows that a text means."""
    data, rows = [entry.name for entry in suite.data], [row.name for row in suite.rows]
    if text in data:
        return [text], rows
    if text in rows:
        return data, [text]
    for name in data:
        # Names may hold a slash themselves.
        if text.startswith(f"{name}/") and text.removeprefix(f"{name}/") in ("", *rows):
            return [name], [text.removeprefix(f"{name}/")] if text != f"{name}/" else rows
    raise UnknownNameError(f"data set, row or DATA/ROW of suite {suite.name} (--only)", text, [*data, *rows])


@dataclass(frozen=True)
class GridOptions:
    """How a grid is carried out.

    ``trials`` and ``repeats`` in place of the suite's and its data sets'; ``only``: see
    :func:`zslplat.suites.cells.pieces_of`; ``out``: folder that gets the tables, none for no tables; ``abreast``:
    studies that are carried out side by side, none for as many as keep the workers busy; the others are those of
    :class:`~zslplat.tuning.options.StudyOptions`.
    """

    trials: int | None = None
    repeats: int | None = None
    workers: int | None = None
    cluster: str | None = None
    only: Sequence[str] = ()
    out: Path | None = None
    trial_timeout: float | None = None
    memory_bytes: int | None = None
    retry_failed: bool = False
    accept_changed_code: bool = False
    abreast: int | None = None
    keep_models: bool = True

    def __post_init__(self) -> None:
        for name, least in (("trials", 1), ("repeats", 1), ("workers", 1), ("abreast", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name}={value}: expected at least {least}")

    def study_options(self, suite: Suite) -> StudyOptions:
        """Return the options of the studies; how many trials one makes is said by its cell."""
        return StudyOptions(
            trials=self.trials,
            repeats=self.repeats or suite.repeats,
            workers=self.workers or suite.workers or worker_count(None),
            cluster=self.cluster,
            trial_timeout=self.trial_timeout,
            memory_bytes=self.memory_bytes,
            artifact_bytes=0,
            retry_failed=self.retry_failed,
            accept_changed_code=self.accept_changed_code,
            keep_models=self.keep_models,
        )

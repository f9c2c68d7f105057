"""What a suite asks for, tried before anything is computed: names and values that can be judged without data.

Tasks and methods are built as its cells will build them, so that what no cell could be carried out with is refused with
its place, and not found after hours. A component that does not load is no fault of the suite: its cells fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from zslplat.comparison.leaderboard import COSTS
from zslplat.data.store.preprocessing import Preprocessing, parse_steps
from zslplat.errors import UnknownNameError, UsageError
from zslplat.evaluation.components import build_component, searched_space
from zslplat.kinds import require_kind
from zslplat.registry import component
from zslplat.space import Choice, Optional, Parameter, Text
from zslplat.spec import Spec
from zslplat.suites.cells import Piece
from zslplat.suites.suite import Suite, SuiteData, SuiteRow
from zslplat.tasks.base import Task

T = TypeVar("T")


def check_suite(suite: Suite) -> None:
    """Raise :class:`UsageError`, with the place, for what no cell of a suite could be carried out with.

    These are options of tasks, metrics, preprocessing steps, methods with their parameters and kernels, ranges, values
    that a data set fixes, and methods of another kind than their tasks take.
    """
    tasks = _tasks(suite)
    _check_metrics(suite, tasks)
    for entry in suite.data:
        for text in entry.first_steps:
            _tried(f"{entry.where}, first_steps", lambda steps: Preprocessing(parse_steps(steps)), text)
    _check_fixed_names(suite)
    for row in suite.rows:
        _check_row(suite, row, tasks)


def _tried(where: str, attempt: Callable[..., T], *given: Any) -> T | None:
    """Return what an attempt gives; None where it fails for a reason that is the affair of the cells."""
    try:
        return attempt(*given)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    except Exception:  # of whatever kind: a plugin is broken
        return None


def _tasks(suite: Suite) -> dict[str, Task]:
    """Return the tasks of a suite by how it writes them; those that do not load are left out."""
    built: dict[str, Task] = {}
    parts: list[Suite | SuiteData | SuiteRow] = [suite, *suite.data, *suite.rows]
    for part in parts:
        for text in part.tasks:
            task = _tried(f"{part.where}, tasks", build_component, "tasks", Spec.parse(text))
            built |= {} if task is None else {text: task}
    return built


def _check_metrics(suite: Suite, tasks: Mapping[str, Task]) -> None:
    """Check the metrics of tasks that say which they give; methods and records have numbers of their own beside them.

    A task counts under all options that the suite has it with.
    """
    methods = [_tried(row.where, component, "methods", row.spec.name) for row in suite.rows]
    measures = {name for method in methods if method is not None for name in method.measures}
    for name, metric_names in suite.metrics.items():
        names_by_task = [task.metric_names() for text, task in tasks.items() if Spec.parse(text).name == name]
        if not all(names_by_task):
            continue
        available = {metric for names in names_by_task for metric in names}
        for metric in metric_names:
            if metric not in available | measures | COSTS:
                where = f"metric of task {name} ({suite.where}, [metrics])"
                raise UnknownNameError(where, metric, available | measures)


def _check_fixed_names(suite: Suite) -> None:
    """Check that each value that a data set fixes is one of a parameter that some method of the suite has."""
    if not any(entry.fixed for entry in suite.data):
        return
    methods = [_tried(row.where, component, "methods", row.spec.name) for row in suite.rows]
    parameters = {name for method in methods if method is not None for name in method.parameters}
    for entry in suite.data:
        for name in entry.fixed:
            if name not in parameters and None not in methods:
                raise UnknownNameError(
                    f"parameter, which no method of the suite has ({entry.where}, fixed)", name, parameters
                )


def _check_row(suite: Suite, row: SuiteRow, tasks: Mapping[str, Task]) -> None:
    _tried(f"{row.where}, features", Preprocessing().overridden, row.features, None)
    _tried(f"{row.where}, signatures", Preprocessing().overridden, None, row.signatures)
    spec = row.spec
    method = _tried(f"{row.where}, method", component, "methods", spec.name)
    if method is None:
        return
    template = _tried(f"{row.where}, method", method.build, spec.parameters)
    if template is None:
        return
    space = _tried(f"{row.where}, space", searched_space, template, spec.parameters, row.space) or {}
    for name in set(row.space) & set(method.parameters):
        dimension = space.get(name)
        # Any text is legal to begin with, and is checked where it is read: that of a kernel, say.
        for value in dimension.values if isinstance(dimension, Choice) and _is_text(method.parameters[name]) else ():
            _tried(f"{row.where}, space.{name}", method.build, {**spec.parameters, name: value})
    for entry in suite.data:
        if entry.name in row.not_on:
            continue
        for text in suite.tasks_of(row, entry):
            if text in tasks:
                place = f"{row.where}, on data set {entry.name!r}"
                _tried(place, require_kind, method, tasks[text].kind, tasks[text].name)
        if entry.fixed:
            piece = Piece(suite, row, entry)
            place = f"{entry.where}, fixed, in row {row.name!r}"
            built = _tried(place, piece.template)
            if built is not None:
                _tried(place, searched_space, built, piece.method.parameters, row.space)


def _is_text(parameter: Parameter) -> bool:
    legal = parameter.legal
    return isinstance(legal.inner if isinstance(legal, Optional) else legal, Text)

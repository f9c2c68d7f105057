"""What a sweep varies: a hyperparameter of its method, or an option of its task, and over which range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zslplat.errors import UnknownNameError, UsageError
from zslplat.evaluation.experiment import Experiment
from zslplat.registry import component
from zslplat.space import Range, parse_range

OF_TASK = "task."


@dataclass(frozen=True)
class Swept:
    """What varies: its name, its range, and whether it is an option of the task."""

    name: str
    dimension: Range
    of_task: bool


def swept_by(chosen: Sequence[Experiment], name: str, text: str | None) -> Swept:
    """Return what a sweep of these settings, which differ in their methods alone, varies by this name.

    ``name`` may begin with ``task.`` where a hyperparameter has the same; ``text`` is the range, by default the one
    that tuning searches. Raises UnknownNameError for a name that nothing has, and :class:`UsageError` for several
    methods where it is a hyperparameter, and where there is no range.
    """
    experiment = chosen[0]
    template = component("methods", experiment.method.name).build(experiment.method.parameters)
    known = {**template.parameters}
    of_method = name in known or name in template.space
    options = component("tasks", experiment.task.name).parameters
    option = name.removeprefix(OF_TASK)
    if option not in options and not of_method:
        names = {*known, *template.space, *options}
        raise UnknownNameError(
            f"parameter of {experiment.method.name} or option of {experiment.task.name}", name, names
        )
    of_task = option in options and (name != option or not of_method)
    if not of_task and len(chosen) > 1:
        raise UsageError(
            f"{name} is a hyperparameter of {experiment.method.name}: give one --method, or sweep an option of the task"
        )
    legal = options[option].legal if of_task else known[name].legal if name in known else None
    if text is not None:
        dimension = parse_range(text, legal)
    elif not of_task and name in template.space:
        dimension = template.space[name]
    else:
        raise UsageError(f"{name} has no search range of its own; give --range low..high or a|b|c")
    return Swept(option if of_task else name, dimension, of_task)

"""Which modules an evaluation begins from, by role: what is reached from them is the code that computes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from zslplat import registry
from zslplat.data.source import DataSource
from zslplat.evaluation.code import CodeReader, libraries
from zslplat.evaluation.experiment import Experiment
from zslplat.methods.base import Method
from zslplat.tasks.base import Task

_WORDS = re.compile(r"[\w-]+")
SCORING = ("zslplat.evaluation.folds", "zslplat.evaluation.jobs")


def roots_of(
    experiment: Experiment, values: Mapping[str, Any], method: type[Method], task: Task, source: DataSource
) -> dict[str, set[str]]:
    """Return the modules by role: ``method``, ``kernel`` (where a value names any), ``task``, ``data``, ``scoring``.

    ``values``: the hyperparameters that are not fixed by the experiment.
    """
    return {
        "method": {method.__module__},
        "kernel": modules_named("kernels", {**experiment.method.parameters, **values}.values()),
        # The options of a task may name methods of their own.
        "task": {type(task).__module__} | modules_named("methods", experiment.task.parameters.values()),
        "data": {type(source).__module__},
        "scoring": set(SCORING),
    }


def code_of(roots: Mapping[str, set[str]], reader: CodeReader) -> dict[str, str]:
    """Return the hash of the code of each role that has modules, and the versions of the libraries."""
    return {**{role: reader.digest(modules) for role, modules in roots.items() if modules}, **libraries()}


def modules_named(kind: str, values: Iterable[Any]) -> set[str]:
    """Return the modules of the registered components of a kind whose names stand in these values as words."""
    entries = registry.registry().entries[kind]
    found = set()
    for name in {word for value in values for word in _WORDS.findall(str(value))} & set(entries):
        for entry in entries[name]:
            found.add(entry.target.partition(":")[0] if isinstance(entry.target, str) else entry.target.__module__)
    return found

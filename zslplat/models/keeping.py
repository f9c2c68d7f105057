"""What an evaluation keeps of a fitted method: state, preprocessing and names, written where its outcomes are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.models.folder import write_model
from zslplat.tasks.base import Problem, Task

PREPROCESSING = ("features", "signatures")


def keep_model(
    folder: Path,
    told: Mapping[str, Any],
    task: Task,
    problem: Problem,
    method: Any,
    validation_choices: Mapping[str, Any],
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Write a model of a method that was fitted on a test problem; return what its record says of it.

    ``told``: what the method tells of itself (:func:`zslplat.models.state.state_within`); ``about``: facts that are
    kept with it. What cannot be kept is no error of the evaluation: the record says why (``left_out``). Raises OSError
    where the folder cannot be written.
    """
    if "left_out" in told:
        return {"left_out": str(told["left_out"])}
    try:
        kept = task.kept_for_use(method, problem, validation_choices)
    except Exception as error:
        return {"left_out": f"task {task.name} fails to say what a model needs: {type(error).__name__}: {error}"}
    if kept.left_out:
        return {"left_out": kept.left_out}
    if "features" not in problem.frozen:
        return {"left_out": "nothing is known of how its features were preprocessed"}
    content = {
        **about,
        **told,
        "task": task.name,
        "dataset": problem.meta.get("dataset", ""),
        "preprocessing": {
            role: {"steps": one.facts(), "arrays": one.arrays()}
            for role, one in problem.frozen.items()
            if role in PREPROCESSING
        },
        "arrays": {name: np.asarray(array) for name, array in kept.arrays.items()},
        "facts": dict(kept.facts),
    }
    try:
        digest, size = write_model(folder, content)
    except TypeError as error:
        return {"left_out": f"its state cannot be kept: {error}"}
    return {"digest": digest, "bytes": size}

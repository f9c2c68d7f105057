"""What an evaluation saves of a fitted method: state, preprocessing and names, written where its outcomes are.

The state is read where the method runs (:func:`state_within`), the model is written by the scoring process.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.kinds import load_part
from zslplat.models.folder import write_model
from zslplat.registry import known_as
from zslplat.tasks.base import Problem, Task

PREPROCESSING = ("features", "signatures")


def save_model(
    folder: Path,
    method_state: Mapping[str, Any],
    task: Task,
    problem: Problem,
    method: Any,
    validation_choices: Mapping[str, Any],
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Write a model of a method that was fitted on a test problem; return what its record says of it.

    ``method_state`` is what :func:`state_within` returned of the method, ``about`` are facts to be stored with it. What
    cannot be saved is no error of the evaluation: the record says why (``left_out``). Raises OSError where the folder
    cannot be written.
    """
    if "left_out" in method_state:
        return {"left_out": str(method_state["left_out"])}
    try:
        content_for_use = task.model_content(method, problem, validation_choices)
    except Exception as error:
        return {"left_out": f"task {task.name} fails to say what a model needs: {type(error).__name__}: {error}"}
    if content_for_use.left_out:
        return {"left_out": content_for_use.left_out}
    if "features" not in problem.frozen:
        return {"left_out": "nothing is known of how its features were preprocessed"}
    content = {
        **about,
        **method_state,
        "task": task.name,
        "dataset": problem.meta.get("dataset", ""),
        "preprocessing": {
            role: {"steps": one.facts(), "arrays": one.arrays()}
            for role, one in problem.frozen.items()
            if role in PREPROCESSING
        },
        "arrays": {name: np.asarray(array) for name, array in content_for_use.arrays.items()},
        "facts": dict(content_for_use.facts),
    }
    try:
        digest, size = write_model(folder, content)
    except TypeError as error:
        return {"left_out": f"its state cannot be kept: {error}"}
    return {"digest": digest, "bytes": size}


def state_within(method: Any, most: int) -> dict[str, Any]:
    """Return what a fitted method tells of itself for a model; why it is ``left_out``, where it takes too many bytes.

    Raises nothing: what a method cannot tell is no error
    of what it learned.
    """
    name = known_as(type(method))
    try:
        facts = {
            "method": name,
            "kind": str(method.kind),
            "transductive": bool(method.transductive),
            "tolerance": float(method.tolerance),
            "views": [[view.name, list(view.shape)] for view in method.views],
        }
        parameters = {key: _plain(value) for key, value in method.get_params(deep=False).items()}
        size = sum(_bytes(value) for key, value in vars(method).items() if key.endswith("_"))
        if size > most:
            return {"left_out": _too_large(size, most)}
        state = dict(method.state()) if load_part(method.kind, "model").holds_state else {}
        size = sum(_bytes(value) for value in state.values())
    except Exception as error:
        text = " ".join(str(error).split())[:300]
        return {"left_out": f"{name} cannot tell what it learned: {type(error).__name__}: {text}"}
    if size > most:
        return {"left_out": _too_large(size, most)}
    return {**facts, "parameters": parameters, "state": state}


def _too_large(size: int, most: int) -> str:
    return (
        f"its state takes {size / 2**20:.0f} MiB, above the {most / 2**20:.0f} MiB that are kept (model_gigabytes, or "
        "a quarter of the memory of a worker)"
    )


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, Mapping | list | tuple):
        return sum(_bytes(one) for one in (value.values() if isinstance(value, Mapping) else value))
    return 8


def _plain(value: Any) -> Any:
    """Return a parameter as JSON holds it: a component as the text that names it."""
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)

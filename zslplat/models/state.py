"""What a fitted method tells of itself, where it runs: name, parameters, and what it learned, within a bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from zslplat.kinds import load_part
from zslplat.registry import known_as


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

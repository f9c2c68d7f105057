"""A run as a small TOML file: written by studies as ``best.toml``, read by ``zslplat run --config``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zslplat.errors import UsageError
from zslplat.spec import Spec

_TYPES: dict[str, type] = {
    **dict.fromkeys(("method", "dataset", "task", "features", "signatures", "study"), str),
    **dict.fromkeys(("seed", "repeats", "trial"), int),
    "carried": dict,
}


def write_config(
    path: Path,
    *,
    method: Spec,
    dataset: Spec,
    task: Spec,
    features: str | None,
    signatures: str | None,
    seed: int,
    repeats: int,
    carried: Mapping[str, Any],
    study: str = "",
    trial: int | None = None,
) -> None:
    """Write a configuration that evaluates this method again."""
    import tomli_w

    content: dict[str, Any] = {
        "method": str(method),
        "dataset": str(dataset),
        "task": str(task),
        **({"features": features} if features is not None else {}),
        **({"signatures": signatures} if signatures is not None else {}),
        "seed": seed,
        "repeats": repeats,
        **({"study": study} if study else {}),
        **({"trial": trial} if trial is not None else {}),
        **({"carried": dict(carried)} if carried else {}),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tomli_w.dumps(content))


def read_config(path: Path) -> dict[str, Any]:
    """Read a configuration; raises :class:`UsageError` for a file that is not one."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"configuration {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"configuration {path} is not TOML: {error}") from error
    unknown = set(content) - set(_TYPES)
    if unknown or "method" not in content:
        problem = f"unknown key {sorted(unknown)[0]!r}" if unknown else "no key 'method'"
        raise UsageError(f"configuration {path}: {problem}; known keys: {', '.join(sorted(_TYPES))}")
    for key, value in content.items():
        if not isinstance(value, _TYPES[key]) or isinstance(value, bool):
            raise UsageError(f"configuration {path}: {key}={value!r} is no {_TYPES[key].__name__}")
    return content

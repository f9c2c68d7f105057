"""A run as a small TOML file: written by studies as ``best.toml``, read by ``zslplat run --config``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zslplat.errors import UsageError

# Of the JSON form of a setting; its split is chosen when it is evaluated.
_SETTING = ("method", "dataset", "task", "features", "signatures", "seed", "method_seed", "data", "carried")
_TYPES: dict[str, type] = {
    **dict.fromkeys(("method", "dataset", "task", "features", "signatures", "study", "data"), str),
    **dict.fromkeys(("seed", "method_seed", "repeats", "trial"), int),
    "carried": dict,
}


def write_config(
    path: Path, setting: Mapping[str, Any], *, repeats: int = 1, study: str = "", trial: int | None = None
) -> None:
    """Write a configuration that evaluates a setting, given in its JSON form, again; TOML has no form for nothing."""
    import tomli_w

    content = {name: setting[name] for name in _SETTING if setting.get(name) not in (None, {}, "")}
    content |= {"repeats": repeats, **({"study": study} if study else {})}
    content |= {"trial": trial} if trial is not None else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    # Tables come last in TOML.
    path.write_text(tomli_w.dumps(dict(sorted(content.items(), key=lambda item: isinstance(item[1], dict)))))


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

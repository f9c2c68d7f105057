"""A run as a small TOML file: written by studies as ``best.toml``, read by ``zslplat run --config``."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zslplat.errors import UsageError, quoted
from zslplat.keys import EXPERIMENT_CHOICES

# Of the JSON form of an experiment; its split is chosen when it is evaluated.
_EXPERIMENT = ("method", "dataset", "task", "features", "signatures", "seed", "method_seed", "data", EXPERIMENT_CHOICES)
_MOST_BYTES, _MOST_PARTS = 1 << 22, 500
_TYPES: dict[str, type] = {
    **dict.fromkeys(("method", "dataset", "task", "features", "signatures", "study", "data"), str),
    **dict.fromkeys(("seed", "method_seed", "repeats", "trial"), int),
    EXPERIMENT_CHOICES: dict,
}


def write_config(
    path: Path, experiment: Mapping[str, Any], *, repeats: int = 1, study: str = "", trial: int | None = None
) -> None:
    """Write an experiment's JSON form as a configuration file; TOML has no null, so empty values are left out."""
    import tomli_w

    content = {name: experiment[name] for name in _EXPERIMENT if experiment.get(name) not in (None, {}, "")}
    content |= {"repeats": repeats, **({"study": study} if study else {})}
    content |= {"trial": trial} if trial is not None else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    # Tables come last in TOML.
    path.write_text(tomli_w.dumps(dict(sorted(content.items(), key=lambda item: isinstance(item[1], dict)))), "utf-8")


def read_config(path: Path) -> dict[str, Any]:
    """Read a configuration; raises :class:`UsageError` for a file that is not one."""
    try:
        content = toml_content(path)
    except OSError as error:
        raise UsageError(f"configuration {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"configuration {path} is not TOML: {error}") from error
    unknown = set(content) - set(_TYPES)
    if unknown or "method" not in content:
        problem = f"unknown key {quoted(sorted(unknown)[0])}" if unknown else "no key 'method'"
        raise UsageError(f"configuration {path}: {problem}; known keys: {', '.join(sorted(_TYPES))}")
    for key, value in content.items():
        if not isinstance(value, _TYPES[key]) or isinstance(value, bool):
            raise UsageError(f"configuration {path}: {key}={quoted(value)} is no {_TYPES[key].__name__}")
        if isinstance(value, int) and abs(value) >= 1 << 63:
            raise UsageError(f"configuration {path}: {key}={quoted(value)} is larger than any number of its kind")
    return content


def toml_content(path: Path) -> dict[str, Any]:
    """Read a TOML file, which may begin with a byte order mark; raises OSError, and ValueError for what is no TOML."""
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"it has {path.stat().st_size} bytes, and no more than {_MOST_BYTES} are read")
    try:
        text = path.read_text(encoding="utf-8-sig")
        if any(line.partition("=")[0].count(".") > _MOST_PARTS for line in text.split("\n")):
            raise ValueError(f"a key of more than {_MOST_PARTS} parts")  # which takes the square of it to read
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8; save the file as UTF-8") from error
    except RecursionError as error:
        raise ValueError("brackets in brackets too deep to read") from error
    except ValueError as error:
        raise ValueError(quoted(str(error), 300)[1:-1]) from error


def check_folder(folder: Path, option: str) -> None:
    """Raise :class:`UsageError` where a folder cannot be made or written; better now than after hours."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise UsageError(f"cannot write to {folder}: {existing} is not a folder; give {option} another path")
    if not os.access(existing, os.W_OK):
        raise UsageError(f"cannot write to {folder}: no permission to write in {existing}; give {option} another path")

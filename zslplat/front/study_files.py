"""A study file, as ``zslplat tune --write-config`` writes it, as arguments of :func:`~zslplat.front.studies.tune`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from zslplat.config import toml_content
from zslplat.errors import UnknownNameError, UsageError, quoted
from zslplat.spec import parse_assignment

_NUMBERS = frozenset(
    ("trials", "patience", "batch_size", "seed", "workers", "repeats", "timeout", "trial_timeout", "memory")
) | {"trial_artifacts"}
# What belongs to one call, and to no study.
_NO_KEYS = ("config", "dry_run")


def with_file(path: Path, given: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Return the arguments of a function, those that are left at their defaults as a file has them.

    Raises :class:`UsageError` for a file that cannot be read or a value that does not fit, and
    :class:`UnknownNameError` for a key that is no argument.
    """
    usual = {name: one.default for name, one in inspect.signature(function).parameters.items() if name not in _NO_KEYS}
    found = dict(given)
    for name, value in study_file_content(path, usual).items():
        read = _argument(path, name, value, usual[name])
        if _is_left(given[name], usual[name]):
            found[name] = read
    return found


def study_file_content(path: Path, known: Iterable[str]) -> dict[str, Any]:
    """Return what a study file gives, by the names that are ``known``, with underscores.

    Raises :class:`UsageError` for a file that cannot be read, and :class:`UnknownNameError` for another key.
    """
    try:
        content = toml_content(path)
    except OSError as error:
        raise UsageError(f"study file {path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"study file {path} is no TOML: {error}") from error
    found, names = {}, tuple(known)
    for key, value in content.items():
        name = key.replace("-", "_")
        if name not in names:
            raise UnknownNameError(f"key of a study file ({path})", key, names)
        found[name] = value
    return found


def _is_left(given: Any, usual: Any) -> bool:
    """Tell whether an argument has its default; arrays and data sets have no single answer to being equal."""
    return given is usual or (isinstance(given, str | int | float) and bool(given == usual))


def _argument(path: Path, name: str, value: Any, usual: Any) -> Any:
    wrong = UsageError(f"study file {path}: {name}={quoted(value)}; expected {_expected(name, usual)}")
    if name in ("set", "space"):
        pairs = value
        if isinstance(value, list) and all(isinstance(text, str) and "=" in text for text in value):
            pairs = {text.partition("=")[0].strip(): text.partition("=")[2].strip() for text in value}
        if not isinstance(pairs, dict) or not all(isinstance(one, str | int | float) for one in pairs.values()):
            raise wrong
        if name == "space":
            return {key: str(one) for key, one in pairs.items()}
        return {key: parse_assignment(f"{key}={one}")[1] if isinstance(one, str) else one for key, one in pairs.items()}
    if name in ("silence", "tag"):
        fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
    elif isinstance(usual, bool):
        fits = isinstance(value, bool)
    elif name in _NUMBERS:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        fits = isinstance(value, str)
    if not fits:
        raise wrong
    return value


def _expected(name: str, usual: Any) -> str:
    if name in ("set", "space"):
        return "a list of texts or a table"
    if name in ("silence", "tag"):
        return "a list"
    return "true or false" if isinstance(usual, bool) else "a number" if name in _NUMBERS else "a text"

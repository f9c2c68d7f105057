"""A study as a TOML file: the options of ``tune`` by their names, which the command line overrules.

    method = "eszsl"
    dataset = "CIFAR100(features=mnv2)"
    trials = 40

    [set]
    gamma = 1.0

    [space]
    alpha = "1e-3..1e3:log"

A key is an option without its hyphens in front, those inside written as underscores; options that may be repeated take
a list, ``set`` and ``space`` a table as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from zslplat.errors import UsageError, quoted

# What belongs to one call, and to no study.
NO_KEYS = ("config", "write_config", "dry_run", "json", "debug", "help")
# Written whether or not they are given: another default would make another study of the file.
_ALWAYS = ("method", "dataset", "task", "sampler", "pruner", "batch_size", "seed", "repeats")
_TABLES = ("set", "space")


def keys_of(command: Any) -> dict[str, Any]:
    """Return the parameters of a command by the key that each has in a file."""
    options = {max(p.opts, key=len).lstrip("-").replace("-", "_"): p for p in command.params if p.opts}
    return {key: option for key, option in options.items() if key not in NO_KEYS}


def config_callback(ctx: typer.Context, value: Path | None) -> Path | None:
    """Take the options of a file as defaults, before any other option is read."""
    if value is not None and not ctx.resilient_parsing:
        known = keys_of(ctx.command)
        ctx.default_map = {known[key].name: read for key, read in read_study_file(value, ctx, known).items()}
    return value


def read_study_file(path: Path, ctx: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a file gives, by key.

    Raises :class:`UsageError` for a file that cannot be read or a value that does not fit, and
    :class:`UnknownNameError` for a key that is no option.
    """
    from zslplat.front.study_files import study_file_content

    content = study_file_content(path, known)
    return {name: _fitting(path, name, value, known[name], ctx) for name, value in content.items()}


def _fitting(path: Path, key: str, value: Any, option: Any, ctx: Any) -> Any:
    from zslplat.spec import format_value

    if isinstance(value, Mapping) and key in _TABLES:
        value = [f"{name}={one if isinstance(one, str) else format_value(one)}" for name, one in value.items()]
    listed = value if isinstance(value, list) else [value]
    plain = all(isinstance(one, str | int | float) for one in listed)
    if not plain or (isinstance(value, list) and not option.multiple):
        expected = "a list of texts or a table" if key in _TABLES else "one value" if not option.multiple else "a list"
        raise UsageError(f"study file {path}: {key}={quoted(value)}; expected {expected}")
    if isinstance(value, bool) != bool(option.is_flag):
        raise UsageError(f"study file {path}: {key}={quoted(value)}; expected {_expected(option)}")
    if option.multiple:
        value = [str(one) for one in listed]
    try:
        option.process_value(ctx, value)
    except UsageError:
        raise
    except Exception as error:  # of the library that reads options, whose classes it does not export
        raise UsageError(
            f"study file {path}: {key}={quoted(value)}: {getattr(error, 'message', error)}".rstrip(".")
        ) from error
    return value


def _expected(option: Any) -> str:
    return "true or false" if option.is_flag else "a value as the option takes it"


def write_study_file(path: Path, ctx: Any) -> None:
    """Write the options of a call as a file, those that were given and those without which it would be another study.

    Raises :class:`UsageError` where the file is there already or cannot be written.
    """
    import tomli_w

    content: dict[str, Any] = {}
    for key, option in keys_of(ctx.command).items():
        value = ctx.params.get(option.name)
        value = list(value) if isinstance(value, tuple | list) else value
        if value in (None, []) or (key not in _ALWAYS and value == option.default):
            continue
        content[key] = value if isinstance(value, str | int | float | list) else str(value)
    for key in _TABLES:
        if key in content:
            content[key] = dict(_pair(text, plain=key == "set") for text in content[key])
    ordered = sorted(content.items(), key=lambda item: isinstance(item[1], dict))  # tables come last in TOML
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(tomli_w.dumps(dict(ordered)))
    except FileExistsError as error:
        raise UsageError(f"{path} is there already; give another name to --write-config, or remove it") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


def _pair(text: str, *, plain: bool) -> tuple[str, Any]:
    """Return name and value of ``name=value``, the value as TOML has it where it is ``plain`` and not a range."""
    from zslplat.spec import parse_assignment

    name, _, value = text.partition("=")
    read = parse_assignment(text)[1] if plain else value.strip()
    return name.strip(), read if isinstance(read, str | int | float) else value.strip()

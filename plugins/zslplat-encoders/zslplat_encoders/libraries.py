"""Libraries that encoders need, imported when one is opened, and what is recorded of their versions and weights."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from zslplat.data.store.array_store import sha256_of
from zslplat.errors import MissingDataError, UsageError


def load_library(module: str, extra: str) -> Any:
    """Import a module of an optional library; raises :class:`UsageError` with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{module} cannot be imported ({error}); install it: pip install 'zslplat-encoders[{extra}]'"
        ) from error


def versions_of(*distributions: str) -> str:
    """Return ``name version`` of installed distributions, separated by commas."""
    shown = []
    for name in distributions:
        try:
            shown.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(shown)


def digest_of(files: Iterable[Path]) -> str:
    """Return the SHA-256 of a file, or of the names and digests of several, in the order of their names."""
    named = sorted((path.name, sha256_of(path)) for path in files)
    if len(named) == 1:
        return named[0][1]
    return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in named).encode()).hexdigest()


def require_file(path: str, what: str) -> Path:
    """Return a path that is a file; raises :class:`MissingDataError` where it is none."""
    file = Path(path).expanduser()
    if not path or not file.is_file():
        raise MissingDataError(f"{what}: no file {path!r}; give the path of one")
    return file

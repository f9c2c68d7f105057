"""The errors that reach a user: one clear line each, with the exit code that a script can act on.

Code 2 means that the request was wrong (usage), code 1 that a sound request could not be carried out. Every
message says what was given, what was expected and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ZslplatError(Exception):
    """Base of every error that is shown to the user as one line, without a traceback unless ``--debug``."""

    exit_code = 1


class UsageError(ZslplatError):
    """The request itself is wrong: unknown name, malformed spec, value out of range, contradictory options."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that nothing answers to; the message lists the near matches."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")
        self.name = name


class DataError(ZslplatError):
    """The data cannot be used as asked: missing file or field, wrong shape, NaN, labels without signature."""


class PluginError(ZslplatError):
    """A plugin is broken or clashes with another one."""


class StoreError(ZslplatError):
    """The store cannot be read or written, or holds something else under the requested name."""


class MethodError(ZslplatError):
    """A method cannot be fitted or scored on what it was given; inside a study this fails the trial only."""


class OutcomeWarning(UserWarning):
    """A result that should be looked at, although nothing failed: a search at chance, empty codes, one class predicted.

    Raise it with ``warnings.warn(text, OutcomeWarning, stacklevel=2)`` while problems are built and while a method
    prepares, fits or scores: the platform records it with the evaluation, shows it at the end and tags the MLflow run.
    """

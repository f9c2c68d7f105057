"""Which tasks take methods of which kind. A task asks this of a method that it is given, and imports none for it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from zslplat.errors import PluginError, UsageError
from zslplat.registry import known_as, registry

if TYPE_CHECKING:
    from zslplat.methods.base import Method


def require_kind(method: type[Method], kind: str, task: str) -> None:
    """Raise :class:`UsageError` when a task cannot take a method of this kind."""
    if method.kind == kind:
        return
    fitting = _tasks_for(method.kind)
    hint = f"use --task {' or '.join(fitting)}" if fitting else f"choose a {kind} method"
    article = "an" if method.kind[:1] in "aeiou" else "a"
    raise UsageError(f"{known_as(method)} is {article} {method.kind} method; task {task} takes {kind} methods; {hint}")


def _tasks_for(kind: str) -> list[str]:
    """Return the names of the registered tasks that take methods of a kind; those that do not load take none."""
    matches = []
    for name in registry().names("tasks"):
        with suppress(PluginError):
            if registry().component("tasks", name).kind == kind:
                matches.append(name)
    return matches

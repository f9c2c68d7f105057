"""Kinds of methods, as plugins register them: their parts, and which tasks take their methods."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

from zslplat.errors import PluginError, UsageError
from zslplat.hookspecs import Kind
from zslplat.registry import known_as, registry

# What a method may know of a batch, in the order in which it is shown (``Method.knows_of_batch``).
TRANSDUCTIVE = "transductive"
CLASS_BALANCE = "class balance"
UNSEEN_SIGNATURES = "unseen signatures"
KNOWN = (TRANSDUCTIVE, CLASS_BALANCE, UNSEEN_SIGNATURES)

# The tag of a method that was written down without its source at hand; tables mark it.
FROM_MEMORY = "from memory"
# The tag of a method that compares features and signatures as they are: both have the same dimensions.
SHARED_SPACE = "shared space"


def kind_of(name: str) -> Kind:
    """Return a kind of methods; raises :class:`UnknownNameError` where no plugin registers it."""
    kind: Kind = registry().component("kinds", name)
    return kind


def load_part(kind: str, part: str) -> Any:
    """Import a part of a kind: ``protocol``, ``pipeline``, ``model`` or ``kit``.

    Raises :class:`UnknownNameError` for an unknown kind, :class:`UsageError` for one that has no such part, and
    :class:`PluginError` for a part that cannot be imported.
    """
    return registry().entry("kinds", kind).load_part(part)


@cache
def protocol_of(kind: str) -> Any:
    """Return how methods of a kind are called (:class:`zslplat.methods.base.Protocol`); raises as :func:`load_part`.

    Tasks ask for it when they call a method: they are read without methods, whose import takes a second.
    """
    return load_part(kind, "protocol")()


def require_kind(method: type[Any], expected_kind: str, task: str) -> None:
    """Raise :class:`UsageError` if ``method`` is not of the kind that ``task`` takes.

    Tasks are imported only for the message.
    """
    if method.kind == expected_kind:
        return
    tasks = tasks_for(method.kind)
    hint = f"use --task {' or '.join(tasks)}" if tasks else f"choose a {expected_kind} method"
    article = "an" if method.kind[:1] in "aeiou" else "a"
    raise UsageError(
        f"{known_as(method)} is {article} {method.kind} method; task {task} takes {expected_kind} methods; {hint}"
    )


def tasks_for(kind: str) -> list[str]:
    """Return the names of the registered tasks that take methods of a kind, without tasks that do not load."""
    tasks = []
    for name in registry().names("tasks"):
        with suppress(PluginError):
            if registry().component("tasks", name).kind == kind:
                tasks.append(name)
    return tasks

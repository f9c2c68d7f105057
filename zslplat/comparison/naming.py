"""What an entry of a comparison can be called: its label, study, run ids, method spec, or the method's bare name."""

from __future__ import annotations

from collections.abc import Sequence

from zslplat.comparison.paired import Scored
from zslplat.errors import UnknownNameError, UsageError
from zslplat.spec import Spec


def called(name: str, entries: Sequence[Scored], kind: str = "study, method or run") -> list[int]:
    """Return the places of all entries that a name fits; raises :class:`UnknownNameError` where it fits none."""
    exact, by_method = _matches(name, entries)
    if not exact and not by_method:
        raise UnknownNameError(kind, name, {n for entry in entries for n in (entry.label, entry.study, entry.bare)})
    return sorted({*exact, *by_method})


def meant(name: str, entries: Sequence[Scored], kind: str = "study, method or run") -> list[int]:
    """Return the places of the entries that a name fits best: the bare name of a method counts where nothing else fits.

    Raises :class:`UnknownNameError` where it fits none.
    """
    return _matches(name, entries)[0] or called(name, entries, kind)


def the_one(name: str, entries: Sequence[Scored], kind: str) -> int:
    """Return the place of the one entry that a name means.

    Raises :class:`UnknownNameError` for a name that fits none, :class:`UsageError` for one that fits several.
    """
    found = meant(name, entries, kind)
    if len(found) > 1:
        labels = ", ".join(repr(entries[i].label) for i in found)
        raise UsageError(f"{kind} {name!r} fits {len(found)} entries; give one of {labels}")
    return found[0]


def _matches(name: str, entries: Sequence[Scored]) -> tuple[list[int], list[int]]:
    """Return the places of entries with this very name, and of those whose method has it as its bare name."""
    wanted = {name, _canonical(name)}
    exact = [i for i, e in enumerate(entries) if wanted & {e.label, e.study, e.method, *e.names}]
    return exact, [i for i, e in enumerate(entries) if e.bare == name]


def _canonical(name: str) -> str:
    """Return a method spec as it is recorded, with its parameters in order; other text as it is."""
    try:
        return str(Spec.parse(name))
    except UsageError:
        return name

"""What an entry of a comparison can be called.

Its label, study, run ids or method spec; the bare name of its method; a spec that gives some of its parameters, which
is what tables print, with words in brackets behind it that tell it from its like; the row of a suite that it is; or a
pattern of these (``*``, ``?``). Where the first of these fits, the others are not tried.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from zslplat.comparison.paired import Scored
from zslplat.errors import UnknownNameError, UsageError
from zslplat.spec import Spec, format_value

_WITH_WORDS = re.compile(r"(?P<spec>.*\S) \[(?P<words>[^\[\]]+)\]", re.DOTALL)


def called(name: str, entries: Sequence[Scored], kind: str = "study, method or run") -> list[int]:
    """Return the places of all entries that a name fits; raises :class:`UnknownNameError` where it fits none."""
    exact, loose = _matches(name, entries)
    if not exact and not loose:
        known = {n for e in entries for n in (e.label, e.study, e.bare, *e.suite_rows)}
        raise UnknownNameError(kind, name, known)
    return sorted({*exact, *loose})


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


def other_option(name: str, suites: Iterable[str], datasets: Iterable[str], tasks: Iterable[str]) -> str:
    """Return the option that takes a name of another kind, as a hint; an empty text where it is the name of none."""
    for option, kind, known in (("suite", "suite", suites), ("dataset", "data set", datasets), ("task", "task", tasks)):
        called = [text for text in known if name in (text, text.partition("(")[0])]
        if called:
            whole = name if name in called else called[0]
            return f"it is the name of a {kind}: give --{option} {shlex.quote(whole)}"
    return ""


def fits(pattern: str, known: str) -> bool:
    """Tell whether a text is a pattern's, in which ``*`` stands for any characters and ``?`` for one."""
    return fnmatchcase(known, pattern.replace("[", "[[]"))


def _matches(name: str, entries: Sequence[Scored]) -> tuple[list[int], list[int]]:
    """Return the places of entries with this very name, and of those that it fits more loosely."""
    wanted = {name, _canonical(name)}
    exact = [i for i, e in enumerate(entries) if wanted & {e.label, e.study, e.method, *e.names}]
    loose = [i for i, e in enumerate(entries) if e.bare == name]
    if exact or loose:
        return exact, loose
    loose = with_these_parameters(name, entries) or [i for i, e in enumerate(entries) if name in e.suite_rows]
    texts = [(e.label, e.study, e.method, e.bare, *e.suite_rows) for e in entries]
    return exact, loose or [i for i, known in enumerate(texts) if any(fits(name, text) for text in known)]


def with_these_parameters(name: str, entries: Sequence[Scored]) -> list[int]:
    """Return the places of entries that a spec with some of their parameters, and words behind it, fits."""
    match = _WITH_WORDS.fullmatch(name)
    words = set(match["words"].split("; ")) if match else set()
    try:
        wanted = Spec.parse(match["spec"] if match else name)
    except UsageError:
        return []
    found = []
    for i, entry in enumerate(entries):
        if entry.bare == wanted.name and all(word == entry.study or f"[{word}]" in entry.names for word in words):
            parameters = Spec.parse(entry.method).parameters
            if all(k in parameters and _same(parameters[k], v) for k, v in wanted.parameters.items()):
                found.append(i)
    return found


def _same(value: object, other: object) -> bool:
    return format_value(value) == format_value(other)


def _canonical(name: str) -> str:
    """Return a method spec as it is recorded, with its parameters in order; other text as it is."""
    try:
        return str(Spec.parse(name))
    except UsageError:
        return name

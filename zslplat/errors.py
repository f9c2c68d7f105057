"""The errors that reach a user: one clear line each, with the exit code that a script can act on.

Code 2 means that the request was wrong (usage), code 1 that a sound request could not be carried out. Every
message says what was given, what was expected and what to do.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from itertools import permutations, product
from types import MappingProxyType

_MOST_WORDS, _MOST_LETTERS, _MOST_NAMES = 4, 200, 40
# A path: its folders and its ending say nothing of what a name is.
_PATH = re.compile(r"^[.~]?/|^\.\.?$|/$|\.(npz|npy|csv|tsv|mat|h5|hdf5|parquet|pt|pth|json|toml)$")


class ZslplatError(Exception):
    """Base of every error that is shown to the user as one line, without a traceback unless ``--debug``.

    ``candidates`` are what may have been meant by ``name``, each with a word on it or none: the command line shows the
    command with each of them in its place.
    """

    exit_code = 1
    name: str = ""
    candidates: Mapping[str, str] = MappingProxyType({})


class UsageError(ZslplatError):
    """The request itself is wrong: unknown name, malformed spec, value out of range, contradictory options."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that nothing answers to; the message gives a hint, or the near matches, or all names.

    ``lister`` is the command that lists the names, such as ``list methods``, where there is one; a hint stands alone.
    """

    def __init__(self, kind: str, name: str, choices: Iterable[str], hint: str = "", lister: str = "") -> None:
        names = sorted(choices)
        near = [] if hint else near_names(name, names)
        listed = ", ".join(names[:_MOST_NAMES]) + (f", ... ({len(names)})" if len(names) > _MOST_NAMES else "")
        if not hint:
            hint = f"did you mean {', '.join(near)}?" if near else f"known: {listed or 'none'};"
            hint = f"{hint} zslplat {lister} lists all" if lister else hint.rstrip(";")
        super().__init__(f"unknown {kind} {quoted(name)}; {hint}")
        self.kind, self.name, self.choices = kind, name, names
        self.candidates = dict.fromkeys(near, "")


class AmbiguousNameError(UsageError):
    """A name that several things answer to; ``candidates`` has a name for each, with a word on what it is."""

    def __init__(self, kind: str, name: str, candidates: Mapping[str, str]) -> None:
        labels = ", ".join(map(repr, candidates))
        super().__init__(f"{kind} {quoted(name)} fits {len(candidates)} entries; give one of {labels}")
        self.name, self.candidates = name, candidates


def require_package(package: str, extra: str, what: str) -> None:
    """Raise :class:`UsageError`, which names the extra of zslplat to install, where ``what`` lacks its package."""
    if find_spec(package) is None:
        raise UsageError(f"{what} needs the package {package}, which is not installed; pip install 'zslplat[{extra}]'")


def quoted(value: object, most: int = 500) -> str:
    """Return a value as Python writes it, for messages: with every control character escaped, and its middle left out
    where it is long.
    """
    if hasattr(value, "shape") and not isinstance(value, type):
        return f"a {type(value).__name__} of shape {value.shape}"  # its numbers say nothing
    # Of a long text no more is looked at than is shown.
    try:
        text = repr(value[:most] + value[-most:] if isinstance(value, str) and len(value) > 2 * most else value)
    except (ValueError, RecursionError):
        return "a value too large to be written"  # an integer of thousands of digits, or lists in lists
    left_out = f" ... ({len(value)} characters) ... " if isinstance(value, str) and len(value) > most else " ... "
    return text if len(text) <= most else text[: most // 2] + left_out + text[-most // 4 :]


def near_names(name: str, choices: Iterable[str], *, most: int = 3, cutoff: float = 0.65) -> list[str]:
    """Return the names out of ``choices`` that ``name`` may stand for, the likeliest first.

    Capitals do not count, nor how words are joined (``MFMR_joint``). A name that differs in nothing else stands alone.
    Otherwise: the same words in another order or shortened to initials (``slem-kernel`` means ``kslem``), then names
    that differ by a slip, then those that begin with what was written (or the reverse), then those that are spelled
    alike, to a ratio of ``cutoff``. A path stands for no name but that of another path.
    """
    choices = list(choices)
    if _PATH.search(name) and not any(map(_PATH.search, choices)):
        return []
    folded = {other: "-".join(_words(other)) for other in sorted(choices)}
    words = _words(name[:_MOST_LETTERS])
    folded_name = "-".join(words)
    same = [other for other, text in folded.items() if text == folded_name]
    if same or not folded_name:
        return same[:most]
    squashed = {"".join(text) for text in _shortened(words)}
    near = [other for other, text in folded.items() if text.replace("-", "") in squashed]
    by_text: dict[str, list[str]] = {}
    for other, text in folded.items():
        by_text.setdefault(text, []).append(other)
    slips = difflib.get_close_matches(folded_name, by_text, n=most, cutoff=max(cutoff, 0.85))
    near += [other for text in slips for other in by_text[text]]
    # One or two letters begin too many names to say anything.
    begun = [
        other
        for other, text in folded.items()
        if (len(folded_name) > 1 and text.startswith(folded_name)) or (len(text) > 2 and folded_name.startswith(text))
    ]
    near += sorted(begun, key=lambda other: abs(len(other) - len(name)))
    alike = difflib.get_close_matches(folded_name, by_text, n=most, cutoff=cutoff)
    return list(dict.fromkeys([*near, *(other for text in alike for other in by_text[text])]))[:most]


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\s_.-]+", name.lower()) if word]


def _shortened(words: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words in every order, each whole or as its initial."""
    for order in permutations(words[:_MOST_WORDS]):
        # The initials alone would fit names that have nothing to do with the words.
        choices = product(*({word, word[0]} for word in order))
        yield from (choice for choice in choices if any(len(word) > 1 for word in choice))


class DataError(ZslplatError):
    """The data cannot be used as asked: missing file or field, wrong shape, NaN, labels without signature."""


class NotAtHand:
    """What errors are, too, that say of data that they are not here: a grid leaves such data out, and goes on."""


class MissingDataError(NotAtHand, DataError):
    """A data set, file or folder of data that is named and not here."""

    exit_code = 2


class UnknownDataError(NotAtHand, UnknownNameError):
    """A data set, or its folder or file, by a name that the data root does not have; it may come there later."""


class NoSharedSpaceError(NotAtHand, DataError):
    """Signatures that do not lie in the space of the features, for a method that takes both as they are."""


class PluginError(ZslplatError):
    """A plugin is broken or clashes with another one."""


class StoreError(ZslplatError):
    """The store cannot be read or written, or holds something else under the requested name."""


class OutageError(StoreError):
    """The server of the database, or the scheduler of a cluster, is away for longer than a command waits for it."""


class InUseError(StoreError):
    """Another process holds a part of the store that only one may change at a time."""


class MethodError(ZslplatError):
    """A method cannot be fitted or scored on what it was given; inside a study this fails the trial only."""


class OutcomeWarning(UserWarning):
    """A result that should be looked at, although nothing failed: a search at chance, empty codes, one class predicted.

    Raise it with ``warnings.warn(text, OutcomeWarning, stacklevel=2)`` while problems are built and while a method
    prepares, fits or scores: the platform records it with the evaluation, shows it at the end and tags the MLflow run.
    ``code`` names the check under which it is shown and silenced; it stands at the end of the text, in brackets.
    """

    def __init__(self, text: str = "", code: str = "") -> None:
        super().__init__(f"{text} [{code}]" if code else text)


_CODED = re.compile(r"(?P<text>.*) \[(?P<code>[A-Z]+[0-9]+)\]")


def split_code(text: str) -> tuple[str, str]:
    """Return the text of an :class:`OutcomeWarning` and the code at its end, which is empty where there is none."""
    match = _CODED.fullmatch(text)
    return (match["text"], match["code"]) if match else (text, "")

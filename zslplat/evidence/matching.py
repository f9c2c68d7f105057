"""Which results a name, a pattern or a filter selects.

A result can be named by its label, study, run ids or method spec; by the bare name of its method; by a spec that gives
some of its parameters, which is what tables print, with words in brackets behind it where the spec is ambiguous; by the
row of a suite that it is; or by a pattern of these (``*``, ``?``). Where the first of these fits, the others are not
tried.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from zslplat.errors import AmbiguousNameError, UnknownNameError, UsageError
from zslplat.evidence.results import Result
from zslplat.evidence.scores import Scored
from zslplat.spec import Spec, format_value

_WITH_WORDS = re.compile(r"(?P<spec>.*\S) \[(?P<words>[^\[\]]+)\]", re.DOTALL)
BASELINE = "method to compare with"  # what messages call the entry that differences are taken from
RESULT_NOUN = "study, method or run"  # what messages call a name that may fit any result


def indices_of(name: str, entries: Sequence[Scored], kind: str = RESULT_NOUN) -> list[int]:
    """Return the indices of all entries that a name fits; raises :class:`UnknownNameError` where it fits none."""
    exact, loose = _matches(name, entries)
    if not exact and not loose:
        names = {n for e in entries for n in (e.label, e.study, e.bare, *e.suite_rows)}
        raise UnknownNameError(kind, name, names, lister="studies")
    return sorted({*exact, *loose})


def best_indices_of(name: str, entries: Sequence[Scored], kind: str = RESULT_NOUN) -> list[int]:
    """Return the indices of the entries that a name fits best.

    The bare name of a method counts where nothing else fits. Raises :class:`UnknownNameError` where it fits none.
    """
    return _matches(name, entries)[0] or indices_of(name, entries, kind)


def index_of(name: str, entries: Sequence[Scored], kind: str) -> int:
    """Return the index of the one entry that a name fits best; of several the one that was validated, a study's.

    Raises :class:`UnknownNameError` for a name that fits none, :class:`AmbiguousNameError` for one that fits several.
    """
    indices = best_indices_of(name, entries, kind)
    validated = [i for i in indices if entries[i].validation]
    if len(indices) > 1 and len(validated) != 1:
        raise AmbiguousNameError(kind, name, {entries[i].label: "" for i in indices})
    return validated[0] if validated else indices[0]


def other_option(name: str, suites: Iterable[str], datasets: Iterable[str], tasks: Iterable[str]) -> str:
    """Return the option that takes a name of another kind, as a hint; an empty text where it is the name of none."""
    for option, kind, texts in (("suite", "suite", suites), ("dataset", "data set", datasets), ("task", "task", tasks)):
        matches = [text for text in texts if name in (text, text.partition("(")[0])]
        if matches:
            whole = name if name in matches else matches[0]
            return f"it is the name of a {kind}: give --{option} {shlex.quote(whole)}"
    return ""


def fits(pattern: str, text: str) -> bool:
    """Tell whether a text fits a pattern, in which ``*`` stands for any characters and ``?`` for one."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def _matches(name: str, entries: Sequence[Scored]) -> tuple[list[int], list[int]]:
    """Return the indices of entries with this very name, and of those that it fits more loosely."""
    spellings = {name, _canonical(name)}
    exact = [i for i, e in enumerate(entries) if spellings & {e.label, e.study, e.method, *e.names}]
    loose = [i for i, e in enumerate(entries) if e.bare == name]
    if exact or loose:
        return exact, loose
    loose = indices_of_parameters(name, entries) or [i for i, e in enumerate(entries) if name in e.suite_rows]
    texts = [(e.label, e.study, e.method, e.bare, *e.suite_rows) for e in entries]
    return exact, loose or [i for i, names in enumerate(texts) if any(fits(name, text) for text in names)]


def indices_of_parameters(name: str, entries: Sequence[Scored]) -> list[int]:
    """Return the indices of entries that a spec with some of their parameters, and words behind it, fits."""
    match = _WITH_WORDS.fullmatch(name)
    words = set(match["words"].split("; ")) if match else set()
    try:
        spec = Spec.parse(match["spec"] if match else name)
    except UsageError:
        return []
    indices = []
    for i, entry in enumerate(entries):
        if entry.bare == spec.name and all(word == entry.study or f"[{word}]" in entry.names for word in words):
            parameters = Spec.parse(entry.method).parameters
            if all(
                k in parameters and format_value(parameters[k]) == format_value(v) for k, v in spec.parameters.items()
            ):
                indices.append(i)
    return indices


def _canonical(name: str) -> str:
    """Return a method spec as it is recorded, with its parameters in order; other text as it is."""
    try:
        return str(Spec.parse(name))
    except UsageError:
        return name


@dataclass(frozen=True)
class Filters:
    """What is shown: entries that one name of each kind fits, where names of that kind are given.

    ``names`` are of studies, methods, specs, labels or runs, ``methods`` of a method or its spec, ``studies`` of a
    study or single run, ``suites`` of the suites that
    a study belongs to, ``tags`` of tags that users gave, as ``KEY=VALUE`` or ``KEY``. All may be patterns with ``*``
    and ``?``.
    """

    names: Sequence[str] = ()
    methods: Sequence[str] = ()
    studies: Sequence[str] = ()
    suites: Sequence[str] = ()
    tags: Sequence[str] = ()

    def results(self, results: Sequence[Result]) -> list[int]:
        """Return the indices of the results that fit by study, suite and tag, in order.

        To be used before results are grouped by experiment: a result that stands behind another was not recorded for
        what the other was. Raises :class:`UnknownNameError` for a name that fits none of them.
        """
        indices = set(range(len(results)))
        for field, (kind, texts_of) in _RESULT_FIELDS.items():
            names = self._names(field)
            if names:
                texts = [texts_of(result) for result in results]
                indices &= {i for name in names for i in _indices(kind, name, texts)}
        return sorted(indices)

    @property
    def select_results(self) -> bool:
        """Whether a study, suite or tag is given, which a record says of itself."""
        return any(self._names(field) for field in _RESULT_FIELDS)

    def by_task(self, results: Mapping[str, Sequence[Result]]) -> dict[str, Filters]:
        """Return the filters of each task of which something fits, with the names that fit there.

        ``results`` are those of each task.
        """
        by_task = {}
        for task, of_task in results.items():
            narrowed = {}
            for field, (_, texts_of) in _RESULT_FIELDS.items():
                texts = {text for result in of_task for text in texts_of(result)}
                narrowed[field] = tuple(n for n in self._names(field) if any(fits(n, text) for text in texts))
            if all(narrowed[field] or not self._names(field) for field in _RESULT_FIELDS):
                filters = replace(self, **narrowed)
                if filters.results(of_task):
                    by_task[task] = filters
        return by_task

    def _names(self, field: str) -> tuple[str, ...]:
        return tuple(name.strip() if field == "tags" else name for name in getattr(self, field))

    def entries(self, entries: Sequence[Scored]) -> list[int]:
        """Return the indices of the entries that fit by name and method, in order.

        Raises :class:`UnknownNameError` for a name that fits none of them.
        """
        indices = set(range(len(entries)))
        if self.methods:
            texts = [{entry.bare, entry.method} for entry in entries]
            # A spec fits whatever the order of its parameters, and where it gives some of them.
            indices &= {
                i
                for name in self.methods
                for i in indices_of_parameters(name, entries) or _indices("method", name, texts)
            }
        if self.names:
            indices &= {i for name in self.names for i in indices_of(name, entries)}
        return sorted(indices)


EVERYTHING = Filters()
# By the field of the filters: what messages call such a name, and which texts of a result it may fit.
_RESULT_FIELDS: dict[str, tuple[str, Callable[[Result], set[str]]]] = {
    "studies": ("study", lambda result: {result.name, *result.aliases}),
    "suites": ("suite", lambda result: set(result.suites)),
    "tags": ("tag", lambda result: {*result.tags, *(f"{k}={v}" for k, v in result.tags.items())}),
}


def _indices(kind: str, name: str, texts: Sequence[set[str]]) -> list[int]:
    indices = [i for i, names in enumerate(texts) if any(fits(name, text) for text in names)]
    if not indices:
        raise UnknownNameError(kind, name, {text for names in texts for text in names}, lister="studies")
    return indices

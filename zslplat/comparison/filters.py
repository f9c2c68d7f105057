"""Which of the recorded entries are meant: by name, method, study and experiment, each as a name or a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zslplat.comparison.naming import called, fits, with_these_parameters
from zslplat.comparison.paired import Scored
from zslplat.comparison.recorded import Recorded
from zslplat.errors import UnknownNameError


@dataclass(frozen=True)
class Filters:
    """What is shown: entries that one name of each kind fits, where names of that kind are given.

    ``names`` are of studies, methods, specs, labels or runs (:mod:`zslplat.comparison.naming`), ``methods`` of a
    method or its spec, ``studies`` of a study or single run, ``experiments`` of what the tracking calls the experiment,
    ``suites`` of the suites that a study belongs to, ``tags`` of tags that users gave, as ``KEY=VALUE`` or ``KEY``. All
    may be patterns with ``*`` and ``?``.
    """

    names: Sequence[str] = ()
    methods: Sequence[str] = ()
    studies: Sequence[str] = ()
    experiments: Sequence[str] = ()
    suites: Sequence[str] = ()
    tags: Sequence[str] = ()

    def recorded(self, groups: Sequence[Recorded]) -> list[int]:
        """Return the places of what fits by study, experiment, suite and tag, in order: before anything is folded.

        What stands behind another of its setting is not what the other was recorded for. Raises
        :class:`UnknownNameError` for a name that fits none of them.
        """
        kinds = (
            ("study", self.studies, [{group.name, *group.names} for group in groups]),
            ("experiment", self.experiments, [{str(group.about.get("experiment", ""))} for group in groups]),
            ("suite", self.suites, [set(group.suites) for group in groups]),
            (
                "tag",
                [tag.strip() for tag in self.tags],
                [{*group.tags, *(f"{k}={v}" for k, v in group.tags.items())} for group in groups],
            ),
        )
        kept = set(range(len(groups)))
        for kind, wanted, known in kinds:
            if wanted:
                kept &= {i for name in wanted for i in _fitting(kind, name, known)}
        return sorted(kept)

    def kept(self, entries: Sequence[Scored]) -> list[int]:
        """Return the places of the entries that fit by name and method, in order.

        Raises :class:`UnknownNameError` for a name that fits none of them.
        """
        kept = set(range(len(entries)))
        if self.methods:
            known = [{entry.bare, entry.method} for entry in entries]
            # A spec fits whatever the order of its parameters, and where it gives some of them.
            kept &= {
                i
                for name in self.methods
                for i in with_these_parameters(name, entries) or _fitting("method", name, known)
            }
        if self.names:
            kept &= {i for name in self.names for i in called(name, entries)}
        return sorted(kept)


EVERYTHING = Filters()


def _fitting(kind: str, name: str, known: Sequence[set[str]]) -> list[int]:
    found = [i for i, texts in enumerate(known) if any(fits(name, text) for text in texts)]
    if not found:
        raise UnknownNameError(kind, name, {text for texts in known for text in texts})
    return found

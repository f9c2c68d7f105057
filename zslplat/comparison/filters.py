"""Which of the recorded entries are meant: by name, method, study and experiment, each as a name or a pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from zslplat.comparison.naming import called, fits, with_these_parameters
from zslplat.comparison.paired import Scored
from zslplat.comparison.recorded import Recorded
from zslplat.errors import UnknownNameError


@dataclass(frozen=True)
class Filters:
    """What is shown: entries that one name of each kind fits, where names of that kind are given.

    ``names`` are of studies, methods, specs, labels or runs (:mod:`zslplat.comparison.naming`), ``methods`` of a
    method or its spec, ``studies`` of a study or single run, ``mlflow_experiments`` of the MLflow experiment it is
    shown in, ``suites`` of the suites that a study belongs to, ``tags`` of tags that users gave, as ``KEY=VALUE`` or
    ``KEY``. All may be patterns with ``*`` and ``?``.
    """

    names: Sequence[str] = ()
    methods: Sequence[str] = ()
    studies: Sequence[str] = ()
    mlflow_experiments: Sequence[str] = ()
    suites: Sequence[str] = ()
    tags: Sequence[str] = ()

    def recorded(self, groups: Sequence[Recorded]) -> list[int]:
        """Return the places of what fits by study, MLflow experiment, suite and tag, in order: before anything is
        folded.

        What stands behind another of its experiment is not what the other was recorded for. Raises
        :class:`UnknownNameError` for a name that fits none of them.
        """
        kept = set(range(len(groups)))
        for field, (kind, texts_of) in _RECORDED.items():
            wanted = self._wanted(field)
            if wanted:
                known = [texts_of(group) for group in groups]
                kept &= {i for name in wanted for i in _fitting(kind, name, known)}
        return sorted(kept)

    @property
    def are_recorded(self) -> bool:
        """Whether a study, MLflow experiment, suite or tag is asked for: what a record says of itself."""
        return any(self._wanted(field) for field in _RECORDED)

    def by_task(self, groups: Mapping[str, Sequence[Recorded]]) -> dict[str, Filters]:
        """Return the filters of each task of which something fits, with the names that fit there.

        ``groups`` is what is recorded, by task.
        """
        found = {}
        for task, own in groups.items():
            narrowed = {}
            for field, (_, texts_of) in _RECORDED.items():
                known = {text for group in own for text in texts_of(group)}
                narrowed[field] = tuple(n for n in self._wanted(field) if any(fits(n, text) for text in known))
            if all(narrowed[field] or not self._wanted(field) for field in _RECORDED):
                filters = replace(self, **narrowed)
                if filters.recorded(own):
                    found[task] = filters
        return found

    def _wanted(self, field: str) -> tuple[str, ...]:
        return tuple(name.strip() if field == "tags" else name for name in getattr(self, field))

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
# By the field of the filters: what messages call such a name, and what of a record it may fit.
_RECORDED: dict[str, tuple[str, Callable[[Recorded], set[str]]]] = {
    "studies": ("study", lambda group: {group.name, *group.names}),
    "mlflow_experiments": ("MLflow experiment", lambda group: {str(group.about.get("mlflow_experiment", ""))}),
    "suites": ("suite", lambda group: set(group.suites)),
    "tags": ("tag", lambda group: {*group.tags, *(f"{k}={v}" for k, v in group.tags.items())}),
}


def _fitting(kind: str, name: str, known: Sequence[set[str]]) -> list[int]:
    found = [i for i, texts in enumerate(known) if any(fits(name, text) for text in texts)]
    if not found:
        raise UnknownNameError(kind, name, {text for texts in known for text in texts})
    return found

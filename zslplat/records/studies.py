"""One study as it is recorded: finished trials with their records, its own values, and the suites that it belongs to.

What is recorded is computed once. ``part_of`` says for which suite it was carried out first, and ``counts_in`` in which
other suites it is a cell; each is a mapping with ``suite``, ``data``, ``row``, and ``split`` where classes are drawn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from zslplat.errors import StoreError
from zslplat.keys import METRIC, run_identifier
from zslplat.records.outages import Outages, lasting_errors, patient
from zslplat.records.trials import FinishedTrial, add_trial
from zslplat.space import Space

STUDY = "study:"
RETRIED = "retried"
RECALLED_FROM = "known_from"  # key of the run from whose record an evaluation was taken
# Keys of what has no key of a trial or a repeat: a study as a whole, and a sweep.
PARENT, SUMMARY = "study", "sweep"
_FINISHED = ("COMPLETE", "PRUNED", "FAIL")
_DAMAGED = "cannot be read; restore the records from a copy of the store, or choose another --study"
_PLACE = ("suite", "data", "row", "draw")


class OpenStudy:
    """The finished trials of one study, and the JSON values that it keeps.

    ``confirm`` is called before a trial is stored, and raises where another command leads the study by now.
    """

    def __init__(self, study: Any, url: str, outages: Outages, confirm: Callable[[], None]) -> None:
        self.study, self.url, self.outages, self.confirm = study, url, outages, confirm
        self.name: str = study.study_name
        self.owner = STUDY + self.name
        self._origin = ""

    @patient
    def values(self) -> dict[str, Any]:
        """Return all JSON values of the study; ``identity`` is its experiment."""
        with lasting_errors(self.url, f"study {self.name!r}"):
            return dict(self.study.user_attrs)

    @property
    @patient
    def maximise(self) -> tuple[bool, ...]:
        """Whether larger values are better, of each criterion."""
        with lasting_errors(self.url):
            return tuple(direction.name == "MAXIMIZE" for direction in self.study.directions)

    def run(self, key: str) -> str:
        """Return the identifier of one of the study's runs: ``study``, ``trial-3``, ``trial-3/repeat-0``."""
        # It never changes, and every trial asks for it.
        self._origin = self._origin or str(self.recall("origin", str))
        return run_identifier(self._origin, self.owner, key)

    def recall(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a JSON value of the study, made and stored at the first call."""
        value = self._value(name)
        if value is None:
            value = make()
            self.note(name, value)
        return value

    @patient
    def _value(self, name: str) -> Any:
        with lasting_errors(self.url):
            return self.study.user_attrs.get(name)

    @patient
    def knows(self, *names: str) -> bool:
        """Tell whether values of all these names are stored."""
        with lasting_errors(self.url):
            return set(names) <= set(self.study.user_attrs)

    @patient
    def note(self, name: str, value: Any) -> None:
        """Store a JSON value of the study, in place of an earlier one."""
        with lasting_errors(self.url):
            if self.study.user_attrs.get(name) != value:
                self.study.set_user_attr(name, value)

    @patient
    def finished(self) -> list[tuple[FinishedTrial, dict[str, Any]]]:
        """Return the finished trials with their records, in order.

        Raises :class:`StoreError` where one is damaged, or trials are missing of a study that has ended.
        """
        with lasting_errors(self.url, f"study {self.name!r}"):
            trials = [
                (t.number, t.state.name, t.user_attrs.get("record")) for t in self.study.get_trials(deepcopy=False)
            ]
            values = self.study.user_attrs
        return checked_trials(self.name, trials, values)

    @patient
    def optuna_trials(self) -> list[Any]:
        """Return the finished trials as Optuna has them, with the ranges that were searched."""
        with lasting_errors(self.url, f"study {self.name!r}"):
            return list(self.study.get_trials(deepcopy=False))

    @patient
    def extend(self, longer: OpenStudy) -> int:
        """Add the trials that a copy of this study has beyond these; return how many."""
        with lasting_errors(self.url):
            count = len(self.study.get_trials(deepcopy=False))
            more = longer.study.get_trials(deepcopy=False)[count:]
            for trial in more:
                self.study.add_trial(trial)
        return len(more)

    @patient
    def retry(self, record: Mapping[str, Any]) -> None:
        """Store what a failed trial gave when it was tried again; its first record stays where it is."""
        with lasting_errors(self.url):
            self.confirm()
            retried = self.study.user_attrs.get(RETRIED, {})
            self.study.set_user_attr(RETRIED, {**retried, str(record["number"]): dict(record)})

    @patient
    def add(self, trial: FinishedTrial, record: Mapping[str, Any], space: Space) -> None:
        """Store a finished trial in one transaction; the same record again is stored once."""
        with lasting_errors(self.url):
            self.confirm()
            add_trial(self.study, trial, record, space)


def untested_error(study: str, instead: str = "") -> StoreError:
    """Return the error that a study has no test evaluation of its winner; ``instead`` names another remedy."""
    text = f"study {study!r} has no test evaluation of its winner; give its command without --repeats 0"
    return StoreError(f"{text}{instead}")


def checked_trials(
    study: str, trials: Iterable[tuple[int, str, Any]], values: Mapping[str, Any]
) -> list[tuple[FinishedTrial, dict[str, Any]]]:
    """Return finished trials with their records, in order.

    ``trials``: number, state in Optuna's words and record as text of each, ``values``: the JSON values of the study.
    Raises :class:`StoreError` like :meth:`OpenStudy.finished`.
    """
    retried, ended = values.get(RETRIED) or {}, values.get("finished") or {}
    result = []
    for position, (number, state, text) in enumerate(trials):
        if number != position or state not in _FINISHED:
            raise StoreError(
                f"study {study!r} holds trial {number} in state {state}; it was "
                "written by another program; choose another --study"
            )
        if text is None:
            raise StoreError(f"trial {position} of study {study!r} holds no record; choose another --study")
        try:
            record = retried.get(str(position)) or json.loads(text)
            result.append((finished_trial(record), record))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError(f"trial {position} of study {study!r} {_DAMAGED}") from error
    winner = ended.get("winner", -1)
    if winner >= len(result):
        raise StoreError(f"trial {winner} of study {study!r}, which was its best, {_DAMAGED}")
    return result


def finished_trial(record: Mapping[str, Any]) -> FinishedTrial:
    """Return what later proposals may know of a recorded trial."""
    steps = {int(step): value for step, value in record["steps"].items()}
    values = (record["value"], *record.get("further_values", ()))
    return FinishedTrial(record["number"], record["state"], dict(record["parameters"]), values[0], steps, values[1:])


def configuration_conflict(name: str, stored: Mapping[str, Any], requested: Mapping[str, Any]) -> str:
    """Return in words in what a request differs from the study that is recorded under its name."""
    changes = [
        f"{key}: recorded {stored.get(key)!r}, asked {requested.get(key)!r}"
        for key in sorted({*stored, *requested})
        if stored.get(key) != json.loads(json.dumps(requested.get(key)))
    ]
    return (
        f"study {name!r} was recorded with another configuration ({'; '.join(changes)}); "
        "give the recorded configuration to continue it, or another --study for a new one"
    )


def parts_of(about: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the places in suites that ``about`` names, first the one that it was carried out for."""
    first = about.get("part_of") or {}
    return [dict(part) for part in (*([first] if first else []), *(about.get("counts_in") or ()))]


def suites_of(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of its suites, that which it was carried out for first."""
    return tuple(dict.fromkeys(str(part["suite"]) for part in parts_of(about) if "suite" in part))


def selected_by(identity: Mapping[str, Any], about: Mapping[str, Any]) -> str | None:
    """Return the metrics by which a study selects, as ``H,seconds``; None where that is not recorded."""
    metric = identity.get(METRIC) or about.get("primary", {}).get("name")
    return None if metric is None else str(metric)


def belongs(parts: Sequence[Mapping[str, str]], part: Mapping[str, str]) -> bool:
    """Tell whether a place is among others; how long its parameters were searched for does not matter."""
    return _place(part) in map(_place, parts)


def counted_in(about: Mapping[str, Any], *parts: Mapping[str, str]) -> dict[str, Any]:
    """Return ``about`` with those places that it does not name yet."""
    present = parts_of(about)
    new: list[Mapping[str, str]] = []
    for part in parts:
        if not belongs([*present, *new], part):
            new.append(dict(part))
    return {**about, "counts_in": [*(about.get("counts_in") or ()), *new]} if new else dict(about)


def _place(part: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(str(part.get(name, "")) for name in _PLACE)

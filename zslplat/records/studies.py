"""One study as it is recorded: finished trials, each with its record, and what the study needs to know of itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from zslplat.errors import StoreError
from zslplat.keys import run_identifier
from zslplat.records.faults import lasting_errors
from zslplat.records.trial_rows import add_trial
from zslplat.records.trials import FinishedTrial
from zslplat.space import Space

STUDY = "study:"
RETRIED = "retried"
_DAMAGED = "cannot be read; restore the records from a copy of the store, or choose another --study"


class OpenStudy:
    """The finished trials of one study, and the JSON values that it keeps."""

    def __init__(self, study: Any, url: str, engine: sa.Engine) -> None:
        self.study, self.url, self.engine = study, url, engine
        self.name: str = study.study_name
        self.owner = STUDY + self.name
        self._origin = ""

    def values(self) -> dict[str, Any]:
        """Return all JSON values of the study; ``identity`` is its setting."""
        with lasting_errors(self.url, f"study {self.name!r}"):
            return dict(self.study.user_attrs)

    @property
    def maximise(self) -> bool:
        """Whether larger values are better."""
        with lasting_errors(self.url):
            return str(self.study.direction.name) == "MAXIMIZE"

    def run(self, key: str) -> str:
        """Return the identifier of one of the study's runs: ``study``, ``trial-3``, ``trial-3/repeat-0``."""
        # It never changes, and every trial asks for it.
        self._origin = self._origin or str(self.recall("origin", str))
        return run_identifier(self._origin, self.owner, key)

    def remember(self, name: str, make: Callable[[], float]) -> float:
        """Return a number of the study, made and stored at the first call; what ``make`` raises is its own affair."""
        return float(self.recall(name, make))

    def recall(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a JSON value of the study, made and stored at the first call."""
        with lasting_errors(self.url):
            known = self.study.user_attrs.get(name)
        if known is None:
            known = make()
            self.note(name, known)
        return known

    def knows(self, *names: str) -> bool:
        """Tell whether values of all these names are stored."""
        with lasting_errors(self.url):
            return set(names) <= set(self.study.user_attrs)

    def note(self, name: str, value: Any) -> None:
        """Store a JSON value of the study, in place of an earlier one."""
        with lasting_errors(self.url):
            if self.study.user_attrs.get(name) != value:
                self.study.set_user_attr(name, value)

    def finished(self) -> list[tuple[FinishedTrial, dict[str, Any]]]:
        """Return the finished trials with their records, in order.

        Raises :class:`StoreError` where one is damaged, or trials are missing of a study that has ended.
        """
        from optuna.trial import TrialState

        names = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}
        with lasting_errors(self.url, f"study {self.name!r}"):
            trials = self.study.get_trials(deepcopy=False)
            values = self.study.user_attrs
        retried, ended = values.get(RETRIED, {}), values.get("finished", {})
        result = []
        for position, trial in enumerate(trials):
            if trial.number != position or trial.state not in names:
                raise StoreError(
                    f"study {self.name!r} holds trial {trial.number} in state {trial.state.name}; it was "
                    "written by another program; choose another --study"
                )
            if "record" not in trial.user_attrs:
                raise StoreError(f"trial {position} of study {self.name!r} holds no record; choose another --study")
            try:
                record = retried.get(str(position)) or json.loads(trial.user_attrs["record"])
                result.append((finished_trial(record), record))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise StoreError(f"trial {position} of study {self.name!r} {_DAMAGED}") from error
        winner = ended.get("winner", -1)
        if winner >= len(result):
            raise StoreError(f"trial {winner} of study {self.name!r}, which was its best, {_DAMAGED}")
        return result

    def extend(self, longer: OpenStudy) -> int:
        """Add the trials that a copy of this study has beyond these; return how many."""
        with lasting_errors(self.url):
            known = len(self.study.get_trials(deepcopy=False))
            more = longer.study.get_trials(deepcopy=False)[known:]
            for trial in more:
                self.study.add_trial(trial)
        return len(more)

    def retry(self, record: Mapping[str, Any]) -> None:
        """Store what a failed trial gave when it was tried again; its first record stays where it is."""
        with lasting_errors(self.url):
            known = self.study.user_attrs.get(RETRIED, {})
            self.study.set_user_attr(RETRIED, {**known, str(record["number"]): dict(record)})

    def add(self, trial: FinishedTrial, record: Mapping[str, Any], space: Space) -> None:
        """Store a finished trial in one transaction."""
        with lasting_errors(self.url):
            add_trial(self.engine, self.study, trial, record, space)


def finished_trial(record: Mapping[str, Any]) -> FinishedTrial:
    """Return what later proposals may know of a recorded trial."""
    steps = {int(step): value for step, value in record["steps"].items()}
    return FinishedTrial(record["number"], record["state"], dict(record["parameters"]), record["value"], steps)


def difference(name: str, stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    changes = [
        f"{key}: recorded {stored.get(key)!r}, asked {asked.get(key)!r}"
        for key in sorted({*stored, *asked})
        if stored.get(key) != json.loads(json.dumps(asked.get(key)))
    ]
    return (
        f"study {name!r} was recorded with another configuration ({'; '.join(changes)}); "
        "give the recorded configuration to continue it, or another --study for a new one"
    )

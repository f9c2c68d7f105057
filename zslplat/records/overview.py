"""What all studies of a store hold, read in a few queries: a store may keep thousands of them.

Opening a study reads all its trials. To show many studies side by side takes a few values of each, one trial, and
counts.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from zslplat.records.costs import total_seconds
from zslplat.records.database import Records
from zslplat.records.outages import lasting_errors, patient
from zslplat.records.studies import RETRIED, checked_trials
from zslplat.records.trials import FinishedTrial

_NOTED = sa.text(
    "select s.study_name, a.key, a.value_json from studies s join study_user_attributes a on a.study_id = s.study_id "
    "where a.key in :keys order by s.study_id"
).bindparams(sa.bindparam("keys", expanding=True))
_ALL_NOTED = sa.text(
    "select s.study_name, a.key, a.value_json from studies s join study_user_attributes a on a.study_id = s.study_id "
    "order by s.study_id"
)
_TRIALS = sa.text(
    "select t.number, t.state, a.value_json from studies s join trials t on t.study_id = s.study_id "
    "left join trial_user_attributes a on a.trial_id = t.trial_id and a.key = 'record' "
    "where s.study_name = :study order by t.trial_id"
)
_COUNTS = sa.text(
    "select s.study_name, count(*) from studies s join trials t on t.study_id = s.study_id group by s.study_name"
)
_RECORDS = sa.text(
    "select t.number, a.value_json from studies s join trials t on t.study_id = s.study_id "
    "join trial_user_attributes a on a.trial_id = t.trial_id where a.key = 'record' and s.study_name = :study"
)
_SAME_TRIAL = sa.text(
    "select s.study_name, a.value_json from studies s join trials t on t.study_id = s.study_id "
    "join trial_user_attributes a on a.trial_id = t.trial_id "
    "where a.key = 'record' and t.number = :number and s.study_name in :studies"
).bindparams(sa.bindparam("studies", expanding=True))
_AT_ONCE = 500  # names in one query: some databases take no thousand


class Overview:
    """Values of all studies by their names, parsed when they are read, and how many trials each has.

    ``keys``: names of the values to read; all where it is None.
    """

    def __init__(self, records: Records, keys: Sequence[str] | None = None) -> None:
        self.records, self.outages = records, records.outages
        self._noted: dict[str, dict[str, str]] = {}
        self._load(keys)

    @patient
    def _load(self, keys: Sequence[str] | None) -> None:
        with lasting_errors(self.records.url), self.records.engine.connect() as connection:
            noted = (_ALL_NOTED, {}) if keys is None else (_NOTED, {"keys": [*keys, RETRIED]})
            for study, key, text in connection.execute(*noted):
                self._noted.setdefault(study, {})[key] = text
            self._counts = {study: int(count) for study, count in connection.execute(_COUNTS)}

    def trials(self, study: str) -> int:
        """Return how many trials of a study are recorded, failed and pruned ones among them."""
        return self._counts.get(study, 0)

    def value(self, study: str, key: str) -> Any:
        """Return a JSON value of a study, None where it has none; raises :class:`StoreError` for a damaged one."""
        text = self._noted.get(study, {}).get(key)
        with lasting_errors(self.records.url, f"study {study!r}"):
            return None if text is None else json.loads(text)

    def values(self, study: str) -> dict[str, Any]:
        """Return the JSON values of a study that were read; raises :class:`StoreError` for a damaged one."""
        return {key: self.value(study, key) for key in self._noted.get(study, {})}

    @patient
    def finished(self, study: str) -> list[tuple[FinishedTrial, dict[str, Any]]]:
        """Return the finished trials of a study with their records, in order.

        Raises :class:`StoreError` like :meth:`zslplat.records.studies.OpenStudy.finished`.
        """
        with lasting_errors(self.records.url, f"study {study!r}"):
            with self.records.engine.connect() as connection:
                rows = connection.execute(_TRIALS, {"study": study}).all()
            trials = [(number, state, None if text is None else json.loads(text)) for number, state, text in rows]
        return checked_trials(study, trials, self.values(study))

    def chosen(self, study: str, number: int, read: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """Return the record of one trial: of those that :meth:`trials_of` read for many studies, else by itself.

        Raises :class:`StoreError` where it cannot be read.
        """
        record = self._retried(study).get(number, read.get(study))
        return record if record is not None else self.records.study(study).finished()[number][1]

    @patient
    def trials_of(self, numbers: Mapping[str, int]) -> dict[str, dict[str, Any]]:
        """Return {study: record} of one trial of each study, given by its number; what cannot be read is left out."""
        alike: dict[int, list[str]] = {}
        for study, number in numbers.items():
            alike.setdefault(number, []).append(study)
        rows: list[Any] = []
        with lasting_errors(self.records.url), self.records.engine.connect() as connection:
            for number, studies in alike.items():
                for start in range(0, len(studies), _AT_ONCE):
                    parameters = {"number": number, "studies": studies[start : start + _AT_ONCE]}
                    rows += connection.execute(_SAME_TRIAL, parameters).all()
        return {study: record for study, text in rows if (record := _readable(text)) is not None}

    def seconds(self, study: str) -> float:
        """Return how long the trials of a study took, one after the other, with what was prepared for them."""
        noted = self.value(study, "finished") or {}
        if noted.get("trials") == self.trials(study) and "seconds" in noted:
            return float(noted["seconds"])  # else it goes on
        by_number = self._read(study) | self._retried(study)
        return total_seconds(by_number.values())

    def _retried(self, study: str) -> dict[int, dict[str, Any]]:
        return {int(number): record for number, record in (self.value(study, RETRIED) or {}).items()}

    @patient
    def _read(self, study: str) -> dict[int, dict[str, Any]]:
        """Return the readable records of trials by number."""
        with lasting_errors(self.records.url), self.records.engine.connect() as connection:
            rows = connection.execute(_RECORDS, {"study": study}).all()
        return {int(number): record for number, text in rows if (record := _readable(text)) is not None}


def _readable(text: str) -> dict[str, Any] | None:
    """Return the record of a trial as it is stored; None where it is damaged."""
    with contextlib.suppress(ValueError, TypeError):
        record = json.loads(json.loads(text))
        if isinstance(record, Mapping) and isinstance(record.get("metrics"), Mapping):
            return dict(record)
    return None

"""MLflow as a listener: studies and runs are shown as they are recorded, and what it missed is caught up with."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from zslplat.errors import StoreError, UnknownNameError
from zslplat.listeners import Listener, Record, Warn
from zslplat.records.database import Records
from zslplat.records.folders import owner_folder, study_folder
from zslplat.records.locks import file_lock
from zslplat.records.opening import existing_records
from zslplat.records.studies import STUDY
from zslplat.settings import Settings
from zslplat.tracking.projection import Projection
from zslplat.tracking.reading import reading
from zslplat.tracking.shown import ShownStudy, show_run, show_study

# Lies in an owner's folder as long as MLflow may not show all that is recorded of it.
UNSHOWN, LOCK = "unshown", "leader.lock"
_MLFLOW_ID = re.compile(r"[0-9a-f]{32}")


class MLflowListener(Listener):
    """Shows one study or one run in MLflow, and at its end what earlier commands could not show."""

    def __init__(self, settings: Settings, records: Records, warn: Warn) -> None:
        super().__init__(settings, records, warn)
        self._trials: list[Record] = []
        self._study: ShownStudy | None = None
        self._projection: Projection | None = None

    def on_study_begin(self, study: str, trials: Sequence[Record]) -> None:
        """Note that the study is not shown yet; MLflow is imported when there is time for it."""
        self._trials = list(trials)
        mark_unshown(study_folder(self.settings, study), STUDY + study)

    def on_batch_begin(self, study: str) -> None:
        """Show what is missing of the trials."""
        self._shown(study).go_on(self._trials)

    def on_trial_complete(self, study: str, record: Record) -> None:
        """Show the trial."""
        self._trials[record["number"] : record["number"] + 1] = [record]
        self._shown(study).trials([record])

    def on_study_end(self, study: str, trials: Sequence[Record], tests: Sequence[Record]) -> None:
        """Show how the study ended, with all that is missing."""
        if self._shown(study).complete(trials, tests, tests[0]["winner"]):
            mark_shown(study_folder(self.settings, study))

    def on_study_stop(self, study: str, *, failed: bool) -> None:
        """Show the study as stopped."""
        if self._study is not None:
            self._study.stopped(time.time(), "FAILED" if failed else "KILLED")

    def on_run_begin(self, owner: str) -> None:
        """Note that the run is not shown yet."""
        mark_unshown(owner_folder(self.settings, owner), owner)

    def on_run_complete(self, owner: str, evaluations: Mapping[str, Record], changed: Collection[str]) -> None:
        """Show the evaluations."""
        folder = owner_folder(self.settings, owner)
        with file_lock(folder / LOCK):
            self._projection = show_run(self.settings, self.records, owner, self.warn, changed=changed)
            if self._projection is not None and not self._projection.away:
                mark_shown(folder)

    def catch_up(self) -> None:
        """Show what earlier commands could not; a store of which everything is shown is not opened."""
        if any(self.settings.studies.glob(f"*/{UNSHOWN}")):
            records = self.records or existing_records(self.settings, self.warn)
            catch_up(self.settings, records, self.warn)
            if records is not self.records:
                records.close()

    def run_of(self, name: str) -> str:
        """Return the identifier of the run that MLflow calls so; empty where it knows none of this store."""
        if not _MLFLOW_ID.fullmatch(name):
            return ""
        from mlflow.exceptions import MlflowException

        with suppress(StoreError, MlflowException), reading(self.settings, f"run {name!r}") as client:
            tags = client.get_run(name).data.tags
            if tags.get("zslplat.store") == self.records.shown_as:
                return str(tags.get("zslplat.run", ""))
        return ""

    def close(self) -> None:
        """Show what earlier commands could not, where MLflow answers, and leave its database."""
        if self._projection is not None:
            if not self._projection.away:
                self.catch_up()
            self._projection.close()

    def _shown(self, study: str) -> ShownStudy:
        if self._study is None:
            folder = study_folder(self.settings, study)
            self._study = ShownStudy(self.settings, self.records, self.records.study(study), folder, self.warn)
            self._projection = self._study.projection
            self._study.begin()
        return self._study


def mark_unshown(folder: Path, owner: str) -> None:
    """Note that MLflow is about to show what is recorded of an owner."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / UNSHOWN).write_text(owner)


def mark_shown(folder: Path) -> None:
    """Note that MLflow shows all that is recorded of the owner of this folder."""
    (folder / UNSHOWN).unlink(missing_ok=True)


def catch_up(settings: Settings, records: Records, warn: Warn) -> None:
    """Show what earlier commands could not, and end what they left running.

    What another process works on just now is left to it.
    """
    for marker in sorted(settings.studies.glob(f"*/{UNSHOWN}")):
        # Busy: the process that has the lock is showing it.
        with suppress(StoreError), file_lock(marker.parent / LOCK, wait_seconds=0):
            owner = marker.read_text()
            try:
                if owner.startswith(STUDY):
                    projection: Projection | None = show_study(
                        settings, records, owner.removeprefix(STUDY), warn
                    ).projection
                else:
                    projection = show_run(settings, records, owner, warn)
            except (UnknownNameError, KeyError):
                projection = None  # stopped before anything was recorded
            if projection is not None:
                projection.close()
                if projection.away:
                    return
            mark_shown(marker.parent)

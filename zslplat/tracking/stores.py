"""Bringing MLflow up to date with what is recorded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from zslplat.errors import StoreError, UnknownNameError
from zslplat.records.database import Records
from zslplat.records.locks import file_lock
from zslplat.records.opening import existing_records
from zslplat.records.studies import STUDY
from zslplat.settings import Settings
from zslplat.tracking.shown import show_run, show_study

Warn = Callable[[str], None]
# Lies in an owner's folder as long as MLflow may not show all that is recorded of it.
UNSHOWN, LOCK = "unshown", "leader.lock"


def mark_unshown(folder: Path, owner: str) -> None:
    """Note that MLflow is about to show what is recorded of an owner."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / UNSHOWN).write_text(owner)


def mark_shown(folder: Path) -> None:
    """Note that MLflow shows all that is recorded of the owner of this folder."""
    (folder / UNSHOWN).unlink(missing_ok=True)


def catch_up(settings: Settings, records: Records, warn: Warn) -> int:
    """Show what earlier commands could not, and end what they left running; return how many owners were shown.

    What another process works on just now is left to it.
    """
    shown = 0
    for marker in sorted(settings.studies.glob(f"*/{UNSHOWN}")):
        # Busy: whoever holds the lock is showing it.
        with suppress(StoreError), file_lock(marker.parent / LOCK, wait_seconds=0):
            owner = marker.read_text()
            try:
                if owner.startswith(STUDY):
                    projection = show_study(
                        settings, records, owner.removeprefix(STUDY), warn, announced=True
                    ).projection
                else:
                    found = show_run(settings, records, owner, warn, announced=True)
                    if found is None:
                        mark_shown(marker.parent)
                        continue
                    projection = found
            except (UnknownNameError, KeyError):
                mark_shown(marker.parent)  # stopped before anything was recorded
                continue
            projection.close()
            if projection.away:
                return shown
            mark_shown(marker.parent)
            shown += 1
    return shown


def show_what_is_left(settings: Settings, warn: Warn) -> None:
    """Bring MLflow up to date before it is looked at; a store without anything left to show is not opened."""
    if any(settings.studies.glob(f"*/{UNSHOWN}")):
        records = existing_records(settings, warn)
        catch_up(settings, records, warn)
        records.close()

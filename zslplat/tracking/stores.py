"""Opening a store's records, and bringing MLflow up to date with what is recorded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa

from zslplat.errors import StoreError, UnknownNameError
from zslplat.records.database import SCHEMA, Records
from zslplat.records.faults import lasting_errors, shown_address
from zslplat.records.locks import file_lock
from zslplat.records.outages import Outages
from zslplat.records.servers import alone_on_server, tables_of
from zslplat.records.studies import STUDY
from zslplat.settings import Settings
from zslplat.tracking.local_file import check_sqlite
from zslplat.tracking.migration import migrate
from zslplat.tracking.shown import show_run, show_study

Warn = Callable[[str], None]
# Lies in an owner's folder as long as MLflow may not show all that is recorded of it.
UNSHOWN, LOCK = "unshown", "leader.lock"


def open_records(settings: Settings, warn: Warn) -> Records:
    """Open a store's records, brought into today's form where an earlier version of the program wrote them."""
    records = Records(settings, warn)
    if records.schema < SCHEMA:
        with file_lock(settings.studies / "migration.lock"), alone_on_server(settings.storage_url, "migration"):
            if Records(settings).schema < SCHEMA:
                migrate(settings, records, warn)
            records = Records(settings, warn)
    return records


def reach_database(settings: Settings, warn: Warn) -> None:
    """Ask a database on a server for an answer, before anything else is done; makes nothing.

    Raises :class:`OutageError` where there is none. A server that has answered once is waited for later.
    """
    if not settings.storage_url.startswith("sqlite"):
        _has_tables(settings, warn)


def existing_records(settings: Settings, warn: Warn) -> Records:
    """Open the records of a store that is only read; raises :class:`StoreError` where there are none.

    Nothing is made where there is nothing.
    """
    shown_address(settings.storage_url)  # one that can be read
    if settings.storage_url.startswith("sqlite"):
        path = Path(sa.engine.make_url(settings.storage_url).database or "").absolute()
        own = path == settings.store / "optuna.db"
        if not path.is_file():
            place = settings.store if own else path
            raise StoreError(f"no runs in {place}; give --store or --storage-url, or tune something first")
        try:
            tables = check_sqlite(path)
        except OSError as error:
            raise StoreError(f"the records in {path} cannot be read: {error}") from error
        if "studies" not in tables:
            raise StoreError(f"{path} holds no records; give --store or --storage-url of a store that has some")
    elif not _has_tables(settings, warn):
        shown = shown_address(settings.storage_url)
        raise StoreError(f"{shown} holds no records; give --store or --storage-url of a store that has some")
    return open_records(settings, warn)


def _has_tables(settings: Settings, warn: Warn) -> bool:
    """Tell whether a database on a server holds records; makes nothing there."""

    def look() -> bool:
        with lasting_errors(settings.storage_url):
            return "studies" in tables_of(settings.storage_url)

    return Outages(settings.storage_url, settings, warn).survive(look)


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

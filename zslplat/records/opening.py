"""Opening the records of a store that is only read, and asking a database on a server for an answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from zslplat.errors import StoreError
from zslplat.records.database import Records
from zslplat.records.engines import tables_of
from zslplat.records.outages import Outages, lasting_errors, shown_address
from zslplat.records.sqlite_files import may_not_be_written, uri_for_reading
from zslplat.settings import Settings

Warn = Callable[[str], None]


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
    shown = shown_address(settings.storage_url)
    if settings.storage_url.startswith("sqlite"):
        path = Path(sa.engine.make_url(settings.storage_url).database or "").absolute()
        if not path.is_file():
            place = settings.store if path == settings.store / "optuna.db" else path
            raise StoreError(f"no runs in {place}; give --store or --storage-url, or tune something first")
        shown = str(path)
        try:
            has_tables = "studies" in tables_of_file(path)
        except OSError as error:
            raise StoreError(f"the records in {path} cannot be read: {error}") from error
    else:
        has_tables = _has_tables(settings, warn)
    if not has_tables:
        raise StoreError(f"{shown} holds no records; give --store or --storage-url of a store that has some")
    return Records(settings, warn)


def tables_of_file(path: Path) -> set[str]:
    """Return the names of the tables in a file of sqlite; raises :class:`OSError` for a file that is no database."""
    if not path.exists():
        return set()
    # What may only be read is read as it lies there: one with a write-ahead journal would be written beside.
    address = uri_for_reading(path) if may_not_be_written(path) else f"{path.as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=30)) as connection:
            return {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.DatabaseError as error:
        raise OSError(str(error)) from error


def _has_tables(settings: Settings, warn: Warn) -> bool:
    """Tell whether a database on a server holds records; makes nothing there."""

    def look() -> bool:
        with lasting_errors(settings.storage_url):
            return "studies" in tables_of(settings.storage_url)

    return Outages(settings.storage_url, settings, warn).survive(look)

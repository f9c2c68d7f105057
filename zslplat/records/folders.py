"""The folders of a store's studies and runs, and the names of its studies, without the libraries of databases."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from zslplat.keys import key_of
from zslplat.settings import Settings


def folder_name(study: str) -> str:
    """Return the name of a study's folder; different studies have different folders."""
    plain = "".join(c if c.isalnum() or c in "-_@" or (c == "." and i) else "_" for i, c in enumerate(study))
    # What file systems count is bytes.
    short = plain.encode(errors="replace")[:100].decode(errors="ignore")
    return plain if plain == study and len(plain.encode(errors="replace")) < 100 else f"{short}-{key_of(study)[:8]}"


def study_folder(settings: Settings, study: str) -> Path:
    """Return the folder of a study: its lock, its workers' log, best.toml, and artifacts on their way to MLflow."""
    return settings.studies / folder_name(study)


def trial_folder(study: Path, number: int) -> Path:
    """Return the folder, in that of its study, of a trial's artifacts on their way to MLflow."""
    return study / f"trial-{number:05d}"


def owner_folder(settings: Settings, owner: str) -> Path:
    """Return the folder of what is no study: of a single run or a sweep."""
    return settings.studies / owner.replace(":", "-")


def working_lock(settings: Settings) -> Path:
    """Return the lock that every command shares while it evaluates, and that cleaning up takes for itself."""
    return settings.studies / "working.lock"


def study_names(store: Path) -> list[str]:
    """Return the names of the studies in a store's own file; none where there is no file.

    Raises :class:`sqlite3.Error` where it cannot be read.
    """
    path = store / "optuna.db"
    if not path.is_file():
        return []
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.2)) as connection:
        return [name for (name,) in connection.execute("select study_name from studies order by study_id")]

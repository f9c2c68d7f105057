"""The names of the studies of a store on this machine, read at once: without the libraries of databases."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path


def study_names(store: Path) -> list[str]:
    """Return the names of the studies in a store's own file; none where there is no file.

    Raises :class:`sqlite3.Error` where it cannot be read.
    """
    path = store / "optuna.db"
    if not path.is_file():
        return []
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.2)) as connection:
        return [name for (name,) in connection.execute("select study_name from studies order by study_id")]

"""The large arrays that the models of a store share: which are named, and what becomes of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from zslplat.data.store.atomic_files import replacing
from zslplat.errors import StoreError
from zslplat.models.folder import MODEL, SHARED, arrays_of


def model_folders(store: Path, but: Collection[Path] = ()) -> Iterator[Path]:
    """Yield the folders of the models of a store, without those inside the evaluations ``but``."""
    # Patterns skip folders that cannot be read just now, and what is named there would be taken for unnamed.
    evaluations = store / "evaluations"
    for evaluation in sorted(evaluations.iterdir()) if evaluations.is_dir() else ():
        if evaluation not in but and MODEL in os.listdir(evaluation):
            yield evaluation / MODEL


def unnamed(store: Path, but: Collection[Path] = ()) -> list[Path]:
    """Return the shared arrays of a store that no model names; of those of the evaluations ``but`` nothing is asked.

    A model that cannot be read may name any of them: then there are none.
    """
    files = sorted((store / SHARED).glob("*.npy"))
    named: set[str] = set()
    for folder in model_folders(store, but) if files else ():
        try:
            named |= arrays_of(folder)
        except StoreError:
            return []
    return [path for path in files if path.stem not in named]


def free(store: Path) -> int:
    """Remove the shared arrays that no model names; return their bytes. Nobody may be at work in the store."""
    size = 0
    for path in unnamed(store):
        with suppress(FileNotFoundError):
            size += path.stat().st_size
            path.unlink()
    return size


def take_over(theirs: Path, store: Path, run: str) -> None:
    """Copy the shared arrays that a model names whose folder was copied from another store."""
    folder = store / "evaluations" / run / MODEL
    with suppress(StoreError):  # one that is damaged is taken over as it is; `store check` says so
        for digest in sorted(arrays_of(folder)) if folder.exists() else ():
            source, target = (place / SHARED / f"{digest}.npy" for place in (theirs, store))
            if source.exists() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                with replacing(target) as beside:
                    shutil.copy(source, beside)

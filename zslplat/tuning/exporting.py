"""Copies of a run's artifacts where the user wants them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from zslplat.errors import UnknownNameError, UsageError

ARTIFACT_SUFFIXES = frozenset({".csv", ".npy", ".npz", ".png", ".json", ".toml"})


def names_artifact(target: Path) -> bool:
    """Tell whether an export asks for one artifact: a path that ends in a file's name, and is no folder."""
    return target.suffix.lower() in ARTIFACT_SUFFIXES and not target.is_dir()


def check_export(target: Path) -> None:
    """Raise :class:`UsageError` where nothing can be written to; better now than after the evaluation."""
    folder = target.parent if names_artifact(target) else target
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise UsageError(f"cannot export to {target}: {existing} is not a folder; give --export another path")
    if not os.access(existing, os.W_OK):
        raise UsageError(f"cannot export to {target}: no permission to write in {existing}; give --export another path")


def export(artifacts: Path, target: Path, repeat: int | None) -> Path:
    """Copy all artifacts into a folder, or the one of the target's own name where that is a file's (features.csv)."""
    if not names_artifact(target):
        target = target if repeat is None else target / f"repeat-{repeat}"
        shutil.copytree(artifacts, target, dirs_exist_ok=True)
        return target
    known = {path.name: path for path in sorted(artifacts.rglob("*")) if path.is_file()}
    if target.name not in known:
        raise UnknownNameError("artifact of this run", target.name, known)
    named = target if repeat is None else target.with_stem(f"{target.stem}-{repeat}")
    named.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(known[target.name], named)
    return named

"""Pages that commands write where a user says: nothing but an earlier page of the kind is replaced, and as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zslplat.data.drafts import replacing
from zslplat.errors import StoreError, UsageError


@dataclass(frozen=True)
class WholeFile:
    """A kind of page: ``what`` it is called, the ``option`` that names its file, an ``example`` of its name.

    It is known by its ``mark``, which stands within the first ``reach`` characters.
    """

    what: str
    option: str
    example: str
    mark: str
    reach: int

    def is_there(self, path: Path) -> bool:
        """Tell whether there is an earlier page; raises :class:`UsageError` where there is something else."""
        if not path.exists():
            return False
        if path.is_dir():
            raise UsageError(
                f"{path} is a folder; give {self.option} the name of a file, such as {path / self.example}"
            )
        other = f"give {self.option} another name"
        if not path.is_file():
            raise UsageError(f"{path} is no ordinary file, and a {self.what} is not written into it; {other}")
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                known = self.mark in file.read(self.reach)
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror or error}; {other}") from error
        if not known:
            raise UsageError(f"{path} exists and is no {self.what}; {other}, or move it away")
        return True

    def write(self, path: Path, text: str) -> None:
        """Write a page beside its place and rename it: a reader finds all of it, or what was there before."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as new:
                new.write_text(text, encoding="utf-8")
        except OSError as error:
            why = error.strerror or error
            raise StoreError(
                f"the {self.what} cannot be written to {path}: {why}; give {self.option} another name"
            ) from error

"""What each address delivered when something was first fetched from it: a file beside the data.

No checksums of the public archives are published; the digest of the first download stands in for one, so that a file
that changes later, on the server or on its way, is noticed. ``.downloads/digests.json`` under the data root holds one
entry per address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from zslplat.data.drafts import alone_in, replacing
from zslplat.errors import DataError

DOWNLOADS = ".downloads"
_FILE = "digests.json"


@dataclass(frozen=True)
class FirstDigest:
    """Address, size in bytes, SHA-256 and time of a first download."""

    url: str
    size: int
    sha256: str
    fetched: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return that of a download, by the record that lies beside it."""
        return cls(*(record[name] for name in ("url", "size", "sha256", "fetched")))


def first_digest(root: Path, url: str) -> FirstDigest | None:
    """Return what an address delivered first, None where nothing came from it yet.

    Raises :class:`DataError` where the file of digests cannot be read.
    """
    return _read(root).get(url)


def remember_digest(root: Path, digest: FirstDigest) -> None:
    """Remember what an address delivered, in place of what it delivered before."""
    path = root / DOWNLOADS / _FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone_in(path.parent):
        known = _read(root) | {digest.url: digest}
        with replacing(path) as new:
            new.write_text(json.dumps([asdict(one) for one in known.values()], indent=1) + "\n")


def _read(root: Path) -> dict[str, FirstDigest]:
    path = root / DOWNLOADS / _FILE
    try:
        return {entry["url"]: FirstDigest.of(entry) for entry in json.loads(path.read_text())}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path}: the digests of earlier downloads cannot be read ({error}); restore the file, or remove it to "
            "trust the next download"
        ) from error

"""A recorded evaluation as it is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Found:
    """A recorded evaluation by its run identifier: whose it is, under which key, and its record.

    ``study`` is empty for runs of their own.
    """

    run: str
    owner: str
    key: str
    study: str
    record: dict[str, Any]

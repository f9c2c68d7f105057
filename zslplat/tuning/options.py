"""How a study is carried out, and how it may be called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from zslplat.errors import UsageError

TRIALS = 20
_MOST_NAME = 200
_UNFIT_IN_NAMES = re.compile(r"[^\w.@ +=:,()/-]")


@dataclass(frozen=True)
class StudyOptions:
    """How a study is carried out.

    Part of its identity: ``batch_size``, ``sampler``, ``pruner`` (and the experiment with its seed). Free to change
    between calls: ``trials`` (total; none: 20, or all points of a grid), ``workers``, ``cluster``, ``timeout`` seconds
    for the whole search, ``trial_timeout`` seconds per trial (neither holds for the final evaluation),
    ``memory_bytes`` per trial, ``repeats`` of the final evaluation, ``artifact_bytes`` for the matrices of all trials
    together; ``accept_changed_code`` continues a study whose code has changed, ``retry_failed`` tries failed trials
    again. ``part_of``: what it is carried out for, ``suite``, ``data``, ``row`` and ``split`` (see
    :meth:`~zslplat.evaluation.workbench.Workbench.about`), noted when a study begins.
    """

    name: str | None = None
    trials: int | None = None
    batch_size: int = 4
    sampler: str = "tpe"
    pruner: str = "median"
    workers: int = 2
    cluster: str | None = None
    timeout: float | None = None
    trial_timeout: float | None = None
    memory_bytes: int | None = None
    repeats: int = 5
    artifact_bytes: int = 64 * 2**20
    accept_changed_code: bool = False
    retry_failed: bool = False
    part_of: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("trials", "batch_size", "workers", "repeats"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name}={value}: expected at least 1")
        if self.name is not None and (not self.name.strip() or _UNFIT_IN_NAMES.search(self.name)):
            raise UsageError(f"--study {self.name!r}: use letters, digits, spaces and . _ - @ + = : , ( ) /")
        if self.name is not None and len(self.name) > _MOST_NAME:
            raise UsageError(f"--study: a name of {len(self.name)} characters; at most {_MOST_NAME} are possible")


def fitting(text: str) -> str:
    """Return the text as a beginning of a study's name."""
    return _UNFIT_IN_NAMES.sub("_", text)[: _MOST_NAME - 9]

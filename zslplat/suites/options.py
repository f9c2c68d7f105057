"""How a grid is carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zslplat.errors import UsageError
from zslplat.suites.suite import Suite
from zslplat.tuning.options import StudyOptions


@dataclass(frozen=True)
class GridOptions:
    """How a grid is carried out.

    ``trials`` and ``repeats`` in place of the suite's and its data sets'; ``only``: see
    :func:`zslplat.suites.cells.pieces_of`; ``splits``: draws of seen and unseen classes in place of the given ones;
    ``out``: folder that gets the tables, none for no tables; ``abreast``: studies that are carried out side by side,
    none for as many as keep the workers busy; the others are those of
    :class:`~zslplat.tuning.options.StudyOptions`.
    """

    trials: int | None = None
    repeats: int | None = None
    workers: int | None = None
    cluster: str | None = None
    only: Sequence[str] = ()
    splits: int | None = None
    out: Path | None = None
    trial_timeout: float | None = None
    memory_bytes: int | None = None
    retry_failed: bool = False
    accept_changed_code: bool = False
    abreast: int | None = None
    keep_models: bool = True

    def __post_init__(self) -> None:
        for name, least in (("trials", 1), ("repeats", 1), ("workers", 1), ("splits", 2), ("abreast", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name}={value}: expected at least {least}")

    def study_options(self, suite: Suite) -> StudyOptions:
        """Return the options of the studies; how many trials one makes is said by its cell."""
        return StudyOptions(
            trials=self.trials,
            repeats=self.repeats or suite.repeats,
            workers=self.workers or suite.workers or 2,
            cluster=self.cluster,
            trial_timeout=self.trial_timeout,
            memory_bytes=self.memory_bytes,
            artifact_bytes=0,
            retry_failed=self.retry_failed,
            accept_changed_code=self.accept_changed_code,
            keep_models=self.keep_models,
        )

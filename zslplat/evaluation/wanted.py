"""What workers are asked for: statistics of a problem, or an evaluation of one setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zslplat.space import Space


@dataclass(frozen=True)
class PrepareJob:
    """Compute the statistics of a method for one problem and write them as a cache entry."""

    method: str
    fixed: Mapping[str, Any]
    space: Space
    task: str
    problem: Path
    target: Path


@dataclass(frozen=True)
class EvaluateJob:
    """Evaluate one setting on problems; write artifacts into a folder when one is given.

    ``thresholds`` maps step numbers to the value of the mean curve below which the trial is pruned (already signed so
    that larger is better); ``carried`` is what validation hands to a refit; ``matrices_bytes`` bounds what matrices may
    take; ``replicates`` is the number of bootstrap replicates of the metrics (where there are any, the record says
    which rows were scored, too), and ``outcomes`` the folder that keeps these and the outcomes per row they are made
    from (a folder per problem inside it, where there are several). ``maps`` asks for maps of the scored rows. ``test``:
    the problems are of the test split, whose rows choose no step of an iterative method.
    """

    label: str
    method: str
    parameters: Mapping[str, Any]
    seed: int
    task: str
    problems: tuple[tuple[Path, Path | None], ...]
    thresholds: Mapping[int, float] = field(default_factory=dict)
    carried: Mapping[str, Any] = field(default_factory=dict)
    full: bool = False
    artifacts: Path | None = None
    matrices_bytes: int = 0
    replicates: int = 0
    outcomes: Path | None = None
    maps: bool = False
    test: bool = False

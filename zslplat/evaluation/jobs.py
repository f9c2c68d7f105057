"""What workers are asked for: statistics of a problem, or an evaluation of one experiment.

Inputs are named by the keys of their cache entries, which are digests of all that they were made from: a worker finds
them in its own :class:`WorkerSettings`, wherever that is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zslplat.space import Space


@dataclass(frozen=True)
class WorkerSettings:
    """Where a worker works: ``cache`` holds the entries that jobs name, ``log`` takes what is printed.

    ``code`` is the file in which hashes of code are remembered, ``cluster_worker`` the address of the worker of a
    cluster whose place it is, ``cache_bytes`` the bound of the cache. ``modules`` are those of the experiment, which
    are imported before its first evaluation.
    """

    cache: Path
    log: Path | None = None
    code: Path | None = None
    cluster_worker: str = ""
    cache_bytes: float = math.inf
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Job:
    """What all jobs have: ``sources``, the modules that they run, with their hashes
    (:func:`zslplat.evaluation.code.require_unchanged`).
    """

    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the modules."""
        return tuple(sorted({name for names in self.sources for name in names.split()}))


@dataclass(frozen=True)
class PrepareJob(Job):
    """Compute the statistics of a method for the problem of one key and write them as the cache entry ``target``.

    ``blocks``: the method takes features in blocks.
    """

    method: str
    fixed: Mapping[str, Any]
    space: Space
    task: str
    problem: str
    target: str
    blocks: bool = False


@dataclass(frozen=True)
class EvaluateJob(Job):
    """Evaluate one experiment on problems; write artifacts into a folder when one is given.

    ``problems`` holds the keys of each problem and of the method's statistics for it, if there are any. ``thresholds``
    maps step numbers to the value of the mean curve below which the trial is pruned (already signed so that larger is
    better); ``validation_choices`` is what validation hands to a refit; ``matrices_bytes`` bounds what matrices may
    take; ``replicates`` is the number of bootstrap replicates of the metrics (where there are any, the record says
    which rows were scored, too), and ``outcomes`` the folder that keeps these and the outcomes per row they are made
    from (a folder per problem inside it, where there are several). ``maps`` asks for maps of the scored rows. ``test``:
    the problems are of the test split, whose rows choose no step of an iterative method. ``blocks``: the method takes
    features in blocks. ``model_bytes``: how large the model may be that is kept beside
    the outcomes, 0 for none; ``about`` is kept with it.
    """

    label: str
    method: str
    parameters: Mapping[str, Any]
    seed: int
    task: str
    problems: tuple[tuple[str, str | None], ...]
    thresholds: Mapping[int, float] = field(default_factory=dict)
    validation_choices: Mapping[str, Any] = field(default_factory=dict)
    full: bool = False
    artifacts: Path | None = None
    matrices_bytes: int = 0
    replicates: int = 0
    outcomes: Path | None = None
    maps: bool = False
    test: bool = False
    blocks: bool = False
    model_bytes: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """What one job may take: seconds from its start, and bytes of its processes' own memory (mapped files not counted).

    The bytes are those of the scorer, the method process and all that they have started; what they share counts once.
    """

    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a job: a record, or the reason why there is none.

    ``killed``: somebody else ended one of its processes. ``fatal``: the platform failed (a full disk, say) and not the
    job, so nothing may be recorded of it.
    """

    result: dict[str, Any] | None
    reason: str = ""
    killed: bool = False
    fatal: bool = False

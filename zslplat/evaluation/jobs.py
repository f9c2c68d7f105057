"""What workers are sent, and what they answer: statistics of a problem, or an evaluation of one experiment.

Inputs are named by the keys of their cache entries, which are digests of everything that they were made from: a worker
finds them in its own cache, wherever that is.
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
    """Where a worker works.

    ``cache`` has the entries that jobs name; ``log`` is the file for what is printed; ``code`` is the file of
    remembered hashes of code; ``cluster_worker`` is the address of the cluster's worker, if it is one; ``cache_bytes``
    limits the cache. ``modules`` are those of the experiment, which are imported before its first evaluation.
    """

    cache: Path
    log: Path | None = None
    code: Path | None = None
    cluster_worker: str = ""
    cache_bytes: float = math.inf
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Job:
    """Base of all jobs; ``sources`` are the modules that the job runs, with their hashes.

    See :func:`zslplat.evaluation.code.require_unchanged`.
    """

    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the modules."""
        return tuple(sorted({name for names in self.sources for name in names.split()}))


@dataclass(frozen=True)
class PrepareJob(Job):
    """Compute the statistics of a method for one problem and write them as the cache entry ``target``.

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
    """Evaluate one experiment on problems, and write artifacts into a folder if one is named.

    - ``problems``: the key of each problem, with that of the method's statistics for it, if there are any.
    - ``thresholds``: by step, the value of the mean curve below which the trial is pruned (signed: larger is better).
    - ``validation_choices``: what validation passes on to a refit.
    - ``full``: make tables and figures; ``maps``: make maps of the scored rows as well.
    - ``matrices_bytes``: limit of the matrices; ``model_bytes``: limit of the model, 0 for none.
    - ``replicates``: number of bootstrap replicates of the metrics; with them the record says which rows were scored.
    - ``outcomes``: folder for outcomes per row, with a folder for each problem if there are several.
    - ``metric``: what the step of an iterative method is chosen by, where it is not the task's primary metric.
    - ``test``: the problems are of the test split, whose rows choose no step of an iterative method.
    - ``blocks``: the method takes features in blocks.
    - ``about``: what is stored with the model.
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
    metric: str = ""
    test: bool = False
    blocks: bool = False
    model_bytes: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """What one job may use: seconds from its start, and bytes of memory of its processes (mapped files not counted).

    The bytes are those of the scorer, the method process and everything that they have started; shared memory counts
    once.
    """

    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a job: a record, or the reason why there is none.

    ``killed``: one of its processes was ended from outside. ``fatal``: the platform failed (a full disk, for example)
    and not the job, so nothing may be recorded.
    """

    result: dict[str, Any] | None
    reason: str = ""
    killed: bool = False
    fatal: bool = False

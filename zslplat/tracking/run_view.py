"""What one MLflow run shows, and under which names.

MLflow's pages sort parameters by name, give all runs of an experiment one column and one axis per name, and give the
metrics in front of whose name a folder stands a section of their own. So hyperparameters stand behind the name of their
method (``eszsl.gamma``), and what an evaluation took (``work/seconds``) apart from what it reached.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STUDY_STAGE, TRIAL_STAGE, FINAL_STAGE, SWEEP_STAGE, SUPERSEDED_STAGE = "study", "trial", "final", "sweep", "superseded"
NOTE, OUR_NOTE = "mlflow.note.content", "zslplat.note"
_WORK = "work/"
_ODD = re.compile(r"[^\w./\- ]")


@dataclass(frozen=True)
class RunView:
    """What one MLflow run shows.

    ``parameters`` are hyperparameters by their own names, shown behind the name of their ``method``; ``facts`` stand
    for themselves (method, data set, seed). ``metrics`` are results, ``work`` is what they took. ``series`` has one
    value per step, counted from 1, or None where there is none. ``note`` is the description, in Markdown.
    """

    key: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    status: str = "FINISHED"
    started: float = 0.0
    ended: float = 0.0
    artifacts: Path | None = None
    dataset: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    work: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def shown_parameters(self) -> dict[str, Any]:
        """The parameters by the names under which they are shown."""
        own = {parameter_name(self.method, name): value for name, value in self.parameters.items()}
        return {**{mlflow_name(name): value for name, value in self.facts.items()}, **own}

    @property
    def shown_metrics(self) -> dict[str, float]:
        """The metrics by the names under which they are shown, results first."""
        own = {mlflow_name(name): value for name, value in self.metrics.items()}
        return {**own, **{work_name(name): value for name, value in self.work.items()}}


def parameter_name(method: str, parameter: str) -> str:
    """Return the name of a method's hyperparameter, which no other method's shares."""
    return mlflow_name(f"{method}.{parameter}" if method else parameter)


def work_name(name: str) -> str:
    """Return the name of a figure that tells what an evaluation took, not what it reached."""
    return mlflow_name(_WORK + name)


def mlflow_name(name: str) -> str:
    """Return a name of a parameter or metric that every server of MLflow's takes."""
    return _ODD.sub("_", name)[:240]


def note_mark(note: str) -> str:
    """Return what tells a description that was written here from one that somebody has changed since."""
    return hashlib.sha256(note.encode("utf-8", "replace")).hexdigest()[:12]

"""What one MLflow run shows, under which names, and as which of MLflow's entities.

MLflow's pages sort parameters by name, give all runs of an experiment one column and one axis per name, and give the
metrics in front of whose name a folder stands a section of their own. So hyperparameters stand behind the name of their
method (``eszsl.gamma``), and what an evaluation took (``work/seconds``) apart from what it reached. Values are written
as every server takes them.
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
MOST_TAG, MOST_PARAM = 5000, 6000
Value = tuple[str, float, int, int]  # of a metric: name, value, milliseconds since 1970, step


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
        hyperparameters = {parameter_name(self.method, name): value for name, value in self.parameters.items()}
        return {**{mlflow_name(name): value for name, value in self.facts.items()}, **hyperparameters}

    @property
    def shown_metrics(self) -> dict[str, float]:
        """The metrics by the names under which they are shown, results first."""
        results = {mlflow_name(name): value for name, value in self.metrics.items()}
        return {**results, **{work_name(name): value for name, value in self.work.items()}}


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
    """Return a mark of a description, by which one that a user has changed since is recognised."""
    return hashlib.sha256(note.encode("utf-8", "replace")).hexdigest()[:12]


def storable(value: Any) -> str:
    """Return a value as text that every server takes: databases and JSON know no NUL and no half of a pair."""
    return str(value).replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def stamp_of(view: RunView) -> int:
    """Return the time of a view's metrics and of its end, in milliseconds since 1970."""
    return round(view.ended * 1000) or round(view.started * 1000)


def has_files(folder: Path | None) -> bool:
    """Tell whether there is any file in a folder."""
    return folder is not None and any(path.is_file() for path in folder.rglob("*"))


def described(note: str) -> dict[str, str]:
    """Return the tags of a description, with the mark by which a later change of it is recognised."""
    text = storable(note)
    text = text if len(text) <= MOST_TAG else f"{text[: MOST_TAG - 4]} ..."
    return {NOTE: text, OUR_NOTE: note_mark(text)}


def is_ours(tags: Mapping[str, str]) -> bool:
    """Tell whether a run's description may be written: it has none, or still the one that was written here."""
    return NOTE not in tags or tags.get(OUR_NOTE) == note_mark(tags[NOTE])


def metrics_of(view: RunView) -> list[Value]:
    """Return a view's metrics, results first, and its series."""
    stamp = stamp_of(view)
    metrics = [(name, float(value), stamp, 0) for name, value in view.shown_metrics.items()]
    for name, values in view.series.items():
        steps = ((step, value) for step, value in enumerate(values, 1) if value is not None)
        metrics += [(mlflow_name(name), float(value), stamp, step) for step, value in steps]
    return metrics


def dataset_input(dataset: Mapping[str, str]) -> Any:
    """Return the data of a run, as MLflow ties them to it."""
    # The entity is made by hand: MLflow's own constructors hash the whole feature matrix.
    from mlflow.entities import Dataset, DatasetInput, InputTag

    entity = Dataset(
        name=dataset["name"],
        digest=dataset["fingerprint"][:32],
        source_type="zslplat",
        source=dataset["source"],
        profile=dataset["profile"],
    )
    return DatasetInput(entity, [InputTag("mlflow.data.context", dataset["context"])])

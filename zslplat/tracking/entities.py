"""MLflow's entities and tags of a view: values as every server takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zslplat.tracking.run_view import NOTE, OUR_NOTE, RunView, mlflow_name, note_mark

MOST_TAG, MOST_PARAM = 5000, 6000


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
    """Return the tags of a description, with what tells whether somebody has changed it since."""
    text = storable(note)
    text = text if len(text) <= MOST_TAG else f"{text[: MOST_TAG - 4]} ..."
    return {NOTE: text, OUR_NOTE: note_mark(text)}


def is_ours(tags: Mapping[str, str]) -> bool:
    """Tell whether a run's description may be written: it has none, or still the one that was written here."""
    return NOTE not in tags or tags.get(OUR_NOTE) == note_mark(tags[NOTE])


def metrics_of(view: RunView) -> list[Any]:
    """Return a view's metrics, results first, and its series."""
    from mlflow.entities import Metric

    stamp = stamp_of(view)
    metrics = [Metric(k, float(v), stamp, 0) for k, v in view.shown_metrics.items()]
    for name, values in view.series.items():
        steps = ((step, v) for step, v in enumerate(values, 1) if v is not None)
        metrics += [Metric(mlflow_name(name), float(v), stamp, step) for step, v in steps]
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

"""New runs into MLflow's local database, each as a whole, in one transaction.

MLflow's client makes a run, its values, its inputs and its end in four calls of many queries each, which look for what
is there already: a fifth of a second. Of a run that is new nothing is, so the rows of MLflow's tables are written at
once. Where the installed MLflow has other tables, or the store is no local database, the client has to do it.
"""

from __future__ import annotations

import math
import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

Rows = list[dict[str, Any]]
_LARGEST = 1.7976931348623157e308  # what MLflow stores for infinity


@dataclass(frozen=True)
class WholeRun:
    """A run that is new to MLflow; times in milliseconds since the epoch, ``metrics`` and ``dataset`` are entities."""

    name: str
    status: str
    started: int
    ended: int | None
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Sequence[Any]
    dataset: Any = None


@dataclass(frozen=True)
class WholeRuns:
    """The runs of one experiment in a local database (``store``) of MLflow's; ``location``: URI of its artifacts."""

    store: Any
    mlflow_experiment: int
    location: str

    @property
    def fit(self) -> bool:
        """Whether runs can be written here, and not only by MLflow's client."""
        is_file = self.store.engine.dialect.name == "sqlite" and self.location.startswith("file:")
        return is_file and not {"?", "#"} & set(self.location)

    def add(self, run: WholeRun) -> str:
        """Write a run in one transaction; returns its id, or an empty string where MLflow's client has to do it."""
        from mlflow.store.tracking.dbmodels import models

        run_id = uuid.uuid4().hex
        metrics = _metric_rows(run.metrics)
        try:
            row = models.SqlRun(
                run_uuid=run_id,
                name=run.name,
                source_type="UNKNOWN",
                source_name="",
                entry_point_name="",
                user_id="unknown",
                status=run.status,
                start_time=run.started,
                end_time=run.ended,
                source_version="",
                lifecycle_stage="active",
                artifact_uri=self._artifacts(run_id),
                experiment_id=self.mlflow_experiment,
                tags=[models.SqlTag(key=key, value=value) for key, value in run.tags.items()],
                params=[models.SqlParam(key=key, value=value) for key, value in run.params.items()],
                metrics=[models.SqlMetric(**one) for one in metrics],
                latest_metrics=[models.SqlLatestMetric(**one) for one in _latest(metrics)],
            )
            with Session(self.store.engine) as session, session.begin():
                session.connection().exec_driver_sql("PRAGMA busy_timeout = 20000")
                session.add(row)
                if run.dataset is not None:
                    session.add_all(self._data_of_run(session, models, run_id, run.dataset))
        except (IntegrityError, TypeError, AttributeError):  # another process came between, or other tables
            return ""
        return run_id

    def copy_artifacts(self, run_id: str, folder: Path) -> None:
        """Copy a folder's files to where MLflow looks for those of the run."""
        target = Path(url2pathname(urlsplit(self._artifacts(run_id)).path))
        shutil.copytree(folder, target, dirs_exist_ok=True, copy_function=shutil.copyfile)

    def _artifacts(self, run_id: str) -> str:
        return f"{self.location.rstrip('/')}/{run_id}/artifacts"

    def _data_of_run(self, session: Session, models: Any, run_id: str, dataset_input: Any) -> list[Any]:
        """Return the rows that tie a run to its data, and the data's own where they are new to the experiment."""
        data, entry = dataset_input.dataset, uuid.uuid4().hex
        same = {"experiment_id": self.mlflow_experiment, "name": data.name, "digest": data.digest}
        source = session.query(models.SqlDataset).filter_by(**same).one_or_none()
        new = source is None
        if source is None:
            about = {"dataset_source_type": data.source_type, "dataset_source": data.source}
            about |= {"dataset_schema": data.schema, "dataset_profile": data.profile}
            source = models.SqlDataset(dataset_uuid=uuid.uuid4().hex, **same, **about)
        tie = models.SqlInput(
            input_uuid=entry,
            source_type="DATASET",
            source_id=source.dataset_uuid,
            destination_type="RUN",
            destination_id=run_id,
        )
        tags = [models.SqlInputTag(input_uuid=entry, name=tag.key, value=tag.value) for tag in dataset_input.tags]
        return [*([source] if new else []), tie, *tags]


def _metric_rows(metrics: Iterable[Any]) -> Rows:
    """Return the rows of metrics as MLflow stores them: each once, no infinity, and zero with a mark for no number."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for metric in metrics:
        is_nan = math.isnan(metric.value)
        value = 0.0 if is_nan else min(max(metric.value, -_LARGEST), _LARGEST)
        key = (metric.key, metric.timestamp, metric.step, value, is_nan)
        rows[key] = dict(zip(("key", "timestamp", "step", "value", "is_nan"), key, strict=True))
    return list(rows.values())


def _latest(rows: Rows) -> Rows:
    """Return of each metric the row of its last step, in the order in which pages are to show them."""
    latest: dict[str, dict[str, Any]] = {row["key"]: {} for row in rows}
    for row in sorted(rows, key=lambda row: (row["step"], row["timestamp"], row["value"])):
        latest[row["key"]] = row
    return list(latest.values())

"""New runs into MLflow's local database, each as a whole: rows of its tables in one transaction.

MLflow's client makes a run, its values, its inputs and its end in four calls of many queries each, which look for what
is there already. Of a run that is new nothing is, so its rows can be written at once. The tables are those that the
installed MLflow declares; where they ask for more than is written here, or where the store is no local database,
nothing is written and the client has to do it.
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

import sqlalchemy as sa

Rows = list[dict[str, Any]]
_LARGEST = 1.7976931348623157e308  # what MLflow stores for infinity
_WRITTEN = {
    "SqlRun": {
        *("run_uuid", "name", "source_type", "source_name", "entry_point_name", "user_id", "status", "start_time"),
        *("end_time", "deleted_time", "source_version", "lifecycle_stage", "artifact_uri", "experiment_id"),
    },
    "SqlTag": {"key", "value", "run_uuid"},
    "SqlParam": {"key", "value", "run_uuid"},
    "SqlMetric": {"key", "value", "timestamp", "step", "is_nan", "run_uuid"},
    "SqlLatestMetric": {"key", "value", "timestamp", "step", "is_nan", "run_uuid"},
    "SqlDataset": {
        *("dataset_uuid", "experiment_id", "name", "digest", "dataset_source_type", "dataset_source"),
        *("dataset_schema", "dataset_profile"),
    },
    "SqlInput": {"input_uuid", "source_type", "source_id", "destination_type", "destination_id"},
    "SqlInputTag": {"input_uuid", "name", "value"},
}


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


class WholeRuns:
    """The runs of one experiment in a local database of MLflow's; ``location``: where its artifacts lie, as a URI."""

    def __init__(
        self, engine: sa.Engine, tables: Mapping[str, sa.Table], mlflow_experiment: int, location: str
    ) -> None:
        self.engine, self.tables, self.mlflow_experiment, self.location = engine, tables, mlflow_experiment, location

    @classmethod
    def of(cls, engine: sa.Engine, mlflow_experiment: int, location: str) -> WholeRuns | None:
        """Return the runs of an experiment; None where they cannot be written here, but only by MLflow's client."""
        try:
            from mlflow.store.tracking.dbmodels import models

            tables = {name: getattr(models, name).__table__ for name in _WRITTEN}
        except (ImportError, AttributeError):
            return None
        writable = all(_takes(tables[name], columns) for name, columns in _WRITTEN.items())
        plain = engine.dialect.name == "sqlite" and location.startswith("file:") and not {"?", "#"} & set(location)
        return cls(engine, tables, mlflow_experiment, location) if writable and plain else None

    def add(self, run: WholeRun) -> str:
        """Write a run in one transaction; returns its id, or an empty string where another process came between."""
        run_id = uuid.uuid4().hex
        run_key = {"run_uuid": run_id}
        metrics = [row | run_key for row in _metric_rows(run.metrics)]
        rows: dict[str, Rows] = {
            "SqlRun": [self._run_row(run_id, run)],
            "SqlTag": [{"key": key, "value": value, **run_key} for key, value in run.tags.items()],
            "SqlParam": [{"key": key, "value": value, **run_key} for key, value in run.params.items()],
            "SqlMetric": metrics,
            "SqlLatestMetric": _latest(metrics),
        }
        try:
            with self.engine.begin() as connection:
                _prepare(connection)
                if run.dataset is not None:
                    rows |= self._dataset_rows(connection, run_id, run.dataset)
                for name, new_rows in rows.items():
                    if new_rows:
                        connection.execute(sa.insert(self.tables[name]), new_rows)
        except sa.exc.IntegrityError:
            return ""
        return run_id

    def copy_artifacts(self, run_id: str, folder: Path) -> None:
        """Copy a folder's files to where MLflow looks for those of the run."""
        target = Path(url2pathname(urlsplit(self._artifacts(run_id)).path))
        shutil.copytree(folder, target, dirs_exist_ok=True, copy_function=shutil.copyfile)

    def end(self, run_id: str, status: str, ended: int) -> None:
        """Note how and when a run ended."""
        runs = self.tables["SqlRun"]
        with self.engine.begin() as connection:
            _prepare(connection)
            connection.execute(sa.update(runs).where(runs.c.run_uuid == run_id).values(status=status, end_time=ended))

    def _artifacts(self, run_id: str) -> str:
        return f"{self.location.rstrip('/')}/{run_id}/artifacts"

    def _run_row(self, run_id: str, run: WholeRun) -> dict[str, Any]:
        return {
            "run_uuid": run_id,
            "name": run.name,
            "source_type": "UNKNOWN",
            "source_name": "",
            "entry_point_name": "",
            "user_id": "unknown",
            "status": run.status,
            "start_time": run.started,
            "end_time": run.ended,
            "deleted_time": None,
            "source_version": "",
            "lifecycle_stage": "active",
            "artifact_uri": self._artifacts(run_id),
            "experiment_id": self.mlflow_experiment,
        }

    def _dataset_rows(self, connection: sa.Connection, run_id: str, dataset_input: Any) -> dict[str, Rows]:
        """Return the rows that tie a run to its data, and the data's own where they are new to the experiment."""
        table, data = self.tables["SqlDataset"].c, dataset_input.dataset
        same = (table.experiment_id == self.mlflow_experiment, table.name == data.name, table.digest == data.digest)
        existing = connection.execute(sa.select(table.dataset_uuid).where(*same)).scalar()
        source, entry = existing or uuid.uuid4().hex, uuid.uuid4().hex
        row = {
            "dataset_uuid": source,
            "experiment_id": self.mlflow_experiment,
            "name": data.name,
            "digest": data.digest,
            "dataset_source_type": data.source_type,
            "dataset_source": data.source,
            "dataset_schema": data.schema,
            "dataset_profile": data.profile,
        }
        tie = {
            "input_uuid": entry,
            "source_type": "DATASET",
            "source_id": source,
            "destination_type": "RUN",
            "destination_id": run_id,
        }
        tags = [{"input_uuid": entry, "name": tag.key, "value": tag.value} for tag in dataset_input.tags]
        return {"SqlDataset": [] if existing else [row], "SqlInput": [tie], "SqlInputTag": tags}


def _takes(table: sa.Table, columns: set[str]) -> bool:
    """Tell whether a table has these columns and asks for no other."""
    others = [column for column in table.columns if column.name not in columns]
    required = any(not c.nullable and c.default is None and c.server_default is None for c in others)
    return columns <= set(table.columns.keys()) and not required


def _prepare(connection: sa.Connection) -> None:
    # As MLflow's own sessions do.
    connection.exec_driver_sql("PRAGMA foreign_keys = ON")
    connection.exec_driver_sql("PRAGMA busy_timeout = 20000")


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

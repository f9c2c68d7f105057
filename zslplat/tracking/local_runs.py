"""Runs in a store's own database of MLflow's, written to its tables: those of ``mlflow.sql``.

MLflow takes more than a second to import, and its client a fifth of a second for a run: four calls of many queries
each, which look for what is there already. Here a run is one transaction. Where the installed MLflow has other tables,
or an experiment was deleted or keeps its artifacts elsewhere, MLflow's client has to do it.
"""

from __future__ import annotations

import math
import shutil
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import sqlalchemy as sa

from zslplat.settings import sqlite_url
from zslplat.tracking.run_view import NOTE, OUR_NOTE, Value, is_ours
from zslplat.tracking.server import has_known_tables

# What a run that goes on may leave behind: that it failed and was tried again, or that its code was mixed.
PASSING = ("zslplat.reason", "zslplat.code")
_LARGEST = 1.7976931348623157e308  # what MLflow stores for infinity


@dataclass(frozen=True)
class WholeRun:
    """A run with all that is to be shown of it; times in milliseconds since the epoch.

    ``ended`` is None for a run that goes on; ``dataset``: see ``RunView``.
    """

    name: str
    status: str
    started: int
    ended: int | None
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Sequence[Value]
    dataset: Mapping[str, str]


class LocalRuns:
    """The runs of one experiment (``number``); ``location``: URI of its artifacts."""

    def __init__(self, engine: sa.Engine, number: int, location: str) -> None:
        self.engine, self.number, self.location = engine, number, location

    @classmethod
    def open(cls, path: Path, name: str, artifacts: str, tags: Mapping[str, str]) -> LocalRuns | None:
        """Open the runs of an experiment; it is made with these tags where it is missing.

        None where only MLflow's client can write them.
        """
        if not has_known_tables(path):
            return None
        engine = sa.create_engine(sqlite_url(path), connect_args={"timeout": 30})
        try:
            with engine.begin() as connection:
                query = "select experiment_id, artifact_location, lifecycle_stage from experiments where name = ?"
                row = connection.exec_driver_sql(query, (name,)).first()
                if row is None:
                    columns = "name, artifact_location, lifecycle_stage, creation_time, last_update_time"
                    values = (name, artifacts, "active", *[round(time.time() * 1000)] * 2)
                    connection.exec_driver_sql(f"insert into experiments ({columns}) values (?, ?, ?, ?, ?)", values)
                    row = connection.exec_driver_sql(query, (name,)).one()
                    _set_tags(connection, "experiment", row[0], tags)
        finally:
            engine.dispose()  # it connects again when it is used
        number, location, stage = row
        writable = stage == "active" and location.startswith("file:") and not {"?", "#"} & set(location)
        return cls(engine, number, location) if writable else None

    def runs(self, store: str, owner: str = "") -> list[tuple[str, str, str, str]]:
        """Return owner, key, id and status of the runs of an owner in a store, or of all, the latest first."""
        with self.engine.connect() as connection:
            rows = connection.exec_driver_sql(
                "select o.value, k.value, r.run_uuid, r.status from tags s "
                "join runs r on r.run_uuid = s.run_uuid and r.experiment_id = ? and r.lifecycle_stage = 'active' "
                "join tags o on o.run_uuid = r.run_uuid and o.key = 'zslplat.owner' "
                "join tags k on k.run_uuid = r.run_uuid and k.key = 'zslplat.key' "
                "where s.key = 'zslplat.store' and s.value = ? and ? in ('', o.value) "
                "order by r.start_time desc, r.run_uuid",
                (self.number, store, owner),
            )
            return [(str(owner), str(key), str(run), str(status)) for owner, key, run, status in rows]

    def write(self, run: WholeRun, run_id: str = "") -> str:
        """Write a new run, or what is new of the one with this id, in one transaction; return its id."""
        is_new, run_id = not run_id, run_id or uuid.uuid4().hex
        with self.engine.begin() as connection:
            tags = dict(run.tags)
            if is_new:
                row = {
                    "run_uuid": run_id,
                    "name": run.name,
                    "source_type": "UNKNOWN",
                    "source_name": "",
                    "entry_point_name": "",
                    "source_version": "",
                    "user_id": "unknown",
                    "status": run.status,
                    "start_time": run.started,
                    "end_time": run.ended,
                    "lifecycle_stage": "active",
                    "artifact_uri": self._artifacts(run_id),
                    "experiment_id": self.number,
                }
                _insert(connection, "runs", [row])
            else:
                query = "select key, value from tags where run_uuid = ?"
                current = {key: value for key, value in connection.exec_driver_sql(query, (run_id,))}
                if not is_ours(current):
                    tags = {key: value for key, value in tags.items() if key not in (NOTE, OUR_NOTE)}
                for key in set(PASSING) & set(current) - set(tags):
                    connection.exec_driver_sql("delete from tags where run_uuid = ? and key = ?", (run_id, key))
                self._update(connection, run_id, run.status, run.ended, run.name)
            _set_tags(connection, "run", run_id, tags)
            _insert(connection, "params", [{"key": k, "value": v, "run_uuid": run_id} for k, v in run.params.items()])
            self._add_metrics(connection, run_id, run.metrics)
            if run.dataset:
                self._add_dataset(connection, run_id, run.dataset)
        return run_id

    def amend(self, run_id: str, tags: Mapping[str, str], metrics: Iterable[Value]) -> None:
        """Set tags and add values of a run that is there."""
        with self.engine.begin() as connection:
            _set_tags(connection, "run", run_id, tags)
            self._add_metrics(connection, run_id, metrics)

    def end(self, run_id: str, status: str, ended: int | None) -> None:
        """Set how and when a run ended."""
        with self.engine.begin() as connection:
            self._update(connection, run_id, status, ended)

    def tags(self) -> dict[str, str]:
        """Return the tags of the experiment."""
        with self.engine.connect() as connection:
            query = "select key, value from experiment_tags where experiment_id = ?"
            return {key: value for key, value in connection.exec_driver_sql(query, (self.number,))}

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Set tags of the experiment."""
        with self.engine.begin() as connection:
            _set_tags(connection, "experiment", self.number, tags)

    def copy_artifacts(self, run_id: str, folder: Path) -> None:
        """Copy a folder's files to where MLflow looks for those of the run."""
        target = Path(url2pathname(urlsplit(self._artifacts(run_id)).path))
        shutil.copytree(folder, target, dirs_exist_ok=True, copy_function=shutil.copyfile)

    def _artifacts(self, run_id: str) -> str:
        return f"{self.location.rstrip('/')}/{run_id}/artifacts"

    def _update(
        self, connection: sa.Connection, run_id: str, status: str, ended: int | None, name: str | None = None
    ) -> None:
        """Set how a run stands; without an end or a name those that it has stay."""
        connection.exec_driver_sql(
            "update runs set status = ?, end_time = coalesce(?, end_time), name = coalesce(?, name) where run_uuid = ?",
            (status, ended, name, run_id),
        )

    def _add_metrics(self, connection: sa.Connection, run_id: str, metrics: Iterable[Value]) -> None:
        rows = [{**row, "run_uuid": run_id} for row in _metric_rows(metrics)]
        _insert(connection, "metrics", rows)
        later = "(excluded.step, excluded.timestamp, excluded.value) >= (step, timestamp, value)"
        new = ", ".join(f"{column} = excluded.{column}" for column in ("step", "timestamp", "value", "is_nan"))
        _insert(connection, "latest_metrics", rows, f"do update set {new} where {later}")

    def _add_dataset(self, connection: sa.Connection, run_id: str, dataset: Mapping[str, str]) -> None:
        """Write what ties a run to its data, and the data's own row where they are new to the experiment."""
        same = (self.number, dataset["name"], dataset["fingerprint"][:32])
        columns = ("experiment_id", "name", "digest", "dataset_uuid")
        about = {"dataset_source_type": "zslplat", "dataset_source": dataset["source"]}
        row = dict(zip(columns, (*same, uuid.uuid4().hex), strict=True))
        _insert(connection, "datasets", [{**row, **about, "dataset_profile": dataset["profile"]}])
        query = "select dataset_uuid from datasets where experiment_id = ? and name = ? and digest = ?"
        source = connection.exec_driver_sql(query, same).scalar_one()
        tie = {"source_type": "DATASET", "source_id": source, "destination_type": "RUN", "destination_id": run_id}
        if not connection.exec_driver_sql(
            "select 1 from inputs where source_id = ? and destination_id = ?", (source, run_id)
        ).first():
            entry = uuid.uuid4().hex
            _insert(connection, "inputs", [{"input_uuid": entry, **tie}])
            context = {"name": "mlflow.data.context", "value": dataset["context"]}
            _insert(connection, "input_tags", [{"input_uuid": entry, **context}])


def _insert(
    connection: sa.Connection, table: str, rows: Sequence[Mapping[str, Any]], on_conflict: str = "do nothing"
) -> None:
    """Insert rows of the same columns."""
    if rows:
        names = ", ".join(rows[0])
        marks = ", ".join("?" * len(rows[0]))
        values = [tuple(row.values()) for row in rows]
        connection.exec_driver_sql(f"insert into {table} ({names}) values ({marks}) on conflict {on_conflict}", values)


def _set_tags(connection: sa.Connection, of: str, number: str | int, tags: Mapping[str, str]) -> None:
    table, owner = ("tags", "run_uuid") if of == "run" else ("experiment_tags", "experiment_id")
    rows = [{"key": key, "value": value, owner: number} for key, value in tags.items()]
    _insert(connection, table, rows, "do update set value = excluded.value")


def _metric_rows(metrics: Iterable[Value]) -> list[dict[str, Any]]:
    """Return the rows of metrics as MLflow stores them: no infinity, and zero with a mark for no number."""
    rows = []
    for key, value, timestamp, step in metrics:
        is_nan = math.isnan(value)
        stored = 0.0 if is_nan else min(max(value, -_LARGEST), _LARGEST)
        rows.append({"key": key, "timestamp": timestamp, "step": step, "value": stored, "is_nan": is_nan})
    return rows

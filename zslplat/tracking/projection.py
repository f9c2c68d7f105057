"""MLflow's view of studies and runs: a projection of the records, completed whenever it is found incomplete.

Every run carries its key (``zslplat.store``, ``zslplat.owner``, ``zslplat.key``) from the moment of its creation, so
that a projection interrupted anywhere is continued in the same run: none is left running, none is made twice, and
stores that share a server leave each other's runs alone. ``zslplat.run`` is the run's stable identifier, by which
commands know it; MLflow's id is an alias. A tracking server that is away is no error: the records are complete without
it, and the next command catches up.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zslplat.errors import StoreError
from zslplat.records.journal import settle, write_ahead
from zslplat.records.locks import file_lock
from zslplat.settings import Settings
from zslplat.tracking.announce import announce
from zslplat.tracking.whole_runs import WholeRun, WholeRuns

_FINAL = ("FINISHED", "FAILED", "KILLED")
_MOST_TAG, _MOST_PARAM = 5000, 6000
# What a run that goes on may leave behind: that it failed and was tried again, or that its code was mixed.
_PASSING = ("zslplat.reason", "zslplat.code")


@dataclass(frozen=True)
class RunView:
    """What one MLflow run shows."""

    key: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, list[float]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    status: str = "FINISHED"
    started: float = 0.0
    ended: float = 0.0
    artifacts: Path | None = None
    dataset: Mapping[str, str] = field(default_factory=dict)


class Projection:
    """The runs of one owner (a study, a run, a sweep) of one store in one MLflow experiment.

    ``store``: the identity of the store; ``announced``: whether plugins are told of runs that are finished.
    """

    def __init__(
        self,
        settings: Settings,
        experiment: str,
        owner: str,
        store: str,
        on_away: Callable[[str], None],
        *,
        announced: bool = True,
    ) -> None:
        self.settings, self.owner, self.store, self.on_away = settings, owner, store, on_away
        self.announced = announced
        self.away = False
        self.runs: dict[str, tuple[str, str]] = {}
        self.experiment_id = ""
        self.whole: WholeRuns | None = None
        self._guard(lambda: self._connect(experiment))

    def show(self, view: RunView, run: str, *, parent: str = "") -> str:
        """Make the run show the view; returns MLflow's run id, empty when the server is away.

        ``run``: the run's own identifier; ``parent``: key of the run under which it stands.

        A run that is finished already is left alone, unless the view is of a run that goes on (``RUNNING``) or that
        ends again: only the parent of a study does.
        """
        return self._guard(lambda: self._show(view, run, parent)) or ""

    def end(self, key: str, status: str, ended: float) -> None:
        """End a run that is shown already, with another status than it has."""
        run_id, known = self.runs.get(key, ("", ""))
        if run_id and known != status:
            self._guard(lambda: self.client.set_terminated(run_id, status, end_time=round(ended * 1000)))
            self.runs[key] = (run_id, status)

    def add_artifacts(self, key: str, folder: Path) -> None:
        """Add files to a run that is shown already."""
        self._guard(lambda: self.client.log_artifacts(self.run_id(key), str(folder)))

    def has_matrices(self, key: str) -> bool:
        """Tell whether a run shows learned matrices, or codes."""
        listed = self._guard(lambda: self.client.list_artifacts(self.run_id(key))) or []
        names = {Path(item.path).name for item in listed}
        return bool(names & {"matrices", "scored_codes.npz"})

    def is_shown(self, key: str) -> bool:
        """Tell whether a run with this key exists and has ended."""
        return self.status(key) in _FINAL

    def status(self, key: str) -> str:
        """Return the status of the run with this key, or an empty string."""
        return self.runs.get(key, ("", ""))[1]

    def run_id(self, key: str) -> str:
        """Return the id of the run with this key, or an empty string."""
        return self.runs.get(key, ("", ""))[0]

    def _connect(self, experiment: str) -> None:
        from mlflow.tracking import MlflowClient

        if self.settings.tracking_is_local:
            check_sqlite(self.settings.store / "mlflow.db")
        # The client makes the tables of a new database, which only one process may do.
        with file_lock(self.settings.studies / "mlflow.lock"):
            if self.settings.tracking_is_local:
                _make_tables(self.settings.store / "mlflow.db")
                _follow_the_store(self.settings.store / "mlflow.db", self.settings.artifacts)
            self.client = MlflowClient(tracking_uri=self.settings.tracking_uri)
            if self._engine() is not None:
                write_ahead(self._engine(), self.settings.store / "mlflow.db", durable=False)
            self.experiment_id = self._experiment(experiment)
            if self._engine() is not None:
                location = self.client.get_experiment(self.experiment_id).artifact_location
                self.whole = WholeRuns.of(self._engine(), int(self.experiment_id), location)
        token = None
        while True:
            page = self.client.search_runs(
                [self.experiment_id],
                filter_string=f"tags.`zslplat.owner` = '{self.owner}' and tags.`zslplat.store` = '{self.store}'",
                max_results=1000,
                page_token=token,
            )
            for run in page:
                self.runs.setdefault(run.data.tags["zslplat.key"], (run.info.run_id, run.info.status))
            token = page.token
            if not token:
                break

    def close(self) -> None:
        """Leave the local database; it opens again by itself when it is used."""
        if self._engine() is not None:
            settle(self._engine(), self.settings.store / "mlflow.db")

    def _engine(self) -> Any:
        """Return the database engine of MLflow's local store, None where there is none to be found."""
        tracking = getattr(getattr(self, "client", None), "_tracking_client", None)
        return getattr(getattr(tracking, "store", None), "engine", None) if self.settings.tracking_is_local else None

    def _experiment(self, name: str) -> str:
        found = self.client.get_experiment_by_name(name)
        if found is not None and found.lifecycle_stage == "active":
            return str(found.experiment_id)
        if found is not None:
            self.client.restore_experiment(found.experiment_id)
            return str(found.experiment_id)
        # A server keeps artifacts where it was told to; with a bare database they would go to the working directory.
        on_server = self.settings.tracking_uri.startswith(("http://", "https://", "databricks"))
        location = None if on_server else self.settings.artifacts.as_uri()
        # The kind tells MLflow's UI to open the experiment on its runs and charts.
        kind = {"mlflow.experimentKind": "custom_model_development"}
        return str(self.client.create_experiment(name, artifact_location=location, tags=kind))

    def _show(self, view: RunView, run: str, parent: str) -> str:
        run_id = self.run_id(view.key)
        tags = {
            "mlflow.runName": view.name,
            "mlflow.source.name": "zslplat",
            **({"mlflow.parentRunId": self.run_id(parent)} if self.run_id(parent) else {}),
            **{key: str(value)[:_MOST_TAG] for key, value in view.tags.items()},
        }
        own = {
            "zslplat.store": self.store,
            "zslplat.owner": self.owner,
            "zslplat.key": view.key,
            "zslplat.run": run,
        }
        shown = ""
        if not run_id and view.status in _FINAL and self.whole is not None:
            shown = self._show_whole(self.whole, view, {**own, **tags})
        run_id = shown or self._show_by_client(view, run_id, own, tags)
        self.runs[view.key] = (run_id, view.status)
        if self.announced and view.status in _FINAL and "zslplat.kind" in view.tags:
            announce(
                {
                    "kind": view.tags["zslplat.kind"],
                    "owner": self.owner,
                    "key": view.key,
                    "status": view.status,
                    "parameters": dict(view.parameters),
                    "metrics": dict(view.metrics),
                    "run": run,
                    "run_id": run_id,
                },
                self.on_away,
            )
        return run_id

    def _show_whole(self, whole: WholeRuns, view: RunView, tags: Mapping[str, str]) -> str:
        """Show a run that is new and finished; returns its id, empty where only the client can."""
        folder = view.artifacts if _has_files(view.artifacts) else None
        stamp = _stamp(view)
        run_id = whole.add(
            WholeRun(
                name=view.name,
                # Ended when its artifacts are there, so that it is found unfinished where they are not.
                status="RUNNING" if folder else view.status,
                started=round(view.started * 1000),
                ended=None if folder else stamp,
                tags=tags,
                params={key: str(value)[:_MOST_PARAM] for key, value in view.parameters.items()},
                metrics=_metrics(view),
                dataset=_dataset_input(view.dataset) if view.dataset else None,
            )
        )
        if run_id and folder:
            self.runs[view.key] = (run_id, "RUNNING")
            whole.copy_artifacts(run_id, folder)
            whole.end(run_id, view.status, stamp)
        return run_id

    def _show_by_client(self, view: RunView, run_id: str, own: Mapping[str, str], tags: Mapping[str, str]) -> str:
        """Show a run on a server, or one that is there already; returns its id."""
        from mlflow.entities import Param, RunTag

        known = bool(run_id)
        if not known:
            created = self.client.create_run(
                self.experiment_id,
                start_time=round(view.started * 1000),
                run_name=view.name,
                tags={**own, **tags},
            )
            run_id = str(created.info.run_id)
            self.runs[view.key] = (run_id, "RUNNING")
        metrics = _metrics(view)
        # A parameter cannot be changed; what is there stays, however another version of the program wrote it.
        there = self.client.get_run(run_id).data if known else None
        params = [
            Param(k, str(v)[:_MOST_PARAM]) for k, v in view.parameters.items() if there is None or k not in there.params
        ]
        new_tags = [RunTag(k, v) for k, v in tags.items()] if known else []
        for name in _PASSING:
            if there is not None and name in there.tags and name not in tags:
                self.client.delete_tag(run_id, name)
        for start in range(0, max(len(metrics), len(params), 1), 90):
            last = start + 90
            self.client.log_batch(
                run_id, metrics[start:last], params[start:last], new_tags if start == 0 else [], synchronous=True
            )
        if view.dataset:
            self.client.log_inputs(run_id, datasets=[_dataset_input(view.dataset)])
        if _has_files(view.artifacts):
            self.client.log_artifacts(run_id, str(view.artifacts))
        if view.status in _FINAL:
            self.client.set_terminated(run_id, view.status, end_time=_stamp(view))
        else:
            self.client.update_run(run_id, status=view.status)
        return run_id

    def _guard(self, action: Callable[[], Any]) -> Any:
        """Run an action against the server; the first failure of a remote server is reported, then it is left alone."""
        if self.away:
            return None
        quiet_mlflow(self.settings)
        import sqlalchemy as sa
        from alembic.util import CommandError
        from mlflow.exceptions import MlflowException

        try:
            return action()
        except (MlflowException, OSError, sa.exc.SQLAlchemyError, CommandError) as error:
            text = self.settings.masked(" ".join(str(error).split()))[:300]
            if self.settings.tracking_is_local:
                raise StoreError(
                    f"MLflow's store {self.settings.shown_tracking_uri} cannot be used: {text}; finished trials are "
                    "kept; free space or repair the file, or move it away to have it made anew from the records, "
                    "then give the same command again"
                ) from error
            self.away = True
            self.on_away(
                f"MLflow at {self.settings.shown_tracking_uri} does not answer ({text}); "
                "everything is recorded, give the same command again to catch up"
            )
            return None


def quiet_mlflow(settings: Settings) -> None:
    """Have MLflow, and what it stands on, print nothing by itself and give up on a server that does not answer."""
    for name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"):
        os.environ.setdefault(name, "true")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    if not settings.tracking_is_local:
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    # What fails is raised, and shown as one line; the libraries would print their own account of it before.
    for name in ("mlflow", "sqlalchemy.pool", "alembic", "urllib3"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _make_tables(path: Path) -> None:
    """Have MLflow make a new database in a file of another name, so that a kill leaves no half of its tables."""
    from mlflow.tracking import MlflowClient

    if path.exists():
        return
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    client = MlflowClient(tracking_uri=f"sqlite:///{unfinished}")
    client.search_experiments(max_results=1)
    client._tracking_client.store.engine.dispose()
    os.replace(unfinished, path)


def _follow_the_store(path: Path, artifacts: Path) -> None:
    """Have MLflow look for artifacts, and put them, where the store is now: it keeps whole paths."""
    place = artifacts.as_uri()
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        rows = connection.execute(
            "select experiment_id, artifact_location from experiments where artifact_location like 'file:%/artifacts'"
        ).fetchall()
        for experiment, before in rows:
            if before == place:
                continue
            connection.execute(
                "update experiments set artifact_location = ? where experiment_id = ?", (place, experiment)
            )
            connection.execute(
                "update runs set artifact_uri = ? || substr(artifact_uri, ?) where experiment_id = ? and "
                "substr(artifact_uri, 1, ?) = ?",
                (place, len(before) + 1, experiment, len(before), before),
            )


def check_sqlite(path: Path) -> set[str]:
    """Return the names of a database's tables; raises :class:`OSError` for a file that is no database.

    MLflow would try again for minutes there.
    """
    if not path.exists():
        return set()
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=30)) as connection:
            return {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.DatabaseError as error:
        raise OSError(str(error)) from error


def _stamp(view: RunView) -> int:
    return round(view.ended * 1000) or round(view.started * 1000)


def _has_files(folder: Path | None) -> bool:
    return folder is not None and any(path.is_file() for path in folder.rglob("*"))


def _metrics(view: RunView) -> list[Any]:
    from mlflow.entities import Metric

    stamp = _stamp(view)
    metrics = [Metric(_metric_name(k), float(v), stamp, 0) for k, v in view.metrics.items()]
    for name, values in view.series.items():
        metrics += [Metric(_metric_name(name), float(v), stamp, step) for step, v in enumerate(values, 1)]
    return metrics


def _metric_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "_-./ " else "_" for c in name)[:240]


def _dataset_input(dataset: Mapping[str, str]) -> Any:
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

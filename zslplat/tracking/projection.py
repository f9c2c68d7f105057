"""MLflow's view of studies and runs: a projection of the records, completed whenever it is incomplete.

Every run carries its key (``zslplat.store``, ``zslplat.owner``, ``zslplat.key``) from the moment of its creation, so
that a projection interrupted anywhere is continued in the same run: none is left running, none is made twice, and
stores that share a server leave each other's runs alone. ``zslplat.run`` is the run's stable identifier, by which
commands know it; MLflow's id is an alias. A tracking server that is away is no error: the records are complete without
it, no command waits for it, and what it missed is shown at the end of the study, or by the next command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from zslplat.errors import StoreError
from zslplat.records.engines import alone_on_server
from zslplat.records.locks import file_lock
from zslplat.records.opening import tables_of_file
from zslplat.records.sqlite_files import settle, write_ahead
from zslplat.settings import Settings
from zslplat.tracking.descriptions import colour
from zslplat.tracking.run_view import (
    MOST_PARAM,
    MOST_TAG,
    NOTE,
    OUR_NOTE,
    RunView,
    dataset_input,
    described,
    has_files,
    is_ours,
    metrics_of,
    mlflow_name,
    stamp_of,
    storable,
)
from zslplat.tracking.server import follow_the_store, make_database, quiet_mlflow
from zslplat.tracking.whole_runs import WholeRun, WholeRuns

_FINAL = ("FINISHED", "FAILED", "KILLED")
# What a run that goes on may leave behind: that it failed and was tried again, or that its code was mixed.
_PASSING = ("zslplat.reason", "zslplat.code")
_PARENT = "mlflow.parentRunId"


class Projection:
    """The runs of one owner (a study, a run, a sweep) of one store in one MLflow experiment.

    ``store``: the identity of the store.
    """

    def __init__(
        self, settings: Settings, mlflow_experiment: str, owner: str, store: str, on_away: Callable[[str], None]
    ) -> None:
        self.settings, self.owner, self.store, self.on_away = settings, owner, store, on_away
        self.mlflow_experiment = mlflow_experiment
        self.away = False
        self.runs: dict[str, tuple[str, str]] = {}
        self._of_owners: dict[str, list[Any]] | None = None
        self.experiment_id = ""
        self.whole: WholeRuns | None = None
        self._guard(lambda: self._connect(mlflow_experiment))

    def returned(self) -> bool:
        """Tell whether a server that was away answers again."""
        # The request that failed may have been carried out all the same.
        self._guard(lambda: self._connect(self.mlflow_experiment), again=True)
        if not self.away:
            self.on_away(f"MLflow at {self.settings.shown_tracking_uri} answers again, and is shown what it missed")
        return not self.away

    def turn_to(self, owner: str) -> None:
        """Go on with the runs of another owner of the experiment; those of all owners are read at once, the first time.

        Connecting anew takes longer than showing a run does.
        """
        self.owner = owner
        if self._of_owners is None:
            self._of_owners = self._guard(self._runs_of_owners)
        self._note_runs((self._of_owners or {}).get(owner, ()))

    def _runs_of_owners(self) -> dict[str, list[Any]]:
        runs: dict[str, list[Any]] = {}
        for run in self._search(f"tags.`zslplat.store` = '{self.store}'"):
            runs.setdefault(run.data.tags["zslplat.owner"], []).append(run)
        return runs

    def show(self, view: RunView, run: str, *, parent: str = "") -> str:
        """Make the run show the view; returns MLflow's run id, empty when the server is away.

        ``run``: the run's own identifier; ``parent``: key of the run under which it stands.

        A run that is finished already is left alone, unless the view is of a run that goes on (``RUNNING``) or that
        ends again: only the parent of a study does.
        """
        return self._guard(lambda: self._show(view, run, parent)) or ""

    def end(self, key: str, status: str, ended: float) -> None:
        """End a run that is shown already, with another status than it has."""
        run_id, current = self.runs.get(key, ("", ""))
        if run_id and current != status:
            self._guard(lambda: self.client.set_terminated(run_id, status, end_time=round(ended * 1000)))
            self.runs[key] = (run_id, status)

    def amend(self, key: str, tags: Mapping[str, str], metrics: Mapping[str, float], stamp: float) -> None:
        """Set tags and metrics of a run that is shown already; nothing where it is not."""
        from mlflow.entities import Metric, RunTag

        run_id = self.run_id(key)
        entities = [Metric(mlflow_name(name), value, round(stamp * 1000), 0) for name, value in metrics.items()]
        if run_id:
            new_tags = [RunTag(name, storable(value)[:MOST_TAG]) for name, value in tags.items()]
            self._guard(lambda: self.client.log_batch(run_id, entities, [], new_tags, synchronous=True))

    def is_shown(self, key: str) -> bool:
        """Tell whether a run with this key exists and has ended."""
        return self.status(key) in _FINAL

    def status(self, key: str) -> str:
        """Return the status of the run with this key; an empty string where it is not there."""
        return self.runs.get(key, ("", ""))[1]

    def run_id(self, key: str) -> str:
        """Return the id of the run with this key, or an empty string."""
        return self.runs.get(key, ("", ""))[0]

    def _connect(self, mlflow_experiment: str) -> None:
        from mlflow.tracking import MlflowClient

        address = self.settings.tracking_uri
        if self.settings.tracking_is_local:
            tables_of_file(self.settings.store / "mlflow.db")
        # The client makes the tables of a new database, which only one process may do.
        others = alone_on_server(address, "mlflow") if address.startswith("postgres") else nullcontext()
        with file_lock(self.settings.studies / "mlflow.lock"), others:
            if self.settings.tracking_is_local:
                make_database(self.settings.store / "mlflow.db")
                follow_the_store(self.settings.store / "mlflow.db", self.settings.artifacts)
            self.client = MlflowClient(tracking_uri=address)
            if self._engine() is not None:
                write_ahead(self._engine(), self.settings.store / "mlflow.db", durable=False)
            self.experiment_id = self._mlflow_experiment(mlflow_experiment)
            if self._engine() is not None:
                location = self.client.get_experiment(self.experiment_id).artifact_location
                whole = WholeRuns(self.client._tracking_client.store, int(self.experiment_id), location)
                self.whole = whole if whole.fit else None
        self._read_runs()
        self.away = False

    def _read_runs(self) -> None:
        """Find the runs of this owner that are there."""
        self._note_runs(
            self._search(f"tags.`zslplat.owner` = '{self.owner}' and tags.`zslplat.store` = '{self.store}'")
        )

    def _search(self, condition: str) -> Iterator[Any]:
        token = None
        while True:
            page = self.client.search_runs(
                [self.experiment_id], filter_string=condition, max_results=1000, page_token=token
            )
            yield from page
            token = page.token
            if not token:
                return

    def _note_runs(self, runs: Iterable[Any]) -> None:
        """Note the runs of the owner; of two with one key one is deleted."""
        self.runs.clear()
        for run in runs:
            key, candidate = run.data.tags["zslplat.key"], (run.info.run_id, run.info.status)
            first = self.runs.setdefault(key, candidate)
            if first != candidate:
                # A server made it and went away before it answered; then it was made again.
                chosen, other = (first, candidate) if first[1] in _FINAL else (candidate, first)
                self.runs[key] = chosen
                self.client.delete_run(other[0])

    def close(self) -> None:
        """Leave the local database; it opens again by itself when it is used."""
        if self._engine() is not None:
            settle(self._engine(), self.settings.store / "mlflow.db")

    def _engine(self) -> Any:
        """Return the database engine of MLflow's local store, None where there is none to be found."""
        tracking = getattr(getattr(self, "client", None), "_tracking_client", None)
        return getattr(getattr(tracking, "store", None), "engine", None) if self.settings.tracking_is_local else None

    def _mlflow_experiment(self, name: str) -> str:
        existing = self.client.get_experiment_by_name(name)
        if existing is not None and existing.lifecycle_stage == "active":
            return str(existing.experiment_id)
        if existing is not None:
            self.client.restore_experiment(existing.experiment_id)
            return str(existing.experiment_id)
        # A server has its own place for artifacts; with a bare database they would go to the working directory.
        on_server = self.settings.tracking_uri.startswith(("http://", "https://", "databricks"))
        location = None if on_server else self.settings.artifacts.as_uri()
        # The kind tells MLflow's UI to open the experiment on its runs and charts.
        kind = {"mlflow.experimentKind": "custom_model_development"}
        return str(self.client.create_experiment(name, artifact_location=location, tags=kind))

    def _show(self, view: RunView, run: str, parent: str) -> str:
        run_id = self.run_id(view.key)
        tags = {
            "mlflow.runName": storable(view.name),
            "mlflow.source.name": "zslplat",
            **({_PARENT: self.run_id(parent)} if self.run_id(parent) else {}),
            **({"mlflow.runColor": colour(view.method)} if view.method else {}),
            **{key: storable(value)[:MOST_TAG] for key, value in view.tags.items()},
            **(described(view.note) if view.note else {}),
        }
        identity_tags = {
            "zslplat.store": self.store,
            "zslplat.owner": self.owner,
            "zslplat.key": view.key,
            "zslplat.run": run,
        }
        shown = ""
        if self.whole is not None and not run_id:
            shown = self._show_whole(self.whole, view, {**identity_tags, **tags})
        run_id = shown or self._show_by_client(view, run_id, identity_tags, tags)
        self.runs[view.key] = (run_id, view.status)
        return run_id

    def _show_whole(self, whole: WholeRuns, view: RunView, tags: Mapping[str, str]) -> str:
        """Show a run that is new; returns its id, empty where only the client can."""
        folder = view.artifacts if has_files(view.artifacts) else None
        stamp, ends = stamp_of(view), view.status in _FINAL
        run_id = whole.add(
            WholeRun(
                name=storable(view.name),
                # Ended when its artifacts are there, so that it is found unfinished where they are not.
                status="RUNNING" if folder else view.status,
                started=round(view.started * 1000),
                ended=stamp if ends and not folder else None,
                tags=tags,
                params={key: storable(value)[:MOST_PARAM] for key, value in view.shown_parameters.items()},
                metrics=metrics_of(view),
                dataset=dataset_input(view.dataset) if view.dataset else None,
            )
        )
        if run_id and folder:
            self.runs[view.key] = (run_id, "RUNNING")
            whole.copy_artifacts(run_id, folder)
            if ends:
                self.client.set_terminated(run_id, view.status, end_time=stamp)
        return run_id

    def _show_by_client(
        self, view: RunView, run_id: str, identity_tags: Mapping[str, str], tags: Mapping[str, str]
    ) -> str:
        """Show a run on a server, or one that goes on; returns its id."""
        from mlflow.entities import Param, RunTag

        exists = bool(run_id)
        if not exists:
            created = self.client.create_run(
                self.experiment_id,
                start_time=round(view.started * 1000),
                run_name=storable(view.name),
                tags={**identity_tags, **tags},
            )
            run_id = str(created.info.run_id)
            self.runs[view.key] = (run_id, "RUNNING")
        metrics = metrics_of(view)
        # A parameter cannot be changed.
        current = self.client.get_run(run_id).data if exists else None
        params = [
            Param(k, storable(v)[:MOST_PARAM])
            for k, v in view.shown_parameters.items()
            if current is None or k not in current.params
        ]
        new_tags: list[Any] = []
        if current is not None:
            left = {name: value for name, value in tags.items() if name not in (NOTE, OUR_NOTE)}
            new_tags = [RunTag(k, v) for k, v in (tags if is_ours(current.tags) else left).items()]
            for name in _PASSING:
                if name in current.tags and name not in tags:
                    self.client.delete_tag(run_id, name)
        for start in range(0, max(len(metrics), len(params), 1), 90):
            last = start + 90
            self.client.log_batch(
                run_id, metrics[start:last], params[start:last], new_tags if start == 0 else [], synchronous=True
            )
        if view.dataset:
            self.client.log_inputs(run_id, datasets=[dataset_input(view.dataset)])
        if has_files(view.artifacts):
            self.client.log_artifacts(run_id, str(view.artifacts))
        if exists:
            self.client.update_run(run_id, name=storable(view.name))
        if view.status in _FINAL:
            self.client.set_terminated(run_id, view.status, end_time=stamp_of(view))
        else:
            self.client.update_run(run_id, status=view.status)
        return run_id

    def _guard(self, action: Callable[[], Any], *, again: bool = False) -> Any:
        """Run an action against the server; a remote server that fails is reported once, and left alone."""
        if self.away and not again:
            return None
        quiet_mlflow(self.settings)
        import sqlalchemy as sa
        from alembic.util import CommandError
        from mlflow.exceptions import MlflowException

        try:
            return action()
        except ImportError as error:
            raise StoreError(
                f"MLflow at {self.settings.shown_tracking_uri} cannot be spoken to: {error}; install what speaks to "
                "such a database (for PostgreSQL: pip install 'zslplat[postgres]')"
            ) from error
        except (MlflowException, OSError, sa.exc.SQLAlchemyError, CommandError) as error:
            text = self.settings.masked(" ".join(str(error).split()))[:300]
            if self.settings.tracking_is_local:
                raise StoreError(
                    f"MLflow's store {self.settings.shown_tracking_uri} cannot be used: {text}; finished trials are "
                    "kept; free space or repair the file, or move it away to have it made anew from the records, "
                    "then give the same command again"
                ) from error
            if not self.away:
                self.away = True
                self.on_away(
                    f"MLflow at {self.settings.shown_tracking_uri} does not answer ({text}); everything is recorded, "
                    "and is shown at the end of the study, or by the next command to which it answers"
                )
            return None

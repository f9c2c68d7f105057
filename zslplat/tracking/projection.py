"""MLflow's view of studies and runs: a projection of the records, completed whenever it is incomplete.

Every run carries its key (``zslplat.store``, ``zslplat.owner``, ``zslplat.key``) from the moment of its creation, so
that a projection interrupted anywhere is continued in the same run: none is left running, none is made twice, and
stores that share a server leave each other's runs alone. ``zslplat.run`` is the run's stable identifier, by which
commands know it; MLflow's id is an alias. A tracking server that is away is no error: the records are complete without
it, no command waits for it, and what it missed is shown at the end of the study, or by the next command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any

from zslplat.errors import StoreError
from zslplat.records.engines import alone_on_server
from zslplat.records.locks import file_lock
from zslplat.records.opening import tables_of_file
from zslplat.records.sqlite_files import settle, write_ahead
from zslplat.settings import Settings
from zslplat.tracking.descriptions import colour
from zslplat.tracking.local_runs import PASSING, LocalRuns, WholeRun
from zslplat.tracking.run_view import (
    MOST_PARAM,
    MOST_TAG,
    NOTE,
    OUR_NOTE,
    RunView,
    Value,
    dataset_input,
    described,
    has_files,
    is_ours,
    metrics_of,
    mlflow_name,
    stamp_of,
    storable,
)
from zslplat.tracking.server import failures, follow_the_store, make_database, quiet_mlflow

_FINAL = ("FINISHED", "FAILED", "KILLED")
# It tells MLflow's UI to open the experiment on its runs and charts.
_KIND = {"mlflow.experimentKind": "custom_model_development"}
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
        self._of_owners: dict[str, list[list[str]]] | None = None
        self.experiment_id = ""
        self.local: LocalRuns | None = None
        self._engines: list[Any] = []
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
        if self._of_owners is None and (runs := self._guard(lambda: self._runs(""))) is not None:
            self._of_owners = {}
            for of, *run in runs:
                self._of_owners.setdefault(of, []).append(run)
        self._note_runs((self._of_owners or {}).get(owner, ()))

    def _runs(self, owner: str) -> list[tuple[str, str, str, str]]:
        """Return owner, key, id and status of the runs of an owner, or of all."""
        return self.local.runs(self.store, owner) if self.local else list(self._search(owner))

    @cached_property
    def client(self) -> Any:
        """MLflow's client, which takes its time to import."""
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=self.settings.tracking_uri)
        engine = getattr(client._tracking_client.store, "engine", None) if self.settings.tracking_is_local else None
        if engine is not None:
            self._engines.append(engine)
            write_ahead(engine, self.settings.store / "mlflow.db", durable=False)
        return client

    def tags_of_experiment(self) -> dict[str, str]:
        """Return the tags of the experiment."""
        return self.local.tags() if self.local else dict(self.client.get_experiment(self.experiment_id).tags)

    def set_tags_of_experiment(self, tags: Mapping[str, str]) -> None:
        """Set tags of the experiment."""
        if self.local:
            self.local.set_tags(tags)
            return
        for name, value in tags.items():
            self.client.set_experiment_tag(self.experiment_id, name, value)

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
            self._guard(lambda: self._end(run_id, status, round(ended * 1000)))
            self.runs[key] = (run_id, status)

    def amend(self, key: str, tags: Mapping[str, str], metrics: Mapping[str, float], stamp: float) -> None:
        """Set tags and metrics of a run that is shown already; nothing where it is not."""
        run_id = self.run_id(key)
        values = [(mlflow_name(name), value, round(stamp * 1000), 0) for name, value in metrics.items()]
        new = {name: storable(value)[:MOST_TAG] for name, value in tags.items()}
        if run_id:
            self._guard(
                lambda: self.local.amend(run_id, new, values) if self.local else self._log(run_id, values, [], new)
            )

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
        path, local = self.settings.store / "mlflow.db", self.settings.tracking_is_local
        address = self.settings.tracking_uri
        if local:
            tables_of_file(path)
        # The client makes the tables of a new database, which only one process may do.
        others = alone_on_server(address, "mlflow") if address.startswith("postgres") else nullcontext()
        with file_lock(self.settings.studies / "mlflow.lock"), others:
            if local:
                make_database(path)
                follow_the_store(path, self.settings.artifacts)
                self.local = LocalRuns.open(path, mlflow_experiment, self.settings.artifacts.as_uri(), _KIND)
            if self.local is not None:
                self.experiment_id = str(self.local.number)
                self._engines.append(self.local.engine)
                write_ahead(self.local.engine, path, durable=False)
            else:
                self.__dict__.pop("client", None)
                self.experiment_id = self._mlflow_experiment(mlflow_experiment)
        self._of_owners = None
        self._note_runs(run for _, *run in self._runs(self.owner))
        self.away = False

    def _search(self, owner: str) -> Iterator[tuple[str, str, str, str]]:
        token = None
        condition = f"tags.`zslplat.store` = '{self.store}'" + (
            f" and tags.`zslplat.owner` = '{owner}'" if owner else ""
        )
        while True:
            page = self.client.search_runs(
                [self.experiment_id], filter_string=condition, max_results=1000, page_token=token
            )
            for run in page:
                tags = run.data.tags
                yield tags["zslplat.owner"], tags["zslplat.key"], run.info.run_id, run.info.status
            token = page.token
            if not token:
                return

    def _note_runs(self, runs: Iterable[Sequence[str]]) -> None:
        """Note the runs of the owner by key, id and status; of two with one key one is deleted."""
        self.runs.clear()
        for key, run_id, status in runs:
            candidate = run_id, status
            first = self.runs.setdefault(key, candidate)
            if first != candidate:
                # A server made it and went away before it answered; then it was made again.
                chosen, other = (first, candidate) if first[1] in _FINAL else (candidate, first)
                self.runs[key] = chosen
                self.client.delete_run(other[0])

    def close(self) -> None:
        """Leave the local database; it opens again by itself when it is used."""
        for engine in self._engines:
            settle(engine, self.settings.store / "mlflow.db")

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
        return str(self.client.create_experiment(name, artifact_location=location, tags=_KIND))

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
        if self.local is not None:
            run_id = self._show_locally(self.local, view, run_id, {**identity_tags, **tags})
        else:
            run_id = self._show_by_client(view, run_id, identity_tags, tags)
        self.runs[view.key] = (run_id, view.status)
        return run_id

    def _show_locally(self, local: LocalRuns, view: RunView, run_id: str, tags: Mapping[str, str]) -> str:
        """Show a run in the store's own database; returns its id."""
        folder = view.artifacts if has_files(view.artifacts) else None
        ended = stamp_of(view) if view.status in _FINAL else None
        run_id = local.write(
            WholeRun(
                name=storable(view.name),
                # It ends when its artifacts are there, so that it is found unfinished where they are not.
                status="RUNNING" if folder else view.status,
                started=round(view.started * 1000),
                ended=None if folder else ended,
                tags=tags,
                params={key: storable(value)[:MOST_PARAM] for key, value in view.shown_parameters.items()},
                metrics=metrics_of(view),
                dataset=view.dataset,
            ),
            run_id,
        )
        if folder:
            self.runs[view.key] = (run_id, "RUNNING")
            local.copy_artifacts(run_id, folder)
            local.end(run_id, view.status, ended)
        return run_id

    def _end(self, run_id: str, status: str, ended: int) -> None:
        if self.local:
            self.local.end(run_id, status, ended)
        else:
            self.client.set_terminated(run_id, status, end_time=ended)

    def _log(self, run_id: str, metrics: Sequence[Value], params: Sequence[Any], tags: Mapping[str, str]) -> None:
        """Send metrics, parameters and tags, in as many calls as a server takes them in."""
        from mlflow.entities import Metric, RunTag

        entities, new_tags = [Metric(*value) for value in metrics], [RunTag(*tag) for tag in tags.items()]
        for start in range(0, max(len(entities), len(params), 1), 90):
            last = start + 90
            self.client.log_batch(
                run_id, entities[start:last], params[start:last], new_tags if start == 0 else [], synchronous=True
            )

    def _show_by_client(
        self, view: RunView, run_id: str, identity_tags: Mapping[str, str], tags: Mapping[str, str]
    ) -> str:
        """Show a run through MLflow's client; returns its id."""
        from mlflow.entities import Param

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
        new_tags: Mapping[str, str] = {}
        if current is not None:
            left = {name: value for name, value in tags.items() if name not in (NOTE, OUR_NOTE)}
            new_tags = tags if is_ours(current.tags) else left
            for name in PASSING:
                if name in current.tags and name not in tags:
                    self.client.delete_tag(run_id, name)
        self._log(run_id, metrics, params, new_tags)
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
        try:
            return action()
        except ImportError as error:
            raise StoreError(
                f"MLflow at {self.settings.shown_tracking_uri} cannot be spoken to: {error}; install what speaks to "
                "such a database (for PostgreSQL: pip install 'zslplat[postgres]')"
            ) from error
        except failures() as error:
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

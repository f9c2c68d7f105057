"""The final evaluations that MLflow holds for one task on one data set, as the comparison reads them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.comparison.leaderboard import BASELINE
from zslplat.comparison.naming import called, meant
from zslplat.comparison.paired import Scored
from zslplat.errors import StoreError, UnknownNameError
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tracking.reading import reading

_PAGE = 1000


def read_finals(
    settings: Settings, dataset: str, task: str, names: Sequence[str] = (), against: str | None = None
) -> list[Scored]:
    """Return the test evaluations of all studies (and single test runs) of a task on a data set, newest data only.

    ``dataset`` and ``task`` are specs as they were given to ``tune``. ``names`` restricts the result to these studies,
    methods, method specs, labels or run ids, and the one named ``against``. Raises :class:`StoreError` where nothing
    was recorded, :class:`UnknownNameError` for a name that fits nothing, and for a data set that nobody knows.
    """
    with reading(settings) as client:
        experiment = client.get_experiment_by_name(f"{task.partition('(')[0]}: {dataset}")
        runs = _runs(client, experiment.experiment_id, task) if experiment is not None else []
        groups = _groups(runs)
        if not groups:
            _require_known(settings, dataset, client)
            raise StoreError(
                f"no test evaluation of task {task} on {dataset} in {settings.shown_tracking_uri}; tune it first"
            )
    newest = max((group[0] for _, group in groups), key=lambda run: run.info.start_time)
    data = newest.data.tags["zslplat.data_fingerprint"]
    groups = [(p, g) for p, g in groups if g[0].data.tags["zslplat.data_fingerprint"] == data]
    several = Counter(_method(parent, group) for parent, group in groups)
    entries = [_entry(parent, group, several) for parent, group in groups]
    kept = list(range(len(entries)))
    if names:
        kept = [i for name in names for i in called(name, entries)]
        kept += [] if against is None else meant(against, entries, BASELINE)
    return [replace(entries[i], replicates=_replicates(settings, groups[i][1])) for i in dict.fromkeys(kept)]


def _groups(runs: Sequence[Any]) -> list[tuple[Any, list[Any]]]:
    """Return the runs that score the test split by what they belong to: (parent run or None, runs by repeat)."""
    parents = {run.info.run_id: run for run in runs if run.data.tags.get("zslplat.kind") == "study"}
    groups: dict[str, list[Any]] = {}
    for run in runs:
        tags = run.data.tags
        parent = parents.get(tags.get("mlflow.parentRunId", ""))
        if tags.get("zslplat.kind") == "final" and parent is not None:
            # An extended study has a new winner; the finals of the earlier one are history.
            if tags.get("zslplat.winner") == parent.data.tags.get("zslplat.winner"):
                groups.setdefault(parent.info.run_id, []).append(run)
        elif tags.get("zslplat.kind") == "run" and tags.get("zslplat.split") == "test":
            groups.setdefault(tags["zslplat.owner"], []).append(run)
    return [(parents.get(key), sorted(group, key=_key)) for key, group in groups.items()]


def _require_known(settings: Settings, dataset: str, client: Any) -> None:
    """Raise :class:`UnknownNameError` for a data set without a source and without a run of any task."""
    from zslplat.data.catalogue import available
    from zslplat.data.source import DataPlaces
    from zslplat.evaluation.experiment import registered_sources

    name = Spec.parse(dataset).name
    if settings.data_root is not None and (settings.data_root / name).exists():
        return
    places = DataPlaces(settings.data_root, settings.cache / "data")
    known = {entry.name for entry in available(places, registered_sources())}
    token = None
    while True:
        page = client.search_experiments(max_results=_PAGE, page_token=token)
        known |= {e.name.partition(": ")[2].partition("(")[0] for e in page if ": " in e.name}
        token = page.token
        if not token:
            break
    if name not in known and dataset.partition("(")[0] not in known:
        where = f"built in, nor under a data root, nor recorded in {settings.shown_tracking_uri}"
        raise UnknownNameError(f"data set (neither {where}):", name, known)


def _runs(client: Any, experiment: str, task: str) -> list[Any]:
    runs: list[Any] = []
    token = None
    while True:
        page = client.search_runs(
            [experiment],
            filter_string=f"tags.`zslplat.task` = '{task}' and tags.`zslplat.kind` != 'trial'",
            order_by=["attributes.start_time ASC"],
            max_results=_PAGE,
            page_token=token,
        )
        runs += page
        token = page.token
        if not token:
            return runs


def _method(parent: Any, group: list[Any]) -> str:
    """Return the spec of the method as it was asked for, without what the search found."""
    if parent is not None:
        return str(parent.data.params["method"])
    return str(json.loads(group[0].data.tags["zslplat.rerun"])["method"])


def _key(run: Any) -> tuple[int, str]:
    key = run.data.tags["zslplat.key"]
    return len(key), key


def _entry(parent: Any, group: list[Any], several: Mapping[str, int]) -> Scored:
    """Return what a group's runs say themselves, without the replicates, which are artifacts."""
    method = _method(parent, group)
    ids = [run.info.run_id for run in group]
    study = parent.info.run_name if parent is not None else f"run {ids[0][:8]}"
    # Beside the task's metrics: what the method reports of itself (incoherence, say), seconds and memory.
    names = [name for name in group[0].data.metrics if all(name in run.data.metrics for run in group)]
    validation = {
        name.removeprefix("val_"): float(value)
        for name, value in (parent.data.metrics if parent is not None else {}).items()
        if name.startswith("val_")
    }
    return Scored(
        label=f"{method} [{study}]" if several[method] > 1 else method,
        study=study,
        method=method,
        values={name.removeprefix("test_"): [float(run.data.metrics[name]) for run in group] for name in names},
        replicates={},
        validation=validation,
        # All repeats score the test problem of their study; some may be older than the tag.
        knows=group[0].data.tags.get("zslplat.knows"),
        rows=next((run.data.tags["zslplat.rows"] for run in group if "zslplat.rows" in run.data.tags), None),
        names=frozenset({f"{method} [{study}]", *ids, *([] if parent is None else [parent.info.run_id])}),
    )


def _replicates(settings: Settings, group: list[Any]) -> dict[str, np.ndarray]:
    """Return {metric: (repeats, b)} of the metrics whose replicates all runs of a group have."""
    tables = [_columns(settings, run) for run in group]
    shared = [name for name in tables[0] if all(len(t.get(name, ())) == len(tables[0][name]) for t in tables)]
    return {name: np.array([table[name] for table in tables]) for name in shared}


def _columns(settings: Settings, run: Any) -> dict[str, list[float]]:
    """Return the columns of a run's ``replicates.csv``; none for tasks and older runs without one."""
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    try:
        path = Path(
            download_artifacts(
                run_id=run.info.run_id, artifact_path="replicates.csv", tracking_uri=settings.tracking_uri
            )
        )
        with open(path, newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
    except (MlflowException, OSError, ValueError):
        return {}
    return {name: [float(line[i]) for line in lines] for i, name in enumerate(header) if name != "replicate"}

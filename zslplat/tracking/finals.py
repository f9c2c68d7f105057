"""The final evaluations that MLflow holds for one task on one data set, as the comparison reads them."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.comparison.paired import Scored
from zslplat.errors import StoreError, UnknownNameError
from zslplat.settings import Settings

_PAGE = 1000


def read_finals(settings: Settings, dataset: str, task: str, names: Sequence[str] = ()) -> list[Scored]:
    """Return the test evaluations of all studies (and single test runs) of a task on a data set, newest data only.

    ``dataset`` and ``task`` are specs as they were given to ``tune``. ``names`` restricts the result to these studies,
    methods, method specs or run ids. Raises :class:`StoreError` where nothing was recorded,
    :class:`UnknownNameError` for a name that fits nothing.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    if settings.tracking_is_local and not (settings.store / "mlflow.db").exists():
        raise StoreError(f"no runs in {settings.store}; give --store or --tracking-uri, or tune something first")
    try:
        client = MlflowClient(tracking_uri=settings.tracking_uri)
        experiment = client.get_experiment_by_name(f"{task.partition('(')[0]}: {dataset}")
        runs = _runs(client, experiment.experiment_id, task) if experiment is not None else []
    except MlflowException as error:
        text = " ".join(str(error).split())
        raise StoreError(f"the runs in {settings.tracking_uri} cannot be read: {text}") from None
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
    if not groups:
        raise StoreError(f"no test evaluation of task {task} on {dataset} in {settings.tracking_uri}; tune it first")
    found = [(parents.get(key), sorted(group, key=_key)) for key, group in groups.items()]
    newest = max((group[0] for _, group in found), key=lambda run: run.info.start_time)
    data = newest.data.tags["zslplat.data_fingerprint"]
    found = [(p, g) for p, g in found if g[0].data.tags["zslplat.data_fingerprint"] == data]
    kept = _chosen(found, names)
    methods = [_method(parent, group) for parent, group in kept]
    several = Counter(methods)
    return [
        _scored(settings, parent, group, method, several[method] > 1)
        for (parent, group), method in zip(kept, methods, strict=True)
    ]


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


def _chosen(found: list[tuple[Any, list[Any]]], names: Sequence[str]) -> list[tuple[Any, list[Any]]]:
    if not names:
        return found
    known: dict[str, list[int]] = {}
    for number, (parent, group) in enumerate(found):
        tags = group[0].data.tags
        own = {tags["zslplat.method"], _method(parent, group), *(run.info.run_id for run in group)}
        if parent is not None:
            own |= {parent.info.run_name, parent.info.run_id}
        for name in own:
            known.setdefault(name, []).append(number)
    for name in names:
        if name not in known:
            raise UnknownNameError("study, method or run", name, known)
    return [found[number] for number in dict.fromkeys(n for name in names for n in known[name])]


def _method(parent: Any, group: list[Any]) -> str:
    """Return the spec of the method as it was asked for, without what the search found."""
    if parent is not None:
        return str(parent.data.params["method"])
    return str(json.loads(group[0].data.tags["zslplat.rerun"])["method"])


def _key(run: Any) -> tuple[int, str]:
    key = run.data.tags["zslplat.key"]
    return len(key), key


def _scored(settings: Settings, parent: Any, group: list[Any], method: str, several: bool) -> Scored:
    study = parent.info.run_name if parent is not None else f"run {group[0].info.run_id[:8]}"
    # Beside the task's metrics: what the method reports of itself (incoherence, say), seconds and memory.
    names = [name for name in group[0].data.metrics if all(name in run.data.metrics for run in group)]
    values = {name.removeprefix("test_"): [float(run.data.metrics[name]) for run in group] for name in names}
    tables = [_replicates(settings, run) for run in group]
    shared = [name for name in tables[0] if all(len(t.get(name, ())) == len(tables[0][name]) for t in tables)]
    validation = {
        name.removeprefix("val_"): float(value)
        for name, value in (parent.data.metrics if parent is not None else {}).items()
        if name.startswith("val_")
    }
    return Scored(
        label=f"{method} [{study}]" if several else method,
        study=study,
        method=method,
        values=values,
        replicates={name: np.array([table[name] for table in tables]) for name in shared},
        validation=validation,
    )


def _replicates(settings: Settings, run: Any) -> dict[str, list[float]]:
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

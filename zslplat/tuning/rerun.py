"""Evaluating a tracked run again, and comparing the numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zslplat.errors import StoreError
from zslplat.evaluation.experiment import Experiment
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tracking.reading import reading

_SAME = 1e-12


@dataclass(frozen=True)
class TrackedRun:
    """What MLflow holds of a run: its name, how to evaluate it again, and its metrics."""

    name: str
    request: Mapping[str, Any]
    metrics: Mapping[str, float]

    def experiment(self) -> Experiment:
        """Return the experiment that the run evaluated."""
        request = self.request
        return Experiment(
            Spec.parse(request["method"]),
            Spec.parse(request["dataset"]),
            Spec.parse(request["task"]),
            {},
            request["features"],
            request["signatures"],
            int(request["problems_seed"]),
        )


def find_run(settings: Settings, run: str) -> TrackedRun:
    """Return a run by its MLflow id; raises :class:`StoreError` for unknown runs and those that cannot run again."""
    found = _read(settings, run)
    request = found.data.tags.get("zslplat.rerun")
    if request is None:
        kind = found.data.tags.get("zslplat.kind", "foreign")
        raise StoreError(f"run {run!r} is a {kind} run, which is not one evaluation; give a trial, final or single run")
    return TrackedRun(found.info.run_name, json.loads(request), dict(found.data.metrics))


def artifact_folder(settings: Settings, run: str, name: str) -> Path:
    """Return the path of a folder among a run's artifacts, fetched where they are remote; or raise StoreError."""
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    found = _read(settings, run)
    try:
        folder = Path(download_artifacts(run_id=run, artifact_path=name, tracking_uri=settings.tracking_uri))
    except (MlflowException, OSError) as error:
        raise StoreError(
            f"run {found.info.run_name!r} has no artifact {name!r}: {settings.masked(' '.join(str(error).split()))}"
        ) from None
    if not folder.is_dir():
        raise StoreError(
            f"run {found.info.run_name!r} has no artifact {name!r}; give a final run, or one of `zslplat run`"
        )
    return folder


def _read(settings: Settings, run: str) -> Any:
    from mlflow.exceptions import MlflowException

    with reading(settings, f"run {run!r}") as client:
        try:
            return client.get_run(run)
        except MlflowException as error:
            text = settings.masked(" ".join(str(error).split()))
            raise StoreError(
                f"run {run!r} cannot be read from {settings.shown_tracking_uri}: {text}; copy its id from the UI"
            ) from None


def differences(run: TrackedRun, metrics: Mapping[str, float]) -> tuple[int, list[str]]:
    """Compare new metrics with the recorded ones; return how many were compared, and a line per difference."""
    prefix = "test_" if run.request["split"] == "test" else "val_"
    lines, compared = [], 0
    for name, value in metrics.items():
        recorded = run.metrics.get(prefix + name)
        if recorded is None:
            continue
        compared += 1
        if abs(recorded - value) > _SAME * max(1.0, abs(recorded)):
            lines.append(f"{name}: recorded {recorded!r}, now {value!r}")
    return compared, lines

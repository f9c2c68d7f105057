"""Bringing a store of the first schema into today's form.

The first schema kept with MLflow what comparison and repetition need: the experiment of single runs in tags, bootstrap
replicates among the artifacts. They are taken over into the records; MLflow's runs get the store's identity and their
own, so that they are found again. Nothing is removed.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np

from zslplat.errors import ZslplatError
from zslplat.evaluation.components import build_component
from zslplat.evaluation.experiment import TEST
from zslplat.keys import run_identifier
from zslplat.records.database import Records
from zslplat.records.environment import environment_record
from zslplat.records.studies import STUDY
from zslplat.settings import Settings
from zslplat.spec import Spec

_FINAL = re.compile(r"final-(\d+)-(\d+)")


def migrate(settings: Settings, records: Records, warn: Callable[[str], None]) -> None:
    """Write a store's records in today's form; raises :class:`StoreError` where the store fails."""
    for name in records.identities():
        records.study(name).recall("origin", lambda: records.identity)
    path = settings.store / "mlflow.db"
    runs = _tracked(path) if settings.tracking_is_local and path.is_file() else {}
    for name in records.identities():
        _describe_study(records, name, runs)
    missing = 0
    for owner, key, content in list(records.all_evaluations()):
        run = records.run_of(owner, key)
        found = runs.get((owner, key))
        changed = {**content, "run": run}
        if found is not None:
            changed |= _described(found)
            folder, artifacts = records.evaluation_folder(run), _artifacts_of(found, settings)
            _take_artifacts(artifacts, folder)
            if found["tags"].get("zslplat.kind") == "final" or found["tags"].get("zslplat.split") == TEST:
                missing += not _take_replicates(artifacts, folder)
        records.replace_evaluation(owner, key, changed)
    if runs:
        _mark_runs(path, records, runs)
    records.migrated()
    lost = f"; {missing} evaluations have no replicates and will have no intervals" if missing else ""
    warn(f"the store {settings.store} was brought into today's form{lost}")


def _tracked(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return {(owner, key): id, tags, start, experiment, artifact folder} of the runs in MLflow's local database."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    with closing(sqlite3.connect(path, timeout=30)) as connection, suppress(sqlite3.DatabaseError):
        rows = connection.execute(
            "select r.run_uuid, r.artifact_uri, r.start_time, e.name from runs r "
            "join experiments e on e.experiment_id = r.experiment_id where r.lifecycle_stage = 'active'"
        ).fetchall()
        tags: dict[str, dict[str, str]] = {}
        for run, name, value in connection.execute("select run_uuid, key, value from tags"):
            tags.setdefault(run, {})[name] = value
        for run, place, started, mlflow_experiment in rows:
            own = tags.get(run, {})
            if "zslplat.owner" in own and "zslplat.store" not in own:
                key = _FINAL.sub(r"trial-\1/repeat-\2", own["zslplat.key"])
                entry = {
                    "id": run,
                    "tags": own,
                    "started": (started or 0) / 1000,
                    "mlflow_experiment": mlflow_experiment,
                }
                found[own["zslplat.owner"], key] = {**entry, "artifacts": unquote(urlparse(place or "").path)}
    return found


def _described(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run's tags say of its evaluation, as records hold it."""
    tags = found["tags"]
    content: dict[str, Any] = {"started": found["started"]}
    if "zslplat.knows" in tags:
        content["knows"] = tags["zslplat.knows"]
    if "zslplat.rerun" in tags:
        asked = json.loads(tags["zslplat.rerun"])
        content["experiment"] = {
            **{name: asked[name] for name in ("method", "dataset", "task", "features", "signatures")},
            "seed": asked["problems_seed"],
            "data": asked["fingerprint"],
            "split": asked["split"],
            "method_seed": asked["seed"],
            "carried": asked["carried"],
        }
        content["environment"] = _environment(tags)
        content |= _about(found)
        content["lines"] = [text for text in tags.get("zslplat.warnings", "").split("; ") if text not in ("", "none")]
    return content


def _describe_study(records: Records, name: str, runs: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
    study = records.study(name)
    parent = runs.get((STUDY + name, "study"))
    if parent is None or "about" in study.values():
        return
    tags = parent["tags"]
    for key, value in _about(parent).items():
        study.note(key, value)
    study.note("environment", json.loads(tags.get("zslplat.environment", "null")) or _environment(tags))
    study.note("began", parent["started"])
    if "zslplat.winner" in tags:
        winner = int(tags["zslplat.winner"])
        warned = [text for text in tags.get("zslplat.warnings", "none").split("; ") if text != "none"]
        trials = [record for _, record in study.finished()]
        data = tags["zslplat.data_fingerprint"]
        finished = {"winner": winner, "complete": True, "looks": records.test_evaluations(data), "counts": {}}
        knows = {"knows": tags["zslplat.knows"]} if "zslplat.knows" in tags else {}
        ended = max((record["ended"] for record in trials), default=parent["started"])
        study.note("finished", {**finished, **knows, "warnings": warned, "ended": ended, "code": ""})


def _about(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record holds as ``about``; nothing for a task that is not installed, or not as it was."""
    tags, dataset = found["tags"], found["tags"]["zslplat.dataset"]
    data = {"name": dataset.partition("(")[0], "fingerprint": tags["zslplat.data_fingerprint"]}
    try:
        primary = build_component("tasks", Spec.parse(tags["zslplat.task"])).primary
    except ZslplatError:
        return {}
    about = {
        "mlflow_experiment": found["mlflow_experiment"],
        "primary": {"name": primary.name, "maximise": primary.maximise},
        "preprocessing": tags.get("zslplat.preprocessing", ""),
        "data": {**data, "source": {"spec": dataset}, "profile": {"fingerprint": data["fingerprint"]}},
    }
    return {"about": about}


def _environment(tags: Mapping[str, str]) -> dict[str, Any]:
    """Return what is known of the software of an old run: its version and git state."""
    packages = dict.fromkeys(environment_record()["packages"], "not recorded")
    packages["zslplat"] = tags.get("zslplat.version", "not recorded")
    return {"packages": packages, "git": json.loads(tags.get("zslplat.git", "{}"))}


def _artifacts_of(found: Mapping[str, Any], settings: Settings) -> Path:
    """Return the folder of an old run's artifacts, in the store where it is now: MLflow keeps whole paths."""
    recorded = Path(found["artifacts"])
    own = settings.artifacts.joinpath(*recorded.parts[-2:])
    return own if own.is_dir() else recorded


def _take_artifacts(artifacts: Path, folder: Path) -> None:
    """Copy an old run's artifacts to its record, without what takes room and can be learned again."""
    with suppress(OSError, shutil.Error):
        left_out = shutil.ignore_patterns("matrices", "scored_codes.npz", "replicates.csv")
        shutil.copytree(artifacts, folder / "artifacts", ignore=left_out, dirs_exist_ok=True)


def _take_replicates(artifacts: Path, folder: Path) -> bool:
    """Write the replicates among an old run's artifacts to its record; False where there are none."""
    try:
        with open(artifacts / "replicates.csv", newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
        columns = {n: np.array([float(line[i]) for line in lines]) for i, n in enumerate(header) if n != "replicate"}
    except (OSError, ValueError):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "replicates.npz", **columns)  # type: ignore[arg-type]
    return True


def _mark_runs(path: Path, records: Records, runs: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
    """Give MLflow's runs the identity of their store, their own identifier, and today's keys."""
    origins = {name: records.study(name).values()["origin"] for name in records.identities()}
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        for (owner, key), found in runs.items():
            run = run_identifier(origins.get(owner.removeprefix(STUDY), ""), owner, key)
            for name, value in (("zslplat.store", records.identity), ("zslplat.run", run), ("zslplat.key", key)):
                connection.execute("delete from tags where run_uuid = ? and key = ?", (found["id"], name))
                connection.execute(
                    "insert into tags (run_uuid, key, value) values (?, ?, ?)", (found["id"], name, value)
                )

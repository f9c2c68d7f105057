"""Where in MLflow's pages a store's newest results are: the link that a browser is to open.

Without it MLflow opens an experiment on an empty page for language models: only the address, or the visitor's own
switch, tells its pages that models are trained here.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress

from zslplat.settings import Settings
from zslplat.tracking.experiment_page import FACTS
from zslplat.tracking.saved_views import RESULTS, STUDIES, SWEEPS, TAG, TRIALS

_TRAINING = "workflowType=machine_learning"
_LIST = f"#/experiments?{_TRAINING}"
_VIEWS = (RESULTS, TRIALS, STUDIES, SWEEPS)  # the first that there is
_MOST_EXPERIMENTS = 1000


def local_start(settings: Settings) -> str:
    """Return the path of the page to open of a store's own database, which is only read, and without MLflow's help."""
    with closing(sqlite3.connect(settings.store / "mlflow.db", timeout=30)) as connection:
        rows = connection.execute(
            "select e.experiment_id, t.key, t.value from experiments e left join experiment_tags t "
            "on t.experiment_id = e.experiment_id where e.lifecycle_stage = 'active'"
        ).fetchall()
        newest = connection.execute(
            "select experiment_id from runs where lifecycle_stage = 'active' order by start_time desc limit 1"
        ).fetchone()
    tags: dict[str, dict[str, str]] = {}
    for mlflow_experiment, name, value in rows:
        tags.setdefault(str(mlflow_experiment), {})[name] = value
    known = str(newest[0]) if newest and str(newest[0]) in tags else ""
    return _newest(tags, known)


def server_start(settings: Settings) -> str:
    """Return the path of the page to open on a server: the list of experiments where it does not answer or has no run
    of ours.
    """
    from zslplat.errors import StoreError
    from zslplat.tracking.reading import reading

    with suppress(StoreError), reading(settings, "the experiments") as client:
        found = client.search_experiments(max_results=_MOST_EXPERIMENTS, order_by=["last_update_time DESC"])
        return _newest({str(e.experiment_id): dict(e.tags) for e in found}, "")
    return _LIST


def _newest(tags: Mapping[str, Mapping[str, str]], otherwise: str) -> str:
    """Return the path of the experiment to which something was added last, by its tags, with its first saved view."""
    ended: dict[str, float] = {}
    for mlflow_experiment, own in tags.items():
        with suppress(ValueError, KeyError, TypeError):
            ended[mlflow_experiment] = float(json.loads(own[FACTS])["ended"])
    mlflow_experiment = max(ended, key=lambda name: (ended[name], name), default=otherwise)
    if not mlflow_experiment:
        return _LIST
    view = next((name for name in _VIEWS if TAG + name in tags[mlflow_experiment]), "")
    return f"#/experiments/{mlflow_experiment}/runs?{_TRAINING}" + (f"&viewStateShareKey={view}" if view else "")

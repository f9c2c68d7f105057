"""MLflow's database and artifacts made anew from the records of a store, and a study deleted from both."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from zslplat.errors import InUseError, StoreError
from zslplat.listeners import Warn
from zslplat.models.folder import free
from zslplat.records.database import SEALED, Records
from zslplat.records.folders import owner_folder, study_folder
from zslplat.records.maintenance import at_rest, delete_records
from zslplat.records.studies import STUDY
from zslplat.settings import Settings
from zslplat.tracking.listener import catch_up, mark_unshown
from zslplat.tracking.projection import Projection


def rebuild(settings: Settings, records: Records, warn: Warn) -> tuple[int, int]:
    """Show everything that is recorded, with tables and figures as they were; return how many studies and single runs.

    What is shown already stays as it is. A study on which another process works just now is left to it. Learned
    matrices are no part of the records: a run that is evaluated again has its own.
    """
    for name in records.identities():
        mark_unshown(study_folder(settings, name), STUDY + name)
    for owner in records.owners():
        if not owner.startswith(STUDY):
            mark_unshown(owner_folder(settings, owner), owner)
    return catch_up(settings, records, warn, on_failure=warn)


@dataclass(frozen=True)
class Deleted:
    """What went with a study: trials, test evaluations, those of its oracle, runs in MLflow."""

    study: str
    trials: int
    evaluations: int
    oracle: int
    runs: int


def delete_study(settings: Settings, records: Records, name: str, warn: Warn) -> Deleted:
    """Delete a study with all that is recorded and shown of it; may be stopped anywhere and repeated.

    Raises :class:`UnknownNameError` for an unknown name, :class:`InUseError` while a command leads the study, and
    :class:`StoreError` where MLflow, which shows it, does not answer: nothing is deleted then.
    """
    study, folder = records.study(name), study_folder(settings, name)
    with records.leads.leading(name, folder / "leader.lock"):
        evaluations, sealed, run_of = (
            records.evaluations(study.owner),
            records.evaluations(SEALED + name),
            records.runs(),
        )
        # What shows the records goes first: without them it could not be found.
        runs = _delete_runs(settings, records, study.owner, study.values(), warn)
        trials = delete_records(records, name)
        for key in evaluations:
            shutil.rmtree(records.evaluation_folder(run_of(study.owner, key)), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(InUseError), at_rest(settings):  # `store gc` frees them, too
        free(settings.store)
    return Deleted(name, trials, len(evaluations), len(sealed), runs)


def _delete_runs(settings: Settings, records: Records, owner: str, values: Mapping[str, Any], warn: Warn) -> int:
    """Delete the runs of an owner in MLflow; those on a server go to its trash, which the server's own gc empties."""
    if "about" not in values or (settings.tracking_is_local and not (settings.store / "mlflow.db").exists()):
        return 0
    shown = Projection(settings, values["about"]["mlflow_experiment"], owner, records.identity, warn)
    if shown.away:
        raise StoreError(
            f"MLflow at {settings.shown_tracking_uri} does not answer, and would show the runs of {owner} for ever; "
            "nothing is deleted; give the same command again when it does"
        )
    from mlflow.exceptions import MlflowException

    try:
        for run, _ in shown.runs.values():
            artifacts = shown.client.get_run(run).info.artifact_uri
            shown.client.delete_run(run)
            if settings.tracking_is_local:
                # As MLflow empties its trash; on a server that is left to the server.
                shown.client._tracking_client.store._hard_delete_run(run)
                if artifacts == f"{settings.artifacts.as_uri()}/{run}/artifacts":
                    shutil.rmtree(settings.artifacts / run, ignore_errors=True)
    except (MlflowException, OSError) as error:
        text = settings.masked(" ".join(str(error).split()))[:300]
        raise StoreError(
            f"the runs of {owner} cannot be deleted from MLflow: {text}; give the command again"
        ) from error
    shown.close()
    return len(shown.runs)

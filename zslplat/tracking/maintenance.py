"""MLflow's database and artifacts made anew from the records of a store, and a study deleted from both."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zslplat.errors import InUseError, StoreError, ZslplatError
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.reporter import Reporter
from zslplat.evaluation.session import EvaluationRequest, Session
from zslplat.keys import trial_key
from zslplat.models.folder import free
from zslplat.records.database import SEALED, Records
from zslplat.records.folders import owner_folder, study_folder, trial_folder
from zslplat.records.locks import file_lock
from zslplat.records.maintenance import at_rest, delete_records
from zslplat.records.studies import STUDY, SUMMARY
from zslplat.settings import Settings
from zslplat.tracking.listener import LOCK, left_matrices, mark_shown, mark_unshown, show_run, show_study
from zslplat.tracking.projection import Projection
from zslplat.tuning.rerun import differences

NONE, FINAL, ALL = "none", "final", "all"


@dataclass
class Rebuilt:
    """How many studies and single runs or sweeps are shown, and how many evaluations were carried out again.

    ``left_out`` counts the evaluations whose matrices are gone and were not made again.
    """

    studies: int = 0
    runs: int = 0
    evaluated: int = 0
    left_out: int = 0


def rebuild(
    settings: Settings, records: Records, reporter: Reporter, *, matrices: str = FINAL, workers: int = 2
) -> Rebuilt:
    """Show everything that is recorded, with tables and figures as they were.

    What is shown already stays as it is.

    Learned matrices are no part of the records. ``matrices``: evaluate again, to have them anew, the ``final`` and
    single runs that had any, ``all`` evaluations, trials included, or ``none``. A study on which another process works
    just now is left to it. Raises :class:`StoreError` where an evaluation does not give its recorded numbers again.
    """
    rebuilt = Rebuilt()
    for name in records.identities():
        try:
            values = records.study(name).values()
            records.study(name).finished()
        except StoreError as error:
            reporter.warn(f"{error}; study {name!r} is not shown")
            continue
        if "about" not in values:
            reporter.warn(f"study {name!r} does not say on what it ran; give its command again to have it shown")
            continue
        folder = study_folder(settings, name)
        with ExitStack() as stack:
            try:
                stack.enter_context(file_lock(folder / LOCK, wait_seconds=0, holder=f"study {name!r}"))
            except StoreError as error:
                reporter.warn(f"{error}; it shows itself")
                continue
            reporter.stage(f"study {name}")
            mark_unshown(folder, STUDY + name)
            shown = show_study(settings, records, name, reporter.warn)
            rebuilt.studies += not shown.projection.away
            _mark(shown.projection, folder)
            for key, record in records.evaluations(STUDY + name).items():
                _again(settings, records, shown.projection, key, record, matrices, reporter, workers, rebuilt)
            for _, record in shown.study.finished() if matrices == ALL else ():
                if record["state"] == "complete":
                    _trial_again(settings, records, shown.projection, name, record, reporter, workers, rebuilt)
            shown.projection.close()
    opened: dict[str, Projection] = {}
    for owner in records.owners():
        if owner.startswith(STUDY):
            continue
        folder = owner_folder(settings, owner)
        mark_unshown(folder, owner)
        projection = show_run(settings, records, owner, reporter.warn, opened=opened)
        if projection is None:
            mark_shown(folder)
            continue
        rebuilt.runs += not projection.away
        _mark(projection, folder)
        for key, record in records.evaluations(owner).items():
            if key != SUMMARY and "about" in record:
                _again(settings, records, projection, key, record, matrices, reporter, workers, rebuilt)
    for projection in opened.values():
        projection.close()
    return rebuilt


def _mark(projection: Projection, folder: Path) -> None:
    if not projection.away:
        mark_shown(folder)


def _again(
    settings: Settings,
    records: Records,
    projection: Projection,
    key: str,
    record: Mapping[str, Any],
    matrices: str,
    reporter: Reporter,
    workers: int,
    rebuilt: Rebuilt,
) -> None:
    """Evaluate a test evaluation or single run again where it had matrices that MLflow does not show any more."""
    folder = records.evaluation_folder(record["run"])
    if not left_matrices(folder) or projection.has_matrices(key) or projection.away:
        return
    if matrices == NONE:
        rebuilt.left_out += 1
        return
    experiment = Experiment.from_json(record["experiment"])
    reporter.stage(f"evaluating {key} again, for its matrices")
    # In a place of its own: what is recorded stays as it is, whatever comes out.
    place = records.evaluation_folder(f"{record['run']}-again")
    request = EvaluationRequest(
        f"{key} again", place.name, experiment, artifacts=place / "artifacts", full=True, maps=True
    )
    try:
        _evaluate(settings, records, request, record, reporter, workers)
        projection.add_artifacts(key, place / "artifacts")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    rebuilt.evaluated += 1


def _trial_again(
    settings: Settings,
    records: Records,
    projection: Projection,
    study: str,
    record: Mapping[str, Any],
    reporter: Reporter,
    workers: int,
    rebuilt: Rebuilt,
) -> None:
    key = trial_key(record["number"])
    if projection.has_matrices(key) or projection.away:
        return
    folder = trial_folder(study_folder(settings, study), record["number"])
    reporter.stage(f"evaluating {key} again, for its matrices")
    run = records.study(study).run(key)
    request = EvaluationRequest(f"{key} again", run, Experiment.from_json(record["experiment"]), artifacts=folder)
    try:
        _evaluate(settings, records, request, record, reporter, workers)
        projection.add_artifacts(key, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rebuilt.evaluated += 1


def _evaluate(
    settings: Settings,
    records: Records,
    request: EvaluationRequest,
    record: Mapping[str, Any],
    reporter: Reporter,
    workers: int,
) -> None:
    """Carry out an evaluation whose metrics must be the recorded ones."""
    experiment = request.experiment
    plain = replace(experiment, split="", method_seed=None, validation_choices={})
    answers: dict[int, Answer] = {}
    context = ExperimentContext(plain, settings, on_stage=reporter.stage)
    with Session(context, records, reporter, workers=workers, recall=False) as session:
        if session.experiment.data != experiment.data:
            raise StoreError(f"the data of {request.label} have changed; give --matrices none, or restore the files")
        log = settings.studies / "rebuild" / "workers.log"
        session.start_workers(1, log)
        problems = session.prepare(TEST if experiment.split == TEST else VALIDATION)
        session.evaluate([request], problems, Limits(), answers.__setitem__)
    result = answers[0].result
    if result is None:
        raise ZslplatError(f"{request.label} failed: {answers[0].reason}")
    _, lines = differences(record["metrics"], result["metrics"])
    if lines:
        raise StoreError(f"{request.label} did not give its recorded numbers ({json.dumps(lines[:3])})")


@dataclass(frozen=True)
class Deleted:
    """What went with a study: trials, test evaluations, those of its oracle, runs in MLflow."""

    study: str
    trials: int
    evaluations: int
    oracle: int
    runs: int


def delete_study(settings: Settings, records: Records, name: str, warn: Callable[[str], None]) -> Deleted:
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


def _delete_runs(
    settings: Settings, records: Records, owner: str, values: Mapping[str, Any], warn: Callable[[str], None]
) -> int:
    """Delete the runs of an owner in MLflow; those on a server go to its trash, which the server's own gc empties."""
    if "about" not in values or (settings.tracking_is_local and not (settings.store / "mlflow.db").exists()):
        return 0
    shown = Projection(settings, values["about"]["mlflow_experiment"], owner, records.shown_as, warn)
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

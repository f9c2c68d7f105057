"""MLflow as a listener: studies and runs are shown as they are recorded, and what it missed is caught up with.

What is shown is made from the records alone, so that it can be made again at any time.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.checks.base import findings_of
from zslplat.errors import StoreError, UnknownNameError, ZslplatError
from zslplat.evaluation.components import build_component
from zslplat.evaluation.experiment import TEST
from zslplat.evaluation.scoring.outcomes import replicates
from zslplat.keys import repeat_key, trial_key
from zslplat.listeners import Listener, Record, Warn
from zslplat.metrics.intervals import centred_ends, over_repeats, within
from zslplat.records.database import Records
from zslplat.records.folders import owner_folder, study_folder, trial_folder
from zslplat.records.locks import file_lock
from zslplat.records.opening import existing_records
from zslplat.records.studies import PARENT, STUDY, SUMMARY, OpenStudy
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tracking.experiment_page import arrange, page_facts
from zslplat.tracking.projection import Projection
from zslplat.tracking.run_view import FINAL_STAGE, STUDY_STAGE, SUPERSEDED_STAGE, SWEEP_STAGE, TRIAL_STAGE, work_name
from zslplat.tracking.server import reading
from zslplat.tracking.views import TRIAL_STATUS, finished_view, run_view, study_view, sweep_view, test_view, trial_view

# Lies in an owner's folder as long as MLflow may not show all that is recorded of it.
UNSHOWN, LOCK = "unshown", "leader.lock"
_MLFLOW_ID = re.compile(r"[0-9a-f]{32}")


class MLflowListener(Listener):
    """Shows one study or one run in MLflow, and at its end what earlier commands could not show."""

    def __init__(self, settings: Settings, records: Records, warn: Warn) -> None:
        super().__init__(settings, records, warn)
        self._trials: list[Record] = []
        self._study: ShownStudy | None = None
        self._projection: Projection | None = None

    def on_study_begin(self, study: str, trials: Sequence[Record]) -> None:
        """Note that the study is not shown yet; MLflow is imported when there is time for it."""
        self._trials = list(trials)
        mark_unshown(study_folder(self.settings, study), STUDY + study)

    def on_batch_begin(self, study: str) -> None:
        """Show what is missing of the trials."""
        self._shown(study).trials(self._trials)

    def on_trial_complete(self, study: str, record: Record) -> None:
        """Show the trial."""
        self._trials[record["number"] : record["number"] + 1] = [record]
        self._shown(study).trials([record])

    def on_study_end(self, study: str, trials: Sequence[Record], tests: Sequence[Record]) -> None:
        """Show how the study ended, with all that is missing."""
        if self._shown(study).complete(trials, tests):
            mark_shown(study_folder(self.settings, study))

    def on_study_stop(self, study: str, *, failed: bool) -> None:
        """Show the study as stopped."""
        if self._study is not None:
            self._study.stopped(time.time(), "FAILED" if failed else "KILLED")

    def on_run_begin(self, owner: str) -> None:
        """Note that the run is not shown yet."""
        mark_unshown(owner_folder(self.settings, owner), owner)

    def on_run_complete(self, owner: str, evaluations: Mapping[str, Record], changed: Collection[str]) -> None:
        """Show the evaluations."""
        folder = owner_folder(self.settings, owner)
        with file_lock(folder / LOCK):
            self._projection = show_run(self.settings, self.records, owner, self.warn, changed=changed)
            if self._projection is not None and not self._projection.away:
                mark_shown(folder)

    def catch_up(self) -> None:
        """Show what earlier commands could not; a store of which everything is shown is not opened."""
        if any(self.settings.studies.glob(f"*/{UNSHOWN}")):
            records = self.records or existing_records(self.settings, self.warn)
            catch_up(self.settings, records, self.warn)
            if records is not self.records:
                records.close()

    def run_of(self, name: str) -> str:
        """Return the identifier of the run that MLflow calls so; empty where it knows none of this store."""
        if not _MLFLOW_ID.fullmatch(name):
            return ""
        from mlflow.exceptions import MlflowException

        with suppress(StoreError, MlflowException), reading(self.settings, f"run {name!r}") as client:
            tags = client.get_run(name).data.tags
            if tags.get("zslplat.store") == self.records.identity:
                return str(tags.get("zslplat.run", ""))
        return ""

    def close(self) -> None:
        """Show what earlier commands could not, where MLflow answers, and leave its database."""
        if self._projection is not None:
            if not self._projection.away:
                self.catch_up()
            self._projection.close()

    def _shown(self, study: str) -> ShownStudy:
        if self._study is None:
            folder = study_folder(self.settings, study)
            self._study = ShownStudy(self.settings, self.records, self.records.study(study), folder, self.warn)
            self._projection = self._study.projection
            self._study.begin()
        return self._study


def mark_unshown(folder: Path, owner: str) -> None:
    """Note that MLflow is about to show what is recorded of an owner."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / UNSHOWN).write_text(owner, "utf-8")


def mark_shown(folder: Path) -> None:
    """Note that MLflow shows all that is recorded of the owner of this folder."""
    (folder / UNSHOWN).unlink(missing_ok=True)


def catch_up(
    settings: Settings, records: Records, warn: Warn, on_failure: Callable[[str], None] = lambda text: None
) -> tuple[int, int]:
    """Show what earlier commands could not, and end what they left running; return how many studies and single runs.

    What another process works on just now is left to it. ``on_failure`` is called with why something is not shown.
    """
    studies = runs = 0
    opened: dict[str, Projection] = {}
    for marker in sorted(settings.studies.glob(f"*/{UNSHOWN}")):
        try:
            # Busy: the process that has the lock is showing it.
            with file_lock(marker.parent / LOCK, wait_seconds=0, holder=marker.parent.name):
                if not marker.exists():
                    continue
                owner = marker.read_text("utf-8")
                projection = _show(settings, records, owner, warn, opened)
                if projection is not None and projection.away:
                    break
                mark_shown(marker.parent)
        except StoreError as error:
            on_failure(f"{error}; {marker.parent.name} is not shown")
            continue
        if projection is not None:
            studies += owner.startswith(STUDY)
            runs += not owner.startswith(STUDY)
    for projection in opened.values():
        projection.close()
    return studies, runs


def _show(
    settings: Settings, records: Records, owner: str, warn: Warn, opened: dict[str, Projection]
) -> Projection | None:
    """Show all that is recorded of an owner; None where that is nothing."""
    try:
        if not owner.startswith(STUDY):
            return show_run(settings, records, owner, warn, opened=opened)
        projection = show_study(settings, records, owner.removeprefix(STUDY), warn).projection
    except (UnknownNameError, KeyError):
        return None  # stopped before anything was recorded
    projection.close()
    return projection


def show_study(settings: Settings, records: Records, name: str, warn: Warn) -> ShownStudy:
    """Show all that is recorded of a study; what is shown already is left as it is."""
    study = records.study(name)
    shown = ShownStudy(settings, records, study, study_folder(settings, name), warn)
    trials = [record for _, record in study.finished()]
    evaluations = records.evaluations(study.owner)
    finished = shown.values.get("finished")
    if trials and not (shown.projection.is_shown(PARENT) and all(map(shown.shows, trials))):
        shown.begin()
    shown.trials(trials)
    for record in evaluations.values():
        shown.test(record, trials[record["winner"]])
    test = [record for record in evaluations.values() if finished and record["winner"] == finished["winner"]]
    if finished and test and all(record["ended"] <= finished["ended"] for record in trials):
        shown.finish(trials, test)
    elif not shown.projection.is_shown(PARENT):  # one that has failed stays so
        shown.stopped(trials[-1]["ended"] if trials else shown.began)
    return shown


def show_run(
    settings: Settings,
    records: Records,
    owner: str,
    warn: Warn,
    *,
    changed: Container[str] = (),
    opened: dict[str, Projection] | None = None,
) -> Projection | None:
    """Show the evaluations of a single run that MLflow does not show yet; None where they cannot be shown.

    ``changed``: the keys of those whose tags and costs are others than when
    they were shown; ``opened``: {experiment: projection} of runs that were shown before, which is used again.
    """
    evaluations = {
        key: record for key, record in records.evaluations(owner).items() if "about" in record
    }  # no mere points
    if not evaluations:
        return None
    mlflow_experiment = next(iter(evaluations.values()))["about"]["mlflow_experiment"]
    projection = opened.get(mlflow_experiment) if opened is not None else None
    if projection is None:
        projection = Projection(settings, mlflow_experiment, owner, records.identity, warn)
    else:
        projection.turn_to(owner)
    if opened is not None:
        opened[mlflow_experiment] = projection
    for key, record in evaluations.items():
        if projection.is_shown(key) and key in changed:
            view = run_view(record, key, records.evaluation_folder(records.run_of(owner, key)), None)
            costs = {work_name(name): value for name, value in view.work.items()}
            # Of two values of one step MLflow shows the later one.
            projection.amend(key, view.tags, costs, time.time())
        if projection.is_shown(key) or projection.away:
            continue
        run, experiment, about = records.run_of(owner, key), record["experiment"], record["about"]
        folder = records.evaluation_folder(run) / "artifacts"
        if key == SUMMARY:
            view, stage = sweep_view(record, folder), SWEEP_STAGE
        else:
            scored_test = experiment["split"] == TEST
            ends = interval_of(records, experiment["task"], about["primary"]["name"], [record] if scored_test else [])
            view, stage = run_view(record, key, folder, ends), FINAL_STAGE if scored_test else TRIAL_STAGE
        projection.show(view, run)
        series = tuple(view.series) if key == SUMMARY else ()
        new = page_facts(experiment, about, stages=(stage,), began=view.started, ended=view.ended, series=series)
        arrange(projection, new)
        if not projection.away:
            remove_learned(folder)
    return projection


class ShownStudy:
    """One study in MLflow; every call may be repeated without effect on what is shown already.

    ``folder``: where the study's workers leave what its trials learned, until it is shown.
    """

    def __init__(self, settings: Settings, records: Records, study: OpenStudy, folder: Path, warn: Warn) -> None:
        self.records, self.study, self.folder, self.warn = records, study, folder, warn
        self.values = study.values()
        mlflow_experiment = self.values["about"]["mlflow_experiment"]
        self.projection = Projection(settings, mlflow_experiment, study.owner, records.identity, warn)
        self.began = float(self.values.get("began", 0.0))
        self._shown: dict[int, str] = {}

    def begin(self) -> None:
        """Create the parent run, or open it again; from now on the page of its experiment shows the trials."""
        self.projection.show(self._parent(), self.study.run(PARENT))
        self._arrange((STUDY_STAGE, TRIAL_STAGE), self.began)

    def complete(self, trials: Sequence[Mapping[str, Any]], test: Sequence[Mapping[str, Any]]) -> bool:
        """Show how the study ended, with all that a server missed that was away; False where it is away still."""
        if self.projection.away and self.projection.returned():
            self._shown.clear()
            self.begin()
        self.trials(trials)
        for record in test:
            self.test(record, trials[record["winner"]])
        self.finish(trials, test)
        return not self.projection.away

    def trials(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Show the trials that are recorded and not shown yet."""
        for record in records:
            if self._shown.get(record["number"]) != record["state"] and not self.projection.away:
                self.trial(record)

    def trial(self, record: Mapping[str, Any]) -> None:
        """Show a trial; one that was tried again takes the place of what is shown of it."""
        number = record["number"]
        folder = trial_folder(self.folder, number)
        if not self.shows(record):
            view = trial_view(self.values, self.study.name, record, folder)
            self.projection.show(view, self.study.run(view.key), parent=PARENT)
        if not self.projection.away:
            # Also where a process that ended right after showing the trial has left its copies.
            shutil.rmtree(folder, ignore_errors=True)
            self._shown[number] = record["state"]

    def shows(self, record: Mapping[str, Any]) -> bool:
        """Tell whether a trial is shown as it ended."""
        return self.projection.status(trial_key(record["number"])) == TRIAL_STATUS[record["state"]]

    def test(self, record: Mapping[str, Any], trial: Mapping[str, Any]) -> None:
        """Show one test evaluation."""
        key = repeat_key(record["winner"], record["repeat"])
        if self.projection.is_shown(key):
            return
        run = self.study.run(key)
        folder = self.records.evaluation_folder(run) / "artifacts"
        ends = interval_of(self.records, self.values["identity"]["task"], self._primary, [record])
        self.projection.show(test_view(self.values, self.study.name, record, trial, folder, ends), run)
        if not self.projection.away:
            remove_learned(folder)

    def finish(self, trials: Sequence[Mapping[str, Any]], test: Sequence[Mapping[str, Any]]) -> None:
        """End the parent run with what the study noted at its end (``finished``)."""
        self.values = self.study.values()
        finished = self.values["finished"]
        staged = self.folder / PARENT
        staged.mkdir(parents=True, exist_ok=True)
        best = self.folder / "best.toml"
        if best.exists():
            shutil.copy(best, staged / best.name)
        (staged / "environment.json").write_text(json.dumps(self.values["environment"], indent=1))
        findings = [finding.to_json() for finding in findings_of(finished)]
        content = {**self.values["identity"], "prepared": finished["counts"], "findings": findings}
        (staged / "study.json").write_text(json.dumps(content, indent=1))
        ends = interval_of(self.records, self.values["identity"]["task"], self._primary, test)
        view = finished_view(self._parent(), self.values, self.study.name, trials, test, staged, ends)
        self.projection.show(view, self.study.run(PARENT))
        self._mark_finals(finished, len(trials))
        self._arrange((STUDY_STAGE, TRIAL_STAGE, FINAL_STAGE), finished["ended"])
        if not self.projection.away:
            shutil.rmtree(staged, ignore_errors=True)

    def _arrange(self, stages: tuple[str, ...], ended: float) -> None:
        facts = page_facts(self.values["identity"], self.values["about"], stages=stages, began=self.began, ended=ended)
        arrange(self.projection, facts)

    def _mark_finals(self, finished: Mapping[str, Any], trials: int) -> None:
        """Note with the final evaluations how many trials chose them, and which are of a former winner."""
        winner = trial_key(finished["winner"]) + "/"
        for key in [key for key in self.projection.runs if "/" in key]:
            stage = FINAL_STAGE if key.startswith(winner) else SUPERSEDED_STAGE
            metrics = {work_name("trials"): float(trials)}
            self.projection.amend(key, {"stage": stage}, metrics, finished["ended"])

    def stopped(self, ended: float, status: str = "KILLED") -> None:
        """Show the parent run as stopped (``KILLED``) or failed (``FAILED``)."""
        if not self.projection.away and self.projection.run_id(PARENT):
            self.projection.end(PARENT, status, ended)

    @property
    def _primary(self) -> str:
        return str(self.values["about"]["primary"]["name"])

    def _parent(self) -> Any:
        return study_view(self.values, self.study.name, self.began)


def interval_of(
    records: Records, task: str, metric: str, tested: Sequence[Mapping[str, Any]]
) -> tuple[float, float] | None:
    """Return the ends of the 95 % interval of the mean of a metric over repeats; None where nothing can be drawn.

    ``tested`` are the records of the repeats. Outcomes that are gone or damaged are no reason to show no run.
    """
    if not tested:
        return None
    drawn = []
    try:
        built = build_component("tasks", Spec.parse(task))
        for record in tested:
            drawn.append(replicates(built, records.evaluation_folder(record["run"]), only=[metric])[metric])
        mean = float(np.mean([record["metrics"][metric] for record in tested]))
        low, high = within(metric, mean, *centred_ends(mean, over_repeats(np.array(drawn))))
    except (ZslplatError, KeyError, ValueError):
        return None
    return (low, high) if np.isfinite([low, high]).all() else None


def remove_learned(folder: Path) -> None:
    """Remove from a record's artifacts what takes room and can be learned again: matrices and codes.

    Tables and figures stay, so that they can be shown again as they are.
    """
    for path in folder.rglob("scored_codes.npz"):
        path.unlink(missing_ok=True)
    for place in sorted(folder.rglob("matrices"), reverse=True):
        shutil.rmtree(place, ignore_errors=True)

"""Showing records in MLflow: a study as it grows, and any owner's runs again from the records alone."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from zslplat.checks.records import findings_of
from zslplat.evaluation.experiment import TEST
from zslplat.records.database import Records
from zslplat.records.folders import study_folder
from zslplat.records.studies import PARENT, SUMMARY, OpenStudy
from zslplat.settings import Settings
from zslplat.tracking.experiment_page import arrange, page_facts
from zslplat.tracking.history import write_history
from zslplat.tracking.intervals import interval_of
from zslplat.tracking.projection import Projection
from zslplat.tracking.run_view import FINAL_STAGE, STUDY_STAGE, SUPERSEDED_STAGE, SWEEP_STAGE, TRIAL_STAGE, work_name
from zslplat.tracking.search_figures import write_search_figures
from zslplat.tracking.views import (
    TRIAL_STATUS,
    finished_view,
    run_view,
    study_view,
    sweep_view,
    test_view,
    trial_view,
)

Warn = Callable[[str], None]
_LEARNED = "learned.json"
_MOST_OUTAGES = 3  # that are waited for at the end of a study


class ShownStudy:
    """One study in MLflow; every call may be repeated without effect on what is shown already.

    ``folder``: where the study's workers leave what its trials learned, until it is shown.
    """

    def __init__(
        self,
        settings: Settings,
        records: Records,
        study: OpenStudy,
        folder: Path,
        warn: Warn,
    ) -> None:
        self.records, self.study, self.folder, self.warn = records, study, folder, warn
        self.values = study.values()
        self.origin = self.values["origin"]
        mlflow_experiment = self.values["about"]["mlflow_experiment"]
        self.projection = Projection(settings, mlflow_experiment, study.owner, records.shown_as, warn)
        self.began = float(self.values.get("began", 0.0))
        self._shown: dict[int, str] = {}

    def begin(self) -> None:
        """Create the parent run, or open it again; from now on the page of its experiment shows the trials."""
        self.projection.show(self._parent(), self.study.run(PARENT))
        self._arrange((STUDY_STAGE, TRIAL_STAGE), self.began)

    def go_on(self, records: Sequence[Mapping[str, Any]], *, wait: bool = False) -> None:
        """Show what is missing of the trials; all that a server missed that was away, and is there again."""
        if self.projection.away and self.projection.returned(wait=wait):
            self._shown.clear()
            self.begin()
        self.trials(records)

    def complete(self, trials: Sequence[Mapping[str, Any]], test: Sequence[Mapping[str, Any]], winner: int) -> bool:
        """Show how the study ended, with all that is missing; False where the server is away for too long."""
        for _ in range(_MOST_OUTAGES):
            self.go_on(trials, wait=True)
            for record in test:
                self.test(record, trials[winner])
            self.finish(trials, test)
            if not self.projection.away:
                return True
        return False

    def trials(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Show the trials that are recorded and not shown yet."""
        for record in records:
            if self._shown.get(record["number"]) != record["state"] and not self.projection.away:
                self.trial(record)

    def trial(self, record: Mapping[str, Any]) -> None:
        """Show a trial; one that was tried again takes the place of what is shown of it."""
        number = record["number"]
        folder = self.folder / f"trial-{number:05d}"
        if not self.shows(record):
            view = trial_view(self.values, self.study.name, record, folder)
            self.projection.show(view, self.study.run(view.key), parent=PARENT)
        if not self.projection.away:
            # Also where a process that ended right after showing the trial has left its copies.
            shutil.rmtree(folder, ignore_errors=True)
            self._shown[number] = record["state"]

    def shows(self, record: Mapping[str, Any]) -> bool:
        """Tell whether a trial is shown as it ended."""
        return self.projection.status(f"trial-{record['number']}") == TRIAL_STATUS[record["state"]]

    def test(self, record: Mapping[str, Any], trial: Mapping[str, Any]) -> None:
        """Show one test evaluation."""
        key = f"trial-{record['winner']}/repeat-{record['repeat']}"
        if self.projection.is_shown(key):
            return
        run = self.study.run(key)
        folder = self.records.evaluation_folder(run) / "artifacts"
        ends = interval_of(self.records, self.values["identity"]["task"], self._primary, [record])
        self.projection.show(test_view(self.values, self.study.name, record, trial, folder, ends), run)
        if not self.projection.away:
            keep_small(folder)

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
        importance = write_search_figures(staged, self.study.optuna_trials(), self._primary, self.warn)
        content = {**self.values["identity"], "prepared": finished["counts"], "findings": findings}
        content["importance"] = importance.shares or importance.why_not
        (staged / "study.json").write_text(json.dumps(content, indent=1))
        write_history(staged, trials, self._primary, self.values["about"]["primary"]["maximise"], self.warn)
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
        winner = f"trial-{finished['winner']}/"
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


def show_study(settings: Settings, records: Records, name: str, warn: Warn) -> ShownStudy:
    """Show all that is recorded of a study; what is shown already is left as it is."""
    study = records.study(name)
    shown = ShownStudy(settings, records, study, study_folder(settings, name), warn)
    trials = [record for _, record in study.finished()]
    known = records.evaluations(study.owner)
    finished = shown.values.get("finished")
    if trials and not (shown.projection.is_shown(PARENT) and all(map(shown.shows, trials))):
        shown.begin()
    shown.trials(trials)
    for record in known.values():
        shown.test(record, trials[record["winner"]])
    test = [record for record in known.values() if finished and record["winner"] == finished["winner"]]
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
    found = {key: record for key, record in records.evaluations(owner).items() if "about" in record}  # no mere points
    if not found:
        return None
    mlflow_experiment = next(iter(found.values()))["about"]["mlflow_experiment"]
    projection = opened.get(mlflow_experiment) if opened is not None else None
    if projection is None:
        projection = Projection(settings, mlflow_experiment, owner, records.shown_as, warn)
    else:
        projection.turn_to(owner)
    if opened is not None:
        opened[mlflow_experiment] = projection
    for key, record in found.items():
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
            keep_small(folder)
    return projection


def keep_small(folder: Path) -> None:
    """Remove from a record's artifacts what takes room and can be learned again: matrices and codes.

    Tables, figures and the index of exemplars stay, so that they can be shown again as they are. What was removed is
    listed beside them.
    """
    gone = [path for path in folder.rglob("*") if path.is_file() and _is_learned(path.relative_to(folder))]
    if gone:
        names = sorted(str(path.relative_to(folder)) for path in gone)
        (folder.parent / _LEARNED).write_text(json.dumps(names, indent=1))
    for path in gone:
        path.unlink(missing_ok=True)
    for place in sorted(folder.rglob("matrices"), reverse=True):
        shutil.rmtree(place, ignore_errors=True)


def left_matrices(folder: Path) -> bool:
    """Tell whether an evaluation, by its folder, had matrices that its record does not hold."""
    return (folder / _LEARNED).exists()


def _is_learned(path: Path) -> bool:
    return "matrices" in path.parts[:-1] or path.name == "scored_codes.npz"

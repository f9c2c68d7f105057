"""Evaluating a recorded run again, and comparing the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from zslplat.data.catalogue import title_of
from zslplat.errors import AmbiguousNameError, StoreError, UnknownNameError
from zslplat.evaluation.components import open_dataset
from zslplat.evaluation.experiment import TEST, Experiment
from zslplat.evaluation.reporter import Reporter
from zslplat.keys import METRIC
from zslplat.listeners import run_of_alias
from zslplat.records.database import SEALED, EvaluationRecord, Records
from zslplat.records.overview import Overview
from zslplat.records.studies import STUDY, untested_error
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tuning.options import EvaluationOptions
from zslplat.tuning.single import run_experiment

_SAME = 1e-12
LATEST = "latest"  # names the final evaluation that was recorded last


@dataclass(frozen=True)
class RecordedRun:
    """A recorded evaluation: its name, its experiment, and its metrics."""

    name: str
    experiment: Experiment
    metrics: Mapping[str, float]


def find_record(settings: Settings, records: Records, run: str) -> EvaluationRecord:
    """Return a record by the run's identifier, the id that MLflow gave it, or what else names a final evaluation.

    This is a study, a method or its spec: the winner's evaluation on the test split, of random methods the first; where
    no study fits, single runs on that split. ``latest`` is the one that was recorded last. Raises
    :class:`AmbiguousNameError` where several fit, :class:`UnknownNameError` where none does, and :class:`StoreError`
    where a study's winner has no test evaluation.
    """
    match = records.find(run)
    if match is None and (alias := run_of_alias(settings, records, run)):
        match = records.find(alias)
    return match or _final_record(settings, records, run)


def _final_record(settings: Settings, records: Records, name: str) -> EvaluationRecord:
    finals: dict[str, EvaluationRecord] = {}
    run_of, overview = records.runs(), Overview(records, ["finished"])
    for owner, key, record in records.all_evaluations():
        is_test = owner.startswith((STUDY, "run:")) and record.get("experiment", {}).get("split") == TEST
        if is_test and record.get("state") != "failed" and not record.get("repeat"):
            study = owner.removeprefix(STUDY) if owner.startswith(STUDY) else ""
            if owner not in finals or finals[owner].record.get("winner") != _winner(overview, study):
                finals[owner] = EvaluationRecord(run_of(owner, key), owner, key, study, record)
    if name == LATEST and not finals:
        raise StoreError(f"no test evaluation is recorded in {settings.store}; tune something first")
    newest = sorted(finals.values(), key=lambda final: final.record["created"], reverse=True)
    methods = {final.run: final.record["experiment"]["method"] for final in newest}
    fitting = newest[:1] if name == LATEST else [final for final in newest if final.study == name]
    of_method = [final for final in newest if name in (methods[final.run], methods[final.run].partition("(")[0])]
    fitting = fitting or [final for final in of_method if final.study] or of_method
    identities = records.identities()
    if len(fitting) == 1:
        final, trial = fitting[0], fitting[0].record.get("winner")
        if _winner(overview, final.study) in (None, trial):
            return final
        raise untested_error(final.study, f", or run {final.run}, of trial {trial}, which won before")
    if fitting:
        raise AmbiguousNameError("run", name, {final.run: _described(final, identities) for final in fitting})
    for study, identity in identities.items():
        if name in (study, method := str(identity.get("method")), method.partition("(")[0]):
            raise untested_error(study)
    names = {text for final in newest for text in (final.study, methods[final.run].partition("(")[0]) if text}
    raise UnknownNameError("run, study or method", name, {*names, LATEST}, lister="studies")


def _winner(overview: Overview, study: str) -> int | None:
    """Return the winning trial of a study as it ended last; None for what is no study, or has not ended."""
    return (overview.value(study, "finished") or {}).get("winner")


def _described(final: EvaluationRecord, identities: Mapping[str, Mapping[str, Any]]) -> str:
    experiment, value = final.record["experiment"], final.record.get("value")
    of = f", study {final.study}" if final.study else ""
    metric = str(identities.get(final.study, {}).get(METRIC, "")).partition(",")[0]
    if metric in final.record["metrics"]:
        reached = f": {metric} {final.record['metrics'][metric]:.4f}"
    else:
        reached = "" if value is None else f": {value:.4f}"
    dataset = title_of(Spec.parse(experiment["dataset"]))
    return f"{experiment['method'].partition('(')[0]} on {dataset}, {experiment['task']}{reached}{of}"


def find_run(settings: Settings, records: Records, run: str) -> RecordedRun:
    """Return a run that can be evaluated again; raises :class:`StoreError` for one that is not one evaluation."""
    match = find_record(settings, records, run)
    record = match.record
    kinds = [kind for beginning, kind in (("sweep:", "sweep"), (SEALED, "oracle")) if match.owner.startswith(beginning)]
    if kinds or record.get("state") == "failed":
        kind = kinds[0] if kinds else "failed"
        raise StoreError(f"run {run!r} is a {kind} run, which is not one evaluation; give a trial, final or single run")
    if "outside" in record:
        raise StoreError(
            f"run {run!r} is of scores that were made elsewhere, which cannot be made again here; give their file to "
            "`zslplat score` once more, which says whether they are the same"
        )
    experiment = record["experiment"]
    key = match.key if match.study else f"{experiment['method'].partition('(')[0]} {experiment['split']}"
    return RecordedRun(key, Experiment.from_json(experiment), record["metrics"])


def evaluate_again(
    settings: Settings, recorded: RecordedRun, *, workers: int, reporter: Reporter
) -> tuple[dict[str, float], int, list[str]]:
    """Evaluate a run again; returns its metrics now, how many were compared, and a line for each that differs.

    Raises :class:`StoreError` where the data have changed.
    """
    experiment = recorded.experiment
    now = open_dataset(experiment.dataset, settings).fingerprint
    if now != experiment.data:
        raise StoreError(
            f"the data of run {recorded.name!r} have changed: fingerprint {experiment.data[:16]} then, {now[:16]} now; "
            "restore the files to run it again"
        )
    plain = replace(experiment, split="", method_seed=None, validation_choices={})
    options = EvaluationOptions(
        test=experiment.split == TEST,
        validation_choices=experiment.validation_choices,
        workers=workers,
        method_seed=experiment.method_seed,
        recall=False,
        kind="rerun",
    )
    result = run_experiment(plain, options, settings, reporter)
    metrics = result.metrics[0]
    return metrics, *differences(recorded.metrics, metrics)


def differences(recorded: Mapping[str, float], metrics: Mapping[str, float]) -> tuple[int, list[str]]:
    """Compare new metrics with the recorded ones; return how many were compared, and a line per difference."""
    lines, compared = [], 0
    for name, value in metrics.items():
        before = recorded.get(name)
        if before is None:
            continue
        compared += 1
        if abs(before - value) > _SAME * max(1.0, abs(before)):
            lines.append(f"{name}: recorded {before!r}, now {value!r}")
    return compared, lines

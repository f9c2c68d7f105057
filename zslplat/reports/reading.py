"""Studies, runs and sweeps of a store as a report takes them; what cannot be read is noted and left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from zslplat.checks.records import findings_of
from zslplat.errors import StoreError
from zslplat.evaluation.experiment import TEST
from zslplat.records.database import Records
from zslplat.records.folders import study_folder
from zslplat.records.overview import Overview
from zslplat.records.studies import STUDY, SUMMARY
from zslplat.reports.facts import Evaluation, Recorded, Sweep
from zslplat.settings import Settings

RUN, SWEEP = "run:", "sweep:"
Warn = Callable[[str], None]


def recorded_studies(records: Records, settings: Settings, warn: Warn) -> list[Recorded]:
    """Return all studies of this program, oldest first, without their trials (:func:`with_trials`).

    ``warn`` is told of those that are damaged.
    """
    found = []
    known = Overview(records)
    by_owner: dict[str, list[dict[str, Any]]] = {}
    for owner, _, record in records.evaluations_on_split(TEST):
        by_owner.setdefault(owner, []).append(record)
    for name, identity in records.identities().items():
        try:
            values = known.values(name)
        except StoreError as error:
            warn(f"{error}; study {name!r} is left out")
            continue
        finished = values.get("finished")
        tested = []
        if finished is not None:
            tested = [record for record in by_owner.get(STUDY + name, []) if record["winner"] == finished["winner"]]
        config = study_folder(settings, name) / "best.toml"
        found.append(
            Recorded(
                name,
                identity,
                values.get("about", {}),
                values.get("environment", {}),
                _evaluations(records, tested),
                finished=finished,
                findings=findings_of(finished or {}, name),
                config=config if config.is_file() else None,
                chance=values.get("chance"),
                test_chance=values.get("test_chance"),
            )
        )
    return _with_sources(found)


def _with_sources(studies: Sequence[Recorded]) -> list[Recorded]:
    """Return studies, oldest first, with the older ones at whose best trials they began."""
    linked: dict[str, Recorded] = {}
    for entry in studies:
        begun = str(entry.warm_start["from"]) if entry.warm_start else ""
        source = linked.get(begun.rpartition(":")[0])
        linked[entry.name] = entry if source is None else replace(entry, source=source)
    return list(linked.values())


def with_trials(records: Records, found: Sequence[Recorded], warn: Warn) -> list[Recorded]:
    """Return studies with their trials, and runs as they are; ``warn`` is told of those that are damaged, left out."""
    known = Overview(records, ("finished",))
    read = (_read(known, entry, warn) if entry.study else entry for entry in found)
    return [entry for entry in read if entry is not None]


def _read(known: Overview, entry: Recorded, warn: Warn) -> Recorded | None:
    """Return a study with its trials, and with its source and those of it; None where it is damaged."""
    try:
        trials = [record for _, record in known.finished(entry.name)]
    except StoreError as error:
        warn(f"{error}; study {entry.name!r} is left out")
        return None
    source = None if entry.source is None else _read(known, entry.source, warn)
    return replace(entry, trials=trials, source=source)


def recorded_runs(records: Records) -> list[Recorded]:
    """Return the runs of their own, on whichever split, oldest first.

    Scores made elsewhere may be of both splits: what is shown is then the test, and findings are those of both.
    """
    by_owner: dict[str, list[dict[str, Any]]] = {}
    for owner, _, record in records.all_evaluations([RUN]):
        if "experiment" in record:
            by_owner.setdefault(owner, []).append(record)
    runs = []
    for found in by_owner.values():
        shown = [record for record in found if record["experiment"].get("split") == TEST] or found
        beside = [record for record in found if record not in shown]
        runs.append(
            Recorded(
                f"run {shown[0]['run'][:8]}",
                shown[0]["experiment"],
                shown[0].get("about", {}),
                shown[0].get("environment", {}),
                _evaluations(records, shown),
                study=False,
                findings=list(dict.fromkeys(one for r in found for one in findings_of(r, str(r["run"])))),
                validated=_evaluations(records, beside),
            )
        )
    return runs


def recorded_sweeps(records: Records) -> list[Sweep]:
    """Return the sweeps that came to their end."""
    found = []
    for owner in records.owners():
        summary = records.evaluations(owner).get(SUMMARY, {}) if owner.startswith(SWEEP) else {}
        if {"experiment", "parameter", "values", "curves"} <= set(summary):
            primary = summary.get("about", {}).get("primary", {}).get("name", "score")
            found.append(
                Sweep(
                    summary["experiment"],
                    str(summary["parameter"]),
                    summary["values"],
                    summary["curves"],
                    primary,
                    findings_of(summary, owner),
                )
            )
    return found


def _evaluations(records: Records, found: Sequence[Mapping[str, Any]]) -> list[Evaluation]:
    ordered = sorted(found, key=lambda record: int(record.get("repeat", 0)))
    return [Evaluation(record, records.evaluation_folder(str(record["run"])) / "artifacts") for record in ordered]


def has_test(recorded: Recorded) -> bool:
    """Tell whether something was scored on the test split."""
    return bool(recorded.tested) and recorded.split == TEST

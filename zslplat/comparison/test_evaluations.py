"""The test evaluations that a store's records hold for one task on one data set, as the comparison reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.comparison.leaderboard import BASELINE
from zslplat.comparison.naming import called, meant
from zslplat.comparison.paired import Scored
from zslplat.comparison.recorded import Reader, Recorded
from zslplat.data.catalogue import available
from zslplat.data.source import DataPlaces
from zslplat.errors import StoreError, UnknownNameError, ZslplatError
from zslplat.evaluation.components import build_component, is_from_memory, knowledge, registered_sources
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.scoring.outcomes import class_values, read_outcomes, replicates
from zslplat.records.database import Records
from zslplat.records.opening import existing_records
from zslplat.records.took import costs
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tasks.base import Metric, Task
from zslplat.tracking.alias import run_of_alias


def read_test_evaluations(
    settings: Settings,
    dataset: str,
    task: str,
    names: Sequence[str] = (),
    against: str | None = None,
    *,
    warn: Callable[[str], None],
) -> list[Scored]:
    """Return the test evaluations of all studies (and single test runs) of a task on a data set.

    They are of its newest data, but for studies and runs that are named.

    ``dataset`` and ``task`` are specs as they were given to ``tune``. ``names`` restricts the result to these studies,
    methods, method specs, labels or runs, and the one named ``against``. ``warn`` is told of outcomes that cannot be
    read, whose evaluations then have no replicates. Raises :class:`StoreError` where nothing was
    recorded, :class:`UnknownNameError` for a name that fits nothing, and for a data set that nobody knows.
    """
    records = existing_records(settings, warn)
    reader = Reader(records, warn)
    groups = reader.read(dataset, task)
    if not groups:
        raise nothing_recorded(settings, dataset, task, reader)
    names = [run_of_alias(settings, records.shown_as, name) or name for name in names]
    data, wanted = newest_data(groups), set(names)
    groups = [group for group in groups if group.data == data or wanted & {group.name, *group.names}]
    entries = entries_of(groups)
    kept = list(range(len(entries)))
    if names:
        kept = [i for name in names for i in called(name, entries)]
        kept += [] if against is None else meant(against, entries, BASELINE)
    built = build_component("tasks", Spec.parse(task))
    chosen = [with_outcomes(entries[i], groups[i], records, built, warn) for i in dict.fromkeys(kept)]
    records.close()
    return chosen


def newest_data(groups: Sequence[Recorded]) -> str:
    """Return the fingerprint of the data set that was evaluated last."""
    return max(groups, key=lambda group: group.created).data


def entries_of(groups: Sequence[Recorded]) -> list[Scored]:
    """Return what the records of each group say themselves, without what is made from outcomes, which are files.

    An entry is labelled by its method, and by its study or run as well where several entries have the same one.
    """
    several = Counter(group.method for group in groups)
    from_memory = {method: _from_memory(method) for method in several}
    return [_entry(group, several, from_memory) for group in groups]


def with_outcomes(
    entry: Scored,
    group: Recorded,
    records: Records,
    task: Task,
    warn: Callable[[str], None],
    only: Collection[str] | None = None,
) -> Scored:
    """Return an entry with what its intervals are made of; ``warn`` is told of outcomes that cannot be read.

    ``only``: the metrics that are needed, all where it is None.
    """
    drawn = _replicates(records, group, task, warn, only)
    return replace(entry, replicates=drawn, **_over_classes(records, group, task, only))


def nothing_recorded(settings: Settings, dataset: str, task: str | None, reader: Reader) -> ZslplatError:
    """Return the error that says that nothing is recorded of a task on a data set, or that nobody knows the latter.

    None is for any task. What the task is recorded on instead is named, newest first.
    """
    try:
        _require_known(settings, dataset, reader.records)
    except UnknownNameError as unknown:
        return unknown
    tasks = reader.tasks() if task is None else [task]
    others = list(dict.fromkeys(name for one in tasks for name in reader.datasets(one)))[::-1]
    more = f", ... ({len(others)} in all)" if len(others) > 3 else ""
    hint = f"; recorded is {', '.join(others[:3])}{more}: choose with --dataset" if others else ""
    of_task = "" if task is None else f" of task {task}"
    return StoreError(f"no test evaluation{of_task} on {dataset} in {settings.store}{hint or '; tune it first'}")


def _require_known(settings: Settings, dataset: str, records: Records) -> None:
    """Raise :class:`UnknownNameError` for a data set without a source and without a record of any task."""
    name = Spec.parse(dataset).name
    if settings.data_root is not None and (settings.data_root / name).exists():
        return
    places = DataPlaces(settings.data_root, settings.cache / "data", settings.arrays)
    known = {entry.name for entry in available(places, registered_sources())}
    recorded = {str(identity["dataset"]) for identity in records.identities().values()}
    recorded |= {str(r["experiment"]["dataset"]) for _, _, r in records.all_evaluations() if "experiment" in r}
    known |= {Spec.parse(text).name for text in recorded}
    if name not in known:
        where = f"built in, nor under a data root, nor recorded in {settings.store}"
        raise UnknownNameError(f"data set (neither {where}):", name, known)


def _entry(group: Recorded, several: Mapping[str, int], from_memory: Mapping[str, bool]) -> Scored:
    """Return what a group's records say themselves, without the replicates, which are files."""
    first, labelled = group.tested[0], f"{group.method} [{group.name}]"
    words = {f"[{text}]" for text in (group.tag, group.digest, *group.particulars.values())}
    values = [_values(record) for record in group.tested]
    return Scored(
        label=labelled if several[group.method] > 1 else group.method,
        study=group.name,
        method=group.method,
        values={name: [found[name] for found in values] for name in values[0] if all(name in v for v in values)},
        replicates={},
        validation=group.validation,
        knows=first["knows"] if "knows" in first else _knowledge(first["experiment"]),
        rows=group.rows,
        data=group.data,
        images=group.images,
        names=frozenset({labelled, *group.names, *words}),
        code=group.code,
        from_memory=from_memory[group.method],
        primary=Metric(**group.about["primary"]) if "primary" in group.about else None,
    )


def _values(record: Mapping[str, Any]) -> dict[str, float]:
    """Return a record's metrics, what the method reports of itself (incoherence, say), seconds and memory."""
    numbers = {k: float(v) for fold in record["folds"] for k, v in fold.get("numbers", {}).items()}
    return {**numbers, **costs(record), **{k: float(v) for k, v in record["metrics"].items()}}


def _knowledge(experiment: Mapping[str, Any]) -> str | None:
    with suppress(ZslplatError):
        asked = Experiment.from_json(experiment)
        return knowledge(asked.method, asked.signatures)
    return None


def _from_memory(method: str) -> bool:
    with suppress(ZslplatError):
        return is_from_memory(Spec.parse(method))
    return False


def _replicates(
    records: Records, group: Recorded, task: Task, warn: Callable[[str], None], only: Collection[str] | None
) -> dict[str, np.ndarray]:
    """Return {metric: (repeats, b)} of the metrics whose replicates all records of a group have."""
    folders = [records.evaluation_folder(record["run"]) for record in group.tested]
    tables = [_own_replicates(task, r, folder, warn, only) for r, folder in zip(group.tested, folders, strict=True)]
    if not all(tables) and any(_is_of_one_group(folder) for folder, t in zip(folders, tables, strict=True) if not t):
        warn(
            f"{group.name}: no interval over these test rows: its rows are recorded as one group, of which nothing can "
            "be drawn; where its data set says what rows are made of, as digit-pairs does, an evaluation by this "
            "version records it"
        )
    shared = [name for name in tables[0] if all(len(t.get(name, ())) == len(tables[0][name]) for t in tables)]
    return {name: np.array([table[name] for table in tables]) for name in shared}


def _is_of_one_group(folder: Path) -> bool:
    """Tell whether recorded outcomes say of all rows that they are of one group, and not what each is made of."""
    try:
        columns = read_outcomes(folder).columns
    except StoreError:
        return False
    return "made_of" not in columns and "group" in columns and len(np.unique(columns["group"])) == 1


def _own_replicates(
    task: Task, record: Mapping[str, Any], folder: Path, warn: Callable[[str], None], only: Collection[str] | None
) -> dict[str, np.ndarray]:
    """Return {metric: (b,)} of one evaluation; those of migrated records are all that is left of their outcomes."""
    written = any("outcomes" in fold for fold in record["folds"])
    if (folder / "outcomes.json").exists() or (written and not (folder / "replicates.npz").exists()):
        try:
            return replicates(task, folder, only=only)
        except StoreError as error:
            warn(f"{error}; until then it has no intervals")
            return {}
    try:
        with np.load(folder / "replicates.npz", allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError):
        return {}


def _over_classes(records: Records, group: Recorded, task: Task, only: Collection[str] | None) -> dict[str, Any]:
    """Return the ``classes`` and ``kinds`` of an entry: {metric: (repeats, C)}; nothing where a record lacks them.

    Outcomes that cannot be read have been told of with the replicates.
    """
    tables = []
    for record in group.tested:
        try:
            found = class_values(task, records.evaluation_folder(record["run"]), only)
        except StoreError:
            return {}
        if found is None:
            return {}
        tables.append(found)
    kinds = tables[0].kinds
    if any(not np.array_equal(table.kinds, kinds) for table in tables):
        return {}
    shared = [name for name in tables[0].values if all(name in table.values for table in tables)]
    return {"classes": {name: np.array([t.values[name] for t in tables]) for name in shared}, "kinds": kinds}

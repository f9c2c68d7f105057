"""Looking after a store: is it whole, what can go, and taking over what another store holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from zslplat.data.store.atomic_files import drafts_in
from zslplat.data.store.stored_sets import copy_stored_sets
from zslplat.errors import StoreError
from zslplat.models.folder import MODEL, share, unneeded
from zslplat.records.database import SEALED, Records, damaged
from zslplat.records.folders import folder_name, working_lock
from zslplat.records.locks import file_lock
from zslplat.records.outages import lasting_errors
from zslplat.records.overview import Overview
from zslplat.records.studies import RETRIED, STUDY, OpenStudy, counted_in, parts_of
from zslplat.settings import Settings


@dataclass
class Merged:
    """What a merge took over: names of studies, number of evaluations, and a line for each study that was left out.

    ``tagged`` counts what was here already and got tags or suites of its copy there.
    """

    studies: list[str] = field(default_factory=list)
    evaluations: int = 0
    tagged: int = 0
    left_out: list[str] = field(default_factory=list)


def recorded_runs(records: Records) -> dict[str, tuple[str, str]]:
    """Return {run: (owner, key)} of all recorded evaluations, trials left out, those included that are damaged."""
    run_of = records.runs()
    places = [(owner, key) for owner, key, _ in records.all_evaluations()]
    return {run_of(owner, key): (owner, key) for owner, key in (*places, *sorted(records.damaged))}


def problems_of(records: Records) -> Iterator[str]:
    """Yield a line for everything in the database that is not as it was written."""
    names, overview = records.study_names(), Overview(records)
    for name in names:
        try:
            values = overview.values(name)
            overview.finished(name)
        except StoreError as error:
            yield str(error)
            continue
        if "identity" not in values:
            yield f"study {name!r} was written by another program"
    owners = {STUDY + name for name in names}
    for owner, key, _ in records.all_evaluations():
        if owner.startswith(STUDY) and owner not in owners:
            yield f"evaluation {key} belongs to {owner}, which is not recorded"
    for owner, key in sorted(records.damaged):
        yield damaged(owner, key)


def lies_elsewhere(settings: Settings, records: Records, owner: str, run: str) -> bool:
    """Tell whether the outcomes of an evaluation are another folder's, with which this one shares the database."""
    if records.evaluation_folder(run).is_dir():
        return False
    if records.path is None or records.path.absolute() != settings.store / "optuna.db":
        return True
    # A command that evaluates for an owner leaves a folder of it.
    study = owner.removeprefix(STUDY) if owner.startswith(STUDY) else ""
    return not (settings.studies / (folder_name(study) if study else owner.replace(":", "-"))).exists()


def at_rest(settings: Settings) -> AbstractContextManager[None]:
    """Keep commands that evaluate out of a store; raises :class:`StoreError` where one is at work."""
    return file_lock(working_lock(settings), wait_seconds=0, holder=f"the store {settings.store}")


def removable(settings: Settings, records: Records) -> dict[Path, str]:
    """Return {path: why} of what a store does not need: outcomes without a record, logs of what is over.

    While a command evaluates, what it has written and not recorded yet looks like that: see :func:`at_rest`.
    """
    paths: dict[Path, str] = {}
    runs = recorded_runs(records)
    owners = {owner.replace(":", "-") for owner in records.owners()}
    studies = {folder_name(name) for name in records.study_names()}
    for folder in _folders(settings.store / "evaluations"):
        if folder.name not in runs:
            paths[folder] = "outcomes of an evaluation that is not recorded"
        else:
            paths |= {path: "left by a command that was stopped as it wrote it" for path in drafts_in(folder)}
    paths |= {path: "an array that no model needs" for path in unneeded(settings.store, paths)}
    for folder in _folders(settings.studies):
        if (folder / "unshown").exists():
            continue  # MLflow does not show all of it yet
        if folder.name not in studies and folder.name not in owners:
            paths[folder] = "left by a command that recorded nothing"
        else:
            paths |= {path: "log of workers that have ended" for path in folder.glob("workers.log*") if _free(folder)}
    return paths


def _free(folder: Path) -> bool:
    """Tell whether no leader works in a study's folder."""
    lock = folder / "leader.lock"
    if not lock.exists():
        return True
    try:
        with file_lock(lock, wait_seconds=0):
            return True
    except StoreError:
        return False


def size_of(path: Path) -> int:
    """Return the bytes that a file, or all files below a folder, take."""
    files = [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]
    return sum(file.stat().st_size for file in files)


def remove(path: Path) -> None:
    """Remove a file or folder of a store."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def delete_records(records: Records, study: str) -> int:
    """Delete a study from the database, its evaluations first and its oracle's; return how many trials it had.

    Stopped in between it is a study without evaluations, which can be deleted as well.
    """
    import optuna

    with lasting_errors(records.url):
        trials = len(records.study(study).study.get_trials(deepcopy=False))
        with records.engine.begin() as connection:
            for owner in (STUDY + study, SEALED + study):
                connection.execute(sa.text("delete from zslplat_evaluations where owner = :own"), {"own": owner})
        optuna.delete_study(study_name=study, storage=records.storage)
    return trials


def merge(records: Records, settings: Settings, other: Records, theirs: Settings) -> Merged:
    """Take over the studies and evaluations of another store that this one does not hold; nothing that is here is lost.

    A study of a name that is taken is left out, unless it is the same study, of which a copy grew longer there. What
    both stores hold has the tags and suites of both, and of two tags of one name the one that is here.
    """
    merged = Merged()
    if records.path and other.path and records.path.samefile(other.path):
        raise StoreError(f"{settings.store} and {theirs.store} are one store; give another one to take over")
    copy_stored_sets(theirs.arrays, settings.arrays)  # what the records were made of comes first
    left = set()
    for name in other.identities():
        try:
            with records.leads.leading(name, settings.studies / folder_name(name) / "leader.lock"):
                if _take_study(records, other, name):
                    merged.studies.append(name)
                elif _take_tags(records.study(name), other.study(name)):
                    merged.tagged += 1
                _take_configuration(settings, theirs, name, again=name in merged.studies)
        except StoreError as error:
            left.add(STUDY + name)
            merged.left_out.append(str(error))
    present = {(owner, key): content.get("about", {}) for owner, key, content in records.all_evaluations()}
    run_of = other.runs()
    for owner, key, content in other.all_evaluations():
        if owner in left:
            continue
        if (owner, key) in present:
            ours = present[owner, key]
            tagged = _with_tags(ours, content.get("about", {}), ours)
            if tagged != ours:
                records.replace_evaluation(owner, key, {**records.evaluations(owner)[key], "about": tagged})
                merged.tagged += 1
            continue
        run = run_of(owner, key)
        if other.evaluation_folder(run).is_dir():
            shutil.copytree(other.evaluation_folder(run), records.evaluation_folder(run), dirs_exist_ok=True)
        share(records.evaluation_folder(run) / MODEL, settings.store)
        split, fingerprint = other.place_of(owner, key)
        records.add_evaluation(owner, key, split, fingerprint, content)
        merged.evaluations += 1
    for data in other.data_with_looks():
        more = other.looks(data)
        records.change_looks(data, lambda looks, more=more: looks.update({**more, **looks}))  # type: ignore[misc]
    return merged


def _take_study(records: Records, other: Records, name: str) -> bool:
    """Take over what the other store's study holds beyond ours; False where that is nothing.

    May be stopped anywhere and repeated: a study knows first what it is, then its trials, then how it ended. Raises
    :class:`StoreError` where ours is another study.
    """
    theirs = other.study(name)
    values = theirs.values()
    identities = records.identities()
    if name not in identities:
        ours = records.new_study(name, theirs.maximise)
        if ours.finished():
            raise StoreError(f"study {name!r} was written by another program here")
        for key in ("origin", "identity"):
            ours.note(key, values.get(key))
    ours = records.study(name)
    if not _same_study(ours, theirs):
        raise StoreError(f"study {name!r} is another one in each of the two stores")
    more = ours.extend(theirs)
    before = ours.values()
    if not (more or name not in identities or set(values) - set(before) or _ended(values) > _ended(before)):
        return False
    for key, value in values.items():
        if key == RETRIED:
            value = {**value, **before.get(key, {})}
        if key == "about":
            value = _with_tags(value, value, before.get(key, {}))
        ours.note(key, value)
    return True


def _take_tags(ours: OpenStudy, theirs: OpenStudy) -> bool:
    """Give a study the tags and suites that only its copy has; False where there are none."""
    before = ours.values().get("about", {})
    tagged = _with_tags(before, theirs.values().get("about", {}), before)
    if tagged == before:
        return False
    ours.note("about", tagged)
    return True


def _with_tags(about: Mapping[str, Any], *copies: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``about`` with the tags and suites of its copies; of two tags of one name the last."""
    tags = {name: value for copy in copies for name, value in copy.get("tags", {}).items()}
    described = counted_in(about, *(part for copy in copies for part in parts_of(copy)))
    return {**described, "tags": tags} if tags else described


def _same_study(ours: OpenStudy, theirs: OpenStudy) -> bool:
    """Tell whether two studies are copies of one, as far as both go; one may have tried again what failed."""
    if ours.values().get("origin") != theirs.values().get("origin"):
        return False
    pairs = [(a, b) for (_, a), (_, b) in zip(ours.finished(), theirs.finished(), strict=False)]
    return all(json.dumps(a["parameters"]) == json.dumps(b["parameters"]) for a, b in pairs) and all(
        json.dumps(a["value"]) == json.dumps(b["value"]) for a, b in pairs if "failed" not in (a["state"], b["state"])
    )


def _ended(values: Mapping[str, Any]) -> float:
    return float(values.get("finished", {}).get("ended", 0.0))


def _take_configuration(settings: Settings, theirs: Settings, name: str, *, again: bool) -> None:
    place = Path(folder_name(name)) / "best.toml"
    if (theirs.studies / place).exists() and (again or not (settings.studies / place).exists()):
        (settings.studies / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(theirs.studies / place, settings.studies / place)


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []

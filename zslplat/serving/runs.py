"""The models of the runs of a store: which there are, loading one, removing one."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zslplat.errors import StoreError, UsageError, quoted
from zslplat.models.folder import MODEL, bytes_of, exists, free, read_content
from zslplat.models.model import load_saved
from zslplat.records.database import Records
from zslplat.settings import Settings
from zslplat.tuning.rerun import find_record

HOW_TO_HAVE = "give a final run of `tune`, `run --test` or `bench`, evaluated without --no-model"


@dataclass(frozen=True)
class StoredModel:
    """A model of a store: its run, of which study (empty for single runs), what it is of, and the bytes of its arrays.

    ``problem`` says what is wrong with one that cannot be read; ``value`` is the primary metric of its test.
    """

    run: str
    study: str
    method: str
    dataset: str
    task: str
    value: float | None
    bytes: int
    problem: str = ""


@dataclass(frozen=True)
class ModelPlace:
    """Where a model lies: its folder, its run and its study, or empty."""

    folder: Path
    run: str = ""
    study: str = ""

    def load(self) -> Any:
        """Return the model."""
        return load_saved(self.folder)

    def line(self, model: Any) -> str:
        """Return what the model is of and where it is from: ``model: eszsl on digit-pairs, study NAME, run RUN``."""
        names = (f"{noun} {name}" for noun, name in (("study", self.study), ("run", self.run)) if name)
        source = ", ".join(names) or f"folder {self.folder}"
        return f"model: {model.title}, {source}"


def load_model(source: str | Path, *, store: str | Path | None = None, settings: Settings | None = None) -> Any:
    """Return the model of a run, or of a folder: an export, an MLflow model, or one of a store.

    The object has ``predict(X)``, ``decision_function(X)``, ``classes`` and ``describe()``; zero-shot ones take the
    ``signatures`` of new classes and ``generalised`` (:class:`zslplat.families.zero_shot.model.ZeroShotModel`).
    ``source``: a RUN as commands print it, or a path; ``store``: folder of the store, by default the one that
    commands use.

    Raises :class:`~zslplat.errors.UsageError` for what is neither and for an unknown run, and
    :class:`~zslplat.errors.StoreError` for a run without a model, and a model that is damaged, changed by hand, or of
    a newer version.

    Example::

        model = zslplat.load_model("f4792f6de55fb9e2")
        model.predict(X, {"okapi": okapi_attributes, "zebra": zebra_attributes})
    """
    if not isinstance(source, str | Path):
        raise UsageError(f"source={quoted(source, 80)}: expected a RUN or a folder, as a text")
    return find_model(source, settings, store).load()


def find_model(source: str | Path, settings: Settings | None, store: str | Path | None = None) -> ModelPlace:
    """Return where the model of a run or of a folder lies; raises as :func:`load_model` does."""
    folder = model_in(Path(source))
    if folder is not None:
        return ModelPlace(folder)
    from zslplat.records.opening import existing_records
    from zslplat.settings import resolve_settings

    settings = settings or resolve_settings({"store": str(store)} if store is not None else None)
    with existing_records(settings, lambda text: None) as records:
        folder = model_folder(settings, records, str(source))
        match = find_record(settings, records, str(source))
        return ModelPlace(folder, match.run, match.study)


def model_in(path: Path) -> Path | None:
    """Return the folder of the model that a path leads to: itself, that of an evaluation, or of an MLflow model."""
    for folder in (path, path / MODEL, path / "artifacts" / MODEL):
        if exists(folder):
            return folder
    return None


def model_folder(settings: Settings, records: Records, run: str) -> Path:
    """Return the folder of the model of a run; raises :class:`StoreError` where there is none, and says why."""
    match = find_record(settings, records, run)
    folder = records.evaluation_folder(match.run) / MODEL
    if exists(folder):
        return folder
    state: dict[str, Any] = next((f["model"] for f in match.record.get("folds", []) if "model" in f), {})
    if "left_out" in state:
        raise StoreError(f"run {run!r} has no model: {state['left_out']}")
    if state:
        raise StoreError(f"the model of run {run!r} was removed; give the command of the run again to have it anew")
    raise StoreError(f"run {run!r} has no model; {HOW_TO_HAVE}")


def stored_models(settings: Settings, records: Records) -> list[StoredModel]:
    """Return the models of the recorded evaluations of a store, oldest first."""
    run_of, models = records.runs(), []
    for owner, key, record in records.all_evaluations():
        run = run_of(owner, key)
        folder = records.evaluation_folder(run) / MODEL
        if not exists(folder):
            continue
        study = owner.removeprefix("study:") if owner.startswith("study:") else ""
        try:
            content = read_content(folder)
            experiment = content["experiment"]
            described = (str(experiment["method"]), str(experiment["dataset"]), str(experiment["task"]))
            size, problem = bytes_of(folder), ""
        except (StoreError, KeyError, TypeError) as error:
            described, size, problem = ("", "", ""), 0, str(error)
        value = record.get("value")
        models.append(StoredModel(run, study, *described, value, size, problem))
    return models


def remove_model(settings: Settings, records: Records, run: str) -> int:
    """Remove the model of a run, and the arrays that no other has; return the bytes that this frees."""
    folder = model_folder(settings, records, run)
    statuses = [file.stat() for file in folder.rglob("*") if file.is_file()]
    size = sum(status.st_size for status in statuses if status.st_nlink == 1)
    shutil.rmtree(folder)
    return size + free(settings.store)

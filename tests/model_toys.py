"""Models of methods that were fitted on a small data set, written and read back without any command."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.data.store.preprocessing import Preprocessing
from zslplat.evaluation.cache.problems import load_problem, preprocess, save_problem
from zslplat.models.folder import save_model, state_within
from zslplat.models.model import load_saved
from zslplat.registry import component
from zslplat.spec import Spec
from zslplat.testing.problems import class_problem

# So that no method takes long.
SHORT = {"epochs": 2, "iterations": 2, "steps": 50, "atoms": 8}
ROOM = 2**30


def animals(shared: bool = False, **changes: Any) -> Dataset:
    """Eight seen and four unseen classes, attributes with names, rows without any preprocessing."""
    made = class_problem(Preprocessing(), shared=shared)
    X, y = np.vstack([made.X, made.X_pool]), np.concatenate([made.y, made.y_pool])
    pool = np.arange(len(made.X), len(X))
    seen = made.seen[y[pool]]
    names = tuple(f"animal {number}" for number in range(len(made.S_pool)))
    attributes = tuple(f"trait {number}" for number in range(made.S_pool.shape[1]))
    fields = {
        "X": X,
        "y": y,
        "class_names": names,
        "signatures": {"att": SignatureSet(made.S_pool.astype(np.float64), names=attributes)},
        "splits": {"train": np.arange(len(made.X)), "test_seen": pool[seen], "test_unseen": pool[~seen]},
    }
    return Dataset("animals", **{**fields, **changes})


def rows_to_tell_apart() -> Dataset:
    """Four classes with rows to train on and rows to test."""
    whole = animals()
    rows = np.flatnonzero(whole.y < 4)
    half = np.arange(len(rows)) % 2 == 0
    y = whole.y[rows]
    splits = {"train": np.flatnonzero(half), "test": np.flatnonzero(~half)}
    return Dataset("four", whole.X[rows], y, whole.class_names[:4], splits=splits)


@dataclass
class Kept:
    """A model, the record of it, and what the run that it is of had: problem, outputs, the method."""

    model: Any
    told: dict[str, Any]
    problem: Any
    outputs: dict[str, np.ndarray]
    method: Any
    folder: Any


def kept(folder: Any, method: str, task: str, dataset: Dataset, *, most: int = ROOM, **choices: Any) -> Kept:
    """Fit a method on the test problem of a data set as an evaluation does, keep its model, and read it back."""
    spec, asked = Spec.parse(method), Spec.parse(task)
    method_class = component("methods", spec.name)
    short = {name: value for name, value in SHORT.items() if name in method_class.parameters}
    fitted = method_class.build({**short, **spec.parameters})
    judge = component("tasks", asked.name)(**asked.parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = preprocess(judge.test(dataset), judge, fitted.effective_preprocessing)
        save_problem(folder / "problem", made)
        problem = load_problem(folder / "problem")
        *_, (_, outputs) = judge.run(fitted, problem, {})
        place = folder / "evaluations" / "run"
        about = {"experiment": {"method": method, "dataset": dataset.name, "task": task}}
        told = save_model(place / "model", state_within(fitted, most), judge, problem, fitted, choices, about)
        (place / "artifacts").mkdir(parents=True, exist_ok=True)
        judge.export(fitted, problem, place / "artifacts")
    model = load_saved(place / "model") if "digest" in told else None
    return Kept(model, told, problem, outputs, fitted, place / "model")

"""Problems on disk: small arrays as they are, rows of the data set as an index of where they are stored.

The entry of a problem has, for every input that is rows of the data set, their positions and the fitted preprocessing;
the rows themselves stay in the entry of the data set. Methods that take blocks read them there. For other methods a
*fold* is made of them: an entry of its own with the preprocessed rows as one array, shared by all methods and workers
of the machine, and evicted first where the cache is full, since it can be made again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.data.store.array_store import DAMAGED, EntryWriter, open_entry, remove_entry
from zslplat.data.store.preprocessing import FrozenFeatures, FrozenSteps, Preprocessing, fit_steps, preprocessed
from zslplat.data.store.rows import Part, Rows, Stored, View, check_rows_differ
from zslplat.errors import StoreError
from zslplat.evaluation.cache.arrays import FOLD, read_arrays, write_arrays, write_entry
from zslplat.keys import key_of
from zslplat.tasks.base import Problem, Task

INPUTS, TRUTH, ROWS, VIEWS, FROZEN = "inputs", "truth", "rows", "views", "frozen"


def preprocess(problem: Problem, task: Task, preprocessing: Preprocessing) -> Problem:
    """Fit the declared steps on a problem's training rows and apply them to all its inputs."""
    inputs, frozen = dict(problem.inputs), dict[str, FrozenFeatures]()
    steps = {role: getattr(preprocessing, role, ()) for role in task.preprocessed}
    for role, role_steps in steps.items():
        for group in task.preprocessing_groups(role):
            names = [name for name in group if name in inputs]
            if not names:
                continue
            originals = [inputs[name] for name in names]
            if role == "features":
                check_rows_differ(problem.name, originals[0])
            if role == "features" and isinstance(originals[0], Rows):
                results: Sequence[Any] = preprocessed(originals, preprocessing)
                frozen_role = FrozenFeatures.of_rows(results[0])
            else:
                fitted = fit_steps(role_steps, originals[0], every=task.whole(role, inputs))
                results = [fitted.apply(one) for one in originals] if role_steps else originals
                frozen_role = FrozenFeatures.of_array(originals[0], fitted)
            inputs.update(zip(names, results, strict=True))
            # Of several splits, the first is the one whose method is kept.
            frozen.setdefault(role, frozen_role)
    return Problem(problem.name, inputs, problem.truth, problem.meta, frozen)


def save_problem(folder: Path, problem: Problem, warned: Sequence[str] = ()) -> None:
    """Write a problem as a cache entry with the warnings of building it; ``inputs`` and ``truth`` are separate folders.

    A method is given the paths of those files in ``inputs`` and ``rows`` that its task passes to it. Rows must be in
    files (:func:`zslplat.data.store.stored_sets.in_files`); those of a problem in memory are written as arrays.
    """
    arrays = {f"{TRUTH}/{name}": array for name, array in problem.truth.items()}
    described: dict[str, Any] = {}
    for name, value in problem.inputs.items():
        if isinstance(value, Rows) and all(isinstance(part.source, Stored) for part in value.parts):
            described[name] = _described(value, folder, name, arrays)
        else:
            arrays[f"{INPUTS}/{name}"] = np.asarray(value)
    views = [
        (part["view"], part["after"]) for part in next(iter(described.values()), {"parts": []})["parts"] if part["view"]
    ]
    problem_meta = {**problem.meta, VIEWS: views} if views else dict(problem.meta)
    arrays |= {f"{FROZEN}/{role}/{name}": a for role, one in problem.frozen.items() for name, a in one.arrays().items()}
    frozen_facts = {role: one.facts() for role, one in problem.frozen.items()}
    meta = {"name": problem.name, "meta": problem_meta, "warned": list(warned), "rows": described, FROZEN: frozen_facts}
    write_arrays(folder, arrays, meta, apart=(INPUTS, TRUTH, ROWS, FROZEN))


def load_problem(folder: Path, *, blocks: bool = False) -> Problem:
    """Open a problem that :func:`save_problem` wrote; its arrays are memory-mapped and read-only.

    ``blocks``: rows of the data set are left as rows in files. Otherwise they are the array of the fold, which is made
    if it is missing. Raises :class:`StoreError` where a file of it is gone.
    """
    arrays, entry = read_arrays(folder)
    parts: dict[str, dict[str, Any]] = {INPUTS: {}, TRUTH: {}, ROWS: {}, FROZEN: {}}
    for name, array in arrays.items():
        part, _, key = name.partition("/")
        parts[part][key] = array
    inputs = parts[INPUTS]
    for name, described in entry.get("rows", {}).items():
        if blocks:
            inputs[name] = _rows(folder, name, described, parts[ROWS])
        else:
            # With the fold, the rows themselves may be missing: a worker of a cluster is sent the fold alone.
            for part in described["parts"]:
                with suppress(OSError):
                    os.utime(_data_file(folder, part).parent)  # in use: see ArrayCache.evict
            inputs[name] = _fold(fold_folder(folder, name), partial(_rows, folder, name, described, parts[ROWS]))
    frozen = {
        role: FrozenFeatures.from_facts(
            facts, {n.partition("/")[2]: a for n, a in parts[FROZEN].items() if n.partition("/")[0] == role}
        )
        for role, facts in entry.get(FROZEN, {}).items()
    }
    return Problem(entry["name"], inputs, parts[TRUTH], entry["meta"], frozen)


def views_of(problem: Problem) -> tuple[View, ...]:
    """Return the views of the rows of a stored problem, as a method is given them; none for a single feature set."""
    return tuple(View(name, tuple(shape)) for name, shape in problem.meta.get(VIEWS, ()))


def folds_of(folder: Path) -> list[Path]:
    """Return the folders of the folds of a problem, whether or not they exist."""
    return [fold_folder(folder, name) for name in read_arrays(folder)[1].get("rows", {})]


def entries_of_problem(folder: Path, *, blocks: bool) -> list[Path]:
    """Return the folders of the entries that opening a problem reads beside its own: its folds, or the data set."""
    if not blocks:
        return folds_of(folder)
    stored_rows = read_arrays(folder)[1].get("rows", {})
    return sorted({_data_file(folder, part).parent for one in stored_rows.values() for part in one["parts"]})


def data_of(folder: Path) -> set[str]:
    """Return the entries of the data set that a problem needs, by name."""
    stored_rows = read_arrays(folder)[1].get("rows", {})
    return {Path(part["file"]).parent.name for one in stored_rows.values() for part in one["parts"]}


def fold_folder(folder: Path, name: str) -> Path:
    """Return where the fold of one input of a problem belongs."""
    return folder.parent / f"{FOLD}{key_of(folder.name, name)}"


def _described(rows: Rows, folder: Path, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Add the arrays that describe rows to ``arrays``; return the rest of the description."""
    arrays[f"{ROWS}/{name}/index"], arrays[f"{ROWS}/{name}/order"] = rows.index, rows.order
    parts = []
    for number, part in enumerate(rows.parts):
        stored = part.source
        assert isinstance(stored, Stored)
        steps = part.steps if isinstance(part.steps, FrozenSteps) else FrozenSteps()
        arrays |= {f"{ROWS}/{name}/{number}/{key}": array for key, array in steps.arrays().items()}
        parts.append(
            {
                "view": part.view.name,
                "row": list(part.view.shape),
                "after": list(part.shape),
                # Relative, so that a cache can be moved.
                "file": os.path.relpath(str(stored.file), folder.parent),
                "type": stored.dtype,
                "shape": list(stored.shape),
                "offset": stored.offset,
                "steps": steps.facts(),
            }
        )
    return {"parts": parts}


def _rows(folder: Path, name: str, described: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Rows:
    parts = []
    for number, part in enumerate(described["parts"]):
        path = _data_file(folder, part)
        try:
            os.utime(path.parent)  # in use: see ArrayCache.evict
        except OSError as error:
            raise StoreError(
                f"the rows of problem {folder.name} are gone: {path}: {error.strerror or error}; give the same command "
                "again"
            ) from error
        prefix = f"{name}/{number}/"
        step_arrays = {key.removeprefix(prefix): np.array(a) for key, a in arrays.items() if key.startswith(prefix)}
        source = Stored(str(path), part["type"], tuple(part["shape"]), part["offset"])
        steps = FrozenSteps.from_facts(part["steps"], step_arrays) if part["steps"] else None
        parts.append(Part(View(part["view"], tuple(part["row"])), source, steps))
    return Rows(parts, arrays[f"{name}/index"], arrays[f"{name}/order"])


def _data_file(folder: Path, part: Mapping[str, Any]) -> Path:
    """Return the file of the data set that has the rows of a part of a problem."""
    return Path(os.path.normpath(folder.parent / part["file"]))


def _fold(folder: Path, find_rows: Callable[[], Rows]) -> np.ndarray:
    """Return the array of some rows, made now if it is missing."""

    def fill(writer: EntryWriter) -> Mapping[str, Any]:
        writer.add_blocks("rows", rows.shape, rows.dtype, rows.in_order())
        return {}

    for _ in range(3):
        if folder.exists():
            try:
                return open_entry(folder)[0]["rows"]
            except DAMAGED:
                remove_entry(folder)  # damaged: make room for a new one
        rows = find_rows()
        write_entry(folder, fill)
    return np.asarray(find_rows())  # another process keeps removing it

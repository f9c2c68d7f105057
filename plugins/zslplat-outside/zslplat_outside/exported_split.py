"""A task's rows, classes and folds as files, for software that makes its scores elsewhere.

Labels of test rows are in none of them unless they are requested, which the manifest records. The files depend only on
the data set, the task, the seed and the request: the same request writes the same bytes. The number of a row is its
name; where a data set is stored class by class, numbers of one class are adjacent. ``docs/outside-methods.md``
describes each file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import zslplat
from zslplat.data.dataset import Dataset
from zslplat.data.store.array_store import sha256_of
from zslplat.data.store.rows import Rows
from zslplat.errors import DataError, UsageError
from zslplat.evaluation.experiment import TEST, VALIDATION
from zslplat.figures import Table, write_table
from zslplat.tasks.base import Problem, Task
from zslplat_outside.aligned_scores import Batch
from zslplat_outside.score_files import CLASS, ROW, read_classes, read_rows

FORMAT = "zslplat split 1"
MANIFEST = "manifest.json"
ALL = "all"


@dataclass(frozen=True)
class Manifest:
    """What was exported: ``content`` of ``manifest.json``, and its path."""

    path: Path
    content: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest, or that of an exported folder; raises :class:`DataError` for anything else."""
        file = path / MANIFEST if path.is_dir() else path
        try:
            content = json.loads(file.read_text())
            if content["format"] != FORMAT:
                raise ValueError(f"its format is {content['format']!r}")
            for name in ("fingerprint", "dataset", "task", "seed", "with_labels", "files", "problems"):
                content[name]
            for entry in content["problems"]:
                entry["name"], entry["rows_digest"], entry["classes_digest"]
            if type(content["seed"]) is not int:
                raise ValueError(f"its seed is {content['seed']!r}")
            return cls(file, content)
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = getattr(error, "strerror", None) or (f"no {error}" if isinstance(error, KeyError) else error)
            raise DataError(
                f"{file}: no manifest of an exported split ({reason}); expected {FORMAT!r}: give the folder that "
                "`zslplat export-split` wrote"
            ) from error

    def check(self, data: str, task: str, seed: int) -> None:
        """Raise :class:`UsageError` if another data set, task or seed is to be scored than was exported."""
        exported = self.content
        for property_text, ours, theirs in (
            ("the fingerprint of the data is", data[:16], str(exported["fingerprint"])[:16]),
            ("the task is", task, exported["task"]),
            ("the seed is", seed, exported["seed"]),
        ):
            if ours != theirs:
                raise UsageError(
                    f"{self.path}: {property_text} {theirs} there, and {ours} here; scores of one are none of the "
                    "other: export the split that is to be scored, and score that"
                )

    def check_batch(self, batch: Batch) -> None:
        """Raise :class:`UsageError` if a problem was exported with other rows or classes, or was not exported."""
        entries = {entry["name"]: entry for entry in self.content["problems"]}
        if batch.name not in entries:
            names = ", ".join(entries) or "nothing"
            raise UsageError(f"{self.path}: {batch.name} was not exported, only {names}; export with --split all")
        entry = entries[batch.name]
        if (entry["rows_digest"], entry["classes_digest"]) != (batch.rows_digest, batch.classes_digest):
            raise UsageError(
                f"{self.path}: {batch.name} was exported with other rows or classes than the task has now; export it "
                "again, or give scores that name their rows (CSV or Parquet)"
            )

    def check_order(self, batch: Batch, *, rows: bool, classes: bool) -> None:
        """Raise :class:`UsageError` if the exported files of rows or classes have changed.

        ``rows``, ``classes``: whether scores rely on the order of ``rows.csv`` or ``classes.csv``. Scores in the order
        of a file that was sorted since would be taken for those of other rows.
        """
        if rows:
            self._check_file(batch, f"{ROW}s", batch.rows.tolist(), lambda path: read_rows(path).tolist())
        if classes:
            self._check_file(batch, f"{CLASS}es", list(batch.classes), read_classes)

    def _check_file(self, batch: Batch, kind: str, exported: list[Any], read: Callable[[Path], Any]) -> None:
        name = f"{batch.name}/{kind}.csv"
        file = self.path.parent / name
        remedy = f"export again and give scores in the order written then, or a CSV or Parquet file with its {kind}"
        if not file.is_file():
            raise UsageError(
                f"{file}: no such file; it says in which order scores stand that do not name their {kind}; {remedy}"
            )
        if sha256_of(file) == self.content["files"].get(name):
            return
        listed = list(read(file))
        if listed == exported:  # rewritten by another program, for example with other line ends
            return
        difference = f"it lists {len(listed)} {kind}, and {len(exported)} were exported"
        if len(listed) == len(exported):
            place = next(i for i, (one, other) in enumerate(zip(listed, exported, strict=True)) if one != other)
            sorted_since = sorted(listed) == sorted(exported)
            difference = f"the {kind} stand in another order" if sorted_since else f"it lists other {kind}"
            difference += f" than the export: line {place + 2} has {listed[place]!r} in place of {exported[place]!r}"
            if sorted_since and batch.name == TEST:
                remedy += f"; of scores in the order of this file say so: --{kind} {file}"
        raise UsageError(f"{file}: {difference}; scores in its order would be taken for those of others; {remedy}")


def row_problems(task: Task, dataset: Dataset, split: str, seed: int) -> list[Problem]:
    """Return the problems of a split whose features are the numbers of the rows (n, 1): which rows are drawn, no data.

    Raises :class:`UsageError` for a task that needs more of a method than scores.
    """
    if not task.takes_scores:
        raise UsageError(
            f"task {task.name} takes no scores that were made elsewhere: it wants more of a method than a score for "
            "every row and class; tasks zsl, gzsl, retrieval and coding take them"
        )
    numbers = np.arange(len(dataset.X), dtype=np.int64)[:, None]
    # The fingerprint is passed on, so that nothing is read to compute it.
    only_rows = replace(dataset, X=numbers, known_fingerprint=dataset.fingerprint)
    problems = task.validation(only_rows, seed=seed) if split in (VALIDATION, ALL) else []
    return [*problems, task.test(only_rows, seed=seed)] if split in (TEST, ALL) else problems


def export_split(
    dataset: Dataset,
    task: Task,
    folder: Path,
    *,
    names: Mapping[str, str],
    seed: int = 0,
    split: str = ALL,
    features: bool = False,
    with_labels: bool = False,
) -> Manifest:
    """Write the problems of a task into a folder that is new, empty or an earlier export, and return the manifest.

    ``names``: what data set and task are called, under ``dataset`` and ``task``. ``split``: ``test``, ``validation`` or
    ``all``. ``features``: the feature matrices, too. ``with_labels``: the labels of test rows, too. Raises
    :class:`UsageError` for a task whose rows are not scored class by class, and for a folder that holds other things.
    """
    problems = row_problems(task, dataset, split, seed)
    batches = [Batch.of(task, problem) for problem in problems]
    _clear(folder)
    written = _Files(folder)
    written.table(f"{CLASS}es.csv", {CLASS: dataset.class_names})
    content: dict[str, Any] = {
        "format": FORMAT,
        "zslplat": zslplat.__version__,
        **names,
        "fingerprint": dataset.fingerprint,
        "seed": seed,
        "with_labels": with_labels,
        "signatures": _write_signatures(written, dataset, task),
        "features": _write_features(written, dataset) if features else [],
        "problems": [],
    }
    for problem, batch in zip(problems, batches, strict=True):
        shown = with_labels or problem.name != TEST
        content["problems"].append(_write_problem(written, dataset, problem, batch, labels=shown))
    content["files"] = written.digests
    (folder / MANIFEST).write_text(json.dumps(content, indent=1) + "\n")
    return Manifest(folder / MANIFEST, content)


class _Files:
    """The files of an export, and the SHA-256 of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.digests: dict[str, str] = {}

    def table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        path = self._path(name)
        write_table(Table(columns), path)
        self._note(name)

    def array(self, name: str, array: np.ndarray) -> None:
        np.save(self._path(name), array, allow_pickle=False)
        self._note(name)

    def rows(self, name: str, rows: Rows) -> None:
        """Write features block by block: they may be larger than memory."""
        target = np.lib.format.open_memmap(self._path(name), mode="w+", dtype=rows.dtype, shape=rows.shape)
        for where, block in rows.blocks():
            target[where] = block
        target.flush()
        del target
        self._note(name)

    def _path(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _note(self, name: str) -> None:
        self.digests[name] = sha256_of(self.folder / name)


def _write_problem(
    written: _Files, dataset: Dataset, problem: Problem, batch: Batch, *, labels: bool
) -> dict[str, Any]:
    """Write one problem into a folder of its own; return its entry of the manifest."""
    train, name = np.asarray(problem.inputs["X"])[:, 0], problem.name
    written.table(f"{name}/train.csv", _labelled(dataset, train))
    written.table(f"{name}/rows.csv", {ROW: batch.rows.tolist()})
    seen = problem.inputs.get("seen", np.ones(len(batch.classes), dtype=bool))
    written.table(f"{name}/classes.csv", {CLASS: batch.classes, "seen": [str(bool(flag)).lower() for flag in seen]})
    if labels:
        written.table(f"{name}/labels.csv", _labelled(dataset, batch.rows))
    return {
        "name": name,
        "split": TEST if name == TEST else VALIDATION,
        "train": len(train),
        "rows": len(batch.rows),
        "classes": len(batch.classes),
        "rows_digest": batch.rows_digest,
        "classes_digest": batch.classes_digest,
        "labels": labels,
    }


def _labelled(dataset: Dataset, rows: np.ndarray) -> dict[str, Sequence[Any]]:
    """Return the columns of rows with their class, or a column for every label, and with their group."""
    columns: dict[str, Sequence[Any]] = {ROW: rows.tolist()}
    if dataset.y.ndim == 1:
        columns[CLASS] = [dataset.class_names[i] for i in dataset.y[rows]]
    else:
        columns |= {f"label {name}": dataset.y[rows, i].tolist() for i, name in enumerate(dataset.class_names)}
    return columns if dataset.groups is None else {**columns, "group": dataset.groups[rows].tolist()}


def _write_signatures(written: _Files, dataset: Dataset, task: Task) -> list[str]:
    """Write what describes the classes, in the order of all classes; nothing if the task uses no signatures."""
    chosen = getattr(task, "signatures", None)
    if chosen is None:
        return []
    values, described = dataset.class_signatures(chosen)
    written.array("signatures.npy", np.asarray(values))
    names = dataset.class_names if described is None else [dataset.class_names[i] for i in described]
    written.table("signatures.csv", {CLASS: names})
    return ["signatures.npy", "signatures.csv"]


def _write_features(written: _Files, dataset: Dataset) -> list[str]:
    names = []
    for name, rows in _views(dataset):
        names.append(f"features-{name}.npy" if name else "features.npy")
        written.rows(names[-1], rows)
    return names


def _views(dataset: Dataset) -> Iterator[tuple[str, Rows]]:
    whole = Rows.of({"": dataset.X}) if isinstance(dataset.X, np.ndarray) else dataset.X
    for part in whole.parts:
        yield part.view.name, Rows([part], whole.index)


def _clear(folder: Path) -> None:
    """Prepare an empty folder: an earlier export is removed, anything else is an error."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--to {folder}: is a file; give a folder")
    if not folder.exists() or not any(folder.iterdir()):
        folder.mkdir(parents=True, exist_ok=True)
        return
    if not (folder / MANIFEST).exists():
        raise UsageError(f"--to {folder}: holds other files than an exported split; give a new or an empty folder")
    earlier = Manifest.read(folder)
    for name in map(Path, earlier.content["files"]):
        if not name.is_absolute() and ".." not in name.parts:
            (folder / name).unlink(missing_ok=True)
    earlier.path.unlink()

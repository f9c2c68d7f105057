"""Files of scores that were made elsewhere, read and put into the order of a task's problems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.errors import UsageError, near_names, quoted
from zslplat.evaluation.components import NOTHING
from zslplat.kinds import KNOWN
from zslplat.names import unfit
from zslplat.tasks.base import Problem, Task
from zslplat_outside.aligned_scores import Batch, aligned, digest_of
from zslplat_outside.exported_split import Manifest
from zslplat_outside.score_files import ScoreFile, read_classes, read_rows, read_scores

_Side = np.ndarray | Sequence[str]  # what the rows, or the columns, of scores are
_NAME = re.compile(r"[A-Za-z_][\w.\-]*")


@dataclass(frozen=True)
class OutsideScores:
    """A request to score what was made elsewhere: a name, files of scores, and what is stated about them.

    ``scores`` holds a file for every repeat from ``repeat`` on, ``validation`` one for every fold, or one with a column
    ``fold``. ``rows`` and ``classes`` say what the rows and columns of ``scores`` are, or ``manifest`` does. ``knows``:
    what the method knew of the batch; ``seconds``: what it took to learn and to score.
    """

    name: str
    scores: Sequence[Path] = ()
    validation: Sequence[Path] = ()
    rows: Path | None = None
    classes: Path | None = None
    manifest: Manifest | None = None
    knows: Sequence[str] = ()
    description: str = ""
    seconds: float | None = None
    repeat: int = 0

    def order(self, *, test: bool) -> dict[str, Any]:
        """Return how rows and columns were described: the names of the files, and whether there was a manifest."""
        names = {"rows": self.rows, "classes": self.classes} if test else {}
        files: dict[str, Any] = {name: path.name for name, path in names.items() if path is not None}
        return {**files, "manifest": self.manifest is not None}


@dataclass(frozen=True)
class ScoreSet:
    """Scores of some problems, each in the order of its problem, with the file and the digest of each."""

    problems: Sequence[Problem]
    scores: Sequence[np.ndarray]
    files: Sequence[ScoreFile]
    digests: Sequence[str]

    def alone(self, place: int) -> ScoreSet:
        """Return one of several matrices of scores of the same problem."""
        return ScoreSet(self.problems, [self.scores[place]], [self.files[place]], [self.digests[place]])


def read_test_scores(request: OutsideScores, task: Task, problem: Problem) -> ScoreSet:
    """Read the scores of the test split, a file for every repeat, and put them into the order of its problem."""
    batch = Batch.of(task, problem)
    rows = None if request.rows is None else read_rows(request.rows)
    classes = None if request.classes is None else read_classes(request.classes)
    if request.manifest is not None:
        request.manifest.check_batch(batch)
        rows, classes = (batch.rows if rows is None else rows), (classes or batch.classes)
    files = [read_scores(path) for path in request.scores]
    _check_option(rows if request.rows else None, [file.rows for file in files], f"--rows {request.rows}", "rows")
    _check_option(
        classes if request.classes else None, [f.classes for f in files], f"--classes {request.classes}", "classes"
    )
    for file in files:
        if file.folds is not None:
            raise UsageError(f"{file.where}: a column 'fold' is for --validation; the test split has no folds")
        if request.manifest is not None:
            named = [file.rows is not None or request.rows, file.classes is not None or request.classes]
            request.manifest.check_order(batch, rows=not named[0], classes=not named[1])
    scores = [aligned(file, batch, rows, classes) for file in files]
    return ScoreSet([problem], scores, files, [digest_of(matrix, batch) for matrix in scores])


def read_validation_scores(request: OutsideScores, task: Task, problems: Sequence[Problem]) -> ScoreSet:
    """Read the scores of the validation folds and put each into the order of its problem."""
    batches = [Batch.of(task, problem) for problem in problems]
    files = _by_fold([read_scores(path) for path in request.validation], [batch.name for batch in batches])
    scores = []
    for file, batch in zip(files, batches, strict=True):
        if request.manifest is not None:
            request.manifest.check_batch(batch)
            request.manifest.check_order(batch, rows=file.rows is None, classes=file.classes is None)
        rows, classes = (None, None) if request.manifest is None else (batch.rows, batch.classes)
        scores.append(aligned(file, batch, rows, classes, of_fold=True))
    digests = [digest_of(matrix, batch) for matrix, batch in zip(scores, batches, strict=True)]
    return ScoreSet(problems, scores, files, digests)


def _check_option(stated: _Side | None, named: Sequence[_Side | None], option: str, what: str) -> None:
    """Refuse an option on rows or classes where every file names its own, and one names others."""
    if stated is None or any(side is None for side in named):
        return
    if not all(np.array_equal(np.asarray(stated), np.asarray(side)) for side in named):
        raise UsageError(f"{option}: the scores name their {what} themselves, others or in another order; leave it out")


def _by_fold(files: Sequence[ScoreFile], folds: Sequence[str]) -> Sequence[ScoreFile]:
    """Return the scores of each fold: of one file with a column of folds, or of a file for each."""
    expected = f"there are {len(folds)} validation folds: {', '.join(folds)}"
    if len(files) == 1 and files[0].folds is not None:
        present = sorted(set(files[0].folds.tolist()))
        unknown, missing = sorted(set(present) - set(folds)), sorted(set(folds) - set(present))
        if unknown or missing:
            what = f"has fold {', '.join(unknown)}" if unknown else f"has no rows of {', '.join(missing)}"
            raise UsageError(f"{files[0].where}: column 'fold' {what}; {expected}; give scores of each")
        return [files[0].of_fold(name) for name in folds]
    if len(files) != len(folds):
        raise UsageError(
            f"--validation: {len(files)} file{'s' * (len(files) > 1)}; {expected}; give a file for each in this order, "
            "or one CSV or Parquet file with a column 'fold'"
        )
    return files


def distinct_names(files: Sequence[str]) -> dict[str, str]:
    """Return the names of files without their folders, or with as many of these as tell them apart."""
    paths = {file: Path(file).parts for file in files}
    for depth in range(1, max(map(len, paths.values()), default=0)):
        names = {file: str(Path(*parts[-depth:])) for file, parts in paths.items()}
        if len(set(names.values())) == len(names):
            return names
    return {file: file for file in files}


def declared_knowledge(request: OutsideScores) -> str:
    """Check name, repeat and declared knowledge; return the latter in words, as of methods."""
    if not _NAME.fullmatch(request.name):
        raise UsageError(
            f"--name {quoted(request.name)}: expected a letter from a to z or A to Z, then letters, digits, '_', '-' "
            "and '.'; that is what comparisons call the scores"
        )
    if why := unfit(request.name):
        raise UsageError(f"--name {quoted(request.name)} cannot be used: {why}")
    if not request.scores and not request.validation:
        raise UsageError("no scores; give --scores FILE, or --split validation with files of the folds")
    if request.seconds is not None and not 0 <= request.seconds < float("inf"):
        raise UsageError(f"--seconds {request.seconds}: expected a number of seconds, 0 or more")
    if request.repeat and request.validation:
        raise UsageError("--validation belongs to the first scores of a name; leave it out with --repeat")
    if request.seconds is not None and not request.scores:
        raise UsageError("--seconds are those of scores of the test split; leave it out where only folds are scored")
    words = [word.strip() for word in request.knows if word.strip() and word.strip() != NOTHING]
    for word in words:
        near = near_names(word, KNOWN, cutoff=0.75)
        if word not in KNOWN and near:
            raise UsageError(
                f"--knows {word!r}: did you mean {near[0]!r}? Words of your own must not be like those known"
            )
    ordered = sorted(set(words), key=lambda word: (KNOWN.index(word) if word in KNOWN else len(KNOWN), word))
    return ", ".join(ordered) or NOTHING

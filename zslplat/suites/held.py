"""What a store holds of those cells of a suite that a command was not asked for, or has not come to yet.

The tables of a suite have all of its cells that are done, whichever command carried them out. Nothing is computed for
that: as in a plan, a study of the same experiment counts whatever its data were, the newest of several, where the code
is that of now; and it counts with the trials and repeats that it has, which the tables say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from zslplat.errors import StoreError, UnknownNameError, ZslplatError
from zslplat.evaluation.reporter import Reporter
from zslplat.evidence.scores import Scored
from zslplat.evidence.table import read_test_scores
from zslplat.records.database import Records
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.suites.cells import DONE, Cell, Key, Piece
from zslplat.suites.recorded import Entry, Recorded
from zslplat.tuning.options import StudyOptions

Study = tuple[str, str, str]


@dataclass(frozen=True)
class Found:
    """Cells that are done, with what is recorded of each by its key: entry, scores, and numbers of classes."""

    cells: Mapping[Key, Cell] = field(default_factory=dict)
    entries: Mapping[Key, Entry] = field(default_factory=dict)
    scores: Mapping[Key, Scored] = field(default_factory=dict)
    classes: Mapping[Key, tuple[int, int]] = field(default_factory=dict)


class Held:
    """Looks up what a store holds of pieces, and counts it in their suite; scores that were read are remembered."""

    def __init__(self, settings: Settings, records: Records, options: StudyOptions, *, any_code: bool) -> None:
        self.settings, self.records, self.options, self.any_code = settings, records, options, any_code
        self._scores: dict[_Asked, Scored | None] = {}
        self._counts: dict[str, tuple[int, int]] = {}

    def of(self, pieces: Iterable[Piece], wanted: Collection[Key], reporter: Reporter) -> Found:
        """Return those of the wanted cells of these pieces that are done, and whose scores can be read."""
        recorded = Recorded(self.settings, self.records, by_data=False, any_code=self.any_code)
        done: list[tuple[Piece, Cell, Entry]] = []
        for piece in pieces:
            if not any(cell.key in wanted for cell in piece.cells):
                continue
            with suppress(Exception):  # whoever carries it out says what is wrong
                found = recorded.done(piece, self.options, least=True)
                own = [(piece, cell, entry) for cell, entry in found if entry is not None and cell.key in wanted]
                for _, cell, entry in own:
                    recorded.count_in(entry, piece.study_options(cell.task, self.options).part_of)
                done += own
        asked = [_Asked(study_of(piece, cell, entry), entry.trials, len(entry.test)) for piece, cell, entry in done]
        known = _readable([one.study for one in asked if one not in self._scores], self.settings, reporter)
        self._scores |= {one: known.get(one.study) for one in asked if one not in self._scores}
        cells, entries, scores, classes = {}, {}, {}, {}
        for (piece, cell, entry), one in zip(done, asked, strict=True):
            scored = self._scores[one]
            if scored is not None:
                told = {"study": entry.study, "value": entry.value, "seconds": entry.seconds, "status": DONE}
                cells[cell.key] = replace(cell, **told)  # type: ignore[arg-type]
                entries[cell.key], scores[cell.key], classes[cell.key] = entry, scored, self._classes(piece)
        return Found(cells, entries, scores, classes)

    def _classes(self, piece: Piece) -> tuple[int, int]:
        """Return how many classes are trained on and how many are unseen: all draws of a data set have as many."""
        if piece.split is None:
            return (0, 0)  # which nothing is made of where classes are not drawn
        if piece.data.name not in self._counts:
            self._counts[piece.data.name] = (0, 0)
            with suppress(ZslplatError):
                loaded = Recorded(self.settings, self.records)
                loaded.known(piece.experiment(piece.tasks[0]))
                self._counts[piece.data.name] = loaded.classes[str(piece.dataset)]
        return self._counts[piece.data.name]


class _Asked(NamedTuple):
    """A study whose scores are asked for, and what they change with."""

    study: Study
    trials: int
    repeats: int


def study_of(piece: Piece, cell: Cell, entry: Entry) -> Study:
    """Return the study, or run, of a cell as it is recorded, in whatever order a suite's file has the options."""
    return (str(piece.dataset), str(Spec.parse(cell.task)), entry.study)


def _readable(studies: Sequence[Study], settings: Settings, reporter: Reporter) -> dict[Study, Scored]:
    """Return the scores of those studies that have any."""
    try:
        return read_scores(settings, studies, reporter)
    except (UnknownNameError, StoreError):
        middle = len(studies) // 2
        halves = (studies[:middle], studies[middle:]) if middle else ()
        return {study: one for half in halves for study, one in _readable(half, settings, reporter).items()}


def read_scores(settings: Settings, studies: Iterable[Study], reporter: Reporter) -> dict[Study, Scored]:
    """Return the test evaluations of studies and runs, each with its data set and its task.

    Raises like :func:`~zslplat.evidence.table.read_test_scores`.
    """
    by_task: dict[tuple[str, str], list[str]] = {}
    for dataset, task, study in dict.fromkeys(studies):
        by_task.setdefault((dataset, task), []).append(study)
    found: dict[Study, Scored] = {}
    for (dataset, task), names in by_task.items():
        for scored in read_test_scores(settings, dataset, task, names, warn=reporter.warn):
            found |= {(dataset, task, name): scored for name in {scored.study, *scored.names} & set(names)}
    return found

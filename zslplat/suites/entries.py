"""What the records of a store hold of a grid already: finished studies and test runs are not carried out again.

A study counts as finished where its trials, its test evaluations and its end are recorded, by the code as it is now.
Nothing is kept beside the records. The tables of a suite have all of its cells that are done, whichever command carried
them out: of cells that a command was not asked for a study of the same experiment counts whatever its data were, the
newest of several, with the trials and repeats that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from zslplat.checks.base import Finding, findings_of
from zslplat.errors import StoreError, ZslplatError
from zslplat.evaluation.code import LIBRARIES, CodeReader, code_of, roots_of
from zslplat.evaluation.components import build_component, open_dataset, source_of
from zslplat.evaluation.experiment import TEST, Experiment, repeat_seed
from zslplat.evaluation.reporter import Reporter
from zslplat.evidence.scores import Scored
from zslplat.evidence.table import ResultTable
from zslplat.keys import RECORD_CHOICES, key_of
from zslplat.records.costs import total_seconds
from zslplat.records.database import SEALED, Records
from zslplat.records.studies import STUDY, belongs, counted_in, parts_of
from zslplat.registry import component, one_line
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.suites.cells import DONE, Cell, Key, Piece
from zslplat.tuning.identity import study_name, unsearched, with_search_settings
from zslplat.tuning.options import StudyOptions
from zslplat.tuning.proposals import nothing_to_search


@dataclass(frozen=True)
class Entry:
    """What is recorded of a cell: its study (or run), what the search found, and what it cost.

    ``method``: as text, with what was fixed and what the search found; empty where the test alone was scored.
    ``steps``: the epoch that validation chose, out of ``most``, where the method trains in epochs; ``seconds`` of all
    trials and test evaluations; ``test``: the value of the primary metric in each repeat; ``searched``: whether there
    was anything to search; ``tags`` that users gave. ``owner`` in the records, the cells of suites that it is
    already (``parts``), and the ``findings`` of its checks, none silenced.
    """

    study: str
    parameters: Mapping[str, Any]
    test: tuple[float, ...]
    primary: str
    trials: int = 0
    failed: int = 0
    steps: float | None = None
    seconds: float = 0.0
    finished: bool = True
    searched: bool = True
    most: Any = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    owner: str = ""
    parts: Sequence[Mapping[str, str]] = ()
    findings: Sequence[Finding] = ()

    @property
    def value(self) -> float:
        """The mean over the repeats."""
        return float(np.mean(self.test))


@dataclass
class EntryReader:
    """What a store holds, asked for by the settings of a grid.

    ``fingerprints`` are by the specs of data sets, each of which is loaded once. Without ``by_data`` no data are
    loaded: a study of the same experiment counts whatever its data were, the newest of several. ``changed`` collects
    the studies that other code computed; with ``any_code`` they count as well.
    """

    settings: Settings
    records: Records
    by_data: bool = True
    any_code: bool = False
    changed: list[str] = field(default_factory=list)
    fingerprints: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Who only looks leaves nothing behind.
        self._reader = CodeReader(self.settings.cache / "code.json" if self.by_data else None)
        self._runs: dict[str, dict[str, dict[str, Mapping[str, Any]]]] = {}
        self._names: dict[str, str] = {}

    def with_data(self, experiment: Experiment) -> Experiment:
        """Return an experiment with the fingerprint of its data, which are loaded for it once."""
        spec = str(experiment.dataset)
        if not self.by_data:
            return experiment
        if spec not in self.fingerprints:
            self.fingerprints[spec] = open_dataset(experiment.dataset, self.settings).fingerprint
        return replace(experiment, data=self.fingerprints[spec])

    def entry(
        self, piece: Piece, task: str, parameters: Mapping[str, Any] | None, options: StudyOptions
    ) -> Entry | None:
        """Return what is recorded of a task of a piece, None where something of it is missing."""
        experiment = self.with_data(piece.experiment(task, parameters))
        repeats = self._repeats(piece, experiment, options.repeats)
        if piece.only_tested(task):
            return self._tested(experiment, repeats)
        name = self._name(experiment, options)
        study = None if name is None else self._study(name, experiment, piece.trials(task, options), repeats)
        template = piece.template(experiment.method.parameters)
        most = template.get_params(deep=False).get(template.step_parameter, "") if template.step_parameter else ""
        searched = not nothing_to_search(experiment.space, unsearched(experiment, template))
        return None if study is None else replace(study, most=most, searched=searched)

    def done(self, piece: Piece, options: StudyOptions, *, least: bool = False) -> list[tuple[Cell, Entry | None]]:
        """Return the cells of a piece, each with what is recorded of it, None where something of that is missing.

        What the first task finds is what the others are asked with. ``least``: a study counts that made fewer trials,
        or was tested less often, than the options say.
        """
        parameters: Mapping[str, Any] | None = None
        entries: list[tuple[Cell, Entry | None]] = []
        for cell in piece.cells:
            entry = None
            if cell.task == piece.tasks[0] or parameters is not None:
                entry = self.entry(piece, cell.task, parameters, options)
                if entry is None and least:
                    entry = self.entry(piece, cell.task, parameters, replace(options, trials=1, repeats=1))
            if entry is not None and cell.task == piece.tasks[0]:
                parameters = entry.parameters
            entries.append((cell, entry))
        return entries

    def count_in(self, entry: Entry, part: Mapping[str, str]) -> None:
        """Record that what is recorded already is that cell of a suite as well."""
        if belongs(entry.parts, part):
            return
        if entry.owner.startswith(STUDY):
            study = self.records.study(entry.study)
            study.note("about", counted_in(study.values()["about"], part))
            return
        for key, record in self.records.evaluations(entry.owner).items():
            about = counted_in(record.get("about", {}), part)
            self.records.replace_evaluation(entry.owner, key, {**record, "about": about})

    def trials_of(self, piece: Piece, task: str, options: StudyOptions) -> int:
        """Return how many trials of a search are recorded already."""
        name = self._name(self.with_data(piece.experiment(task)), options)
        with suppress(StoreError):
            return 0 if name is None else len(self.records.study(name).finished())
        return 0

    def _read_study(self, name: str) -> tuple[Entry, list[Mapping[str, Any]]] | None:
        """Return what is recorded of a study, with all its records; None before it has ended for the first time."""
        study = self.records.study(name)
        values = study.values()
        finished = values.get("finished")
        if finished is None:
            return None
        trials = [record for _, record in study.finished()]
        winner = trials[finished["winner"]]
        primary = str(values["about"]["primary"]["name"])
        evaluations = self.records.evaluations(study.owner)
        test = [record for record in evaluations.values() if record["winner"] == finished["winner"]]
        chosen = winner.get(RECORD_CHOICES, {}).get("best_step")
        entry = Entry(
            study=name,
            parameters=dict(winner["parameters"]),
            test=tuple(float(record["metrics"][primary]) for record in test),
            primary=primary,
            trials=len(trials),
            failed=sum(record["state"] == "failed" for record in trials),
            steps=None if chosen is None else float(chosen),
            seconds=total_seconds([*trials, *test]),
            finished=bool(finished["complete"]),
            tags=values["about"].get("tags", {}),
            method=str(Spec.parse(values["identity"]["method"]).with_parameters(winner["parameters"])),
            owner=study.owner,
            parts=parts_of(values["about"]),
            findings=findings_of(finished),
        )
        return entry, [*trials, *evaluations.values()]

    def _name(self, experiment: Experiment, options: StudyOptions) -> str | None:
        """Return the name of the study of an experiment, None where there is none."""
        searched = with_search_settings(experiment, options, component("methods", experiment.method.name))
        if self.by_data:
            name = study_name(searched, options)
            return name if name in self.records.study_names() else None
        if not self._names:
            self._names = {_question(identity): name for name, identity in self.records.identities().items()}
        return self._names.get(_question(searched.to_json()))

    def _study(self, name: str, experiment: Experiment, trials: int, repeats: int) -> Entry | None:
        try:
            read = self._read_study(name)
        except StoreError:
            return None  # carrying it out says what is wrong
        if read is None:
            return None
        entry, records = read
        if not entry.finished or entry.trials < trials or len(entry.test) < repeats:
            return None
        if self.any_code or self._by_this_code(experiment, records):
            return entry
        self.changed.append(name)
        return None

    def _tested(self, experiment: Experiment, repeats: int) -> Entry | None:
        seeds = [repeat_seed(experiment.seed, r) for r in range(repeats)]
        questions = [_question(experiment.evaluation({}, TEST, seed).to_json()) for seed in seeds]
        for _ in range(2):
            read_before = experiment.data in self._runs
            entries = []
            for owner, by_question in self._evaluations(experiment.data).items():
                records = [by_question[question] for question in questions if question in by_question]
                if len(records) == repeats and (self.any_code or self._by_this_code(experiment, records)):
                    entries.append(run_entry(records, str(records[0]["about"]["primary"]["name"]), owner))
            if entries:
                # Runs that repeat each other are one: a suite has it where any of them is its cell.
                return replace(entries[0], parts=[part for entry in entries for part in entry.parts])
            if not read_before:
                break
            del self._runs[experiment.data]  # another command may have recorded it since these were read
        return None

    def _evaluations(self, data: str) -> dict[str, dict[str, Mapping[str, Any]]]:
        """Return {owner: {question: record}} of the complete evaluations on data, the newest owner first."""
        if data not in self._runs:
            by_owner: dict[str, dict[str, Mapping[str, Any]]] = {}
            for owner, _, record in self.records.evaluations_on(data) if data else self.records.all_evaluations():
                # What the oracle scored is for analysis alone.
                if record.get("state") == "complete" and not owner.startswith(SEALED):
                    by_owner.setdefault(owner, {})[_question(record["experiment"])] = record
            self._runs[data] = dict(reversed(by_owner.items()))
        return self._runs[data]

    def _by_this_code(self, experiment: Experiment, records: Sequence[Mapping[str, Any]]) -> bool:
        """Tell whether the code that gave the records is today's; of what does not say it nothing is known."""
        method = component("methods", experiment.method.name)
        task, source = build_component("tasks", experiment.task), source_of(experiment.dataset, self.settings)
        for record in records:
            values = record.get("parameters") or Experiment.from_json(record["experiment"]).method.parameters
            now = code_of(roots_of(experiment, values, method, task, source), self._reader)
            before = {role: text for role, text in record.get("code", {}).items() if role not in LIBRARIES}
            if any(now.get(role) != text for role, text in before.items()):
                return False
        return True

    def _repeats(self, piece: Piece, experiment: Experiment, repeats: int) -> int:
        random = piece.template(experiment.method.parameters).is_random and "seed" not in experiment.method.parameters
        return repeats if random else 1


def run_entry(records: Sequence[Mapping[str, Any]], primary: str, owner: str = "") -> Entry:
    """Return the entry of a test run, by the records of its repeats."""
    values = tuple(float(record["metrics"][primary]) for record in records)
    about = records[0].get("about", {})
    return Entry(
        str(records[0]["run"]),
        {},
        values,
        primary,
        seconds=total_seconds(records),
        tags=about.get("tags", {}),
        owner=owner,
        parts=parts_of(about),
        findings=list(dict.fromkeys(chain.from_iterable(map(findings_of, records)))),
    )


def _question(experiment: Mapping[str, Any]) -> str:
    """Return a key of an experiment in JSON form, whatever its data are."""
    return key_of({name: value for name, value in experiment.items() if name != "data"})


@dataclass(frozen=True)
class CellRecords:
    """Cells that are done, with what is recorded of each by its key: entry and scores."""

    cells: Mapping[Key, Cell] = field(default_factory=dict)
    entries: Mapping[Key, Entry] = field(default_factory=dict)
    scores: Mapping[Key, Scored] = field(default_factory=dict)


class StoredCells:
    """Looks up what a store holds of pieces, and counts it in their suite; scores that were read are remembered."""

    def __init__(self, settings: Settings, records: Records, options: StudyOptions, *, any_code: bool) -> None:
        self.settings, self.records, self.options, self.any_code = settings, records, options, any_code
        self._scores: dict[tuple[str, int, int], Scored | None] = {}  # by study, trials and repeats

    def of(self, pieces: Iterable[Piece], keys: Collection[Key], reporter: Reporter) -> CellRecords:
        """Return those cells of these pieces, by their ``keys``, that are done and have scores that can be read."""
        recorded = EntryReader(self.settings, self.records, by_data=False, any_code=self.any_code)
        done: list[tuple[Cell, Entry]] = []
        for piece in pieces:
            if not any(cell.key in keys for cell in piece.cells):
                continue
            try:
                of_piece = recorded.done(piece, self.options, least=True)
                selected = [(cell, entry) for cell, entry in of_piece if entry is not None and cell.key in keys]
                for cell, entry in selected:
                    recorded.count_in(entry, piece.study_options(cell.task, self.options).part_of)
                done += selected
            except ZslplatError:
                continue  # carrying it out says what is wrong
            except Exception as error:  # of a plugin, of whatever kind
                reporter.warn(f"{piece.title} is left out of the tables: {one_line(error)}")
        states = [(entry.study, entry.trials, len(entry.test)) for _, entry in done]
        new = [state for state in states if state not in self._scores]
        scores_by_study = read_scores(self.records, {study for study, *_ in new}, reporter.warn)
        self._scores |= {state: scores_by_study.get(state[0]) for state in new}
        cells, entries, scores = {}, {}, {}
        for (cell, entry), state in zip(done, states, strict=True):
            scored = self._scores[state]
            if scored is not None:
                outcome = {"study": entry.study, "value": entry.value, "seconds": entry.seconds, "status": DONE}
                cells[cell.key] = replace(cell, **outcome)  # type: ignore[arg-type]
                entries[cell.key], scores[cell.key] = entry, scored
        return CellRecords(cells, entries, scores)


def read_scores(records: Records, studies: Collection[str], warn: Callable[[str], None]) -> dict[str, Scored]:
    """Return the test scores of studies and runs by name; those without any are left out.

    ``warn`` is called for outcomes that cannot be read.
    """
    return ResultTable(records, warn).scores_of_named(studies) if studies else {}

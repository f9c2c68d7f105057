"""What the records of a store hold of a grid already: its finished studies and test runs are not asked for again.

A study counts as finished where its trials, its test evaluations and its end are recorded, by the code as it is now.
Nothing is kept beside the records: what they hold is what is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from zslplat.checks.base import Finding
from zslplat.checks.records import findings_of
from zslplat.errors import StoreError
from zslplat.evaluation.code import LIBRARIES, CodeReader, code_of, roots_of
from zslplat.evaluation.components import build_component, open_dataset, source_of
from zslplat.evaluation.experiment import TEST, Experiment, repeat_seed
from zslplat.keys import key_of
from zslplat.records.costs import took_together
from zslplat.records.database import SEALED, Records
from zslplat.records.studies import STUDY, belongs, counted_in, parts_of
from zslplat.registry import component
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.suites.cells import Cell, Piece
from zslplat.tuning.identity import searching, study_name, unsearched
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
class Recorded:
    """What a store holds, asked for by the settings of a grid.

    By the specs of data sets, each of which is loaded once: ``fingerprints``, and ``classes``, how many are trained on
    and how many are unseen in the test. Without ``by_data`` no data are loaded: a study of the same experiment counts
    whatever its data were, the newest of several. ``changed`` collects the studies that other code computed; with
    ``any_code`` they count as well.
    """

    settings: Settings
    records: Records
    by_data: bool = True
    any_code: bool = False
    changed: list[str] = field(default_factory=list)
    fingerprints: dict[str, str] = field(default_factory=dict)
    classes: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Who only looks leaves nothing behind.
        self._reader = CodeReader(self.settings.cache / "code.json" if self.by_data else None)
        self._runs: dict[str, dict[str, dict[str, Mapping[str, Any]]]] = {}
        self._names: dict[str, str] = {}

    def known(self, experiment: Experiment) -> Experiment:
        """Return an experiment with the fingerprint of its data, which are loaded for it once."""
        spec = str(experiment.dataset)
        if not self.by_data:
            return experiment
        if spec not in self.fingerprints:
            dataset = open_dataset(experiment.dataset, self.settings)
            self.fingerprints[spec] = dataset.fingerprint
            single = dataset.y.ndim == 1
            counts = [
                len(np.unique(dataset.y[dataset.rows(split)])) if single and split in dataset.splits else 0
                for split in ("train", "test_unseen")
            ]
            self.classes[spec] = (counts[0], counts[1])
        return replace(experiment, data=self.fingerprints[spec])

    def entry(
        self, piece: Piece, task: str, parameters: Mapping[str, Any] | None, options: StudyOptions
    ) -> Entry | None:
        """Return what is recorded of a task of a piece, None where something of it is missing."""
        experiment = self.known(piece.experiment(task, parameters))
        repeats = self._repeats(piece, experiment, options.repeats)
        if piece.only_tested(task):
            return self._tested(experiment, repeats)
        name = self._name(experiment, options)
        found = None if name is None else self._study(name, experiment, piece.trials(task, options), repeats)
        template = piece.template(experiment.method.parameters)
        most = template.get_params(deep=False).get(template.step_parameter, "") if template.step_parameter else ""
        searched = not nothing_to_search(experiment.space, unsearched(experiment, template))
        return None if found is None else replace(found, most=most, searched=searched)

    def done(self, piece: Piece, options: StudyOptions, *, least: bool = False) -> list[tuple[Cell, Entry | None]]:
        """Return the cells of a piece, each with what is recorded of it, None where something of that is missing.

        What the first task finds is what the others are asked with. ``least``: a study counts that made fewer trials,
        or was tested less often, than the options say.
        """
        parameters: Mapping[str, Any] | None = None
        found: list[tuple[Cell, Entry | None]] = []
        for cell in piece.cells:
            entry = None
            if cell.task == piece.tasks[0] or parameters is not None:
                entry = self.entry(piece, cell.task, parameters, options)
                if entry is None and least:
                    entry = self.entry(piece, cell.task, parameters, replace(options, trials=1, repeats=1))
            if entry is not None and cell.task == piece.tasks[0]:
                parameters = entry.parameters
            found.append((cell, entry))
        return found

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
        name = self._name(self.known(piece.experiment(task)), options)
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
        known = self.records.evaluations(study.owner)
        test = [record for record in known.values() if record["winner"] == finished["winner"]]
        chosen = winner.get("carry", {}).get("best_step")
        entry = Entry(
            study=name,
            parameters=dict(winner["parameters"]),
            test=tuple(float(record["metrics"][primary]) for record in test),
            primary=primary,
            trials=len(trials),
            failed=sum(record["state"] == "failed" for record in trials),
            steps=None if chosen is None else float(chosen),
            seconds=took_together([*trials, *test]),
            finished=bool(finished["complete"]),
            tags=values["about"].get("tags", {}),
            method=str(Spec.parse(values["identity"]["method"]).with_parameters(winner["parameters"])),
            owner=study.owner,
            parts=parts_of(values["about"]),
            findings=findings_of(finished, name),
        )
        return entry, [*trials, *known.values()]

    def _name(self, experiment: Experiment, options: StudyOptions) -> str | None:
        """Return the name of the study of an experiment, None where there is none."""
        asked = searching(experiment, options, component("methods", experiment.method.name))
        if self.by_data:
            name = study_name(asked, options)
            return name if name in self.records.study_names() else None
        if not self._names:
            self._names = {_question(identity): name for name, identity in self.records.identities().items()}
        return self._names.get(_question(asked.to_json()))

    def _study(self, name: str, experiment: Experiment, wanted: int, repeats: int) -> Entry | None:
        try:
            read = self._read_study(name)
        except StoreError:
            return None  # whoever carries it out says what is wrong
        if read is None:
            return None
        entry, records = read
        if not entry.finished or entry.trials < wanted or len(entry.test) < repeats:
            return None
        if self.any_code or self._by_this_code(experiment, records):
            return entry
        self.changed.append(name)
        return None

    def _tested(self, experiment: Experiment, repeats: int) -> Entry | None:
        seeds = [repeat_seed(experiment.seed, r) for r in range(repeats)]
        asked = [_question(experiment.evaluation({}, TEST, seed).to_json()) for seed in seeds]
        for _ in range(2):
            known = experiment.data in self._runs
            entries = []
            for owner, found in self._evaluations(experiment.data).items():
                records = [found[question] for question in asked if question in found]
                if len(records) == repeats and (self.any_code or self._by_this_code(experiment, records)):
                    entries.append(run_entry(records, _primary(experiment, records[0]), owner))
            if entries:
                # Runs that repeat each other are one: a suite has it where any of them is its cell.
                return replace(entries[0], parts=[part for entry in entries for part in entry.parts])
            if not known:
                break
            del self._runs[experiment.data]  # another command may have recorded it since these were read
        return None

    def _evaluations(self, data: str) -> dict[str, dict[str, Mapping[str, Any]]]:
        """Return {owner: {question: record}} of the complete evaluations on data, the newest owner first."""
        if data not in self._runs:
            found: dict[str, dict[str, Mapping[str, Any]]] = {}
            for owner, _, record in self.records.evaluations_on(data) if data else self.records.all_evaluations():
                # What the oracle scored is for analysis alone, whoever asks.
                if record.get("state") == "complete" and "experiment" in record and not owner.startswith(SEALED):
                    found.setdefault(owner, {})[_question(record["experiment"])] = record
            self._runs[data] = dict(reversed(found.items()))
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

    def _repeats(self, piece: Piece, experiment: Experiment, asked: int) -> int:
        random = piece.template(experiment.method.parameters).is_random and "seed" not in experiment.method.parameters
        return asked if random else 1


def run_entry(records: Sequence[Mapping[str, Any]], primary: str, owner: str = "") -> Entry:
    """Return the entry of a test run, by the records of its repeats."""
    values = tuple(float(record["metrics"][primary]) for record in records)
    about = records[0].get("about", {})
    return Entry(
        str(records[0]["run"]),
        {},
        values,
        primary,
        seconds=took_together(records),
        tags=about.get("tags", {}),
        owner=owner,
        parts=parts_of(about),
        findings=list(dict.fromkeys(chain.from_iterable(map(findings_of, records)))),
    )


def _question(experiment: Mapping[str, Any]) -> str:
    """Return a key of an experiment in JSON form, whatever its data are."""
    return key_of({name: value for name, value in experiment.items() if name != "data"})


def _primary(experiment: Experiment, record: Mapping[str, Any]) -> str:
    """Return the primary metric that a record was made with; older ones do not say it, and have that of the task."""
    told = record.get("about", {}).get("primary")
    return str(told["name"] if told else build_component("tasks", experiment.task).primary.name)

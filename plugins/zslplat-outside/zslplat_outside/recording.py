"""Scores that were made elsewhere, by a deep network, say: checked, scored, recorded and shown like a method of ours.

An *entry* is one name with the first scores of that name. It is recorded as single runs are, under an owner
of its own: a test evaluation for every repeat, and one of the validation folds where their scores are given. Its
method is called ``outside:NAME(scores=DIGEST)``, by the digest of the scores of repeat 0, so that other scores under
the same name are another experiment. In place of the hash of a method's code stands the digest of the scores.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from zslplat.checks.base import drop_silenced, findings_of, warning_facts
from zslplat.checks.facts import RecordedWarning
from zslplat.errors import UsageError
from zslplat.evaluation.cache.arrays import ArrayCache
from zslplat.evaluation.code import SCORING, CodeReader, libraries
from zslplat.evaluation.components import NOTHING, build_component, open_dataset, source_of
from zslplat.evaluation.context import describe_surroundings
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.reporter import Reporter, SilentReporter
from zslplat.evaluation.scoring.evaluation import plain_record, summary_of_folds
from zslplat.evaluation.scoring.folds import Fold
from zslplat.evaluation.scoring.messages import collect_warnings, warning_entries
from zslplat.evaluation.scoring.outcomes import REPLICATES
from zslplat.keys import EXPERIMENT_CHOICES, RECORD_CHOICES, key_of, run_identifier
from zslplat.listeners import Listeners
from zslplat.records.database import Records
from zslplat.records.environment import environment_record
from zslplat.records.folders import working_lock
from zslplat.records.locks import file_lock
from zslplat.settings import Settings
from zslplat.spec import Spec, format_value
from zslplat.tasks.base import Problem, Task
from zslplat.tuning.findings import evaluation_findings
from zslplat.tuning.single import RunResult
from zslplat_outside.aligned_scores import differences_lost
from zslplat_outside.exported_split import row_problems
from zslplat_outside.request import (
    OutsideScores,
    ScoreSet,
    declared_knowledge,
    distinct_names,
    read_test_scores,
    read_validation_scores,
)

PREFIX = "outside:"
_DIGITS = 12
_CENTRED = "centred_mAP"
_MOST_LOST = 0.01


def updated_record(
    key: str, record: Mapping[str, Any], request: OutsideScores, tags: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """Return a record of an entry with what the request states, and in words what has changed beside its tags.

    Tags belong to the whole entry, seconds to the repeats whose scores are given, a description to these and, with
    the first scores, to validation.
    """
    tags_before = record["about"].get("tags", {})
    updated = {**record}
    if not tags.items() <= tags_before.items():
        updated["about"] = {**record["about"], "tags": {**tags_before, **tags}}
    changes = []
    repeats = range(request.repeat, request.repeat + len(request.scores))
    is_given = request.repeat == 0 if key == VALIDATION else int(record["repeat"]) in repeats
    before = record["outside"]["description"]
    if is_given and request.description not in ("", before):
        updated["outside"] = {**record["outside"], "description": request.description}
        changes.append(f"description {request.description!r}{_in_place_of(before)}")
    before = record.get("seconds")
    if is_given and key != VALIDATION and request.seconds not in (None, before):
        updated["seconds"] = request.seconds
        changes.append(f"seconds {format_value(request.seconds)}{_in_place_of(before)}")
    return updated, changes


def key_in_words(key: str) -> str:
    """Return what a record of an entry is called in words: ``repeat 0``, ``validation``."""
    return key.replace("-", " ")


def _in_place_of(before: object) -> str:
    return f" in place of {before!r}" if before not in (None, "") else ""


@dataclass
class OutsideResult(RunResult):
    """What scoring gave: as of a single run, with the mean over the validation folds where their scores were given.

    ``method`` is what comparisons call the entry, ``validation_chance`` what guessing reaches on them, too, in the
    mean; ``notes`` are lines on how it was recorded.
    """

    method: str = ""
    knows: str = NOTHING
    validation: dict[str, float] = field(default_factory=dict)
    validation_chance: float = 0.0
    notes: list[str] = field(default_factory=list)


def score_outside(
    request: OutsideScores,
    dataset: Spec,
    task: Spec,
    settings: Settings,
    *,
    seed: int = 0,
    reporter: Reporter | None = None,
) -> OutsideResult:
    """Score and record what was made elsewhere; scores that are recorded already are not evaluated again.

    Without ``request.scores`` the validation folds alone are scored, and the test split is not looked at. Raises
    :class:`UsageError` for scores that do not fit the task, naming what does not, and
    :class:`~zslplat.errors.DataError` for files that cannot be read.
    """
    reporter = reporter or SilentReporter()
    knows = declared_knowledge(request)
    built: Task = build_component("tasks", task)
    reporter.stage(f"loading {dataset}")
    with collect_warnings() as warned:
        data = open_dataset(dataset, settings)
        built = built.suited(data)
        if request.manifest is not None:
            request.manifest.check(data.fingerprint, str(task), seed)
        validation = test = None
        if request.validation:
            validation = read_validation_scores(request, built, row_problems(built, data, VALIDATION, seed))
        if request.scores:
            test = read_test_scores(request, built, row_problems(built, data, TEST, seed)[0])
        settings.make_store()
        experiment = Experiment(Spec(PREFIX + request.name), dataset, task, seed=seed, data=data.fingerprint)
        code = _code(built, dataset, settings)
        surroundings = describe_surroundings(experiment, data, built, "made elsewhere", tags=settings.tags)
        records = Records(settings, reporter.warn)
        try:
            with file_lock(working_lock(settings), shared=True):
                entry = _Entry(
                    request, experiment, built, records, settings, reporter, knows, code, surroundings, warned
                )
                return entry.evaluate(validation, test)
        finally:
            records.close()
            ArrayCache(settings.cache / "prepared", settings.cache_gigabytes * 2**30).evict(settings.cache / "data")


@dataclass
class _Entry:
    """One entry: what is recorded of it already, and what is recorded now.

    ``code`` are the hashes of the code that scores, ``surroundings`` is what records hold as ``about``, ``warned`` what
    loading and building warned of; ``owner``, ``choices`` (of validation) and ``names`` (of files, as records have
    them) are set by :meth:`evaluate`.
    """

    request: OutsideScores
    experiment: Experiment
    task: Task
    records: Records
    settings: Settings
    reporter: Reporter
    knows: str
    code: Mapping[str, str]
    surroundings: Mapping[str, Any]
    warned: Sequence[str]
    owner: str = ""
    choices: dict[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        self.listeners = Listeners(self.settings, self.records, self.reporter.warn)
        self.result = OutsideResult(TEST, [], [], self.task.primary.name, 0.0, [], 0, knows=self.knows)

    def evaluate(self, validation: ScoreSet | None, test: ScoreSet | None) -> OutsideResult:
        """Record what is not recorded yet, and show it."""
        result = self.result
        self.names = distinct_names([file.where for part in (validation, test) if part for file in part.files])
        self._identify(validation, test)
        result.method, result.about = str(self.experiment.method), dict(self.surroundings)
        records, new = self.records.evaluations(self.owner), False
        if validation is not None and VALIDATION not in records:
            self._record(VALIDATION, VALIDATION, validation, 0)
            new = True
            added = self.records.evaluations(self.owner)[VALIDATION]["metrics"]
            for key, record in records.items():  # evaluated before there were scores of the folds
                self.records.replace_evaluation(self.owner, key, {**record, "validation": added})
        records = self.records.evaluations(self.owner)
        if VALIDATION in records:
            result.validation = dict(records[VALIDATION]["metrics"])
            result.validation_chance = fmean(records[VALIDATION]["chances"])
            if validation is not None and records[VALIDATION]["code"]["method"] != key_of(*validation.digests):
                raise UsageError(
                    f"{result.method} is recorded with other scores of the validation folds; give another --name"
                )
            if test is not None:
                self._add_findings(records[VALIDATION])
        if test is not None:
            self._refuse_repeated_scores(test, records)
        for place in range(len(test.scores) if test else 0):
            assert test is not None
            repeat = self.request.repeat + place
            key = f"repeat-{repeat}"
            if key not in records:
                self._record(key, TEST, test.alone(place), repeat)
                records, new = self.records.evaluations(self.owner), True
            elif records[key]["code"]["method"] == test.digests[place]:
                result.recalled += 1
            else:
                raise UsageError(
                    f"repeat {repeat} of {result.method} is recorded with other scores; give the next number, or leave "
                    "--repeat out for a new entry"
                )
            self._add_result(records[key])
        if test is None:
            result.split = VALIDATION
            result.recalled += 0 if new else 1
            self._add_result(records[VALIDATION])
        if not new:
            result.notes.append("these scores are recorded already; they were not evaluated again")
        changed = self._update_records()
        if changed or new:
            self.listeners.on_run_complete(self.owner, self.records.evaluations(self.owner), changed)
            self.listeners.close()
        result.test_evaluations = self.records.test_evaluations(self.experiment.data)
        return result

    def _update_records(self) -> list[str]:
        """Take over what the request states of what is recorded already; return the keys of the records that change."""
        changed, keys_by_change = list[str](), dict[str, list[str]]()
        for key, record in self.records.evaluations(self.owner).items():
            updated, changes = updated_record(key, record, self.request, self.settings.tags)
            if updated != record:
                self.records.replace_evaluation(self.owner, key, updated)
                self.listeners.on_run_begin(self.owner)
                changed.append(key)
            for text in changes:
                keys_by_change.setdefault(text, []).append(key_in_words(key))
        self.result.notes += [f"recorded now, of {', '.join(keys)}: {text}" for text, keys in keys_by_change.items()]
        return changed

    def _refuse_repeated_scores(self, test: ScoreSet, recorded: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise :class:`UsageError` where the scores of two repeats are the same: they are of one seed.

        Their spread would be 0, and say of a random method that it is none.
        """
        seen = {
            str(record["code"]["method"]): int(record["repeat"])
            for key, record in recorded.items()
            if key != VALIDATION
        }
        for place, digest in enumerate(test.digests):
            repeat = self.request.repeat + place
            if seen.setdefault(digest, repeat) != repeat:
                raise UsageError(
                    f"{test.files[place].where}: its scores are those of repeat {seen[digest]}, to the last digit, and "
                    f"were given as those of another seed, repeat {repeat}; give the scores of each seed once"
                )

    def _identify(self, validation: ScoreSet | None, test: ScoreSet | None) -> None:
        """Find out which entry is meant: its owner, its experiment, and what its validation chose."""
        others = list(self._others())
        if self.request.repeat:
            if not others:
                raise UsageError(
                    f"--repeat {self.request.repeat}: nothing is recorded of {self.experiment.method} for this task "
                    "and data; give the scores of the first seed without --repeat"
                )
            self.owner, record = others[-1]
            if self.request.knows and record["knows"] != self.knows:
                raise UsageError(
                    f"--knows {self.knows}: the first scores of {self.experiment.method} were declared to know "
                    f"{record['knows']}; leave --knows out with --repeat"
                )
            self.knows = self.result.knows = record["knows"]
            self.experiment = Experiment.from_json(record["experiment"])
            self.choices = dict(self.experiment.validation_choices)
            return
        score_set = test or validation
        assert score_set is not None
        digest = score_set.digests[0] if test else key_of(*score_set.digests)
        self.experiment = Experiment(
            self.experiment.method.with_parameters({"scores": digest[:_DIGITS]}),
            self.experiment.dataset,
            self.experiment.task,
            seed=self.experiment.seed,
            data=self.experiment.data,
        )
        code = {**self.code, "method": digest}
        scored = [(owner, record) for owner, record in others if record["code"]["method"] == digest]
        computed = [(owner, record) for owner, record in scored if record["code"] == code]
        same = [(owner, record) for owner, record in computed if record["knows"] == self.knows]
        if test is not None and validation is None and same:
            self.owner = same[-1][0]
            self.choices = dict(same[-1][1]["experiment"][EXPERIMENT_CHOICES])
            return
        if validation is not None:
            self.choices = _validation_choices(self.task, validation)
        parts = (self.experiment.to_json(), self.choices, self.knows, dict(self.code), digest)
        self.owner = f"run:{key_of('outside', TEST if test else VALIDATION, *parts)}"
        if others and not any(owner == self.owner for owner, _ in others):
            how = "without what validation chooses now" if same else "with another --knows" if computed else ""
            how = how or ("as an earlier version scored it" if scored else "with other scores")
            self.result.notes.append(f"{PREFIX}{self.request.name} is recorded {how}; this is a new entry")

    def _others(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (owner, record) of the first repeat of each entry of this name, oldest first."""
        place = {
            "dataset": str(self.experiment.dataset),
            "task": str(self.experiment.task),
            "seed": self.experiment.seed,
        }
        for owner, key, record in self.records.evaluations_on(self.experiment.data):
            is_first = key == "repeat-0" and record.get("outside", {}).get("name") == self.request.name
            if is_first and all(record["experiment"][name] == value for name, value in place.items()):
                yield owner, record

    def _record(self, key: str, split: str, score_set: ScoreSet, repeat: int) -> None:
        """Evaluate scores and record that."""
        request, run = self.request, run_identifier("", self.owner, key)
        self.reporter.stage(f"scoring {self.experiment.method} on the {split} split")
        choices = self.choices if split == TEST else {}
        content = evaluate_scores(
            self.task,
            score_set.problems,
            score_set.scores,
            self.records.evaluation_folder(run),
            test=split == TEST,
            label=str(self.experiment.method),
            validation_choices=choices,
        )
        experiment = self.experiment.evaluation({}, split, repeat, choices)
        chances = [self.task.chance(problem) for problem in score_set.problems]
        warned = [*warning_facts(warning_entries([("", self.warned)])), *self._warned(content, split, score_set.scores)]
        folder = self.records.evaluation_folder(run) if split == TEST else None
        findings = evaluation_findings(self.experiment, self.task, content, split, chances, folder, warned)
        content |= {
            "run": run,
            "experiment": experiment.to_json(),
            "question": experiment.question,
            "code": {
                **self.code,
                "method": key_of(*score_set.digests) if split == VALIDATION else score_set.digests[0],
            },
            "knows": self.knows,
            "outside": {
                "name": request.name,
                "description": request.description,
                "files": {self.names[file.where]: file.sha256 for file in score_set.files},
                "labels_exported": self._labels_exported,
                "order": request.order(test=split == TEST),
            },
            "seed": repeat,
            "repeat": repeat,
            "repeats": max(repeat + 1, len(request.scores)) if split == TEST else 1,
            "about": dict(self.surroundings),
            "environment": environment_record(),
            "findings": [finding.to_json() for finding in findings],
            "chances": chances,
            "started": self.started,
            **({"validation": self.result.validation} if split == TEST else {}),
            **({"seconds": request.seconds} if request.seconds is not None and split == TEST else {}),
        }
        self.listeners.on_run_begin(self.owner)
        self.records.add_evaluation(self.owner, key, split, self.experiment.data, content)

    def _warned(self, content: Mapping[str, Any], split: str, scores: Sequence[np.ndarray]) -> list[RecordedWarning]:
        """Return the warnings of an evaluation that it has not raised itself."""
        warned = []
        missing = sorted(set(content[RECORD_CHOICES]) - set(self.choices)) if split == TEST else []
        if missing:
            text = (
                f"metrics that need the {', '.join(missing)} that validation chooses are left out: there are no scores "
                "of the validation folds (--validation)"
            )
            warned.append(RecordedWarning(text, "ZSP214"))
        if self._labels_exported:
            text = "the labels of the test rows were exported with the split that these scores are of"
            warned.append(RecordedWarning(text, "ZSP215"))
        if _CENTRED in content["metrics"] and (lost := max(map(differences_lost, scores))) > _MOST_LOST:
            farthest = max(float(np.abs(one).max()) for one in scores)
            text = (
                f"{lost:.0%} of the differences between scores are lost where the mean of a row is taken off, beside "
                f"others as far off as {farthest:.2g}: {_CENTRED} is of little use"
            )
            warned.append(RecordedWarning(text, "ZSP219"))
        return warned

    @property
    def _labels_exported(self) -> bool:
        return self.request.manifest is not None and bool(self.request.manifest.content["with_labels"])

    def _add_result(self, record: Mapping[str, Any]) -> None:
        """Add a recorded evaluation to the result."""
        result = self.result
        result.metrics.append(dict(record["metrics"]))
        result.folds.append(list(record["folds"]))
        result.run_ids.append(record["run"])
        result.chance = fmean(record["chances"])
        self._add_findings(record)

    def _add_findings(self, record: Mapping[str, Any]) -> None:
        """Add what checks found in a recorded evaluation to the result, each finding once."""
        result = self.result
        findings = [finding for finding in findings_of(record) if finding.to_json() not in result.findings]
        visible, silenced = drop_silenced(findings, self.settings.silenced)
        result.findings += [finding.to_json() for finding in findings]
        result.warnings += [finding.line for finding in visible]
        result.silenced += silenced


def _validation_choices(task: Task, score_set: ScoreSet) -> dict[str, Any]:
    """Return what the validation folds choose for the test."""
    pairs = zip(score_set.problems, score_set.scores, strict=True)
    return task.validation_choices([task.score(p, task.outputs_of(p, s), {}, full=False) for p, s in pairs])


def _code(task: Task, dataset: Spec, settings: Settings) -> dict[str, str]:
    """Return the hashes of the code that scores, by role, and the versions of the libraries; none of a method."""
    settings.cache.mkdir(parents=True, exist_ok=True)
    reader = CodeReader(settings.cache / "code.json")
    roots = {"task": {type(task).__module__}, "data": {type(source_of(dataset, settings)).__module__}}
    digests = {role: reader.digest(modules) for role, modules in {**roots, "scoring": set(SCORING)}.items()}
    return {**digests, **libraries()}


def evaluate_scores(
    task: Task,
    problems: Sequence[Problem],
    scores: Sequence[np.ndarray],
    folder: Path,
    *,
    test: bool,
    label: str,
    validation_choices: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record of scores (m, c) of each problem, with rows and classes in the order of the problem.

    It is what an evaluation makes of a method with these outputs, without what a method costs and learns.
    ``folder``: that of the evaluation, which gets artifacts and, for the test split, outcomes per row and replicates.
    ``label`` names the origin of the scores in messages.
    """
    job = EvaluateJob(
        label=label,
        method=label,
        parameters={},
        seed=0,
        task=task.name,
        problems=tuple((problem.name, None) for problem in problems),
        validation_choices=dict(validation_choices or {}),
        full=True,
        artifacts=folder / "artifacts",
        replicates=REPLICATES if test else 0,
        outcomes=folder if test else None,
        test=test,
    )
    finished, outcomes = [], []
    for problem, matrix in zip(problems, scores, strict=True):
        fold = Fold(task, problem, None, iter([(1, task.outputs_of(problem, matrix))]), job)
        fold.complete()
        outcomes.append(fold.finish())
        # The time of scoring says nothing about the time of making the scores.
        del fold.record["seconds"]
        finished.append(fold)
    return plain_record(summary_of_folds(finished, outcomes))

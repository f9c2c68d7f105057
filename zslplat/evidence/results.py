"""What is recorded of one study, single run or sweep: a row of the table of results; and one row per experiment.

Reruns, and studies that searched the same thing, stand behind one result. Which one is never chosen by a test score. It
is one that was computed by the newest code; among these the study with the best validation; among equals the one with
the most trials, and of these the one that was evaluated last.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from zslplat.checks.base import Finding, findings_of
from zslplat.data.class_draws import images_of
from zslplat.evaluation.experiment import TEST
from zslplat.keys import EXPERIMENT_CHOICES, METRIC, key_of
from zslplat.records.studies import parts_of, selected_by, suites_of
from zslplat.spec import Spec
from zslplat.tasks.base import Metric

Record = Mapping[str, Any]
# Default names of studies end in eight digits of the key of their experiment.
_DEFAULT_NAME = re.compile(r"@.*-([0-9a-f]{8})$", re.DOTALL)
_EXPERIMENT = ("method", "dataset", "task", "features", "signatures", "seed", "data", METRIC)


@dataclass(frozen=True)
class Evaluation:
    """One recorded evaluation, and the folder of its outcomes and artifacts, which may be missing."""

    record: Record
    folder: Path

    @property
    def artifacts(self) -> Path:
        """The folder of its tables and figures."""
        return self.folder / "artifacts"

    @property
    def numbers(self) -> dict[str, float]:
        """What the method reports of itself: the mean over the folds that have it."""
        by_name: dict[str, list[float]] = {}
        for fold in self.record.get("folds", []):
            for name, value in fold.get("numbers", {}).items():
                by_name.setdefault(name, []).append(float(value))
        return {name: sum(values) / len(values) for name, values in by_name.items()}


class Requested:
    """What was asked for by its ``identity``: the experiment in JSON form."""

    identity: Record

    @property
    def method(self) -> str:
        """The method as it was requested."""
        return str(self.identity["method"])

    @property
    def dataset(self) -> str:
        """The data set as it was requested."""
        return str(self.identity["dataset"])

    @property
    def task(self) -> str:
        """The task as it was requested."""
        return str(self.identity["task"])


@dataclass(frozen=True)
class Result(Requested):
    """A study, or a single run, with its evaluations.

    ``name`` is what comparisons call it, ``aliases`` its run identifiers. ``identity`` is the experiment in JSON form
    as it was requested: that of a study holds the ranges that were searched. ``tested`` are the test evaluations of a
    study's winner by repeat, or those of a run on whichever split; ``validated`` the evaluations of the validation
    folds that scores made elsewhere have beside them. ``winner`` is the record of the best trial, empty for single runs
    and before a study has ended; ``finished`` is what a study noted at its end.

    ``chance`` and ``test_chance`` are the scores of guessing on validation and test. ``draws`` are the results, by
    number, that a result of several draws of classes is joined of (:func:`join_results`).

    The last fields are filled by :meth:`~zslplat.evidence.table.ResultTable.detailed` alone: ``trials`` are the records
    of all trials, and ``config`` the file with the best hyperparameters.
    """

    name: str
    identity: Record
    tested: Sequence[Evaluation] = ()
    is_study: bool = False
    about: Record = field(default_factory=dict)
    winner: Record = field(default_factory=dict)
    trial_count: int = 0
    finished: Record | None = None
    aliases: frozenset[str] = frozenset()
    validated: Sequence[Evaluation] = ()
    chance: float | None = None
    test_chance: float | None = None
    trials: Sequence[Record] = ()
    environment: Record = field(default_factory=dict)
    config: Path | None = None
    draws: Mapping[int, Result] = field(default_factory=dict)

    @property
    def split(self) -> str:
        """The split that a single run was scored on; the test split for a study."""
        return str(self.identity.get("split", TEST))

    @property
    def has_test(self) -> bool:
        """Whether the test split was scored."""
        return bool(self.tested) and self.split == TEST

    @property
    def experiment(self) -> Record:
        """The experiment of the first test evaluation, with the hyperparameters that were used."""
        experiment: Record = self.tested[0].record["experiment"]
        return experiment

    @property
    def data(self) -> str:
        """The fingerprint of the data set that was scored."""
        return str(self.experiment["data"])

    @property
    def created(self) -> float:
        """When it was evaluated, in seconds since 1970."""
        return float(self.tested[0].record["created"])

    @property
    def code_mark(self) -> str:
        """What is recorded of code that changed during the study; empty as a rule."""
        return str((self.finished or {}).get("code", ""))

    @property
    def primary(self) -> Metric | None:
        """The metric that was optimised, where the records say it."""
        return Metric(**self.about["primary"]) if "primary" in self.about else None

    @property
    def selected_by(self) -> str | None:
        """The metrics by which a study selected its winner; None of a single run."""
        return selected_by(self.identity, self.about) if self.is_study else None

    @property
    def rows(self) -> str | None:
        """The hash of the scored rows, None where no record has it."""
        return next((str(fold["rows"]) for one in self.tested for fold in one.record["folds"] if "rows" in fold), None)

    @property
    def labels(self) -> str:
        """The hashes of the labels that test rows were given, by evaluation; empty where one lacks it."""
        digests = [fold.get("labels", "") for one in self.tested for fold in one.record["folds"]]
        return " ".join(digests) if all(digests) else ""

    @property
    def runs(self) -> list[str]:
        """The identifiers of its evaluations."""
        return [str(evaluation.record["run"]) for evaluation in self.tested]

    @property
    def images(self) -> frozenset[str]:
        """What tells the images that were scored from those of other data sets (:mod:`zslplat.data.class_draws`)."""
        if self.draws:
            return frozenset().union(*(draw.images for draw in self.draws.values()))
        return images_of(self.dataset, self.rows, self.about.get("data", {}).get("features_digest"))

    @property
    def validation(self) -> Mapping[str, float]:
        """The metrics on validation: of the winner, or of scores made elsewhere; nothing for other single runs."""
        return dict(self.winner.get("metrics", {}) or self.tested[0].record.get("validation", {}))

    @property
    def findings(self) -> list[Finding]:
        """What the checks found, none of it silenced."""
        if self.is_study:
            return findings_of(self.finished or {})
        records = [evaluation.record for evaluation in (*self.tested, *self.validated)]
        return list(dict.fromkeys(one for record in records for one in findings_of(record)))

    @cached_property
    def particulars(self) -> dict[str, str]:
        """What results of one method may differ in beside its parameters, each in words."""
        identity, space = self.identity, self.identity.get("space", {})
        return {
            "features": f"features {identity.get('features') or 'its own'}",
            "signatures": f"signatures {identity.get('signatures') or 'its own'}",
            "seed": f"seed {identity.get('seed', 0)}",
            "search": "tuned" if self.is_study else "not tuned",
            "metric": f"selected by {identity[METRIC]}" if METRIC in identity else "selected by its own metric",
            "ranges": ", ".join(f"{name}={space[name]}" for name in sorted(space)) or "nothing searched",
            "data": f"data {self.data[:8]}",
        }

    @property
    def tag(self) -> str:
        """A short name of the study or run: the digits that end a default name, or the whole name."""
        match = _DEFAULT_NAME.search(self.name)
        return match[1] if match else self.name

    @property
    def digest(self) -> str:
        """What stands for the method and its :attr:`particulars`, which are the same on every data set."""
        return key_of(self.method, [text for name, text in self.particulars.items() if name != "data"])[:8]

    @property
    def experiment_key(self) -> str:
        """What two results of one experiment share, however they were searched."""
        identity = {name: self.identity.get(name) for name in _EXPERIMENT}
        return key_of(identity, self.identity.get("space"), self.identity.get(EXPERIMENT_CHOICES), self.data, self.rows)

    @property
    def suite_parts(self) -> list[dict[str, str]]:
        """The cells of suites that it is, each with ``suite``, ``data`` and ``row``, that of its first suite first."""
        return parts_of(self.about)

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites that it is part of, that which it was carried out for first."""
        return suites_of(self.about)

    @property
    def suite_rows(self) -> frozenset[tuple[str, str]]:
        """The suites, each with its row, that it is part of."""
        return frozenset((part["suite"], part["row"]) for part in self.suite_parts if {"suite", "row"} <= set(part))

    @property
    def tags(self) -> Mapping[str, str]:
        """The tags that the user gave."""
        return dict(self.about.get("tags", {}))

    @property
    def search_trials(self) -> int | None:
        """The trials of the search that chose the hyperparameters, None where none did.

        Within a suite that may be the search of another task, which hands on its winner.
        """
        trials = self.trial_count if self.is_study else None
        handed_on = next((part["trials"] for part in self.suite_parts if "trials" in part), None)
        return trials if handed_on is None else max(trials or 0, int(handed_on))

    @property
    def has_hyperparameters(self) -> bool:
        """Whether hyperparameters were searched or set; where there are none, one trial is as good as many."""
        return bool(self.identity.get("space") or Spec.parse(str(self.experiment["method"])).parameters)

    @property
    def questions(self) -> frozenset[str]:
        """The keys of what was evaluated, one for each repeat."""
        return frozenset(str(one.record["question"]) for one in self.tested)

    @property
    def computing(self) -> Mapping[str, str]:
        """The hashes of the code that computed the evaluations, libraries left out."""
        code = self.tested[0].record.get("code", {})
        return {role: code[role] for role in ("method", "kernel", "task", "data", "scoring") if role in code}


@dataclass(frozen=True)
class ResultGroup:
    """The results of one experiment: the one that is shown, and the others."""

    shown: Result
    others: tuple[Result, ...] = ()

    @property
    def aliases(self) -> frozenset[str]:
        """All names of the others: a name of any of them finds the group."""
        return frozenset(name for other in self.others for name in (other.name, *other.aliases))

    @property
    def suite_rows(self) -> frozenset[tuple[str, str]]:
        """The suites, and their rows, that any of them is part of."""
        return frozenset(row for one in (self.shown, *self.others) for row in one.suite_rows)

    @property
    def replaced(self) -> tuple[Result, ...]:
        """Those that are not shown only because their code is older."""
        older = [other for other in self.others if other.computing != self.shown.computing]
        return tuple(other for other in older if _rank(other) > _rank(self.shown))

    def replaced_in_words(self, short: str) -> str:
        """Say that newer code is shown in place of studies with a better validation or more trials."""
        studies = ", ".join(f"{one.name} ({_reached(one)})" for one in self.replaced)
        return (
            f"{short} on {self.shown.dataset}: {self.shown.name} ({_reached(self.shown)}) is by newer code and is "
            f"shown in place of {studies}; --study shows what it names"
        )


def _reached(study: Result) -> str:
    if not study.is_study:
        return "evaluated again"
    value = study.winner.get("value")
    return f"{study.trial_count} trials" + ("" if value is None else f", validation {value:.4f}")


def group_by_experiment(results: Sequence[Result]) -> list[ResultGroup]:
    """Return a group per experiment, in the order of their first results.

    A single run joins the study whose winner it evaluates again. Studies and runs of the same experiment (method, its
    fixed and searched hyperparameters, data, task, preprocessing and seed) that scored the same rows are one group,
    whatever their names, numbers of trials and samplers.
    """
    members: dict[str, list[Result]] = {}
    key_of_question = {question: r.experiment_key for r in results if r.is_study for question in r.questions}
    for result in results:
        studies = {key_of_question[question] for question in result.questions if question in key_of_question}
        is_rerun = not result.is_study and len(studies) > 0
        key = min(studies) if is_rerun else result.experiment_key
        members.setdefault(key, []).append(result)
    return [_group(results) for results in members.values()]


def join_results(draws: Mapping[int, Result], dataset: str) -> Result:
    """Return one result, on ``dataset``, of those on several draws of its classes; the first stands for all."""
    results = [draws[number] for number in sorted(draws)]
    first = results[0]
    return replace(
        first,
        identity={**first.identity, "dataset": dataset},
        tested=[evaluation for result in results for evaluation in result.tested],
        aliases=frozenset(name for result in results for name in (result.name, *result.aliases)),
        draws=dict(draws),
    )


def split_out(groups: Sequence[ResultGroup], names: Container[str]) -> list[ResultGroup]:
    """Return the groups, and as groups of their own those results that stand behind another and are named."""
    separated = []
    for group in groups:
        named = [other for other in group.others if is_named(other, names)]
        others = tuple(other for other in group.others if other not in named)
        separated += [ResultGroup(group.shown, others), *map(ResultGroup, named)]
    return separated


def is_named(result: Result, names: Container[str]) -> bool:
    """Tell whether a result has one of these names."""
    return any(name in names for name in (result.name, *result.aliases))


def _rank(result: Result) -> tuple[float, int]:
    """Return what puts a study before another by the same code: its validation, the larger the better, then its trials.

    Single runs come last.
    """
    value = result.winner.get("value")
    if value is None:
        return -math.inf, result.trial_count
    maximise = result.about.get("primary", {}).get("maximise", True)
    return (value if maximise else -value), result.trial_count


def _group(results: Sequence[Result]) -> ResultGroup:
    newest = max(results, key=lambda result: result.created).computing
    shown = max(results, key=lambda result: (result.computing == newest, _rank(result), result.created))
    return ResultGroup(shown, tuple(result for result in results if result is not shown))


@dataclass(frozen=True)
class Sweep(Requested):
    """A sweep: the values of one parameter with the mean score of each on each split, None where a point failed."""

    identity: Record
    parameter: str
    values: Sequence[Any]
    curves: Mapping[str, Sequence[float | None]]
    primary: str
    findings: Sequence[Finding]

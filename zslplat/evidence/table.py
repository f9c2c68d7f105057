"""The table of all results of a store: read on demand, each study and run once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from zslplat.checks.base import findings_of
from zslplat.data.catalogue import available, title_of
from zslplat.data.class_draws import names_of
from zslplat.data.source import DataPlaces
from zslplat.errors import StoreError, UnknownNameError, ZslplatError, near_names
from zslplat.evaluation.components import build_component, registered_sources
from zslplat.evaluation.experiment import TEST
from zslplat.evidence.results import Evaluation, Record, Result, Sweep, is_named
from zslplat.evidence.scores import Scored, scores_of, with_outcomes
from zslplat.keys import run_identifier
from zslplat.records.database import Records
from zslplat.records.folders import study_folder
from zslplat.records.overview import Overview
from zslplat.records.studies import PARENT, STUDY, SUMMARY, untested_error
from zslplat.settings import Settings
from zslplat.spec import Spec

RUN, SWEEP = "run:", "sweep:"


class ResultTable:
    """The results of a store. ``warn`` is called with a message for each damaged study, which is left out."""

    def __init__(self, records: Records, warn: Callable[[str], None]) -> None:
        self.records, self.warn = records, warn
        self.identities = records.identities()
        self.overview = Overview(records)
        self._rows: dict[Hashable, list[dict[str, Any]]] = {}
        self._studies: dict[str, Result | None] = {}
        self._tested_by_key: dict[tuple[str, str], list[Result]] = {}
        self._tests: dict[str, list[Record]] = {}
        for owner, _, record in records.evaluations_on_split(TEST):
            self._tests.setdefault(owner, []).append(record)

    def datasets(self, task: str) -> list[str]:
        """Return the specs of the data sets on whose test split this task was evaluated, oldest first."""
        return list(dict.fromkeys(str(one["dataset"]) for one in self._tested_identities() if one["task"] == task))

    def tasks(self, datasets: Sequence[str] = ()) -> list[str]:
        """Return the tasks that were evaluated on the test split of these data sets (none: of any), oldest first.

        Draws of the classes of a data set count as it does.
        """
        identities = self._tested_identities()
        return list(dict.fromkeys(str(one["task"]) for one in identities if is_among(str(one["dataset"]), datasets)))

    def by_task(self) -> dict[str, list[Result]]:
        """Return the test results of each task, on any data set."""
        return {task: [one for name in self.datasets(task) for one in self.tested(name, task)] for task in self.tasks()}

    def tested(self, dataset: str, task: str) -> list[Result]:
        """Return the test results of a task on a data set: studies, then single runs, each in the order of records."""
        key = (dataset, task)
        if key not in self._tested_by_key:
            runs = [_run(records, self.records) for records in self._run_records()]
            tested = [one for one in self._studies_of(task, dataset) if one.tested]
            self._tested_by_key[key] = [*tested, *(run for run in runs if (run.dataset, run.task) == key)]
        return self._tested_by_key[key]

    def untested(self, task: str | None, dataset: str | None = None) -> list[Result]:
        """Return the studies of a task on a data set (None: any) that ended without a test of their winner."""
        return [one for one in self._studies_of(task, dataset) if one.finished and not one.tested]

    def untested_notes(self, task: str, datasets: Iterable[str]) -> list[str]:
        """Return a line that names the untested studies on these data sets; nothing where there are none."""
        names = [study.name for dataset in datasets for study in self.untested(task, dataset)]
        return [f"left out, without a test evaluation of the winner: {', '.join(names)}"] if names else []

    def _studies_of(self, task: str | None, dataset: str | None) -> list[Result]:
        identities = self.identities.items()
        return self._read_studies(
            name for name, i in identities if task in (None, i.get("task")) and dataset in (None, i.get("dataset"))
        )

    def scores_of_named(self, names: Collection[str]) -> dict[str, Scored]:
        """Return the test scores of the studies and runs of these names, with what their intervals are made of."""
        studies = [study for study in self._read_studies(set(names) & set(self.identities)) if study.tested]
        runs = [_run(records, self.records) for records in self._run_records()]
        results = [*studies, *(run for run in runs if is_named(run, names))]
        return {
            name: with_outcomes(scored, result, build_component("tasks", Spec.parse(result.task)), self.warn)
            for result, scored in zip(results, scores_of(results), strict=True)
            for name in {result.name, *result.aliases} & set(names)
        }

    def cached_rows(self, key: Hashable, make: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """Return rows by their key; several comparisons that share a table make them once."""
        if key not in self._rows:
            self._rows[key] = make()
        return self._rows[key]

    def studies(self) -> list[Result]:
        """Return all studies, finished or not, oldest first."""
        return self._read_studies(self.identities)

    def runs(self) -> list[Result]:
        """Return the single runs on whichever split, oldest first.

        Of scores made elsewhere that have both splits the test is shown, and validation stands beside it.
        """
        by_owner: dict[str, list[Record]] = {}
        for owner, _, record in self.records.all_evaluations([RUN]):
            by_owner.setdefault(owner, []).append(record)
        return [_run(records, self.records) for records in by_owner.values()]

    def sweeps(self) -> list[Sweep]:
        """Return the sweeps that have ended."""
        sweeps = []
        for owner in self.records.owners():
            summary = self.records.evaluations(owner).get(SUMMARY, {}) if owner.startswith(SWEEP) else {}
            if summary:
                primary = summary["about"]["primary"]["name"]
                of = summary["experiment"], str(summary["parameter"]), summary["values"], summary["curves"]
                sweeps.append(Sweep(*of, primary, findings_of(summary)))
        return sweeps

    def trial_seconds(self, result: Result) -> float | None:
        """Return how long the trials of a study took, one after the other; None for a single run."""
        return self.overview.seconds(result.name) if result.is_study else None

    def detailed(self, results: Iterable[Result], settings: Settings) -> list[Result]:
        """Return results with the fields that only a detailed report needs; damaged studies are left out."""
        detailed = (self._detailed(one, settings) if one.is_study else one for one in results)
        return [one for one in detailed if one is not None]

    def _detailed(self, study: Result, settings: Settings) -> Result | None:
        try:
            trials = [record for _, record in self.overview.finished(study.name)]
            environment = self.overview.value(study.name, "environment")
        except StoreError as error:
            self._leave_out(study.name, error)
            return None
        config = study_folder(settings, study.name) / "best.toml"
        return replace(study, trials=trials, environment=environment or {}, config=config if config.is_file() else None)

    def _tested_identities(self) -> list[Record]:
        """Return the experiments that were evaluated on the test split: of studies, then of single runs."""
        studies: list[Record] = [i for name, i in self.identities.items() if STUDY + name in self._tests]
        return [*studies, *(records[0]["experiment"] for records in self._run_records())]

    def _run_records(self) -> Iterable[list[Record]]:
        """Yield the records of each single run on the test split."""
        for owner, records in self._tests.items():
            if owner.startswith(RUN):
                yield records

    def _read_studies(self, names: Iterable[str]) -> list[Result]:
        """Return studies by name, the winners of all read at once; a damaged one is left out with a warning."""
        names = list(names)
        numbers: dict[str, int] = {}
        for name in names:
            if name not in self._studies:
                with suppress(StoreError, KeyError, TypeError):
                    numbers[name] = int(self.overview.value(name, "finished")["winner"])
        winners = self.overview.trials_of(numbers) if numbers else {}
        for name in names:
            if name not in self._studies:
                try:
                    self._studies[name] = self._study(name, winners)
                except StoreError as error:
                    self._leave_out(name, error)
                    self._studies[name] = None
        return [study for name in names if (study := self._studies[name]) is not None]

    def _study(self, name: str, winners: Mapping[str, dict[str, Any]]) -> Result:
        finished, about = (self.overview.value(name, key) for key in ("finished", "about"))
        tested: list[Record] = []
        if finished is not None:
            # An extended study may have another winner; the test evaluations of the earlier one are history.
            tested = [one for one in self._tests.get(STUDY + name, []) if one["winner"] == finished["winner"]]
        origin = str(self.overview.value(name, "origin") or "")
        return Result(
            name,
            self.identities[name],
            _evaluations(tested, self.records),
            is_study=True,
            about=about or {},
            winner={} if finished is None else self.overview.chosen(name, finished["winner"], winners),
            trial_count=self.overview.trials(name),
            chance=self.overview.value(name, "chance"),
            test_chance=self.overview.value(name, "test_chance"),
            finished=finished,
            aliases=frozenset({run_identifier(origin, STUDY + name, PARENT), *(str(one["run"]) for one in tested)}),
        )

    def _leave_out(self, study: str, error: StoreError) -> None:
        self.warn(f"{error}; study {study!r} is left out")


def is_among(dataset: str, names: Sequence[str]) -> bool:
    """Tell whether a data set is one of these (none: any), or a draw of the classes of one."""
    return not names or not names_of(dataset).isdisjoint(names) or title_of(Spec.parse(dataset)) in names


def newest_data(results: Sequence[Result]) -> str:
    """Return the fingerprint of the data set that was evaluated last."""
    return max(results, key=lambda result: result.created).data


def nothing_recorded(settings: Settings, dataset: str | None, task: str | None, table: ResultTable) -> ZslplatError:
    """Return the error that says that a task has no result on a data set (None: any), or that there is no such set.

    It names a study that has ended without a test, or the data sets that have results instead, newest first.
    """
    try:
        if dataset is not None:
            _check_dataset(settings, dataset, table.records)
    except UnknownNameError as unknown:
        return unknown
    tasks = table.tasks() if task is None else [task]
    others = list(dict.fromkeys(d for one in tasks for d in table.datasets(one) if d != dataset))[::-1]
    more = f", ... ({len(others)} in all)" if len(others) > 3 else ""
    hint = f"; recorded is {', '.join(others[:3])}{more}: choose with --dataset" if others else ""
    of = ("" if task is None else f" of task {task}") + ("" if dataset is None else f" on {dataset}")
    hint = hint or f"; tune {'it' if of else 'something'} first"
    why = StoreError(f"no test evaluation{of} in {settings.store}{hint}")
    return next((untested_error(study.name) for study in table.untested(task, dataset)), why)


def _check_dataset(settings: Settings, dataset: str, records: Records) -> None:
    """Raise :class:`UnknownNameError` for a data set without a source and without a record of any task."""
    name = Spec.parse(dataset).name
    if any((root / name).exists() for root in (Path(), settings.data_root) if root is not None):
        return
    places = DataPlaces(settings.data_root, settings.cache / "data", settings.arrays)
    names = {entry.name for entry in available(places, registered_sources())}
    recorded = {str(identity["dataset"]) for identity in records.identities().values()}
    recorded |= {str(r["experiment"]["dataset"]) for _, _, r in records.all_evaluations() if "experiment" in r}
    names |= {Spec.parse(text).name for text in recorded}
    if name not in names:
        where = f"built in, nor under a data root, nor recorded in {settings.store}"
        hint = "" if near_names(name, names) else "zslplat studies lists what is recorded"
        raise UnknownNameError(f"data set (neither {where}):", name, names, hint)


def _run(run: Sequence[Record], records: Records) -> Result:
    """Return a single run by its records, those of the test split where there are any."""
    tested = [one for one in run if one["experiment"].get("split") == TEST] or list(run)
    first = tested[0]
    return Result(
        f"run {first['run'][:8]}",
        first["experiment"],
        _evaluations(tested, records),
        about=first.get("about", {}),
        aliases=frozenset(str(one["run"]) for one in tested),
        validated=_evaluations([one for one in run if one not in tested], records),
        environment=first.get("environment", {}),
    )


def _evaluations(unordered: Iterable[Record], records: Records) -> list[Evaluation]:
    ordered = sorted(unordered, key=lambda record: int(record.get("repeat", 0)))
    return [Evaluation(record, records.evaluation_folder(str(record["run"]))) for record in ordered]

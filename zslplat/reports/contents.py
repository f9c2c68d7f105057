"""What a report holds: a chapter for each task and data set, made by the functions that ``compare`` uses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from zslplat.comparison.compare import Comparison, compare
from zslplat.data.catalogue import parse_dataset
from zslplat.data.class_draws import divided_anew, names_of, several_draws
from zslplat.errors import StoreError, UnknownNameError, UsageError
from zslplat.evaluation.components import build_component
from zslplat.evidence.labels import dataset_titles
from zslplat.evidence.matching import EVERYTHING, RESULT_NOUN, Filters, fits, other_option
from zslplat.evidence.results import Record, Result, Sweep
from zslplat.evidence.table import ResultTable
from zslplat.listeners import run_of_alias
from zslplat.records.opening import existing_records
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tasks.base import Metric

# A report of more studies and runs shows them side by side alone, and none by itself: ten thousand trials would fill
# hundreds of megabytes, and take minutes to draw.
MOST_IN_DETAIL = 25
SHORTEST_RUN = 6  # characters that are enough of a run's identifier
Place = tuple[str, str]  # a data set and a task


@dataclass(frozen=True)
class ReportRequest:
    """What a report is to hold, all where nothing is named: studies, methods or runs by name or pattern, a suite, a
    data set, a task.
    """

    names: Sequence[str] = ()
    suite: str | None = None
    dataset: str | None = None
    task: str | None = None

    def includes(self, dataset: str, task: str) -> bool:
        """Tell whether a data set, or what it is a draw of, and a task are included.

        Raises :class:`UsageError` where the request names something that is no spec.
        """
        requested = None if self.dataset is None else str(parse_dataset(self.dataset))
        of_task = None if self.task is None else str(Spec.parse(self.task))
        return (requested is None or requested in names_of(dataset)) and of_task in (None, task)


@dataclass(frozen=True)
class Chapter:
    """All that is reported of one task on one data set.

    ``comparison`` has the rows of the leaderboard, None where nothing was scored on the test split; ``results`` are
    the studies and runs that scored it, by name, ``further`` those that did not. ``short``: what the data set is called
    beside the others of the report, where that is not its whole spec.
    """

    dataset: str
    task: str
    primary: Metric
    comparison: Comparison | None
    results: Mapping[str, Result]
    sweeps: Sequence[Sweep] = ()
    further: Sequence[Result] = ()
    notes: Sequence[str] = ()
    short: str = ""

    @property
    def title(self) -> str:
        """What the data set is called in the report: without the options in which it differs from no other."""
        return self.short or self.dataset

    @property
    def heading(self) -> str:
        """Task and data set, in words."""
        return f"{self.task} on {self.title}"

    @property
    def rows(self) -> Sequence[Record]:
        """The rows of the leaderboard."""
        return self.comparison.rows if self.comparison is not None else ()

    @property
    def behind(self) -> Mapping[str, Sequence[str]]:
        """The names of the studies and runs of the same experiment that one stands for, by its name."""
        return self.comparison.hidden_results if self.comparison is not None else {}

    @property
    def shown(self) -> list[tuple[str, Result]]:
        """Name and result of every row of the leaderboard, in its order."""
        results = ((str(row["short"]), self.results.get(str(row["study"]))) for row in self.rows)
        return [(label, result) for label, result in results if result is not None]

    @property
    def searched(self) -> list[tuple[str, Result]]:
        """Name of every row of the leaderboard with the study of its experiment: its own, or one that it stands for."""
        searched = []
        for row in self.rows:
            names = [str(row["study"]), *self.behind.get(str(row["study"]), ())]
            studies = [self.results[name] for name in names if name in self.results and self.results[name].trials]
            searched += [(str(row["short"]), study) for study in studies[:1]]
        return searched

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the data; empty where no test result has it."""
        return next((str(r.identity["data"]) for r in self.results.values() if r.identity.get("data")), "")


@dataclass(frozen=True)
class Contents:
    """A whole report.

    ``across`` are the comparisons of tasks with several data sets, or draws of one; ``silenced`` are the codes of
    findings that are counted, not shown; ``unfinished`` are studies without a test evaluation; ``notes`` say what could
    not be read, or was left out; ``looks`` counts how often the test split of each data set was scored over the whole
    store. ``brief``: there are too many studies to show each by itself, and their trials
    were not read. ``command`` made the report, ``store_options`` are those of its options that lead to the store: other
    commands on the store need them, too.
    """

    scope: str
    store: Path
    identity: str
    chapters: Sequence[Chapter]
    unfinished: Sequence[Result] = ()
    notes: Sequence[str] = ()
    across: Sequence[Comparison] = ()
    silenced: Collection[str] = ()
    looks: Mapping[str, int] = field(default_factory=dict)
    command: str = ""
    store_options: str = ""
    brief: bool = False


def collect_contents(settings: Settings, request: ReportRequest, command: str = "", options: str = "") -> Contents:
    """Read everything that a report shows; ``command`` makes the report, ``options`` are those that lead to the store.

    What is damaged is left out and noted. Raises :class:`StoreError` where nothing fits that could be reported,
    :class:`UnknownNameError` for a name that nothing recorded has.
    """
    notes: list[str] = []
    with existing_records(settings, notes.append) as records:
        table = ResultTable(records, notes.append)
        everything = [*table.studies(), *table.runs()]
        names = [run_of_alias(settings, records, name) or name for name in request.names]
        chosen = _of_suite(request.suite, _named(names, everything))
        chosen = [result for result in chosen if request.includes(result.dataset, result.task)]
        brief = len(chosen) > MOST_IN_DETAIL
        if not brief:
            chosen = table.detailed(chosen, settings)
        sweeps = [] if names or request.suite is not None else table.sweeps()
        sweeps = [sweep for sweep in sweeps if request.includes(sweep.dataset, sweep.task)]
        places = _places(chosen, sweeps)
        unfinished = [result for result in chosen if result.is_study and not result.has_test]
        if brief:
            unfinished = table.detailed(unfinished[:MOST_IN_DETAIL], settings)
        if not places and not unfinished:
            raise StoreError(_nothing(settings, request, everything))
        titles = dataset_titles(dataset for dataset, _ in places)
        chapters = []
        for place in places:
            results = [result for result in chosen if (result.dataset, result.task) == place]
            of_place = [sweep for sweep in sweeps if (sweep.dataset, sweep.task) == place]
            chapter = _chapter(settings, place, results, of_place, _filters(request, results), table, notes.append)
            chapters.append(replace(chapter, short=titles[place[0]]))
        contents = Contents(
            ", ".join([*([f"suite {request.suite}"] if request.suite else []), *request.names])
            or "all that is recorded",
            settings.store,
            records.identity,
            chapters,
            unfinished,
            across=_across(settings, chapters, _filters(request, chosen), table),
            silenced=settings.silenced,
            looks={c.dataset: records.test_evaluations(c.fingerprint) for c in chapters if c.fingerprint},
            command=command,
            store_options=options,
            brief=brief,
        )
    return replace(contents, notes=list(dict.fromkeys(notes)))


def _named(names: Sequence[str], everything: Sequence[Result]) -> list[Result]:
    """Return the results that the names fit, all where there are none, oldest first."""
    if not names:
        return list(everything)
    chosen = set[int]()
    for name in names:
        places = {i for i, result in enumerate(everything) if _is_called(result, name)}
        if not places:
            choices = chain.from_iterable((r.name, r.method.partition("(")[0]) for r in everything)
            suites = chain.from_iterable(result.suites for result in everything)
            hint = other_option(name, suites, [r.dataset for r in everything], [r.task for r in everything])
            raise UnknownNameError(RESULT_NOUN, name, set(choices), hint, "studies")
        chosen |= places
    return [result for i, result in enumerate(everything) if i in chosen]


def _is_called(result: Result, name: str) -> bool:
    rows = [part["row"] for part in result.suite_parts if "row" in part]
    if any(fits(name, text) for text in (result.name, result.method, result.method.partition("(")[0], *rows)):
        return True
    return len(name) >= SHORTEST_RUN and any(run.startswith(name) for run in result.runs)


def _of_suite(suite: str | None, results: Sequence[Result]) -> list[Result]:
    """Return what is part of a suite; raises :class:`UnknownNameError` where nothing is."""
    if suite is None:
        return list(results)
    members = [result for result in results if any(fits(suite, name) for name in result.suites)]
    if not members:
        names = {name for result in results for name in result.suites}
        raise UnknownNameError("suite with anything recorded", suite, names)
    return members


def _places(results: Sequence[Result], sweeps: Sequence[Sweep]) -> list[Place]:
    """Return data sets and tasks with something to show, data sets together, in the order in which they came."""
    places = [(result.dataset, result.task) for result in results if result.has_test]
    places += [(sweep.dataset, sweep.task) for sweep in sweeps]
    places += [(run.dataset, run.task) for run in results if not run.is_study]  # scored on validation alone
    datasets = list(dict.fromkeys(dataset for dataset, _ in places))
    return sorted(dict.fromkeys(places), key=lambda place: (datasets.index(place[0]), places.index(place)))


def _chapter(
    settings: Settings,
    place: Place,
    results: Sequence[Result],
    sweeps: Sequence[Sweep],
    filters: Filters,
    table: ResultTable,
    warn: Callable[[str], None],
) -> Chapter:
    dataset, task = place
    tested = [result for result in results if result.has_test]
    comparison: Comparison | None = None
    notes: list[str] = []
    if tested:
        try:
            comparison = compare(settings, [dataset], task, filters, table=table, warn=warn)
            notes = list(comparison.notes)
        except (UnknownNameError, StoreError, UsageError) as error:
            notes.append(f"the test scores of task {task} on {dataset} cannot be compared: {error}")
    if comparison is not None:
        primary = Metric(comparison.metric, comparison.maximise)
    else:
        recorded = (result.primary for result in results if result.primary is not None)
        primary = next(recorded, None) or build_component("tasks", Spec.parse(task)).primary
    further = [result for result in results if not result.is_study and not result.has_test]
    return Chapter(dataset, task, primary, comparison, {r.name: r for r in tested}, sweeps, further, notes)


def _filters(request: ReportRequest, results: Sequence[Result]) -> Filters:
    """Return the filters by which ``compare`` shows the same."""
    if request.names:
        return Filters(names=[result.name for result in results if result.has_test])
    return EVERYTHING if request.suite is None else Filters(suites=[request.suite])


def _across(settings: Settings, chapters: Sequence[Chapter], filters: Filters, table: ResultTable) -> list[Comparison]:
    """Return the comparisons of the tasks that were scored on several data sets, or on draws of the classes of one."""
    comparisons = []
    for task in dict.fromkeys(chapter.task for chapter in chapters):
        datasets = [chapter.dataset for chapter in chapters if chapter.task == task and chapter.rows]
        drawn = several_draws(datasets)
        for scheme in dict.fromkeys(scheme for scheme, _ in drawn.values()):
            draws = [dataset for dataset, (of, _) in drawn.items() if of == scheme]
            with suppress(UnknownNameError, StoreError, UsageError):  # the chapters say why
                comparisons.append(compare(settings, draws, task, filters, table=table, warn=lambda _: None))
        covered = divided_anew([*datasets, *(scheme for scheme, _ in drawn.values())])
        datasets = [dataset for dataset in datasets if dataset not in covered]
        apart = {drawn[dataset][0] if dataset in drawn else dataset for dataset in datasets}
        pending: list[str | None] = [None] if len(apart) > 1 else []
        for metric in pending:
            with suppress(UnknownNameError, StoreError, UsageError):  # the chapters say why
                one = compare(settings, datasets, task, filters, metric=metric, table=table, warn=lambda _: None)
                pending += one.other_metrics
                leader = next((group["baseline"] for group in one.over_datasets), None)
                with suppress(UnknownNameError, UsageError):  # several experiments may be called so
                    options: dict[str, Any] = {"against": leader, "metric": metric}
                    one = compare(settings, datasets, task, filters, **options, table=table, warn=lambda _: None)
                comparisons += [one] if len(one.datasets) > 1 else []
    return comparisons


def _nothing(settings: Settings, request: ReportRequest, everything: Sequence[Result]) -> str:
    if not everything:
        return f"nothing to report in {settings.store}: no study and no run is recorded; tune something first"
    parts = [f"task {request.task}"] if request.task else []
    parts += [f"data set {request.dataset}"] if request.dataset else []
    parts += [f"called {', '.join(request.names)}"] if request.names else []
    subject = " and ".join(parts)
    subject = f"that is {subject}" if request.names else f"of {subject or 'test evaluations'}"
    places = sorted({f"{result.task} on {result.dataset}" for result in everything})
    return f"nothing to report in {settings.store} {subject}; recorded are {', '.join(places)}"

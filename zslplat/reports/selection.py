"""What goes into a report: the boards of the tasks and data sets that fit, by the functions that ``compare`` uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

from zslplat.comparison.compare import Comparison, compare
from zslplat.data.catalogue import parse_dataset
from zslplat.data.class_draws import draw_of
from zslplat.errors import StoreError, UnknownNameError, UsageError
from zslplat.evaluation.components import build_component
from zslplat.evidence.labels import dataset_titles
from zslplat.evidence.matching import EVERYTHING, Filters, fits, other_option
from zslplat.evidence.table import ResultTable
from zslplat.listeners import run_of_alias
from zslplat.records.opening import existing_records
from zslplat.records.studies import parts_of, suites_of
from zslplat.reports.facts import Board, Facts, Recorded, Sweep
from zslplat.reports.reading import has_test, recorded_runs, recorded_studies, recorded_sweeps, with_trials
from zslplat.reports.suite_findings import suite_findings
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tasks.base import Metric

# A report of more studies and runs shows them side by side alone, and none by itself: ten thousand trials would fill
# hundreds of megabytes, and take minutes to draw.
MOST_IN_DETAIL = 60
SHORTEST_RUN = 6  # characters that are enough of a run's identifier


@dataclass(frozen=True)
class Asked:
    """What a report is asked for, all where nothing is: studies, methods or runs by name or pattern, a suite, a data
    set, a task.
    """

    names: Sequence[str] = ()
    suite: str | None = None
    dataset: str | None = None
    task: str | None = None

    def places(self) -> tuple[str | None, str | None]:
        """Return the data set and the task as records spell them; raises :class:`UsageError` for what is no spec."""
        dataset = None if self.dataset is None else str(parse_dataset(self.dataset))
        return dataset, None if self.task is None else str(Spec.parse(self.task))


def gathered(settings: Settings, asked: Asked, command: str = "", options: str = "") -> Facts:
    """Read everything that a report shows; ``command`` is what asks for it, ``options`` those that lead to the store.

    What is damaged is left out and noted. Raises :class:`StoreError` where nothing fits that could be reported,
    :class:`UnknownNameError` for a name that nothing recorded has.
    """
    notes: list[str] = []
    records = existing_records(settings, notes.append)
    everything = [*recorded_studies(records, settings, notes.append), *recorded_runs(records)]
    sweeps = recorded_sweeps(records)
    names = [run_of_alias(settings, records, name) or name for name in asked.names]
    chosen = _named(names, everything)
    chosen = [found for found in _of_suite(asked.suite, chosen) if _fits(found.place, asked)]
    brief = len(chosen) > MOST_IN_DETAIL
    if not brief:
        chosen = with_trials(records, chosen, notes.append)
    every = not names and asked.suite is None
    sweeps = [sweep for sweep in sweeps if every and _fits(sweep.place, asked)]
    places = _places(chosen, sweeps)
    unfinished = [found for found in chosen if found.study and not has_test(found)]
    if brief:
        unfinished = with_trials(records, unfinished[:MOST_IN_DETAIL], notes.append)
    if not places and not unfinished:
        raise StoreError(_nothing(settings, asked, everything))
    boards, table, titles = [], ResultTable(records, notes.append), dataset_titles(dataset for dataset, _ in places)
    for dataset, task in places:
        own = [found for found in chosen if found.place == (dataset, task)]
        swept = [sweep for sweep in sweeps if sweep.place == (dataset, task)]
        board = _board(settings, dataset, task, own, swept, _filters(asked, own), table, notes.append)
        boards.append(replace(board, short=titles[dataset]))
    across = _across(settings, boards, _filters(asked, chosen), table)
    whole = not names and asked.dataset is None and asked.task is None
    suites = suite_findings(settings, chosen, whole=whole)
    looks = {b.dataset: records.test_evaluations(_fingerprint(b)) for b in boards if _fingerprint(b)}
    identity = records.identity
    records.close()
    scope = ", ".join([*([f"suite {asked.suite}"] if asked.suite else []), *asked.names]) or "all that is recorded"
    return Facts(
        scope,
        settings.store,
        identity,
        boards,
        unfinished,
        list(dict.fromkeys(notes)),
        across,
        settings.silenced,
        looks,
        command,
        options,
        suites,
        brief,
        asked.suite,
    )


def _named(names: Sequence[str], everything: Sequence[Recorded]) -> list[Recorded]:
    """Return what the names mean, all where there are none, oldest first."""
    if not names:
        return list(everything)
    wanted = set[int]()
    for name in names:
        places = {i for i, found in enumerate(everything) if _is_called(found, name)}
        if not places:
            known = chain.from_iterable((f.name, f.method.partition("(")[0]) for f in everything)
            suites = chain.from_iterable(suites_of(found.about) for found in everything)
            datasets, tasks = ([found.place[side] for found in everything] for side in (0, 1))
            hint = other_option(name, suites, datasets, tasks)
            raise UnknownNameError("study, method or run", name, set(known), hint)
        wanted |= places
    return [found for i, found in enumerate(everything) if i in wanted]


def _is_called(found: Recorded, name: str) -> bool:
    rows = [part["row"] for part in parts_of(found.about) if "row" in part]
    own = (found.name, found.method, found.method.partition("(")[0], *rows)
    if any(fits(name, text) for text in own):
        return True
    return len(name) >= SHORTEST_RUN and any(run.startswith(name) for run in found.runs)


def _fits(place: tuple[str, str], asked: Asked) -> bool:
    (dataset, task), (own, of) = asked.places(), place
    return (dataset is None or dataset in (own, draw_of(own))) and task in (None, of)


def _places(chosen: Sequence[Recorded], sweeps: Sequence[Sweep]) -> list[tuple[str, str]]:
    """Return data sets and tasks with something to show, data sets together, in the order in which they came."""
    tested = [found.place for found in chosen if has_test(found)] + [sweep.place for sweep in sweeps]
    tested += [found.place for found in chosen if not found.study]  # scored on validation alone
    datasets = list(dict.fromkeys(dataset for dataset, _ in tested))
    return sorted(dict.fromkeys(tested), key=lambda place: (datasets.index(place[0]), tested.index(place)))


def _board(
    settings: Settings,
    dataset: str,
    task: str,
    own: Sequence[Recorded],
    sweeps: Sequence[Sweep],
    filters: Filters,
    table: ResultTable,
    warn: Callable[[str], None],
) -> Board:
    tested = [found for found in own if has_test(found)]
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
        primary = next((found.primary for found in own if found.primary is not None), None) or _built(task)
    further = [found for found in own if not found.study and not has_test(found)]
    return Board(dataset, task, primary, comparison, {e.name: e for e in tested}, sweeps, further, notes)


def _filters(asked: Asked, own: Sequence[Recorded]) -> Filters:
    """Return what ``compare`` would be asked for."""
    if asked.names:
        return Filters(names=[found.name for found in own if has_test(found)])
    return EVERYTHING if asked.suite is None else Filters(suites=[asked.suite])


def _across(settings: Settings, boards: Sequence[Board], filters: Filters, table: ResultTable) -> list[Comparison]:
    """Return the comparisons of the tasks that were scored on several data sets."""
    found = []
    for task in dict.fromkeys(board.task for board in boards):
        datasets = [board.dataset for board in boards if board.task == task and board.rows]
        pending: list[str | None] = [None] if len(datasets) > 1 else []
        for metric in pending:
            with suppress(UnknownNameError, StoreError, UsageError):  # the boards have said why
                one = compare(settings, datasets, task, filters, metric=metric, table=table, warn=_nobody)
                pending += one.further
                found += [one] if len(one.datasets) > 1 else []
    return found


def _nobody(text: str) -> None:
    pass


def _of_suite(suite: str | None, chosen: Sequence[Recorded]) -> list[Recorded]:
    """Return what is part of a suite; raises :class:`UnknownNameError` where nothing was."""
    if suite is None:
        return list(chosen)
    known = {name for found in chosen for name in found.suites}
    found = [one for one in chosen if any(fits(suite, name) for name in one.suites)]
    if not found:
        raise UnknownNameError("suite with anything recorded", suite, known)
    return found


def _built(task: str) -> Metric:
    primary: Metric = build_component("tasks", Spec.parse(task)).primary
    return primary


def _fingerprint(board: Board) -> str:
    return next((str(e.identity["data"]) for e in board.entries.values() if e.identity.get("data")), "")


def _nothing(settings: Settings, asked: Asked, everything: Sequence[Recorded]) -> str:
    if not everything:
        return f"nothing to report in {settings.store}: no study and no run is recorded; tune something first"
    asked_for = " and ".join(
        text
        for text in (
            f"task {asked.task}" if asked.task else "",
            f"data set {asked.dataset}" if asked.dataset else "",
            f"called {', '.join(asked.names)}" if asked.names else "",
        )
        if text
    )
    places = sorted({f"{task} on {dataset}" for dataset, task in (found.place for found in everything)})
    asked_for = f"that is {asked_for}" if asked.names else f"of {asked_for or 'test evaluations'}"
    return f"nothing to report in {settings.store} {asked_for}; recorded are {', '.join(places)}"

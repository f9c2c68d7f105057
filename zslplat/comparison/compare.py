"""The comparison of recorded test results: rows from which every table of them is made.

:func:`compare` is the one place where such rows are made. The command, its exports, reports and Python get the same
dictionaries, so that their numbers are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from zslplat.checks.base import Finding, drop_silenced, lines_of_places
from zslplat.comparison.leaderboard import (
    choices_notes,
    comparison_findings,
    data_notes,
    group_of,
    larger_is_better,
    leaderboard,
    row_details,
    unequal,
)
from zslplat.comparison.over_datasets import best_validated, over_datasets
from zslplat.data.class_draws import divided_anew, given_split_note, names_of, several_draws
from zslplat.errors import StoreError, UnknownNameError
from zslplat.evaluation.components import build_component
from zslplat.evidence.draws import draws_with_outcomes, join_draws
from zslplat.evidence.labels import row_names, short_names, suite_row_names
from zslplat.evidence.matching import BASELINE, EVERYTHING, Filters, best_indices_of, index_of, other_option
from zslplat.evidence.results import Result, ResultGroup, group_by_experiment, is_named, join_results, split_out
from zslplat.evidence.scores import Scored, scores_of
from zslplat.evidence.table import ResultTable, newest_data, nothing_recorded
from zslplat.keys import METRIC
from zslplat.listeners import run_of_alias
from zslplat.records.opening import existing_records
from zslplat.records.studies import untested_error
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tasks.base import Metric, Task

Warn = Callable[[str], None]


@dataclass(frozen=True)
class Comparison:
    """Rows side by side, and what has to be said of them.

    ``rows``: a dictionary per entry and data set, of text, numbers, booleans and None, all with the same keys in
    the same order; ``names``: what the short names of methods leave out, by method; ``notes``: sentences that
    belong under the table; ``maximise``: whether larger values of the metric are better. ``over_datasets``: where
    there are several data sets, methods x data sets with mean ranks
    (:func:`zslplat.comparison.over_datasets.over_datasets`). ``findings``: what checks find in the rows of each
    data set, ``silenced``: codes that are counted and not shown. ``other_metrics``: metrics that the task optimises
    on other data sets of the request. ``hidden_results``: the names of the studies and runs of the same experiment
    that a study or run stands for, by its name.
    """

    task: str
    datasets: tuple[str, ...]
    metric: str
    maximise: bool
    rows: list[dict[str, Any]]
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    over_datasets: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    silenced: tuple[str, ...] = ()
    hidden_results: dict[str, tuple[str, ...]] = field(default_factory=dict)
    other_metrics: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """Lines of the findings that are not silenced; of several data sets, each says which it is about."""
        shown, _ = drop_silenced(self.findings, self.silenced)
        if len(self.datasets) > 1:
            return lines_of_places((one.subject, one.line) for one in shown)
        return [one.line for one in shown]

    @property
    def columns(self) -> list[str]:
        """The keys of the rows."""
        return list(self.rows[0])

    def on(self, dataset: str) -> list[dict[str, Any]]:
        """Return the rows of one data set."""
        return [row for row in self.rows if row["dataset"] == dataset]

    def to_json(self) -> dict[str, Any]:
        """Return the content as JSON has it; ``dataset`` is that of all rows, None where there are several."""
        return {
            "task": self.task,
            "dataset": self.datasets[0] if len(self.datasets) == 1 else None,
            "datasets": list(self.datasets),
            "metric": self.metric,
            "maximise": self.maximise,
            "rows": self.rows,
            "names": self.names,
            "notes": self.notes,
            "over_datasets": self.over_datasets,
            "findings": [finding.to_json() for finding in self.findings],
            "warnings": self.warnings,
            "silenced": len(self.findings) - len(self.warnings),
        }


@dataclass(frozen=True)
class _Entry:
    """The results of one experiment, their scores, and what the comparison calls them."""

    group: ResultGroup
    scored: Scored
    short: str = ""

    @property
    def result(self) -> Result:
        return self.group.shown


@dataclass(frozen=True)
class _ComparisonRequest:
    """What one comparison is of; ``metric`` and ``baseline`` are None where they are chosen for each data set.

    ``common_baselines``: the short name of what differences are taken from on all data sets, by group.
    """

    table: ResultTable
    task_spec: str
    task: Task
    metric: str | None
    baseline: str | None
    warn: Warn
    common_baselines: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _CollectedRows:
    """The rows of a comparison as they are collected, data set after data set."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    other_metrics: list[str] = field(default_factory=list)


def compare(
    settings: Settings,
    datasets: Sequence[str] = (),
    task: str = "zsl",
    filters: Filters = EVERYTHING,
    *,
    against: str | None = None,
    metric: str | None = None,
    every: bool = False,
    table: ResultTable | None = None,
    warn: Warn,
) -> Comparison:
    """Return the recorded test results of one task on these data sets, side by side.

    ``datasets`` and ``task`` are specs as they were given to ``tune``; no data sets stand for all that have results.
    There is a row per experiment, of the newest version of a data set, and of an older one for a study or run that is
    named; with ``every`` a row per study and single run, of all versions. Several draws of the classes of a data set,
    as its class folds, are one data set with one row per experiment (:mod:`zslplat.evidence.draws`). ``against`` names
    the entry that differences are taken from, ``metric`` what is compared, by default the task's own. ``warn`` is
    called for records that cannot be read. ``table``: shared by several comparisons of one store, so that records are
    read, and rows are made, once.

    Rows have the keys ``dataset``, ``task``, ``metric``, ``short`` (a short name), those of
    :func:`zslplat.comparison.leaderboard.leaderboard`, those of :func:`zslplat.comparison.leaderboard.row_details`, and
    ``unequal``, in words what makes a row less than a fair match for the others. Raises :class:`StoreError` where
    nothing was recorded, :class:`UnknownNameError` for a name that fits nothing and for an unknown data set, and
    :class:`UsageError` for an ``against`` that fits several entries.
    """
    built_task: Task = build_component("tasks", Spec.parse(task))  # refuses a wrong spec before anything is read
    if table is None:
        with existing_records(settings, warn) as records:
            table = ResultTable(records, warn)
            return compare(
                settings, datasets, task, filters, against=against, metric=metric, every=every, table=table, warn=warn
            )
    records = table.records
    results = _read_results(settings, datasets, task, table)

    def resolve(name: str) -> str:
        return run_of_alias(settings, records, name) or name

    collected = _CollectedRows(notes=table.untested_notes(task, results if filters == EVERYTHING else ()))
    filters = replace(filters, names=[resolve(name) for name in filters.names])
    baseline = None if against is None else resolve(against)
    request = _ComparisonRequest(table, task, built_task, metric, baseline, warn)
    entries, baseline_studies = _select_entries(request, results, filters, collected, every=every)
    entries, names = _name_entries(entries)
    replaced = [entry.group.replaced_in_words(entry.short) for entry in entries if entry.group.replaced]
    covered = set[str]()
    if not every:
        entries, results = _join_draws(entries, results)
        covered = divided_anew({entry.result.dataset for entry in entries})
    if covered and not datasets:
        methods = [(entry.result.dataset, entry.short) for entry in entries]
        collected.notes += [given_split_note(dataset, methods) for dataset in sorted(covered)]
        entries = [entry for entry in entries if entry.result.dataset not in covered]
        results = {dataset: on_dataset for dataset, on_dataset in results.items() if dataset not in covered}
    # Of rows with several labels a task optimises another metric than it does as it is built: records say which.
    primary = _primary(entries, built_task.primary)
    if len(results) > 1:
        request = replace(request, common_baselines=_common_baselines(entries, baseline_studies, primary))
    collected.notes += replaced
    for dataset, on_dataset in results.items():
        if datasets or any(e.result.dataset == dataset for e in entries):
            _add_dataset(request, dataset, on_dataset, entries, primary, collected)
    name = metric or primary.name
    maximise = larger_is_better(name, [*(e.scored.primary for e in entries), primary])
    shown = tuple(dict.fromkeys(str(row["dataset"]) for row in collected.rows))
    counted_once = tuple(dataset for dataset in shown if dataset not in covered)
    images: dict[str, set[str]] = {}
    for entry in entries:
        images.setdefault(entry.result.dataset, set()).update(entry.result.images)
    rows = [row for row in collected.rows if row["dataset"] in counted_once] if len(counted_once) > 1 else []
    baselines = request.common_baselines
    pooled = over_datasets(rows, counted_once, images, maximise=maximise, metric=name, baselines=baselines)
    return Comparison(
        task=task,
        datasets=shown,
        metric=name,
        maximise=maximise,
        rows=collected.rows,
        names=names,
        notes=collected.notes,
        over_datasets=pooled,
        findings=collected.findings,
        silenced=settings.silenced,
        hidden_results={
            e.scored.study: tuple(other.name for other in e.group.others) for e in entries if e.group.others
        },
        other_metrics=tuple(dict.fromkeys(collected.other_metrics)),
    )


def _read_results(
    settings: Settings, datasets: Sequence[str], task: str, table: ResultTable
) -> dict[str, list[Result]]:
    """Return the results of a task on each of these data sets, or on all that have any.

    A data set of which there are draws of classes alone stands for these. Raises :class:`StoreError` where there is
    nothing.
    """
    recorded = table.datasets(task)

    def with_draws(dataset: str) -> list[str]:
        draws = [] if dataset in recorded else [name for name in recorded if dataset in names_of(name)]
        return draws or [dataset]

    names = list(dict.fromkeys(name for dataset in datasets for name in with_draws(dataset))) or recorded
    if not names:
        raise nothing_recorded(settings, None, task, table)
    results = {name: table.tested(name, task) for name in names}
    for name, on_dataset in results.items():
        if not on_dataset:
            raise nothing_recorded(settings, name, task, table)
    return results


def _select_entries(
    request: _ComparisonRequest,
    results: Mapping[str, Sequence[Result]],
    filters: Filters,
    collected: _CollectedRows,
    *,
    every: bool,
) -> tuple[list[_Entry], set[str]]:
    """Return the entries that fit the filters, and the studies that differences are to be taken from.

    Raises :class:`UnknownNameError` for a name that fits nothing, :class:`StoreError` where nothing fits all filters.
    """
    baseline = request.baseline
    everything = [result for on_dataset in results.values() for result in on_dataset]
    fitting = set(filters.results(everything))
    names = {*filters.names, *filters.studies, *([] if baseline is None else [baseline])}
    entries: list[_Entry] = []
    first = 0  # index of the first result on a data set in all of them
    for on_dataset in results.values():
        selected = [result for i, result in enumerate(on_dataset, first) if i in fitting]
        others = [result for i, result in enumerate(on_dataset, first) if i not in fitting]
        entries += _entries_on(selected, others, names, baseline, collected.notes, every=every)
        first += len(on_dataset)
    # A name that fits only what another filter leaves out is no unknown one.
    left_out = scores_of(everything) if len(fitting) < len(everything) else []
    try:
        indices = [i for i in filters.entries([*(e.scored for e in entries), *left_out]) if i < len(entries)]
    except UnknownNameError as error:
        for study in (one for dataset in results for one in request.table.untested(request.task_spec, dataset)):
            if error.name in (study.name, study.method, study.method.partition("(")[0]):
                raise untested_error(study.name) from None
        suites = {suite for result in everything for suite in result.suites}
        hint = other_option(error.name, suites, request.table.datasets(request.task_spec), request.table.tasks())
        raise UnknownNameError(error.kind, error.name, error.choices, hint, "studies") from None
    baselines = [] if baseline is None else best_indices_of(baseline, [e.scored for e in entries], BASELINE)
    chosen = [entries[i] for i in sorted({*indices, *baselines})]
    if not chosen:
        why = "".join(f" ({note})" for note in collected.notes)
        raise StoreError(f"no recorded result fits all filters; leave one out{why}")
    return chosen, {entries[i].scored.study for i in baselines}


def _entries_on(
    selected: Sequence[Result],
    others: Sequence[Result],
    names: Collection[str],
    baseline: str | None,
    notes: list[str],
    *,
    every: bool,
) -> list[_Entry]:
    """Return the entries of one data set: one per experiment and explicit name, or all; what is left out is noted.

    They are made of the ``selected`` results; the ``others`` count only where ``baseline`` fits none of these.
    """
    newest = newest_data(selected or others)
    older = sum(result.data != newest and not is_named(result, names) for result in selected)
    if older and not every:
        notes.append(
            f"{selected[0].dataset}: {older} left out, of other data than the newest (fingerprint {newest[:8]}); "
            "--all shows them"
        )

    def group(results: Sequence[Result]) -> list[ResultGroup]:
        if every:
            return [ResultGroup(result) for result in results]
        current = [result for result in results if result.data == newest or is_named(result, names)]
        return split_out(group_by_experiment(current), names)

    groups = group(selected)
    if baseline is not None and not _indices_named(baseline, groups):
        other_groups = group(others)
        groups += [other_groups[i] for i in _indices_named(baseline, other_groups)]
    return [_Entry(one, scored) for one, scored in zip(groups, _scores(groups), strict=True)]


def _scores(groups: Sequence[ResultGroup]) -> list[Scored]:
    """Return the scores of the result that stands for each experiment, under the names of all of its results."""
    return [
        replace(scored, names=scored.names | group.aliases, suite_rows=row_names(group.suite_rows))
        for group, scored in zip(groups, scores_of([group.shown for group in groups]), strict=True)
    ]


def _indices_named(name: str, groups: Sequence[ResultGroup]) -> list[int]:
    """Return the indices of the groups that a name fits best, none where it fits nothing."""
    try:
        return best_indices_of(name, _scores(groups))
    except UnknownNameError:
        return []


def _name_entries(entries: Sequence[_Entry]) -> tuple[list[_Entry], dict[str, str]]:
    """Return entries with their short names, and in words what these leave out."""
    short, names = short_names([e.result for e in entries])
    of_rows, notes = suite_row_names([e.group for e in entries], short)
    named = [replace(e, short=of_rows.get(i, short[i])) for i, e in enumerate(entries)]
    return named, names | notes


def _join_draws(
    entries: Sequence[_Entry], results: Mapping[str, list[Result]]
) -> tuple[list[_Entry], dict[str, list[Result]]]:
    """Return entries and results with the draws of one scheme, where there are several, as one data set."""
    joined = several_draws(results)
    by_dataset: dict[str, list[Result]] = {}
    for dataset, on_dataset in results.items():
        by_dataset.setdefault(joined.get(dataset, (dataset, 0))[0], on_dataset)
    single = [entry for entry in entries if entry.result.dataset not in joined]
    drawn: dict[tuple[str, str], dict[int, _Entry]] = {}
    for entry in entries:
        if entry.result.dataset in joined:
            scheme, number = joined[entry.result.dataset]
            drawn.setdefault((scheme, entry.short), {}).setdefault(number, entry)
    for (scheme, short), draws in drawn.items():
        result = join_results({number: entry.result for number, entry in draws.items()}, scheme)
        others = tuple(other for entry in draws.values() for other in entry.group.others)
        scored = join_draws({number: entry.scored for number, entry in draws.items()})
        single.append(_Entry(ResultGroup(result, others), scored, short))
    return single, by_dataset


def _primary(entries: Sequence[_Entry], otherwise: Metric) -> Metric:
    """Return the metric that the records of some entries say was optimised; of several, first the task's own."""
    ordered = sorted(entries, key=lambda e: METRIC in e.result.identity)
    return next((e.scored.primary for e in ordered if e.scored.primary is not None), otherwise)


def _add_dataset(
    request: _ComparisonRequest,
    dataset: str,
    results: Sequence[Result],
    entries: Sequence[_Entry],
    primary: Metric,
    collected: _CollectedRows,
) -> None:
    """Add the rows of one data set, or a note on why it has none; ``entries`` are those of all data sets."""
    on_dataset = [e for e in entries if e.result.dataset == dataset]
    if not on_dataset:
        collected.notes.append(f"{dataset}: no recorded result fits")
        return
    metric, optimised = request.metric or primary.name, _primary(on_dataset, primary)
    if request.metric is None and optimised.name != metric:
        collected.other_metrics.append(optimised.name)
        collected.notes.append(
            f"{dataset}: measured by {optimised.name}, in a table of its own (--metric {optimised.name})"
        )
        return
    selected = dict.fromkeys(e.scored.primary.name for e in on_dataset if e.scored.primary is not None)
    if request.metric is None:
        notes = (f"shown is {metric}; some were selected by {name} (--metric {name})" for name in selected)
        collected.notes += [f"{dataset}: {note}" for note, name in zip(notes, selected, strict=True) if name != metric]
    if not any(metric in e.scored.values for e in on_dataset) and any(metric in e.scored.values for e in entries):
        collected.notes.append(f"{dataset}: {metric} is not recorded there")
        return
    baseline = _baseline_label(request.baseline, on_dataset)
    if request.baseline is not None and baseline is None:
        collected.notes.append(f"{dataset}: {request.baseline} is not recorded; differences are as without it")
    rows = _rows(request, dataset, on_dataset, newest_data(results), metric, optimised, baseline)
    collected.rows += [{"dataset": dataset, "task": request.task_spec, "metric": metric, **row} for row in rows]
    collected.notes += choices_notes({e.short: e.result for e in on_dataset}, request.table.overview, request.task)
    collected.notes += data_notes([e.result for e in on_dataset], dataset, request.task, request.baseline)
    validated = baseline is not None or any(optimised.name in e.scored.validation for e in on_dataset)
    if not validated and any(row["difference"] is not None for row in rows):
        collected.notes.append(
            f"{dataset}: nothing was validated; differences are from what was recorded first (--against)"
        )
    collected.findings += comparison_findings(
        request.table.records, rows, task=request.task_spec, dataset=dataset, metric=metric
    )


def _baseline_label(name: str | None, entries: Sequence[_Entry]) -> str | None:
    """Return the label of the one entry that ``name`` fits, None where it fits none of them."""
    scores = [entry.scored for entry in entries]
    try:
        return None if name is None else scores[index_of(name, scores, BASELINE)].label
    except UnknownNameError:
        return None


def _rows(
    request: _ComparisonRequest,
    dataset: str,
    entries: Sequence[_Entry],
    newest: str,
    metric: str,
    primary: Metric,
    baseline: str | None,
) -> list[dict[str, Any]]:
    """Return the rows of one data set, which comparisons that share a table make once, with their short names."""
    table = request.table
    common = request.common_baselines
    preferred = frozenset(e.scored.study for e in entries if e.short == common.get(group_of(e.scored.knows)))

    def make_rows() -> list[dict[str, Any]]:
        scores = [draws_with_outcomes(e.scored, e.result, request.task, request.warn, (metric,)) for e in entries]
        by_study = {e.scored.study: e for e in entries}
        rows = []
        for row in leaderboard(scores, metric, primary, baseline, preferred):
            entry = by_study[row["study"]]
            details = row_details(entry.group, entry.scored.knows, table.trial_seconds(entry.result))
            rows.append({**row, **details})
        tunable = [by_study[row["study"]].result.has_hyperparameters for row in rows]
        return [{**row, "unequal": text} for row, text in zip(rows, unequal(rows, newest, tunable), strict=True)]

    members = tuple((e.scored.study, e.group.aliases, tuple(e.result.runs)) for e in entries)
    key = (dataset, request.task_spec, metric, baseline, preferred, members)
    short = {e.scored.study: e.short for e in entries}
    return [{"short": short[row["study"]], **row} for row in table.cached_rows(key, make_rows)]


def _common_baselines(entries: Sequence[_Entry], named: Collection[str], primary: Metric) -> dict[str, str]:
    """Return by group the short name of what differences are taken from on all data sets.

    That is the one of the ``named`` studies; without them what has the best mean on validation, of those that are on
    most data sets: to take the best on test would favour the luckiest.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for e in entries:
        row = {"short": e.short, "validation": e.scored.validation.get(primary.name)}
        groups.setdefault(group_of(e.scored.knows), []).append(row)
    if named:
        short = {e.short for e in entries if e.scored.study in named}
        return dict.fromkeys(groups, short.pop()) if len(short) == 1 else {}
    sign = -1.0 if primary.maximise else 1.0
    return {group: best_validated(rows, sign) for group, rows in groups.items()}

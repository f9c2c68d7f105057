"""What is compared: the recorded test evaluations that are asked for, as rows that every table of them is made of.

:func:`compared` is the one place where such rows are made. The command, its exports, reports and Python get the same
dictionaries, so that their numbers are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from zslplat.checks.base import Finding, drop_silenced
from zslplat.comparison.draws import over_draws
from zslplat.comparison.facts import facts, unequal
from zslplat.comparison.filters import EVERYTHING, Filters
from zslplat.comparison.findings import comparison_findings
from zslplat.comparison.folding import Folded, alone, folded, taken_out
from zslplat.comparison.leaderboard import BASELINE, larger_is_better, leaderboard
from zslplat.comparison.naming import meant, other_option, the_one
from zslplat.comparison.over_datasets import over_datasets
from zslplat.comparison.paired import Scored
from zslplat.comparison.recorded import Reader, Recorded
from zslplat.comparison.short_names import short_names
from zslplat.comparison.suite_rows import row_names, suite_row_names
from zslplat.comparison.test_evaluations import entries_of, newest_data, nothing_recorded, with_outcomes
from zslplat.data.class_draws import draw_of
from zslplat.errors import StoreError, UnknownNameError
from zslplat.evaluation.components import build_component
from zslplat.records.opening import existing_records
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tasks.base import Metric
from zslplat.tracking.alias import run_of_alias


@dataclass(frozen=True)
class Comparison:
    """Rows side by side, and what has to be said of them.

    ``rows``: a dictionary per entry and data set, of text, numbers, booleans and None, all with the same keys in the
    same order; ``names``: what the short names of methods leave out, by method; ``notes``: sentences that belong under
    the table; ``maximise``: whether larger values of the metric are better. ``across``: where there are several data
    sets, methods x data sets with mean ranks (:func:`zslplat.comparison.over_datasets.over_datasets`). ``findings``:
    what checks find in the rows of each data set, ``silenced``: codes that are counted and not shown. ``unasked``: data
    sets on which the task is recorded, too, and that were not asked for; ``without``: those asked for without a row.
    ``further``: metrics that the task has for its own on other data sets that were asked for.
    ``behind``: the names of the studies and runs of the same experiment that a study or run stands for, by its name.
    """

    task: str
    datasets: tuple[str, ...]
    metric: str
    maximise: bool
    rows: list[dict[str, Any]]
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    across: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    silenced: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    behind: dict[str, tuple[str, ...]] = field(default_factory=dict)
    further: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """Lines of the findings that are not silenced; of several data sets, each says which it is about."""
        kept, _ = drop_silenced(self.findings, self.silenced)
        return [f"{one.code} {one.subject}: {one.text}" if len(self.datasets) > 1 else one.line for one in kept]

    @property
    def columns(self) -> list[str]:
        """The keys of the rows."""
        return list(self.rows[0])

    def on(self, dataset: str) -> list[dict[str, Any]]:
        """Return the rows of one data set."""
        return [row for row in self.rows if row["dataset"] == dataset]

    def baselines(self, dataset: str) -> dict[str, str]:
        """Return {group of methods: the entry that its differences are taken from} on a data set."""
        return {row["group"]: row["baseline"] for row in self.on(dataset)}

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
            "across": self.across,
            "findings": [finding.to_json() for finding in self.findings],
            "warnings": self.warnings,
            "silenced": len(self.findings) - len(self.warnings),
        }


@dataclass(frozen=True)
class _Entry:
    """An entry with what the comparison calls it."""

    folded: Folded
    scored: Scored
    short: str = ""

    @property
    def group(self) -> Recorded:
        return self.folded.shown


def compared(
    settings: Settings,
    datasets: Sequence[str] = (),
    task: str = "zsl",
    filters: Filters = EVERYTHING,
    *,
    against: str | None = None,
    metric: str | None = None,
    every: bool = False,
    reader: Reader | None = None,
    warn: Callable[[str], None],
) -> Comparison:
    """Return what is recorded in a store of one task on these data sets, side by side.

    ``datasets`` and ``task`` are specs as they were given to ``tune``; without data sets all that are recorded are
    meant. There is a row per experiment, of the newest version of a data set, and of an older one for a study or run
    that is named; with ``every`` a row per study and single run, of all versions. ``against`` names what differences
    are taken from, ``metric`` what is compared, by default the task's own. ``warn`` is told of records that cannot be
    read. ``reader``: what several comparisons of one store share, so that records are read, and rows are made, once.

    Rows have the keys ``dataset``, ``task``, ``metric``, ``short`` (a short name), those of
    :func:`zslplat.comparison.leaderboard.leaderboard`, those of :func:`zslplat.comparison.facts.facts`, and
    ``unequal``, what makes a row less than a fair match for the others in words. Raises :class:`StoreError` where
    nothing was recorded, :class:`UnknownNameError` for a name that fits nothing and for a data set that nobody knows,
    and :class:`UsageError` for an ``against`` that fits several entries.
    """
    built = build_component("tasks", Spec.parse(task))  # refuses what makes no sense before anything is read
    shared = reader is not None
    reader = reader or Reader(existing_records(settings, warn), warn)
    records = reader.records
    recorded_on = reader.datasets(task)
    asked = list(dict.fromkeys(d for given in datasets for d in _or_draws(given, recorded_on))) or recorded_on
    if not asked:
        raise StoreError(f"no test evaluation of task {task} in {settings.store}; tune it first")
    known = {dataset: reader.read(dataset, task) for dataset in asked}
    for dataset, groups in known.items():
        if not groups:
            raise nothing_recorded(settings, dataset, task, reader)

    def resolved(name: str) -> str:
        return run_of_alias(settings, records.shown_as, name) or name

    filters = replace(filters, names=[resolved(name) for name in filters.names])
    against = None if against is None else resolved(against)
    explicit = {*filters.names, *filters.studies, *([] if against is None else [against])}
    notes: list[str] = []
    recorded = [group for groups in known.values() for group in groups]
    fitting = {id(recorded[i]) for i in filters.recorded(recorded)}
    entries = [
        entry for groups in known.values() for entry in _entries(groups, fitting, explicit, against, notes, every=every)
    ]
    # A name that fits only what another filter leaves out is no unknown one.
    elsewhere = entries_of(recorded) if len(fitting) < len(recorded) else []
    origin_studies = set[str]()
    try:
        chosen = [i for i in filters.kept([*(e.scored for e in entries), *elsewhere]) if i < len(entries)]
    except UnknownNameError as error:
        suites = {suite for group in recorded for suite in group.suites}
        hint = other_option(error.name, suites, recorded_on, reader.tasks())
        raise UnknownNameError(error.kind, error.name, error.choices, hint) from None
    if against is not None:
        origins = meant(against, [e.scored for e in entries], BASELINE)
        chosen = sorted({*chosen, *origins})
        origin_studies = {entries[i].scored.study for i in origins}
    entries = [entries[i] for i in chosen]
    if not entries:
        why = "".join(f" ({note})" for note in notes)
        raise StoreError(f"nothing that is recorded fits all of what was asked for; leave a filter out{why}")
    # Of rows with several labels a task optimises another metric than it does as it is built: records know.
    primary = _primary(entries, built.primary)
    name = metric or primary.name
    further = dict[str, None]()
    short, names = short_names([e.group for e in entries])
    suite_names, told = suite_row_names([e.folded for e in entries], short)
    names |= told
    named = [
        replace(entry, short=suite_names.get(i, text))
        for i, (entry, text) in enumerate(zip(entries, short, strict=True))
    ]
    notes += [_replaced(entry) for entry in named if entry.folded.replaced]
    rows: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for dataset, groups in known.items():
        here = [e for e in named if e.group.dataset == dataset]
        if not here and not datasets:
            continue
        if not here:
            notes.append(f"{dataset}: nothing of what was asked for is recorded")
            continue
        own = _primary(here, primary)
        if metric is None and own.name != name:
            further[own.name] = None
            notes.append(f"{dataset}: measured by {own.name}, in a table of its own (--metric {own.name})")
            continue
        if not any(name in e.scored.values for e in here) and any(name in e.scored.values for e in named):
            notes.append(f"{dataset}: {name} is not recorded there")
            continue
        origin = _origin(against, here)
        if against is not None and origin is None:
            notes.append(f"{dataset}: {against} is not recorded; differences are as without it")
        key = (dataset, task, name, origin, tuple((e.scored.study, e.folded.names) for e in here))
        if key not in reader.rows:
            whole = [replace(e, scored=with_outcomes(e.scored, e.group, records, built, warn, (name,))) for e in here]
            reader.rows[key] = _rows(whole, reader, newest_data(groups), name, own, origin)
        called = {e.scored.study: e.short for e in here}
        found = [{**row, "short": called[row["study"]]} for row in reader.rows[key]]
        rows += [{"dataset": dataset, "task": task, "metric": name, **row} for row in found]
        validated = origin is not None or any(own.name in e.scored.validation for e in here)
        if not validated and any(row["difference"] is not None for row in found):
            notes.append(f"{dataset}: nothing was validated; differences are from what was recorded first (--against)")
        findings += comparison_findings(records, found, task=task, dataset=dataset, metric=name)
    if not shared:
        records.close()
    maximise = larger_is_better(name, [*(e.scored.primary for e in named), primary])
    shown = tuple(dict.fromkeys(str(row["dataset"]) for row in rows))
    images = {
        dataset: {mark for e in named if e.group.dataset == dataset for mark in e.group.images} for dataset in shown
    }
    classes = {e.group.dataset: e.group.classes for e in named if e.group.classes is not None}
    origins_called = {e.short for e in named if e.scored.study in origin_studies}
    baseline = origins_called.pop() if len(origins_called) == 1 else None
    across = over_datasets(rows, shown, images, maximise=maximise, against=baseline) if len(shown) > 1 else []
    for table in across:
        table["over_draws"] = over_draws(rows, classes, name, table["group"], baseline, maximise=maximise)
    unasked = tuple(dataset for dataset in recorded_on if dataset not in asked)
    without = tuple(dataset for dataset in asked if dataset not in shown)
    behind = {e.scored.study: tuple(other.name for other in e.folded.others) for e in named if e.folded.others}
    silenced = settings.silenced
    return Comparison(
        task,
        shown,
        name,
        maximise,
        rows,
        names,
        notes,
        across,
        findings,
        silenced,
        unasked,
        without,
        behind,
        tuple(further),
    )


def _primary(entries: Sequence[_Entry], otherwise: Metric) -> Metric:
    """Return the metric that the records of some entries say was optimised."""
    return next((e.scored.primary for e in entries if e.scored.primary is not None), otherwise)


def _or_draws(dataset: str, recorded_on: Sequence[str]) -> list[str]:
    """Return a data set, or the draws of its classes where these alone are recorded."""
    draws = [] if dataset in recorded_on else [name for name in recorded_on if draw_of(name) == dataset]
    return draws or [dataset]


def _entries(
    groups: Sequence[Recorded],
    fitting: Container[int],
    explicit: Container[str],
    against: str | None,
    notes: list[str],
    *,
    every: bool,
) -> list[_Entry]:
    """Return the entries of one data set: one per experiment and explicit name, or all; what is left out is noted.

    They are made of the groups whose ``id`` is ``fitting``; of the others there is only what differences are taken
    from, where none that fits is called so.
    """

    def of(kept: Sequence[Recorded]) -> list[Folded]:
        return alone(kept) if every else taken_out(folded(kept), explicit)

    asked = [group for group in groups if id(group) in fitting]
    newest = newest_data(asked or groups)
    older = sum(group.data != newest and not _is_named(group, explicit) for group in asked)
    if older and not every:
        notes.append(
            f"{groups[0].dataset}: {older} left out, of other data than the newest (fingerprint {newest[:8]}); "
            "--all shows them"
        )
    known = [group for group in groups if every or group.data == newest or _is_named(group, explicit)]
    found = of([group for group in known if id(group) in fitting])
    if against is not None and not _called_so(against, found):
        others = of([group for group in known if id(group) not in fitting])
        found += [others[i] for i in _called_so(against, others)]
    return [_Entry(entry, own) for entry, own in zip(found, _scored(found), strict=True)]


def _is_named(group: Recorded, explicit: Container[str]) -> bool:
    return any(name in explicit for name in (group.name, *group.names))


def _scored(found: Sequence[Folded]) -> list[Scored]:
    """Return what stands for each experiment, under all names that are known of it."""
    return [
        replace(own, names=own.names | entry.names, suite_rows=row_names(entry.suite_rows))
        for entry, own in zip(found, entries_of([entry.shown for entry in found]), strict=True)
    ]


def _replaced(entry: _Entry) -> str:
    """Say that what newer code computed is shown in place of studies with a better validation or more trials."""
    studies = ", ".join(f"{one.name} ({_reached(one)})" for one in entry.folded.replaced)
    shown = entry.group
    return (
        f"{entry.short} on {shown.dataset}: {shown.name} ({_reached(shown)}) is by newer code and is shown in place of "
        f"{studies}; --study shows what it names"
    )


def _reached(study: Recorded) -> str:
    if not study.is_study:
        return "evaluated again"
    value = study.winner.get("value")
    return f"{study.trials} trials" + ("" if value is None else f", validation {value:.4f}")


def _called_so(name: str, found: Sequence[Folded]) -> list[int]:
    """Return the places of those that a name means, none where it fits nothing."""
    try:
        return meant(name, _scored(found))
    except UnknownNameError:
        return []


def _rows(
    entries: Sequence[_Entry], reader: Reader, newest: str, metric: str, primary: Metric, against: str | None
) -> list[dict[str, Any]]:
    """Return the rows of one data set."""
    by_study = {entry.scored.study: entry for entry in entries}
    rows = []
    for row in leaderboard([entry.scored for entry in entries], metric, primary, against):
        entry = by_study[row["study"]]
        more = facts(entry.folded, entry.scored.knows, reader.seconds(entry.group))
        rows.append({"short": entry.short, **row, **more})
    return [{**row, "unequal": text} for row, text in zip(rows, unequal(rows, newest), strict=True)]


def _origin(against: str | None, entries: Sequence[_Entry]) -> str | None:
    """Return the label of the one entry that ``against`` means, None where it means none of them."""
    if against is None:
        return None
    scored = [entry.scored for entry in entries]
    try:
        meant(against, scored)
    except UnknownNameError:
        return None
    return scored[the_one(against, scored, BASELINE)].label

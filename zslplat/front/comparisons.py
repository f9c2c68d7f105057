"""``zslplat.compare``: what is recorded of tasks on data sets, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zslplat.comparison.compare import Comparison
from zslplat.comparison.exports import check_ending, export_each
from zslplat.comparison.forests import draw_forests
from zslplat.comparison.per_task import compare_each
from zslplat.comparison.sheets import sheets
from zslplat.data.catalogue import parse_dataset
from zslplat.errors import StoreError, UnknownNameError, UsageError, quoted
from zslplat.evidence.matching import Filters
from zslplat.front.progress import QuietReporter
from zslplat.front.requests import settings_of
from zslplat.front.results import Result, warning_lines
from zslplat.front.schema import complete_options
from zslplat.front.table_options import CompareCommand, CompareOptions
from zslplat.listeners import catch_up
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.summary import Summary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from zslplat.front.studies import Study

# Options that choose what is compared, in the order of the fields of Filters.
_FILTERS = ("names", "method", "study", "suite", "tag")
_WIDTH = 120  # characters of the table in plain text


@dataclass(frozen=True, repr=False)
class Comparisons(Result):
    """A table for each task and metric that was asked for: ``tables`` holds what the command prints as JSON."""

    tables: Sequence[Comparison]
    settings: Settings = field(repr=False)

    @property
    def best(self) -> dict[str, Any]:
        """The row that is best on validation, of the first table (and of each data set, where there are several)."""
        first = self.tables[0]
        best = {dataset: self._best_of(first, dataset) for dataset in first.datasets}
        return best if len(best) > 1 else next(iter(best.values()))

    def to_frame(self) -> pd.DataFrame:
        """Return all rows, with every key that the command's JSON has."""
        import pandas as pd

        return pd.DataFrame([row for table in self.tables for row in table.rows])

    def export(self, path: str | Path) -> None:
        """Write the tables into a file, by its ending, as ``compare --out``: .md, .tex, .csv, .json, .svg, .png."""
        check_ending(Path(path))
        try:
            export_each(self.tables, Path(path))
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror or error}; choose another path") from error

    def plot(self) -> Figure:
        """Return the test score of every row with its intervals: thick over these rows, thin over new classes.

        Behind a score stands its verdict beside the baseline: the best on validation, or ``against``. Of several data
        sets, with ``against``: the difference from that method on each, and pooled over them.
        """
        return draw_forests(self.tables)

    @staticmethod
    def _best_of(table: Comparison, dataset: str) -> dict[str, Any]:
        validated = [row for row in table.on(dataset) if row["validation"] is not None]
        rows = validated or table.on(dataset)
        by = "validation" if validated else "test"
        return dict((max if table.maximise else min)(rows, key=lambda row: row[by]))

    def _summary(self) -> Summary:
        shown = [sheet for table in self.tables for sheet in sheets(table, width=_WIDTH, gap=2)]
        tables: list[Mapping[str, Sequence[Any]]] = []
        lines = []
        for sheet in shown:
            titles = [" ".join(title.split()) for title in sheet.titles]
            cells = [[one.text for one in line] for members in sheet.sections.values() for line in members]
            tables.append({title: [line[i] for line in cells] for i, title in enumerate(titles)})
            lines += list(sheet.notes)
        warnings = [line for table in self.tables for line in warning_lines(table.warnings, 0)]
        return Summary("; ".join(sheet.title for sheet in shown), tables, [*dict.fromkeys(lines), *warnings])


def compare_results(names: Sequence[str | Study | Sequence[str | Study]], options: CompareOptions) -> Comparisons:
    """Compare studies, methods, specs and runs by name, or what ``tune`` gave."""
    from zslplat.front.class_folds import FoldedStudies
    from zslplat.front.studies import Study

    values: dict[str, Any] = {**options}
    names = [one for name in names for one in (name if isinstance(name, list | tuple) else [name])]
    names = [one for name in names for one in (name.studies if isinstance(name, FoldedStudies) else [name])]
    against = values.get("against")
    for name in (*names, *([] if against is None else [against])):
        if not isinstance(name, str | Study):
            raise UsageError(f"{quoted(name, 80)}: expected a study, method, spec or run, or what tune gave")
    studies = [name for name in (*names, against) if isinstance(name, Study)]
    if studies:
        values = {**_options_of(studies), **{name: value for name, value in values.items() if value}}
    values["against"] = against.name if isinstance(against, Study) else against
    values["names"] = [name.name if isinstance(name, Study) else name for name in names]
    return compare_recorded(complete_options(CompareCommand, values, "compare"), QuietReporter().warn)


def compare_recorded(options: CompareCommand, warn: Callable[[str], None]) -> Comparisons:
    """Return a comparison for each task and metric, of all recorded data sets and tasks where nothing else is said.

    Raises like :func:`zslplat.comparison.compare.compare`.
    """
    settings = settings_of({**options, "tag": None})
    chosen = {name: _texts(options, name) for name in _FILTERS}
    filters = Filters(*chosen.values())
    datasets = [str(parse_dataset(text)) for text in dict.fromkeys(_texts(options, "dataset"))]
    tasks = [str(Spec.parse(text)) for text in dict.fromkeys(_texts(options, "task"))]
    catch_up(settings, warn)

    def compare_fitting(filters: Filters) -> list[Comparison]:
        return compare_each(
            settings,
            datasets,
            tasks,
            filters,
            against=None if options["against"] is None else str(options["against"]),
            metrics=_texts(options, "metric"),
            every=options["all"],
            warn=warn,
        )

    try:
        return Comparisons(compare_fitting(filters), settings)
    except UnknownNameError:
        if tasks or filters.select_results or not filters.names:
            raise
        # Names of studies and runs that are of several tasks: each is a name of its own task alone.
        with suppress(UnknownNameError):
            return Comparisons(compare_fitting(replace(filters, names=(), studies=filters.names)), settings)
        raise


def _options_of(studies: Sequence[Study]) -> dict[str, Any]:
    """Return where studies are recorded, and their data sets and tasks."""
    stores = dict.fromkeys((study.settings.store, study.settings.storage_url) for study in studies)
    if len(stores) > 1:
        raise UsageError(f"the studies lie in {len(stores)} stores; merge these first (zslplat store merge)")
    settings = studies[0].settings
    return {
        "store": settings.store,
        "tracking_uri": None if settings.tracking_is_local else settings.tracking_uri,
        "storage_url": None if settings.storage_is_local else settings.storage_url,
        "dataset": [str(study.experiment.dataset) for study in studies],
        "task": [str(study.experiment.task) for study in studies],
    }


def _texts(options: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = options[name]
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    if not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"{name}={quoted(value, 80)}: expected a text, or a list of texts")
    return tuple(value)

"""``zslplat.compare``: what is recorded of tasks on data sets, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zslplat.comparison.exports import check_ending, export_each
from zslplat.comparison.filters import Filters
from zslplat.comparison.selection import Comparison
from zslplat.comparison.sheets import sheets
from zslplat.drawing import INK, LABEL, PALETTE, written
from zslplat.errors import StoreError, UsageError, quoted
from zslplat.front.asking import places
from zslplat.front.comparing import compared_as_asked
from zslplat.front.progress import QuietReporter
from zslplat.front.results import Result, Summary, warning_lines
from zslplat.front.studies import Study
from zslplat.settings import Settings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# A text, or several.
Texts = str | Sequence[str]
_WIDTH = 120  # characters of the table in plain text
_NAME = 34  # and of a method's name beside its line


@dataclass(frozen=True, repr=False)
class Comparisons(Result):
    """A table for each task and metric that was asked for: ``tables`` holds what the command prints as JSON."""

    tables: Sequence[Comparison]
    settings: Settings = field(repr=False)

    @property
    def best(self) -> dict[str, Any]:
        """The row that is best on validation, of the first table (and of each data set, where there are several)."""
        first = self.tables[0]
        found = {dataset: self._best_of(first, dataset) for dataset in first.datasets}
        return found if len(found) > 1 else next(iter(found.values()))

    def to_frame(self) -> pd.DataFrame:
        """Return all rows, with every key that the command's JSON has."""
        import pandas as pd

        return pd.DataFrame([row for table in self.tables for row in table.rows])

    def export(self, path: str | Path) -> None:
        """Write the tables into a file, by its ending, as the command's ``--out``: .md, .tex, .csv, .parquet, .json."""
        check_ending(Path(path))
        try:
            export_each(self.tables, Path(path))
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror or error}; choose another path") from error

    def plot(self) -> Figure:
        """Return the test score of every row with its intervals over these rows (thick) and over new classes (thin)."""
        from zslplat.pictures import Picture

        sides = [(table, dataset) for table in self.tables for dataset in table.datasets]
        lines = sum(len(table.on(dataset)) for table, dataset in sides)
        figure = Picture(figsize=(6.8, 0.8 + 0.9 * len(sides) + 0.32 * lines), layout="constrained", facecolor="white")
        heights = [1.5 + len(table.on(dataset)) for table, dataset in sides]
        panels = figure.subplots(len(sides), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
        for axes, (table, dataset) in zip(panels, sides, strict=True):
            _draw(axes, table, table.on(dataset), dataset)
        return figure

    @staticmethod
    def _best_of(table: Comparison, dataset: str) -> dict[str, Any]:
        known = [row for row in table.on(dataset) if row["validation"] is not None]
        rows = known or table.on(dataset)
        by = "validation" if known else "test"
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
        told = [line for table in self.tables for line in warning_lines(table.warnings, 0)]
        return Summary("; ".join(sheet.title for sheet in shown), tables, [*dict.fromkeys(lines), *told])


def compare(
    *names: str | Study,
    dataset: Texts | None = None,
    task: Texts | None = None,
    method: Texts | None = None,
    study: Texts | None = None,
    mlflow_experiment: Texts | None = None,
    suite: Texts | None = None,
    tag: Texts | None = None,
    against: str | Study | None = None,
    metric: Texts | None = None,
    all: bool = False,
    store: str | Path | None = None,
    tracking_uri: str | None = None,
    storage_url: str | None = None,
    silence: Sequence[str] | None = None,
) -> Comparisons:
    """Compare recorded test scores, with intervals of their differences, as ``zslplat compare``.

    The arguments are the options of the command, with its defaults; those that may be repeated take a text or several.
    ``names`` are studies, methods, specs or runs, or results of :func:`~zslplat.front.studies.tune`, whose data set,
    task and store are the ones that are meant where nothing else is said. ``all=True`` shows a row per study and run.

    Nothing is computed: what is compared was evaluated before. Raises :class:`~zslplat.errors.StoreError` where nothing
    is recorded and :class:`~zslplat.errors.UnknownNameError` for a name that fits nothing.

    >>> from zslplat.front.studies import tune
    >>> ridge, bilinear = (tune(name, trials=1, workers=1, quiet=True) for name in ("ridge-prototypes", "eszsl"))
    >>> compare(ridge, bilinear).to_frame()["method"].sort_values().tolist()
    ['eszsl', 'ridge-prototypes']
    """
    for name in (*names, *([] if against is None else [against])):
        if not isinstance(name, str | Study):
            raise UsageError(f"{quoted(name, 80)}: expected a study, method, spec or run, or what tune gave")
    given = [name for name in (*names, against) if isinstance(name, Study)]
    if given:
        stores = dict.fromkeys((one.settings.store, one.settings.storage_url) for one in given)
        if len(stores) > 1:
            raise UsageError(f"the studies lie in {len(stores)} stores; merge these first (zslplat store merge)")
        own = given[0].settings
        store = store or own.store
        tracking_uri = tracking_uri or (None if own.tracking_is_local else own.tracking_uri)
        storage_url = storage_url or (None if own.storage_is_local else own.storage_url)
        dataset = dataset or [str(one.experiment.dataset) for one in given]
        task = task or [str(one.experiment.task) for one in given]
    settings = places(None, store, tracking_uri, storage_url, silence)
    texts = [name.name if isinstance(name, Study) else name for name in names]
    found = compared_as_asked(
        settings,
        Filters(
            tuple(texts),
            _texts(method, "method"),
            _texts(study, "study"),
            _texts(mlflow_experiment, "mlflow_experiment"),
            _texts(suite, "suite"),
            _texts(tag, "tag"),
        ),
        datasets=tuple(dict.fromkeys(_texts(dataset, "dataset"))),
        tasks=tuple(dict.fromkeys(_texts(task, "task"))),
        against=against.name if isinstance(against, Study) else against,
        metrics=_texts(metric, "metric"),
        every=all,
        warn=QuietReporter().warn,
    )
    return Comparisons(found, settings)


def _texts(given: Texts | None, what: str) -> tuple[str, ...]:
    if given is None or isinstance(given, str):
        return () if given is None else (given,)
    if not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise UsageError(f"{what}={quoted(given, 80)}: expected a text, or a list of texts")
    return tuple(given)


def _draw(axes: Any, table: Comparison, rows: Sequence[Mapping[str, Any]], dataset: str) -> None:
    """Draw a line for every row, best first, those that score a batch jointly in another colour."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    for place, row in enumerate(rows):
        colour = PALETTE[groups.index(row["group"]) % len(PALETTE)]
        for low, high, width in (("low_classes", "high_classes", 1.4), ("low", "high", 5)):
            if row[low] is not None and row[high] is not None:
                axes.plot([row[low], row[high]], [-place] * 2, color=colour, linewidth=width, solid_capstyle="butt")
        axes.plot(row["test"], -place, marker="o", markersize=7, color=colour, markeredgecolor="white", linestyle="")
    axes.set_yticks([-place for place in range(len(rows))], [written(row["short"], _NAME) for row in rows])
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    joint = [f"{group} in another colour" for group in groups[1:]]
    said = f"{table.metric}, test: thick over these rows, thin over new classes"
    axes.set_xlabel(written("; ".join([said, *joint]), 2 * LABEL), fontsize=8)
    axes.set_title(written(f"{dataset}, task {table.task}", LABEL), fontsize=10, color=INK)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK, labelcolor=INK, labelsize=8, length=0)

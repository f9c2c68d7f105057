"""The cells of a published table that can be carried out here: settings, budgets, and what is missing of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zslplat.data.catalogue import find_data_set
from zslplat.data.source import HOW_TO_SET
from zslplat.errors import MissingDataError, UnknownNameError, UsageError
from zslplat.evaluation.components import searched_space
from zslplat.evaluation.experiment import Experiment
from zslplat.registry import component, names
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.tuning.options import StudyOptions
from zslplat_papers.published import PublishedTable
from zslplat_papers.reproduction.recipe import WAYS, Column, Recipe, StandIn, Way, sources

PERCENT = "%"
NO_SHARES = ("incoherence",)  # metrics that are no shares of 1


@dataclass(frozen=True)
class Budget:
    """What a call gives: trials and repeats in place of the recipe's, workers or a cluster, limits of one trial."""

    trials: int | None = None
    repeats: int | None = None
    workers: int = 2
    cluster: str | None = None
    trial_timeout: float | None = None
    memory_bytes: int | None = None

    def options(self, trials: int, repeats: int) -> StudyOptions:
        """Return the options of a study of so many trials; matrices are not kept."""
        return StudyOptions(
            trials=trials,
            repeats=repeats,
            workers=self.workers,
            cluster=self.cluster,
            trial_timeout=self.trial_timeout,
            memory_bytes=self.memory_bytes,
            artifact_bytes=0,
            of_table=True,
        )


@dataclass(frozen=True)
class Place:
    """Where cells of a column are carried out: the column's own data, or a stand-in, which ``differs`` in something."""

    id: str
    column: str
    dataset: str
    metric: str
    task: str
    files: tuple[str, ...]
    get: str
    differs: str = ""
    same_rows: bool = True
    standin: StandIn | None = None


@dataclass(frozen=True)
class Cell:
    """One cell in one way: what is to be carried out, and the printed number beside it (a share where it is in %).

    ``rounding``: how far the printed number may lie from what was rounded to it, in the same units.
    """

    table: str
    row: str
    place: Place
    way: str
    experiment: Experiment
    trials: int
    repeats: int
    printed: float | None
    share: bool
    unsure: str = ""
    less_is_better: bool = False
    rounding: float = 0.0

    @property
    def name(self) -> str:
        """The cell in words: row/column, way."""
        return f"{self.row}/{self.place.id}, {self.way}"


@dataclass(frozen=True)
class Missing:
    """A column that cannot be carried out: what is not at hand, and how to get it."""

    column: str
    dataset: str
    files: tuple[str, ...]
    how: str


def planned(
    table: PublishedTable,
    recipe: Recipe,
    settings: Settings,
    *,
    only: Sequence[str] = (),
    ways: Sequence[str] = WAYS,
    standins: bool = True,
    seed: int = 0,
    budget: Budget | None = None,
) -> tuple[list[Cell], list[Missing]]:
    """Return the cells whose data are at hand, and the columns, and stand-ins that ``only`` names, whose data are not.

    ``only``: ROW, /COLUMN or ROW/COLUMN by their ids, the ids of stand-ins among the columns; all that fit any of them
    are taken. A number of trials or repeats in ``budget`` takes the place of the recipe's. Raises
    :class:`UnknownNameError` for an ``only`` that names nothing, and :class:`UsageError` where ``ways`` and
    ``standins`` leave nothing of what is asked for; a recipe without rows says itself why.
    """
    selections = [_selection(text, recipe) for text in only]
    for text, one in zip(only, selections, strict=True):
        if why := _nothing_of(one, recipe, ways, standins=standins):
            raise UsageError(f"--only {text!r}: {why}")
    if recipe.rows and not any(way in row for row in recipe.rows.values() for way in ways):
        raise UsageError(f"table {recipe.table} has no cell in the way {_listed(ways)} (--way)")
    cells: list[Cell] = []
    missing: list[Missing] = []
    for way in ways:
        for place in _places(table, recipe, way, standins=standins):
            rows = [row for row in recipe.rows if _is_selected(row, place, selections) and way in recipe.rows[row]]
            if not rows:
                continue
            if not at_hand(place.dataset, place.files, settings):
                named_so = place.column if place.standin is None else place.standin.id
                is_named = place.standin is None or any(column in (named_so, place.id) for _, column in selections)
                if is_named and named_so not in [entry.column for entry in missing]:
                    how = sources().get(place.get, "") or _where_expected(place)
                    missing.append(Missing(named_so, place.dataset, place.files, how))
                continue
            cells += [_cell(table, row, way, recipe.rows[row][way], place, seed, budget or Budget()) for row in rows]
    return cells, missing


def every_cell(table: PublishedTable, recipe: Recipe) -> list[tuple[str, Place, str]]:
    """Return (row, place, way) of every cell of a recipe, whether its data are at hand or not."""
    return [
        (row, place, way)
        for way in WAYS
        for place in _places(table, recipe, way, standins=True)
        for row in recipe.rows
        if way in recipe.rows[row]
    ]


def only_by_table(
    tables: Mapping[str, Recipe], only: Sequence[str], ways: Sequence[str] = WAYS, *, standins: bool = True
) -> dict[str, list[str]]:
    """Return what of ``only`` each of several tables carries out; tables that have nothing of it are left out.

    Raises like :func:`planned` for a text that names nothing in any of them, or of which nothing is left in all.
    """
    by_table: dict[str, list[str]] = {name: [] for name in tables}
    for text in only:
        errors, left = [], []
        for name, recipe in tables.items():
            try:
                why = _nothing_of(_selection(text, recipe), recipe, ways, standins=standins)
            except UnknownNameError as error:
                errors.append(error)
            else:
                left += [why]
                by_table[name] += [] if why else [text]
        if left and all(left):
            raise UsageError(f"--only {text!r}: {left[0]}")
        if len(errors) == 1 == len(tables):
            raise errors[0]
        if len(errors) == len(tables):
            raise UnknownNameError(f"row or column (--only) of {', '.join(tables)}", text, _selectable(tables, text))
    return {name: texts for name, texts in by_table.items() if texts or not only}


def _selectable(tables: Mapping[str, Recipe], text: str) -> list[str]:
    """Return what a text for ``--only`` might have named in any of several tables."""
    names = {f"/{name}" for recipe in tables.values() for name in (*recipe.columns, *recipe.standins)}
    return sorted(names if text.startswith("/") else names | {row for one in tables.values() for row in one.rows})


def _nothing_of(selection: tuple[str, str], recipe: Recipe, ways: Sequence[str], *, standins: bool) -> str:
    """Return why nothing of a row and column is carried out in these ways; empty where something is."""
    row, column = selection
    if column and column not in recipe.columns and not standins:
        return f"{column} is a stand-in, and these are left out (--no-standins); leave that away, or name a column"
    rows = [recipe.rows[row]] if row else list(recipe.rows.values())
    if any(way in one for one in rows for way in ways):
        return ""
    has = dict.fromkeys(way for one in rows for way in one)
    return f"{row or 'no row'} has {'no' if row else 'the'} way {_listed(ways)} (--way); it has: {_listed(has)}"


def _listed(ways: Iterable[str]) -> str:
    return ", ".join(ways) or "none"


def _where_expected(place: Place) -> str:
    """Return what has to lie under the data root for a stand-in to be at hand."""
    return f"place {', '.join(place.files) or f'data set {place.dataset}'} under the data root ({HOW_TO_SET})"


def check_root(root: Path | None) -> None:
    """Raise :class:`MissingDataError` for a data root that is given and no folder."""
    if root is not None and not root.is_dir():
        raise MissingDataError(f"data root {root} is no folder; set it with {HOW_TO_SET}")


def at_hand(dataset: str, files: Sequence[str], settings: Settings) -> bool:
    """Tell whether a data set can be loaded: its files lie under the data root, or it is built in."""
    if files:
        return settings.data_root is not None and all((settings.data_root / file).exists() for file in files)
    name = Spec.parse(dataset).name
    if name in names("datasets"):
        return True
    return settings.data_root is not None and find_data_set(settings.data_root, name) is not None


def _places(table: PublishedTable, recipe: Recipe, way: str, *, standins: bool) -> list[Place]:
    places = [_of_column(column, recipe, way) for column in recipe.columns.values()]
    if not standins:
        return places
    printed = {column.id: column for column in table.columns}
    for standin in recipe.standins.values():
        for metric in standin.metrics:
            label = standin.id if len(standin.metrics) == 1 else f"{standin.id} {metric}"
            task = standin.tasks.get(way, recipe.tasks[way])
            column = standin.of if standin.of in printed else ""
            places.append(
                Place(
                    *(label, column, standin.dataset, metric, task, standin.files, ""),
                    differs=standin.differs,
                    standin=standin,
                )
            )
    return places


def _of_column(column: Column, recipe: Recipe, way: str) -> Place:
    task = column.tasks.get(way, recipe.tasks[way])
    return Place(
        *(column.id, column.id, column.dataset, column.metric, task, column.files, column.get),
        same_rows=column.same_rows,
    )


def _selection(text: str, recipe: Recipe) -> tuple[str, str]:
    """Return (row, column) of a text ROW/COLUMN, either of them empty for all."""
    row, slash, column = (part.strip() for part in text.partition("/"))
    if not row and not column:
        raise UsageError(f"--only {text!r}: write ROW, /COLUMN or ROW/COLUMN")
    columns = {*recipe.columns, *recipe.standins}
    if not slash and row in columns:
        row, column = "", row
    if row and row not in recipe.rows:
        raise UnknownNameError(f"row of table {recipe.table} (--only)", row, {*recipe.rows, *columns})
    if column and column not in columns:
        raise UnknownNameError(f"column or stand-in of table {recipe.table} (--only)", column, columns)
    return row, column


def _is_selected(row: str, place: Place, selections: Sequence[tuple[str, str]]) -> bool:
    ids = {"", place.id, place.column if place.standin is None else place.standin.id}
    return not selections or any(r in ("", row) and c in ids for r, c in selections)


def _cell(table: PublishedTable, row: str, named_way: str, way: Way, place: Place, seed: int, budget: Budget) -> Cell:
    method = Spec.parse(way.method)
    method = Spec(method.name, {k: str(v) if isinstance(v, Spec) else v for k, v in method.parameters.items()})
    features = way.features
    if place.standin is not None:
        parameters = component("methods", method.name).parameters
        fixed = {k: v for k, v in place.standin.fixed.items() if k in parameters and k not in method.parameters}
        method = method.with_parameters(fixed)
    template = component("methods", method.name).build(method.parameters)
    if place.standin is not None and place.standin.first_steps:
        preprocessing = template.effective_preprocessing.overridden(features, way.signatures)
        features = ",".join([place.standin.first_steps, *preprocessing.features])
    space = searched_space(template, method.parameters, way.space)
    experiment = Experiment(
        method, Spec.parse(place.dataset), Spec.parse(way.task or place.task), space, features, way.signatures, seed
    )
    published = table.cell(row, place.column) if place.column else None
    unit = 100 if place.column and table.column(place.column).unit == PERCENT else 1
    trials, repeats = budget.trials or way.trials, budget.repeats or way.repeats
    return Cell(
        *(table.id, row, place, named_way, experiment, trials if space else 1, repeats),
        printed=None if published is None or published.value is None else published.value / unit,
        share=place.metric not in NO_SHARES,
        unsure=way.unsure,
        less_is_better=any(column.metric == place.metric and column.better == "lower" for column in table.columns),
        rounding=0.0 if published is None else published.rounding / unit,
    )

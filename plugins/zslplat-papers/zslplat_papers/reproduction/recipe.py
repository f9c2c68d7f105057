"""Recipes: which method here, on which data and under which task, stands for a row and a column of a published table.

One TOML file per table in ``recipes/``, named as the table is; one that is ``like`` another takes over what it does not
say itself, and its rows (``only_rows``: some of them). A cell is carried out in two *ways*: ``printed``, the
paper's variant to the letter under the paper's protocol, and ``ours``, the default form under the default protocol.
Where a column's data are not at hand, *stand-ins* show how the methods rank on other data; a stand-in is never
compared with a printed number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from zslplat.errors import DataError, UnknownNameError
from zslplat_papers.published.reading import only, read_toml

RECIPES = Path(__file__).parent / "recipes"
PRINTED, OURS = WAYS = ("printed", "ours")
_SOURCES, _FACTS = "sources.toml", "facts.toml"
FACTS = ("rows", "classes", "dimensions", "attributes")
_TOP = (
    "like",
    "only_rows",
    "metric",
    "metrics",
    "protocol",
    "printed",
    "ours",
    "rows",
    "columns",
    "standins",
    "left_out",
)
_WAY = ("method", "task", "space", "features", "signatures", "trials", "repeats", "unsure")
_COLUMN = ("dataset", "files", "get", "task", "metric", "printed_task", "same_rows")
_STANDIN = ("id", "of", "dataset", "files", "differs", "task", "printed_task", "first_steps", "fixed", "metrics")


@dataclass(frozen=True)
class Way:
    """How a row is carried out: the method's spec, ranges in place of its own, steps in place of its own, budget.

    ``task`` is empty where the column says it; ``unsure`` says what the paper leaves open and how it was filled.
    """

    method: str
    task: str = ""
    space: Mapping[str, str] = field(default_factory=dict)
    features: str | None = None
    signatures: str | None = None
    trials: int = 20
    repeats: int = 5
    unsure: str = ""


@dataclass(frozen=True)
class Column:
    """The data of a column of the table: ``files`` under the data root that it needs, ``get`` how to come by them.

    ``same_rows``: whether its test rows are those of the paper; ``metric`` is the metric here.
    """

    id: str
    dataset: str
    metric: str
    files: tuple[str, ...] = ()
    get: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict)
    same_rows: bool = True


@dataclass(frozen=True)
class StandIn:
    """Other data in place of a column (``of``, or of the table as a whole): ``differs`` says in what they differ.

    ``first_steps`` of preprocessing come before a method's own; ``fixed`` parameters are given to the methods that
    have them.
    """

    id: str
    dataset: str
    differs: str
    metrics: tuple[str, ...]
    of: str = ""
    files: tuple[str, ...] = ()
    tasks: Mapping[str, str] = field(default_factory=dict)
    first_steps: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """The recipe of a published table; ``rows`` maps a row's id to its ways, ``left_out`` says why others have none.

    What ``left_out`` says of ``*`` is said of every row and column without a recipe.
    """

    table: str
    protocol: Mapping[str, str]
    tasks: Mapping[str, str]
    rows: Mapping[str, Mapping[str, Way]]
    columns: Mapping[str, Column]
    standins: Mapping[str, StandIn]
    left_out: Mapping[str, str]


def recipe_ids() -> list[str]:
    """Return the tables that have a recipe, sorted."""
    return sorted(path.stem for path in RECIPES.glob("*.toml") if path.name not in (_SOURCES, _FACTS))


def recipes_of(name: str) -> list[str]:
    """Return the tables that a name means: one table, or all of a paper (``000``) that have a recipe.

    Raises :class:`UnknownNameError` for a name that means none.
    """
    ids = recipe_ids()
    matches = [table for table in ids if name in (table, table.partition("-")[0])]
    if not matches:
        papers = {one.partition("-")[0] for one in ids}
        raise UnknownNameError("published table or paper", name, {*ids, *papers}, lister="published")
    return matches


@cache
def load_recipe(table: str) -> Recipe:
    """Return the recipe of a table; raises :class:`UsageError` with the near matches for one without."""
    if table not in recipe_ids():
        raise UnknownNameError("recipe of a published table", table, recipe_ids(), lister="published")
    return read_recipe(RECIPES / f"{table}.toml")


@cache
def sources() -> Mapping[str, str]:
    """Return {name: how to get the data} of the sources that columns name."""
    return {name: " ".join(entry["how"].split()) for name, entry in read_toml(RECIPES / _SOURCES).items()}


@cache
def facts_of_data() -> Mapping[str, Mapping[str, int]]:
    """Return {data set: {fact: number}} of what the papers' data are known by (:data:`FACTS`, some of them)."""
    facts = read_toml(RECIPES / _FACTS)
    for name, of_data in facts.items():
        only(of_data, FACTS, f"{_FACTS}: {name}")
    return facts


def read_recipe(path: Path) -> Recipe:
    """Read a recipe's file; raises :class:`DataError`, which names it, for what is missing or read by nobody."""
    try:
        return _recipe(path.stem, _with_likeness(path))
    except KeyError as error:
        raise DataError(f"recipe {path.name}: {error.args[0]!r} is missing") from error
    except DataError as error:
        raise DataError(f"recipe {path.name}: {error}") from error


def _with_likeness(path: Path) -> dict[str, Any]:
    """Return a file's content over that of the recipe which it is like."""
    content = read_toml(path)
    only(content, _TOP, "the recipe")
    if "like" not in content:
        return content
    other = _with_likeness(path.with_name(f"{content['like']}.toml"))
    rows = {**other["rows"], **content.get("rows", {})}
    names = content.get("only_rows", list(rows))
    return {**other, **content, "rows": {row: rows[row] for row in names}}


def _recipe(table: str, content: Mapping[str, Any]) -> Recipe:
    defaults = {way: content.get(way, {}) for way in WAYS}
    for way, entry in defaults.items():
        only(entry, _WAY, f"[{way}]")
    tasks = {way: str(defaults[way]["task"]) for way in WAYS}
    rows = {
        row: {way: _way(entry[way], defaults[way]) for way in WAYS if way in entry}
        for row, entry in content["rows"].items()
    }
    metrics = tuple(content.get("metrics", [content.get("metric")]))
    columns = {name: _column(name, entry, content) for name, entry in content.get("columns", {}).items()}
    standins = {entry["id"]: _standin(entry, metrics) for entry in content.get("standins", [])}
    return Recipe(table, dict(content["protocol"]), tasks, rows, columns, standins, dict(content.get("left_out", {})))


def _way(entry: str | Mapping[str, Any], defaults: Mapping[str, Any]) -> Way:
    fields = {"method": entry} if isinstance(entry, str) else dict(entry)
    only(fields, _WAY, "a row")
    # The task of the table belongs to its columns; a row says one only where it needs another.
    return Way(**{**{k: v for k, v in defaults.items() if k != "task"}, **fields})


def _column(name: str, entry: Mapping[str, Any], content: Mapping[str, Any]) -> Column:
    only(entry, _COLUMN, f"column {name}")
    if entry.get("get", "") not in {"", *sources()}:
        raise DataError(f"column {name}: {_SOURCES} does not say how to get {entry['get']!r}")
    return Column(
        name,
        entry["dataset"],
        entry.get("metric") or content["metric"],
        tuple(entry.get("files", ())),
        entry.get("get", ""),
        _own_tasks(entry),
        entry.get("same_rows", True),
    )


def _standin(entry: Mapping[str, Any], metrics: tuple[str, ...]) -> StandIn:
    only(entry, _STANDIN, f"stand-in {entry.get('id')}")
    return StandIn(
        entry["id"],
        entry["dataset"],
        entry["differs"],
        tuple(entry.get("metrics", metrics)),
        entry.get("of", ""),
        tuple(entry.get("files", ())),
        _own_tasks(entry),
        entry.get("first_steps", ""),
        dict(entry.get("fixed", {})),
    )


def _own_tasks(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the tasks by way that a column says itself: ``printed_task`` for one way, ``task`` for both."""
    tasks = {way: entry["task"] for way in WAYS if "task" in entry}
    return tasks | ({PRINTED: entry["printed_task"]} if "printed_task" in entry else {})

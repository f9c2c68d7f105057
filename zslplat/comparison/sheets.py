"""Tables of a comparison for people, whatever they are written in: cells of text, marks, and notes in words.

The terminal, Markdown and LaTeX write the same sheets; CSV, Parquet and JSON have the rows as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from zslplat.comparison.classes import COVERS, NEW_CLASSES, THESE_ROWS
from zslplat.comparison.columns import (
    COLUMNS,
    CUT,
    NO_CLASSES,
    ON_THESE_ROWS,
    Column,
    Row,
    cut,
    draw_notes,
    ends,
    filled,
    fitting,
    knows,
    letters_of,
    number,
    p_value,
    same_score,
    verdict,
)
from zslplat.comparison.compare import Comparison
from zslplat.comparison.leaderboard import MOST_TIED, OTHER_DATA, OTHER_ROWS
from zslplat.comparison.over_datasets import draws_words
from zslplat.evidence.labels import dataset_titles
from zslplat.tuning.code_changes import MEANING

BEST, TIED = "best", "tied"
_SCORE_ON_CLASSES = "score on\nnew classes"
# The columns that a note explains.
_OVER_ROWS = frozenset({"score on\nthese rows", "difference on\nthese rows"})
_OVER_CLASSES = frozenset({_SCORE_ON_CLASSES, "difference on\nnew classes", "verdict", "p (Holm)"})
_OF_PAIRS = frozenset({"difference on\nthese rows", "difference on\nnew classes", "verdict"})


@dataclass(frozen=True)
class Cell:
    """A text, and the standing of the score that it shows: ``best``, ``tied`` (not told apart from it), or nothing."""

    text: str
    standing: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table: ``sections`` are its lines by group of methods, ``left_out`` the titles of columns without room.

    Titles may have line breaks; ``right`` says which columns hold numbers.
    """

    title: str
    titles: Sequence[str]
    right: Sequence[bool]
    sections: Mapping[str, Sequence[Sequence[Cell]]]
    notes: Sequence[str]
    left_out: Sequence[str] = ()


def sheets(
    comparison: Comparison, *, titles: Collection[str] | None = None, width: int | None = None, gap: int = 0
) -> list[Sheet]:
    """Return the table of a comparison: of one data set its rows, of several methods x data sets.

    Columns without content are left out, and of one data set those whose title is not in ``titles``, and those that do
    not fit into ``width`` characters with ``gap`` between two columns.
    """
    if len(comparison.datasets) > 1:
        return [_over_datasets(comparison), *(_over_draws(comparison, table) for table in _draws(comparison))]
    rows = comparison.rows
    columns = filled(rows, COLUMNS if titles is None else [column for column in COLUMNS if column.title in titles])
    shown = columns if width is None else fitting(columns, rows, width, gap)
    sections = {
        group: [[_cell(column, row, standing) for column in shown] for row, standing in members]
        for group, members in _by_group(rows)
    }
    hidden = [" ".join(column.title.split()) for column in columns if column not in shown]
    notes = [*_notes(comparison, rows, {column.title for column in shown}), *comparison.notes]
    return [Sheet(_title(comparison), [c.title for c in shown], [c.right for c in shown], sections, notes, hidden)]


def standings(rows: Sequence[Row]) -> list[str]:
    """Return ``best`` for the best score of each group, and for all that equal it, ``tied`` for what is not told apart
    from it, else nothing.

    Rows of one data set, best first in each group.
    """
    best: dict[str, Row] = {}
    marks = []
    for row in rows:
        first = best.setdefault(row["group"], row)
        if row is first or same_score(row["test"], first["test"]):
            marks.append(BEST)
        else:
            marks.append(TIED if letters_of(row["tied"]) & letters_of(first["tied"]) else "")
    return marks


def _cell(column: Column, row: Row, standing: str) -> Cell:
    return Cell(column.text(row), standing if column.title == "test" else "")


def _by_group(rows: Sequence[Row]) -> Iterable[tuple[str, list[tuple[Row, str]]]]:
    for group, members in groupby(zip(rows, standings(rows), strict=True), key=lambda pair: pair[0]["group"]):
        yield str(group), list(members)


def _title(comparison: Comparison) -> str:
    (dataset,) = comparison.datasets
    short = _called(comparison.rows)
    origins = {row["group"]: short[row["baseline"]] for row in comparison.rows}
    if len(set(origins.values())) == 1:
        origin = next(iter(origins.values()))
    else:
        origin = ", ".join(f"{baseline} ({group})" for group, baseline in origins.items())
    return f"test {comparison.metric} of task {comparison.task} on {dataset}; differences from {origin}"


def _called(rows: Iterable[Row]) -> dict[str, str]:
    """Return what a table calls its methods, by their label."""
    return {row["method"]: str(row["short"]) for row in rows}


def _notes(comparison: Comparison, rows: Sequence[Row], shown: Collection[str]) -> list[str]:
    """Return the sentences that belong under a table of these rows of one data set; ``shown`` are its titles.

    What explains a column stands where that is shown.
    """
    lines = [f"{name}: {text}" for name, text in comparison.names.items()]
    if any(row["low_classes"] is not None or row["difference_low_classes"] is not None for row in rows):
        shows_verdict = "verdict" in shown and any(verdict(row).endswith(ON_THESE_ROWS) for row in rows)
        covered = {
            THESE_ROWS: shows_verdict or bool(_OVER_ROWS & set(shown)),
            NEW_CLASSES: bool(_OVER_CLASSES & set(shown)),
        }
        lines += [f"{words}: {COVERS[words]}" for words, is_shown in covered.items() if is_shown]
        lines += [CUT] if _SCORE_ON_CLASSES in shown and any(map(cut, rows)) else []
    elif all(row["low"] is None for row in rows):
        lines.append(f"{comparison.metric} has no intervals: evaluations keep no bootstrap replicates of it")
    else:
        lines.append(NO_CLASSES.format(comparison.metric))
    if "tied" in shown and any(row["tied"] for row in rows):
        most = any(count > MOST_TIED for count in Counter(row["group"] for row in rows).values())
        of = f" (the best {MOST_TIED} of each group have letters)" if most else ""
        lines.append(
            "tied: methods of a group that share a letter are not told apart, in whatever order they stand, after "
            f"Holm's correction over all pairs, which are more than a verdict's rivals{of}"
        )
    if _OF_PAIRS & set(shown):
        lines += _no_pairs(rows)
    return [*lines, *_remarks(rows)]


def _no_pairs(rows: Sequence[Row]) -> list[str]:
    """Return why differences have no interval where two rows scored other test rows, or other data."""
    lines = []
    called = _called(rows)
    origins = " and ".join(dict.fromkeys(called[row["baseline"]] for row in rows))
    if any(OTHER_ROWS in (row["verdict"], row["verdict_rows"]) for row in rows):
        unsaid = ", or recorded without saying which" if any(row["test_rows"] is None for row in rows) else ""
        text = f"scored on other test rows than {origins}{unsaid}; such differences have no interval"
        lines.append(f"{OTHER_ROWS}: {text}")
    if any(OTHER_DATA in (row["verdict"], row["verdict_rows"]) for row in rows):
        lines.append(f"{OTHER_DATA}: another version of the data than {origins} has; such differences have no interval")
    return lines


def _remarks(rows: Sequence[Row]) -> list[str]:
    """Return what is to be known of single rows, whichever data sets they are of."""
    lines = _named("knows of the scored batch", rows, lambda row: "" if row["knows"] == "nothing" else knows(row))
    lines += _named("unequal", rows, lambda row: row["unequal"])
    lines += _named("code", rows, lambda row: f"{row['code']} ({MEANING.get(row['code'], '')})" if row["code"] else "")
    lines += [
        f"{row['short']}: {row['study']} stands for {row['folded']} more of this experiment: {row['others']}"
        for row in rows
        if row["folded"]
    ]
    if any(row["from_memory"] for row in rows):
        lines.append("*: written from memory, without the method's source at hand; its docstring says what is unsure")
    return lines


def _named(words: str, rows: Iterable[Row], text_of: Callable[[Row], str]) -> list[str]:
    """Return a line for each different text that is said of rows, with the rows that it is said of."""
    by_text: dict[str, list[str]] = {}
    for row in rows:
        if text_of(row):
            by_text.setdefault(text_of(row), []).append(str(row["short"]))
    return [f"{words}: {text}: {', '.join(dict.fromkeys(names))}" for text, names in by_text.items()]


def _over_datasets(comparison: Comparison) -> Sheet:
    """Return methods x data sets, with the mean ranks where there are any."""
    place = {
        (row["short"], dataset): Cell(number(row["test"]), standing)
        for dataset in comparison.datasets
        for row, standing in zip(comparison.on(dataset), standings(comparison.on(dataset)), strict=True)
    }
    memory = {row["short"] for row in comparison.rows if row["from_memory"]}
    ranked = any(method["mean_rank"] is not None for table in comparison.across for method in table["methods"])
    short = dataset_titles(comparison.datasets)
    titles = ["method", *(short[dataset] for dataset in comparison.datasets)]
    titles += ["mean\nrank", "interval of\nthe rank", "mean\ndifference", "tied"] if ranked else []
    sections = {
        table["group"]: [
            [
                Cell(method["method"] + (" *" if method["method"] in memory else "")),
                *(place.get((method["method"], dataset), Cell("")) for dataset in comparison.datasets),
                *(_ranks(method) if ranked else []),
            ]
            for method in table["methods"]
        ]
        for table in comparison.across
    }
    lines = [f"{name}: {text}" for name, text in comparison.names.items()]
    for table in comparison.across:
        lines += _rank_notes(table, several=len(comparison.across) > 1)
        if table["baseline"] is not None:
            among = f" of {table['group']} methods" if len(comparison.across) > 1 else ""
            lines.append(f"mean differences{among} are from {table['baseline']}")
    title = f"{comparison.metric} of task {comparison.task} on {len(comparison.datasets)} data sets"
    right = [0 < place < len(titles) - ranked for place in range(len(titles))]  # names of data sets may be any
    notes = dict.fromkeys([*lines, *_remarks(comparison.rows), *comparison.notes])  # groups may share a reservation
    return Sheet(title, titles, right, sections, list(notes))


def _draws(comparison: Comparison) -> list[dict[str, Any]]:
    return [{**draws, "group": table["group"]} for table in comparison.across for draws in table["over_draws"]]


def _over_draws(comparison: Comparison, table: Mapping[str, Any]) -> Sheet:
    """Return the means of methods over draws of the classes of one data set, with what they say of further draws."""
    titles = ["method", "mean", "interval over\nfurther draws", "difference", "interval over\nfurther draws"]
    titles += ["p (Holm)", "verdict", "draws"]
    cells = [
        [
            *(row["method"], number(row["mean"]), ends(row["low"], row["high"])),
            *(number(row["difference"], sign=True), ends(row["difference_low"], row["difference_high"], sign=True)),
            *(p_value(row["p_holm"]), row["verdict"] or "", str(row["draws"])),
        ]
        for row in table["methods"]
    ]
    title = f"{comparison.metric} of task {comparison.task} over {table['draws']} draws of the classes of "
    title += f"{table['dataset']}; "
    title += f"differences from {table['baseline']}" if table["baseline"] else "no differences"
    lines = draw_notes(table)
    right = [title not in ("method", "verdict") for title in titles]
    sections = {table["group"]: [[Cell(text) for text in line] for line in cells]}
    return Sheet(title, titles, right, sections, lines)


def _ranks(method: Mapping[str, Any]) -> list[Cell]:
    rank = "" if method["mean_rank"] is None else f"{method['mean_rank']:.2f}"
    low, high = method["rank_low"], method["rank_high"]
    interval = "" if low is None or high is None else f"{low:.2f} .. {high:.2f}"
    return [Cell(text) for text in (rank, interval, number(method["difference"], sign=True), method["tied"] or "")]


def _rank_notes(table: Mapping[str, Any], *, several: bool) -> list[str]:
    group = f" of {table['group']} methods" if several else ""
    if table["sets"] is None:
        many = len(table["methods"]) > 1
        return [f"no ranks{group}: fewer than two methods have a score on every data set"] if many else []
    sets = f"{table['sets']} data set{'s' if table['sets'] > 1 else ''}"
    p = "" if table["p_value"] is None else f"; all alike: p = {table['p_value']:.2g} (Friedman)"
    text = (
        f"ranks{group}: 1 is best; those less than {table['critical_difference']:.2f} apart are not told apart "
        f"(Nemenyi, level .05, {sets}) and share a letter{p}"
    )
    return [text, *(words for words in (draws_words(table), table["reservation"]) if words)]

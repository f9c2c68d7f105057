"""Tables of a comparison for people, whatever they are written in: cells of text, marks, and notes in words.

The terminal, Markdown and LaTeX write the same sheets; CSV and JSON have the rows as they are.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from zslplat.comparison.classes import COVERS, NEW_CLASSES, THESE_ROWS
from zslplat.comparison.compare import Comparison
from zslplat.comparison.leaderboard import MOST_TIED, NO_PAIR, OTHER_DATA, OTHER_ROWS
from zslplat.comparison.over_datasets import rank_note
from zslplat.evidence.labels import dataset_titles
from zslplat.metrics.intervals import margin_of
from zslplat.names import decimal
from zslplat.registry import component, names
from zslplat.space import default_space
from zslplat.spec import Spec
from zslplat.statistics import NOT_ENOUGH
from zslplat.tuning.code_changes import MEANING

Row = Mapping[str, Any]
NO_CLASSES = (
    "{} has no interval over new classes here: that takes two classes of each kind that it is made of (seen, unseen), "
    "or two draws of classes, that are not all alike"
)
ON_THESE_ROWS = "(these rows)"  # behind a verdict over the test rows, where there is none over new classes
CUT = "a score on new classes that ends at 0 or 1 was cut there: the formula reaches beyond, and no score does"


@dataclass(frozen=True)
class Column:
    """A column: its title, the text of a row in it, and its ``rank``: the higher, the sooner it is left out.

    ``key``: that of the number in a row by which the column is sorted; ``hint``: in words what the column holds.
    """

    title: str
    text: Callable[[Row], str]
    rank: int
    key: str = ""
    hint: str = ""

    @property
    def right(self) -> bool:
        """Whether it holds numbers, which are set flush right."""
        return bool(self.key)


_NEW_ROWS, _NEW_CLASSES = "95% interval over new draws of these test rows", "95% interval over new draws of classes"
COLUMNS = (
    Column("method", lambda row: row["short"] + (" *" if row["from_memory"] else ""), 0),
    Column("validation", lambda row: number(row["validation"]), 9, "validation"),
    Column("test", lambda row: _with_spread(row), 0, "test"),
    Column("score on\nthese rows", lambda row: ends(row, "low", "high"), 12, "low", _NEW_ROWS),
    Column(
        "score on\nnew classes", lambda row: ends(row, "low_classes", "high_classes"), 11, "low_classes", _NEW_CLASSES
    ),
    Column("difference", lambda row: number(row["difference"], sign=True), 1, "difference"),
    Column(
        "difference on\nthese rows",
        lambda row: ends(row, "difference_low", "difference_high", sign=True),
        4,
        "difference_low",
        _NEW_ROWS,
    ),
    Column(
        "difference on\nnew classes",
        lambda row: ends(row, "difference_low_classes", "difference_high_classes", sign=True),
        3,
        "difference_low_classes",
        _NEW_CLASSES,
    ),
    Column("verdict", lambda row: verdict(row), 2, hint="over new classes, after Holm's correction"),
    Column("p (Holm)", lambda row: p_value(row["p_holm"]), 7, "p_holm", "corrected for the number of rivals"),
    Column(
        "smallest\nvisible",
        lambda row: number(row["smallest_difference"]),
        13,
        "smallest_difference",
        "seen among so many rivals with a power of 80%",
    ),
    Column("tied", lambda row: row["tied"] or "", 5, hint="sharing a letter: no significant difference"),
    Column("trials", lambda row: whole(row["trials"]), 6, "trials"),
    Column("seconds\nof search", lambda row: seconds(row["trial_seconds"]), 14, "trial_seconds"),
    Column("seconds\nof test", lambda row: seconds(row["test_seconds"]), 10, "test_seconds"),
    Column("epochs", lambda row: whole(row["epochs"]), 8, "epochs"),
    Column("knows of batch", lambda row: knows(row), 15, hint="beside one test row at a time"),
    Column("unequal", lambda row: row["unequal"], 16, hint="what makes it less than a fair match for the others"),
    Column("stands for", lambda row: f"{row['folded'] + 1} of this experiment" if row["folded"] else "", 17),
    Column("study", lambda row: row["study"], 18),
)


def cut(row: Row) -> bool:
    """Tell whether the interval of a score over new classes ends where the metric does."""
    low, high = row.get("low_classes"), row.get("high_classes")
    if low is None or high is None or row.get("test") in (0, 1):
        return False
    return bool(low < high and (low == 0 or high == 1))


def filled(rows: Sequence[Row], columns: Sequence[Column]) -> list[Column]:
    """Return the columns in which a row has something to show."""
    return [column for column in columns if any(column.text(row) for row in rows)]


def fitting(columns: Sequence[Column], rows: Sequence[Row], width: int, gap: int) -> list[Column]:
    """Return those of the columns, in order, that fit into ``width`` characters with ``gap`` between two of them.

    A column that does not fit is passed over for the next one in rank; that of the names may be folded to a third.
    """
    widths = {
        id(c): max(len(line) for line in (*c.title.splitlines(), *(c.text(row) for row in rows))) for c in columns
    }
    left = width
    shown: set[int] = set()
    for column in sorted(columns, key=lambda c: c.rank):
        needed = widths[id(column)] + gap
        if column.title == "method":
            needed = min(needed, width // 3)
        if not shown or needed <= left or column.rank == 0:
            shown.add(id(column))
            left -= needed
    return [column for column in columns if id(column) in shown]


def verdict(row: Row) -> str:
    """Return the verdict over new classes; where there is none, that over the test rows, saying so."""
    if row["verdict"] or not row["verdict_rows"]:
        return str(row["verdict"])
    return str(row["verdict_rows"]) if row["verdict_rows"] in NO_PAIR else f"{row['verdict_rows']} {ON_THESE_ROWS}"


def knows(row: Row) -> str:
    """Return what a row's method knows of the batch that it scores."""
    return "not recorded" if row["knows"] is None else str(row["knows"])


def number(value: float | None, *, sign: bool = False) -> str:
    """Return a score with four digits behind the point; nothing for None."""
    return "" if value is None else decimal(value, sign=sign)


def ends(row: Row, low: str, high: str, *, sign: bool = False) -> str:
    """Return an interval by the keys of its ends; nothing where it is not known."""
    if row[low] is None or row[high] is None:
        return ""
    return f"{number(row[low], sign=sign)} .. {number(row[high], sign=sign)}"


def p_value(value: float | None) -> str:
    """Return a p-value with two digits that count, more where these would be .05; the smallest ones as a bound."""
    if value is None or value < 1e-4:
        return "" if value is None else "< .0001"
    return next(text for digits in (2, 3, 4) if float(text := f"{value:.{digits}g}") != 0.05 or digits == 4)


def whole(value: float | None) -> str:
    """Return a count, or a mean of counts."""
    return "" if value is None else f"{value:g}"


def seconds(value: float | None) -> str:
    """Return a time with three digits, whole seconds from a hundred on."""
    return "" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _with_spread(row: Row) -> str:
    return number(row["test"]) + (f" ± {row['spread']:.4f}" if row["spread"] is not None else "")


def same_score(one: float, other: float) -> bool:
    """Tell whether scores are equal but for rounding, which means over different numbers of equal repeats have."""
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)


def letters_of(tied: str | None) -> set[str]:
    """Return the groups of a label: ``ab`` and ``a1b`` are two each."""
    return set(re.findall(r"[a-z]\d*", tied or ""))


BEST, TIED = "best", "tied"
_SCORE_ON_CLASSES = "score on\nnew classes"
# The columns that a note explains.
_OVER_ROWS = frozenset({"score on\nthese rows", "difference on\nthese rows"})
_OVER_CLASSES = frozenset({_SCORE_ON_CLASSES, "difference on\nnew classes", "verdict", "p (Holm)"})
_OF_PAIRS = frozenset({"difference on\nthese rows", "difference on\nnew classes", "verdict"})


@dataclass(frozen=True)
class Cell:
    """A text, the standing of the score that it shows (``best``, ``tied`` with it, or nothing), and its number."""

    text: str
    standing: str = ""
    value: float | None = None


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
    not fit into ``width`` characters with ``gap`` between two columns: of several data sets the last of these.
    """
    if len(comparison.datasets) > 1:
        table = _over_datasets(comparison)
        return [table if width is None else _narrowed(table, width, gap, len(comparison.datasets))]
    rows = comparison.rows
    columns = filled(rows, COLUMNS if titles is None else [column for column in COLUMNS if column.title in titles])
    shown = columns if width is None else fitting(columns, rows, width, gap)
    sections = {
        group: [[column_cell(column, row, standing) for column in shown] for row, standing in members]
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


def column_cell(column: Column, row: Row, standing: str) -> Cell:
    return Cell(column.text(row), standing if column.title == "test" else "", row[column.key] if column.key else None)


def _by_group(rows: Sequence[Row]) -> Iterable[tuple[str, list[tuple[Row, str]]]]:
    for group, members in groupby(zip(rows, standings(rows), strict=True), key=lambda pair: pair[0]["group"]):
        yield str(group), list(members)


def _title(comparison: Comparison) -> str:
    (dataset,) = dataset_titles(comparison.datasets).values()
    short = _called(comparison.rows)
    baselines = {row["group"]: short[row["baseline"]] for row in comparison.rows}
    if len(set(baselines.values())) == 1:
        named = next(iter(baselines.values()))
    else:
        named = ", ".join(f"{baseline} ({group})" for group, baseline in baselines.items())
    return f"test {comparison.metric} of task {comparison.task} on {dataset}; differences from {named}"


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
    undecided = [row["classes_to_decide"] for row in rows if row.get("classes_to_decide")]
    if "verdict" in shown and undecided:
        least, most = min(undecided), max(undecided)
        count = f"{least} to {most}" if most > least else f"{most}"
        margin = margin_of(comparison.metric)
        neither = "no difference" if margin is None else f"neither a difference nor equality within {margin:g}"
        lines.append(f"{NOT_ENOUGH}: {neither} can be shown; it would take about {count} classes like these")
        if not any(row.get("draws") for row in rows):
            lines.append(f"each class is tested once by: {_class_folds(comparison, rows)}")
    if "tied" in shown and any(row["tied"] for row in rows):
        largest = max(Counter(row["group"] for row in rows).values())
        of = f" (the best {MOST_TIED} of each group have letters)" if largest > MOST_TIED else ""
        pairs = f", after Holm's correction over all pairs of it{of}" if largest > 2 else ""
        text = "methods of a group that share a letter do not differ significantly, in whatever order they stand"
        lines.append(f"tied: {text}{pairs}")
    if _OF_PAIRS & set(shown):
        lines += _no_pairs(rows)
    return [*lines, *_remarks(rows)]


def _class_folds(comparison: Comparison, rows: Sequence[Row]) -> str:
    """Return the commands that compare the first undecided row with its baseline over all classes."""
    row = next(row for row in rows if row["classes_to_decide"])
    compared = [one for one in rows if one is row or one["method"] == row["baseline"]]
    methods = dict.fromkeys(_searched(str(one["method"]).partition(" [")[0]) for one in compared)
    options = shlex.join(["-d", str(row["dataset"]), "-t", comparison.task, "-n", str(row["trials"] or 1)])
    tuned = [f"zslplat tune {shlex.quote(method)} {options} --class-folds 5" for method in methods]
    return " && ".join([*tuned, f"zslplat compare -t {shlex.quote(comparison.task)}"])


def _searched(method: str) -> str:
    """Return a method without values of what is searched: those may come from classes that a class fold tests."""
    spec = Spec.parse(method)
    if spec.name not in names("methods"):
        return method
    space = default_space(component("methods", spec.name).parameters)
    return str(Spec(spec.name, {name: value for name, value in spec.parameters.items() if name not in space}))


def _no_pairs(rows: Sequence[Row]) -> list[str]:
    """Return why differences have no interval where two rows scored other test rows, or other data."""
    lines = []
    called = _called(rows)
    theirs = " and ".join(dict.fromkeys(called[row["baseline"]] for row in rows))
    if any(OTHER_ROWS in (row["verdict"], row["verdict_rows"]) for row in rows):
        unsaid = ", or recorded without saying which" if any(row["test_rows"] is None for row in rows) else ""
        text = f"scored on other test rows than {theirs}{unsaid}; such differences have no interval"
        lines.append(f"{OTHER_ROWS}: {text}")
    if any(OTHER_DATA in (row["verdict"], row["verdict_rows"]) for row in rows):
        lines.append(f"{OTHER_DATA}: another version of the data than {theirs} has; such differences have no interval")
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
    scored = {
        (row["short"], dataset): Cell(number(row["test"]), standing, row["test"])
        for dataset in comparison.datasets
        for row, standing in zip(comparison.on(dataset), standings(comparison.on(dataset)), strict=True)
    }
    memory = {row["short"] for row in comparison.rows if row["from_memory"]}
    methods = [method for table in comparison.over_datasets for method in table["methods"]]
    ranked, judged = (any(method[key] for method in methods) for key in ("mean_rank", "verdict"))
    short = dataset_titles(comparison.datasets)
    titles = ["method", *(short[dataset] for dataset in comparison.datasets)]
    titles += ["pooled\ndifference", "verdict"] if judged else []
    titles += ["mean\nrank"] if ranked else []
    sections = {
        table["group"]: [
            [
                Cell(method["method"] + (" *" if method["method"] in memory else "")),
                *(
                    scored.get((method["method"], dataset), Cell(number(score), value=score))
                    for dataset, score in method["scores"].items()
                ),
                *(_pooled(method) if judged else []),
                *([_rank(method)] if ranked else []),
            ]
            for method in table["methods"]
        ]
        for table in comparison.over_datasets
    }
    lines = [f"{name}: {text}" for name, text in comparison.names.items()]
    for table in comparison.over_datasets:
        of = f" of {table['group']} methods" if len(comparison.over_datasets) > 1 else ""
        lines += [rank_note(table, of)] if table["sets"] is not None or len(table["methods"]) > 1 else []
        if table["baseline"] is not None:
            lines.append(
                f"differences{of} are from {table['baseline']}, pooled over the data sets where they have an interval "
                "over new classes; verdicts are by it, after Holm's correction over the rivals"
            )
    title = f"{comparison.metric} of task {comparison.task} on {len(comparison.datasets)} data sets"
    right = [False, *[True] * len(comparison.datasets), *[True, False] * judged, *[True] * ranked]
    return Sheet(title, titles, right, sections, [*lines, *_remarks(comparison.rows), *comparison.notes])


def _narrowed(sheet: Sheet, width: int, gap: int, datasets: int) -> Sheet:
    """Return a table of methods x data sets in which those of the first data sets are that fit into a width."""
    lines = [line for members in sheet.sections.values() for line in members]
    widths = [
        gap + max(len(text) for text in (*title.splitlines(), *(line[place].text for line in lines)))
        for place, title in enumerate(sheet.titles)
    ]
    widths[0] = min(widths[0], width // 3)
    last = datasets
    while last > 1 and sum(widths[: last + 1]) + sum(widths[datasets + 1 :]) > width:
        last -= 1
    places = [*range(last + 1), *range(datasets + 1, len(widths))]
    return replace(
        sheet,
        titles=[sheet.titles[place] for place in places],
        right=[sheet.right[place] for place in places],
        sections={
            group: [[line[place] for place in places] for line in members] for group, members in sheet.sections.items()
        },
        left_out=[" ".join(title.split()) for title in sheet.titles[last + 1 : datasets + 1]],
    )


def _pooled(method: Mapping[str, Any]) -> list[Cell]:
    gap, interval = (
        number(method["difference"], sign=True),
        ends(method, "difference_low", "difference_high", sign=True),
    )
    return [Cell(f"{gap} ({interval})" if interval else gap, value=method["difference"]), Cell(method["verdict"] or "")]


def _rank(method: Mapping[str, Any]) -> Cell:
    rank = method["mean_rank"]
    return Cell("" if rank is None else f"{rank:.2f}", value=rank)

"""All boards of a report in one table: a line for each method, a column for each board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from zslplat.comparison.columns import same_score
from zslplat.comparison.leaderboard import GROUPS
from zslplat.evidence.labels import name_by_rows
from zslplat.evidence.matching import fits
from zslplat.records.studies import parts_of
from zslplat.reports.blocks import Cell, Column, TableBlock
from zslplat.reports.facts import Board, Record
from zslplat.reports.sections.words import NOTHING, cell, metric_words

_Place = tuple[int, str]  # the number of a board, and a name on it


def all_boards(boards: Sequence[Board], suite: str | None = None) -> TableBlock:
    """Return methods by boards: the test score of each, those of a kind together, the best of each kind marked.

    A row of a suite that has other settings on other boards is one line under its own name. ``suite`` is the name or
    pattern of the suites that were asked for, None where all were.
    """
    names, told = _suite_rows(boards, suite)
    scores = [
        {
            (str(row["group"]), names.get((number, str(row["short"])), str(row["short"]))): float(row["test"])
            for row in board.rows
        }
        for number, board in enumerate(boards)
    ]
    methods = sorted(dict.fromkeys(key for own in scores for key in own), key=lambda key: GROUPS.index(key[0]))
    several = len({group for group, _ in methods}) > 1
    columns = [Column("method"), *([Column("kind")] if several else [])]
    columns += [Column(f"{b.heading}: {metric_words(b.primary.name)}", True) for b in boards]
    rows = []
    for group, method in methods:
        line = [Cell(method), *([Cell(group)] if several else [])]
        for board, own in zip(boards, scores, strict=True):
            value = own.get((group, method))
            kind = [score for (other, _), score in own.items() if other == group]
            most = (max if board.primary.maximise else min)(kind, default=float("nan"))
            line.append(Cell(NOTHING) if value is None else cell(value, strong=same_score(value, most)))
        rows.append(line)
    note = (
        f"Scores on the test split; the best of each column{' and kind' if several else ''} in bold, which says "
        "nothing of how sure it is."
    )
    return TableBlock(
        "Test scores at a glance", columns, rows, " ".join([note, *(f"{name}: {text}." for name, text in told.items())])
    )


def _suite_rows(boards: Sequence[Board], suite: str | None) -> tuple[dict[_Place, str], dict[str, str]]:
    """Return {(number of a board, name on it): name of its suite's row}, and by that name what it is, in words.

    A row has its name where it is one experiment on each board and not the same on all, such as one that was searched
    for one task and scores others with what it found. Boards call settings by what tells them apart on themselves.
    """
    places: dict[tuple[str, str], list[_Place]] = {}
    short: dict[_Place, str] = {}
    for number, board in enumerate(boards):
        for line in board.rows:
            place = (number, str(line["short"]))
            short[place] = place[1]
            for key in _rows_of(board, line):
                if suite is None or fits(suite, key[0]):
                    places.setdefault(key, []).append(place)
    rows = {
        key: found
        for key, found in places.items()
        if len({number for number, _ in found}) == len(found) and len({name for _, name in found}) > 1
    }
    return name_by_rows(rows, short, lambda place: f"{boards[place[0]].title} ({boards[place[0]].task})")


def _rows_of(board: Board, row: Record) -> Iterable[tuple[str, str]]:
    """Return the suites, and their rows, that a line of a board is part of by any study or run of its experiment."""
    study = str(row["study"])
    entries = (board.entries.get(name) for name in (study, *board.behind.get(study, ())))
    parts: Iterable[Mapping[str, str]] = (p for entry in entries if entry is not None for p in parts_of(entry.about))
    return dict.fromkeys((part["suite"], part["row"]) for part in parts if "row" in part)

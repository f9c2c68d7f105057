"""The section of one task on one data set: result in words, leaderboard, charts, and each study below."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from zslplat.checks.base import drop_silenced
from zslplat.evaluation.experiment import VALIDATION
from zslplat.names import counted
from zslplat.reports.blocks import Block, Folded, Items, Section, Words
from zslplat.reports.facts import Board, Recorded
from zslplat.reports.sections.classes import differences_of_best
from zslplat.reports.sections.cost import cost_blocks, reported_numbers
from zslplat.reports.sections.curves import budget_charts, feature_curves, seen_unseen_chart, sweep_chart
from zslplat.reports.sections.easel import Easel
from zslplat.reports.sections.headline import headline
from zslplat.reports.sections.leaderboard_table import interval_chart, leaderboard_table, left_out_of_names
from zslplat.reports.sections.maps import map_blocks
from zslplat.reports.sections.study import study_section
from zslplat.reports.sections.words import sentence


def board_section(board: Board, anchor: str, looks: int | None, easel: Easel) -> Section:
    """Return the section of a board."""
    entries = board_entries(board)
    if easel.brief:
        return _brief_section(board, anchor, entries, looks, easel)
    parts: list[tuple[str, str, list[Block]]] = [
        ("Leaderboard", "leaderboard", _leaderboard(board, easel)),
        ("Seen and unseen classes", "seen-unseen", list(seen_unseen_chart(board, easel))),
        ("By number of features", "features", list(feature_curves(board, easel))),
        ("Budget", "budget", list(budget_charts(board, easel))),
        ("Sensitivity", "sensitivity", [sweep_chart(sweep, easel) for sweep in board.sweeps]),
        ("The two best, class by class", "classes", list(differences_of_best(board, easel))),
        ("Maps", "maps", list(map_blocks([*board.entries.values(), *_validated(board)], easel))),
        ("Cost", "cost", list(cost_blocks(board, entries, easel))),
        ("Numbers of the methods", "numbers", _reported(entries)),
        ("What they know, and what to look at", "look", list(_look(board, entries, looks, easel))),
    ]
    sections = [Section(title, f"{anchor}-{name}", blocks) for title, name, blocks in parts if blocks]
    own = [
        study_section(entry, label, f"{anchor}-study-{number}", easel, board.behind.get(entry.name, ()))
        for number, (label, entry) in enumerate([*entries, *((f.name, f) for f in _validated(board))], start=1)
    ]
    if own:
        sections.append(Section("Studies and runs", f"{anchor}-studies", (), own))
    return Section(board.heading, anchor, _told(board), sections)


def _brief_section(
    board: Board, anchor: str, entries: Sequence[tuple[str, Recorded]], looks: int | None, easel: Easel
) -> Section:
    """Return what is said of many studies side by side."""
    parts: list[tuple[str, str, list[Block]]] = [
        ("Leaderboard", "leaderboard", _leaderboard(board, easel)),
        ("Sensitivity", "sensitivity", [sweep_chart(sweep, easel) for sweep in board.sweeps]),
        ("The two best, class by class", "classes", list(differences_of_best(board, easel))),
        ("Cost", "cost", list(cost_blocks(board, entries, easel))),
        ("What they know, and what to look at", "look", list(_look(board, entries, looks, easel))),
    ]
    one = next((entry.name for _, entry in entries), "NAME")
    told = (
        f"The {counted(len(entries), 'study or run', 'studies and runs')} of this comparison are too many to show each "
        f"by itself; a report of some of them does, for example: zslplat report {shlex.quote(one)}{easel.places}"
    )
    sections = [Section(title, f"{anchor}-{name}", blocks) for title, name, blocks in parts if blocks]
    sections.append(Section("Studies and runs", f"{anchor}-studies", [Words(told)]))
    return Section(board.heading, anchor, _told(board), sections)


def _told(board: Board) -> list[Block]:
    """Return what stands under the heading: the results in words, and the data set where its title is short for it."""
    whole = [Words(f"{board.title} is the data set {board.dataset}.", "note")] if board.title != board.dataset else []
    return [*(Words(text, "lead") for text in headline(board)), *whole]


def board_entries(board: Board) -> list[tuple[str, Recorded]]:
    """Return (label, what is recorded) of the rows of a board, in their order, and of what has no row for itself.

    Studies and runs that stand behind another one of the same experiment are not among them.
    """
    shown = {entry.name for _, entry in board.shown}
    behind = {name for names in board.behind.values() for name in names}
    left = [(entry.name, entry) for name, entry in board.entries.items() if name not in shown | behind]
    return board.shown + left


def _validated(board: Board) -> Sequence[Recorded]:
    return [found for found in board.further if found.split == VALIDATION]


def _leaderboard(board: Board, easel: Easel) -> list[Block]:
    if not board.rows:
        return []
    return [leaderboard_table(board), *left_out_of_names(board), interval_chart(board, easel)]


def _reported(entries: Sequence[tuple[str, Recorded]]) -> list[Block]:
    table = reported_numbers(entries)
    return [Folded("What the methods report of themselves", [table])] if table else []


def _look(board: Board, entries: Sequence[tuple[str, Recorded]], looks: int | None, easel: Easel) -> Iterator[Block]:
    knowing = [f"{row['short']}: {row['knows']}" for row in board.rows if row.get("knows") not in (None, "nothing")]
    if knowing:
        yield Words(
            "Some methods know more of the test batch than its rows one by one; they are compared among themselves. "
            + "; ".join(knowing)
            + "."
        )
    elif board.rows:
        yield Words("No method knows more of the test batch than one row at a time.")
    if looks:
        times = "once" if looks == 1 else f"{looks} times"
        yield Words(f"The test split of {board.title} was scored {times} so far, over all that is in this store.")
    found = [(label, one) for label, entry in entries for one in entry.findings]
    found += [(f"sweep of {sweep.parameter}", one) for sweep in board.sweeps for one in sweep.findings]
    # Of the rows beside each other: what compare says below its table.
    found += [("the comparison", one) for one in (board.comparison.findings if board.comparison is not None else ())]
    kept, silenced = drop_silenced([one for _, one in found], easel.silenced)
    if kept:
        yield Words("What checks found; the command behind each tells its cause and what to do about it.")
        yield Items([f"{name}: {one.line} ({one.page})" for name, one in found if one in kept], "warning")
    elif entries:
        yield Words("No check found anything to warn of.")
    if silenced:
        yield Words(f"{counted(silenced, 'finding')} silenced.", "note")
    if board.notes:
        yield Items([sentence(note) for note in board.notes], "note")

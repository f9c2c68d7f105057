"""The whole report as sections: what it is about, all boards at a glance, each board, what is not finished."""

from __future__ import annotations

from zslplat.checks.base import drop_silenced
from zslplat.names import counted
from zslplat.reports.blocks import Commands, Items, Page, Section, TableBlock, Words
from zslplat.reports.facts import Facts
from zslplat.reports.sections.across import across_section
from zslplat.reports.sections.board import board_section
from zslplat.reports.sections.easel import Easel
from zslplat.reports.sections.glance import all_boards
from zslplat.reports.sections.headline import headline
from zslplat.reports.sections.study import study_section
from zslplat.reports.sections.words import sentence


def page_of(facts: Facts, version: str, made: str) -> Page:
    """Return the page of a report; ``made`` is the time in words."""
    labels = [str(row["short"]) for board in facts.boards for row in board.rows]
    easel = Easel(dict.fromkeys(labels), facts.silenced, brief=facts.brief, places=facts.places)
    boards = [
        board_section(board, f"board-{number}", facts.looks.get(board.dataset), easel)
        for number, board in enumerate(facts.boards, start=1)
    ]
    unfinished = [
        study_section(entry, entry.name, f"unfinished-{number}", easel)
        for number, entry in enumerate(facts.unfinished, start=1)
    ]
    titles = {board.dataset: board.title for board in facts.boards}
    over = [across_section(found, titles, f"across-{n}", easel) for n, found in enumerate(facts.across, start=1)]
    sections = [_summary(facts, easel), *over, *boards]
    if unfinished:
        told = Words("These have no test evaluation yet, and stand in no comparison.")
        sections.append(Section("Not finished", "unfinished", [told], unfinished))
    sections.append(_reading(facts))
    about = [
        ("store", str(facts.store)),
        ("identity of the store", facts.identity),
        ("made", made),
        ("by", f"zslplat {version}"),
    ]
    return Page(_title(facts), f"Report of {facts.scope}", sections, about, _notes(facts, easel))


def _title(facts: Facts) -> str:
    places = list(dict.fromkeys(board.title for board in facts.boards))
    if len(facts.boards) == 1:
        return facts.boards[0].heading
    return f"{counted(len(facts.boards), 'comparison')} on {', '.join(places)}" if places else "Studies in progress"


def _summary(facts: Facts, easel: Easel) -> Section:
    blocks: list[Words | TableBlock | Items] = []
    for number, board in enumerate(facts.boards, start=1):
        told = headline(board)
        if told and len(facts.boards) > 1:
            blocks.append(Words(f"{number}. {board.heading}: {told[0]}", "plain"))
    if not any(board.rows for board in facts.boards):
        blocks.append(Words("Nothing has been scored on a test split yet.", "lead"))
    if len(facts.boards) > 1:
        blocks.append(all_boards(facts.boards, facts.suite))
    blocks += _suites(facts)
    if notes := _notes(facts, easel):
        blocks.append(Items([sentence(note) for note in notes], "warning"))
    if easel.left_out:
        blocks.append(Words(f"{easel.left_out} groups of charts were left out to keep the file small.", "note"))
    return Section("At a glance", "glance", blocks or [Words("One comparison; its result is below.")])


def _notes(facts: Facts, easel: Easel) -> list[str]:
    """Return what could not be read, of records and of the files beside them."""
    return list(dict.fromkeys([*facts.notes, *easel.notes]))


def _suites(facts: Facts) -> list[Words | TableBlock | Items]:
    """Return what checks found in suites, as lists of warnings; findings that are silenced are counted."""
    kept, silenced = drop_silenced(facts.suites, facts.silenced)
    blocks: list[Words | TableBlock | Items] = []
    if kept:
        blocks.append(Words("What checks found in suites; the command behind each tells its cause and what to do."))
        blocks.append(Items([f"suite {one.subject}: {one.line} ({one.page})" for one in kept], "warning"))
    if silenced:
        blocks.append(Words(f"{counted(silenced, 'finding')} in suites silenced.", "note"))
    return blocks


def _reading(facts: Facts) -> Section:
    blocks = [
        Words(
            "Hyperparameters of studies were chosen on validation folds, and the test split was scored once they were "
            "chosen; those of single runs are whoever's they were. "
            "Intervals of 95% over these test rows say how sure a number is for these very classes; those over new "
            "classes, where they are given, say it for other classes drawn like these, and are wider as a rule. A "
            "difference whose interval holds 0 is no difference that can be told."
        ),
        Words("Inductive methods see one test row at a time, transductive ones the whole batch: they are kept apart."),
    ]
    lines = [facts.command] if facts.command else []
    return Section(
        "How to read this", "reading", [*blocks, *([Commands("Make this report again", lines)] if lines else [])]
    )

"""The whole report as sections: what it is about, all chapters at a glance, each chapter, what is not finished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from zslplat.checks.base import drop_silenced
from zslplat.comparison.leaderboard import GROUPS
from zslplat.comparison.sheets import same_score
from zslplat.evidence.labels import name_by_rows
from zslplat.evidence.matching import fits
from zslplat.evidence.results import Record
from zslplat.names import counted
from zslplat.records.studies import parts_of
from zslplat.reports.blocks import Cell, Column, Commands, Items, Page, Paragraph, Section, TableBlock
from zslplat.reports.contents import Chapter, Contents
from zslplat.reports.sections.chapter import chapter_section, headline
from zslplat.reports.sections.context import PageContext
from zslplat.reports.sections.leaderboard import across_section
from zslplat.reports.sections.study import study_section
from zslplat.reports.sections.wording import NOTHING, cell, metric_words, sentence


def page_of(contents: Contents, version: str, made: str) -> Page:
    """Return the page of a report; ``made`` is the time in words."""
    labels = [str(row["short"]) for chapter in contents.chapters for row in chapter.rows]
    context = PageContext(dict.fromkeys(labels), contents.silenced, brief=contents.brief, places=contents.places)
    chapters = [
        chapter_section(chapter, f"chapter-{number}", contents.looks.get(chapter.dataset), context)
        for number, chapter in enumerate(contents.chapters, start=1)
    ]
    unfinished = [
        study_section(entry, entry.name, f"unfinished-{number}", context)
        for number, entry in enumerate(contents.unfinished, start=1)
    ]
    over = [across_section(one, f"across-{n}", context) for n, one in enumerate(contents.across, start=1)]
    sections = [_summary(contents, context), *over, *chapters]
    if unfinished:
        note = Paragraph("These have no test evaluation yet, and stand in no comparison.")
        sections.append(Section("Not finished", "unfinished", [note], unfinished))
    sections.append(_reading(contents))
    about = [
        ("store", str(contents.store)),
        ("identity of the store", contents.identity),
        ("made", made),
        ("by", f"zslplat {version}"),
    ]
    return Page(_title(contents), f"Report of {contents.scope}", sections, about, _notes(contents, context))


def _title(contents: Contents) -> str:
    places = list(dict.fromkeys(chapter.title for chapter in contents.chapters))
    if len(contents.chapters) == 1:
        return contents.chapters[0].heading
    return (
        f"{counted(len(contents.chapters), 'comparison')} on {', '.join(places)}" if places else "Studies in progress"
    )


def _summary(contents: Contents, context: PageContext) -> Section:
    blocks: list[Paragraph | TableBlock | Items] = []
    for number, chapter in enumerate(contents.chapters, start=1):
        sentences = headline(chapter)
        if sentences and len(contents.chapters) > 1:
            blocks.append(Paragraph(f"{number}. {chapter.heading}: {sentences[0]}", "plain"))
    if not any(chapter.rows for chapter in contents.chapters):
        blocks.append(Paragraph("Nothing has been scored on a test split yet.", "lead"))
    if len(contents.chapters) > 1:
        blocks.append(all_chapters(contents.chapters, contents.suite))
    blocks += _suites(contents)
    if notes := _notes(contents, context):
        blocks.append(Items([sentence(note) for note in notes], "warning"))
    if context.left_out:
        blocks.append(Paragraph(f"{context.left_out} groups of charts were left out to keep the file small.", "note"))
    return Section("At a glance", "glance", blocks or [Paragraph("One comparison; its result is below.")])


def _notes(contents: Contents, context: PageContext) -> list[str]:
    """Return what could not be read, of records and of the files beside them."""
    return list(dict.fromkeys([*contents.notes, *context.notes]))


def _suites(contents: Contents) -> list[Paragraph | TableBlock | Items]:
    """Return what checks found in suites, as lists of warnings; findings that are silenced are counted."""
    shown, silenced = drop_silenced(contents.suites, contents.silenced)
    blocks: list[Paragraph | TableBlock | Items] = []
    if shown:
        blocks.append(Paragraph("What checks found in suites; the command behind each tells its cause and what to do."))
        blocks.append(Items([f"suite {one.subject}: {one.line} ({one.page})" for one in shown], "warning"))
    if silenced:
        blocks.append(Paragraph(f"{counted(silenced, 'finding')} in suites silenced.", "note"))
    return blocks


def _reading(contents: Contents) -> Section:
    blocks = [
        Paragraph(
            "Hyperparameters of studies were chosen on validation folds, and the test split was scored once they were "
            "chosen; those of single runs were given by the user. "
            "Intervals of 95% over these test rows say how sure a number is for these very classes; those over new "
            "classes, where they are given, say it for other classes drawn like these, and are wider as a rule. A "
            "difference whose interval contains 0 is not significant."
        ),
        Paragraph(
            "Inductive methods see one test row at a time, transductive ones the whole batch: they are compared "
            "separately."
        ),
    ]
    lines = [contents.command] if contents.command else []
    return Section(
        "How to read this", "reading", [*blocks, *([Commands("Make this report again", lines)] if lines else [])]
    )


_Place = tuple[int, str]  # the number of a chapter, and a name on it


def all_chapters(chapters: Sequence[Chapter], suite: str | None = None) -> TableBlock:
    """Return methods by chapters: the test score of each, those of a kind together, the best of each kind marked.

    A row of a suite that has other settings on other chapters is one line under its own name. ``suite`` is the name or
    pattern of the requested suites, None for all.
    """
    names, row_notes = _suite_rows(chapters, suite)
    scores = [
        {
            (str(row["group"]), names.get((number, str(row["short"])), str(row["short"]))): float(row["test"])
            for row in chapter.rows
        }
        for number, chapter in enumerate(chapters)
    ]
    methods = sorted(
        dict.fromkeys(key for of_chapter in scores for key in of_chapter), key=lambda key: GROUPS.index(key[0])
    )
    several = len({group for group, _ in methods}) > 1
    columns = [Column("method"), *([Column("kind")] if several else [])]
    columns += [Column(f"{b.heading}: {metric_words(b.primary.name)}", True) for b in chapters]
    rows = []
    for group, method in methods:
        line = [Cell(method), *([Cell(group)] if several else [])]
        for chapter, of_chapter in zip(chapters, scores, strict=True):
            value = of_chapter.get((group, method))
            kind = [score for (other, _), score in of_chapter.items() if other == group]
            most = (max if chapter.primary.maximise else min)(kind, default=float("nan"))
            line.append(Cell(NOTHING) if value is None else cell(value, strong=same_score(value, most)))
        rows.append(line)
    note = (
        f"Scores on the test split; the best of each column{' and kind' if several else ''} in bold, which says "
        "nothing of how sure it is."
    )
    return TableBlock(
        "Test scores at a glance",
        columns,
        rows,
        " ".join([note, *(f"{name}: {text}." for name, text in row_notes.items())]),
    )


def _suite_rows(chapters: Sequence[Chapter], suite: str | None) -> tuple[dict[_Place, str], dict[str, str]]:
    """Return {(number of a chapter, name on it): name of its suite's row}, and by that name what it is, in words.

    A row has its name where it is one experiment on each chapter and not the same on all, such as one that was searched
    for one task and scores others with its winner. Each chapter has short names of its own.
    """
    places: dict[tuple[str, str], list[_Place]] = {}
    short: dict[_Place, str] = {}
    for number, chapter in enumerate(chapters):
        for line in chapter.rows:
            place = (number, str(line["short"]))
            short[place] = place[1]
            for key in _rows_of(chapter, line):
                if suite is None or fits(suite, key[0]):
                    places.setdefault(key, []).append(place)
    rows = {
        key: of_row
        for key, of_row in places.items()
        if len({number for number, _ in of_row}) == len(of_row) and len({name for _, name in of_row}) > 1
    }
    return name_by_rows(rows, short, lambda place: f"{chapters[place[0]].title} ({chapters[place[0]].task})")


def _rows_of(chapter: Chapter, row: Record) -> Iterable[tuple[str, str]]:
    """Return the suites, and their rows, that a line of a chapter is part of by any study or run of its experiment."""
    study = str(row["study"])
    entries = (chapter.results.get(name) for name in (study, *chapter.behind.get(study, ())))
    parts: Iterable[Mapping[str, str]] = (p for entry in entries if entry is not None for p in parts_of(entry.about))
    return dict.fromkeys((part["suite"], part["row"]) for part in parts if "row" in part)

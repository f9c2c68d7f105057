"""The whole report as sections: what it is about, all chapters at a glance, each chapter, what is not finished."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from zslplat.checks.base import drop_silenced, lines_of_places
from zslplat.comparison.leaderboard import turned
from zslplat.data.class_draws import divided_anew, several_draws
from zslplat.evaluation.experiment import VALIDATION
from zslplat.evidence.labels import dataset_titles
from zslplat.evidence.results import Record, Result
from zslplat.names import NOTHING, counted, duration
from zslplat.reports.blocks import Block, Cell, Column, Commands, Folded, Items, Page, Paragraph, Section, TableBlock
from zslplat.reports.contents import Chapter, Contents
from zslplat.reports.context import PageContext
from zslplat.reports.curves import budget_charts, feature_curves, seen_unseen_chart, sweep_chart
from zslplat.reports.leaderboard import (
    across_section,
    cost_table,
    interval_chart,
    leaderboard_table,
    left_out_of_names,
    reported_numbers,
)
from zslplat.reports.study import study_section
from zslplat.reports.wording import cell, listed, metric_words, number, sentence, span, with_article
from zslplat.statistics import AHEAD


def page_of(contents: Contents, version: str, made: str) -> Page:
    """Return the page of a report; ``made`` is the time in words.

    Of several comparisons a table of all comes first, of one its result, of a single study the study.
    """
    labels = [str(row["short"]) for chapter in contents.chapters for row in chapter.rows]
    context = PageContext(
        dict.fromkeys(labels), contents.silenced, brief=contents.brief, store_options=contents.store_options
    )
    several = len(contents.chapters) > 1
    chapters = [
        chapter_section(chapter, _anchor(position), contents.looks.get(chapter.dataset), context, folded=several)
        for position, chapter in enumerate(contents.chapters, start=1)
    ]
    unfinished = [
        study_section(entry, entry.name, f"unfinished-{position}", context)
        for position, entry in enumerate(contents.unfinished, start=1)
    ]
    over = [across_section(one, f"across-{position}", context) for position, one in enumerate(contents.across, start=1)]
    troubles = _troubles(contents, context)
    sections = [_glance(contents), *troubles, *over, *chapters] if several else [*chapters, *troubles]
    if unfinished:
        note = Paragraph("These have no test evaluation yet, and stand in no comparison.")
        sections.append(Section("Not finished", "unfinished", [note], unfinished, folded=bool(chapters)))
    sections.append(_reading(contents))
    about = [
        ("store", str(contents.store)),
        ("identity of the store", contents.identity),
        ("made", made),
        ("by", f"zslplat {version}"),
    ]
    return Page(_title(contents), f"Report of {contents.scope}", sections, about, _notes(contents, context))


def _anchor(position: int) -> str:
    return f"chapter-{position}"


def _title(contents: Contents) -> str:
    headings = [heading for heading, *_ in _subjects(contents)]
    titles = list(dict.fromkeys(heading.partition(" on ")[2] for heading in headings))
    if len(contents.chapters) == 1:
        chapter = contents.chapters[0]
        return f"{chapter.rows[0]['short']}: {chapter.heading}" if len(chapter.rows) == 1 else chapter.heading
    if len(headings) == 1:
        return headings[0]
    return f"{counted(len(headings), 'comparison')} on {', '.join(titles)}" if titles else "Studies in progress"


def _glance(contents: Contents) -> Section:
    """Return the table of several comparisons: who leads, by how much, how sure that is, at what cost."""
    blocks: list[Block] = []
    if not any(chapter.rows for chapter in contents.chapters):
        blocks.append(Paragraph(_NO_TEST, "lead"))
    columns = [
        Column("comparison"),
        Column("leader", hint="the best on validation"),
        Column("test", True),
        Column("new classes", True, "95% interval of the test score over new classes"),
        Column("closest rival"),
        Column("ahead of it by", True, "difference on the test split"),
        Column("on new classes", True, "95% interval of the difference over new classes"),
        Column("how sure"),
        Column("cost", True, "seconds of the leader's search and final evaluation"),
    ]
    rows = [line for subject in _subjects(contents) for line in _glance_rows(*subject)]
    blocks.append(TableBlock("Who leads, by how much, how sure, at what cost", columns, rows, _LEADER))
    return Section("At a glance", "glance", blocks)


_NO_TEST = "Nothing has been scored on a test split yet."
_LEADER = (
    "The leader is the best on validation, of methods that see one test row at a time and of those that see the whole "
    "batch. A negative lead: the rival scores better on this test split."
)


def _subjects(contents: Contents) -> Iterator[tuple[str, str, Sequence[Record], bool]]:
    """Yield heading, anchor, rows, and whether larger is better: of class folds all together, of the rest each chapter.

    A split beside folds of its classes is left out.
    """
    datasets = [chapter.dataset for chapter in contents.chapters if chapter.rows]
    pooled = {one.datasets[0] for one in contents.across if len(one.datasets) == 1}
    apart = {dataset for dataset, (scheme, _) in several_draws(datasets).items() if scheme in pooled}
    apart |= divided_anew([*datasets, *pooled])
    for position, one in enumerate(contents.across, start=1):
        if len(one.datasets) == 1:
            (title,) = dataset_titles(one.datasets).values()
            yield f"{one.task} on {title}", f"across-{position}", one.rows, one.maximise
    for position, chapter in enumerate(contents.chapters, start=1):
        if chapter.dataset not in apart:
            yield chapter.heading, _anchor(position), chapter.rows, chapter.primary.maximise


def _glance_rows(heading: str, anchor: str, all_rows: Sequence[Record], maximise: bool) -> Iterator[list[Cell]]:
    groups = list(dict.fromkeys(str(row["group"]) for row in all_rows))
    if not groups:
        yield [Cell(heading, link=anchor), *[Cell(NOTHING)] * 8]
    sign = 1 if maximise else -1
    by_group = [[row for row in all_rows if row["group"] == group] for group in groups]
    for rows in [rows for rows in by_group if len(rows) > 1] or by_group[:1]:
        leader, chosen = _leader(rows), any(row["validation"] is not None for row in rows)
        if not chosen:
            leader = max(rows, key=lambda row: sign * float(row["test"]))
        rivals = [row for row in rows if row is not leader and row["difference"] is not None] if chosen else []
        rival = max(rivals, key=lambda row: sign * float(row["test"]), default=None)
        about = heading + (f", {rows[0]['group']}" if len(groups) > 1 else "")
        seconds = _seconds(leader)
        name = str(leader["short"]) + ("" if chosen or len(rows) == 1 else " (on test)")
        line = [Cell(about, link=anchor), Cell(name, strong=True), cell(leader["test"])]
        line.append(Cell(span(leader["low_classes"], leader["high_classes"], digits=3)))
        if rival is None:
            line += [*[Cell(NOTHING)] * 3, Cell("alone" if len(rows) == 1 else "no score on validation")]
        else:
            low, high = rival["difference_low_classes"], rival["difference_high_classes"]
            ends = (None, None) if low is None or high is None else (-high, -low)
            line += [Cell(str(rival["short"])), cell(-rival["difference"], sign=True)]
            line += [
                Cell(span(*ends, sign=True, digits=3)),
                Cell(turned(str(rival["verdict"]), -1.0)),  # what the verdict on the rival says of the leader
            ]
        yield [*line, Cell(duration(seconds or None), seconds or None)]


def _seconds(row: Record) -> float:
    """Return the seconds of the search and the final evaluation of a row, as far as they are recorded."""
    return float(row.get("trial_seconds") or 0) + float(row.get("test_seconds") or 0)


def _leader(rows: Sequence[Record]) -> Record:
    """Return the row that differences are taken from, by default the best on validation."""
    return next((row for row in rows if row["method"] == row["baseline"]), rows[0])


def _troubles(contents: Contents, context: PageContext) -> list[Section]:
    """Return what could not be read."""
    notes = _notes(contents, context)
    return [Section("To look at", "look", [Items([sentence(note) for note in notes], "warning")])] if notes else []


def _notes(contents: Contents, context: PageContext) -> list[str]:
    """Return what could not be read, of records and of the files beside them."""
    return list(dict.fromkeys([*contents.notes, *context.notes]))


def _reading(contents: Contents) -> Section:
    blocks = [
        Paragraph(
            "Hyperparameters of studies were chosen on validation folds, and the test split was scored once they were "
            "chosen; those of single runs were given by the user. "
            "Intervals of 95% over these test rows say how sure a number is for these very classes; those over new "
            "classes, where they are given, say it for other classes drawn like these, and are wider as a rule. Go by "
            "the verdict: it is corrected for the number of rivals, which intervals are not."
        ),
        Paragraph(
            "Inductive methods see one test row at a time, transductive ones the whole batch: they are compared "
            "separately."
        ),
    ]
    lines = [contents.command] if contents.command else []
    return Section(
        "How to read this",
        "reading",
        [*blocks, *([Commands("Make this report again", lines)] if lines else [])],
        folded=True,
    )


def chapter_section(
    chapter: Chapter, anchor: str, looks: int | None, context: PageContext, *, folded: bool = False
) -> Section:
    """Return the section of a chapter: its result on one screen, then its parts, each folded.

    A chapter of a single study or run is that study.
    """
    entries = chapter_results(chapter)
    validated = [(run.name, run) for run in _validated(chapter)]
    in_full = not context.brief
    alone = len(entries) + len(validated) == 1 and in_full
    parts: list[tuple[str, str, Iterable[Block]]] = [
        ("Seen and unseen classes", "seen-unseen", seen_unseen_chart(chapter, context) if in_full else ()),
        ("By number of features", "features", feature_curves(chapter, context) if in_full else ()),
        ("Budget", "budget", budget_charts(chapter, context) if in_full else ()),
        ("Sensitivity", "sensitivity", (sweep_chart(sweep, context) for sweep in chapter.sweeps)),
        ("Cost", "cost", [cost_table(chapter, entries)] if entries else ()),
        ("Numbers of the methods", "numbers", _reported(entries) if in_full else ()),
        ("What they know, and what to look at", "look", _look(chapter, entries, looks, context)),
    ]
    if chapter.rows:
        table: list[Block] = [leaderboard_table(chapter), *left_out_of_names(chapter)]
        parts.insert(0, ("Leaderboard", "leaderboard", table))
    first: list[Block] = [*_lead(chapter), *([interval_chart(chapter, context)] if len(chapter.rows) > 1 else [])]
    below: list[Section] = []
    if alone:
        label, entry = (*entries, *validated)[0]
        study = study_section(entry, label, f"{anchor}-study-1", context, chapter.behind.get(entry.name, ()))
        first, below = [study.blocks[0], *_ends_in_words(chapter), *study.blocks[1:]], list(study.sections)
    below += [
        Section(title, f"{anchor}-{name}", blocks, folded=True) for title, name, part in parts if (blocks := list(part))
    ]
    if not alone and (entries or validated):
        below.append(_studies(chapter, anchor, [*entries, *validated], context))
    return Section(chapter.heading if folded else "Result", anchor, first, below, folded=folded)


def _studies(chapter: Chapter, anchor: str, entries: Sequence[tuple[str, Result]], context: PageContext) -> Section:
    """Return the studies and runs of a chapter, each folded; of a whole grid the command that shows one of them."""
    blocks: list[Block] = []
    studies: list[Section] = []
    if context.brief:
        text = (
            f"The {counted(len(entries), 'study or run', 'studies and runs')} of this comparison are too many to show "
            "each by itself; a report of some of them does, for example: "
            f"zslplat report {shlex.quote(entries[0][1].name)}{context.store_options}"
        )
        blocks.append(Paragraph(text))
    else:
        studies = [
            study_section(entry, label, f"{anchor}-study-{position}", context, chapter.behind.get(entry.name, ()))
            for position, (label, entry) in enumerate(entries, start=1)
        ]
    return Section("Studies and runs", f"{anchor}-studies", blocks, studies, folded=True)


def _lead(chapter: Chapter) -> list[Block]:
    """Return what stands under the heading: the results in words, and the data set where its title is short for it."""
    words = [Paragraph(text, "lead") for text in [*headline(chapter), *_cost_in_words(chapter)]]
    return [*words, *_whole_name(chapter)]


def _whole_name(chapter: Chapter) -> list[Block]:
    if chapter.title == chapter.dataset:
        return []
    return [Paragraph(f"{chapter.title} is the data set {chapter.dataset}.", "note")]


def _ends_in_words(chapter: Chapter) -> Iterator[Block]:
    """Yield how sure the score of a single study is, and the data set where its title is short for it."""
    yield Paragraph(f"Of the test score: {_ends(chapter.rows[0])}." if chapter.rows else _NO_TEST, "lead")
    yield from _whole_name(chapter)


def _cost_in_words(chapter: Chapter) -> Iterator[str]:
    """Yield what the leader took, and all methods together."""
    if not chapter.rows:
        return
    leader, total = _leader(chapter.rows), sum(map(_seconds, chapter.rows))
    if total:
        trials = f"{counted(leader['trials'], 'trial')} and " if leader.get("trials") else ""
        every = f"; all {len(chapter.rows)} took {duration(total)}" if len(chapter.rows) > 1 else ""
        yield f"{leader['short']} took {duration(_seconds(leader))} for {trials}the final evaluation{every}."


def chapter_results(chapter: Chapter) -> list[tuple[str, Result]]:
    """Return (label, what is recorded) of the rows of a chapter, in their order, and of what has no row for itself.

    Studies and runs that stand behind another one of the same experiment are not among them.
    """
    shown = {entry.name for _, entry in chapter.shown}
    behind = {name for names in chapter.behind.values() for name in names}
    left = [(entry.name, entry) for name, entry in chapter.results.items() if name not in shown | behind]
    return chapter.shown + left


def _validated(chapter: Chapter) -> Sequence[Result]:
    return [run for run in chapter.further if run.split == VALIDATION]


def _reported(entries: Sequence[tuple[str, Result]]) -> list[Block]:
    table = reported_numbers(entries)
    return [Folded("What the methods report of themselves", [table])] if table else []


def _look(
    chapter: Chapter, entries: Sequence[tuple[str, Result]], looks: int | None, context: PageContext
) -> Iterator[Block]:
    knowing = [f"{row['short']}: {row['knows']}" for row in chapter.rows if row.get("knows") not in (None, "nothing")]
    if knowing:
        yield Paragraph(
            "Some methods know more of the test batch than its rows one by one; they are compared among themselves. "
            + "; ".join(knowing)
            + "."
        )
    elif chapter.rows:
        yield Paragraph("No method knows more of the test batch than one row at a time.")
    if looks:
        times = "once" if looks == 1 else f"{looks} times"
        yield Paragraph(f"The test split of {chapter.title} was scored {times} so far, over all that is in this store.")
    findings = [(label, one) for label, entry in entries for one in entry.findings]
    findings += [(f"sweep of {sweep.parameter}", one) for sweep in chapter.sweeps for one in sweep.findings]
    # Of the rows beside each other: what compare says below its table.
    findings += [
        ("the comparison", one) for one in (chapter.comparison.findings if chapter.comparison is not None else ())
    ]
    shown, silenced = drop_silenced([one for _, one in findings], context.silenced)
    if shown:
        yield Paragraph("What checks found; the command behind each tells its cause and what to do about it.")
        lines = lines_of_places((name, one.line) for name, one in findings if one in shown)
        yield Items([f"{line} (zslplat explain {line.partition(' ')[0]})" for line in lines], "warning")
    elif entries and not silenced:
        yield Paragraph("No check found anything to warn of.")
    if silenced:
        yield Paragraph(f"{counted(silenced, 'finding')} silenced.", "note")
    if chapter.notes:
        yield Items([sentence(note) for note in chapter.notes], "note")


def headline(chapter: Chapter) -> list[str]:
    """Return sentences: which method was best on validation, what it scores on test, and how the others compare."""
    sentences = []
    groups = list(dict.fromkeys(str(row["group"]) for row in chapter.rows))
    for group in groups:
        rows = [row for row in chapter.rows if row["group"] == group]
        first = _leader(rows)
        if len(rows) > 1 and all(row["validation"] is None for row in rows):
            sentences.append(_range(chapter, rows, group if len(groups) > 1 else ""))
        sentences.append(_first(chapter, first, group if len(groups) > 1 else "", len(rows)))
        others = [row for row in rows if row is not first]
        sentences += _standing(others, first)
    return sentences


def _ends(row: Record) -> str:
    """Return both intervals of a row in words."""
    parts = []
    for what, suffix in (("these test rows", ""), ("new classes", "_classes")):
        low, high = row.get(f"low{suffix}"), row.get(f"high{suffix}")
        if low is not None and high is not None:
            parts.append(f"{what} {span(low, high, digits=3)}")
    return f"95% interval over {', over '.join(parts)}" if parts else "no interval is recorded"


def _first(chapter: Chapter, row: Record, group: str, count: int) -> str:
    metric = with_article(metric_words(chapter.primary.name))
    subject = f"Of the {group} methods, {row['short']}" if group else str(row["short"])
    why = " was best on validation and" if count > 1 and row["validation"] is not None else ""
    return f"{subject}{why} reaches {metric} of {number(row['test'], digits=3)} on the test split ({_ends(row)})."


def _range(chapter: Chapter, rows: list[Record], group: str) -> str:
    """Say what is reached where the test score alone could choose the best."""
    low, high = (end(rows, key=lambda row: float(row["test"])) for end in (min, max))
    reached = " to ".join(f"{number(row['test'], digits=3)} ({row['short']})" for row in (low, high))
    subject = f"{group} methods" if group else "methods"
    metric = with_article(metric_words(chapter.primary.name))
    return (
        f"The {len(rows)} {subject} reach {metric} of {reached} on the test split; no score on validation chooses "
        "one of them."
    )


def _standing(rows: list[Record], first: Record) -> Iterator[str]:
    """Yield how many are ahead of the first, behind it, equal to it, ..., and who are ahead."""
    by_verdict = Counter(str(row["verdict"] or "without an interval") for row in rows)
    if by_verdict:
        counts = listed([f"{count} {verdict}" for verdict, count in by_verdict.items()])
        yield f"Beside {first['short']}, over new classes: {counts}."
    ahead = [row for row in rows if row["verdict"] == AHEAD]
    if ahead:
        names = [f"{row['short']} ({number(row['difference'], sign=True, digits=3)})" for row in ahead[:6]]
        yield f"Ahead of it: {listed(names)}."

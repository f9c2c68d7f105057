"""The section of one task on one data set: the result in words, the leaderboard, charts, and each study below."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zslplat.checks.base import drop_silenced
from zslplat.comparison.leaderboard import OTHER_DATA, OTHER_ROWS
from zslplat.evaluation.experiment import VALIDATION
from zslplat.evidence.results import Result
from zslplat.metrics.intervals import TOO_FEW
from zslplat.names import counted
from zslplat.reports.blocks import Block, Folded, Items, Paragraph, Section
from zslplat.reports.contents import Chapter
from zslplat.reports.sections.classes import differences_of_best
from zslplat.reports.sections.context import PageContext
from zslplat.reports.sections.cost import cost_blocks, reported_numbers
from zslplat.reports.sections.curves import budget_charts, feature_curves, seen_unseen_chart, sweep_chart
from zslplat.reports.sections.leaderboard import interval_chart, leaderboard_table, left_out_of_names
from zslplat.reports.sections.maps import map_blocks
from zslplat.reports.sections.study import study_section
from zslplat.reports.sections.wording import listed, metric_words, number, sentence, span, with_article


def chapter_section(chapter: Chapter, anchor: str, looks: int | None, context: PageContext) -> Section:
    """Return the section of a chapter."""
    entries = chapter_results(chapter)
    if context.brief:
        return _brief_section(chapter, anchor, entries, looks, context)
    parts: list[tuple[str, str, list[Block]]] = [
        ("Leaderboard", "leaderboard", _leaderboard(chapter, context)),
        ("Seen and unseen classes", "seen-unseen", list(seen_unseen_chart(chapter, context))),
        ("By number of features", "features", list(feature_curves(chapter, context))),
        ("Budget", "budget", list(budget_charts(chapter, context))),
        ("Sensitivity", "sensitivity", [sweep_chart(sweep, context) for sweep in chapter.sweeps]),
        ("The two best, class by class", "classes", list(differences_of_best(chapter, context))),
        ("Maps", "maps", list(map_blocks([*chapter.results.values(), *_validated(chapter)], context))),
        ("Cost", "cost", list(cost_blocks(chapter, entries, context))),
        ("Numbers of the methods", "numbers", _reported(entries)),
        ("What they know, and what to look at", "look", list(_look(chapter, entries, looks, context))),
    ]
    sections = [Section(title, f"{anchor}-{name}", blocks) for title, name, blocks in parts if blocks]
    subsections = [
        study_section(entry, label, f"{anchor}-study-{number}", context, chapter.behind.get(entry.name, ()))
        for number, (label, entry) in enumerate([*entries, *((f.name, f) for f in _validated(chapter))], start=1)
    ]
    if subsections:
        sections.append(Section("Studies and runs", f"{anchor}-studies", (), subsections))
    return Section(chapter.heading, anchor, _lead(chapter), sections)


def _brief_section(
    chapter: Chapter, anchor: str, entries: Sequence[tuple[str, Result]], looks: int | None, context: PageContext
) -> Section:
    """Return what is said of many studies side by side."""
    parts: list[tuple[str, str, list[Block]]] = [
        ("Leaderboard", "leaderboard", _leaderboard(chapter, context)),
        ("Sensitivity", "sensitivity", [sweep_chart(sweep, context) for sweep in chapter.sweeps]),
        ("The two best, class by class", "classes", list(differences_of_best(chapter, context))),
        ("Cost", "cost", list(cost_blocks(chapter, entries, context))),
        ("What they know, and what to look at", "look", list(_look(chapter, entries, looks, context))),
    ]
    one = next((entry.name for _, entry in entries), "NAME")
    text = (
        f"The {counted(len(entries), 'study or run', 'studies and runs')} of this comparison are too many to show each "
        f"by itself; a report of some of them does, for example: zslplat report {shlex.quote(one)}{context.places}"
    )
    sections = [Section(title, f"{anchor}-{name}", blocks) for title, name, blocks in parts if blocks]
    sections.append(Section("Studies and runs", f"{anchor}-studies", [Paragraph(text)]))
    return Section(chapter.heading, anchor, _lead(chapter), sections)


def _lead(chapter: Chapter) -> list[Block]:
    """Return what stands under the heading: the results in words, and the data set where its title is short for it."""
    whole = (
        [Paragraph(f"{chapter.title} is the data set {chapter.dataset}.", "note")]
        if chapter.title != chapter.dataset
        else []
    )
    return [*(Paragraph(text, "lead") for text in headline(chapter)), *whole]


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


def _leaderboard(chapter: Chapter, context: PageContext) -> list[Block]:
    if not chapter.rows:
        return []
    return [leaderboard_table(chapter), *left_out_of_names(chapter), interval_chart(chapter, context)]


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
        yield Items([f"{name}: {one.line} ({one.page})" for name, one in findings if one in shown], "warning")
    elif entries:
        yield Paragraph("No check found anything to warn of.")
    if silenced:
        yield Paragraph(f"{counted(silenced, 'finding')} silenced.", "note")
    if chapter.notes:
        yield Items([sentence(note) for note in chapter.notes], "note")


Row = Mapping[str, Any]
_SAID = {
    "ahead": "ahead of it",
    "behind": "behind it",
    "level": "level with it: no significant difference on new classes",
    TOO_FEW: "not distinguished from it: there are too few classes to tell",
    OTHER_ROWS: "scored on other test rows, so that no interval can be given",
    OTHER_DATA: "scored on another version of the data, so that no interval can be given",
}


def headline(chapter: Chapter) -> list[str]:
    """Return sentences: which method was best on validation, what it scores on test, and how the others compare."""
    sentences = []
    groups = list(dict.fromkeys(str(row["group"]) for row in chapter.rows))
    for group in groups:
        rows = [row for row in chapter.rows if row["group"] == group]
        first = next((row for row in rows if row["method"] == row["baseline"]), rows[0])
        if len(rows) > 1 and all(row["validation"] is None for row in rows):
            sentences.append(_range(chapter, rows, group if len(groups) > 1 else ""))
        sentences.append(_first(chapter, first, group if len(groups) > 1 else "", len(rows)))
        others = [row for row in rows if row is not first]
        sentences += _standing(others, first)
    return sentences


def ends(row: Row, key: str = "") -> str:
    """Return both intervals of a row in words; ``key`` is ``difference_`` for those of its difference."""
    signed = bool(key)
    parts = []
    for name, what in (("", "these test rows"), ("_classes", "new classes")):
        low, high = row.get(f"{key}low{name}"), row.get(f"{key}high{name}")
        if low is not None and high is not None:
            parts.append(f"{what} {span(low, high, sign=signed, digits=3)}")
    return f" (95% interval over {', over '.join(parts)})" if parts else " (no interval is recorded)"


def _first(chapter: Chapter, row: Row, group: str, count: int) -> str:
    metric = with_article(metric_words(chapter.primary.name))
    subject = f"Of the {group} methods, {row['short']}" if group else str(row["short"])
    why = " was best on validation and" if count > 1 and row["validation"] is not None else ""
    return f"{subject}{why} reaches {metric} of {number(row['test'], digits=3)} on the test split{ends(row)}."


def _range(chapter: Chapter, rows: list[Row], group: str) -> str:
    """Say what is reached where the test score alone could choose the best."""
    low, high = (end(rows, key=lambda row: float(row["test"])) for end in (min, max))
    reached = " to ".join(f"{number(row['test'], digits=3)} ({row['short']})" for row in (low, high))
    subject = f"{group} methods" if group else "methods"
    metric = with_article(metric_words(chapter.primary.name))
    return (
        f"The {len(rows)} {subject} reach {metric} of {reached} on the test split; no score on validation chooses "
        "one of them."
    )


def _standing(rows: list[Row], first: Row) -> list[str]:
    sentences = []
    by_verdict: dict[str, list[Row]] = {}
    for row in rows:
        by_verdict.setdefault(str(row["verdict"]), []).append(row)
    for verdict, members in by_verdict.items():
        names = [f"{row['short']} ({number(row['difference'], sign=True, digits=3)})" for row in members]
        shown = listed([*names[:6], f"{len(names) - 6} more"] if len(names) > 7 else names)
        are = "is" if len(names) == 1 else "are"
        said = _SAID.get(verdict, verdict or "without an interval of the difference")
        sentences.append(f"Beside {first['short']}, {shown} {are} {said}.")
    return sentences

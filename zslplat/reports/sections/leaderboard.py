"""The leaderboard of a chapter as a table and a chart, and tables over several data sets and over draws of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from zslplat.comparison.compare import Comparison
from zslplat.comparison.over_datasets import rank_notes
from zslplat.comparison.sheets import CUT, cut, draw_notes, ends, p_value, same_score
from zslplat.reports.blocks import Block, Cell, Chart, Column, Folded, Section, TableBlock
from zslplat.reports.charts.canvas import Swatch
from zslplat.reports.charts.plots import Dot, dot_chart
from zslplat.reports.contents import Chapter
from zslplat.reports.sections.context import PageContext
from zslplat.reports.sections.wording import NOTHING, cell, metric_words, number, sentence, span

Row = Mapping[str, Any]


def leaderboard_table(chapter: Chapter) -> TableBlock:
    """Return the rows of the leaderboard; columns that no row fills are left out."""
    rows, several = chapter.rows, len(chapter.rows) > 1
    best = {group: max(_signed(row, chapter) for row in rows if row["group"] == group) for group in _groups(rows)}
    classes = any(row.get("low_classes") is not None for row in rows)
    tests = any(row.get("p_holm") is not None for row in rows)
    unequal = any(row.get("unequal") for row in rows)

    def score(row: Row) -> Cell:
        return _score(row, strong=same_score(_signed(row, chapter), best[row["group"]]))

    of_difference, rows_words, classes_words = "interval of the difference", "95%, these rows", "95%, new classes"
    table: list[tuple[bool, Column, Callable[[Row], Cell]]] = [
        (True, Column("method"), lambda row: Cell(str(row["short"]) + (" *" if row.get("from_memory") else ""))),
        (True, Column("validation", True), lambda row: cell(row["validation"])),
        (True, Column("test", True), score),
        (True, Column(rows_words, True, "interval over new draws of these test rows"), lambda row: _ends(row, "")),
        (
            classes,
            Column(classes_words, True, "interval over new draws of classes"),
            lambda row: _ends(row, "", "_classes"),
        ),
        (
            several,
            Column("difference", True, f"from the {_origin(rows)} of its kind"),
            lambda row: cell(row["difference"], sign=True),
        ),
        (several, Column(rows_words, True, of_difference), lambda row: _ends(row, "difference_")),
        (
            several and classes,
            Column(classes_words, True, of_difference),
            lambda row: _ends(row, "difference_", "_classes"),
        ),
        (several and tests, Column("p (Holm)", True, "corrected for the number of rivals"), _p_value),
        (
            tests,
            Column("least to be seen", True, "seen among so many rivals with a power of 80%"),
            lambda row: cell(row.get("smallest_difference")),
        ),
        (several, Column("verdict", False, "over new classes, after Holm's correction"), _text("verdict")),
        (several and classes, Column("tied", False, "sharing a letter: no significant difference"), _text("tied")),
        (True, Column("knows of batch", False, "beside one test row at a time; transductive: the whole batch"), _knows),
        (unequal, Column("unequal", False, "what makes it less than a fair match for the others"), _text("unequal")),
    ]
    shown = [(column, make) for is_shown, column, make in table if is_shown]
    caption = f"{metric_words(chapter.primary.name)} of task {chapter.heading}"
    return TableBlock(
        caption[:1].upper() + caption[1:],
        [column for column, _ in shown],
        [[make(row) for _, make in shown] for row in rows],
        note=_note(chapter),
    )


def _text(key: str) -> Callable[[Row], Cell]:
    return lambda row: Cell(str(row.get(key) or NOTHING))


def _knows(row: Row) -> Cell:
    return Cell("not recorded" if row.get("knows") is None else str(row["knows"]))


def left_out_of_names(chapter: Chapter) -> Iterator[Folded]:
    """Yield what the short names of the rows leave out, folded away: of a whole grid it fills a page."""
    if chapter.comparison is not None and chapter.comparison.names:
        rows = [[Cell(name), Cell(text)] for name, text in chapter.comparison.names.items()]
        table = TableBlock("What the names leave out", [Column("name"), Column("left out")], rows)
        yield Folded("Parameters that the names leave out", [table])


def interval_chart(chapter: Chapter, context: PageContext) -> Chart:
    """Return the test scores with their intervals, in the order of the leaderboard."""
    dots, legend = [], []
    rows, others = context.first(chapter.rows)
    for row in rows:
        style = context.style(str(row["short"]))
        narrow, wide = _pair(row, "low", "high"), _pair(row, "low_classes", "high_classes")
        dots.append(Dot(str(row["short"]), float(row["test"]), style, narrow, wide))
        legend.append((Swatch(style, line=False), str(row["short"])))
    metric = metric_words(chapter.primary.name)
    title = f"Test scores with their intervals: {chapter.heading}"
    covered = "The thick line is the 95% interval over new draws of these test rows"
    if any(dot.wide for dot in dots):
        covered += ", the thin one with end marks that over new classes"
    chance = _chance(chapter)
    low, high = min(_reach(dots)), max(_reach(dots))
    if chance is not None and not low - 1.5 * (high - low) <= chance <= high + 1.5 * (high - low):
        covered, chance = f"{covered}; chance, {number(chance, digits=3)}, is far outside", None
    description = f"{covered}. " + "; ".join(
        f"{dot.name} {number(dot.value, digits=3)}" + (f" ({span(*dot.narrow, digits=3)})" if dot.narrow else "")
        for dot in dots
    )
    if chance is not None:
        description += f". The dashed line is chance, {number(chance, digits=3)}"
    svg = dot_chart(dots, metric, context.key(), title, f"{description}.", level=chance)
    note = f"{covered}; the dashed line is chance, {number(chance, digits=3)}." if chance is not None else f"{covered}."
    return Chart(svg, title, description, legend, note=note + others)


def _reach(dots: Sequence[Dot]) -> list[float]:
    ends = (dot.wide or dot.narrow or (dot.value, dot.value) for dot in dots)
    return [value for dot, pair in zip(dots, ends, strict=True) for value in (dot.value, *pair)]


def _chance(chapter: Chapter) -> float | None:
    return next((e.test_chance for e in chapter.results.values() if e.test_chance is not None), None)


def _groups(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["group"]) for row in rows))


def _signed(row: Row, chapter: Chapter) -> float:
    return float(row["test"]) * (1 if chapter.primary.maximise else -1)


def _score(row: Row, *, strong: bool) -> Cell:
    spread = row.get("spread")
    text = number(row["test"]) + (f" ± {number(spread)}" if spread is not None else "")
    return Cell(text, float(row["test"]), strong)


def _ends(row: Row, key: str, of: str = "") -> Cell:
    low, high = row.get(f"{key}low{of}"), row.get(f"{key}high{of}")
    return Cell(span(low, high, sign=bool(key)), low)


def _p_value(row: Row) -> Cell:
    value = row.get("p_holm")
    return Cell(NOTHING if value is None else f"{value:.3g}", value)


def _pair(row: Row, low: str, high: str) -> tuple[float, float] | None:
    ends = row.get(low), row.get(high)
    return None if ends[0] is None or ends[1] is None else (float(ends[0]), float(ends[1]))


def _origin(rows: Sequence[Row]) -> str:
    """Return in words what the baselines are; where nothing has a score on validation, none of them was chosen."""
    validated = any(row["validation"] is not None for row in rows if row["method"] == row["baseline"])
    return "best on validation" if validated else "first that was recorded, as nothing has a score on validation"


def _note(chapter: Chapter) -> str:
    notes = []
    baselines = {str(row["group"]): str(row["baseline"]) for row in chapter.rows}
    if len(chapter.rows) > 1:
        short = {str(row["method"]): str(row["short"]) for row in chapter.rows}
        baselines = {group: short.get(name, name) for group, name in baselines.items()}
        of = "; ".join(f"{group}: {name}" for group, name in baselines.items()) if len(baselines) > 1 else ""
        names = of or next(iter(baselines.values()))
        notes.append(f"Differences are from the {_origin(chapter.rows)} ({names}).")
    if any(row.get("spread") is not None for row in chapter.rows):
        notes.append("± is the standard deviation over repeats of a random method.")
    if any(map(cut, chapter.rows)):
        notes.append(sentence(CUT))
    if any(row.get("from_memory") for row in chapter.rows):
        notes.append("* was written from memory, without the method's source at hand.")
    return " ".join(notes)


def across_section(comparison: Comparison, titles: Mapping[str, str], anchor: str, context: PageContext) -> Section:
    """Return the section of a comparison on several data sets, which are called by their ``titles``."""
    blocks: list[Block] = []
    for table in comparison.across:
        blocks.append(_table(comparison, titles, table))
        ranked = [method for method in table["methods"] if method["mean_rank"] is not None]
        if len(ranked) > 1:
            blocks.append(_chart(comparison, table, ranked, context))
        blocks += [_draws(comparison, table, drawn) for drawn in table["over_draws"]]
    return Section(f"{comparison.task} over {len(comparison.datasets)} data sets", anchor, blocks)


def _table(comparison: Comparison, titles: Mapping[str, str], table: Mapping[str, Any]) -> TableBlock:
    columns = [Column("method"), *(Column(titles[name], True) for name in comparison.datasets)]
    ranked = any(method["mean_rank"] is not None for method in table["methods"])
    if ranked:
        columns += [Column("mean rank", True), Column("95% of the rank", True, "bootstrap over data sets")]
        columns += [Column("mean difference", True, "from the best mean rank"), Column("tied")]
    rows = []
    for method in table["methods"]:
        rank, low, high = (method[name] for name in ("mean_rank", "rank_low", "rank_high"))
        ends = NOTHING if low is None or high is None else f"{low:.2f} to {high:.2f}"
        standing = [
            Cell(NOTHING if rank is None else f"{rank:.2f}", rank),
            Cell(ends, low),
            cell(method["difference"], sign=True),
            Cell(str(method["tied"] or NOTHING)),
        ]
        scores = [cell(method["scores"][name]) for name in comparison.datasets]
        rows.append([Cell(str(method["method"])), *scores, *(standing if ranked else [])])
    caption = f"{metric_words(comparison.metric)} of {table['group']} methods over data sets"
    return TableBlock(caption[:1].upper() + caption[1:], columns, rows, _sentences(rank_notes(table)))


def _draws(comparison: Comparison, table: Mapping[str, Any], drawn: Mapping[str, Any]) -> TableBlock:
    """Return the means over draws of the classes of one data set, with what they say of further draws."""
    columns = [Column("method"), Column("mean", True), Column("95% over further draws", True)]
    columns += [
        Column("difference", True, f"from {drawn['baseline']}" if drawn["baseline"] else ""),
        Column("95% of the difference", True),
    ]
    columns += [Column("p (Holm)", True), Column("verdict"), Column("draws", True)]
    rows = []
    for row in drawn["methods"]:
        numbers = [cell(row["mean"]), Cell(ends(row["low"], row["high"]) or NOTHING, row["low"])]
        gap = ends(row["difference_low"], row["difference_high"], sign=True) or NOTHING
        numbers += [cell(row["difference"], sign=True), Cell(gap, row["difference_low"])]
        p = Cell(p_value(row["p_holm"]) or NOTHING, row["p_holm"])
        cells = [p, Cell(row["verdict"] or NOTHING), Cell(str(row["draws"]), row["draws"])]
        rows.append([Cell(str(row["method"])), *numbers, *cells])
    caption = (
        f"{metric_words(comparison.metric)} of {table['group']} methods over {drawn['draws']} draws of the classes of "
    )
    caption += str(drawn["dataset"])
    note = _sentences(draw_notes(drawn))
    return TableBlock(caption[:1].upper() + caption[1:], columns, rows, note)


def _chart(
    comparison: Comparison, table: Mapping[str, Any], ranked: Sequence[Mapping[str, Any]], context: PageContext
) -> Block:
    dots, legend = [], []
    ranked, others = context.first(ranked)
    for method in ranked:
        name, style = str(method["method"]), context.style(str(method["method"]))
        low, high = method["rank_low"], method["rank_high"]
        wide = None if low is None or high is None else (float(low), float(high))
        dots.append(Dot(f"{name}  {method['tied'] or ''}".strip(), float(method["mean_rank"]), style, wide=wide))
        legend.append((Swatch(style, line=False), name))
    title = f"Mean ranks of {table['group']} methods, task {comparison.task}"
    means = "; ".join(f"{m['method']} {number(m['mean_rank'], digits=2)}" for m in ranked)
    description = f"{means}. {_sentences(rank_notes(table))}"
    svg = dot_chart(dots, "mean rank, 1 is best", context.key(), title, description)
    note = "Lines with end marks: bootstrap over data sets. Two that share a letter do not differ significantly."
    return Chart(svg, title, description, legend, note=note + others)


def _sentences(notes: Sequence[str]) -> str:
    return " ".join(map(sentence, notes))

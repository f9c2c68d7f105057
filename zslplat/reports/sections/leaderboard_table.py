"""The leaderboard of a board as a table and as a chart of intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zslplat.comparison.columns import CUT, cut, same_score
from zslplat.reports.blocks import Cell, Chart, Column, Folded, TableBlock
from zslplat.reports.charts.dots import Dot, dot_chart
from zslplat.reports.charts.swatches import Swatch
from zslplat.reports.facts import Board
from zslplat.reports.sections.easel import Easel
from zslplat.reports.sections.words import NOTHING, cell, metric_words, number, sentence, span

Row = Mapping[str, Any]


def leaderboard_table(board: Board) -> TableBlock:
    """Return the rows of the leaderboard; columns that no row fills are left out."""
    rows, several = board.rows, len(board.rows) > 1
    best = {group: max(_signed(row, board) for row in rows if row["group"] == group) for group in _groups(rows)}
    classes = any(row.get("low_classes") is not None for row in rows)
    tests = any(row.get("p_holm") is not None for row in rows)
    unequal = any(row.get("unequal") for row in rows)
    columns = [Column("method"), Column("validation", True), Column("test", True)]
    columns.append(Column("95%, these rows", True, "interval over new draws of these test rows"))
    columns += [Column("95%, new classes", True, "interval over new draws of classes")] if classes else []
    columns += [Column("difference", True, f"from the {_origin(rows)} of its kind")] if several else []
    columns += [Column("95%, these rows", True, "interval of the difference")] if several else []
    columns += [Column("95%, new classes", True, "interval of the difference")] if several and classes else []
    columns += [Column("p (Holm)", True, "corrected for the number of rivals")] if several and tests else []
    columns += [Column("least to be seen", True, "seen among so many rivals with a power of 80%")] if tests else []
    columns += [Column("verdict", False, "over new classes, after Holm's correction")] if several else []
    columns += [Column("tied", False, "two that share a letter are not told apart")] if several and classes else []
    columns.append(Column("knows of batch", False, "beside one test row at a time; transductive: the whole batch"))
    columns += [Column("unequal", False, "what makes it less than a fair match for the others")] if unequal else []
    body = []
    for row in rows:
        line = [
            Cell(str(row["short"]) + (" *" if row.get("from_memory") else "")),
            cell(row["validation"]),
            _score(row, strong=same_score(_signed(row, board), best[row["group"]])),
            _ends(row, ""),
        ]
        line += [_ends(row, "", "_classes")] if classes else []
        line += [cell(row["difference"], sign=True)] if several else []
        line += [_ends(row, "difference_")] if several else []
        line += [_ends(row, "difference_", "_classes")] if several and classes else []
        line += [_p_value(row)] if several and tests else []
        line += [cell(row.get("smallest_difference"))] if tests else []
        line += [Cell(str(row["verdict"]) or NOTHING)] if several else []
        line += [Cell(str(row.get("tied") or NOTHING))] if several and classes else []
        knows = row.get("knows")
        line.append(Cell("not recorded" if knows is None else str(knows)))
        line += [Cell(str(row["unequal"]) or NOTHING)] if unequal else []
        body.append(line)
    caption = f"{metric_words(board.primary.name)} of task {board.heading}"
    return TableBlock(caption[:1].upper() + caption[1:], columns, body, note=_note(board))


def left_out_of_names(board: Board) -> Iterator[Folded]:
    """Yield what the short names of the rows leave out, folded away: of a whole grid it fills a page."""
    if board.comparison is not None and board.comparison.names:
        rows = [[Cell(name), Cell(text)] for name, text in board.comparison.names.items()]
        table = TableBlock("What the names leave out", [Column("name"), Column("left out")], rows)
        yield Folded("Parameters that the names leave out", [table])


def interval_chart(board: Board, easel: Easel) -> Chart:
    """Return the test scores with their intervals, in the order of the leaderboard."""
    dots, legend = [], []
    rows, others = easel.first(board.rows)
    for row in rows:
        style = easel.style(str(row["short"]))
        narrow, wide = _pair(row, "low", "high"), _pair(row, "low_classes", "high_classes")
        dots.append(Dot(str(row["short"]), float(row["test"]), style, narrow, wide))
        legend.append((Swatch(style, line=False), str(row["short"])))
    metric = metric_words(board.primary.name)
    title = f"Test scores with their intervals: {board.heading}"
    covered = "The thick line is the 95% interval over new draws of these test rows"
    if any(dot.wide for dot in dots):
        covered += ", the thin one with end marks that over new classes"
    chance = _chance(board)
    low, high = min(_reach(dots)), max(_reach(dots))
    if chance is not None and not low - 1.5 * (high - low) <= chance <= high + 1.5 * (high - low):
        covered, chance = f"{covered}; chance, {number(chance, digits=3)}, is far outside", None
    description = f"{covered}. " + "; ".join(
        f"{dot.name} {number(dot.value, digits=3)}" + (f" ({span(*dot.narrow, digits=3)})" if dot.narrow else "")
        for dot in dots
    )
    if chance is not None:
        description += f". The dashed line is chance, {number(chance, digits=3)}"
    svg = dot_chart(dots, metric, easel.key(), title, f"{description}.", level=chance)
    note = f"{covered}; the dashed line is chance, {number(chance, digits=3)}." if chance is not None else f"{covered}."
    return Chart(svg, title, description, legend, note=note + others)


def _reach(dots: Sequence[Dot]) -> list[float]:
    ends = (dot.wide or dot.narrow or (dot.value, dot.value) for dot in dots)
    return [value for dot, pair in zip(dots, ends, strict=True) for value in (dot.value, *pair)]


def _chance(board: Board) -> float | None:
    return next((e.test_chance for e in board.entries.values() if e.test_chance is not None), None)


def _groups(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["group"]) for row in rows))


def _signed(row: Row, board: Board) -> float:
    return float(row["test"]) * (1 if board.primary.maximise else -1)


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


def _note(board: Board) -> str:
    notes = []
    baselines = {str(row["group"]): str(row["baseline"]) for row in board.rows}
    if len(board.rows) > 1:
        short = {str(row["method"]): str(row["short"]) for row in board.rows}
        baselines = {group: short.get(name, name) for group, name in baselines.items()}
        of = "; ".join(f"{group}: {name}" for group, name in baselines.items()) if len(baselines) > 1 else ""
        names = of or next(iter(baselines.values()))
        notes.append(f"Differences are from the {_origin(board.rows)} ({names}).")
    if any(row.get("spread") is not None for row in board.rows):
        notes.append("± is the standard deviation over repeats of a random method.")
    if any(map(cut, board.rows)):
        notes.append(sentence(CUT))
    if any(row.get("from_memory") for row in board.rows):
        notes.append("* was written from memory, without the method's source at hand.")
    return " ".join(notes)

"""Files of a comparison, by their ending.

``.csv`` and ``.json`` hold the rows as they are, in full precision; ``.md`` and ``.tex`` tables to be
read, with rounded numbers, the best score of each group in bold, and those that are not significantly different marked;
``.svg`` and ``.png`` the critical-difference diagram of several data sets.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zslplat.comparison.compare import Comparison
from zslplat.comparison.over_datasets import ranks_of
from zslplat.comparison.ranks import Across
from zslplat.comparison.sheets import BEST, TIED, Cell, Sheet, sheets
from zslplat.errors import UsageError, ZslplatError
from zslplat.figures import Table, write_table
from zslplat.plain_json import plain_json
from zslplat.records.folders import folder_name
from zslplat.registry import one_line

_IN_MARKDOWN = {"method", "validation", "test", "score on\nnew classes", "difference", "difference on\nthese rows"}
_IN_MARKDOWN |= {"difference on\nnew classes", "verdict", "p (Holm)", "smallest\nvisible", "tied", "trials", "epochs"}
# As much as a page of paper is wide.
_IN_LATEX = {"method", "test", "score on\nnew classes", "difference", "difference on\nnew classes", "p (Holm)"}
_IN_LATEX |= {"tied", "trials"}
_LONG_NAME = 22
_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>|#~$&]")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    **{character: "\\" + character for character in "&%$#_{}"},
}
_BEHIND = "best score of a group, and what equals it, in bold; {}: not significantly different from it"


def export_each(comparisons: Sequence[Comparison], path: Path) -> None:
    """Write comparisons to a file, whose ending says how.

    Of several tasks or metrics a file holds the rows of all, or one table after another; JSON is then a list, and
    pictures are files of their own, named by what tells them apart.

    Raises :class:`UsageError` for an ending that is none of :data:`FORMATS`, and :class:`OSError` for a place that
    cannot be written.
    """
    check_ending(path)
    FORMATS[path.suffix.lower()](comparisons, path)


def check_ending(path: Path) -> None:
    """Raise :class:`UsageError` unless a file's ending is known."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{path.name}: the ending says what is written; give one of {', '.join(FORMATS)}")


def markdown(comparison: Comparison) -> str:
    """Return the table as Markdown (with pipes, as GitHub and Pandoc read them)."""
    parts = []
    for sheet in sheets(comparison, titles=_IN_MARKDOWN):
        lines = [f"**{_plain(sheet.title)}**", "", _piped(_plain(" ".join(title.split())) for title in sheet.titles)]
        lines.append(_piped("--:" if right else ":--" for right in sheet.right))
        for group, members in sheet.sections.items():
            if len(sheet.sections) > 1:
                lines.append(_piped([f"*{_plain(group)}*", *[""] * (len(sheet.titles) - 1)]))
            lines += [_piped(_marked(c, _plain(c.text), "**{}**", "{} †") for c in cells) for cells in members]
        said = [*([_BEHIND.format("†")] if _has_marks(sheet) else []), *sheet.notes]
        parts.append("\n".join([*lines, "", *(f"- {_plain(note)}" for note in said)]))
    return "\n\n".join(parts) + "\n"


def latex(comparison: Comparison) -> str:
    """Return the table as LaTeX, for a document that uses the package ``booktabs``."""
    parts = [r"% Needs \usepackage{booktabs}."]
    for sheet in sheets(comparison, titles=_IN_LATEX):
        titles = [rf"\shortstack{{{_escaped(title)}}}".replace("\n", r"\\") for title in sheet.titles]
        names = max(len(cells[0].text) for members in sheet.sections.values() for cells in members)
        first = r"p{0.24\linewidth}" if names > _LONG_NAME else "l"
        layout = first + "".join("r" if right else "l" for right in sheet.right[1:])
        lines = [
            r"\begin{table}",
            r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
            rf"\caption{{{_escaped(sheet.title)}}}",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            " & ".join(titles) + r" \\",
        ]
        for group, members in sheet.sections.items():
            lines.append(r"\midrule")
            if len(sheet.sections) > 1:
                lines.append(rf"\multicolumn{{{len(titles)}}}{{l}}{{\emph{{{_escaped(group)}}}}} \\")
            for cells in members:
                texts = zip(cells, sheet.right, strict=True)
                marked = (_marked(c, _typeset(c.text, r), r"\textbf{{{}}}", r"{}$^{{\dagger}}$") for c, r in texts)
                lines.append(" & ".join(marked) + r" \\")
        marks = [_BEHIND.format(r"$^{\dagger}$")] if _has_marks(sheet) else []
        said = [*marks, *(_escaped(note) for note in sheet.notes)]
        lines += [r"\bottomrule", r"\end{tabular}", r"\par\medskip", r"\begin{minipage}{\linewidth}\raggedright"]
        lines += [*(note + r"\par" for note in said), r"\end{minipage}", r"\end{table}"]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _has_marks(sheet: Sheet) -> bool:
    return any(cell.standing for members in sheet.sections.values() for cells in members for cell in cells)


def _marked(cell: Cell, text: str, best: str, tied: str) -> str:
    """Return the text of a cell in the form that its standing asks for."""
    return {BEST: best, TIED: tied}.get(cell.standing, "{}").format(text) if text else text


def _typeset(text: str, is_number: bool) -> str:
    """Return a cell as LaTeX; numbers with minus signs in place of hyphens, intervals in brackets."""
    if not is_number:
        return _escaped(text)
    return _escaped(f"[{text.replace(' .. ', ', ')}]" if " .. " in text else text).replace("-", "$-$")


def _piped(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str) -> str:
    return _MARKDOWN.sub(lambda match: "\\" + match[0], text)


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _rows(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    return [row for one in comparisons for row in one.rows]


def _write_csv(comparisons: Sequence[Comparison], path: Path) -> None:
    rows = _rows(comparisons)
    write_table(Table({column: [row[column] for row in rows] for column in comparisons[0].columns}), path)


def _write_json(comparisons: Sequence[Comparison], path: Path) -> None:
    contents = [one.to_json() for one in comparisons]
    path.write_text(plain_json(contents[0] if len(contents) == 1 else contents, indent=1) + "\n", encoding="utf-8")


def _draw_ranks(comparisons: Sequence[Comparison], path: Path) -> None:
    """Draw critical-difference diagrams: one file, or one for each task, metric and group that have ranks.

    Such files are named by what tells them apart: ``ranks-inductive.svg``, ``ranks-zsl-per_class_accuracy.svg``.
    Raises :class:`ZslplatError` where matplotlib fails.
    """
    ranked = [
        (one, table["group"], across)
        for one in comparisons
        for table in one.over_datasets
        if (across := ranks_of(table)) is not None
    ]
    if not ranked:
        raise UsageError(
            f"{path.name}: ranks are of two methods or more of a group that have a score on each of several data sets; "
            "evaluate what lacks one (the table shows it), or name data sets that two methods share with --dataset"
        )
    keys = [(one.task, one.metric, group) for one, group, _ in ranked]
    for (one, _, across), texts in zip(ranked, keys, strict=True):
        distinct = [text for text, values in zip(texts, zip(*keys, strict=True), strict=True) if len(set(values)) > 1]
        parts = [path.stem, *(folder_name(text.replace(" ", "-")) for text in distinct)]
        file = path.with_stem("-".join(parts))
        try:
            draw_ranks(across, file, one.metric)
        except OSError:
            raise
        except Exception as error:
            raise ZslplatError(
                f"{file.name}: the ranks are not drawn: {one_line(error)}; .md, .tex and .csv write them as a table"
            ) from error


FORMATS: Mapping[str, Callable[[Sequence[Comparison], Path], None]] = {
    ".md": lambda comparisons, path: _write_text(path, "\n\n".join(map(markdown, comparisons))),
    ".tex": lambda comparisons, path: _write_text(path, "\n\n".join(map(latex, comparisons))),
    ".csv": _write_csv,
    ".json": _write_json,
    ".svg": _draw_ranks,
    ".png": _draw_ranks,
}


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def draw_ranks(across: Across, path: Path | str, title: str = "") -> None:
    """Draw mean ranks as a PNG or SVG file, by the ending of ``path``; the best is on the left.

    Thin lines are bootstrap intervals over data sets, thick bars join methods that share a letter, the line with end
    marks on top is as long as the critical difference, and what so few data sets cannot carry stands below.
    """
    from matplotlib.figure import Figure as Canvas

    from zslplat.drawing import LINE, TITLE, label_text, save
    from zslplat.palette import INK, PALETTE

    rows = across.standings
    bars = {
        letter: [s.mean_rank for s in rows if letter in _letters(s.tied)]
        for letter in dict.fromkeys(letter for s in rows for letter in _letters(s.tied))
    }
    bars = {letter: ranks for letter, ranks in bars.items() if len(ranks) > 1}
    note = (
        f"{across.sets} data set{'s' if across.sets > 1 else ''}, critical difference {across.critical_difference:.2f}"
    )
    note += f" (Nemenyi, .05); Friedman p = {across.p_value:.3g}" if across.sets > 1 else ""
    if across.reservation:
        note += ". " + across.reservation[0].upper() + across.reservation[1:] + "."
    height = 1.5 + 0.26 * len(rows) + 0.16 * len(bars)
    canvas = Canvas(figsize=(7.2, height), layout="constrained", facecolor="white")
    axes = canvas.add_subplot()
    k, level = len(rows), len(bars)
    # Where it is longer than all ranks are apart, it ends at the edge without a mark.
    reach = min(1 + across.critical_difference, k + 0.2)
    ends = [0, 1] if reach < k + 0.2 else [0]
    axes.plot([1, reach], [level + 1, level + 1], color=INK, linewidth=1.2, marker="|", markevery=ends)
    axes.annotate("critical difference", (1, level + 1), (0, 3), textcoords="offset points", fontsize=7, color=INK)
    for number, (letter, ranks) in enumerate(bars.items()):
        y = level - number
        axes.plot([min(ranks), max(ranks)], [y, y], color=PALETTE[0], linewidth=4, solid_capstyle="butt")
        axes.annotate(letter, (max(ranks), y), (4, 0), textcoords="offset points", va="center", fontsize=8, color=INK)
    for number, standing in enumerate(rows):
        y = -number - 1
        axes.plot([standing.rank_low, standing.rank_high], [y, y], color=INK, linewidth=0.8)
        axes.plot(standing.mean_rank, y, "o", color=PALETTE[1], markersize=5)
    axes.set_yticks([-n - 1 for n in range(k)], [f"{label_text(s.method, LINE)}  {s.tied}" for s in rows])
    axes.tick_params(axis="y", length=0, labelsize=8, labelcolor=INK)
    axes.tick_params(axis="x", labelsize=8, labelcolor=INK)
    axes.set_xlim(0.8, k + 0.2)
    axes.set_ylim(-k - 0.6, level + 1.9)
    axes.set_xlabel("mean rank, 1 is best\n" + textwrap.fill(note, 100), fontsize=8, color=INK)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    if title:
        axes.set_title(label_text(title, TITLE), fontsize=10, color=INK)
    save(canvas, path)


def _letters(tied: str) -> list[str]:
    """Return the letters of an entry, each with the number that follows it."""
    letters: list[str] = []
    for sign in tied:
        if sign.isdigit() and letters:
            letters[-1] += sign
        else:
            letters.append(sign)
    return letters

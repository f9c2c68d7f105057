"""Files of a comparison, by their ending.

``.csv`` and ``.json`` hold the rows as they are, in full precision; ``.md`` and ``.tex`` tables to be
read, with rounded numbers, the best score of each group in bold, and those that are not significantly different marked;
``.svg`` and ``.png`` the forest plot of scores, or over several data sets of differences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from zslplat.comparison.compare import Comparison
from zslplat.comparison.forests import draw_forests
from zslplat.comparison.sheets import BEST, TIED, Cell, Sheet, sheets
from zslplat.errors import UsageError
from zslplat.figures import Table, write_table
from zslplat.plain_json import plain_json

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

    Of several tasks or metrics a file holds the rows of all, or one table or plot after another; JSON is then a list.
    The folder is made where there is none.

    Raises :class:`UsageError` for an ending that is none of :data:`FORMATS`, and :class:`OSError` for a place that
    cannot be written.
    """
    check_ending(path)
    path.parent.mkdir(parents=True, exist_ok=True)
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


def _write_csv(comparisons: Sequence[Comparison], path: Path) -> None:
    rows = [row for one in comparisons for row in one.rows]
    write_table(Table({column: [row[column] for row in rows] for column in comparisons[0].columns}), path)


def _write_json(comparisons: Sequence[Comparison], path: Path) -> None:
    contents = [one.to_json() for one in comparisons]
    path.write_text(plain_json(contents, indent=1) + "\n", encoding="utf-8")


def _draw(comparisons: Sequence[Comparison], path: Path) -> None:
    from zslplat.drawing import save

    save(draw_forests(comparisons), path)


FORMATS: Mapping[str, Callable[[Sequence[Comparison], Path], None]] = {
    ".md": lambda comparisons, path: _write_text(path, "\n\n".join(map(markdown, comparisons))),
    ".tex": lambda comparisons, path: _write_text(path, "\n\n".join(map(latex, comparisons))),
    ".csv": _write_csv,
    ".json": _write_json,
    ".svg": _draw,
    ".png": _draw,
}


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")

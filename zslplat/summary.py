"""What results and data sets show of themselves: a title, tables and lines, as plain text and in notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from markupsafe import escape

from zslplat.names import visible

MOST_LINES = 30  # of a table in a notebook
MOST_WARNINGS = 3
_WARNING = "warning: "
# The colours are those of the text around it, so that it can be read on light and on dark pages.
_STYLE = """<style>
.zslplat.zslplat{line-height:1.45;max-width:75rem}
.zslplat.zslplat table{border-collapse:collapse;border:none;margin:.5em 0;font-variant-numeric:tabular-nums}
.zslplat.zslplat :is(th,td){border:none;padding:.25em 1.4em .25em 0;text-align:left;background:none;color:inherit}
.zslplat.zslplat :is(th,td).number{text-align:right}
.zslplat.zslplat thead th{border-bottom:1px solid;font-weight:600;opacity:.75}
.zslplat.zslplat tbody tr:hover{background:color-mix(in srgb,currentColor 7%,transparent)}
.zslplat.zslplat strong{font-size:1.08em}
.zslplat.zslplat .line{opacity:.85}
.zslplat.zslplat .warning{border-left:3px solid #d98200;padding-left:.6em;margin:.25em 0}
.zslplat.zslplat summary{cursor:pointer;opacity:.75}
</style>"""


class Shown(ABC):
    """What shows a summary of itself, as text and in notebooks."""

    @abstractmethod
    def _summary(self) -> Summary:
        """Return what is shown of it."""

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()


class Summary:
    """A title, tables ({column: values}) and lines below them, as text or for a notebook; all texts are escaped."""

    def __init__(
        self, title: str, tables: Sequence[Mapping[str, Sequence[Any]]] = (), lines: Iterable[str] = ()
    ) -> None:
        self.title, self.tables, self.lines = title, list(tables), [line for line in lines if line]

    def text(self) -> str:
        """Return it in plain text."""
        return visible_lines([self.title, *chain.from_iterable(map(table_lines, self.tables)), *self.lines])

    def html(self) -> str:
        """Return it in HTML: warnings last, those after the first three folded."""
        parts = [f'{_STYLE}<div class="zslplat"><strong>{_safe(self.title)}</strong>', *map(_table, self.tables)]
        parts += [f'<div class="line">{_safe(one)}</div>' for one in self.lines if not one.startswith(_WARNING)]
        warnings = [one.removeprefix(_WARNING) for one in self.lines if one.startswith(_WARNING)]
        shown = [f'<div class="warning">{_safe(one)}</div>' for one in warnings]
        parts += shown[:MOST_WARNINGS]
        if shown[MOST_WARNINGS:]:
            count = len(shown) - MOST_WARNINGS
            parts.append(f"<details><summary>{count} more</summary>{''.join(shown[MOST_WARNINGS:])}</details>")
        return "".join(parts) + "</div>"


def table_lines(table: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return a table as lines of plain text, the names of its columns first."""
    return padded([[str(name) for name in table], *(list(map(cell, line)) for line in _lines(table))])


def padded(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return rows as lines of plain text in columns, those of ``right`` aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [str.rjust if i in right else str.ljust for i in range(len(widths))]
    return ["  ".join(a(text, n) for a, text, n in zip(aligned, row, widths, strict=True)).rstrip() for row in rows]


def cell(value: Any) -> str:
    """Return a value as it is shown: numbers with four digits behind the point, nothing for None."""
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def visible_lines(lines: Sequence[str]) -> str:
    """Return lines as one text, their control characters escaped."""
    return "\n".join(visible(line) for line in lines)


def _lines(table: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*table.values(), strict=True))


def _table(table: Mapping[str, Sequence[Any]]) -> str:
    lines = _lines(table)
    kinds = {name: ' class="number"' if all(map(_is_number, values)) else "" for name, values in table.items()}
    head = "".join(f"<th{kind}>{_safe(name)}</th>" for name, kind in kinds.items())
    rows = [
        "".join(f"<td{kind}>{_safe(cell(value))}</td>" for value, kind in zip(line, kinds.values(), strict=True))
        for line in lines[:MOST_LINES]
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    more = f"<div>{len(lines) - MOST_LINES} more lines in to_frame()</div>" if len(lines) > MOST_LINES else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _is_number(value: Any) -> bool:
    """Tell whether a cell holds a number, also one that is written as a text, or nothing."""
    text = cell(value)
    return not text or text.replace(" ± ", "").replace(".", "").replace("-", "").replace("+", "").isdigit()


def _safe(text: str) -> str:
    return str(escape(visible(str(text))))

"""What the results of all functions have in common: a table, a picture, a representation for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from zslplat.front.habits import attribute_hint
from zslplat.names import visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_LINES = 30  # of a table in a notebook
_STYLE = "margin:.3em 0; font-variant-numeric:tabular-nums"


class Result(ABC):
    """What a function gives: small, read from the store where it is asked for more than it holds."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the content as a table of pandas."""

    @abstractmethod
    def plot(self) -> Figure:
        """Return a picture, a figure of matplotlib."""

    @abstractmethod
    def _summary(self) -> Summary:
        """Return what is shown of it."""

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()

    if not TYPE_CHECKING:  # a type checker reports what is not there

        def __getattr__(self, name: str) -> Any:
            attributes = [one for one in dir(type(self)) if not one.startswith("_")]
            hint = attribute_hint(name, attributes, study=hasattr(type(self), "best_trial"))
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}; {hint}", name=name, obj=self)


class Summary:
    """A title, tables ({column: values}) and lines below them, as text or for a notebook; all texts are escaped."""

    def __init__(
        self, title: str, tables: Sequence[Mapping[str, Sequence[Any]]] = (), lines: Iterable[str] = ()
    ) -> None:
        self.title, self.tables, self.lines = title, list(tables), [line for line in lines if line]

    def text(self) -> str:
        """Return it in plain text."""
        parts = [self.title]
        for table in self.tables:
            cells = [[str(name) for name in table], *(list(map(cell, line)) for line in _lines(table))]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for line in cells:
                padded = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
                parts.append("  ".join(padded).rstrip())
        return visible_lines([*parts, *self.lines])

    def html(self) -> str:
        """Return it in HTML."""
        parts = [f"<div><strong>{_safe(self.title)}</strong>"]
        for table in self.tables:
            lines = _lines(table)
            head = "".join(f"<th>{_safe(name)}</th>" for name in table)
            body = "".join(_row(line) for line in lines[:MOST_LINES])
            parts.append(f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')
            if len(lines) > MOST_LINES:
                parts.append(f"<div>{len(lines) - MOST_LINES} more lines in to_frame()</div>")
        parts += [f"<div>{_safe(line)}</div>" for line in self.lines]
        return "".join(parts) + "</div>"


def cell(value: Any) -> str:
    """Return a value as it is shown: numbers with four digits behind the point, nothing for None."""
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def visible_lines(lines: Sequence[str]) -> str:
    """Return lines as one text, their control characters escaped."""
    return "\n".join(visible(line) for line in lines)


def mean_and_spread(values: Sequence[float]) -> str:
    """Return the mean with the standard deviation over repeats, where there are several."""
    import numpy as np

    if not values:
        return ""
    spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{spread}"


def legend_below(figure: Figure) -> None:
    """Name the lines of a figure below it, where nothing is in the way."""
    axes = figure.axes[0]
    inside = axes.get_legend()
    if inside is not None:
        inside.remove()
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)


def warning_lines(warnings: Sequence[str], silenced: int) -> list[str]:
    """Return a line for every warning, and one that counts those that are silenced."""
    return [*(f"warning: {line}" for line in warnings), f"{silenced} silenced" if silenced else ""]


def _lines(table: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*table.values(), strict=True))


def _row(line: Sequence[Any]) -> str:
    cells = []
    for value in line:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        cells.append(f'<td style="text-align:{"right" if number else "left"}">{_safe(cell(value))}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _safe(text: str) -> str:
    return str(escape(visible(str(text))))

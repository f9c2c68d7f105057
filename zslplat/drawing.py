"""Figures as PNG files, drawn with matplotlib's object interface: no window, no pyplot, no global state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zslplat.figures import Curve, Figure, Forest, ForestRow, MatrixFigure, ScatterFigure
from zslplat.names import one_line
from zslplat.palette import DASHES, FAINT, GRID, INK, MARKERS, PALETTE, PAPER, Style
from zslplat.registry import one_line as cause_of

if TYPE_CHECKING:
    # Most commands draw nothing, and matplotlib is slow to import.
    from markupsafe import Markup
    from matplotlib.figure import Figure as Canvas

DOTS_PER_INCH = 130
NAMED_CLASSES = 60  # a longer axis gets no names: they could not be read
WRITTEN_CELLS = 12  # a matrix of at most 12 x 12 has its values written into the cells
MARKED_POINTS = 40  # a line of at most 40 points shows them
LEGEND_INSIDE = 8
LEGEND_NAMES = 40
NAME, LINE, LABEL, TITLE = 22, 44, 80, 90  # most letters of a name among many, of a line, of an axis, of a title


def render(figure: Figure, path: Path | str) -> None:
    """Draw a figure into a PNG file; raises :class:`TypeError` for anything else."""
    save(draw_figure(figure), path)


def save(canvas: Canvas, path: Path | str) -> None:
    """Write what matplotlib holds as a PNG or SVG file, by the ending; the same figure is the same file."""
    from zslplat.pictures import with_more_letters, without_glyph_warnings

    with_more_letters(canvas)
    with without_glyph_warnings():
        if str(path).endswith(".svg"):
            canvas.savefig(path, format="svg", dpi=DOTS_PER_INCH, metadata={"Date": None})
            return
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        # Laid out here, the figure is drawn once; ``savefig`` would draw it twice, the first time to lay it out.
        canvas.set_dpi(DOTS_PER_INCH)
        painter = FigureCanvasAgg(canvas)
        layout = canvas.get_layout_engine()
        if layout is not None:
            layout.execute(canvas)
            canvas.set_layout_engine("none")
        # Without the software's version the same figure is the same file.
        painter.print_png(path, metadata={"Software": None})


@contextmanager
def optional_picture(path: Path, warn: Callable[[str], None]) -> Iterator[None]:
    """Say in one line that the picture ``path`` could not be drawn, and why, where that fails, and go on.

    What is drawn is in tables and records, too. Where nothing can be written (:class:`OSError`) is not its business.
    """
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        path.unlink(missing_ok=True)  # one of an earlier time shows something else
        warn(f"the picture {path.name} is not drawn: {cause_of(error)}")


def label_text(name: str, most: int = NAME) -> str:
    """Return a name or text from elsewhere as matplotlib draws it letter by letter, in one line, of at most ``most``.

    Between dollars matplotlib would read a formula, and fail where there is none.
    """
    name = one_line(name)
    return (name if len(name) <= most else name[: most - 1] + "…").replace("$", r"\$")


def draw_figure(figure: Figure) -> Canvas:
    """Return a figure as matplotlib has it; raises :class:`TypeError` for anything else."""
    if isinstance(figure, Curve):
        return _curve(figure)
    if isinstance(figure, MatrixFigure):
        return _matrix(figure)
    if isinstance(figure, ScatterFigure):
        return _scatter(figure)
    if isinstance(figure, Forest):
        canvas = _canvas((6.8, 0.9 + 0.27 * len(figure.rows)))
        draw_forest(canvas.add_subplot(), figure)
        return canvas
    raise TypeError(f"no figure: {type(figure).__name__}; expected Curve, MatrixFigure, ScatterFigure or Forest")


def _canvas(figsize: tuple[float, float]) -> Canvas:
    from zslplat.pictures import Picture

    return Picture(figsize=figsize, layout="constrained", facecolor="white")


def _whole_numbers() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True)


def _curve(figure: Curve) -> Canvas:
    canvas = _canvas((6.4, 4.4))
    axes = canvas.add_subplot()
    entries = []
    for number, (label, (x, y)) in enumerate(figure.lines.items()):
        colour, dash = PALETTE[number % len(PALETTE)], DASHES[number // len(PALETTE) % len(DASHES)]
        marker = "o" if len(x) <= MARKED_POINTS else ""
        (line,) = axes.plot(x, y, color=colour, linestyle=dash, linewidth=1.6, marker=marker, markersize=3.5)
        line.set_label(label_text(label, LINE))
        entries.append(line)
        if label in figure.bands:
            low, high = figure.bands[label]
            axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    for number, (label, (x_point, y_point)) in enumerate(figure.points.items()):
        entries += axes.plot(
            x_point,
            y_point,
            linestyle="",
            marker=MARKERS[(number + 1) % len(MARKERS)],
            markersize=8,
            color=PALETTE[(number + len(figure.lines)) % len(PALETTE)],
            markeredgecolor="white",
            label=f"{label_text(label, LINE)}: ({x_point:.3f}, {y_point:.3f})",
            zorder=3,
        )
    if figure.logx:
        axes.set_xscale("log")
    elif all(isinstance(v, int) for x, _ in figure.lines.values() for v in x):
        axes.xaxis.set_major_locator(_whole_numbers())
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    _describe(axes, figure.xlabel, figure.ylabel, figure.title)
    # Named here: matplotlib would leave out those that begin with an underscore.
    labels = [str(entry.get_label()) for entry in entries]
    if len(entries) > LEGEND_INSIDE:
        canvas.legend(
            entries, labels, loc="outside right upper", frameon=False, fontsize=8, labelcolor=INK, handlelength=3
        )
    elif len(entries) > 1 or next(iter(figure.lines), "") not in ("", figure.ylabel):
        axes.legend(entries, labels, frameon=True, framealpha=0.85, edgecolor="none", fontsize=8, labelcolor=INK)
    return canvas


def _matrix(figure: MatrixFigure) -> Canvas:
    values = np.asarray(figure.values, dtype=float)
    rows, columns = values.shape
    width, height = (float(np.clip(1.8 + 0.24 * count, 4.2, 11.0)) for count in (columns, rows))
    canvas = _canvas((width + 0.8, height))
    axes = canvas.add_subplot()
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low < 0:
        reach = max(-low, high)
        image = axes.imshow(values, cmap="PuOr", vmin=-reach, vmax=reach, aspect="auto", interpolation="nearest")
    else:
        image = axes.imshow(values, cmap="Blues", vmin=0, vmax=high or 1.0, aspect="auto", interpolation="nearest")
    _name_axis(axes, "x", figure.columns)
    _name_axis(axes, "y", figure.rows)
    if max(rows, columns) <= WRITTEN_CELLS:
        for i, j in np.ndindex(rows, columns):
            if np.isfinite(values[i, j]) and abs(values[i, j]) >= 0.005:
                dark = abs(values[i, j]) > 0.6 * max(abs(low), abs(high))
                text = _cell(float(values[i, j]))
                axes.text(j, i, text, ha="center", va="center", fontsize=7, color="white" if dark else INK)
    bar = canvas.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=INK, length=2)
    _describe(axes, _counted(figure.xlabel, columns), _counted(figure.ylabel, rows), figure.title)
    axes.tick_params(length=2)
    return canvas


def _scatter(figure: ScatterFigure) -> Canvas:
    count, names = max(len(figure.panels), 1), list(figure.names)
    side = 4.2 if count > 1 else 5.0
    with_legend = len(names) <= LEGEND_NAMES
    canvas = _canvas((side * count + 1.6 * with_legend, side))
    panels = canvas.subplots(1, count, squeeze=False)[0]
    size = float(np.clip(4000 / max(len(figure.labels), 1), 4, 28))
    for axes, (label, points) in zip(panels, figure.panels.items(), strict=False):
        for number in range(len(names)):
            chosen = points[figure.labels == number]
            axes.scatter(
                chosen[:, 0],
                chosen[:, 1],
                s=size,
                color=PALETTE[number % len(PALETTE)],
                marker=MARKERS[number // len(PALETTE) % len(MARKERS)],
                linewidths=0,
                alpha=0.8,
            )
        # The axes of an embedding have no unit and no meaning of their own.
        axes.set_xticks([])
        axes.set_yticks([])
        _describe(axes, "", "", label)
    if figure.title:
        canvas.suptitle(label_text(figure.title, TITLE), fontsize=11, color=INK)
    if with_legend and figure.panels:
        canvas.legend(
            list(panels[0].collections),
            [label_text(name) for name in names],
            loc="outside right upper",
            frameon=False,
            fontsize=8 if len(names) <= 20 else 6,
            labelcolor=INK,
            markerscale=1.4,
        )
    return canvas


ROW = 24  # pixels: the height of a row of a forest plot in a page
LEAST_PLOT = 200  # pixels between labels and notes
BESIDE, MOST_NOTE = 34, 40  # letters of the label and the note of a row


def draw_forest(axes: Any, forest: Forest) -> None:
    """Draw a forest plot on the axes of matplotlib: labels left of the rows, notes right of them."""
    from matplotlib.ticker import FuncFormatter

    from zslplat.pictures import plain

    places = [(-number, row, Style(row.style)) for number, row in enumerate(forest.rows) if row.value is not None]
    if forest.band is not None:
        axes.axvspan(*forest.band, color=GRID, linewidth=0, alpha=0.6, zorder=0)
    if forest.level is not None:
        axes.axvline(forest.level, color=FAINT, linewidth=0.9, linestyle=(0, (2, 3)), zorder=1)
    # One object for all lines of a kind: each costs as much time as all of its lines.
    estimates = [(y, row, style) for y, row, style in places if row.mark != "pooled"]
    _intervals(axes, [(y, row.wide, style.shade) for y, row, style in estimates], 1.5, ends=True)
    _intervals(axes, [(y, row.narrow, style.shade) for y, row, style in estimates], 5, alpha=0.75)
    _markers(axes, estimates)
    for y, row, style in places:
        if row.mark == "pooled" and row.wide is not None:
            across = [row.wide[0], row.value, row.wide[1], row.value]
            axes.fill(across, [y, y + 0.3, y, y - 0.3], color=style.shade, linewidth=0, zorder=2)
    beside = axes.get_yaxis_transform()
    words: dict[str, Any] = {"transform": beside, "va": "center_baseline", "color": INK, "parse_math": False}
    # As a tick each label would be five objects, of which four are not seen.
    axes.set_yticks([])
    for number, row in enumerate(forest.rows):
        is_heading = row.value is None
        weight = "bold" if is_heading or row.mark == "pooled" else "normal"
        if is_heading:
            ground = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0}  # a heading is not crossed by lines
            axes.text(0, -number, plain(row.label, 3 * BESIDE), ha="left", weight=weight, bbox=ground, **words)
        else:
            axes.text(-0.012, -number, plain(row.label, BESIDE), ha="right", weight=weight, **words)
            axes.text(1.015, -number, plain(row.note, MOST_NOTE), ha="left", weight=weight, **words)
    axes.set_ylim(-len(forest.rows) + 0.4, 0.6)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(plain(forest.xlabel, LABEL), color=INK, parse_math=False)
    axes.tick_params(colors=FAINT, labelcolor=INK)
    if forest.title:
        axes.set_title(plain(forest.title, TITLE), fontsize=10, color=INK, parse_math=False)
    if forest.signed:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+.3g}" if value else "0"))


def forest_svg(forest: Forest, key: str, description: str, width: float = 560) -> Markup:
    """Return a forest plot as SVG for a page; ``key`` is unique there, the description is read aloud."""
    from zslplat.pictures import axes_of, plain, room_for, to_svg

    labels = [plain(row.label, BESIDE) for row in forest.rows if row.value is not None]
    notes = [plain(row.note, MOST_NOTE) for row in forest.rows]
    left, right = 16 + room_for(labels), 16 + room_for(notes)
    size = max(width, left + right + LEAST_PLOT), 60 + ROW * len(forest.rows)
    with axes_of(*size, left=left, right=right) as (canvas, axes):
        draw_forest(axes, replace(forest, title=""))
        return to_svg(canvas, key, forest.title or forest.xlabel, description)


def _intervals(
    axes: Any, spans: Sequence[tuple[float, tuple[float, float] | None, str]], width: float, **options: Any
) -> None:
    """Draw horizontal lines (y, ends, colour), with end marks where ``ends`` is true."""
    with_ends = options.pop("ends", False)
    shown = [(y, pair, colour) for y, pair, colour in spans if pair is not None]
    if not shown:
        return
    heights, colours = [y for y, _, _ in shown], [colour for _, _, colour in shown]
    low, high = ([pair[end] for _, pair, _ in shown] for end in (0, 1))
    axes.hlines(heights, low, high, colors=colours, linewidth=width, **options)
    if with_ends:
        below, above = ([y + shift for y in heights] * 2 for shift in (-0.14, 0.14))
        axes.vlines([*low, *high], below, above, colors=colours * 2, linewidth=width, capstyle="projecting")


def _markers(axes: Any, rows: Sequence[tuple[float, ForestRow, Style]]) -> None:
    """Draw the estimates above all lines, those of a shape together; hollow ones have the page's colour inside."""
    by_shape: dict[tuple[str, bool], list[tuple[float | None, float, str]]] = {}
    for y, row, style in rows:
        by_shape.setdefault((style.marker, row.mark == "hollow"), []).append((row.value, y, style.shade))
    for (marker, hollow), points in by_shape.items():
        x, y_of, colours = zip(*points, strict=True)
        inside, edge = (PAPER, colours) if hollow else (colours, PAPER)
        axes.scatter(
            x, y_of, s=44 if hollow else 64, marker=marker, c=inside, edgecolors=edge, linewidths=1.4, zorder=3
        )


def _name_axis(axes: Any, which: str, names: Sequence[str]) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    if len(names) > NAMED_CLASSES:
        axis.set_major_locator(_whole_numbers())
        return
    axis.set_ticks(range(len(names)), [label_text(str(name)) for name in names])
    size = 8 if len(names) <= 30 else 6
    upright = which == "x" and max((len(str(name)) for name in names), default=0) > 2
    axis.set_tick_params(labelsize=size, labelrotation=90 if upright else 0)


def _describe(axes: Any, xlabel: str, ylabel: str, title: str) -> None:
    axes.set_xlabel(label_text(xlabel, LABEL), fontsize=10, color=INK)
    axes.set_ylabel(label_text(ylabel, LINE), fontsize=10, color=INK)
    axes.set_title(label_text(title, TITLE), fontsize=10, color=INK)
    axes.tick_params(colors=INK, labelcolor=INK)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color("#999999")


def _counted(label: str, count: int) -> str:
    return f"{label} ({count}, by number)" if label and count > NAMED_CLASSES else label


def _cell(value: float) -> str:
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text

"""t-SNE maps of where methods put the test rows, and the commands that make them where they are missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from zslplat.evidence.results import Result
from zslplat.names import counted
from zslplat.palette import Style
from zslplat.reports.artifacts import numbers, picture_of, table_of
from zslplat.reports.blocks import Block, Cell, Chart, Column, Commands, Paragraph, Picture, TableBlock
from zslplat.reports.charts import Swatch, map_chart, thinned_evenly
from zslplat.reports.sections.context import PageContext
from zslplat.reports.sections.wording import first_of
from zslplat.spec import Spec

NAME = "projection"


def map_blocks(recorded: Sequence[Result], context: PageContext) -> Iterator[Block]:
    """Yield the recorded maps; where a method can make them and none is recorded, the command that does."""
    commands, shown = [], set[str]()
    for entry in sorted(reversed(recorded), key=lambda entry: entry.is_study):  # only runs of their own make maps
        method = Spec.parse(entry.method).name
        charts = list(_maps(entry, context)) if entry.tested else []
        if charts and method not in shown:  # the newest of a method
            yield from charts
            shown.add(method)
        elif method not in shown and entry.config is not None and entry.about.get("maps"):
            commands.append(map_command(entry.config) + context.places)
    if commands:
        yield Paragraph(
            "No map is recorded of some methods that can make one; this evaluates them again and records it."
        )
        yield Commands("Make the t-SNE maps", commands)


def map_command(config: Path) -> str:
    """Return the command that evaluates a configuration anew with its maps; ``--export`` has it computed again."""
    return f"zslplat run --test --config {shlex.quote(str(config))} --export maps"


def _maps(entry: Result, context: PageContext) -> Iterator[Block]:
    evaluation = entry.tested[0]
    table = table_of(evaluation, NAME, context.notes.append)
    title = f"Where {Spec.parse(entry.method).name} puts the test rows (t-SNE), {entry.task} on {entry.dataset}"
    title += first_of(len(entry.tested))
    if not {"panel", "class", "x", "y"} <= set(table):
        source = picture_of(evaluation, NAME)
        if source:
            yield Picture(source, title, f"{title}, as it was drawn when it was recorded.")
        return
    points = np.column_stack([numbers(table["x"]), numbers(table["y"])])
    panels, labels = np.array(table["panel"]), np.array(table["class"])
    for panel in dict.fromkeys(table["panel"]):
        members = np.flatnonzero((panels == panel) & np.isfinite(points).all(axis=1))
        thinned = members[thinned_evenly(labels[members].tolist())]
        if not len(thinned):
            continue
        classes = sorted(set(labels[thinned].tolist()))
        description = (
            f"Rows of {counted(len(classes), 'class', 'classes')} in the plane by t-SNE of where the projection "
            f"{panel} puts them: rows of one class that lie together are separated from others."
        )
        columns = [Column("class"), Column("rows", True), Column("spread around its middle", True)]
        rows = [[Cell(name), *_spread(points[members][labels[members] == name])] for name in classes]
        caption = f"{title}: {panel}"
        svg = map_chart(points[thinned], labels[thinned].tolist(), context.key(), panel, description)
        legend = [(Swatch(Style(i), line=False), name) for i, name in enumerate(classes)]
        note = f"{len(thinned)} of {len(members)} rows, evenly by class." if len(thinned) < len(members) else ""
        note = f"{note} Axes of a t-SNE map have no unit, and distances between groups no meaning.".strip()
        yield Chart(svg, caption, description, legend, TableBlock(caption, columns, rows), note)


def _spread(points: np.ndarray) -> list[Cell]:
    spread = float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))
    return [Cell(str(len(points)), float(len(points))), Cell(f"{spread:.3g}", spread)]

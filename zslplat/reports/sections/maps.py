"""t-SNE maps of where methods put the test rows, and the commands that make them where they are missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from zslplat import registry
from zslplat.errors import ZslplatError
from zslplat.names import counted
from zslplat.reports.blocks import Block, Cell, Chart, Column, Commands, Picture, TableBlock, Words
from zslplat.reports.charts.maps import map_chart, thinned_evenly
from zslplat.reports.charts.styles import Style
from zslplat.reports.charts.swatches import Swatch
from zslplat.reports.facts import Recorded
from zslplat.reports.recorded_files import numbers, picture_of, table_of
from zslplat.reports.sections.easel import Easel
from zslplat.reports.sections.words import first_of
from zslplat.spec import Spec

NAME = "projection"


def map_blocks(recorded: Sequence[Recorded], easel: Easel) -> Iterator[Block]:
    """Yield the recorded maps; where a method can make them and none is recorded, the command that does."""
    commands, shown = [], set[str]()
    for entry in sorted(reversed(recorded), key=lambda entry: entry.study):  # only runs of their own make maps
        method = Spec.parse(entry.method).name
        found = list(_maps(entry, easel)) if entry.tested else []
        if found and method not in shown:  # the newest of a method
            yield from found
            shown.add(method)
        elif method not in shown and entry.config is not None and _can_be_mapped(entry, method):
            commands.append(map_command(entry.config) + easel.places)
    if commands:
        yield Words("No map is recorded of some methods that can make one; this evaluates them again and records it.")
        yield Commands("Make the t-SNE maps", commands)


def map_command(config: Path) -> str:
    """Return the command that evaluates a configuration anew with its maps; ``--export`` has it computed again."""
    return f"zslplat run --test --config {shlex.quote(str(config))} --export maps"


def _maps(entry: Recorded, easel: Easel) -> Iterator[Block]:
    evaluation = entry.tested[0]
    table = table_of(evaluation, NAME, easel.notes.append)
    title = f"Where {Spec.parse(entry.method).name} puts the test rows (t-SNE), {entry.place[1]} on {entry.place[0]}"
    title += first_of(len(entry.tested))
    if not {"panel", "class", "x", "y"} <= set(table):
        source = picture_of(evaluation, NAME)
        if source:
            yield Picture(source, title, f"{title}, as it was drawn when it was recorded.")
        return
    points = np.column_stack([numbers(table["x"]), numbers(table["y"])])
    panels, labels = np.array(table["panel"]), np.array(table["class"])
    for panel in dict.fromkeys(table["panel"]):
        own = np.flatnonzero((panels == panel) & np.isfinite(points).all(axis=1))
        kept = own[thinned_evenly(labels[own].tolist())]
        if not len(kept):
            continue
        classes = sorted(set(labels[kept].tolist()))
        description = (
            f"Rows of {counted(len(classes), 'class', 'classes')} in the plane by t-SNE of where the projection "
            f"{panel} puts them: rows of one class that lie together are told apart from others."
        )
        columns = [Column("class"), Column("rows", True), Column("spread around its middle", True)]
        rows = [[Cell(name), *_spread(points[own][labels[own] == name])] for name in classes]
        caption = f"{title}: {panel}"
        svg = map_chart(points[kept], labels[kept].tolist(), easel.key(), panel, description)
        legend = [(Swatch(Style(i), line=False), name) for i, name in enumerate(classes)]
        note = f"{len(kept)} of {len(own)} rows, evenly by class." if len(kept) < len(own) else ""
        note = f"{note} Axes of a t-SNE map have no unit, and distances between groups no meaning.".strip()
        yield Chart(svg, caption, description, legend, TableBlock(caption, columns, rows), note)


def _spread(points: np.ndarray) -> list[Cell]:
    spread = float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))
    return [Cell(str(len(points)), float(len(points))), Cell(f"{spread:.3g}", spread)]


def _can_be_mapped(entry: Recorded, method: str) -> bool:
    if "maps" in entry.about:
        return bool(entry.about["maps"])
    # Records of earlier versions do not say; to import a method and its libraries takes longer than all the rest.
    with suppress(ZslplatError):
        return hasattr(registry.component("methods", method), "embeddings")
    return False

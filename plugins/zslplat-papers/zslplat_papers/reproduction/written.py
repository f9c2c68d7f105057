"""What ``reproduce`` and ``claims`` write: CSV lines of cells and claims, and the lines that are kept as results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zslplat.figures import Table, write_table
from zslplat.suites.result_files import key_of
from zslplat_papers.reproduction.claims import Judged
from zslplat_papers.reproduction.reproduce import DONE, Reproduction
from zslplat_papers.reproduction.results import keep_results, read_results

CELL_KEY = ("table", "row", "column", "way", "metric", "seed")
# What a kept line leaves out: it means nothing outside the store.
_LOCAL = ("study", "status")


def write_cells(found: Sequence[Reproduction], path: Path) -> None:
    """Write a line per cell, those whose data are not at hand included, with the way to get them in ``why``."""
    lines = [made.to_json() for one in found for made in one.made]
    for one in found:
        for missing in one.missing:
            why = f"data not at hand: {missing.how}"
            known = {"table": one.table, "column": missing.column, "dataset": missing.dataset}
            lines.append({**known, "verdict": "cannot tell", "why": why, "status": "not at hand"})
    columns = list(dict.fromkeys(name for line in lines for name in line))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(Table({column: [line.get(column) for line in lines] for column in columns}), path)


def keep_cells(
    found: Reproduction, folder: Path | None = None, told: Callable[[str], None] = lambda text: None
) -> Path | None:
    """Keep the cells that were carried out as ``reproduce-TABLE.csv``; None where there are none.

    A cell that is kept already with more trials, or with as many and with more repeats or an oracle that is not priced
    now, stays as it is; of that, and of an oracle that goes with what had fewer trials, ``told`` is told.
    """
    name = f"reproduce-{found.table}"
    before = {key_of(line, CELL_KEY): line for line in read_results(name, folder, CELL_KEY)}
    done = [made.to_json() for made in found.made if made.status == DONE]
    lines = [line for line in done if not _stays(before.get(key_of(line, CELL_KEY), {}), line)]
    if len(lines) < len(done):
        stay = f"{found.table}: {len(done) - len(lines)} of {len(done)} cells are kept already"
        told(f"{stay} with more trials or repeats, or with an oracle, and stay")
    lost = sum(bool(before.get(key_of(line, CELL_KEY), {}).get("oracle")) and line["oracle"] is None for line in lines)
    if lost:
        told(f"{found.table}: {lost} of {len(done)} cells were kept with the oracle of fewer trials; give --oracle")
    if not lines:
        return None
    lines = [{name: value for name, value in line.items() if name not in _LOCAL} for line in lines]
    hours = sum(made.seconds for made in found.made) / 3600
    return keep_results(name, lines, CELL_KEY, folder, hours=hours)


def _stays(kept: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    """Tell whether a kept cell says more than the same one made now."""
    trials, repeats = ([int(line.get(name) or 0) for line in (kept, made)] for name in ("trials", "repeats"))
    if trials[0] != trials[1]:
        return trials[0] > trials[1]
    return repeats[0] > repeats[1] or (bool(kept.get("oracle")) and made.get("oracle") is None)


def write_claims(found: Sequence[Judged], path: Path) -> None:
    """Write a line per claim with its verdict; the differences are those of the kept results."""
    lines = [{**line, "failed": "; ".join(line["failed"])} for line in (judged.to_json() for judged in found)]
    names = [name for name in lines[0] if name != "contrasts"]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(Table({name: [line[name] for line in lines] for name in names}), path)

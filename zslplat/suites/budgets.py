"""What each row of a grid was given, found and took; and where that is not the same for all."""

from __future__ import annotations

from collections import Counter
from typing import Any

from zslplat.evidence.scores import Scored
from zslplat.suites.cells import Cell
from zslplat.suites.recorded import Entry
from zslplat.suites.result import GridResult

BUDGETS = [
    *("data", "row", "knows_of_batch", "trials", "chosen_epoch", "most_epochs"),
    *("split", "failed_trials", "seconds", "unequal", "method"),
]
GIVEN = "given"


def budget_lines(result: GridResult) -> list[list[Any]]:
    """Return a line for every row on every data set (and split) whose search is recorded.

    ``trials``, epochs and failed trials are those of the search, which the row's first task had; ``seconds`` those of
    all trials and test evaluations of the row. ``unequal`` says what is not as with most of the others there;
    ``method`` is the row's with what its search found, as a row of a suite has it that needs no search.
    """
    first: dict[tuple[str, str, int | None], Cell] = {}
    seconds: Counter[tuple[str, str, int | None]] = Counter()
    for cell in result.cells:
        if cell.key in result.entries:
            row = (cell.data, cell.row, cell.split)
            first.setdefault(row, cell)
            seconds[row] += result.entries[cell.key].seconds  # type: ignore[assignment]
    lines = []
    for row, cell in first.items():
        entry = result.entries[cell.key]
        others = [result.entries[c.key] for r, c in first.items() if (r[0], r[2]) == (row[0], row[2]) and r != row]
        scored = result.scores.get(cell.key)
        chosen = "" if entry.steps is None else entry.steps
        split = GIVEN if cell.split is None else cell.split
        lines.append(
            [
                *(cell.data, cell.row, known(scored), entry.trials, chosen, entry.most),
                *(split, entry.failed, round(seconds[row], 3), "; ".join(unequal(entry, others)), entry.method),
            ]
        )
    return lines


def trials_of(result: GridResult) -> dict[tuple[str, str, int | None], int]:
    """Return how many trials the search of each row had on each data set and split: that of its first task."""
    found: dict[tuple[str, str, int | None], int] = {}
    for cell in result.cells:
        if cell.key in result.entries:
            found.setdefault((cell.data, cell.row, cell.split), result.entries[cell.key].trials)
    return found


def unequal(entry: Entry, others: list[Entry]) -> list[str]:
    """Return in words what a row was given and most others on the same data were not."""
    found = []
    if not entry.searched:
        found.append("nothing is searched")
    else:
        usual = _usual([other.trials for other in others if other.searched])
        if usual is not None and entry.trials != usual:
            found.append(f"{entry.trials} trials, others {usual}")
    if entry.failed:
        found.append(f"{entry.failed} of {entry.trials} trials failed")
    if entry.most != "":
        usual = _usual([other.most for other in others if other.most != ""])
        if usual is not None and entry.most != usual:
            found.append(f"at most {entry.most} epochs, others {usual}")
    return found


def known(scored: Scored | None) -> str:
    """Return in words what a row knows of the batch that it scores."""
    return "not recorded" if scored is None or scored.knows is None else scored.knows


def _usual(values: list[Any]) -> Any:
    return Counter(values).most_common(1)[0][0] if values else None

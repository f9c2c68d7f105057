"""Checks of a suite: whether its rows had the same chances on every data set, and whether there are enough of these."""

from __future__ import annotations

from collections.abc import Iterable

from zslplat.checks.base import Check, SuiteFacts
from zslplat.checks.comparison import MOST_UNEQUAL
from zslplat.data.families import families

DONE = "done"
FEWEST_SETS = 6


class UnequalBudgetsInSuite(Check):
    """Speaks where rows of one data set and task had budgets that differ by more than a quarter; as ZSP301."""

    code, title, scope = "ZSP401", "unequal budgets across rows", "suite"

    def found(self, facts: SuiteFacts) -> Iterable[str]:
        """Yield a line for each data set and task with unequal budgets."""
        for place in dict.fromkeys((cell.data, cell.task) for cell in facts.cells):
            tuned = [
                (cell.trials, cell.row)
                for cell in facts.cells
                if (cell.data, cell.task) == place and cell.status == DONE and cell.trials and cell.trials > 1
            ]
            if tuned and max(tuned)[0] > MOST_UNEQUAL * min(tuned)[0]:
                yield (
                    f"unequal budgets on {place[0]}, task {place[1]}: {max(tuned)[1]} searched {max(tuned)[0]} trials "
                    f"and {min(tuned)[1]} {min(tuned)[0]}"
                )


class MissingCells(Check):
    """Speaks where cells of the grid have no number: means and ranks over data sets compare unlike things then."""

    code, title, scope = "ZSP402", "missing cells", "suite"

    def found(self, facts: SuiteFacts) -> Iterable[str]:
        """Yield a line that counts them and names the rows."""
        missing = [cell for cell in facts.cells if cell.status != DONE]
        if missing:
            rows = list(dict.fromkeys(cell.row for cell in missing))
            named = ", ".join(rows[:4]) + (f" and {len(rows) - 4} more" if len(rows) > 4 else "")
            first = missing[0]
            why = f": {first.reason}" if first.reason else ""
            yield (
                f"{len(missing)} of {len(facts.cells)} cells have no number, of {named}; first {first.row} on "
                f"{first.data}, task {first.task} ({first.status}{why})"
            )


class FewDataSets(Check):
    """Speaks where several rows are ranked over fewer than 6 data sets.

    The exact sign test over N data sets has 2^N patterns, so its smallest two-sided p is 2 / 2^N: .0625 at 5 sets, .031
    at 6. The Nemenyi critical difference of 10 rows is 5.5 ranks at 6 sets, more than half of the table.
    """

    code, title, scope = "ZSP403", "too few data sets for ranks", "suite"

    def found(self, facts: SuiteFacts) -> Iterable[str]:
        """Yield a line for each task with too few data sets."""
        for task in dict.fromkeys(cell.task for cell in facts.cells):
            cells = [cell for cell in facts.cells if cell.task == task and cell.status == DONE]
            marks: dict[str, set[str]] = {}
            for cell in cells:
                marks.setdefault(cell.data, set()).update((cell.family or cell.data, *cell.images))
            sets, rows = set(families(marks).values()), {cell.row for cell in cells}
            if len(rows) > 1 and 1 < len(sets) < FEWEST_SETS:
                drawn = len(sets) < len(marks)
                draws = " (draws of the classes of one, or sets of the same images, count once)" if drawn else ""
                yield (
                    f"task {task}: {len(sets)} data sets{draws} are too few for ranks; below {FEWEST_SETS} no order of "
                    "two rows can reach p < .05"
                )

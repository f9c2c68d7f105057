"""Checks of tables: whether rows of a comparison or a suite had the same chances, what they cost, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zslplat.checks.base import Check
from zslplat.checks.facts import ComparisonFacts, RowFacts, SuiteFacts
from zslplat.kinds import CLASS_BALANCE, TRANSDUCTIVE

MOST_UNEQUAL = 1.25
MUCH_SLOWER, SLOWER_BY_SECONDS = 10.0, 1.0
MANY_LOOKS = 25
AHEAD = "ahead"


class UnequalBudgets(Check):
    """Speaks where searches of more than one trial had budgets that differ by more than a quarter.

    The best of n trials without any effect is expected 1.87 standard deviations above their mean at n = 20, 1.97 at 25
    and 2.16 at 40: a quarter more adds a tenth of a standard deviation of the trials, twice as many a third.
    """

    code, title, scope = "ZSP301", "unequal budgets", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line where some searched more than others."""
        tuned = [row for row in facts.rows if row.trials is not None and row.trials > 1]
        if not tuned:
            return
        least, most = (end(tuned, key=lambda row: row.trials or 0) for end in (min, max))
        if (most.trials or 0) > MOST_UNEQUAL * (least.trials or 0):
            yield (
                f"unequal budgets: {most.label} searched {most.trials} trials and {least.label} {least.trials}; extend "
                "the shorter searches with --trials"
            )


class OtherRows(Check):
    """Speaks where rows of the table were scored on other test rows than their baseline, so that nothing is paired."""

    code, title, scope = "ZSP302", "scored on other test rows", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line where test rows differ."""
        with_rows = [row for row in facts.rows if row.rows is not None]
        sets = {row.rows for row in with_rows}
        if len(sets) > 1:
            yield (
                f"{len(sets)} different sets of test rows are in the table; other rows than most were scored by "
                f"{_named(_minority(with_rows, 'rows'))}; such differences have no interval"
            )


class OtherData(Check):
    """Speaks where rows of one data set's table were computed on other content of it, by fingerprint."""

    code, title, scope = "ZSP303", "computed on other data", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line where fingerprints differ."""
        fingerprinted = [row for row in facts.rows if row.data]
        if len({row.data for row in fingerprinted}) > 1:
            yield (
                f"the data has changed between rows; computed on other content than most: "
                f"{_named(_minority(fingerprinted, 'data'))}"
            )


class MixedCode(Check):
    """Speaks where a row's numbers were not all computed by one version of its code."""

    code, title, scope = "ZSP304", "code of several versions", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line for each mark, with its rows."""
        for mark in sorted({row.code for row in facts.rows if row.code}):
            yield f"code: {mark}: {_named([row for row in facts.rows if row.code == mark])}"


class SlowerWithoutGain(Check):
    """Speaks where a row takes 10 times as long as its baseline, and is not ahead of it.

    Times of one evaluation vary by up to a factor of 3 on a machine that does other things as well, so that a ratio of
    two times is uncertain by a factor of 9 at worst; differences below a second are of no interest to anybody.
    """

    code, title, scope = "ZSP305", "slower without gain", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line for each such row."""
        by_label = {row.label: row for row in facts.rows}
        for row in facts.rows:
            other = by_label.get(row.baseline)
            if other is None or other is row or not row.seconds or not other.seconds or row.verdict == AHEAD:
                continue
            slower = row.seconds > MUCH_SLOWER * other.seconds and row.seconds - other.seconds > SLOWER_BY_SECONDS
            if slower:
                yield (
                    f"{row.label} takes {row.seconds / other.seconds:.0f} times as long as {other.label} "
                    f"({row.seconds:.3g} s, {other.seconds:.3g} s) and is not ahead of it"
                    + (f": {row.verdict}" if row.verdict else "")
                )


class TransductiveBesideInductive(Check):
    """Speaks where methods that score a batch jointly stand beside methods that see one row at a time."""

    code, title, scope = "ZSP306", "transductive beside inductive", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line where both kinds are there."""
        joint = [row for row in facts.rows if row.knows is not None and TRANSDUCTIVE in row.knows.split(", ")]
        single = [row for row in facts.rows if row.knows is not None and row not in joint]
        if joint and single:
            yield (
                f"the rows of the test batch are scored jointly (transductive) by {_named(joint)}, one by one by the "
                "others, which are asked another question"
            )


class KnowsClassBalance(Check):
    """Speaks where methods that are told the class balance of the test batch stand beside methods that are not."""

    code, title, scope = "ZSP307", "prior knowledge of the class balance", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line where some know it."""
        informed = [row for row in facts.rows if row.knows is not None and CLASS_BALANCE in row.knows.split(", ")]
        if informed and len(informed) < len(facts.rows):
            yield (
                f"the class balance of the test batch is known to, or assumed by, {_named(informed)}, and not by "
                "the others"
            )


class FromMemory(Check):
    """Speaks where a method was written down without its source at hand: losing to it or beating it proves little."""

    code, title, scope = "ZSP308", "methods written from memory", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line that names them."""
        rows = [row for row in facts.rows if row.from_memory]
        if rows:
            yield f"written from memory, without the source at hand: {_named(rows)}; docstrings say what is unsure"


class ManyLooks(Check):
    """Speaks where the test split was scored 25 times or more with hyperparameters that no validation had chosen.

    Those are single runs on the test split and the points of sweeps. The largest of 25 independent standard normal
    numbers is expected at 1.97: the best of 25 looks without content lies at the upper end of the 95 % interval of one.
    """

    code, title, scope = "ZSP309", "many looks at the test split", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line where there were many."""
        if facts.looks >= MANY_LOOKS:
            yield (
                f"this test split was scored {facts.looks} times with hyperparameters that no validation had chosen: "
                "a number "
                "that was chosen among them is too good"
            )


class SamePredictions(Check):
    """Speaks where several rows agree on the label of every test row: one result stands there several times."""

    code, title, scope = "ZSP310", "the same predictions", "comparison"

    def find(self, facts: ComparisonFacts) -> Iterable[str]:
        """Yield a line for each set of such rows."""
        by_labels: dict[tuple[str | None, str], list[RowFacts]] = {}
        for row in facts.rows:
            if row.labels:
                by_labels.setdefault((row.rows, row.labels), []).append(row)
        for rows in by_labels.values():
            if len(rows) > 1:
                yield (
                    f"{_named(rows)}: the {'two' if len(rows) == 2 else len(rows)} methods give the same label on "
                    f"every test row: one result that is shown {len(rows)} times"
                )


def _minority(rows: Sequence[RowFacts], name: str) -> list[RowFacts]:
    """Return the rows whose value is not the most frequent one."""
    values = [getattr(row, name) for row in rows]
    usual = max(dict.fromkeys(values), key=values.count)
    return [row for row in rows if getattr(row, name) != usual]


def _named(rows: Sequence[RowFacts]) -> str:
    labels = [row.label for row in rows]
    return ", ".join(labels[:4]) + (f" and {len(labels) - 4} more" if len(labels) > 4 else "")


DONE = "done"


class UnequalBudgetsInSuite(Check):
    """Speaks where rows of one data set and task had budgets that differ by more than a quarter; as ZSP301."""

    code, title, scope = "ZSP401", "unequal budgets across rows", "suite"

    def find(self, facts: SuiteFacts) -> Iterable[str]:
        """Yield a line for each task and pair of unequal budgets, whatever the number of data sets that have it."""
        places: dict[str, list[str]] = {}
        for place in dict.fromkeys((cell.data, cell.task) for cell in facts.cells):
            tuned = [
                (cell.trials, cell.row)
                for cell in facts.cells
                if (cell.data, cell.task) == place and cell.status == DONE and cell.trials and cell.trials > 1
            ]
            if tuned and max(tuned)[0] > MOST_UNEQUAL * min(tuned)[0]:
                (most, row), (least, other) = max(tuned), min(tuned)
                text = f"task {place[1]}: {row} searched {most} trials and {other} {least}"
                places.setdefault(text, []).append(place[0])
        for text, data in places.items():
            more = f" and {len(data) - 1} more" if len(data) > 1 else ""
            yield f"unequal budgets on {data[0]}{more}, {text}"


class MissingCells(Check):
    """Speaks where cells of the grid have no number: means over data sets compare unlike things then."""

    code, title, scope = "ZSP402", "missing cells", "suite"

    def find(self, facts: SuiteFacts) -> Iterable[str]:
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

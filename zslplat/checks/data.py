"""Checks of a data set: columns that give the class away, rows on both sides of a test, signatures that tell little."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zslplat.checks.base import Check, DataFacts

MOST_CONSTANT, LARGEST_BEYOND = 0.5, 0.01
_Pairs = tuple[tuple[str, str], ...]


class GoldenFeature(Check):
    """Speaks where a single column nearly tells the class of every row, seen and unseen, or numbers the rows.

    A column tells the class where, of 4 classes or more, the nearest other row in that column alone is of the same
    class for 90 % of the rows of a class on average. Normal classes in a line, 4 or 20 of them, reach that at a
    distance of 3.6 standard deviations from each to the next, where .94 of the column's variance lies between classes,
    and more than .99 for more than 9 classes: no natural feature is so. A column numbers the rows where it rises or
    falls from each row to the next; n rows in random order do so in 2 of n! cases.
    """

    code, title, scope = "ZSP501", "a golden feature", "data"

    def found(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for columns that tell, and one for columns that number."""
        if facts.telling:
            best = max(facts.telling, key=lambda column: column.value)
            more = f" (and {len(facts.telling) - 1} more columns)" if len(facts.telling) > 1 else ""
            yield (
                f"{facts.subject}: {best.name} alone tells the class of {best.value:.0%} of the rows{more}: take it "
                "out, unless it is meant"
            )
        if facts.numbering:
            more = f" (and {len(facts.numbering) - 1} more columns)" if len(facts.numbering) > 1 else ""
            yield f"{facts.subject}: {facts.numbering[0]}{more} numbers the rows: an identifier is no feature"


class RepeatedRows(Check):
    """Speaks where rows outside of training are equal to training rows in every number.

    One in a hundred is the threshold: fewer cannot move an accuracy by more than .01, about the least difference that
    500 rows tell apart from none.
    """

    code, title, scope = "ZSP502", "rows on both sides of the test", "data"

    def found(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line that counts them."""
        if facts.test_rows and facts.repeated > 0.01 * facts.test_rows:
            yield (
                f"{facts.subject}: {facts.repeated} of {facts.test_rows} test rows are equal to a training row, or to "
                "one of another fold: what is recognised may be memorised"
            )


class ConstantColumns(Check):
    """Speaks where most columns do not vary in training, or columns that do not vary there matter in the test.

    Columns that are constant in training and in the test do no harm (the corners of images), so they are named only
    where they are more than half of all. Those that vary in the test carry the share of the test rows' squared
    deviation that they have: above 1 % distances to test rows are moved by what no training row has shown.
    """

    code, title, scope = "ZSP503", "columns that do not vary in training", "data"

    def found(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line where they are many, or matter."""
        if facts.columns and facts.constant > MOST_CONSTANT * facts.columns:
            yield f"{facts.subject}: {facts.constant} of {facts.columns} columns do not vary over the training rows"
        elif facts.beyond > LARGEST_BEYOND:
            yield (
                f"{facts.subject}: {facts.constant} columns do not vary over the training rows, and hold "
                f"{facts.beyond:.1%} of the test rows' squared deviation"
            )


class SameSignatures(Check):
    """Speaks where two classes of one side have the same signature, so that no method can tell them apart by it."""

    code, title, scope = "ZSP504", "classes with the same signature", "data"

    def found(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each set of signatures with such classes."""
        yield from _said(facts, facts.alike, "pairs of classes have the same signature")


class SignatureSeenBefore(Check):
    """Speaks where an unseen class has the signature of a seen one: its rows are told from that class by nothing."""

    code, title, scope = "ZSP505", "an unseen class with the signature of a seen one", "data"

    def found(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each set of signatures with such classes."""
        yield from _said(facts, facts.across, "pairs of a seen and an unseen class have the same signature")


class UnshownAttributes(Check):
    """Speaks where unseen classes differ in dimensions of the signatures that all seen classes have in common.

    What such a dimension looks like no training row has shown. It is named where it matters: above 1 % of the unseen
    classes' squared deviation from the seen classes' mean, as for columns.
    """

    code, title, scope = "ZSP506", "attributes that do not vary over the seen classes", "data"

    def found(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each set of signatures with such dimensions."""
        for name, unshown in facts.unshown.items():
            if unshown.beyond > LARGEST_BEYOND:
                yield (
                    f"{_of_signatures(facts, name)}: {unshown.count} of {unshown.of} dimensions do not vary over the "
                    f"seen classes, and hold {unshown.beyond:.1%} of the unseen classes' squared deviation"
                )


class DoublePrecision(Check):
    """Speaks where rows are float64 since float32 would lose values of a column (:mod:`zslplat.data.precision`)."""

    code, title, scope = "ZSP514", "rows that need float64", "data"

    def found(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line with a column and what would become of it."""
        if facts.narrowed:
            yield (
                f"{facts.subject}: rows are float64, twice the size of float32, which would change them "
                f"({facts.narrowed}); subtract what all numbers of the column have in common, or leave it out if it is "
                "an identifier"
            )


def _of_signatures(facts: DataFacts, name: str) -> str:
    return f"{facts.subject}, signatures {name!r}" if name else facts.subject


def _said(facts: DataFacts, found: Mapping[str, _Pairs], what: str) -> Iterable[str]:
    for name, pairs in found.items():
        yield f"{_of_signatures(facts, name)}: {len(pairs)} {what}, first {pairs[0][0]!r} and {pairs[0][1]!r}"

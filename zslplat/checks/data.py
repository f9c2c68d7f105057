"""Checks of a data set: what gives the class away, what says nothing, and what stands for missing numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zslplat.checks.base import Check
from zslplat.checks.facts import DataFacts
from zslplat.names import counted

MOST_CONSTANT, LARGEST_BEYOND = 0.2, 0.01
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

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for columns that tell, and one for columns that number."""
        if facts.revealing:
            best = max(facts.revealing, key=lambda column: column.value)
            more = f" (and {len(facts.revealing) - 1} more columns)" if len(facts.revealing) > 1 else ""
            yield (
                f"{facts.subject}: {best.name} alone tells the class of {best.value:.0%} of the rows{more}: take it "
                "out, unless it is meant"
            )
        if facts.row_numbering:
            more = f" (and {len(facts.row_numbering) - 1} more columns)" if len(facts.row_numbering) > 1 else ""
            yield f"{facts.subject}: {facts.row_numbering[0]}{more} numbers the rows: an identifier is no feature"


class RepeatedRows(Check):
    """Speaks where rows outside of training are equal to training rows in every number.

    One in a hundred is the threshold: fewer cannot move an accuracy by more than .01, about the least difference that
    500 rows tell apart from none. Rows of one number throughout are left to ZSP512.
    """

    code, title, scope = "ZSP502", "rows on both sides of the test", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line that counts them."""
        if facts.test_rows and facts.repeated_rows > 0.01 * facts.test_rows:
            yield (
                f"{facts.subject}: {facts.repeated_rows} of {facts.test_rows} rows of tests and validation are equal "
                "to a "
                "training row, or to one of another fold: what is recognised may be memorised"
            )


class ConstantColumns(Check):
    """Speaks where most columns do not vary in training, or columns that do not vary there matter in the test.

    Columns that are constant in training and in the test do no harm (the corners of images), so they are named only
    where they are more than a fifth of all: 5 % of the pixels of ``digits`` are so, 9 % of those of MNIST. Those that
    vary in the test carry the share of the test rows' squared deviation that they have: above 1 % distances to test
    rows are moved by what no training row has shown.
    """

    code, title, scope = "ZSP503", "columns that do not vary in training", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line where they are many, or matter."""
        if facts.columns and facts.constant_columns > MOST_CONSTANT * facts.columns:
            yield (
                f"{facts.subject}: {facts.constant_columns} of {facts.columns} columns do not vary over the training "
                "rows"
            )
        elif facts.deviation_share > LARGEST_BEYOND:
            yield (
                f"{facts.subject}: {facts.constant_columns} columns do not vary over the training rows, and hold "
                f"{facts.deviation_share:.1%} of the test rows' squared deviation"
            )


class SameSignatures(Check):
    """Speaks where two classes of one side have the same signature, so that no method can tell them apart by it."""

    code, title, scope = "ZSP504", "classes with the same signature", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each set of signatures with such classes."""
        yield from _pair_lines(facts, facts.equal_within, "of classes with the same signature")


class SignatureSeenBefore(Check):
    """Speaks where an unseen class has the signature of a seen one: nothing tells its rows from those of that class."""

    code, title, scope = "ZSP505", "an unseen class with the signature of a seen one", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each set of signatures with such classes."""
        yield from _pair_lines(facts, facts.equal_across, "of a seen and an unseen class with the same signature")


class UnshownAttributes(Check):
    """Speaks where unseen classes differ in dimensions of the signatures that all seen classes have in common.

    What such a dimension looks like no training row has shown. It is named where it matters: above 1 % of the unseen
    classes' squared deviation from the seen classes' mean, as for columns.
    """

    code, title, scope = "ZSP506", "attributes that do not vary over the seen classes", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each set of signatures with such dimensions."""
        for name, unshown in facts.constant_dimensions.items():
            if unshown.deviation_share > LARGEST_BEYOND:
                yield (
                    f"{_of_signatures(facts, name)}: {unshown.count} of {unshown.of} dimensions do not vary over the "
                    f"seen classes, and hold {unshown.deviation_share:.1%} of the unseen classes' squared deviation"
                )


class Disagreements(Check):
    """Speaks where the files of a data set state something in two ways, and none of them could leak."""

    code, title, scope = "ZSP507", "files that disagree", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each disagreement."""
        yield from (f"{facts.subject}: {disagreement}" for disagreement in facts.disagreements)


class RowsInNoSplit(Check):
    """Speaks where rows with a label are in no split, though other rows of their classes are, or none is.

    One is enough: splits are written by programs, and those of the published sets hold every row.
    """

    code, title, scope = "ZSP508", "rows in no split", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line that counts them by what their classes are."""
        if facts.rows_in_no_split:
            kinds = ", ".join(f"{count} of classes {kind}" for kind, count in facts.rows_in_no_split.items())
            yield (
                f"{facts.subject}: {sum(facts.rows_in_no_split.values())} of {facts.rows} rows are in no split: {kinds}"
            )


class ClassesWithoutRows(Check):
    """Speaks where a class has a signature and no row: it is never trained on and never tested."""

    code, title, scope = "ZSP509", "signatures of classes without rows", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line that counts them."""
        if facts.classes_without_rows:
            yield (
                f"{facts.subject}: {len(facts.classes_without_rows)} of {facts.classes} classes have a signature and "
                "no row, first "
                f"{facts.classes_without_rows[0]!r}"
            )


class BlankSignatures(Check):
    """Speaks where a signature is zero throughout: nothing is known of its class, and all its scores are equal."""

    code, title, scope = "ZSP510", "signatures of zeros", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each set of signatures with such classes."""
        for name, classes in facts.zero_signatures.items():
            yield (
                f"{_of_signatures(facts, name)}: {len(classes)} of {facts.classes} classes have a signature of zeros, "
                f"first {classes[0]!r}: such a class is described by nothing"
            )


class SentinelsInSignatures(Check):
    """Speaks where a number that files write for missing ones is taken for a value of an attribute.

    It is one of -1, -9, -99, ..., 999, 9999 that is the only negative number of the signatures, in less than a quarter
    of the places; or that lies further from the next number than all others lie apart, which no natural distribution of
    more than a few numbers does. Signatures that were divided by their norm since hold other numbers in its place: then
    at most one number in a hundred is negative, and each row has one such number.
    """

    code, title, scope = "ZSP511", "a stand-in for missing attributes", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each set of signatures with such numbers."""
        for name, one in facts.sentinels.items():
            description = f"{one.value:g}, unlike all others, first"
            if one.value != round(one.value):
                description = f"negative, and equal in each signature, first {one.value:.3g}"
            yield (
                f"{_of_signatures(facts, name)}: {one.count} of {one.of} numbers are {description} of {one.first!r}: "
                "where it "
                "stands for a missing number, methods take it for a value"
            )


class FlatRows(Check):
    """Speaks where rows of 8 columns or more hold one number throughout: zeros, most often, for what was not measured.

    One is enough. Eight numbers that are drawn on their own are seldom the same: were each 0 in half of the rows, one
    row in 256 would be all zero.
    """

    code, title, scope = "ZSP512", "rows of one number", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line that counts them."""
        if facts.uniform_rows:
            yield (
                f"{facts.subject}: {facts.uniform_rows} of {facts.rows} rows hold one number throughout, "
                f"{facts.zero_rows} of them "
                "0: features that were not measured are no features; leave these rows out"
            )


class FaintColumns(Check):
    """Speaks where the squares of all numbers of a column are too small for their type to hold.

    That is below 1.1e-19 in float32 and 1.5e-154 in float64, and so for all denormal numbers: norms, variances and
    distances take such a column for zeros, and denormal numbers slow the processor down.
    """

    code, title, scope = "ZSP513", "numbers too small to compute with", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line that counts the columns."""
        if facts.tiny_columns:
            yield (
                f"{facts.subject}: in {facts.tiny_columns} of {facts.columns} columns all numbers are so small that "
                "their "
                "squares vanish: give them in another unit"
            )


class DoublePrecision(Check):
    """Speaks where rows are float64, since float32 would lose values of a column."""

    code, title, scope = "ZSP514", "rows that need float64", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line with a column and what would become of it."""
        if facts.float32_loss:
            yield (
                f"{facts.subject}: rows are float64, twice the size of float32, which would change them "
                f"({facts.float32_loss}); subtract what all numbers of the column have in common, or leave it out if "
                "it is "
                "an identifier"
            )


class SeenInPretraining(Check):
    """Speaks where unseen classes were in the pre-training of the encoder of the features, by the feature card.

    One is enough: such a class is not unseen. Uncertain matches of names alone are no reason to speak. Where the card
    names a pre-training without a list of classes, how many there were is not known, and that is said.
    """

    code, title, scope = "ZSP515", "unseen classes in the pre-training", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for each feature set with such classes."""
        yield from (f"{facts.subject}: {one.line}" for one in facts.exposures if one.seen or one.seen is None)


class FarValues(Check):
    """Speaks where one number of a column lies as far from all others as a hundred times the range of these.

    Half of the column's numbers must differ, so that sparse columns are left out. Of normal numbers none is so far; of
    Cauchy's, whose tails are the heaviest in use, one column in fifty is.
    """

    code, title, scope = "ZSP516", "a number far from all others", "data"

    def find(self, facts: DataFacts) -> Iterable[str]:
        """Yield a line for the first, and how many columns have one."""
        if facts.far_values:
            more = f" (and {counted(len(facts.far_values) - 1, 'more column')})" if len(facts.far_values) > 1 else ""
            yield f"{facts.subject}: {facts.far_values[0]}{more}"


def _of_signatures(facts: DataFacts, name: str) -> str:
    return f"{facts.subject}, signatures {name!r}" if name else facts.subject


def _pair_lines(facts: DataFacts, pairs_by_set: Mapping[str, _Pairs], relation: str) -> Iterable[str]:
    for name, pairs in pairs_by_set.items():
        what = f"{counted(len(pairs), 'pair')} {relation}, first {pairs[0][0]!r} and {pairs[0][1]!r}"
        yield f"{_of_signatures(facts, name)}: {what}"

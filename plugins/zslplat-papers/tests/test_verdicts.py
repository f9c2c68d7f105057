"""Verdicts follow from intervals: each is reached by a made case, and none by another."""

import numpy as np
import pytest

from zslplat import statistics
from zslplat.comparison.classes import class_verdict
from zslplat.statistics import NOT_ENOUGH
from zslplat_papers.published.table import Cell, parse_printed
from zslplat_papers.reproduction.verdicts import (
    ABOVE,
    BELOW,
    CANNOT_TELL,
    CLASSES,
    CONFIRMED,
    HOLDS,
    HOLDS_NOT,
    NOT_TESTED,
    Contrast,
    Estimate,
    cell_verdict,
    claim_verdict,
    contrast_verdict,
)


@pytest.mark.parametrize(
    ("printed", "ours", "expected"),
    [
        (0.70, Estimate(0.71, 0.69, 0.73), CONFIRMED),
        (0.69, Estimate(0.71, 0.69, 0.73), CONFIRMED),  # the ends belong to the interval
        (0.60, Estimate(0.71, 0.69, 0.73), ABOVE),
        (0.80, Estimate(0.71, 0.69, 0.73), BELOW),
        (0.70, Estimate(0.71, 0.50, 0.92), CANNOT_TELL),
        (0.40, Estimate(0.71, 0.50, 0.92), ABOVE),  # a wide interval may still leave a number out
        (0.95, Estimate(0.71, 0.50, 0.92), BELOW),
        (0.70, Estimate(0.71), CANNOT_TELL),
        (0.70, None, CANNOT_TELL),
        (None, Estimate(0.71, 0.69, 0.73), CANNOT_TELL),
    ],
)
def test_a_printed_number_is_judged_by_our_interval(printed, ours, expected):
    assert cell_verdict(printed, ours).verdict == expected


@pytest.mark.parametrize(
    ("printed", "low", "expected"),
    [("53.4", 0.5344, CONFIRMED), ("53.4", 0.5346, ABOVE), ("53.40", 0.5344, ABOVE), ("53 ± 1.75", 0.5346, CONFIRMED)],
)
def test_a_printed_number_stands_for_all_that_are_rounded_to_it(printed, low, expected):
    cell = Cell("row", "column", printed, *parse_printed(printed))
    ours = Estimate(low + 0.01, low, low + 0.02)
    assert cell_verdict(cell.value / 100, ours, rounding=cell.rounding / 100).verdict == expected
    mirrored = Estimate(-low - 0.01, -low - 0.02, -low)
    found = cell_verdict(-cell.value / 100, mirrored, rounding=cell.rounding / 100).verdict
    assert found == (BELOW if expected == ABOVE else expected)


def test_counts_and_missing_numbers_are_not_rounded():
    assert [Cell("row", "column", text, *parse_printed(text)).rounding for text in ("4/5", "-", "")] == [0, 0, 0]


def test_an_interval_of_which_one_end_is_unknown_tells_nothing():
    nan = float("nan")
    for low, high in ((nan, nan), (0.4, nan), (nan, 0.5)):
        assert cell_verdict(0.482, Estimate(0.482, low, high)).verdict == CANNOT_TELL
        assert contrast_verdict(Contrast("a", 0.1, low, high, "", 10)).verdict == CANNOT_TELL


def test_a_number_that_is_no_share_is_judged_in_parts_of_itself():
    close, wide = Estimate(130.0, 120.0, 140.0), Estimate(130.0, 80.0, 180.0)
    assert cell_verdict(131.6, close, share=False).verdict == CONFIRMED
    assert cell_verdict(131.6, wide, share=False).verdict == CANNOT_TELL


@pytest.mark.parametrize(("classes", "expected"), [(5, CANNOT_TELL), (6, HOLDS), (None, HOLDS)])
def test_claims_and_comparisons_have_one_rule_for_few_classes(classes, expected):
    found = contrast_verdict(Contrast("a - b", 0.1, 0.05, 0.15, "new classes", classes))
    assert found.verdict == expected
    assert (NOT_ENOUGH in found.why) == (expected == CANNOT_TELL)
    values = np.linspace(0.05, 0.15, classes or 6)
    gap = statistics.Estimate(0.1, 0.01, len(values) - 1, len(values))
    assert (class_verdict(gap, 0.01) == NOT_ENOUGH) == (expected == CANNOT_TELL)


def test_other_data_are_never_compared():
    found = cell_verdict(0.70, Estimate(0.70, 0.69, 0.71), differs="other features")
    assert (found.verdict, found.why) == (CANNOT_TELL, "other features")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.01, 0.05, HOLDS),
        (-0.05, -0.01, HOLDS_NOT),
        (-0.02, 0.005, HOLDS_NOT),  # no room for a lead worth the name
        (-0.02, 0.05, CANNOT_TELL),
        (None, None, CANNOT_TELL),
        (float("nan"), float("nan"), CANNOT_TELL),
    ],
)
def test_a_difference_bears_a_claim_out_by_its_interval(low, high, expected):
    assert contrast_verdict(Contrast("digits", 0.01, low, high)).verdict == expected


UP, DOWN, OPEN = (Contrast("a", 0.03, 0.01, 0.05), Contrast("b", -0.03, -0.05, -0.01), Contrast("c", 0.0, -0.1, 0.1))


@pytest.mark.parametrize(
    ("contrasts", "expected"),
    [
        ([UP], HOLDS),
        ([UP, UP, OPEN], HOLDS),
        ([UP, OPEN], CANNOT_TELL),  # one of two may be chance
        ([DOWN, DOWN, OPEN], HOLDS_NOT),
        ([DOWN, OPEN], CANNOT_TELL),
        ([UP, DOWN], CANNOT_TELL),
        ([OPEN, OPEN], CANNOT_TELL),
        ([], NOT_TESTED),
    ],
)
def test_a_claim_is_judged_by_all_its_differences(contrasts, expected):
    assert claim_verdict(contrasts, missing="features").verdict == expected


def test_a_claim_without_a_test_says_what_is_missing():
    assert claim_verdict([], missing="features of FMD").why == "features of FMD"


@pytest.mark.parametrize(
    ("contrasts", "expected"),
    [([UP, UP], HOLDS), ([UP, UP, OPEN], CANNOT_TELL), ([UP, UP, DOWN], HOLDS_NOT)],
)
def test_where_every_difference_counts_one_decides(contrasts, expected):
    assert claim_verdict(contrasts, every=True).verdict == expected


def test_one_of_many_refutes_a_claim_about_all_of_them_only_beyond_chance():
    # Eleven classes: t(10) is 2.228 at both ends of the interval, the bound of a lead .01.
    error = 0.02
    far, near = (0.01 - times * error for times in (4.0, 2.5))
    for difference, p in ((far, 0.00126), (near, 0.01571)):
        refuted = Contrast("x", difference, difference - 2.228 * error, difference + 2.228 * error, CLASSES, 11)
        assert contrast_verdict(refuted).verdict == HOLDS_NOT
        for others in range(25):
            # Bonferroni: the one-sided p-value over all differences, held to half of 5 %.
            expected = HOLDS_NOT if p * (others + 1) < 0.025 else CANNOT_TELL
            assert claim_verdict([refuted, *[UP] * others], every=True).verdict == expected, (difference, others)
    found = claim_verdict([refuted, *[UP] * 9], every=True)
    assert "does not hold in 1, open in 0 of 10 differences: of so many some are refuted by chance" in found.why
    # What was not carried out is of the family, too.
    assert claim_verdict([refuted], every=True, absent=1).verdict == CANNOT_TELL
    # Most refuted and none borne out needs no correction.
    assert claim_verdict([refuted] * 9, every=True).verdict == HOLDS_NOT
    # What is exactly level, class by class, has no spread to judge other classes by.
    same = Contrast("x", 0.0, 0.0, 0.0, CLASSES, 11)
    assert contrast_verdict(same).verdict == contrast_verdict(same, level=True).verdict == CANNOT_TELL
    assert claim_verdict([same, *[UP] * 9], every=True).verdict == CANNOT_TELL


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-0.01, 0.05, HOLDS), (-0.01, -0.005, HOLDS), (-0.05, -0.03, HOLDS_NOT), (-0.05, 0.05, CANNOT_TELL)],
)
def test_level_means_not_behind_by_more_than_a_margin(low, high, expected):
    assert contrast_verdict(Contrast("digits", 0.0, low, high), 0.02, level=True).verdict == expected


def test_differences_that_were_not_carried_out_are_open():
    assert claim_verdict([UP], every=True, absent=1).verdict == CANNOT_TELL
    assert claim_verdict([UP], absent=1).verdict == CANNOT_TELL
    assert claim_verdict([UP, UP], absent=1).verdict == HOLDS
    assert "open in 1 of 2 differences, 1 of them not carried out" in claim_verdict([UP], absent=1).why

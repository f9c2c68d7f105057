"""Verdicts follow from intervals: each is reached by a made case, and none by another."""

import numpy as np
import pytest

from zslplat.statistics import DIFFERS, NOT_ENOUGH, estimate_mean
from zslplat_papers.published.table import Cell, parse_printed
from zslplat_papers.reproduction.verdicts import (
    ABOVE,
    BELOW,
    CLASSES,
    CONFIRMED,
    EXACT,
    HOLDS,
    HOLDS_NOT,
    NOT_COMPARED,
    SEEDS,
    Contrast,
    Evidence,
    Measured,
    cell_verdict,
    claim_verdicts,
    contrast_verdict,
    mean_difference,
)


@pytest.mark.parametrize(
    ("printed", "ours", "expected"),
    [
        (0.70, Measured(0.71, 0.69, 0.73), CONFIRMED),
        (0.69, Measured(0.71, 0.69, 0.73), CONFIRMED),  # the ends belong to the interval
        (0.60, Measured(0.71, 0.69, 0.73), ABOVE),
        (0.80, Measured(0.71, 0.69, 0.73), BELOW),
        (0.70, Measured(0.71, 0.50, 0.92), NOT_ENOUGH),
        (0.40, Measured(0.71, 0.50, 0.92), ABOVE),  # a wide interval may still leave a number out
        (0.95, Measured(0.71, 0.50, 0.92), BELOW),
        (0.70, Measured(0.71), NOT_ENOUGH),
        (0.70, None, NOT_COMPARED),
        (None, Measured(0.71, 0.69, 0.73), NOT_COMPARED),
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
    ours = Measured(low + 0.01, low, low + 0.02)
    assert cell_verdict(cell.value / 100, ours, rounding=cell.rounding / 100).verdict == expected
    mirrored = Measured(-low - 0.01, -low - 0.02, -low)
    found = cell_verdict(-cell.value / 100, mirrored, rounding=cell.rounding / 100).verdict
    assert found == (BELOW if expected == ABOVE else expected)


def test_counts_and_missing_numbers_are_not_rounded():
    assert [Cell("row", "column", text, *parse_printed(text)).rounding for text in ("4/5", "-", "")] == [0, 0, 0]


def test_an_interval_of_which_one_end_is_unknown_tells_nothing():
    nan = float("nan")
    for low, high in ((nan, nan), (0.4, nan), (nan, 0.5)):
        assert cell_verdict(0.482, Measured(0.482, low, high)).verdict == NOT_ENOUGH
        assert contrast_verdict(Contrast("a", 0.1, low, high, "", 10)) == NOT_ENOUGH


def test_a_number_that_is_no_share_is_judged_in_parts_of_itself():
    close, wide = Measured(130.0, 120.0, 140.0), Measured(130.0, 80.0, 180.0)
    assert cell_verdict(131.6, close, share=False).verdict == CONFIRMED
    assert cell_verdict(131.6, wide, share=False).verdict == NOT_ENOUGH


def test_other_data_are_never_compared():
    found = cell_verdict(0.70, Measured(0.70, 0.69, 0.71), differs="other features")
    assert (found.verdict, found.why) == (NOT_COMPARED, "other features")


def contrast(data, difference, reach, classes=None):
    over = CLASSES if classes else SEEDS
    return Contrast(f"{data}: a - b", difference, difference - reach, difference + reach, over, classes)


@pytest.mark.parametrize(
    ("difference", "reach", "expected"),
    [
        (0.03, 0.02, HOLDS),
        (-0.03, 0.02, HOLDS_NOT),
        (0.005, 0.014, HOLDS_NOT),  # equal: no lead that matters
        (0.005, 0.016, NOT_ENOUGH),
        (-0.03, 0.05, NOT_ENOUGH),
    ],
)
def test_a_difference_on_one_data_set_is_ahead_behind_or_equal_within_the_margin(difference, reach, expected):
    assert contrast_verdict(contrast("a", difference, reach)) == expected


@pytest.mark.parametrize(("difference", "expected"), [(-0.005, HOLDS), (0.1, HOLDS), (-0.04, HOLDS_NOT)])
def test_a_claim_to_be_level_is_tested_against_minus_the_margin_alone(difference, expected):
    assert contrast_verdict(contrast("a", difference, 0.014), level=True) == expected
    assert contrast_verdict(contrast("a", -0.02, 0.014), level=True) == NOT_ENOUGH


@pytest.mark.parametrize(("classes", "expected"), [(5, NOT_ENOUGH), (6, HOLDS), (None, HOLDS)])
def test_fewer_than_six_classes_have_no_part_in_a_verdict(classes, expected):
    assert contrast_verdict(contrast("a", 0.1, 0.05, classes)) == expected


def test_classes_that_are_all_alike_bound_what_others_are():
    alike = contrast("a", 0.1, 0.0, 20)
    assert alike.ends == pytest.approx(estimate_mean(np.full(20, 0.1)).ends)
    assert alike.ends[0] < 0.1 < alike.ends[1]


def test_exact_numbers_are_compared_as_they_are():
    assert contrast_verdict(Contrast("a: x - y", 1e-4, -1.0, 1.0, EXACT, 5), 0.0) == HOLDS
    assert contrast_verdict(Contrast("a: x - y", -1e-4, -1.0, 1.0, EXACT, 5), 0.0) == HOLDS_NOT


def simulated(effects, errors, simulations, seed=0):
    """Return estimates (simulations, k) of the effects (k,)."""
    noise = np.random.default_rng(seed).standard_normal((simulations, len(effects)))
    return np.asarray(effects) + np.asarray(errors) * noise


@pytest.mark.parametrize("effects", [(0.0, 0.0), (0.05, 0.05, 0.05), (0.0, 0.1), (-0.05, 0.0, 0.1, 0.15)])
def test_the_error_of_the_mean_is_its_error_over_the_same_data_sets_whatever_differs_between_them(effects):
    errors = np.array([0.01, 0.03, 0.02, 0.01])[: len(effects)]
    target = np.average(effects, weights=errors**-2.0)
    means = [
        mean_difference([contrast(str(i), d, 1.96 * s) for i, (d, s) in enumerate(zip(row, errors, strict=True))])
        for row in simulated(effects, errors, 700)
    ]
    inside = np.mean([low <= target <= high for low, high in (mean.ends for mean in means)])
    assert 0.92 < inside < 0.98


def test_the_mean_has_the_weights_of_precision():
    mean = mean_difference([contrast("a", 0.05, 0.0196), contrast("b", 0.06, 0.196)])
    weights = np.array([1e4, 1e2])
    assert mean.difference == pytest.approx(np.average([0.05, 0.06], weights=weights), rel=1e-3)
    assert mean.pooled.error == pytest.approx(weights.sum() ** -0.5, rel=1e-3)
    assert mean.new_ends[0] < mean.ends[0] < mean.ends[1] < mean.new_ends[1]


def test_data_sets_that_show_the_same_images_count_once():
    twice = mean_difference([contrast("AWA1 proposed", 0.05, 0.04), contrast("AWA1 standard", 0.05, 0.04)])
    once = mean_difference([contrast("AWA1 proposed", 0.05, 0.04)])
    assert (twice.pooled.error, twice.pooled.data_sets) == (once.pooled.error, 1)
    assert twice.difference == once.difference


UP, DOWN, OPEN = contrast("u", 0.05, 0.02), contrast("d", -0.05, 0.02), contrast("o", 0.0, 0.1)
UNLIKE = contrast("v", 0.2, 0.02)


def verdict(*comparisons, **more):
    """Return the verdict on one claim about all of several comparisons."""
    return claim_verdicts([Evidence(tuple(mean_difference(list(own)) for own in comparisons), **more)])[0]


@pytest.mark.parametrize(
    ("contrasts", "expected"),
    [
        ([UP], HOLDS),
        ([UP, OPEN], HOLDS),
        ([UP, UNLIKE], HOLDS),  # by how much differs, but not which way
        ([DOWN, OPEN], HOLDS_NOT),
        ([UP, DOWN], DIFFERS),
        ([DOWN, UNLIKE], DIFFERS),  # their mean is ahead, but one of them is behind
        ([OPEN], NOT_ENOUGH),
    ],
)
def test_a_claim_is_judged_by_the_mean_over_its_data_sets_and_by_what_differs_between_them(contrasts, expected):
    assert verdict(contrasts).verdict == expected


def test_opposite_differences_that_cancel_are_not_equal():
    near = [contrast("a", 0.03, 0.005), contrast("b", -0.03, 0.005)]
    assert abs(mean_difference(near).difference) < 0.001
    assert verdict(near).verdict == DIFFERS
    within = [contrast("a", 0.01, 0.005), contrast("b", -0.01, 0.005)]
    assert verdict(within).verdict == HOLDS_NOT


def test_a_claim_about_all_its_comparisons_needs_each_and_fails_by_one():
    assert verdict([UP], [UNLIKE]).verdict == HOLDS
    assert verdict([UP], [OPEN]).verdict == NOT_ENOUGH
    assert verdict([UP], [DOWN]).verdict == HOLDS_NOT
    assert verdict([UP], without=("c - d: not carried out",)).verdict == NOT_ENOUGH
    assert verdict([DOWN], without=("c - d: not carried out",)).verdict == HOLDS_NOT


def test_one_of_many_comparisons_refutes_a_claim_beyond_chance_alone():
    near = contrast("x", -0.05, 0.045)  # p = .029
    others = [[contrast("u", 0.05 + 0.001 * number, 0.02)] for number in range(9)]
    assert verdict([near]).verdict == HOLDS_NOT
    assert verdict([near], *others).verdict == NOT_ENOUGH
    # Those with the same numbers are one comparison.
    assert verdict([near], *[[near]] * 9).verdict == HOLDS_NOT
    assert "9 of 10 comparisons have the numbers of another" in verdict([near], *[[near]] * 9).why


def test_verdicts_are_corrected_for_the_list_of_claims():
    near, nothing = contrast("x", 0.05, 0.045), contrast("x", 0.001, 0.1)
    one, many = ([Evidence((mean_difference([c]),)) for c in [near, *[nothing] * n]] for n in (0, 9))
    assert claim_verdicts(one)[0].verdict == HOLDS
    assert claim_verdicts(many)[0].verdict == NOT_ENOUGH


def test_not_enough_data_says_what_would_have_been_seen():
    found = verdict([OPEN])
    assert found.verdict == NOT_ENOUGH
    # 80 % power: 1.96 + 0.84 errors.
    assert f"{2.8016 * 0.1 / 1.96:.3f} would have been seen" in found.why
    assert verdict(without=("a - b: no interval",)).why == "a - b: no interval"


def test_in_simulations_claims_are_decided_wrongly_no_more_often_than_said():
    wrong = [contrast_verdict(contrast("a", d, 1.96 * 0.02)) for (d,) in simulated([0.0], [0.02], 1000)]
    assert wrong.count(HOLDS) / len(wrong) < 0.035
    few = [
        verdict([contrast(str(i), d, 1.96 * 0.02) for i, d in enumerate(row)]).verdict
        for row in simulated([0.06, 0.06], [0.02, 0.02], 300)
    ]
    assert few.count(HOLDS) / len(few) > 0.95

"""Verdicts on plain arrays: each test against a slow or independent form of itself."""

import math
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from zslplat.pooling import pool
from zslplat.statistics import (
    AHEAD,
    BEHIND,
    DIFFERS,
    NOT_ENOUGH,
    Estimate,
    compare,
    equal_within,
    estimate_mean,
    holm,
    moderate,
    verdict_of,
)

RNG = np.random.default_rng(5)


def test_symmetric_values_have_the_t_test_of_scipy():
    half = RNG.normal(size=7)
    values = 0.3 + np.r_[half, -half]
    expected = stats.ttest_1samp(values, 0)
    estimate = estimate_mean(values)
    assert estimate.p_value == pytest.approx(expected.pvalue)
    assert estimate.ends == pytest.approx(tuple(expected.confidence_interval()))


@pytest.mark.parametrize("family", [1, 5])
def test_the_ends_are_where_the_test_begins_to_reject(family):
    values = RNG.exponential(size=(family, 12)) - 0.4
    estimate = moderate([estimate_mean(v, bounds=None) for v in values])[0]
    moderated = estimate.moderated
    for end in estimate.ends:
        shifted = replace(estimate, estimate=estimate.estimate - end, moderated=moderated)
        assert shifted.p_value == pytest.approx(0.05, abs=1e-6)


def test_the_third_cumulant_is_without_bias():
    values = RNG.exponential(size=(40000, 8))
    thirds = [estimate_mean(v).third for v in values]
    assert np.mean(thirds) == pytest.approx(2 / 64, rel=0.08)


def test_classes_without_spread_are_bounded_by_the_share_of_others():
    estimate = estimate_mean(np.full(10, 0.4))
    # At p / 2 the share of unseen classes, each worse by up to 1, would make the mean 0.
    unseen = 1 - (estimate.p_value / 2) ** (1 / 10)
    assert 0.4 * (1 - unseen) - unseen == pytest.approx(0)
    assert estimate_mean(np.ones(10)).p_value == pytest.approx(2 / 2**10)
    low, high = estimate.ends
    assert low < 0.4 < high <= 1
    assert math.isnan(estimate_mean(np.full(10, 4.0), bounds=None).p_value)


def test_two_methods_that_agree_everywhere_are_equal_only_over_many_classes():
    assert compare(np.full(10, 0.5), np.full(10, 0.5)).verdict == NOT_ENOUGH
    assert compare(np.full(400, 0.5), np.full(400, 0.5)).verdict == equal_within(0.02)


def test_groups_are_drawn_whole():
    values, groups = RNG.normal(size=12), np.array([0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5])
    sums = np.array([(values - values.mean())[groups == g].sum() for g in range(6)])
    robust = np.sqrt(6 / 5 * np.sum(sums**2)) / 12
    estimate = estimate_mean(values, groups=groups)
    assert estimate.estimate == pytest.approx(values.mean())
    assert estimate.error == pytest.approx(robust)
    assert estimate.classes == 6


def test_a_comparison_of_groups_says_how_many_were_drawn():
    rng = np.random.default_rng(1)
    answer = compare(0.5 + 0.1 * rng.normal(size=48), np.full(48, 0.5), groups=np.arange(48) // 6)
    assert (answer.classes, answer.groups) == (48, 8)
    assert "over 48 classes in 8 groups" in str(answer)
    assert answer.classes_to_decide > 48


def test_a_class_that_is_tested_several_times_counts_once():
    b, a = RNG.random((2, 3, 12))
    untested = RNG.random((3, 12)) < 0.3
    untested[0] = False
    a[untested] = b[untested] = math.nan
    means = [np.nanmean(side, axis=0) for side in (a, b)]
    assert compare(a, b).difference == pytest.approx(compare(*means).difference)
    assert compare(a, b).p_value == pytest.approx(compare(*means).p_value)
    with pytest.raises(ValueError, match="leave out the classes that lack one"):
        compare(np.where(np.arange(12) == 3, math.nan, a), b)


def test_moderation_pools_the_spread_of_rivals_and_leaves_one_alone():
    alone = estimate_mean(RNG.normal(size=10))
    assert moderate([alone, None]) == [alone, None]
    spread, narrow = estimate_mean(RNG.normal(size=10)), estimate_mean(0.3 + 1e-9 * RNG.normal(size=10))
    judged = moderate([spread, narrow])[1]
    assert narrow.p_value < 1e-9 < 1e-4 < judged.p_value


@pytest.mark.parametrize("law", ["sparse", "skewed"])
def test_ten_rivals_without_a_lead_are_seldom_called_ahead_or_behind(law):
    rng, wrong, simulations = np.random.default_rng(0), 0, 300
    for _ in range(simulations):
        draws = (rng.random((10, 10)) < 0.3) - 0.3 if law == "sparse" else rng.exponential(size=(10, 10)) - 1
        wrong += holm([e.p_value for e in moderate([estimate_mean(d) for d in draws])]).min() <= 0.05
    # .06 with two standard errors; the t test alone is wrong in .2 to .3 of the families.
    assert wrong / simulations <= 0.06 + 2 * math.sqrt(0.06 * 0.94 / simulations)


def test_the_simulation_of_verdicts_judges_as_comparisons_do():
    simulation = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks/verdicts.py"))
    values = 0.05 * RNG.exponential(size=(20, 6, 9))
    values[0, 1] = 0.02
    for lead in (0.0, 0.05):
        p_values, lows, highs = simulation["over_classes"](values).judge(lead)
        for n, family in enumerate(values + lead):
            estimates = moderate([estimate_mean(d) for d in family])
            assert p_values[n] == pytest.approx(holm([e.p_value for e in estimates]))
            assert np.stack([lows[n], highs[n]], axis=1) == pytest.approx(np.array([e.ends for e in estimates]))


def test_the_simulation_of_coverage_runs_each_of_its_parts():
    simulation = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks/interval_coverage.py"))
    parts = {
        "accuracy": (6, 10, 2),
        "rivals": (6, 3, 2, 0.0),
        "generalised": (6, 4, 2),
        "splits": (25, 2, 0.5),
        "groups": (3, 2),
    }
    for name, sizes in parts.items():
        lines = simulation[name](*sizes)
        assert lines, name
        assert all(0 <= share <= 1 for line in lines.values() for share in line.values()), name


def test_corrections_leave_out_what_is_no_comparison():
    p = np.array([0.01, math.nan, 0.04, 0.03])
    assert holm(p) == pytest.approx([0.03, math.nan, 0.06, 0.06], nan_ok=True)


@pytest.mark.parametrize(
    ("estimate", "p", "ends", "classes", "verdict"),
    [
        (0.1, 0.05, (0.0, 0.2), 10, AHEAD),
        (-0.1, 0.01, (-0.2, -0.01), 10, BEHIND),
        (0.1, 0.01, (0.01, 0.2), 5, NOT_ENOUGH),
        (0.001, 0.8, (-0.019, 0.019), 50, equal_within(0.02)),
        (0.001, 0.8, (-0.021, 0.019), 50, NOT_ENOUGH),
        (0.1, 0.2, (-0.1, 0.3), None, NOT_ENOUGH),
        (0.1, math.nan, (math.nan, math.nan), 10, ""),
    ],
)
def test_verdicts_mean_what_they_say(estimate, p, ends, classes, verdict):
    assert verdict_of(estimate, p, ends, classes=classes) == verdict


def test_how_many_classes_would_decide_is_how_many_do():
    rng = np.random.default_rng(3)
    estimate = Estimate(0.03, 0.02, 19.0, 20)
    needed = estimate.classes_to_decide()
    spread = 0.02 * math.sqrt(20)
    seen = sum(stats.ttest_1samp(0.03 + spread * rng.normal(size=needed), 0).pvalue < 0.05 for _ in range(400))
    assert seen / 400 == pytest.approx(0.8, abs=0.07)


def test_one_data_set_has_the_verdict_of_its_classes():
    a, b = RNG.random((2, 9))
    alone = compare(a, b)
    pooled = pool([alone.difference], [alone.low], [alone.high], classes=[9], p_values=[alone.p_value])
    assert (pooled.estimate, pooled.low, pooled.high) == (alone.difference, alone.low, alone.high)
    assert pooled.p_value == alone.p_value
    assert math.isnan(pooled.new_ends[0])
    t_alone = stats.ttest_rel(a, b)
    low, high = t_alone.confidence_interval()
    assert pool([alone.difference], [low], [high], classes=[9]).p_value == pytest.approx(t_alone.pvalue)


def test_scores_of_any_unit_are_never_equal_within_a_share():
    percent = np.linspace(30, 80, 8)
    assert compare(percent / 100, percent / 100 + 1e-5 * RNG.normal(size=8)).verdict == equal_within(0.02)
    assert compare(percent, percent + 1e-3 * RNG.normal(size=8)).verdict == NOT_ENOUGH
    assert compare(percent, percent + 1e-3 * RNG.normal(size=8), margin=0.5).verdict == equal_within(0.5)


def test_what_would_decide_is_more_than_there_is():
    few = compare([0.60, 0.59, 0.61, 0.60, 0.62], [0.5] * 5)
    assert (few.verdict, few.classes_to_decide) == (NOT_ENOUGH, 6)
    estimate = Estimate(0.03, 0.0102, 19.0, 20)
    assert estimate.classes_to_decide() == 21
    assert estimate.classes_to_decide(comparisons=10) > 25


@pytest.mark.parametrize(("classes", "spreads"), [((6, 6), (1, 1)), ((6, 30), (1, 0.2)), ((10, 10, 10), (1, 2, 0.5))])
def test_a_mean_over_few_data_sets_of_few_classes_is_seldom_called_ahead(classes, spreads):
    rng, p_values, inside, simulations = np.random.default_rng(1), [], [], 1500
    effects = 0.1 * np.arange(len(classes))  # data sets differ, and the mean over them with its weights is meant
    for _ in range(simulations):
        draws = [spread * rng.normal(size=count) for count, spread in zip(classes, spreads, strict=True)]
        each = [stats.ttest_1samp(one, 0) for one in draws]
        lows, highs = zip(*(one.confidence_interval() for one in each), strict=True)
        means = [one.mean() for one in draws]
        p_values.append(pool(means, lows, highs, classes=classes).p_value)
        shifted = pool(means + effects, lows + effects, highs + effects, classes=classes)
        inside.append(shifted.low <= np.average(effects, weights=np.array(shifted.errors) ** -2.0) <= shifted.high)
    bound = 2.5 * math.sqrt(0.05 * 0.95 / simulations)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05 + bound
    assert np.mean(np.array(p_values) <= 0.005) <= 0.005 + 2.5 * math.sqrt(0.005 / simulations)
    assert np.mean(inside) >= 0.95 - bound


def test_data_sets_that_are_all_alike_are_seldom_called_different():
    rng, p_values = np.random.default_rng(2), []
    for _ in range(1000):
        draws = rng.normal(size=(4, 8))
        each = [stats.ttest_1samp(one, 0).confidence_interval() for one in draws]
        p_values.append(pool(draws.mean(axis=1), *zip(*each, strict=True), classes=[8] * 4).p_heterogeneity)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.07
    effects, half = np.array([0.05, 0.09, -0.01]), 1.959964 * np.array([0.02, 0.03, 0.02])
    weights = half**-2.0
    q = 1.959964**2 * np.sum(weights * (effects - weights @ effects / weights.sum()) ** 2)
    exact = pool(effects, effects - half, effects + half)
    assert exact.p_heterogeneity == pytest.approx(stats.chi2.sf(q, 2), rel=1e-5)


def test_the_interval_of_a_new_data_set_integrates_over_how_much_data_sets_differ():
    effects, errors = np.array([0.05, 0.09, -0.01]), np.array([0.02, 0.03, 0.02])
    half = 1.959964 * errors
    low, high = pool(effects, effects - half, effects + half).new_ends

    def integrand(mu, tau, end=math.inf):
        likelihood = stats.norm.pdf(effects, mu, np.sqrt(errors**2 + tau**2)).prod()
        return likelihood * stats.halfcauchy.pdf(tau, scale=0.05) * stats.norm.cdf(end, mu, max(tau, 1e-9))

    total = integrate.dblquad(integrand, 0, 2, -3, 3, epsabs=1e-4)[0]
    for end, share in ((low, 0.025), (high, 0.975)):
        below = integrate.dblquad(integrand, 0, 2, -3, 3, args=(end,), epsabs=1e-4)[0]
        assert below / total == pytest.approx(share, abs=0.004)


def test_data_sets_of_the_same_images_count_once():
    effects, half = [0.1, 0.1, 0.0], [0.05, 0.05, 0.05]
    ends = np.subtract(effects, half), np.add(effects, half)
    assert pool(effects, *ends, ["a", "a", "b"]).estimate == pytest.approx(
        pool([0.1, 0], *(e[1:] for e in ends)).estimate
    )
    assert pool([0.1], [math.nan], [math.nan]) is None


def test_data_sets_that_contradict_each_other_differ():
    effects = np.array([0.2, -0.2, 0.21, -0.19])
    assert pool(effects, effects - 0.02, effects + 0.02).verdict() == DIFFERS
    same = np.array([0.2, 0.19, 0.21])
    assert pool(same, same - 0.02, same + 0.02).verdict() == AHEAD


@pytest.mark.parametrize(
    ("a", "b", "groups", "message"),
    [
        ([0.1, 0.2], [0.1], None, r"\(2,\) and \(1,\)"),
        ([0.1], [0.1], None, "two or more classes"),
        ([0.1, math.nan], [0.1, 0.2], None, "finite"),
        ([0.1, 0.3], [0.1, 0.2], [1], "each of the 2 classes; given 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(a, b, groups, message):
    with pytest.raises(ValueError, match=message):
        compare(a, b, groups=groups)

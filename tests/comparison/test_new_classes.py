"""Intervals, tests and verdicts over new classes against slow references and simulation."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from zslplat.comparison.classes import (
    TOO_FEW,
    Draw,
    class_difference,
    class_differences,
    class_verdict,
    family_p_values,
    holm,
    over_classes,
    sign_flip_p,
    sign_flip_ps,
)
from zslplat.comparison.leaderboard import leaderboard
from zslplat.comparison.ranks import letters
from zslplat.evidence.scores import Scored
from zslplat.metrics.intervals import draws, resampled_means
from zslplat.tasks.base import Metric


def entry(label, classes, *, kinds=None, validation=0.5, **more):
    """What a study leaves of a method with the values ``classes`` (repeats, C) of a mean over classes."""
    classes = np.atleast_2d(classes)
    values = {"acc": classes.mean(axis=1).tolist()}
    content = {"replicates": {}, "validation": {"acc": validation}, "knows": "nothing", "rows": "same", **more}
    return Scored(label, f"study {label}", label, values, classes={"acc": classes}, kinds=kinds, **content)


def test_what_is_no_comparison_does_not_make_the_others_coarse():
    rng = np.random.default_rng(0)
    gaps = [_draw_of(rng.normal(0.3, 0.1, size=8)) for _ in range(6)]
    nothing = Draw(0.1, np.nan, 0.0, 1)
    alone, _ = family_p_values(gaps)
    beside, corrected = family_p_values([*gaps, nothing, nothing])
    assert np.array_equal(beside[:6], alone)
    assert np.isnan(corrected[6:]).all()
    assert alone[0] == gaps[0].p_value  # the exact test: 2 / 2^8 x 6 is below .05, x 8 is not


def _draw_of(values):
    return Draw(values.mean(), values.std(ddof=1) / np.sqrt(len(values)), len(values) - 1, len(values), values)


@pytest.mark.parametrize("c", [1, 2, 3, 7, 12])
def test_sign_flips_are_those_of_all_signs_tried_one_by_one(c):
    values = np.random.default_rng(c).normal(0.3, 1, c)
    sums = [abs(np.dot(signs, values)) for signs in product((1, -1), repeat=c)]
    assert sign_flip_p(values) == pytest.approx(np.mean(np.array(sums) >= abs(values.sum()) - 1e-9), abs=1e-12)


@pytest.mark.parametrize("c", [1, 2, 3, 7, 13, 20, 21, 60])
@pytest.mark.parametrize("spread", ["one kind", "no kinds", "two kinds", "unlike rows", "repeats", "gaps"])
def test_many_pairs_at_once_are_compared_as_each_by_itself_to_the_last_bit(c, spread):
    rng = np.random.default_rng(c)
    values = np.concatenate([rng.random((5, c)), rng.integers(0, 3, (4, c)) / 3.0])
    values[1], values[2] = values[0], values[0] * (1 + 1e-15)  # equal, and equal but for rounding
    if spread == "gaps":
        values[3, 0] = np.nan
    kinds = None if spread == "no kinds" else np.arange(c) % 2 if spread == "two kinds" else np.ones(c, dtype=int)
    lines = [np.stack([v, v[::-1]]) if spread == "repeats" and i < 2 else v for i, v in enumerate(values)]
    rows = ["other" if spread == "unlike rows" and i == 4 else "same" for i in range(len(lines))]
    entries = [entry(f"m{i}", v, kinds=kinds, rows=r) for i, (v, r) in enumerate(zip(lines, rows, strict=True))]
    pairs = list(product(range(len(entries)), repeat=2))
    together = class_differences(entries, pairs, "acc")
    alone = [class_difference(entries[a], entries[b], "acc") for a, b in pairs]
    assert [_bits(gap) for gap in together] == [_bits(gap) for gap in alone]
    exact = [np.nan if gap is None else gap.p_value for gap in alone]
    coarse = [np.nan if gap is None else gap.student_p for gap in alone]
    found = family_p_values(together)[0].tobytes()
    assert found in (np.array(exact).tobytes(), np.array(coarse).tobytes())


def _bits(gap):
    """What a difference consists of, NaN and all."""
    if gap is None:
        return None
    numbers = np.array([gap.estimate, gap.error, gap.freedom, gap.classes], dtype=float).tobytes()
    return numbers, None if gap.flips is None else gap.flips.tobytes()


def test_many_sign_flip_tests_at_once_give_what_each_gives_by_itself():
    values = np.random.default_rng(0).normal(0.2, 1, (150, 11))
    assert sign_flip_ps(values) == [sign_flip_p(line) for line in values]


def test_sign_flips_of_equal_values_count_ties():
    assert sign_flip_p(np.zeros(5)) == 1
    # Of 2^6 sums of ones, those of all and of none are 6 away from 0; rounding must not lose one.
    assert sign_flip_p(np.full(6, 0.1)) == pytest.approx(2 / 2**6)
    assert sign_flip_p(np.array([0.1, 0.1, 0.1, -0.1, 0.1, 0.1])) == pytest.approx((2 + 2 * 6) / 2**6)
    with pytest.raises(ValueError, match="21 classes"):
        sign_flip_p(np.ones(21))


def test_interval_is_that_of_the_t_test_of_paired_differences():
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 30))
    found = class_difference(entry("a", first), entry("b", second), "acc")
    wanted = stats.ttest_rel(first, second)
    ends = wanted.confidence_interval()
    assert found.ends == pytest.approx((ends.low, ends.high))
    assert found.p_value == pytest.approx(wanted.pvalue)
    assert (found.classes, found.freedom) == (30, pytest.approx(29))
    own = over_classes(entry("a", first), "acc")
    assert own.ends == pytest.approx(stats.ttest_1samp(first, 0).confidence_interval())


def test_kinds_of_classes_are_samples_of_their_own():
    rng = np.random.default_rng(2)
    unseen, seen = rng.normal(0, 1, 8), rng.normal(0, 3, 40)
    kinds = np.repeat([0, 1], [8, 40])
    values = np.r_[unseen, seen]
    found = over_classes(entry("a", values, kinds=kinds), "acc")
    # The sum of two means is tested as Welch tests their difference.
    wanted = stats.ttest_ind(unseen, -seen, equal_var=False)
    assert found.freedom == pytest.approx(wanted.df)
    assert found.error == pytest.approx(np.sqrt(unseen.var(ddof=1) / 8 + seen.var(ddof=1) / 40))
    assert found.classes == 8
    only = over_classes(entry("a", np.where(kinds == 0, values, np.nan), kinds=kinds), "acc")
    assert only.error == pytest.approx(unseen.std(ddof=1) / np.sqrt(8))
    assert only.flips is not None


def test_rows_of_a_class_do_not_count_as_independent():
    # 10 classes of 600 rows: a row bootstrap of the same outcomes is many times too narrow.
    rng = np.random.default_rng(3)
    share = rng.uniform(0.2, 0.9, 10)
    y = np.repeat(np.arange(10), 600)
    correct = rng.random(6000) < share[y]
    counts = np.vstack(list(draws(np.arange(6000), y, 200)))
    by_rows = resampled_means(counts, correct, y).std()
    by_class = np.bincount(y, correct) / 600
    assert over_classes(entry("a", by_class), "acc").error > 8 * by_rows


@pytest.mark.parametrize("rivals", [1, 5, 26])
def test_smallest_difference_is_seen_four_times_in_five_by_holms_correction_too(rivals):
    rng = np.random.default_rng(4)
    c, sd = 8, 0.1
    drawn = rng.normal(0, sd, (4000, c))
    drawn = (drawn - drawn.mean(axis=1, keepdims=True)) / drawn.std(axis=1, ddof=1, keepdims=True) * sd
    # The difference is set for a standard error that is known; then data are drawn around it.
    smallest = over_classes(entry("a", drawn[0]), "acc").smallest_difference(rivals)
    samples = rng.normal(smallest, sd, (4000, c))
    found = stats.ttest_1samp(samples, 0, axis=1).pvalue
    # The others are of no difference: they hardly ever fall, and take nothing off what the correction asks for.
    others = rng.random((4000, rivals - 1))
    seen = [holm(np.r_[p, rest])[0] <= 0.05 for p, rest in zip(found, others, strict=True)]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.025)


def test_spread_between_seeds_is_part_of_the_error():
    rng = np.random.default_rng(5)
    repeats, c, seeds, classes, noise = 4, 40, 0.05, 0.1, 0.02
    errors, means = [], []
    for _ in range(300):
        values = rng.normal(0, seeds, (repeats, 1)) + rng.normal(0, classes, c) + rng.normal(0, noise, (repeats, c))
        errors.append(over_classes(entry("a", values), "acc").error ** 2)
        means.append(values.mean())
    true = seeds**2 / repeats + classes**2 / c + noise**2 / (repeats * c)
    assert np.var(means) == pytest.approx(true, rel=0.25)
    assert np.mean(errors) == pytest.approx(true, rel=0.1)
    # Repeats that agree add nothing, and the exact test stays.
    steady = over_classes(entry("a", np.tile(np.arange(7.0), (3, 1))), "acc")
    assert steady.error == pytest.approx(np.arange(7.0).std(ddof=1) / np.sqrt(7))
    assert steady.flips is not None


def test_spread_between_seeds_counts_once_for_a_metric_of_two_kinds_of_classes():
    rng = np.random.default_rng(6)
    repeats, sizes, seeds = 4, (20, 40), 0.05
    kinds = np.repeat([0, 1], sizes)
    errors, means = [], []
    for _ in range(300):
        own = rng.normal(0.5, 0.1, sum(sizes)) + rng.normal(0, seeds, (repeats, 1))
        # Of the mean of both accuracies pseudo-values are, in each kind, around the whole.
        accuracies = [own[:, kinds == kind].mean(axis=1, keepdims=True) for kind in (0, 1)]
        whole = sum(accuracies) / 2
        values = whole + np.where(kinds == 0, own - accuracies[0], own - accuracies[1]) / 2
        scored = replace(entry("a", values, kinds=kinds), values={"acc": whole.ravel().tolist()})
        errors.append(over_classes(scored, "acc").error ** 2)
        means.append(whole.mean())
    true = seeds**2 / repeats + sum(0.1**2 / size for size in sizes) / 4
    assert np.var(means) == pytest.approx(true, rel=0.25)
    assert np.mean(errors) == pytest.approx(true, rel=0.15)


def test_equal_methods_are_level_however_often_each_was_repeated():
    for seed in range(100):
        own = np.random.default_rng(seed).integers(1, 30, size=10) / 37
        drawn = {"acc": np.random.default_rng(1).random((1, 50)) / 37}
        once = entry("once", own, replicates=drawn)
        three = entry("three", np.tile(own, (3, 1)), replicates={"acc": np.tile(drawn["acc"], (3, 1))})
        assert three.values["acc"][0] == once.values["acc"][0]
        rows = leaderboard([once, three], "acc", Metric("acc"))
        (found,) = (row for row in rows if row["method"] == "three")
        assert (found["difference"], found["p_value"], found["verdict"], found["verdict_rows"]) == (
            0,
            1,
            *["level"] * 2,
        )
        assert [row["tied"] for row in rows] == ["a", "a"]


def test_holm_is_the_step_down_procedure():
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.005])
    assert holm(p)[[4, 0, 3, 2]] == pytest.approx([0.02, 0.03, 0.06, 0.06])
    assert np.isnan(holm(p)[1])
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("differences", "scores", "verdict"),
    [
        (np.full(6, 0.1), (0.5, 0.4), "ahead"),
        (np.full(6, -0.1), (0.5, 0.6), "behind"),
        # Not even all classes one way reach .05.
        (np.linspace(0.1, 0.11, 5), (0.5, 0.4), TOO_FEW),
        (np.tile([0.1, -0.1], 4), (0.5, 0.5), "level"),
        # A method that gets nothing right could not be told from one that gets 5 % right.
        (np.tile([0.3, -0.3], 4), (0.05, 0.05), TOO_FEW),
        (np.array([0.3]), (0.5, 0.2), TOO_FEW),
    ],
)
def test_a_verdict_is_given_where_there_are_classes_enough(differences, scores, verdict):
    gap = over_classes(entry("a", differences), "acc")
    _, adjusted = family_p_values([gap])
    assert class_verdict(gap, adjusted[0], scores) == verdict


def test_many_rivals_over_few_classes_are_tested_by_the_finer_test():
    rng = np.random.default_rng(9)
    gaps = [over_classes(entry("a", 0.2 + rng.normal(0, 0.03, 7)), "acc") for _ in range(8)]
    few, adjusted = family_p_values([*gaps[:3], None])
    assert few[:3].tolist() == [2 / 2**7] * 3
    assert adjusted[:3] == pytest.approx(3 * 2 / 2**7)
    assert np.isnan([few[3], adjusted[3]]).all()
    # Eight exact ones would end at .125 whatever the data.
    many, adjusted = family_p_values(gaps)
    assert many == pytest.approx([gap.student_p for gap in gaps])
    assert adjusted.max() < 0.01
    # Of five classes nothing is told, and nothing is gained by the t test.
    short = over_classes(entry("a", np.linspace(0.1, 0.11, 5)), "acc")
    assert family_p_values([short])[0] == pytest.approx(2 / 2**5)


def test_letters_tell_apart_exactly_the_pairs_that_differ():
    rng = np.random.default_rng(6)
    for n in (1, 2, 5, 8):
        for _ in range(20):
            different = np.triu(rng.random((n, n)) < 0.4, 1)
            different |= different.T
            found = [set(label) for label in letters(different)]
            assert all(found)
            assert "a" in found[0]
            for i, j in product(range(n), repeat=2):
                if i != j:
                    assert bool(found[i] & found[j]) != different[i, j]
    assert letters(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)) == ["a", "ab", "b"]
    assert letters(~np.eye(28, dtype=bool))[25:] == ["z", "a1", "b1"]


def test_leaderboard_judges_by_classes_and_corrects_for_rivals():
    rng = np.random.default_rng(7)
    base = rng.uniform(0.3, 0.8, 12)
    steps = rng.uniform(0.01, 0.02, (3, 12))
    mixed = 0.1 * np.resize([1, -1, 1, -1, 1, 1, -1], 12)
    entries = [
        entry("best", base, validation=0.9),
        *(entry(f"low {i}", base - 3 * step) for i, step in enumerate(steps)),
        entry("mixed", base + mixed),
        entry("elsewhere", base - 0.1, rows="other"),
    ]
    rows = {row["method"]: row for row in leaderboard(entries, "acc", Metric("acc"))}
    assert rows["best"]["verdict"] == ""
    for i in range(3):
        row = rows[f"low {i}"]
        assert row["verdict"] == "behind"
        assert row["p_value"] == pytest.approx(2 / 2**12)
        assert row["p_holm"] == pytest.approx(4 * 2 / 2**12)
        assert row["difference_low_classes"] < row["difference"] < row["difference_high_classes"] < 0
        assert row["tied"] not in rows["best"]["tied"]
    assert rows["mixed"]["verdict"] == "level"
    assert set(rows["best"]["tied"]) <= set(rows["mixed"]["tied"])
    assert rows["mixed"]["difference"] - rows["mixed"]["difference_low_classes"] < rows["mixed"]["smallest_difference"]
    assert {row["classes"] for row in rows.values()} == {12}
    assert (rows["elsewhere"]["verdict"], rows["elsewhere"]["p_holm"]) == ("other rows", None)
    assert rows["elsewhere"]["tied"] is None
    assert rows["best"]["low_classes"] < rows["best"]["test"] < rows["best"]["high_classes"]


def test_a_smaller_value_of_a_metric_to_minimise_is_ahead():
    first, second = np.random.default_rng(8).uniform(0.1, 0.2, (2, 9))
    entries = [entry("large", 5 + first, validation=0.1), entry("small", second, validation=0.2)]
    rows = leaderboard(entries, "acc", Metric("acc", maximise=False))
    assert [(row["method"], row["verdict"]) for row in rows] == [("small", "ahead"), ("large", "")]


def test_an_entry_whose_metric_is_not_a_number_stands_last_without_a_verdict():
    values = np.linspace(0.2, 0.8, 10)
    nothing = entry("nothing", np.full(10, np.nan), validation=0.1)
    for entries in ([nothing, entry("a", values), entry("b", values / 2)], [entry("a", values), nothing]):
        rows = leaderboard(entries, "acc", Metric("acc"))
        assert (rows[0]["method"], rows[-1]["method"], rows[-1]["verdict"]) == ("a", "nothing", "")


def test_an_entry_without_values_per_class_has_no_verdict_over_classes():
    entries = [entry("a", np.arange(8.0), validation=0.9), entry("b", np.arange(8.0))]
    entries[1] = Scored("c", "c", "c", {"acc": [0.2]}, {}, {}, knows="nothing", rows="same")
    row = next(r for r in leaderboard(entries, "acc", Metric("acc")) if r["method"] == "c")
    assert (row["verdict"], row["p_value"], row["low_classes"], row["classes"], row["tied"]) == (
        "",
        None,
        None,
        None,
        None,
    )

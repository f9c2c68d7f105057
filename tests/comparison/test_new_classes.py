"""Intervals, tests and verdicts over new classes against slow references and simulation."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from zslplat.comparison.classes import (
    class_difference,
    class_verdict,
    family_p_values,
    over_classes,
)
from zslplat.comparison.leaderboard import leaderboard
from zslplat.comparison.ranks import letters
from zslplat.evidence.scores import Scored
from zslplat.metrics.intervals import draws, resampled_means
from zslplat.statistics import NOT_ENOUGH, Estimate, equal_within, holm
from zslplat.tasks.base import Metric


def entry(label, classes, *, kinds=None, validation=0.5, **more):
    """What a study leaves of a method with the values ``classes`` (repeats, C) of a mean over classes."""
    classes = np.atleast_2d(classes)
    values = {"accuracy": classes.mean(axis=1).tolist()}
    content = {"replicates": {}, "validation": {"accuracy": validation}, "knows": "nothing", "rows": "same", **more}
    return Scored(label, f"study {label}", label, values, classes={"accuracy": classes}, kinds=kinds, **content)


def test_what_is_no_comparison_does_not_count():
    rng = np.random.default_rng(0)
    gaps = [over_classes(entry("a", rng.normal(0.3, 0.1, size=8)), "accuracy") for _ in range(6)]
    nothing = Estimate(0.1, np.nan, 0.0, 1)
    _, alone, holm_alone = family_p_values(gaps)
    _, beside, corrected = family_p_values([*gaps, nothing, None])
    assert np.array_equal(beside[:6], alone)
    assert np.array_equal(corrected[:6], holm_alone)
    assert np.isnan(corrected[6:]).all()


def test_interval_is_that_of_the_t_test_of_paired_differences():
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 15))
    # Symmetric differences, whose skewness is 0.
    first, second = np.r_[first, second], np.r_[second, first]
    found = class_difference(entry("a", first), entry("b", second), "accuracy")
    wanted = stats.ttest_rel(first, second)
    ends = wanted.confidence_interval()
    assert found.ends == pytest.approx((ends.low, ends.high))
    assert found.p_value == pytest.approx(wanted.pvalue)
    assert (found.classes, found.freedom) == (30, pytest.approx(29))


def test_kinds_of_classes_are_samples_of_their_own():
    rng = np.random.default_rng(2)
    unseen, seen = rng.normal(0, 1, 8), rng.normal(0, 3, 40)
    kinds = np.repeat([0, 1], [8, 40])
    values = np.r_[unseen, seen]
    found = over_classes(entry("a", values, kinds=kinds), "accuracy")
    # The sum of two means is tested as Welch tests their difference.
    wanted = stats.ttest_ind(unseen, -seen, equal_var=False)
    assert found.freedom == pytest.approx(wanted.df)
    assert found.error == pytest.approx(np.sqrt(unseen.var(ddof=1) / 8 + seen.var(ddof=1) / 40))
    assert found.classes == 8
    only = over_classes(entry("a", np.where(kinds == 0, values, np.nan), kinds=kinds), "accuracy")
    assert only.error == pytest.approx(unseen.std(ddof=1) / np.sqrt(8))
    assert only.size == pytest.approx(np.abs(unseen).mean())


def test_rows_of_a_class_do_not_count_as_independent():
    # 10 classes of 600 rows: a row bootstrap of the same outcomes is many times too narrow.
    rng = np.random.default_rng(3)
    share = rng.uniform(0.2, 0.9, 10)
    y = np.repeat(np.arange(10), 600)
    correct = rng.random(6000) < share[y]
    counts = np.vstack(list(draws(np.arange(6000), y, 200)))
    by_rows = resampled_means(counts, correct, y).std()
    by_class = np.bincount(y, correct) / 600
    assert over_classes(entry("a", by_class), "accuracy").error > 8 * by_rows


@pytest.mark.parametrize("rivals", [1, 5, 26])
def test_smallest_difference_is_seen_four_times_in_five_by_holms_correction_too(rivals):
    rng = np.random.default_rng(4)
    c, sd = 8, 0.1
    drawn = rng.normal(0, sd, (4000, c))
    drawn = (drawn - drawn.mean(axis=1, keepdims=True)) / drawn.std(axis=1, ddof=1, keepdims=True) * sd
    # The difference is set for a standard error that is known; then data are drawn around it.
    smallest = over_classes(entry("a", drawn[0]), "accuracy").smallest_difference(rivals)
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
        errors.append(over_classes(entry("a", values), "accuracy").error ** 2)
        means.append(values.mean())
    true = seeds**2 / repeats + classes**2 / c + noise**2 / (repeats * c)
    assert np.var(means) == pytest.approx(true, rel=0.25)
    assert np.mean(errors) == pytest.approx(true, rel=0.1)
    # Repeats that agree add nothing.
    steady = over_classes(entry("a", np.tile(np.arange(7.0), (3, 1))), "accuracy")
    assert steady.error == pytest.approx(np.arange(7.0).std(ddof=1) / np.sqrt(7))


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
        scored = replace(entry("a", values, kinds=kinds), values={"accuracy": whole.ravel().tolist()})
        errors.append(over_classes(scored, "accuracy").error ** 2)
        means.append(whole.mean())
    true = seeds**2 / repeats + sum(0.1**2 / size for size in sizes) / 4
    assert np.var(means) == pytest.approx(true, rel=0.25)
    assert np.mean(errors) == pytest.approx(true, rel=0.15)


def test_equal_methods_do_not_differ_however_often_each_was_repeated():
    for seed in range(100):
        own = np.random.default_rng(seed).integers(1, 30, size=10) / 37
        drawn = {"accuracy": np.random.default_rng(1).random((1, 50)) / 37}
        once = entry("once", own, replicates=drawn)
        three = entry("three", np.tile(own, (3, 1)), replicates={"accuracy": np.tile(drawn["accuracy"], (3, 1))})
        assert three.values["accuracy"][0] == once.values["accuracy"][0]
        rows = leaderboard([once, three], "accuracy", Metric("accuracy"))
        (found,) = (row for row in rows if row["method"] == "three")
        assert (found["difference"], found["p_value"], found["verdict"], found["verdict_rows"]) == (
            0,
            1,
            NOT_ENOUGH,
            equal_within(0.02),
        )
        assert [row["tied"] for row in rows] == ["a", "a"]


def test_holm_is_the_step_down_procedure():
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.005])
    assert holm(p)[[4, 0, 3, 2]] == pytest.approx([0.02, 0.03, 0.06, 0.06])
    assert np.isnan(holm(p)[1])
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        (np.linspace(0.09, 0.11, 6), "ahead"),
        (np.linspace(-0.09, -0.11, 6), "behind"),
        (np.linspace(0.1, 0.11, 5), NOT_ENOUGH),
        (np.tile([0.1, -0.1], 4), NOT_ENOUGH),
        (np.tile([0.02, -0.02], 20), equal_within(0.02)),
        (np.array([0.3]), ""),
    ],
)
def test_a_verdict_is_given_where_there_are_classes_enough(differences, verdict):
    base = np.full(len(differences), 0.5)
    gap = class_difference(entry("a", base + differences), entry("b", base), "accuracy")
    _, _, adjusted = family_p_values([gap])
    assert class_verdict(gap, adjusted[0]) == verdict


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
    rows = {row["method"]: row for row in leaderboard(entries, "accuracy", Metric("accuracy"))}
    assert rows["best"]["verdict"] == ""
    for i in range(3):
        row = rows[f"low {i}"]
        assert row["verdict"] == "behind"
        assert row["p_value"] < row["p_holm"] < 0.01
        assert row["difference_low_classes"] < row["difference"] < row["difference_high_classes"] < 0
        assert row["tied"] not in rows["best"]["tied"]
    assert rows["mixed"]["verdict"] == NOT_ENOUGH
    assert rows["mixed"]["classes_to_decide"] > 12
    assert rows["low 1"]["classes_to_decide"] is None
    assert set(rows["best"]["tied"]) <= set(rows["mixed"]["tied"])
    assert rows["mixed"]["difference"] - rows["mixed"]["difference_low_classes"] < rows["mixed"]["smallest_difference"]
    assert {row["classes"] for row in rows.values()} == {12}
    assert (rows["elsewhere"]["verdict"], rows["elsewhere"]["p_holm"]) == ("other rows", None)
    assert rows["elsewhere"]["tied"] is None
    assert rows["best"]["low_classes"] < rows["best"]["test"] < rows["best"]["high_classes"]


def test_a_smaller_value_of_a_metric_to_minimise_is_ahead():
    first, second = np.random.default_rng(8).uniform(0.1, 0.2, (2, 9))
    entries = [entry("large", 5 + first, validation=0.1), entry("small", second, validation=0.2)]
    rows = leaderboard(entries, "accuracy", Metric("accuracy", maximise=False))
    assert [(row["method"], row["verdict"]) for row in rows] == [("small", "ahead"), ("large", "")]


def test_an_entry_whose_metric_is_not_a_number_stands_last_without_a_verdict():
    values = np.linspace(0.2, 0.8, 10)
    nothing = entry("nothing", np.full(10, np.nan), validation=0.1)
    for entries in ([nothing, entry("a", values), entry("b", values / 2)], [entry("a", values), nothing]):
        rows = leaderboard(entries, "accuracy", Metric("accuracy"))
        assert (rows[0]["method"], rows[-1]["method"], rows[-1]["verdict"]) == ("a", "nothing", "")


def test_an_entry_without_values_per_class_has_no_verdict_over_classes():
    entries = [entry("a", np.arange(8.0), validation=0.9), entry("b", np.arange(8.0))]
    entries[1] = Scored("c", "c", "c", {"accuracy": [0.2]}, {}, {}, knows="nothing", rows="same")
    row = next(r for r in leaderboard(entries, "accuracy", Metric("accuracy")) if r["method"] == "c")
    assert (row["verdict"], row["p_value"], row["low_classes"], row["classes"], row["tied"]) == (
        "",
        None,
        None,
        None,
        None,
    )

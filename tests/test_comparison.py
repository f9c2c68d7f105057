"""Paired intervals against what theory says, and ``zslplat compare`` over a real store."""

import csv
import json

import numpy as np
import pytest

from zslplat.comparison.leaderboard import leaderboard
from zslplat.comparison.paired import Scored, difference, interval, mean_difference
from zslplat.errors import UnknownNameError
from zslplat.metrics.resampling import draws, resampled_means
from zslplat.tasks.base import Metric

M = 400


def scored(correct, label="a", validation=0.5, repeats=1):
    """What a study leaves of a method that is right where ``correct`` (m,) says so."""
    counts = np.vstack(list(draws(np.arange(len(correct)), np.zeros(len(correct), dtype=int), 1000)))
    values = [float(np.mean(correct))] * repeats
    replicates = np.tile(resampled_means(counts, correct), (repeats, 1))
    return Scored(label, f"study {label}", f"{label}(x=1)", {"acc": values}, {"acc": replicates}, {"acc": validation})


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    first = rng.random(M) < 0.7
    second = np.where(rng.random(M) < 0.1, ~first, first)
    return first, second


def test_interval_is_the_normal_one_for_many_rows(pair):
    first, _ = pair
    p = first.mean()
    found = interval(scored(first), "acc")
    half = 1.96 * np.sqrt(p * (1 - p) / M)
    # 1000 replicates know a 2.5% quantile to about 5% of the half width; 15% is three times that.
    assert (found.low, found.high) == pytest.approx((p - half, p + half), abs=0.15 * half)
    assert found.estimate == p


def test_paired_interval_is_that_of_the_rows_own_differences(pair):
    first, second = pair
    gap = first.astype(float) - second
    found = difference(scored(first), scored(second, "b"), "acc")
    half = 1.96 * gap.std() / np.sqrt(M)
    assert found.estimate == pytest.approx(gap.mean())
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.15)
    unpaired = 1.96 * np.sqrt((first.var() + second.var()) / M)
    assert (found.high - found.low) / 2 < 0.7 * unpaired


def test_a_method_is_level_with_itself(pair):
    found = difference(scored(pair[0]), scored(pair[0], "b"), "acc")
    assert (found.estimate, found.low, found.high, found.verdict) == (0, 0, 0, "level")


def test_spread_between_repeats_widens_the_interval(pair):
    steady = scored(pair[0], repeats=5)
    jumping = Scored(
        "j",
        "j",
        "j",
        {"acc": [v + d for v, d in zip(steady.values["acc"], (-0.2, -0.1, 0, 0.1, 0.2), strict=True)]},
        {"acc": steady.replicates["acc"] + np.array([-0.2, -0.1, 0, 0.1, 0.2])[:, None]},
        {},
    )
    width = {name: interval(s, "acc").high - interval(s, "acc").low for name, s in (("s", steady), ("j", jumping))}
    assert width["j"] > 2 * width["s"]


def test_mean_over_data_sets_is_surer_than_one(pair):
    first, second = pair
    one = (scored(first), scored(second, "b"))
    single, several = difference(*one, "acc"), mean_difference([one] * 4, "acc")
    assert several.estimate == pytest.approx(single.estimate)
    # Four independent draws: half the width.
    assert several.high - several.low == pytest.approx((single.high - single.low) / 2, rel=0.2)


def test_differences_are_from_the_best_on_validation_not_on_test(pair):
    first, _ = pair
    lucky = scored(np.ones(M, dtype=bool), "lucky", validation=0.1)
    rows = leaderboard([scored(first, "a", 0.9), lucky], "acc", Metric("acc"))
    assert [row["method"] for row in rows] == ["lucky", "a"]
    assert rows[1]["difference"] is None
    assert rows[0]["verdict"] == "ahead"
    with pytest.raises(UnknownNameError):
        leaderboard([lucky], "acc", Metric("acc"), against="nobody")
    with pytest.raises(UnknownNameError):
        leaderboard([lucky], "speed", Metric("acc"))


def test_compare_shows_what_is_recorded(call, tmp_path):
    for method in ("eszsl(gamma=1, alpha=1)", "gfhf(k=5)"):
        done = call("tune", "-m", method, "-n", 2, "--workers", 1, "-q")
        assert done.returncode == 0, done.stderr
    done = call("run", "-m", "eszsl(gamma=1, alpha=1000)", "--test", "-q")
    assert done.returncode == 0, done.stderr
    shown = call("compare", "--json")
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(shown.stdout)["rows"]
    assert len(rows) == 3
    assert [row["test"] for row in rows] == sorted((row["test"] for row in rows), reverse=True)
    for row in rows:
        assert row["low"] < row["test"] < row["high"]
        assert (row["difference"] is None) or row["difference_low"] <= row["difference"] <= row["difference_high"]
    table = call("compare", "eszsl", "--against", "gfhf", "--out", tmp_path / "table.csv")
    assert table.returncode == 0, table.stderr
    assert "differences from gfhf(k=5)" in table.stdout
    with open(tmp_path / "table.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 3
    assert call("compare", "nothing").returncode == 2
    assert call("compare", "--metric", "nothing").returncode == 2
    empty = call("compare", "--task", "gzsl")
    assert empty.returncode == 1
    assert "tune it first" in empty.stderr

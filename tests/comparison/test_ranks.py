"""Ranks over data sets and intervals over class splits, against scipy, brute force and simulation."""

import itertools

import numpy as np
import pytest
from scipy import stats

from zslplat.comparison.exports import draw_ranks
from zslplat.comparison.over_datasets import over_datasets
from zslplat.comparison.ranks import across_sets, friedman_p, nemenyi_difference, ranked
from zslplat.errors import UsageError
from zslplat.pooling import pool
from zslplat.statistics import holm


def scores(table, methods="pqrstuvw"):
    return {methods[i]: {f"set {j}": value for j, value in enumerate(line)} for i, line in enumerate(table)}


def test_ranks_share_places_and_know_the_direction():
    table = np.array([[0.3, 0.9, 0.3], [0.1, 0.2, 0.3]])
    assert ranked(table).tolist() == [[2.5, 1, 2.5], [3, 2, 1]]
    assert ranked(table, maximise=False).tolist() == [[1.5, 3, 1.5], [1, 2, 3]]


def test_scores_that_differ_by_rounding_share_a_place():
    assert ranked(np.array([[0.1, np.mean([0.1] * 3), 0.3]])).tolist() == [[2.5, 2.5, 1]]


def test_friedman_is_that_of_scipy_in_the_form_of_iman_and_davenport():
    table = np.random.default_rng(0).normal(size=(12, 4)) + np.linspace(0, 1, 4)
    chi2 = stats.friedmanchisquare(*table.T).statistic
    statistic = 11 * chi2 / (12 * 3 - chi2)
    assert friedman_p(ranked(table)) == pytest.approx(stats.f.sf(statistic, 3, 33))
    assert friedman_p(np.full((4, 3), 2.0)) == 1
    assert np.isnan(friedman_p(np.array([[1.0, 2]])))
    # However wholly 12 data sets agree, 6 of 6^12 orders do so, too.
    assert friedman_p(np.tile([1.0, 2, 3], (12, 1))) == pytest.approx(6.0**-11)


@pytest.mark.parametrize(
    "ranks", [[[1, 2, 3]] * 2, [[1, 2, 3], [1, 3, 2], [1, 2, 3]], [[1, 2, 3], [2, 1, 3], [1.5, 1.5, 3]], [[1, 2]] * 4]
)
def test_friedman_of_few_data_sets_is_the_share_of_all_orders(ranks):
    table = np.array(ranks, dtype=float)

    def spread(lines):
        return np.var(np.mean(lines, axis=0))

    orders = list(itertools.product(*(itertools.permutations(line) for line in table)))
    share = np.mean([spread(order) >= spread(table) - 1e-12 for order in orders])
    assert friedman_p(table) == pytest.approx(share)


def test_friedman_of_few_data_sets_with_many_orders_draws_them():
    table = np.tile(np.arange(1.0, 6), (9, 1))
    assert 0 < friedman_p(table) == friedman_p(table) <= 1e-3


def test_critical_difference_is_that_of_the_tables():
    # Demsar (2006), table 5: q is 1.960, 2.343, 2.569 and 2.728 for 2 to 5 methods.
    for k, q in ((2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728)):
        assert nemenyi_difference(k, 14) == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), abs=1e-3)


def test_standings_over_data_sets():
    rng = np.random.default_rng(1)
    table = np.array([0.8, 0.79, 0.5])[:, None] + rng.normal(0, 0.02, (3, 15))
    found = across_sets(scores(table))
    ranks = ranked(table.T)
    assert [s.mean_rank for s in found.standings] == pytest.approx(sorted(ranks.mean(axis=0)))
    best, second, last = found.standings
    assert (last.method, last.tied) == ("r", "b")
    assert best.tied == second.tied == "a"
    assert best.rank_low < best.mean_rank < best.rank_high
    assert found.reservation == ""
    assert found.p_value < 0.001


def row(short, dataset, test):
    return {"group": "inductive", "short": short, "dataset": dataset, "test": test}


def test_a_score_that_is_no_number_takes_the_rank_of_its_method_and_of_no_other():
    values = {"a": (0.9, 0.8), "b": (0.5, 0.6), "c": (0.7, float("nan"))}
    rows = [row(m, d, v) for m, found in values.items() for d, v in zip(("x", "y"), found, strict=True)]
    (table,) = over_datasets(rows, ("x", "y"), {}, maximise=True)
    ranks = {one["method"]: one["mean_rank"] for one in table["methods"]}
    assert ranks == {"a": 1, "b": 2, "c": None}
    assert next(one for one in table["methods"] if one["method"] == "c")["scores"] == {"x": 0.7, "y": None}


def judged_row(short, dataset, gap, half, classes=20):
    ends = {"difference_low_classes": gap - half, "difference_high_classes": gap + half}
    more = {"method": short, "baseline": "a", "difference": gap if short != "a" else None, "classes": classes, **ends}
    return row(short, dataset, 0.5 + gap) | more


@pytest.mark.parametrize("maximise", [True, False])
def test_a_verdict_over_data_sets_is_that_of_the_pooled_difference_among_its_rivals(maximise):
    gaps = {"b": (-0.2, -0.21, -0.19, -0.2), "c": (0.002, -0.001, 0.001, 0.0), "d": (-0.1, 0.1, 0.0, 0.0)}
    halves = {"b": 0.02, "c": 0.004, "d": 0.02}
    rows = [judged_row("a", dataset, 0.0, 0.0) for dataset in "wxyz"]
    rows += [judged_row(m, d, gap, halves[m]) for m, of in gaps.items() for d, gap in zip("wxyz", of, strict=True)]
    rows += [judged_row("e", dataset, -0.2, 0.01, classes=5) for dataset in "wxyz"]
    alone = judged_row("f", "w", -0.3, 0.1) | {"p_value": 1e-6}
    more = {"metric": "per_class_accuracy", "baselines": {"inductive": "a"}, "maximise": maximise}
    (table,) = over_datasets(rows, ("w", "x", "y", "z"), {}, **more)
    found = {one["method"]: one for one in table["methods"]}
    expected = {
        m: pool(of, [g - halves[m] for g in of], [g + halves[m] for g in of], classes=[20] * 4)
        for m, of in gaps.items()
    }
    corrected = holm([one.p_value for one in expected.values()])
    for (method, one), p in zip(expected.items(), corrected, strict=True):
        ends = (found[method]["difference_low"], found[method]["difference_high"])
        assert (found[method]["difference"], *ends) == (one.estimate, one.low, one.high)
        assert found[method]["p_holm"] == pytest.approx(p)
    verdicts = ["behind" if maximise else "ahead", "equal within 0.02", "differs between data sets", "not enough data"]
    assert [found[method]["verdict"] for method in "bcde"] == verdicts
    assert table["baseline"] == "a"
    assert found["a"]["verdict"] is None
    assert found["e"]["difference"] is None
    (table,) = over_datasets([*rows, alone], ("w", "x", "y", "z"), {}, **more)
    (on_one,) = (one for one in table["methods"] if one["method"] == "f")
    assert [on_one[key] for key in ("difference", "difference_low")] == pytest.approx([-0.3, -0.4])
    assert on_one["verdict"] == verdicts[0]


def test_one_entry_on_other_rows_makes_no_other_data_set():
    rows = [row(m, d, v) for m, v in (("a", 0.9), ("b", 0.5)) for d in ("x", "y")]
    images = {"x": {"images"}, "y": {"images", "others"}}
    assert over_datasets(rows, ("x", "y"), images, maximise=True)[0]["sets"] == 1
    assert over_datasets(rows, ("x", "y"), {"x": {"images"}, "y": {"others"}}, maximise=True)[0]["sets"] == 2


def test_a_data_set_and_its_draws_count_once_and_so_do_draws_of_the_same_images():
    of = {"x": "images", "redrawn(draw=1, of=x)": "drawn", 'redrawn(draw=1, of="x(signatures=s)")': "drawn", "y": "y"}
    rows = [row(m, d, v) for m, v in (("a", 0.9), ("b", 0.5)) for d in of]
    images = {dataset: {mark} for dataset, mark in of.items()}
    assert over_datasets(rows, tuple(of), images, maximise=True)[0]["sets"] == 2


def test_the_diagram_has_a_line_as_long_as_the_critical_difference(tmp_path):
    rng = np.random.default_rng(1)
    found = across_sets(scores(np.array([0.8, 0.6, 0.4])[:, None] + rng.normal(0, 0.02, (3, 15))))
    draw_ranks(found, tmp_path / "ranks.svg")
    assert "<!-- critical difference -->" in (tmp_path / "ranks.svg").read_text()
    few = across_sets(scores(np.array([[0.8], [0.6], [0.4]])))
    draw_ranks(few, tmp_path / "few.svg")
    text = (tmp_path / "few.svg").read_text()
    assert "1 data set, critical difference" in text


def test_few_data_sets_carry_little_and_say_so():
    table = np.tile(np.linspace(0.9, 0.2, 6)[:, None], 3)
    found = across_sets(scores(table))
    assert {s.tied for s in found.standings} == {"a", "ab", "b"}
    assert "only 3 data sets" in found.reservation
    alone = across_sets(scores(table[:, :1]))
    assert np.isnan([[s.rank_low, s.rank_high] for s in alone.standings]).all()
    assert {s.tied for s in alone.standings} == {"a"}
    assert "says nothing" in alone.reservation


def test_data_sets_of_the_same_images_count_once():
    rng = np.random.default_rng(2)
    table = rng.random((3, 4))
    twice = np.hstack([table, np.tile(table[:, :1], 6)])
    families = {f"set {j}": "set 0" for j in range(4, 10)}
    one, other = across_sets(scores(table)), across_sets(scores(twice), families=families)
    assert [(s.method, s.mean_rank, s.rank_low, s.tied) for s in one.standings] == [
        (s.method, pytest.approx(s.mean_rank), s.rank_low, s.tied) for s in other.standings
    ]
    assert one.sets == other.sets == 4


def test_data_sets_that_a_method_lacks_are_left_out():
    found = scores(np.random.default_rng(3).random((3, 5)))
    del found["q"]["set 3"]
    assert across_sets(found).sets == 4
    with pytest.raises(UsageError, match="two or more"):
        across_sets({"p": {"x": 1.0}})
    with pytest.raises(UsageError, match="no data set"):
        across_sets({"p": {"x": 1.0}, "q": {"y": 1.0}})


def test_diagram_is_drawn_with_its_reservation(tmp_path):
    found = across_sets(scores(np.random.default_rng(6).random((5, 4))))
    draw_ranks(found, tmp_path / "ranks.svg", "mAP")
    draw_ranks(found, tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").read_bytes().startswith(b"\x89PNG")
    draw_ranks(found, tmp_path / "again.svg", "mAP")
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none"}):
        draw_ranks(found, tmp_path / "text.svg", "mAP")
    text = (tmp_path / "text.svg").read_text()
    assert "Only 4 data sets" in text
    assert "mAP" in text

"""Ranks over data sets, and the verdict over them."""

import numpy as np
import pytest

from zslplat.comparison.over_datasets import over_datasets
from zslplat.comparison.ranks import mean_ranks, ranked
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


def test_mean_ranks_are_best_first_and_data_sets_of_the_same_images_count_once():
    table = np.random.default_rng(2).random((3, 4))
    sets = [f"set {j}" for j in range(4)]
    alone = mean_ranks(scores(table), {name: name for name in sets}, maximise=True)
    assert list(alone.values()) == pytest.approx(sorted(ranked(table.T).mean(axis=0)))
    twice = np.hstack([table, np.tile(table[:, :1], 6)])
    families = {name: name for name in sets} | {f"set {j}": "set 0" for j in range(4, 10)}
    assert mean_ranks(scores(twice), families, maximise=True) == pytest.approx(alone)
    assert list(mean_ranks(scores(table), {name: name for name in sets}, maximise=False)) == list(alone)[::-1]


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

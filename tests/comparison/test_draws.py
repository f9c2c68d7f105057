"""Methods over draws of the classes of one data set: the corrected t test, Holm's correction, and which draws count."""

import numpy as np
import pytest
from scipy import stats
from store_toys import MadeStore

from zslplat.comparison.compare import compare
from zslplat.comparison.exports import markdown
from zslplat.comparison.over_datasets import draw_p_value, over_datasets, over_draws
from zslplat.comparison.ranks import over_splits
from zslplat.comparison.sheets import FURTHER_DRAWS, LACKING_DRAWS, draw_notes, sheets
from zslplat.data.class_draws import draw_of
from zslplat.settings import resolve_settings
from zslplat.statistics import NOT_ENOUGH

DRAWS = [f"redrawn(draw={number}, of=birds)" for number in range(1, 7)]
CLASSES, GROUP = dict.fromkeys(DRAWS, (40, 10)), "inductive"


def rows(scores, validation=None):
    validation = validation or {"a": 1.0}
    return [
        {
            **{"short": method, "group": GROUP, "dataset": draw, "test": value},
            "validation": validation.get(method),
        }
        for method, values in scores.items()
        for draw, value in zip(DRAWS, values, strict=False)
    ]


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    base = rng.normal(0.6, 0.02, 6)
    return {"a": base, "b": base - 0.1 + rng.normal(0, 0.01, 6), "c": base - rng.normal(0.01, 0.02, 6)}


def test_means_differences_and_p_values_are_those_of_the_corrected_t_test(scores):
    (found,) = over_draws(rows(scores), CLASSES, "per_class_accuracy", GROUP, maximise=True)
    assert (found["dataset"], found["draws"], found["baseline"]) == ("birds", 6, "a")
    of = {method["method"]: method for method in found["methods"]}
    assert [method["method"] for method in found["methods"]] == sorted(scores, key=lambda name: -scores[name].mean())
    p = {}
    for name, values in scores.items():
        mean = over_splits(values.tolist(), [(40, 10)] * 6)
        assert (of[name]["mean"], of[name]["low"], of[name]["high"]) == (mean.estimate, mean.low, mean.high)
        if name == "a":
            assert of[name]["difference"] is of[name]["p_holm"] is of[name]["verdict"] is None
            continue
        gap = values - scores["a"]
        error = gap.std(ddof=1) * np.sqrt(1 / 6 + 10 / 40)
        p[name] = 2 * stats.t.sf(abs(gap.mean()) / error, 5)
        assert of[name]["p_value"] == pytest.approx(p[name])
        half = stats.t.ppf(0.975, 5) * error
        ends = of[name]["difference_low"], of[name]["difference_high"]
        assert ends == pytest.approx((gap.mean() - half, gap.mean() + half))
    # Holm: the smaller of two is doubled, and the larger is at least that.
    small, large = sorted(p, key=p.get)
    assert of[small]["p_holm"] == pytest.approx(2 * p[small])
    assert of[large]["p_holm"] == pytest.approx(max(2 * p[small], p[large]))
    assert [of[name]["verdict"] for name in "bc"] == ["behind", NOT_ENOUGH]


def test_a_p_value_is_below_the_level_where_the_interval_leaves_out_0():
    rng = np.random.default_rng(1)
    for _ in range(200):
        values = rng.normal(0.02, 0.02, int(rng.integers(2, 12))).tolist()
        gap = over_splits(values, [(16, 4)] * len(values))
        assert (draw_p_value(gap, len(values)) < 0.05) == (gap.low > 0 or gap.high < 0)
    assert np.isnan(draw_p_value(over_splits([0.1], [(16, 4)]), 1))


def test_a_smaller_cost_is_ahead_and_too_few_draws_are_said(scores):
    costs = {name: values for name, values in scores.items() if name != "c"}
    (found,) = over_draws(rows(costs, {"a": 0.0}), CLASSES, "seconds", GROUP, maximise=False)
    assert [m["method"] for m in found["methods"]] == ["b", "a"]
    assert found["methods"][0]["verdict"] == "ahead"
    (few,) = over_draws(
        rows({"a": [0.55, 0.05], "b": [0.05, 0.45]}), CLASSES, "per_class_accuracy", GROUP, maximise=True
    )
    assert {m["verdict"] for m in few["methods"]} == {None, NOT_ENOUGH}


def test_a_method_that_lacks_a_draw_stands_last_without_a_difference(scores):
    lacking = {"a": scores["a"], "b": scores["b"], "c": [1.0]}
    (found,) = over_draws(rows(lacking), CLASSES, "per_class_accuracy", GROUP, maximise=True)
    assert [(m["method"], m["draws"]) for m in found["methods"]] == [("a", 6), ("b", 6), ("c", 1)]
    assert found["methods"][2]["difference"] is None
    assert (found["draws"], found["baseline"]) == (6, "a")
    assert LACKING_DRAWS in draw_notes(found)
    # What was asked for is compared on the draws that it has.
    lacking["c"] = scores["c"][:4]
    (found,) = over_draws(rows(lacking), CLASSES, "per_class_accuracy", GROUP, "c", maximise=True)
    assert (found["draws"], found["baseline"]) == (4, "c")
    of = {m["method"]: m for m in found["methods"]}
    assert of["b"]["mean"] == pytest.approx(np.mean(scores["b"][:4]))
    assert of["b"]["difference"] == pytest.approx(np.mean(scores["b"][:4] - scores["c"][:4]))
    assert draw_notes(found) == [FURTHER_DRAWS]
    # One that has a single draw is nothing to compare with.
    (found,) = over_draws(rows({**lacking, "c": [1.0]}), CLASSES, "per_class_accuracy", GROUP, "c", maximise=True)
    assert found["baseline"] == "a"


def test_the_best_on_validation_is_compared_with(scores):
    told = rows(scores, validation={"a": 0.5, "b": 0.9, "c": 0.4})
    (found,) = over_draws(told, CLASSES, "per_class_accuracy", GROUP, maximise=True)
    assert found["baseline"] == "b"
    (alone,) = over_draws(rows({"a": scores["a"]}), CLASSES, "per_class_accuracy", GROUP, maximise=True)
    assert alone["baseline"] is None


def test_a_draw_that_is_written_in_two_ways_is_one(scores):
    told = rows({"a": scores["a"][:2], "b": scores["b"][:2]})
    twice = [{**row, "dataset": "redrawn(of=birds)"} for row in told if row["dataset"] == DRAWS[0]]
    classes = CLASSES | {"redrawn(of=birds)": (40, 10)}
    both = over_draws([*told, *twice], classes, "per_class_accuracy", GROUP, maximise=True)
    assert both == over_draws(told, classes, "per_class_accuracy", GROUP, maximise=True)
    names = (*DRAWS[:2], "redrawn(of=birds)", "other")
    others = [{**row, "dataset": "other"} for row in told if row["dataset"] == DRAWS[0]]
    (table,) = over_datasets([*told, *twice, *others], names, {}, maximise=True)
    (fewer,) = over_datasets([*told, *others], (*DRAWS[:2], "other"), {}, maximise=True)
    assert [m["difference"] for m in table["methods"]] == [m["difference"] for m in fewer["methods"]]
    assert table["draws"] == {"birds": 2}


def test_without_numbers_of_classes_there_are_means_alone_and_it_is_said(new_store):
    settings = resolve_settings({"store": new_store()})
    made = MadeStore(settings)
    for draw in DRAWS[:3]:
        made.study("eszsl", 0.8, dataset=draw, rows=draw)
        made.study("sae", 0.7, dataset=draw, rows=draw)
    found = compare(settings, ["birds"], warn=pytest.fail)  # the draws are what is recorded of it
    assert list(found.datasets) == DRAWS[:3]
    ranks, drawn = sheets(found)
    assert list(ranks.titles[1:4]) == ["birds #1", "birds #2", "birds #3"]
    assert drawn.title.endswith("over 3 draws of the classes of birds; differences from eszsl")
    assert any(note.startswith("no interval over draws") for note in drawn.notes)
    # Marks are explained where there are any.
    tables = markdown(found).split("over 3 draws")
    assert ["in bold" in table for table in tables] == [True, False]
    assert all(method["low"] is None for method in found.over_datasets[0]["over_draws"][0]["methods"])


def test_a_draw_is_known_by_what_it_draws_from():
    assert draw_of('redrawn(draw=1, of="x(signatures=s)")') == "x(signatures=s)"
    assert draw_of("redrawn(draw=2)") == "digit-pairs"
    assert draw_of("x") is draw_of("no (spec") is None


def test_a_score_that_is_no_number_is_a_draw_that_is_lacking(scores):
    lost = {"a": scores["a"], "b": [*scores["b"][:5], np.nan]}
    (found,) = over_draws(rows(lost), CLASSES, "per_class_accuracy", GROUP, maximise=True)
    last = found["methods"][-1]
    assert (last["method"], last["draws"], last["difference"]) == ("b", 5, None)
    assert last["mean"] == pytest.approx(np.mean(scores["b"][:5]))

"""Forest plots: the pooled estimate, what belongs to it, and the rows of scores."""

from scipy.stats import t

from zslplat.comparison.forests import difference_rows, score_forest
from zslplat.comparison.over_datasets import Difference, pool_differences, reasons_not_pooled

CLASSES = 11


def differences(values, error=0.01, classes=CLASSES):
    """Return differences whose intervals have this standard error."""
    half = error * t.ppf(0.975, classes - 1)
    return [Difference(f"d{i}", v, v - half, v + half, classes) for i, v in enumerate(values)]


def test_a_surer_data_set_weighs_more():
    sure, unsure = differences([0.0, 0.0], error=0.01), differences([0.3, 0.3], error=0.3)
    assert 0 < pool_differences([*sure, *unsure]).estimate < 0.05


def test_one_data_set_is_not_pooled():
    assert [row.mark for row in difference_rows(differences([0.1]))] == ["filled"]


def test_what_says_nothing_of_new_classes_is_not_pooled_and_says_why():
    few, half = differences([0.1], classes=5)[0], 0.1
    odd = [few, Difference("none", 0.1, None, None, 9), Difference("rows", 0.1, 0.0, 0.2, None)]
    same = [Difference(name, 0.1, 0.1 - half, 0.1 + half, n, "animals") for name, n in (("a", 9), ("b", 20))]
    reasons = reasons_not_pooled([*odd, *same])
    assert reasons == ["5 classes", "no interval", "not over new classes", "", ""]
    rows = difference_rows([*differences([0.1, 0.2, 0.3]), *odd], verdict="ahead")
    assert [row.mark for row in rows] == ["filled"] * 3 + ["hollow"] * 3 + ["pooled"]
    assert rows[-1].note.endswith("3 data sets: ahead")


def test_scores_say_their_verdict_and_chance_is_a_line_where_it_is_near():
    same = {"group": "inductive", "baseline": "a", "low": 0.3, "high": 0.5, "low_classes": None, "high_classes": None}
    rows = [
        {**same, "short": "a", "method": "a", "test": 0.4, "verdict": ""},
        {**same, "short": "b", "method": "b", "test": 0.35, "verdict": "behind"},
    ]
    forest = score_forest(rows, "accuracy", chance=0.1)
    assert [row.note for row in forest.rows] == ["0.400  baseline", "0.350  behind"]
    assert [(row.narrow, row.wide) for row in forest.rows] == [((0.3, 0.5), None)] * 2
    assert forest.level == 0.1
    assert score_forest(rows, "accuracy", chance=-5.0).level is None

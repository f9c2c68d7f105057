"""Intervals of scores end where the metric does, wherever they are shown, and it is said; differences are not cut."""

import numpy as np
import pytest

from zslplat.comparison.compare import Comparison
from zslplat.comparison.leaderboard import leaderboard
from zslplat.comparison.paired import interval
from zslplat.comparison.sheets import CUT, sheets
from zslplat.evidence.scores import Scored
from zslplat.reports.contents import Chapter
from zslplat.reports.leaderboard import leaderboard_table
from zslplat.reports.wording import sentence
from zslplat.tasks.base import Metric

ACCURACY = "per_class_accuracy"
FEW, MANY = np.array([0.5, 0.9, 0.95]), np.linspace(0.4, 0.6, 30)


def entry(label, values, metric=ACCURACY, **more):
    content = {"classes": {metric: values[None]}, "replicates": {}, "knows": "nothing", "rows": "same", **more}
    return Scored(label, label, label, {metric: [float(values.mean())]}, validation={metric: 0.5}, **content)


def compared(entries, metric=ACCURACY):
    shown = {"short": "", "others": "", "trials": 1, "trial_seconds": 1, "test_seconds": 1, "epochs": None}
    shown |= {"folded": 0, "unequal": "", "failed": 0, "test_rows": "same", "dataset": "made"}
    rows = leaderboard(entries, metric, Metric(metric))
    return Comparison("zsl", ("made",), metric, True, [{**shown, **row, "short": row["method"]} for row in rows])


@pytest.mark.parametrize(("metric", "cut"), [(ACCURACY, True), ("acc", False)])
def test_the_interval_over_new_classes_ends_where_an_accuracy_does(metric, cut):
    found = compared([entry("few", FEW, metric), entry("other", FEW - np.array([0.4, 0.42, 0.38]), metric)], metric)
    first, second = found.rows
    assert first["low_classes"] == pytest.approx(0.17064, abs=1e-5)
    assert first["high_classes"] == 1 if cut else first["high_classes"] == pytest.approx(1.39603, abs=1e-5)
    assert second["low_classes"] == 0 if cut else second["low_classes"] < -0.1
    (sheet,) = sheets(found, width=200, gap=2)
    assert (CUT in sheet.notes) == cut
    chapter = Chapter("made", "zsl", Metric(metric), found, {})
    assert (sentence(CUT) in leaderboard_table(chapter).note) == cut


def test_nothing_is_said_where_nothing_was_cut():
    found = compared([entry("many", MANY), entry("perfect", np.ones(30))])
    (sheet,) = sheets(found, width=200, gap=2)
    assert CUT not in sheet.notes


def test_differences_end_at_minus_1_and_1_and_verdicts_do_not_change():
    ahead = compared([entry("few", FEW), entry("other", FEW - np.array([0.5, 0.1, 0.9]))]).rows
    same = compared([entry("few", FEW, "acc"), entry("other", FEW - np.array([0.5, 0.1, 0.9]), "acc")], "acc").rows
    for cut, free in zip(ahead, same, strict=True):
        for name in ("p_value", "verdict", "smallest_difference"):
            assert cut[name] == free[name]
    lows = [min(row["difference_low_classes"] or 0 for row in rows) for rows in (ahead, same)]
    assert lows[0] == -1 > lows[1]


def test_the_interval_over_rows_is_not_moved_beyond_1():
    replicates = np.where(np.arange(1000) < 640, 1.0, 0.97)[None]
    ends = [
        interval(Scored("a", "a", "a", {metric: [0.99]}, {metric: replicates}, {}), metric).high
        for metric in (ACCURACY, "acc")
    ]
    assert ends == [1, pytest.approx(1.0008)]

"""New draws of seen and unseen classes: no draw's test is ever used in its tuning, and the mean over draws is told."""

import csv
import json

import numpy as np
import pytest
from scipy.stats import t
from zero_shot_toys import SENTINEL, toy

from zslplat.comparison.over_datasets import draw_p_value
from zslplat.comparison.ranks import over_splits
from zslplat.data.class_draws import Redrawn, redrawn
from zslplat.data.dataset import ClassFold, Dataset, SignatureSet
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UsageError
from zslplat.evaluation.components import build_component
from zslplat.spec import Spec
from zslplat.statistics import NOT_ENOUGH, equal_within
from zslplat.suites.tables import draw_cells


def plain_toy(**extra):
    """A toy whose test rows carry no mark; its own fold would hold classes that a draw tests."""
    marked = toy(**extra)
    X = np.array(marked.X)
    X[X > SENTINEL / 2] -= SENTINEL
    seen = np.unique(marked.y[marked.rows("train")]).tolist()
    folds = (ClassFold("own", tuple(seen[2:]), tuple(seen[:2])),)
    S = np.array(marked.signatures["att"].values)
    S[S > SENTINEL / 2] -= SENTINEL
    return Dataset("toy", X, marked.y, marked.class_names, {"att": SignatureSet(S)}, splits=marked.splits, folds=folds)


def with_marked_test(drawn):
    """The same draw with its test rows and unseen signatures replaced by a value that is easy to find."""
    X, S = np.array(drawn.X), np.array(drawn.signatures["att"].values)
    for split in ("test_unseen", "test_seen"):
        X[drawn.rows(split)] = SENTINEL
    S[np.unique(drawn.y[drawn.rows("test_unseen")])] = SENTINEL
    return Dataset("m", X, drawn.y, drawn.class_names, {"att": SignatureSet(S)}, splits=drawn.splits, folds=drawn.folds)


@pytest.mark.parametrize("task", ["zsl", "gzsl", "retrieval"])
@pytest.mark.parametrize("draw", [1, 2, 7])
def test_tuning_on_a_draw_never_sees_its_test(task, draw):
    marked = with_marked_test(redrawn(plain_toy(), draw))
    problems = build_component("tasks", Spec(task)).validation(marked, seed=0)
    assert problems
    hidden = set(np.concatenate([marked.rows("test_unseen"), marked.rows("test_seen")]).tolist())
    for problem in problems:
        for name in ("X", "X_pool", "S", "S_pool"):
            assert not (np.asarray(problem.inputs[name]) == SENTINEL).any(), name
        assert not hidden & set(problem.truth["row_pool"].tolist())


def test_the_classes_of_a_draw_are_the_same_for_ever():
    # Recorded results name a draw by its number alone.
    draws = [redrawn(plain_toy(), draw) for draw in (1, 2, 3)]
    unseen = [np.unique(drawn.y[drawn.rows("test_unseen")]).tolist() for drawn in draws]
    assert unseen == [[2, 3, 4, 8, 16], [3, 4, 9, 14, 16], [4, 6, 10, 11, 12]]
    assert [drawn.rows("test_seen")[:3].tolist() for drawn in draws] == [[2, 7, 12], [2, 3, 8], [11, 18, 20]]


def test_a_draw_divides_all_rows_and_classes_as_the_data_set_does():
    data = plain_toy()
    draws = [redrawn(data, k) for k in range(1, 9)]
    count = len(np.unique(data.y[data.rows("test_unseen")]))
    for drawn in draws:
        unseen, seen = (set(drawn.y[drawn.rows(s)].tolist()) for s in ("test_unseen", "train"))
        assert len(unseen) == count
        assert not unseen & seen
        assert set(drawn.y[drawn.rows("test_seen")].tolist()) <= seen
        rows = np.concatenate([drawn.rows(s) for s in drawn.splits])
        assert len(np.unique(rows)) == len(rows) == sum(map(len, data.splits.values()))
        assert drawn.folds == ()
    sets = {tuple(sorted(set(d.y[d.rows("test_unseen")].tolist()))) for d in draws}
    assert len(sets) == len({d.fingerprint for d in draws}) == 8
    again = redrawn(data, 3)
    assert again.fingerprint == draws[2].fingerprint
    assert all((again.rows(s) == draws[2].rows(s)).all() for s in again.splits)


def grouped(groups):
    """Rows of 12 classes with the given groups; the last 3 classes are unseen."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 20)
    splits = {"train": np.flatnonzero(y < 9), "test_unseen": np.flatnonzero(y >= 9)}
    S = {"att": SignatureSet(rng.normal(size=(12, 4)))}
    return Dataset("g", rng.normal(size=(len(y), 3)), y, tuple("abcdefghijkl"), S, splits=splits, groups=groups)


@pytest.mark.parametrize("kind", ["within a class", "over all classes"])
def test_no_group_is_on_both_sides(kind):
    rows = np.arange(240)
    data = grouped(rows // 5 if kind == "within a class" else rows % 10)
    for draw in (1, 2, 3):
        drawn = redrawn(data, draw)
        train, test = drawn.rows("train"), drawn.rows("test_unseen")
        assert not set(drawn.groups[train].tolist()) & set(drawn.groups[test].tolist())
        assert len(np.unique(drawn.y[train])) == 9
        assert len(np.unique(drawn.y[test])) == 3
        if kind == "within a class":
            assert len(train) + len(test) == 240


def test_data_sets_that_draw_their_own_classes_draw_anew_and_others_must_have_some():
    places = DataPlaces()
    first, second = (Redrawn(of="digit-pairs(rows=5)", draw=k).load(places) for k in (1, 2))
    assert first.splits.keys() == second.splits.keys()
    assert set(first.y[first.rows("test_unseen")]) != set(second.y[second.rows("test_unseen")])
    assert first.folds  # those of the draw itself, whose classes share no image
    with pytest.raises(DataError, match="has no seen and unseen classes to draw anew"):
        Redrawn(of="digits", draw=1).load(places)
    with pytest.raises(UsageError, match="is drawn anew already"):
        Redrawn(of="redrawn(draw=1)", draw=1).load(places)


def test_the_mean_over_draws_has_the_corrected_t_interval():
    values, classes = [0.5, 0.6, 0.4, 0.7], [(16, 4)] * 4
    found = over_splits(values, classes)
    s = np.std(values, ddof=1)
    half = t.ppf(0.975, 3) * s * np.sqrt(1 / 4 + 4 / 16)
    assert found.estimate == pytest.approx(0.55)
    assert (found.low, found.high) == (pytest.approx(0.55 - half), pytest.approx(0.55 + half))
    assert np.isnan(over_splits([0.5], [(16, 4)]).low)


@pytest.mark.parametrize(
    ("of_draws", "verdict"),
    [
        ([(0.55, 0.05), (0.05, 0.45)], NOT_ENOUGH),
        ([(0.301, 0.300), (0.300, 0.301), (0.300, 0.300)], equal_within(0.02)),
        ([(0.60, 0.30), (0.59, 0.30), (0.61, 0.30)], "ahead"),
    ],
)
def test_a_difference_over_draws_is_equal_only_where_its_interval_is_within_the_margin(of_draws, verdict):
    gap = over_splits([a - b for a, b in of_draws], [(16, 4)] * len(of_draws))
    p = draw_p_value(gap, len(of_draws))
    assert draw_cells(gap, "accuracy", p, p) == [gap.estimate, gap.low, gap.high, verdict, "", "", p, verdict]
    # Holm's correction takes a verdict away.
    taken = draw_cells(gap, "accuracy", p, 0.2)[-1]
    assert taken == (NOT_ENOUGH if verdict == "ahead" else verdict)
    assert (gap.low < 0 < gap.high) == (verdict != "ahead")
    # Seconds have no margin: nothing of them is equal.
    assert draw_cells(gap, "seconds", p, 0.2)[-1] == NOT_ENOUGH


SUITE = """
trials = 1
repeats = 1
workers = 1
tasks = ["zsl"]
differences = [["b", "a"]]
[[data]]
name = "toy"
dataset = "marked"
[[row]]
name = "a"
method = "plain(mix=0.5, ridge=100)"
[[row]]
name = "b"
method = "plain"
"""


@pytest.mark.long
def test_a_suite_on_draws_tells_each_draw_and_their_mean(call, tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE)
    done = call("bench", "suite.toml", "--splits", 2, "--out", "out", "-q")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "out" / "scores.csv", newline="") as file:
        scores = list(csv.DictReader(file))
    assert [(s["row"], s["split"]) for s in scores] == [
        *(("a", "1"), ("b", "1"), ("a", "2"), ("b", "2")),
        *(("a", "mean"), ("b", "mean")),
    ]
    by_row = {row: [float(s["test"]) for s in scores if s["row"] == row] for row in "ab"}
    for row, (first, second, mean) in by_row.items():
        assert mean == pytest.approx((first + second) / 2)
        line = next(s for s in scores if (s["row"], s["split"]) == (row, "mean"))
        over = over_splits([first, second], [(10, 4)] * 2)
        ends = max(over.low, 0.0), min(over.high, 1.0)  # no accuracy lies beyond
        assert (float(line["low"]), float(line["high"])) == pytest.approx(ends)
    with open(tmp_path / "out" / "differences.csv", newline="") as file:
        (gap,) = csv.DictReader(file)
    assert float(gap["difference"]) == pytest.approx(by_row["b"][2] - by_row["a"][2])
    reach = float(gap["high"]) - float(gap["difference"])
    assert (gap["verdict"] == "too few draws to tell") == (reach > max(by_row["a"][2], by_row["b"][2]))
    assert "draw 1" in call("compare", "-d", "redrawn(of=marked, draw=1)", "--json").stdout
    # What compare says of the draws is what the tables of the suite say.
    for asked in (("--suite", "suite"), ("-d", "marked"), ("-d", "marked", "--suite", "suite")):
        content = json.loads(call("compare", *asked, "--against", "a", "--json").stdout)
        (drawn,) = content["across"][0]["over_draws"]
        of = {method["method"]: method for method in drawn["methods"]}
        names = {"a": "plain(mix=0.5, ridge=100)", "b": "plain"}
        assert (drawn["dataset"], drawn["draws"], drawn["baseline"]) == ("marked", 2, names["a"])
        for row, name in names.items():
            of[row] = of[name]
            line = next(s for s in scores if (s["row"], s["split"]) == (row, "mean"))
            assert [of[row][name] for name in ("mean", "low", "high")] == [
                float(line[n]) for n in ("test", "low", "high")
            ]
        assert [of["b"][n] for n in ("difference", "difference_low", "difference_high", "p_holm")] == [
            None if gap[n] == "nan" else float(gap[n]) for n in ("difference", "low", "high", "p_holm")
        ]
        assert (of["b"]["verdict"] or "") == gap["verdict"]

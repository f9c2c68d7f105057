"""New draws of seen and unseen classes: no draw's test is ever used in its tuning, and folds test each class once."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from zero_shot_toys import SENTINEL, toy

from zslplat.data.class_draws import Redrawn, divide_classes, redrawn
from zslplat.data.dataset import ClassFold, Dataset, SignatureSet
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UsageError
from zslplat.evaluation.components import build_component
from zslplat.spec import Spec


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
@pytest.mark.parametrize("folds", [None, 3])
def test_tuning_on_a_draw_never_sees_its_test(task, draw, folds):
    marked = with_marked_test(redrawn(plain_toy(), draw, folds))
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


def test_of_class_folds_each_class_is_unseen_once_and_further_draws_are_further_arrangements():
    data = plain_toy()
    rows = np.concatenate(list(data.splits.values()))
    arrangements = []
    for first in (1, 5):
        drawn = [redrawn(data, draw, 4) for draw in range(first, first + 4)]
        unseen = [set(one.y[one.rows("test_unseen")].tolist()) for one in drawn]
        assert sorted(label for classes in unseen for label in classes) == sorted(set(data.y[rows].tolist()))
        for one, classes in zip(drawn, unseen, strict=True):
            assert not classes & set(one.y[one.rows("train")].tolist())
            assert set(one.y[one.rows("test_seen")].tolist()) <= set(one.y[one.rows("train")].tolist())
            assert sorted(np.concatenate(list(one.splits.values())).tolist()) == sorted(rows.tolist())
        arrangements.append(sorted(map(sorted, unseen)))
    assert arrangements[0] != arrangements[1]
    assert redrawn(data, 6, 4).fingerprint == redrawn(data, 6, 4).fingerprint != redrawn(data, 6, 5).fingerprint
    with pytest.raises(UsageError, match="a fold needs 2; give 2 to 8 folds"):
        redrawn(data, 1, 13)


def test_folds_are_even_in_superclasses_and_in_numbers_of_rows():
    y = np.repeat(np.arange(24), np.r_[np.full(12, 4), np.full(12, 20)])
    kinds = np.tile(np.arange(3), 8)
    signatures = {"att": SignatureSet(np.random.default_rng(0).normal(size=(24, 4)))}
    splits = {"train": np.flatnonzero(y % 6 > 0), "test_unseen": np.flatnonzero(y % 6 == 0)}
    data = Dataset("s", np.zeros((len(y), 2)), y, tuple(map(str, range(24))), signatures, splits=splits)
    rows = np.arange(len(y))
    for arrangement in range(3):
        frequent = [np.sum(fold >= 12) for fold in divide_classes(data, rows, 4, arrangement)]
        assert frequent == [3, 3, 3, 3]
        named = replace(data, signatures={**signatures, "superclass": SignatureSet(kinds[:, None].astype(float))})
        by_kind = [np.bincount(kinds[fold]).tolist() for fold in divide_classes(named, rows, 4, arrangement)]
        assert by_kind == [[2, 2, 2]] * 4


def test_digit_pairs_has_five_folds_of_its_own_that_share_no_image():
    drawn = [Redrawn(of="digit-pairs(rows=5)", folds=5, draw=k).load(DataPlaces()) for k in range(1, 6)]
    unseen = [set(one.y[one.rows("test_unseen")].tolist()) for one in drawn]
    assert sorted(label for classes in unseen for label in classes) == list(range(100))
    for one in drawn:
        images = [set(one.made_of[one.rows(split)].ravel().tolist()) for split in ("train", "test_unseen")]
        assert not images[0] & images[1]
    with pytest.raises(UsageError, match="5 folds of its own; ask for 5"):
        Redrawn(of="digit-pairs", folds=4, draw=1).load(DataPlaces())


def test_data_that_draw_their_classes_without_folds_of_their_own_are_divided_like_others():
    of = "synthetic(classes_seen=8, classes_unseen=4, rows_train=32)"
    drawn = [Redrawn(of=of, folds=3, draw=k).load(DataPlaces()) for k in (1, 2, 3)]
    assert sorted(c for data in drawn for c in set(data.y[data.rows("test_unseen")])) == list(range(12))


def grouped(groups):
    """Rows of 12 classes with the given groups; the last 3 classes are unseen."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 20)
    splits = {"train": np.flatnonzero(y < 9), "test_unseen": np.flatnonzero(y >= 9)}
    S = {"att": SignatureSet(rng.normal(size=(12, 4)))}
    return Dataset("g", rng.normal(size=(len(y), 3)), y, tuple("abcdefghijkl"), S, splits=splits, groups=groups)


@pytest.mark.parametrize("kind", ["within a class", "over all classes"])
@pytest.mark.parametrize("folds", [None, 4])
def test_no_group_is_on_both_sides(kind, folds):
    rows = np.arange(240)
    data = grouped(rows // 5 if kind == "within a class" else rows % 10)
    for draw in (1, 2, 3):
        drawn = redrawn(data, draw, folds)
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
    with pytest.raises(UsageError, match="say which, with draw=1"):
        Redrawn(of="digit-pairs", folds=5).load(places)


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
@pytest.mark.parametrize("options", [("--draws", 2), ("--class-folds", 3)])
def test_a_suite_on_draws_has_each_draw_and_all_together_as_compare_has(call, tmp_path, options):
    (tmp_path / "suite.toml").write_text(SUITE)
    done = call("bench", "suite.toml", *options, "--out", "out", "-q")
    assert done.returncode == 0, done.stderr
    count = options[1]
    with open(tmp_path / "out" / "scores.csv", newline="") as file:
        scores = list(csv.DictReader(file))
    draws = [str(draw) for draw in range(1, count + 1)]
    assert [(s["row"], s["draw"]) for s in scores] == [(row, draw) for draw in [*draws, "mean"] for row in "ab"]
    with open(tmp_path / "out" / "differences.csv", newline="") as file:
        (gap,) = csv.DictReader(file)
    assert f" #1{' of 3 class folds' if count == 3 else ''};" in call("compare", "-d", draw_spec(1, options)).stdout
    for asked in (("--suite", "suite"), ("-d", "marked"), ("-d", "marked", "--suite", "suite")):
        (content,) = json.loads(call("compare", *asked, "--against", "a", "--json").stdout)
        rows = {row["short"]: row for row in content["rows"]}
        for row, name in (("a", "plain(mix=0.5, ridge=100)"), ("b", "plain")):
            line = next(s for s in scores if (s["row"], s["draw"]) == (row, "mean"))
            found = rows[name]
            assert found["draws"] == count
            assert [found[key] for key in ("test", "low_classes", "high_classes")] == pytest.approx(
                [float(line[key]) for key in ("test", "low_classes", "high_classes")]
            )
        of = rows["plain"]
        keys = ("difference", "difference_low_classes", "difference_high_classes", "p_holm")
        told = [float(gap[key]) for key in ("difference", "low_classes", "high_classes", "p_holm")]
        assert [of[key] for key in keys] == pytest.approx(told)
        assert (of["verdict"] or "") == gap["verdict"]


def draw_spec(draw, options):
    folds = f", folds={options[1]}" if options[0] == "--class-folds" else ""
    return f"redrawn(of=marked, draw={draw}{folds})"

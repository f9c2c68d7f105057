"""Task option ``shots``: labelled rows of unseen classes that are trained on and not scored, in validation, too."""

from dataclasses import replace

import numpy as np
import pytest
from zero_shot_toys import SENTINEL, same_problems, toy, with_changed_test_data

from zslplat import load_dataset
from zslplat.data.dataset import SignatureSet
from zslplat.errors import DataError, OutcomeWarning
from zslplat.evaluation.components import build_component
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.methods.ridge_prototypes import ClassMeans
from zslplat.families.zero_shot.task import drawn_shots
from zslplat.families.zero_shot.unseen import Retrieval, ZeroShot
from zslplat.spec import Spec

TASKS = [ZeroShot, GeneralizedZeroShot, Retrieval]


def rows_of(data, array):
    """The data set's rows that an array of features holds; every row of the toy is unique."""
    number = {row.tobytes(): i for i, row in enumerate(np.asarray(data.X))}
    return np.array([number[row.tobytes()] for row in np.asarray(array)])


def unseen_of(data):
    return np.unique(data.y[data.splits["test_unseen"]])


@pytest.mark.parametrize("task", TASKS)
def test_so_many_rows_of_each_unseen_class_move_from_the_test_to_the_training(task):
    data = toy(rows=20)
    whole, few = task().test(data), task(shots=3).test(data)
    added = np.setdiff1d(rows_of(data, few.inputs["X"]), rows_of(data, whole.inputs["X"]))
    assert np.isin(rows_of(data, whole.inputs["X"]), rows_of(data, few.inputs["X"])).all()
    assert {label: np.count_nonzero(data.y[added] == label) for label in unseen_of(data)} == dict.fromkeys(
        unseen_of(data), 3
    )
    assert np.array_equal(np.sort(np.r_[few.truth["row_pool"], added]), np.sort(whole.truth["row_pool"]))
    # Labels and signatures count within the classes trained on, the unseen ones among them.
    trained = np.unique(data.y[rows_of(data, few.inputs["X"])])
    assert np.array_equal(trained[few.inputs["y"]], data.y[rows_of(data, few.inputs["X"])])
    assert np.array_equal(few.inputs["S"], data.S[trained])
    for name in ("S_pool", "seen"):
        assert np.array_equal(few.inputs[name], whole.inputs[name]), name


@pytest.mark.parametrize("task", TASKS)
def test_validation_does_the_same_with_the_classes_that_it_holds_out(task):
    data = toy(rows=20)
    for whole, few in zip(task().validation(data), task(shots=2).validation(data), strict=True):
        held_out = np.array([data.class_names.index(name) for name in whole.meta["classes"]])[~whole.inputs["seen"]]
        added = np.setdiff1d(rows_of(data, few.inputs["X"]), rows_of(data, whole.inputs["X"]))
        assert np.sort(data.y[added]).tolist() == sorted(np.repeat(held_out, 2).tolist())
        assert not np.isin(added, few.truth["row_pool"]).any()
        assert np.abs(few.inputs["X"]).max() < SENTINEL / 2


@pytest.mark.parametrize("task", TASKS)
def test_validation_sees_nothing_of_the_test(task):
    data = toy(rows=20)
    same_problems(task(shots=2).validation(data), task(shots=2).validation(with_changed_test_data(data)))


@pytest.mark.parametrize("task", TASKS)
def test_no_shots_is_the_task_as_it_was(task):
    data = toy()
    same_problems([task().test(data)], [task(shots=0, shots_seed=4).test(data)])
    same_problems(task().validation(data), task(shots=0, shots_seed=4).validation(data))


def test_more_shots_hold_those_of_fewer_and_only_their_own_seed_draws_them():
    data = toy(rows=20)
    rows = data.splits["test_unseen"]

    def drawn(count, seed=0):
        return set(drawn_shots(data, rows, count, (seed, 5, 0))[0].tolist())

    assert drawn(1) < drawn(2) < drawn(5)
    assert drawn(2) != drawn(2, seed=1)
    for seed in (0, 7):
        scored = ZeroShot(shots=2).test(data, seed=seed).truth["row_pool"]
        assert set(rows.tolist()) - set(scored.tolist()) == drawn(2)


def test_rows_that_share_a_group_or_an_image_with_a_shot_are_not_scored():
    data = toy(rows=20)
    grouped = replace(data, groups=np.arange(len(data.y)) // 4)
    with pytest.warns(OutcomeWarning, match="not scored"):
        few = ZeroShot(shots=1).test(grouped)
    shots = np.intersect1d(rows_of(data, few.inputs["X"]), data.splits["test_unseen"])
    assert not np.isin(grouped.groups[few.truth["row_pool"]], grouped.groups[shots]).any()
    pairs = load_dataset("digit-pairs")
    with pytest.warns(OutcomeWarning, match=r"139 of 780 rows share images or a group with the 20 shots"):
        few = ZeroShot(shots=1).test(pairs)
    shots = np.setdiff1d(pairs.rows("test_unseen"), few.truth["row_pool"])
    # One of each of the 20 classes, and those that show one of their 40 images.
    assert len(shots) > 20
    trained = np.unique(pairs.y[np.setdiff1d(shots, few.truth["row_pool"])])
    assert len(trained) == 20
    one = drawn_shots(pairs, pairs.rows("test_unseen"), 1, (0, 5, 0))[0]
    assert not np.isin(pairs.made_of[few.truth["row_pool"]], pairs.made_of[one]).any()


@pytest.mark.parametrize("protocol", ["given", "paper"])
@pytest.mark.parametrize("shared", ["groups", "made_of"])
def test_rows_of_seen_classes_that_share_a_group_or_an_image_with_a_shot_are_not_scored_either(protocol, shared):
    data = toy(rows=40, test_seen=protocol == "given")
    shape = len(data.y) if shared == "groups" else (len(data.y), 2)
    things = np.random.default_rng(0).integers(120, size=shape)
    data = replace(data, **{shared: things})

    def problems(task):
        # Class folds keep groups apart from the first, so validation has something to leave out with images alone.
        return [task.test(data), *(task.validation(data) if shared == "made_of" else [])]

    with pytest.warns(OutcomeWarning, match=r"share images or a group with the \d+ shots"):
        few = problems(GeneralizedZeroShot(shots=1, protocol=protocol))
    for problem, whole in zip(few, problems(GeneralizedZeroShot(protocol=protocol)), strict=True):
        shots = np.setdiff1d(rows_of(data, problem.inputs["X"]), rows_of(data, whole.inputs["X"]))
        scored, before = problem.truth["row_pool"], whole.truth["row_pool"]
        apart = ~np.isin(things[before], things[shots]).reshape(len(before), -1).any(axis=1)
        seen = whole.inputs["seen"][whole.truth["y_pool"]]
        assert 0 < np.count_nonzero(apart & seen) < np.count_nonzero(seen)
        assert np.array_equal(np.sort(scored), np.setdiff1d(before[apart], shots))


def test_shots_whose_groups_hold_every_seen_row_are_refused():
    data = toy(rows=20)
    groups = np.where(np.isin(data.y, unseen_of(data)), np.arange(len(data.y)), -1)
    shots = drawn_shots(data, data.splits["test_unseen"], 1, (0, 5, 0))[0]
    groups[shots] = -1
    with pytest.raises(DataError, match="shots=1 leaves no row of a seen class to score"):
        GeneralizedZeroShot(shots=1).test(replace(data, groups=groups))


def test_shots_that_leave_nothing_to_score_are_refused():
    with pytest.raises(
        DataError, match=r"shots=20 leaves 5 classes without a row to score.* 20 rows: at most shots=19"
    ):
        ZeroShot(shots=20).test(toy(rows=20))
    data = toy(rows=20)
    with pytest.raises(DataError, match=r"shots=2 leaves .* rows that share images or a group .* use fewer shots"):
        ZeroShot(shots=2).test(replace(data, groups=data.y % 2))


def test_imbalance_thins_out_what_the_shots_leave():
    data = toy(rows=100)
    scored = ZeroShot(shots=4, imbalance=16).test(data).truth["y_pool"]
    assert np.sort(np.bincount(scored)).tolist() == [6, 12, 24, 48, 96]


def test_class_means_are_the_means_of_the_shots_whatever_the_signatures_say():
    data = toy(rows=30, test_seen=False)
    problem = ZeroShot(shots=5).test(data)
    inputs = {name: np.asarray(array, dtype=np.float64) for name, array in problem.inputs.items() if name != "y"}
    y = problem.inputs["y"]
    shuffled = np.random.default_rng(0).permutation(len(inputs["S"]))
    scores = []
    for S in (inputs["S"], inputs["S"][shuffled]):
        pool = S[[int(np.flatnonzero((inputs["S"] == s).all(axis=1))[0]) for s in inputs["S_pool"]]]
        method = ClassMeans(temperature=float("inf")).fit(inputs["X"], y, S)
        scores.append(method.decision_function(inputs["X_pool"], pool))
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-12)
    # The slow way: the pooled scatter within classes, and cosines in its inverse.
    X = inputs["X"]
    means = np.array([X[y == c].mean(axis=0) for c in range(len(inputs["S"]))])
    within = X - means[y]
    C = within.T @ within
    P = np.linalg.inv(C + 5 * np.trace(C) / len(C) * np.eye(len(C)))
    of_pool = [int(np.flatnonzero((inputs["S"] == s).all(axis=1))[0]) for s in inputs["S_pool"]]
    rows, places = inputs["X_pool"] - X.mean(axis=0), means[of_pool] - X.mean(axis=0)
    lengths = [np.sqrt(np.einsum("ij,jk,ik->i", A, P, A)) for A in (rows, places)]
    np.testing.assert_allclose(scores[0], rows @ P @ places.T / np.outer(*lengths), atol=1e-9)


def test_a_class_without_rows_has_the_mean_of_the_one_with_the_nearest_signature():
    rng = np.random.default_rng(0)
    X, y, S = rng.normal(size=(40, 5)), np.repeat(np.arange(4), 10), np.eye(4)
    method = ClassMeans().fit(X, y, S)
    near = S[[2]] + 0.1
    assert np.array_equal(method.decision_function(X, near)[:, 0], method.decision_function(X, S[[2]])[:, 0])


def test_a_task_with_shots_is_another_task():
    few = build_component("tasks", Spec.parse("zsl(shots=5)"))
    assert few.shots == 5
    assert str(Spec.parse("zsl(shots=5)")) != "zsl"


@pytest.mark.parametrize("task", [ZeroShot, GeneralizedZeroShot])
def test_signatures_are_centred_over_every_class_once(task):
    data = toy(rows=20)
    few = task(shots=2).test(data)
    whole = task(shots=2).whole("signatures", few.inputs)
    assert np.array_equal(np.sort(whole, axis=0), np.sort(data.S, axis=0))


@pytest.mark.parametrize("task", TASKS)
def test_an_attribute_is_left_out_of_all_signatures_and_nothing_else_changes(task):
    data = toy()
    for whole, lesser in zip(
        [*task().validation(data), task().test(data)],
        [*task(without=2).validation(data), task(without=2).test(data)],
        strict=True,
    ):
        for name in ("S", "S_pool"):
            assert np.array_equal(lesser.inputs[name], np.asarray(whole.inputs[name])[:, [0, 1, 3]])
        for name in ("X", "y", "X_pool", "seen"):
            assert np.array_equal(lesser.inputs[name], whole.inputs[name])
    named = replace(data, signatures={"att": SignatureSet(data.S, names=("a", "b", "c", "d"))})
    assert task(without=2).test(named).meta["attributes"] == ["a", "b", "d"]
    with pytest.raises(DataError, match="without=4 of 4 attributes; give 0 to 3"):
        task(without=4).test(data)

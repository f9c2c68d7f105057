"""The zero-shot tasks by property: no leak into validation, compact problems, requests, statistics, clear errors."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from zero_shot_toys import (
    SENTINEL,
    Bilinear,
    Joint,
    Prepared,
    Several,
    assert_no_test_value,
    outcome,
    same_problems,
    several_signatures,
    toy,
    with_changed_test_data,
)

from zslplat.data.dataset import ClassFold, SignatureSet
from zslplat.errors import DataError, MethodError, UsageError
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.tasks.splits import class_folds, hold_out_rows


class Stepwise(Bilinear):
    def _fit_steps(self, X, y, S, statistics):
        self.fit(X, y, S)
        final = self.W_.copy()
        for step in (1, 2, 3):
            self.W_ = final * (step - 2)
            yield step


def test_zsl_problems_hold_only_their_own_rows_and_classes():
    data = toy()
    for problem in ZeroShot().validation(data):
        assert_no_test_value(problem)
        assert len(problem.inputs["S"]) + len(problem.inputs["S_pool"]) == 12
        assert not problem.inputs["seen"].any()
        S = data.signatures["att"].values
        ids = [data.class_names.index(name) for name in problem.meta["classes"]]
        assert np.array_equal(problem.inputs["S_pool"], S[ids])
        rows = problem.truth["row_pool"]
        assert np.isin(rows, data.splits["train"]).all()
        assert np.array_equal(problem.inputs["X_pool"], data.X[rows])
        assert np.array_equal(np.array(ids)[problem.truth["y_pool"]], data.y[rows])
        assert set(problem.inputs["y"].tolist()) == set(range(len(problem.inputs["S"])))
        assert np.array_equal(
            np.sort(rows), np.flatnonzero(np.isin(data.y, ids) & np.isin(np.arange(len(data.y)), data.splits["train"]))
        )


def test_zsl_test_problem_trains_on_all_training_rows_and_scores_all_unseen_rows():
    data = toy()
    problem = ZeroShot().test(data)
    assert problem.name == "test"
    assert np.array_equal(problem.inputs["X"], data.X[data.splits["train"]])
    assert np.array_equal(np.sort(problem.truth["row_pool"]), data.splits["test_unseen"])
    assert len(problem.inputs["S_pool"]) == 5
    assert np.isclose(ZeroShot().chance(problem), 0.2)


def test_zsl_validation_is_independent_of_test_rows_labels_and_unseen_signatures():
    data = toy()
    same_problems(ZeroShot().validation(data, seed=3), ZeroShot().validation(with_changed_test_data(data), seed=3))


def test_leak_check_can_fail():
    data = toy()
    changed = replace(data, X=data.X + np.isin(np.arange(len(data.X)), data.splits["train"])[:, None])
    with pytest.raises(AssertionError):
        same_problems(ZeroShot().validation(data), ZeroShot().validation(changed))


def test_problems_repeat_with_the_seed_and_differ_without():
    data = toy()
    same_problems(ZeroShot().validation(data, seed=1), ZeroShot().validation(data, seed=1))
    first, second = (ZeroShot().test(data, seed=s).truth["row_pool"] for s in (1, 2))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.sort(first))
    assert np.array_equal(np.sort(first), np.sort(second))


def test_arrays_keep_their_dtype_and_do_not_refer_to_the_data_set(tmp_path):
    data = toy(dtype=np.float16)
    np.save(tmp_path / "X.npy", data.X)
    mapped = replace(data, X=np.load(tmp_path / "X.npy", mmap_mode="r"))
    for problem in [*ZeroShot().validation(mapped), ZeroShot().test(mapped)]:
        for key in ("X", "X_pool"):
            array = problem.inputs[key]
            assert array.dtype == np.float16
            assert type(array) is np.ndarray
            assert not np.shares_memory(array, mapped.X)
        for array in problem.inputs.values():
            base = array.base
            assert base is None or base.size <= array.size


def test_own_folds_are_restricted_to_training_classes():
    data = toy()
    seen = np.unique(data.y[data.splits["train"]]).tolist()
    unseen = np.unique(data.y[data.splits["test_unseen"]]).tolist()
    folds = (
        ClassFold("trainclasses1", tuple(seen[4:]), (*seen[:4], unseen[0])),
        ClassFold("trainclasses2", tuple(seen[:-3]), tuple(seen[-3:])),
    )
    data = replace(data, folds=folds)
    problems = ZeroShot().validation(data)
    assert [p.name for p in problems] == ["fold-1", "fold-2"]
    assert [p.meta["fold"] for p in problems] == ["trainclasses1", "trainclasses2"]
    assert len(problems[0].inputs["S_pool"]) == 4
    assert_no_test_value(problems[0])
    assert len(ZeroShot(folds=1).validation(data)) == 1
    with pytest.raises(UsageError, match="2 folds of its own"):
        ZeroShot(folds=3).validation(data)


def test_hold_out_takes_the_share_of_every_class():
    data = toy(rows=20, test_seen=False)
    kept, held = hold_out_rows(data, data.splits["train"], 0.2, seed=0)
    assert np.array_equal(np.sort(np.r_[kept, held]), data.splits["train"])
    assert set(np.bincount(data.y[held], minlength=17).tolist()) == {0, 4}


def test_hold_out_never_takes_the_last_row_of_a_class():
    data = toy(rows=3, test_seen=False)
    kept, held = hold_out_rows(data, data.splits["train"], 0.9, seed=0)
    assert len(held) == 2 * 12
    assert set(data.y[kept].tolist()) == set(data.y[held].tolist())


def test_hold_out_keeps_groups_together_and_a_row_of_every_class():
    rng = np.random.default_rng(0)
    data = toy(rows=20, test_seen=False)
    data = replace(data, groups=rng.integers(0, 40, len(data.y)))
    kept, held = hold_out_rows(data, data.splits["train"], 0.2, seed=0)
    assert not set(data.groups[kept].tolist()) & set(data.groups[held].tolist())
    assert set(data.y[kept].tolist()) == set(data.y[data.splits["train"]].tolist())
    assert 0.1 < len(held) / len(data.splits["train"]) < 0.3


def test_rows_that_share_a_group_with_validation_rows_are_not_trained_on():
    data = toy(rows=20)
    groups = np.arange(len(data.y))
    rows = data.splits["train"]
    fold = class_folds(data, rows, None, 0.2, seed=0)[0]
    pairs = [np.flatnonzero((data.y == c) & np.isin(groups, rows))[0] for c in (fold.train[0], fold.validation[0])]
    groups[pairs] = 10**5
    before = ZeroShot().validation(data)[0]
    after = ZeroShot().validation(replace(data, groups=groups))[0]
    assert len(after.inputs["X"]) == len(before.inputs["X"]) - 1
    with pytest.raises(DataError, match="share all their groups"):
        ZeroShot().validation(replace(data, groups=np.zeros_like(groups)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"splits": {}}, "no split 'test_unseen'"),
        ({"splits": {"test_unseen": np.array([0])}}, "no split 'train'"),
        ({"folds": (ClassFold("f", (0, 1, 2, 3, 4, 5, 6), (7,)),)}, "1 validation classes"),
        ({"folds": (ClassFold("f", (0,), (7, 8)),)}, "1 training classes"),
    ],
)
def test_unusable_data_give_one_clear_line(change, message):
    data = toy(c_seen=17, c_unseen=0, test_seen=False)
    last = {"train": data.splits["train"][:-1], "test_unseen": data.splits["train"][-1:]}
    keep = data.y != data.y[data.splits["train"][-1]]
    last["train"] = np.flatnonzero(keep)
    with pytest.raises(DataError, match=message) as caught:
        ZeroShot().validation(replace(data, **{"splits": last, **change}))
    assert "\n" not in str(caught.value)


def test_single_unseen_class_is_refused():
    with pytest.raises(DataError, match="at least two"):
        ZeroShot().test(toy(c_unseen=1))


@pytest.mark.parametrize("options", [{"folds": 0}, {"validation_classes": 0.0}, {"top_k": 0}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(UsageError, match="out of range"):
        ZeroShot(**options)


def test_zsl_scores_agree_with_scikit_learn():
    data = toy(rows=30)
    data = replace(data, X=np.where(data.X > SENTINEL / 2, data.X - np.float32(SENTINEL), data.X))
    data = replace(data, signatures={"att": SignatureSet(np.random.default_rng(1).normal(size=(17, 4)))})
    task, problem, method = ZeroShot(top_k=2), ZeroShot().test(data), Bilinear()
    result = outcome(task, method, problem)
    scores = method.decision_function(problem.inputs["X_pool"], problem.inputs["S_pool"])
    y = problem.truth["y_pool"]
    assert np.isclose(result.metrics["per_class_accuracy"], balanced_accuracy_score(y, scores.argmax(1)), atol=1e-15)
    assert np.isclose(result.metrics["per_sample_accuracy"], np.mean(scores.argmax(1) == y), atol=1e-15)
    second = [np.mean([y[i] in np.argsort(-scores[i])[:2] for i in np.flatnonzero(y == k)]) for k in range(5)]
    assert np.isclose(result.metrics["per_class_top_2"], np.mean(second), atol=1e-15)
    assert result.tables["predictions"].columns["row"] == sorted(data.splits["test_unseen"].tolist())
    columns = result.tables["predictions"].columns
    assert np.isclose(np.mean(np.array(columns["true"]) == columns["predicted"]), result.metrics["per_sample_accuracy"])
    assert np.isclose(np.mean(result.tables["per_class"].columns["accuracy"]), result.metrics["per_class_accuracy"])
    assert sum(result.tables["confusion"].columns["rows"]) == len(y)
    assert result.figures["confusion"].values.shape == (5, 5)


def test_statistics_reach_the_method_below_their_prefix():
    problem, task = ZeroShot().test(toy()), ZeroShot()
    method = Prepared()
    statistics = task.prepare(method, problem, {})
    assert set(statistics) == {"fit/gram", "score/rows"}
    list(task.run(method, problem, statistics))
    assert set(method.statistics_) == {"gram"}
    assert method.score_statistics_[0]["rows"].tolist() == [len(problem.inputs["X_pool"]), 5]
    joint = Joint()
    statistics = task.prepare(joint, problem, {})
    assert set(statistics) == {"fit/gram", "score:U->U/rows"}
    list(task.run(joint, problem, {}))
    assert joint.statistics_ is None
    assert joint.score_statistics_ == [None]


def test_every_step_of_an_iterative_method_is_scored():
    problem, task = ZeroShot().test(toy()), ZeroShot()
    results = [(step, outputs["U->U"].copy()) for step, outputs in task.run(Stepwise(), problem, {})]
    assert [step for step, _ in results] == [1, 2, 3]
    np.testing.assert_allclose(results[0][1], -results[2][1])


def test_bad_scores_are_method_errors():
    class NotFinite(Bilinear):
        def decision_function(self, X, S, *, seen=None, statistics=None):
            return np.where(np.arange(len(X))[:, None] == 3, np.nan, 1.0) * np.ones((len(X), len(S)))

    class Transposed(Bilinear):
        def decision_function(self, X, S, *, seen=None, statistics=None):
            return np.zeros((len(S), len(X)))

    problem = ZeroShot().test(toy())
    for method, message in (
        (NotFinite(), "5 scores of 375"),
        (Transposed(), "shape \\(5, 75\\) for 75 rows and 5 classes"),
    ):
        with pytest.raises(MethodError, match=message):
            list(ZeroShot().run(method, problem, {}))


def test_methods_of_another_kind_are_refused():
    class Other(Bilinear):
        kind = "coding"

    problem = ZeroShot().test(toy())
    with pytest.raises(UsageError, match="takes zero-shot methods"):
        list(ZeroShot().run(Other(), problem, {}))


def test_signature_rows_of_a_class_are_averaged_for_methods_that_take_one():
    data = several_signatures(toy())
    problem = ZeroShot().test(data)
    values, classes = data.signatures["att"].values, data.signatures["att"].classes
    ids = [data.class_names.index(name) for name in problem.meta["classes"]]
    means = np.array([values[classes == i].mean(0) for i in ids])

    class Seeing(Bilinear):
        def decision_function(self, X, S, *, seen=None, statistics=None):
            np.testing.assert_allclose(S, means, rtol=1e-12)
            return super().decision_function(X, S)

    *_, (_, outputs) = ZeroShot().run(Seeing(), problem, {})
    assert outputs["U->U"].shape == (len(problem.truth["y_pool"]), 5)
    same_problems(ZeroShot().validation(data), ZeroShot().validation(with_changed_test_data(data)))


def test_signature_rows_reach_methods_that_accept_several():
    problem, method = ZeroShot().test(several_signatures(toy())), Several()
    *_, (_, outputs) = ZeroShot().run(method, problem, {})
    assert len(method.signature_["signature_class"]) == len(problem.inputs["S"]) > 12
    assert method.calls_[0][1][0] == len(problem.inputs["S_pool"]) > 5
    assert outputs["U->U"].shape == (len(problem.truth["y_pool"]), 5)


def test_one_signature_row_per_class_in_any_order_is_put_in_order():
    data = toy()
    order = np.random.default_rng(4).permutation(17)
    moved = replace(data, signatures={"att": SignatureSet(data.signatures["att"].values[order], order)})
    same_problems([ZeroShot().test(data)], [ZeroShot().test(moved)])

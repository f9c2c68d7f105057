"""The generalised task and retrieval by property: held-out rows, leaks, requests, metrics, calibration."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import hmean
from sklearn.metrics import average_precision_score, balanced_accuracy_score
from zero_shot_toys import (
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

from zslplat.data.dataset import ClassFold
from zslplat.data.sets.digit_pairs import digit_pairs
from zslplat.errors import DataError, UsageError
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.unseen import Retrieval, ZeroShot

TASKS = [ZeroShot, GeneralizedZeroShot, Retrieval]


def without_test_seen(data):
    splits = {key: rows for key, rows in data.splits.items() if key != "test_seen"}
    return replace(data, splits=splits)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("drawn", [True, False])
def test_validation_is_independent_of_test_rows_labels_and_unseen_signatures(task, drawn):
    data = toy(seed=1)
    if not drawn:
        seen = np.unique(data.y[data.splits["train"]]).tolist()
        data = replace(data, folds=(ClassFold("a", tuple(seen[3:]), tuple(seen[:3])),))
    problems = task().validation(data, seed=3)
    same_problems(problems, task().validation(with_changed_test_data(data), seed=3))
    for problem in problems:
        assert_no_test_value(problem)


def test_validation_of_the_paper_protocol_is_independent_of_test_data():
    data, task = without_test_seen(toy(seed=1)), GeneralizedZeroShot(protocol="paper")
    test_seen = task.test(data).truth["row_pool"]
    test_seen = test_seen[np.isin(test_seen, data.splits["train"])]
    assert 0.15 < len(test_seen) / len(data.splits["train"]) < 0.25
    X = data.X.copy()
    X[test_seen] = np.random.default_rng(0).normal(size=X[test_seen].shape)
    for seed in (0, 7):
        problems = task.validation(data, seed=seed)
        same_problems(problems, task.validation(replace(data, X=X), seed=seed))
        same_problems(problems, task.validation(with_changed_test_data(data), seed=seed))
        for problem in problems:
            assert_no_test_value(problem)
            assert not np.isin(problem.truth["row_pool"], test_seen).any()
            assert len(problem.inputs["X"]) + len(problem.inputs["X_pool"]) <= len(data.splits["train"]) - len(
                test_seen
            )


def test_paper_protocol_has_the_same_test_rows_for_every_study_seed_and_trains_on_none():
    data = without_test_seen(toy(seed=1))
    task = GeneralizedZeroShot(protocol="paper")
    first, second = (task.test(data, seed=s) for s in (0, 1))
    assert np.array_equal(np.sort(first.truth["row_pool"]), np.sort(second.truth["row_pool"]))
    assert np.array_equal(first.inputs["X"], second.inputs["X"])
    used = {row.tobytes() for row in first.inputs["X"]}
    assert not used & {row.tobytes() for row in first.inputs["X_pool"]}
    available = len(data.splits["train"]) + len(data.splits["test_unseen"])
    assert len(first.inputs["X"]) + len(first.inputs["X_pool"]) == available
    other = GeneralizedZeroShot(protocol="paper", split_seed=1).test(data)
    assert not np.array_equal(np.sort(first.truth["row_pool"]), np.sort(other.truth["row_pool"]))


@pytest.mark.parametrize("name", ["fold", "test"])
def test_generalised_problem_holds_its_rows_once_and_names_three_requests(name):
    data, task = toy(), GeneralizedZeroShot()
    problem = task.test(data) if name == "test" else task.validation(data)[0]
    inputs, y, seen = problem.inputs, problem.truth["y_pool"], problem.inputs["seen"]
    assert problem.meta["requests"] == ["U->U", "S->S", "T"]
    assert np.array_equal(inputs["S_pool"][seen], inputs["S"])
    assert np.array_equal(problem.truth["rows:U->U"], np.flatnonzero(~seen[y]))
    assert np.array_equal(problem.truth["rows:S->S"], np.flatnonzero(seen[y]))
    assert np.array_equal(problem.truth["rows:T"], np.arange(len(y)))
    assert np.array_equal(inputs["classes:U->U"], np.flatnonzero(~seen))
    assert len(np.unique(problem.truth["row_pool"])) == len(y)
    used = {row.tobytes() for row in inputs["X"]}
    assert not used & {row.tobytes() for row in inputs["X_pool"]}
    if name == "test":
        both = np.r_[data.splits["test_seen"], data.splits["test_unseen"]]
        assert np.array_equal(np.sort(problem.truth["row_pool"]), np.sort(both))
    else:
        share = np.count_nonzero(seen[y]) / (np.count_nonzero(seen[y]) + len(inputs["X"]))
        assert 0.15 < share < 0.25
        assert set(y.tolist()) == set(range(len(seen)))


def test_no_image_of_digit_pairs_is_on_both_sides_of_a_problem():
    data = digit_pairs()
    for task in TASKS:
        for problem in [*task().validation(data), task().test(data)]:
            halves = [{h.tobytes() for h in problem.inputs[key].reshape(-1, 64)} for key in ("X", "X_pool")]
            assert not halves[0] & halves[1], (task.name, problem.name)
    for problem in GeneralizedZeroShot().validation(data):
        seen = problem.inputs["seen"][problem.truth["y_pool"]]
        assert np.bincount(problem.truth["y_pool"][seen]).max() == 8
        assert len(np.unique(problem.truth["y_pool"])) == 80


def test_held_out_groups_share_nothing_with_training_rows():
    data = toy(rows=24)
    # Four rows of a class are one group: pictures of one animal, say.
    order = np.argsort(data.y, kind="stable")
    groups = np.empty(len(data.y), dtype=np.int64)
    groups[order] = np.arange(len(data.y)) // 4
    grouped = replace(data, groups=groups)
    for problem in GeneralizedZeroShot().validation(grouped):
        rows_of = {row.tobytes(): i for i, row in enumerate(data.X)}
        train = [rows_of[row.tobytes()] for row in problem.inputs["X"]]
        assert not set(groups[train].tolist()) & set(groups[problem.truth["row_pool"]].tolist())


def test_metrics_agree_with_independent_references():
    task, method = GeneralizedZeroShot(), Bilinear()
    problem = task.validation(toy(rows=30))[0]
    result = outcome(task, method, problem)
    scores = method.decision_function(problem.inputs["X_pool"], problem.inputs["S_pool"])
    y, seen = problem.truth["y_pool"], problem.inputs["seen"]
    for kind, name in ((seen, "S"), (~seen, "U")):
        rows = kind[y]
        own = np.flatnonzero(kind)[scores[rows][:, kind].argmax(1)]
        joint = scores[rows].argmax(1)
        assert result.metrics[f"{name}_to_{name}"] == pytest.approx(balanced_accuracy_score(y[rows], own), abs=1e-13)
        share = np.mean([np.mean(joint[y[rows] == j] == j) for j in np.flatnonzero(kind)])
        assert result.metrics[f"{name}_to_T"] == pytest.approx(share, abs=1e-13)
    assert result.metrics["H"] == pytest.approx(hmean([result.metrics["U_to_T"], result.metrics["S_to_T"]]), abs=1e-13)
    # A fine sweep approaches the exact area.
    points = []
    for bias in np.linspace(-30, 30, 6001):
        predicted = (scores - bias * seen).argmax(1)
        hit = [np.mean(predicted[y == j] == j) for j in range(len(seen))]
        points.append((np.mean(np.array(hit)[~seen]), np.mean(np.array(hit)[seen])))
    u, s = np.array(points).T
    assert result.metrics["AUSUC"] == pytest.approx(np.trapezoid(s, u), abs=2e-3)
    assert result.metrics["oracle_H"] >= result.metrics["H"]
    assert task.chance(problem) == 0.5 / (np.count_nonzero(seen) * np.count_nonzero(~seen))


def test_carried_bias_calibrates_and_its_own_best_bias_reaches_the_upper_mark():
    task, problem, method = GeneralizedZeroShot(), GeneralizedZeroShot().validation(toy(rows=30))[0], Bilinear()
    first = outcome(task, method, problem)
    assert "calibrated_H" not in first.metrics
    again = outcome(task, method, problem, validation_choices=first.validation_choices)
    assert again.metrics["calibrated_H"] == pytest.approx(first.metrics["oracle_H"], abs=1e-12)
    assert again.metrics["bias"] == first.validation_choices["bias"]
    columns = again.tables["predictions"].columns
    scores = method.decision_function(problem.inputs["X_pool"], problem.inputs["S_pool"])
    calibrated = (scores - first.validation_choices["bias"] * problem.inputs["seen"]).max(1)[
        np.argsort(problem.truth["row_pool"])
    ]
    np.testing.assert_allclose(columns["score"], calibrated, atol=1e-12)
    right = np.array(columns["true"]) == np.array(columns["predicted"])
    per_class = [right[np.array(columns["true"]) == name].mean() for name in problem.meta["classes"]]
    seen = problem.inputs["seen"]
    assert np.mean(np.array(per_class)[~seen]) == pytest.approx(again.metrics["calibrated_u"], abs=1e-12)
    assert np.mean(np.array(per_class)[seen]) == pytest.approx(again.metrics["calibrated_s"], abs=1e-12)
    table = again.tables["per_class"].columns
    np.testing.assert_allclose(table["accuracy_calibrated"], per_class, atol=1e-12)
    within = np.array(table["accuracy_within_kind"])
    assert within[seen].mean() == pytest.approx(again.metrics["S_to_S"], abs=1e-12)
    assert within[~seen].mean() == pytest.approx(again.metrics["U_to_U"], abs=1e-12)
    curve = again.tables["seen_unseen_curve"].columns
    assert len(curve["bias"]) == len(curve["seen"]) == len(curve["unseen"])
    assert set(again.figures) == {"confusion", "seen_unseen_curve"}


def test_carried_bias_is_the_mean_of_the_folds():
    task, data = GeneralizedZeroShot(), toy(rows=30)
    outcomes = [outcome(task, Bilinear(), problem, full=False) for problem in task.validation(data)]
    assert task.validation_choices(outcomes) == {
        "bias": pytest.approx(np.mean([o.validation_choices["bias"] for o in outcomes]))
    }
    assert all(not o.tables and not o.figures for o in outcomes)


@pytest.mark.parametrize("method", [Bilinear, Prepared])
def test_inductive_methods_score_once_and_requests_are_slices(method):
    task, problem, instance = GeneralizedZeroShot(), GeneralizedZeroShot().test(toy()), method()
    *_, (_, outputs) = task.run(instance, problem, task.prepare(instance, problem, {}))
    assert len(instance.calls_) == 1
    assert instance.calls_[0][2] == problem.inputs["seen"].tolist()
    for request in ("U->U", "S->S"):
        rows, classes = problem.truth[f"rows:{request}"], problem.inputs[f"classes:{request}"]
        assert np.array_equal(outputs[request], outputs["T"][np.ix_(rows, classes)])


def test_transductive_methods_score_every_request_by_itself():
    task, problem, method = GeneralizedZeroShot(), GeneralizedZeroShot().test(toy()), Joint()
    statistics = task.prepare(method, problem, {})
    assert set(statistics) == {"fit/gram", "score:U->U/rows", "score:S->S/rows", "score:T/rows"}
    *_, (_, outputs) = task.run(method, problem, statistics)
    inputs = problem.inputs
    expected = []
    for request in ("U->U", "S->S", "T"):
        rows, classes = problem.truth[f"rows:{request}"], inputs[f"classes:{request}"]
        expected.append(((len(rows), 6), (len(classes), 4), inputs["seen"][classes].tolist()))
        assert outputs[request].shape == (len(rows), len(classes))
    assert method.calls_ == expected
    given = [s["rows"].tolist() for s in method.score_statistics_]
    assert given == [[x[0], s[0]] for x, s, _ in expected]


class JointSeveral(Several):
    transductive = True


@pytest.mark.parametrize("method", [Bilinear, Several, JointSeveral])
def test_several_signatures_per_class_give_one_score_per_class(method):
    task, problem, instance = GeneralizedZeroShot(), GeneralizedZeroShot().test(several_signatures(toy())), method()
    *_, (_, outputs) = task.run(instance, problem, {})
    assert outputs["T"].shape == (len(problem.truth["y_pool"]), 17)
    if method is JointSeveral:
        described = problem.inputs["signature_class_pool"]
        sizes = [np.isin(described, problem.inputs[f"classes:{r}"]).sum() for r in ("U->U", "S->S", "T")]
        assert [call[1][0] for call in instance.calls_] == sizes


def test_unusable_requests_give_one_clear_line():
    data = toy()
    with pytest.raises(DataError, match="protocol=paper"):
        GeneralizedZeroShot().validation(without_test_seen(data))
    with pytest.raises(DataError, match="of its own; use gzsl\\(protocol=given\\)"):
        GeneralizedZeroShot(protocol="paper").validation(data)
    with pytest.raises(UsageError, match="given\\|paper"):
        GeneralizedZeroShot(protocol="other")
    with pytest.raises(DataError, match="no rows of training classes can be held out"):
        GeneralizedZeroShot(held_out=0.01).validation(data)
    train = data.splits["train"]
    lost = train[data.y[train] != data.y[data.splits["test_seen"][0]]]
    with pytest.raises(DataError, match="1 classes of 'test_seen' have no row in 'train'"):
        GeneralizedZeroShot().test(replace(data, splits={**data.splits, "train": lost}))


def test_retrieval_agrees_with_scikit_learn_and_uses_the_rows_of_zsl():
    data, task, method = toy(rows=30), Retrieval(k=7), Bilinear()
    problem = task.validation(data)[0]
    same_problems([problem], ZeroShot().validation(data)[:1])
    result = outcome(task, method, problem)
    scores = method.decision_function(problem.inputs["X_pool"], problem.inputs["S_pool"])
    y = problem.truth["y_pool"]
    each = [average_precision_score(y == j, scores[:, j]) for j in range(scores.shape[1])]
    assert result.metrics["mAP"] == pytest.approx(np.mean(each), abs=1e-12)
    within = scores - scores.mean(axis=1, keepdims=True)
    among = [average_precision_score(y == j, within[:, j]) for j in range(scores.shape[1])]
    assert result.metrics["centred_mAP"] == pytest.approx(np.mean(among), abs=1e-12)
    assert result.metrics["centred_mAP"] != result.metrics["mAP"]
    top = [np.mean(y[np.argsort(-scores[:, j])[:7]] == j) for j in range(scores.shape[1])]
    assert result.metrics["precision_at_7"] == pytest.approx(np.mean(top), abs=1e-12)
    np.testing.assert_allclose(result.tables["per_class"].columns["average_precision"], each, atol=1e-12)
    np.testing.assert_allclose(result.tables["per_class"].columns["centred_average_precision"], among, atol=1e-12)
    assert set(result.tables["predictions"].columns) == {"row", "true", "predicted", "score"}
    assert Retrieval().chance(problem) == pytest.approx(1 / scores.shape[1], abs=0.05)


def test_what_is_the_same_for_all_candidates_of_a_row_changes_map_and_not_the_centred_one():
    problem = Retrieval().test(toy(rows=30))
    y, rng = problem.truth["y_pool"], np.random.default_rng(0)
    scores = np.eye(len(problem.inputs["seen"]))[y] + rng.normal(scale=0.3, size=(len(y), len(problem.inputs["seen"])))
    shifted = scores + 10 * rng.normal(size=(len(y), 1))
    plain, moved = (Retrieval().score(problem, {"U->U": one}, {}, full=False).metrics for one in (scores, shifted))
    assert moved["centred_mAP"] == pytest.approx(plain["centred_mAP"], abs=1e-9)
    assert moved["mAP"] < plain["mAP"] - 0.2
    # A row with equal scores for all candidates says nothing, whatever their value: all of it is chance.
    equal = np.repeat(rng.normal(size=(len(y), 1)), scores.shape[1], axis=1)
    found = Retrieval().score(problem, {"U->U": equal}, {}, full=False).metrics
    assert found["centred_mAP"] == pytest.approx(Retrieval().chance(problem), abs=1e-12)


def test_retrieval_chance_is_what_random_scores_reach():
    problem = Retrieval().test(toy(rows=30))
    rng = np.random.default_rng(0)
    shape = (len(problem.truth["y_pool"]), len(problem.inputs["seen"]))
    values = [
        Retrieval().score(problem, {"U->U": rng.normal(size=shape)}, {}, full=False).metrics["mAP"] for _ in range(200)
    ]
    assert Retrieval().chance(problem) == pytest.approx(np.mean(values), abs=4 * np.std(values) / np.sqrt(200))


@pytest.mark.parametrize("task", TASKS)
def test_scores_do_not_depend_on_the_order_of_the_pool(task):
    data = toy(rows=20)
    results = [outcome(task(), Bilinear(), task().test(data, seed=s)) for s in (0, 1)]
    assert results[0].metrics == pytest.approx(results[1].metrics, abs=1e-12)
    assert results[0].tables["predictions"].columns["true"] == results[1].tables["predictions"].columns["true"]

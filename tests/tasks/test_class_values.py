"""Values per class: those of leaving a class's rows out and scoring the rest again, with the task's own score."""

import numpy as np
import pytest
from zero_shot_toys import toy

from zslplat.data.dataset import Dataset
from zslplat.evaluation.scoring.outcomes import class_values, write_outcomes
from zslplat.families.coding.task import Coding
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.families.zero_shot.gzsl import _ONE_KIND, GeneralizedZeroShot
from zslplat.families.zero_shot.unseen import Retrieval, ZeroShot
from zslplat.metrics.intervals import interactions, jackknifed, mean_pseudo_values
from zslplat.tasks.base import Problem


def played(task, seed=0, data=None):
    """The test problem of a toy, scores that are often right, and what is kept of them."""
    problem = task.test(data or toy(), seed=1)
    rng = np.random.default_rng(seed)
    y, c = problem.truth["y_pool"], len(problem.meta["classes"])
    # Classes differ in how hard they are, rows of a class less so.
    scores = rng.normal(size=(len(y), c)) + rng.uniform(0, 3, c)[y][:, None] * np.eye(c)[y]
    outputs = {
        request: scores[np.ix_(problem.truth[f"rows:{request}"], problem.inputs[f"classes:{request}"])]
        for request in problem.meta["requests"]
    }
    return problem, outputs


def without(problem, outputs, rows):
    """The problem and the outputs of some rows of the pool only; all classes stay candidates."""
    place = np.full(len(problem.truth["y_pool"]), -1)
    place[rows] = np.arange(len(rows))
    truth, kept = {}, {}
    for name, array in problem.truth.items():
        if name.startswith("rows:"):
            stay = place[array] >= 0
            truth[name], kept[name[5:]] = place[array][stay], outputs[name[5:]][stay]
        else:
            truth[name] = array[rows]
    return Problem(problem.name, problem.inputs, truth, problem.meta), kept


@pytest.mark.parametrize(("task", "chosen"), [(ZeroShot(), {}), (GeneralizedZeroShot(), {"bias": 0.4})])
def test_values_are_those_of_scoring_without_each_class(task, chosen):
    problem, outputs = played(task)
    y, seen = problem.truth["y_pool"], problem.inputs["seen"]
    found = task.class_values(task.outcomes(problem, outputs, chosen))
    assert found.kinds.tolist() == seen[np.unique(y)].tolist()
    whole = task.score(problem, outputs, chosen, full=False).metrics
    names = [name for name in whole if name in found.values]
    assert len(names) == {"zsl": 2, "gzsl": 9}[task.name]
    without_class = []
    for label in np.unique(y):
        part, scores = without(problem, outputs, np.flatnonzero(y != label))
        for request, values in scores.items():
            values[:, problem.inputs[f"classes:{request}"] == label] = -1e3
        without_class.append(task.score(part, scores, chosen, full=False).metrics)
    for name in names:
        values = found.values[name]
        left_out = np.array([metrics[name] for metrics in without_class])
        for kind in np.unique(found.kinds):
            own = np.isfinite(values) & (found.kinds == kind)
            if own.any():
                size = np.count_nonzero(own)
                pseudo = size * whole[name] - (size - 1) * left_out[own]
                exact = name in ("per_class_accuracy", *(name for names in _ONE_KIND for name in names))
                spread = np.std(pseudo)
                assert values[own] - values[own].mean() == pytest.approx(
                    pseudo - pseudo.mean(), abs=1e-9 if exact else 0.6 * spread
                ), name
                assert np.std(values[own]) == pytest.approx(spread, rel=1e-9 if exact else 0.3), name


def test_what_two_classes_take_from_each_other_is_what_both_bring_back_together():
    task = ZeroShot()
    problem, outputs = played(task)
    y, c = problem.truth["y_pool"], len(problem.meta["classes"])
    found = task.class_values(task.outcomes(problem, outputs, {}))
    exchanged = found.exchanged["per_class_accuracy"]

    def right(*removed):
        scores = outputs["U->U"].copy()
        scores[:, list(removed)] = -1e3
        return np.bincount(y, np.argmax(scores, axis=1) == y, c) / np.bincount(y) / c

    for j in range(c):
        for k in range(j):
            assert exchanged[j, k] == pytest.approx(right(j)[k] + right(k)[j] - right()[j] - right()[k])
    # Twice the residuals of a two-way layout without a diagonal, by least squares.
    pairs = np.array([(j, k) for j in range(c) for k in range(j)])
    design = np.stack([np.eye(c)[j] + np.eye(c)[k] for j, k in pairs])
    target = exchanged[tuple(pairs.T)]
    residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    assert np.sum(interactions(exchanged) ** 2) == pytest.approx(np.sum(residuals**2) * (c - 1) / (c - 3))


def test_of_labels_alone_classes_have_their_accuracies():
    task = ZeroShot()
    problem, outputs = played(task)
    outcomes = task.outcomes(problem, outputs, {})
    del outcomes.columns["next"]
    table = task.score(problem, outputs, {}, full=True).tables["per_class"].columns
    found = task.class_values(outcomes)
    assert found.values["per_class_accuracy"] == pytest.approx(np.array(table["accuracy"]))
    assert not found.exchanged["per_class_accuracy"].any()


def test_one_class_of_a_kind_tells_nothing_of_what_both_kinds_are_part_of():
    task = GeneralizedZeroShot()
    problem, outputs = played(task)
    y, seen = problem.truth["y_pool"], problem.inputs["seen"]
    alone = np.flatnonzero(~seen)[0]
    part = without(problem, outputs, np.flatnonzero(seen[y] | (y == alone)))
    found = task.class_values(task.outcomes(*part, {"bias": 0.4})).values
    for name in ("AUSUC", "H", "calibrated_H", "U_to_U"):
        assert np.isnan(found[name]).all(), name
    assert np.isfinite(found["S_to_S"]).sum() == np.count_nonzero(seen)


def test_retrieval_has_the_average_precision_of_every_class():
    task = Retrieval()
    problem, outputs = played(task)
    outcome = task.score(problem, outputs, {}, full=True)
    outcomes = task.outcomes(problem, outputs, {})
    found = task.class_values(outcomes).values
    for name, column in (("mAP", "average_precision"), ("centred_mAP", "centred_average_precision")):
        assert found[name] == pytest.approx(np.array(outcome.tables["per_class"].columns[column]))
        assert found[name].mean() == pytest.approx(outcome.metrics[name])
    # Records of earlier versions lack the second ranking: what they hold is told of.
    del outcomes.columns["centred_rank"]
    assert list(task.class_values(outcomes).values) == ["mAP"]
    assert list(task.resampled(outcomes, np.ones((1, len(outcomes.columns["true"])), dtype=np.int32))) == ["mAP"]


def rows_of(classes=6, each=12):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), each)
    return Dataset("drawn", rng.normal(size=(len(y), 5)), y, tuple(f"class {i}" for i in range(classes)))


def test_coding_has_the_accuracy_of_every_class():
    task = Coding(train_per_class=5)
    problem = task.test(rows_of(), seed=2)
    rng, y = np.random.default_rng(3), problem.truth["y_pool"]
    outputs = {"scores": rng.normal(size=(len(y), 6)) + np.linspace(0, 2, 6)[y][:, None] * np.eye(6)[y]}
    outcome = task.score(problem, outputs, {}, full=True)
    found = task.class_values(task.outcomes(problem, outputs, {})).values["per_class_accuracy"]
    assert found == pytest.approx(np.array(outcome.tables["per_class"].columns["accuracy"]))
    assert found.mean() == pytest.approx(outcome.metrics["per_class_accuracy"])


def test_queries_of_one_class_go_together():
    task = ExemplarRetrieval(queries=30, k=3)
    problem = task.test(rows_of(12, 8), seed=2)
    y, queries = problem.truth["y"], problem.truth["queries"]
    noise = np.random.default_rng(4).normal(size=(len(queries), len(y)))
    outcomes = task.outcomes(problem, {"similarity": noise + (y[queries][:, None] == y)}, {})
    found = task.class_values(outcomes).values["mAP"]
    precision, true = outcomes.columns["average_precision"], outcomes.columns["true"]
    classes = np.unique(true)
    assert len(found) == len(classes) < len(true)
    for value, label in zip(found, classes, strict=True):
        others = precision[true != label].mean()
        assert value == pytest.approx(len(classes) * precision.mean() - (len(classes) - 1) * others)


def test_a_class_that_some_lines_lack_counts_in_the_others():
    values = np.array([[0.2, np.nan, 0.8, np.nan], [0.4, 0.6, np.nan, np.nan]])
    whole = np.mean([np.nanmean(line) for line in values])
    found = mean_pseudo_values(values)
    for j in range(3):
        rest = np.delete(values, j, axis=1)
        assert found[j] == pytest.approx(3 * whole - 2 * np.mean([np.nanmean(line) for line in rest]))
    assert np.isnan(found[3])
    complete = np.random.default_rng(5).random((2, 4))
    assert mean_pseudo_values(complete) == pytest.approx(complete.mean(axis=0))


def test_many_classes_are_left_out_in_blocks_and_entries_of_none_stay():
    classes = np.r_[np.repeat(np.arange(230), 2), -1, -1]
    values = np.random.default_rng(6).random(462)
    found = jackknifed(lambda counts: {"mean": counts @ values / counts.sum(axis=1)}, classes).values["mean"]
    for j in (0, 117, 229):
        kept = values[classes != j]
        assert found[j] == pytest.approx(230 * values.mean() - 229 * kept.mean())


class Counting(ZeroShot):
    """Task zsl that counts how often values per class are made."""

    calls = 0

    def class_values(self, outcomes):
        self.calls += 1
        return super().class_values(outcomes)


def test_values_are_kept_and_made_again_the_same(tmp_path):
    problem, outputs = played(ZeroShot())
    task = Counting()
    write_outcomes(tmp_path, task.outcomes(problem, outputs, {}))
    first = class_values(task, tmp_path)
    again = class_values(task, tmp_path)
    assert task.calls == 1
    assert again.kinds.tolist() == first.kinds.tolist()
    assert {k: v.tolist() for k, v in again.values.items()} == {k: v.tolist() for k, v in first.values.items()}
    (tmp_path / "classes.npz").write_bytes(b"damaged")
    assert (
        class_values(task, tmp_path).values["per_class_accuracy"].tolist()
        == first.values["per_class_accuracy"].tolist()
    )
    assert task.calls == 2
    other, scores = played(ZeroShot(), seed=9)
    write_outcomes(tmp_path, task.outcomes(other, scores, {}))
    assert (
        class_values(task, tmp_path).values["per_class_accuracy"].tolist()
        != first.values["per_class_accuracy"].tolist()
    )

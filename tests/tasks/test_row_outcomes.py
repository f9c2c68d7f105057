"""Outcomes per row hold all that replicates need: values equal those computed from the outputs themselves."""

from dataclasses import replace

import numpy as np
import pytest
from zero_shot_toys import Bilinear, Joint, toy

from zslplat.data.dataset import Dataset
from zslplat.data.sets.digit_pairs import digit_pairs
from zslplat.evaluation.scoring.outcomes import resampled
from zslplat.families.coding.task import Coding
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.families.selection.task import FeatureSelection
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.unseen import Retrieval, ZeroShot
from zslplat.metrics.ausuc import calibrated_predictions, rivals
from zslplat.metrics.intervals import (
    draws,
    draws_of_things,
    resampled_ausuc,
    resampled_average_precision,
    resampled_means,
    rows_digest,
)
from zslplat.metrics.ranking import OwnClass, centred, rank_judged

COUNT = 120  # more than one block of draws


def grouped(data, size=5):
    """The same data with rows in groups, named by texts."""
    return replace(data, groups=np.array([f"g{i // size}" for i in range(len(data.y))]))


def plain(classes=8, each=20):
    """A data set without splits of its own, so that tasks draw them."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), each)
    return Dataset("drawn", rng.normal(size=(len(y), 5)), y, tuple(f"class {i}" for i in range(classes)))


def rough(y, c, seed=0, dtype=np.float32):
    """Scores (m, c) that are often right, often equal, and often different in the last digits alone."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(len(y), c))
    scores[np.arange(len(y)), y] += 1
    return (scores.round(1) + 1e-12 * rng.integers(0, 3, size=(len(y), 1))).astype(dtype)


def of_pool(task, data, dtype=np.float32, transductive=False):
    problem = task.test(data, seed=1)
    y, c = problem.truth["y_pool"], len(problem.meta["classes"])
    outputs = {}
    for number, request in enumerate(problem.meta["requests"]):
        # A transductive method scores each request by itself.
        scores = rough(y, c, seed=number * transductive, dtype=dtype)
        outputs[request] = scores[np.ix_(problem.truth[f"rows:{request}"], problem.inputs[f"classes:{request}"])]
    return task, problem, outputs


def zero_shot_reference(task, problem, outputs, validation_choices, counts):
    y, scores = problem.truth["y_pool"], outputs["U->U"]
    if isinstance(task, Retrieval):
        present = [j for j in range(scores.shape[1]) if (y == j).any()]
        return {
            name: np.mean([resampled_average_precision(counts, values[:, j], y == j) for j in present], axis=0)
            for name, values in (("mAP", scores), ("centred_mAP", centred(scores)))
        }
    correct = scores.argmax(axis=1) == y
    return {
        "per_class_accuracy": resampled_means(counts, correct, y),
        "per_sample_accuracy": resampled_means(counts, correct),
    }


def generalised_reference(task, problem, outputs, validation_choices, counts):
    y, seen, scores = problem.truth["y_pool"], problem.inputs["seen"], outputs["T"]
    found = {"AUSUC": resampled_ausuc(counts, *rivals(scores, seen), y, seen)}
    for name, request in (("U_to_U", "U->U"), ("S_to_S", "S->S")):
        rows, classes = problem.truth[f"rows:{request}"], problem.inputs[f"classes:{request}"]
        correct = classes[outputs[request].argmax(axis=1)] == y[rows]
        found[name] = resampled_means(counts[:, rows], correct, y[rows])
    biases = {"U_to_T S_to_T H": 0.0}
    if "bias" in validation_choices:
        biases["calibrated_u calibrated_s calibrated_H"] = validation_choices["bias"]
    for names, bias in biases.items():
        correct = calibrated_predictions(scores, seen, bias) == y
        u, s = (resampled_means(counts[:, part], correct[part], y[part]) for part in (~seen[y], seen[y]))
        h = 2 * u * s / np.where(u + s > 0, u + s, 1.0)
        found |= dict(zip(names.split(), (u, s, h), strict=True))
    return found


def coding_reference(task, problem, outputs, validation_choices, counts):
    y = problem.truth["y_pool"]
    correct = outputs["scores"].argmax(axis=1) == y
    return {"accuracy": resampled_means(counts, correct), "per_class_accuracy": resampled_means(counts, correct, y)}


def exemplar_reference(task, problem, outputs, validation_choices, counts):
    judged = OwnClass(problem.truth["y"], problem.truth["queries"])
    answers = rank_judged(outputs["similarity"], judged, task.k)
    return {
        "mAP": resampled_means(counts, answers.precision),
        f"recall_at_{task.k}": resampled_means(counts, answers.recall_at_k),
        f"precision_at_{task.k}": resampled_means(counts, answers.precision_at_k),
        "nearest_accuracy": resampled_means(counts, answers.right),
    }


def pool_units(problem):
    return problem.truth["row_pool"], problem.truth["y_pool"]


def drawn(problem, units):
    """Draws of what the truth says that rows are made of, or are in groups of, else of rows."""
    truth, (ids, strata) = problem.truth, units(problem)
    if "made_of_pool" in truth:
        return draws_of_things(truth["made_of_pool"], strata, COUNT)
    if "group_pool" in truth:
        return draws_of_things(truth["group_pool"][:, None], strata, COUNT)
    if "group" in truth:
        return draws_of_things(truth["group"][truth["queries"]][:, None], strata, COUNT)
    return draws(ids, strata, COUNT)


def exemplar_units(problem):
    queries = problem.truth["queries"]
    return problem.truth["row"][queries], problem.truth["y"][queries]


def coding_case(dtype=np.float64):
    task = Coding(train_per_class=9)
    problem = task.test(plain(), seed=2)
    return task, problem, {"scores": rough(problem.truth["y_pool"], 8, 0, dtype)}


def exemplar_case(data=None):
    task = ExemplarRetrieval(queries=30, k=3)
    problem = task.test(data or plain(12, 8), seed=2)
    y, queries = problem.truth["y"], problem.truth["queries"]
    noise = np.random.default_rng(0).normal(size=(len(queries), len(y)))
    return task, problem, {"similarity": (noise + (y[queries][:, None] == y)).round(1)}


ZERO_SHOT = (zero_shot_reference, pool_units)
GENERALISED = (generalised_reference, pool_units)
CODING = (coding_reference, pool_units)
EXEMPLARS = (exemplar_reference, exemplar_units)
# What is scored, what is carried, the reference and its units, and the most bytes that a row takes.
CASES = {
    "zsl": (lambda: of_pool(ZeroShot(), toy()), {}, ZERO_SHOT, 24),
    "zsl in groups": (lambda: of_pool(ZeroShot(), grouped(toy())), {}, ZERO_SHOT, 28),
    "zsl on digit-pairs": (lambda: of_pool(ZeroShot(), digit_pairs()), {}, ZERO_SHOT, 36),
    "retrieval": (lambda: of_pool(Retrieval(), toy()), {}, ZERO_SHOT, 20 + 8 * 5),
    "retrieval in float64": (lambda: of_pool(Retrieval(), toy(), np.float64), {}, ZERO_SHOT, 20 + 8 * 5),
    "retrieval on digit-pairs": (lambda: of_pool(Retrieval(), digit_pairs()), {}, ZERO_SHOT, 32 + 8 * 20),
    "gzsl": (lambda: of_pool(GeneralizedZeroShot(), toy()), {}, GENERALISED, 56),
    "gzsl with a bias": (lambda: of_pool(GeneralizedZeroShot(), toy()), {"bias": 0.3}, GENERALISED, 56),
    "transductive gzsl": (
        lambda: of_pool(GeneralizedZeroShot(), toy(), np.float64, True),
        {"bias": -0.1},
        GENERALISED,
        56,
    ),
    "gzsl on digit-pairs": (lambda: of_pool(GeneralizedZeroShot(), digit_pairs()), {"bias": 0.2}, GENERALISED, 68),
    "coding": (coding_case, {}, CODING, 20),
    "coding in float32": (lambda: coding_case(np.float32), {}, CODING, 20),
    "exemplars": (exemplar_case, {}, EXEMPLARS, 44),
    "exemplars in groups": (lambda: exemplar_case(grouped(plain(12, 8))), {}, EXEMPLARS, 48),
}


def row_bytes(outcomes):
    return sum(column.dtype.itemsize * int(np.prod(column.shape[1:])) for column in outcomes.columns.values())


@pytest.mark.parametrize("name", CASES)
def test_replicates_from_outcomes_are_those_of_the_outputs(name):
    make, validation_choices, (reference, units), most = CASES[name]
    task, problem, outputs = make()
    outcomes = task.outcomes(problem, outputs, validation_choices)
    assert row_bytes(outcomes) <= most
    # Another object of the task, and values that JSON has read back, serve as well.
    found = resampled(type(task)(), outcomes, COUNT)
    blocks = [reference(task, problem, outputs, validation_choices, counts) for counts in drawn(problem, units)]
    assert list(found) == list(blocks[0])
    for metric, values in found.items():
        np.testing.assert_array_equal(values, np.concatenate([block[metric] for block in blocks]), err_msg=metric)
        assert np.std(values) > 0  # or nothing is shown here


@pytest.mark.parametrize("name", CASES)
def test_common_columns_have_one_form_in_all_tasks(name):
    make, validation_choices, _, _ = CASES[name]
    task, problem, outputs = make()
    outcomes = task.outcomes(problem, outputs, validation_choices)
    columns = outcomes.columns
    types = {"row": np.int64, "true": np.int32, "predicted": np.int32, "score": np.float32, "group": np.int32}
    for column, dtype in types.items():
        assert column in columns or column == "group"
        assert columns.get(column, np.zeros(0, dtype)).dtype == dtype, column
    assert {len(column) for column in columns.values()} == {len(outcomes)}
    table = task.score(problem, outputs, validation_choices, full=True).tables["predictions"].columns
    order = np.argsort(columns["row"])
    names = outcomes.meta["classes"]
    assert table["row"] == columns["row"][order].tolist()
    for side in ("true", "predicted"):
        assert table[side] == [names[i] for i in columns[side][order]]
    np.testing.assert_allclose(table["score"], columns["score"][order], rtol=1e-6)


@pytest.mark.parametrize("method", [Bilinear, Joint])
def test_groups_are_those_of_the_data_set(method):
    data, task = grouped(toy()), GeneralizedZeroShot()
    problem = task.test(data)
    *_, (_, outputs) = task.run(method(), problem, {})
    columns = task.outcomes(problem, outputs, {}).columns
    assert np.array_equal(np.unique(data.groups)[columns["group"]], data.groups[columns["row"]])
    assert np.array_equal(
        np.array(problem.meta["classes"])[columns["true"]], [f"class {i}" for i in data.y[columns["row"]]]
    )


def test_votes_of_clusterings_are_kept_and_nothing_is_resampled():
    data = toy()
    task = FeatureSelection(first=2, last=4, step=2, repeats=3)
    problem = task.test(data)
    clusters = np.random.default_rng(0).integers(0, 5, size=(2, 3, len(problem.truth["y_unseen"])))
    outputs = {"scores": np.arange(6.0), "ranking": np.arange(6)[::-1], "clusters": clusters}
    outcomes = task.outcomes(problem, outputs, {})
    assert row_bytes(outcomes) == 20
    table = task.score(problem, outputs, {}, full=True).tables["predictions"].columns
    order = np.argsort(outcomes.columns["row"])
    assert table["row"] == outcomes.columns["row"][order].tolist()
    assert table["predicted"] == [problem.meta["classes"][i] for i in outcomes.columns["predicted"][order]]
    assert resampled(task, outcomes, COUNT) == {}


@pytest.mark.parametrize(
    "task", [ZeroShot(), GeneralizedZeroShot(), FeatureSelection(first=2, last=4), ExemplarRetrieval()]
)
def test_what_is_scored_is_told_by_rows_and_classes_whether_or_not_there_are_groups(task):
    alone, in_groups = (task.test(data) for data in (toy(), grouped(toy(), size=1)))
    assert any(name.startswith("group") for name in in_groups.truth)
    assert rows_digest(task.scored_rows(alone)) == rows_digest(task.scored_rows(in_groups))

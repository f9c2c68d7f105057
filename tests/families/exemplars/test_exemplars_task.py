"""Exemplar retrieval: which rows a problem holds, and its numbers against plain references."""

import weakref

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from zslplat.data.dataset import ClassFold, Dataset
from zslplat.data.store.rows import Rows
from zslplat.errors import DataError, UsageError
from zslplat.evaluation.scoring.outcomes import resampled
from zslplat.families.exemplars.methods.baselines import Cosine, ExemplarSVM, Whitening
from zslplat.families.exemplars.methods.kslem import KernelSLEM
from zslplat.families.exemplars.methods.slem import SLEM
from zslplat.families.exemplars.task import SCORES, ExemplarRetrieval
from zslplat.kinds import protocol_of
from zslplat.registry import component

METHODS = [Cosine(), SLEM(), KernelSLEM("gaussian", rank=20), Whitening(), ExemplarSVM(negatives=40)]


def faces(classes=12, per_class=8, d=10):
    """Classes that differ in few directions, under a strong disturbance that all classes share."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), per_class)
    disturbance = rng.normal(size=(len(y), 2)) @ (4 * rng.normal(size=(2, d)))
    X = rng.normal(size=(classes, d))[y] + disturbance + 0.3 * rng.normal(size=(len(y), d))
    order = rng.permutation(len(y))
    return Dataset("faces", X[order], y[order], tuple(f"p{i}" for i in range(classes)))


def zero_shot():
    data = faces()
    unseen = np.isin(data.y, [3, 7, 9, 11])
    test_seen = ~unseen & (np.arange(len(data.y)) % 5 == 0)
    splits = {
        "train": np.flatnonzero(~unseen & ~test_seen),
        "test_seen": np.flatnonzero(test_seen),
        "test_unseen": np.flatnonzero(unseen),
    }
    folds = (ClassFold("a", (0, 1, 2, 4, 5), (6, 8, 10)), ClassFold("b", (4, 5, 6, 8, 10), (0, 1, 2)))
    return Dataset("faces", data.X, data.y, data.class_names, splits=splits, folds=folds)


def outputs(task, method, problem, statistics):
    return next(iter(task.run(method, problem, statistics)))[1]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_every_method_beats_chance_and_prepared_equals_direct(method):
    task, data = ExemplarRetrieval(), faces()
    problem = task.test(data)
    direct = outputs(task, method, problem, {})
    prepared = outputs(
        task, method, problem, task.prepare(method, problem, {"lam": None} if "lam" in method.space else {})
    )
    assert np.allclose(direct[SCORES], prepared[SCORES], rtol=1e-9, atol=1e-10)
    assert task.score(problem, direct, {}, full=False).metrics["mAP"] > task.chance(problem)


def test_exemplar_machines_see_through_what_the_negatives_share():
    task, data = ExemplarRetrieval(), faces()
    problem = task.test(data)
    found = {m: task.score(problem, outputs(task, m, problem, {}), {}, full=False).metrics["mAP"] for m in METHODS[:3]}
    plain, linear, kernel = found.values()
    assert min(linear, kernel) > plain + 0.15


def test_metrics_equal_a_loop_over_scikit_learn():
    task, data = ExemplarRetrieval(k=5), faces()
    problem = task.test(data)
    scores = outputs(task, SLEM(), problem, {})[SCORES]
    y, queries = problem.truth["y"], problem.truth["queries"]
    precision, recall, nearest = [], [], []
    for s, q in zip(scores, queries, strict=True):
        others = [j for j in range(len(y)) if j != q]
        same = (y[others] == y[q]).astype(int)
        precision.append(average_precision_score(same, s[others]))
        ranked = sorted(others, key=lambda j, s=s: -s[j])
        recall.append(sum(y[j] == y[q] for j in ranked[:5]) / same.sum())
        nearest.append(y[ranked[0]] == y[q])
    metrics = task.score(problem, {SCORES: scores}, {}, full=False).metrics
    assert metrics["mAP"] == pytest.approx(np.mean(precision), abs=1e-12)
    assert metrics["recall_at_5"] == pytest.approx(np.mean(recall), abs=1e-12)
    assert metrics["precision_at_5"] == pytest.approx(np.mean(recall) * 7 / 5, abs=1e-12)
    assert metrics["nearest_accuracy"] == pytest.approx(np.mean(nearest))


def test_chance_is_the_mean_over_random_rankings():
    task, data = ExemplarRetrieval(), faces()
    problem = task.test(data)
    rng = np.random.default_rng(0)
    shape = len(problem.truth["queries"]), len(problem.inputs["gallery"])
    drawn = [task.score(problem, {SCORES: rng.random(shape)}, {}, full=False).metrics["mAP"] for _ in range(20)]
    # The spread of one draw is about 0.01.
    assert task.chance(problem) == pytest.approx(np.mean(drawn), abs=0.01)


@pytest.mark.parametrize("make", [faces, zero_shot])
def test_negatives_and_gallery_share_no_class_and_validation_stays_among_negatives(make):
    task, data = ExemplarRetrieval(), make()

    def classes(problem, name):
        rows = {row.tobytes(): label for row, label in zip(data.X, data.y, strict=True)}
        return {rows[row.tobytes()] for row in problem.inputs[name]}

    test = task.test(data)
    negatives = classes(test, "X")
    assert not negatives & classes(test, "gallery")
    for problem in task.validation(data):
        assert not classes(problem, "X") & classes(problem, "gallery")
        assert classes(problem, "X") | classes(problem, "gallery") <= negatives


def test_zero_shot_data_uses_its_own_split_and_folds():
    task, data = ExemplarRetrieval(), zero_shot()
    test = task.test(data)
    assert np.array_equal(np.sort(test.truth["row"]), data.rows("test_unseen"))
    assert len(test.inputs["X"]) == len(data.rows("train"))
    assert [p.meta["fold"] for p in task.validation(data)] == ["a", "b"]


def test_labels_of_the_gallery_change_nothing_that_a_method_sees():
    task, data = ExemplarRetrieval(), zero_shot()
    test, y = data.rows("test_unseen"), data.y.copy()
    y[test] = y[np.random.default_rng(1).permutation(test)]
    shuffled = Dataset("faces", data.X, y, data.class_names, splits=data.splits, folds=data.folds)
    for name, array in task.test(data).inputs.items():
        assert np.array_equal(array, task.test(shuffled).inputs[name])


def test_queries_are_capped_with_the_seed_and_lone_rows_are_none():
    data = faces()
    task = ExemplarRetrieval(queries=10)
    assert np.array_equal(task.test(data, seed=1).truth["queries"], task.test(data, seed=1).truth["queries"])
    assert len(task.test(data).truth["queries"]) == 10
    keep = (data.y != 11) | (np.cumsum(data.y == 11) == 1)
    lone = ExemplarRetrieval(queries=None).test(Dataset("faces", data.X[keep], data.y[keep], data.class_names))
    labels = [lone.meta["classes"][c] for c in lone.truth["y"][lone.truth["queries"]]]
    assert "p11" in lone.meta["classes"]
    assert "p11" not in labels


def test_tables_and_figures_describe_every_query():
    task, data = ExemplarRetrieval(), faces()
    problem = task.test(data)
    outcome = task.score(problem, outputs(task, SLEM(), problem, {}), {}, full=True)
    predictions = outcome.tables["predictions"].columns
    assert list(predictions)[:4] == ["row", "true", "predicted", "score"]
    assert predictions["row"] == sorted(predictions["row"])
    assert [f"p{data.y[r]}" for r in predictions["row"]] == list(predictions["true"])
    hits = np.mean([t == p for t, p in zip(predictions["true"], predictions["predicted"], strict=True)])
    assert hits == pytest.approx(outcome.metrics["nearest_accuracy"])
    assert sum(outcome.tables["per_class"].columns["queries"]) == len(predictions["row"])
    ranks, recall = outcome.figures["recall_by_rank"].lines["mean over queries"]
    assert ranks[-1] == len(problem.inputs["gallery"]) - 1
    assert recall[-1] == pytest.approx(1)
    assert np.all(np.diff(recall) >= -1e-12)


def test_order_of_the_rows_changes_no_metric():
    task, data = ExemplarRetrieval(queries=None), faces()
    values = []
    for order in (np.arange(len(data.y)), np.random.default_rng(2).permutation(len(data.y))):
        shuffled = Dataset("faces", data.X[order], data.y[order], data.class_names)
        problem = task.test(shuffled)
        values.append(task.score(problem, outputs(task, SLEM(), problem, {}), {}, full=False).metrics)
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def people(problem):
    return {problem.meta["classes"][c] for c in problem.truth["y"]}


def test_halves_are_drawn_by_name_whatever_the_order_of_the_data_and_the_seed_of_the_study():
    data = faces()
    rng = np.random.default_rng(3)
    rows, classes = rng.permutation(len(data.y)), rng.permutation(len(data.class_names))
    # The same faces of the same people, all of it in another order.
    other = Dataset(
        "faces", data.X[rows], np.argsort(classes)[data.y[rows]], tuple(np.array(data.class_names)[classes])
    )
    found = []
    for dataset, seed in ((data, 0), (other, 0), (data, 9)):
        problem = ExemplarRetrieval(queries=None).test(dataset, seed=seed)
        scored = outputs(ExemplarRetrieval(), SLEM(), problem, {})
        found.append((people(problem), ExemplarRetrieval().score(problem, scored, {}, full=False).metrics))
    for half, metrics in found[1:]:
        assert half == found[0][0]
        assert metrics == pytest.approx(found[0][1], abs=1e-12)
    assert people(ExemplarRetrieval(split_seed=1).test(data)) != found[0][0]


def test_halves_do_not_follow_the_order_of_the_names():
    # Whatever a file sorts its people by: each of them is in the gallery about half of the time.
    data = faces()
    counts = np.zeros(12)
    for seed in range(40):
        counts[[data.class_names.index(name) for name in people(ExemplarRetrieval(split_seed=seed).test(data))]] += 1
    assert counts.min() >= 10
    assert counts.max() <= 30


def test_replicates_of_the_queries_as_they_are_are_the_scored_metrics():
    data, task = faces(), ExemplarRetrieval(queries=30)
    problem = task.test(data)
    found = outputs(task, SLEM(), problem, {})
    rows = task.outcomes(problem, found, {})
    units, strata = task.units(rows)
    counts = np.ones((1, len(units)), dtype=np.int32)
    metrics = task.score(problem, found, {}, full=False).metrics
    for name, values in task.resampled(rows, counts).items():
        assert values == pytest.approx([metrics[name]], abs=1e-12)
    # Units are told apart, so that their order does not matter.
    assert len(set(zip(units.tolist(), strata.tolist(), strict=True))) == len(units) == 30


def test_replicates_pair_methods_so_that_differences_have_narrower_intervals():
    data, task = faces(), ExemplarRetrieval()
    found = []
    for method, seed in ((SLEM(lam=1e-3), 0), (SLEM(lam=2e-3), 5)):
        problem = task.test(data, seed=seed)
        scored = outputs(task, method, problem, {})
        found.append(resampled(task, task.outcomes(problem, scored, {}), 300)["mAP"])
    assert np.std(found[0] - found[1]) < 0.5 * np.std(found[0])


def test_data_that_does_not_serve_is_one_clear_line():
    rng = np.random.default_rng(0)
    several = Dataset("tags", rng.normal(size=(9, 2)), rng.integers(0, 2, size=(9, 3)), ("a", "b", "c"))
    with pytest.raises(DataError, match="one class per row"):
        ExemplarRetrieval().test(several)
    with pytest.raises(DataError, match="change negative_share"):
        ExemplarRetrieval().test(faces(classes=5))
    with pytest.raises(UsageError, match="negative_share"):
        ExemplarRetrieval(negative_share=0)


def test_a_large_gallery_is_compared_block_by_block_with_the_same_similarities(monkeypatch):
    rng = np.random.default_rng(0)
    X, gallery = rng.standard_normal((300, 6)), rng.standard_normal((5000, 6))
    inputs = {"X": X, "gallery": Rows.of({"": gallery}), "queries": np.array([3, 4999, 0])}
    method = component("methods", "slem")(lam=0.1)
    calls = protocol_of("exemplar")
    fitted = calls.prepare_fit(method, inputs, {})
    calls.fit(method, inputs, fitted)
    prepared = calls.prepare_score(method, inputs, {}, fitted)
    expected = calls.score(method, inputs, prepared)["similarity"]
    monkeypatch.setattr("zslplat.families.exemplars.methods.base.ENCODED_BYTES", gallery.nbytes - 1)
    assert prepared
    assert calls.prepare_score(method, inputs, {}, fitted) == {}
    encoded = []
    own = type(method).encode
    monkeypatch.setattr(type(method), "encode", lambda self, rows: (encoded.append(len(rows)), own(self, rows))[1])
    found = calls.score(method, inputs, {})["similarity"]
    assert encoded == [3, 2048, 2048, 904]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_similarities_of_one_fold_are_let_go_before_those_of_the_next_are_made():
    class Watching(Cosine):
        def fit(self, negatives, *, statistics=None):
            alive.append([held() is not None for held in scored])
            return super().fit(negatives, statistics=statistics)

    task, alive, scored = ExemplarRetrieval(), [], []
    for problem in task.validation(faces())[:2]:
        found = outputs(task, Watching(), problem, {})
        task.score(problem, found, {}, full=True)
        task.outcomes(problem, found, {})
        scored.append(weakref.ref(found[SCORES]))
        del found
    assert alive == [[], [False]]

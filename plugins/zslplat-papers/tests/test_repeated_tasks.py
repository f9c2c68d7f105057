"""Tasks that average a test over several splits: they are the mean of each alone, with intervals over all."""

import warnings

import numpy as np
import pytest
from scipy import stats

from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.errors import DataError, OutcomeWarning
from zslplat.evaluation.context import preprocess
from zslplat.evaluation.scoring.outcomes import resampled
from zslplat.families.coding.methods.kernel_coding import KernelLLC, KernelSparseCoding
from zslplat.families.coding.task import Coding
from zslplat.families.selection.methods.baselines import RandomFeatures
from zslplat.families.selection.methods.semfs import SemFS
from zslplat.families.selection.task import FeatureSelection
from zslplat.metrics.intervals import rows_digest
from zslplat.tasks.row_outcomes import RowOutcomes, common_columns
from zslplat_papers.repeated_tasks import (
    RepeatedCoding,
    RepeatedFeatureSelection,
    joined_outcomes,
    with_drawn_classes,
)


def planted(classes=12, rows=12, split=False):
    """Features hold the signatures of the classes linearly; without a split of its own, unless ``split``."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), rows)
    S = rng.standard_normal((classes, 4))
    X = rng.standard_normal((len(y), 30))
    X[:, :6] += 2 * (S @ rng.standard_normal((4, 6)))[y]
    splits = {"train": np.flatnonzero(y < 6), "test_unseen": np.flatnonzero(y >= 6)} if split else {}
    names = tuple(f"class {i}" for i in range(classes))
    return Dataset("planted", X, y, names, {"att": SignatureSet(S)}, "att", splits)


def labelled():
    """Rows with several labels, of which the third is not counted for some."""
    rng = np.random.default_rng(1)
    y = (rng.random((80, 4)) < 0.4).astype(np.int64)
    y[:5, 2] = -1
    X = rng.normal(size=(4, 6)).T @ (y > 0).T.astype(float)
    return Dataset("labelled", X.T + 0.5 * rng.normal(size=(80, 6)), y, tuple("abcd"))


def played(task, method, data):
    problem = preprocess(task.test(data), task, method.effective_preprocessing)
    ((_, outputs),) = task.run(method, problem, task.prepare(method, problem, {}))
    return problem, outputs, task.score(problem, outputs, {}, full=True)


def selection(**options):
    return RepeatedFeatureSelection(**{"last": 20, "repeats": 4, "validation_repeats": 2, "draws": 3, **options})


CASES = [
    pytest.param(
        RepeatedCoding(split=2, splits=3, train_per_class=5),
        lambda n: Coding(split=n, train_per_class=5),
        KernelSparseCoding(gamma=0.01),
        [planted()] * 3,
        id="coding",
    ),
    pytest.param(
        RepeatedCoding(split=2, splits=3),
        lambda n: Coding(split=n),
        KernelLLC(neighbours=8),
        [labelled()] * 3,
        id="coding of several labels",
    ),
    pytest.param(
        selection(draw=2),
        lambda n: FeatureSelection(last=20, repeats=4),
        SemFS(),
        [with_drawn_classes(planted(), n) for n in (2, 3, 4)],
        id="feature selection",
    ),
]


@pytest.mark.parametrize(("task", "single", "method", "parts"), CASES)
def test_several_splits_are_the_mean_of_each_alone(task, single, method, parts):
    alone = [played(single(n), method, data) for n, data in enumerate(parts, start=2)]
    problem, outputs, outcome = played(task, method, parts[0])
    values = {name: [scored.metrics[name] for _, _, scored in alone] for name in alone[0][2].metrics}
    for name, of_parts in values.items():
        assert outcome.metrics[name] == pytest.approx(np.mean(of_parts))
        assert outcome.metrics[f"{name}_std"] == pytest.approx(np.std(of_parts, ddof=1))
        assert outcome.tables[f"{task.part}s"].columns[name] == pytest.approx(of_parts)
    assert outcome.tables[f"{task.part}s"].columns[task.part] == [2, 3, 4]
    assert set(outcome.metrics) <= set(task.metric_names())
    assert task.chance(problem) == pytest.approx(
        np.mean([single(n + 2).chance(p) for n, (p, _, _) in enumerate(alone)])
    )
    rows = task.outcomes(problem, outputs, {})
    sizes = [len(scored.tables["predictions"].columns["row"]) for _, _, scored in alone]
    assert np.bincount(rows.columns[task.part])[1:].tolist() == sizes
    table = outcome.tables["predictions"].columns
    assert np.bincount(table[task.part])[1:].tolist() == sizes
    kept = [single(n).outcomes(p, o, {}).columns["row"] for n, (p, o, _) in enumerate(alone, start=2)]
    assert rows.columns["row"].tolist() == np.concatenate(kept).tolist()
    assert rows_digest(task.scored_rows(problem)) != rows_digest(single(2).scored_rows(alone[0][0]))


@pytest.mark.parametrize(("task", "single", "method", "parts"), CASES[:2])
def test_intervals_of_coding_are_over_the_rows_of_all_splits(task, single, method, parts):
    problem, outputs, outcome = played(task, method, parts[0])
    rows = task.outcomes(problem, outputs, {})
    ids, strata = task.units(rows)
    for number in (1, 2, 3):
        assert not set(strata[rows.columns["split"] == number]) & set(strata[rows.columns["split"] != number])
    assert ids.tolist() == rows.columns["row"].tolist()
    name = task.suited(problem).primary.name
    assert task.resampled(rows, np.ones((1, len(ids)), dtype=np.int64))[name][0] == pytest.approx(outcome.metrics[name])
    replicates = resampled(task, rows, 400)[name]
    assert np.quantile(replicates, 0.01) < outcome.metrics[name] < np.quantile(replicates, 0.99)
    names = {"per_class_accuracy": "accuracy", "mAP": "average_precision"}
    values = task.class_values(rows).values
    for metric in set(names) & set(values):
        assert values[metric] == pytest.approx(np.array(outcome.tables["per_class"].columns[names[metric]]))


def test_folds_of_the_data_set_are_tested_with_one_search_and_that_is_said():
    rng = np.random.default_rng(2)
    y = np.tile(np.arange(4), 30)
    folds = {f"fold-{k}": np.arange(120)[np.arange(120) // 4 % 5 == k - 1] for k in range(1, 6)}
    data = Dataset("five", rng.normal(size=(4, 6))[y] + rng.normal(size=(120, 6)), y, tuple("abcd"), splits=folds)
    with pytest.warns(OutcomeWarning, match="hold the test rows of the others"):
        problem = RepeatedCoding(splits=5).test(data)
    assert sorted(np.concatenate([v for n, v in problem.truth.items() if "row" in n])) == list(range(120))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RepeatedCoding(splits=5).validation(data)
        RepeatedCoding(splits=1).test(data)


def test_draws_of_the_seen_classes_differ_and_validation_stays_inside_the_first():
    task, data = selection(), planted(split=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutcomeWarning)  # of a small number of classes
        folds = task.validation(data)
    problem = task.test(data)
    seen = [set(meta["seen_classes"]) for meta in problem.meta["parts"]]
    assert [len(one) for one in seen] == [6, 6, 6]
    assert len({frozenset(one) for one in seen}) == 3
    for fold in folds:
        assert set(fold.meta["classes"]) | set(fold.meta["seen_classes"]) <= seen[0]
    with pytest.raises(DataError, match="all of its 3 classes are seen"):
        with_drawn_classes(planted(3), 1)


def test_the_interval_of_several_draws_is_over_draws():
    task = selection(draws=6)
    problem, outputs, outcome = played(task, RandomFeatures(seed=0), planted())
    found = resampled(task, task.outcomes(problem, outputs, {}), 4000)["clustering_accuracy"]
    values = np.array(outcome.tables["draws"].columns["clustering_accuracy"])
    assert found.mean() == pytest.approx(values.mean(), abs=3 * values.std() / np.sqrt(6 * 4000))
    assert found.std() == pytest.approx(values.std() / np.sqrt(6), rel=0.1)
    single = selection(draws=1)
    problem, outputs, _ = played(single, RandomFeatures(seed=0), planted())
    outcomes = single.outcomes(problem, outputs, {})
    assert (resampled(single, outcomes), single.class_values(outcomes)) == ({}, None)


def drawn(values, *classes):
    """What is kept of draws of these classes, one row of each, with the metric of every draw."""
    rows = [RowOutcomes(common_columns(*[np.arange(len(c))] * 4, None), {"classes": list(c)}) for c in classes]
    joined = joined_outcomes(rows, "draw")
    return RowOutcomes(joined.columns, {**joined.meta, "by_draw": {"nmi": values}})


def test_draws_of_unseen_classes_are_values_of_their_own():
    task, values = RepeatedFeatureSelection(), [0.2, 0.3, 0.7]
    apart = task.class_values(drawn(values, "ab", "cd", "ef"))
    assert apart.values["nmi"] == pytest.approx(values)
    assert task.class_values(drawn(values, "ab", "ab", "ab")) is None  # no class was drawn anew


def test_draws_with_common_classes_cover_new_ones():
    # 12 classes, 6 of them unseen in each of 20 draws: a plain interval takes the draws for independent.
    rng = np.random.default_rng(6)
    names, task, hits, plain = "abcdefghijkl", RepeatedFeatureSelection(), 0, 0
    draws = [sorted(rng.permutation(12)[:6]) for _ in range(20)]
    classes = ["".join(names[i] for i in draw) for draw in draws]
    for _ in range(300):
        effects = rng.normal(size=12)
        values = [float(effects[draw].mean()) for draw in draws]
        found = task.class_values(drawn(values, *classes)).values["nmi"]
        assert found.mean() == pytest.approx(np.mean(values))
        ends, naive = (stats.ttest_1samp(v, 0).confidence_interval() for v in (found, values))
        hits, plain = hits + (ends.low <= 0 <= ends.high), plain + (naive.low <= 0 <= naive.high)
    assert hits / 300 > 0.9
    assert plain / 300 < 0.7

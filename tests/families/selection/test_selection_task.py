"""The task ``feature-selection``: what selectors see, what is scored, and how the averages are taken."""

import dataclasses
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, OutcomeWarning, UsageError
from zslplat.evaluation.context import preprocess
from zslplat.families.selection.methods.baselines import RandomFeatures
from zslplat.families.selection.methods.semfs import SemFS
from zslplat.families.selection.task import FeatureSelection
from zslplat.metrics.accuracy import clustering_accuracy


def dataset(classes=12, rows=20, d=30, informative=6, seed=0, per_row=False, splits=True):
    """Classes differ in the first ``informative`` features alone, by signatures that the features hold linearly."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), rows)
    S = rng.standard_normal((classes, 4))
    X = rng.standard_normal((len(y), d))
    X[:, :informative] += 3 * (S @ rng.standard_normal((4, informative)))[y]
    X = X * rng.uniform(0.5, 20, d) + rng.standard_normal(d)
    values = S[y] + 0.1 * rng.standard_normal((len(y), 4)) if per_row else S
    seen = y < classes - 4
    return Dataset(
        "planted",
        X,
        y,
        tuple(f"class-{i}" for i in range(classes)),
        {"att": SignatureSet(values, per_row=per_row)},
        "att",
        {"train": np.flatnonzero(seen), "test_unseen": np.flatnonzero(~seen)} if splits else {},
    )


def run(task, problem, method):
    problem = preprocess(problem, task, method.preprocessing)
    statistics = task.prepare(method, problem, {})
    ((_, outputs),) = task.run(method, problem, statistics)
    return outputs, task.score(problem, outputs, {}, full=True)


def quick(**options):
    return FeatureSelection(**{"last": 20, "repeats": 4, "validation_repeats": 2, **options})


def test_validation_holds_out_classes_and_never_reads_unseen_rows():
    data = dataset()
    task = quick()
    with pytest.warns(OutcomeWarning, match="3 classes apart and the test 4"):
        problems = task.validation(data)
    assert [len(problem.meta["classes"]) for problem in problems] == [3] * 10
    for problem in problems:
        assert not set(problem.meta["classes"]) & set(problem.meta["seen_classes"])
        assert set(problem.truth["row_unseen"]) <= set(data.rows("train"))
    spoilt = data.X.copy()
    spoilt[data.rows("test_unseen")] = 1e6
    for one, other in zip(problems, task.validation(dataclasses.replace(data, X=spoilt)), strict=True):
        for name, array in one.inputs.items():
            np.testing.assert_array_equal(array, other.inputs[name])


def test_test_problem_trains_on_seen_rows_and_clusters_unseen_ones_as_they_are():
    data = dataset()
    problem = quick().test(data)
    np.testing.assert_array_equal(problem.inputs["X_unseen"], data.X[problem.truth["row_unseen"]])


def test_scaling_is_by_the_seen_rows():
    data = dataset()
    problem = quick(scaling="standardise").test(data)
    train = data.X[data.rows("train")]
    np.testing.assert_array_equal(problem.inputs["X"], train)
    expected = (data.X[problem.truth["row_unseen"]] - train.mean(axis=0)) / train.std(axis=0)
    np.testing.assert_allclose(problem.inputs["X_unseen"], expected, rtol=1e-10)
    assert problem.meta["counts"] == [5, 10, 15, 20]
    assert "y_unseen" not in problem.inputs


def test_selected_features_beat_random_ones_and_random_ones_beat_chance():
    task, data = quick(), dataset()
    problem = task.test(data)
    ours = run(task, problem, SemFS())[1].metrics["clustering_accuracy"]
    theirs = run(task, problem, RandomFeatures())[1].metrics["clustering_accuracy"]
    assert ours > theirs + 0.1
    assert theirs > task.chance(problem) - 0.05
    assert 0.25 < task.chance(problem) < 0.45


def test_metrics_are_means_over_numbers_of_features_and_starts():
    task = quick()
    problem = task.test(dataset())
    outputs, outcome = run(task, problem, SemFS())
    assert outputs["clusters"].shape == (4, 4, 80)
    each = [[clustering_accuracy(problem.truth["y_unseen"], c, 4) for c in row] for row in outputs["clusters"]]
    assert outcome.metrics["clustering_accuracy"] == pytest.approx(np.mean(each))
    curve = outcome.tables["curve"].columns
    np.testing.assert_allclose(curve["accuracy"], np.mean(each, axis=1))
    assert list(curve["features"]) == [5, 10, 15, 20]
    # Starts differ, or their average would mean nothing.
    assert len({c.tobytes() for c in outputs["clusters"][0]}) > 1


def test_tables_and_figure():
    task = quick()
    problem = task.test(dataset())
    outputs, outcome = run(task, problem, SemFS())
    features = outcome.tables["features"].columns
    assert list(features) == ["index", "score", "rank"]
    assert features["index"] == outputs["ranking"].tolist()
    assert features["rank"] == list(range(1, 31))
    assert np.all(np.diff(features["score"]) <= 0)
    predictions = outcome.tables["predictions"].columns
    assert list(predictions) == ["row", "true", "predicted", "score"]
    assert predictions["row"] == sorted(problem.truth["row_unseen"].tolist())
    agreement = np.mean(np.array(predictions["true"]) == np.array(predictions["predicted"]))
    assert agreement > outcome.metrics["clustering_accuracy"] - 0.1
    assert set(outcome.figures["curve"].lines) == {"ACC", "NMI"}


def test_the_same_problem_gives_the_same_clusters():
    task = quick()
    problem = task.test(dataset())
    one, other = (run(task, problem, SemFS())[0]["clusters"] for _ in range(2))
    np.testing.assert_array_equal(one, other)
    seeded = run(task, task.test(dataset(), seed=1), SemFS())[0]["clusters"]
    assert not np.array_equal(one, seeded)


@pytest.mark.parametrize(("by", "rows", "classes"), [("rows", 40, 8), ("classes", 40, 2)])
def test_labelled_ratio_keeps_a_share_of_rows_or_classes(by, rows, classes):
    problem = quick(labelled_ratio=0.25, labelled_by=by).test(dataset())
    assert len(problem.inputs["X"]) == rows
    assert len(problem.inputs["S"]) == len(np.unique(problem.inputs["y"])) == classes
    assert len(problem.inputs["X_unseen"]) == 80


def test_fewer_rows_can_be_clustered_evenly_over_classes():
    problem = quick(rows=40).test(dataset())
    assert np.bincount(problem.truth["y_unseen"]).tolist() == [10] * 4


def test_signatures_by_image_reach_the_selector_and_are_averaged_for_classes():
    data = dataset(per_row=True)
    problem = quick().test(data)
    rows = data.rows("train")
    np.testing.assert_array_equal(problem.inputs["row_signatures"], data.signatures["att"].values[rows])
    np.testing.assert_allclose(problem.inputs["S"][0], data.signatures["att"].values[:20].mean(axis=0))
    assert run(quick(), problem, SemFS())[1].metrics["clustering_accuracy"] > 0.5


def test_labels_can_take_the_place_of_attributes():
    problem = quick().test(dataset())
    by_labels = run(quick(), problem, SemFS(target="labels"))[0]["scores"]
    assert not np.allclose(by_labels, run(quick(), problem, SemFS())[0]["scores"])


@pytest.mark.parametrize("last", [10, 25])
def test_selectors_choose_as_many_features_as_are_taken(last):
    task = quick(last=last)
    outputs = run(task, task.test(dataset()), SemFS())[0]
    assert np.count_nonzero(outputs["scores"] > 0) == last


def test_fewer_chosen_features_than_are_taken_are_told():
    task = quick()
    problem = task.test(dataset())
    with pytest.warns(OutcomeWarning, match="7 features were chosen and 20 are taken"):
        run(task, problem, SemFS(k=7))
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutcomeWarning)
        run(task, problem, SemFS(k=20))


def test_options_and_data_that_do_not_serve_are_refused():
    with pytest.raises(UsageError, match="first=30 is above last=20"):
        quick(first=30)
    with pytest.raises(UsageError, match="labelled_ratio"):
        quick(labelled_ratio=0)
    with pytest.raises(UsageError, match="preprocessing step"):
        quick(scaling="whiten")
    with pytest.raises(DataError, match="fewer than first"):
        quick(first=40, last=50).test(dataset())
    with pytest.raises(DataError, match="no split 'train'"):
        quick().test(dataset(splits=False))


def test_fewer_features_than_asked_for_shorten_the_curve():
    assert quick(last=50).test(dataset(d=12)).meta["counts"] == [5, 10]


REAL = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parents[4] / "shared" / "data")) / "xlsa17" / "ISOLET"


@pytest.mark.long
@pytest.mark.skipif(not REAL.is_dir(), reason="spoken letters are not at hand; set ZSLPLAT_TEST_DATA")
def test_on_spoken_letters_the_well_posed_form_helps_and_the_printed_one_does_not():
    """Features picked by the printed algorithm cluster unseen letters worse than random ones do."""
    data = Xlsa17(path=str(REAL.resolve()), features="isolet", signatures="att").load(DataPlaces(REAL.parent))
    task = FeatureSelection(repeats=5)
    problem = task.test(data)
    printed = SemFS(variant="ridge", gamma=0.1, scale="absolute")
    found = [run(task, problem, m)[1].metrics["clustering_accuracy"] for m in (SemFS(), RandomFeatures(), printed)]
    # Measured 0.68-0.70, 0.55-0.57 and 0.52-0.54 over three seeds of the starts.
    assert found[0] > 0.65
    assert found[0] > found[1] + 0.08
    assert found[2] < found[1]

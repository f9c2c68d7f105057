"""Exemplar retrieval with designated queries: who asks, what counts, what a method is handed, and its intervals."""

from dataclasses import replace

import numpy as np
import pytest

from zslplat.data.dataset import Dataset, Queries
from zslplat.data.store.preprocessing import Preprocessing
from zslplat.errors import DataError
from zslplat.evaluation.cache.problems import preprocess
from zslplat.evaluation.scoring.outcomes import resampled
from zslplat.families.exemplars.methods.baselines import Cosine
from zslplat.families.exemplars.task import SCORES, ExemplarRetrieval
from zslplat.metrics.intervals import rows_digest
from zslplat.testing import checks_for, run_checks
from zslplat.testing.problems import designated, reordered


def outputs(task, problem):
    return next(iter(task.run(Cosine(), problem, {})))[1]


def test_average_precision_is_measured_over_what_is_searched_without_junk():
    task, data = ExemplarRetrieval(), designated()
    asked, problem = data.queries["test"], task.test(data)
    scores, row = outputs(task, problem)[SCORES], problem.truth["row"]
    values = []
    for i in range(len(asked.rows)):
        right, junk = ({r for q, r in pairs if q == i} for pairs in (asked.positive, asked.junk))
        ranked = [r for r in row[np.argsort(-scores[i])] if r in set(asked.database) and r not in junk]
        hits = area = 0
        for place, r in enumerate(ranked):
            before = 1 if place == 0 else hits / place
            if r in right:
                hits += 1
                area += (before + hits / (place + 1)) / 2 / len(right)
        values.append(area)
    assert hits == len(right)
    found = task.outcomes(problem, {SCORES: scores}, {}).columns
    assert found["average_precision"] == pytest.approx(values, abs=1e-12)
    assert task.score(problem, {SCORES: scores}, {}, full=False).metrics["mAP"] == pytest.approx(np.mean(values))


def test_a_method_is_handed_negatives_and_gallery_and_nothing_that_tells_them_apart():
    task, data = ExemplarRetrieval(), designated()
    for problem, split in ((task.test(data), "test"), (task.validation(data)[0], "validation")):
        assert set(problem.inputs) == {"X", "gallery"}
        assert np.array_equal(problem.inputs["X"], data.X[data.rows("train")])
        assert np.array_equal(np.sort(problem.truth["row"]), np.sort(data.rows(split)))
        assert np.array_equal(problem.truth["row"][problem.truth["queries"]], data.queries[split].rows)


def test_statistics_of_preprocessing_are_those_of_the_negatives():
    task, data = ExemplarRetrieval(), designated()
    centred = preprocess(task.test(data), task, Preprocessing(features=("center",)))
    mean = data.X[data.rows("train")].mean(axis=0, dtype=np.float64)
    raw = task.test(data)
    assert np.allclose(centred.inputs["gallery"], raw.inputs["gallery"] - mean, atol=1e-5)


def test_without_queries_for_validation_classes_of_the_negatives_are_held_out_or_nothing_is():
    task, data = ExemplarRetrieval(folds=2), designated()
    alone = {"queries": {"test": data.queries["test"]}, "known_fingerprint": ""}
    with pytest.raises(DataError, match=r"nothing can be tuned on.*validation=0\.2.*run --test"):
        task.validation(replace(data, **alone))
    train = data.rows("train")
    y, names = data.y.copy(), [*data.class_names, *(f"n{i}" for i in range(6))]
    y[train] = len(data.class_names) + np.arange(len(train)) % 6
    labelled = replace(data, y=y, class_names=tuple(names), **alone)
    folds = task.validation(labelled)
    assert len(folds) == 2
    for fold in folds:
        assert set(fold.truth["row"]) <= set(train)
        assert "searched" not in fold.truth


def test_options_without_a_meaning_are_refused():
    with pytest.raises(DataError, match="folds=2 asks for more"):
        ExemplarRetrieval(folds=2).validation(designated())


def test_queries_are_drawn_whatever_their_classes_so_that_intervals_have_a_width():
    task, data = ExemplarRetrieval(), designated()
    # One query for each class, as in Holidays: classes apart would give the same draw again and again.
    asked = data.queries["test"]
    first = np.arange(0, len(asked.rows), 2)
    pairs = [one[one[:, 0] % 2 == 0] // [2, 1] for one in (asked.positive, asked.junk)]
    single = Queries(asked.rows[first], asked.database, *pairs)
    splits = {**data.splits, "test": single.all_rows}
    data = replace(data, splits=splits, queries={**data.queries, "test": single}, known_fingerprint="")
    problem = task.test(data)
    rng = np.random.default_rng(0)
    rows = task.outcomes(problem, {SCORES: rng.random((len(first), len(problem.inputs["gallery"])))}, {})
    found = resampled(task, rows, 400)["mAP"]
    values = rows.columns["average_precision"]
    assert found.std() == pytest.approx(values.std() / len(values) ** 0.5, rel=0.15)


def test_evaluations_pair_where_the_same_is_asked_and_nowhere_else():
    task, data = ExemplarRetrieval(), designated()

    def digest(dataset, seed=0):
        return rows_digest(task.scored_rows(task.test(dataset, seed=seed)))

    assert digest(data) == digest(data, seed=5)
    asked = data.queries["test"]
    wrong = np.setdiff1d(asked.database, np.r_[asked.positive[:, 1], asked.junk[:, 1]])
    for changed in (
        replace(asked, junk=asked.junk[1:]),
        replace(asked, positive=asked.positive[1:]),
        replace(asked, database=np.setdiff1d(asked.database, wrong[:1])),
    ):
        splits = {**data.splits, "test": changed.all_rows}
        other = replace(data, splits=splits, queries={**data.queries, "test": changed}, known_fingerprint="")
        assert digest(other) != digest(data)


def test_the_kit_makes_its_checks_on_designated_queries_too():
    names = [check.__name__ for check in checks_for(ExemplarRetrieval())]
    assert sum(name.endswith("of_designated_queries") for name in names) == 13
    assert "truth_of_designated_queries_is_out_of_reach" in names

    class Fickle(ExemplarRetrieval):
        """A task whose validation is another every time, on designated queries alone."""

        def validation(self, dataset, *, seed=0):
            return super().validation(dataset, seed=seed + int(len(dataset.queries) > 0) * self._count())

        def _count(self):
            type(self).calls = getattr(type(self), "calls", 0) + 1
            return type(self).calls

    results = {result.check: result for result in run_checks(Fickle())}
    assert results["same_seed_gives_the_same_problems"].state == "passed"
    assert results["same_seed_gives_the_same_problems_of_designated_queries"].state == "failed"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positive": np.array([[0, 0]])}, "positive rows are not in the database"),
        ({"positive": np.array([[99, 0]])}, "names queries outside"),
        ({"junk": np.array([1, 2])}, "integer pairs"),
        ({"rows": np.array([], dtype=int)}, "not empty"),
        ({"database": "twice"}, "lists a row twice"),
        ({"positive": "first query lost"}, "1 queries have no positive row, first query 0"),
        ({"junk": "positive"}, "listed twice for query"),
        ({"rows": "train"}, "are not in the split"),
    ],
)
def test_queries_that_do_not_fit_are_refused(changes, message):
    data = designated()
    asked = data.queries["test"]
    values = {
        "twice": np.r_[asked.database, asked.database[:1]],
        "first query lost": asked.positive[asked.positive[:, 0] > 0],
        "positive": asked.positive[:1],
        "train": np.r_[data.rows("train")[:1], asked.rows[1:]],
    }
    changes = {name: values[v] if isinstance(v, str) else v for name, v in changes.items()}
    with pytest.raises(DataError, match=message):
        replace(data, queries={"test": replace(asked, **changes)}, known_fingerprint="")


def test_queries_are_part_of_what_a_data_set_is():
    data = designated()
    asked = data.queries["test"]
    fewer = replace(data, queries={**data.queries, "test": replace(asked, junk=asked.junk[:-1])}, known_fingerprint="")
    none = replace(data, queries={}, known_fingerprint="")
    assert len({data.fingerprint, fewer.fingerprint, none.fingerprint, reordered(data).fingerprint}) == 4
    plain = Dataset(data.name, data.X, data.y, data.class_names, splits=data.splits)
    assert none.fingerprint == plain.fingerprint

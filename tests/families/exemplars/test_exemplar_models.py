"""A saved exemplar model answers as its run did: its gallery, rows and classes, and the preprocessing of new rows."""

import json
from dataclasses import replace

import numpy as np
import pytest
from model_toys import animals, kept

from zslplat.data.store.preprocessing import STEPS, FrozenFeatures, Preprocessing, apply_steps
from zslplat.data.store.rows import Rows
from zslplat.errors import UsageError
from zslplat.families.exemplars import model as exemplar_model
from zslplat.families.exemplars.methods.base import Encoding
from zslplat.families.exemplars.methods.slem import SLEM
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.testing.problems import designated

TASK = "exemplar-retrieval"


@pytest.mark.parametrize("task", [TASK, f"{TASK}(negative_share=0.5)"])
def test_a_query_finds_what_the_run_found(tmp_path, monkeypatch, task):
    dataset = animals(**({"splits": {}, "signatures": {}} if "share" in task else {}))
    found = kept(tmp_path, "slem", task, dataset)
    monkeypatch.setattr(exemplar_model, "BLOCK_ROWS", 16)
    rows, scores = found.problem.truth["row"], np.array(found.outputs["similarity"])
    hits = found.model.query(np.asarray(dataset.X)[rows], top=2)
    # Every row is in the gallery, where it is its own best match; the second is the run's nearest.
    assert np.array_equal(hits.rows[:, 0], rows)
    np.fill_diagonal(scores, -np.inf)
    assert np.array_equal(hits.places[:, 1], scores.argmax(axis=1))
    assert hits.labels[:, 0].tolist() == [dataset.class_names[c] for c in dataset.y[rows]]
    assert found.model.classes == tuple(sorted({dataset.class_names[c] for c in dataset.y[rows]}))


def test_the_gallery_holds_what_is_searched(tmp_path):
    data = designated()
    model = kept(tmp_path, "cosine", TASK, data).model
    hits = model.query(data.X[data.queries["test"].rows], top=4)
    assert set(hits.rows.ravel()) <= set(data.queries["test"].database)
    assert hits.labels[0].tolist() == [data.class_names[c] for c in data.y[hits.rows[0]]]


def test_encodings_keep_the_type_of_the_rows(tmp_path):
    dataset = animals()
    model = kept(tmp_path, "kslem", TASK, replace(dataset, X=dataset.X.astype(np.float32), known_fingerprint="")).model
    assert model.gallery.points.dtype == np.float32


def test_hits_end_with_the_gallery_and_odd_queries_are_refused(tmp_path):
    dataset = animals()
    model = kept(tmp_path, "cosine", TASK, dataset).model
    X = np.asarray(dataset.X)[:7]
    assert model.query(X, top=10_000).rows.shape == (7, len(model.gallery))
    with pytest.raises(UsageError, match="the model was trained on"):
        model.query(X[:, :4])
    with pytest.raises(UsageError, match="top=0"):
        model.query(X, top=0)


def test_of_a_large_gallery_no_model_is_kept_and_that_is_told(monkeypatch):
    data = animals()
    problem = ExemplarRetrieval().test(replace(data, X=Rows.of({"": np.asarray(data.X)})))
    method = SLEM().fit(problem.inputs["X"])
    assert ExemplarRetrieval().model_content(method, problem, {}).left_out == ""
    monkeypatch.setattr("zslplat.families.exemplars.methods.base.ENCODED_BYTES", problem.inputs["gallery"].size * 8 - 1)
    assert "the gallery takes" in ExemplarRetrieval().model_content(method, problem, {}).left_out


@pytest.mark.parametrize("step", STEPS)
def test_every_step_can_be_frozen(step):
    rng = np.random.default_rng(0)
    negatives, queries = rng.normal(size=(50, 6)), rng.normal(size=(7, 6))
    negatives, queries = (np.abs(m) if step == "hellinger" else m for m in (negatives, queries))
    fitted = FrozenFeatures.fitted(Preprocessing(features=(step,)), negatives)
    frozen = FrozenFeatures.from_facts(json.loads(json.dumps(fitted.facts())), fitted.arrays()).apply(queries)
    assert np.allclose(frozen, apply_steps((step,), negatives, queries)[1], rtol=1e-12, atol=1e-13)


def test_encodings_can_be_cut_unless_they_are_grouped():
    rng = np.random.default_rng(0)
    negatives, gallery = rng.normal(size=(50, 6)), rng.normal(size=(40, 6))
    method = SLEM().fit(negatives)
    whole = method.encode(gallery, member=np.arange(40) < 3)
    part = whole.take(np.array([0, 5]))
    assert np.allclose(method.similarity(part, whole), method.similarity(whole, whole)[[0, 5]])
    with pytest.raises(UsageError, match="encode the part"):
        method.encode(gallery, group=np.arange(40) // 2).take(slice(0, 2))
    assert Encoding(np.zeros((0, 2)), group=np.zeros(0, dtype=int)).exemplars == 0

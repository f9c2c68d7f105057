"""A saved model of any method scores raw rows as the evaluation did that left it."""

from __future__ import annotations

import numpy as np
import pytest
from model_toys import animals, kept, rows_to_tell_apart

from zslplat.kinds import SHARED_SPACE
from zslplat.registry import component, names

pytestmark = pytest.mark.filterwarnings("ignore")


def methods(kind):
    return [name for name in names("methods") if component("methods", name).kind == kind]


@pytest.mark.parametrize("name", methods("zero-shot"))
def test_a_zero_shot_model_gives_the_scores_of_its_run(name, tmp_path):
    dataset = animals(shared=SHARED_SPACE in component("methods", name).tags)
    found = kept(tmp_path, name, "gzsl", dataset)
    rows = found.problem.truth["row_pool"]
    assert found.model is not None, found.told
    X = np.asarray(dataset.X)[rows]
    assert np.array_equal(found.model.decision_function(X, generalised=True), found.outputs["T"])
    unseen = found.problem.truth["rows:U->U"]
    scores = found.model.decision_function(X[unseen]) if found.model.joint else found.model.decision_function(X)[unseen]
    assert np.array_equal(scores, found.outputs["U->U"])


@pytest.mark.parametrize("name", methods("coding"))
def test_a_coding_model_gives_the_scores_of_its_run(name, tmp_path):
    dataset = rows_to_tell_apart()
    found = kept(tmp_path, name, "coding", dataset)
    X = np.asarray(dataset.X)[found.problem.truth["row_pool"]]
    assert np.array_equal(found.model.decision_function(X), found.outputs["scores"])
    assert found.model.classes == dataset.class_names


@pytest.mark.parametrize("name", methods("exemplar"))
def test_an_exemplar_model_gives_the_similarities_of_its_run(name, tmp_path):
    dataset = animals()
    found = kept(tmp_path, name, "exemplar-retrieval", dataset)
    X = np.asarray(dataset.X)[found.problem.truth["row"]]
    similarity = found.model.decision_function(X[found.problem.truth["queries"]])
    np.testing.assert_allclose(similarity, found.outputs["similarity"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", methods("feature-selection"))
def test_a_selection_model_takes_the_features_that_its_run_ranked_first(name, tmp_path):
    dataset = animals()
    found = kept(tmp_path, name, "feature-selection(first=2,last=4,step=2)", dataset)
    X = np.asarray(dataset.X)[:5]
    assert np.array_equal(found.model.predict(X), X[:, found.outputs["ranking"][:4]])

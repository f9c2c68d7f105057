"""Neighbours of many rows: by an index, against the exact lists; what is reported of them, and what is refused."""

import sys
import warnings

import numpy as np
import pytest

from zslplat.errors import MethodError, OutcomeWarning
from zslplat.families.zero_shot.methods.tmv_hlp.graphs import crossing, crossing_by_index
from zslplat.methods import neighbours
from zslplat.methods import neighbours as dispatch
from zslplat.methods.base import Diagnostics
from zslplat.methods.neighbours import RowIndex, near_rows, nearest, note_recall, recall_of
from zslplat.registry import component
from zslplat.testing.kits import kit_of

K = 8


@pytest.fixture(scope="module", autouse=True)
def faiss():
    return pytest.importorskip("faiss", reason="the extra ann is not installed")


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return (rng.standard_normal((30, 12))[rng.integers(0, 30, 1200)] + rng.standard_normal((1200, 12))).astype("f4")


def test_an_index_finds_nearly_all_neighbours_best_first_and_never_the_row_itself(X):
    exact, _ = nearest(X, K)
    index, cosine = RowIndex(X).nearest(K)
    assert index.shape == cosine.shape == (len(X), K)
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(exact, index, strict=True)]) > 0.97 * K
    assert (index != np.arange(len(X))[:, None]).all()
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(cosine, np.einsum("ij,ikj->ik", unit, unit[index]), atol=1e-6)
    assert (np.diff(cosine, axis=1) <= 0).all()


def test_the_same_rows_have_the_same_neighbours_whatever_number_of_threads_the_caller_has(X, faiss):
    first = RowIndex(X).nearest(K)
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    try:
        second = RowIndex(X).nearest(K)
        assert faiss.omp_get_max_threads() == 2
    finally:
        faiss.omp_set_num_threads(before)
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


def test_equal_rows_are_neighbours_of_each_other_in_the_order_of_their_numbers():
    index, cosine = RowIndex(np.ones((40, 3), np.float32)).nearest(5)
    assert (index != np.arange(40)[:, None]).all()
    assert (np.diff(index, axis=1) > 0).all()
    np.testing.assert_allclose(cosine, 1, atol=1e-6)


def test_recall_is_the_share_of_true_neighbours(X):
    exact, _ = nearest(X, K)
    assert recall_of(exact, X) == 1
    spoilt = exact.copy()
    spoilt[:, : K // 4] = np.arange(len(X))[:, None]  # no row is its own neighbour
    assert recall_of(spoilt, X) == pytest.approx(0.75)
    other = X[::-1].copy()
    own = (len(X) - 1 - np.arange(len(X)))[:, None]
    assert recall_of(own, other, X) == 1


def test_an_index_is_asked_with_more_candidates_until_it_finds_enough(X, monkeypatch):
    monkeypatch.setattr(neighbours, "LEAST_CANDIDATES", 1)
    monkeypatch.setattr(neighbours, "LINKS", 8)
    noise = np.random.default_rng(2).standard_normal((3000, 200)).astype("f4")
    few = recall_of(RowIndex(noise).nearest(2, candidates=1)[0], noise)
    assert few < 0.8
    found = near_rows(noise, 2, "index")
    assert found["row_recall"] == recall_of(found["row_neighbours"], noise)
    assert found["row_recall"] > neighbours.REQUIRED_RECALL - 0.03  # that of another sample
    monkeypatch.setattr(neighbours, "MOST_CANDIDATES", 1)
    assert near_rows(noise, 2, "index")["row_recall"] == few


def test_neighbours_that_an_index_missed_are_warned_of():
    with pytest.warns(OutcomeWarning, match="found 89% of the true neighbours") as told:
        note_recall(noted := Diagnostics(), {"row_recall": np.array(0.89)})
    assert ["[ZSP216]" in str(one.message) for one in told] == [True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note_recall(noted, {"row_recall": np.array(0.9)})
        note_recall(noted, {})
    assert noted.numbers == {"neighbour_recall": 0.9}


def test_a_single_row_has_no_neighbours_however_they_are_found():
    found = near_rows(np.ones((1, 4), dtype=np.float32), 5, "index")
    assert found["row_neighbours"].shape == found["row_cosines"].shape == (1, 0)
    assert found["row_recall"] == 1


def test_all_pairs_are_compared_up_to_a_bound_and_an_index_beyond_says_its_recall(X, monkeypatch):
    monkeypatch.setattr(dispatch, "EXACT_ROWS", len(X))
    exact = near_rows(X, K, "auto")
    assert set(exact) == {"row_neighbours", "row_cosines"}
    np.testing.assert_array_equal(exact["row_neighbours"], nearest(X, K)[0])
    monkeypatch.setattr(dispatch, "EXACT_ROWS", len(X) - 1)
    found = near_rows(X, K, "auto")
    assert 0.9 < float(found["row_recall"]) <= 1
    np.testing.assert_array_equal(found["row_neighbours"], RowIndex(X).nearest(K)[0])
    np.testing.assert_array_equal(near_rows(X, K, "exact")["row_neighbours"], exact["row_neighbours"])


def test_without_the_extra_an_error_says_how_to_install_it_and_what_exact_search_takes(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    X = np.broadcast_to(np.float32(1), (60_000, 2048))
    with pytest.raises(MethodError, match=r"zslplat\[ann\].*neighbours=exact, about 6 minutes"):
        near_rows(X, K, "auto")


@pytest.mark.parametrize("name", ["gfhf", "eszsl-smoothed", "mfmr-joint", "tmv-hlp"])
def test_graph_methods_report_the_recall_and_predict_nearly_as_with_exact_neighbours(name):
    method_class = component("methods", name)
    kit = kit_of(method_class().kind)
    predicted = {}
    for how in ("exact", "index"):
        method = method_class(k=5, neighbours=how)
        arrays = kit.arrays(method)
        method.fit(arrays["X"], arrays["y"], arrays["S"])
        predicted[how] = method.decision_function(arrays["X_pool"], arrays["S_pool"]).argmax(axis=1)
        assert ("neighbour_recall" in method.diagnostics.numbers) == (how == "index")
    assert method.diagnostics.numbers["neighbour_recall"] > 0.9
    assert np.mean(predicted["exact"] == predicted["index"]) > 0.9


def test_neighbours_across_views_by_index_are_mostly_those_of_all_pairs(X):
    other = X @ np.random.default_rng(1).standard_normal((12, 12)).astype("f4") * 0.1 + X
    A, B = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, other))
    exact, (found, recall) = crossing(A, B, K), crossing_by_index(A, RowIndex(B), K)
    hits = [len(np.intersect1d(a, b)) for a, b in zip(exact.index, found.index, strict=True)]
    assert np.mean(hits) > 0.85 * K
    assert recall > 0.85
    # All rows are in the sample, so that means and deviations are those over all pairs.
    np.testing.assert_allclose(found.centre, exact.centre, atol=1e-4)
    np.testing.assert_allclose(found.spread, exact.spread, rtol=1e-3)

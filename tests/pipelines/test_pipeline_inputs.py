"""Labels and signatures come in whatever containers people have; what says nothing is refused in one line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from zslplat import make
from zslplat.errors import DataError


def frame_of_signatures():
    rng = np.random.default_rng(0)
    names = [f"c {i}, \u00e9" for i in range(8)]
    S = pd.DataFrame(rng.normal(size=(8, 5)), names, list("abcde"))
    y = np.repeat(names[:6], 6)
    return S, y, S.loc[y].to_numpy() @ rng.normal(size=(5, 7)) + 0.1 * rng.normal(size=(36, 7))


def test_columns_of_signatures_are_found_by_their_names():
    S, y, X = frame_of_signatures()
    pipeline = make("eszsl(alpha=.01, gamma=.01)").fit(X, y, S)
    expected = pipeline.decision_function(X, S)
    assert np.array_equal(pipeline.decision_function(X, S[list("edcba")]), expected)
    assert np.array_equal(pipeline.decision_function(X, {name: line[::-1] for name, line in S.iterrows()}), expected)
    assert np.array_equal(pipeline.decision_function(X, dict(zip(S.index, S.to_numpy(), strict=True))), expected)
    assert np.array_equal(pipeline.decision_function(X, S.to_numpy(), classes=list(S.index)), expected)
    with pytest.raises(DataError, match="attribute 'a' is missing"):
        pipeline.predict(X, S.rename(columns={"a": "z"}))
    counted = S.set_axis(range(5), axis=1)
    pipeline = make("eszsl(alpha=.01, gamma=.01)").fit(X, y, counted)
    assert np.array_equal(pipeline.decision_function(X, counted[[4, 3, 2, 1, 0]]), expected)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_label_that_is_missing_is_no_class(missing):
    S, y, X = frame_of_signatures()
    labels = np.array([*y[:3], missing, *y[4:]], dtype=object)
    with pytest.raises(DataError, match="y: entry 3 is missing"):
        make("eszsl").fit(X, labels, S)
    with pytest.raises(DataError, match="y: entry 3 is missing"):
        make("llc").fit(X, labels)


def test_numbers_in_arrays_of_objects_and_as_names_are_the_classes_that_they_are():
    S, _, X = frame_of_signatures()
    numbers = np.repeat(np.arange(6), 6)
    expected = make("eszsl").fit(X, numbers, S.to_numpy()).decision_function(X)
    found = make("eszsl").fit(X, numbers.astype(object), S.to_numpy().astype(object)).decision_function(X)
    assert np.array_equal(found, expected)
    written = S.set_axis([str(i) for i in range(8)]).iloc[::-1]
    pipeline = make("eszsl").fit(X, numbers, written)
    np.testing.assert_allclose(pipeline.decision_function(X)[:, ::-1], expected)
    assert pipeline.seen_.tolist() == [False, False] + [True] * 6


def test_what_is_no_array_is_refused_in_one_line():
    S, y, X = frame_of_signatures()
    masked = np.ma.masked_array(X, mask=X > 1)
    for rows, signatures, told in (
        (csr_matrix(X), S, r"give an array, X.toarray"),
        (X, csr_matrix(S), r"give an array, S.toarray"),
        (masked, S, "behind a mask"),
        (X, (list(S.index), S.to_numpy()), "several lengths"),
    ):
        with pytest.raises(DataError, match=told):
            make("eszsl").fit(rows, y, signatures)
    with pytest.raises(DataError, match="NaN or infinity"):
        make("eszsl").fit(X, np.r_[np.inf, np.zeros(35)], S.to_numpy())


@pytest.mark.parametrize("method", ["eszsl", "sae", "llc"])
@pytest.mark.parametrize(("row", "what"), [(0.0, "the same row of zeros, "), (np.arange(7.0), "the same row, ")])
def test_features_that_tell_nothing_are_a_fault_of_the_data(method, row, what):
    S, y, X = frame_of_signatures()
    given = (y, S) if method != "llc" else (y,)
    with pytest.raises(DataError, match=f"all 36 training rows are {what}so that no method can learn"):
        make(method).fit(X * 0 + row, *given)

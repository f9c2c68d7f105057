"""What exemplar methods promise beside: encodings of rows by themselves, and a similarity between any two of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.methods.base import Method
from zslplat.testing import exercise
from zslplat.testing.exercise import ExemplarExercise
from zslplat.testing.method_checks import assert_close, assert_data_refused
from zslplat.testing.running import Check

_EXERCISE = ExemplarExercise()


def similarity_has_an_entry_per_pair(method: Method) -> None:
    """similarity(A, B) is (rows of A, rows of B), float64, and the transpose of similarity(B, A)."""
    fitted, X = _fitted(method)
    A, B = fitted.encode(X), fitted.encode(X[:11])
    found = fitted.similarity(A, B)
    assert found.shape == (len(X), 11), f"similarity has shape {found.shape}, expected {len(X), 11}"
    assert found.dtype == np.float64, f"similarity is {found.dtype}, expected float64"
    back = {"similarity": fitted.similarity(B, A).T}
    assert_close(method, back, {"similarity": found}, "with both sides exchanged", at_least=1e-9)


def similarity_follows_the_rows(method: Method) -> None:
    """A row has the same similarities in any order and in any company, within the declared tolerance."""
    fitted, X = _fitted(method)
    B = fitted.encode(X[:11])
    whole = fitted.similarity(fitted.encode(X), B)
    order = np.random.default_rng(9).permutation(len(X))
    for rows in (order, order[:1], order[:5]):
        found = {"similarity": fitted.similarity(fitted.encode(X[rows]), B)}
        assert_close(method, found, {"similarity": whole[rows]}, f"of {len(rows)} rows in another order", at_least=1e-9)
    taken = {"similarity": fitted.similarity(fitted.encode(X).take(order[:5]), B)}
    assert_close(method, taken, {"similarity": whole[order[:5]]}, "of rows taken out of an encoding", at_least=1e-9)


def order_of_negatives_does_not_matter(method: Method) -> None:
    """Negatives in another order, or in blocks, give the same similarities, within the declared tolerance."""
    fitted, X = _fitted(method)
    negatives = _EXERCISE.arrays(method)["X"]
    direct = {"similarity": fitted.similarity(fitted.encode(X), fitted.encode(X[:11]))}
    order = np.random.default_rng(9).permutation(len(negatives))
    others: dict[str, Any] = {"in another order": negatives[order], "in blocks": [negatives[:40], negatives[40:]]}
    for when, given in others.items():
        fresh: Any = clone(method)
        fresh.fit(given)
        found = {"similarity": fresh.similarity(fresh.encode(X), fresh.encode(X[:11]))}
        assert_close(method, found, direct, f"with negatives {when}")


def a_row_is_most_like_itself(method: Method) -> None:
    """Among all rows, nearly every row is most similar to itself."""
    fitted, X = _fitted(method)
    encoding = fitted.encode(X)
    own = np.mean(np.argmax(fitted.similarity(encoding, encoding), axis=1) == np.arange(len(X)))
    assert own >= 0.9, f"only {own:.0%} of the rows are most similar to themselves"


def unusable_data_are_refused(method: Method) -> None:
    """NaN among negatives or rows, no negative, and rows of another width are refused with one clear line."""
    fitted, X = _fitted(method)
    negatives = _EXERCISE.arrays(method)["X"]
    spoilt, spoilt_rows = negatives.copy(), X.copy()
    spoilt[3, 1] = spoilt_rows[2, 0] = np.nan
    fresh: Any = clone(method)
    assert_data_refused(
        {
            "NaN among the negatives": lambda: fresh.fit(spoilt),
            "no negative": lambda: fresh.fit(negatives[:0]),
            "NaN among the rows": lambda: fitted.encode(spoilt_rows),
            "rows of another width": lambda: fitted.encode(X[:, :-1]),
        }
    )


def _fitted(method: Method) -> tuple[Any, np.ndarray]:
    return exercise.fitted(method), _EXERCISE.arrays(method)["gallery"]


EXEMPLAR_CHECKS: tuple[Check, ...] = (
    similarity_has_an_entry_per_pair,
    similarity_follows_the_rows,
    order_of_negatives_does_not_matter,
    a_row_is_most_like_itself,
    unusable_data_are_refused,
)

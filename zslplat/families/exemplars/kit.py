"""The kit of exemplar methods: encodings of rows by themselves, and a similarity between any two of them.

Their tasks promise of data with designated queries what they promise of other data.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.errors import DataError, UsageError
from zslplat.families.exemplars.methods.base import Encoding, ExemplarMethod
from zslplat.methods.base import Arrays, Method, Prepared
from zslplat.registry import registered_name
from zslplat.tasks.base import Task
from zslplat.testing import kits, tasks
from zslplat.testing.kits import MethodKit, Player
from zslplat.testing.method_checks import assert_close, assert_data_refused
from zslplat.testing.problems import ClassProblem, designated, more_noise
from zslplat.testing.running import Check, Skipped
from zslplat.testing.truth_seekers import UNDER_ATTACK, Seeker, assert_nothing_leaks, attack_outcomes, indicators

QUERIES = 20


def similarity_has_an_entry_per_pair(method: Method) -> None:
    """similarity(A, B) is (rows of A, rows of B), float64, and the transpose of similarity(B, A)."""
    fitted, X = _fitted(method)
    A, B = fitted.encode(X), fitted.encode(X[:11])
    actual = fitted.similarity(A, B)
    assert actual.shape == (len(X), 11), f"similarity has shape {actual.shape}, expected {len(X), 11}"
    assert actual.dtype == np.float64, f"similarity is {actual.dtype}, expected float64"
    back = {"similarity": fitted.similarity(B, A).T}
    assert_close(method, back, {"similarity": actual}, "with both sides exchanged", at_least=1e-9)


def similarity_follows_the_rows(method: Method) -> None:
    """A row has the same similarities in any order and in any company, within the declared tolerance."""
    fitted, X = _fitted(method)
    B = fitted.encode(X[:11])
    whole = fitted.similarity(fitted.encode(X), B)
    order = np.random.default_rng(9).permutation(len(X))
    for rows in (order, order[:1], order[:5]):
        actual = {"similarity": fitted.similarity(fitted.encode(X[rows]), B)}
        assert_close(
            method, actual, {"similarity": whole[rows]}, f"of {len(rows)} rows in another order", at_least=1e-9
        )
    taken = {"similarity": fitted.similarity(fitted.encode(X).take(order[:5]), B)}
    assert_close(method, taken, {"similarity": whole[order[:5]]}, "of rows taken out of an encoding", at_least=1e-9)


def order_of_negatives_does_not_matter(method: Method) -> None:
    """Negatives in another order, or in blocks, give the same similarities, within the declared tolerance."""
    fitted, X = _fitted(method)
    negatives = ExemplarKit().arrays(method)["X"]
    direct = {"similarity": fitted.similarity(fitted.encode(X), fitted.encode(X[:11]))}
    order = np.random.default_rng(9).permutation(len(negatives))
    others: dict[str, Any] = {"in another order": negatives[order], "in blocks": [negatives[:40], negatives[40:]]}
    for when, same_negatives in others.items():
        fresh: Any = clone(method)
        fresh.fit(same_negatives)
        actual = {"similarity": fresh.similarity(fresh.encode(X), fresh.encode(X[:11]))}
        assert_close(method, actual, direct, f"with negatives {when}")


def a_row_is_most_like_itself(method: Method) -> None:
    """Among all rows, nearly every row is most similar to itself."""
    fitted, X = _fitted(method)
    encoding = fitted.encode(X)
    share = np.mean(np.argmax(fitted.similarity(encoding, encoding), axis=1) == np.arange(len(X)))
    assert share >= 0.9, f"only {share:.0%} of the rows are most similar to themselves"


def unusable_data_are_refused(method: Method) -> None:
    """NaN among negatives or rows, no negative, and rows of another width are refused with one clear line."""
    fitted, X = _fitted(method)
    negatives = ExemplarKit().arrays(method)["X"]
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
    return kits.fitted(method), ExemplarKit().arrays(method)["gallery"]


EXEMPLAR_CHECKS: tuple[Check, ...] = (
    similarity_has_an_entry_per_pair,
    similarity_follows_the_rows,
    order_of_negatives_does_not_matter,
    a_row_is_most_like_itself,
    unusable_data_are_refused,
)


class ExemplarPlayer(Player, ExemplarMethod):
    """Cosine of what differs from the mean of the negatives."""

    def _fit(self, negatives: Any, statistics: Prepared) -> None:
        self.mean_ = np.asarray(negatives, dtype=np.float64).mean(axis=0)

    def encode(self, X: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None) -> Encoding:
        """Return rows of length 1."""
        rows = X - self.mean_
        return Encoding(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def similarity(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return the cosines."""
        return self.shown(A.vectors @ B.vectors.T)


class SeekingExemplars(Seeker, ExemplarMethod):
    """Takes rows for alike that have the same label among those that it finds."""

    def _fit(self, negatives: Any, statistics: Prepared) -> None:
        """Learn nothing."""

    def encode(self, X: np.ndarray, *, statistics: Any = None) -> Encoding:
        """Return the labels that were found as indicators."""
        labels = self.seek(len(X))
        return Encoding(indicators(labels, int(labels.max()) + 2))

    def similarity(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return 1 for rows of one label (n_a, n_b)."""
        return np.asarray(A.vectors @ B.vectors.T)


class ExemplarKit(MethodKit):
    """Fit a pool of negatives, encode rows, compare the first of them with all."""

    kind = "exemplar"
    features = ("X", "gallery")
    player = ExemplarPlayer
    attack = SeekingExemplars
    new_classes = True

    def named(self, problem: ClassProblem) -> Arrays:
        """Return the negatives X, the rows to encode and which of them are compared with all."""
        return {"X": problem.X, "gallery": problem.X_pool, "queries": np.arange(QUERIES)}

    def checks(self, method: Any) -> tuple[Check, ...]:
        """Return the checks of exemplar methods."""
        return EXEMPLAR_CHECKS

    def task_checks(self, task: Any) -> tuple[Check, ...]:
        """Return the checks of tasks on data with designated queries."""
        return designated_checks()


def designated_checks() -> tuple[Check, ...]:
    """Return the checks of a task on data with designated queries."""
    return (*map(_on_designated, tasks.ON_DATA), truth_of_designated_queries_is_out_of_reach)


def truth_of_designated_queries_is_out_of_reach(task: Task) -> None:
    """Methods that go through their memory, or their callers' frames, find neither classes nor what is right."""
    _with_designated(task)
    name = registered_name(type(task), "tasks")
    attacked, unregistered = (name, None) if name else (UNDER_ATTACK, type(task))
    outcomes = attack_outcomes(attacked, more_noise(designated()), unregistered=unregistered)
    assert_nothing_leaks(task, outcomes)


def _on_designated(check: Check) -> Check:
    """Return the check made on data with designated queries, under a name of its own."""

    def promised(task: Task) -> None:
        check(_with_designated(task))

    promised.__name__ = f"{check.__name__}_of_designated_queries"
    promised.__doc__ = f"On data that name queries, positives and junk: {check.__doc__}"
    return promised


def _with_designated(task: Task) -> Task:
    """Return the task with such data for its example; raises :class:`Skipped` where it does not take them."""
    try:
        task.test(designated())
    except (DataError, UsageError) as error:
        raise Skipped(f"takes no designated queries: {error}") from error
    other = copy.copy(task)
    other.example_dataset = designated  # type: ignore[attr-defined]
    return other

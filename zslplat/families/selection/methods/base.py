"""The contract of feature selectors, and what they share: targets, rankings, rows drawn from every class.

How feature selectors are called.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import take_rows
from zslplat.errors import DataError, MethodError
from zslplat.families.zero_shot.methods.base import check_fit_inputs
from zslplat.methods.base import Arrays, Features, Inputs, Method, Prepared, Protocol, Statistics, features
from zslplat.registry import known_as
from zslplat.space import Choice, Integer, Optional, Space, parameter

# The most features that the protocol of Wang et al. takes.
USUAL_FEATURES = 50
FEATURES = parameter("number of features; none for as many as are taken", Optional(Integer(1)), default=None)
SEED = parameter("seed of the random draws", Integer(0), default=0)
SEED_DRAWS_ROWS = {
    "another_seed_gives_another_result": "the seed draws rows, where there are more of them than the method uses"
}


def target_parameter(default: str) -> str:
    """Declare the parameter ``target``."""
    return parameter(
        "what the features shall predict: class signatures, or one-hot class labels",
        Choice(("attributes", "labels")),
        default=default,
    )


class SelectionData(NamedTuple):
    """What a selector learns from: rows X (n, d), labels y (n,), signatures S (c, a), and of each row or None."""

    X: Features
    y: np.ndarray
    S: np.ndarray
    row_signatures: np.ndarray | None = None


class FeatureSelector(Method):
    """A method that scores every feature; the best come first in ``ranking_``.

    Learned: ``scores_`` (d,) float64, higher is better, and ``ranking_`` (d,), the features by falling score, equal
    scores in the order of the columns. The platform standardises features, and centres signatures and brings them to
    length 1, unless a selector says otherwise.

    ``features_taken``: how many features will be taken from the ranking at most. Who takes them sets it before the
    fit; a selector that chooses a number of features chooses that many, unless its own ``k`` says otherwise.
    """

    kind = "feature-selection"
    features_taken: int = USUAL_FEATURES
    preprocessing: ClassVar[Preprocessing] = Preprocessing(features=("standardise",), signatures=("center", "l2"))

    scores_: np.ndarray
    ranking_: np.ndarray

    def prepare_fit(
        self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, row_signatures: np.ndarray | None = None, space: Space
    ) -> Arrays:
        """Return what :meth:`fit` needs of the data and no searched parameter changes; ``self`` holds the rest."""
        return self._prepare(SelectionData(X, y, S, row_signatures), space)

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        S: np.ndarray,
        *,
        row_signatures: np.ndarray | None = None,
        statistics: Statistics = None,
    ) -> Self:
        """Score the features of rows X (n, d) with labels y (n,) in 0..c-1 and signatures S (c, a).

        ``row_signatures`` (n, a) describe each row by itself; selectors that use signatures then prefer them to S.
        Without ``statistics`` the method prepares for itself, with the same result.
        """
        data = SelectionData(X, y, S, row_signatures)
        return self._rank(self._score(data, statistics or self._prepare(data, {})))

    def _prepare(self, data: SelectionData, space: Space) -> Arrays:
        """Return what :meth:`_score` needs of the data and no searched parameter changes."""
        return {}

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Return a score (d,) of every feature, with the statistics of :meth:`_prepare`; selectors write this."""
        raise NotImplementedError(f"{type(self).__name__} has no _score")

    def matrices(self) -> Arrays:
        """Return scores and ranking."""
        return {"scores": self.scores_, "ranking": self.ranking_}

    def _rank(self, scores: np.ndarray) -> Self:
        """Store the scores and the ranking that follows from them; raises :class:`MethodError` for NaN."""
        scores = np.asarray(scores, dtype=np.float64)
        bad = int(len(scores) - np.count_nonzero(np.isfinite(scores)))
        if bad:
            raise MethodError(f"{known_as(type(self))}: {bad} of {len(scores)} feature scores are NaN or infinite")
        self.scores_ = scores
        self.ranking_ = np.argsort(-scores, kind="stable")
        return self


class SampleSelector(FeatureSelector, listed_last=True):
    """A selector that works on at most ``rows`` rows, drawn evenly from the classes with ``seed``.

    The drawn rows are prepared, so that a trial reads no others.
    """

    takes_blocks = True
    rows = parameter("rows at most, drawn evenly from the classes; none for all", Optional(Integer(2)), default=2000)
    seed = SEED

    def _prepare(self, data: SelectionData, space: Space) -> Arrays:
        """Return the drawn rows; nothing where their number is open, or all are taken."""
        check_selection_inputs(data)
        if self.rows is None or {"rows", "seed"} & set(space):
            return {}
        return {"drawn_rows": np.asarray(take_rows(data.X, drawn_rows(data.y, self.rows, self.seed)))}

    def _drawn(self, data: SelectionData, statistics: Prepared) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows are drawn (m,) and those rows (m, d), after :func:`check_selection_inputs`."""
        drawn = drawn_rows(data.y, self.rows, self.seed)
        if "drawn_rows" in statistics:
            return drawn, np.asarray(statistics["drawn_rows"])
        check_selection_inputs(data)
        return drawn, np.asarray(take_rows(data.X, drawn))


def check_selection_inputs(data: SelectionData, *, read: bool = True) -> None:
    """Raise :class:`DataError` where shapes do not fit, values are not finite, or a class has no row.

    X is read once for this, unless ``read`` is False: then the next reader looks for NaN and infinity.
    """
    X, y, S, row_signatures = data
    check_fit_inputs(X, y, S, read=read)
    if row_signatures is not None and (row_signatures.ndim != 2 or len(row_signatures) != len(X)):
        raise DataError(f"expected one signature per row, ({len(X)}, a); got shape {row_signatures.shape}")
    if row_signatures is not None and not np.isfinite(row_signatures).all():
        raise DataError("row_signatures holds NaN or infinity")


def class_targets(target: str, S: np.ndarray) -> np.ndarray:
    """Return Phi (c, m), what the rows of each class shall predict: their signature, or the one-hot label."""
    return np.eye(len(S)) if target == "labels" else np.asarray(S, dtype=np.float64)


def row_targets(target: str, data: SelectionData, drawn: np.ndarray) -> np.ndarray:
    """Return what each of the ``drawn`` rows shall predict (m, .): its own signature where rows have them, or Phi's."""
    if data.row_signatures is not None and target == "attributes":
        return np.asarray(data.row_signatures[drawn], dtype=np.float64)
    return np.asarray(class_targets(target, data.S)[data.y[drawn]])


def drawn_rows(y: np.ndarray, count: int | None, seed: int) -> np.ndarray:
    """Return at most ``count`` row indices, ascending, as even over the classes as they allow; all for None.

    Every class keeps at least one row while ``count`` allows; the draw depends on ``seed`` and the labels only.
    """
    if count is None or len(y) <= count:
        return np.arange(len(y))
    generator = np.random.default_rng([seed, 3])
    shuffled = generator.permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    sizes = np.bincount(y)
    sizes = sizes[sizes > 0]
    # Position of each row within its class: taking the lowest positions first deals the rows out in turn.
    position = np.concatenate([np.arange(size) for size in sizes])
    return np.sort(by_class[np.argsort(position, kind="stable")[:count]])


def with_pull(scores: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Give features with score 0 the value pull - 1 in [-1, 0], so that they rank below all others, by pull."""
    return np.where(scores > 0, scores, np.clip(pull, 0.0, 1.0) - 1.0)


def relative_pull(pulls: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """Scale the pulls (d,) of the features that are not selected to [0, 1]."""
    highest = float(pulls[~selected].max(initial=0.0))
    return pulls / highest if highest > 0 else np.zeros_like(pulls)


class SelectionProtocol(Protocol):
    """Fit on X, y and S, and on ``row_signatures`` where rows have their own; nothing is scored but the features."""

    def prepare_fit(self, method: Any, inputs: Inputs, space: Space) -> Arrays:
        """Return the sufficient statistics."""
        y, S, rows = (inputs.get(name) for name in ("y", "S", "row_signatures"))
        X = features(method, inputs["X"])
        arrays: Arrays = method.prepare_fit(X, y, S, row_signatures=rows, space=space)
        return arrays

    def fit(self, method: Any, inputs: Inputs, statistics: Statistics) -> Any:
        """Score the features."""
        y, S, rows = (inputs.get(name) for name in ("y", "S", "row_signatures"))
        X = features(method, inputs["X"])
        return method.fit(X, y, S, row_signatures=rows, statistics=statistics)

    def score(self, method: Any, inputs: Inputs, statistics: Statistics) -> Arrays:
        """Return ``ranking`` and ``scores`` (d,) of the features."""
        return {"ranking": method.ranking_, "scores": method.scores_}

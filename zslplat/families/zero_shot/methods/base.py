"""Zero-shot methods: the base class, and how tasks call one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from zslplat.data.store.preprocessing import looks_at_all_classes
from zslplat.errors import DataError, UsageError
from zslplat.methods.base import Arrays, Features, Inputs, Method, Prepared, Protocol, Statistics, features
from zslplat.methods.rows import all_finite
from zslplat.registry import known_as
from zslplat.space import Space

# The tag of methods that take several signatures of a class.
SEVERAL_SIGNATURES = "several-signatures"
# The class of each signature, where classes have several.
Classes = np.ndarray | None


class ZeroShotMethod(Method):
    """A method that scores rows against class signatures; higher is more compatible.

    A method writes ``_fit`` (or ``_fit_steps``) and ``_scores``. They are handed the statistics that it prepares, with
    ``signature_class`` among them where classes have several signatures.
    """

    kind = "zero-shot"

    def uses_unseen_signatures(self, steps: Sequence[str]) -> bool:
        """Whether the preprocessing of signatures looks at all classes; methods that do so themselves return True."""
        return looks_at_all_classes(steps)

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return what :meth:`fit` needs of the data and no searched parameter changes; ``self`` holds the rest."""
        return {}

    def prepare_score(self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return what :meth:`decision_function` needs of a batch and no searched parameter changes.

        ``statistics`` is what :meth:`prepare_fit` returned; None where the fit was not prepared.
        """
        return {}

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        S: np.ndarray,
        *,
        signature_class: Classes = None,
        statistics: Statistics = None,
    ) -> Self:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and seen signatures S (c, a).

        ``signature_class`` (m,): the class of each row of S (m, a), for methods tagged ``several-signatures``.
        Without ``statistics`` the method prepares for itself, with the same result.
        """
        if self.has_steps():
            deque(self.fit_steps(X, y, S, signature_class=signature_class, statistics=statistics), maxlen=0)
        else:
            self._fit(X, y, S, self._with(signature_class, statistics or self.prepare_fit(X, y, S, space={})))
        return self

    def fit_steps(
        self,
        X: np.ndarray,
        y: np.ndarray,
        S: np.ndarray,
        *,
        signature_class: Classes = None,
        statistics: Statistics = None,
    ) -> Iterator[int]:
        """Fit as :meth:`fit` does, step by step, yielding 1, 2, ... after each epoch; direct methods yield once.

        Validation folds take their steps in turns, each with an instance of its own, so that one step is chosen for
        all: an instance keeps its state to itself, and holds no context (of warnings, say) across a yield.
        """
        if self.has_steps():
            statistics = statistics or self.prepare_fit(X, y, S, space={})
            yield from self._fit_steps(X, y, S, self._with(signature_class, statistics))
        else:
            described = {} if signature_class is None else {"signature_class": signature_class}
            self.fit(X, y, S, statistics=statistics, **described)
            yield 1

    def decision_function(
        self,
        X: np.ndarray,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        signature_class: Classes = None,
        statistics: Statistics = None,
    ) -> np.ndarray:
        """Return scores (n, c) of rows X (n, d) against signatures S (c, a); ``seen`` (c,) marks those of the fit.

        ``signature_class`` and ``statistics`` as in :meth:`fit`.
        """
        statistics = statistics or self.prepare_score(X, S, space={})
        return self._scores(X, S, seen, self._with(signature_class, statistics))

    @classmethod
    def has_steps(cls) -> bool:
        """Whether a class has steps of its own."""
        return cls._fit_steps is not ZeroShotMethod._fit_steps

    def _fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Learn at once, from the statistics of :meth:`prepare_fit`; a method writes this or :meth:`_fit_steps`."""
        raise NotImplementedError(f"{type(self).__name__} has neither _fit nor _fit_steps")

    def _fit_steps(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Learn step by step, yielding 1, 2, ... after each."""
        raise NotImplementedError

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the scores (n, c), with the statistics of :meth:`prepare_score`."""
        raise NotImplementedError(f"{type(self).__name__} has no _scores")

    def _with(self, signature_class: Classes, statistics: Prepared) -> Prepared:
        if signature_class is None:
            return statistics
        if SEVERAL_SIGNATURES not in self.tags:
            raise UsageError(f"{known_as(type(self))} takes one signature per class; average those of a class first")
        return {**statistics, "signature_class": signature_class}

    def predict(self, X: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the row of S with the highest score, for every row of X."""
        return np.asarray(np.argmax(self.decision_function(X, S), axis=1))


def check_fit_inputs(X: Features, y: np.ndarray, S: np.ndarray, *, read: bool = True) -> None:
    """Raise :class:`DataError` when shapes do not fit, values are not finite, or a label has no signature.

    X is read once for this, unless ``read`` is False: then the next reader looks for NaN and infinity.
    """
    if X.ndim != 2 or S.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise DataError(f"expected X (n, d), y (n,), S (c, a); got {X.shape}, {y.shape}, {S.shape}")
    if len(y) == 0:
        raise DataError("cannot fit on 0 rows")
    if y.min() < 0 or y.max() >= len(S):
        raise DataError(f"labels run from {y.min()} to {y.max()} but S has {len(S)} signatures")
    empty = np.setdiff1d(np.arange(len(S)), y)
    if len(empty):
        raise DataError(f"{len(empty)} classes of S have no row in X, first class {empty[0]}; drop them or add rows")
    if not np.isfinite(S).all():
        raise DataError("S holds NaN or infinity")
    if read and not all_finite(X):
        raise DataError("X holds NaN or infinity")


class ZeroShotProtocol(Protocol):
    """Fit on X, y and S; score ``X_pool`` against ``S_pool``, of which ``seen`` marks the classes trained on.

    ``signature_class`` and ``signature_class_pool``, where they are given, say which class each signature describes.
    """

    def prepare_fit(self, method: Any, inputs: Inputs, space: Space) -> Arrays:
        """Return the statistics of the training rows."""
        X, y, S, described = _training(method, inputs)
        arrays: Arrays = method.prepare_fit(X, y, S, space=space, **described)
        return arrays

    def prepare_score(self, method: Any, inputs: Inputs, space: Space, fitted: Statistics) -> Arrays:
        """Return the statistics of the pool."""
        X, S, described = _pool(method, inputs)
        arrays: Arrays = method.prepare_score(X, S, space=space, statistics=fitted, **described)
        return arrays

    def fit(self, method: Any, inputs: Inputs, statistics: Statistics) -> Any:
        """Fit at once."""
        X, y, S, described = _training(method, inputs)
        return method.fit(X, y, S, statistics=statistics, **described)

    def fit_steps(self, method: Any, inputs: Inputs, statistics: Statistics) -> Iterator[int]:
        """Fit step by step."""
        X, y, S, described = _training(method, inputs)
        steps: Iterator[int] = method.fit_steps(X, y, S, statistics=statistics, **described)
        return steps

    def score(self, method: Any, inputs: Inputs, statistics: Statistics) -> Arrays:
        """Return ``scores`` (rows of the pool, candidate classes)."""
        X, S, described = _pool(method, inputs)
        return {"scores": method.decision_function(X, S, seen=inputs["seen"], statistics=statistics, **described)}


def _training(method: Any, inputs: Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    return features(method, inputs["X"]), inputs["y"], inputs["S"], _described(inputs, "signature_class")


def _pool(method: Any, inputs: Inputs) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    return features(method, inputs["X_pool"]), inputs["S_pool"], _described(inputs, "signature_class_pool")


def _described(inputs: Inputs, name: str) -> dict[str, np.ndarray]:
    return {"signature_class": inputs[name]} if name in inputs else {}

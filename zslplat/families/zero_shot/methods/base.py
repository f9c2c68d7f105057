"""The contract of methods that score rows against class signatures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from zslplat.data.store.preprocessing import looks_at_all_classes
from zslplat.errors import DataError
from zslplat.methods.base import Arrays, Features, Method, Statistics
from zslplat.methods.rows import all_finite
from zslplat.space import Space


class ZeroShotMethod(Method):
    """A method that scores rows against class signatures; higher is more compatible."""

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

    @abstractmethod
    def fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, statistics: Statistics = None) -> ZeroShotMethod:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and seen signatures S (c, a).

        Without ``statistics`` the method prepares for itself, with the same result.
        """

    def fit_steps(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, statistics: Statistics = None) -> Iterator[int]:
        """Fit step by step, yielding 1, 2, ... after each epoch; direct methods yield once.

        Validation folds take their steps in turns, each with an instance of its own, so that one step is chosen for
        all: an instance keeps its state to itself, and holds no context (of warnings, say) across a yield.
        """
        self.fit(X, y, S, statistics=statistics)
        yield 1

    @classmethod
    def has_steps(cls) -> bool:
        """Whether a class has steps of its own."""
        return cls.fit_steps is not ZeroShotMethod.fit_steps

    @abstractmethod
    def decision_function(
        self, X: np.ndarray, S: np.ndarray, *, seen: np.ndarray | None = None, statistics: Statistics = None
    ) -> np.ndarray:
        """Return scores (n, c) of rows X against signatures S (c, a); ``seen`` (c,) marks the classes seen in fit."""

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

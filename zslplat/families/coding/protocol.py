"""How coding methods are called."""

from __future__ import annotations

from typing import Any

from zslplat.methods.protocols import Arrays, Inputs, Protocol, Statistics, features
from zslplat.space import Space


class CodingProtocol(Protocol):
    """Fit on X and y; score ``X_pool``."""

    def prepare_fit(self, method: Any, inputs: Inputs, space: Space) -> Arrays:
        """Return the statistics of the training rows."""
        arrays: Arrays = method.prepare_fit(features(method, inputs["X"]), inputs["y"], space=space)
        return arrays

    def prepare_score(self, method: Any, inputs: Inputs, space: Space, fitted: Statistics) -> Arrays:
        """Return the statistics of the pool beside the training rows."""
        X, train = features(method, inputs["X_pool"]), features(method, inputs["X"])
        arrays: Arrays = method.prepare_score(X, train, space=space, statistics=fitted)
        return arrays

    def fit(self, method: Any, inputs: Inputs, statistics: Statistics) -> Any:
        """Fit on X and y."""
        return method.fit(features(method, inputs["X"]), inputs["y"], statistics=statistics)

    def score(self, method: Any, inputs: Inputs, statistics: Statistics) -> Arrays:
        """Return ``scores`` (rows of the pool, classes)."""
        return {"scores": method.decision_function(features(method, inputs["X_pool"]), statistics=statistics)}

"""How zero-shot methods are called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from zslplat.methods.protocols import Arrays, Inputs, Protocol, Statistics, features
from zslplat.space import Space


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

"""How feature selectors are called."""

from __future__ import annotations

from typing import Any

from zslplat.methods.protocols import Arrays, Inputs, Protocol, Statistics, features
from zslplat.space import Space


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

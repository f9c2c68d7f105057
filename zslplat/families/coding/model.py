"""What a saved coding model does with new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat.methods.protocols import protocol_of
from zslplat.models.folder import Model, using_content
from zslplat.models.model import SavedModel, finite, ranked_columns, require_names


class CodingModel(SavedModel):
    """Tells rows apart among the classes, or ranks the labels, that it was trained on."""

    kind = "coding"

    def __init__(self, stored: Model) -> None:
        super().__init__(stored)
        require_names(self.facts["classes"], len(self.facts["classes"]))

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that it was trained on."""
        return tuple(self.facts["classes"])

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return scores (n, c) of rows X (n, d), in the order of :attr:`classes`."""
        self.candidates_for(signatures, generalised)
        return self._scores(self.checked(X))

    def predict(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Return the name of the class with the highest score, for every row of X (n, d)."""
        scores = self.decision_function(X, signatures, generalised=generalised)
        return np.asarray(np.array(self.classes)[np.argmax(scores, axis=1)])

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row``, ``class``, ``score`` and those of the next best."""
        return ranked_columns(self._scores(X), self.classes, first, top, every=scores)

    @using_content
    def _scores(self, X: np.ndarray) -> np.ndarray:
        returned = protocol_of(self.kind).score(self._fresh(), {"X_pool": self.features.apply(X)}, None)["scores"]
        return finite(self.method_name, returned, (len(X), len(self.classes)))

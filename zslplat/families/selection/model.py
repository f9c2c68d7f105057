"""What a saved feature selector does with new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat.errors import StoreError, UsageError
from zslplat.models.folder import using_content
from zslplat.models.model import SavedModel


class SelectionModel(SavedModel):
    """Takes the best features out of rows."""

    kind = "feature-selection"

    @property
    def classes(self) -> tuple[str, ...]:
        """No classes: features are what it found."""
        return ()

    @property
    @using_content
    def ranking(self) -> np.ndarray:
        """The features (d,), the best first."""
        ranking = np.asarray(self.method.ranking_)
        if ranking.dtype.kind not in "iu" or not np.array_equal(np.sort(ranking), np.arange(self.width)):
            raise StoreError(
                f"the ranking of the model in {self.folder} is none of {self.width} features; restore it from a copy, "
                "or evaluate the experiment again"
            )
        return ranking

    def decision_function(self, X: Any, signatures: Any = None, *, generalised: bool = False) -> np.ndarray:
        """Refuse: rows have no scores here."""
        raise UsageError(f"{self.method_name} selects features and scores no rows; predict() returns the selected ones")

    def predict(
        self, X: Any, signatures: Any = None, *, generalised: bool = False, top: int | None = None
    ) -> np.ndarray:
        """Return the best features (n, top) of rows X (n, d), as they come in, the best first."""
        self.candidates_for(signatures, generalised)
        return self.checked(X)[:, self.ranking[: top or self.usual_top()]]

    def table(self, X: np.ndarray, first: int, top: int, candidates: Any, *, scores: bool) -> dict[str, Any]:
        """Return ``row`` and a column for each of the best features, by its number."""
        chosen = self.ranking[:top]
        taken = {f"feature {number}": X[:, number] for number in chosen.tolist()}
        return {"row": np.arange(first, first + len(X)), **taken}

    def usual_top(self) -> int:
        """Return the largest number of features that the task judged."""
        return int(max(self.facts["counts"]))

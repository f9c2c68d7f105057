"""The preprocessing of features as it is kept beside what was learned from them, for rows that come later.

:class:`FrozenFeatures` is arrays and JSON: the steps of every view with what they learned, so that rows as the data set
holds them become rows as the method saw them, long after the training rows are gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat.data.preprocessing import FrozenSteps, Preprocessing, fit_steps, preprocessed
from zslplat.data.rows import Rows, View
from zslplat.errors import UsageError


@dataclass(frozen=True)
class FrozenFeatures:
    """The steps of every view, in the order of the columns; a single feature set without a name is one view."""

    views: tuple[View, ...] = ()
    steps: tuple[FrozenSteps, ...] = ()

    @classmethod
    def fitted(cls, spec: Preprocessing, X: np.ndarray | Rows) -> FrozenFeatures:
        """Fit the steps of a spec on training rows X (n, ...) that nothing was done to yet."""
        if not isinstance(X, Rows):
            return cls((View("", tuple(X.shape[1:])),), (fit_steps(spec.features, X),))
        parts = preprocessed([X], spec)[0].parts
        done = tuple(part.steps if isinstance(part.steps, FrozenSteps) else FrozenSteps() for part in parts)
        return cls(tuple(part.view for part in parts), done)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return rows X (n, ...), views side by side, after the steps; raises UsageError where the width is another."""
        if not self.views:
            return X
        width = sum(view.width for view in self.views)
        flat = X.reshape(len(X), -1)
        if X.ndim < 2 or flat.shape[1] != width:
            raise UsageError(f"rows have shape {X.shape}; expected (n, {width}), the width of the rows learned from")
        found, start = [], 0
        for view, steps in zip(self.views, self.steps, strict=True):
            block = steps.apply(flat[:, start : start + view.width].reshape(len(X), *view.shape))
            found.append(block if len(self.views) == 1 else block.reshape(len(X), -1))
            start += view.width
        return found[0] if len(found) == 1 else np.hstack(found)

    def facts(self) -> list[dict[str, Any]]:
        """Return what JSON holds: every view with its steps."""
        return [
            {"view": view.name, "row": list(view.shape), "steps": steps.facts()}
            for view, steps in zip(self.views, self.steps, strict=True)
        ]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what the steps learned, by ``<view>/<step>/<name>``, both counted from 0."""
        return {f"{k}/{name}": array for k, steps in enumerate(self.steps) for name, array in steps.arrays().items()}

    @classmethod
    def thawed(cls, facts: Sequence[Mapping[str, Any]], arrays: Mapping[str, np.ndarray]) -> FrozenFeatures:
        """Return what :meth:`facts` and :meth:`arrays` told; raises UnknownNameError for a step that is not known."""
        views = tuple(View(str(fact["view"]), tuple(fact["row"])) for fact in facts)
        steps = []
        for number, fact in enumerate(facts):
            prefix = f"{number}/"
            own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            steps.append(FrozenSteps.thawed(fact["steps"], own))
        return cls(views, tuple(steps))

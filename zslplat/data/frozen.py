"""The preprocessing of features as it is kept beside what was learned from them, for rows that come later.

:class:`FrozenFeatures` is arrays and JSON: the steps of every view with what they learned, so that rows as the data set
holds them become rows as the method saw them, long after the training rows are gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zslplat.data.precision import in_type
from zslplat.data.preprocessing import FrozenSteps, Preprocessing, fit_steps, preprocessed
from zslplat.data.rows import Rows, View
from zslplat.errors import UsageError


@dataclass(frozen=True)
class FrozenFeatures:
    """The steps of every view, in the order of the columns; a single feature set without a name is one view.

    ``types``: the types of the numbers that were learned from, by view, where they are kept: new rows in other floating
    numbers are read as these.
    """

    views: tuple[View, ...] = ()
    steps: tuple[FrozenSteps, ...] = ()
    types: tuple[str, ...] = ()

    @classmethod
    def fitted(cls, spec: Preprocessing, X: np.ndarray | Rows) -> FrozenFeatures:
        """Fit the steps of a spec on training rows X (n, ...) that nothing was done to yet."""
        if not isinstance(X, Rows):
            return cls((View("", tuple(X.shape[1:])),), (fit_steps(spec.features, X),))
        return replace(cls.of_rows(preprocessed([X], spec)[0]), types=())

    @classmethod
    def of_rows(cls, X: Rows) -> FrozenFeatures:
        """Return the steps, and the types, of rows that these are applied to."""
        done = tuple(part.steps if isinstance(part.steps, FrozenSteps) else FrozenSteps() for part in X.parts)
        return cls(tuple(part.view for part in X.parts), done, tuple(np.dtype(p.source.dtype).str for p in X.parts))

    @classmethod
    def of_array(cls, X: np.ndarray, steps: FrozenSteps) -> FrozenFeatures:
        """Return the steps that were fitted on an array X (n, ...), as those of one view without a name."""
        return cls((View("", tuple(X.shape[1:])),), (steps,), (X.dtype.str,))

    @property
    def width(self) -> int:
        """The number of columns of the rows that come in."""
        return sum(view.width for view in self.views)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return rows X (n, ...), views side by side, after the steps; raises UsageError where the width is another."""
        if not self.views:
            return X
        width = self.width
        flat = X.reshape(len(X), -1)
        if X.ndim < 2 or flat.shape[1] != width:
            raise UsageError(f"rows have shape {X.shape}; expected (n, {width}), the width of the rows learned from")
        found, start = [], 0
        types = self.types or ("",) * len(self.views)
        for view, steps, kind in zip(self.views, self.steps, types, strict=True):
            block = flat[:, start : start + view.width].reshape(len(X), *view.shape)
            if kind and np.dtype(kind).kind == "f":
                block = in_type(block, np.dtype(kind), "X")
            block = steps.apply(block)
            found.append(block if len(self.views) == 1 else block.reshape(len(X), -1))
            start += view.width
        return found[0] if len(found) == 1 else np.hstack(found)

    def facts(self) -> list[dict[str, Any]]:
        """Return what JSON holds: every view with its steps."""
        facts: list[dict[str, Any]] = [
            {"view": view.name, "row": list(view.shape), "steps": steps.facts()}
            for view, steps in zip(self.views, self.steps, strict=True)
        ]
        return [{**fact, "type": kind} for fact, kind in zip(facts, self.types, strict=True)] if self.types else facts

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what the steps learned, by ``<view>/<step>/<name>``, both counted from 0."""
        return {f"{k}/{name}": array for k, steps in enumerate(self.steps) for name, array in steps.arrays().items()}

    @classmethod
    def thawed(cls, facts: Sequence[Mapping[str, Any]], arrays: Mapping[str, np.ndarray]) -> FrozenFeatures:
        """Return what :meth:`facts` and :meth:`arrays` told.

        Raises UnknownNameError for a step that is not known, ValueError for a row that has no shape.
        """
        if any(type(length) is not int or length < 0 for fact in facts for length in fact["row"]):
            raise ValueError("the shape of a row is one or several numbers")
        views = tuple(View(str(fact["view"]), tuple(fact["row"])) for fact in facts)
        steps = []
        for number, fact in enumerate(facts):
            prefix = f"{number}/"
            own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            steps.append(FrozenSteps.thawed(fact["steps"], own))
        types = tuple(str(fact["type"]) for fact in facts if "type" in fact)
        return cls(views, tuple(steps), types if len(types) == len(views) else ())

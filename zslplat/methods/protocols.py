"""How a method of each kind is called: one protocol object per kind, for tasks and for the conformance kit alike.

A protocol takes inputs by name and makes the four calls of a method: :meth:`Protocol.prepare_fit`,
:meth:`Protocol.prepare_score`, :meth:`Protocol.fit` (or :meth:`Protocol.fit_steps`) and :meth:`Protocol.score`. Names
that all kinds share: ``X`` training rows, ``y`` their labels, ``S`` signatures. ``statistics`` is what the preparation
of that side returned, or None: then the method prepares for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np

from zslplat.data.store.rows import Rows
from zslplat.kinds import load_part
from zslplat.space import Space

Arrays = dict[str, np.ndarray]


Inputs = Mapping[str, Any]


Statistics = Mapping[str, np.ndarray] | None


class Protocol(ABC):
    """The calls of the methods of one kind. ``training`` names the inputs that have an entry per training row."""

    training: ClassVar[tuple[str, ...]] = ("X", "y")

    @abstractmethod
    def prepare_fit(self, method: Any, inputs: Inputs, space: Space) -> Arrays:
        """Return what fitting needs and no searched parameter changes."""

    def prepare_score(self, method: Any, inputs: Inputs, space: Space, fitted: Statistics) -> Arrays:
        """Return what scoring needs and no searched parameter changes; ``fitted`` was prepared for the fit."""
        return {}

    @abstractmethod
    def fit(self, method: Any, inputs: Inputs, statistics: Statistics) -> Any:
        """Fit the method and return what its ``fit`` returns."""

    def fit_steps(self, method: Any, inputs: Inputs, statistics: Statistics) -> Iterator[int]:
        """Fit step by step, yielding 1, 2, ...; once for kinds without steps."""
        self.fit(method, inputs, statistics)
        yield 1

    @abstractmethod
    def score(self, method: Any, inputs: Inputs, statistics: Statistics) -> Arrays:
        """Return what a fitted method makes of the rows to be scored, by name, as it returned it."""


@cache
def protocol_of(kind: str) -> Protocol:
    """Return how methods of a kind are called; raises :class:`UnknownNameError` for a kind that is not registered."""
    protocol: Protocol = load_part(kind, "protocol")()
    return protocol


def features(method: Any, X: Any) -> Any:
    """Return features as the method wants them: rows of a file become an array, unless it takes blocks."""
    return np.asarray(X) if isinstance(X, Rows) and not method.takes_blocks else X

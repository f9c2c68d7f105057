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

# A gallery whose rows take more than this in float64 is encoded and compared block by block, and not kept encoded.
ENCODED_BYTES = 1 << 28

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


class ExemplarProtocol(Protocol):
    """Fit on negatives X; encode ``gallery`` and compare its rows ``queries`` with all of it."""

    training = ("X",)

    def prepare_fit(self, method: Any, inputs: Inputs, space: Space) -> Arrays:
        """Return the statistics of the negatives."""
        arrays: Arrays = method.prepare_fit(features(method, inputs["X"]), space=space)
        return arrays

    def prepare_score(self, method: Any, inputs: Inputs, space: Space, fitted: Statistics) -> Arrays:
        """Return the statistics of the gallery; none of one that is too large to be encoded at once."""
        if is_large_gallery(inputs["gallery"], method):
            return {}
        arrays: Arrays = method.prepare_score(features(method, inputs["gallery"]), space=space, statistics=fitted)
        return arrays

    def fit(self, method: Any, inputs: Inputs, statistics: Statistics) -> Any:
        """Fit on the negatives."""
        return method.fit(features(method, inputs["X"]), statistics=statistics)

    def score(self, method: Any, inputs: Inputs, statistics: Statistics) -> Arrays:
        """Return ``similarity`` (queries, rows of the gallery), of a large gallery block by block."""
        gallery, queries = inputs["gallery"], inputs["queries"]
        if not is_large_gallery(gallery, method):
            encoded = method.encode(features(method, gallery), statistics=statistics)
            return {"similarity": method.similarity(encoded.take(queries), encoded)}
        asking = method.encode(np.asarray(gallery.take(queries)))
        similarities = np.empty((len(queries), len(gallery)))
        for where, block in gallery.blocks():
            similarities[:, where] = method.similarity(asking, method.encode(block))
        return {"similarity": similarities}


@cache
def protocol_of(kind: str) -> Protocol:
    """Return how methods of a kind are called; raises :class:`UnknownNameError` for a kind that is not registered."""
    protocol: Protocol = load_part(kind, "protocol")()
    return protocol


def is_large_gallery(gallery: Any, method: Any) -> bool:
    """Tell whether a gallery is encoded and compared by blocks, and its encoding kept nowhere."""
    return isinstance(gallery, Rows) and bool(method.takes_blocks) and gallery.size * 8 > ENCODED_BYTES


def features(method: Any, X: Any) -> Any:
    """Return features as the method wants them: rows of a file become an array, unless it takes blocks."""
    return np.asarray(X) if isinstance(X, Rows) and not method.takes_blocks else X


def _training(method: Any, inputs: Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    return features(method, inputs["X"]), inputs["y"], inputs["S"], _described(inputs, "signature_class")


def _pool(method: Any, inputs: Inputs) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    return features(method, inputs["X_pool"]), inputs["S_pool"], _described(inputs, "signature_class_pool")


def _described(inputs: Inputs, name: str) -> dict[str, np.ndarray]:
    return {"signature_class": inputs[name]} if name in inputs else {}

"""How exemplar methods are called."""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat.data.store.rows import Rows
from zslplat.methods.protocols import Arrays, Inputs, Protocol, Statistics, features
from zslplat.space import Space

# A gallery whose rows take more than this in float64 is encoded and compared block by block, and not kept encoded.
ENCODED_BYTES = 1 << 28


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


def is_large_gallery(gallery: Any, method: Any) -> bool:
    """Tell whether a gallery is encoded and compared by blocks, and its encoding kept nowhere."""
    return isinstance(gallery, Rows) and bool(method.takes_blocks) and gallery.size * 8 > ENCODED_BYTES

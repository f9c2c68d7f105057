"""The metric of the residual: distances in feature space weighed by how rows scatter around their class.

A projection gives one feature vector per class, its prototype; rows differ from it by noise that is anything but
spherical. With C the pooled within-class scatter of the training rows, the likelihood of the residual asks for the
inner product u'(C + s I)^-1 v instead of u'v, with s a multiple of the mean variance (shrinkage, because d variances
are estimated).

| here              | shape  | meaning                                                   |
|-------------------|--------|-----------------------------------------------------------|
| within_directions | (d, r) | eigenvectors Q of C, r <= min(n, d)                       |
| within_values     | (r,)   | their eigenvalues v; directions outside Q have variance 0 |
| within_scale      | ()     | mean eigenvalue over all d, trace / d                     |
| shrinkage         | scalar | s in units of within_scale                                |

(C + s I)^-1 = I / s + Q diag(1 / (v + s) - 1 / s) Q', whatever r is; no inverse is formed.

The lengths of scored rows, which cost a product with Q, are prepared where a search varies the shrinkage: they are
smooth in log s, so that their values at the Chebyshev points of the range give them everywhere: to 1e-11 over four
decades, and less over more, where nothing is prepared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import DTypeLike
from scipy.special import log_softmax

from zslplat.data.store.rows import float_type, rowwise
from zslplat.families.zero_shot.methods import spectral
from zslplat.methods.base import Features
from zslplat.methods.rows import unit_rows
from zslplat.space import Real, Space

POINTS = chebyshev.chebpts1(40)
WIDEST_RANGE = 1e4


def prepare(X: Features, y: np.ndarray, class_sums: np.ndarray, class_counts: np.ndarray) -> dict[str, np.ndarray]:
    """Return the eigendecomposition of the pooled within-class scatter of X (n, d), by name, from one pass."""
    means = (class_sums / class_counts[:, None]).astype(float_type(X.dtype))
    Q, values = spectral.row_space(X, lambda where, block: block - means[y[where]])
    return {"within_directions": Q, "within_values": values, "within_scale": np.asarray(values.sum() / X.shape[1])}


def square(prepared: Mapping[str, np.ndarray], dtype: DTypeLike) -> np.ndarray:
    """Return X'X (d, d) in float64: the within-class scatter, multiplied out in ``dtype``, and n_c m_c m_c' of classes.

    ``prepared``: what :func:`prepare` returned, with ``class_sums`` and ``class_counts``. Sums of what is positive: no
    digit is lost, as there would be the other way round.
    """
    Q: np.ndarray = prepared["within_directions"].astype(dtype)
    sums = prepared["class_sums"]
    within = (Q * prepared["within_values"].astype(dtype)) @ Q.T
    return np.asarray(within + (sums / prepared["class_counts"][:, None]).T @ sums)


def prepare_lengths(X: Features, prepared: Mapping[str, np.ndarray] | None, space: Space) -> dict[str, np.ndarray]:
    """Return what :func:`lengths_at` takes of rows X (n, d) about the mean training row.

    ``prepared``: what :func:`prepare` returned, with ``class_sums`` and ``class_counts``. Nothing is prepared without
    it, or where ``space`` has no range of ``shrinkage``, or one of more than four decades.
    """
    searched = space.get("shrinkage")
    if not prepared or "within_values" not in prepared or not isinstance(searched, Real):
        return {}
    if searched.high > WIDEST_RANGE * searched.low:
        return {}
    ends = np.log([searched.low, searched.high])
    metric = ResidualMetric(prepared, np.exp(ends.mean() + np.ptp(ends) / 2 * POINTS))
    mean = (prepared["class_sums"].sum(axis=0) / prepared["class_counts"].sum()).astype(float_type(X.dtype))
    values = rowwise(X, lambda rows: metric.length(rows - mean))
    coefficients = np.linalg.solve(chebyshev.chebvander(POINTS, len(POINTS) - 1), values.T)
    return {"length_range": ends, "length_coefficients": coefficients}


def lengths_at(shrinkage: float, batch: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Return the lengths (n,) of the rows of a batch; None where they are not prepared for this shrinkage."""
    if "length_coefficients" not in batch:
        return None
    low, high = batch["length_range"]
    place = (2 * np.log(shrinkage) - low - high) / max(high - low, 1e-9)
    return np.asarray(chebyshev.chebval(place, batch["length_coefficients"])) if abs(place) < 1 + 1e-9 else None


class ResidualMetric:
    """The inner product u'(C + s I)^-1 v, for rows of features and for class prototypes.

    Of several shrinkages it has the lengths alone, a column for each.
    """

    def __init__(self, statistics: Mapping[str, np.ndarray], shrinkage: float | np.ndarray) -> None:
        self.Q = np.asarray(statistics["within_directions"])
        scale = float(statistics["within_scale"])
        # Rows that never differ from their class mean give no metric: fall back to the Euclidean one.
        self.outside = 1 / (shrinkage * scale) if scale > 0 else np.ones_like(shrinkage)
        self.inside = 1 / np.add.outer(np.asarray(statistics["within_values"]), 1 / self.outside) - self.outside

    def state(self) -> dict[str, Any]:
        """Return what makes the metric, for :func:`restored_metric`."""
        return {"Q": self.Q, "outside": self.outside, "inside": self.inside}

    def dual(self, B: np.ndarray) -> np.ndarray:
        """Return B (C + s I)^-1 for the rows of B (c, d), in float64."""
        return np.asarray(self.outside * B + ((B @ self.Q) * self.inside) @ self.Q.T)

    def length(self, X: np.ndarray) -> np.ndarray:
        """Return the length (n,) of every row of X (n, d) in this metric; the product runs in the precision of X."""
        inner = X @ self.Q.astype(float_type(X.dtype))
        inner *= inner
        squared = np.multiply.outer(np.einsum("ij,ij->i", X, X, dtype=np.float64), self.outside) + inner @ self.inside
        return np.asarray(np.sqrt(np.maximum(squared, 0)))

    def cosines(
        self, X: Features, B: np.ndarray, origin: np.ndarray | None = None, lengths: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the cosine (n, c) of every row of X with every row of B in this metric, in the precision of X.

        ``origin`` (d,) is taken off the rows of X first. ``lengths`` (n,) are theirs, where they are prepared.
        """
        dual = self.dual(B)
        directions = _over(dual, np.sqrt(np.maximum(np.einsum("ij,ij->i", dual, B), 0))).T.astype(float_type(X.dtype))

        def scored(rows: np.ndarray) -> np.ndarray:
            rows = rows.astype(float_type(rows.dtype), copy=False)
            rows = rows if origin is None else rows - origin.astype(rows.dtype)
            products = np.asarray(rows @ directions)
            return _over(products, self.length(rows)) if lengths is None else products

        return rowwise(X, scored) if lengths is None else _over(rowwise(X, scored), lengths)


def _over(M: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.asarray(M / np.where(lengths > 0, lengths, 1)[:, None].astype(M.dtype))


class EuclideanMetric:
    """The plain inner product u'v, with the same interface as :class:`ResidualMetric`."""

    def state(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def dual(self, B: np.ndarray) -> np.ndarray:
        """Return B itself."""
        return B

    def cosines(
        self, X: Features, B: np.ndarray, origin: np.ndarray | None = None, lengths: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the cosine (n, c) of every row of X (n, d) with every row of B (c, d).

        ``origin`` (d,) is taken off the rows of X first; ``lengths`` are not looked at.
        """
        directions = unit_rows(B).T.astype(float_type(X.dtype))

        def scored(rows: np.ndarray) -> np.ndarray:
            rows = rows if origin is None else rows - origin.astype(float_type(rows.dtype))
            return np.asarray(unit_rows(rows) @ directions)

        return rowwise(X, scored)


def restored_metric(state: Mapping[str, Any]) -> ResidualMetric | EuclideanMetric:
    """Return the metric whose ``state()`` this is."""
    if not state:
        return EuclideanMetric()
    metric = ResidualMetric.__new__(ResidualMetric)
    metric.Q, metric.outside, metric.inside = state["Q"], float(state["outside"]), state["inside"]
    return metric


def relative(cosines: np.ndarray, temperature: float) -> np.ndarray:
    """Return cosines (n, c) less ``temperature`` times the log of each row's sum of exp(cosine / temperature).

    The log-probability of each class up to scale: rows that are close to every class no longer lead every class's
    list. Infinite temperature leaves the cosines as they are.
    """
    if np.isinf(temperature):
        return cosines
    return np.asarray(temperature * log_softmax(cosines / temperature, axis=1))

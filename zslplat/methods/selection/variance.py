"""Features by variance, after each was scaled to [0, 1]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import blocks_of
from zslplat.methods.base import Features
from zslplat.methods.row_sums import plus_rows, require_finite_sums
from zslplat.methods.selection.base import FeatureSelector, check_selection_inputs


class Variance(FeatureSelector):
    r"""Rank the features by their variance over the seen rows.

    Every feature is scaled to [0, 1] first (declared preprocessing): standardised features all have variance 1, and
    raw variances compare units. Other steps can be given in its place.

    Equations
    ---------
    A feature counts by its variance over the seen rows, after scaling to [0, 1]:

    $$\mathrm{score}_j = \frac{1}{n} \sum_i (x_{ij} - \bar x_j)^2$$

    Symbols
    -------
    | symbol | here    | shape  | meaning                        |
    |--------|---------|--------|--------------------------------|
    | x_ij   | X       | (n, d) | features of the seen rows      |
    |        | scores_ | (d,)   | the variance of each feature   |

    Related
    -------
    ``mutual-information`` looks at the class as well; ``random-features`` at nothing.
    """

    summary = "features by variance, scaled to [0, 1]"
    tags = ("baseline", "unsupervised")
    takes_blocks = True
    preprocessing: ClassVar[Preprocessing] = Preprocessing(features=("unit",))

    def fit(
        self,
        X: Features,
        y: np.ndarray,
        S: np.ndarray,
        *,
        row_signatures: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> Self:
        """Score every feature by its variance, accumulated in float64."""
        check_selection_inputs(X, y, S, row_signatures, read=False)
        return self._rank(column_variances(X))


def column_variances(X: Features) -> np.ndarray:
    """Return the variance (d,) of every column of X (n, d) in float64, from two passes: about the mean, no digit lost.

    Raises :class:`DataError` where X holds NaN or infinity.
    """
    total, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for _, block in blocks_of(X):
        total = plus_rows(total, block)
    require_finite_sums(total)
    mean = total / len(X)
    for _, block in blocks_of(X):
        squares = plus_rows(squares, (block - mean) ** 2)
    return squares / len(X)

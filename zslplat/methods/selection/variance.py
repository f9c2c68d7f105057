"""Features by variance, after each was scaled to [0, 1]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from zslplat.data.preprocessing import Preprocessing
from zslplat.methods.selection.base import FeatureSelector, check_selection_inputs


class Variance(FeatureSelector):
    """Rank the features by their variance over the seen rows.

    Every feature is scaled to [0, 1] first (declared preprocessing): standardised features all have variance 1, and
    raw variances compare units. Other steps can be given in its place.
    """

    summary = "features by variance, scaled to [0, 1]"
    tags = ("baseline", "unsupervised")
    preprocessing: ClassVar[Preprocessing] = Preprocessing(features=("unit",))

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        S: np.ndarray,
        *,
        row_signatures: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> Self:
        """Score every feature by its variance, accumulated in float64."""
        check_selection_inputs(X, y, S, row_signatures)
        return self._rank(X.var(axis=0, dtype=np.float64))

"""Features in random order: what any selector must beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from zslplat.methods.base import Features
from zslplat.methods.selection.base import SEED, FeatureSelector, check_selection_inputs


class RandomFeatures(FeatureSelector):
    r"""Rank the features in an order drawn with ``seed``; repeats with other seeds show the spread.

    Equations
    ---------
    None: features are drawn in any order,

    $$\mathrm{ranking} \sim \text{permutations of } 1, \ldots, d$$

    Symbols
    -------
    | symbol | here     | shape | meaning                          |
    |--------|----------|-------|----------------------------------|
    | d      |          |       | number of features               |
    |        | ranking_ | (d,)  | the order that was drawn         |

    Related
    -------
    Every other selector has to beat it: ``semfs``, ``mcfs``, ``lasso-labels``.
    """

    summary = "features in random order"
    tags = ("baseline", "unsupervised")
    random = True
    takes_blocks = True
    expected_failures = {"scores_follow_the_columns": "the scores are drawn by position"}
    seed = SEED

    def fit(
        self,
        X: Features,
        y: np.ndarray,
        S: np.ndarray,
        *,
        row_signatures: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> Self:
        """Draw a score for every feature; the data matter through d alone."""
        check_selection_inputs(X, y, S, row_signatures)
        return self._rank(np.random.default_rng([self.seed, 4]).random(size=(X.shape[1],)))

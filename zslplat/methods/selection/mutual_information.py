"""Features by mutual information with the class (scikit-learn's estimate from nearest neighbours)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
from sklearn.feature_selection import mutual_info_classif

from zslplat.methods.base import Features
from zslplat.methods.selection.base import SampleSelector
from zslplat.space import Integer, parameter


class MutualInformation(SampleSelector):
    r"""Rank the features by ``sklearn.feature_selection.mutual_info_classif`` with the class label.

    At most ``rows`` rows are used, drawn evenly from the classes: the estimate searches neighbours feature by
    feature, which takes minutes on tens of thousands of rows.

    Equations
    ---------
    A feature counts by what it tells of the class:

    $$I(x_j; y) = \sum_y \int p(x_j, y) \log \frac{p(x_j, y)}{p(x_j)\, p(y)}\, d x_j$$

    estimated from nearest neighbours; a feature that does not vary over the rows has 0.

    Symbols
    -------
    | symbol | here     | shape  | meaning                       |
    |--------|----------|--------|-------------------------------|
    | x_j    | X[:, j]  | (n,)   | a feature over the seen rows  |
    | y      | y        | (n,)   | class of each row             |
    |        | scores_  | (d,)   | the estimate for each feature |

    Related
    -------
    ``variance`` and ``random-features`` look at no label; ``semfs`` looks at signatures.
    """

    summary = "features by mutual information with the class"
    citation = "Ross: Mutual Information between Discrete and Continuous Data Sets. PLoS ONE 2014"
    tags = ("baseline", "supervised")
    random = True
    expected_failures = {
        "order_of_rows_does_not_matter": "scikit-learn adds a little noise by position, to part equal values",
        "scores_follow_the_columns": "scikit-learn adds a little noise by position, to part equal values",
    }
    neighbours = parameter("neighbours of the estimate", Integer(1), Integer(2, 10), default=3)
    rows = 2000

    def fit(
        self,
        X: Features,
        y: np.ndarray,
        S: np.ndarray,
        *,
        row_signatures: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> Self:
        """Score every feature by its estimated mutual information with y, in nats."""
        drawn, Z = self._drawn(X, y, S, row_signatures, statistics)
        # Continuous features get a little noise inside, to part equal values; the seed makes it the same each time.
        scores = mutual_info_classif(
            Z, y[drawn], discrete_features=False, n_neighbors=self.neighbours, random_state=self.seed
        )
        # The noise would tell classes apart where all values are equal.
        return self._rank(np.where(Z.min(axis=0) < Z.max(axis=0), scores, 0.0))

"""Selectors to beat: random order, variance, mutual information.

Features in random order: what any selector must beat.

Features by variance, after each was scaled to [0, 1].

Features by mutual information with the class (scikit-learn's estimate from nearest neighbours).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import blocks_of
from zslplat.families.selection.methods.base import (
    SEED,
    FeatureSelector,
    SampleSelector,
    SelectionData,
    check_selection_inputs,
)
from zslplat.methods.base import Features, Prepared
from zslplat.methods.rows import plus_rows, require_finite_sums
from zslplat.space import Integer, parameter


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

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Draw a score for every feature; the data matter through d alone."""
        check_selection_inputs(data)
        return np.random.default_rng([self.seed, 4]).random(data.X.shape[1])


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

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Score every feature by its variance, accumulated in float64."""
        check_selection_inputs(data, read=False)
        return column_variances(data.X)


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

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Score every feature by its estimated mutual information with y, in nats."""
        from sklearn.feature_selection import mutual_info_classif  # slow to import

        drawn, Z = self._drawn(data, statistics)
        # Continuous features get a little noise inside, to part equal values; the seed makes it the same each time.
        scores = mutual_info_classif(
            Z, data.y[drawn], discrete_features=False, n_neighbors=self.neighbours, random_state=self.seed
        )
        # The noise would tell classes apart where all values are equal.
        return np.where(Z.min(axis=0) < Z.max(axis=0), scores, 0.0)

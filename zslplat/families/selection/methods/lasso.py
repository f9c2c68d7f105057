"""LASSO on class labels or signatures, from the Gram matrix alone.

Tibshirani, "Regression Shrinkage and Selection via the Lasso", JRSS B 1996, for several targets at once:

    min_W,b   (1 / 2n) |Y - 1 b' - X W|^2 + lambda sum_ij |W_ij|

| symbol | here               | shape   | meaning                                                          |
|--------|--------------------|---------|------------------------------------------------------------------|
| X, Y   |                    | (n, ..) | features; one-hot labels, or the signature of each row           |
| G      | gram               | (d, d)  | centred X'X / n                                                  |
| q      | correlations       | (m, d)  | centred Y'X / n                                                  |
| W      | W_                 | (d, m)  | weights                                                          |
| lambda | strength * largest |         | ``strength`` is relative to the smallest lambda that gives W = 0 |

Column by column this is  min_w w'G w - 2 q'w + 2 lambda |w|_1, the problem of sparse coding with G as the Gram matrix
of the atoms, and solved exactly by the same active-set solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from zslplat.families.coding.methods.sparse_codes import sparse_codes
from zslplat.families.selection.methods.base import (
    FeatureSelector,
    SelectionData,
    check_selection_inputs,
    class_targets,
    relative_pull,
    target_parameter,
    with_pull,
)
from zslplat.families.selection.methods.regression import has_gram, regression_statistics
from zslplat.methods.base import Arrays, Diagnostics, Prepared
from zslplat.space import Choice, Real, Space, parameter

# Relative rounding of a Gram matrix of float32 products; without it, a singular one may have negative pivots.
SINGLE_PRECISION = 1e-6


def centred_products(statistics: Mapping[str, np.ndarray], phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return G (d, d) and q (m, d), both centred and divided by n; row signatures take the place of phi (c, m)."""
    counts, means = statistics["counts"], statistics["means"]
    n = counts.sum()
    by_row = "cross" in statistics
    targets = statistics["class_signatures"] if by_row else phi
    centre, target_mean = counts @ means / n, counts @ targets / n
    gram = np.array(statistics["gram"] if has_gram(statistics) else statistics["rows"].T @ statistics["rows"])
    gram /= n
    gram -= np.outer(centre, centre)
    cross = statistics["cross"] if by_row else means.T @ (counts[:, None] * targets)
    return gram, np.ascontiguousarray((cross / n - np.outer(centre, target_mean)).T)


class LassoLabels(FeatureSelector):
    r"""LASSO on one-hot class labels (``target="labels"``) or signatures (``target="attributes"``).

    ``strength`` in (0, 1]: the weight of the l1 norm, relative to the smallest at which all weights are zero.
    ``score``: length of a feature's weights over the targets, or their largest size. Features with zero weights
    follow below zero, by the length of their correlation with the residual. Learned: ``W_`` (d, m).

    Equations
    ---------
    The class is regressed on the features with a price on every weight, and a feature counts by its weights:

    $$\min_{W, b} \frac{1}{2 n} \lVert Y - 1 b^\top - X W \rVert^2 + \lambda \sum_{jk} |W_{jk}|$$

    Related
    -------
    ``lasso-attributes`` regresses signatures; ``l20alm`` takes exactly k features; ``semfs`` shares them over all
    targets.
    """

    summary = "LASSO on one-hot class labels"
    citation = "Tibshirani: Regression Shrinkage and Selection via the Lasso. JRSS B 1996"
    tags: ClassVar[tuple[str, ...]] = ("baseline", "supervised", "linear")
    takes_blocks = True
    measures = ("active_features",)
    tolerance: ClassVar[float] = 1e-4
    tolerance_reason: ClassVar[str] = (
        "float32 rows are multiplied in single precision, and their order rounds otherwise"
    )
    strength = parameter(
        "weight of the l1 norm, relative to the smallest that gives no features",
        Real(0, 1, open_low=True),
        Real(0.03, 0.9, log=True),
        default=0.1,
    )
    target = target_parameter("labels")
    score = parameter("what ranks a feature with several weights", Choice(("length", "largest")), default="length")

    def _prepare(self, data: SelectionData, space: Space) -> Arrays:
        """Return the centred products G and q."""
        check_selection_inputs(data, read=False)
        by_row = None if self.target == "labels" else data.row_signatures
        statistics = regression_statistics(data.X, data.y, len(data.S), by_row)
        gram, correlations = centred_products(statistics, class_targets(self.target, data.S))
        if data.X.dtype == np.float32:
            gram[np.diag_indices_from(gram)] += SINGLE_PRECISION * np.trace(gram) / len(gram)
        return {"gram": gram, "correlations": correlations}

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Score the features by their weights; with ``statistics`` the rows are not read."""
        gram, correlations = np.asarray(statistics["gram"]), np.asarray(statistics["correlations"])
        largest = float(np.abs(correlations).max(initial=0.0))
        weight = self.strength * largest
        W = sparse_codes(gram, correlations, 2 * weight).T if weight > 0 else np.zeros(correlations.T.shape)
        scores = np.linalg.norm(W, axis=1) if self.score == "length" else np.abs(W).max(axis=1)
        pulls = np.linalg.norm(correlations.T - gram @ W, axis=1)
        self.W_ = W
        self.diagnostics_ = Diagnostics(numbers={"active_features": float((scores > 0).sum()), "weight": weight})
        return with_pull(scores, relative_pull(pulls, scores > 0))

    def matrices(self) -> Arrays:
        """Return scores, ranking and weights."""
        return {**super().matrices(), "W": self.W_}


class LassoAttributes(LassoLabels):
    r"""LASSO on class or row signatures; see :class:`LassoLabels`.

    Equations
    ---------
    The signature is regressed on the features with a price on every weight, and a feature counts by its weights:

    $$\min_{W, b} \frac{1}{2 n} \lVert Y - 1 b^\top - X W \rVert^2 + \lambda \sum_{jk} |W_{jk}|$$

    Related
    -------
    ``lasso-labels`` regresses classes; ``semfs`` shares features over all attributes.
    """

    summary = "LASSO on class or row signatures"
    tags = ("baseline", "supervised", "signatures", "linear")
    target = "attributes"

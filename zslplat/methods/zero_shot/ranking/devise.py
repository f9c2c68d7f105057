"""DeViSE: a bilinear compatibility trained on the sum of the hinges of all wrong classes.

Symbols in :mod:`zslplat.methods.zero_shot.ranking`. The loss, its margin of .1 for class vectors of unit length and the
sum that is cut after the first violator were read in public code and notes that quote the paper (the Caffe layer
``RankingLossLayer``, which cuts the sum at the first violator, and reading notes of the paper's section 3.3).
"""

from __future__ import annotations

import numpy as np

from zslplat.methods.zero_shot.ranking import losses
from zslplat.methods.zero_shot.ranking.estimator import RankingMethod
from zslplat.space import POSITIVE, Choice, Real, parameter


class DeViSE(RankingMethod):
    r"""Bilinear compatibility with the summed hinge of all wrong classes (Frome et al., 2013).

    ``violators="all"`` takes steps on the sum. ``violators="first"`` cuts it after the first violator, in an order of
    the classes that is drawn for each row, as the authors trained (some public code goes through the classes in their
    order, which favours those of low number). Only the linear map is trained, not the network before it.
    Learned: ``W_`` (d, a).

    The paper's margin is .1. But for the start, which is small beside it, margin and step matter by their ratio alone,
    and ``rate`` is in units of the margin: its range covers public code's steps of .001 to 1, with margins of 1 to 200
    for standardised rows.

    Equations
    ---------
    The hinges of all wrong classes are added up:

    $$\min_W \sum_{(x, y)} \sum_{c \ne y} \max(0,\; m + x^\top W s_c - x^\top W s_y)$$

    Related
    -------
    ``ale`` weighs the wrong classes by the rank of the right one; ``sje`` takes the worst alone; ``eszsl`` needs no
    steps.
    """

    summary = "bilinear compatibility, hinge summed over all wrong classes"
    citation = "Frome et al.: DeViSE: A Deep Visual-Semantic Embedding Model. NIPS 2013"
    tags = ("inductive", "linear", "ranking loss")
    margin = 0.1
    # A row's step is on all its violators at once, up to c - 1 of them: smaller ones than of the others.
    rate = parameter(
        "step for one row, in units of margin / (mean squared norm of rows times that of signatures)",
        POSITIVE,
        Real(1e-4, 1.0, log=True),
        default=0.01,
    )
    violators = parameter(
        "steps on all violators of a row, or on the first in an order that is drawn",
        Choice(("all", "first")),
        default="all",
    )

    def row_loss(self) -> losses.RowLoss:
        """Return the summed hinge, or that of the first violator."""
        if self.violators == "first":
            return losses.Bilinear(lambda F, y, random: losses.first_violation(F, y, self.margin, random))
        return losses.Bilinear(lambda F, y, _: losses.summed_hinge(F, y, self.margin))

    def exact_losses(self, F: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the summed hinge (n,)."""
        return losses.summed_hinge(F, y, self.margin)[0]

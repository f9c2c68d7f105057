"""ALE: attribute label embedding, a bilinear compatibility trained on a ranking loss that weighs wrong classes by rank.

Symbols in :mod:`zslplat.methods.zero_shot.ranking`. The objective is that of WSABIE (Weston et al., 2011), which ALE
takes over: per row beta_r / r times the sum of the hinges of its r violators, alpha_i = 1 / i. It was read in public
code: the sum over all violators in a gist that follows WSABIE (vihari/c3c59bf2e4f18722a872499b0394986c), the weight
beta of floor((c - 1) / N) in mvp18/Popular-ZSL-Algorithms (``ALE/ale.py``).
"""

from __future__ import annotations

import numpy as np

from zslplat.methods.zero_shot.ranking import losses
from zslplat.methods.zero_shot.ranking.estimator import RankingMethod
from zslplat.space import Choice, parameter


class ALE(RankingMethod):
    r"""Bilinear compatibility with wrong classes weighted by the rank of the right one (Akata et al., 2013 and 2016).

    ``sampling=None`` takes steps on the objective itself: all violators of a row at once, each weighted by
    beta_r / r. ``sampling="warp"`` takes the papers' stochastic step: wrong classes are drawn, with replacement and at
    most c - 1 of them, until one violates, at draw N; the step is on that class alone, weighted by beta of
    floor((c - 1) / N). That floor goes with draws with replacement, where N is (c - 1) / r on average; and its beta is
    not divided by r, since a class that is drawn among r stands for all of them. Learned: ``W_`` (d, a).

    The papers tune the step on validation and keep it constant; public code has .001 to 1 for rows of length 1, which
    is the range of ``rate`` here, in units of the data. That code also starts from positive entries alone and predicts
    by cosine; here the start is normal, and prediction is by dot product.

    Equations
    ---------
    A row x of class y is compatible with class c by F, and each wrong class within the margin costs, weighted by how
    many there are:

    $$F(x, c) = x^\top W s_c, \qquad \ell_c = m + F(x, c) - F(x, y)$$

    $$\min_W \sum_{(x, y)} \frac{\beta_r}{r} \sum_{c \ne y} \max(0, \ell_c), \qquad \beta_r = \sum_{i=1}^{r}
    \frac{1}{i}$$

    where r is the number of classes with a positive loss.

    Related
    -------
    ``devise`` sums over the wrong classes without the weight; ``sje`` takes the worst of them; ``latem`` has several
    maps; ``eszsl`` fits the same compatibility to labels in closed form.
    """

    summary = "bilinear compatibility, weighted approximate ranking loss"
    citation = "Akata, Perronnin, Harchaoui, Schmid: Label-Embedding for Image Classification. TPAMI 2016 (CVPR 2013)"
    tags = ("inductive", "linear", "ranking loss")
    sampling = parameter(
        "steps on all violators of a row (none), or on one that is drawn (warp)",
        Choice((None, "warp")),
        default=None,
    )

    def row_loss(self) -> losses.RowLoss:
        """Return the loss of the objective, or its sampled estimate."""
        if self.sampling == "warp":
            return losses.Bilinear(lambda F, y, random: losses.sampled_rank(F, y, self.margin, random))
        return losses.Bilinear(lambda F, y, _: losses.weighted_approximate_rank(F, y, self.margin))

    def exact_losses(self, F: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return beta_r / r times the summed hinge (n,)."""
        return losses.weighted_approximate_rank(F, y, self.margin)[0]

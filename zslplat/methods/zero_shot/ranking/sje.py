"""SJE: structured joint embedding, a bilinear compatibility trained on the worst wrong class of each row.

Symbols in :mod:`zslplat.methods.zero_shot.ranking`. As read in the authors' ``sje_train.m``: one is taken off the right
class's compatibility, and where another class is then the largest, W += eta x'(s_y - s_c).
"""

from __future__ import annotations

import numpy as np

from zslplat.methods.zero_shot.ranking import losses
from zslplat.methods.zero_shot.ranking.estimator import RankingMethod


class SJE(RankingMethod):
    r"""Bilinear compatibility with the structured loss of the worst wrong class, Delta = 1 (Akata et al., 2015).

    Learned: ``W_`` (d, a). The authors' demonstration takes steps of .001 for 15 epochs, with features standardised and
    divided by their largest entry, of length about 2; ``rate`` covers that, in units of the data.

    Equations
    ---------
    The worst wrong class of each row is what costs:

    $$\min_W \sum_{(x, y)} \max_{c \ne y} \max(0,\; m + x^\top W s_c - x^\top W s_y)$$

    Related
    -------
    ``devise`` adds up all wrong classes; ``ale`` weighs them; ``latem`` has several maps in place of one.
    """

    summary = "bilinear compatibility, hinge of the worst wrong class"
    citation = "Akata et al.: Evaluation of Output Embeddings for Fine-Grained Image Classification. CVPR 2015"
    tags = ("inductive", "linear", "ranking loss")

    def row_loss(self) -> losses.RowLoss:
        """Return the hinge of the worst wrong class."""
        return losses.Bilinear(lambda F, y, _: losses.largest_violation(F, y, self.margin))

    def exact_losses(self, F: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the hinge of the worst wrong class (n,)."""
        return losses.largest_violation(F, y, self.margin)[0]

"""LatEm: latent embeddings, K bilinear compatibilities of which the largest counts.

Symbols and step in :mod:`zslplat.methods.zero_shot.ranking.latent`.
"""

from __future__ import annotations

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.methods.zero_shot.ranking import losses
from zslplat.methods.zero_shot.ranking.estimator import RankingMethod
from zslplat.methods.zero_shot.ranking.latent import Latent
from zslplat.space import POSITIVE, Choice, Integer, parameter


class LatEm(RankingMethod):
    r"""Piecewise-linear compatibility: the largest of K bilinear ones, one wrong class a row (Xian et al., 2016).

    Learned: ``W_`` (K, d, a). The paper searches K over 2, 4, 6, 8 and 10. The authors'
    demonstrations take steps of .001 for 150 epochs (K = 2, attributes) and of .1 for 10 (K = 10, word vectors);
    ``rate`` covers both. They standardise features and divide them by their largest entry; here they are standardised,
    and the start is as small as for rows of length 1, which takes the place of that division. Pruning of maps, the
    paper's other way to K, is not done.

    Equations
    ---------
    The compatibility is the largest of K bilinear ones, and one wrong class c is drawn for each row and step:

    $$F(x, c) = \max_{k} x^\top W_k s_c, \qquad \min_{W_1, \ldots, W_K} \sum_{(x, y)} \max(0,\; m + F(x, c) - F(x, y))$$

    Related
    -------
    ``sje``, ``devise`` and ``ale`` have one map; ``zskl`` bends the compatibility by a kernel instead.
    """

    summary = "largest of K bilinear compatibilities, hinge of one wrong class drawn for each row"
    citation = "Xian, Akata, Sharma, Nguyen, Hein, Schiele: Latent Embeddings for Zero-shot Classification. CVPR 2016"
    tags = ("inductive", "piecewise linear", "ranking loss")
    preprocessing = Preprocessing(features=("standardise",), signatures=("center", "l2"))
    # A row moves W by one wrong class at a time: more epochs than for the others.
    rate = 0.1
    epochs = 60
    # Maps that start alike stay alike.
    start = parameter(
        "spread of the random start, in units of 1 / sqrt(features) for rows and signatures of length 1",
        POSITIVE,
        default=1.0,
    )
    maps = parameter("number K of maps", Integer(1), Choice((2, 4, 6, 8, 10)), default=2)

    several_maps = True

    def row_loss(self) -> losses.RowLoss:
        """Return the hinge of one wrong class, drawn for each row."""
        return Latent(self.margin)

    def exact_losses(self, F: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the mean of the hinges of all wrong classes (n,), which is that of the one that is drawn."""
        return np.asarray(losses.summed_hinge(F, y, self.margin)[0] / max(1, F.shape[1] - 1))

"""The methods that are trained on a ranking loss: ALE, DeViSE, SJE, LatEm.

ALE: attribute label embedding, a bilinear compatibility trained on a ranking loss that weighs wrong classes by rank.

Symbols in :mod:`zslplat.families.zero_shot.methods.ranking`. The objective is that of WSABIE (Weston et al., 2011),
which ALE takes over: per row beta_r / r times the sum of the hinges of its r violators, alpha_i = 1 / i. It was read in
public code: the sum over all violators in a gist that follows WSABIE (vihari/c3c59bf2e4f18722a872499b0394986c), the
weight beta of floor((c - 1) / N) in mvp18/Popular-ZSL-Algorithms (``ALE/ale.py``).

DeViSE: a bilinear compatibility trained on the sum of the hinges of all wrong classes.

Symbols in :mod:`zslplat.families.zero_shot.methods.ranking`. The loss, its margin of .1 for class vectors of unit
length and the sum that is cut after the first violator were read in public code and notes that quote the paper (the
Caffe layer ``RankingLossLayer``, which cuts the sum at the first violator, and reading notes of the paper's section
3.3).

SJE: structured joint embedding, a bilinear compatibility trained on the worst wrong class of each row.

Symbols in :mod:`zslplat.families.zero_shot.methods.ranking`. As read in the authors' ``sje_train.m``: one is taken off
the right class's compatibility, and where another class is then the largest, W += eta x'(s_y - s_c).

LatEm: latent embeddings, K bilinear compatibilities of which the largest counts.

Symbols and step in :mod:`zslplat.families.zero_shot.methods.ranking.estimator`.
"""

from __future__ import annotations

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.families.zero_shot.methods.ranking import estimator
from zslplat.families.zero_shot.methods.ranking.estimator import Latent, RankingMethod
from zslplat.space import POSITIVE, Choice, Integer, Real, parameter

DEMONSTRATED = parameter(
    "default; paper: one row at a time; authors: with the features, steps and epochs of their demonstration",
    Choice(("default", "paper", "authors")),
    default="default",
)


class ALE(RankingMethod):
    r"""Bilinear compatibility with wrong classes weighted by the rank of the right one (Akata et al., 2013 and 2016).

    The default takes steps on the objective itself, over mini-batches: all violators of a row at once, each weighted by
    beta_r / r. ``variant="paper"`` takes the papers' stochastic step, one row at a time: wrong classes are drawn, with
    replacement and at most c - 1 of them, until one violates, at draw N; the step is on that class alone, weighted by
    beta of floor((c - 1) / N). That floor goes with draws with replacement, where N is (c - 1) / r on average; and its
    beta is not divided by r, since a class that is drawn among r stands for all of them. Learned: ``W_`` (d, a).

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

    where r is the number of classes with a positive loss. With ``variant="paper"`` wrong classes are drawn until one
    violates, at draw N, and the step is on that class with the weight of the rank that this estimates:

    $$r \approx \left\lfloor \frac{C - 1}{N} \right\rfloor, \qquad W \leftarrow W + \eta\, \beta_r\, x\, (s_y -
    s_c)^\top$$

    Related
    -------
    ``devise`` sums over the wrong classes without the weight; ``sje`` takes the worst of them; ``latem`` has several
    maps; ``eszsl`` fits the same compatibility to labels in closed form.
    """

    summary = "bilinear compatibility, weighted approximate ranking loss"
    citation = "Akata, Perronnin, Harchaoui, Schmid: Label-Embedding for Image Classification. TPAMI 2016 (CVPR 2013)"
    tags = ("inductive", "linear", "ranking loss")
    variant = parameter(
        "default: steps on all violators; paper: on a drawn one, row by row",
        Choice(("default", "paper")),
        default="default",
    )

    def row_loss(self) -> estimator.RowLoss:
        """Return the loss of the objective, or its sampled estimate."""
        if self.variant == "paper":
            return estimator.Bilinear(lambda F, y, random: estimator.sampled_rank(F, y, self.margin, random))
        return estimator.Bilinear(lambda F, y, _: estimator.weighted_approximate_rank(F, y, self.margin))

    def exact_losses(self, F: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return beta_r / r times the summed hinge (n,)."""
        return estimator.weighted_approximate_rank(F, y, self.margin)[0]


class DeViSE(RankingMethod):
    r"""Bilinear compatibility with the summed hinge of all wrong classes (Frome et al., 2013).

    The default takes steps on the sum, over mini-batches. ``variant="paper"`` cuts it after the first violator, in an
    order of the classes that is drawn for each row, one row at a time, as the authors trained (some public code goes
    through the classes in their order, which favours those of low number). Only the linear map is trained, not the
    network before it. Learned: ``W_`` (d, a).

    The paper's margin is .1. But for the start, which is small beside it, margin and step matter by their ratio alone,
    and ``rate`` is in units of the margin: its range covers public code's steps of .001 to 1, with margins of 1 to 200
    for standardised rows.

    Equations
    ---------
    The hinges of all wrong classes are added up:

    $$\min_W \sum_{(x, y)} \sum_{c \ne y} \max(0,\; m + x^\top W s_c - x^\top W s_y)$$

    With ``variant="paper"`` the inner sum ends with its first positive term.

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
    variant = parameter(
        "default: steps on all violators of a row; paper: on the first in an order that is drawn, row by row",
        Choice(("default", "paper")),
        default="default",
    )

    def row_loss(self) -> estimator.RowLoss:
        """Return the summed hinge, or that of the first violator."""
        if self.variant == "paper":
            return estimator.Bilinear(lambda F, y, random: estimator.first_violation(F, y, self.margin, random))
        return estimator.Bilinear(lambda F, y, _: estimator.summed_hinge(F, y, self.margin))

    def exact_losses(self, F: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the summed hinge (n,)."""
        return estimator.summed_hinge(F, y, self.margin)[0]


class SJE(RankingMethod):
    r"""Bilinear compatibility with the structured loss of the worst wrong class, Delta = 1 (Akata et al., 2015).

    Learned: ``W_`` (d, a). The authors' demonstration takes steps of .001 for 15 epochs, with features standardised and
    divided by their largest entry, of length about 2; ``rate`` covers that, in units of the data. ``variant="paper"``
    takes one row at a time, ``variant="authors"`` that demonstration's features, steps and epochs.

    Equations
    ---------
    The worst wrong class of each row is what costs:

    $$\min_W \sum_{(x, y)} \max_{c \ne y} \max(0,\; m + x^\top W s_c - x^\top W s_y)$$

    ``variant="paper"`` and ``"authors"`` take the step of one row, W <- W + eta x (s_y - s_c)', as it is printed.

    Related
    -------
    ``devise`` adds up all wrong classes; ``ale`` weighs them; ``latem`` has several maps in place of one.
    """

    summary = "bilinear compatibility, hinge of the worst wrong class"
    citation = "Akata et al.: Evaluation of Output Embeddings for Fine-Grained Image Classification. CVPR 2015"
    tags = ("inductive", "linear", "ranking loss")
    variant = DEMONSTRATED
    variants = {"paper": {"batch_size": 1}, "authors": {"batch_size": 1, "rate": 1e-3, "epochs": 15}}

    @property
    def effective_preprocessing(self) -> Preprocessing:
        """Standardised features for the authors' demonstration."""
        return LatEm.preprocessing if self.variant == "authors" else self.preprocessing

    def row_loss(self) -> estimator.RowLoss:
        """Return the hinge of the worst wrong class."""
        return estimator.Bilinear(lambda F, y, _: estimator.largest_violation(F, y, self.margin))

    def exact_losses(self, F: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the hinge of the worst wrong class (n,)."""
        return estimator.largest_violation(F, y, self.margin)[0]


class LatEm(RankingMethod):
    r"""Piecewise-linear compatibility: the largest of K bilinear ones, one wrong class a row (Xian et al., 2016).

    Learned: ``W_`` (K, d, a). The paper searches K over 2, 4, 6, 8 and 10. The authors'
    demonstrations take steps of .001 for 150 epochs (K = 2, attributes) and of .1 for 10 (K = 10, word vectors);
    ``rate`` covers both. They standardise features and divide them by their largest entry; here they are standardised,
    and the start is as small as for rows of length 1, which takes the place of that division. Pruning of maps, the
    paper's other way to K, is not done. ``variant="paper"`` takes one row at a time, ``variant="authors"`` the first
    demonstration's steps, with features divided by their largest entry.

    Equations
    ---------
    The compatibility is the largest of K bilinear ones, and one wrong class c is drawn for each row and step:

    $$F(x, c) = \max_{k} x^\top W_k s_c, \qquad \min_{W_1, \ldots, W_K} \sum_{(x, y)} \max(0,\; m + F(x, c) - F(x, y))$$

    ``variant="paper"`` and ``"authors"`` take the step of one row, where k* is the best map for c and k+ for y:

    $$W_{k^*} \leftarrow W_{k^*} - \eta\, x\, s_c^\top, \qquad W_{k^+} \leftarrow W_{k^+} + \eta\, x\, s_y^\top$$

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
    start = parameter("spread of the random start, times 1 / sqrt(features) for unit rows", POSITIVE, default=1.0)
    maps = parameter("number K of maps", Integer(1), Choice((2, 4, 6, 8, 10)), default=2)

    variant = DEMONSTRATED
    variants = {"paper": {"batch_size": 1}, "authors": {"batch_size": 1, "rate": 1e-3, "epochs": 150, "maps": 2}}
    several_maps = True

    def row_loss(self) -> estimator.RowLoss:
        """Return the hinge of one wrong class, drawn for each row."""
        return Latent(self.margin)

    def exact_losses(self, F: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the mean of the hinges of all wrong classes (n,), which is that of the one that is drawn."""
        return np.asarray(estimator.summed_hinge(F, y, self.margin)[0] / max(1, F.shape[1] - 1))

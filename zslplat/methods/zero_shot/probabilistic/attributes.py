"""Attributes as yes or no: binary signatures, their priors, and the score of a class by probabilities of attributes.

Lampert, Nickisch and Harmeling, "Attribute-based classification for zero-shot visual object categorization", TPAMI
2014; what the published code does was read in ports of it (``DAP_eval.py`` of chcorbi/AttributeBasedTransferLearning,
``Fu_DAP.m`` of yanweifu/embedding_zero-shot-learning).

| paper      | here     | shape  | meaning                                                            |
|------------|----------|--------|--------------------------------------------------------------------|
| a_m^z      | B        | (c, a) | binary signatures                                                  |
| p(a_m | x) | P        | (n, a) | probability that attribute m holds for a row                       |
| p(a_m)     | q        | (a,)   | prior: share of the seen classes (not rows) that have the attribute |
| p(z | x)   | score    | (n, c) | its logarithm: sum_m log p(a_m = a_m^z | x) - log p(a_m = a_m^z)   |

An attribute that all seen classes have, or none, has the prior 1/2.
"""

from __future__ import annotations

import numpy as np

from zslplat.methods.zero_shot.base import ZeroShotMethod
from zslplat.space import BOOLEAN, Choice, Real, parameter


class AttributeMethod(ZeroShotMethod, listed_last=True):
    """Base of the methods that score a class by the probabilities of its attributes."""

    threshold = parameter(
        "signatures that are not binary are cut at the mean over all of the seen table, or of each attribute",
        Choice(("overall", "attribute")),
        default="overall",
    )
    prior = parameter("divide by the prior of the attributes", BOOLEAN, Choice((True, False)), default=True)
    clip = parameter(
        "probabilities of attributes are kept this far from 0 and 1", Real(0, 0.5, open_low=True), default=1e-6
    )


def thresholds(S: np.ndarray, how: str) -> np.ndarray:
    """Return what each attribute (a,) of the seen signatures S (c, a) is compared with: it holds where it is above.

    ``overall``: the mean of the whole table, as the binary table of Animals with Attributes was made (its readme);
    ``attribute``: the mean of each attribute. A table of two values is binary already and is cut between them, whatever
    ``how`` says.
    """
    S = np.asarray(S, dtype=np.float64)
    values = np.unique(S)
    if len(values) == 2:
        return np.full(S.shape[1], values.mean())
    if how == "overall":
        return np.full(S.shape[1], S.mean())
    # The mean of equal numbers may differ from them in the last digit.
    return np.asarray(np.where(np.ptp(S, axis=0) > 0, S.mean(axis=0), S[0]))


def priors(B: np.ndarray) -> np.ndarray:
    """Return p(a_m) (a,) from binary signatures B (c, a) of the seen classes; 1/2 where it would be 0 or 1."""
    q = np.asarray(B, dtype=np.float64).mean(axis=0)
    return np.where((q > 0) & (q < 1), q, 0.5)


def attribute_scores(P: np.ndarray, B: np.ndarray, q: np.ndarray | None, clip: float) -> np.ndarray:
    """Return the logarithm of the class score (n, c); ``P`` (n, a), ``B`` (c, a), without prior where ``q`` is None.

    Two matrix products, and a constant of each class for the prior.
    """
    P = np.clip(P, clip, 1 - clip)
    B = np.asarray(B, dtype=np.float64)
    scores = np.log(P) @ B.T + np.log1p(-P) @ (1 - B).T
    if q is not None:
        scores -= B @ np.log(q) + (1 - B) @ np.log1p(-q)
    return np.asarray(scores)

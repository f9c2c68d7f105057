"""DAP: a classifier for every attribute, then the class by its attributes.

Lampert, Nickisch and Harmeling, "Attribute-based classification for zero-shot visual object categorization", TPAMI
2014. The score of a class, its prior and binary signatures are in :mod:`.attributes`, the classifiers in
:mod:`.attribute_classifiers`.

| paper      | here  | shape  | meaning                                    |
|------------|-------|--------|--------------------------------------------|
| a_m^y      | B     | (c, a) | binary signatures of the seen classes      |
|            | W, b  | (d, a), (a,) | log-odds of attribute m: x w_m + b_m |
| p(a_m | x) | P     | (n, a) | the sigmoid of the log-odds                |

What departs from the paper: it takes support vector machines with a chi-squared kernel and Platt's sigmoid (from
memory; a port takes a linear machine on random features of that kernel), here they are linear, and logistic regression
is the default.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import expit

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.methods.base import Arrays, Diagnostics
from zslplat.methods.zero_shot.base import check_fit_inputs
from zslplat.methods.zero_shot.probabilistic.attribute_classifiers import solve
from zslplat.methods.zero_shot.probabilistic.attributes import (
    AttributeMethod,
    attribute_scores,
    priors,
    thresholds,
)
from zslplat.methods.zero_shot.probabilistic.seen_classifier import PENALTY
from zslplat.space import Choice, Space, parameter


class DAP(AttributeMethod):
    r"""Direct attribute prediction (Lampert et al., 2014).

    ``C`` is the inverse penalty of the classifiers, ``classifier`` their kind; ``threshold`` makes signatures binary
    (:func:`.attributes.thresholds`); without ``prior`` the score is the plain product of probabilities, and ``clip``
    keeps each this far from 0 and 1. The classifiers are prepared once per value of ``C``, and of what else
    they depend on where that is searched. Learned: ``W_`` (d, a),
    ``offset_`` (a,), ``thresholds_`` (a,), ``priors_`` (a,). In float64.

    Equations
    ---------
    A classifier for each attribute m, and a class by its binary attributes:

    $$\log p(c \mid x) = \sum_m \log p(a_m = a_m^c \mid x) - \log p(a_m = a_m^c)$$

    Related
    -------
    ``iap`` finds the attributes by way of the seen classes; ``conse`` skips them; ``eszsl`` learns all attributes
    jointly.
    """

    summary = "a calibrated classifier for every attribute, and the class by its attributes"
    citation = (
        "Lampert, Nickisch, Harmeling: Attribute-based classification for zero-shot visual object categorization. "
        "TPAMI 2014"
    )
    tags = ("inductive", "probabilistic", "linear")
    preprocessing = Preprocessing(features=("standardise", "l2"))
    tolerance = 1e-3
    tolerance_reason = "the solver stops at a small gradient, which depends on the order of the rows"
    costly = ("C", "classifier", "threshold")  # what the classifiers depend on
    C = PENALTY
    classifier = parameter(
        "logistic regression, or a linear support vector machine with Platt's sigmoid",
        Choice(("logistic", "svm")),
        default="logistic",
    )

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the classifiers for these values of what is costly."""
        check_fit_inputs(X, y, S)
        W, offset = solve(X, y, thresholds(S, self.threshold) < S, self.C, self.classifier)
        return {"W": W, "offset": offset}

    def prepare_score(
        self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Mapping[str, np.ndarray] | None = None
    ) -> Arrays:
        """Return the probabilities (n, a) of the attributes; nothing where there are no classifiers yet."""
        return {"P": _probabilities(X, statistics["W"], statistics["offset"])} if statistics else {}

    def fit(
        self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, statistics: Mapping[str, np.ndarray] | None = None
    ) -> DAP:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        if not statistics:
            statistics = self.prepare_fit(X, y, S, space={})
        self.W_, self.offset_ = np.asarray(statistics["W"]), np.asarray(statistics["offset"])
        self.thresholds_ = thresholds(S, self.threshold)
        B = self.thresholds_ < S
        self.priors_ = priors(B)
        told_apart = int((B.any(axis=0) & ~B.all(axis=0)).sum())
        self.diagnostics_ = Diagnostics(
            numbers={"attributes_that_vary": float(told_apart), "patterns": float(len(np.unique(B, axis=0)))}
        )
        return self

    def decision_function(
        self,
        X: np.ndarray,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return log-scores (n, c) of rows X (n, d) for signatures S (c, a)."""
        P = np.asarray(statistics["P"]) if statistics else _probabilities(X, self.W_, self.offset_)
        return attribute_scores(P, self.thresholds_ < S, self.priors_ if self.prior else None, self.clip)

    def matrices(self) -> Arrays:
        """Return the classifiers, W (d, a) and their offsets (a,)."""
        return {"W": self.W_, "offset": self.offset_}


def _probabilities(X: np.ndarray, W: np.ndarray, offset: np.ndarray) -> np.ndarray:
    return np.asarray(expit(np.asarray(X, dtype=np.float64) @ W + offset))

"""IAP: attributes by way of the seen classes, then the class by its attributes.

Lampert, Nickisch and Harmeling, "Attribute-based classification for zero-shot visual object categorization", TPAMI
2014.

| paper      | here | shape    | meaning                                       |
|------------|------|----------|-----------------------------------------------|
| p(y | x)   | P    | (n, c_s) | probabilities of the seen classes             |
| a_m^y      | B    | (c_s, a) | binary signatures of the seen classes         |
| p(a_m | x) | P B  | (n, a)   | sum over the seen classes that have attribute m |

``product``: what DAP makes of probabilities of attributes (:mod:`.attributes`), as ports of the method have it.
``linear``: what the authors' first code does. Each row of B is divided by its sum, R; each attribute's column of the
candidates' binary signatures by its sum over the candidates, C; the score is P R C'. That code does not guard against
an attribute which no candidate has and answers with NaN; such columns, and classes without attribute, are 0 here. The
scores of ``linear`` depend on which candidates there are: a task with several requests scores all of its candidates
once. Whether the authors' signatures were binary there could not be found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.methods.zero_shot.probabilistic.attributes import (
    AttributeMethod,
    attribute_scores,
    priors,
    thresholds,
)
from zslplat.methods.zero_shot.probabilistic.seen_classifier import SeenClassMethod
from zslplat.space import Choice, parameter


def linear_scores(P: np.ndarray, B_seen: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return P R C' (n, c) for probabilities P (n, c_s) and binary signatures B_seen (c_s, a), B (c, a)."""
    rows, columns = B_seen.sum(axis=1, keepdims=True), B.sum(axis=0)
    R = B_seen / np.where(rows > 0, rows, 1)
    return np.asarray((P @ R) @ (B / np.where(columns > 0, columns, 1)).T)


class IAP(SeenClassMethod, AttributeMethod):
    r"""Indirect attribute prediction (Lampert et al., 2014).

    ``C`` is the inverse penalty of the classifier of the seen classes (:mod:`.seen_classifier`). ``score``:
    ``product``, the class score of DAP, with ``prior`` and ``clip``; or ``linear``, that of the authors' first code,
    which takes neither. ``threshold`` makes signatures binary (:func:`.attributes.thresholds`). Learned: ``W_`` (d, c),
    ``offset_`` (c,), ``signatures_`` (c, a).

    Equations
    ---------
    Probabilities of the seen classes give those of the attributes, and these the class, as in ``dap``:

    $$p(a_m \mid x) = \sum_{y\, \mathrm{seen}} p(y \mid x)\, a_m^y$$

    Related
    -------
    ``dap`` has a classifier for each attribute; ``conse`` uses the same probabilities without attributes in between.
    """

    summary = "probabilities of attributes by way of the seen classes"
    citation = (
        "Lampert, Nickisch, Harmeling: Attribute-based classification for zero-shot visual object categorization. "
        "TPAMI 2014"
    )
    tags = ("inductive", "probabilistic")
    preprocessing = Preprocessing(features=("standardise", "l2"))
    score = parameter("class score: DAP's, or the linear one", Choice(("product", "linear")), default="product")
    # It is searched: no classifier depends on it, unlike DAP's.
    threshold = parameter(
        "signatures that are not binary are cut at the mean over all of the seen table, or of each attribute",
        Choice(("overall", "attribute")),
        Choice(("overall", "attribute")),
        default="overall",
    )

    def told_of_unseen(self, steps: Sequence[str]) -> bool:
        """Whether other candidates change how two classes compare: by ``linear`` they do, through the column sums."""
        return self.score == "linear" or super().told_of_unseen(steps)

    def decision_function(
        self,
        X: np.ndarray,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return log-scores (n, c), or linear ones, of rows X (n, d) for signatures S (c, a)."""
        P = self.seen_probabilities(X, statistics)
        cut = thresholds(self.signatures_, self.threshold)
        B_seen, B = (np.asarray(table > cut, dtype=np.float64) for table in (self.signatures_, np.asarray(S)))
        if self.score == "linear":
            return linear_scores(P, B_seen, B)
        return attribute_scores(P @ B_seen, B, priors(B_seen) if self.prior else None, self.clip)

"""ConSE: a row is the mean of the signatures of its likeliest seen classes.

Norouzi, Mikolov, Bengio, Singer, Shlens, Frome, Corrado and Dean, "Zero-shot learning by convex combination of semantic
embeddings", ICLR 2014. Its abstract says that an image is placed by "convex combination of the class label embedding
vectors", without further training; the top T with their probabilities made to sum to 1 are as in
``docs/ch11/zero_shot/embedding_based.md`` of SungchulLee/deep_learning_book_writing. From memory: the comparison by
cosine, and T = 1, 10 and 1000 in the paper.

| paper           | here   | shape  | meaning                                                  |
|-----------------|--------|--------|----------------------------------------------------------|
| p_0(y | x)      | P      | (n, c) | probabilities of the seen classes                        |
| s(y)            | S      | (c, a) | signatures of the seen classes                           |
| T               | T      | scalar | classes that are combined, at most c                     |
| f(x)            | F      | (n, a) | sum_t p_t s_t / sum_t p_t over the T likeliest           |

The score of a class is the cosine of f(x) with its signature. Of classes that are equally likely the ones with lower
numbers are taken first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.methods.unit_rows import unit_rows
from zslplat.methods.zero_shot.probabilistic.seen_classifier import SeenClassMethod
from zslplat.space import Integer, parameter


def combined(P: np.ndarray, S: np.ndarray, T: int) -> np.ndarray:
    """Return f(x) (n, a): the mean of the signatures S (c, a) of the T likeliest classes by P (n, c), weighed by it."""
    if P.shape[1] > T:
        likeliest = np.argsort(-P, axis=1, kind="stable")[:, :T]
        weights = np.zeros_like(P)
        np.put_along_axis(weights, likeliest, np.take_along_axis(P, likeliest, axis=1), axis=1)
    else:
        weights = P
    return np.asarray((weights / weights.sum(axis=1, keepdims=True)) @ S)


class ConSE(SeenClassMethod):
    r"""Convex combination of the signatures of the likeliest seen classes (Norouzi et al., 2014).

    ``C`` is the inverse penalty of the classifier (:mod:`.seen_classifier`); ``T`` the number of classes that are
    combined, at most all. The paper takes a network's softmax for the classifier and T up to 1000 of 1000 classes; T is
    searched on validation here. Learned: ``W_`` (d, c), ``offset_`` (c,), ``signatures_`` (c, a). In float64.

    Equations
    ---------
    A row is placed at the mean of the signatures of its T likeliest seen classes, and takes the class nearest in angle:

    $$f(x) = \frac{\sum_{t=1}^{T} p(y_t \mid x)\, s_{y_t}}{\sum_{t=1}^{T} p(y_t \mid x)}, \qquad \hat c = \arg\max_c
    \cos(f(x), s_c)$$

    Related
    -------
    ``iap`` goes from the same probabilities to attributes; ``cmt`` maps the row itself.
    """

    summary = "convex combination of the signatures of the likeliest seen classes"
    citation = "Norouzi et al.: Zero-shot learning by convex combination of semantic embeddings. ICLR 2014"
    tags = ("inductive", "probabilistic", "from memory")
    preprocessing = Preprocessing(features=("standardise", "l2"), signatures=("center", "l2"))
    T = parameter("likeliest classes that are combined", Integer(1), Integer(1, 100, log=True), default=10)

    def decision_function(
        self,
        X: np.ndarray,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the cosine of every row's combination with every signature of S (c, a); X is (n, d)."""
        rows = combined(self.seen_probabilities(X, statistics), self.signatures_, self.T)
        return np.asarray(unit_rows(rows) @ unit_rows(np.asarray(S, dtype=np.float64)).T)

"""Semantic similarity embedding: classes as mixtures of seen classes, rows by their similarity to each of these.

Zhang and Saligrama, "Zero-Shot Learning via Semantic Similarity Embedding", ICCV 2015 (arXiv 1509.04767). Rows are
samples here.

| paper          | here          | shape  | meaning                                                              |
|----------------|---------------|--------|----------------------------------------------------------------------|
| c_y            | S             | (c, a) | signatures of the seen classes                                       |
| z_c            | Z             | (m, c) | source embedding: the mixture of seen classes that makes a signature |
| v_y            | V             | (c, d) | a reference point per seen class                                     |
| psi_y(x)       |               | (d,)   | target embedding: min(x, v_y) (INT) or max(0, x - v_y) (ReLU)        |
| w              | w             | (d,)   | weights, shared by all seen classes                                  |
| gamma          | gamma         | scalar | ridge of the source embedding                                        |
| lambda 1, 2, 3 | shrink, align | scalar | penalties, see below                                                 |

    z(s) = argmin gamma/2 |z|^2 + 1/2 |s - S'z|^2 over the simplex    (``simplex.py``)
    F(x, c) = sum_r z_cr <w, psi_r(x)>                                the score of row x for class c

    min_{w, V}  1/2 |w|^2 + lambda_1/2 |V|^2 + lambda_2 sum_{y, r} eps_yr + lambda_3 sum_{i, c} xi_ic
    with        F(x_i, y_i) - F(x_i, c) >= Delta(y_i, c) - xi_ic
                mean_{i in y} [f_y(x_i) - f_r(x_i)] >= Delta(y, r) - eps_yr,    f_r(x) = <w, psi_r(x)>
                Delta(y, c) = 1 - z_y'z_c,    xi, eps >= 0

**Source.** From memory: no readable source of the paper or of the authors' code was found. The form of the second
constraint and of Delta are the least certain. The paper's abstract confirms mixtures of seen classes, the max-margin
framework, and parameters chosen on held-out seen classes. What is done here where memory leaves something open, or
otherwise than remembered:

* All terms are divided by lambda_3 and by the number of their constraints, so that penalties mean the same for any
  number of rows: ``ridge`` stands for 1 / lambda_3, ``align`` for lambda_2 / lambda_3, ``shrink`` for lambda_1 /
  lambda_3, each in units of the data (:class:`SemanticSimilarityEmbedding`).
* The hinge's corner is rounded over a tenth of the margin, so that the weights, given V, are found to a stated gap.
  ``variant="paper"`` has the plain hinge, over all rows; then ``gap`` is seldom reached before 500 steps.
* References start at the class means. The first step learns w alone, and each further one V and then w.
* V goes down by quasi-Newton steps along the subgradient; rows do not coincide with references, so that it is the
  gradient where they are taken. V is not held to be non-negative: below all rows it has no effect but on |V|^2.
* Of large classes a part of the rows makes constraints (``rows_per_class``); class means are those of all rows.

**The two methods.** max(0, x - v) = x - min(x, v), and codes sum to 1: <w, x> is in F(x, c) for every c, and in no
difference of either constraint. Given the same penalties, the weights of ReLU are therefore minus those of INT, V is
the same, and so is the class of every row. Scores differ by <w, x>, which changes how rows are ranked for a class:
INT favours rows with large intersections with anything, and retrieves less well (digit-pairs, default settings,
validation: a mean average precision of .56 in place of .75). The published accuracies of the two differ, so that
something in the paper must tell them apart that is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import blocks_of, float_type, rowwise, take_rows
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.simplex import simplex_codes
from zslplat.families.zero_shot.methods.sse.objective import (
    ROUNDED,
    SHARP,
    Objective,
    fit_references,
    fit_weights,
    intersections,
)
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared
from zslplat.methods.rows import add_by_class, row_keys
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Optional, Real, Space, parameter


class SemanticSimilarityEmbedding(ZeroShotMethod):
    """Base of both: a subclass says which embedding of the rows is meant.

    ``gamma`` is in units of the mean eigenvalue of S S'; ``ridge`` in units of the variance of the class means, the
    mean squared length of psi_y - psi_c at the mean of class y; ``shrink`` in units of 1 / |V|^2 at the start; so that
    one range serves any number of rows and any length of features and signatures. The paper chooses its gamma and
    lambdas on held-out seen classes; its grids are not known here.

    Learned: ``w_`` (d,), ``V_`` (c, d), ``seen_signatures_`` (c, a) in the order of V. ``diagnostics_``: the objective
    after each step, and ``weights_gap``, which bounds what other weights could still gain.

    Not tagged ``stationary``: V takes some steps in each round, and early stopping ends the rounds.
    """

    citation = "Zhang, Saligrama: Zero-Shot Learning via Semantic Similarity Embedding. ICCV 2015. https://arxiv.org/abs/1509.04767"
    tags = ("inductive", "max-margin", "monotone", "from memory")
    preprocessing = Preprocessing(features=("split", "l2"), signatures=("center", "l2"))
    step_parameter = "rounds"
    tolerance = 1e-3
    tolerance_reason = "class means of rows in another order differ in their last digit; training carries that on"
    takes_blocks = True
    costly = ("rows_per_class",)
    sign: ClassVar[int]
    gamma = parameter("ridge of the mixtures of seen classes", POSITIVE, Real(1e-2, 1e1, log=True), default=0.3)
    ridge = parameter("ridge on the weights", POSITIVE, Real(1e-4, 1e0, log=True), default=1e-3)
    align = parameter("weight of constraints on class averages", NON_NEGATIVE, Real(1e-2, 1e2, log=True), default=1.0)
    shrink = parameter("ridge on the reference points", NON_NEGATIVE, Real(1e-4, 1e0, log=True), default=1e-3)
    rounds = parameter("steps; the first learns the weights alone", Integer(1), default=10)
    reference_steps = parameter("steps of the reference points in a round", Integer(1), default=10)
    rows_per_class = parameter("most constraint rows of a class; none: all", Optional(Integer(1)), default=100)
    gap = parameter("what other weights may still gain, relative to the objective", POSITIVE, default=1e-2)
    converged_at = parameter("stop when a round gains this fraction or less", NON_NEGATIVE, default=1e-2)
    variant = parameter(
        "default; paper: constraints of all rows, hinges that are not rounded",
        Choice(("default", "paper")),
        default="default",
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"rows_per_class": None}}

    w_: np.ndarray
    V_: np.ndarray
    seen_signatures_: np.ndarray

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the class means, and the rows that make constraints, classes and rows in an order of their own."""
        check_fit_inputs(X, y, S, read=False)
        order = np.argsort(row_keys("S", S), kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        y = rank[y]
        keys = row_keys("X", X)
        sums = np.zeros((len(S), X.shape[1]))
        for where, block in blocks_of(X):
            add_by_class(sums, block, y[where])
        chosen = _spread(np.lexsort((keys, y)), np.bincount(y), self.rows_per_class)
        # Sums depend on the order of the rows in their last digits, and training would carry that on.
        means = (sums / np.bincount(y)[:, None]).astype(float_type(X.dtype))
        return {
            "class_order": order,
            "class_means": means,
            "rows": np.ascontiguousarray(take_rows(X, chosen), dtype=float_type(X.dtype)),
            "labels": y[chosen],
        }

    def _fit_steps(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Fit round by round, yielding 1, 2, ...; the estimator can score after each."""
        self.seen_signatures_ = np.asarray(S, dtype=np.float64)[statistics["class_order"]]
        self.V_ = np.array(statistics["class_means"], dtype=np.float64)
        self.w_ = np.zeros(self.V_.shape[1])
        objective = self._objective(statistics)
        self.diagnostics_ = Diagnostics({"objective": []}, {"ridge_absolute": objective.ridge})
        last = np.inf
        for step in range(1, self.rounds + 1):
            if step > 1:
                self.V_, _ = fit_references(objective, self.w_, self.V_, self.reference_steps)
            self.w_, value, bound = fit_weights(objective, self.w_, self.V_, self.gap)
            self.diagnostics_.series["objective"].append(value)
            self.diagnostics_.numbers["weights_gap"] = bound
            yield step
            if last - value <= self.converged_at * value:
                return
            last = value

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return F(x, c) for every row of X (n, d) and signature of S (m, a); products in the precision of X."""
        Z = simplex_codes(S, self.seen_signatures_, self.gamma)

        def scores(rows: np.ndarray) -> np.ndarray:
            rows = np.ascontiguousarray(rows, dtype=float_type(rows.dtype))
            w, V = self.w_.astype(rows.dtype), self.V_.astype(rows.dtype)
            P = intersections(rows, V, w).astype(np.float64)
            return np.asarray(self._embedded(rows @ w, P) @ Z.T)

        return rowwise(X, scores)

    def _embedded(self, products: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Return f_r(x) (n, c) from <w, x> (n,) and P (n, c), <w, min(x, v_r)>."""
        return P if self.sign > 0 else products[:, None] - P

    def _objective(self, prepared: Mapping[str, np.ndarray]) -> Objective:
        means = np.asarray(prepared["class_means"])
        spread = means - means.mean(axis=0)
        variance = float(np.vdot(spread, spread)) / max(1, len(means) - 1)
        return Objective(
            X=np.asarray(prepared["rows"]),
            y=np.asarray(prepared["labels"]),
            Z=simplex_codes(self.seen_signatures_, self.seen_signatures_, self.gamma),
            sign=self.sign,
            align=self.align,
            ridge=self.ridge * (variance or 1.0),
            shrink=self.shrink / (float(np.vdot(means, means)) or 1.0),
            corner=SHARP if self.variant == "paper" else ROUNDED,
        )

    def objective(self, X: Features, y: np.ndarray, S: np.ndarray) -> float:
        """Return the objective at what was learned, with the units and the rows that training on X, y, S takes."""
        return self._objective(self.prepare_fit(X, y, S, space={})).value(self.w_, self.V_)

    def matrices(self) -> Arrays:
        """Return w (d,), V (c, d) and the signatures (c, a) of the seen classes in the order of V."""
        return {"w": self.w_, "V": self.V_, "seen_signatures": self.seen_signatures_}


class SSEIntersection(SemanticSimilarityEmbedding):
    r"""Semantic similarity embedding with intersections min(x, v_r) (Zhang and Saligrama, 2015).

    Equations
    ---------
    A signature is a mixture z of those of seen classes, and a row meets a class by similarity to each of these, with
    weights and reference points from a large margin:

    $$z(s) = \arg\min_{z \in \Delta} \frac{\gamma}{2} \lVert z \rVert^2 + \frac{1}{2} \lVert s - S^\top z \rVert^2,
    \qquad F(x, c) = \sum_r z_{cr} \langle w, \psi_r(x) \rangle$$

    $$\psi_r(x) = \min(x, v_r)$$

    w and the references v minimise hinges that are rounded at their corner; with ``variant="paper"`` they are plain:

    $$\min_{w, V} \sum_{i, c} \max(0,\; \Delta_{y_i c} - F(x_i, y_i) + F(x_i, c)) + \ldots$$

    Related
    -------
    ``sse-relu`` gives rows the same class and ranks them otherwise; ``jlse`` learns latent codes of both sides;
    ``sync-ovo`` mixes classifiers of seen classes.
    """

    summary = "classes as mixtures of seen classes, rows by intersections with one point of each; max-margin"
    sign = 1


class SSERectified(SemanticSimilarityEmbedding):
    r"""Semantic similarity embedding with rectified linear units max(0, x - v_r) (Zhang and Saligrama, 2015).

    It gives every row the class that intersections give it; see the module's text.

    Equations
    ---------
    A signature is a mixture z of those of seen classes, and a row meets a class by similarity to each of these, with
    weights and reference points from a large margin:

    $$z(s) = \arg\min_{z \in \Delta} \frac{\gamma}{2} \lVert z \rVert^2 + \frac{1}{2} \lVert s - S^\top z \rVert^2,
    \qquad F(x, c) = \sum_r z_{cr} \langle w, \psi_r(x) \rangle$$

    $$\psi_r(x) = \max(0, x - v_r)$$

    w and the references v minimise hinges that are rounded at their corner; with ``variant="paper"`` they are plain:

    $$\min_{w, V} \sum_{i, c} \max(0,\; \Delta_{y_i c} - F(x_i, y_i) + F(x_i, c)) + \ldots$$

    Related
    -------
    ``sse-int`` gives rows the same class and ranks them otherwise; ``jlse`` learns latent codes of both sides.
    """

    summary = "classes as mixtures of seen classes, rows by what exceeds one point of each; max-margin"
    sign = -1


def _spread(order: np.ndarray, sizes: np.ndarray, most: int | None) -> np.ndarray:
    """Return ``order`` (n,), rows class after class, with ``most`` rows of each class, evenly spread over it."""
    if most is None:
        return order
    ends = np.cumsum(sizes)
    parts = []
    for end, size in zip(ends, sizes, strict=True):
        count = min(int(size), most)
        parts.append(order[end - size + ((np.arange(count) + 0.5) * size / count).astype(np.intp)])
    return np.concatenate(parts)

"""MFMR with the joint prediction scheme: the labels of a batch are one non-negative factor over its own graph.

Xu et al., "Matrix Tri-Factorization with Manifold Regularizations for Zero-shot Learning", CVPR 2017: Eqs. 11 to 14
and Algorithm 2. Rows are samples here; U is learned as in :mod:`zslplat.families.zero_shot.methods.mfmr.common_scheme`.

| paper | here  | shape  | meaning                                                                 |
|-------|-------|--------|-------------------------------------------------------------------------|
| X_u'  | X     | (n, d) | features of the batch that is scored, non-negative, rows of unit length |
| A_u'  | S     | (c, a) | signatures that the batch may belong to                                 |
| V_u   | V     | (n, c) | scores: row i belongs to the class of its largest entry                 |
| W^I   | W     | (n, n) | graph of the rows of the batch, k nearest by cosine                     |
| gamma | gamma | scalar | weight of the row graph, against 1 for a row's own evidence             |

The form used by default minimises over V >= 0, by Eq. 13 in its form for signed data,

    (1 - anchor) [ |X/scale - V B|^2 + |V 1 - 1|^2 ] + anchor |V - P|^2 + gamma tr(V'(Q - W)V) / mean degree

* X and B (the class prototypes U A_u) are centred and scaled to unit length in the metric of the residual, so that
  neither drowns the other; ``scale`` says how long rows are against prototypes. A row that should be one class
  rather than a mixture of several wants short prototypes, hence ``scale`` < 1.
* Rows of V tend to sum 1, instead of Algorithm 2's columns after each update, which would void the guarantee that the
  objective never rises. Columns are balanced once, at the end: divided by their sums to the power ``balance``
  (1: every class gets the same mass, the constraint of Eq. 11, which is to know that the classes of the batch are
  equally frequent; 0: not at all). The default takes them to be roughly so: see :func:`graph_smoothing.balanced`.
* Scores are log-probabilities of V (:func:`log_shares`), not V: the same classes, better rankings of rows.
* P holds the common scheme's scores, as probabilities (softmax of cosines over ``temperature``). The updates start
  from P, and stay near it as ``anchor`` says: 0 is Eq. 11's own data term, 1 only smooths P over the graph.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from zslplat.data.store.rows import float_type
from zslplat.families.zero_shot.methods import feature_metric
from zslplat.families.zero_shot.methods.graph_smoothing import balanced, log_shares, probabilities
from zslplat.families.zero_shot.methods.mfmr.common_scheme import MFMR, require_non_negative
from zslplat.families.zero_shot.methods.mfmr.multiplicative_updates import TINY, Factorisation, factorise
from zslplat.methods.base import Arrays, Features, Prepared, Statistics
from zslplat.methods.neighbours import affinity, degrees, near_rows
from zslplat.space import NON_NEGATIVE, POSITIVE, Real, Space, parameter


def label_batch(
    cosines: np.ndarray,
    between: np.ndarray,
    P: np.ndarray,
    W: sparse.csr_array,
    *,
    gamma: float,
    anchor: float,
    scale: float,
    iterations: int,
    tolerance: float,
) -> Factorisation:
    """Minimise the objective at the head of this module over V (n, c), by Eq. 13 without its root.

    ``cosines`` (n, c) of rows with the class prototypes and ``between`` (c, c) of these with each other, P (n, c) the
    common scheme's probabilities, W (n, n) the graph of the rows.
    """
    weight = 1 - anchor
    return factorise(
        P + 1e-3,  # an entry that starts at 0 would stay there
        weight * (cosines / scale + 1) + anchor * P,
        weight * (between + 1) + anchor * np.eye(len(between)),
        W,
        gamma / max(float(degrees(W).mean()), TINY),
        weight * len(cosines) * (1 / scale**2 + 1) + anchor * float(np.vdot(P, P)),
        iterations=iterations,
        tolerance=tolerance,
    )


def label_batch_as_printed(
    X: np.ndarray,
    B: np.ndarray,
    W: sparse.csr_array,
    *,
    gamma: float,
    constant: float,
    seed: int,
    iterations: int,
    tolerance: float,
) -> Factorisation:
    """Algorithm 2: random positive start, Eq. 13, columns of V (n, c) scaled to sum 1 after each update.

    X (n, d) the batch, B (c, d) the class prototypes (U A_u)', one row per class; ``constant`` is |X|^2.
    """
    return factorise(
        np.random.default_rng([seed, 1]).uniform(0.1, 1.0, (len(X), len(B))),
        X @ B.T.astype(float_type(X.dtype)),
        B @ B.T,
        W,
        gamma,
        constant,
        iterations=iterations,
        tolerance=tolerance,
        normalise=True,
    )


class MFMRJoint(MFMR):
    r"""Matrix tri-factorisation with manifold regularisation, joint prediction scheme (Xu et al., 2017).

    The rows of a batch are scored together. ``gamma=0`` leaves the row graph out, ``lam=0`` the feature graph.
    ``variant="paper"`` follows Algorithms 1 and 2: random positive starts, columns of U and V scaled to sum 1 after
    each update, gamma and lam absolute. ``anchor``, ``scale``, ``temperature`` and ``balance`` are then not used.
    Learned: ``U_`` (d, a), ``V_`` (n, c) of the last scored batch.

    Equations
    ---------
    The labels V of the batch are a non-negative factor over the graph of its rows (Eqs. 11 to 14), with U as ``mfmr``
    learns it:

    $$\min_{V \ge 0} (1 - \tau) \left[ \left\lVert \frac{X}{\sigma} - V B \right\rVert^2 + \lVert V 1 - 1 \rVert^2
    \right] + \tau \lVert V - P \rVert^2 + \gamma\, \frac{\operatorname{tr}(V^\top (Q - W) V)}{\bar q}$$

    B holds the class prototypes, P the probabilities of the common scheme; tau is ``anchor``, sigma ``scale``.

    Related
    -------
    ``mfmr`` scores each row by itself; ``eszsl-smoothed`` shows what a graph alone gives; ``gfhf``, ``tmv-hlp`` and
    ``gfzsl-em`` score a batch jointly, too.
    """

    summary = "non-negative tri-factorisation with graphs over features and over the scored batch"
    tags = ("transductive", "linear", "non-negative", "graph", "monotone")
    transductive = True
    takes_blocks = False  # the graph compares every row of a batch with every other
    gamma = parameter("weight of the row graph", NON_NEGATIVE, Real(0.3, 1e2, log=True), default=5.0)
    anchor = parameter("weight of the common scheme's scores against the data", Real(0, 1), Real(0, 1), default=0.75)
    scale = parameter("length of class prototypes against rows", POSITIVE, default=0.3)
    balance = parameter("how far the masses of classes are made equal (1: all the way)", Real(0, 1), default=0.75)
    _improvements = (*MFMR._improvements, "anchor")

    @property
    def assumes_balance(self) -> bool:
        """Unless ``balance`` is 0; the printed form, which scales columns of classes to sum 1, always does."""
        return self._form.normalise or self.balance > 0

    def prepare_score(self, X: Features, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return for every row of the batch its nearest others for the largest k, and what ``mfmr`` prepares."""
        X = np.asarray(X)
        require_non_negative("features", X)
        return {
            **super().prepare_score(X, S, space=space, statistics=statistics),
            **near_rows(X, self._most_neighbours(space, "k_instances")),
            "squared_length": np.einsum("ij,ij->", X, X, dtype=np.float64),
        }

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return log-probabilities (n, c) for the batch X (n, d) and signatures S (c, a); keeps V (n, c) as ``V_``.

        ``variant="paper"`` returns V itself.
        """
        X = np.asarray(X)
        W = affinity(statistics["row_neighbours"], statistics["row_cosines"], self.k_instances or self.k)
        S = np.asarray(S, dtype=np.float64)
        label = {"default": self._label_as_improved, "paper": self._label_as_printed}[self.variant]
        solution, self.V_, scores = label(X, S, W, statistics)
        self.diagnostics_.series["objective_joint"] = solution.objective
        self.diagnostics_.numbers["updates_joint"] = float(len(solution.objective) - 1)
        return scores

    def project_jointly(self, S: np.ndarray) -> np.ndarray:
        """Return the rows of the last batch in signature space (n, a): the mixture of S (c, a) that V says."""
        V = self.V_ / (self.V_.sum(axis=1, keepdims=True) + TINY)
        return np.asarray(V @ S)

    def embeddings(self, X: np.ndarray, S: np.ndarray) -> Arrays:
        """Return the rows of the last batch, X (n, d), in signature space (n, a) by either scheme, for maps."""
        return {"common scheme": self.project(X), "joint scheme": self.project_jointly(S)}

    def matrices(self) -> Arrays:
        """Return U (d, a) and, after scoring, V (n, c) of the last batch."""
        return {**super().matrices(), **({"V": self.V_} if hasattr(self, "V_") else {})}

    def _label_as_improved(
        self, X: np.ndarray, S: np.ndarray, W: sparse.csr_array, batch: Prepared
    ) -> tuple[Factorisation, np.ndarray, np.ndarray]:
        """Return the factorisation, V with its columns balanced, and log-probabilities."""
        origin, B = self._placed(S)
        lengths = feature_metric.lengths_at(self.shrinkage, batch)
        cosines = self.metric_.cosines(X, B, origin, lengths).astype(np.float64)
        between = np.clip(self.metric_.cosines(B, B), -1, 1)
        P = cosines if self.compare != "inverse" else self._common_scores(X, S).astype(np.float64)
        P = probabilities(P, self.temperature)
        steps, tolerance = self._form.stopping
        weights = {"gamma": self.gamma, "anchor": self.anchor, "scale": self.scale}
        solution = label_batch(cosines, between, P, W, **weights, iterations=steps, tolerance=tolerance)
        V = balanced(solution.factor, self.balance)
        return solution, V, log_shares(V)

    def _label_as_printed(
        self, X: np.ndarray, S: np.ndarray, W: sparse.csr_array, batch: Prepared
    ) -> tuple[Factorisation, np.ndarray, np.ndarray]:
        """Return the factorisation, and its V as V and as scores."""
        steps, tolerance = self._form.stopping
        weights = {"gamma": self.gamma, "constant": float(batch["squared_length"])}
        solution = label_batch_as_printed(
            X, S @ self.U_.T, W, **weights, seed=self.seed, iterations=steps, tolerance=tolerance
        )
        return solution, solution.factor, solution.factor

"""MFMR: learn a non-negative projection by tri-factorisation, and compare rows with the class prototypes that it gives.

Xu, Shen, Yang, Zhang, Shen and Song, "Matrix Tri-Factorization with Manifold Regularizations for Zero-shot
Learning", CVPR 2017: Eqs. 6, 7, 9, 10 and Algorithm 1. Rows are samples here.

| paper  | here | shape  | meaning                                                         |
|--------|------|--------|-----------------------------------------------------------------|
| X_s'   | X    | (n, d) | features of seen classes, non-negative, rows of unit length     |
| A_s'   | S    | (c, a) | signatures of seen classes, non-negative                        |
| Y_s    | Y    | (n, c) | labels, one-hot; enters only through class sums and counts      |
| U      | U    | (d, a) | projection: U s is the prototype of the class of signature s    |
| W^F    | W    | (d, d) | graph of the features (columns of X), k nearest by cosine       |
| lambda | lam  | scalar | weight of the feature graph                                     |

An update of U touches (d, a) and (a, a) matrices and the sparse graph: X enters through Y'X, the counts and |X|^2.

**What differs from the printed form** (``variant="paper"`` keeps it), and why. Only the second point corrects an
error; the others are additions, whose worth without the factorisation
:mod:`~zslplat.families.zero_shot.methods.ridge_prototypes` shows:

* Signatures are centred and split into positive and negative parts: the presence and the absence of an attribute
  each get a non-negative column of U. Shifted to be positive, all classes share most of their signature.
* U is not normalised after each update, so that the objective never rises; the scale that the normalisation fixes is
  fixed by the data and, where signatures are nearly collinear, by a ridge on U (``ridge``).
* The start is the same for every column and proportional to the mean row: nothing is random, and where the solution
  is not unique (more attributes than classes) the updates keep close to that start.
* Classes are compared in feature space, in the metric of the within-class residual (``feature_metric``). Eq. 10's
  pseudo-inverse of U multiplies noise where columns of U are nearly collinear.
* A row's cosines are reported relative to each other: less ``temperature`` times the log of the sum of
  exp(cosine / temperature) over classes, the log-probability of each class up to scale. Rows that are close to every
  class no longer lead every class's list in retrieval; inside a row nothing changes.
* ``lam`` and ``ridge`` are in units of the mean curvature of the data term, so that their ranges fit any data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import blocks_of, float_type, rowwise
from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods import feature_metric, spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.feature_metric import EuclideanMetric, ResidualMetric
from zslplat.families.zero_shot.methods.mfmr.forms import Form, Printed
from zslplat.families.zero_shot.methods.mfmr.multiplicative_updates import Factorisation, learn_both
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared, Statistics
from zslplat.methods.neighbours import affinity, largest_k, near_rows, nearest_columns
from zslplat.methods.rows import add_by_class, require_finite_sums, unit_rows
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Optional, Real, Space, check_value, parameter


class MFMR(ZeroShotMethod):
    r"""Matrix tri-factorisation with manifold regularisation, common prediction scheme (Xu et al., 2017).

    ``compare`` says how a row meets a class: ``residual`` (default) by cosine in feature space, centred, in the
    metric of the within-class residual with ``shrinkage``; ``features`` by plain cosine in feature space; ``inverse``
    by cosine in signature space after Eq. 10's projection, with a regularised inverse: ``shrinkage`` times the mean
    eigenvalue of U'U is added to U'U.

    ``variant="paper"`` follows Algorithm 1 throughout: random positive start, columns of U scaled to sum 1 after each
    update, pseudo-inverse, plain cosines; ``ridge``, ``compare``, ``shrinkage`` and ``temperature`` are not used.

    ``labels="free"`` goes on from Eq. 7's solution to Eq. 6, whose V_s is free: ``gamma_fit`` weighs the graph of the
    training rows, ``label_anchor`` holds V_s to the labels. It keeps ``V_seen_`` (n, c).

    Not tagged ``stationary``: updates end where the objective hardly falls (``converged_at``), well before its
    gradient is small, and at entries of U that are 0 it need not be.

    Learned: ``U_`` (d, a), ``mean_`` (d,), ``prototype_mean_`` (d,); ``diagnostics_`` holds the objective by update.
    Raises :class:`MethodError` for negative features or signatures.

    Equations
    ---------
    Features of seen classes are factorised into labels, signatures and a non-negative projection U that varies smoothly
    over the graph of the features (Eq. 7), and rows meet classes by U (Eq. 10):

    $$\min_{U \ge 0} \lVert X - Y S U^\top \rVert^2 + \lambda \operatorname{tr}(U^\top L_F U) + \rho \lVert U \rVert^2,
    \qquad L_F = D_F - W_F$$

    The ridge rho is not in the paper (``variant="paper"`` has none).

    Related
    -------
    ``mfmr-joint`` labels a whole batch over its own graph; ``ridge-prototypes`` is the same projection without sign and
    graph, its control; ``sae`` projects both ways.
    """

    summary = "non-negative tri-factorisation with a feature graph, common prediction scheme"
    citation = "Xu et al.: Matrix tri-factorization with manifold regularizations. CVPR 2017"
    tags = ("inductive", "linear", "non-negative", "graph", "monotone")
    preprocessing = Preprocessing(features=("split", "l2"), signatures=("center", "l2", "split"))
    random = True
    takes_blocks = True
    objective_may_rise = "with variant=paper, whose columns are scaled after each update; never in the default form"
    tolerance = 1e-2
    tolerance_reason = "neighbours whose cosines differ in the last digits of float32 change places"
    lam = parameter("weight of the feature graph", NON_NEGATIVE, Real(1e-3, 1e1, log=True), default=0.1)
    k = parameter("neighbours in both graphs", Integer(1), Integer(3, 40, log=True), default=10)
    k_features = parameter("neighbours in the feature graph, instead of k", Optional(Integer(1)), default=None)
    k_instances = parameter("neighbours in graphs of rows, instead of k", Optional(Integer(1)), default=None)
    ridge = parameter("ridge on U", NON_NEGATIVE, Real(1e-3, 1e1, log=True), default=0.3)
    compare = parameter("space of the comparison", Choice(("residual", "features", "inverse")), default="residual")
    shrinkage = parameter("shrinkage of the residual metric", POSITIVE, Real(1e-2, 1e2, log=True), default=5.0)
    temperature = parameter("temperature of the probabilities of a row; inf: plain cosines", POSITIVE, default=0.05)
    labels = parameter("V_s: the labels (Eq. 7), or learned (Eq. 6)", Choice(("fixed", "free")), default="fixed")
    gamma_fit = parameter("weight of the training rows' graph, with free labels", NON_NEGATIVE, default=1.0)
    label_anchor = parameter("how free labels are tied to the true ones (0: Eq. 6)", NON_NEGATIVE, default=0.0)
    rounds = parameter("alternations between U and V_s, with free labels", Integer(1), default=5)
    iterations = parameter("most updates; none: 100, or 1000 as printed", Optional(Integer(1)), default=None)
    converged_at = parameter(
        "stop when an update changes the objective by this fraction of its range; none: 3e-4, or 0 as printed",
        Optional(NON_NEGATIVE),
        default=None,
    )
    variant = parameter("default: as improved here; paper: as printed", Choice(("default", "paper")), default="default")
    seed = parameter("seed of the random start of the printed form", Integer(0), default=0)

    @property
    def is_random(self) -> bool:
        """Only the printed form draws its start."""
        return self._form.random

    @property
    def effective_preprocessing(self) -> Preprocessing:
        """The printed form has its own."""
        return self._form.preprocessing or self.preprocessing

    @property
    def space(self) -> Space:
        """The ranges to search; those of the improvements only where they are used."""
        return self._form.space(super().space, self._improvements)

    _forms: ClassVar[Mapping[str, type[Form]]] = {"default": Form, "paper": Printed}
    _improvements: tuple[str, ...] = ("ridge", "shrinkage")

    @property
    def _form(self) -> Form:
        check_value(type(self), "variant", self.variant, self.parameters)
        return self._forms[self.variant](self)

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return class sums, the residual metric, and every feature's nearest for the largest k that is searched."""
        check_fit_inputs(X, y, S, read=False)
        require_non_negative("signatures", S)
        sums, counts = np.zeros((len(S), X.shape[1])), spectral.class_counts(y, len(S))

        for where, block in blocks_of(X):
            require_non_negative("features", block)
            add_by_class(sums, block, y[where])
        require_finite_sums(sums)
        statistics: Arrays = {"class_sums": sums, "class_counts": counts}
        if self._uses_residual:
            statistics |= feature_metric.prepare(X, y, sums, counts)
            square = feature_metric.square(statistics, float_type(X.dtype))
        else:
            square = spectral.scatter(X)
        index, cosine = nearest_columns(square, self._most_neighbours(space, "k_features"), float_type(X.dtype))
        statistics |= {
            "squared_length": np.asarray(np.trace(square)),
            "feature_neighbours": index,
            "feature_cosines": cosine,
        }
        if self.labels == "free" or "labels" in space:
            # Every row is compared with every other.
            graph = near_rows(spectral.gathered(X), self._most_neighbours(space, "k_instances"))
            statistics |= {name.replace("row_", "training_"): array for name, array in graph.items()}
        return statistics

    def prepare_score(self, X: Features, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the lengths of the rows over the range of ``shrinkage``, where that is searched."""
        return feature_metric.prepare_lengths(X, statistics, space)

    def _fit(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a), all non-negative."""
        S = np.asarray(S, dtype=np.float64)
        solution = self._form.learn(statistics, S, self.k_features or self.k)
        if self.labels == "free":
            solution = self._free_labels(X, y, S, solution, statistics)
        self.U_ = solution.factor
        weights = statistics["class_counts"] / statistics["class_counts"].sum()
        self.mean_ = statistics["class_sums"].sum(axis=0) / statistics["class_counts"].sum()
        self.prototype_mean_ = (weights @ S) @ self.U_.T
        self.metric_ = ResidualMetric(statistics, self.shrinkage) if self._uses_residual else EuclideanMetric()
        self.diagnostics_ = Diagnostics(
            series={"objective": solution.objective},
            numbers={"converged": float(solution.converged), "updates": float(len(solution.objective) - 1)},
        )

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the cosine of every row of X (n, d) with every signature of S (c, a), as ``compare`` says.

        Relative to the other classes of the row, on the scale of cosines, unless ``temperature`` is infinite.
        """
        lengths = feature_metric.lengths_at(self.shrinkage, statistics)
        cosines = self._common_scores(X, np.asarray(S, dtype=np.float64), lengths)
        return feature_metric.relative(cosines, self._form.temperature)

    def project(self, X: Features) -> np.ndarray:
        """Return the rows of X (n, d) in signature space (n, a): Eq. 10, with the regularised inverse if asked for."""
        inverse = self._form.inverse(self.U_).T.astype(float_type(X.dtype))
        return rowwise(X, lambda rows: np.asarray(rows @ inverse))

    def embeddings(self, X: np.ndarray, S: np.ndarray) -> Arrays:
        """Return the rows of X (n, d) in signature space (n, a), for maps."""
        return {"common scheme": self.project(X)}

    def restored_parts(self) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
        """Return how the metric is made again."""
        return {"metric_": feature_metric.restored_metric}

    def matrices(self) -> Arrays:
        """Return U (d, a) and, with free labels, V_s (n, c) as V_seen."""
        return {"U": self.U_, **({"V_seen": self.V_seen_} if self.labels == "free" else {})}

    def _free_labels(
        self, X: Features, y: np.ndarray, S: np.ndarray, start: Factorisation, statistics: Mapping[str, np.ndarray]
    ) -> Factorisation:
        """Go on from Eq. 7's solution to Eq. 6 with V_s free; keeps V_s as ``V_seen_``."""
        form = self._form
        W_features = affinity(
            statistics["feature_neighbours"], statistics["feature_cosines"], self.k_features or self.k
        )
        W_rows = affinity(statistics["training_neighbours"], statistics["training_cosines"], self.k_instances or self.k)
        curvature_U = float(np.einsum("c,ca,ca->", statistics["class_counts"], S, S)) / S.shape[1]
        curvature_V = float(np.mean(np.sum((S @ start.factor.T) ** 2, axis=1)))
        solution, self.V_seen_ = learn_both(
            X,
            y,
            S,
            start.factor,
            W_features,
            W_rows,
            lam=self.lam * form.graph_weight(curvature_U, W_features),
            ridge=form.ridge_weight(curvature_U),
            gamma=self.gamma_fit * form.graph_weight(curvature_V, W_rows),
            anchor=self.label_anchor * curvature_V,
            rounds=self.rounds,
            updates=max(1, form.stopping[0] // 10),
            normalise=form.normalise,
        )
        return solution

    @property
    def _uses_residual(self) -> bool:
        return self._form.compare == "residual"

    def _common_scores(self, X: Features, S: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        if self._form.compare == "inverse":
            return np.asarray(unit_rows(self.project(X)) @ unit_rows(S).T.astype(float_type(X.dtype)))
        origin, prototypes = self._placed(S)
        return self.metric_.cosines(X, prototypes, origin, lengths)

    def _placed(self, S: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Return what is taken off rows (d,), and class prototypes S U' (c, d): centred for the residual metric."""
        prototypes = S @ self.U_.T
        return (self.mean_, prototypes - self.prototype_mean_) if self._uses_residual else (None, prototypes)

    def _most_neighbours(self, space: Space, name: str) -> int:
        """Return the largest k that trials can ask of one graph: of its own parameter, else of ``k``."""
        most = largest_k(space, name, getattr(self, name))
        if most is None or (name in space and None in getattr(space[name], "values", ())):
            most = max(most or 0, largest_k(space, "k", self.k) or 0)
        return most


def require_non_negative(what: str, values: np.ndarray) -> None:
    """Raise :class:`MethodError` where a matrix that is to be factorised has a negative entry."""
    low = float(values.min()) if values.size else 0.0
    if low < 0:
        raise MethodError(
            f"{what} reach down to {low:.3g} but must be non-negative; preprocess them with shift or split"
        )

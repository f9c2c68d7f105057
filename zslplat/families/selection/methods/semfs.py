"""SemFS: features that predict the signatures of seen classes, for rows and for class centres alike.

Wang et al., "Zero-shot Feature Selection via Transferring Supervised Knowledge" (SemFS), Eq. 5:

    J(W, s) = |Y - X diag(s) W|^2 + alpha |Y - X-bar diag(s) W|^2 + gamma |W|^2,   s >= 0

| paper           | here            | shape  | meaning                                          |
|-----------------|-----------------|--------|--------------------------------------------------|
| X               | X               | (n, d) | features of seen rows                            |
| Y_s             | S[y]            | (n, m) | signature of each row (or ``row_signatures``)    |
| X-bar           | means           | (c, d) | class centres, one row per class here            |
| W               | W               | (a, m) | weights of the features with s_i > 0             |
| s               | scores_         | (d,)   | importance of the features                       |
| alpha, gamma, k | alpha, gamma, k |        | weight of the centres, ridge, number of features |

Eq. 4 wants s in {0, 1}^d with sum(s) = k, which ``forward`` takes as it stands. The relaxation in Eq. 5 drops the bound
as well, and has no minimiser (see ``alternating``). The variants differ in what takes its place.

Two more choices go beyond the paper, which says nothing of the scale of features. Features are centred and keep their
scale: a feature in units half as large needs a weight twice as large, so the penalty makes strong features cheap, and
those that are hardly ever active, which standardising blows up, stay weak. And the directions of the signatures are
made more equally strong (``targets``).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.families.selection.methods.base import (
    FEATURES,
    FeatureSelector,
    SelectionData,
    check_selection_inputs,
    class_targets,
    relative_pull,
    target_parameter,
    with_pull,
)
from zslplat.families.selection.methods.regression import (
    Regression,
    class_products,
    decorrelation,
    regression_statistics,
)
from zslplat.families.selection.methods.solvers import (
    PATH_END,
    PATH_STEP,
    Alternation,
    alternate,
    follow_path,
    importance,
    projected_gradient,
    select_forward,
)
from zslplat.methods.base import Arrays, Diagnostics, Prepared
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Real, Space, parameter


class SemFS(FeatureSelector):
    r"""Semantic feature selection (Wang et al.), in well-posed forms and as printed.

    ``variant``:

    * ``binary`` (default): s in {0, 1}^d and sum(s) = k, Eq. 4 itself, by forward selection; see ``forward``.
    * ``convex``: |s|^2 <= k. One optimal value, found to within ``precision`` of J(0), whatever the start.
    * ``sum``: sum(s) = k with s >= 0. Sparser, and not convex: the result depends on ``start``, which is ``convex``
      (the convex solution at ``start_gamma``, fast and the same each time) or ``uniform`` (s = k / d).
    * ``paper``: Algorithm 1 from s = 1, ``iterations`` times, each with ``inner_steps`` gradient steps of 1 / L.
    * ``ridge``: row norms of one ridge regression, which is how ``paper`` ranks with one inner step.

    ``k`` is the number of features, as in the paper; by default as many as are taken from the ranking. ``binary``
    chooses exactly k. ``convex`` and ``sum`` lower gamma from the one that is given until at least k features are
    active (diagnostics ``gamma_used``): above 1 it is the number of features that decides, mostly. Only where the
    signatures of the seen classes or the rows leave nothing to choose by, fewer are active.

    ``gamma`` is in units of the mean diagonal entry of X'X + alpha M'N M (``scale="mean"``), or absolute as in the
    paper (``scale="absolute"``). In convex and sum it acts through gamma / k and gamma / k^2.
    ``decorrelation`` in [0, 1] (not in the printed forms, which take signatures as they are) makes the directions of
    the signatures more equally strong, see ``targets``. ``target="labels"`` replaces them by one-hot labels.

    Features in different units want ``standardise`` instead of centring.

    Scores: s_i where s_i > 0 (``binary``: from 1 for the first feature down to 1 / k for the last); below zero
    otherwise, -1 for a feature that the residual does not pull at all and close to 0 for one that is about to enter.
    Not tagged ``stationary``: ``binary`` chooses features, which no gradient tells of, and ``convex`` is bounded by its
    duality gap instead, as its penalty has no gradient where a feature is left out.

    Learned: ``scores_``, ``ranking_``, ``active_`` (a,), ``W_`` (a, m).

    Equations
    ---------
    Features that predict the signatures of seen classes, for rows and for class centres alike (Eq. 5; Eq. 4 takes s
    from 0 and 1 with k ones):

    $$\min_{W,\, s \ge 0} \lVert Y - X \operatorname{diag}(s) W \rVert^2 + \alpha \lVert Y - \bar X
    \operatorname{diag}(s) W \rVert^2 + \gamma \lVert W \rVert^2$$

    Related
    -------
    ``semfs-c`` leaves the centres out; ``lasso-attributes`` regresses signatures one by one; ``random-features`` is the
    floor.
    """

    summary = "zero-shot feature selection from class signatures and class centres; well-posed and as printed"
    citation = "Wang, Wang, Zhao, Ye: Zero-shot Feature Selection via Transferring Supervised Knowledge. 2019"
    tags = ("supervised", "signatures", "linear", "monotone")
    preprocessing: ClassVar[Preprocessing] = Preprocessing(features=("center",), signatures=("center", "l2"))
    takes_blocks = True
    tolerance: ClassVar[float] = 1e-3
    tolerance_reason: ClassVar[str] = (
        "solved to a relative gap of 1e-9 in the objective, which leaves about its square root in the scores"
    )
    variant = parameter(
        "what bounds the scores: k of them are 1, |s|^2 <= k, sum(s) = k, nothing (paper), or one ridge regression",
        Choice(("binary", "convex", "sum", "paper", "ridge")),
        default="binary",
    )
    alpha = parameter("weight of the loss on class centres", NON_NEGATIVE, Real(1e-2, 1e2, log=True), default=1.0)
    gamma = parameter("ridge on W; convex and sum lower it at need", POSITIVE, Real(1e-2, 1e2, log=True), default=0.03)
    k = FEATURES
    scale = parameter("unit of gamma: mean diagonal of the Gram matrix", Choice(("mean", "absolute")), default="mean")
    target = target_parameter("attributes")
    decorrelation = parameter(
        "how far the directions of the signatures are made equally strong (not in printed forms)",
        Real(0, 1),
        Real(0, 1),
        default=0.5,
    )
    start = parameter("where variant=sum starts", Choice(("convex", "uniform")), default="convex")
    start_gamma = parameter("gamma of the convex solution that variant=sum starts from", POSITIVE, default=0.5)
    iterations = parameter("iterations of variant=paper, at most of variant=sum", Integer(1), default=20)
    inner_steps = parameter("gradient steps for s per iteration of variant=paper", Integer(1), default=1)
    precision = parameter("relative precision of the objective at which solvers stop", POSITIVE, default=1e-9)
    warm_start = parameter("variant=convex: begin with the last solution", Choice((True, False)), default=False)

    active_: np.ndarray
    W_: np.ndarray

    def _prepare(self, data: SelectionData, space: Space) -> Arrays:
        """Return class counts and means and the Gram matrix, or the rows where they are fewer than the features."""
        check_selection_inputs(data, read=False)
        # One-hot labels are the same for all rows of a class.
        labels_alone = self.target == "labels" and "target" not in space
        by_row = None if labels_alone else data.row_signatures
        statistics = regression_statistics(data.X, data.y, len(data.S), by_row)
        if by_row is None:
            for target in ("attributes", "labels") if "target" in space else (self.target,):
                statistics[f"products_{target}"] = class_products(statistics, class_targets(target, data.S))
        return statistics

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Score the features; the rows themselves are not read."""
        if self.target == "labels":
            statistics = {name: array for name, array in statistics.items() if name not in _OF_ROWS}
        products = None if "cross" in statistics else statistics.get(f"products_{self.target}")
        regression = Regression.build(statistics, class_targets(self.target, data.S), self.alpha, products=products)
        unit = regression.unit if self.scale == "mean" else 1.0
        gamma = self.gamma * unit
        if self.variant in ("paper", "ridge"):
            return self._fit_printed(regression, gamma)
        maps = decorrelation(regression.class_targets, self.decorrelation)
        if maps is not None:
            regression = regression.with_target(maps.forward)
        if self.variant == "binary":
            scores = self._fit_binary(regression, gamma)
        elif self.variant == "convex":
            scores = self._fit_convex(regression, gamma)
        else:
            scores = self._fit_sum(regression, gamma, self.start_gamma * unit)
        if maps is not None:
            self.W_ = self.W_ @ maps.back
        return scores

    @property
    def _features(self) -> int:
        return self.features_taken if self.k is None else self.k

    def _fit_binary(self, regression: Regression, gamma: float) -> np.ndarray:
        selection = select_forward(regression, gamma, self._features)
        d, order = len(regression.H), selection.order
        s, scores = np.zeros(d), np.zeros(d)
        s[order] = 1.0
        scores[order] = 1 - np.arange(len(order)) / max(len(order), 1)
        self.active_, self.W_ = (
            regression.weights(s, gamma) if len(order) else (order, np.zeros((0, selection.R.shape[1])))
        )
        self.diagnostics_ = Diagnostics(
            {"objective": selection.objective}, {"active_features": float(len(order)), "gamma_absolute": gamma}
        )
        return with_pull(scores, relative_pull(np.linalg.norm(selection.R, axis=1), scores > 0))

    def _fit_sum(self, regression: Regression, gamma: float, start_gamma: float) -> np.ndarray:
        k, start = self._features, self._start(regression, start_gamma)
        number, end, first = min(k, int(np.count_nonzero(start))), PATH_END * gamma, gamma
        while True:
            solution = alternate(
                regression,
                gamma,
                k,
                constraint="sum",
                start=start,
                iterations=max(self.iterations, 100),
                precision=self.precision,
            )
            if len(solution.active) >= number or gamma * PATH_STEP < end:
                break
            gamma *= PATH_STEP
        scores = self._finish(regression, solution, solution.s)
        self.diagnostics_.numbers["gamma_used"] = self.gamma * gamma / first
        return scores

    def _fit_printed(self, regression: Regression, gamma: float) -> np.ndarray:
        if self.variant == "paper":
            solution = projected_gradient(regression, gamma, iterations=self.iterations, inner_steps=self.inner_steps)
            return self._finish(regression, solution, solution.s)
        active, W = regression.weights(np.ones(len(regression.H)), gamma)
        objective = [regression.t - float(np.vdot(regression.H, W))]
        return self._finish(regression, Alternation(np.ones(len(W)), active, W, objective), np.linalg.norm(W, axis=1))

    def matrices(self) -> Arrays:
        """Return scores, ranking, active features and their weights."""
        return {**super().matrices(), "active": self.active_, "W": self.W_}

    def _fit_convex(self, regression: Regression, gamma: float) -> np.ndarray:
        previous = getattr(self, "solution_", None) if self.warm_start else None
        start = None
        if previous is not None and previous.shape == regression.H.shape:
            start = previous
        solution, used = follow_path(regression, gamma, self._features, start=start, precision=self.precision)
        s = np.zeros(len(regression.H))
        s[solution.active] = importance(solution.U, self._features)
        if self.warm_start:
            self.solution_ = np.zeros_like(regression.H)
            self.solution_[solution.active] = solution.U
        order = np.argsort(solution.active)
        self.active_ = solution.active[order]
        self.W_ = solution.U[order] / s[self.active_][:, None]
        self.diagnostics_ = Diagnostics(
            {"objective": solution.objective},
            {
                "active_features": float(len(solution.active)),
                "gap": solution.gap,
                "gamma_absolute": used,
                "gamma_used": self.gamma * used / gamma,
            },
        )
        return with_pull(s, solution.pull)

    def _start(self, regression: Regression, gamma: float) -> np.ndarray:
        d, k = len(regression.H), self._features
        if self.start == "uniform":
            return np.full(d, k / d)
        # s_i = 0 is absorbing: the start needs as many features as are wanted.
        solution, _ = follow_path(regression, gamma, k, precision=self.precision)
        s = np.zeros(d)
        s[solution.active] = importance(solution.U, k)
        return s * (k / s.sum()) if s.any() else np.full(d, k / d)

    def _finish(self, regression: Regression, solution: Alternation, scores: np.ndarray) -> np.ndarray:
        self.active_, self.W_ = solution.active, solution.W
        self.diagnostics_ = Diagnostics(
            {"objective": solution.objective}, {"active_features": float(np.count_nonzero(scores > 0))}
        )
        if (scores > 0).all():
            return scores
        U = solution.s[solution.active, None] * solution.W
        pulls = np.linalg.norm(regression.H - regression.product(solution.active, U), axis=1)
        return with_pull(scores, relative_pull(pulls, scores > 0))


class SemFSWithoutCentres(SemFS):
    r"""SemFS/c: SemFS without the loss on class centres (alpha = 0).

    Equations
    ---------
    ``semfs`` without the loss on the class centres:

    $$\min_{W,\, s \ge 0} \lVert Y - X \operatorname{diag}(s) W \rVert^2 + \gamma \lVert W \rVert^2$$

    Related
    -------
    ``semfs`` has the centres; ``lasso-attributes`` regresses signatures one by one.
    """

    summary = "SemFS without the loss on class centres (alpha = 0)"
    alpha = parameter("weight of the loss on class centres; 0 here", NON_NEGATIVE, default=0.0)


_OF_ROWS = ("cross", "class_signatures", "row_signatures", "signature_gram")

"""The method ``tmv-hlp``: what is prepared of a batch, and its scores.

What a batch is prepared for: the common space and the neighbours in it. Both depend on the costly hyperparameters
alone; weights, numbers of neighbours and the propagation are a trial's own.

Symbols in :mod:`.graphs`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.graph_smoothing import balanced, log_shares
from zslplat.families.zero_shot.methods.tmv_hlp import graphs
from zslplat.families.zero_shot.methods.tmv_hlp.graphs import (
    Crossing,
    canonical_projections,
    crossing,
    mean_distance,
    propagate,
)
from zslplat.methods.base import Arrays, Diagnostics, Prepared, Statistics
from zslplat.methods.neighbours import largest_k, nearest
from zslplat.methods.rows import unit_rows
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Real, Space, parameter

SEMANTIC = {"both": (0, 1), "regressed": (0,), "attributes": (1,)}


class TMVHLP(ZeroShotMethod):
    r"""Transductive multi-view hypergraph label propagation (Fu et al., ECCV 2014).

    The views of a batch are the data set's own (one where it names none) and two semantic projections of all features.
    Prototypes of the classes are placed by their signatures in the semantic views, moved to the mean of the rows next
    to them (``nearest``, relative to the rows per candidate class: 0.8 in the paper; 0 leaves them), and are their mean
    in the other views. ``links`` is the number of rows that a prototype is joined to, in the same unit (9 k in the
    paper: 0.44). ``semantic_weight`` is the weight of the semantic views in the 2-graph beside 1 of the others (1 and
    1.5 in the paper). ``steps`` is how often labels are propagated, each time from the result before, without setting
    the prototypes back. ``variant="paper"`` has the paper's values and ten such steps. ``balance`` divides each class's
    scores by their sum over the batch to this power, as in ``gfhf``; the paper has none. Scores are the logs of a row's
    shares of the classes. Learned: the maps of :mod:`zslplat.families.zero_shot.methods.tmv_hlp.graphs`, and ``ends_``,
    the columns where the views end.

    Equations
    ---------
    Rows and class prototypes are nodes of graphs in several views, joined by hyperedges across views, and labels are
    propagated:

    $$F = (I - \alpha S)^{-t} L, \qquad S = D^{-1/2} W D^{-1/2}, \qquad W = (1 - h)\, G + h\, H^\top H$$

    G is the graph within views, H the hyperedges, h their weight ``hypergraph``, L one column for each class, t the
    ``steps``: 1 by default, 10 with ``variant="paper"``.

    Related
    -------
    ``gfhf`` propagates over one graph; ``mfmr-joint`` factorises; ``eszsl-smoothed`` is the control.
    """

    summary = "label propagation over a hypergraph across the views of the scored batch"
    citation = "Fu et al.: Transductive Multi-view Embedding for Zero-Shot Recognition and Annotation. ECCV 2014"
    tags = ("transductive", "graph", "views")
    transductive = True
    preprocessing = Preprocessing(features=("standardise",), signatures=("center", "l2"))
    tolerance = 1e-2
    tolerance_reason = "neighbours whose cosines differ in the last digits of float32 change places"
    expected_failures = {
        "views_side_by_side_are_one_feature_set": "each view has a graph of its own, so that two views are not one"
    }
    costly = ("ridge", "shrinkage", "power", "dimensions", "projections")
    ridge = parameter(
        "ridge of the semantic projections, in units of the mean eigenvalue of the features",
        POSITIVE,
        Real(1e-2, 1e2, log=True, steps=5),
        default=1.0,
    )
    shrinkage = parameter(
        "shrinkage of each view's covariance in canonical correlation analysis, in units of its mean eigenvalue",
        POSITIVE,
        Real(0.03, 3, log=True, steps=5),
        default=0.1,
    )
    power = parameter("power of the eigenvalues by which directions are weighted", NON_NEGATIVE, default=4.0)
    dimensions = parameter("largest number of directions of the common space", Integer(1), default=256)
    projections = parameter("semantic views: regression, attributes, or both", Choice(tuple(SEMANTIC)), default="both")
    nearest = parameter(
        "rows that a prototype becomes the mean of, relative to the rows per class; 0: it stays",
        NON_NEGATIVE,
        Real(0.1, 1.0),
        default=0.5,
    )
    k = parameter("neighbours of a row within and across views", Integer(1), Integer(5, 50, log=True), default=20)
    links = parameter("rows joined to a prototype, per rows of a class", POSITIVE, Real(0.1, 1.0), default=0.4)
    semantic_weight = parameter(
        "weight of the semantic views in the graph within views", POSITIVE, Real(0.25, 4, log=True), default=1.0
    )
    hypergraph = parameter("weight of hyperedges against the graph within views", Real(0, 1), Real(0, 1), default=0.75)
    alpha = parameter("how far labels are propagated", Real(0, 0.9999), Real(0.1, 0.99), default=0.5)
    balance = parameter("how far the masses of classes are made equal (1: all the way)", Real(0, 1), default=0.0)
    steps = parameter("times that labels are propagated, each time from the result before", Integer(1), default=1)
    variant = parameter("default, or paper: its values, and ten steps", Choice(("default", "paper")), default="default")
    variants = {
        "paper": {
            **{"nearest": 0.8, "k": 30, "links": 0.44, "semantic_weight": 1.5},
            **{"hypergraph": 0.75, "alpha": 0.5, "steps": 10},
        }
    }

    @property
    def assumes_balance(self) -> bool:
        """Where ``balance`` is above 0."""
        return self.balance > 0

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the semantic projections."""
        check_fit_inputs(X, y, S)
        S = np.asarray(S, dtype=np.float64)
        sums, counts = spectral.class_sums(X, y, len(S)), spectral.class_counts(y, len(S))
        return graphs.solve(spectral.scatter(X), sums, counts, S, self.ridge)

    def prepare_score(self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the batch in the common space and its neighbours for the largest k; nothing without projections."""
        if not statistics:
            return {}
        ends = np.cumsum([view.width for view in self.views]) if self.views else np.array([X.shape[1]])
        return self._prepared(X, statistics, ends, largest_k(space, "k", self.k) or self.k)

    def _fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        self.mean_, self.signature_mean_, self.cut_, self.slope_, self.middle_ = (
            np.array(statistics[name]) for name in ("mean", "signature_mean", "cut", "slope", "middle")
        )
        self.regression_, self.detectors_ = np.array(statistics["regression"]), np.array(statistics["detectors"])
        self.ends_ = np.cumsum([view.width for view in self.views]) if self.views else np.array([X.shape[1]])

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the logs of the shares (n, c) of the classes with signatures S (c, a) in each row of X (n, d)."""
        prepared = statistics or self._prepared(X, self._learned(), self.ends_, self.k)
        count = len([name for name in prepared if name.startswith("rows.")])
        rows = [np.asarray(prepared[f"rows.{i}"]) for i in range(count)]
        n, c = len(X), len(S)
        prototypes = self._prototypes(np.asarray(S, dtype=np.float64), prepared, rows)
        links = min(n, max(1, round(self.links * n / c)))
        shares = graphs.agreement(rows)
        semantic_views = len(SEMANTIC[self.projections])
        weights = shares * np.where(np.arange(count) < count - semantic_views, 1.0, self.semantic_weight)
        weights /= weights.sum()
        graph = sum(
            weight
            * graphs.two_graph(
                prepared[f"near.{i}"],
                np.asarray(prepared[f"cosine.{i}"]),
                self.k,
                float(prepared[f"gamma.{i}"]),
                prototypes[i] @ rows[i].T,
                links,
            )
            for i, weight in enumerate(weights)
        )
        edges = graphs.hyperedges(_crossings(prepared, count), rows, prototypes, self.k, links)
        F = propagate(graph, edges, self.hypergraph, self.alpha, np.arange(n, n + c), self.steps)[:n]
        numbers = {f"share_of_view_{i + 1}": float(weight) for i, weight in enumerate(weights)}
        self.diagnostics_ = Diagnostics(numbers=numbers)
        return log_shares(balanced(np.maximum(F, 0), self.balance))

    def _learned(self) -> Arrays:
        return {name: getattr(self, f"{name}_") for name in graphs.LEARNED}

    def _prepared(self, X: np.ndarray, learned: Mapping[str, np.ndarray], ends: np.ndarray, k: int) -> Arrays:
        """Return ``rows.i``, ``near.i``, ``cosine.i``, ``gamma.i`` of view i, ``maps.i`` and ``means.i`` where it is
        semantic, ``values``, and what :class:`Crossing` holds of views i and j as ``cross.i.j.*``."""
        chosen = SEMANTIC[self.projections]
        X = np.asarray(X, dtype=np.float64)
        projected = graphs.project(X, learned)
        views = [*np.split(X, ends[:-1], axis=1), *(projected[i] for i in chosen)]
        projections = canonical_projections(views, self.shrinkage, self.dimensions)
        rows = [projections.project(i, view, self.power) for i, view in enumerate(views)]
        prepared: Arrays = {}
        for j, points in enumerate(rows):
            near, cosine = nearest(points, k)
            prepared |= {f"rows.{j}": points, f"near.{j}": near, f"cosine.{j}": cosine}
            prepared[f"gamma.{j}"] = np.asarray(mean_distance(points, points))
            for i, other in enumerate(rows):
                if i != j:
                    crossed = crossing(other, points, k)
                    prepared |= {f"cross.{i}.{j}.{name}": np.asarray(values) for name, values in vars(crossed).items()}
        first = len(views) - len(chosen)
        for number, _ in enumerate(chosen):
            prepared[f"maps.{number}"] = projections.maps[first + number] * projections.values**self.power
            prepared[f"means.{number}"] = projections.means[first + number]
        return prepared

    def _prototypes(
        self, S: np.ndarray, prepared: Mapping[str, np.ndarray], rows: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Return the prototypes (c, r) in every view, float32."""
        placed = graphs.prototypes(S, self._learned())
        chosen = SEMANTIC[self.projections]
        count = min(len(rows[0]), round(self.nearest * len(rows[0]) / len(S)))
        if self.nearest > 0:
            count = max(1, count)
        moved = []
        for number, which in enumerate(chosen):
            view_rows = rows[len(rows) - len(chosen) + number]
            point = unit_rows((placed[which] - prepared[f"means.{number}"]) @ prepared[f"maps.{number}"])
            moved.append(graphs.self_trained(point.astype(np.float32), view_rows, count))
        between = unit_rows(np.mean(moved, axis=0))
        return [*([between] * (len(rows) - len(chosen))), *moved]

    def matrices(self) -> Arrays:
        """Return the maps (d, a) to signatures and to attributes."""
        return {"regression": self.regression_, "detectors": self.detectors_}


def _crossings(prepared: Mapping[str, np.ndarray], count: int) -> dict[tuple[int, int], Crossing]:
    crossings = {}
    for i, j in itertools.permutations(range(count), 2):
        index, value, gamma, centre, spread = (
            np.asarray(prepared[f"cross.{i}.{j}.{name}"]) for name in ("index", "value", "gamma", "centre", "spread")
        )
        crossings[i, j] = Crossing(index, value, float(gamma), centre, spread)
    return crossings

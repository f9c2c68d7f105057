"""FSASL: feature selection with structure learned along the way, without labels.

Du, Shen, "Unsupervised Feature Selection with Adaptive Structure Learning", KDD 2015. Rows are samples here.

| paper       | here       | shape  | meaning                                                                |
|-------------|------------|--------|------------------------------------------------------------------------|
| X           | X          | (n, d) | features                                                               |
| W           | W          | (d, K) | projection; a feature counts by the length of its row                  |
| S           | S          | (n, n) | global structure: each row as a sparse combination of the others       |
| P           | P          | (n, n) | local structure: row i holds the shares of its k nearest, summing to 1 |
| L_S, L_P    | laplacian  | (n, n) | (I - S)'(I - S), and the Laplacian of the symmetric part of P          |
| alpha, beta | ..._weight |        | ``global_weight`` and ``local_weight``: weights of L_S and L_P         |
| gamma       | sparsity   |        | weight of |W|_{2,1}                                                    |

Each round learns S and P on the rows (projected by the last W) and then W: the lowest K eigenvectors Y of
global_weight L_S + local_weight L_P, regressed on X under sparsity |W|_{2,1}. This is the default of the authors' code;
the paper bounds W by W'X'XW = I instead.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import linalg

from zslplat.families.coding.methods.sparse_codes import sparse_codes
from zslplat.families.selection.methods.base import SEED_DRAWS_ROWS, SampleSelector, SelectionData
from zslplat.methods.base import Diagnostics, Prepared
from zslplat.space import NON_NEGATIVE, POSITIVE, Integer, Optional, Real, parameter


def sparse_structure(Z: np.ndarray, strength: float) -> np.ndarray:
    """Return S (n, n): row i is the LASSO of row i of Z on the other rows, zero on the diagonal.

    The l1 weight of each row is ``strength`` times the smallest at which it would be zero.
    """
    n = len(Z)
    gram = Z @ Z.T
    # Projected rows have low rank and very different lengths: without this, rounding can leave negative pivots.
    gram[np.diag_indices_from(gram)] += 1e-8 * float(gram.diagonal().max())
    S = np.zeros((n, n))
    everything = np.arange(n)
    for i in range(n):
        others = everything != i
        products = gram[i, others]
        weight = 2 * strength * float(np.abs(products).max(initial=0.0))
        if weight > 0:
            S[i, others] = sparse_codes(gram[np.ix_(others, others)], products[None], weight)[0]
    return S


def local_structure(Z: np.ndarray, neighbours: int) -> np.ndarray:
    """Return P (n, n): row i minimises sum_j d_ij p_j + mu p_j^2 over shares of its nearest, d squared distances.

    mu is the mean over rows of (k d_{k+1} - sum_{j<=k} d_j) / 2, which leaves about k shares above zero.
    """
    n = len(Z)
    k = min(neighbours, n - 2)
    squares = np.einsum("ij,ij->i", Z, Z)
    D = np.maximum(squares[:, None] + squares - 2 * (Z @ Z.T), 0.0)
    np.fill_diagonal(D, np.inf)
    nearest = np.argsort(D, axis=1, kind="stable")[:, : k + 1]
    distances = np.take_along_axis(D, nearest, axis=1)
    mu = float(np.mean(0.5 * (k * distances[:, k] - distances[:, :k].sum(axis=1))))
    P = np.zeros((n, n))
    shares = project_to_simplex(-distances[:, :k] / (2 * max(mu, np.finfo(np.float64).eps)))
    np.put_along_axis(P, nearest[:, :k], shares, axis=1)
    return P


def project_to_simplex(rows: np.ndarray) -> np.ndarray:
    """Return the nearest points with non-negative entries of sum 1, row by row."""
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1) / np.arange(1, rows.shape[1] + 1)
    positive = np.count_nonzero(falling > excess, axis=1)
    return np.maximum(rows - np.take_along_axis(excess, positive[:, None] - 1, axis=1), 0.0)


def row_sparse_regression(
    X: np.ndarray, Y: np.ndarray, sparsity: float, iterations: int = 30
) -> tuple[np.ndarray, list[float]]:
    """Minimise |X W - Y|^2 + sparsity |W|_{2,1} by reweighting; return W (d, K) and the objective, which falls.

    W = D X'(X D X' + sparsity / 2 I)^-1 Y with D = diag(|w_i|): an (n, n) system, whatever d is.
    """
    lengths = np.ones(X.shape[1])
    objective: list[float] = []
    W = np.zeros((X.shape[1], Y.shape[1]))
    for _ in range(iterations):
        scaled = X * lengths
        system = scaled @ X.T
        system[np.diag_indices_from(system)] += sparsity / 2
        W = scaled.T @ linalg.solve(system, Y, assume_a="pos")
        lengths = np.linalg.norm(W, axis=1)
        residual = X @ W - Y
        objective.append(float(np.vdot(residual, residual)) + sparsity * float(lengths.sum()))
        if len(objective) > 1 and objective[-2] - objective[-1] <= 1e-8 * objective[-2]:
            break
    return W, objective


class FSASL(SampleSelector):
    r"""Unsupervised feature selection with adaptive structure learning (Du, Shen, 2015).

    ``global_weight`` and ``local_weight`` weigh the two structures, ``sparsity`` the row-sparse norm (relative to the
    smallest at which W would be zero), ``strength`` the l1 norm in the global structure; ``neighbours`` and
    ``clusters`` (none: number of seen classes) shape the local structure and the embedding. ``iterations`` rounds.
    One LASSO per row and round makes the cost, so at most ``rows`` rows are used. Not tagged ``stationary``: the
    structures and W take turns for so many rounds, each round with an objective of its own.

    Equations
    ---------
    Structure of the rows and a sparse projection are learned in turns, without labels: each row from the others (S),
    each row from its nearest (P), and an embedding Y of both regressed on the features:

    $$\min_W \lVert X W - Y \rVert^2 + \gamma \lVert W \rVert_{2,1}, \qquad Y = \text{lowest eigenvectors of } \alpha
    L_S + \beta L_P$$

    Related
    -------
    ``mcfs`` has a fixed graph; ``semfs`` and ``lasso-attributes`` use signatures; ``random-features`` is the floor.
    """

    summary = "unsupervised feature selection with adaptive structure learning"
    citation = "Du, Shen: Unsupervised Feature Selection with Adaptive Structure Learning. KDD 2015"
    tags = ("baseline", "unsupervised")
    random = True
    expected_failures = SEED_DRAWS_ROWS
    tolerance: ClassVar[float] = 1e-2
    tolerance_reason: ClassVar[str] = "eigenvectors of nearly equal eigenvalues may mix"
    objective_may_rise = "every round learns another graph, and so asks another regression"
    global_weight = parameter("weight of the global structure", NON_NEGATIVE, Real(1e-2, 1e2, log=True), default=1.0)
    local_weight = parameter("weight of the local structure", POSITIVE, Real(1e-2, 1e2, log=True), default=1.0)
    sparsity = parameter(
        "weight of |W|_{2,1}, relative to the smallest that gives no features",
        Real(0, 1, open_low=True),
        Real(1e-2, 0.9, log=True),
        default=0.1,
    )
    strength = parameter("l1 weight of the global structure, relative", Real(0, 1, open_low=True), default=0.01)
    neighbours = parameter("neighbours of the local structure", Integer(1), default=5)
    clusters = parameter("eigenvectors; none for the number of seen classes", Optional(Integer(1)), default=None)
    iterations = parameter("rounds of structure and projection", Integer(1), default=5)
    rows = 500

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Score the features by the rows of W; labels serve to draw rows evenly and to set the number of clusters."""
        Z = self._drawn(data, statistics)[1].astype(np.float64)
        clusters = min(self.clusters or len(data.S), len(Z) - 1)
        projected, W = Z, np.zeros((Z.shape[1], clusters))
        objectives: list[float] = []
        for number in range(self.iterations):
            laplacian = self._laplacian(projected, first=number == 0)
            Y = linalg.eigh(laplacian, subset_by_index=[0, clusters - 1])[1]
            # |X_i'Y| <= sparsity / 2 for every feature is when W = 0 is optimal.
            weight = self.sparsity * 2 * float(np.linalg.norm(Z.T @ Y, axis=1).max(initial=0.0))
            W, objective = row_sparse_regression(Z, Y, max(weight, np.finfo(np.float64).tiny))
            objectives.append(objective[-1])
            projected = Z @ W
        self.diagnostics_ = Diagnostics({"objective_of_round": objectives})
        return np.asarray(np.linalg.norm(W, axis=1))

    def _laplacian(self, Z: np.ndarray, *, first: bool) -> np.ndarray:
        P = local_structure(Z, self.neighbours)
        symmetric = (P + P.T) / 2
        laplacian = self.local_weight * (np.diag(symmetric.sum(axis=1)) - symmetric)
        # As in the authors' code, the raw rows of the first of several rounds get no global structure.
        if self.global_weight > 0 and not (first and self.iterations >= 5):
            gap = np.eye(len(Z)) - sparse_structure(Z, self.strength)
            laplacian += self.global_weight * (gap.T @ gap)
        return np.asarray(laplacian)

"""MCFS: features that reconstruct the spectral embedding of the rows.

Cai, Zhang, He, "Unsupervised Feature Selection for Multi-Cluster Data", KDD 2010.

| paper | here      | shape  | meaning                                                              |
|-------|-----------|--------|----------------------------------------------------------------------|
| W     | affinity  | (n, n) | k nearest neighbour graph, symmetric by union; binary or heat kernel |
| D, L  |           | (n, n) | degrees, L = D - W                                                   |
| y_k   | embedding | (n, K) | eigenvectors of L y = lambda D y after the constant one (Eq. 2)      |
| a_k   | weights   | (d, K) | sparse regression of y_k on the features by LARS (Eq. 4)             |
|       | scores_   | (d,)   | max over k of |a_kj| (Eq. 5)                                         |
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh
from sklearn.linear_model import lars_path_gram
from sklearn.neighbors import kneighbors_graph

from zslplat.families.selection.methods.base import (
    SEED_DRAWS_ROWS,
    SampleSelector,
    SelectionData,
    relative_pull,
    with_pull,
)
from zslplat.methods.base import Arrays, Prepared
from zslplat.space import BOOLEAN, Choice, Integer, Optional, Space, parameter


def affinity(X: np.ndarray, neighbours: int, heat: bool) -> sparse.csr_array:
    """Return the symmetric nearest neighbour graph (n, n): 1, or exp(-|x_i - x_j|^2 / t), t the mean over edges."""
    graph = sparse.csr_array(kneighbors_graph(X, min(neighbours, len(X) - 1), mode="distance"))
    squared = graph.data.astype(np.float64) ** 2
    graph.data = (
        np.exp(-squared / max(float(squared.mean()), np.finfo(np.float64).tiny)) if heat else np.ones_like(squared)
    )
    return sparse.csr_array(graph.maximum(graph.T))


def spectral_embedding(W: sparse.csr_array, dimensions: int) -> np.ndarray:
    """Return the eigenvectors (n, K) of L y = lambda D y for the smallest lambda, without the first, of length 1."""
    n = W.shape[0]
    dimensions = min(dimensions, n - 1)
    root = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    normalised = sparse.diags_array(1 / root) @ W @ sparse.diags_array(1 / root)
    if dimensions + 1 >= n - 1 or n <= 200:
        values, vectors = np.linalg.eigh(normalised.toarray())
    else:
        values, vectors = eigsh(normalised, k=dimensions + 1, which="LA", v0=root)
    largest_first = np.argsort(-values, kind="stable")[1 : dimensions + 1]
    Y = vectors[:, largest_first] / root[:, None]
    return np.asarray(Y / np.linalg.norm(Y, axis=0))


class MCFS(SampleSelector):
    r"""Multi-cluster feature selection (Cai, Zhang, He, 2010), without labels.

    ``neighbours`` and ``heat`` make the graph; ``clusters`` is the number of eigenvectors (none: the number of seen
    classes); ``cardinality`` the number of features that each regression may use. At most ``rows`` rows are used.
    Features in no regression follow below zero, by the length of their correlation with the residuals.

    Equations
    ---------
    Eigenvectors of the neighbour graph tell the clusters of the rows, and the features that reconstruct them count:

    $$L y = \lambda D y, \qquad \min_a \lVert y_k - X a \rVert^2 \text{ with few entries}, \qquad \mathrm{score}_j =
    \max_k |a_{kj}|$$

    Related
    -------
    ``fsasl`` learns the graph along with the features; ``lasso-labels`` regresses labels in place of eigenvectors.
    """

    summary = "multi-cluster feature selection: sparse regression of a spectral embedding"
    citation = "Cai, Zhang, He: Unsupervised Feature Selection for Multi-Cluster Data. KDD 2010"
    tags = ("baseline", "unsupervised")
    random = True
    expected_failures = {
        **SEED_DRAWS_ROWS,
        "order_of_rows_does_not_matter": "a graph in several parts has several constant eigenvectors, in any basis",
    }
    tolerance: ClassVar[float] = 1e-2
    tolerance_reason: ClassVar[str] = "eigenvectors of nearly equal eigenvalues may mix"
    neighbours = parameter("neighbours in the graph", Integer(1), Integer(3, 15), default=5)
    heat = parameter("heat kernel on the edges, in place of 1", BOOLEAN, Choice((True, False)), default=False)
    clusters = parameter("eigenvectors; none for the number of seen classes", Optional(Integer(1)), default=None)
    cardinality = parameter("features that each regression may use", Integer(1), Integer(10, 100), default=50)
    rows = 3000

    def _prepare(self, data: SelectionData, space: Space) -> Arrays:
        """Return the Gram matrix of the features, and its products with Y, or where the graph is searched the rows."""
        if {"rows", "seed"} & set(space):
            return {}
        drawn = self._drawn(data, {})[1]
        Z = drawn.astype(np.float64)
        arrays = {"gram": Z.T @ Z}
        if not {"neighbours", "heat", "clusters"} & set(space):
            arrays["products"] = self._products(Z, len(data.S))
        elif self.rows is not None:
            arrays["drawn_rows"] = drawn
        return arrays

    def _score(self, data: SelectionData, statistics: Prepared) -> np.ndarray:
        """Score the features; labels serve to draw rows evenly, and to set the number of clusters."""
        if "products" in statistics:
            products = np.asarray(statistics["products"])
        else:
            products = self._products(self._drawn(data, statistics)[1].astype(np.float64), len(data.S))
        gram = np.array(statistics["gram"])
        rows = len(data.y) if self.rows is None else min(self.rows, len(data.y))
        weights = np.column_stack([self._regression(gram, column, rows) for column in products.T])
        scores = np.abs(weights).max(axis=1)
        pulls = np.linalg.norm(products - gram @ weights, axis=1)
        return with_pull(scores, relative_pull(pulls, scores > 0))

    def _products(self, Z: np.ndarray, classes: int) -> np.ndarray:
        """Return X'Y (d, K) for the embedding Y."""
        Y = spectral_embedding(affinity(Z, self.neighbours, self.heat), self.clusters or classes)
        return np.asarray(Z.T @ Y)

    def _regression(self, gram: np.ndarray, product: np.ndarray, rows: int) -> np.ndarray:
        """Eq. 4 by least angle regression, stopped at ``cardinality`` features."""
        steps = min(self.cardinality, len(gram))
        weights = lars_path_gram(product, gram, n_samples=rows, max_iter=steps, method="lar", return_path=False)[2]
        return np.asarray(weights)

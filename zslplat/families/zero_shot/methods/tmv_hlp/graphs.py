"""The nodes of a batch, rows and class prototypes, joined within views and by hyperedges across views.

| paper     | here           | shape    | meaning                                                                      |
|-----------|----------------|----------|------------------------------------------------------------------------------|
|           | rows[i]        | (n, r)   | rows in view i, of length one                                                |
|           | prototypes[i]  | (c, r)   | one node per class in view i, of length one                                  |
| omega^i   | two_graph(...) | (N, N)   | similarity within view i where one is a neighbour of the other, N = n + c    |
| t_ij, PG  | agreement(...) | (V,)     | share of each view in the 2-graph: nearness of its rows to other views'      |
| E^ij, h   | hyperedges     | (E, N)   | per ordered pair of views and node l one edge: whom l is near to in view j   |
| omega_H   | H'H            | (N, N)   | H'diag(w) H with columns of unit length, w mean of an edge's entries         |

Neighbourhoods are made symmetric by (K + K')/2. Rows have k neighbours among the rows; prototypes have a larger number
of their own, so that they are reached. (In the published code prototypes may also take a place among a row's k.)

Labels propagated through a similarity graph that is never formed.

| paper  | here          | shape      | meaning                                                                    |
|--------|---------------|------------|----------------------------------------------------------------------------|
| W      | graph, edges  | (N, N)     | (1 - h) graph + h H'H: 2-graph and similarity of hyperedges                |
| D      | degree        | (N,)       | row sums of W                                                              |
| S      | normalised    | (N, N)     | D^-1/2 W D^-1/2                                                            |
| F      | return        | (N, c)     | (I - alpha S)^-1 L, L one column per labelled node                         |

The paper's labels are 2 I - 1 on the labelled nodes, which changes no comparison of classes: what the -1 add is the
same in all columns of a row. A row of H'H has as many entries as a node has neighbours of neighbours; conjugate
gradients need products only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import sparse

from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods.tmv_hlp.neighbourhoods import Crossing, largest, similarity
from zslplat.methods.rows import unit_rows

# Rows that lie closer in two views (cosine 0.995) count as if they were so far apart: else the weight of a view could
# be infinite.
NEAREST = 0.1


def self_trained(placed: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return prototypes (c, r) moved to the mean of the ``count`` rows (n, r) with the largest cosine; 0: unmoved."""
    if count == 0 or len(rows) == 0:
        return placed
    index, _ = largest(placed @ rows.T, count)
    return unit_rows(rows[index].mean(axis=1))


def agreement(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the share (V,) of each view: 1/distance, where above 1/sqrt 2, summed over rows and other views."""
    near = np.zeros((len(rows), len(rows)))
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            distance = np.linalg.norm(rows[i].astype(np.float64) - rows[j], axis=1)
            near[i, j] = near[j, i] = float(np.sum(1 / np.maximum(distance[distance < np.sqrt(2)], NEAREST)))
    degree = near.sum(axis=1)
    return np.asarray(degree / degree.sum() if degree.sum() > 0 else np.full(len(rows), 1 / len(rows)))


def two_graph(
    index: np.ndarray, cosine: np.ndarray, k: int, gamma: float, to_rows: np.ndarray, links: int
) -> sparse.csr_array:
    """Return the graph (N, N) within one view.

    ``index`` and ``cosine`` (n, at least k) are the nearest rows of every row, ``to_rows`` (c, n) the cosines of the
    prototypes with the rows, of which each prototype keeps ``links``.
    """
    within = _lists(index[:, :k], similarity(cosine[:, :k], gamma), len(index))
    near, value = largest(to_rows, links)
    return _symmetric(within, _lists(near, similarity(value, gamma), len(index)))


def hyperedges(
    crossings: Mapping[tuple[int, int], Crossing],
    rows: Sequence[np.ndarray],
    prototypes: Sequence[np.ndarray],
    k: int,
    links: int,
) -> sparse.csr_array:
    """Return H (E, N) of all ordered pairs of views, scaled so that their similarity is H'H, with a diagonal of 1."""
    parts = []
    for (i, j), crossed in crossings.items():
        between = _lists(crossed.index[:, :k], np.maximum(crossed.value[:, :k], 0), len(rows[j]))
        near, value = largest(crossed.standardised(prototypes[i] @ rows[j].T), links)
        parts.append(_symmetric(between, _lists(near, np.maximum(value, 0), len(rows[j]))))
    return scaled(sparse.csr_array(sparse.vstack(parts, format="csr")))


def scaled(edges: sparse.csr_array) -> sparse.csr_array:
    """Return diag(w)^1/2 H diag(q), w the mean of an edge's positive entries, q such that columns have length one."""
    positive = np.asarray((edges > 0).sum(axis=1)).ravel()
    weight = np.asarray(edges.sum(axis=1)).ravel() / np.maximum(positive, 1)
    weighted = sparse.csr_array(sparse.diags_array(np.sqrt(weight)) @ edges)
    length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=0)).ravel())
    return sparse.csr_array(weighted @ sparse.diags_array(1 / np.where(length > 0, length, 1)))


def _lists(index: np.ndarray, value: np.ndarray, width: int) -> sparse.csr_array:
    """Return a sparse matrix (m, width) with the values (m, k) at the places (m, k)."""
    m, k = index.shape
    starts = np.arange(0, m * k + 1, k) if k else np.zeros(m + 1, dtype=np.int64)
    return sparse.csr_array((value.ravel().astype(np.float64), index.ravel(), starts), shape=(m, width))


def _symmetric(among_rows: sparse.csr_array, links: sparse.csr_array) -> sparse.csr_array:
    """Return [[K + K', L'], [L, 0]] / 2 for neighbours K (n, n) of rows and L (c, n) of prototypes."""
    return sparse.csr_array(sparse.block_array([[among_rows + among_rows.T, links.T], [links, None]], format="csr") / 2)


RESIDUAL = 1e-9  # relative to a label; what reaches a row far from it is small beside that
MOST_STEPS = 2000


def propagate(
    graph: sparse.csr_array, edges: sparse.csr_array, share: float, alpha: float, labelled: np.ndarray
) -> np.ndarray:
    """Return F (N, c) for one label on each of the nodes ``labelled`` (c,).

    ``graph`` (N, N) symmetric, non-negative; ``edges`` H (E, N), non-negative; ``share`` h in [0, 1]; ``alpha`` in
    [0, 1). Raises :class:`MethodError` where the solver does not converge.
    """
    back = sparse.csr_array(edges.T)

    def similar(vectors: np.ndarray) -> np.ndarray:
        total = np.zeros(vectors.shape)
        if share < 1:
            total += (1 - share) * (graph @ vectors)
        if share > 0:
            total += share * (back @ (edges @ vectors))
        return total

    nodes = graph.shape[0]
    degree = similar(np.ones((nodes, 1)))
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1))
    labels = np.zeros((nodes, len(labelled)))
    labels[labelled, np.arange(len(labelled))] = 1
    return conjugate_gradients(lambda V: V - alpha * scale * similar(scale * V), labels)


def conjugate_gradients(apply: Callable[[np.ndarray], np.ndarray], right: np.ndarray) -> np.ndarray:
    """Return A^-1 B (N, c) for symmetric positive definite A, given as a product, all columns at once.

    Raises :class:`MethodError` where a residual is above its bound after so many steps.
    """
    solution, residual = np.zeros_like(right), right.copy()
    direction, square = residual.copy(), np.einsum("ij,ij->j", residual, residual)
    bound = RESIDUAL**2 * np.where(square > 0, square, 1)
    for _ in range(MOST_STEPS):
        if (square <= bound).all():
            return solution
        image = apply(direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        # A column that has arrived rests while the others go on.
        step = np.where(square > bound, square / np.where(curvature > 0, curvature, 1), 0)
        solution += step * direction
        residual -= step * image
        new = np.einsum("ij,ij->j", residual, residual)
        direction = residual + np.where(square > 0, new / np.where(square > 0, square, 1), 0) * direction
        square = new
    raise MethodError(f"conjugate gradients did not converge in {MOST_STEPS} steps; lower alpha")

"""Labels propagated through a similarity graph that is never formed.

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

from collections.abc import Callable

import numpy as np
from scipy import sparse

from zslplat.errors import MethodError

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

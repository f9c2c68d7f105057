"""From the views of a batch to the labels of its rows: one space, similarity graphs, propagation.

Multi-view canonical correlation analysis
-----------------------------------------
One space for the rows of all views.

| paper  | here      | shape    | meaning                                                                       |
|--------|-----------|----------|-------------------------------------------------------------------------------|
| Phi^i  | views[i]  | (n, d_i) | rows of view i; m_i their mean                                                |
| Sigma  | together  | (D, D)   | covariance of all views side by side, D = sum of d_i                          |
|        | apart     | (D, D)   | its diagonal blocks                                                           |
| W^i    | maps[i]   | (d_i, r) | eigenvectors of Sigma w = lambda blockdiag(Sigma) w: the rows of view i       |
| D^p    | values^p  | (r,)     | weights of the directions, p = 4                                              |
| Psi^i  | projected | (n, r)   | (Phi^i - 1 m_i') W^i D^p, rows of length one                                  |

For V views lambda runs from 0 to V; it is above 1 where a direction is shared by views, and 1 where it is one view's
own. The paper keeps all directions; here those are kept that are shared, at most so many, and the others, whose weight
is at most 1 beside V^p, are left out. The paper adds 1e-4 I to both matrices; here ``shrinkage`` times the mean
eigenvalue of each view's block is added, since a batch may have fewer rows than columns. On 617 columns and 600 rows
0.1 makes noise a shared direction, which validation on fewer classes does not foresee: no less than 0.03 is searched.

Semantic views of rows
----------------------
What signature, and which attributes, their features speak for.

| symbol | here           | shape  | meaning                                                                           |
|--------|----------------|--------|-----------------------------------------------------------------------------------|
| X, Y   | X, y           | (n, d) | training rows and their classes; m their mean (``mean``)                          |
| S      | S              | (c, a) | signatures; m_S their mean over the rows (``signature_mean``)                     |
| B      | ``attributes`` | (c, a) | which attributes a class has: S above its mean over the seen classes (``cut``)    |
| R      | ``regression`` | (d, a) | ridge regression of S[y] - m_S on X - m                                           |
| V      | ``detectors``  | (d, a) | ridge regression of 2 B[y] - 1, from its mean, on X - m                           |
| p(b|x) | probabilities  | (n, a) | sigmoid(``slope`` ((x - m) V - ``middle``))                                       |

The paper takes support vector machines, with Platt's sigmoid for the attributes. Here both are ridge regressions, from
one factorisation, and the sigmoid is Bayes' rule for two Gaussians of one variance along each column of V, without the
prior odds of the seen classes: all of it comes from class sums and X'X, without a pass over the rows.

Nearest rows within a view and across two views
-----------------------------------------------
For the largest k that is asked for; in blocks of rows.

| paper    | here                   | shape     | meaning                                                             |
|----------|------------------------|-----------|---------------------------------------------------------------------|
| Psi^i    | A, B                   | (n, r)    | rows of two views in the common space, of length one                |
| omega    | similarity             | (n, n)    | exp(-d^2 / gamma), d^2 = 2 - 2 cos, gamma the mean of d^2           |
|          | Z                      | (n, n)    | omega of two views, standardised row by row, then column by column  |
| e^ij_l   | index, value           | (n, k)    | the k rows of view j with the largest Z for row l of view i         |

The paper takes the median of d^2 for gamma; the mean needs no pass over the pairs.

The graphs
----------
The nodes of a batch, rows and class prototypes, are joined within views and by hyperedges across views.

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

Propagation
-----------
Labels go through a similarity graph that is never formed.

| paper  | here          | shape      | meaning                                                                    |
|--------|---------------|------------|----------------------------------------------------------------------------|
| W      | graph, edges  | (N, N)     | (1 - h) graph + h H'H: 2-graph and similarity of hyperedges                |
| D      | degree        | (N,)       | row sums of W                                                              |
| S      | normalised    | (N, N)     | D^-1/2 W D^-1/2                                                            |
| F      | return        | (N, c)     | (I - alpha S)^-1 L, L one column per labelled node                         |

The paper's labels are 2 I - 1 on the labelled nodes, which changes no comparison of classes: what the -1 add is the
same in all columns of a row. Its published code repeats the step ten times or more on the result, F = (I - alpha S)^-t
L (``steps``), which carries labels farther. A row of H'H has as many entries as a node has neighbours of neighbours;
conjugate gradients need products only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit

from zslplat.errors import MethodError
from zslplat.methods.base import Arrays
from zslplat.methods.rows import unit_rows

LEARNED = ("mean", "signature_mean", "cut", "regression", "detectors", "slope", "middle")


def solve(gram: np.ndarray, class_sums: np.ndarray, class_counts: np.ndarray, S: np.ndarray, ridge: float) -> Arrays:
    """Return the arrays of the table above by their names in :data:`LEARNED`, in float64.

    ``gram`` (d, d) is X'X, ``class_sums`` (c, d) and ``class_counts`` (c,) those of the training rows, ``ridge`` in
    units of the mean eigenvalue of the rows' scatter. Attributes that all seen classes agree in have no detector, and
    the probability 1/2.
    """
    rows = class_counts.sum()
    mean, signature_mean, cut = class_sums.sum(axis=0) / rows, class_counts @ S / rows, S.mean(axis=0)
    centred = class_sums - class_counts[:, None] * mean
    scatter = gram - rows * np.outer(mean, mean)
    unit = np.trace(scatter) / len(scatter)
    ridged = scatter + np.diag(np.full(len(scatter), ridge * unit if unit > 0 else 1.0))
    has = (cut < S).astype(np.float64)
    signs = 2 * has - 1
    targets = np.hstack([S - signature_mean, signs - class_counts @ signs / rows])
    maps = linalg.solve(ridged, centred.T @ targets, assume_a="pos")
    detectors = maps[:, S.shape[1] :]
    # Moments of (x - m) V: of all rows, and of those with and without the attribute.
    with_it, without = class_counts @ has, class_counts @ (1 - has)
    sums = centred @ detectors
    high = (has * sums).sum(axis=0) / np.maximum(with_it, 1)
    low = ((1 - has) * sums).sum(axis=0) / np.maximum(without, 1)
    square = np.einsum("ij,ij->j", detectors, scatter @ detectors)
    variance = (square - with_it * high**2 - without * low**2) / rows
    # Columns that fit perfectly would have an infinite slope.
    variance = np.maximum(variance, 1e-3 * (high - low) ** 2)
    return {
        "mean": mean,
        "signature_mean": signature_mean,
        "cut": cut,
        "regression": maps[:, : S.shape[1]],
        "detectors": detectors,
        "slope": np.where(variance > 0, (high - low) / np.where(variance > 0, variance, 1), 0.0),
        "middle": (high + low) / 2,
    }


def project(X: np.ndarray, learned: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return regressed signatures (n, a), less m_S, and probabilities of attributes (n, a) of rows X (n, d)."""
    centred = np.asarray(X, dtype=np.float64) - learned["mean"]
    detected = centred @ learned["detectors"] - learned["middle"]
    return centred @ learned["regression"], expit(learned["slope"] * detected)


def prototypes(S: np.ndarray, learned: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return where signatures S (c, a) lie in both views: less m_S, and the attributes that they have (0 or 1)."""
    return S - learned["signature_mean"], (learned["cut"] < S).astype(np.float64)


SHARED = 1 + 1e-6


@dataclass(frozen=True)
class Embedding:
    """The learned projections: means (d_i,), maps (d_i, r) of the views, and eigenvalues (r,) in falling order."""

    means: tuple[np.ndarray, ...]
    maps: tuple[np.ndarray, ...]
    values: np.ndarray

    def project(self, view: int, rows: np.ndarray, power: float) -> np.ndarray:
        """Return rows (n, d_i) of one view in the common space (n, r), of length one, in float32."""
        moved = (np.asarray(rows, dtype=np.float64) - self.means[view]) @ (self.maps[view] * self.values**power)
        return unit_rows(moved).astype(np.float32)


def canonical_projections(views: Sequence[np.ndarray], shrinkage: float, dimensions: int) -> Embedding:
    """Return the projections of views (n, d_i) of the same rows; float64."""
    means = tuple(np.asarray(view, dtype=np.float64).mean(axis=0) for view in views)
    joined = np.hstack(views, dtype=np.float64)
    joined -= np.hstack(means)
    ends = np.cumsum([0, *(len(mean) for mean in means)])
    together = joined.T @ joined / max(1, len(joined))
    apart = np.zeros_like(together)
    for start, stop in itertools.pairwise(ends):
        block = together[start:stop, start:stop]
        unit = np.trace(block) / len(block)
        block[np.diag_indices_from(block)] += shrinkage * unit if unit > 0 else 1.0
        apart[start:stop, start:stop] = block
    most = min(dimensions, len(together))
    values, vectors = linalg.eigh(together, apart, subset_by_index=(len(together) - most, len(together) - 1))
    shared = np.flatnonzero(values > SHARED)[::-1]
    if len(shared) == 0:
        shared = np.array([most - 1])
    vectors = vectors[:, shared]
    return Embedding(means, tuple(vectors[i:j] for i, j in itertools.pairwise(ends)), values[shared])


# Rows of one product, and pairs whose similarities are held at a time: few enough to stay near the processor.
BLOCK, PAIRS = 1024, 1 << 18


def mean_distance(A: np.ndarray, B: np.ndarray) -> float:
    """Return the mean of d^2 over all pairs of rows of A and B, of length one (or zero)."""
    product = float(A.mean(axis=0, dtype=np.float64) @ B.mean(axis=0, dtype=np.float64))
    return max(2 - 2 * product, 1e-12)


def similarity(cosine: np.ndarray, gamma: float) -> np.ndarray:
    """Return exp(-(2 - 2 cos) / gamma), in the precision of the cosines."""
    exponents = np.subtract(cosine, 1)
    exponents *= cosine.dtype.type(2 / gamma)
    return np.asarray(np.exp(exponents, out=exponents))


@dataclass(frozen=True)
class Crossing:
    """What rows of view i find in view j: the k nearest by Z, and what standardises a further row."""

    index: np.ndarray
    value: np.ndarray
    gamma: float
    centre: np.ndarray
    spread: np.ndarray

    def standardised(self, cosine: np.ndarray) -> np.ndarray:
        """Return Z of further rows from their cosines (c, n) with the rows of view j."""
        similarities = _standardised_rows(similarity(cosine, self.gamma))
        return np.asarray((similarities - self.centre) / self.spread)


def crossing(A: np.ndarray, B: np.ndarray, k: int) -> Crossing:
    """Return the k nearest rows of B (n, r) for every row of A (n, r), nearest first; two passes over the pairs."""
    n = len(A)
    k = min(k, n)
    gamma = mean_distance(A, B)

    def blocks() -> Iterator[tuple[slice, np.ndarray]]:
        step = max(1, PAIRS // n)
        for start in range(0, n, BLOCK):
            cosines = A[start : start + BLOCK] @ B.T
            for first in range(0, len(cosines), step):
                part = cosines[first : first + step]
                rows = slice(start + first, start + first + len(part))
                yield rows, _standardised_rows(similarity(part, gamma))

    total, square = np.zeros(n), np.zeros(n)
    for _, block in blocks():
        ones = np.ones(len(block), dtype=block.dtype)
        total += ones @ block
        square += ones @ np.square(block, out=block)
    centre = total / n
    spread = np.sqrt(np.maximum(square / n - centre**2, 1e-12))
    index, value = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)
    low, high = centre.astype(np.float32), spread.astype(np.float32)
    unit = 1 / high
    for rows, block in blocks():
        block -= low
        block *= unit
        index[rows], value[rows] = largest(block, k)
    return Crossing(index, value, gamma, low, high)


def largest(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places (m, k) and the values (m, k) of the k largest of each row (m, n), largest first."""
    width = values.shape[1]
    k = min(k, width)
    index = np.argpartition(values, width - k, axis=1)[:, width - k :]
    top = np.take_along_axis(values, index, axis=1)
    order = np.argsort(-top, axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1).astype(np.int32), np.take_along_axis(top, order, axis=1)


def _standardised_rows(block: np.ndarray) -> np.ndarray:
    """Take from every row its mean, and divide it by its standard deviation, in place."""
    block -= block.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("ij,ij->i", block, block) / block.dtype.type(block.shape[1]))
    block *= 1 / np.maximum(spread, block.dtype.type(1e-6))[:, None]
    return block


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
    graph: sparse.csr_array, edges: sparse.csr_array, share: float, alpha: float, labelled: np.ndarray, steps: int = 1
) -> np.ndarray:
    """Return F (N, c) for one label on each of the nodes ``labelled`` (c,), after so many ``steps``.

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
    for _ in range(steps):
        labels = conjugate_gradients(lambda V: V - alpha * scale * similar(scale * V), labels)
    return labels


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

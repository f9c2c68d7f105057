"""What local outlier probabilities ask of the nearest of a class's points, in one pass over the distances."""

from __future__ import annotations

import numpy as np

from zslplat.methods.compiled import compiled


@compiled()
def nearest_means(
    products: np.ndarray, norms: np.ndarray, point_norms: np.ndarray, distance: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return two means (n,) over the k nearest of m points: of squared distances to rows, and of ``distance`` (m,).

    ``products`` (n, m) of rows and points, ``norms`` (n,) and ``point_norms`` (m,) their squared lengths, all float64;
    k in 1..m. Of points in equal distance the first are taken.
    """
    n, m = products.shape
    squares, of_points = np.empty(n), np.empty(n)
    near, index = np.empty(k), np.empty(k, dtype=np.int64)
    for row in range(n):
        count = 0
        for point in range(m):
            square = point_norms[point] - (2 * products[row, point] - norms[row])
            if count == k and square >= near[k - 1]:
                continue
            # The nearest so far, in ascending order: what is farther moves up, and the farthest of k out.
            place = min(count, k - 1)
            while place and near[place - 1] > square:
                near[place], index[place] = near[place - 1], index[place - 1]
                place -= 1
            near[place], index[place] = square, point
            count = min(count + 1, k)
        square_sum, distance_sum = 0.0, 0.0
        for place in range(k):
            # What rounding makes of a distance of 0 may lie below it.
            square_sum += max(near[place], 0.0)
            distance_sum += distance[index[place]]
        squares[row], of_points[row] = square_sum / k, distance_sum / k
    return squares, of_points

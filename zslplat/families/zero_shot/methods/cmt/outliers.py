"""Local outlier probabilities: how much sparser the surroundings of a point are than those of its neighbours.

Kriegel, Kroeger, Schubert and Zimek, "LoOP: Local Outlier Probabilities", CIKM 2009.

| paper  | here      | shape  | meaning                                                                    |
|--------|-----------|--------|----------------------------------------------------------------------------|
| S(o)   |           | (k,)   | the k nearest reference points of o, without o itself                      |
| sigma  | distance  | (m,)   | sqrt(mean over S(o) of squared distances to o), for each reference point   |
| PLOF   |           |        | sigma(o) / mean over S(o) of sigma - 1                                     |
| nPLOF  | spread    | scalar | root mean square of PLOF over the reference points; times lambda           |
| LoOP   |           |        | max(0, erf(PLOF / (sqrt(2) lambda spread)))                                |

lambda (``significance``) cancels in PLOF: the larger it is, the fewer outliers. A point that is not a reference point
is compared with those that are. The authors' code of cross-modal transfer sums squares over all points of a class,
leaves out the nearest neighbour of new points, and draws the reference points of training and test apart.

What local outlier probabilities ask of the nearest of a class's points, in one pass over the distances.

How new a mapped row is by the density of the seen classes, as in cross-modal transfer's Gaussian form.

Socher, Ganjoo, Manning and Ng, "Zero-Shot Learning Through Cross-Modal Transfer", NIPS 2013.

| paper   | here       | shape  | meaning                                                          |
|---------|------------|--------|------------------------------------------------------------------|
| f       | F          | (n, a) | mapped rows                                                      |
| w_y     | S          | (c, a) | signatures of the seen classes, the centres                      |
| sigma_y | variances  | (c,)   | mean square by dimension of f - w_y over the rows of a class     |
| P(y)    | log_priors | (c,)   | log share of each class among the rows                           |

The authors' code (mganjoo/zslearn) divides the squares of a class by all rows, takes the number of classes for the
dimension, and adds up densities that vanish in high dimension. Here each class has its own n_y, the dimension is a,
and the sum is made of logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from zslplat.families.zero_shot.methods.cmt.transfer import minus_squared_distances
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


def class_variances(F: np.ndarray, y: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return sigma_y^2 (c,) in float64; classes whose rows all lie on their centre get a billionth of the mean."""
    squares = np.square(np.asarray(F, dtype=np.float64) - S[y]).mean(axis=1)
    variances = np.bincount(y, squares, len(S)) / np.bincount(y, minlength=len(S))
    return np.asarray(np.maximum(variances, 1e-9 * variances.mean() or 1.0))


def log_densities(F: np.ndarray, S: np.ndarray, variances: np.ndarray, log_priors: np.ndarray) -> np.ndarray:
    """Return log sum_y P(y) N(f; w_y, sigma_y^2 I) (n,) for the rows of F (n, a), in float64."""
    exponents = minus_squared_distances(F, S) / (2 * variances)
    return np.asarray(logsumexp(exponents + log_priors - S.shape[1] / 2 * np.log(2 * np.pi * variances), axis=1))


_PAIRS = 1 << 19  # distances that are held at a time: few enough to stay near the processor


@dataclass(frozen=True)
class References:
    """Reference points (m, a), class after class, with what LoOP knows of them beforehand.

    ``ends`` (c,) where the points of each class end; ``distance`` (m,) and ``spread`` (c,) as in the table above,
    within each class; ``k`` neighbours, fewer in classes of fewer points.
    """

    points: np.ndarray
    ends: np.ndarray
    distance: np.ndarray
    spread: np.ndarray
    k: int

    @classmethod
    def of(cls, F: np.ndarray, y: np.ndarray, *, k: int, most: int | None) -> References:
        """Return ``most`` points of each class of F (n, a), evenly spaced in the order given; all for None."""
        chosen = []
        for label in range(int(y.max()) + 1):
            rows = np.flatnonzero(y == label)
            if most is not None and len(rows) > most:
                rows = rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
            chosen.append(rows)
        points = np.asarray(F[np.concatenate(chosen)], dtype=np.float64)
        ends = np.cumsum([len(rows) for rows in chosen])
        distance, spread = np.zeros(len(points)), np.zeros(len(ends))
        for label, part in enumerate(_parts(ends)):
            members = points[part]
            if len(members) == 1:
                continue  # alone: no neighbours to be farther away than
            squares = -minus_squared_distances(members, members)
            np.fill_diagonal(squares, np.inf)
            near, index = _nearest(squares, min(k, len(members) - 1))
            distance[part] = np.sqrt(near.mean(axis=1))
            factors = _factors(distance[part], distance[part][index].mean(axis=1))
            # Points just outside of a heap of equal ones say nothing of how factors scatter.
            finite = factors[np.isfinite(factors)]
            spread[label] = np.sqrt(np.mean(finite**2)) if len(finite) else 0.0
        return cls(points, ends, distance, spread, k)

    def significance(self, F: np.ndarray) -> np.ndarray:
        """Return PLOF / spread in the class where it is least (n,), for rows of F (n, a) that are no references."""
        from zslplat.families.zero_shot.methods.cmt.outliers import nearest_means

        F = np.asarray(F, dtype=np.float64)
        least = np.full(len(F), np.inf)
        norms, own_norms = (np.einsum("ij,ij->i", points, points) for points in (F, self.points))
        step = max(1, _PAIRS // int(np.diff(self.ends, prepend=0).max()))
        for start in range(0, len(F), step):
            rows = slice(start, start + step)
            for label, part in enumerate(_parts(self.ends)):
                products = F[rows] @ self.points[part].T
                square, of_neighbours = nearest_means(
                    products, norms[rows], own_norms[part], self.distance[part], min(self.k, products.shape[1])
                )
                factors = _factors(np.sqrt(square), of_neighbours)
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratio = factors / self.spread[label]
                # No spread: whatever lies outside is new, beyond all measure.
                np.minimum(least[rows], np.where(factors > 0, ratio, np.minimum(factors, 0)), out=least[rows])
        return least

    def state(self) -> dict[str, Any]:
        """Return what :meth:`from_state` takes."""
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> References:
        """Return the references whose ``state()`` this is."""
        points, ends, distance, spread = (np.asarray(state[name]) for name in ("points", "ends", "distance", "spread"))
        return cls(points, ends, distance, spread, int(state["k"]))


def _parts(ends: np.ndarray) -> list[slice]:
    return [slice(int(start), int(end)) for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True)]


def _nearest(squares: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k < m smallest of each row of ``squares`` (n, m), in no order, and their columns, both (n, k)."""
    index = np.argpartition(squares, k - 1, axis=1)[:, :k]
    # What rounding makes of a distance of 0 may lie below it.
    return np.maximum(np.take_along_axis(squares, index, axis=1), 0), index


def _factors(distance: np.ndarray, of_neighbours: np.ndarray) -> np.ndarray:
    """Return PLOF (n,) for the distance of points (n,) and the mean of their neighbours' (n,).

    It is 0 among points in one place, infinite for a point outside of such a place.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(of_neighbours > 0, distance / of_neighbours - 1, np.where(distance > 0, np.inf, 0.0))

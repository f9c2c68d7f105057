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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zslplat.methods.zero_shot.cmt.transfer import minus_squared_distances

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
        from zslplat.methods.zero_shot.cmt.nearest_points import nearest_means

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

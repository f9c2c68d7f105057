"""The seen-unseen accuracy curve, its area (AUSUC) and calibrated stacking, exactly: no grid of biases.

| symbol | here | shape | meaning |
|---|---|---|---|
| F | ``scores`` | (n, c) | compatibility of the test rows, seen and unseen together, with all classes |
| Y | ``y`` | (n,) | true class, an index into the columns |
| S, U | ``seen`` | (c,) | mask of the seen classes; the others are unseen |
| gamma | ``bias`` | | what calibrated stacking takes off the scores of seen classes |
| b_i | ``critical`` | (n,) | bias at which row i changes from its best seen to its best unseen class |
| A_S->T, A_U->T | ``seen``, ``unseen`` | (K + 1,) | mean per-class accuracies on the curve |

Row i is given its best unseen class when gamma >= b_i = max_S F_i - max_U F_i (a tie goes to unseen), so the n values
b_i are all the places where the curve changes; its K distinct values make K + 1 points. Definition: Chao, Changpinyo,
Gong, Sha, "An Empirical Study and Analysis of Generalized Zero-Shot Learning for Object Recognition in the Wild"
(calibrated stacking and the seen-unseen accuracy curve). Classes without a row stay out of the means.
Cost O(n (c + log n)).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from zslplat.metrics.accuracy import next_best
from zslplat.metrics.intervals import gains_by_class


@dataclass(frozen=True)
class SeenUnseenCurve:
    """The points of the curve in order of growing bias.

    ``biases`` (K,) distinct critical values, ascending; point 0 belongs to biases below ``biases[0]``, point k to
    those from ``biases[k - 1]`` up to, not including, ``biases[k]``. ``unseen`` and ``seen`` (K + 1,) accuracies.
    """

    biases: np.ndarray
    unseen: np.ndarray
    seen: np.ndarray

    @property
    def area(self) -> float:
        """AUSUC: the integral of the seen over the unseen accuracy, by trapezoids between the points."""
        return float(np.trapezoid(self.seen, self.unseen))

    @property
    def harmonic_means(self) -> np.ndarray:
        """H at every point (K + 1,), 0 where both accuracies are 0."""
        total = self.unseen + self.seen
        return np.asarray(2 * self.unseen * self.seen / np.where(total > 0, total, 1.0))

    @property
    def best_harmonic_mean(self) -> float:
        """The largest H that any bias reaches on these rows: an upper mark, as it needs their labels."""
        return float(self.harmonic_means.max())

    @property
    def best_bias(self) -> float:
        """A bias of the first point with the largest H: the middle of the interval of biases that give this point.

        The middle leaves room on both sides when the bias is carried to other rows. The open ends of the first and
        the last interval are replaced by their finite ends.
        """
        point = int(np.argmax(self.harmonic_means))
        low, high = self.biases[max(point - 1, 0)], self.biases[min(point, len(self.biases) - 1)]
        middle = float(low + (high - low) / 2)
        # Between neighbouring floating point numbers the middle may round up, out of the interval.
        return middle if middle < high else float(low)

    def at(self, bias: float) -> tuple[float, float]:
        """Return the accuracies (unseen, seen) for a bias; 0 is the uncalibrated method."""
        point = int(np.searchsorted(self.biases, bias, side="right"))
        return float(self.unseen[point]), float(self.seen[point])


def seen_unseen_curve(scores: np.ndarray, y: np.ndarray, seen: np.ndarray) -> SeenUnseenCurve:
    """Return the exact curve of scores (n, c), true classes (n,) and the mask (c,) of seen classes.

    Raises :class:`ValueError` unless there are rows and classes of both kinds.
    """
    if not seen.any() or seen.all() or not seen[y].any() or seen[y].all():
        raise ValueError("the seen-unseen curve needs rows and classes of both kinds")
    best_seen, best_unseen, critical = rivals(scores, seen)
    counts = np.bincount(y, minlength=len(seen))
    classes_of_kind = np.where(seen, np.count_nonzero(counts[seen]), np.count_nonzero(counts[~seen]))
    weight = 1.0 / (counts[y] * classes_of_kind[y])
    order = np.argsort(critical, kind="stable")
    lost = np.where(best_seen == y, weight, 0.0)[order]
    won = np.where(best_unseen == y, weight, 0.0)[order]
    # Summed from either end, so that the curve ends at exactly 0 on both axes; in extended precision where there is
    # one, because n equal weights all round the same way.
    unseen_accuracy = np.r_[0.0, np.cumsum(won, dtype=np.longdouble)].astype(np.float64)
    seen_accuracy = np.r_[np.cumsum(lost[::-1], dtype=np.longdouble)[::-1], 0.0].astype(np.float64)
    ascending = critical[order]
    # Of equal critical values only the point after the last one is reached by any bias.
    last = np.flatnonzero(np.r_[np.diff(ascending) != 0, True])
    points = np.r_[0, last + 1]
    return SeenUnseenCurve(ascending[last], unseen_accuracy[points], seen_accuracy[points])


def calibrated_predictions(scores: np.ndarray, seen: np.ndarray, bias: float) -> np.ndarray:
    """Return the class (n,) of the highest score after taking ``bias`` off the seen ones; a tie goes to unseen."""
    return winners(*rivals(scores, seen), bias)


def winners(best_seen: np.ndarray, best_unseen: np.ndarray, critical: np.ndarray, bias: float) -> np.ndarray:
    """Return the class (n,) that wins with a bias, of the :func:`rivals` of every row; a tie goes to unseen."""
    return np.where(bias >= critical, best_unseen, best_seen)


def next_rivals(scores: np.ndarray, seen: np.ndarray) -> dict[str, np.ndarray]:
    """Return the next best seen and unseen class of every row, and how far their scores are behind the best's.

    The keys: ``next_seen``, ``next_unseen``, ``seen_gap``, ``unseen_gap``, (n,) each. The only class of a kind is its
    own next one, with a gap without end.
    """
    result = {}
    for kind, mask in (("seen", seen), ("unseen", ~seen)):
        columns = np.flatnonzero(mask)
        part = scores[:, columns]
        best = np.argmax(part, axis=1)
        following = next_best(part, best)
        places = np.stack([best, following], axis=1)
        top, second = np.take_along_axis(part, places, axis=1).T
        result[f"next_{kind}"] = columns[following].astype(np.int32)
        gap = top - second if len(columns) > 1 else np.full(len(scores), np.inf)
        result[f"{kind}_gap"] = gap.astype(np.float32)
    return result


def rivals(scores: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the best seen and the best unseen class of every row, and the critical bias between them in float64."""
    best, top = [], []
    for columns in (np.flatnonzero(seen), np.flatnonzero(~seen)):
        part = scores[:, columns]
        winner = np.argmax(part, axis=1)
        best.append(columns[winner])
        top.append(np.take_along_axis(part, winner[:, None], axis=1)[:, 0].astype(np.float64))
    return best[0], best[1], top[0] - top[1]


def gains_without_classes(
    columns: Mapping[str, np.ndarray], seen: np.ndarray, bias: float | None
) -> dict[str, np.ndarray]:
    """Return G (C, C) of every metric: what it gains through rows of a class where another is no candidate of theirs.

    ``columns`` (m,) are those of the outcomes of task ``gzsl``, :func:`next_rivals` among them. Of H and AUSUC, which
    are no sums over rows, it is the gain to first order.
    """
    y, within = columns["true"], columns["own"]
    seen_row = seen[y]
    sizes = np.bincount(y, minlength=len(seen))
    of_kind = np.where(seen, np.count_nonzero(sizes[seen]), np.count_nonzero(sizes[~seen]))
    weight = 1.0 / (sizes * of_kind)[y]
    whole = columns["best_seen"], columns["best_unseen"], columns["critical"]
    # What is removed, and what the row then goes by.
    others = {
        "best_seen": (columns["next_seen"], whole[1], whole[2] - columns["seen_gap"]),
        "best_unseen": (whole[0], columns["next_unseen"], whole[2] + columns["unseen_gap"]),
    }

    def summed(credit: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        before = credit(*whole)
        parts = [gains_by_class(columns[name], y, weight * (credit(*left) - before)) for name, left in others.items()]
        return np.asarray(parts[0] + parts[1])

    classes = np.unique(y)
    next_own = np.where(seen_row, columns["next_seen"], columns["next_unseen"])
    best_own = np.where(seen_row, whole[0], whole[1])
    regained = (within != y) & (best_own == within) & (next_own == y)
    gains = dict.fromkeys(("U_to_U", "S_to_S"), gains_by_class(within, y, weight * regained))
    biases = {"U_to_T S_to_T H": 0.0}
    if bias is not None:
        biases["calibrated_u calibrated_s calibrated_H"] = bias
    for names, chosen in biases.items():
        right = winners(*whole, chosen) == y
        u, s = (float(np.sum((weight * right)[part])) for part in (~seen_row, seen_row))
        gain = summed(partial(_right, y=y, bias=chosen))
        slopes = np.where(seen[classes], u**2, s**2) * 2 / max((u + s) ** 2, 1e-300)
        gains |= dict(zip(names.split(), (gain, gain, gain * slopes), strict=True))
    # A row of an unseen class adds to the area the accuracy of seen classes where its class begins to win, and one of a
    # seen class that of unseen classes where its class ceases to.
    curves = {}
    for kind, part, best in (("unseen", ~seen_row, whole[1]), ("seen", seen_row, whole[0])):
        rows = np.flatnonzero(part & (best == y))
        order = rows[np.argsort(whole[2][rows], kind="stable")]
        curves[kind] = whole[2][order], np.r_[0.0, np.cumsum(weight[order])]

    def area(best_seen: np.ndarray, best_unseen: np.ndarray, critical: np.ndarray) -> np.ndarray:
        won, lost = (sums[np.searchsorted(at, critical, side="right")] for at, sums in curves.values())
        left = curves["seen"][1][-1] - lost
        return np.asarray(np.where(seen_row, (best_seen == y) * won, (best_unseen == y) * left))

    return {**gains, "AUSUC": summed(area)}


def _right(
    best_seen: np.ndarray, best_unseen: np.ndarray, critical: np.ndarray, *, y: np.ndarray, bias: float
) -> np.ndarray:
    return np.asarray(winners(best_seen, best_unseen, critical, bias) == y, dtype=float)

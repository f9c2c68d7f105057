"""Cross-modal transfer with a gate: how new a mapped row is, and what a class scores for new rows and for others.

Local outlier probabilities
---------------------------
How much sparser the surroundings of a point are than those of its neighbours, in one pass over the distances of a
class. Kriegel, Kroeger, Schubert and Zimek, "LoOP: Local Outlier Probabilities", CIKM 2009.

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

Density of the seen classes
---------------------------
The Gaussian form of cross-modal transfer (Socher, Ganjoo, Manning and Ng, "Zero-Shot Learning Through Cross-Modal
Transfer", NIPS 2013).

| paper   | here       | shape  | meaning                                                          |
|---------|------------|--------|------------------------------------------------------------------|
| f       | F          | (n, a) | mapped rows                                                      |
| w_y     | S          | (c, a) | signatures of the seen classes, the centres                      |
| sigma_y | variances  | (c,)   | mean square by dimension of f - w_y over the rows of a class     |
| P(y)    | log_priors | (c,)   | log share of each class among the rows                           |

The authors' code (mganjoo/zslearn) divides the squares of a class by all rows, takes the number of classes for the
dimension, and adds up densities that vanish in high dimension. Here each class has its own n_y, the dimension is a,
and the sum is made of logarithms.

The gate
--------
Rows that look new are given an unseen class, the others a seen one. With the class of x either seen or unseen,

    P(y | x) = P(seen | x) P(y | x, seen) + P(unseen | x) P(y | x, unseen),

where P(y | x, seen) is a softmax over the features, and P(y | x, unseen) is proportional to N(f; w_y, sigma^2 I) over
the unseen candidates, f the mapped row, w_y their signatures. sigma^2 is taken to be the mean square by dimension of
f - w_y over the training rows.

Scores are 2 sigma^2 log P(y | x), whose largest is that of P itself. Differences between unseen classes are then those
of minus squared distances, as without a gate, and calibrated stacking moves the odds of seen against unseen. What a
hard gate leaves of the side that it closes has nothing to do with sigma^2: it is :data:`CLOSED` times 2 m, m the mean
square of the signatures, since times 2 sigma^2, which is another in every fit, no bias that validation chose could be
carried to the test. Without a seen candidate no gate is needed: the scores are those of ``cmt``, to the last bit.

How P(unseen | x) is found is what the two methods differ in. Its threshold, and the significance of an outlier, are
hyperparameters: they are searched where validation holds out classes, and never inside the fit, which knows seen
classes only. (The authors tune them on data of the unseen classes.)
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erf, log_expit, log_ndtr, log_softmax, logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from zslplat.data.store.rows import blocks_of, float_type
from zslplat.errors import DataError
from zslplat.families.zero_shot.methods.base import check_fit_inputs
from zslplat.families.zero_shot.methods.cmt.transfer import CMT, Layers, minus_squared_distances, units
from zslplat.methods.base import Arrays, Prepared, Statistics
from zslplat.methods.compiled import compiled
from zslplat.methods.rows import row_keys
from zslplat.space import POSITIVE, Choice, Integer, Optional, Real, Space, parameter


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
    constants = log_priors - S.shape[1] / 2 * np.log(2 * np.pi * variances)
    densities = np.empty(len(F))
    for where, rows in blocks_of(F):
        densities[where] = logsumexp(minus_squared_distances(rows, S) / (2 * variances) + constants, axis=1)
    return densities


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


def trained(X: np.ndarray, y: np.ndarray, S: np.ndarray, penalty: float) -> dict[str, np.ndarray]:
    """Return the ``coefficients`` (d, c) and ``offsets`` (c,) of a softmax over rows X (n, d) with labels y (n,).

    It minimises the mean of minus the log probability of y plus penalty/2 of the squared coefficients, for features of
    unit mean square; offsets are free. Of two classes it is the difference of their coefficients that is penalised.
    Rows are sorted first, so that their order does not matter.
    """
    X = X.astype(float_type(X.dtype), copy=False)
    unit, _ = units(X, y, S)
    d, c = X.shape[1], len(S)
    if c == 1:
        return {"coefficients": np.zeros((d, 1)), "offsets": np.zeros(1)}
    order = np.argsort(row_keys("X", X), kind="stable")
    model = LogisticRegression(C=1 / (penalty * len(X)), max_iter=300)
    with warnings.catch_warnings():
        # Three hundred iterations are enough for a classifier, if not always for its lowest point.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[order] / X.dtype.type(unit), y[order])
    weights = np.asarray(model.coef_, dtype=np.float64).T / unit
    offsets = np.asarray(model.intercept_, dtype=np.float64)
    if c == 2:  # of two classes scikit-learn keeps one column
        weights, offsets = np.hstack([-weights, weights]) / 2, np.r_[-offsets, offsets] / 2
    return {"coefficients": weights, "offsets": offsets}


def log_probabilities(X: np.ndarray, coefficients: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the log probability (n, c) of each seen class for rows X (n, d), in float64."""
    scores = X @ np.asarray(coefficients).astype(float_type(X.dtype))
    return np.asarray(log_softmax(scores.astype(np.float64) + offsets, axis=1))


def matched(S: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """Return which row of ``learned`` (c, a) each signature of S (m, a) is.

    Equal signatures are equal to within rounding, since both went through the same preprocessing. Raises
    :class:`DataError` for a signature that is not among them.
    """
    S, learned = np.asarray(S, dtype=np.float64), np.asarray(learned, dtype=np.float64)
    nearest = np.argmax(minus_squared_distances(S, learned), axis=1)
    apart = np.abs(S - learned[nearest]).max(axis=1)
    strange = np.flatnonzero(apart > 1e-5 * np.abs(learned).max())
    if len(strange):
        raise DataError(
            f"{len(strange)} candidates are marked as seen in fit, but no class of the fit has their signature, first "
            f"number {strange[0]} of those marked; give the signatures of the fit, or mark them as unseen"
        )
    return np.asarray(nearest)


# What is left to a side that a gate closes: scores stay finite, and below that of the other side's likeliest class.
CLOSED = float(np.log(1e-12))

Gate = tuple[np.ndarray, np.ndarray]


class GatedCMT(CMT):
    """Base of both: the classifier of seen classes, and the mixture.

    Learned beside the network: ``variance_`` (sigma^2), ``signatures_`` (c, a), ``coefficients_`` (d, c), ``offsets_``
    (c,). Not tagged ``stationary``: see ``cmt``.
    """

    tags = ("inductive", "network", "monotone", "novelty")
    costly = ("penalty",)
    gate = parameter(
        "soft: weigh seen and unseen classes by their probability; hard: allow one side only",
        Choice(("soft", "hard")),
        Choice(("soft", "hard")),
        default="soft",
    )
    penalty = parameter("penalty of the seen-class classifier, for features of unit variance", POSITIVE, default=1e-3)

    @abstractmethod
    def _learn_novelty(self, F: np.ndarray, y: np.ndarray) -> None:
        """Learn how the mapped rows F (n, a) of the classes y lie."""

    @abstractmethod
    def _log_gate(self, F: np.ndarray) -> Gate:
        """Return log P(unseen) and log P(seen) (n,) for mapped rows F (n, a), both finite."""

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the classifier of the seen classes."""
        check_fit_inputs(X, y, S)
        return trained(X, y, S, self.penalty)

    def prepare_score(self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the log probability of each seen class, where the classifier is given."""
        if not statistics:
            return {}
        logs = log_probabilities(X, statistics["coefficients"], statistics["offsets"])
        return {"log_probabilities": logs}

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the scores (n, c) that the head of this file describes; without ``seen`` no candidate is seen.

        Raises :class:`DataError` for a candidate that is marked as seen and has no signature of the fit.
        """
        F = self.mapped(X)
        distances = minus_squared_distances(F, S)
        if seen is None or not np.any(seen):
            return distances
        seen, scale = np.asarray(seen, dtype=bool), 2 * self.variance_
        if statistics:
            logs = np.asarray(statistics["log_probabilities"])
        else:
            logs = log_probabilities(X, self.coefficients_, self.offsets_)
        unseen_gate, seen_gate = self._log_gate(F)
        scores = np.empty_like(distances)
        columns = matched(np.asarray(S)[seen], self.signatures_)
        unit = 2 * max(float(np.square(self.signatures_).mean()), self.variance_) if self.gate == "hard" else scale
        scores[:, seen] = scale * logs[:, columns] + unit * seen_gate[:, None]
        if not seen.all():
            among = distances[:, ~seen]
            total = scale * logsumexp(among / scale, axis=1)
            scores[:, ~seen] = among - total[:, None] + unit * unseen_gate[:, None]
        return scores

    def matrices(self) -> Arrays:
        """Return the weights and biases of the network, and those of the classifier of seen classes."""
        return {**super().matrices(), "coefficients": self.coefficients_, "offsets": self.offsets_}

    def _begin(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Statistics) -> None:
        prepared = statistics or trained(X, y, S, self.penalty)
        self.coefficients_, self.offsets_ = np.array(prepared["coefficients"]), np.array(prepared["offsets"])
        self.signatures_ = np.array(S, dtype=np.float64)

    def _take(self, layers: Layers, X: np.ndarray, y: np.ndarray) -> None:
        """Keep the network, and how the mapped rows lie."""
        super()._take(layers, X, y)
        F = self.mapped(X).astype(np.float64)
        variance = float(np.square(F - self.signatures_[y]).mean())
        self.variance_ = max(variance, 1e-9 * float(np.square(self.signatures_).mean())) or 1.0
        self._learn_novelty(F, y)


class CMTGaussian(GatedCMT):
    r"""Cross-modal transfer; rows of low density among the seen classes are new (the paper's Gaussian form).

    The density is a mixture of isotropic Gaussians around the seen signatures
    (:mod:`zslplat.families.zero_shot.methods.cmt.novelty`); its threshold is a quantile of the densities of training
    rows. With a hard gate, that of the authors' code, a row below it is new. With a soft one unseen classes are taken
    to have the density of the threshold everywhere, so that P(unseen | x) is above one half just where the hard gate
    says so. Learned beside what ``cmt`` learns: ``variances_`` (c,), ``log_priors_`` (c,), ``cutoff_`` (a log density),
    and the classifier of seen classes. Not tagged ``stationary``: see ``cmt``.

    Equations
    ---------
    The mapped row f is new where the seen classes have a low density:

    $$p(f) = \sum_y P(y)\, N(f; s_y, \sigma_y^2 I), \qquad P(y \mid x) = P(\mathrm{seen} \mid x) P(y \mid x,
    \mathrm{seen}) + P(\mathrm{unseen} \mid x) P(y \mid x, \mathrm{unseen})$$

    The hard gate takes a row for new where p(f) is below a quantile of its values on training rows.

    Related
    -------
    ``cmt`` is the map without a gate; ``cmt-loop`` finds new rows as outliers. Task ``gzsl`` is where the gate matters.
    """

    summary = "cross-modal transfer; rows of low density among the seen classes are given unseen ones"
    gate = "hard"
    quantile = parameter("rows less dense than this share are new", Real(0, 1), Real(0.0, 1.0, steps=11), default=0.1)

    def _learn_novelty(self, F: np.ndarray, y: np.ndarray) -> None:
        self.variances_ = class_variances(F, y, self.signatures_)
        self.log_priors_ = np.log(np.bincount(y) / len(y))
        self.cutoff_ = float(np.quantile(self._log_densities(F), self.quantile))

    def _log_gate(self, F: np.ndarray) -> Gate:
        above = self._log_densities(F) - self.cutoff_
        return _hard(above < 0) if self.gate == "hard" else (log_expit(-above), log_expit(above))

    def _log_densities(self, F: np.ndarray) -> np.ndarray:
        return log_densities(F, self.signatures_, self.variances_, self.log_priors_)


class CMTLoop(GatedCMT):
    r"""Cross-modal transfer; rows that are outliers in every seen class are new (the paper's outlier form).

    P(unseen | x) is the least local outlier probability of the mapped row over the seen classes
    (:mod:`zslplat.families.zero_shot.methods.cmt.novelty`). One significance serves all classes, where the authors
    search one for each. ``reference`` bounds the rows of a class that are neighbours, evenly spaced in the order of the
    rows. Learned beside what ``cmt`` learns: ``references_`` and the classifier of seen classes. Not tagged
    ``stationary``: see ``cmt``.

    Equations
    ---------
    The mapped row f is new where it is an outlier in every seen class, by local outlier probabilities with the
    significance lambda:

    $$P(\mathrm{unseen} \mid x) = \min_y \max\left(0, \mathrm{erf}\left( \frac{\mathrm{PLOF}_y(f)}{\sqrt{2}\, \lambda\,
    \mathrm{nPLOF}_y} \right)\right)$$

    and the classes are then mixed as in ``cmt-gaussian``.

    Related
    -------
    ``cmt`` is the map without a gate; ``cmt-gaussian`` goes by densities. Task ``gzsl`` is where the gate matters.
    """

    summary = "cross-modal transfer; rows that are outliers in all seen classes are given unseen ones"
    neighbours = parameter("neighbours of a row (20 in the authors' code)", Integer(1), default=20)
    significance = parameter(
        "lambda: standard deviations beyond which a row is an outlier (1 to 13 in the authors' code)",
        POSITIVE,
        Real(1.0, 13.0),
        default=3.0,
    )
    threshold = parameter(
        "with a hard gate: least outlier probability of a new row",
        Real(0, 1),
        Real(0.0, 1.0, when={"gate": ("hard",)}),
        default=0.5,
    )
    reference = parameter("rows of a class that are neighbours at most; none: all", Optional(Integer(1)), default=200)

    def restored_parts(self) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
        """Return how the reference rows are made again."""
        return {"references_": References.from_state}

    def _learn_novelty(self, F: np.ndarray, y: np.ndarray) -> None:
        self.references_ = References.of(F, y, k=self.neighbours, most=self.reference)

    def _log_gate(self, F: np.ndarray) -> Gate:
        # Beyond 30 standard deviations nothing is told apart.
        deviations = np.minimum(self.references_.significance(F) / self.significance, 30.0)
        probability = np.maximum(erf(deviations / np.sqrt(2)), 0)
        if self.gate == "hard":
            return _hard(probability >= self.threshold)
        # 1 - erf(t / sqrt 2) = 2 Phi(-t), whose logarithm is known where erf itself is 1.
        seen = np.where(deviations > 0, np.log(2) + log_ndtr(-deviations), 0.0)
        return np.maximum(np.log(np.maximum(probability, np.exp(CLOSED))), CLOSED), seen


def _hard(new: np.ndarray) -> Gate:
    return np.where(new, 0.0, CLOSED), np.where(new, CLOSED, 0.0)

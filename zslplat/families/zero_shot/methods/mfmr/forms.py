"""The two forms of MFMR: as printed (Algorithm 1, Eq. 9 and 10), and as improved here, which is the default.

What they share is the problem (Eq. 7) and its updates; they differ in where U starts and how it is kept in bounds, in
the units of the weights, and in how a row meets a class. Symbols and reasons in
:mod:`~zslplat.families.zero_shot.methods.mfmr.common_scheme`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

import numpy as np
from scipy import sparse

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.families.zero_shot.methods.mfmr.multiplicative_updates import Factorisation, factorise
from zslplat.methods.neighbours import affinity, degrees
from zslplat.space import Real, Space


class Hyperparameters(Protocol):
    """What a form reads of the estimator."""

    lam: float
    ridge: float
    compare: str
    shrinkage: float
    temperature: float
    seed: int
    iterations: int | None
    converged_at: float | None


class Form:
    """MFMR as improved: an even start, monotone updates, a ridge, comparison in the metric of the residual.

    It has the hyperparameters ``of`` an estimator, and :class:`Printed` differs from it.
    ``random``: whether the start is drawn; ``preprocessing`` (None: the method's own); ``updates`` and
    ``converged_at``: bound and end of the updates, unless the estimator gives its own; ``normalise``: columns of a
    factor are scaled to sum 1 after each update.
    """

    random: ClassVar[bool] = False
    preprocessing: ClassVar[Preprocessing | None] = None
    updates: ClassVar[int] = 100
    converged_at: ClassVar[float] = 3e-4
    normalise: ClassVar[bool] = False

    def __init__(self, of: Hyperparameters) -> None:
        self.of = of

    @property
    def stopping(self) -> tuple[int, float]:
        """The largest number of updates, and the relative change of the objective that ends them."""
        threshold = self.of.converged_at
        return self.of.iterations or self.updates, self.converged_at if threshold is None else threshold

    @property
    def compare(self) -> str:
        """Where rows and classes are compared: ``residual``, ``features`` or ``inverse``."""
        return self.of.compare

    @property
    def temperature(self) -> float:
        """Temperature of the probabilities of a row; infinite for plain cosines."""
        return self.of.temperature

    def space(self, space: Space, improvements: tuple[str, ...]) -> Space:
        """Return the ranges to search; ``improvements`` names the parameters that the printed form does not use."""
        return space

    def learn(self, statistics: Mapping[str, np.ndarray], S: np.ndarray, k: int) -> Factorisation:
        """Return U (d, a) by Eq. 7 with a ridge, with k neighbours in the feature graph."""
        steps, tolerance = self.stopping
        return learn_projection(
            statistics, S, lam=self.of.lam, ridge=self.of.ridge, k=k, iterations=steps, tolerance=tolerance
        )

    def inverse(self, U: np.ndarray) -> np.ndarray:
        """Return the inverse with ``shrinkage`` times the mean eigenvalue of U'U added to U'U."""
        gram = U.T @ U
        gram[np.diag_indices_from(gram)] += self.of.shrinkage * np.trace(gram) / len(gram)
        return np.asarray(np.linalg.solve(gram, U.T))

    def graph_weight(self, curvature: float, W: sparse.csr_array) -> float:
        """Return the curvature per mean degree, so that weights mean the same for any data."""
        return curvature / max(float(degrees(W).mean()), float(np.finfo(float).tiny))

    def ridge_weight(self, curvature: float) -> float:
        """Return the ridge in units of the curvature."""
        return self.of.ridge * curvature


class Printed(Form):
    """Algorithm 1: random positive start, columns scaled after each update, pseudo-inverse, plain cosines.

    It takes signatures as they are; columns with negative values are lifted to 0. Its objective does not come to rest,
    and accuracy still rises after hundreds of updates: hence more of them, and no end before.
    """

    random = True
    preprocessing = Preprocessing(("split", "l2"), ("lift",))
    updates = 1000
    converged_at = 0.0
    normalise = True
    compare = "inverse"
    temperature = np.inf

    def space(self, space: Space, improvements: tuple[str, ...]) -> Space:
        """Return the ranges without those of the improvements; weights are in the data's own units."""
        ranges = {name: dimension for name, dimension in space.items() if name not in improvements}
        for name in {"lam", "gamma"} & set(ranges):
            ranges[name] = Real(1e-3, 1e3, log=True)  # in the units of the data, unknown beforehand
        return ranges

    def learn(self, statistics: Mapping[str, np.ndarray], S: np.ndarray, k: int) -> Factorisation:
        """Return U (d, a) by Algorithm 1."""
        steps, tolerance = self.stopping
        return learn_projection_as_printed(
            statistics, S, lam=self.of.lam, k=k, seed=self.of.seed, iterations=steps, tolerance=tolerance
        )

    def inverse(self, U: np.ndarray) -> np.ndarray:
        """Return the pseudo-inverse."""
        return np.linalg.pinv(U)

    def graph_weight(self, curvature: float, W: sparse.csr_array) -> float:
        """Return 1: weights are absolute."""
        return 1.0

    def ridge_weight(self, curvature: float) -> float:
        """Return 0."""
        return 0.0


def learn_projection(
    statistics: Mapping[str, np.ndarray],
    S: np.ndarray,
    *,
    lam: float,
    ridge: float,
    k: int,
    iterations: int,
    tolerance: float,
) -> Factorisation:
    """Minimise Eq. 7 plus a ridge over U (d, a), with Eq. 9 without its root; objective never rises.

    ``statistics`` as :meth:`MFMR.prepare_fit` gives them; ``lam`` and ``ridge`` in units of the mean curvature.
    """
    linear = statistics["class_sums"].T @ S  # X'Y S
    gram = (S.T * statistics["class_counts"]) @ S  # S'Y'Y S
    curvature = np.trace(gram) / len(gram)
    gram[np.diag_indices_from(gram)] += ridge * curvature
    W = affinity(statistics["feature_neighbours"], statistics["feature_cosines"], k)
    start = np.repeat(statistics["class_sums"].sum(axis=0)[:, None], S.shape[1], axis=1)
    start += 1e-3 * start.mean() + np.finfo(float).tiny
    start *= np.vdot(linear, start) / max(float(np.vdot(start @ gram, start)), np.finfo(float).tiny)
    return factorise(
        start,
        linear,
        gram,
        W,
        lam * curvature / max(float(degrees(W).mean()), np.finfo(float).tiny),
        float(statistics["squared_length"]),
        iterations=iterations,
        tolerance=tolerance,
    )


def learn_projection_as_printed(
    statistics: Mapping[str, np.ndarray],
    S: np.ndarray,
    *,
    lam: float,
    k: int,
    seed: int,
    iterations: int,
    tolerance: float,
) -> Factorisation:
    """Algorithm 1: random positive start, Eq. 9, columns of U (d, a) scaled to sum 1 after each update."""
    class_sums = statistics["class_sums"]
    return factorise(
        np.random.default_rng([seed, 0]).uniform(0.1, 1.0, (class_sums.shape[1], S.shape[1])),
        class_sums.T @ S,
        (S.T * statistics["class_counts"]) @ S,
        affinity(statistics["feature_neighbours"], statistics["feature_cosines"], k),
        lam,
        float(statistics["squared_length"]),
        iterations=iterations,
        tolerance=tolerance,
        normalise=True,
    )

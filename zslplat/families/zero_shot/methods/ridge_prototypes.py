"""Ridge prototypes: regress features on signatures, and compare rows with the class prototypes that it gives.

The control for projections from signatures to features: no constraint of sign, no graph, one closed form. Rows are
samples here.

| symbol | here    | shape  | meaning                                                                             |
|--------|---------|--------|-------------------------------------------------------------------------------------|
| X      | X       | (n, d) | features of seen classes; m_X their mean over rows (``mean_``)                      |
| S      | S       | (c, a) | signatures of seen classes; m_S their mean over rows (``signature_mean_``)          |
| Y      | Y       | (n, c) | labels, one-hot; enters only through class sums Y'X and counts Y'Y = diag(N)        |
| M      | M_      | (a, d) | regression: class s has the prototype m_X + (s - m_S) M                             |
| C      | metric_ | (d, d) | pooled within-class scatter, of which :mod:`feature_metric` makes the inner product |

The minimiser of |X - 1 m' - (Y S) M|^2 + ridge |M|^2 over M and the offset m, which is not penalised, solves

    (S_c' diag(N) S_c + ridge I) M = S_c' (Y'X - N m_X),    S_c = S - 1 m_S,

so that a trial costs one system (a, a), whatever n is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.families.zero_shot.methods import feature_metric, spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.feature_metric import EuclideanMetric, ResidualMetric
from zslplat.methods.base import Arrays, Features, Prepared, Statistics
from zslplat.space import POSITIVE, Real, Space, parameter


def solve(
    class_sums: np.ndarray, class_counts: np.ndarray, S: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M (a, d), the mean row (d,) and the mean signature of the rows (a,), in float64.

    ``class_sums`` (c, d), ``class_counts`` (c,), S (c, a); ``alpha`` is the ridge in units of the mean eigenvalue of
    the signatures' scatter. Signatures that are all the same leave M zero.
    """
    rows = class_counts.sum()
    mean, signature_mean = class_sums.sum(axis=0) / rows, class_counts @ S / rows
    centred = S - signature_mean
    gram = (centred.T * class_counts) @ centred
    unit = np.trace(gram) / len(gram)
    gram[np.diag_indices_from(gram)] += alpha * unit if unit > 0 else 1.0
    M = linalg.solve(gram, centred.T @ (class_sums - class_counts[:, None] * mean), assume_a="pos")
    return M, mean, signature_mean


def objective_value(
    X: np.ndarray, T: np.ndarray, M: np.ndarray, mean: np.ndarray, signature_mean: np.ndarray, alpha: float
) -> float:
    """Return |X - 1 mean' - (T - 1 signature_mean') M|^2 + ridge |M|^2, for rows X (n, d) with signatures T (n, a)."""
    centred = np.asarray(T, dtype=np.float64) - signature_mean
    error = np.asarray(X, dtype=np.float64) - mean - centred @ M
    unit = float((centred**2).sum()) / centred.shape[1]
    return float((error**2).sum()) + (alpha * unit if unit > 0 else 1.0) * float((M**2).sum())


class PrototypeMethod(ZeroShotMethod, listed_last=True):
    """A row takes the class of the nearest prototype in the metric of the residual; subclasses say where these lie."""

    preprocessing = Preprocessing(features=("split", "l2"), signatures=("center", "l2"))
    tolerance = 1e-4
    tolerance_reason = "float32 products inside blocks of rows depend on the order of rows"
    takes_blocks = True
    mean_: np.ndarray
    metric_: ResidualMetric | EuclideanMetric
    shrinkage = parameter("shrinkage of the residual metric", POSITIVE, Real(1e-2, 1e2, log=True), default=5.0)
    temperature = parameter("temperature of the probabilities of a row; inf: plain cosines", POSITIVE, default=0.05)

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return class sums and counts, and the eigendecomposition of the within-class scatter."""
        check_fit_inputs(X, y, S, read=False)
        sums, counts = spectral.class_sums(X, y, len(S)), spectral.class_counts(y, len(S))
        return {"class_sums": sums, "class_counts": counts, **feature_metric.prepare(X, y, sums, counts)}

    def prepare_score(self, X: Features, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the lengths of the rows over the range of ``shrinkage``, where that is searched."""
        return feature_metric.prepare_lengths(X, statistics, space)

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the cosine of every row of X (n, d) with the prototype of every signature of S (c, a), from the mean.

        Relative to the other classes of the row, on the scale of cosines, unless ``temperature`` is infinite.
        """
        lengths = feature_metric.lengths_at(self.shrinkage, statistics)
        cosines = self.metric_.cosines(X, self._prototypes(S), self.mean_, lengths)
        return feature_metric.relative(cosines, self.temperature)

    def _prototypes(self, S: np.ndarray) -> np.ndarray:
        """Return where classes with signatures S (c, a) lie, from the mean row (c, d)."""
        raise NotImplementedError

    def restored_parts(self) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
        """Return how the metric is made again."""
        return {"metric_": feature_metric.restored_metric}


class RidgePrototypes(PrototypeMethod):
    r"""Nearest prototype, by a ridge regression from signatures to features and the metric of the residual.

    ``alpha`` is the ridge in units of the mean curvature, ``shrinkage`` that of the metric and ``temperature`` that
    of a row's probabilities, as in MFMR's common scheme, whose control this is. Learned: ``M_`` (a, d), ``mean_``
    (d,), ``signature_mean_`` (a,), ``metric_``. Accumulates in float64; scores are in the precision of X.

    Equations
    ---------
    Features are regressed on signatures, and a row takes the class of the nearest prototype, in the metric of the
    residual:

    $$\min_{M, m} \lVert X - 1 m^\top - Y S M \rVert^2 + \alpha \lVert M \rVert^2, \qquad \hat c = \arg\max_c \cos_C (x
    - m_X,\; (s_c - m_S) M)$$

    Related
    -------
    ``mfmr`` adds signs and a graph to the projection, and this is its control; ``exem-1nn`` predicts prototypes by
    kernels; ``eszsl`` goes from features to signatures and back.
    """

    summary = "nearest prototype by ridge regression from signatures to features, closed form (control for mfmr)"
    tags = ("inductive", "linear", "closed form", "control", "stationary")
    alpha = parameter("ridge from signatures to features", POSITIVE, Real(1e-3, 1e3, log=True), default=1.0)

    def _fit(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        S = np.asarray(S, dtype=np.float64)
        self.M_, self.mean_, self.signature_mean_ = solve(
            np.asarray(statistics["class_sums"]), np.asarray(statistics["class_counts"]), S, self.alpha
        )
        self.metric_ = ResidualMetric(statistics, self.shrinkage)

    def _prototypes(self, S: np.ndarray) -> np.ndarray:
        return np.asarray((np.asarray(S, dtype=np.float64) - self.signature_mean_) @ self.M_)

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return the penalised squared error of the regression at the learned M, which minimises it."""
        return objective_value(X, S[y], self.M_, self.mean_, self.signature_mean_, self.alpha)

    def matrices(self) -> Arrays:
        """Return M (a, d)."""
        return {"M": self.M_}


class ClassMeans(PrototypeMethod):
    r"""Nearest class mean in the metric of the residual: what rows say without signatures, for few-shot tasks.

    A candidate has the mean of the training class with its signature. Signatures play no other part, and so a class
    without training rows has the mean of the class with the nearest signature. ``shrinkage`` and ``temperature`` as for
    ``ridge-prototypes``. Learned: ``means_`` (c, d) and ``signatures_`` (c, a) of the training classes, ``mean_``
    (d,), ``metric_``.

    Equations
    ---------
    $$\hat c = \arg\max_c \cos_C (x - m_X,\; m_c - m_X), \qquad m_c = \frac{1}{n_c} \sum_{i : y_i = c} x_i$$

    Related
    -------
    ``ridge-prototypes`` has the same metric and takes the means from signatures; where it is no longer
    ahead, signatures have stopped paying.
    """

    summary = "nearest class mean, signatures only for classes without rows (control for few-shot tasks)"
    tags = ("inductive", "linear", "control")

    def _fit(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        sums, counts = np.asarray(statistics["class_sums"]), np.asarray(statistics["class_counts"])
        self.mean_, self.means_ = sums.sum(axis=0) / counts.sum(), sums / counts[:, None]
        self.signatures_, self.metric_ = np.array(S, dtype=np.float64), ResidualMetric(statistics, self.shrinkage)

    def _prototypes(self, S: np.ndarray) -> np.ndarray:
        apart = cdist(np.asarray(S, dtype=np.float64), self.signatures_)
        return np.asarray(self.means_[apart.argmin(axis=1)] - self.mean_)

    def matrices(self) -> Arrays:
        """Return the class means (c, d)."""
        return {"means": self.means_}

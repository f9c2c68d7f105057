"""GFZSL, transductive: the predicted Gaussians are where expectation maximisation on the scored batch begins.

Verma and Rai, "A simple exponential family framework for zero-shot learning", ECML PKDD 2017, as the authors' code has
it (``Transductive_setting.m`` of vkverma01/Zero-Shot, which calls ``vl_gmm``). Symbols as in :mod:`.gfzsl`, and

| code           | here       | shape  | meaning                                            |
|----------------|------------|--------|----------------------------------------------------|
| x of the test  | X          | (n, d) | the rows of the batch, without labels              |
| posterior      | R          | (n, c) | probability of each candidate class for each row   |
| priors         | weights    | (c,)   | shares of the classes, equal at first              |
| CovarianceBound | bound     | scalar | least variance                                     |

    R_ic ~ weights_c N(x_i; m_c, diag(v_c))
    weights_c = mean_i R_ic    m_c = sum_i R_ic x_i / sum_i R_ic
    v_c = max(bound, sum_i R_ic (x_i - m_c)^2 / sum_i R_ic)

Afterwards the score is log N(x; m_c, diag(v_c + reg)); the shares are left out, as there. The code adds its 0.05 to all
entries of the covariance where it means the diagonal; here it is the diagonal. It has a bound of 0.4 and up to 1000
iterations; here the bound is in units of the mean variance, unless ``variant="paper"``, and the number of iterations is
chosen on validation. A class that no row is likely to be of keeps its Gaussian. Variances
at the start are those of :mod:`.gfzsl` with reg, so that such a class has reg twice in the end.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import logsumexp

from zslplat.methods.base import Diagnostics, Features
from zslplat.methods.zero_shot.gfzsl import GFZSL, log_densities
from zslplat.methods.zero_shot.spectral import gathered
from zslplat.space import POSITIVE, Integer, Real, parameter

# Rows that a class needs to be estimated from, and the least gain of a row's log-likelihood to go on for.
LEAST_MASS = 1e-6
LEAST_GAIN = 1e-6


def refined(
    X: np.ndarray, means: np.ndarray, variances: np.ndarray, bound: float, iterations: int
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return means and variances (c, d) after EM on rows X (n, d), and the mean negative log-likelihood by iteration.

    The series begins with the given Gaussians, whose variances are raised to the bound, at equal shares.
    """
    middle = means.mean(axis=0)
    X, means, variances = X.astype(np.float64) - middle, means - middle, np.maximum(variances, bound)
    squares = X * X
    weights = np.full(len(means), 1 / len(means))
    series: list[float] = []
    for left in range(iterations, -1, -1):
        with np.errstate(divide="ignore"):
            joint = log_densities(X, means, variances) + np.log(weights)
        totals = logsumexp(joint, axis=1, keepdims=True)
        series.append(float(-totals.mean()))
        if not left or (len(series) > 1 and series[-2] - series[-1] < LEAST_GAIN):
            break
        R = np.exp(joint - totals)
        mass = R.sum(axis=0)
        weights, present = mass / len(X), mass > LEAST_MASS
        share = R[:, present] / mass[present]
        means[present] = share.T @ X
        variances[present] = np.maximum(share.T @ squares - means[present] ** 2, bound)
    return means + middle, variances, series


class TransductiveGFZSL(GFZSL):
    r"""GFZSL with expectation maximisation on the batch (Verma and Rai, 2017).

    Parameters of :class:`~zslplat.methods.zero_shot.gfzsl.GFZSL`, and ``iterations`` of EM at most, ``bound``: the
    least variance, in units of the mean variance of the training rows or absolute (``variant="paper"``). What is
    learned of a batch is forgotten with it. ``objective`` is that of the regressions. In float64.

    Equations
    ---------
    The Gaussians of ``gfzsl`` are where expectation maximisation on the batch begins:

    $$R_{ic} \propto \pi_c N(x_i; m_c, \operatorname{diag}(v_c)), \qquad m_c = \frac{\sum_i R_{ic} x_i}{\sum_i R_{ic}},
    \qquad v_c = \max\left(b, \frac{\sum_i R_{ic} (x_i - m_c)^2}{\sum_i R_{ic}}\right)$$

    Related
    -------
    ``gfzsl`` is the inductive form; ``mfmr-joint``, ``gfhf`` and ``tmv-hlp`` score a batch jointly by graphs.
    """

    summary = "GFZSL with its Gaussians refined by expectation maximisation on the scored batch"
    tags = ("transductive", "generative", "kernel", "stationary", "monotone")
    transductive = True
    takes_blocks = False
    tolerance = 1e-2
    tolerance_reason = "rows halfway between two classes go either way with the last digits, and take others along"
    iterations = parameter(
        "iterations of expectation maximisation at most", Integer(1), Integer(1, 100, log=True), default=20
    )
    bound = parameter("least variance in expectation maximisation", POSITIVE, Real(5e-2, 5, log=True), default=1.0)

    def decision_function(
        self,
        X: Features,
        S: np.ndarray,
        *,
        seen: np.ndarray | None = None,
        statistics: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the log-densities (n, c) of the batch X (n, d) under the refined Gaussians of signatures S (c, a)."""
        X = gathered(X)
        unit = 1.0 if self.variant == "paper" else self.unit_
        means, variances, series = refined(X, *self.gaussians(S, seen), self.bound * unit, self.iterations)
        diagnostics = self.diagnostics
        self.diagnostics_ = Diagnostics({**diagnostics.series, "objective": series}, diagnostics.numbers)
        return log_densities(X, means, variances + self.reg_)

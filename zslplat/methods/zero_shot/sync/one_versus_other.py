"""SynC with the squared hinge of each seen class against the others (train_W_OVO.m; see ``synthesis``)."""

from __future__ import annotations

import numpy as np

from zslplat.methods.base import Arrays
from zslplat.methods.zero_shot import spectral
from zslplat.methods.zero_shot.sync import squared_hinge
from zslplat.methods.zero_shot.sync.synthesis import SynthesisedClassifiers, mean_squared_length
from zslplat.space import Integer, parameter


class SynCOneVersusOther(SynthesisedClassifiers):
    r"""Synthesised classifiers from squared hinges, one seen class against the others (Changpinyo et al., 2016).

    The mean over rows and classes of max(0, 1 - t x w')^2, plus lam / 2 |W|^2, is minimised by truncated Newton steps
    until the duality gap is ``gap`` of the value for every class. See :mod:`synthesis` for symbols, units, and what
    departs from the authors' code.

    Equations
    ---------
    Classifiers W of the seen classes are trained by themselves, and those of any class are mixtures of phantom
    classifiers v:

    $$w_c = \sum_r \sigma_{cr}\, v_r, \qquad \sigma_{cr} = \frac{e^{-\beta \lVert a_c - b_r \rVert^2}}{\sum_q e^{-\beta
    \lVert a_c - b_q \rVert^2}}, \qquad V = \Sigma^{+} W$$

    $$\min_W \frac{1}{n c} \sum_{i, c} \max(0,\; 1 - t_{ic}\, x_i^\top w_c)^2 + \frac{\lambda}{2} \lVert W \rVert^2$$

    beta is ``scale``, and t is 1 for the class of the row and -1 for others.

    Related
    -------
    ``sync-cs`` and ``sync-struct`` train the seen classes jointly; ``exem-1nn`` synthesises exemplars; ``sse-int``
    mixes similarities to seen classes.
    """

    summary = "synthesised classifiers, squared hinge of one seen class against the others"
    tags = ("inductive", "linear", "convex", "stationary")
    tolerance = 1e-3
    tolerance_reason = "training stops at a duality gap, and products in the precision of X depend on the order of rows"
    costly = ("lam", "gap", "steps")
    gap = 1e-6
    steps = parameter("steps of the training at most", Integer(1), default=50)

    def train(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, lam: float) -> Arrays:
        """Return the classifiers, with the value and the relative duality gap of the training."""
        solution = squared_hinge.solve(X, y, len(S), lam, spectral.row_space(X), self.gap, self.steps)
        return {
            "W": solution.W,
            "relative_gap": np.asarray([solution.gap / solution.value]),
            "value": np.asarray(solution.value),
            "newton_steps": np.asarray(solution.steps),
            "products_with_features": np.asarray(solution.products),
        }

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return the mean squared hinge plus lam / 2 |W|^2 at the learned W, which minimises it."""
        F = np.asarray(X, dtype=np.float64) @ self.W_.T
        T = np.where(y[:, None] == np.arange(len(S)), 1, -1)
        lam = self.lam * mean_squared_length(X)
        return float((np.maximum(0, 1 - T * F) ** 2).mean() + lam / 2 * (self.W_**2).sum())

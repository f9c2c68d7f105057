"""SynC: the losses that train the classifiers of the seen classes.

SynC with the multi-class hinge: margins of 1, or the distances of signatures (train_W_CS.m, train_W_struct.m).

SynC with the squared hinge of each seen class against the others (train_W_OVO.m; see :mod:`.synthesis`).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.sync import multiclass_hinge, squared_hinge
from zslplat.families.zero_shot.methods.sync.synthesis import SynthesisedClassifiers, mean_squared_length
from zslplat.methods.base import Arrays
from zslplat.space import Integer, parameter


class SynCCrammerSinger(SynthesisedClassifiers):
    r"""Synthesised classifiers from the multi-class hinge of Crammer and Singer (Changpinyo et al., 2016).

    The mean over rows of max_c (1(c != y) + x w_c' - x w_y'), plus lam / 2 |W|^2, is minimised by coordinate ascent in
    the dual until the duality gap is ``gap`` of the value, or after ``passes`` over the rows: very small ``lam`` may
    need more, and ``relative_gap`` says what was reached. See :mod:`synthesis` for symbols, units, and what departs
    from the authors' code.

    Equations
    ---------
    Classifiers W of the seen classes are trained by themselves, and those of any class are mixtures of phantom
    classifiers v:

    $$w_c = \sum_r \sigma_{cr}\, v_r, \qquad \sigma_{cr} = \frac{e^{-\beta \lVert a_c - b_r \rVert^2}}{\sum_q e^{-\beta
    \lVert a_c - b_q \rVert^2}}, \qquad V = \Sigma^{+} W$$

    $$\min_W \frac{1}{n} \sum_i \max_c \left( [c \ne y_i] + x_i^\top w_c - x_i^\top w_{y_i} \right) + \frac{\lambda}{2}
    \lVert W \rVert^2$$

    beta is ``scale``, and t is 1 for the class of the row and -1 for others.

    Related
    -------
    ``sync-struct`` has margins from the signatures; ``sync-ovo`` a squared hinge for each class; ``exem-1nn``
    synthesises exemplars in place of classifiers.
    """

    summary = "synthesised classifiers, multi-class hinge of the seen classes (Crammer-Singer)"
    tags = ("inductive", "linear", "convex")
    tolerance = 1e-2
    tolerance_reason = "training stops at a duality gap, where classifiers still differ by about its root"
    costly = ("lam", "gap", "passes")
    passes = parameter("passes of the training at most", Integer(1), default=200)

    def train(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, lam: float) -> Arrays:
        """Return the classifiers, with the value and the relative duality gaps of the training."""
        solution = multiclass_hinge.solve(X, y, self.margins(S), lam, self.gap, self.passes)
        return {
            "W": solution.W,
            "relative_gap": np.asarray(solution.gaps),
            "value": np.asarray(solution.value),
            "passes_made": np.asarray(solution.passes),
        }

    def margins(self, S: np.ndarray) -> np.ndarray:
        """Return the margin (r, r) that each class keeps from rows of each other one."""
        return 1 - np.eye(len(S))


class SynCStructured(SynCCrammerSinger):
    r"""Synthesised classifiers from the multi-class hinge with margins |a_c - a_y| (Changpinyo et al., 2016).

    The Euclidean distance of the scaled signatures takes the place of 1(c != y); else as
    :class:`SynCCrammerSinger`.

    Equations
    ---------
    Classifiers W of the seen classes are trained by themselves, and those of any class are mixtures of phantom
    classifiers v:

    $$w_c = \sum_r \sigma_{cr}\, v_r, \qquad \sigma_{cr} = \frac{e^{-\beta \lVert a_c - b_r \rVert^2}}{\sum_q e^{-\beta
    \lVert a_c - b_q \rVert^2}}, \qquad V = \Sigma^{+} W$$

    $$\min_W \frac{1}{n} \sum_i \max_c \left( \lVert a_c - a_{y_i} \rVert + x_i^\top w_c - x_i^\top w_{y_i} \right) +
    \frac{\lambda}{2} \lVert W \rVert^2$$

    beta is ``scale``, and t is 1 for the class of the row and -1 for others.

    Related
    -------
    ``sync-cs`` has margins of 1; ``sync-ovo`` a squared hinge for each class; ``exem-1nn`` synthesises exemplars.
    """

    summary = "synthesised classifiers, multi-class hinge with distances of signatures as margins"

    def margins(self, S: np.ndarray) -> np.ndarray:
        """Return the distances (r, r) between scaled signatures."""
        return np.asarray(cdist(S, S))


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

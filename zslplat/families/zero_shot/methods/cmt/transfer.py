"""Cross-modal transfer: rows are mapped into the space of signatures, and take the class whose signature is nearest.

Socher, Ganjoo, Manning and Ng, "Zero-Shot Learning Through Cross-Modal Transfer", NIPS 2013. Symbols, the objective and
its units in :mod:`zslplat.families.zero_shot.methods.cmt.network`. Where the paper leaves something open this is done:

* Penalty of the biases, divergence of activations and start are those of the authors' code (mganjoo/zslearn); the
  divergence (sparsity 5, rho 0.035 there) is off by default.
* All classes have the same isotropic variance, so that the likeliest class is the nearest signature.
* Rows are sorted by their product with one fixed vector first, so that their order does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import ClassVar

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.cmt.network import Layers, Objective, Penalties
from zslplat.methods.base import Arrays, Diagnostics, Prepared, Statistics
from zslplat.methods.quasi_newton import Iterate, minimise
from zslplat.methods.rows import row_keys
from zslplat.space import BOOLEAN, NON_NEGATIVE, POSITIVE, Choice, Integer, Real, parameter

ITERATIONS = 10  # of L-BFGS in a round


class CMT(ZeroShotMethod):
    r"""Cross-modal transfer: a network with tanh units from features to signatures, trained by L-BFGS on all rows.

    ``layers=1`` is the linear map, without tanh. Learned: ``W1_`` (d, h), ``b1_`` (h,), ``W2_`` (h, a), ``b2_`` (a,);
    of one layer ``W1_`` (d, a), ``b1_`` (a,). Scores are minus the squared distance of the mapped row and the
    signature. ``diagnostics_`` lists objective and length of the gradient by iteration; ``converged`` is 1 where the
    gradient fell below ``stop`` times its first length, else 0. Not tagged ``stationary``: validation stops the rounds
    before the lowest point.

    Equations
    ---------
    A network maps a row next to the signature of its class:

    $$f(x) = W_2^\top \tanh(W_1^\top x + b_1) + b_2, \qquad \min_{W, b} \frac{1}{2n} \sum_i \lVert s_{y_i} - f(x_i)
    \rVert^2 + \frac{\lambda}{2} \left( \lVert W_1 \rVert^2 + \lVert W_2 \rVert^2 \right)$$

    The score of a class is minus the squared distance of f(x) from its signature. ``penalise_biases`` adds the biases
    to the penalty, ``sparsity`` a divergence of the mean activations from ``rho``.

    Related
    -------
    ``cmt-gaussian`` and ``cmt-loop`` add a gate that tells new rows from seen ones; ``sae`` is a linear map that goes
    both ways; ``ridge-prototypes`` maps signatures to features.
    """

    summary = "cross-modal transfer: two tanh layers from features to signatures, nearest signature"
    citation = "Socher, Ganjoo, Manning, Ng: Zero-Shot Learning Through Cross-Modal Transfer. NIPS 2013"
    tags: ClassVar[tuple[str, ...]] = ("inductive", "network", "monotone")
    preprocessing = Preprocessing(features=("standardise",), signatures=("center", "l2"))
    random = True
    step_parameter = "rounds"
    tolerance = 1e-2
    tolerance_reason = "hundreds of iterations of an objective that is not convex amplify rounding in single precision"
    hidden = parameter("hidden units (200 in the authors' code)", Integer(1), Integer(25, 400, log=True), default=100)
    lam = parameter(
        "penalty of squared weights, for features and signatures of unit variance (1e-4 in the authors' code)",
        NON_NEGATIVE,
        Real(1e-5, 1.0, log=True),
        default=1e-2,
    )
    layers = parameter("two layers with tanh between, or one, which is linear", Choice((2, 1)), default=2)
    sparsity = parameter("weight of the divergence of mean activations from rho", NON_NEGATIVE, default=0.0)
    rho = parameter("mean activation that sparsity asks for", Real(1e-6, 1 - 1e-6), default=0.035)
    penalise_biases = parameter("biases are penalised like weights", BOOLEAN, default=True)
    rounds = parameter(f"rounds of {ITERATIONS} iterations of L-BFGS", Integer(1), default=20)
    stop = parameter("stop below this share of the first gradient's length", POSITIVE, default=1e-5)
    seed = parameter("seed of the start", Integer(0), default=0)

    def _fit_steps(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Fit round by round, yielding 1, 2, ..., until the gradient is small or the rounds are spent."""
        check_fit_inputs(X, y, S)
        order = np.argsort(row_keys("X", X), kind="stable")
        X, y = X[order], y[order]
        X = X if np.issubdtype(X.dtype, np.floating) else X.astype(np.float64)
        objective = self._objective(X, y, S)
        start = objective.start(np.random.default_rng(self.seed))
        iterates = minimise(objective, start, tolerance=self.stop)
        self.diagnostics_ = Diagnostics({"objective": [], "gradient": []})
        self._report(next(iterates))
        self._begin(X, y, S, statistics)
        for number in range(1, self.rounds + 1):
            iterate = None
            for iterate in islice(iterates, ITERATIONS):
                self._report(iterate)
            if iterate is None and number > 1:
                return
            self._take(objective.in_units_of_data(start if iterate is None else iterate.point), X, y)
            yield number

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return minus the squared distance of every mapped row of X (n, d) and every signature of S (c, a)."""
        return minus_squared_distances(self.mapped(X), S)

    def mapped(self, X: np.ndarray) -> np.ndarray:
        """Return rows X (n, d) in the space of signatures (n, a), in the precision of X."""
        return self._layers.outputs(X if np.issubdtype(X.dtype, np.floating) else X.astype(np.float64))

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return J of rows X (n, d) with labels y and signatures S (c, a) at the learned layers, in float64."""
        objective = self._objective(np.asarray(X, dtype=np.float64), y, S)
        return objective(objective.vector_of(self._layers))[0]

    def matrices(self) -> Arrays:
        """Return the weights and biases."""
        parts = {"W1": self.W1_, "b1": self.b1_, "W2": self.W2_, "b2": self.b2_}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def _layers(self) -> Layers:
        return Layers(self.W1_, self.b1_, self.W2_, self.b2_)

    def _objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> Objective:
        penalties = Penalties(self.lam, self.sparsity, self.rho, self.penalise_biases)
        return Objective(X, y, S, hidden=self.hidden if self.layers == 2 else None, penalties=penalties)

    def _begin(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Statistics) -> None:
        """Learn what no round changes, of rows in their own order; nothing here."""

    def _take(self, layers: Layers, X: np.ndarray, y: np.ndarray) -> None:
        """Keep what was learned by now; the rows of the fit come in their own order."""
        self.W1_, self.b1_, self.W2_, self.b2_ = layers

    def _report(self, iterate: Iterate) -> None:
        series, numbers = self.diagnostics_.series, self.diagnostics_.numbers
        series["objective"].append(iterate.value)
        series["gradient"].append(iterate.slope)
        numbers["iterations"] = float(len(series["objective"]) - 1)
        numbers["gradient"] = iterate.slope
        numbers["converged"] = float(iterate.converged)


def minus_squared_distances(F: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return -|f - s|^2 (n, c) for rows of F (n, a) and S (c, a), in float64."""
    F, S = np.asarray(F, dtype=np.float64), np.asarray(S, dtype=np.float64)
    crossed = 2 * F @ S.T
    crossed -= np.einsum("ij,ij->i", F, F)[:, None]
    crossed -= np.einsum("ij,ij->i", S, S)
    return np.asarray(crossed)
